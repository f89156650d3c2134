start_server {tags {server}} {
    test {DEBUG SLEEP stops the server for a while} {
        set start [clock milliseconds]
        assert_equal OK [r debug sleep 0.05]
        assert_range [expr {[clock milliseconds] - $start}] 50 [scaled 5000]
        assert_error "ERR DEBUG SLEEP: seconds wants a number from 0 to 3600, not 'x'" {
            r debug sleep x
        }
    }
    test {DEBUG SET-CLOCK shifts what TIME tells, and what is due by it} {
        set tomorrow [expr {([clock seconds] + 86400) * 1000}]
        set job [r job.add q payload AT $tomorrow]
        set before [lindex [r time] 0]
        assert_equal OK [r debug set-clock 172800000]
        assert_range [expr {[lindex [r time] 0] - $before}] 172800 176400
        wait_for {[r job.state $job] eq "ready"}
        assert_equal OK [r debug set-clock 0]
        assert_range [expr {[lindex [r time] 0] - $before}] 0 3600
    }
}
start_server {tags {server} config {enable-debug-command no}} {
    test {DEBUG is refused unless it was enabled} {
        assert_error "ERR DEBUG command not allowed*" {r debug sleep 0}
    }
}
start_server {tags {server}} {
    test {a crash leaves a report in the log} {
        dict set ::server crash_ok 1
        catch {r debug panic}
        assert {[wait_exit [srv pid] 10000]}
        assert_match {*CRASH REPORT*backtrace*} [server_output]
    }
}
start_server {tags {server}} {
    test {DEBUG OBJECT wants a job, DEBUG CHECK finds no fault} {
        assert_error "NOTFOUND *" {r debug object nosuch}
        assert_equal OK [r debug check]
    }
}
