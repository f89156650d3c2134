start_server {tags {transactions}} {
    test {MULTI keeps commands, EXEC runs them} {
        assert_equal OK [r multi]
        assert_equal {simple QUEUED} [r typed PING]
        assert_equal QUEUED [r echo x]
        assert_equal {PONG x} [r exec]
    }
    test {MULTI does not nest} {
        r multi
        assert_error "ERR MULTI calls can not be nested" {r multi}
        assert_equal OK [r discard]
    }
    test {CLIENT LIST shows what is kept} {
        set c [client]
        set id [$c client id]
        assert_match {* multi=-1 *} [$c client info]
        $c multi
        $c ping
        $c ping
        assert_match {* flags=x * multi=2 *} [r client list id $id]
    }
    test {a transaction has a bound on its bytes} {
        set c [client]
        $c multi
        set word [string repeat x 1000000]
        for {set i 0} {$i < 8} {incr i} {assert_equal QUEUED [$c echo $word]}
        assert_error "LIMIT a transaction holds at most 8mb*" {$c echo $word}
        assert_error "EXECABORT*" {$c exec}
        assert_equal PONG [$c ping]
    }
}
