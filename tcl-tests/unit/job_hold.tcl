start_server {tags {jobs}} {
    test {a held job is not leased, also after a crash} {
        set id [r job.add q x]
        assert_equal OK [r job.hold $id]
        assert_equal held [r job.state $id]
        assert_equal {} [r job.lease q]
        restart_server KILL
        assert_equal held [r job.state $id]
        assert_equal {} [r job.lease q]
        assert_equal 1 [dict get [r queue.info q] held]
    }
    test {only waiting jobs are held} {
        set id [r job.add p x]
        set token [dict get [lindex [r job.lease p] 0] token]
        assert_error "STATE *running*" {r job.hold $id}
        r job.ack $token
        assert_error "FINISHED *" {r job.hold $id}
        set late [r job.add p x DELAY 1h]
        assert_equal {FINISHED OK OK} [r job.hold $id ALSO $late $late]
    }
}
