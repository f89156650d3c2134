start_server {tags {limits}} {
    test {LIMIT.GET shows the rule and the present} {
        assert_equal (nil) [r limit.get x]
        r limit.set a* CONCURRENCY 1 RATE 10/1m BURST 4
        r job.add q 1 LIMIT ab
        r job.add q 2 LIMIT ab
        r job.lease q COUNT 2
        set v [r limit.get ab]
        assert_equal {ab a* 1 10 60000 4 1 0 1 1} \
            [list [dict get $v name] [dict get $v pattern] \
                 [dict get $v concurrency] [dict get $v rate] \
                 [dict get $v per_ms] [dict get $v burst] \
                 [dict get $v running] [dict get $v reserved] \
                 [dict get $v full] [dict get $v parked]]
        assert_equal 0 [dict get [r limit.get az] running]
    }
    test {a worker closes a name until a time} {
        set id [r job.add n 1 LIMIT api]
        set t [dict get [lindex [r job.lease n] 0] token]
        assert_error "ERR*CLOSE and UNTIL*" {r job.nack $t CLOSE api}
        set until [expr {[clock milliseconds] + 3600000}]
        r job.nack $t SNOOZE 0 CLOSE api UNTIL $until
        assert_equal 0 [llength [r job.lease n]]
        assert_equal $until [dict get [r limit.get api] closed_until_ms]
        assert_equal {limit closed} [dict get [r job.why $id] reason]
        assert_equal $until [dict get [r job.why $id] changes_at_ms]
    }
}
