start_server {tags {handlers}} {
    test {resuming wakes who waits, and tells who may not block} {
        r handler.pause h
        r job.add q 1 HANDLER h
        set listener [client]
        $listener subscribe belfry:ready:q
        foreach words {{} {HANDLERS 1 h}} {
            set c [client]
            $c send job.lease q BLOCK 8000 {*}$words
            lappend blocked $c
        }
        wait_for {[dict get [r queue.info q] waiters] == 2}
        assert_equal OK [r handler.resume h]
        assert_equal {message belfry:ready:q} [lrange [$listener read] 0 1]
        assert_equal 1 [dict get [lindex [[lindex $blocked 0] read] 0] payload]
        r job.add q 2 HANDLER h
        assert_equal 2 [dict get [lindex [[lindex $blocked 1] read] 0] payload]
        assert_equal OK [r handler.resume h]
    }
}
