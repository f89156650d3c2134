start_server {tags {connection}} {
    test {CLUSTER is refused in Redis' words} {
        assert_error "ERR This instance has cluster support disabled" {
            r cluster nodes
        }
    }
}
