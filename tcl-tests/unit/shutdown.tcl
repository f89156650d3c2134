start_server {tags {server}} {
    test {SHUTDOWN closes the connection and ends the server} {
        r send SHUTDOWN
        assert {[[r] closed]}
        assert {[wait_exit [srv pid] 10000]}
    }
}
start_server {tags {server}} {
    test {SHUTDOWN NOW, with words that Redis has} {
        assert_error "ERR No shutdown in progress." {r shutdown abort}
        assert_error "ERR SHUTDOWN: SAVE and NOSAVE exclude each other" {
            r shutdown save nosave
        }
        r send SHUTDOWN NOSAVE NOW FORCE
        assert {[[r] closed]}
        assert {[wait_exit [srv pid] 10000]}
    }
}
start_server {tags {server}} {
    test {who still sends into the stop gets its replies and an end, no reset} {
        set s [socket 127.0.0.1 [srv port]]
        fconfigure $s -translation binary -buffering none -blocking 0
        puts -nonewline $s "ECHO first\r\n"
        set got ""
        wait_for {[append got [read $s]] ne ""}
        exec kill -TERM [srv pid]
        set more [string repeat "PING\r\n" 10000]
        wait_for {
            [catch {puts -nonewline $s $more; append got [read $s]} why] ||
            [eof $s]
        }
        assert [eof $s] $why
        assert_match "\$5\r\nfirst\r\n*" $got
        assert {[process_alive [srv pid]]}
        close $s
        assert {[wait_exit [srv pid] 10000]}
    }
}
