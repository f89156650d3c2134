start_server {tags {pubsub}} {
    test {PSUBSCRIBE delivers what matches, with the pattern} {
        set c [client]
        assert_equal {array {psubscribe news.* 1}} [$c typed PSUBSCRIBE news.*]
        assert_equal 1 [r publish news.art x]
        assert_equal {array {pmessage news.* news.art x}} [$c read_typed]
        assert_equal 0 [r publish other x]
    }
    test {a client hears a message once for each subscription} {
        set c [client]
        $c subscribe n.a
        $c psubscribe n.*
        $c psubscribe n.?
        assert_equal 3 [r publish n.a x]
        assert_equal {message n.a x} [$c read]
        assert_equal {pmessage n.* n.a x} [$c read]
        assert_equal {pmessage n.? n.a x} [$c read]
    }
}
