# Not a command: what the engine tells subscribers.
start_server {tags {pubsub jobs}} {
    test {a ready job is told to those who wait for its queue} {
        set c [client]
        $c subscribe belfry:ready:mail
        set id [r job.add mail x]
        assert_equal [list message belfry:ready:mail $id] [$c read]
        r job.add other x
        set id [r job.add mail y]
        assert_equal [list message belfry:ready:mail $id] [$c read]
    }
    test {the life of a job is told in JSON} {
        set c [client]
        $c psubscribe belfry:job:life
        set id [r job.add life x]
        set job [lindex [r job.lease life] 0]
        r job.ack [dict get $job token]
        set kinds {}
        foreach kind {added leased completed} {
            lassign [$c read] - pattern channel text
            assert_equal belfry:job:life $channel
            assert_match "{\"event\":\"$kind\",\"at_ms\":*\"id\":\"$id\"*\"queue\":\"life\"*}" $text
        }
    }
    test {a dead letter is an alert} {
        set c [client]
        $c subscribe belfry:alert
        r job.add dead x RETRIES 0
        set job [lindex [r job.lease dead] 0]
        r job.nack [dict get $job token] error {say "no"}
        lassign [$c read] - channel text
        assert_match {{"event":"failed",*"queue":"dead"*}} $text
    }
    test {pausing a queue is told} {
        set c [client]
        $c subscribe belfry:queue:mail
        r queue.pause mail
        assert_match {*"event":"queue_paused"*} [$c read]
        r queue.resume mail
        assert_match {*"event":"queue_resumed"*} [$c read]
    }
    test {pausing a handler and what its breaker does are told} {
        set c [client]
        $c subscribe belfry:handler:mailer
        r handler.pause mailer
        assert_match {*"event":"handler_paused"*"handler":"mailer"*} [$c read]
        r handler.resume mailer
        assert_match {*"event":"handler_resumed"*} [$c read]
    }
    test {events in a transaction come behind its reply, in order} {
        set c [client]
        $c hello 3
        $c subscribe belfry:ready:tx
        $c multi
        for {set i 0} {$i < 20} {incr i} {$c job.add tx $i}
        lassign [$c typed EXEC] type ids
        assert_equal array $type
        assert_equal 20 [llength $ids]
        foreach id $ids {
            assert_equal [list push [list message belfry:ready:tx $id]] \
                [$c read_typed]
        }
    }
    test {nobody hears of what he did not subscribe to} {
        set c [client]
        r job.add quiet x
        assert_equal PONG [$c ping]
    }
    test {INFO counts jobs and queues} {
        assert {[info_field jobs_added_total] >= 25}
        assert_match {*completed=1*} [info_field queue_life]
        assert_equal [r dbsize] [info_field jobs_live]
        assert_match "keys=[r dbsize],*" [info_field db0]
    }
}
