start_server {tags {jobs}} {
    proc die {text} {
        set id [r job.add q x]
        r job.nack [dict get [lindex [r job.lease q] 0] token] ERROR $text PERMANENT
        return $id
    }
    proc finished {chore} {expr {[dict get [r chore.get $chore] state] eq "done"}}
    test {DEAD.RETRY takes back one, a group, all} {
        set one [die "other"]
        for {set i 0} {$i < 4} {incr i} {die "disk $i full"}
        die "third"
        assert_equal OK [r dead.retry q ID $one]
        assert_equal ready [r job.state $one]
        assert_error "STATE *dead letter*" {r dead.retry q ID $one}
        assert_error "NOTFOUND *" {r dead.retry q ID 01J8ZQ4W2H0000000000000001}
        set s [dict get [lindex [dict get [r dead.groups q] groups] 0] signature]
        set chore [r dead.retry q SIGNATURE $s]
        wait_for {[finished $chore]}
        assert_equal 1 [dict get [r queue.info q] failed]
        set chore [r dead.retry q ALL RATE 1000]
        wait_for {[finished $chore]}
        assert_equal 6 [dict get [r queue.info q] ready]
    }
    test {a group comes back at its rate, and no other} {
        for {set i 0} {$i < 40} {incr i} {
            r job.add slow x
            set error [expr {$i % 2 ? "disk $i full" : "no route"}]
            r job.nack [lease_token slow] ERROR $error PERMANENT
        }
        set full [lmap g [dict get [r dead.groups slow] groups] {
            if {![string match disk* [dict get $g error]]} continue
            dict get $g signature
        }]
        set chore [r dead.retry slow SIGNATURE $full RATE 1]
        assert_equal {retry 1} [list [dict get [r chore.get $chore] verb] \
            [dict get [r chore.get $chore] rate]]
        wait_for {[dict get [r queue.info slow] ready] >= 1}
        # The last of them would come after twenty seconds.
        assert_equal OK [r chore.cancel $chore]
        set ready [dict get [r queue.info slow] ready]
        assert_range $ready 1 19
        assert_equal $ready [dict get [r chore.get $chore] done]
        set chore [r dead.retry slow SIGNATURE $full RATE 100000]
        wait_for {[finished $chore]}
        assert_equal [expr {20 - $ready}] [dict get [r chore.get $chore] done]
        assert_equal {20 20} [list [dict get [r queue.info slow] ready] \
            [dict get [r queue.info slow] failed]]
        assert_equal 1 [llength [dict get [r dead.groups slow] groups]]
    }
    test {it must be said which} {
        assert_error "ERR *ALL*" {r dead.retry q}
        assert_error "ERR *ALL and ID*" {r dead.retry q ALL ID x}
        assert_error "ERR *ID and RATE*" {r dead.retry q RATE 5 ID x}
        foreach s {zzzzzzzzzzzzzzzz abc "" 0000000000000000 00000000000000001} {
            assert_error "ERR SIGNATURE is 16 hexadecimal digits*" {
                r dead.retry q SIGNATURE $s
            }
            assert_error "ERR SIGNATURE is 16*" {r dead.list q SIGNATURE $s}
        }
    }
    test {what never was a queue has no dead letters to retry} {
        assert_error "NOTFOUND no such queue" {r dead.retry nosuch ALL}
        assert_error "NOTFOUND no such queue" {
            r dead.drop nosuch SIGNATURE 0123456789abcdef
        }
        r queue.set empty FAIR 0
        set chore [r dead.retry empty ALL]
        wait_for {[finished $chore]}
    }
    test {a queue that was dropped has its dead letters still} {
        r job.add gone x
        r job.nack [lease_token gone] ERROR late PERMANENT
        set chore [r queue.drop gone]
        wait_for {[finished $chore]}
        set chore [r dead.retry gone ALL]
        wait_for {[finished $chore]}
        assert_equal 1 [dict get [r chore.get $chore] done]
    }
}
