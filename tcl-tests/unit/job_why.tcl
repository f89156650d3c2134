proc why {id field} { dict get [r job.why $id] $field }
start_server {tags {jobs}} {
    test {JOB.WHY tells the place in line} {
        assert_equal (nil) [r job.why 01J8ZQ4W2H0000000000000001]
        set a [r job.add q 1]
        set b [r job.add q 2]
        assert_equal {{no worker} 1 1} [list [why $a reason] [why $a place] \
            [why $a place_exact]]
        assert_equal {{in line} 2 q} [list [why $b reason] [why $b place] \
            [why $b name]]
        r queue.pause q
        assert_equal {queue paused} [why $a reason]
        r queue.resume q
    }
    test {JOB.WHY names time, holder and end} {
        set d [r job.add d 1 DELAY 1h]
        assert_equal scheduled [why $d reason]
        assert {[why $d changes_at_ms] > [clock milliseconds] + 3500000}
        set j [lindex [r job.lease q WORKER w7] 0]
        assert_equal {running w7} [list [why [dict get $j id] reason] \
            [why [dict get $j id] name]]
        r job.nack [dict get $j token] DELAY 1h
        assert_equal retrying [why [dict get $j id] reason]
        set j [lindex [r job.lease q] 0]
        r job.ack [dict get $j token]
        assert_equal completed [why [dict get $j id] reason]
    }
    test {JOB.WHY names the full limit} {
        r limit.set api CONCURRENCY 1
        r job.add l 1 LIMIT api
        set p [r job.add l 2 LIMIT api]
        r job.lease l COUNT 2
        assert_equal {limit api 1} [list [why $p reason] [why $p name] \
            [why $p place]]
        assert_match "*1 of 1 slots*" [why $p text]
    }
    test {a queue's own limits are named too} {
        r queue.set g CONCURRENCY 1
        r job.add g 1
        set p [r job.add g 2]
        r job.lease g
        assert_equal {queue limit} [why $p reason]
    }
    test {what is paused or broken has no estimate of its start} {
        r queue.pause shut
        set c [client]
        $c send JOB.LEASE shut BLOCK 60000
        wait_for {[info_field blocked_clients] == 1}
        set job [r job.add shut x RETURN]
        assert_equal (nil) [dict get $job start_estimate_ms]
        assert_equal (nil) [why [dict get $job id] start_estimate_ms]
        r queue.resume shut
        $c read
        r handler.pause idle
        $c send JOB.LEASE shut BLOCK 60000
        wait_for {[info_field blocked_clients] == 1}
        set job [r job.add shut x RETURN HANDLER idle]
        assert_equal (nil) [dict get $job start_estimate_ms]
        assert_equal (nil) [why [dict get $job id] start_estimate_ms]
        r handler.resume idle
        $c read
        r handler.set broken BREAKER on
        r breaker.trip broken FOR 1h
        $c send JOB.LEASE shut BLOCK 60000
        wait_for {[info_field blocked_clients] == 1}
        set job [r job.add shut x RETURN HANDLER broken]
        assert_equal (nil) [dict get $job start_estimate_ms]
        assert_equal (nil) [why [dict get $job id] start_estimate_ms]
        assert {[why [dict get $job id] changes_at_ms] > [clock milliseconds]}
        r breaker.reset broken
        $c read
    }
    test {no estimate lies before the time at which a rate lets it start} {
        r queue.set slow RATE 1/1h BURST 1
        lassign [r job.addm slow 3 a b c] a b c
        r job.lease slow
        assert_equal {queue rate} [why $c reason]
        assert {[why $b start_estimate_ms] > 3500000}
        assert {[why $c start_estimate_ms] > 7100000}
    }
    test {in a fair queue the place is that of the owners' turns} {
        r queue.set shares FAIR 1
        set jobs {}
        foreach owner {x x y y} {
            lappend jobs [r job.add shares 1 OWNER $owner]
        }
        foreach id $jobs place {1 3 2 4} {
            assert_equal [list $place 1] [list [why $id place] \
                [why $id place_exact]]
        }
        assert_match "number 4 *" [why [lindex $jobs 3] text]
    }
    test {what it cannot follow is a lower bound} {
        r job.add shares 1 OWNER z LIMIT other
        set id [r job.add shares 1 OWNER x]
        assert_equal {3 0} [list [why $id place] [why $id place_exact]]
        assert_match "at least number 3 *" [why $id text]
    }
    test {what is told to stop says so, and until when} {
        set id [r job.add stop 1]
        r job.lease stop
        r job.cancel $id FORCE 10s
        assert_equal cancelling [why $id reason]
        assert_match "*told to stop*" [why $id text]
        assert {[why $id changes_at_ms] < [clock milliseconds] + 10001}
    }
    test {a job that waits changes when its time is over} {
        set id [r job.add late 1 DEADLINE 2h EXPIRES 1h]
        set ms [dict get [r job.get $id] expires_ms]
        assert_equal $ms [why $id changes_at_ms]
        r job.hold $id
        assert_equal $ms [why $id changes_at_ms]
    }
}
