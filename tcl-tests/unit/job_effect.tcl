start_server {tags {jobs}} {
    test {an effect is claimed once per job, by whatever execution} {
        r job.add q x
        set token [lease_token q]
        assert_equal {integer 1} [r typed JOB.EFFECT $token charge]
        assert_equal {integer 0} [r typed JOB.EFFECT $token charge]
        assert_equal 1 [r job.effect $token mail]
        r job.release $token
        set next [lease_token q]
        assert_equal 0 [r job.effect $next charge]
        assert_error "STALE *" {r job.effect $token other}
    }
}
