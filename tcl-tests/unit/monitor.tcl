start_server {tags {server}} {
    test {MONITOR shows commands as they run} {
        set c [client]
        assert_equal OK [$c monitor]
        r echo "a b\n\x01\""
        assert_match {[0-9]*.[0-9]* \[0 127.0.0.1:*\] "echo" "a b\\n\\x01\\""} \
            [$c read]
        $c destroy
    }
    test {MONITOR does not show secrets} {
        set c [client]
        $c monitor
        set d [client]
        catch {$d auth my-password}
        $d hello 2 auth default my-password
        $d ping
        assert_match {*"auth" "(redacted)"} [$c read]
        assert_match {*"hello" "2" "auth" "(redacted)" "(redacted)"} [$c read]
        assert_match {*"ping"} [$c read]
    }
}
