start_server {tags {queues}} {
    test {QUEUE.PURGE erases what waits and leaves what runs} {
        r job.addm q 50 {*}[lrepeat 50 x]
        r job.addm q 5 a b c d e DELAY 1h
        r job.add other x
        set token [dict get [lindex [r job.lease q] 0] token]
        set chore [r queue.purge q]
        wait_for {[dict get [r chore.get $chore] state] eq "done"}
        set info [r queue.info q]
        assert_equal {0 0 1} [list [dict get $info ready] [dict get $info scheduled] [dict get $info running]]
        assert_equal 54 [dict get [r chore.get $chore] done]
        assert_equal OK [r job.ack $token]
        assert_equal 1 [dict get [r queue.info other] ready]
        assert_equal {} [r job.lease q]
        restart_server KILL
        assert_equal 0 [dict get [r queue.info q] ready]
    }
    test {a queue that is not there} {
        assert_error "NOTFOUND *" {r queue.purge nosuch}
    }
}
