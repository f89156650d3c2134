start_server {tags {jobs}} {
    proc ids {reply} {
        set out {}
        foreach job [dict get $reply jobs] {lappend out [dict get $job id]}
        return $out
    }
    # All pages, a few at a time.
    proc all {args} {
        set out {}
        set cursor ""
        while 1 {
            set reply [r job.list {*}$args COUNT 3 {*}[expr {$cursor eq "" ? "" : "CURSOR $cursor"}]]
            lappend out {*}[ids $reply]
            set cursor [dict get $reply cursor]
            if {$cursor eq "(nil)"} {return $out}
        }
    }
    test {JOB.LIST of nothing} {
        assert_equal {jobs {} cursor (nil)} [r job.list]
        assert_equal {jobs {} cursor (nil)} [r job.list QUEUE nosuch STATE failed]
    }
    test {live jobs by age, then finished ones} {
        set ids {}
        for {set i 0} {$i < 10} {incr i} {
            lappend ids [r job.add q x TAG n=[expr {$i % 2}] HANDLER h[expr {$i % 3}]]
        }
        assert_equal $ids [all]
        assert_equal $ids [all QUEUE q]
        set first [lindex $ids 0]
        r job.cancel $first
        assert_equal [list {*}[lrange $ids 1 end] $first] [all]
        assert_equal $first [all STATE cancelled]
        assert_equal $first [all STATE canceled QUEUE q]
        assert_equal [lrange $ids 1 end] [all STATE waiting STATE delayed]
    }
    test {a cursor is good for the filters that it came from} {
        set cursor [dict get [r job.list QUEUE q COUNT 2] cursor]
        assert_equal 2 [llength [ids [r job.list COUNT 2 QUEUE q CURSOR $cursor]]]
        foreach other {{} {QUEUE p} {QUEUE q STATE ready} {QUEUE q TAG n=1}} {
            assert_error "ERR *CURSOR*other filters*" {r job.list {*}$other CURSOR $cursor}
        }
        foreach bad [list x l l0 ${cursor}0 [string range $cursor 1 end] [string toupper $cursor]] {
            assert_error "ERR *CURSOR*" {r job.list QUEUE q CURSOR $bad}
        }
    }
    test {filters} {
        set id [r job.add p x OWNER o UNIQUE key DELAY 1h]
        assert_equal $id [all OWNER o]
        assert_equal $id [all KEY key]
        assert_equal $id [all STATE scheduled]
        assert_equal $id [all ID [string tolower [string range $id 0 25]]]
        assert_equal 5 [llength [all TAG n=1]]
        assert_equal 4 [llength [all HANDLER h0]]
        assert_equal {} [all TAG n=1 OWNER o]
        assert_equal {} [all CREATED 2020-01-01T00:00:00Z 2021-01-01T00:00:00Z]
        assert_equal 11 [llength [all CREATED 2021-01-01T00:00:00Z +]]
        assert_equal 1 [llength [all FINISHED - +  STATE cancelled]]
        r job.lease q WORKER w COUNT 2
        assert_equal 2 [llength [all WORKER w]]
        assert_equal 2 [llength [all STATE running]]
    }
    test {a cursor stays good while jobs come and go} {
        set reply [r job.list COUNT 4]
        foreach id [ids $reply] {catch {r job.cancel $id FORCE 0}}
        r job.add q late
        set rest [ids [r job.list CURSOR [dict get $reply cursor]]]
        assert {[llength $rest] >= 7}
    }
    test {FINISHED asks for those that have ended, whenever} {
        set id [r job.add ends x]
        assert_equal {} [ids [r job.list QUEUE ends FINISHED - +]]
        r job.ack [lease_token ends]
        r job.add ends y
        assert_equal $id [ids [r job.list QUEUE ends FINISHED - +]]
        assert_equal 1 [dict get [r job.count QUEUE ends FINISHED - +] count]
        assert_error "ERR *STATE and FINISHED*" {r job.list STATE ready FINISHED - +}
    }
    test {words that make no sense} {
        assert_error "ERR *STATE*" {r job.list STATE asleep}
        assert_error "ERR *CURSOR*" {r job.list CURSOR zz}
        assert_error "ERR *CURSOR*" {r job.list CURSOR lx1}
        assert_error "ERR *COUNT*" {r job.list COUNT 0}
        assert_error "ERR *COUNT*" {r job.list COUNT 1001}
        assert_error "ERR *CREATED*" {r job.list CREATED yesterday +}
        assert_error "ERR CREATED ends*" {r job.list CREATED 20 10}
        assert_error "ERR FINISHED ends*" {
            r job.list CREATED 10 20 FINISHED 20 10
        }
        assert_error "ERR *STATE and WORKER*" {
            r job.list STATE ready STATE retrying WORKER w
        }
        assert_equal {{} (nil)} [dict values \
            [r job.list STATE ready STATE failed WORKER w]]
        assert_error "ERR *STATE and FINISHED*" {r job.list STATE ready FINISHED 1 +}
        assert_error "ERR *" {r job.list ID 01J8ZQ4W2H00000000000000012}
    }
}
