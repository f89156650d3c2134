start_server {tags {schedules}} {
    proc names {list} {
        set names {}
        foreach s $list {lappend names [dict get $s name]}
        return $names
    }
    test {schedules are listed by name, a page at a time} {
        assert_equal {} [r schedule.list]
        foreach n {c a b ab} {r schedule.set $n EVERY 1h QUEUE q PAYLOAD p}
        assert_equal {a ab b c} [names [r schedule.list]]
        assert_equal {a ab} [names [r schedule.list COUNT 2]]
        assert_equal {b c} [names [r schedule.list CURSOR ab]]
        assert_equal {a ab} [names [r schedule.list MATCH a*]]
    }
}
