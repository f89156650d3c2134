start_server {tags {queues}} {
    test {QUEUE.PEEK shows what comes next, and leaves it there} {
        set a [r job.add q x]
        set b [r job.add q x PRIORITY 900 HANDLER h]
        r job.add q x DELAY 1h
        assert_equal [list $b $a] [lmap j [r queue.peek q COUNT 10] {dict get $j id}]
        restart_server KILL
        assert_equal $b [dict get [lindex [r queue.peek q] 0] id]
        assert_equal 2 [dict get [r queue.info q] ready]
        assert_equal $b [dict get [lindex [r job.lease q] 0] id]
    }
    test {words that make no sense} {
        assert_error "NOTFOUND *" {r queue.peek nosuch}
        assert_error "ERR *COUNT*" {r queue.peek q COUNT 0}
        assert_error "ERR *COUNT*" {r queue.peek q COUNT 101}
    }
}
