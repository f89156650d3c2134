start_server {tags {jobs}} {
    test {a checkpoint comes with the next lease} {
        r job.add q x
        set token [lease_token q]
        assert_equal OK [r job.checkpoint $token "row 1000"]
        r job.release $token
        assert_equal "row 1000" [dict get [lease_one q] checkpoint]
    }
    test {a checkpoint survives a crash} {
        r job.add crash x
        set token [lease_token crash]
        r job.checkpoint $token half
        restart_server KILL
        r job.release $token
        assert_equal half [dict get [lease_one crash] checkpoint]
    }
}
