start_server {tags {schedules}} {
    test {a resumed schedule fires from now on, and has missed nothing} {
        r schedule.set s EVERY 100ms QUEUE q PAYLOAD p
        r schedule.pause s
        assert_range [r schedule.resume s] 1 [expr {[clock milliseconds] + 1000}]
        wait_for {[dict get [r schedule.get s] fired] >= 1}
        set s [r schedule.get s]
        assert_equal 0 [dict get $s paused]
        assert_equal 0 [dict get $s missed]
        assert_error "NOTFOUND*" {r schedule.resume nobody}
    }
}
