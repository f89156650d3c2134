start_server {tags {server durability}} {
    test {BGSAVE copies beside the data} {
        r job.add q x
        assert_equal "Background saving started" [r bgsave]
        wait_for {[info_field rdb_bgsave_in_progress] == 0} 20000
        assert_equal ok [info_field rdb_last_bgsave_status]
        assert_equal 1 [llength [glob [srv dir]/backup-*]]
    }
    test {a second of which there is a copy gets another name} {
        set now [clock seconds]
        for {set i 0} {$i < 60} {incr i} {
            file mkdir [srv dir]/backup-[expr {$now + $i}]
        }
        for {set i 2} {$i <= 4} {incr i} {
            assert_equal "Background saving started" [r bgsave]
            wait_for {[info_field rdb_bgsave_in_progress] == 0} 20000
            assert_equal ok [info_field rdb_last_bgsave_status]
        }
        assert_equal 3 [llength [glob [srv dir]/backup-*-*]]
    }
}
