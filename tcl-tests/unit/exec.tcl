start_server {tags {transactions}} {
    test {EXEC without MULTI is refused} {
        assert_error "ERR EXEC without MULTI" {r exec}
    }
    test {EXEC of nothing is an empty array} {
        r multi
        assert_equal {array {}} [r typed EXEC]
    }
    test {a command that fails does not undo the others} {
        r multi
        r ping
        r select 5
        r echo y
        assert_equal {PONG {(error) {ERR DB index is out of range}} y} [r exec]
    }
    test {a command that was refused spoils the transaction} {
        foreach bad {nosuch {ping a b} {client foo} {scan 0 FOO}} {
            r multi
            r ping
            assert_error "ERR *" {r do {*}$bad}
            assert_error "EXECABORT Transaction discarded because of previous errors." {
                r exec
            }
            assert_equal PONG [r ping]
        }
    }
    test {words are kept, whatever comes after them} {
        set c [client]
        $c multi
        for {set i 0} {$i < 100} {incr i} {$c echo word-$i}
        set wanted {}
        for {set i 0} {$i < 100} {incr i} {lappend wanted word-$i}
        assert_equal $wanted [$c exec]
    }
    test {a whole transaction in one packet} {
        set c [client]
        $c raw "MULTI\r\nPING\r\nECHO x\r\nEXEC\r\nPING\r\n"
        assert_equal "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+PONG\r\n\$1\r\nx\r\n+PONG\r\n" \
            [$c bytes 48]
    }
    test {commands of a transaction count as commands} {
        r config resetstat
        r multi
        r ping
        r ping
        r exec
        assert_match {calls=2,*} [info_field cmdstat_ping]
    }
}
