start_server {tags {jobs}} {
    test {JOB.LEASE gives an array of objects, maps in RESP3} {
        r job.add q x
        set c [client]
        $c hello 3
        lassign [$c typed JOB.LEASE q] type jobs
        assert_equal array $type
        set job [lindex $jobs 0]
        assert_equal {token id queue handler payload attempt delivery} \
            [lrange [dict keys $job] 0 6]
        assert_match "[dict get $job id]#1.*" [dict get $job token]
        assert_equal 1 [dict get $job attempt]
    }
    test {each job tells its own numbers, whatever the one before has} {
        set c [client]
        foreach proto {2 3} {
            $c hello $proto
            r job.addm alike 3 a b c
            r job.add alike d RETRIES 7
            r job.add alike e OWNER me RETRIES 7
            r job.addm alike 2 f g RETRIES 7
            r job.add alike h META m
            r job.addm alike 2 i j
            set jobs [$c job.lease alike COUNT 10]
            assert_equal {a b c d e f g h i j} \
                [lmap job $jobs {dict get $job payload}]
            assert_equal {3 3 3 7 7 7 7 3 3 3} \
                [lmap job $jobs {dict get $job retries}]
            assert_equal {(nil) (nil) (nil) (nil) me (nil) (nil) (nil) (nil) (nil)} \
                [lmap job $jobs {dict get $job owner}]
            assert_equal {(nil) (nil) (nil) (nil) (nil) (nil) (nil) m (nil) (nil)} \
                [lmap job $jobs {dict get $job meta}]
            foreach job $jobs {
                assert_equal 21 [dict size $job]
                assert_equal [dict get $job created_ms] \
                    [dict get [r job.get [dict get $job id]] created_ms]
                r job.ack [dict get $job token]
            }
            r job.addm alike 2 once first
            r job.nack [dict get [lindex [r job.lease alike] 0] token] DELAY 1ms
            wait_for {[dict get [r queue.info alike] ready] == 2}
            set jobs [$c job.lease alike COUNT 2]
            assert_equal {1 2} [lsort [lmap job $jobs {dict get $job attempt}]]
            assert_equal {1 2} [lsort [lmap job $jobs {dict get $job delivery}]]
            foreach job $jobs {r job.ack [dict get $job token]}
        }
    }
    test {FIELDS tells what was asked for, and the token} {
        r job.add some x META m
        set job [lindex [r job.lease some FIELDS 3 META payload Queue] 0]
        assert_equal {token queue payload meta} [dict keys $job]
        assert_equal {some x m} [lrange [dict values $job] 1 end]
        r job.ack [dict get $job token]
        r job.add some y
        set c [client]
        $c hello 3
        lassign [$c typed JOB.LEASE some FIELDS 2 token meta] type jobs
        assert_equal {token meta} [dict keys [lindex $jobs 0]]
    }
    test {FIELDS names what is no field} {
        assert_error "ERR*FIELDS: 'stat' is no field of a lease*" {
            r job.lease some FIELDS 2 payload stat
        }
        assert_error "*FIELDS*" {r job.lease some FIELDS 0}
    }
    test {nothing to do is an empty array} {
        assert_equal {array {}} [r typed JOB.LEASE nothing]
        assert_equal {array {}} [r typed JOB.LEASE nothing BLOCK 10]
    }
    test {a job is leased once} {
        r job.addm once 10 a b c d e f g h i j
        set seen {}
        foreach c [list [client] [client] [client]] {
            foreach job [$c job.lease once COUNT 4] {
                lappend seen [dict get $job payload]
            }
        }
        assert_equal {a b c d e f g h i j} [lsort $seen]
    }
    test {BLOCK waits for a job, first come first served} {
        set a [client]
        set b [client]
        $a send JOB.LEASE wait BLOCK 10000
        wait_for {[info_field blocked_clients] == 1}
        $b send JOB.LEASE wait BLOCK 10000
        wait_for {[info_field blocked_clients] == 2}
        r job.add wait one
        r job.add wait two
        assert_equal one [dict get [lindex [$a read] 0] payload]
        assert_equal two [dict get [lindex [$b read] 0] payload]
    }
    test {commands behind a blocked one wait for it} {
        set c [client]
        $c send JOB.LEASE order BLOCK 10000
        $c send PING
        r job.add order x
        assert_equal x [dict get [lindex [$c read] 0] payload]
        assert_equal PONG [$c read]
    }
    test {a waiter that leaves loses nothing} {
        set c [resp::client new 127.0.0.1 [srv port]]
        $c send JOB.LEASE gone BLOCK 10000
        wait_for {[info_field blocked_clients] == 1}
        $c destroy
        wait_for {[info_field blocked_clients] == 0}
        r job.add gone x
        assert_equal x [dict get [lease_one gone] payload]
    }
    test {CLIENT UNBLOCK lets a waiter go} {
        set c [client]
        set id [$c client id]
        $c send JOB.LEASE unblock BLOCK 0
        wait_for {[r client unblock $id] == 1}
        assert_equal {array {}} [$c read_typed]
        $c send JOB.LEASE unblock BLOCK 0
        wait_for {[r client unblock $id ERROR] == 1}
        assert_match {error {UNBLOCKED *}} [$c read_typed]
    }
    test {in a transaction nothing blocks} {
        r multi
        r job.lease tx BLOCK 0
        r job.add tx x
        lassign [r exec] first
        assert_equal {} $first
    }
    test {ALSO looks into further queues, in order} {
        r job.add second b
        r job.add first a
        set jobs [r job.lease first COUNT 5 ALSO second]
        assert_equal {a b} [lmap j $jobs {dict get $j payload}]
    }
    test {HANDLERS takes only what the worker can run} {
        r job.add h mail HANDLER mail
        r job.add h sms HANDLER sms
        assert_equal sms [dict get [lease_one h HANDLERS 2 sms push] payload]
        assert_equal {} [r job.lease h HANDLERS 1 push]
        assert_equal mail [dict get [lease_one h] payload]
    }
    test {a lease that expires gives the job back} {
        r job.add expire x
        set token [lease_token expire FOR 100ms]
        wait_for {[set job [lease_one expire]] ne ""}
        assert_equal 2 [dict get $job delivery]
        assert_error "STALE *" {r job.ack $token}
        assert_equal OK [r job.ack [dict get $job token]]
    }
    test {the same request with an idempotency key gets the same jobs} {
        r job.addm idem 2 a b
        set one [r job.lease idem IDEMPOTENCY req]
        assert_equal $one [r job.lease idem IDEMPOTENCY req]
        assert_equal b [dict get [lease_one idem] payload]
    }
    test {what cannot be the name of a handler is refused} {
        assert_error "ERR handler name is empty" {r job.lease h HANDLERS 2 push ""}
        assert_error "ERR handler name holds*" {r job.lease h HANDLERS 1 "a b"}
        assert_error "LIMIT handler name has 129 bytes*" {
            r job.lease h HANDLERS 1 [string repeat x 129]
        }
    }
    test {errors name the word} {
        assert_error "ERR JOB.LEASE: COUNT wants *not '0'" {r job.lease q COUNT 0}
        assert_error "ERR JOB.LEASE: FOR wants a duration*" {r job.lease q FOR x}
    }
}
start_server {tags {jobs}} {
    test {three crashes within 24 hours are poison, more over a longer time not} {
        set id [r job.add q x]
        foreach hours {0 20 30 40} {
            assert_equal ready [r job.state $id]
            r debug set-clock [expr {$hours * 3600000}]
            lease_one q FOR 100ms
            wait_for {[r job.state $id] ne "running"}
            r debug set-clock [expr {$hours * 3600000 + 2000}]
            wait_for {[r job.state $id] in {ready failed}}
        }
        assert_equal failed [r job.state $id]
        assert_equal poison [dict get [r job.get $id] reason]
        assert_equal 4 [dict get [r job.get $id] crashes]
    }
}
