start_server {tags {server} config {latency-monitor-threshold 10}} {
    test {a slow command is an event} {
        # On a busy machine a tick may have been slow before.
        r debug sleep 0.02
        set row [lsearch -inline -index 0 [r latency latest] command]
        lassign $row name second ms max
        assert_equal command $name
        assert_range $ms 20 5000
        assert_equal $ms $max
        assert_range [lindex [r latency history command] 0 1] 20 5000
        assert_equal {} [r latency history nosuch]
        assert_match "*command*worst*" [r latency doctor]
    }
    test {LATENCY RESET forgets} {
        assert_equal 0 [r latency reset nosuch]
        assert {[r latency reset] >= 1}
        assert_equal {} [r latency history command]
    }
    test {LATENCY HISTOGRAM counts calls below powers of two} {
        r config resetstat
        for {set i 0} {$i < 50} {incr i} {r ping}
        set all [r latency histogram ping nosuch]
        assert_equal ping [dict keys $all]
        assert_equal 50 [dict get $all ping calls]
        set buckets [dict get $all ping histogram_usec]
        assert_equal 50 [lindex [dict values $buckets] end]
        set last 0
        foreach n [dict values $buckets] {
            assert {$n > $last}
            set last $n
        }
        assert {[dict exists [r latency histogram client] client|id] == 0}
        r client id
        assert {[dict exists [r latency histogram client] client|id]}
    }
}
