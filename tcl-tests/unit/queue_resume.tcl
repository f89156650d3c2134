start_server {tags {queues}} {
    test {QUEUE.RESUME wakes those who wait} {
        r queue.pause q
        r job.add q x
        set c [client]
        $c send JOB.LEASE q BLOCK 10000
        wait_for {[info_field blocked_clients] == 1}
        assert_equal OK [r queue.resume q]
        assert_equal x [dict get [lindex [$c read] 0] payload]
    }
}
