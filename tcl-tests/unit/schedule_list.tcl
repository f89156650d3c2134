start_server {tags {schedules}} {
    proc names {page} {
        set names {}
        foreach s [dict get $page schedules] {lappend names [dict get $s name]}
        return $names
    }
    test {schedules are listed by name, a page at a time} {
        assert_equal {schedules {} cursor (nil)} [r schedule.list]
        foreach n {c a b ab} {r schedule.set $n EVERY 1h QUEUE q PAYLOAD p}
        assert_equal {a ab b c} [names [r schedule.list]]
        assert_equal (nil) [dict get [r schedule.list] cursor]
        assert_equal {a ab} [names [r schedule.list COUNT 2]]
        assert_equal ab [dict get [r schedule.list COUNT 2] cursor]
        assert_equal {b c} [names [r schedule.list CURSOR ab]]
    }
    test {those that fit are found among many others} {
        assert_equal {a ab} [names [r schedule.list MATCH a*]]
        assert_equal {ab b} [names [r schedule.list MATCH *b]]
        assert_equal {ab} [names [r schedule.list MATCH a* CURSOR a]]
        assert_equal {b} [names [r schedule.list MATCH b* CURSOR a]]
        assert_equal {} [names [r schedule.list MATCH a* CURSOR b]]
        assert_equal {b} [names [r schedule.list MATCH b]]
        assert_equal {} [names [r schedule.list MATCH bb]]
    }
}
