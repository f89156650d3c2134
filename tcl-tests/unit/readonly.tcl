start_server {tags {connection}} {
    test {READONLY is refused in Redis' words} {
        assert_error "ERR This instance has cluster support disabled" {
            r readonly
        }
    }
}
