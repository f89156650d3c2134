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
    test {LIMIT.DEL opens what a worker closed} {
        r job.addm closed 2 a b LIMIT b
        r job.nack [lease_token closed] PERMANENT CLOSE b UNTIL \
            2100-01-01T00:00:00Z
        assert_equal {} [r job.lease closed]
        assert_equal 0 [r limit.del b]
        wait_for {[llength [r job.lease closed]] == 1}
    }
}
