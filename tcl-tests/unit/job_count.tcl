start_server {tags {jobs}} {
    test {JOB.COUNT by counters is exact} {
        for {set i 0} {$i < 20} {incr i} {r job.add q[expr {$i % 2}] x TAG n=$i}
        r job.add q0 x DELAY 1h
        assert_equal {count 21 exact 1 cursor (nil)} [r job.count]
        assert_equal 11 [dict get [r job.count QUEUE q0] count]
        assert_equal 10 [dict get [r job.count QUEUE q0 STATE ready] count]
        assert_equal 0 [dict get [r job.count QUEUE nosuch] count]
    }
    test {other filters look at jobs} {
        assert_equal {count 1 exact 1 cursor (nil)} [r job.count TAG n=7]
        assert_equal 11 [dict get [r job.count QUEUE q0 HANDLER q0] count]
        assert_error "ERR *STATE*" {r job.count STATE nosuch}
    }
}
