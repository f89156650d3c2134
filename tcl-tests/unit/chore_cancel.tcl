start_server {tags {jobs}} {
    test {CHORE.CANCEL stops a chore} {
        r job.addm q 3 a b c
        set chore [r job.bulk hold ALL RATE 1]
        assert_equal OK [r chore.cancel $chore]
        assert_equal OK [r chore.cancel $chore]
        assert_equal cancelled [dict get [r chore.get $chore] state]
        assert_error "NOTFOUND *" {r chore.cancel nobody}
        set chore [r job.bulk unhold ALL]
        wait_for {[dict get [r chore.get $chore] state] eq "done"}
        assert_error "FINISHED *" {r chore.cancel $chore}
    }
}
