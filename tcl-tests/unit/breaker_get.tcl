start_server {tags {handlers}} {
    test {BREAKER.GET shows defaults, and null for what is unknown} {
        assert_equal {null (nil)} [r typed breaker.get none]
        r job.add h x
        assert_equal [list {*}{handler h state off since_ms (nil) until_ms (nil) trips 0
            good 0 bad 0 probing 0 probed_well 0 percent 50 outcomes 5
            window_ms 60000 open_ms 30000 probes 5}] \
            [r breaker.get h]
    }
}
