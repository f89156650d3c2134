start_server {tags {server durability}} {
    test {BACKUP copies the data while the server runs} {
        set id [r job.add q x]
        set path [srv root]/copy
        assert_equal {simple {Background saving started}} [r typed BACKUP $path]
        wait_for {[info_field rdb_bgsave_in_progress] == 0} 20000
        assert_equal ok [info_field rdb_last_bgsave_status]
        assert_equal "" [info_field backup_error]
        assert_equal -1 [info_field rdb_current_bgsave_time_sec]
        assert {[info_field backup_log_bytes] > 0}
        assert_range [r lastsave] [expr {[clock seconds] - 30}] [clock seconds]
        r job.add q behind-the-backup
        # A server that starts from the copy has what was there.
        stop_server
        file rename [srv dir] [srv dir].old
        file rename $path [srv dir]
        spawn_server
        connect_r
        assert_equal ready [r job.state $id]
        assert_equal 1 [r dbsize]
    }
    test {a second one while the first is under way is refused as Redis does} {
        set c [client]
        $c raw "BACKUP [srv root]/first\r\nBACKUP [srv root]/second\r\n"
        set wanted "+Background saving started\r\n-ERR Background save already in progress\r\n"
        assert_equal $wanted [$c bytes [string length $wanted]]
        wait_for {[info_field rdb_bgsave_in_progress] == 0} 20000
    }
    test {a backup that fails says why} {
        set path [srv root]/there
        file mkdir $path
        set f [open $path/file w]
        close $f
        if {![catch {r backup $path} text]} {
            wait_for {[info_field rdb_bgsave_in_progress] == 0} 20000
            assert_equal err [info_field rdb_last_bgsave_status]
            assert {[info_field backup_error] ne ""}
        }
        assert_error "ERR BACKUP: directory wants a name*" {r backup ""}
    }
}
