# A small RESP client for tests: RESP2 and RESP3, with every type told apart.
#
#   set c [resp::client new $host $port]      or: [resp::client new /path.sock]
#   $c do PING              -> PONG           send and read; errors are thrown
#   $c ping                 -> PONG           the same, any method is a command
#   $c send GET a; $c read                    pipelining
#   $c typed PING           -> simple PONG    the type in front of the value
#   $c raw "PING\r\n"; $c bytes 7             bytes out, bytes in
#
# Values: strings and integers as they are, null as (nil), arrays and sets as
# lists, maps as dicts, pushes as lists. An error reply throws its text with
# the code {RESP ERROR}; inside arrays it is a list {(error) text}.
namespace eval resp {
    variable timeout_ms [scaled 10000]
}

oo::class create resp::client {
    variable chan in

    constructor {host {port 0}} {
        set in ""
        if {$port == 0} {
            # Tcl has no Unix sockets; python3 carries the bytes.
            set chan [open [list | python3 \
                [file join $::lib_dir unix_pipe.py] $host] r+]
        } else {
            set chan [socket $host $port]
        }
        fconfigure $chan -translation binary -buffering full -blocking 0
    }
    destructor {
        catch {close $chan}
    }

    method channel {} {return $chan}

    # --- out -----------------------------------------------------------------
    method raw {bytes} {
        # What the kernel does not take at once, Tcl keeps and sends later.
        puts -nonewline $chan $bytes
        flush $chan
    }
    method send {args} {
        set out "*[llength $args]\r\n"
        foreach word $args {
            set bytes [encoding convertto utf-8 $word]
            append out "\$[string length $bytes]\r\n$bytes\r\n"
        }
        my raw $out
    }
    # Words are bytes already.
    method send_bytes {args} {
        set out "*[llength $args]\r\n"
        foreach word $args {
            append out "\$[string length $word]\r\n$word\r\n"
        }
        my raw $out
    }

    # --- in ------------------------------------------------------------------
    # More bytes into `in`; waits at most until `end`, so that a test that waits
    # for what never comes fails instead of hanging.
    method fill {end} {
        while {1} {
            set more [read $chan]
            if {$more ne ""} {
                append in $more
                return
            }
            if {[eof $chan]} {
                return -code error -errorcode {RESP CLOSED} "connection closed"
            }
            set left [expr {$end - [clock milliseconds]}]
            if {$left <= 0} {
                return -code error -errorcode {RESP TIMEOUT} \
                    "no reply within $resp::timeout_ms ms"
            }
            set done [namespace current]::waited
            fileevent $chan readable [list set $done 1]
            set timer [after $left [list set $done 2]]
            vwait $done
            after cancel $timer
            fileevent $chan readable {}
        }
    }
    method deadline {} {expr {[clock milliseconds] + $resp::timeout_ms}}
    method line {} {
        set end [my deadline]
        while {[set at [string first \n $in]] < 0} {my fill $end}
        set text [string range $in 0 $at-1]
        set in [string range $in $at+1 end]
        return [string trimright $text "\r"]
    }
    method bytes {n} {
        set end [my deadline]
        while {[string length $in] < $n} {my fill $end}
        set bytes [string range $in 0 $n-1]
        set in [string range $in $n end]
        return $bytes
    }
    # Everything until the server closes, at most the timeout long.
    method rest {} {
        set end [my deadline]
        while {![catch {my fill $end} message opt]} {}
        if {[dict get $opt -errorcode] ne {RESP CLOSED}} {
            return -code error "not closed within $resp::timeout_ms ms"
        }
        set all $in
        set in ""
        return $all
    }
    method items {n} {
        set list {}
        for {set i 0} {$i < $n} {incr i} {
            lassign [my value] type v
            lappend list [expr {$type eq "error" ? [list (error) $v] : $v}]
        }
        return $list
    }
    # {type value}; pushes are returned as they come.
    method value {} {
        set text [my line]
        set type [string index $text 0]
        set text [string range $text 1 end]
        switch -exact -- $type {
            + {return [list simple [encoding convertfrom utf-8 $text]]}
            - {return [list error [encoding convertfrom utf-8 $text]]}
            : {return [list integer $text]}
            _ {return [list null (nil)]}
            # {return [list boolean $text]}
            , {return [list double $text]}
            ( {return [list big $text]}
            $ - = - ! {
                if {$text == -1} {return [list null (nil)]}
                set bytes [my bytes $text]
                my bytes 2
                if {$type eq "="} {
                    return [list verbatim [string range $bytes 4 end]]
                }
                if {$type eq "!"} {return [list error $bytes]}
                return [list bulk $bytes]
            }
            * {
                if {$text == -1} {return [list null (nil)]}
                return [list array [my items $text]]
            }
            ~ {return [list set [my items $text]]}
            > {return [list push [my items $text]]}
            % {return [list map [my items [expr {2 * $text}]]]}
            | {return [list attribute [my items [expr {2 * $text}]]]}
        }
        return -code error "not RESP: [list $type$text]"
    }
    method read {} {
        lassign [my value] type v
        if {$type eq "error"} {
            return -code error -errorcode {RESP ERROR} $v
        }
        return $v
    }
    method read_typed {} {return [my value]}
    # True if the server has closed the connection, within the deadline.
    method closed {} {
        expr {[catch {my rest}] == 0}
    }

    method do {args} {
        my send {*}$args
        return [my read]
    }
    method typed {args} {
        my send {*}$args
        return [my value]
    }
    method unknown {name args} {
        tailcall my do $name {*}$args
    }
    export unknown
}

# UTF-8 text of a reply.
proc resp::text {bytes} {encoding convertfrom utf-8 $bytes}
