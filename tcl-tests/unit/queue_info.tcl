start_server {tags {queues}} {
    test {QUEUE.INFO counts jobs by state} {
        r job.addm q 3 a b c
        r job.add q d DELAY 1h
        r job.ack [lease_token q]
        lease_token q
        set info [r queue.info q]
        assert_equal q [dict get $info queue]
        foreach {field n} {ready 1 running 1 scheduled 1 completed 1} {
            assert_equal $n [dict get $info $field]
        }
        assert_equal (nil) [r queue.info nosuch]
    }
    test {counts survive a crash} {
        restart_server KILL
        set info [r queue.info q]
        foreach {field n} {ready 1 running 1 scheduled 1 completed 1} {
            assert_equal $n [dict get $info $field]
        }
    }
}
