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
s.sendall(b'PING\\r\\nECHO x\\r\\n'); s.shutdown(socket.SHUT_WR)
while True:
    b = s.recv(100)
    if not b: break
    sys.stdout.write(b.decode())
}" r]
        fconfigure $out -translation binary
        assert_equal "+PONG\r\n\$1\r\nx\r\n" [read $out]
        close $out
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
