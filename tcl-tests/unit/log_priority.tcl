# Which threads of the server the kernel runs before others.
proc threads_in_front {} {
    set names {}
    foreach task [glob /proc/[srv pid]/task/*] {
        set stat [read_file $task/stat]
        # The name is in brackets; the nice value is the 19th field.
        if {[lindex [string range $stat [string last ) $stat]+2 end] 16] == -20} {
            lappend names [string trim [read_file $task/comm]]
        }
    }
    return $names
}

start_server {tags {server}} {
    test {the thread that syncs the log goes first if the system allows it} {
        # Root may, unless it has been stripped of the right.
        set may [expr {[catch {exec nice -n -20 true 2>@1} said] == 0 && $said eq ""}]
        # On a busy machine the thread may not have had its first turn yet.
        wait_for {[info_field log_priority] == $may} 20000
        assert_equal [expr {$may ? "log" : ""}] [threads_in_front]
    }
}
start_server {tags {server} config {log-priority no}} {
    test {log-priority no leaves all threads alike} {
        assert_equal 0 [info_field log_priority]
        assert_equal {} [threads_in_front]
    }
}
