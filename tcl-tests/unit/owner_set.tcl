start_server {tags {owners}} {
    test {OWNER.SET bounds live jobs, running jobs and adding} {
        assert_equal OK [r owner.set bob LIVE 3 RUNNING 1]
        foreach i {1 2 3} { r job.add q $i OWNER bob }
        assert_error "LIMIT*LIVE*" {r job.add q 4 OWNER bob}
        set got [r job.lease q COUNT 9]
        assert_equal 1 [llength $got]
        r job.ack [dict get [lindex $got 0] token]
        assert_equal 1 [llength [r job.lease q COUNT 9]]
        r owner.set bob LIVE 0 ADDS 1/1h
        r job.add q 5 OWNER bob
        assert_error "LIMIT*ADDS*" {r job.add q 6 OWNER bob}
    }
    test {a job that is replaced may become another owner's, if that has room} {
        r owner.set ann LIVE 1
        set id [r job.add q x OWNER ann]
        r job.add q x UNIQUE k OWNER eve
        assert_error "LIMIT*LIVE*" {
            r job.add q x UNIQUE k OWNER ann CONFLICT replace
        }
        r job.cancel $id
        r job.add q x UNIQUE k OWNER ann CONFLICT replace
        assert_equal 1 [dict get [r owner.get ann] live]
    }
    test {owners of a fair queue take turns by weight} {
        r queue.set f FAIR 1
        r owner.set heavy WEIGHT 3
        for {set i 0} {$i < 40} {incr i} {
            r job.add f heavy OWNER heavy
            r job.add f light OWNER light
        }
        set n 0
        foreach j [r job.lease f COUNT 40] {
            incr n [expr {[dict get $j payload] eq {heavy}}]
        }
        assert {$n >= 29 && $n <= 31}
    }
    test {what makes no sense is refused} {
        assert_error "ERR*WEIGHT*" {r owner.set bob WEIGHT 0}
        assert_error "ERR*ADDS*" {r owner.set bob ADDS often}
        assert_error "ERR*" {r owner.set {} WEIGHT 1}
    }
}
