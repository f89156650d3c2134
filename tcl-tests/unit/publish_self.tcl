# A RESP3 client may publish to itself: the message must not land inside the
# reply of the command that runs.
start_server {tags {pubsub}} {
    test {a message to oneself comes behind the reply} {
        set c [client]
        $c hello 3
        $c subscribe ch
        $c send PUBLISH ch x
        assert_equal {integer 1} [$c read_typed]
        assert_equal {push {message ch x}} [$c read_typed]
    }
    test {and behind the whole reply of a transaction} {
        set c [client]
        $c hello 3
        $c subscribe own
        $c multi
        $c publish own a
        $c echo between
        $c publish own b
        assert_equal {array {1 between 1}} [$c typed EXEC]
        assert_equal {push {message own a}} [$c read_typed]
        assert_equal {push {message own b}} [$c read_typed]
    }
}
