start_server {tags {jobs}} {
    test {JOB.EXTEND renews a lease and says to go on} {
        r job.add q x
        set token [lease_token q FOR 10s]
        set row [lindex [r job.extend $token] 0]
        assert_equal {token left_ms order error} [dict keys $row]
        assert_equal $token [dict get $row token]
        assert_equal continue [dict get $row order]
        assert_range [dict get $row left_ms] 9000 10000
        set row [lindex [r job.extend $token FOR 5m] 0]
        assert_range [dict get $row left_ms] 299000 300000
    }
    test {a lease from any connection can be renewed} {
        r job.add any x
        set token [lease_token any]
        assert_equal continue \
            [dict get [lindex [[client] job.extend $token] 0] order]
    }
    test {a token that is not in force is lost} {
        r job.add lost x
        set token [lease_token lost]
        r job.release $token
        set rows [r job.extend $token ALSO [lease_token lost]]
        assert_equal {lost continue} [lmap row $rows {dict get $row order}]
        assert_error "ERR not a lease token*" {r job.extend nonsense}
    }
    test {a broken token costs the others nothing, and each is told why} {
        r job.addm each 4 a b c d
        foreach name {good done released none} {
            set $name [lease_token each]
        }
        r job.ack $done
        r job.release $released
        regsub {^.*#} $none 00000000000000000000000000# none
        set rows [r job.extend $good FOR 50s ALSO foo $done $released $none]
        assert_equal [list $good foo $done $released $none] \
            [lmap row $rows {dict get $row token}]
        assert_equal {continue lost lost lost lost} \
            [lmap row $rows {dict get $row order}]
        assert_equal {(nil) ERR FINISHED STALE NOTFOUND} \
            [lmap row $rows {dict get $row error}]
        assert_range [dict get [lindex $rows 0] left_ms] 49000 50000
        assert_equal FINISHED \
            [dict get [lindex [r job.extend $done] 0] error]
    }
    test {a long list is renewed in its order, in parts and in one} {
        r job.addm long 1000 {*}[lrepeat 1000 x]
        set tokens [lmap job [r job.lease long COUNT 1000] {dict get $job token}]
        set tokens [linsert $tokens 500 foo]
        foreach whole {0 1} {
            if {$whole} {r multi}
            set rows [r job.extend [lindex $tokens 0] ALSO \
                {*}[lrange $tokens 1 end]]
            if {$whole} {set rows [lindex [r exec] 0]}
            assert_equal $tokens [lmap row $rows {dict get $row token}]
            assert_equal 1000 [llength [lsearch -all $rows *continue*]]
            assert_equal ERR [dict get [lindex $rows 500] error]
        }
    }
}
