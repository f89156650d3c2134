start_server {tags {jobs}} {
    proc payloads {list} {lmap j $list {dict get $j payload}}
    test {workers that may not block hear of a job} {
        set c [client]
        $c subscribe belfry:ready:told
        set id [r job.add told x DELAY 30ms]
        assert_equal [list message belfry:ready:told $id] [$c read]
    }
    test {the same request takes over the parked call, and its leases} {
        set gone [client]
        $gone send job.lease idem BLOCK 8000 IDEMPOTENCY k
        r job.add idem-other x
        set again [client]
        $again send job.lease idem BLOCK 8000 IDEMPOTENCY k
        after 30
        set id [r job.add idem x]
        set job [lindex [$again read] 0]
        assert_equal $id [dict get $job id]
        assert_equal [dict get $job token] [dict get [lindex \
            [r job.lease idem IDEMPOTENCY k] 0] token]
        assert_error "MISMATCH *" {r job.lease idem COUNT 2 IDEMPOTENCY k}
    }
    test {another request with the key of a parked call is refused} {
        set first [client]
        set number [$first client id]
        r queue.set key CONCURRENCY 9
        $first send job.lease key BLOCK 8000 IDEMPOTENCY parked
        wait_for {[dict get [r queue.info key] waiters] == 1}
        foreach other {{key COUNT 2} {key FOR 1s} {key ALSO b} {b ALSO key}} {
            set options [lassign $other queue]
            assert_error "MISMATCH *" {
                r job.lease $queue BLOCK 8000 IDEMPOTENCY parked {*}$options
            }
        }
        set again [client]
        $again send job.lease key BLOCK 8000 IDEMPOTENCY parked
        after 30
        set id [r job.add key x]
        set job [lindex [$again read] 0]
        assert_equal $id [dict get $job id]
        # The one that it took over is told the same when its time is over.
        assert_equal 1 [r client unblock $number]
        assert_equal [list $job] [$first read]
    }
    test {a lease whose session has gone comes back} {
        r job.add s x
        set c [client]
        $c job.lease s SESSION me
        $c destroy
        wait_for {[dict get [r queue.info s] ready] == 1}
        set job [lindex [r job.lease s] 0]
        assert_equal {2 2} [lmap f {attempt delivery} {dict get $job $f}]
    }
    test {the leases of a drained worker come back uncounted} {
        r job.add drained x
        set c [client]
        $c job.lease drained SESSION leaving WORKER leaving
        r worker.drain leaving
        $c destroy
        wait_for {[dict get [r queue.info drained] ready] == 1}
        assert_equal 1 [dict get [lindex [r job.lease drained] 0] attempt]
    }
    test {who waits in line holds the leases of its session} {
        r job.add held x
        r queue.set nothing CONCURRENCY 1
        set worker [client]
        $worker send job.lease nothing SESSION kept BLOCK 0
        wait_for {[dict get [r queue.info nothing] waiters] == 1}
        set other [client]
        $other job.lease held SESSION kept
        $other destroy
        # A session without anybody that ends later tells when it would be over.
        r job.add clock x
        set other [client]
        $other job.lease clock SESSION clock
        $other destroy
        wait_for {[dict get [r queue.info clock] running] == 0}
        assert_equal 1 [dict get [r queue.info held] running]
        $worker destroy
        wait_for {[dict get [r queue.info held] running] == 0}
    }
    test {a session that waits in line after a restart keeps its leases} {
        set tokens {}
        foreach session {back lost} {
            r job.add over x
            set job [lindex [r job.lease over SESSION $session FOR 2s] 0]
            dict set tokens $session [dict get $job token]
        }
        restart_server KILL
        set worker [client]
        $worker send job.lease nothing SESSION back BLOCK 0
        wait_for {[dict get [r queue.info nothing] waiters] == 1}
        # It has the length of its lease to come back, and extends that.
        wait_for {
            [r job.extend [dict get $tokens back] FOR 2s] ne {} &&
            [dict get [r queue.info over] ready] == 1
        }
        assert_equal 1 [dict get [r queue.info over] running]
        assert_error "STALE *" {r job.ack [dict get $tokens lost]}
        $worker destroy
        wait_for {[dict get [r queue.info over] running] == 0}
    }
    test {resuming wakes all who wait} {
        r queue.pause q
        r job.addm q 2 a b
        set waiting {}
        foreach i {1 2} {
            set c [client]
            $c send job.lease q BLOCK 8000
            lappend waiting $c
        }
        wait_for {[dict get [r queue.info q] waiters] == 2}
        assert_equal OK [r queue.resume q]
        assert_equal {a b} [lsort [lmap c $waiting \
            {dict get [lindex [$c read] 0] payload}]]
        assert_equal 0 [dict get [r queue.info q] paused]
        assert_equal OK [r queue.resume q]
    }
    test {who may not use a wake-up is no hindrance to the next} {
        r queue.set line CONCURRENCY 1
        r job.add line x HANDLER c
        set token [dict get [lindex [r job.lease line] 0] token]
        r job.add line x HANDLER b
        foreach words {{HANDLERS 1 a} {}} {
            set c [client]
            $c send job.lease line BLOCK 8000 {*}$words
            lappend inline $c
        }
        wait_for {[dict get [r queue.info line] waiters] == 2}
        r job.ack $token
        assert_equal b [dict get [lindex [[lindex $inline 1] read] 0] handler]
        assert_equal 1 [dict get [r queue.info line] waiters]
        [lindex $inline 0] destroy
    }
    test {workers that may not block hear of a queue that opens} {
        r queue.set opens CONCURRENCY 1
        r job.addm opens 2 a b
        set token [dict get [lindex [r job.lease opens] 0] token]
        assert_equal {} [r job.lease opens]
        set c [client]
        $c subscribe belfry:ready:opens
        r job.ack $token
        assert_equal {message belfry:ready:opens} [lrange [$c read] 0 1]
        r queue.pause opens
        r queue.resume opens
        assert_equal {message belfry:ready:opens} [lrange [$c read] 0 1]
    }
    test {queues take turns by weight} {
        r job.addm many 600 {*}[lrepeat 600 a]
        r job.addm few 600 {*}[lrepeat 600 b]
        set got [payloads [r job.lease many COUNT 400 WEIGHTS 2 3 1 ALSO few]]
        assert_equal 400 [llength $got]
        assert_range [llength [lsearch -all $got a]] 250 350
        # One that has nothing left is no hindrance.
        assert_equal 800 [llength [r job.lease many COUNT 900 WEIGHTS 2 9 1 \
            ALSO few]]
        assert_equal {} [r job.lease many WEIGHTS 2 9 1 ALSO few]
        assert_error "ERR WEIGHTS names 1, there are 2 queues" {
            r job.lease a WEIGHTS 1 5 ALSO b
        }
        assert_error "ERR WEIGHTS: a weight*" {r job.lease a WEIGHTS 1 0}
    }
}
