proc line_of {list id} {
    foreach line [split $list \n] {
        if {[string match "id=$id *" $line]} {return $line}
    }
    return ""
}

start_server {tags {connection}} {
    test {CLIENT ID grows and is in CLIENT INFO} {
        set a [client]
        set b [client]
        assert {[$b client id] > [$a client id]}
        assert_match "id=[$a client id] addr=127.0.0.1:* laddr=127.0.0.1:[srv port] *" \
            [$a client info]
    }
    test {CLIENT LIST has the fields of Redis, in its order} {
        set line [r client info]
        set names {}
        foreach field [split [string trim $line]] {
            lappend names [lindex [split $field =] 0]
        }
        assert_match {id addr laddr fd name age idle flags db sub psub ssub multi * qbuf qbuf-free * omem tot-mem events cmd user * resp lib-name lib-ver*} \
            $names
    }
    test {CLIENT LIST tells what each client does, or did last} {
        set c [client]
        set id [$c client id]
        assert_match {* cmd=client|id *} [line_of [r client list] $id]
        assert_match {* cmd=client|info *} [$c client info]
        $c send job.lease nothing block 60000
        wait_for {[string match {* flags=b* cmd=job.lease *} \
            [line_of [r client list] $id]]}
        r client unblock $id
        assert_equal {} [$c read]
    }
    test {CLIENT SETNAME and GETNAME} {
        set c [client]
        assert_equal (nil) [$c client getname]
        assert_equal OK [$c client setname worker-1]
        assert_equal worker-1 [$c client getname]
        assert_match {* name=worker-1 *} [$c client info]
        assert_error "ERR Client names cannot contain spaces, newlines or special characters." {
            $c client setname "a b"
        }
        assert_error "ERR Client names cannot contain*" {$c client setname "a\nb"}
        assert_equal worker-1 [$c client getname]
        assert_equal OK [$c client setname ""]
        assert_equal (nil) [$c client getname]
    }
    test {CLIENT SETINFO} {
        set c [client]
        assert_equal OK [$c client setinfo lib-name tcl(x)]
        assert_equal OK [$c CLIENT SETINFO LIB-VER 8.6]
        assert_match {*lib-name=tcl(x) lib-ver=8.6*} [$c client info]
        assert_error "ERR Unrecognized option 'lib'" {$c client setinfo lib x}
        assert_error "ERR lib-ver cannot contain spaces*" {
            $c client setinfo lib-ver "a b"
        }
    }
    test {names have a bound, for they are kept and listed} {
        set c [client]
        set long [string repeat x 1025]
        assert_equal OK [$c client setname [string range $long 1 end]]
        foreach command {
            {client setname} {client setinfo lib-name}
            {client setinfo lib-ver} {hello 2 setname}
        } {
            assert_error "LIMIT *has 1025 bytes, 1024 are allowed" {$c {*}$command $long}
        }
        assert_equal [string range $long 1 end] [$c client getname]
    }
    test {CLIENT LIST can be narrowed} {
        set a [client]
        set b [client]
        $b subscribe ch
        set id [$a client id]
        assert_match "id=$id *" [r client list id $id]
        assert_equal "" [line_of [r client list type pubsub] $id]
        assert_match {*flags=P*} [r client list TYPE pubsub]
        assert {[line_of [r client list type normal] $id] ne ""}
        assert_equal "" [r client list type replica]
        assert_error "ERR Invalid client ID" {r client list id x}
        assert_error "ERR CLIENT LIST: TYPE wants normal, master, replica, slave or pubsub, not 'foo'" {
            r client list type foo
        }
    }
    test {CLIENT KILL by address, id and name of option} {
        set a [client]
        regexp {addr=(\S+)} [$a client info] -> addr
        assert_equal OK [r client kill $addr]
        assert {[$a closed]}
        assert_error "ERR No such client" {r client kill 127.0.0.1:1}
        set b [client]
        assert_equal 1 [r client kill id [$b client id]]
        assert {[$b closed]}
        set c [client]
        set d [client]
        $c ping; $d ping
        assert {[r client kill type normal] >= 2}
        assert {[$c closed]}
        assert_equal PONG [r ping]
        assert_equal 0 [r client kill id 999999]
        assert_equal 0 [r client kill user somebody]
        assert_error "ERR wrong number of arguments for 'client|kill' command" {
            r client kill
        }
        assert_error "ERR * 'name'*" {r client kill name somebody}
    }
    test {CLIENT KILL of itself answers first} {
        set c [client]
        $c raw "CLIENT KILL SKIPME no ID [$c client id]\r\n"
        assert_equal ":1\r\n" [$c rest]
    }
    test {CLIENT REPLY OFF, SKIP and ON} {
        set c [client]
        $c send CLIENT REPLY SKIP
        $c send PING skipped
        $c send PING one
        assert_equal one [$c read]
        $c send CLIENT REPLY OFF
        $c send PING x
        $c send NOSUCH
        $c send CLIENT REPLY ON
        assert_equal OK [$c read]
        assert_equal PONG [$c ping]
    }
    test {CLIENT REPLY is not for transactions: EXEC has a reply for each} {
        set c [client]
        $c multi
        foreach mode {OFF SKIP ON} {
            assert_error "ERR Command not allowed inside a transaction" {
                $c client reply $mode
            }
        }
        assert_error EXECABORT* {$c exec}
        assert_equal PONG [$c ping]
    }
    test {CLIENT TRACKING, NO-EVICT, NO-TOUCH are accepted} {
        set c [client]
        assert_equal OK [$c client tracking on optin noloop]
        assert_match {*flags=*t*} [$c client info]
        assert_equal 0 [$c client getredir]
        assert_equal OK [$c client caching yes]
        assert_equal OK [$c client tracking off]
        assert_equal -1 [$c client getredir]
        assert_error "ERR You can't specify both OPTIN mode and OPTOUT mode" {
            $c client tracking on optin optout
        }
        assert_error "ERR CLIENT TRACKING: switch wants off or on, not 'maybe'" {
            $c client tracking maybe
        }
        assert_equal OK [$c client no-evict on]
        assert_equal OK [$c client no-touch on]
    }
    test {CLIENT PAUSE holds commands, UNPAUSE lets them go} {
        set c [client]
        r client pause 60000
        $c send PING
        set usual $resp::timeout_ms
        set resp::timeout_ms 50
        assert_error "no reply*" {$c read}
        set resp::timeout_ms $usual
        assert_equal OK [r client unpause]
        assert_equal PONG [$c read]
        r client pause 60000 write
        assert_equal PONG [$c ping]
        r client unpause
        r client pause 1
        assert_equal PONG [$c ping]
    }
    test {CLIENT UNBLOCK of somebody who does not wait is 0} {
        assert_equal 0 [r client unblock [[client] client id]]
        assert_equal 0 [r client unblock 999999 error]
    }
    test {what clients try and must survive} {
        assert_error "ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP." {
            r CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip
        }
        assert_error "ERR unknown subcommand 'lst'. Try CLIENT HELP. Did you mean 'LIST'?" {
            r client lst
        }
        assert_error "ERR wrong number of arguments for 'client' command" {r client}
        assert_match {*CLIENT <subcommand>*HELP*} [r client help]
    }
}
start_server {tags {connection} config {maxclients 3}} {
    test {one client too many is told so and closed} {
        wait_for {[info_field connected_clients] == 1}
        set a [client]
        set b [client]
        $a ping
        $b ping
        set c [resp::client new 127.0.0.1 [srv port]]
        assert_equal "-ERR max number of clients reached\r\n" [$c rest]
        assert_equal 1 [info_field rejected_connections]
    }
}
