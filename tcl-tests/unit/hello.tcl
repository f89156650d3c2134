start_server {tags {connection}} {
    test {HELLO has seven fields, flat in RESP2 and a map in RESP3} {
        set c [client]
        lassign [$c typed HELLO] type v
        assert_equal array $type
        assert_equal {server version proto id mode role modules} [dict keys $v]
        assert_equal 2 [dict get $v proto]
        lassign [$c typed HELLO 3] type v
        assert_equal map $type
        assert_equal {server version proto id mode role modules} [dict keys $v]
        assert_equal 3 [dict get $v proto]
        assert_equal belfry [dict get $v server]
        assert_equal standalone [dict get $v mode]
        assert_equal master [dict get $v role]
        assert_equal {} [dict get $v modules]
    }
    test {HELLO without a version keeps the protocol} {
        set c [client]
        $c hello 3
        lassign [$c typed HELLO] type v
        assert_equal map $type
        assert_equal 3 [dict get $v proto]
        $c hello 2
        lassign [$c typed HELLO] type
        assert_equal array $type
    }
    test {HELLO names the connection} {
        set c [client]
        $c hello 3 setname worker-1
        assert_equal worker-1 [$c client getname]
        assert_error "ERR Client names cannot contain spaces*" {
            $c hello 3 SETNAME "a b"
        }
    }
    test {HELLO refuses what it does not speak} {
        assert_error "NOPROTO unsupported protocol version" {r hello 4}
        assert_error "NOPROTO*" {r hello 1}
        assert_error "ERR Protocol version is not an integer or out of range" {
            r hello x
        }
        assert_error "ERR HELLO: unknown option 'FOO'*AUTH*SETNAME*" {
            r hello 3 FOO
        }
    }
    test {any user `default` is welcome where there is no password} {
        set c [client]
        assert_equal belfry [dict get [$c hello 3 auth default x] server]
        assert_error "WRONGPASS invalid username-password pair*" {
            $c hello 3 auth nobody x
        }
    }
}
start_server {tags {connection} config {requirepass secret}} {
    test {HELLO AUTH authenticates, HELLO alone is refused} {
        set c [client]
        assert_error "NOAUTH HELLO must be called with the client already*" {
            $c hello 3
        }
        assert_error "WRONGPASS*" {$c hello 3 AUTH default wrong}
        assert_error "NOAUTH Authentication required." {$c ping}
        assert_equal 3 [dict get [$c hello 3 AUTH default secret] proto]
        assert_equal PONG [$c ping]
    }
}
