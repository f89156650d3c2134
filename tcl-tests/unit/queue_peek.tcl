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
    test {QUEUE.PEEK follows a change of order, as leases do} {
        set low [r job.add o x HANDLER a]
        set high [r job.add o x HANDLER b PRIORITY 501]
        r queue.set o ORDER aging AGE 1h
        set old [r job.add o x HANDLER c]
        assert_equal [list $high $low $old] \
            [lmap j [r queue.peek o COUNT 10] {dict get $j id}]
        foreach id [list $high $low $old] {
            assert_equal $id [dict get [lindex [r job.lease o] 0] id]
        }
    }
    test {QUEUE.PEEK leaves out what a paused handler runs} {
        r job.add p x HANDLER stopped PRIORITY 900
        set id [r job.add p x HANDLER goes]
        r handler.pause stopped
        assert_equal [list $id] \
            [lmap j [r queue.peek p COUNT 10] {dict get $j id}]
        r handler.resume stopped
        assert_equal 2 [llength [r queue.peek p COUNT 10]]
    }
    test {words that make no sense} {
        assert_error "NOTFOUND *" {r queue.peek nosuch}
        assert_error "ERR *COUNT*" {r queue.peek q COUNT 0}
        assert_error "ERR *COUNT*" {r queue.peek q COUNT 101}
    }
}
