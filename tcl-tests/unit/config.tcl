start_server {tags {server}} {
    test {CONFIG GET takes patterns and gives a map} {
        set c [client]
        $c hello 3
        lassign [$c typed CONFIG GET port maxcl*] type v
        assert_equal map $type
        assert_equal [srv port] [dict get $v port]
        assert_equal 10000 [dict get $v maxclients]
        assert_equal {} [r config get nosuch]
    }
    test {what redis-benchmark and StackExchange.Redis ask is answered} {
        assert_equal {save {}} [r config get save]
        assert_equal {appendonly yes} [r config get appendonly]
        assert_equal {databases 1} [r config get databases]
        assert {[dict exists [r config get timeout] timeout]}
    }
    test {CONFIG SET sets all or nothing} {
        assert_equal OK [r config set maxclients 5000 timeout 7]
        assert_equal {maxclients 5000} [r config get maxclients]
        assert_error "ERR *" {r config set maxclients 6000 timeout abc}
        assert_equal {maxclients 5000} [r config get maxclients]
        assert_error "ERR *" {r config set nosuch 1}
        assert_error "ERR wrong number of arguments for 'config|set' command" {
            r config set maxclients
        }
        r config set timeout 0
    }
    test {CONFIG SET of disk-reserve holds at once} {
        assert_match ?* [r job.add cfgq a]
        r config set disk-reserve 1000000gb
        assert_error "NOSPACE *" {r job.add cfgq a}
        r config set disk-reserve 0
        assert_match ?* [r job.add cfgq a]
    }
    test {a larger overlay-max-bytes wants more of the disk} {
        r config set disk-reserve 1mb
        assert_match ?* [r job.add cfgq a]
        r config set overlay-max-bytes 1000000gb
        assert_error "NOSPACE *" {r job.add cfgq a}
        r config set overlay-max-bytes 256mb
        assert_match ?* [r job.add cfgq a]
        r config set disk-reserve 0
    }
    test {CONFIG SET of overlay-max-bytes holds at once} {
        # Nothing is applied for its age; a generation is a quarter of it.
        r config set generation-max-age 1h
        set before [info_field applied_index]
        for {set i 0} {$i < 12} {incr i} {
            r job.add cfgq [string repeat x 900000]
        }
        assert_equal $before [info_field applied_index]
        r config set overlay-max-bytes 40mb
        r job.add cfgq a
        wait_for {[info_field applied_index] > $before}
        r config set overlay-max-bytes 256mb
    }
    test {CONFIG SET of generation-max-age holds at once} {
        set before [info_field applied_index]
        r config set generation-max-age 10ms
        r job.add cfgq a
        wait_for {[info_field applied_index] > $before}
        r config set generation-max-age 5s
    }
    test {CONFIG SET refuses what is read at start only} {
        assert_error "ERR *" {r config set generation-max-bytes 1mb}
    }
    test {CONFIG REWRITE without a file is refused} {
        assert_error "ERR The server is running without a config file" {
            r config rewrite
        }
    }
    test {CONFIG RESETSTAT sets counters to zero} {
        r ping
        assert {[info_field total_commands_processed] > 1}
        assert_equal OK [r config resetstat]
        assert_range [info_field total_commands_processed] 0 2
        assert_match {*unknown subcommand*} [catch {r config foo} e; set e]
    }
}
