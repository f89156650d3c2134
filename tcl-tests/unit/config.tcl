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
