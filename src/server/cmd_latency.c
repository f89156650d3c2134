#include "server/commands.h"
#include "server/parts.h"
#include "server/stats.h"
#include "util/histogram.h"

struct latency_args {
    uint64_t given[2];
    struct slice event;
    struct opt_list words;
};
#define CMD_ARGS struct latency_args

static const struct latency_sample *newest(const struct latency *l)
{
    return &l->ring[(l->next + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES];
}

static enum err latest_exec(struct cmd_ctx *c)
{
    const struct stats *st = ctx_server(c)->parts->stats;
    struct reply_mark m = reply_array_begin(c->reply);
    size_t n = 0;
    for (unsigned i = 0; i < LATENCY_EVENTS; i++) {
        const struct latency *l = &st->latency[i];
        if (l->len == 0)
            continue;
        reply_array(c->reply, 4);
        reply_str(c->reply, latency_name(i));
        reply_int(c->reply, (int64_t)newest(l)->wall_s);
        reply_int(c->reply, (int64_t)newest(l)->ms);
        reply_int(c->reply, (int64_t)l->max_ms);
        n++;
    }
    reply_array_end(c->reply, m, n);
    return ERR_OK;
}

static enum err history_exec(struct cmd_ctx *c)
{
    const struct latency_args *a = c->args;
    const struct stats *st = ctx_server(c)->parts->stats;
    for (unsigned i = 0; i < LATENCY_EVENTS; i++) {
        const struct latency *l = &st->latency[i];
        if (!slice_is(a->event, latency_name(i)))
            continue;
        reply_array(c->reply, l->len);
        for (uint32_t k = 0; k < l->len; k++) {
            uint32_t at =
                (l->next + LATENCY_SAMPLES - l->len + k) % LATENCY_SAMPLES;
            reply_array(c->reply, 2);
            reply_int(c->reply, (int64_t)l->ring[at].wall_s);
            reply_int(c->reply, (int64_t)l->ring[at].ms);
        }
        return ERR_OK;
    }
    reply_array(c->reply, 0);
    return ERR_OK;
}

static enum err reset_exec(struct cmd_ctx *c)
{
    const struct latency_args *a = c->args;
    struct stats *st = ctx_server(c)->parts->stats;
    int64_t n = 0;
    for (unsigned i = 0; i < LATENCY_EVENTS; i++) {
        bool named = a->words.n == 0;
        for (uint32_t k = 0; k < a->words.n; k++)
            named |= slice_is(a->words.words[k], latency_name(i));
        if (!named || st->latency[i].len == 0)
            continue;
        st->latency[i] = (struct latency){0};
        n++;
    }
    reply_int(c->reply, n);
    return ERR_OK;
}

static enum err doctor_exec(struct cmd_ctx *c)
{
    struct server *s = ctx_server(c);
    struct buf out = {0};
    if (s->cf->latency_monitor_threshold_ms == 0)
        buf_add_str(&out, "Latency events are not recorded: set "
                          "latency-monitor-threshold to the milliseconds from "
                          "which they should be.\n");
    for (unsigned i = 0; i < LATENCY_EVENTS; i++) {
        const struct latency *l = &s->parts->stats->latency[i];
        if (l->len > 0)
            buf_printf(&out, "%s: %u seconds with events, the worst %llu ms.\n",
                       latency_name(i), l->len, (unsigned long long)l->max_ms);
    }
    if (out.len == 0)
        buf_printf(&out, "No event took %llu ms or more.\n",
                   (unsigned long long)s->cf->latency_monitor_threshold_ms);
    reply_verbatim(c->reply, buf_slice(&out));
    buf_release(&out);
    return ERR_OK;
}

/* --- HISTOGRAM: calls at or below powers of two ----------------------------*/

struct buckets {
    uint64_t counts[40];
    uint32_t n; /* in use, up to the highest that is not empty */
};

static void fill(void *ud, uint64_t value, uint64_t count)
{
    struct buckets *b = ud;
    uint32_t i = 0;
    while (i + 1 < ARRAY_LEN(b->counts) && (uint64_t)1 << i < value)
        i++;
    b->counts[i] += count;
    if (i >= b->n)
        b->n = i + 1;
}

static void one_histogram(struct reply *r, const struct cmd_entry *entry,
                          const struct cmd_stats *cs)
{
    struct buckets b = {0};
    uint64_t sum = 0, shown = 0;
    histogram_each(cs->us_histogram, fill, &b);
    for (uint32_t i = 0; i < b.n; i++)
        shown += b.counts[i] != 0;
    reply_str(r, entry->name);
    reply_map(r, 2);
    reply_field_int(r, "calls", (int64_t)cs->calls);
    reply_str(r, "histogram_usec");
    reply_map(r, shown);
    for (uint32_t i = 0; i < b.n; i++) {
        sum += b.counts[i];
        if (b.counts[i] == 0)
            continue;
        reply_int(r, (int64_t)((uint64_t)1 << i));
        reply_int(r, (int64_t)sum);
    }
}

static bool is_wanted(const struct latency_args *a,
                      const struct cmd_entry *entry)
{
    if (a->words.n == 0)
        return true;
    for (uint32_t i = 0; i < a->words.n; i++)
        if (slice_is(a->words.words[i], entry->name) ||
            (entry->parent != NULL &&
             slice_is(a->words.words[i], entry->parent->name)))
            return true;
    return false;
}

static enum err histogram_exec(struct cmd_ctx *c)
{
    const struct latency_args *a = c->args;
    const struct server *s = ctx_server(c);
    const struct stats *st = s->parts->stats;
    struct reply_mark m = reply_map_begin(c->reply);
    size_t n = 0;
    for (uint32_t i = 0; i < st->n_cmds; i++) {
        const struct cmd_entry *entry = s->registry.entries[i];
        if (st->cmds[i].us_histogram == NULL || !is_wanted(a, entry))
            continue;
        one_histogram(c->reply, entry, &st->cmds[i]);
        n++;
    }
    reply_map_end(c->reply, m, n);
    return ERR_OK;
}

static const char *const lines[] = {
    "DOCTOR",
    "    The recorded events in words.",
    "HISTOGRAM [<command> ...]",
    "    How long commands took: calls at or below powers of two, in",
    "    microseconds.",
    "HISTORY <event>",
    "    Seconds and the worst milliseconds in them.",
    "LATEST",
    "    The newest of each event: name, second, milliseconds, maximum.",
    "RESET [<event> ...]",
    "    Forget events.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "LATENCY", lines);
    return ERR_OK;
}

static const struct arg event_args[] = {{"event", OPT(BYTES, event)}, {0}};
static const struct arg events_args[] = {
    {"event", OPT(BYTES, words), .optional = true, .more = true},
    {0},
};
static const struct arg commands_args[] = {
    {"command", OPT(BYTES, words), .optional = true, .more = true},
    {0},
};

#define FLAGS (CMD_FREE | CMD_ADMIN | CMD_LOADING)
SUBCOMMAND(latency_doctor, "LATENCY|DOCTOR", "server", FLAGS, NULL, NULL,
           doctor_exec, "The recorded events in words.", "a string");
SUBCOMMAND(latency_histogram, "LATENCY|HISTOGRAM", "server", FLAGS,
           commands_args, NULL, histogram_exec, "How long commands took.",
           "a map from commands to calls and buckets");
SUBCOMMAND(latency_history, "LATENCY|HISTORY", "server", FLAGS, event_args,
           NULL, history_exec, "The seconds in which an event was recorded.",
           "an array of pairs");
SUBCOMMAND(latency_latest, "LATENCY|LATEST", "server", FLAGS, NULL, NULL,
           latest_exec, "The newest of each event.", "an array of arrays");
SUBCOMMAND(latency_reset, "LATENCY|RESET", "server", FLAGS, events_args, NULL,
           reset_exec, "Forget events.", "how many");
SUBCOMMAND(latency_help, "LATENCY|HELP", "server", FLAGS, NULL, NULL, help_exec,
           "What LATENCY can do.", "an array of lines");

static const struct command *const subs[] = {
    &latency_doctor,
    &latency_histogram,
    &latency_history,
    &latency_latest,
    &latency_reset,
    &latency_help,
    NULL,
};

const struct command cmd_latency = {
    .name = "LATENCY",
    .group = "server",
    .summary = "Where time was lost.",
    .since = "0.1",
    .reply = "depends on the subcommand",
    .flags = FLAGS,
    .subs = subs,
};
