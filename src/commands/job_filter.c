#include "commands/job_filter.h"

#include "commands/dead_reply.h"
#include "commands/job_reply.h"
#include "util/parse.h"

static enum err range(struct cmd_ctx *c, const char *name,
                      const struct opt_pair *p, uint64_t *from, uint64_t *to)
{
    if (!cmd_given(c, name))
        return ERR_OK;
    if (!slice_is(p->key, "-") && !parse_time_ms(p->key, from))
        return err_set(&c->e, ERR_SYNTAX,
                       "%s begins with a time (unix ms or RFC 3339) or -",
                       name);
    if (!slice_is(p->value, "+") && !parse_time_ms(p->value, to))
        return err_set(&c->e, ERR_SYNTAX,
                       "%s ends with a time (unix ms or RFC 3339) or +", name);
    return ERR_OK;
}

enum err filter_take(struct cmd_ctx *c, const struct filter_args *a,
                     struct job_filter *f)
{
    *f = (struct job_filter){.queue = a->queue,
                             .handler = a->handler,
                             .owner = a->owner,
                             .worker = a->worker,
                             .key = a->key,
                             .has_tag = a->tag.key.len > 0,
                             .tag_key = a->tag.key,
                             .tag_value = a->tag.value,
                             .id_prefix = a->id};
    for (uint32_t i = 0; i < a->states_n; i++) {
        enum job_state s = job_state_parse(a->states[i]);
        if ((unsigned)s == 0)
            return err_set(&c->e, ERR_SYNTAX,
                           "STATE %.*s is not known: blocked, scheduled, "
                           "ready, parked, retrying, held, running, completed, "
                           "failed, cancelled or expired",
                           SLICE_FMT(a->states[i]));
        f->states |= 1u << s;
    }
    enum err rc = range(c, "CREATED", &a->created, &f->created_from_ms,
                        &f->created_to_ms);
    if (rc == ERR_OK)
        rc = range(c, "FINISHED", &a->finished, &f->finished_from_ms,
                   &f->finished_to_ms);
    /* Whatever the times, only jobs that have ended are asked for. */
    if (cmd_given(c, "FINISHED") && f->finished_from_ms == 0)
        f->finished_from_ms = 1;
    return rc;
}

void reply_listed(struct reply *r, const struct job_view *v)
{
    reply_map(r, JOB_HEAD_FIELDS + 8);
    reply_job_head(r, v);
    reply_field_int(r, "deliveries", v->deliveries);
    reply_field_maybe(r, "worker", v->worker);
    reply_field_maybe(r, "unique", v->unique);
    reply_field_tags(r, "tags", v->tags);
    reply_field_maybe(r, "reason", v->reason);
    reply_field_maybe(r, "error", v->error);
    reply_field_maybe(r, "error_type", v->error_type);
    reply_field_dead(r, v);
}

void listing_add(void *ud, const struct job_view *v)
{
    struct listing *l = ud;
    l->n++;
    reply_listed(l->c->reply, v);
}

enum err reply_listing(struct cmd_ctx *c, const struct list_params *p)
{
    struct listing l = {.c = c};
    struct list_result r;
    reply_map(c->reply, 2);
    reply_str(c->reply, "jobs");
    struct reply_mark m = reply_array_begin(c->reply);
    enum err rc = engine_list(c->engine, c->gather, p, c->now, listing_add, &l,
                              &r, &c->e);
    reply_array_end(c->reply, m, l.n);
    if (rc == ERR_OK)
        reply_field_maybe(c->reply, "cursor", slice_str(r.cursor));
    return rc;
}
