# The loop never reads a disk while it serves commands: with a cache that holds
# next to nothing, what is not in memory is brought by the reader.
start_server {tags {server} config {
    rocksdb-block-cache-size 1mb generation-max-bytes 64kb
    generation-max-age 50ms window-lane-size 64 window-due-size 64
}} {
    test {jobs that are far from memory cost the loop no read of the disk} {
        set body [string repeat x 2000]
        for {set i 0} {$i < 2000} {incr i} {
            lappend ids [r job.add far $body ID far:$i]
        }
        restart_server
        set before [info_field loop_disk_reads]
        set blocking [info_field blocking_reads]
        for {set i 0} {$i < 2000} {incr i 7} {
            assert_equal ready [r job.state [lindex $ids $i]]
            r job.get far:$i
        }
        for {set i 0} {$i < 40} {incr i} {
            foreach job [r job.lease far COUNT 50] {
                assert_equal OK [r job.ack [dict get $job token]]
            }
        }
        assert {[info_field pending_reads] > 0}
        assert {[info_field fetches] > 0}
        assert_equal $before [info_field loop_disk_reads]
        assert_equal $blocking [info_field blocking_reads]
    }
}
