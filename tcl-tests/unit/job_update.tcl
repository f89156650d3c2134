start_server {tags {jobs}} {
    test {JOB.UPDATE changes a waiting job} {
        set id [r job.add q old ID n]
        assert_equal OK [r job.update n PRIORITY 900 RETRIES 7 TAG a=b PAYLOAD new LEASE 5s]
        set job [r job.get $id]
        assert_equal {900 7 new} [list [dict get $job priority] [dict get $job retries] [dict get $job payload]]
        restart_server KILL
        set lease [lindex [r job.lease q] 0]
        assert_equal {new 5000} [list [dict get $lease payload] [dict get $lease lease_ms]]
        assert_error "STATE *running*" {r job.update n PRIORITY 1}
        r job.ack [dict get $lease token]
        assert_error "FINISHED *" {r job.update n PRIORITY 1}
    }
    test {a finished job is kept for longer, or shorter} {
        set id [r job.add keep x ID kept KEEP 2h]
        set token [dict get [lindex [r job.lease keep COUNT 1] 0] token]
        r job.ack $token RESULT [string repeat r 2000]
        assert_error "FINISHED *KEEP*" {r job.update $id KEEP 5h PRIORITY 1}
        assert_equal OK [r job.update kept KEEP 30d]
        restart_server KILL
        assert_equal 2592000000 [dict get [r job.get kept] keep_ms]
        assert_equal 2000 [string length [r job.result $id]]
        assert_equal 1 [dict get [r queue.info keep] completed]
        assert_equal 1 [dict get [r job.count QUEUE keep STATE completed] count]
        assert_equal OK [r job.retry $id]
        set token [dict get [lindex [r job.lease keep COUNT 1] 0] token]
        r job.ack $token
        assert_equal OK [r job.update $id KEEP 0]
        assert_equal (nil) [r job.state $id]
        assert_equal 0 [dict get [r job.count QUEUE keep STATE completed] count]
        assert_error "NOTFOUND *" {r job.update $id KEEP 1h}
    }
    test {a job is put off} {
        set id [r job.add q x]
        r job.update $id DELAY 1h
        assert_equal scheduled [r job.state $id]
        assert_equal {} [r job.lease q]
        r job.update $id DELAY 0
        assert_equal $id [dict get [lindex [r job.lease q] 0] id]
    }
    test {a word that needs another finds it in the job} {
        set id [r job.add q x LIMIT api EXPECT 5s]
        assert_equal OK [r job.update $id COST 3 SLA strict]
        set id [r job.add q x OWNER acme]
        assert_equal OK [r job.update $id COST 3]
        set id [r job.add q x]
        assert_error "ERR *COST needs LIMIT*" {r job.update $id COST 3}
        assert_error "ERR *SLA needs EXPECT*" {r job.update $id SLA strict}
    }
    test {what a handler says of payloads holds for changes, too} {
        r handler.set strict CHECK json MAX 1kb
        set id [r job.add q 1 HANDLER strict]
        assert_error "ERR *strict takes JSON*" {r job.update $id PAYLOAD "\{bad"}
        assert_error "LIMIT *strict allows 1024" {
            r job.update $id PAYLOAD [string repeat 1 1025]
        }
        assert_equal OK [r job.update $id PAYLOAD 2]
        foreach payload [list "\{bad" [string repeat x 800]] {
            set id [r job.add q $payload]
            assert_error "ERR *strict takes JSON*" {r job.update $id HANDLER strict}
            assert_equal q [dict get [r job.get $id] handler]
            assert_equal OK [r job.update $id HANDLER strict PAYLOAD 3]
        }
    }
    test {a time that does not go with what the job has is refused} {
        set id [r job.add q x EXPIRES 1h DEADLINE 2h]
        assert_error "ERR DELAY and EXPIRES exclude*" {r job.update $id DELAY 1h}
        assert_error "ERR AT and EXPIRES exclude*" {
            r job.update $id AT 4000000000000
        }
        assert_error "ERR DELAY and DEADLINE exclude*" {
            r job.update $id DELAY 3h EXPIRES 4h
        }
        assert_equal OK [r job.update $id DELAY 30m]
        assert_error "ERR AT and EXPIRES exclude*" {r job.update $id EXPIRES 29m}
        assert_error "ERR AT and DEADLINE exclude*" {
            r job.update $id DEADLINE 29m
        }
        assert_equal OK [r job.update $id DELAY 2h EXPIRES 3h DEADLINE 4h]
        assert_equal OK [r job.update $id DELAY 0]
        assert_error "ERR EXPIRES and DEADLINE exclude*" {
            r job.update $id EXPIRES 5h
        }
        # What has been started once does not expire unstarted; giving it back
        # was no start.
        r job.add late x EXPIRES 1h
        set job [lease_one late]
        r job.release [dict get $job token]
        assert_error "ERR DELAY and EXPIRES exclude*" {
            r job.update [dict get $job id] DELAY 2h
        }
        set job [lease_one late]
        r job.nack [dict get $job token] DELAY 1m
        assert_equal OK [r job.update [dict get $job id] DELAY 2h]
    }
    test {words that collide are refused in steps, too} {
        foreach {a b} {{EXPECT 5s} {TIMEOUT 1s} {TIMEOUT 10s} {DEADLINE 5s}
                {EXPECT 10s} {DEADLINE 5s} {EXPIRES 10s} {DEADLINE 5s}
                {RETRIES 0} {BACKOFF fixed} {RETRIES 0} {JITTER 5}
                {BACKOFF none} {BASE 5s} {BACKOFF fixed} {FACTOR 3}
                {BASE 5s} {CAP 2s}} {
            foreach {one two} [list $a $b $b $a] {
                set id [r job.add q x {*}$one]
                set before [r job.get $id]
                assert_error "ERR [lindex $a 0]*and [lindex $b 0] exclude*\
                        ([lindex $one 0] stands already)" {
                    r job.update $id {*}$two
                }
                assert_equal $before [r job.get $id]
                assert_equal OK [r job.update $id PRIORITY 9]
            }
        }
        # A word that is set to what the server does anyway is taken back.
        set id [r job.add q x BASE 5s]
        assert_error "ERR *BASE stands already*" {r job.update $id RETRIES 0}
        assert_equal OK [r job.update $id BASE 1s]
        assert_equal OK [r job.update $id RETRIES 0]
    }
    test {words that make no sense} {
        set id [r job.add q x]
        assert_error "ERR *nothing*" {r job.update $id}
        assert_error "ERR limit names *" {r job.update $id LIMIT queue:q}
        assert_error "ERR *UNIQUE*" {r job.update $id UNIQUE k}
        assert_error "ERR *exclude*" {r job.update $id DELAY 1s AT 5}
        assert_error "ERR *PRIORITY*" {r job.update $id PRIORITY 1001}
        assert_error "ERR *" {r job.update $id DELAY -1}
        assert_error "NOTFOUND *" {r job.update nobody PRIORITY 1}
    }
}
