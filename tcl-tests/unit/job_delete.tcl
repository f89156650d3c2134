start_server {tags {jobs}} {
    test {JOB.DELETE erases waiting and finished jobs} {
        set a [r job.add q x]
        set b [r job.add q x DELAY 1h ID later]
        set c [r job.add q [string repeat x 3000]]
        assert_equal OK [r job.delete $a]
        set token [dict get [lindex [r job.lease q] 0] token]
        assert_error "STATE *running*" {r job.delete $c}
        r job.ack $token RESULT [string repeat r 3000]
        assert_equal {OK OK NOTFOUND} [r job.delete later ALSO $c $a]
        foreach id [list $a $b $c later] {
            assert_equal (nil) [r job.get $id]
        }
        set info [r queue.info q]
        assert_equal 0 [dict get $info completed]
        assert_equal 0 [dict get $info scheduled]
        restart_server KILL
        assert_equal (nil) [r job.get $c]
    }
    test {the name and the unique key are free again} {
        r job.add q x ID n UNIQUE k
        r job.delete n
        r job.add q x ID n UNIQUE k CONFLICT reject
        assert_error "ERR *" {r job.delete "n n"}
        assert_error "NOTFOUND *" {r job.delete m}
    }
}
