start_server {tags {jobs}} {
    test {JOB.ADDM adds many with the same options} {
        set ids [r job.addm q 3 a b c PRIORITY 600]
        assert_equal 3 [llength $ids]
        set jobs [r job.lease q COUNT 10]
        assert_equal {a b c} [lmap j $jobs {dict get $j payload}]
        assert_equal $ids [lmap j $jobs {dict get $j id}]
        assert_equal {600 600 600} [lmap j $jobs {dict get $j priority}]
    }
    test {the count must be right} {
        assert_error "ERR JOB.ADDM: payloads says 3 words, but 2 follow" {
            r job.addm q 3 a b
        }
        assert_error "ERR JOB.ADDM: payloads wants a whole number*not '0'" {
            r job.addm q 0 a
        }
        assert_error "ERR wrong number of arguments for 'job.addm' command: JOB.ADDM queue n payloads... *" {
            r job.addm q 1
        }
        assert_equal {} [r job.lease q]
    }
    test {ten thousand in one call, in their order, also after a crash} {
        set payloads {}
        for {set i 0} {$i < 10000} {incr i} {lappend payloads $i}
        set ids [r job.addm many 10000 {*}$payloads]
        assert_equal 10000 [llength $ids]
        assert_equal $ids [lsort -unique $ids]
        restart_server KILL
        assert_equal 10000 [dict get [r queue.info many] ready]
        set jobs [r job.lease many COUNT 50]
        assert_equal [lrange $payloads 0 49] [lmap j $jobs {dict get $j payload}]
        assert_equal 9999 [dict get [r job.get [lindex $ids end]] payload]
    }
    test {many are added in parts, between which others are served} {
        set before [info_field lists_cut]
        r job.addm parts 10000 {*}[lrepeat 10000 x]
        assert {[info_field lists_cut] - $before >= 10000 / 256}
        set before [info_field lists_cut]
        r multi
        r job.addm parts 10000 {*}[lrepeat 10000 x]
        assert_equal 10000 [llength [lindex [r exec] 0]]
        assert_equal $before [info_field lists_cut]
        assert_equal 20000 [dict get [r queue.info parts] ready]
    }
    test {with a key, too, and each part is remembered} {
        set payloads {}
        for {set i 0} {$i < 10000} {incr i} {lappend payloads $i}
        set before [info_field lists_cut]
        set ids [r job.addm keyed 10000 {*}$payloads idempotency all]
        assert {[info_field lists_cut] - $before >= 10000 / 256}
        assert_equal $ids [lsort -unique $ids]
        assert_equal $ids [r job.addm keyed 10000 {*}$payloads idempotency all]
        restart_server KILL
        assert_equal $ids [r job.addm keyed 10000 {*}$payloads idempotency all]
        r multi
        r job.addm keyed 10000 {*}$payloads idempotency all
        assert_equal [list $ids] [r exec]
        assert_equal 10000 [dict get [r queue.info keyed] ready]
    }
    # Ten calls that take turns, so that they are seen half done.
    proc ten_at_once {name payloads} {
        for {set i 0} {$i < 10} {incr i} {
            set c [client]
            lappend ids [$c client id]
            $c send job.addm $name$i 10000 {*}$payloads idempotency $name$i
        }
        wait_for {[dict exists [r queue.info ${name}0] ready] &&
                  [dict get [r queue.info ${name}0] ready] > 0}
        return $ids
    }
    test {killed in the middle, the same call adds what is missing} {
        set cut 0
        for {set try 0} {$try < 20 && !$cut} {incr try} {
            ten_at_once cut$try. $payloads
            restart_server KILL
            for {set i 0} {$i < 10} {incr i} {
                set q cut$try.$i
                if {![dict exists [r queue.info $q] ready]} continue
                set there [dict get [r queue.info $q] ready]
                if {$there == 0 || $there == 10000} continue
                incr cut
                assert_error "MISMATCH *" {
                    r job.addm $q 10000 {*}[lreplace $payloads end end x] \
                        idempotency $q
                }
                assert_equal $there [dict get [r queue.info $q] ready]
                set ids [r job.addm $q 10000 {*}$payloads idempotency $q]
                assert_equal 10000 [llength [lsort -unique $ids]]
                assert_equal 10000 [dict get [r queue.info $q] ready]
                set jobs [r job.lease $q count 10]
                assert_equal [lrange $ids 0 9] [lmap j $jobs {dict get $j id}]
                assert_equal [lrange $payloads 0 9] \
                    [lmap j $jobs {dict get $j payload}]
            }
        }
        assert {$cut}
    }
    test {cut by its connection, it is ended by a transaction} {
        foreach id [ten_at_once gone $payloads] {catch {r client kill id $id}}
        foreach q {gone0 gone9} {
            r multi
            r job.addm $q 10000 {*}$payloads idempotency $q
            set ids [lindex [r exec] 0]
            assert_equal 10000 [llength [lsort -unique $ids]]
            assert_equal $ids \
                [r job.addm $q 10000 {*}$payloads idempotency $q]
            assert_equal 10000 [dict get [r queue.info $q] ready]
        }
    }
    test {two who ask at once get the same} {
        set two [list [client] [client]]
        foreach c $two {
            $c send job.addm both 10000 {*}$payloads idempotency both
        }
        assert_equal [[lindex $two 0] read] [[lindex $two 1] read]
        assert_equal 10000 [dict get [r queue.info both] ready]
    }
    test {another request with the key is refused, whichever part differs} {
        foreach i {0 5000 9999} {
            set other [lreplace $payloads $i $i other]
            assert_error "MISMATCH *" {
                r job.addm keyed 10000 {*}$other idempotency all
            }
        }
        assert_error "MISMATCH *" {
            r job.addm keyed 9999 {*}[lrange $payloads 0 end-1] idempotency all
        }
        assert_error "MISMATCH *" {
            r job.addm keyed 100 {*}[lrange $payloads 0 99] idempotency all
        }
        assert_equal 10000 [dict get [r queue.info keyed] ready]
    }
    test {a key of a transaction gives the same outside, in one go} {
        r multi
        r job.addm once 1000 {*}[lrange $payloads 0 999] idempotency exec
        set ids [lindex [r exec] 0]
        assert_equal 1000 [llength $ids]
        assert_equal $ids [r job.addm once 1000 {*}[lrange $payloads 0 999] \
            idempotency exec]
        assert_equal 1000 [dict get [r queue.info once] ready]
    }
    test {what refuses one of many refuses all} {
        r queue.set full maxlen 9999
        assert_error "LIMIT *" {r job.addm full 10000 {*}[lrepeat 10000 x]}
        assert_error "LIMIT *" {
            r job.addm full 301 {*}[lrepeat 300 x] [string repeat x 1100000]
        }
        assert_error "*UNIQUE names one job, not 301" {
            r job.addm full 301 {*}[lrepeat 301 [string repeat x 9000]] unique k
        }
        assert_equal 0 [dict get [r queue.info full] ready]
        assert_equal 9999 [llength [r job.addm full 9999 {*}[lrepeat 9999 x]]]
    }
    test {many to a full queue that drops its oldest} {
        r queue.set drops maxlen 1000 overflow drop
        r job.addm drops 1000 {*}[lrepeat 1000 old]
        r job.addm drops 900 {*}[lrepeat 900 new]
        assert_equal 1000 [dict get [r queue.info drops] ready]
        set heads [lmap j [r job.lease drops count 101] {dict get $j payload}]
        assert_equal [list {*}[lrepeat 100 old] new] $heads
        assert_error "LIMIT *" {r job.addm drops 1001 {*}[lrepeat 1001 x]}
    }
    test {all or none} {
        assert_error "LIMIT *" {
            r job.addm big 2 small [string repeat x 1100000]
        }
        assert_equal {} [r job.lease big]
    }
}
