start_server {tags {pubsub}} {
    test {UNSUBSCRIBE without channels answers once per channel} {
        set c [client]
        $c send SUBSCRIBE a b c
        $c read; $c read; $c read
        $c send UNSUBSCRIBE
        set names {}
        for {set left 2} {$left >= 0} {incr left -1} {
            lassign [$c read] kind name n
            assert_equal "unsubscribe $left" "$kind $n"
            lappend names $name
        }
        assert_equal {a b c} [lsort $names]
        assert_equal PONG [$c ping]
    }
    test {UNSUBSCRIBE of nothing answers once, with null} {
        assert_equal {array {unsubscribe (nil) 0}} [r typed UNSUBSCRIBE]
        assert_equal {array {unsubscribe x 0}} [r typed UNSUBSCRIBE x]
    }
}
