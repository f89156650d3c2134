start_server {tags {server}} {
    test {SCAN ends at once} {
        assert_equal {0 {}} [r scan 0]
        assert_equal {0 {}} [r scan 0 match * count 100 type string]
        assert_error "ERR invalid cursor" {r scan x}
        assert_error "ERR SCAN: unknown option 'FOO', allowed are MATCH, COUNT, TYPE" {
            r scan 0 FOO
        }
    }
}
