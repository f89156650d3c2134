start_server {tags {jobs}} {
    test {JOB.RUNNOW makes a delayed job ready} {
        set id [r job.add q x DELAY 1h]
        assert_equal {} [r job.lease q]
        assert_equal OK [r job.runnow $id]
        assert_equal ready [r job.state $id]
        assert_equal $id [dict get [lindex [r job.lease q] 0] id]
    }
    test {a worker that waits gets it} {
        set id [r job.add q x DELAY 1h]
        set c [client]
        $c send job.lease q block 10000
        wait_for {[dict get [r queue.info q] waiters] == 1}
        r job.runnow $id
        assert_equal $id [dict get [lindex [$c read] 0] id]
    }
    test {jobs that do not wait for their time are refused} {
        set id [r job.add other x]
        assert_equal OK [r job.runnow $id]
        r job.hold $id
        assert_error "STATE *held*" {r job.runnow $id}
        r job.unhold $id
        set token [dict get [lindex [r job.lease other] 0] token]
        assert_error "STATE *running*" {r job.runnow $id}
        r job.ack $token
        assert_error "FINISHED *completed*" {r job.runnow $id}
        assert_equal {FINISHED NOTFOUND} [r job.runnow $id ALSO nobody]
    }
}
