start_server {tags {jobs}} {
    test {JOB.RESULT is null until there is one} {
        set id [r job.add q x]
        assert_equal (nil) [r job.result $id]
        r job.ack [lease_token q] RESULT ""
        assert_equal {bulk {}} [r typed JOB.RESULT $id]
        set id [r job.add q x]
        r job.ack [lease_token q]
        assert_equal (nil) [r job.result $id]
    }
    test {a large result is kept whole} {
        set id [r job.add big x]
        set result [string repeat "0123456789" 50000]
        r job.ack [lease_token big] RESULT $result
        assert_equal $result [r job.result $id]
        restart_server KILL
        assert_equal $result [r job.result $id]
    }
}
