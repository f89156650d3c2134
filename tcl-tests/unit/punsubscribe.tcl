start_server {tags {pubsub}} {
    test {PUNSUBSCRIBE leaves one pattern, or all} {
        set c [client]
        $c psubscribe a*
        $c psubscribe b*
        $c psubscribe c*
        assert_equal {punsubscribe b* 2} [$c punsubscribe b*]
        assert_equal 0 [r publish bx m]
        assert_equal 1 [r publish ax m]
        assert_equal {pmessage a* ax m} [$c read]
        $c send PUNSUBSCRIBE
        assert_match {punsubscribe ?\* 1} [$c read]
        assert_match {punsubscribe ?\* 0} [$c read]
        assert_equal {punsubscribe (nil) 0} [$c punsubscribe]
    }
}
