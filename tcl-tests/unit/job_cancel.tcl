start_server {tags {jobs}} {
    test {JOB.CANCEL ends a waiting job at once} {
        set id [r job.add q x]
        assert_equal {simple OK} [r typed job.cancel $id]
        assert_equal cancelled [r job.state $id]
        assert_equal {} [r job.lease q]
        assert_equal OK [r job.cancel $id]
    }
    test {a running job gets the order with its next renewal, also after a crash} {
        set id [r job.add q x]
        set token [dict get [lindex [r job.lease q] 0] token]
        set c [client]
        $c subscribe belfry:job:q
        assert_equal OK [r job.cancel $id]
        set message [lindex [$c read] 2]
        assert_match "*\"event\":\"cancelling\"*$id*" $message
        assert_equal cancel [dict get [lindex [r job.extend $token] 0] order]
        restart_server KILL
        assert_equal cancel [dict get [lindex [r job.extend $token] 0] order]
        assert_equal OK [r job.nack $token]
        assert_equal cancelled [r job.state $id]
    }
    test {FORCE ends a running job that does not stop} {
        set id [r job.add q x]
        set token [dict get [lindex [r job.lease q] 0] token]
        assert_equal OK [r job.cancel $id FORCE 20ms]
        wait_for {[r job.state $id] eq "cancelled"}
        assert_equal lost [dict get [lindex [r job.extend $token] 0] order]
        assert_error "FINISHED *" {r job.ack $token}
    }
    test {who waits for the job learns of its cancellation} {
        set id [r job.add q x]
        set c [client]
        $c send job.wait $id block 10000
        r job.cancel $id
        assert_match "*cancelled*" [$c read]
    }
    test {with ALSO each job has its own answer} {
        set a [r job.add q x]
        set b [r job.add q x]
        r job.ack [dict get [lindex [r job.lease q] 0] token]
        assert_equal {FINISHED OK NOTFOUND ERR} \
            [r job.cancel $a ALSO $b nobody "a b"]
    }
    test {words that make no sense} {
        assert_error "NOTFOUND *" {r job.cancel 01J8ZQ4W2H0000000000000001}
        assert_error "ERR *" {r job.cancel 01J8ZQ4W2H0000000000000001#1.1}
        assert_error "ERR *FORCE*" {r job.cancel x FORCE -1}
        assert_error "ERR *FORCE*" {r job.cancel x FORCE 99999999999999999999}
        assert_error "ERR *" {r job.cancel ""}
        assert_error "ERR wrong number*" {r job.cancel}
    }
}
