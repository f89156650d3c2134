start_server {tags {queues}} {
    test {QUEUE.LIST has an object for each queue} {
        assert_equal {} [r queue.list]
        r job.add b x
        r job.add a x
        assert_equal {a b} [lsort [lmap q [r queue.list] {dict get $q queue}]]
    }
    test {QUEUE.LIST goes by pages} {
        for {set i 0} {$i < 25} {incr i} {r queue.set [format p%02d $i] MAXLEN 5}
        proc names {args} {lmap q [r queue.list {*}$args] {dict get $q queue}}
        assert_equal {a b p00} [names COUNT 3]
        set all {}
        set last ""
        while {[llength [set page [names MATCH p* COUNT 10 AFTER $last]]] > 0} {
            lappend all {*}$page
            set last [lindex $page end]
        }
        assert_equal [names MATCH p*] $all
        assert_equal 25 [llength $all]
        assert_error "ERR QUEUE.LIST: COUNT *" {r queue.list COUNT 0}
    }
}
