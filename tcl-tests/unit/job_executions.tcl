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
    test {what an execution used is told with it} {
        set id [r job.add u x BASE 0]
        set token [dict get [lindex [r job.lease u] 0] token]
        r job.nack $token DELAY 0 USAGE tokens=1200 USAGE gpu_ms=7
        wait_for {[llength [set l [r job.lease u]]] == 1}
        r job.ack [dict get [lindex $l 0] token] USAGE tokens=9223372036854775807
        restart_server KILL
        lassign [r job.executions $id] first second
        assert_equal {tokens 1200 gpu_ms 7} [dict get $first usage]
        assert_equal {tokens 9223372036854775807} [dict get $second usage]
    }
    test {USAGE takes names and numbers} {
        r job.add u x
        set token [dict get [lindex [r job.lease u] 0] token]
        foreach bad {tokens tokens= tokens=x tokens=-1 tokens=9223372036854775808 =1} {
            assert_error "ERR *USAGE*" {r job.ack $token USAGE $bad}
        }
        assert_error "ERR *USAGE*" {r job.ack $token USAGE [string repeat k 65]=1}
        set many {0 1 2 3 4 5 6 7 8 9 a b c d e f g}
        assert_error "LIMIT *USAGE*16*" {r job.ack $token {*}[concat {*}[lmap i $many {list USAGE k$i=1}]]}
        assert_error "ERR JOB.ACK: USAGE cpu was given twice" {
            r job.ack $token USAGE cpu=5 USAGE mb=1 USAGE cpu=6
        }
        assert_error "ERR *USAGE*SNOOZE*" {r job.nack $token SNOOZE 1s USAGE k=1}
        assert_equal OK [r job.ack $token USAGE k=0]
    }
}
