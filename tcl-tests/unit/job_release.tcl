start_server {tags {jobs}} {
    test {JOB.RELEASE gives a job back, uncounted, to its old place} {
        r job.addm q 2 a b
        set token [lease_token q]
        assert_equal OK [r job.release $token]
        set job [lease_one q]
        assert_equal a [dict get $job payload]
        assert_equal 1 [dict get $job attempt]
        assert_equal OK [r job.release $token] ;# the same word again
        assert_equal OK [r job.ack [dict get $job token]]
        assert_error "FINISHED *" {r job.ack $token}
    }
    test {a job that was given back before it was to be started expires} {
        foreach end {{job.release} {job.nack SNOOZE 1h}} {
            set id [r job.add early x EXPIRES 300ms]
            set token [lease_token early]
            r [lindex $end 0] $token {*}[lrange $end 1 end]
            wait_for {[r job.state $id] eq "expired"}
        }
    }
    test {a job that ran then does not expire when it is given back} {
        foreach end {{job.release} {job.nack SNOOZE 1ms}} {
            set id [r job.add late x EXPIRES 100ms]
            set token [lease_token late]
            wait_for {[dict get [r job.get $id] expires_ms] < [clock milliseconds]}
            r [lindex $end 0] $token {*}[lrange $end 1 end]
            wait_for {[r job.state $id] eq "ready"}
            r job.ack [lease_token late]
        }
    }
    test {ALSO gives many back} {
        r job.addm many 2 a b
        set tokens [lmap j [r job.lease many COUNT 2] {dict get $j token}]
        assert_equal {OK OK} [r job.release [lindex $tokens 0] ALSO [lindex $tokens 1]]
        assert_equal 2 [llength [r job.lease many COUNT 5]]
    }
}
