start_server {tags {owners}} {
    test {OWNER.GET counts live and running jobs, also after a crash} {
        assert_equal (nil) [r owner.get bob]
        r job.add q 1 OWNER bob
        r job.add q 2 OWNER bob
        set t [dict get [lindex [r job.lease q] 0] token]
        set v [r owner.get bob]
        assert_equal {1 2 1} [list [dict get $v weight] [dict get $v live] \
            [dict get $v running]]
        restart_server KILL
        r job.ack $t
        set v [r owner.get bob]
        assert_equal {1 0} [list [dict get $v live] [dict get $v running]]
    }
}
