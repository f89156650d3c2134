start_server {tags {server}} {
    test {MEMORY STATS is a map of numbers} {
        dict for {name value} [r memory stats] {
            assert {[string is wideinteger -strict $value]} $name
        }
        assert {[dict get [r memory stats] total.allocated] > 0}
    }
    test {MEMORY USAGE, DOCTOR and PURGE answer} {
        assert_equal (nil) [r memory usage x]
        assert_equal (nil) [r memory usage x samples 5]
        assert {[r memory doctor] ne ""}
        assert_equal OK [r memory purge]
    }
}
