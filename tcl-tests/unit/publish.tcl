start_server {tags {pubsub}} {
    test {PUBLISH tells how many got it} {
        set a [client]
        set b [client]
        $a subscribe ch
        $b subscribe ch
        assert_equal {integer 2} [r typed PUBLISH ch x]
        assert_equal {message ch x} [$a read]
        assert_equal {message ch x} [$b read]
    }
    test {messages keep their order} {
        set c [client]
        $c subscribe seq
        for {set i 0} {$i < 500} {incr i} {r send PUBLISH seq $i}
        for {set i 0} {$i < 500} {incr i} {assert_equal 1 [r read]}
        for {set i 0} {$i < 500} {incr i} {
            assert_equal [list message seq $i] [$c read]
        }
    }
    test {PUBLISH in a transaction is sent by EXEC} {
        set c [client]
        $c subscribe tx
        r multi
        r publish tx x
        assert_equal 1 [r exec]
        assert_equal {message tx x} [$c read]
    }
}
start_server {tags {pubsub} config {client-output-buffer-limit {pubsub 64kb 0 0}}} {
    test {a subscriber that does not read is closed at its limit} {
        set c [client]
        $c subscribe flood
        set message [string repeat x 1000000]
        wait_for {[r publish flood $message] == 0} 20000
        assert {[info_field client_output_buffer_limit_disconnections] == 1}
    }
}
