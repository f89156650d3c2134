start_server {tags {workers}} {
    test {a beat registers, and what was said stays} {
        assert_equal {worker w1 order continue leases 0} \
            [r worker.beat w1 SESSION s1 CONCURRENCY 4 QUEUES 2 a b LABEL h=x]
        r worker.beat w1
        restart_server KILL
        set w [r worker.get w1]
        assert_equal {active s1 4 {a b} {h x} 0 {}} [lmap f \
            {state session concurrency queues labels leases running} \
            {dict get $w $f}]
    }
    test {the session of a beat holds leases of other connections} {
        set c [client]
        $c worker.beat w2 SESSION s2
        r job.add q x
        set other [client]
        $other job.lease q WORKER w2 SESSION s2
        $other destroy
        wait_for {[dict get [lindex [dict get [r worker.get w2] running] 0] \
            queue] eq "q"}
        $c destroy
        wait_for {[dict get [r queue.info q] ready] == 1}
    }
    test {bad words are named} {
        assert_error "*worker*" {r worker.beat ""}
        assert_error "*CONCURRENCY*" {r worker.beat w CONCURRENCY -1}
        assert_error "*LABEL*" {r worker.beat w LABEL x}
        assert_error "*QUEUES*" {r worker.beat w QUEUES 0}
        assert_error "*queue name*" {r worker.beat w QUEUES 1 "a b"}
    }
}
