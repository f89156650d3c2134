start_server {tags {limits}} {
    test {LIMIT.DEL lets go what the rule held back} {
        r limit.set a CONCURRENCY 1
        foreach i {1 2 3} { r job.add q $i LIMIT a }
        assert_equal 1 [llength [r job.lease q COUNT 9]]
        assert_equal 1 [r limit.del a]
        assert_equal 0 [r limit.del a]
        wait_for {[llength [r job.lease q]] == 1}
        assert_equal 1 [llength [r job.lease q COUNT 9]]
    }
}
