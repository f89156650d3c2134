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
    test {it must be said which} {
        assert_error "ERR *ALL*" {r dead.retry q}
        assert_error "ERR *ALL and ID*" {r dead.retry q ALL ID x}
        assert_error "ERR *ID and RATE*" {r dead.retry q RATE 5 ID x}
        assert_error "ERR *SIGNATURE*" {r dead.retry q SIGNATURE zzzzzzzzzzzzzzzz}
    }
}
