start_server {tags {jobs}} {
    test {JOB.GET shows a job, with every field present} {
        set id [r job.add q payload PRIORITY 700 RETRIES 2 OWNER acme TAG k=v \
            META m TRACE 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01]
        set c [client]
        $c hello 3
        lassign [$c typed JOB.GET $id] type job
        assert_equal map $type
        foreach {field value} [list id $id queue q handler q owner acme \
                state ready priority 700 retries 2 payload payload meta m \
                name (nil) worker (nil) finished_ms (nil) result (nil)] {
            assert_equal $value [dict get $job $field]
        }
        assert_match *4bf92f* [dict get $job trace]
        assert_equal [dict keys $job] [dict keys [r job.get $id]]
    }
    test {a running job shows its worker and lease} {
        set id [r job.add run x]
        lease_token run WORKER w1 FOR 20s
        set job [r job.get $id]
        assert_equal running [dict get $job state]
        assert_equal w1 [dict get $job worker]
        assert_range [dict get $job lease_left_ms] 19000 20000
    }
    test {what a job says can be read, and what holds if it says nothing} {
        r queue.set words LEASE 7s
        foreach {words fields} {
            {} {lease_ms 7000 backoff exponential base_ms 1000 factor 2
                cap_ms 3600000 jitter 30 cost 1 expect_ms (nil) sla (nil)
                scope (nil) while (nil) for_ms (nil)}
            {BACKOFF exponential BASE 2s FACTOR 1.5 CAP 1m JITTER 5 LEASE 9s
                LIMIT api COST 4 EXPECT 3s SLA strict} {lease_ms 9000
                backoff exponential base_ms 2000 factor 1.5 cap_ms 60000
                jitter 5 cost 4 expect_ms 3000 sla strict}
            {BACKOFF none EXPECT 3s UNIQUE u WHILE waiting SCOPE global} {
                backoff none sla warn scope global while waiting for_ms (nil)}
            {UNIQUE v FOR 1h} {scope queue while (nil) for_ms 3600000}
            {UNIQUE w DEBOUNCE 5s} {scope queue while waiting for_ms (nil)}
        } {
            set id [r job.add words x {*}$words]
            foreach again {0 1} {
                set job [r job.get $id]
                foreach {field value} $fields {
                    assert_equal $value [dict get $job $field]
                }
                assert_equal 53 [dict size $job]
                r job.update $id DELAY 20h
            }
            r job.cancel $id
            foreach {field value} [dict remove $fields lease_ms] {
                assert_equal $value [dict get [r job.get $id] $field]
            }
        }
        restart_server KILL
        assert_equal 3600000 [dict get [r job.get $id] cap_ms]
    }
    test {an unknown job is null} {
        assert_equal (nil) [r job.get 00000000000000000000000000]
        assert_equal (nil) [r job.get no-such-name]
    }
}
