start_server {tags {workers}} {
    test {a forgotten worker is gone for good} {
        r worker.beat w
        assert_equal OK [r worker.forget w]
        assert_equal {} [r worker.list]
        restart_server KILL
        assert_equal {} [r worker.list]
        assert_error "NOTFOUND *" {r worker.forget w}
    }
}
