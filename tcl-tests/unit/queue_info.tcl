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
    test {the oldest ready job is told, also after a crash} {
        r queue.set empty MAXLEN 1
        assert_equal (nil) [dict get [r queue.info empty] oldest_ready_ms]
        set began [clock milliseconds]
        r job.add old x PRIORITY 1
        wait_for {[dict get [r queue.info old] oldest_ready_ms] >= 20}
        r job.add old x PRIORITY 900
        assert {[dict get [r queue.info old] oldest_ready_ms] >= 20}
        restart_server KILL
        foreach info [r queue.list MATCH old] {
            set ms [dict get $info oldest_ready_ms]
            assert {$ms >= 20 && $ms <= [clock milliseconds] - $began + 1000} $ms
        }
        restart_server KILL
        assert {[dict get [r queue.info old] oldest_ready_ms] >= 20}
        restart_server KILL
        regexp {queue_old:\S*oldest_ready_ms=(\d+)} [r info queues] - ms
        assert {$ms >= 20} $ms
    }
    test {counts survive a crash} {
        restart_server KILL
        set info [r queue.info q]
        foreach {field n} {ready 1 running 1 scheduled 1 completed 1} {
            assert_equal $n [dict get $info $field]
        }
    }
}
