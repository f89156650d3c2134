start_server {tags {pubsub}} {
    test {SUBSCRIBE confirms each channel and delivers} {
        set c [client]
        $c send SUBSCRIBE a b
        assert_equal {array {subscribe a 1}} [$c read_typed]
        assert_equal {array {subscribe b 2}} [$c read_typed]
        assert_equal 1 [r publish a hello]
        assert_equal {array {message a hello}} [$c read_typed]
        assert_equal 0 [r publish nobody x]
    }
    test {in RESP3 confirmations and messages are pushes} {
        set c [client]
        $c hello 3
        assert_equal {push {subscribe ch 1}} [$c typed SUBSCRIBE ch]
        assert_equal 1 [r publish ch hi]
        assert_equal {push {message ch hi}} [$c read_typed]
        assert_equal {simple PONG} [$c typed PING]
        assert_match {*sub=1*} [$c client info]
    }
    test {a RESP2 subscriber may only do so much} {
        set c [client]
        $c subscribe ch
        assert_error "ERR Can't execute 'echo': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context" {
            $c echo x
        }
        assert_error "ERR Can't execute 'client|id'*" {$c client id}
        assert_equal {punsubscribe (nil) 1} [$c punsubscribe]
        assert_equal {unsubscribe ch 0} [$c unsubscribe]
        assert_equal x [$c echo x]
    }
    test {subscribing twice counts once} {
        set c [client]
        $c send SUBSCRIBE twice twice
        assert_equal {subscribe twice 1} [$c read]
        assert_equal {subscribe twice 1} [$c read]
        assert_equal 1 [r publish twice x]
    }
    test {a subscriber that leaves is forgotten} {
        set c [resp::client new 127.0.0.1 [srv port]]
        $c subscribe gone
        $c destroy
        wait_for {[r pubsub channels gone] eq ""}
        assert_equal 0 [r publish gone x]
    }
    test {SUBSCRIBE is not for transactions} {
        set c [client]
        $c multi
        assert_error "ERR Command not allowed inside a transaction" {
            $c subscribe a
        }
        assert_error "EXECABORT*" {$c exec}
    }
    test {whoever wants no replies still sees what is pushed} {
        set c [client]
        $c send CLIENT REPLY OFF
        $c send SUBSCRIBE quiet
        assert_equal {subscribe quiet 1} [$c read]
        assert_equal 1 [r publish quiet x]
        assert_equal {message quiet x} [$c read]
        $c send PING
        $c send UNSUBSCRIBE
        assert_equal {unsubscribe quiet 0} [$c read]
        $c send CLIENT REPLY ON
        assert_equal OK [$c read]
        $c send CLIENT REPLY SKIP
        $c send PSUBSCRIBE qu*
        assert_equal {psubscribe qu* 1} [$c read]
        assert_equal {pong {}} [$c ping]
    }
    test {a connection listens to so much only, and it is counted} {
        set c [client]
        set id [$c client id]
        set wide [string repeat w 1000000]
        for {set i 0} {$i < 8} {incr i} {$c subscribe $i$wide}
        regexp {tot-mem=(\d+)} [r client list id $id] -> memory
        assert_range $memory 8000000 9000000
        assert_range [dict get [r memory stats] clients.normal] 8000000 9000000
        foreach kind {subscribe psubscribe} {
            assert_error "LIMIT a connection listens to at most 100000 names*8mb*" {
                $c $kind small $wide
            }
        }
        assert_equal {subscribe small 9} [$c subscribe small]
        $c reset
        $c send SUBSCRIBE {*}[lrepeat 100001 same]
        assert_error LIMIT* {$c read}
        assert_match *tot-mem=???* [$c client info]
    }
    test {channels and messages hold any byte} {
        set c [client]
        set name "a\x00\xff\r\nb"
        $c send_bytes SUBSCRIBE $name
        assert_equal [list subscribe $name 1] [$c read]
        r send_bytes PUBLISH $name "\x00\r\n"
        assert_equal 1 [r read]
        assert_equal [list message $name "\x00\r\n"] [$c read]
    }
}
