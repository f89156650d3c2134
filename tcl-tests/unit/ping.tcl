start_server {tags {connection}} {
    test {PING answers PONG as a simple string} {
        assert_equal {simple PONG} [r typed PING]
    }
    test {PING says a message back as a bulk string} {
        assert_equal {bulk hello} [r typed ping hello]
        assert_equal {bulk {}} [r typed ping ""]
    }
    test {PING with two messages is the arity error of Redis} {
        assert_error "ERR wrong number of arguments for 'ping' command" {
            r ping a b
        }
    }
    test {PING to a RESP2 subscriber is an array, to a RESP3 one it is not} {
        set c [client]
        $c subscribe ch
        assert_equal {array {pong {}}} [$c typed PING]
        assert_equal {array {pong x}} [$c typed PING x]
        set d [client]
        $d hello 3
        $d subscribe ch
        assert_equal {simple PONG} [$d typed PING]
    }
    test {ten thousand pipelined PINGs get ten thousand answers} {
        set c [client]
        $c raw [string repeat "*1\r\n\$4\r\nPING\r\n" 10000]
        assert_equal [string repeat "+PONG\r\n" 10000] [$c bytes 70000]
    }
    test {inline commands work, quoted too} {
        set c [client]
        $c raw "ping\r\n\r\n  PING \"a b\"\n"
        assert_equal PONG [$c read]
        assert_equal "a b" [$c read]
    }
}
