#include "commands/dead_reply.h"

#include "commands/job_reply.h"

enum err signature_take(struct cmd_ctx *c, struct slice text, uint64_t *out)
{
    uint64_t n = 0;
    bool given = cmd_given(c, "SIGNATURE"), good = text.len == 16;
    for (size_t i = 0; i < text.len && good; i++) {
        char ch = text.data[i];
        unsigned d = ch >= '0' && ch <= '9'   ? (unsigned)(ch - '0')
                     : ch >= 'a' && ch <= 'f' ? (unsigned)(ch - 'a') + 10
                                              : 16;
        good = d < 16;
        n = n << 4 | d;
    }
    *out = n;
    if (given && (!good || n == 0))
        return err_set(&c->e, ERR_SYNTAX,
                       "SIGNATURE is 16 hexadecimal digits, as DEAD.GROUPS "
                       "shows them");
    return ERR_OK;
}

void reply_field_signature(struct reply *r, uint64_t signature)
{
    char text[20];
    struct buf hex = {text, 0, sizeof(text)};
    buf_printf(&hex, "%016llx", (unsigned long long)signature);
    reply_field_str(r, "signature", buf_slice(&hex));
}

void reply_field_dead(struct reply *r, const struct job_view *v)
{
    if (v->state == JOB_FAILED)
        reply_field_signature(r, dead_signature(v->error_type, v->error));
    else
        reply_field_null(r, "signature");
}

enum err dead_one(struct cmd_ctx *c, enum manage_verb verb, struct slice queue,
                  struct slice id)
{
    static const struct opt_list none;
    struct manage_params p = {.verb = verb};
    struct job_view v;
    enum err rc = engine_get(c->engine, c->gather, id, c->now, &v, &c->e);
    if (rc != ERR_OK)
        return rc;
    if (v.state != JOB_FAILED || !slice_eq(v.queue, queue))
        return err_set(&c->e, ERR_STATE, "not a dead letter of queue %.*s",
                       SLICE_FMT(queue));
    return manage_jobs(c, &p, id, &none);
}
