#include "commands/worker_reply.h"

#include "commands/job_reply.h"

#define RUNNING_MAX 100 /* shown; `leases` counts all */

struct listing {
    struct cmd_ctx *c;
    uint32_t n;
};

static void reply_running(void *ud, const struct running_view *v)
{
    struct listing *l = ud;
    struct reply *r = l->c->reply;
    l->n++;
    reply_map(r, 6);
    reply_str(r, "id");
    reply_id(r, &v->id);
    reply_field_str(r, "queue", v->queue);
    reply_field_str(r, "handler", v->handler);
    reply_field_int(r, "delivery", v->n);
    reply_field_int(r, "started_ms", (int64_t)v->started_ms);
    reply_field_int(r, "lease_left_ms", (int64_t)v->lease_left_ms);
}

static const char *state_of(const struct worker_view *v)
{
    if (v->draining)
        return "draining";
    if (!v->registered)
        return "unregistered";
    return v->silent ? "silent" : "active";
}

void reply_worker(struct cmd_ctx *c, const struct worker_view *v)
{
    struct reply *r = c->reply;
    struct listing l = {.c = c};
    reply_map(r, 10);
    reply_field_str(r, "worker", v->name);
    reply_field_str(r, "state", slice_str(state_of(v)));
    reply_field_maybe(r, "session", v->session);
    reply_field_int(r, "concurrency", v->concurrency);
    reply_field_words(r, "queues", v->queues);
    reply_field_tags(r, "labels", v->labels);
    reply_field_time(r, "registered_ms", v->registered_ms);
    reply_field_int(r, "seen_ago_ms", (int64_t)v->seen_ago_ms);
    reply_field_int(r, "leases", v->leases);
    reply_str(r, "running");
    struct reply_mark m = reply_array_begin(r);
    engine_worker_running(c->engine, v->name, RUNNING_MAX, c->now,
                          reply_running, &l);
    reply_array_end(r, m, l.n);
}
