start_server {tags {transactions}} {
    test {WATCH is accepted, but not inside MULTI} {
        assert_equal OK [r watch a b]
        r multi
        assert_error "ERR WATCH inside MULTI is not allowed" {r watch a}
        assert_equal {} [r exec]
    }
}
