start_server {tags {owners}} {
    test {OWNER.LIST pages} {
        for {set i 0} {$i < 25} {incr i} { r owner.set o$i WEIGHT 2 }
        set names {}
        set cursor 0
        while 1 {
            set page [r owner.list CURSOR $cursor COUNT 10]
            foreach o [dict get $page owners] { lappend names [dict get $o owner] }
            set cursor [dict get $page cursor]
            if {$cursor == 0} break
        }
        assert_equal 25 [llength [lsort -unique $names]]
        assert_equal 25 [llength $names]
        assert_equal 1 [llength [dict get [r owner.list MATCH o24] owners]]
    }
}
