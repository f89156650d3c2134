/* JOB.ADDM: several jobs with the same options, all or none. */
#include "commands/command.h"
#include "commands/job_options.h"
#include "commands/job_reply.h"
#include "engine/engine.h"
#include "util/alloc.h"

#define PAYLOADS_MAX 10000

struct addm_args {
    uint64_t given[2];
    struct slice queue;
    struct opt_list payloads;
    struct job_options o;
    struct slice idempotency;
};
#define CMD_ARGS struct addm_args

static enum err addm_exec(struct cmd_ctx *c)
{
    struct addm_args *a = c->args;
    struct add_result *r = mem_alloc(a->payloads.n * sizeof(*r));
    JOB_OPTIONS_TAKE(a);
    struct add_params p = {.queue = a->queue,
                           .payloads = a->payloads.words,
                           .n = a->payloads.n,
                           .idempotency = a->idempotency,
                           .options = &a->o};
    enum err rc = engine_add(c->engine, c->gather, &p, c->now, r, &c->e);
    if (rc == ERR_OK) {
        reply_array(c->reply, p.n);
        for (uint32_t i = 0; i < p.n; i++)
            reply_id(c->reply, &r[i].id);
    }
    mem_free(r);
    return rc;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "where they wait"},
    {"payloads", OPT(LIST, payloads), .min = 1, .max = PAYLOADS_MAX,
     .help = "how many, then each"},
    {0},
};

static const struct opt opts[] = {
    JOB_OPTION_ROWS,
    {"IDEMPOTENCY", OPT(BYTES, idempotency),
     "the same request with this key gets the same reply for a day",
     .value = "key", .min = 1, .max = 200},
    {0},
};

const struct command cmd_job_addm = {
    .name = "JOB.ADDM",
    .group = "jobs",
    .summary = "Add several jobs to a queue, all or none.",
    .since = "0.1",
    .reply = "the ids, in the order of the payloads",
    .flags = CMD_WRITE | CMD_NEW_WORK,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_MISMATCH,
                                 ERR_NOSPACE, ERR_OK},
    .exec = addm_exec,
    .example = "JOB.ADDM emails 2 first second PRIORITY 900",
};
