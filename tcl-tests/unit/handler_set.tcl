start_server {tags {handlers}} {
    test {defaults hold for jobs that say nothing} {
        assert_equal OK [r handler.set h PRIORITY 7 RETRIES 1 TAG team=a \
            LIMIT x LEASE 5s FACTOR 1.5 BACKOFF exponential]
        set o [dict get [r handler.get h] options]
        assert_equal 7 [dict get $o PRIORITY]
        assert_equal 5000 [dict get $o LEASE]
        assert_equal 1.5 [dict get $o FACTOR]
        assert_equal exponential [dict get $o BACKOFF]
        assert_equal {team a} [dict get $o TAG]
        r job.add q x HANDLER h
        set job [lindex [r job.lease q] 0]
        assert_equal {7 1 5000} [lmap f {priority retries lease_ms} \
            {dict get $job $f}]
        r job.add q x HANDLER h PRIORITY 9
        assert_equal 9 [dict get [lindex [r job.lease q] 0] priority]
    }
    test {settings survive a crash and merge with later ones} {
        restart_server KILL
        r handler.set h PRIORITY 8
        set o [dict get [r handler.get h] options]
        assert_equal {8 1} [list [dict get $o PRIORITY] [dict get $o RETRIES]]
        r handler.set h CLEAR DESCRIPTION {sends mail}
        assert_equal {} [dict get [r handler.get h] options]
        assert_equal {sends mail} [dict get [r handler.get h] description]
    }
    test {payloads are checked} {
        r handler.set j CHECK json MAX 10
        r job.add j {[1]}
        assert_error "ERR handler j takes JSON: *" {r job.add j nope}
        assert_error "LIMIT payload has 13 bytes; handler j allows 10" {
            r job.add j {[1,2,3,4,5,6]}
        }
        assert_equal {json 10} [lmap f {check max} \
            {dict get [r handler.get j] $f}]
    }
    test {types of error decide about a retry} {
        r handler.set e NEVER 2 Bad* Worse
        assert_equal {Bad* Worse} [dict get [r handler.get e] never]
        foreach {type state} {BadInput failed Worse failed Other retrying} {
            set id [r job.add e x]
            r job.nack [dict get [lindex [r job.lease e] 0] token] TYPE $type
            assert_equal $state [r job.state $id]
        }
    }
    test {a default may wait for the word that it needs} {
        assert_equal OK [r handler.set reindex CONFLICT replace COST 2 SLA strict]
        r job.add reindex one
        set id [r job.add reindex two UNIQUE u]
        assert_equal $id [r job.add reindex three UNIQUE u]
        assert_equal {one three} [lmap j [r job.lease reindex COUNT 9] {dict get $j payload}]
        assert_error "ERR CONFLICT needs UNIQUE*" {r job.add reindex x CONFLICT return}
    }
    test {words that collide are refused, together or in steps} {
        foreach {a b} {{BACKOFF none} {BASE 5s} {RETRIES 0} {JITTER 5}
                {EXPECT 5s} {TIMEOUT 1s} {WHILE live} {FOR 1s}
                {DELAY 1h} {EXPIRES 1h} {NEVER 1 a} {ONLY 1 a}
                {NEVER 2 x Net*} {ONLY 2 Disk NetTime*}
                {NEVER 1 a?} {ONLY 1 ab} {NEVER 1 [ab]} {ONLY 1 [ab]}
                {NEVER 1 N*t*} {ONLY 1 Ne?\\*t*}} {
            set text "ERR *[lindex $a 0]*and [lindex $b 0] exclude*"
            assert_error $text {r handler.set pair CLEAR {*}$a {*}$b}
            foreach {one two} [list $a $b $b $a] {
                r handler.set pair CLEAR {*}$one
                set before [r handler.get pair]
                assert_error $text {r handler.set pair {*}$two}
                assert_equal $before [r handler.get pair]
                assert_equal OK [r handler.set pair DESCRIPTION d]
            }
        }
        # Some of ONLY is left, so that NEVER is an exception.
        assert_equal OK [r handler.set pair CLEAR ONLY 1 Net* NEVER 1 NetAuth]
        foreach {never only} {a? a* [^N]* *Error x\\* x* ???? [ab] *b* [ab]
                a? a?? ?* [ab]} {
            assert_equal OK \
                [r handler.set pair CLEAR NEVER 1 $never ONLY 1 $only]
        }
    }
    test {what makes no sense is refused by name} {
        assert_error "ERR AT is of one job*" {r handler.set h AT 5}
        assert_error "ERR HANDLER is of one job*" {r handler.set h HANDLER g}
        assert_error "ERR limit names *queue:*" {r handler.set h LIMIT queue:x}
        assert_error "ERR *WHILE and FOR exclude*" {r handler.set h WHILE live FOR 1s}
        assert_error "*CHECK*any*json*" {r handler.set h CHECK xml}
        assert_error "*BREAKER*" {r handler.set h PERCENT 5}
        assert_error "ERR HANDLER.SET: handler wants a name*" {r handler.set "a b"}
        assert_error "*handler*" {r handler.set ""}
        assert_error "LIMIT MAX is above*" {r handler.set h MAX 1gb}
        assert_error "*wrong number*" {r handler.set}
    }
}
