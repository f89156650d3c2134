start_server {tags {server}} {
    test {ROLE is master with its index and no replicas} {
        lassign [r role] role index replicas
        assert_equal master $role
        assert {[string is integer -strict $index]}
        assert_equal {} $replicas
    }
}
