start_server {tags {connection}} {
    test {ECHO says any byte back} {
        set all ""
        for {set i 0} {$i < 256} {incr i} {append all [binary format c $i]}
        r send_bytes ECHO $all
        assert_equal $all [r read]
    }
    test {ECHO of nothing is an empty bulk string} {
        assert_equal {bulk {}} [r typed ECHO ""]
    }
    test {ECHO behind an empty inline line works, as redis-cli --pipe ends} {
        set c [client]
        set token "\x00\xff0123456789abcdefg\r"
        $c raw "\r\n*2\r\n\$4\r\nECHO\r\n\$20\r\n$token\r\n"
        assert_equal "\$20\r\n$token\r\n" [$c bytes 27]
    }
    test {ECHO wants exactly one word} {
        assert_error "ERR wrong number of arguments for 'echo' command" {r echo}
        assert_error "ERR wrong number*" {r echo a b}
    }
}
