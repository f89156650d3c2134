start_server {tags {workers}} {
    test {WORKER.GET has every field in both protocols, or is null} {
        assert_equal {null (nil)} [r typed worker.get nobody]
        r worker.beat w
        assert_equal [list worker state session concurrency queues labels \
            registered_ms seen_ago_ms leases running] \
            [dict keys [r worker.get w]]
        r hello 3
        assert_equal map [lindex [r typed worker.get w] 0]
    }
}
