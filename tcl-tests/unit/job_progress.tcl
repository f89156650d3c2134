start_server {tags {jobs}} {
    test {JOB.PROGRESS is shown by JOB.GET} {
        set id [r job.add q x]
        set token [lease_token q]
        assert_equal OK [r job.progress $token 40 TEXT "page 4"]
        set job [r job.get $id]
        assert_equal 40 [dict get $job progress]
        assert_equal "page 4" [dict get $job progress_text]
        assert_error "ERR JOB.PROGRESS: pct wants a whole number from 0 to 100, not '101'" {
            r job.progress $token 101
        }
    }
    test {a stale token cannot tell progress} {
        r job.add stale x
        set token [lease_token stale]
        r job.release $token
        lease_token stale
        assert_error "STALE *" {r job.progress $token 1}
    }
}
