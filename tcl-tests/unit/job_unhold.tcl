start_server {tags {jobs}} {
    test {JOB.UNHOLD lets a job go on from its old place} {
        set a [r job.add q x]
        set b [r job.add q x]
        r job.hold $a
        assert_equal OK [r job.unhold $a]
        assert_equal $a [dict get [lindex [r job.lease q] 0] id]
        assert_error "STATE *not held*" {r job.unhold $b}
    }
    test {a delayed job waits for its time again} {
        set id [r job.add q x DELAY 1h]
        r job.hold $id
        r job.unhold $id
        assert_equal scheduled [r job.state $id]
    }
    test {jobs that are not there} {
        assert_error "NOTFOUND *" {r job.unhold nobody}
        assert_equal {NOTFOUND ERR} [r job.unhold nobody ALSO "?"]
    }
}
