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
 * milliseconds and more. What EXEC promises to do at once is one entry, however
 * long. */
static uint32_t part_of(const struct cmd_ctx *c, const struct addm_args *a,
                        uint32_t done)
{
    uint32_t left = a->payloads.n - done, n = 0;
    size_t bytes = 0;
    if (c->whole)
        return left;
    while (n < left && n < PART_JOBS && bytes < PART_BYTES)
        bytes += a->payloads.words[done + n++].len;
    return n;
}

/* The part behind the first `done`; *n: how many it had. *first is known from
 * the first one on. */
static enum err add_part(struct cmd_ctx *c, struct addm_args *a, uint32_t done,
                         struct id *first, uint32_t *n)
{
    struct add_params p = {.queue = a->queue,
                           .payloads = a->payloads.words + done,
                           .before = done,
                           .first = *first,
                           .idempotency = a->idempotency,
                           .options = &a->o};
    enum err rc = ERR_NOTFOUND;
    uint32_t left = a->payloads.n - done;
    if (a->idempotency.len > 0)
        rc = engine_added(c->engine, c->gather, &p, c->now, n, &c->e);
    if (rc == ERR_NOTFOUND)
        *n = part_of(c, a, done);
    else if (rc != ERR_OK)
        return rc;
    else if (*n > left) /* another request, which engine_add() will say */
        *n = left;
    p.n = *n;
    p.behind = left - *n;
    struct add_result *r = mem_alloc(p.n * sizeof(*r));
    rc = engine_add(c->engine, c->gather, &p, c->now, r, &c->e);
    if (rc == ERR_OK && done == 0)
        reply_array(c->reply, a->payloads.n);
    for (uint32_t i = 0; rc == ERR_OK && i < p.n; i++)
        reply_id(c->reply, &r[i].id);
    if (rc == ERR_OK && done == 0)
        *first = r[0].id;
    mem_free(r);
    return rc;
}

/* Inside MULTI what a key has added in parts is told in one go, and all that
 * remains is added with the last of them. */
static enum err addm_exec(struct cmd_ctx *c)
{
    struct addm_args *a = c->args;
    struct id first = c->list.first;
    uint32_t done = c->list.done, n = 0;
    enum err rc;
    JOB_OPTIONS_TAKE(a);
    do {
        rc = add_part(c, a, done, &first, &n);
        done += n;
    } while (rc == ERR_OK && c->whole && done < a->payloads.n);
    if (rc != ERR_OK)
        return rc;
    c->list.done = done;
    c->list.first = first;
    return done < a->payloads.n ? cmd_more(c) : ERR_OK;
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
