start_server {tags {jobs}} {
    test {JOB.WAIT tells at once what has ended} {
        set id [r job.add q x]
        set row [lindex [r job.wait $id BLOCK 10] 0]
        assert_equal "$id ready 0" \
            "[dict get $row id] [dict get $row state] [dict get $row ended]"
        r job.ack [lease_token q]
        set row [lindex [r job.wait $id] 0]
        assert_equal "completed 1" "[dict get $row state] [dict get $row ended]"
    }
    test {BLOCK waits for the end} {
        set id [r job.add w x]
        set c [client]
        $c send JOB.WAIT $id BLOCK 10000
        wait_for {[info_field blocked_clients] == 1}
        r job.ack [lease_token w]
        assert_equal completed [dict get [lindex [$c read] 0] state]
    }
    test {ANY waits for one of them, ALL for all} {
        set a [r job.add any x]
        set b [r job.add any y]
        set any [client]
        set all [client]
        $any send JOB.WAIT $a ANY BLOCK 10000 ALSO $b
        $all send JOB.WAIT $a ALL BLOCK 10000 ALSO $b
        wait_for {[info_field blocked_clients] == 2}
        r job.ack [lease_token any]
        assert_equal {1 0} [lmap row [$any read] {dict get $row ended}]
        r job.ack [lease_token any]
        assert_equal {1 1} [lmap row [$all read] {dict get $row ended}]
        assert_error "ERR JOB.WAIT: ANY and ALL exclude each other" {
            r job.wait $a ANY ALL
        }
        assert_error "ERR ANY needs BLOCK" { r job.wait $a ANY }
    }
    test {A name is waited for, though nothing of its job is kept} {
        set id [r job.add n x ID wait:n KEEP 0]
        set c [client]
        $c send JOB.WAIT wait:n BLOCK 10000
        wait_for {[info_field blocked_clients] == 1}
        r job.ack [lease_token n]
        set row [lindex [$c read] 0]
        assert_equal "$id completed" "[dict get $row id] [dict get $row state]"
    }
    test {What had ended before the others is told, though it was deleted} {
        set a [r job.add del x]
        r job.ack [lease_token del]
        set b [r job.add del y]
        set c [client]
        $c send JOB.WAIT $a BLOCK 10000 ALSO $b
        wait_for {[info_field blocked_clients] == 1}
        r job.delete $a
        r job.ack [lease_token del]
        assert_equal {completed completed} \
            [lmap row [$c read] {dict get $row state}]
    }
}
