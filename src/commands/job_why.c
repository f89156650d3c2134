/* JOB.WHY: why it does not run, and when that may change. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct why_args {
    uint64_t given[2];
    struct slice id;
};
#define CMD_ARGS struct why_args

static enum err why_exec(struct cmd_ctx *c)
{
    struct why_args *a = c->args;
    struct why_view v;
    enum err rc = engine_why(c->engine, c->gather, a->id, c->now, &v, &c->e);
    if (rc == ERR_NOTFOUND) {
        reply_null(c->reply);
        return ERR_OK;
    }
    if (rc != ERR_OK)
        return rc;
    reply_map(c->reply, 9);
    reply_str(c->reply, "id");
    reply_id(c->reply, &v.id);
    reply_field_str(c->reply, "state", slice_str(job_state_name(v.state)));
    reply_field_str(c->reply, "reason", v.reason);
    reply_field_maybe(c->reply, "name", v.name);
    reply_field_str(c->reply, "text", slice_str(v.text));
    reply_field_time(c->reply, "place", v.place);
    reply_field_int(c->reply, "place_exact", v.place_exact);
    reply_field_time(c->reply, "changes_at_ms", v.changes_ms);
    if (v.start_estimate_ms < 0)
        reply_field_null(c->reply, "start_estimate_ms");
    else
        reply_field_int(c->reply, "start_estimate_ms", v.start_estimate_ms);
    return ERR_OK;
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_why = {
    .name = "JOB.WHY",
    .group = "jobs",
    .summary = "Tell why a job does not run, its place in line, and when that "
               "may change.",
    .since = "0.1",
    .reply = "an object, or null if there is no such job; place: one more than "
             "would be leased before it if nothing else came, or, where "
             "place_exact is 0, at least that (jobs before it are only on "
             "disk, or, where owners take turns, may be stopped by a limit or "
             "are too many to follow); changes_at_ms: the first time at which "
             "something happens to it by itself, be it a lease that ends, a "
             "cancel by FORCE, EXPIRES or DEADLINE, or null",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = why_exec,
    .example = "JOB.WHY 01J8ZQ4W2H0000000000000001",
};
