start_server {tags {server}} {
    test {TIME is seconds and microseconds} {
        lassign [r time] s us
        assert_range $s [expr {[clock seconds] - 2}] [expr {[clock seconds] + 2}]
        assert_range $us 0 999999
    }
}
