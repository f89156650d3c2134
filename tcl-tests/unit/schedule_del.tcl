start_server {tags {schedules}} {
    test {a deleted schedule fires no more; its jobs stay} {
        r schedule.set s EVERY 100ms QUEUE q PAYLOAD p
        wait_for {[dict get [r schedule.get s] fired] == 1}
        assert_equal OK [r schedule.del s]
        assert_equal (nil) [r schedule.get s]
        assert_equal s [dict get [lease_one q] schedule]
        assert_error "NOTFOUND*" {r schedule.del s}
    }
}
