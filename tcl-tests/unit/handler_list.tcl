start_server {tags {handlers}} {
    test {HANDLER.LIST is by name and may be filtered} {
        assert_equal {} [r handler.list]
        foreach h {beta alpha gamma} {r job.add q x HANDLER $h}
        proc names {list} {lmap h $list {dict get $h handler}}
        assert_equal {alpha beta gamma} [names [r handler.list]]
        assert_equal gamma [names [r handler.list MATCH *mm*]]
        assert_equal {beta} [names [r handler.list AFTER alpha COUNT 1]]
    }
}
