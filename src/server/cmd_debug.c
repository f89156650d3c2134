/* DEBUG, for tests and for those who look for a fault. */
#include <stdlib.h>
#include <time.h>

#include "server/commands.h"

struct debug_args {
    uint64_t given[2];
    double seconds;
    int64_t shift_ms;
};
#define CMD_ARGS struct debug_args

/* The whole server sleeps, as in Redis: that is what it is for. */
static enum err sleep_exec(struct cmd_ctx *c)
{
    const struct debug_args *a = c->args;
    struct timespec t;
    t.tv_sec = (time_t)a->seconds;
    t.tv_nsec = (long)((a->seconds - (double)t.tv_sec) * 1e9);
    while (nanosleep(&t, &t) != 0) {
    }
    reply_ok(c->reply);
    return ERR_OK;
}

/* The wall clock jumps by so many milliseconds against the machine's; the
 * monotonic one, which rules leases, does not. */
static enum err set_clock_exec(struct cmd_ctx *c)
{
    const struct debug_args *a = c->args;
    ctx_server(c)->wall_shift_ms = a->shift_ms;
    reply_ok(c->reply);
    return ERR_OK;
}

/* Leaves a report with a backtrace in the log. */
static enum err segfault_exec(struct cmd_ctx *c)
{
    (void)c;
    abort();
}

static const char *const lines[] = {
    "CHECK",
    "    Recount all rows and verify the engine's invariants. Slow.",
    "OBJECT <id-or-name>",
    "    Where a job stands, with what only developers want to know.",
    "PANIC",
    "    Crash, to see the report.",
    "SET-CLOCK <milliseconds>",
    "    Shift the wall clock against the machine's.",
    "SLEEP <seconds>",
    "    Stop the whole server for so long.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "DEBUG", lines);
    return ERR_OK;
}

static const struct arg sleep_args[] = {
    {"seconds", OPT(F64, seconds), .min = 0, .max = 3600},
    {0},
};
static const struct arg clock_args[] = {{"milliseconds", OPT(I64, shift_ms)},
                                        {0}};

#define FLAGS (CMD_FREE | CMD_LOADING | CMD_ADMIN | CMD_DEBUG)
SUBCOMMAND(debug_sleep, "DEBUG|SLEEP", "server", FLAGS, sleep_args, NULL,
           sleep_exec, "Stop the whole server for a while.", "OK");
SUBCOMMAND(debug_set_clock, "DEBUG|SET-CLOCK", "server", FLAGS, clock_args,
           NULL, set_clock_exec, "Shift the wall clock.", "OK");
SUBCOMMAND(debug_panic, "DEBUG|PANIC", "server", FLAGS, NULL, NULL,
           segfault_exec, "Crash, to see the report.", "none");
SUBCOMMAND(debug_help, "DEBUG|HELP", "server", FLAGS, NULL, NULL, help_exec,
           "What DEBUG can do.", "an array of lines");

extern const struct command cmd_debug_object, cmd_debug_check;

static const struct command *const subs[] = {
    &debug_sleep,     &debug_set_clock, &debug_panic, &cmd_debug_object,
    &cmd_debug_check, &debug_help,      NULL,
};

const struct command cmd_debug = {
    .name = "DEBUG",
    .group = "server",
    .summary = "For tests and for those who look for a fault.",
    .since = "0.1",
    .reply = "depends on the subcommand",
    .flags = FLAGS,
    .subs = subs,
};
