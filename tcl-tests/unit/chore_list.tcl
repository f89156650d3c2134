start_server {tags {jobs}} {
    test {CHORE.LIST shows chores} {
        assert_equal {} [r chore.list]
        set chore [r job.bulk hold ALL]
        assert_equal [list $chore] [lmap c [r chore.list] {dict get $c id}]
    }
}
