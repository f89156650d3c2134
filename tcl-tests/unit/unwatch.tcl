start_server {tags {transactions}} {
    test {UNWATCH is accepted, also inside MULTI} {
        assert_equal OK [r unwatch]
        r multi
        assert_equal QUEUED [r unwatch]
        assert_equal OK [r exec]
    }
}
