start_server {tags {handlers}} {
    test {a paused handler leases nothing, others of the queue go on} {
        assert_equal OK [r handler.pause h]
        r job.add q 1 HANDLER h
        r job.add q 2 HANDLER g
        assert_equal 2 [dict get [lindex [r job.lease q COUNT 5] 0] payload]
        assert_equal {} [r job.lease q]
        assert_equal {1 0} [lmap f {paused open} \
            {dict get [r handler.get h] $f}]
        restart_server KILL
        assert_equal {} [r job.lease q HANDLERS 1 h]
    }
    test {names that are none are refused} {
        assert_error "*handler*" {r handler.pause ""}
        assert_error "ERR HANDLER.PAUSE: handler wants a name*" {r handler.pause "a\nb"}
    }
}
