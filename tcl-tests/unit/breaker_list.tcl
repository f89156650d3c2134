start_server {tags {handlers}} {
    test {BREAKER.LIST names handlers whose breaker is on} {
        r job.add plain x
        assert_equal {} [r breaker.list]
        r handler.set a BREAKER on PERCENT 20
        r handler.set b BREAKER on
        r handler.set b BREAKER off
        assert_equal a [lmap b [r breaker.list] {dict get $b handler}]
        assert_equal {} [r breaker.list MATCH x*]
        r handler.set c BREAKER on
        assert_equal c [lmap b [r breaker.list AFTER a COUNT 1] {dict get $b handler}]
    }
}
