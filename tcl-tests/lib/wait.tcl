# A deadline, times WAIT_FACTOR: the sanitizers, and machines with more to do,
# are slower than the deadlines suppose.
proc scaled {time} {
    global env
    if {![info exists env(WAIT_FACTOR)]} {return $time}
    return [expr {$time * max(1, int($env(WAIT_FACTOR)))}]
}
