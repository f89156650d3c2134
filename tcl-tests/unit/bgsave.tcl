start_server {tags {server durability}} {
    test {BGSAVE copies beside the data} {
        r job.add q x
        assert_equal "Background saving started" [r bgsave]
        wait_for {[info_field rdb_bgsave_in_progress] == 0} 20000
        assert_equal ok [info_field rdb_last_bgsave_status]
        assert_equal 1 [llength [glob [srv dir]/backup-*]]
    }
}
