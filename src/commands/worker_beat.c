/* WORKER.BEAT: I am here; and what are the orders? */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/workers.h"

struct beat_args {
    uint64_t given[2];
    struct slice worker, session;
    uint32_t concurrency;
    struct opt_list queues;
    struct job_tag labels[WORKER_LABELS_MAX];
    uint32_t labels_n;
};
#define CMD_ARGS struct beat_args

static enum err beat_exec(struct cmd_ctx *c)
{
    struct beat_args *a = c->args;
    struct worker_view v;
    struct beat_params p = {.name = a->worker,
                            .session = a->session,
                            .concurrency_given = cmd_given(c, "CONCURRENCY"),
                            .concurrency = a->concurrency,
                            .queues = a->queues.words,
                            .queues_n = a->queues.n,
                            .labels = a->labels,
                            .labels_n = a->labels_n};
    enum err rc = engine_worker_beat(c->engine, &p, c->now, &v, &c->e);
    if (rc != ERR_OK)
        return rc;
    if (v.session.len > 0)
        engine_session_attach(c->engine, v.session, c->client_id);
    reply_map(c->reply, 3);
    reply_field_str(c->reply, "worker", v.name);
    reply_field_str(c->reply, "order",
                    slice_str(v.draining ? "drain" : "continue"));
    reply_field_int(c->reply, "leases", v.leases);
    return ERR_OK;
}

static const struct arg args[] = {
    {"worker", OPT(NAME, worker), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {
    {"SESSION", OPT(NAME, session),
     "of this process: its leases end 3 s after its last connection has gone; "
     "whoever leases under it and names no WORKER is this one",
     .value = "s"},
    {"CONCURRENCY", OPT(U32, concurrency), "jobs that it runs at a time",
     .value = "n", .max = 1000000},
    {"QUEUES", OPT(LIST, queues), "where it leases", .value = "n queue...",
     .min = 1, .max = WORKER_QUEUES_MAX},
    {"LABEL", OPT(PAIR, labels), "anything to know it by", .value = "k=v",
     OPT_MANY(labels, labels_n)},
    {0},
};

const struct command cmd_worker_beat = {
    .name = "WORKER.BEAT",
    .group = "workers",
    .summary = "Register a worker, or tell that it is still there.",
    .since = "0.1",
    .reply = "an object; order is continue, or drain (finish what you have; "
             "there will be no more). What is not named stays as it was",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = beat_exec,
    .example = "WORKER.BEAT w1 SESSION w1-4711 CONCURRENCY 8 QUEUES 1 emails "
               "LABEL host=a",
};
