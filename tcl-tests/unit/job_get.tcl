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
    test {an unknown job is null} {
        assert_equal (nil) [r job.get 00000000000000000000000000]
        assert_equal (nil) [r job.get no-such-name]
    }
}
