start_server {tags {jobs}} {
    test {a failed job is retried after its delay, then dead} {
        set id [r job.add q x RETRIES 1 BACKOFF fixed BASE 1h JITTER 0]
        assert_equal OK [r job.nack [lease_token q] ERROR "no route" TYPE net]
        assert_equal retrying [r job.state $id]
        assert_equal {} [r job.lease q]
        r debug set-clock 3700000
        wait_for {[set job [lease_one q]] ne ""}
        assert_equal 2 [dict get $job attempt]
        r job.nack [dict get $job token] ERROR again
        assert_equal failed [r job.state $id]
        assert_equal again [dict get [r job.get $id] error]
        r debug set-clock 0
    }
    test {PERMANENT is dead at once} {
        set id [r job.add perm x RETRIES 5]
        r job.nack [lease_token perm] ERROR bad PERMANENT
        assert_equal failed [r job.state $id]
    }
    test {the worker may say when} {
        set id [r job.add own x]
        r job.nack [lease_token own] DELAY 0
        wait_for {[set job [lease_one own]] ne ""}
        assert_equal 2 [dict get $job attempt]
    }
    test {SNOOZE is no failure} {
        set id [r job.add snooze x RETRIES 0]
        r job.nack [lease_token snooze] SNOOZE 0
        wait_for {[set job [lease_one snooze]] ne ""}
        assert_equal 1 [dict get $job attempt]
        assert_equal 2 [dict get $job delivery]
    }
    test {DELAY, PERMANENT and SNOOZE exclude each other} {
        r job.add excl x
        set token [lease_token excl]
        assert_error "ERR JOB.NACK: DELAY and PERMANENT exclude each other" {
            r job.nack $token DELAY 1s PERMANENT
        }
        assert_error "ERR JOB.NACK: PERMANENT and SNOOZE exclude each other" {
            r job.nack $token PERMANENT SNOOZE 1s
        }
        foreach word {ERROR TYPE STACK CODE} {
            assert_error "ERR JOB.NACK: $word and SNOOZE exclude each other*" {
                r job.nack $token SNOOZE 1s $word 7
            }
        }
        assert_equal OK [r job.ack $token]
    }
    test {ALSO ends several leases with one error} {
        r job.addm many 3 a b c RETRIES 0
        set tokens [lmap j [r job.lease many COUNT 3] {dict get $j token}]
        assert_equal OK [r job.ack [lindex $tokens 1]]
        assert_equal {OK FINISHED NOTFOUND OK} [r job.nack [lindex $tokens 0] \
            ERROR gone TYPE Net ALSO [lindex $tokens 1] \
            01J8ZQ4W2H0000000000000001#1.1 [lindex $tokens 2]]
        set groups [dict get [r dead.groups many] groups]
        assert_equal {gone 2} [list [dict get [lindex $groups 0] error] \
            [dict get [lindex $groups 0] count]]
        r job.addm later 2 a b
        set tokens [lmap j [r job.lease later COUNT 2] {dict get $j token}]
        assert_equal {OK OK} [r job.nack {*}[linsert $tokens 1 SNOOZE 1h ALSO]]
        assert_equal 2 [dict get [r queue.info later] scheduled]
    }
}
