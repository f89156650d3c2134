start_server {tags {workers}} {
    test {a resumed worker that waits is woken} {
        r worker.beat w
        r worker.drain w
        r queue.pause q
        r queue.resume q ;# so that there is one
        set c [client]
        $c send job.lease q BLOCK 8000 WORKER w
        wait_for {[dict get [r queue.info q] waiters] == 1} 2000
        r job.add q x
        assert_equal 1 [dict get [r queue.info q] ready]
        assert_equal OK [r worker.resume w]
        assert_equal x [dict get [lindex [$c read] 0] payload]
        assert_error "NOTFOUND *" {r worker.resume nobody}
    }
}
