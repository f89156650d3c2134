start_server {tags {server}} {
    test {INFO has the fields that clients look for} {
        set text [r info]
        foreach field {redis_version:7.2.0 belfry_version:* redis_mode:standalone
                run_id:* process_id:* tcp_port:* uptime_in_seconds:* loading:0
                role:master connected_slaves:0 master_replid:* connected_clients:*
                used_memory:* total_commands_processed:*} {
            assert_match "*\n$field\r\n*" "\n$text"
        }
        assert_equal [srv port] [info_field tcp_port]
        assert_equal [srv pid] [info_field process_id]
    }
    test {INFO is a bulk string in RESP2 and verbatim text in RESP3} {
        set c [client]
        assert_equal bulk [lindex [$c typed INFO] 0]
        $c hello 3
        assert_equal verbatim [lindex [$c typed INFO] 0]
    }
    test {INFO takes sections, in any case} {
        set text [r info REPLICATION server]
        assert_match {*# Server*# Replication*} $text
        assert {![string match {*# Clients*} $text]}
        assert_equal "" [r info nosuch]
        foreach section {Server Clients Memory Persistence Stats Replication CPU
                Errorstats Commandstats Latencystats Cluster Rocksdb} {
            assert_match "*# $section\r\n*" [r info everything]
            assert_match "# $section\r\n*" [r info [string tolower $section]]
        }
        assert {![string match {*# Commandstats*} [r info default]]}
        assert {[string match {*# Commandstats*} [r info all]]}
    }
    test {every line of INFO is a title, a pair or empty, and ends with CR LF} {
        foreach line [split [r info everything] \n] {
            if {$line eq ""} continue
            assert {[regexp {^(# [A-Za-z]+|[a-zA-Z0-9_.|-]+:.*)?\r$} $line]} $line
        }
    }
    test {Commandstats count calls, failures and refusals} {
        r config resetstat
        r ping
        r ping
        catch {r select 7}
        catch {r ping a b}
        assert_match {calls=2,usec=*,usec_per_call=*,rejected_calls=1,failed_calls=0} \
            [info_field cmdstat_ping]
        assert_match {calls=1,*rejected_calls=0,failed_calls=1} \
            [info_field cmdstat_select]
        assert_match {p50=*,p99=*,p99.9=*} \
            [info_field latency_percentiles_usec_ping]
    }
    test {Errorstats count errors by their first word} {
        r config resetstat
        catch {r nosuch}
        catch {r nosuch}
        catch {r hello 9}
        assert_equal count=2 [info_field errorstat_ERR]
        assert_equal count=1 [info_field errorstat_NOPROTO]
        assert_equal 3 [info_field total_error_replies]
    }
}
