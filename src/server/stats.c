#include "server/stats.h"

#include <stdio.h>

#include "server/client.h"
#include "server/parts.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/histogram.h"

#define US_MAX ((uint64_t)600 * 1000 * 1000) /* ten minutes */
#define MEMORY_AGE_MS 20

struct stats *stats_new(uint32_t n_cmds)
{
    struct stats *st = NEW(struct stats);
    st->n_cmds = n_cmds;
    st->cmds = mem_zalloc(n_cmds * sizeof(st->cmds[0]));
    list_init(&st->slow);
    return st;
}

static void slow_free(struct slow_entry *entry)
{
    list_remove(&entry->link);
    for (uint32_t i = 0; i < entry->argc; i++)
        mem_free(entry->argv[i]);
    mem_free(entry->addr);
    mem_free(entry->name);
    mem_free(entry);
}

void slow_reset(struct stats *st)
{
    struct list *it;
    while ((it = list_first(&st->slow)) != NULL)
        slow_free(CONTAINER_OF(it, struct slow_entry, link));
    st->slow_len = 0;
}

static void cmds_reset(struct stats *st)
{
    for (uint32_t i = 0; i < st->n_cmds; i++) {
        histogram_free(&st->cmds[i].us_histogram);
        st->cmds[i] = (struct cmd_stats){0};
    }
}

void stats_free(struct stats **pst)
{
    struct stats *st = *pst;
    if (st == NULL)
        return;
    slow_reset(st);
    cmds_reset(st);
    mem_free(st->cmds);
    FREE(pst);
}

void stats_reset(struct server *s)
{
    struct stats *st = s->parts->stats;
    cmds_reset(st);
    st->n_errs = 0;
    st->errs_other = 0;
    st->ops_sampled = 0;
    if (s->store != NULL)
        store_forget_times(s->store);
}

/* --- errors ----------------------------------------------------------------*/

static void count_error(struct stats *st, enum err code)
{
    const char *prefix = err_prefix(code);
    for (uint32_t i = 0; i < st->n_errs; i++) {
        if (strcmp(st->errs[i].prefix, prefix) == 0) {
            st->errs[i].count++;
            return;
        }
    }
    if (st->n_errs == ERR_STATS_MAX) {
        st->errs_other++;
        return;
    }
    struct err_stat *e = &st->errs[st->n_errs++];
    (void)snprintf(e->prefix, sizeof(e->prefix), "%s", prefix);
    e->count = 1;
}

/* --- slow log --------------------------------------------------------------*/

static void slow_word(struct slow_entry *entry, uint32_t i, struct slice word)
{
    char text[SLOW_WORD_BYTES + 48];
    int n = 0;
    if (word.len > SLOW_WORD_BYTES) {
        n = snprintf(text, sizeof(text), "%.*s... (%zu more bytes)",
                     SLOW_WORD_BYTES, word.data, word.len - SLOW_WORD_BYTES);
        /* The first bytes may hold a NUL, where printf stops. */
        word = slice_of(text, (size_t)n);
    }
    entry->argv[i] = mem_dup(word);
    entry->lens[i] = (uint32_t)word.len;
}

static void slow_words(struct slow_entry *entry, const struct cmd_entry *cmd,
                       const struct slice *argv, uint32_t argc)
{
    char rest[64];
    entry->argc = argc < SLOW_WORDS ? argc : SLOW_WORDS;
    for (uint32_t i = 0; i < entry->argc; i++)
        slow_word(entry, i, cmd_shown_word(cmd->cmd, argv, i));
    if (argc <= SLOW_WORDS)
        return;
    (void)snprintf(rest, sizeof(rest), "... (%u more arguments)",
                   argc - SLOW_WORDS + 1);
    mem_free(entry->argv[SLOW_WORDS - 1]);
    slow_word(entry, SLOW_WORDS - 1, slice_str(rest));
}

static void slow_add(struct client *c, const struct cmd_entry *cmd,
                     const struct slice *argv, uint32_t argc, uint64_t us)
{
    struct server *s = c->server;
    struct stats *st = s->parts->stats;
    int64_t threshold = s->cf->slowlog_log_slower_than_us;
    if (threshold < 0 || us < (uint64_t)threshold ||
        s->cf->slowlog_max_len == 0)
        return;
    struct slow_entry *entry = NEW(struct slow_entry);
    entry->id = st->slow_next_id++;
    entry->wall_ms = s->now.wall_ms;
    entry->us = us;
    entry->addr = mem_dup(slice_str(client_addr(c)));
    entry->name = mem_dup(slice_str(c->name == NULL ? "" : c->name));
    slow_words(entry, cmd, argv, argc);
    list_prepend(&st->slow, &entry->link);
    st->slow_len++;
    while (st->slow_len > s->cf->slowlog_max_len) {
        slow_free(CONTAINER_OF(st->slow.prev, struct slow_entry, link));
        st->slow_len--;
    }
}

/* --- latency events --------------------------------------------------------*/

const char *latency_name(enum latency_event event)
{
    static const char *const names[LATENCY_EVENTS] = {"command", "fast-command",
                                                      "tick"};
    return names[event];
}

void latency_add(struct server *s, enum latency_event event, uint64_t ms)
{
    uint64_t threshold = s->cf->latency_monitor_threshold_ms;
    if (threshold == 0 || ms < threshold)
        return;
    struct latency *l = &s->parts->stats->latency[event];
    uint64_t wall_s = s->now.wall_ms / 1000;
    if (ms > l->max_ms)
        l->max_ms = ms;
    /* One sample a second, the worst, as Redis keeps them. */
    if (l->len > 0) {
        struct latency_sample *last =
            &l->ring[(l->next + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES];
        if (last->wall_s == wall_s) {
            last->ms = ms > last->ms ? ms : last->ms;
            return;
        }
    }
    l->ring[l->next] = (struct latency_sample){wall_s, ms};
    l->next = (l->next + 1) % LATENCY_SAMPLES;
    l->len += l->len < LATENCY_SAMPLES;
}

/* --- hooks -----------------------------------------------------------------*/

void stats_after(struct client *c, const struct cmd_entry *entry,
                 const struct slice *argv, uint32_t argc, enum err rc,
                 uint64_t us)
{
    struct server *s = c->server;
    struct stats *st = s->parts->stats;
    struct cmd_stats *cs = &st->cmds[entry->number];
    ASSERT(entry->number < st->n_cmds);
    cs->calls++;
    cs->us += us;
    if (cs->us_histogram == NULL)
        cs->us_histogram = histogram_new(US_MAX, 2);
    histogram_record(cs->us_histogram, us);
    if (rc != ERR_OK) {
        cs->failed++;
        count_error(st, rc);
    }
    slow_add(c, entry, argv, argc, us);
    if (us >= 1000)
        latency_add(s,
                    (entry->cmd->flags & CMD_FAST) != 0 ? LATENCY_FAST_COMMAND
                                                        : LATENCY_COMMAND,
                    us / 1000);
}

void stats_refused(struct client *c, const struct cmd_entry *entry,
                   enum err code)
{
    struct stats *st = c->server->parts->stats;
    if (entry != NULL)
        st->cmds[entry->number].rejected++;
    count_error(st, code);
}

uint64_t stats_memory(struct server *s)
{
    struct stats *st = s->parts->stats;
    uint64_t now = s->now.mono_ms;
    if (st->memory == 0 || now - st->memory_ms >= MEMORY_AGE_MS) {
        st->memory = mem_used();
        st->memory_ms = now;
        if (st->memory > st->peak_memory)
            st->peak_memory = st->memory;
    }
    return st->memory;
}

void stats_cron(struct server *s)
{
    struct stats *st = s->parts->stats;
    uint64_t ms = s->now.mono_ms - st->ops_sampled_ms;
    if (ms >= 1000) {
        uint64_t ops = s->stats.commands - st->ops_sampled;
        if (s->stats.commands >= st->ops_sampled)
            st->ops_per_s = ops * 1000 / ms;
        st->ops_sampled = s->stats.commands;
        st->ops_sampled_ms = s->now.mono_ms;
    }
    (void)stats_memory(s);
    if (s->stats.tick_us_recent >= 1000)
        latency_add(s, LATENCY_TICK, s->stats.tick_us_recent / 1000);
    s->stats.tick_us_recent = 0;
}
