/* SCHEDULE.NEXT: when will it fire? Of a schedule, or of any pattern. */
#include <stdio.h>
#include <time.h>

#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"
#include "engine/schedule.h"

struct schedule_next_args {
    uint64_t given[2];
    struct slice what, zone;
    uint64_t from_ms;
    uint32_t count, gap, fold;
};
#define CMD_ARGS struct schedule_next_args

struct listing {
    struct reply *r;
    uint32_t n;
};

/* As the clock on the wall shows it, RFC 3339. */
static void reply_local(struct reply *r, const struct schedule_time *t)
{
    char text[64];
    struct tm tm;
    time_t local = (time_t)(t->at_ms / 1000) + t->offset_s;
    int32_t off = t->offset_s < 0 ? -t->offset_s : t->offset_s;
    gmtime_r(&local, &tm);
    int n = snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d",
                     tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
                     tm.tm_min, tm.tm_sec);
    if (t->at_ms % 1000 != 0)
        n += snprintf(text + n, sizeof(text) - (size_t)n, ".%03u",
                      (unsigned)(t->at_ms % 1000));
    if (off == 0)
        snprintf(text + n, sizeof(text) - (size_t)n, "Z");
    else
        snprintf(text + n, sizeof(text) - (size_t)n, "%c%02d:%02d",
                 t->offset_s < 0 ? '-' : '+', (int)(off / 3600),
                 (int)(off / 60 % 60));
    reply_field_str(r, "local", slice_str(text));
}

static void reply_one(void *ud, const struct schedule_time *t)
{
    struct listing *l = ud;
    l->n++;
    reply_map(l->r, 4);
    reply_field_int(l->r, "at_ms", (int64_t)t->at_ms);
    reply_local(l->r, t);
    reply_field_int(l->r, "gap", t->gap);
    reply_field_int(l->r, "fold", t->fold);
}

/* A blank says that it is none. */
static bool is_name(struct slice what)
{
    return what.len <= 128 && memchr(what.data, ' ', what.len) == NULL;
}

/* A schedule of that name, else a pattern. */
static enum err find(struct cmd_ctx *c, struct schedule_view *v)
{
    const struct schedule_next_args *a = c->args;
    if (is_name(a->what)) {
        enum err rc =
            engine_schedule_get(c->engine, c->gather, a->what, v, &c->e);
        if (rc != ERR_NOTFOUND)
            return rc;
    }
    v->name = SLICE_EMPTY;
    v->timing = (struct schedule_timing){.when = WHEN_CRON, .patterns_n = 1};
    v->timing.patterns[0] = a->what;
    return ERR_OK;
}

static enum err next_exec(struct cmd_ctx *c)
{
    struct schedule_next_args *a = c->args;
    struct schedule_view v;
    struct listing l = {.r = c->reply};
    enum err rc = find(c, &v);
    if (rc != ERR_OK)
        return rc;
    if (cmd_given(c, "TZ"))
        v.timing.zone = a->zone;
    if (cmd_given(c, "GAP"))
        v.timing.gap = a->gap;
    if (cmd_given(c, "FOLD"))
        v.timing.fold = a->fold;
    struct reply_mark m = reply_array_begin(c->reply);
    uint64_t from_ms = cmd_given(c, "FROM") ? a->from_ms : c->now.wall_ms;
    rc = engine_timing_next(&v.timing, v.name, (int64_t)from_ms,
                            cmd_given(c, "COUNT") ? a->count : 1, reply_one, &l,
                            &c->e);
    reply_array_end(c->reply, m, l.n);
    if (rc == ERR_SYNTAX && v.name.len == 0 && is_name(a->what))
        err_wrap(&c->e, "no schedule has this name, and as a pattern");
    return rc;
}

static const struct arg args[] = {
    {"what", OPT(BYTES, what), .key = true,
     .help = "the name of a schedule, or a pattern", .min = 1,
     .max = SCHEDULE_PATTERN_MAX},
    {0},
};

static const struct opt opts[] = {
    {"TZ", OPT(NAME, zone), "the zone", .value = "z", .value_default = "UTC"},
    {"FROM", OPT(TIME, from_ms), "times later than this", .value = "t",
     .value_default = "now"},
    {"COUNT", OPT(U32, count), "how many", .value = "n", .min = 1, .max = 1000,
     .value_default = "1"},
    {"GAP", OPT(ENUM, gap), "times that the clock skips", .value = "g",
     .words = gap_list},
    {"FOLD", OPT(ENUM, fold), "times that the clock shows twice", .value = "f",
     .words = fold_list},
    {0},
};

const struct command cmd_schedule_next = {
    .name = "SCHEDULE.NEXT",
    .group = "schedules",
    .summary =
        "Show the next times of a schedule or of any pattern; whether it is "
        "paused, and MAX, do not matter.",
    .since = "0.1",
    .reply = "an array of objects: at_ms, local, gap (stands for a time that "
             "the clock skips), fold (the clock shows it twice)",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = next_exec,
    .example = "SCHEDULE.NEXT '30 2 * * *' TZ Europe/Zurich COUNT 5",
};
