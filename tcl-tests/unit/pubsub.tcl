start_server {tags {pubsub}} {
    test {PUBSUB tells who listens to what} {
        set c [client]
        set d [client]
        $c subscribe one
        $d subscribe one
        $d subscribe two
        $c psubscribe o*
        assert_equal {one two} [lsort [r pubsub channels]]
        assert_equal two [r pubsub channels t*]
        assert_equal {one 2 two 1 none 0} [r pubsub numsub one two none]
        assert_equal {} [r pubsub numsub]
        assert_equal 1 [r pubsub numpat]
        assert_equal 2 [info_field pubsub_channels]
        assert_error "ERR unknown subcommand 'foo'. Try PUBSUB HELP." {
            r pubsub foo
        }
    }
}
