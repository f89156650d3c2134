start_server {tags {limits}} {
    test {LIMIT.LIST has the most specific rule first} {
        assert_equal {} [r limit.list]
        r limit.set * CONCURRENCY 9
        r limit.set api:acme CONCURRENCY 1
        r limit.set api:* RATE 5/s
        assert_equal {api:acme api:* *} \
            [lmap l [r limit.list] {dict get $l pattern}]
        restart_server KILL
        assert_equal 3 [llength [r limit.list]]
        assert_error "ERR*" {r limit.list x}
    }
}
