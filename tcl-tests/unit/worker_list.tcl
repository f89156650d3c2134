start_server {tags {workers}} {
    test {WORKER.LIST tells who runs what since when} {
        assert_equal {} [r worker.list]
        r worker.beat b
        set id [r job.add q x]
        r job.lease q WORKER a
        assert_equal {a unregistered b active} [concat {*}[lmap w \
            [r worker.list] {list [dict get $w worker] [dict get $w state]}]]
        set run [lindex [dict get [lindex [r worker.list MATCH a] 0] running] 0]
        assert_equal $id [dict get $run id]
        assert_range [expr {[clock milliseconds] - \
            [dict get $run started_ms]}] 0 10000
        assert_range [dict get $run lease_left_ms] 15000 30000
    }
}
