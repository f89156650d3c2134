/* JOB.GET: all about one job. */
#include "commands/command.h"
#include "commands/dead_reply.h"
#include "commands/job_reply.h"
#include "engine/engine.h"

struct get_args {
    uint64_t given[2];
    struct slice id;
};
#define CMD_ARGS struct get_args

/* A row of a later version may have a word that this one does not know. */
static void reply_field_word(struct reply *r, const char *name,
                             const char *const *words, uint32_t i)
{
    for (; *words != NULL && i > 0; i--)
        words++;
    if (*words == NULL)
        reply_field_null(r, name);
    else
        reply_field_str(r, name, slice_str(*words));
}

/* Words that stand without the ones that they need say nothing. */
static void reply_words(struct reply *r, const struct job_view *v)
{
    static const char *const none[] = {NULL};
    bool unique = v->unique.len > 0;
    reply_field_time(r, "expect_ms", v->expect_ms);
    reply_field_word(r, "sla", v->expect_ms > 0 ? sla_list : none, v->sla);
    reply_field_word(r, "backoff", backoff_list, v->backoff);
    reply_field_int(r, "base_ms", (int64_t)v->base_ms);
    reply_str(r, "factor");
    reply_printf(r, "%g", v->factor);
    reply_field_int(r, "cap_ms", (int64_t)v->cap_ms);
    reply_field_int(r, "jitter", v->jitter);
    reply_field_int(r, "cost", v->cost);
    reply_field_word(r, "scope", unique ? scope_list : none, v->scope);
    reply_field_word(r, "while", unique && v->for_ms == 0 ? while_list : none,
                     v->unique_while);
    reply_field_time(r, "for_ms", v->for_ms);
}

static void reply_job(struct reply *r, const struct job_view *v)
{
    bool running = v->state == JOB_RUNNING;
    reply_map(r, JOB_HEAD_FIELDS + 40);
    reply_job_head(r, v);
    reply_field_int(r, "crashes", v->crashes);
    reply_field_int(r, "deliveries", v->deliveries);
    reply_field_maybe(r, "worker", v->worker);
    reply_field_maybe(r, "session", v->session);
    reply_field_time(r, "lease_ms", v->lease_ms);
    if (running)
        reply_field_int(r, "lease_left_ms", (int64_t)v->lease_left_ms);
    else
        reply_field_null(r, "lease_left_ms");
    reply_field_time(r, "timeout_ms", v->timeout_ms);
    reply_field_time(r, "expires_ms", v->expires_at_ms);
    reply_field_time(r, "deadline_ms", v->deadline_at_ms);
    if (v->keep_given)
        reply_field_int(r, "keep_ms", (int64_t)v->keep_ms);
    else
        reply_field_null(r, "keep_ms");
    reply_field_maybe(r, "unique", v->unique);
    reply_field_words(r, "limits", v->limits);
    reply_field_maybe(r, "batch", v->batch);
    reply_field_tags(r, "tags", v->tags);
    reply_field_maybe(r, "trace", v->trace);
    reply_field_maybe(r, "meta", v->meta);
    reply_field_int(r, "progress", v->progress);
    reply_field_maybe(r, "progress_text", v->progress_text);
    reply_field_maybe(r, "checkpoint", v->checkpoint);
    reply_field_int(r, "cancelling", v->cancelling);
    reply_field_maybe(r, "reason", v->reason);
    reply_field_maybe(r, "error", v->error);
    reply_field_maybe(r, "error_type", v->error_type);
    if (v->has_result)
        reply_field_str(r, "result", v->result);
    else
        reply_field_null(r, "result");
    reply_field_str(r, "payload", v->payload);
    reply_field_maybe(r, "schedule", v->schedule);
    reply_field_time(r, "nominal_ms", v->nominal_ms);
    reply_field_time(r, "occurrence", v->occurrence);
    reply_field_dead(r, v);
    reply_words(r, v);
}

static enum err get_exec(struct cmd_ctx *c)
{
    struct get_args *a = c->args;
    struct job_view v;
    enum err rc = engine_get(c->engine, c->gather, a->id, c->now, &v, &c->e);
    if (rc == ERR_NOTFOUND) {
        reply_null(c->reply);
        return ERR_OK;
    }
    if (rc == ERR_OK)
        reply_job(c->reply, &v);
    return rc;
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_job_get = {
    .name = "JOB.GET",
    .group = "jobs",
    .summary = "Show a job, live or finished.",
    .since = "0.1",
    .reply = "an object, or null if there is no such job; of its retries and, "
             "while it waits, of its lease also what the server decides",
    .flags = CMD_READONLY,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_OK},
    .exec = get_exec,
    .example = "JOB.GET 01J8ZQ4W2H0000000000000001",
};
