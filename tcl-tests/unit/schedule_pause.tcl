start_server {tags {schedules}} {
    test {a paused schedule has no next time, also after a crash} {
        r schedule.set s EVERY 100ms QUEUE q PAYLOAD p
        assert_equal OK [r schedule.pause s]
        set fired [dict get [r schedule.get s] fired]
        restart_server KILL
        set s [r schedule.get s]
        assert_equal {1 command} \
            [list [dict get $s paused] [dict get $s paused_by]]
        assert_equal (nil) [dict get $s next_ms]
        assert_equal $fired [dict get $s fired]
        assert_error "NOTFOUND*" {r schedule.pause nobody}
    }
}
