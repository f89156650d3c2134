start_server {tags {queues}} {
    test {QUEUE.DROP forgets a queue, its jobs and its settings} {
        r queue.set q FAIR 1 MAXLEN 100 CONCURRENCY 2 ORDER aging AGE 1s
        r job.addm q 30 {*}[lrepeat 30 x] OWNER acme
        r job.addm q 2 a b DELAY 1h
        set lease [lindex [r job.lease q] 0]
        assert_error "STATE *1 jobs*running*" {r queue.drop q}
        assert_equal 29 [dict get [r queue.info q] ready]
        r job.ack [dict get $lease token]
        r queue.pause q
        set chore [r queue.drop q]
        assert_equal (nil) [r queue.info q]
        assert_equal {} [r queue.list]
        assert_error "NOTFOUND *" {r queue.drop q}
        assert_equal {} [r job.lease q]
        assert_equal completed [r job.state [dict get $lease id]]
        restart_server KILL
        assert_equal (nil) [r queue.info q]
        wait_for {[dict get [r chore.get $chore] state] eq "done"}
        assert_equal 31 [dict get [r chore.get $chore] done]
        assert_equal completed [r job.state [dict get $lease id]]
    }
    test {a queue of the same name begins anew} {
        set id [r job.add q y]
        restart_server KILL
        set info [r queue.info q]
        assert_equal {1 1 0 0 0} [list [dict get $info ready] [dict get $info total_added] [dict get $info fair] [dict get $info paused] [dict get $info maxlen]]
        assert_equal $id [dict get [lindex [r job.lease q] 0] id]
    }
    test {a finished job that is taken back brings its queue back} {
        set id [r job.add back x]
        r job.ack [dict get [lindex [r job.lease back] 0] token]
        r queue.drop back
        r job.retry $id
        restart_server KILL
        assert_equal 1 [dict get [r queue.info back] ready]
        assert_equal $id [dict get [lindex [r job.lease back] 0] id]
    }
    test {a queue that is not there} {
        assert_error "NOTFOUND *" {r queue.drop nosuch}
    }
}
