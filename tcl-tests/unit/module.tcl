start_server {tags {server}} {
    test {there are no modules} {
        assert_equal {} [r module list]
        assert_error "ERR unknown subcommand 'load'. Try MODULE HELP." {
            r module load x
        }
    }
}
