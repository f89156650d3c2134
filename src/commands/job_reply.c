#include "commands/job_reply.h"

#include "util/alloc.h"
#include "util/assert.h"
#include "util/parse.h"

void reply_id(struct reply *r, const struct id *id)
{
    char text[ID_TEXT_LEN];
    id_text(id, text);
    reply_bulk(r, slice_of(text, ID_TEXT_LEN));
}

void reply_field_maybe(struct reply *r, const char *name, struct slice s)
{
    if (s.len == 0)
        reply_field_null(r, name);
    else
        reply_field_str(r, name, s);
}

void reply_field_time(struct reply *r, const char *name, uint64_t ms)
{
    if (ms == 0)
        reply_field_null(r, name);
    else
        reply_field_int(r, name, (int64_t)ms);
}

static size_t count_words(struct slice list)
{
    struct slice word;
    size_t n = 0;
    while (word_next(&list, &word))
        n++;
    return n;
}

void reply_field_words(struct reply *r, const char *name, struct slice list)
{
    struct slice word;
    reply_str(r, name);
    reply_array(r, count_words(list));
    while (word_next(&list, &word))
        reply_bulk(r, word);
}

void reply_field_tags(struct reply *r, const char *name, struct slice list)
{
    struct slice key, value;
    reply_str(r, name);
    reply_map(r, count_words(list) / 2);
    while (word_next(&list, &key) && word_next(&list, &value)) {
        reply_bulk(r, key);
        reply_bulk(r, value);
    }
}

void reply_field_numbers(struct reply *r, const char *name, struct slice list)
{
    struct slice key, value;
    int64_t n = 0;
    reply_str(r, name);
    reply_map(r, count_words(list) / 2);
    while (word_next(&list, &key) && word_next(&list, &value)) {
        reply_bulk(r, key);
        (void)parse_i64(value, &n); /* usage_words() wrote it */
        reply_int(r, n);
    }
}

enum err usage_words(struct cmd_ctx *c, const struct opt_pair *pairs,
                     uint32_t n, struct buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t number;
        if (pairs[i].key.len == 0 || pairs[i].key.len > 64)
            return err_set(&c->e, ERR_SYNTAX,
                           "USAGE: a name has 1 to 64 bytes");
        if (!parse_i64(pairs[i].value, &number) || number < 0)
            return err_set(&c->e, ERR_SYNTAX,
                           "USAGE takes name=n, n an integer from 0 on");
        const struct slice words[] = {pairs[i].key, pairs[i].value};
        for (size_t k = 0; k < ARRAY_LEN(words); k++) {
            buf_add_char(out, (char)(unsigned char)words[k].len);
            buf_add_slice(out, words[k]);
        }
    }
    return ERR_OK;
}

enum err words_join(struct cmd_ctx *c, struct slice first,
                    const struct opt_list *also, struct slice *out,
                    uint32_t max, uint32_t *n)
{
    if (also->n >= max)
        return err_set(&c->e, ERR_LIMIT,
                       "ALSO names %u; at most %u are "
                       "allowed",
                       (unsigned)also->n, (unsigned)max - 1);
    out[0] = first;
    for (uint32_t i = 0; i < also->n; i++)
        out[1 + i] = also->words[i];
    *n = 1 + also->n;
    return ERR_OK;
}

void token_replies_begin(struct token_replies *t, struct cmd_ctx *c, uint32_t n)
{
    *t = (struct token_replies){.c = c, .n = n};
    if (n > 1)
        reply_array(c->reply, n);
}

void token_reply(void *ud, uint32_t i, enum err rc, const char *why)
{
    struct token_replies *t = ud;
    (void)i;
    (void)why; /* is in c->e */
    if (t->n == 1)
        t->first = rc;
    else
        reply_str(t->c->reply, rc == ERR_OK ? "OK" : err_prefix(rc));
}

enum err token_replies_end(struct token_replies *t, enum err rc)
{
    if (rc != ERR_OK || t->n > 1)
        return rc;
    if (t->first == ERR_OK)
        reply_ok(t->c->reply);
    return t->first;
}

enum err manage_jobs(struct cmd_ctx *c, struct manage_params *p,
                     struct slice first, const struct opt_list *also)
{
    struct slice one = first, *jobs = &one;
    struct token_replies t;
    enum err rc = ERR_OK;
    p->n = 1;
    if (also->n > 0) {
        jobs = mem_alloc((also->n + 1) * sizeof(*jobs));
        rc = words_join(c, first, also, jobs, TOKENS_MAX, &p->n);
    }
    p->jobs = jobs;
    if (rc == ERR_OK) {
        token_replies_begin(&t, c, p->n);
        rc = engine_manage(c->engine, c->gather, p, c->now, token_reply, &t,
                           &c->e);
        rc = token_replies_end(&t, rc);
    }
    if (jobs != &one)
        mem_free(jobs);
    return rc;
}

void reply_job_head(struct reply *r, const struct job_view *v)
{
    reply_str(r, "id");
    reply_id(r, &v->id);
    reply_field_maybe(r, "name", v->name);
    reply_field_str(r, "queue", v->queue);
    reply_field_str(r, "handler", v->handler);
    reply_field_maybe(r, "owner", v->owner);
    reply_field_str(r, "state", slice_str(job_state_name(v->state)));
    reply_field_int(r, "priority", v->priority);
    reply_field_int(r, "created_ms", (int64_t)v->created_ms);
    reply_field_time(r, "run_at_ms", v->run_at_ms);
    reply_field_time(r, "started_ms", v->started_ms);
    reply_field_time(r, "finished_ms", v->finished_ms);
    reply_field_int(r, "retries", v->retries);
    reply_field_int(r, "failures", v->failures);
}
