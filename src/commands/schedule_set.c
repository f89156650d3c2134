/* SCHEDULE.SET: make or change a schedule. */
#include "commands/command.h"
#include "commands/job_options.h"
#include "commands/schedule_reply.h"
#include "engine/engine.h"

struct schedule_set_args {
    uint64_t given[2];
    struct slice name;
    struct job_options o; /* AT is the schedule's */
    struct slice queue, payload;
    struct slice patterns[SCHEDULE_PATTERNS_MAX];
    struct slice excludes[SCHEDULE_PATTERNS_MAX];
    uint32_t patterns_n, excludes_n;
    uint64_t every_ms;
    struct slice zone;
    uint32_t overlap, misfire, gap, fold, pause_after;
    uint64_t grace_ms, window_ms, spread_ms, start_ms, end_ms, max;
};
#define CMD_ARGS struct schedule_set_args

/* Exactly one of CRON, EVERY, AT; some words are about patterns. */
static enum err examine(struct cmd_ctx *c)
{
    static const char *const clash[][2] = {
        {"CRON", "EVERY"}, {"CRON", "AT"},    {"EVERY", "AT"}, {"GAP", "EVERY"},
        {"GAP", "AT"},     {"FOLD", "EVERY"}, {"FOLD", "AT"},
    };
    for (size_t i = 0; i < ARRAY_LEN(clash); i++)
        if (cmd_given(c, clash[i][0]) && cmd_given(c, clash[i][1]))
            return err_set(&c->e, ERR_SYNTAX,
                           "SCHEDULE.SET: %s and %s exclude each other",
                           clash[i][0], clash[i][1]);
    if (!cmd_given(c, "CRON") && !cmd_given(c, "EVERY") && !cmd_given(c, "AT"))
        return err_set(&c->e, ERR_SYNTAX,
                       "SCHEDULE.SET wants one of CRON, EVERY and AT");
    return ERR_OK;
}

static enum err timing(struct cmd_ctx *c, struct schedule_timing *t)
{
    const struct schedule_set_args *a = c->args;
    bool at = cmd_given(c, "AT"), every = cmd_given(c, "EVERY");
    enum err rc = examine(c);
    if (rc != ERR_OK)
        return rc;
    *t = (struct schedule_timing){.when = at      ? WHEN_AT
                                          : every ? WHEN_EVERY
                                                  : WHEN_CRON,
                                  .patterns_n = a->patterns_n,
                                  .excludes_n = a->excludes_n,
                                  .every_ms = a->every_ms,
                                  .at_ms = at ? a->o.at_ms : 0,
                                  .zone = a->zone,
                                  .gap = a->gap,
                                  .fold = a->fold,
                                  .start_ms = a->start_ms,
                                  .end_ms = a->end_ms,
                                  .spread_ms = a->spread_ms};
    memcpy(t->patterns, a->patterns, sizeof(t->patterns));
    memcpy(t->excludes, a->excludes, sizeof(t->excludes));
    return ERR_OK;
}

static enum err set_exec(struct cmd_ctx *c)
{
    struct schedule_set_args *a = c->args;
    struct schedule_params p = {
        .name = a->name,
        .queue = a->queue,
        .payload = a->payload,
        .overlap = schedule_overlap_of(a->overlap),
        .misfire = (enum schedule_misfire)a->misfire,
        .grace_ms = cmd_given(c, "GRACE") ? a->grace_ms : SCHEDULE_GRACE_MS,
        .window_ms = cmd_given(c, "WINDOW") ? a->window_ms : SCHEDULE_WINDOW_MS,
        .max = a->max,
        .pause_after = a->pause_after,
        .options = &a->o,
    };
    uint64_t next_ms;
    enum err rc = timing(c, &p.timing);
    if (rc != ERR_OK)
        return rc;
    JOB_OPTIONS_TAKE(a);
    a->o.given &= ~((uint64_t)1 << JOPT_AT);
    a->o.at_ms = 0;
    rc = engine_schedule_set(c->engine, c->gather, &p, c->now, &next_ms, &c->e);
    if (rc == ERR_OK)
        reply_time(c->reply, next_ms);
    return rc;
}

static const struct arg args[] = {
    {"name", OPT(NAME, name), .key = true, .help = "of the schedule"},
    {0},
};

static const struct opt opts[] = {
    JOB_OPTION_ROWS,
    {"CRON", OPT(BYTES, patterns),
     "a pattern; several fire at the times of "
     "each",
     .value = "pattern", .min = 1, .max = SCHEDULE_PATTERN_MAX,
     OPT_MANY(patterns, patterns_n)},
    {"EVERY", OPT(MS, every_ms), "instead: every d since START, or since 1970",
     .value = "d", .min = SCHEDULE_EVERY_MS_MIN},
    {"QUEUE", OPT(NAME, queue), "where its jobs wait", .value = "q",
     .required = true},
    {"PAYLOAD", OPT(BYTES, payload), "of its jobs", .value = "p",
     .required = true},
    {"TZ", OPT(NAME, zone), "the zone of its patterns", .value = "z",
     .value_default = "UTC"},
    {"EXCLUDE", OPT(BYTES, excludes),
     "times at which it does not fire; five fields exclude whole minutes",
     .value = "pattern", .min = 1, .max = SCHEDULE_PATTERN_MAX,
     OPT_MANY(excludes, excludes_n)},
    {"OVERLAP", OPT(ENUM, overlap), "what happens while an earlier job is live",
     .value = "o", .words = overlap_list},
    {"MISFIRE", OPT(ENUM, misfire), "what happens to times that were missed",
     .value = "m", .words = misfire_list},
    {"GRACE", OPT(MS, grace_ms), "what is later than this was missed",
     .value = "d", .value_default = "60s"},
    {"WINDOW", OPT(MS, window_ms), "what was missed longer ago does not run",
     .value = "d", .value_default = "366d"},
    {"SPREAD", OPT(MS, spread_ms),
     "fire up to this much later, always at the same place; before the next "
     "time",
     .value = "d"},
    {"START", OPT(TIME, start_ms), "not before this time", .value = "t"},
    {"END", OPT(TIME, end_ms), "not after this time", .value = "t"},
    {"MAX", OPT(U64, max), "so many jobs, then no more", .value = "n",
     .min = 1},
    {"GAP", OPT(ENUM, gap), "times that the clock skips", .value = "g",
     .words = gap_list},
    {"FOLD", OPT(ENUM, fold), "times that the clock shows twice", .value = "f",
     .words = fold_list},
    {"PAUSE-ON-FAILURE", OPT(U32, pause_after),
     "pause when so many of its jobs in a row have failed for good",
     .value = "n", .min = 1, .max = 1000000},
    {0},
};

const struct command cmd_schedule_set = {
    .name = "SCHEDULE.SET",
    .group = "schedules",
    .summary = "Make or change a schedule; history and, unless the timing "
               "changed, the next time stay.",
    .since = "0.1",
    .reply = "its next time in unix ms, or null if there is none",
    .flags = CMD_WRITE | CMD_NEW_WORK | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_NOSPACE, ERR_OK},
    .exec = set_exec,
    .example = "SCHEDULE.SET nightly CRON '0 2 * * *' TZ Europe/Zurich QUEUE "
               "reports PAYLOAD all",
};
