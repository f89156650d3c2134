start_server {tags {queues}} {
    test {a paused queue takes jobs and gives out none} {
        r job.add q x
        assert_equal OK [r queue.pause q]
        r job.add q y
        assert_equal {} [r job.lease q]
        assert_equal {} [r job.lease q BLOCK 10]
        assert_equal 1 [dict get [r queue.info q] paused]
    }
    test {a pause survives a crash} {
        restart_server KILL
        assert_equal {} [r job.lease q]
        r queue.resume q
        assert_equal x [dict get [lease_one q] payload]
    }
}
