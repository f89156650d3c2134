start_server {tags {jobs}} {
    test {JOB.EXTEND renews a lease and says to go on} {
        r job.add q x
        set token [lease_token q FOR 10s]
        set row [lindex [r job.extend $token] 0]
        assert_equal {token left_ms order} [dict keys $row]
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
}
