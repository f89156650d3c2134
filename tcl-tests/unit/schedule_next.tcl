start_server {tags {schedules}} {
    test {SCHEDULE.NEXT marks a gap} {
        set times [r schedule.next "30 2 * * *" TZ Europe/Zurich \
            FROM 2026-03-28T00:00:00Z COUNT 3]
        assert_equal 3 [llength $times]
        assert_equal {at_ms 1774661400000 local 2026-03-28T02:30:00+01:00 gap 0 fold 0} \
            [lindex $times 0]
        assert_equal {at_ms 1774746000000 local 2026-03-29T03:00:00+02:00 gap 1 fold 0} \
            [lindex $times 1]
    }
    test {and a fold, once or twice} {
        set one [r schedule.next "30 2 * * *" TZ Europe/Zurich \
            FROM 2026-10-25T00:00:00Z COUNT 2]
        assert_equal 1 [dict get [lindex $one 0] fold]
        assert_equal 2026-10-26T02:30:00+01:00 [dict get [lindex $one 1] local]
        set both [r schedule.next "30 2 * * *" TZ Europe/Zurich \
            FROM 2026-10-25T00:00:00Z COUNT 2 FOLD both]
        assert_equal 2026-10-25T02:30:00+01:00 [dict get [lindex $both 1] local]
    }
    test {of a schedule by its name} {
        set next [r schedule.set s CRON "0 3 * * *" QUEUE q PAYLOAD p]
        assert_equal $next [dict get [lindex [r schedule.next s] 0] at_ms]
    }
    test {a pattern that cannot be read is told} {
        assert_error "ERR*column*" {r schedule.next "99 * * * *"}
        assert_error "ERR*no schedule has this name*5 fields*" \
            {r schedule.next no-such-schedule}
    }
}
