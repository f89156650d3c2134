# test {sentence} { body }, assertions, and waiting with a deadline.
set passed 0
set failed 0

proc record_failure {name message} {
    incr ::failed
    puts "FAILED  $::test_file: $name"
    foreach line [split $message \n] {puts "        | $line"}
}

proc test {name body} {
    if {$::wanted_test ne "" && ![string match $::wanted_test $name]} return
    set rc [catch {uplevel 1 $body} message opt]
    if {$rc == 0 || $rc == 2} {
        incr ::passed
        if {$::verbose} {puts "ok      $name"}
        return
    }
    set where ""
    regexp {\(procedure "test" line \d+\)|\(file [^)]*line \d+\)} \
        [dict get $opt -errorinfo] where
    if {[lindex [dict get $opt -errorcode] 0] eq "ASSERT"} {
        record_failure $name $message
    } else {
        record_failure $name [dict get $opt -errorinfo]
    }
}

proc fail {message} {
    return -code error -errorcode ASSERT $message
}

# The line of the body that asserted, as written.
proc at_line {} {
    for {set i 2} {$i < [info frame]} {incr i} {
        set f [info frame -$i]
        if {[dict exists $f cmd] && [string match {assert*} [dict get $f cmd]]} {
            return "\n  in: [string range [dict get $f cmd] 0 300]"
        }
    }
    return ""
}

proc assert {condition {detail ""}} {
    if {![uplevel 1 [list expr $condition]]} {
        fail "not true: $condition $detail"
    }
}
proc assert_equal {wanted got} {
    if {$wanted ne $got} {
        fail "wanted [list $wanted]\ngot    [list $got][at_line]"
    }
}
proc assert_match {pattern got} {
    if {![string match $pattern $got]} {
        fail "wanted something like [list $pattern]\ngot    [list $got][at_line]"
    }
}
# The body throws an error whose text matches.
proc assert_error {pattern body} {
    if {![catch {uplevel 1 $body} text]} {
        fail "wanted the error [list $pattern]\ngot    [list $text][at_line]"
    }
    assert_match $pattern $text
}
proc assert_range {n low high} {
    if {$n < $low || $n > $high} {
        fail "wanted $low to $high, got $n[at_line]"
    }
}
# Poll until the condition holds; never sleep for a fixed time instead.
proc wait_for {condition {ms 10000}} {
    set ms [scaled $ms]
    set end [expr {[clock milliseconds] + $ms}]
    while {![uplevel 1 [list expr $condition]]} {
        if {[clock milliseconds] > $end} {
            fail "not within $ms ms: $condition"
        }
        after 5
    }
}
# One field of INFO.
proc info_field {name {section everything}} {
    if {![regexp -line "^$name:(\[^\r\]*)" [r info $section] -> value]} {
        fail "INFO $section has no field $name"
    }
    return $value
}
# The first job of JOB.LEASE as a dict, empty if there is none.
proc lease_one {queue args} {
    lindex [r job.lease $queue {*}$args] 0
}
proc lease_token {queue args} {
    set job [lease_one $queue {*}$args]
    if {$job eq ""} {fail "nothing to lease in $queue"}
    return [dict get $job token]
}
