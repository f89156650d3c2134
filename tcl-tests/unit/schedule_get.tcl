start_server {tags {schedules}} {
    test {SCHEDULE.GET shows every field, in both protocols} {
        r schedule.set s EVERY 1h QUEUE q PAYLOAD p RETRIES 7 \
            BACKOFF fixed TAG a=b LIMIT l
        set c [client]
        $c hello 3
        lassign [$c typed SCHEDULE.GET s] type s
        assert_equal map $type
        assert_equal [dict keys $s] [dict keys [r schedule.get s]]
        foreach {field value} {name s queue q paused 0 paused_by (nil) every_ms 3600000 tz UTC
                overlap skip misfire once grace_ms 60000 fired 0 missed 0
                outcomes {} backfill (nil) last_ms (nil) payload p} {
            assert_equal $value [dict get $s $field]
        }
        assert_equal 0 [expr {[dict get $s next_ms] % 3600000}]
        set o [dict get $s options]
        assert_equal {BACKOFF LIMIT RETRIES TAG} [lsort [dict keys $o]]
        foreach {option value} {RETRIES 7 BACKOFF fixed LIMIT l TAG {a b}} {
            assert_equal $value [dict get $o $option]
        }
    }
    test {it tells the outcomes of its jobs} {
        r schedule.run s
        set token [lease_token q]
        assert_equal 1 [dict get [r schedule.get s] live]
        r job.ack $token
        set s [r schedule.get s]
        assert_equal 0 [dict get $s live]
        assert_equal completed [dict get [lindex [dict get $s outcomes] 0] state]
    }
    test {an unknown schedule is null} {
        assert_equal (nil) [r schedule.get nobody]
    }
}
