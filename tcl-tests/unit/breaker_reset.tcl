start_server {tags {handlers}} {
    test {BREAKER.RESET closes and forgets what was counted} {
        r handler.set h BREAKER on OUTCOMES 3
        for {set i 0} {$i < 2} {incr i} {
            r job.add h x
            r job.nack [dict get [lindex [r job.lease h] 0] token] DELAY 1h
        }
        assert_equal 2 [dict get [r breaker.get h] bad]
        assert_equal OK [r breaker.reset h]
        assert_equal 0 [dict get [r breaker.get h] bad]
        assert_error "NOTFOUND *" {r breaker.reset nobody}
    }
}
