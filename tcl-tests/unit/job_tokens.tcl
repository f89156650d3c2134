proc leased {args} {
    set id [r job.add q x {*}$args]
    return [list $id [dict get [lindex [r job.lease q] 0] token]]
}
start_server {tags {jobs}} {
    test {unknown, finished, stale: in this order} {
        lassign [leased] id token
        set n [regsub {#1\.} $token {#2.}]
        set other 00000000000000000000000001[string range $token 26 end]
        assert_error "STALE *" {r job.ack $n}
        assert_error "NOTFOUND *" {r job.ack $other}
        r job.ack $token
        assert_error "FINISHED *" {r job.ack $n}
        foreach bad {"" x 01#1.1 # [string repeat 9 99]} {
            assert_error "ERR not a lease token*" {r job.ack $bad}
        }
    }
    test {a token of another job does not end this one} {
        lassign [leased] a ta
        lassign [leased] b tb
        r job.ack $ta
        assert_equal running [r job.state $b]
        assert_error "FINISHED *" {r job.nack $ta}
        assert_equal OK [r job.ack $tb]
    }
    test {a token from before a restart is good while the lease lives} {
        lassign [leased] id token
        restart_server KILL
        assert_equal OK [r job.ack $token]
        lassign [leased] id token
        restart_server KILL
        r job.release $token
        r job.lease q
        assert_error "STALE *" {r job.ack $token}
    }
    test {several at once answer for each} {
        lassign [leased] a ta
        lassign [leased] b tb
        r job.ack $ta
        assert_equal {OK OK STALE} [r job.ack $ta ALSO $tb \
            [regsub {#1\.} [lindex [leased] 1] {#9.}]]
        assert_equal completed [r job.state $b]
    }
    test {a long list is worked off in parts, and answers for each} {
        set unknown 01J8ZQ4W2H0000000000000001
        set cut [info_field lists_cut]
        foreach {command word} [list job.cancel $unknown job.delete $unknown \
                                    job.ack $unknown#1.1 job.nack $unknown#1.1 \
                                    job.release $unknown#1.1] {
            set words [lrepeat 1999 $word]
            set id [r job.add q x]
            set mine [expr {[string match *#* $word] ?
                            [dict get [lindex [r job.lease q] 0] token] : $id}]
            set got [r $command $word ALSO {*}$words $mine]
            assert_equal [concat [lrepeat 2000 NOTFOUND] OK] $got
            catch {r job.cancel $id}
        }
        # 2,001 of at most 256 at a time: eight parts, seven cuts each.
        assert {[info_field lists_cut] >= $cut + 35}
    }
    test {states of a long list are looked up in parts} {
        set cut [info_field lists_cut]
        set id [r job.add other x]
        set got [r job.state $id ALSO \
                     {*}[lrepeat 998 01J8ZQ4W2H0000000000000001] $id]
        assert_equal [concat ready [lrepeat 998 (nil)] ready] $got
        assert {[info_field lists_cut] >= $cut + 3}
        assert_error "ERR *" {r job.state $id ALSO {*}[lrepeat 600 $id] "a b"}
        assert_equal ready [r job.state $id]
        assert_equal (nil) [r job.state 01J8ZQ4W2H0000000000000001]
    }
    test {inside MULTI a list is one entry} {
        set unknown 01J8ZQ4W2H0000000000000001
        set cut [info_field lists_cut]
        r multi
        r job.cancel $unknown ALSO {*}[lrepeat 999 $unknown]
        assert_equal [list [lrepeat 1000 NOTFOUND]] [r exec]
        assert_equal $cut [info_field lists_cut]
    }
    test {nothing is kept of a job with KEEP 0, yet the ACK may be repeated} {
        lassign [leased KEEP 0] id token
        assert_equal OK [r job.ack $token]
        assert_equal OK [r job.ack $token]
        assert_equal (nil) [r job.get $id]
    }
}
