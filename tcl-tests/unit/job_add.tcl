start_server {tags {jobs}} {
    test {JOB.ADD gives ids that sort by creation} {
        set ids {}
        for {set i 0} {$i < 100} {incr i} {lappend ids [r job.add q x]}
        foreach id $ids {assert {[regexp {^[0-9A-HJKMNP-TV-Z]{26}$} $id]} $id}
        assert_equal $ids [lsort $ids]
        assert_equal 100 [llength [lsort -unique $ids]]
    }
    test {a payload holds any byte, and none} {
        set all ""
        for {set i 0} {$i < 256} {incr i} {append all [binary format c $i]}
        r send_bytes JOB.ADD bytes $all
        r read
        assert_equal $all [dict get [lease_one bytes] payload]
        r job.add empty ""
        assert_equal "" [dict get [lease_one empty] payload]
    }
    test {a job with a delay is not leased before its time} {
        r job.add later x DELAY 1h
        assert_equal {} [r job.lease later]
        r debug set-clock 3590000
        assert_equal {} [r job.lease later]
        r debug set-clock 3700000
        wait_for {[lease_one later] ne ""}
        r debug set-clock 0
    }
    test {AT takes unix milliseconds and RFC 3339} {
        set id [r job.add at x AT 4102444800000]
        assert_equal 4102444800000 [dict get [r job.get $id] run_at_ms]
        set id [r job.add at x AT 2100-01-01T01:00:00+01:00]
        assert_equal 4102444800000 [dict get [r job.get $id] run_at_ms]
        assert_equal scheduled [r job.state $id]
    }
    test {higher priority goes first, equal ones in order} {
        r job.add prio low PRIORITY 100
        r job.add prio a
        r job.add prio b
        r job.add prio high PRIORITY 900
        set order {}
        foreach job [r job.lease prio COUNT 10] {
            lappend order [dict get $job payload]
        }
        assert_equal {high a b low} $order
    }
    test {RETURN tells whether and when} {
        set c [client]
        $c hello 3
        lassign [$c typed JOB.ADD ret x RETURN DELAY 10s] type v
        assert_equal map $type
        assert_equal {id created state start_estimate_ms} [dict keys $v]
        assert_equal 1 [dict get $v created]
        assert_equal scheduled [dict get $v state]
        assert_equal 10000 [dict get $v start_estimate_ms]
    }
    test {RETURN tells when the job that was there before starts} {
        foreach {words created} {{DELAY 10s UNIQUE same} 0
                {DELAY 10s IDEMPOTENCY same} 1 {UNIQUE moved DEBOUNCE 10s} 0} {
            set id [r job.add again x {*}$words]
            set got [r job.add again x {*}$words RETURN]
            assert_equal [list $id $created scheduled] [list [dict get $got id] \
                [dict get $got created] [dict get $got state]]
            set ms [dict get $got start_estimate_ms]
            assert {$ms > 5000 && $ms <= 10000} $ms
        }
        set id [r job.add ended x UNIQUE once FOR 1h]
        r job.ack [dict get [lease_one ended] token]
        foreach words {{} {CONFLICT replace}} {
            set got [r job.add ended x UNIQUE once FOR 1h {*}$words RETURN]
            assert_equal [list $id 0 completed (nil)] [dict values $got]
        }
    }
    test {a name is an alias, unique while the job is known} {
        set id [r job.add named x ID invoice-7]
        assert_equal $id [dict get [r job.get invoice-7] id]
        assert_error "EXISTS *" {r job.add named x ID invoice-7}
        assert_error "ERR *" {r job.add named x ID "a b"}
    }
    test {UNIQUE gives the older job, rejects or replaces} {
        set id [r job.add uniq x UNIQUE k]
        assert_equal $id [r job.add uniq y UNIQUE k]
        assert_equal 0 [dict get [r job.add uniq y UNIQUE k RETURN] created]
        assert_error "EXISTS *" {r job.add uniq y UNIQUE k CONFLICT reject}
        assert_equal $id [r job.add uniq z UNIQUE k CONFLICT replace]
        set job [lease_one uniq]
        assert_equal z [dict get $job payload]
        assert {[r job.add other y UNIQUE k] ne $id}
        r job.ack [dict get $job token]
        assert {[r job.add uniq y UNIQUE k] ne $id}
    }
    test {a job that is replaced has one name} {
        set id [r job.add names x UNIQUE k ID names:1 DEBOUNCE 5m]
        assert_equal $id [r job.add names y UNIQUE k ID names:1 DEBOUNCE 5m]
        assert_error "EXISTS ID and CONFLICT exclude each other*" {
            r job.add names z UNIQUE k ID names:2 CONFLICT replace
        }
        assert_equal (nil) [r job.get names:2]
        set id [r job.add names x UNIQUE free]
        assert_equal $id \
            [r job.add names y UNIQUE free ID names:2 CONFLICT replace]
        assert_equal $id [dict get [r job.get names:2] id]
    }
    test {words that would say nothing are refused} {
        assert_error "ERR TIMEOUT and DEADLINE exclude*" {
            r job.add q x TIMEOUT 1h DEADLINE 10m
        }
        assert_error "ERR RETRIES 0 and BACKOFF exclude*" {
            r job.add q x RETRIES 0 BACKOFF fixed
        }
        # Of a handler's words those hold that do.
        r handler.set none RETRIES 0 TIMEOUT 1h
        r job.add none x BACKOFF fixed BASE 2h DEADLINE 10m
        r handler.set slow BACKOFF fixed BASE 2h TIMEOUT 1h
        r job.add slow x RETRIES 0 DEADLINE 10m
    }
    test {the same request with an idempotency key is one job} {
        set id [r job.add idem x IDEMPOTENCY req-1]
        assert_equal $id [r job.add idem x IDEMPOTENCY req-1]
        assert_error "MISMATCH *" {r job.add idem y IDEMPOTENCY req-1}
        assert_equal 1 [llength [r job.lease idem COUNT 10]]
    }
    test {errors name the word and what is allowed} {
        assert_error "ERR JOB.ADD: DELAY wants a duration such as 250ms, 30s, 5m, 2h or 7d (up to 36600d), not 'abc'" {
            r job.add q x DELAY abc
        }
        assert_error "ERR JOB.ADD: DELAY and AT exclude each other" {
            r job.add q x DELAY 1s AT 5
        }
        assert_error "ERR JOB.ADD: PRIORITY wants a whole number from 0 to 1000, not '1001'" {
            r job.add q x PRIORITY 1001
        }
        assert_error "ERR JOB.ADD: unknown option 'DELY', did you mean DELAY?" {
            r job.add q x DELY 1s
        }
        assert_error "ERR JOB.ADD: RETRIES was given twice" {
            r job.add q x RETRIES 1 retries 2
        }
        assert_error "ERR JOB.ADD: queue wants a name *" {r job.add "a b" x}
        assert_error "ERR JOB.ADD: queue wants a name *" {r job.add "" x}
        assert_error "ERR wrong number of arguments for 'job.add' command: JOB.ADD queue payload \\\[...\\\]" {
            r job.add q
        }
    }
    test {a payload over payload-max-size is refused} {
        assert_error "LIMIT *" {r job.add big [string repeat x 1100000]}
        set id [r job.add big [string repeat x 1000000]]
        assert_equal 1000000 [string length [dict get [r job.get $id] payload]]
    }
    test {jobs survive a crash of the server} {
        set id [r job.add crash x]
        set later [r job.add crash y DELAY 1h]
        restart_server KILL
        assert_equal ready [r job.state $id]
        assert_equal scheduled [r job.state $later]
        assert_equal $id [dict get [lease_one crash] id]
    }
}
