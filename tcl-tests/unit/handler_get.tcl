start_server {tags {handlers}} {
    test {HANDLER.GET shows every field, in both protocols} {
        assert_equal {null (nil)} [r typed handler.get none]
        r job.add q x
        set flat [r handler.get q]
        assert_equal [list {*}{handler paused open breaker description check max never
            only options}] [dict keys $flat]
        assert_equal {q 0 1 off (nil) any (nil) {} {} {}} [dict values $flat]
        r hello 3
        assert_equal map [lindex [r typed handler.get q] 0]
        r hello 2
        assert_error "*wrong number*" {r handler.get}
    }
}
