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
}
