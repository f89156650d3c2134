start_server {tags {jobs}} {
    test {each delivery is an execution} {
        set id [r job.add q x]
        r job.nack [lease_token q WORKER w1] ERROR "no route" TYPE net CODE 7 DELAY 0
        wait_for {[set job [lease_one q WORKER w2]] ne ""}
        r job.ack [dict get $job token]
        set rows [r job.executions $id]
        assert_equal {failed completed} [lmap row $rows {dict get $row outcome}]
        assert_equal {1 2} [lmap row $rows {dict get $row n}]
        assert_equal {w1 w2} [lmap row $rows {dict get $row worker}]
        assert_equal "no route" [dict get [lindex $rows 0] error]
        assert_equal net [dict get [lindex $rows 0] error_type]
    }
}
