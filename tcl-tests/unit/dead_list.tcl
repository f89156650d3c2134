start_server {tags {jobs}} {
    proc die {text type} {
        set id [r job.add q x]
        r job.nack [dict get [lindex [r job.lease q] 0] token] ERROR $text TYPE $type PERMANENT
        return $id
    }
    test {DEAD.LIST shows dead letters and why} {
        r job.cancel [r job.add q x]
        set a [die "no answer from 10.0.0.7 within 31 ms" Timeout]
        set b [die "disk full" IOError]
        set jobs [dict get [r dead.list q] jobs]
        assert_equal [list $a $b] [lmap j $jobs {dict get $j id}]
        assert_equal permanent [dict get [lindex $jobs 0] reason]
        assert_equal IOError [dict get [lindex $jobs 1] error_type]
        assert_equal {jobs {} cursor (nil)} [r dead.list nosuch]
    }
    test {each with the signature of its group, as JOB.GET shows it} {
        set id [die "no answer from 10.0.0.8 within 32 ms" Timeout]
        set jobs [dict get [r dead.list q] jobs]
        set s [dict get [lindex $jobs end] signature]
        assert_equal $id [dict get [lindex $jobs end] id]
        assert_equal $s [dict get [r job.get $id] signature]
        assert_equal $s [dict get [lindex $jobs 0] signature]
        assert {$s ne [dict get [lindex $jobs 1] signature]}
        assert_equal 2 [llength [dict get [r dead.list q SIGNATURE $s] jobs]]
        r job.retry $id
        assert_equal (nil) [dict get [r job.get $id] signature]
        r job.cancel $id
        assert_equal (nil) [dict get [lindex [dict get [r job.list STATE cancelled] jobs] end] signature]
    }
    test {of one group} {
        set g [lindex [dict get [r dead.groups q] groups] 0]
        set jobs [dict get [r dead.list q SIGNATURE [dict get $g signature]] jobs]
        assert_equal 1 [llength $jobs]
        assert_error "ERR SIGNATURE is 16 hex*" {r dead.list q SIGNATURE xyz}
        assert_error "ERR *SIGNATURE*" {r dead.list q SIGNATURE 0000000000000000}
    }
}
