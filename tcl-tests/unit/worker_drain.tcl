start_server {tags {workers}} {
    test {a draining worker is told so and gets nothing} {
        r worker.beat w
        assert_equal OK [r worker.drain w]
        assert_equal drain [dict get [r worker.beat w] order]
        r job.add q x
        assert_equal {} [r job.lease q WORKER w]
        restart_server KILL
        assert_equal {} [r job.lease q WORKER w]
        assert_equal draining [dict get [r worker.get w] state]
        assert_equal 1 [llength [r job.lease q WORKER other]]
        assert_error "NOTFOUND *" {r worker.drain nobody}
    }
    test {a worker that only says its session drains as well} {
        r job.addm by-session 2 x y
        set c [client]
        $c worker.beat named SESSION its-own
        set job [lindex [$c job.lease by-session SESSION its-own] 0]
        set run [lindex [dict get [r worker.get named] running] 0]
        assert_equal [dict get $job id] [dict get $run id]
        r worker.drain named
        assert_equal {} [$c job.lease by-session SESSION its-own]
        assert_equal {} [$c job.lease by-session SESSION its-own BLOCK 20]
        $c destroy
        wait_for {[dict get [r queue.info by-session] ready] == 2}
        assert_equal {1 1} [lmap job [r job.lease by-session COUNT 2] {
            dict get $job attempt
        }]
    }
}
