start_server {tags {connection}} {
    test {RESET makes a connection as good as new} {
        set c [client]
        $c hello 3 setname x
        $c client tracking on
        $c multi
        assert_equal {simple RESET} [$c typed RESET]
        assert_equal 2 [dict get [$c hello] proto]
        assert_equal (nil) [$c client getname]
        assert_error "ERR EXEC without MULTI" {$c exec}
    }
    test {RESET ends subscriber mode} {
        set c [client]
        $c subscribe a
        $c psubscribe b*
        assert_equal RESET [$c reset]
        assert_equal 0 [r publish a x]
        assert_match {*sub=0 psub=0*} [$c client info]
    }
    test {RESET ends MONITOR} {
        set c [client]
        $c monitor
        assert_equal RESET [$c reset]
        r ping
        assert_equal PONG [$c ping]
    }
}
start_server {tags {connection} config {requirepass secret}} {
    test {RESET takes the authentication away} {
        set c [client]
        $c auth secret
        assert_equal PONG [$c ping]
        $c reset
        assert_error "NOAUTH*" {$c ping}
    }
}
