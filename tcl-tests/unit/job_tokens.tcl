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
    test {nothing is kept of a job with KEEP 0, yet the ACK may be repeated} {
        lassign [leased KEEP 0] id token
        assert_equal OK [r job.ack $token]
        assert_equal OK [r job.ack $token]
        assert_equal (nil) [r job.get $id]
    }
}
