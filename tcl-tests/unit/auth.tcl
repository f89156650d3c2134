start_server {tags {connection}} {
    test {AUTH without a configured password says so} {
        assert_error "ERR AUTH <password> called without any password*" {
            r auth x
        }
        assert_equal OK [r auth default x]
        assert_error "WRONGPASS*" {r auth somebody x}
    }
}
start_server {tags {connection} config {requirepass "secret"}} {
    test {nothing runs before AUTH} {
        set c [client]
        foreach command {PING {CLIENT ID} {INFO} {MULTI} {COMMAND}} {
            assert_error "NOAUTH Authentication required." {$c do {*}$command}
        }
    }
    test {AUTH takes a password, or user and password} {
        set c [client]
        assert_error "WRONGPASS*" {$c auth secre}
        assert_error "WRONGPASS*" {$c auth secrett}
        assert_error "WRONGPASS*" {$c auth ""}
        assert_error "WRONGPASS*" {$c auth other secret}
        assert_equal OK [$c auth secret]
        assert_equal PONG [$c ping]
        set d [client]
        assert_equal OK [$d auth default secret]
        assert_equal PONG [$d ping]
    }
    test {a failed AUTH in a pipeline has its one reply in order} {
        set c [client]
        $c send AUTH wrong
        $c send PING
        $c send AUTH secret
        $c send PING
        assert_match {error WRONGPASS*} [join [$c read_typed]]
        assert_match {error NOAUTH*} [join [$c read_typed]]
        assert_equal OK [$c read]
        assert_equal PONG [$c read]
    }
    test {unknown commands need no AUTH to be unknown} {
        set c [client]
        assert_error "ERR unknown command 'foo'*" {$c foo}
    }
    test {a long argument before AUTH is refused} {
        set c [client]
        $c raw "*2\r\n\$4\r\nECHO\r\n\$20000\r\n"
        assert_equal "-ERR Protocol error: unauthenticated bulk length\r\n" \
            [$c rest]
    }
    test {CONFIG SET requirepass applies to new connections} {
        r config set requirepass other
        set c [client]
        assert_error "WRONGPASS*" {$c auth secret}
        assert_equal OK [$c auth other]
        assert_equal PONG [r ping]
        r config set requirepass ""
        assert_equal PONG [[client] ping]
    }
}
