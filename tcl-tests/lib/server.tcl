# Servers for tests: each with a directory, port and log of its own.
#
#   start_server {tags {pubsub} config {maxclients 10}} {
#       test {PING answers} { assert_equal PONG [r ping] }
#   }
#
# `r` is a client of the innermost server; `srv port`, `srv dir`, `srv pid`,
# `srv log`. `client` makes another connection, closed when the server ends.
# `restart_server` and `kill_server` (SIGKILL) are for tests of durability.
set servers {}

proc free_port {} {
    set s [socket -server {} -myaddr 127.0.0.1 0]
    set port [lindex [fconfigure $s -sockname] 2]
    close $s
    return $port
}

proc srv {field} {dict get $::server $field}

proc read_file {path} {
    set f [open $path rb]
    set text [read $f]
    close $f
    return $text
}

proc server_output {} {
    catch {append text [read_file [srv log]]}
    catch {append text [read_file [srv err]]}
    return $text
}

proc spawn_server {{tries 5}} {
    set argv [list $::server_binary --port [srv port] --http-port 0 \
        --dir [srv dir] --logfile [srv log]]
    dict for {name value} [srv config] {
        # client-output-buffer-limit and bind have several words
        lappend argv --$name {*}[expr {$value eq "" ? [list ""] : $value}]
    }
    set pid [exec {*}$argv </dev/null >>& [srv err] &]
    dict set ::server pid $pid
    set end [expr {[clock milliseconds] + [scaled 20000]}]
    while {1} {
        if {![catch {resp::client new 127.0.0.1 [srv port]} c]} {
            catch {$c auth [server_password]}
            set failed [catch {$c info persistence} reply]
            $c destroy
            if {!$failed && [string match *\nloading:0* $reply]} break
        }
        if {![process_alive $pid] && $tries > 0 &&
                [string match {*Address already in use*} [server_output]]} {
            # Somebody took the port between our look and the server's.
            dict set ::server port [free_port]
            file delete [srv log] [srv err]
            return [spawn_server [expr {$tries - 1}]]
        }
        if {![process_alive $pid] || [clock milliseconds] > $end} {
            error "the server did not start:\n[server_output]"
        }
        after 5
    }
}

proc process_alive {pid} {
    if {[catch {read_file /proc/$pid/stat} stat]} {return 0}
    if {[lindex [split [string range $stat \
        [string last ) $stat]+2 end]] 0] ni {Z X}} {return 1}
    # Its first thread has gone; the others may still hold the sockets.
    return [expr {[llength [glob -nocomplain /proc/$pid/task/*]] > 1}]
}

proc wait_exit {pid ms} {
    set end [expr {[clock milliseconds] + [scaled $ms]}]
    while {[process_alive $pid]} {
        if {[clock milliseconds] > $end} {return 0}
        after 5
    }
    return 1
}

proc server_password {} {
    if {![dict exists [srv config] requirepass]} {return ""}
    return [dict get [srv config] requirepass]
}

proc connect_r {} {
    dict set ::server r [resp::client new 127.0.0.1 [srv port]]
    if {[server_password] ne ""} {r auth [server_password]}
}

proc client {} {
    set c [resp::client new 127.0.0.1 [srv port]]
    dict lappend ::server clients $c
    return $c
}

proc r {args} {
    if {[llength $args] == 0} {return [srv r]}
    [srv r] {*}$args
}

proc close_clients {} {
    foreach c [srv clients] {catch {$c destroy}}
    catch {[srv r] destroy}
    dict set ::server clients {}
}

# SIGTERM, and SIGKILL if that does not help; complains of what sanitizers and
# crashes leave behind.
proc stop_server {} {
    close_clients
    set pid [srv pid]
    catch {exec kill -TERM $pid}
    if {![wait_exit $pid 15000]} {
        catch {exec kill -KILL $pid}
        wait_exit $pid 5000
        record_failure "the server ends on SIGTERM" \
            "still there after [scaled 15] s:\n[server_output]"
    }
    set text [server_output]
    if {[regexp {(Sanitizer|runtime error:|assertion failed|CRASH REPORT)} $text]
            && ![dict get $::server crash_ok]} {
        record_failure "the server says nothing bad" [string range $text end-4000 end]
    }
}

proc kill_server {} {
    close_clients
    exec kill -KILL [srv pid]
    wait_exit [srv pid] 5000
}

proc restart_server {{how TERM}} {
    if {$how eq "KILL"} {kill_server} else {stop_server}
    spawn_server
    connect_r
}

proc start_server {options body} {
    set tags [expr {[dict exists $options tags] ? [dict get $options tags] : {}}]
    if {$::wanted_tag ne "" && $::wanted_tag ni $tags} return
    set outer [expr {[info exists ::server] ? $::server : {}}]
    set dir [exec mktemp -d /tmp/belfry-tcl.XXXXXX]
    set config {enable-debug-command yes}
    if {[dict exists $options config]} {
        set config [dict merge $config [dict get $options config]]
    }
    set ::server [dict create dir $dir/data log $dir/log err $dir/err \
        port [free_port] config $config clients {} crash_ok 0 root $dir]
    set rc [catch {
        spawn_server
        connect_r
        uplevel 1 $body
    } message opt]
    if {$rc == 1} {
        record_failure "(outside of a test)" [dict get $opt -errorinfo]
    }
    if {[dict exists $::server pid]} stop_server
    file delete -force $dir
    set ::server $outer
}
