/* JOB.ADDM: several jobs with the same options; many of them in parts. */
#include "commands/command.h"
#include "commands/job_options.h"
#include "commands/job_reply.h"
#include "engine/engine.h"
#include "util/alloc.h"

#define PAYLOADS_MAX 10000
#define PART_JOBS 256
#define PART_BYTES ((size_t)1 << 20)

struct addm_args {
    uint64_t given[2];
    struct slice queue;
    struct opt_list payloads;
    struct job_options o;
    struct slice idempotency;
};
#define CMD_ARGS struct addm_args

/* So many now: ten thousand in one go would hold up everybody for ten
 * milliseconds and more. What EXEC or a key promises to do once is one entry,
 * however long. */
static uint32_t part_of(const struct cmd_ctx *c, const struct addm_args *a)
{
    uint32_t left = a->payloads.n - c->list.done, n = 0;
    size_t bytes = 0;
    if (c->whole || a->idempotency.len > 0)
        return left;
    while (n < left && n < PART_JOBS && bytes < PART_BYTES)
        bytes += a->payloads.words[c->list.done + n++].len;
    return n;
}

static enum err addm_exec(struct cmd_ctx *c)
{
    struct addm_args *a = c->args;
    uint32_t done = c->list.done, n = part_of(c, a);
    struct add_result *r = mem_alloc(n * sizeof(*r));
    JOB_OPTIONS_TAKE(a);
    struct add_params p = {.queue = a->queue,
                           .payloads = a->payloads.words + done,
                           .n = n,
                           .behind = a->payloads.n - done - n,
                           .goes_on = done > 0,
                           .idempotency = a->idempotency,
                           .options = &a->o};
    enum err rc = engine_add(c->engine, c->gather, &p, c->now, r, &c->e);
    if (rc == ERR_OK) {
        if (done == 0)
            reply_array(c->reply, a->payloads.n);
        for (uint32_t i = 0; i < n; i++)
            reply_id(c->reply, &r[i].id);
        c->list.done += n;
        if (p.behind > 0)
            rc = cmd_more(c);
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
    .summary = "Add several jobs to a queue; what refuses one refuses all.",
    .since = "0.1",
    .reply = "the ids, in the order of the payloads",
    .flags = CMD_WRITE | CMD_NEW_WORK,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_MISMATCH,
                                 ERR_NOSPACE, ERR_OK},
    .exec = addm_exec,
    .example = "JOB.ADDM emails 2 first second PRIORITY 900",
};
