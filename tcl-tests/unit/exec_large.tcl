# A transaction is one entry of the log, which has its bound: what passes it is
# answered in its place, and nothing is done by half.

# The replies of an EXEC of `n` times `words`.
proc exec_many {n words} {
    r send multi
    for {set i 0} {$i < $n} {incr i} {
        r send {*}$words
        if {$i % 500 == 499} {
            for {set k 0} {$k < 500} {incr k} {r read}
        }
    }
    for {set k 0} {$k <= $n % 500} {incr k} {r read}
    return [r exec]
}

# All are good up to one, and the rest says what the bound is. How many are?
proc good_ones {replies} {
    set good 0
    foreach reply $replies {
        if {[string match "(error)*" $reply]} break
        incr good
    }
    foreach reply [lrange $replies $good end] {
        assert_match "*LIMIT *17825792*" $reply
    }
    return $good
}

start_server {tags {transactions}} {
    set megabyte [string repeat x 1048576]
    set meta [string repeat m 4096]

    test {an EXEC of large jobs of a schedule is bounded} {
        r schedule.set s every 100d queue large payload $megabyte
        set good [good_ones [exec_many 18 {schedule.run s}]]
        assert_range $good 14 17
        assert_equal $good [dict get [r queue.info large] ready]
        assert_match {0*} [r schedule.run s]
    }
    test {options that jobs inherit count} {
        r handler.set q meta $meta
        r multi
        r job.addm q 10000 {*}[lrepeat 10000 x] idempotency one
        assert_match "*LIMIT *" [lindex [r exec] 0]
        set good [good_ones [exec_many 4400 {job.add q x}]]
        assert_range $good 3000 4300
        assert_equal $good [dict get [r queue.info q] ready]
    }
    test {JOB.ADDM up to the bound, and JOB.ADD behind it} {
        r handler.set p meta $meta
        r multi
        r job.addm p 3000 {*}[lrepeat 3000 x]
        for {set i 0} {$i < 2000} {incr i} {r job.add p x}
        r job.addm p 10 {*}[lrepeat 10 x]
        set replies [r exec]
        assert_equal 3000 [llength [lindex $replies 0]]
        assert_range [good_ones [lrange $replies 1 end]] 100 1900
    }
    test {rows that are written again and again count} {
        r job.add w x meta $meta
        set token [lease_token w]
        set good [good_ones [exec_many 5000 [list job.progress $token 1]]]
        assert_range $good 3000 4999
        assert_equal OK [r job.progress $token 2]
        assert_equal OK [r job.ack $token]
    }
    test {a command that cannot fit says so each time, the small ones go on} {
        assert_equal PONG [r ping]
        assert_match {0*} [r job.add q x]
    }
}
