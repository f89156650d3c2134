start_server {tags {queues}} {
    test {QUEUE.PURGE erases what waits and leaves what runs} {
        r job.addm q 50 {*}[lrepeat 50 x]
        r job.addm q 5 a b c d e DELAY 1h
        r job.add other x
        set token [dict get [lindex [r job.lease q] 0] token]
        set chore [r queue.purge q]
        wait_for {[dict get [r chore.get $chore] state] eq "done"}
        set info [r queue.info q]
        assert_equal {0 0 1} [list [dict get $info ready] [dict get $info scheduled] [dict get $info running]]
        assert_equal 54 [dict get [r chore.get $chore] done]
        assert_equal OK [r job.ack $token]
        assert_equal 1 [dict get [r queue.info other] ready]
        assert_equal {} [r job.lease q]
        restart_server KILL
        assert_equal 0 [dict get [r queue.info q] ready]
    }
    test {with the reply nothing of it is seen, before a row is freed} {
        r job.addm big 3000 {*}[lrepeat 3000 x]
        set id [r job.add big x ID last UNIQUE u]
        r multi
        r queue.purge big
        r queue.info big
        r job.lease big
        r job.state $id
        r job.add big y ID last UNIQUE u
        r dbsize
        lassign [r exec] chore info lease state new size
        assert_equal {0 0} [list [dict get $info ready] [dict get $info running]]
        assert_equal {} $lease
        assert_equal (nil) $state
        assert {$new ne $id}
        assert_equal 2 $size
        wait_for {[dict get [r chore.get $chore] state] eq "done"}
        assert_equal 3001 [dict get [r chore.get $chore] done]
        assert_equal 3001 [dict get [r chore.get $chore] matched]
        assert_equal purge [dict get [r chore.get $chore] verb]
        assert_equal ready [r job.state last]
        assert_equal 1 [llength [r job.lease big]]
        assert_error "FINISHED *" {r chore.cancel $chore}
    }
    test {a purge survives a crash in its middle} {
        r job.addm mid 2000 {*}[lrepeat 2000 x]
        set chore [r queue.purge mid]
        restart_server KILL
        assert_equal 0 [dict get [r queue.info mid] ready]
        assert_equal {} [r job.lease mid]
        wait_for {[dict get [r chore.get $chore] state] eq "done"}
        assert_equal 2000 [dict get [r chore.get $chore] done]
        r job.add mid x
        restart_server KILL
        assert_equal 1 [llength [r job.lease mid]]
    }
    test {a queue that is not there} {
        assert_error "NOTFOUND *" {r queue.purge nosuch}
    }
}
