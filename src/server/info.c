#include "server/info.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "server/client.h"
#include "server/metrics.h"
#include "server/parts.h"
#include "server/stats.h"
#include "store/store.h"
#include "util/build_id.h"
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

/* --- sections --------------------------------------------------------------*/

static void server_section(struct server *s, struct buf *out)
{
    struct utsname u;
    uint64_t up_s = (s->now.mono_ms - s->started_mono_ms) / 1000;
    word(out, "redis_version", SERVER_REDIS_VERSION);
    word(out, "belfry_version", SERVER_VERSION);
    word(out, "redis_git_sha1", "00000000");
    word(out, "redis_git_dirty", "0");
    word(out, "redis_build_id", build_id());
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
    info_line(out, "server_time_usec", s->now_us + s->wall_minus_mono_us);
    info_line(out, "uptime_in_seconds", up_s);
    info_line(out, "uptime_in_days", up_s / 86400);
    info_line(out, "hz", 10);
    word(out, "config_file",
         conf_path(s->conf) == NULL ? "" : conf_path(s->conf));
}

static void clients_section(struct server *s, struct buf *out)
{
    struct metrics m;
    metrics_take(s, &m);
    metrics_info(&m, SECTION_CLIENTS, out);
    info_line(out, "cluster_connections", 0);
    info_line(out, "clients_in_timeout_table", 0);
}

static void memory_section(struct server *s, struct buf *out)
{
    struct metrics m;
    metrics_take(s, &m);
    metrics_info(&m, SECTION_MEMORY, out);
    human(out, "used_memory_human", m.memory);
    human(out, "used_memory_rss_human", m.resident);
    human(out, "used_memory_peak_human", m.stats->peak_memory);
    human(out, "maxmemory_human", s->cf->maxmemory);
    word(out, "maxmemory_policy", "noeviction");
    buf_printf(out, "mem_fragmentation_ratio:%.2f\r\n",
               m.memory == 0 ? 0.0 : (double)m.resident / (double)m.memory);
}

/* Tools look for Redis' words; what is saved here is a backup. */
static void persistence_section(struct server *s, struct buf *out)
{
    static const char *const fsync_words[] = {"always", "everysec", "no"};
    const struct parts *p = s->parts;
    uint64_t saved_ms =
        p->backup_ended_ms != 0 ? p->backup_ended_ms : s->started_wall_ms;
    struct metrics m;
    metrics_take(s, &m);
    metrics_info(&m, SECTION_PERSISTENCE, out);
    info_line(out, "async_loading", 0);
    info_line(out, "rdb_bgsave_in_progress", p->backup_running);
    if (p->backup_running)
        info_line(out, "rdb_current_bgsave_time_sec",
                  s->now.wall_ms > p->backup_started_ms
                      ? (s->now.wall_ms - p->backup_started_ms) / 1000
                      : 0);
    else
        word(out, "rdb_current_bgsave_time_sec", "-1"); /* as Redis */
    info_line(out, "rdb_last_save_time", saved_ms / 1000);
    word(out, "rdb_last_bgsave_status",
         p->backup_error[0] == '\0' ? "ok" : "err");
    word(out, "backup_error", p->backup_error);
    info_line(out, "aof_enabled", 1);
    info_line(out, "aof_rewrite_in_progress", 0);
    word(out, "aof_last_write_status", m.store.fault == NULL ? "ok" : "err");
    word(out, "appendfsync", fsync_words[s->cf->appendfsync]);
    word(out, "fault", m.store.fault == NULL ? "" : m.store.fault);
}

static void stats_section(struct server *s, struct buf *out)
{
    struct metrics m;
    metrics_take(s, &m);
    metrics_info(&m, SECTION_STATS, out);
    info_line(out, "expired_keys", 0);
    info_line(out, "evicted_keys", 0);
    info_line(out, "keyspace_hits", 0);
    info_line(out, "keyspace_misses", 0);
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
    word(out, "second_repl_offset", "-1");
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
    struct metrics m;
    metrics_take(s, &m);
    metrics_info(&m, SECTION_ROCKSDB, out);
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

bool info_is_asked_for(const struct server *s, const char *section,
                       const struct slice *names, size_t n)
{
    for (uint32_t i = 0; i < s->info_count; i++)
        if (strcmp(s->info[i].name, section) == 0)
            return is_asked_for(&s->info[i], names, n);
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
