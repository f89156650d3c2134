start_server {tags {limits}} {
    test {a name holds back what is above its limit, others pass} {
        assert_equal OK [r limit.set api:* CONCURRENCY 1]
        set a [r job.add q 1 LIMIT api:a]
        set b [r job.add q 2 LIMIT api:a]
        r job.add q 3 LIMIT api:b
        set got [r job.lease q COUNT 10]
        assert_equal {1 3} [lmap j $got {dict get $j payload}]
        assert_equal parked [r job.state $b]
        assert_equal parked \
            [dict get [r job.add q 4 LIMIT api:a RETURN] state]
        set c [client]
        $c send job.lease q BLOCK 5000
        wait_for {[dict get [r queue.info q] waiters] == 1}
        r job.ack [dict get [lindex $got 0] token]
        assert_equal 2 [dict get [lindex [$c read] 0] payload]
    }
    test {a changed rule applies to what is parked} {
        set c [client]
        $c send job.lease q BLOCK 5000
        wait_for {[dict get [r queue.info q] waiters] == 1}
        r limit.set api:* CONCURRENCY 2
        assert_equal 4 [dict get [lindex [$c read] 0] payload]
    }
    test {a rate lets a blocked worker go on in time} {
        r limit.set mail RATE 20/1s BURST 1
        r job.add m 1 LIMIT mail
        r job.add m 2 LIMIT mail
        assert_equal 1 [llength [r job.lease m COUNT 2]]
        assert_equal 2 [dict get [lindex [r job.lease m BLOCK 5000] 0] payload]
    }
    test {parked jobs survive a crash of the server} {
        r limit.set db CONCURRENCY 1
        r job.add d 1 LIMIT db
        r job.add d 2 LIMIT db
        set got [r job.lease d COUNT 2]
        restart_server KILL
        assert_equal 0 [llength [r job.lease d]]
        r job.ack [dict get [lindex $got 0] token]
        wait_for {[llength [r job.lease d]] == 1}
    }
    test {a looser rate does not wait for what was owed} {
        r limit.set hourly RATE 1/1h
        r job.addm h 2 a b LIMIT hourly
        assert_equal 1 [llength [r job.lease h COUNT 2]]
        set c [client]
        $c send job.lease h BLOCK 0
        wait_for {[dict get [r queue.info h] waiters] == 1}
        r limit.set hourly RATE 1000/1s
        assert_equal b [dict get [lindex [$c read] 0] payload]
    }
    test {what a worker closed too long can be opened} {
        r job.addm o 2 a b LIMIT shut
        set token [lease_token o]
        r job.nack $token PERMANENT CLOSE shut UNTIL 2100-01-01T00:00:00Z
        assert_equal {} [r job.lease o]
        set c [client]
        $c send job.lease o BLOCK 0
        wait_for {[dict get [r queue.info o] waiters] == 1}
        assert_error "ERR OPEN is for a name*" {r limit.set shut* OPEN}
        assert_equal OK [r limit.set shut OPEN]
        assert_equal b [dict get [lindex [$c read] 0] payload]
    }
    test {a name may look like a pattern} {
        foreach name {g* {g[1]} g\\?} how {SET DEL SET} {
            r job.addm $name 2 a b LIMIT $name
            r job.nack [lease_token $name] PERMANENT CLOSE $name UNTIL \
                2100-01-01T00:00:00Z
            assert_equal {} [r job.lease $name]
            if {$how eq "SET"} {
                assert_equal OK [r limit.set $name OPEN]
            } else {
                assert_equal 0 [r limit.del $name]
            }
            assert_equal (nil) [dict get [r limit.get $name] closed_until_ms]
            wait_for {[llength [r job.lease $name]] == 1}
        }
        # As a rule it is a pattern; with a backslash it is that name alone.
        r limit.set {h*} CONCURRENCY 2
        r limit.set {h\*} CONCURRENCY 1
        foreach name {h* hx} started {1 2} {
            r job.addm $name 3 a b c LIMIT $name
            assert_equal $started [llength [r job.lease $name COUNT 3]]
        }
    }
    test {what makes no sense is refused} {
        assert_error "ERR*nothing to set*" {r limit.set x}
        assert_error "ERR*RATE*100/1s*" {r limit.set x RATE fast}
        assert_error "ERR*RATE*" {r limit.set x RATE -1/1s}
        assert_error "ERR*RATE*" {r limit.set x RATE 5/0s}
        assert_error "LIMIT*RATE*" {r limit.set x RATE 5000000/1s}
        assert_error "ERR*BURST without RATE*" {r limit.set x BURST 2}
        assert_error "ERR*owner:*" {r limit.set owner:x CONCURRENCY 1}
        assert_error "ERR*owner:*" {r job.add q x LIMIT owner:x}
        assert_error "ERR*CONCURRENCY*" {r limit.set x CONCURRENCY -1}
    }
}
