# Not a command: the protocol itself.
proc closes_with {bytes reply} {
    set c [client]
    $c raw $bytes
    assert_equal $reply [$c rest]
}

start_server {tags {protocol}} {
    test {wrong bytes get Redis' words and are closed} {
        closes_with "*x\r\n" "-ERR Protocol error: invalid multibulk length\r\n"
        closes_with "*2147483648\r\n" "-ERR Protocol error: invalid multibulk length\r\n"
        closes_with "*1\r\nx\r\n" "-ERR Protocol error: expected '\$', got 'x'\r\n"
        closes_with "*1\r\n\$-5\r\n" "-ERR Protocol error: invalid bulk length\r\n"
        closes_with "*1\r\n\$99999999999\r\n" "-ERR Protocol error: invalid bulk length\r\n"
        closes_with "PING \"a\r\n" "-ERR Protocol error: unbalanced quotes in request\r\n"
        closes_with [string repeat x 70000] "-ERR Protocol error: too big inline request\r\n"
        closes_with "*[string repeat 1 70000]" "-ERR Protocol error: too big mbulk count string\r\n"
        closes_with "*1\r\n\$[string repeat 1 70000]" "-ERR Protocol error: too big bulk count string\r\n"
    }
    test {empty commands are ignored} {
        set c [client]
        $c raw "\r\n*0\r\n*-1\r\n   \r\nPING\r\n"
        assert_equal "+PONG\r\n" [$c bytes 7]
    }
    test {a command cut into single bytes is put together} {
        set c [client]
        foreach byte [split "*2\r\n\$4\r\nECHO\r\n\$5\r\nhello\r\n" ""] {
            $c raw $byte
        }
        assert_equal hello [$c read]
    }
    test {a peer that closes its half gets its replies} {
        set c [client]
        set out [open "|python3 -c {
import socket, sys
s = socket.create_connection(('127.0.0.1', [srv port]))
s.sendall(b'DEBUG SLEEP 0.001\\r\\n' * 5 + b'ECHO x\\r\\n'); s.shutdown(socket.SHUT_WR)
while True:
    b = s.recv(100)
    if not b: break
    sys.stdout.write(b.decode())
}" r]
        fconfigure $out -translation binary
        assert_equal "[string repeat "+OK\r\n" 5]\$1\r\nx\r\n" [read $out]
        close $out
    }
    test {a long pipeline lets the others be answered before its end} {
        set busy [client]
        set long [client]
        set other [client]
        foreach c [list $busy $long $other] {$c ping}
        set pipeline [string repeat "DEBUG SLEEP 0.001\r\n" 20]
        append pipeline "CLIENT SETNAME done\r\n"
        # All that is sent while the server sleeps is ready at once, the
        # pipeline first. If we are held up meanwhile, the next try tells.
        for {set try 0; set all *name=done*} {$try < 10} {incr try} {
            $busy send debug sleep 0.1
            $long raw $pipeline
            set seen [$other client list]
            assert_equal OK [$busy read]
            for {set i 0} {$i < 21} {incr i} {assert_equal OK [$long read]}
            assert_match $all [$other client list]
            $long client setname ""
            if {![string match $all $seen]} break
        }
        assert {$try < 10} "others wait for the end of a pipeline"
    }
    test {names of commands are read in any case} {
        assert_equal PONG [r pInG]
        assert_equal standalone [dict get [r HeLLo 2] mode]
    }
}
set sock /tmp/belfry-tcl.[pid].sock
start_server [list tags protocol config [list unixsocket $sock]] {
    test {a Unix socket serves, too} {
        set c [resp::client new $::sock]
        assert_equal PONG [$c ping]
        assert_match "*addr=$::sock:0 *flags=U*" [$c client info]
        $c destroy
    }
}
