start_server {tags {jobs}} {
    test {times and durations out of range are refused} {
        foreach {word bad} {DELAY -1 DELAY 1x DELAY 99999999999999999999
                DELAY 101y DELAY 40000d AT 10000-01-01T00:00:00Z
                AT 253402300800000 AT -5 LEASE 0 TIMEOUT -1ms KEEP nope} {
            assert_error "ERR*$word*" {r job.add q x $word $bad}
        }
        assert_error "LIMIT LEASE*" {r job.add q x LEASE 2d}
    }
    test {words that collide are both named} {
        foreach {a b} {{DELAY 1} {AT 1} {UNIQUE u DEBOUNCE 1} {DELAY 1}
                {UNIQUE u WHILE live} {FOR 1s} {UNIQUE u DEBOUNCE 1}
                {CONFLICT return} {UNIQUE u DEBOUNCE 1} {FOR 1}} {
            foreach words [list [concat $a $b] [concat $b $a]] {
                set one [lindex $a end-1]
                set two [lindex $b 0]
                if {[catch {r job.add q x {*}$words} text] == 0} {
                    fail "accepted: $words"
                }
                assert {[string match *$one* $text] &&
                    [string match *$two* $text]} $text
            }
        }
        foreach {a needs} {{SCOPE queue} UNIQUE {WHILE live} UNIQUE
                {FOR 1s} UNIQUE {CONFLICT reject} UNIQUE {DEBOUNCE 1s} UNIQUE
                {SLA strict} EXPECT} {
            assert_error "ERR*[lindex $a 0]*$needs*" {r job.add q x {*}$a}
        }
    }
    test {what is longer than its bound is refused} {
        set id [r job.add q x]
        foreach {a b} {EXPECT TIMEOUT EXPECT DEADLINE BASE CAP
                EXPIRES DEADLINE} {
            foreach command [list {job.add q x} {job.addm q 1 x} \
                    {handler.set h} [list job.update $id] \
                    {schedule.set s EVERY 1h QUEUE q PAYLOAD p}] {
                assert_error "ERR $a and $b exclude each other*" {
                    r {*}$command $b 5s $a 5001
                }
            }
            assert_equal 26 [string length [r job.add q x $a 5s $b 5s]]
        }
        # A handler's word gives way to its job's.
        r handler.set patient EXPECT 1h CAP 1h BASE 1m
        set job [r job.get [r job.add q x HANDLER patient TIMEOUT 5s CAP 2s]]
        foreach {field value} {expect_ms (nil) base_ms 1000 cap_ms 2000} {
            assert_equal $value [dict get $job $field]
        }
    }
    test {words that a kind of backoff has no use for are refused} {
        set id [r job.add q x DELAY 1h]
        foreach command [list {job.add q x} {job.addm q 1 x} \
                [list job.update $id] {handler.set h} \
                {schedule.set s EVERY 1h QUEUE q PAYLOAD p}] {
            foreach {kind word value} {none BASE 5s none FACTOR 3 none CAP 5s
                    none JITTER 5 linear FACTOR 3 fixed FACTOR 3} {
                assert_error "ERR BACKOFF $kind and $word exclude each other*" {
                    r {*}$command $word $value BACKOFF $kind
                }
            }
        }
        # Of a handler's words those hold that do not collide with the job's.
        r handler.set atonce BACKOFF none
        set job [r job.get [r job.add atonce x BASE 5s JITTER 0]]
        foreach {field value} {backoff exponential base_ms 5000 jitter 0} {
            assert_equal $value [dict get $job $field]
        }
        r handler.set growing BASE 5s FACTOR 3
        set job [r job.get [r job.add growing x BACKOFF fixed]]
        foreach {field value} {backoff fixed base_ms 5000 factor 2} {
            assert_equal $value [dict get $job $field]
        }
        assert_equal 26 [string length \
            [r job.add q x BACKOFF fixed BASE 5s CAP 9s JITTER 5]]
    }
    test {a time or duration that is too long is told the bound} {
        foreach long {36601d 9223372036854775807 99999999999999999999h} {
            assert_error "*DELAY wants*(up to 36600d), not '$long'" {
                r job.add q x DELAY $long
            }
        }
        assert_equal 26 [string length [r job.add q x DELAY 36600d]]
        foreach late {253402300800000 10000-01-01T00:00:00Z} {
            assert_error "*AT wants*before the year 10000, not '$late'" {
                r job.add q x AT $late
            }
        }
    }
    test {a job that would expire before it may start is refused} {
        foreach {start end} {{DELAY 10s} {EXPIRES 10s} {DELAY 10s} {DEADLINE 1s}
                {AT 4000000000000} {DEADLINE 300d}
                {UNIQUE u DEBOUNCE 5s} {EXPIRES 4s}} {
            set words [list [lindex $start end-1] [lindex $end 0]]
            assert_error "ERR*[lindex $words 0] and [lindex $words 1] exclude*" \
                {r job.add q x {*}$end {*}$start}
        }
        set id [r job.add q x DELAY 10s DEADLINE 11s]
        assert_error "ERR*DELAY and DEADLINE*" \
            {r job.update $id DELAY 20s DEADLINE 20s}
        r handler.set slow DELAY 1h
        set job [r job.get [r job.add slow x EXPIRES 30m]]
        assert_equal ready [dict get $job state]
    }
    test {names that are none are refused} {
        assert_error "ERR*queue*" {r job.add "" x}
        assert_error "ERR*queue*" {r job.add "a b" x}
        r send_bytes job.add "a\x00b" x
        assert_error "ERR*queue*" {r read}
        assert_error "*queue*128*" {r job.add [string repeat q 129] x}
        assert_error "*HANDLER*" {r job.add q x HANDLER ""}
        assert_error "*ID*" {r job.add q x ID [string repeat n 65]}
        assert_error "LIMIT*IDEMPOTENCY*1 to 200*" {r job.add q x IDEMPOTENCY ""}
        assert_error "LIMIT*UNIQUE*1 to 200*" {r job.add q x UNIQUE ""}
        assert_error "LIMIT*IDEMPOTENCY*1 to 200*" {r job.lease q IDEMPOTENCY ""}
        r send_bytes job.add "\xff\xfe\xe4" x ;# binary, but a name
        assert_equal 26 [string length [r read]]
    }
    test {unknown words and values name what is allowed} {
        assert_error "ERR*FOO*" {r job.add q x FOO 1}
        assert_error "ERR*BACKOFF*exponential*linear*" {
            r job.add q x BACKOFF often
        }
        assert_error "ERR*PRIORITY*1000*" {r job.add q x PRIORITY 1001}
        assert_error "ERR*DELAY*" {r job.add q x DELAY}
        assert_error "ERR*DELAY*" {r job.add q x DELAY 1 DELAY 2}
        assert_error "*wrong number*" {r job.add q}
    }
}
