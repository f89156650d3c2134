start_server {tags {schedules}} {
    test {SCHEDULE.BACKFILL makes the jobs of past times, once} {
        r schedule.set s CRON "0 * * * *" QUEUE q PAYLOAD p
        set to [expr {[clock milliseconds] / 3600000 * 3600000}]
        set from [expr {$to - 119 * 3600000}]
        assert_equal OK [r schedule.backfill s FROM $from TO $to]
        wait_for {[dict get [r queue.info q] ready] == 120}
        wait_for {[dict get [r schedule.get s] backfill] eq {(nil)}}
        assert_equal OK [r schedule.backfill s FROM $from TO $to]
        wait_for {[dict get [r schedule.get s] backfill] eq {(nil)}}
        assert_equal 120 [dict get [r schedule.get s] manual]
    }
    test {a backfill can be stopped} {
        r schedule.set much EVERY 1s QUEUE q2 PAYLOAD p
        r schedule.backfill much FROM 2020-01-01T00:00:00Z
        assert_error "STATE*under way*" {r schedule.backfill much FROM 2020-01-01T00:00:00Z}
        assert_equal OK [r schedule.backfill much STOP]
        assert_equal (nil) [dict get [r schedule.get much] backfill]
        assert_error "ERR*either FROM or STOP*" {r schedule.backfill much}
        assert_error "ERR*STOP and FROM exclude*" {r schedule.backfill much FROM 1 STOP}
        assert_error "ERR*STOP and TO exclude*" {r schedule.backfill much STOP TO 5}
    }
    test {a backfill of the future is refused} {
        assert_error "ERR*future*" \
            {r schedule.backfill s FROM 2020-01-01T00:00:00Z TO 2199-01-01T00:00:00Z}
        assert_error "NOTFOUND*" {r schedule.backfill nobody FROM 1}
    }
}
