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
        assert_equal b [dict get [lindex [r worker.list AFTER a COUNT 5] 0] worker]
    }
}

start_server {tags {workers} config {worker-silent 1s worker-forget 1s}} {
    test {a worker that sends no beats is forgotten after worker-forget} {
        r worker.beat w
        assert_equal {worker-forget 1000} [r config get worker-forget]
        wait_for {[r worker.list] eq {}}
        r config set worker-forget 1h
        r worker.beat w
        assert_equal 1 [llength [r worker.list]]
    }
}
