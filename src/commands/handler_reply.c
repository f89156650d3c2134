#include "commands/handler_reply.h"

#include "commands/job_options.h"
#include "commands/job_reply.h"

/* The table of options says where a value lies and of which type it is. */
struct option_args {
    uint64_t given[2];
    struct job_options o;
};
#define CMD_ARGS struct option_args

static const struct opt rows[] = {JOB_OPTION_ROWS, {0}};

static void reply_option(struct reply *r, const struct option_args *a,
                         const struct opt *row)
{
    const void *at = (const char *)a + row->offset;
    switch (row->type) {
    case OPT_MS:
    case OPT_TIME:
    case OPT_U64:
        reply_int(r, (int64_t) * (const uint64_t *)at);
        return;
    case OPT_U32:
        reply_int(r, *(const uint32_t *)at);
        return;
    case OPT_F64:
        reply_printf(r, "%g", *(const double *)at);
        return;
    case OPT_ENUM:
        reply_str(r, row->words[*(const uint32_t *)at]);
        return;
    default:
        ASSERT(row->type == OPT_BYTES || row->type == OPT_NAME);
        reply_bulk(r, *(const struct slice *)at);
    }
}

void reply_job_options(struct reply *r, const struct job_options *o)
{
    const struct option_args a = {.o = *o};
    size_t n = 0;
    for (size_t i = 0; rows[i].name != NULL; i++)
        n += option_given(o, (enum job_option)i);
    reply_map(r, n);
    for (size_t i = 0; rows[i].name != NULL; i++) {
        if (!option_given(o, (enum job_option)i))
            continue;
        reply_str(r, rows[i].name);
        if (i == JOPT_LIMIT) {
            reply_array(r, o->limits_n);
            for (uint32_t k = 0; k < o->limits_n; k++)
                reply_bulk(r, o->limits[k]);
        } else if (i == JOPT_TAG) {
            reply_map(r, o->tags_n);
            for (uint32_t k = 0; k < o->tags_n; k++) {
                reply_bulk(r, o->tags[k].key);
                reply_bulk(r, o->tags[k].value);
            }
        } else {
            reply_option(r, &a, &rows[i]);
        }
    }
}

static const char *state_word(const struct breaker_view *b)
{
    return b->on ? breaker_state_name(b->state) : "off";
}

void reply_handler(struct reply *r, const struct handler_view *v)
{
    static const struct job_options none;
    reply_map(r, 10);
    reply_field_str(r, "handler", v->name);
    reply_field_int(r, "paused", v->paused);
    reply_field_int(r, "open", v->open);
    reply_field_str(r, "breaker", slice_str(state_word(&v->breaker)));
    reply_field_maybe(r, "description", v->description);
    reply_field_str(r, "check", slice_str(payload_check_list[v->check]));
    if (v->payload_max == 0)
        reply_field_null(r, "max");
    else
        reply_field_int(r, "max", (int64_t)v->payload_max);
    reply_field_words(r, "never", v->never);
    reply_field_words(r, "only", v->only);
    reply_str(r, "options");
    reply_job_options(r, v->defaults == NULL ? &none : v->defaults);
}

void reply_breaker(struct reply *r, const struct handler_view *v)
{
    const struct breaker_view *b = &v->breaker;
    reply_map(r, 14);
    reply_field_str(r, "handler", v->name);
    reply_field_str(r, "state", slice_str(state_word(b)));
    reply_field_time(r, "since_ms", b->since_ms);
    reply_field_time(r, "until_ms", b->until_ms);
    reply_field_int(r, "trips", (int64_t)b->trips);
    reply_field_int(r, "good", (int64_t)b->good);
    reply_field_int(r, "bad", (int64_t)b->bad);
    reply_field_int(r, "probing", b->probing);
    reply_field_int(r, "probed_well", b->probed_well);
    reply_field_int(r, "percent", b->set.percent);
    reply_field_int(r, "outcomes", b->set.least);
    reply_field_int(r, "window_ms", (int64_t)b->set.window_ms);
    reply_field_int(r, "open_ms", (int64_t)b->set.open_ms);
    reply_field_int(r, "probes", b->set.probes);
}

enum err handler_show(struct cmd_ctx *c, struct slice name,
                      void (*show)(struct reply *r,
                                   const struct handler_view *v))
{
    struct handler_view v;
    enum err rc = engine_handler(c->engine, name, c->now, &v, &c->e);
    if (rc == ERR_NOTFOUND) {
        reply_null(c->reply);
        return ERR_OK;
    }
    if (rc == ERR_OK)
        show(c->reply, &v);
    return rc;
}
