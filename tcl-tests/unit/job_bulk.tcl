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
    test {without a filter it must be said that all are meant} {
        r job.addm other 2 a b
        foreach words {cancel {delete DRYRUN} {hold RATE 5}} {
            assert_error "ERR JOB.BULK: *at least one filter, or ALL" {
                r job.bulk {*}$words
            }
        }
        foreach range {{- +} {0 +}} {
            assert_error "ERR *CREATED leaves no job out*or ALL" {
                r job.bulk cancel CREATED {*}$range
            }
            assert_error "ERR *CREATED and ALL exclude*" {
                r job.bulk cancel ALL CREATED {*}$range
            }
        }
        set chore [r job.bulk delete CREATED - + QUEUE other DRYRUN]
        wait_for {[finished $chore]}
        assert_equal 2 [dict get [r chore.get $chore] matched]
        assert_error "ERR *QUEUE and ALL exclude*" {r job.bulk hold ALL QUEUE q}
        set chore [r job.bulk delete ALL DRYRUN]
        wait_for {[finished $chore]}
        assert_equal 10 [dict get [r chore.get $chore] matched]
        set chore [r job.bulk cancel ALL]
        wait_for {[finished $chore]}
        assert_equal 10 [dict get [r chore.get $chore] done]
        set chore [r job.bulk retry QUEUE q]
        wait_for {[finished $chore]}
    }
    test {words that make no sense} {
        assert_error "ERR *verb*" {r job.bulk explode}
        assert_error "ERR *does nothing*" {r job.bulk retry STATE ready}
        assert_error "ERR *RATE*" {r job.bulk retry RATE 0}
        assert_error "ERR *STATE*" {r job.bulk cancel STATE nosuch}
        assert_error "ERR *DRYRUN and RATE exclude*" {
            r job.bulk cancel ALL DRYRUN RATE 5
        }
        assert_error "ERR *cancel and FINISHED*" {r job.bulk cancel FINISHED - +}
    }
    test {an empty word is not everything} {
        set before [r job.count QUEUE q STATE ready]
        assert_error "LIMIT *KEY has 0 bytes*" {r job.bulk delete KEY ""}
        assert_error "ERR *QUEUE*" {r job.bulk delete QUEUE ""}
        assert_error "ERR *WORKER*" {r job.bulk delete WORKER ""}
        assert_error "ERR *ID*" {r job.bulk delete ID ""}
        assert_error "ERR *TAG*" {r job.bulk delete TAG ""}
        assert_error "ERR *CREATED*" {r job.bulk delete CREATED "" ""}
        assert_error "ERR *FINISHED*" {r job.bulk delete FINISHED - ""}
        assert_equal $before [r job.count QUEUE q STATE ready]
    }
}
