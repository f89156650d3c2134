/* JOB.WAIT: until one or all of some jobs have ended. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct wait_args {
    uint64_t given[2];
    struct slice id;
    struct opt_list also;
    bool any, all;
    uint64_t block_ms;
};
#define CMD_ARGS struct wait_args

/* What it waits for already has its id, whatever became of its name since. */
static enum err look(struct cmd_ctx *c, uint32_t i, struct slice ref,
                     struct id *id, enum job_state *state)
{
    if (engine_waits_for_jobs(c->waiter))
        return engine_waited(c->engine, c->gather, c->waiter, i, id, state,
                             &c->e);
    enum err rc = engine_find(c->engine, c->gather, ref, id, &c->e);
    if (rc != ERR_OK)
        return rc;
    return engine_state(c->engine, c->gather, ref, c->now, state, &c->e);
}

static enum err wait_exec(struct cmd_ctx *c)
{
    struct wait_args *a = c->args;
    struct slice refs[IDS_MAX];
    struct id ids[IDS_MAX];
    enum job_state states[IDS_MAX];
    uint32_t n, ended = 0;
    bool pending = false;
    if ((a->any || a->all) && !cmd_given(c, "BLOCK"))
        return err_set(&c->e, ERR_SYNTAX, "%s needs BLOCK",
                       a->any ? "ANY" : "ALL");
    enum err rc = words_join(c, a->id, &a->also, refs, IDS_MAX, &n);
    for (uint32_t i = 0; rc == ERR_OK && i < n; i++) {
        rc = look(c, i, refs[i], &ids[i], &states[i]);
        ended += rc == ERR_OK && job_state_ended(states[i]);
        if (rc == ERR_PENDING) {
            pending = true; /* one fetch for all */
            rc = ERR_OK;
        }
    }
    if (rc != ERR_OK || pending)
        return rc != ERR_OK ? rc : ERR_PENDING;
    if (ended < (a->any ? 1 : n) && c->may_block && !c->timed_out &&
        cmd_given(c, "BLOCK")) {
        engine_wait_jobs(c->engine, c->waiter, ids, states, n);
        return cmd_block(c, a->block_ms == 0 ? UINT64_MAX
                                             : c->now.mono_ms + a->block_ms);
    }
    reply_array(c->reply, n);
    for (uint32_t i = 0; i < n; i++) {
        reply_map(c->reply, 3);
        reply_str(c->reply, "id");
        reply_id(c->reply, &ids[i]);
        reply_field_str(c->reply, "state",
                        slice_str(job_state_name(states[i])));
        reply_field_int(c->reply, "ended", job_state_ended(states[i]));
    }
    return ERR_OK;
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {
    {"ANY", OPT(FLAG, any), "until one of them has ended", .group = "which"},
    {"ALL", OPT(FLAG, all), "until all have ended (the default)",
     .group = "which"},
    {"BLOCK", OPT(MS, block_ms), "wait this long, in ms; 0: for ever",
     .value = "ms"},
    {0},
};

const struct command cmd_job_wait = {
    .name = "JOB.WAIT",
    .group = "jobs",
    .summary = "Wait until jobs have ended.",
    .since = "0.1",
    .reply = "an array of objects; ended is 1 or 0",
    .flags = CMD_READONLY | CMD_BLOCKING,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_LIMIT, ERR_OK},
    .exec = wait_exec,
    .example = "JOB.WAIT 01J8ZQ4W2H0000000000000001 BLOCK 5000",
};
