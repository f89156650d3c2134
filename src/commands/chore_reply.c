#include "commands/chore_reply.h"

#include "commands/job_reply.h"

void reply_chore(struct reply *r, const struct chore_view *v)
{
    reply_map(r, 13);
    reply_str(r, "id");
    reply_id(r, &v->id);
    reply_field_str(r, "verb", v->verb);
    reply_field_maybe(r, "queue", v->filter->queue);
    reply_field_str(r, "state", v->state);
    reply_field_int(r, "dryrun", v->dry);
    reply_field_time(r, "rate", v->rate);
    reply_field_int(r, "examined", (int64_t)v->examined);
    reply_field_int(r, "matched", (int64_t)v->matched);
    reply_field_int(r, "done", (int64_t)v->done);
    reply_field_int(r, "refused", (int64_t)v->refused);
    reply_field_int(r, "created_ms", (int64_t)v->created_ms);
    reply_field_int(r, "updated_ms", (int64_t)v->updated_ms);
    reply_field_time(r, "finished_ms", v->finished_ms);
}

enum err reply_bulk_begun(struct cmd_ctx *c, enum manage_verb verb,
                          const struct job_filter *f, bool dry, uint64_t rate)
{
    struct bulk_params p = {
        .verb = verb, .filter = f, .dry = dry, .rate = rate};
    struct id id;
    enum err rc = engine_bulk(c->engine, &p, c->now, &id, &c->e);
    if (rc == ERR_OK)
        reply_id(c->reply, &id);
    return rc;
}
