start_server {tags {handlers}} {
    proc fail_one {q} {
        set token [dict get [lindex [r job.lease $q] 0] token]
        r job.nack $token TYPE E DELAY 1h
    }
    proc breaker {field} {dict get [r breaker.get h] $field}
    test {a breaker opens, probes and closes, and alerts} {
        set listener [client]
        $listener subscribe belfry:alert
        r handler.set h BREAKER on OUTCOMES 2 OPEN 50ms PROBES 1
        for {set i 0} {$i < 2} {incr i} {
            r job.add h x
            fail_one h
        }
        assert_match {*"event":"breaker_opened"*"handler":"h"*} \
            [lindex [$listener read] 2]
        r job.add h y
        set job [lindex [r job.lease h BLOCK 8000] 0]
        assert_equal half-open [breaker state]
        assert_equal 1 [breaker probing]
        r job.ack [dict get $job token]
        assert_match {*"event":"breaker_closed"*} [lindex [$listener read] 2]
        assert_equal {closed 1} [list [breaker state] [breaker trips]]
    }
    test {it is tripped by hand, stays so through a crash, and JOB.WHY tells} {
        assert_equal OK [r breaker.trip h FOR 1h]
        set id [r job.add h z]
        restart_server KILL
        assert_equal open [breaker state]
        assert_range [expr {[breaker until_ms] - [clock milliseconds]}] \
            3500000 3600000
        assert_equal {} [r job.lease h]
        assert_match {*breaker*} [r job.why $id]
        assert_equal OK [r breaker.reset h]
        assert_equal 1 [llength [r job.lease h]]
    }
    test {what has no breaker is not tripped} {
        assert_error "NOTFOUND *" {r breaker.trip nobody}
        r job.add plain x
        assert_error "STATE the breaker of handler plain is off*" {
            r breaker.trip plain
        }
        assert_error "*FOR*" {r breaker.trip h FOR -1}
    }
}
