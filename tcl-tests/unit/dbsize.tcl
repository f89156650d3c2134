start_server {tags {server}} {
    test {DBSIZE of an empty server is 0} {
        assert_equal {integer 0} [r typed DBSIZE]
    }
}
