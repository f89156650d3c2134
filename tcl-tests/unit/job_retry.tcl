start_server {tags {jobs}} {
    proc fail_one {queue} {
        set token [dict get [lindex [r job.lease $queue] 0] token]
        r job.nack $token ERROR broken TYPE Oops PERMANENT
    }
    test {JOB.RETRY takes a dead letter back with a new budget} {
        set id [r job.add q payload RETRIES 0]
        fail_one q
        assert_equal failed [r job.state $id]
        assert_equal OK [r job.retry $id]
        assert_equal ready [r job.state $id]
        set lease [lindex [r job.lease q] 0]
        assert_equal $id [dict get $lease id]
        assert_equal 1 [dict get $lease attempt]
        assert_equal 2 [dict get $lease delivery]
        assert_equal payload [dict get $lease payload]
        r job.ack [dict get $lease token]
        assert_equal 2 [llength [r job.executions $id]]
    }
    test {all that was kept survives the way back and a crash} {
        set big [string repeat z 5000]
        set id [r job.add q $big ID my-job TAG a=b RETRIES 0]
        set token [dict get [lindex [r job.lease q] 0] token]
        r job.checkpoint $token [string repeat c 2000]
        r job.effect $token mail
        r job.nack $token
        assert_equal OK [r job.retry my-job]
        restart_server KILL
        set lease [lindex [r job.lease q] 0]
        assert_equal $big [dict get $lease payload]
        assert_equal 2000 [string length [dict get $lease checkpoint]]
        assert_equal 0 [r job.effect [dict get $lease token] mail]
        assert_equal $id [dict get [r job.get my-job] id]
    }
    test {a unique key that has another holder now} {
        set a [r job.add u x UNIQUE k]
        r job.cancel $a
        set b [r job.add u x UNIQUE k]
        assert_error "EXISTS *$b*" {r job.retry $a}
        r job.delete $b
        assert_equal OK [r job.retry $a]
        assert_equal $a [r job.add u x UNIQUE k]
    }
    test {only finished jobs are retried} {
        set id [r job.add p x]
        assert_error "STATE *ready*" {r job.retry $id}
        assert_equal {STATE NOTFOUND} [r job.retry $id ALSO nobody]
    }
}
