start_server {tags {server}} {
    test {LASTSAVE is the start until a backup ended} {
        assert_range [r lastsave] [expr {[clock seconds] - 10}] [clock seconds]
    }
}
