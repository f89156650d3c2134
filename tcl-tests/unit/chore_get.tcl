start_server {tags {jobs}} {
    test {CHORE.GET tells how far a chore is, also after a crash} {
        r job.addm q 9 a b c d e f g h i
        set chore [r job.bulk hold QUEUE q RATE 1]
        assert_equal active [dict get [r chore.get $chore] state]
        assert_equal hold [dict get [r chore.get $chore] verb]
        restart_server KILL
        assert_equal active [dict get [r chore.get $chore] state]
        wait_for {[dict get [r queue.info q] held] > 0}
        assert_equal (nil) [r chore.get 01J8ZQ4W2H0000000000000001]
        assert_equal (nil) [r chore.get nonsense]
    }
}
