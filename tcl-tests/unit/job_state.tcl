start_server {tags {jobs}} {
    test {JOB.STATE of one, of many, of none} {
        set a [r job.add q x]
        set b [r job.add q x DELAY 1h]
        assert_equal {bulk ready} [r typed JOB.STATE $a]
        assert_equal {ready scheduled (nil)} \
            [r job.state $a ALSO $b 00000000000000000000000000]
        assert_equal (nil) [r job.state nobody]
        lease_token q
        assert_equal running [r job.state $a]
    }
    test {it takes a thousand ids} {
        set id [r job.add q x DELAY 1h]
        assert_equal 1000 [llength [r job.state $id ALSO {*}[lrepeat 999 $id]]]
        assert_error "LIMIT ALSO names 1000; at most 999 *" {
            r job.state $id ALSO {*}[lrepeat 1000 $id]
        }
    }
}
