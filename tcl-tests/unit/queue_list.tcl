start_server {tags {queues}} {
    test {QUEUE.LIST has an object for each queue} {
        assert_equal {} [r queue.list]
        r job.add b x
        r job.add a x
        assert_equal {a b} [lsort [lmap q [r queue.list] {dict get $q queue}]]
    }
}
