start_server {tags {connection}} {
    test {QUIT answers and closes} {
        set c [client]
        $c raw "*1\r\n\$4\r\nQUIT\r\n"
        assert_equal "+OK\r\n" [$c rest]
    }
    test {replies in front of QUIT leave, commands behind it do not run} {
        set c [client]
        $c raw "PING\r\nQUIT\r\nPING\r\n"
        assert_equal "+PONG\r\n+OK\r\n" [$c rest]
    }
}
