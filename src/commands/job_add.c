/* JOB.ADD: one job. */
#include "commands/command.h"
#include "commands/job_options.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct add_args {
    uint64_t given[2];
    struct slice queue, payload;
    struct slice name, idempotency;
    bool full;
    struct job_options o; /* last, for its arrays: see CMD_CLEARED */
};
#define CMD_ARGS struct add_args

static enum err add_exec(struct cmd_ctx *c)
{
    struct add_args *a = c->args;
    struct add_result r;
    JOB_OPTIONS_TAKE(a);
    struct add_params p = {.queue = a->queue,
                           .payloads = &a->payload,
                           .n = 1,
                           .name = a->name,
                           .idempotency = a->idempotency,
                           .options = &a->o,
                           .estimate = a->full};
    enum err rc = engine_add(c->engine, c->gather, &p, c->now, &r, &c->e);
    if (rc != ERR_OK)
        return rc;
    if (!a->full) {
        reply_id(c->reply, &r.id);
        return ERR_OK;
    }
    reply_map(c->reply, 4);
    reply_str(c->reply, "id");
    reply_id(c->reply, &r.id);
    reply_field_int(c->reply, "created", r.created);
    reply_field_str(c->reply, "state", slice_str(job_state_name(r.state)));
    if (r.start_estimate_ms < 0)
        reply_field_null(c->reply, "start_estimate_ms");
    else
        reply_field_int(c->reply, "start_estimate_ms", r.start_estimate_ms);
    return ERR_OK;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "where it waits"},
    {"payload", OPT(BYTES, payload), .help = "anything"},
    {0},
};

static const struct opt opts[] = {
    JOB_OPTION_ROWS,
    {"ID", OPT(NAME, name),
     "a name for the job, unique while it is live or kept", .value = "name",
     .max = 64},
    {"IDEMPOTENCY", OPT(BYTES, idempotency),
     "the same request with this key gets the same reply for a day",
     .value = "key", .min = 1, .max = 200},
    {"RETURN", OPT(FLAG, full),
     "reply with an object: id, created, state, start_estimate_ms"},
    {0},
};

const struct command cmd_job_add = {
    .name = "JOB.ADD",
    .group = "jobs",
    .summary = "Add a job to a queue.",
    .since = "0.1",
    .reply = "the job's id; with RETURN an object",
    .flags = CMD_WRITE | CMD_NEW_WORK | CMD_FAST,
    CMD_PARSED(args, opts),
    CMD_CLEARED(o.limits),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_EXISTS, ERR_STATE,
                                 ERR_MISMATCH, ERR_NOSPACE, ERR_OK},
    .exec = add_exec,
    .example = "JOB.ADD emails '{\"to\":\"a@b.c\"}' DELAY 5m RETRIES 5",
};
