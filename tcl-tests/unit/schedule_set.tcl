start_server {tags {schedules}} {
    test {a schedule makes jobs at its times, and each tells which} {
        set next [r schedule.set tick EVERY 100ms QUEUE q PAYLOAD p \
            OVERLAP allow]
        set job [lindex [r job.lease q BLOCK 5000] 0]
        assert_equal p [dict get $job payload]
        assert_equal tick [dict get $job schedule]
        assert_equal $next [dict get $job nominal_ms]
        assert_equal 1 [dict get $job occurrence]
        assert_range [expr {[dict get $job created_ms] - $next}] 0 1000
    }
    test {SET again keeps the next time unless the timing changes} {
        set next [r schedule.set night CRON "30 2 * * *" QUEUE q2 PAYLOAD p]
        assert_equal $next [r schedule.set night CRON "30 2 * * *" QUEUE q2 \
            PAYLOAD other RETRIES 7]
        assert_equal other [dict get [r schedule.get night] payload]
        assert_equal [expr {$next + 60000}] \
            [r schedule.set night CRON "31 2 * * *" QUEUE q2 PAYLOAD p]
    }
    test {several patterns, exclusions, and all that may be set} {
        r schedule.set all CRON "0 1 * * *" CRON "0 2 * * MON" EXCLUDE \
            "* * 25 12 *" TZ Europe/Zurich QUEUE q PAYLOAD p OVERLAP queue \
            MISFIRE all GRACE 5s WINDOW 1h SPREAD 10m START 2030-01-01T00:00:00Z \
            END 2040-01-01T00:00:00Z MAX 9 GAP skip FOLD both \
            PAUSE-ON-FAILURE 3 PRIORITY 700 UNIQUE k
        set s [r schedule.get all]
        foreach {field value} {cron {{0 1 * * *} {0 2 * * MON}} overlap buffer-all
                misfire all grace_ms 5000 window_ms 3600000 spread_ms 600000
                max 9 gap skip fold both pause_on_failure 3 tz Europe/Zurich} {
            assert_equal $value [dict get $s $field]
        }
        assert_equal 1893456000000 [expr {[dict get $s next_ms] / 86400000 * 86400000}]
    }
    test {what cannot be is refused, and told why} {
        assert_error "ERR*one of CRON, EVERY and AT*" {r schedule.set s QUEUE q PAYLOAD p}
        foreach {a b} {{CRON "0 1 * * *"} {EVERY 1s} {CRON @daily} {AT 5}
                {EVERY 1s} {AT 5} {GAP skip} {EVERY 1s} {FOLD both} {AT 5}} {
            assert_error "ERR*[lindex $a 0] and [lindex $b 0] exclude*" \
                {r schedule.set s {*}$b {*}$a QUEUE q PAYLOAD p}
        }
        assert_error "ERR*column 1: 61*0-59*" \
            {r schedule.set s CRON "61 * * * *" QUEUE q PAYLOAD p}
        assert_error "ERR*never fires*" \
            {r schedule.set s CRON "0 0 30 2 *" QUEUE q PAYLOAD p}
        assert_error "ERR*Nowhere*" \
            {r schedule.set s CRON "* * * * *" TZ Europe/Nowhere QUEUE q PAYLOAD p}
        assert_error "ERR*QUEUE*" {r schedule.set s EVERY 1s PAYLOAD p}
        assert_equal (nil) [r schedule.get s]
    }
    test {schedules survive a crash, and fire what they missed once} {
        r schedule.set once AT [expr {[clock milliseconds] + 300}] QUEUE late PAYLOAD p
        restart_server KILL
        assert_equal once \
            [dict get [lindex [r job.lease late BLOCK 5000] 0] schedule]
        assert_equal 1 [dict get [r schedule.get once] fired]
        assert_equal (nil) [dict get [r schedule.get once] next_ms]
    }
}
