start_server {tags {server} config {slowlog-log-slower-than 0 slowlog-max-len 5}} {
    test {SLOWLOG keeps the newest entries} {
        r slowlog reset
        for {set i 0} {$i < 9} {incr i} {r echo $i}
        assert_equal 5 [r slowlog len]
        set entries [r slowlog get]
        lassign [lindex $entries 1] id seconds us words addr name
        assert {[string is integer -strict $id]}
        assert_range $seconds [expr {[clock seconds] - 5}] [clock seconds]
        assert_equal {echo 8} $words
        assert_match 127.0.0.1:* $addr
        assert_equal 2 [llength [r slowlog get 2]]
        assert_equal 5 [llength [r slowlog get -1]]
        assert_equal {} [r slowlog get 0]
        assert_error "ERR SLOWLOG GET: count wants*-1*not '-2'" {r slowlog get -2}
        assert_equal OK [r slowlog reset]
    }
    test {long commands are shortened} {
        r echo [string repeat x 300]
        set words [lindex [r slowlog get 1] 0 3]
        assert_equal "[string repeat x 128]... (172 more bytes)" [lindex $words 1]
        r pubsub numsub {*}[lrepeat 40 ch]
        set words [lindex [r slowlog get 1] 0 3]
        assert_equal 32 [llength $words]
        assert_equal "... (11 more arguments)" [lindex $words 31]
    }
    test {secrets are not kept} {
        catch {r auth my-password}
        r config set requirepass ""
        assert {![string match *my-password* [r slowlog get -1]]}
    }
    test {of what holds a secret the rest is kept} {
        set c [client]
        $c hello 2 AUTH default my-password setname me
        $c config set timeout 0 requirepass ""
        catch {$c config set requirepas my-password}
        set entries [r slowlog get 3]
        assert_equal {config set (redacted) (redacted)} [lindex $entries 0 3]
        assert_equal {config set timeout 0 requirepass (redacted)} \
            [lindex $entries 1 3]
        assert_equal {hello 2 AUTH (redacted) (redacted) setname me} \
            [lindex $entries 2 3]
    }
    test {nothing is kept below the threshold} {
        r config set slowlog-log-slower-than 10000000
        r slowlog reset
        r ping
        assert_equal 0 [r slowlog len]
        r config set slowlog-log-slower-than -1
        r ping
        assert_equal 0 [r slowlog len]
    }
}
