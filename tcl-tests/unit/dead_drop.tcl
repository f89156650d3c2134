start_server {tags {jobs}} {
    test {DEAD.DROP erases dead letters} {
        set ids {}
        for {set i 0} {$i < 3} {incr i} {
            lappend ids [r job.add q x]
            r job.nack [dict get [lindex [r job.lease q] 0] token] PERMANENT
        }
        assert_equal OK [r dead.drop q ID [lindex $ids 0]]
        assert_equal (nil) [r job.get [lindex $ids 0]]
        assert_error "STATE *" {r dead.drop other ID [lindex $ids 1]}
        assert_error "ERR SIGNATURE is 16 hex*" {r dead.drop q SIGNATURE ""}
        assert_error "ERR SIGNATURE is 16 hex*" {r dead.retry q SIGNATURE ""}
        assert_error "ERR SIGNATURE is 16 hex*" {r dead.list q SIGNATURE ""}
        set chore [r dead.drop q ALL]
        wait_for {[dict get [r chore.get $chore] state] eq "done"}
        assert_equal 0 [dict get [r queue.info q] failed]
        assert_error "ERR *" {r dead.drop q}
    }
}
