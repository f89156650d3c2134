# The loop never reads a disk while it serves commands: with a cache that holds
# next to nothing, what is not in memory is brought by the reader.
proc assert_no_disk {body} {
    set pending [info_field pending_reads]
    set blocking [info_field blocking_reads] ;# loading does
    uplevel 1 $body
    assert {[info_field pending_reads] > $pending} "all was in memory"
    assert_equal 0 [info_field loop_disk_reads]
    assert_equal $blocking [info_field blocking_reads]
}
# A megabyte and more of bodies.
proc fill {queue args} {
    set body [string repeat x 2000]
    for {set i 0} {$i < 300} {incr i} {
        lappend ids [r job.add $queue $body ID $queue:$i UNIQUE $queue:$i \
            OWNER $queue LIMIT api TAG a=b {*}$args]
    }
    return $ids
}
proc finish {queue how} {
    while {[llength [set jobs [r job.lease $queue COUNT 50]]] > 0} {
        foreach job $jobs {
            assert_equal OK [r job.$how [dict get $job token] {*}[expr {
                $how eq "nack" ? "PERMANENT TYPE Oops" : "RESULT done"}]]
        }
    }
}
proc wait_chore {id} {
    wait_for {[dict get [r chore.get $id] state] ne "active"} 30000
    assert_equal done [dict get [r chore.get $id] state]
}
start_server {tags {server} config {
    rocksdb-block-cache-size 1mb generation-max-bytes 64kb appendfsync no
    generation-max-age 50ms window-lane-size 64 window-due-size 64
}} {
    set far [fill far]
    set held [fill held]
    fill later DELAY 1h
    fill ended KEEP 1h
    fill gone
    finish ended ack
    restart_server
    test {jobs that are far from memory cost the loop no read of the disk} {
        assert_no_disk {
            for {set i 0} {$i < 300} {incr i 7} {
                assert_equal ready [r job.state [lindex $far $i]]
                r job.get far:$i
                r job.why far:$i
            }
            finish far ack
        }
        assert {[info_field fetches] > 0}
    }
    test {nor does what is done to them by hand} {
        assert_no_disk {
            for {set i 0} {$i < 290} {incr i 11} {
                r job.hold held:$i
                r job.update held:$i PRIORITY 700
                r job.unhold held:$i
                r job.runnow later:$i
                r job.cancel gone:$i
                r job.delete ended:$i
                r job.cancel [lindex $held [expr {$i + 1}]] ALSO held:[expr {
                    $i + 2}] held:[expr {$i + 3}]
                r job.add held y UNIQUE held:[expr {$i + 4}]
                r job.retry ended:[expr {$i + 1}]
                assert_equal done [r job.result ended:[expr {$i + 2}]]
                r job.executions ended:[expr {$i + 3}]
                r job.wait ended:[expr {$i + 4}] ALSO gone:$i
            }
            finish held nack
        }
    }
    test {nor do lists, and chores, and what becomes due} {
        assert_no_disk {
            assert_equal 300 [dict get [r job.count QUEUE far] count]
            set got [r job.list TAG a=b COUNT 100]
            while {[set cursor [dict get $got cursor]] ne "(nil)"} {
                set got [r job.list TAG a=b COUNT 100 CURSOR $cursor]
            }
            r queue.peek gone COUNT 50
            r dead.list held
            r dead.groups held
            wait_chore [r job.bulk runnow QUEUE later]
            wait_chore [r dead.retry held ALL]
            wait_chore [r queue.purge gone]
            finish later ack
        }
    }
    test {nor does a transaction} {
        restart_server
        assert_no_disk {
            r multi
            for {set i 5} {$i < 300} {incr i 15} {
                r job.get far:$i
                r job.state held:$i
                r job.executions ended:$i
            }
            assert_equal 60 [llength [r exec]]
        }
    }
}
