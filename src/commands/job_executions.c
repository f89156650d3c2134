/* JOB.EXECUTIONS: what happened each time it ran. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct executions_args {
    uint64_t given[2];
    struct slice id;
};
#define CMD_ARGS struct executions_args

struct listing {
    struct reply *reply;
    uint32_t n;
};

static void reply_one(void *ud, const struct execution_view *v)
{
    struct listing *l = ud;
    struct reply *r = l->reply;
    l->n++;
    reply_map(r, 10);
    reply_field_int(r, "n", v->n);
    reply_field_str(r, "outcome", v->outcome);
    reply_field_int(r, "started_ms", (int64_t)v->started_ms);
    reply_field_time(r, "ended_ms", v->ended_ms);
    reply_field_maybe(r, "worker", v->worker);
    reply_field_maybe(r, "error", v->error);
    reply_field_maybe(r, "error_type", v->error_type);
    reply_field_maybe(r, "stack", v->stack);
    reply_field_int(r, "code", v->code);
    reply_field_numbers(r, "usage", v->usage);
}

static enum err executions_exec(struct cmd_ctx *c)
{
    struct executions_args *a = c->args;
    struct listing l = {.reply = c->reply};
    struct reply_mark m = reply_array_begin(c->reply);
    enum err rc = engine_executions(c->engine, c->gather, a->id, c->now,
                                    reply_one, &l, &c->e);
    if (rc == ERR_OK)
        reply_array_end(c->reply, m, l.n);
    return rc;
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_executions = {
    .name = "JOB.EXECUTIONS",
    .group = "jobs",
    .summary = "List the executions of a job, oldest first, at most the newest "
               "hundred.",
    .since = "0.1",
    .reply = "an array of objects",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_OK},
    .exec = executions_exec,
    .example = "JOB.EXECUTIONS 01J8ZQ4W2H0000000000000001",
};
