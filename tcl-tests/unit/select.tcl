start_server {tags {connection}} {
    test {SELECT knows database 0 only} {
        assert_equal OK [r select 0]
        assert_error "ERR DB index is out of range" {r select 1}
        assert_error "ERR DB index is out of range" {r select -1}
        assert_error "ERR value is not an integer or out of range" {r select x}
    }
}
