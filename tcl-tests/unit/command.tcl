proc check_row {row} {
    assert_equal 10 [llength $row]
    lassign $row name arity flags first last step categories tips keys subs
    assert_equal [string tolower $name] $name
    assert {[string is integer -strict $arity] && $arity != 0} $name
    assert {[llength $flags] > 0} $name
    assert {[string is integer -strict $first]} $name
    foreach sub $subs {check_row $sub}
}

start_server {tags {server}} {
    test {COMMAND has ten fields for each command} {
        set all [r command]
        assert_equal [r command count] [llength $all]
        foreach row $all {check_row $row}
    }
    test {COMMAND LIST and its filters} {
        set names [r command list]
        assert_equal [r command count] [llength $names]
        assert {"client" in $names && "ping" in $names}
        assert_equal {client client|id} [lsort [concat \
            [r command list filterby pattern client] \
            [r command list filterby pattern client|id]]]
        assert {"client|list" in [r command list filterby aclcat admin]}
        assert {"ping" ni [r command list filterby aclcat admin]}
        assert_equal {} [r command list filterby module x]
        assert_error "ERR COMMAND LIST: FILTERBY wants*" {
            r command list filterby foo x
        }
    }
    test {COMMAND INFO of names, null for unknown ones} {
        set rows [r command info ping nosuch CLIENT|ID]
        assert_equal 3 [llength $rows]
        assert_equal ping [lindex $rows 0 0]
        assert_equal -1 [lindex $rows 0 1]
        assert_equal (nil) [lindex $rows 1]
        assert_equal client|id [lindex $rows 2 0]
        assert_equal 2 [lindex $rows 2 1]
    }
    test {COMMAND DOCS tells summary, since, group and arguments} {
        set c [client]
        $c hello 3
        lassign [$c typed COMMAND DOCS] type docs
        assert_equal map $type
        assert_equal [r command count] [dict size $docs]
        dict for {name doc} $docs {
            foreach field {summary since group} {
                assert {[dict get $doc $field] ne ""} "$name $field"
            }
        }
        set doc [dict get [r command docs ping nosuch] ping]
        assert_equal connection [dict get $doc group]
        set arg [lindex [dict get $doc arguments] 0]
        assert_equal message [dict get $arg name]
        assert_equal string [dict get $arg type]
        assert_equal optional [dict get $arg flags]
        # Two words of one option have names of their own.
        foreach {command option names} {
            job.bulk CREATED {from to}
            hello AUTH {username password}
        } {
            set found {}
            foreach arg [dict get [r command docs $command] $command arguments] {
                if {[dict get $arg name] eq $option} {
                    foreach word [dict get $arg arguments] {
                        lappend found [dict get $word name]
                    }
                }
            }
            assert_equal $names $found
        }
        set subs [dict get [r command docs client] client subcommands]
        assert {[dict exists $subs client|kill]}
    }
    test {COMMAND GETKEYS finds routing keys} {
        assert_equal {a b} [r command getkeys watch a b]
        assert_equal {q} [r command getkeys job.add q payload DELAY 5m TAG k=v]
        assert_equal {q} [r command getkeys job.addm q 2 one two]
        assert_equal {t1 t2 t3} [r command getkeys job.ack t1 RESULT x ALSO t2 t3]
        assert_error "ERR Invalid command specified" {r command getkeys nosuch}
        assert_error "ERR The command has no key arguments" {
            r command getkeys ping x
        }
    }
    test {unknown commands get Redis' words, and the nearest name} {
        assert_error "ERR unknown command 'foo', with args beginning with: 'a' 'b' " {
            r foo a b
        }
        assert_error "ERR unknown command 'pnig', with args beginning with: did you mean 'PING'?" {
            r pnig
        }
        assert_error "ERR unknown command 'get', with args*" {r get a}
        assert_error "ERR unknown command 'eval', with args*" {r eval "return 1" 0}
    }
}
