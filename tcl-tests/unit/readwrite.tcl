start_server {tags {connection}} {
    test {READWRITE is refused in Redis' words} {
        assert_error "ERR This instance has cluster support disabled" {
            r readwrite
        }
    }
}
