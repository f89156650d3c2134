start_server {tags {jobs}} {
    test {JOB.ACK ends a job well, with its result} {
        set id [r job.add q x]
        set token [lease_token q]
        assert_equal {simple OK} [r typed JOB.ACK $token RESULT "all \x00 good"]
        assert_equal completed [r job.state $id]
        assert_equal "all \x00 good" [r job.result $id]
    }
    test {the same acknowledgement again gets the same answer} {
        r job.add again x
        set token [lease_token again]
        assert_equal OK [r job.ack $token]
        assert_equal OK [r job.ack $token]
    }
    test {a token that is none, or not in force, is told apart} {
        assert_error "ERR *" {r job.ack nonsense}
        r job.add stale x
        set token [lease_token stale]
        r job.release $token
        set next [lease_token stale]
        assert_error "STALE *" {r job.ack $token}
        r job.ack $next
        assert_error "FINISHED *" {r job.ack $token}
    }
    test {ALSO acknowledges many, each with its own answer} {
        r job.addm many 3 a b c
        set tokens [lmap j [r job.lease many COUNT 3] {dict get $j token}]
        lassign $tokens a b c
        r job.release $b
        set answers [r job.ack $a ALSO $b $c]
        assert_equal 3 [llength $answers]
        assert_equal OK [lindex $answers 0]
        assert_match *STALE* [lindex $answers 1]
        assert_equal OK [lindex $answers 2]
    }
    test {an acknowledgement survives a crash} {
        set id [r job.add crash x]
        r job.ack [lease_token crash] RESULT r
        restart_server KILL
        assert_equal completed [r job.state $id]
        assert_equal {} [r job.lease crash]
    }
}
