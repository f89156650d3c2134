start_server {tags {server}} {
    test {MEMORY STATS is a map of numbers} {
        dict for {name value} [r memory stats] {
            assert {[string is wideinteger -strict $value]} $name
        }
        assert {[dict get [r memory stats] total.allocated] > 0}
    }
    test {MEMORY STATS counts live jobs as DBSIZE does} {
        r job.add q x
        assert_equal [r dbsize] [dict get [r memory stats] keys.count]
    }
    test {MEMORY USAGE is null for what is no job} {
        foreach key {x 01ARZ3NDEKTSV4RRFFQ69G5FAV {} {two words}} {
            assert_equal (nil) [r memory usage $key]
        }
        assert_equal (nil) [r memory usage x samples 5]
    }
    test {MEMORY USAGE counts what belongs to a job, in each of its states} {
        set small [r job.add q x id small]
        set large [r job.add q [string repeat x 5000] tag a=1 tag b=2 unique k]
        assert {[r memory usage $small] > 50}
        assert_equal [r memory usage $small] [r memory usage small]
        assert {[r memory usage $small] < 1500}
        assert {[r memory usage $large] > 5000}
        set before [r memory usage $small]
        set token [lease_token q]
        r job.checkpoint $token [string repeat c 3000]
        set id [string range $token 0 25]
        set running [r memory usage $id]
        assert {$running > 3000}
        r job.ack $token result [string repeat r 3000]
        assert {[r memory usage $id] > $running}
        set held [r job.add q x delay 1h]
        assert {[r memory usage $held] > 50}
    }
    test {above maxmemory new work is refused, and work that ends jobs is not} {
        r job.add oom x
        r config set maxmemory 1mb
        assert_error {OOM command not allowed when used memory > 'maxmemory'.} \
            {r job.add oom y}
        assert_match {*of the 1048576 bytes*} [r memory doctor]
        r job.ack [lease_token oom]
        assert_error {OOM *} {r job.addm oom 2 y z}
        r config set maxmemory 0
        r job.add oom y
        r config set maxmemory 1gb
        r job.add oom z
        r config set maxmemory 0
    }
    test {MEMORY DOCTOR and PURGE answer} {
        assert {[r memory doctor] ne ""}
        assert_equal OK [r memory purge]
    }
}
