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
