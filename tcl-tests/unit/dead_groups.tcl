start_server {tags {jobs}} {
    proc die {text type} {
        set id [r job.add q x]
        r job.nack [dict get [lindex [r job.lease q] 0] token] ERROR $text TYPE $type PERMANENT
        return $id
    }
    test {errors that differ in numbers and ids are one group} {
        assert_equal {groups {} examined 0 complete 1 cursor (nil)} [r dead.groups q]
        die "no answer from 10.0.0.7 within 31 ms" Timeout
        die "no answer from 10.12.0.200 within 7 ms" Timeout
        set last [die "no answer from 1.2.3.4 within 123456 ms" Timeout]
        die "user 550e8400-e29b-41d4-a716-446655440000 is unknown" KeyError
        die "user abcdefab-cdef-4abc-9def-aaaaaaaaaaaa is unknown" KeyError
        die "no answer from 10.0.0.7 within 31 ms" Other
        set groups [dict get [r dead.groups q] groups]
        assert_equal {3 2 1} [lmap g $groups {dict get $g count}]
        set g [lindex $groups 0]
        assert_equal "no answer from #.#.#.# within # ms" [dict get $g error]
        assert_equal Timeout [dict get $g error_type]
        assert_equal $last [dict get $g sample]
    }
    test {more dead letters than one call looks at are told from cursor to cursor} {
        r handler.set many RETRIES 0
        for {set i 0} {$i < 9} {incr i} {
            r job.addm many 500 {*}[lrepeat 500 x]
            foreach lease [r job.lease many COUNT 500] {
                r send job.nack [dict get $lease token] ERROR $i TYPE [expr {$i % 2}]
            }
            for {set n 0} {$n < 500} {incr n} {r read}
        }
        set cursor ""
        set pages 0
        while 1 {
            set reply [r dead.groups many {*}[expr {$cursor eq "" ? "" : "CURSOR $cursor"}]]
            assert_equal 0 [dict get $reply complete]
            foreach g [dict get $reply groups] {dict incr sum [dict get $g signature] [dict get $g count]}
            incr pages
            set cursor [dict get $reply cursor]
            if {$cursor eq "(nil)"} break
        }
        assert {$pages > 1}
        assert_equal {2000 2500} [lsort -integer [dict values $sum]]
        assert_error "ERR *CURSOR*" {r dead.groups q CURSOR [dict get [r dead.groups many] cursor]}
    }
}
