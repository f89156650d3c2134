start_server {tags {jobs}} {
    test {JOB.ADDM adds many with the same options} {
        set ids [r job.addm q 3 a b c PRIORITY 600]
        assert_equal 3 [llength $ids]
        set jobs [r job.lease q COUNT 10]
        assert_equal {a b c} [lmap j $jobs {dict get $j payload}]
        assert_equal $ids [lmap j $jobs {dict get $j id}]
        assert_equal {600 600 600} [lmap j $jobs {dict get $j priority}]
    }
    test {the count must be right} {
        assert_error "ERR JOB.ADDM: payloads says 3 words, but 2 follow" {
            r job.addm q 3 a b
        }
        assert_error "ERR JOB.ADDM: payloads wants a whole number*not '0'" {
            r job.addm q 0 a
        }
        assert_error "ERR wrong number of arguments for 'job.addm' command: JOB.ADDM queue n payloads... *" {
            r job.addm q 1
        }
        assert_equal {} [r job.lease q]
    }
    test {ten thousand in one call, in their order, also after a crash} {
        set payloads {}
        for {set i 0} {$i < 10000} {incr i} {lappend payloads $i}
        set ids [r job.addm many 10000 {*}$payloads]
        assert_equal 10000 [llength $ids]
        assert_equal $ids [lsort -unique $ids]
        restart_server KILL
        assert_equal 10000 [dict get [r queue.info many] ready]
        set jobs [r job.lease many COUNT 50]
        assert_equal [lrange $payloads 0 49] [lmap j $jobs {dict get $j payload}]
        assert_equal 9999 [dict get [r job.get [lindex $ids end]] payload]
    }
    test {all or none} {
        assert_error "LIMIT *" {
            r job.addm big 2 small [string repeat x 1100000]
        }
        assert_equal {} [r job.lease big]
    }
}
