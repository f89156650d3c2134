start_server {tags {queues}} {
    test {QUEUE.SET changes what is named and nothing else} {
        assert_equal OK [r queue.set q CONCURRENCY 2 RATE 100/1s MAXLEN 5]
        assert_equal OK [r queue.set q OVERFLOW drop LEASE 5s KEEP 1h FAIR 1]
        set i [r queue.info q]
        assert_equal {2 100 1000 10 5 drop 5000 3600000 1} \
            [list [dict get $i concurrency] [dict get $i rate] \
                 [dict get $i per_ms] [dict get $i burst] \
                 [dict get $i maxlen] [dict get $i overflow] \
                 [dict get $i lease_ms] [dict get $i keep_ms] \
                 [dict get $i fair]]
        r queue.set q KEEPDEFAULT RATE 0
        assert_equal {(nil) 0} [list [dict get [r queue.info q] keep_ms] \
            [dict get [r queue.info q] rate]]
    }
    test {FAIR 0 ends the turns of what waits already} {
        r queue.set turns FAIR 1
        foreach owner {a a a a b b b b} { r job.add turns $owner OWNER $owner }
        assert_equal {a b} [lmap j [r job.lease turns COUNT 2] {
            dict get $j payload
        }]
        r queue.set turns FAIR 0
        assert_equal {a a a b b b} [lmap j [r job.lease turns COUNT 6] {
            dict get $j payload
        }]
    }
    test {OVERFLOW drop needs MAXLEN} {
        assert_error "ERR OVERFLOW drop needs MAXLEN" {
            r queue.set nomax OVERFLOW drop
        }
        assert_equal OK [r queue.set nomax OVERFLOW drop MAXLEN 3]
        assert_equal OK [r queue.set nomax OVERFLOW drop]
    }
    test {a queue's concurrency bounds its leases, and opens again} {
        r queue.set c CONCURRENCY 2
        foreach i {1 2 3} { r job.add c $i }
        set got [r job.lease c COUNT 10]
        assert_equal 2 [llength $got]
        assert_equal 0 [llength [r job.lease c]]
        set c [client]
        $c send job.lease c BLOCK 5000
        wait_for {[dict get [r queue.info c] waiters] == 1}
        r job.ack [dict get [lindex $got 0] token]
        assert_equal 3 [dict get [lindex [$c read] 0] payload]
    }
    test {a full queue refuses, or drops the oldest} {
        r queue.set m MAXLEN 2
        set first [r job.add m 1]
        r job.add m 2
        assert_error "LIMIT*MAXLEN*" {r job.add m 3}
        r queue.set n MAXLEN 2
        assert_error "LIMIT*holds 0 jobs; with 3 more *MAXLEN of 2" {
            r job.addm n 3 a b c
        }
        r queue.set m OVERFLOW drop
        r job.add m 3
        assert_equal cancelled [r job.state $first]
        assert_error "LIMIT*holds 2 jobs; with 3 more *MAXLEN of 2" {
            r job.addm m 3 a b c
        }
        r job.lease m COUNT 1
        r queue.set m MAXLEN 3
        r job.add m later DELAY 1h
        assert_error "LIMIT*MAXLEN of 3; OVERFLOW drops ready and parked jobs\
            only, and 2 are neither" {r job.addm m 2 a b}
    }
    test {what makes no sense is refused with the words that collide} {
        assert_error "ERR*AGE needs ORDER aging*" {r queue.set w AGE 1s}
        assert_error "ERR*ORDER aging needs AGE*" {r queue.set w ORDER aging}
        assert_error "ERR*RATE*" {r queue.set w RATE 5}
        assert_error "ERR*BURST without RATE*" {r queue.set w BURST 5}
        assert_error "ERR*FAIR*" {r queue.set w FAIR 2}
        assert_error "LIMIT*" {r queue.set w LEASE 90d}
    }
    test {settings survive a crash} {
        restart_server KILL
        assert_equal 2 [dict get [r queue.info c] concurrency]
    }
}
