start_server {tags {jobs}} {
    proc finished {chore} {expr {[dict get [r chore.get $chore] state] eq "done"}}
    test {JOB.BULK does a verb with all that fit} {
        r job.addm q 5 a b c d e TAG kind=x
        r job.addm q 3 a b c TAG kind=y
        set chore [r job.bulk cancel QUEUE q TAG kind=x]
        wait_for {[finished $chore]}
        assert_equal 5 [dict get [r chore.get $chore] done]
        assert_equal 5 [dict get [r queue.info q] cancelled]
        assert_equal 3 [dict get [r queue.info q] ready]
        set chore [r job.bulk RETRY STATE cancelled QUEUE q]
        wait_for {[finished $chore]}
        assert_equal 8 [dict get [r queue.info q] ready]
    }
    test {DRYRUN only counts} {
        set chore [r job.bulk delete QUEUE q DRYRUN]
        wait_for {[finished $chore]}
        assert_equal 8 [dict get [r chore.get $chore] matched]
        assert_equal 8 [dict get [r queue.info q] ready]
    }
    test {words that make no sense} {
        assert_error "ERR *verb*" {r job.bulk explode}
        assert_error "ERR *does nothing*" {r job.bulk retry STATE ready}
        assert_error "ERR *RATE*" {r job.bulk retry RATE 0}
        assert_error "ERR *STATE*" {r job.bulk cancel STATE nosuch}
    }
}
