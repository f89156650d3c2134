# Which threads of the server the kernel runs before others (SCHED_RR is 2).
proc realtime_threads {} {
    set names {}
    foreach task [glob /proc/[srv pid]/task/*] {
        set stat [read_file $task/stat]
        # The name is in brackets; the policy is the 41st field.
        if {[lindex [string range $stat [string last ) $stat]+2 end] 38] == 2} {
            lappend names [string trim [read_file $task/comm]]
        }
    }
    return $names
}

start_server {tags {server}} {
    test {the thread that syncs the log goes first if the system allows it} {
        set threads [realtime_threads]
        assert_equal [expr {[info_field log_realtime] ? "log" : ""}] $threads
        # Root may, unless it has been stripped of the right.
        if {[catch {exec chrt -r 1 true}] == 0} {
            assert_equal log $threads
        }
    }
}
start_server {tags {server} config {log-realtime no}} {
    test {log-realtime no leaves all threads alike} {
        assert_equal 0 [info_field log_realtime]
        assert_equal {} [realtime_threads]
    }
}
