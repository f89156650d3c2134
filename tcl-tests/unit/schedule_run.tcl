start_server {tags {schedules}} {
    test {SCHEDULE.RUN makes a job now} {
        set next [r schedule.set s EVERY 1h QUEUE q PAYLOAD p]
        set id [r schedule.run s]
        assert_equal s [dict get [r job.get $id] schedule]
        assert_equal $id [dict get [lease_one q] id]
        assert_equal 1 [dict get [r job.get $id] occurrence]
        assert_equal 2 [dict get [r job.get [r schedule.run s]] occurrence]
        set s [r schedule.get s]
        assert_equal 2 [dict get $s manual]
        assert_equal $next [dict get $s next_ms]
        assert_error "NOTFOUND*" {r schedule.run nobody}
    }
}
