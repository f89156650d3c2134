#include "server/info.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "server/client.h"
#include "server/parts.h"
#include "server/pubsub.h"
#include "server/stats.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/histogram.h"

#define ULL(n) ((unsigned long long)(n))

void info_line(struct buf *out, const char *key, uint64_t value)
{
    buf_printf(out, "%s:%llu\r\n", key, ULL(value));
}

static void word(struct buf *out, const char *key, const char *value)
{
    buf_printf(out, "%s:%s\r\n", key, value);
}

static void human(struct buf *out, const char *key, uint64_t bytes)
{
    static const char *const units[] = {"B", "K", "M", "G", "T"};
    double v = (double)bytes;
    unsigned u = 0;
    while (v >= 1024 && u + 1 < ARRAY_LEN(units)) {
        v /= 1024;
        u++;
    }
    if (u == 0)
        buf_printf(out, "%s:%lluB\r\n", key, ULL(bytes));
    else
        buf_printf(out, "%s:%.2f%s\r\n", key, v, units[u]);
}

static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%*s %lu", &pages) != 1)
        pages = 0;
    (void)fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* --- sections --------------------------------------------------------------*/

static void server_section(struct server *s, struct buf *out)
{
    struct utsname u;
    uint64_t up_s = (s->now.mono_ms - s->started_mono_ms) / 1000;
    word(out, "redis_version", SERVER_REDIS_VERSION);
    word(out, "belfry_version", SERVER_VERSION);
    word(out, "redis_git_sha1", "00000000");
    word(out, "redis_git_dirty", "0");
    word(out, "redis_mode", "standalone");
    word(out, "server_name", "belfry");
    if (uname(&u) == 0)
        buf_printf(out, "os:%s %s %s\r\n", u.sysname, u.release, u.machine);
    info_line(out, "arch_bits", sizeof(void *) * 8);
    word(out, "multiplexing_api", "epoll");
#ifdef BELFRY_JEMALLOC
    word(out, "mem_allocator", "jemalloc");
#else
    word(out, "mem_allocator", "libc");
#endif
    info_line(out, "process_id", (uint64_t)getpid());
    word(out, "run_id", s->run_id);
    info_line(out, "tcp_port", s->cf->port);
    info_line(out, "server_time_usec", clock_wall_us());
    info_line(out, "uptime_in_seconds", up_s);
    info_line(out, "uptime_in_days", up_s / 86400);
    info_line(out, "hz", 10);
    word(out, "config_file",
         conf_path(s->conf) == NULL ? "" : conf_path(s->conf));
}

static void clients_section(struct server *s, struct buf *out)
{
    uint64_t in_max = 0, out_max = 0, subscribers = 0, tracking = 0;
    LIST_FOR (it, &s->clients) {
        const struct client *c = CONTAINER_OF(it, struct client, all);
        uint64_t in = client_in_bytes(c), pending = client_out_bytes(c);
        in_max = in > in_max ? in : in_max;
        out_max = pending > out_max ? pending : out_max;
        subscribers += c->sub_count > 0;
        tracking += (c->flags & CLIENT_TRACKING) != 0;
    }
    info_line(out, "connected_clients", s->client_count);
    info_line(out, "cluster_connections", 0);
    info_line(out, "maxclients", s->cf->maxclients);
    info_line(out, "client_recent_max_input_buffer", in_max);
    info_line(out, "client_recent_max_output_buffer", out_max);
    info_line(out, "blocked_clients", s->blocked_count);
    info_line(out, "tracking_clients", tracking);
    info_line(out, "pubsub_clients", subscribers);
    info_line(out, "clients_in_timeout_table", 0);
}

static void memory_section(struct server *s, struct buf *out)
{
    uint64_t used = mem_used(), rss = resident_bytes();
    struct stats *st = s->parts->stats;
    if (used > st->peak_memory)
        st->peak_memory = used;
    info_line(out, "used_memory", used);
    human(out, "used_memory_human", used);
    info_line(out, "used_memory_rss", rss);
    human(out, "used_memory_rss_human", rss);
    info_line(out, "used_memory_peak", st->peak_memory);
    human(out, "used_memory_peak_human", st->peak_memory);
    info_line(out, "maxmemory", s->cf->maxmemory);
    human(out, "maxmemory_human", s->cf->maxmemory);
    word(out, "maxmemory_policy", "noeviction");
    buf_printf(out, "mem_fragmentation_ratio:%.2f\r\n",
               used == 0 ? 0.0 : (double)rss / (double)used);
}

static void persistence_section(struct server *s, struct buf *out)
{
    static const char *const fsync_words[] = {"always", "everysec", "no"};
    const struct parts *p = s->parts;
    struct store_stats st = {0};
    if (s->store != NULL)
        store_get_stats(s->store, &st);
    info_line(out, "loading", s->state == SERVER_LOADING);
    info_line(out, "async_loading", 0);
    info_line(out, "rdb_bgsave_in_progress", p->backup_running);
    info_line(
        out, "rdb_last_save_time",
        (p->backup_ended_ms != 0 ? p->backup_ended_ms : s->started_wall_ms) /
            1000);
    word(out, "rdb_last_bgsave_status",
         p->backup_error[0] == '\0' ? "ok" : "err");
    info_line(out, "aof_enabled", 1);
    info_line(out, "aof_rewrite_in_progress", 0);
    word(out, "aof_last_write_status", st.fault == NULL ? "ok" : "err");
    word(out, "appendfsync", fsync_words[s->cf->appendfsync]);
    info_line(out, "log_bytes", st.log_bytes);
    info_line(out, "log_segments", st.log_segments);
    info_line(out, "log_syncs", st.syncs);
    info_line(out, "disk_free_bytes", st.disk_free_bytes);
    info_line(out, "replayed_entries", st.replayed_entries);
    info_line(out, "dropped_tail_bytes", st.dropped_tail_bytes);
    word(out, "fault", st.fault == NULL ? "" : st.fault);
}

static void stats_section(struct server *s, struct buf *out)
{
    const struct server_stats *st = &s->stats;
    info_line(out, "total_connections_received", st->connections);
    info_line(out, "total_commands_processed", st->commands);
    info_line(out, "instantaneous_ops_per_sec", s->parts->stats->ops_per_s);
    info_line(out, "total_net_input_bytes", st->in_bytes);
    info_line(out, "total_net_output_bytes", st->out_bytes);
    info_line(out, "rejected_connections", st->rejected);
    info_line(out, "total_error_replies", st->errors);
    info_line(out, "client_query_buffer_limit_disconnections",
              st->query_limit_closed);
    info_line(out, "client_output_buffer_limit_disconnections",
              st->output_limit_closed);
    info_line(out, "client_timeout_disconnections", st->timed_out_closed);
    info_line(out, "expired_keys", 0);
    info_line(out, "evicted_keys", 0);
    info_line(out, "keyspace_hits", 0);
    info_line(out, "keyspace_misses", 0);
    info_line(out, "pubsub_channels", pubsub_channel_count(s));
    info_line(out, "pubsub_patterns", pubsub_pattern_count(s));
    info_line(out, "ticks", st->ticks);
    info_line(out, "ticks_cut", st->ticks_cut);
    info_line(out, "tick_max_usec", st->tick_us_max);
    info_line(out, "gate_waits", st->gate_waits);
    info_line(out, "parked_for_rows", st->parked_rows);
    info_line(out, "parked_blocked", st->parked_blocked);
    info_line(out, "undone_leases", st->undone_leases);
    info_line(out, "reaps_delayed", st->reaps_delayed);
}

static void replication_section(struct server *s, struct buf *out)
{
    struct store_stats st = {0};
    if (s->store != NULL)
        store_get_stats(s->store, &st);
    word(out, "role", "master");
    info_line(out, "connected_slaves", 0);
    word(out, "master_failover_state", "no-failover");
    word(out, "master_replid", s->run_id);
    info_line(out, "master_repl_offset", st.applied_index);
    info_line(out, "second_repl_offset", 0);
    info_line(out, "repl_backlog_active", 0);
}

static void cpu_section(struct server *s, struct buf *out)
{
    struct rusage u;
    (void)s;
    if (getrusage(RUSAGE_SELF, &u) != 0)
        return;
    buf_printf(out, "used_cpu_sys:%lld.%06lld\r\n",
               (long long)u.ru_stime.tv_sec, (long long)u.ru_stime.tv_usec);
    buf_printf(out, "used_cpu_user:%lld.%06lld\r\n",
               (long long)u.ru_utime.tv_sec, (long long)u.ru_utime.tv_usec);
}

static void modules_section(struct server *s, struct buf *out)
{
    (void)s;
    (void)out;
}

static void errorstats_section(struct server *s, struct buf *out)
{
    const struct stats *st = s->parts->stats;
    for (uint32_t i = 0; i < st->n_errs; i++)
        buf_printf(out, "errorstat_%s:count=%llu\r\n", st->errs[i].prefix,
                   ULL(st->errs[i].count));
    if (st->errs_other > 0)
        buf_printf(out, "errorstat_other:count=%llu\r\n", ULL(st->errs_other));
}

static void commandstats_section(struct server *s, struct buf *out)
{
    const struct stats *st = s->parts->stats;
    for (uint32_t i = 0; i < st->n_cmds; i++) {
        const struct cmd_stats *cs = &st->cmds[i];
        if (cs->calls + cs->rejected == 0)
            continue;
        double per_call =
            cs->calls == 0 ? 0 : (double)cs->us / (double)cs->calls;
        buf_printf(out,
                   "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f,"
                   "rejected_calls=%llu,failed_calls=%llu\r\n",
                   s->registry.entries[i]->name, ULL(cs->calls), ULL(cs->us),
                   per_call, ULL(cs->rejected), ULL(cs->failed));
    }
}

static void latencystats_section(struct server *s, struct buf *out)
{
    const struct stats *st = s->parts->stats;
    for (uint32_t i = 0; i < st->n_cmds; i++) {
        const struct histogram *h = st->cmds[i].us_histogram;
        if (h == NULL)
            continue;
        buf_printf(out,
                   "latency_percentiles_usec_%s:p50=%llu.000,p99=%llu.000,"
                   "p99.9=%llu.000\r\n",
                   s->registry.entries[i]->name,
                   ULL(histogram_percentile(h, 50)),
                   ULL(histogram_percentile(h, 99)),
                   ULL(histogram_percentile(h, 99.9)));
    }
}

static void cluster_section(struct server *s, struct buf *out)
{
    (void)s;
    info_line(out, "cluster_enabled", 0);
}

static void store_section(struct server *s, struct buf *out)
{
    struct store_stats st = {0};
    if (s->store != NULL)
        store_get_stats(s->store, &st);
    info_line(out, "entries", st.entries);
    info_line(out, "changes", st.changes);
    info_line(out, "entry_bytes", st.entry_bytes);
    info_line(out, "applied_index", st.applied_index);
    info_line(out, "flushed_index", st.flushed_index);
    info_line(out, "applied_changes", st.applied_changes);
    info_line(out, "vanished_changes", st.vanished_changes);
    info_line(out, "generations", st.generations);
    info_line(out, "overlay_bytes", st.overlay_bytes);
    info_line(out, "overlay_rows", st.overlay_rows);
    info_line(out, "reads", st.reads);
    info_line(out, "base_reads", st.base_reads);
    info_line(out, "pending_reads", st.pending_reads);
    info_line(out, "blocking_reads", st.blocking_reads);
    info_line(out, "loop_disk_reads", st.loop_disk_reads);
    info_line(out, "fetches", st.fetches);
    info_line(out, "rocksdb_memory_bytes", st.base_memory_bytes);
    info_line(out, "rocksdb_disk_bytes", st.base_disk_bytes);
}

/* In Redis' order, then ours. */
void info_init(struct server *s)
{
    server_info_add(s, "Server", server_section, true);
    server_info_add(s, "Clients", clients_section, true);
    server_info_add(s, "Memory", memory_section, true);
    server_info_add(s, "Persistence", persistence_section, true);
    server_info_add(s, "Stats", stats_section, true);
    server_info_add(s, "Replication", replication_section, true);
    server_info_add(s, "CPU", cpu_section, true);
    server_info_add(s, "Modules", modules_section, true);
    server_info_add(s, "Commandstats", commandstats_section, false);
    server_info_add(s, "Errorstats", errorstats_section, true);
    server_info_add(s, "Latencystats", latencystats_section, false);
    server_info_add(s, "Cluster", cluster_section, true);
    info_jobs_init(s);
    server_info_add(s, "Rocksdb", store_section, true);
}

static bool is_asked_for(const struct info_section *sec,
                         const struct slice *names, size_t n)
{
    if (n == 0)
        return sec->by_default;
    for (size_t i = 0; i < n; i++)
        if (slice_is(names[i], "all") || slice_is(names[i], "everything") ||
            (slice_is(names[i], "default") && sec->by_default) ||
            slice_is(names[i], sec->name))
            return true;
    return false;
}

void info_print(struct server *s, const struct slice *names, size_t n,
                struct buf *out)
{
    bool first = true;
    for (uint32_t i = 0; i < s->info_count; i++) {
        const struct info_section *sec = &s->info[i];
        if (!is_asked_for(sec, names, n))
            continue;
        buf_printf(out, "%s# %s\r\n", first ? "" : "\r\n", sec->name);
        sec->print(s, out);
        first = false;
    }
}
