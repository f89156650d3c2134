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

static enum err also_check(struct cmd_ctx *c, const struct opt_list *also,
                           uint32_t max)
{
    if (also->n < max)
        return ERR_OK;
    return err_set(&c->e, ERR_LIMIT, "ALSO names %u; at most %u are allowed",
                   (unsigned)also->n, (unsigned)max - 1);
}

enum err words_join(struct cmd_ctx *c, struct slice first,
                    const struct opt_list *also, struct slice *out,
                    uint32_t max, uint32_t *n)
{
    enum err rc = also_check(c, also, max);
    if (rc != ERR_OK)
        return rc;
    out[0] = first;
    for (uint32_t i = 0; i < also->n; i++)
        out[1 + i] = also->words[i];
    *n = 1 + also->n;
    return ERR_OK;
}

/* How many of those that are left are tried now. */
static uint32_t part_len(const struct token_list *t)
{
    const struct list_progress *at = &t->c->list;
    uint32_t left = t->total - at->done;
    uint32_t most = t->c->whole     ? TOKENS_MAX
                    : at->part == 0 ? PART_MAX
                                    : at->part;
    return left < most ? left : most;
}

enum err token_list_begin(struct token_list *t, struct cmd_ctx *c,
                          struct slice first, const struct opt_list *also,
                          uint32_t max)
{
    enum err rc = also_check(c, also, max);
    if (rc != ERR_OK)
        return rc;
    t->c = c;
    t->total = 1 + also->n;
    t->first = ERR_OK;
    t->n = part_len(t);
    t->part = t->n;
    t->cut = c->whole || t->total <= WHOLE_MAX ? NULL : &t->part;
    t->tokens =
        t->n <= PART_MAX ? t->words : mem_alloc(t->n * sizeof(struct slice));
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t at = c->list.done + i;
        t->tokens[i] = at == 0 ? first : also->words[at - 1];
    }
    if (t->total > 1 && c->list.done == 0)
        reply_array(c->reply, t->total);
    return ERR_OK;
}

void token_reply(void *ud, uint32_t i, enum err rc, const char *why)
{
    struct token_list *t = ud;
    (void)i;
    (void)why; /* is in c->e */
    if (t->total == 1)
        t->first = rc;
    else
        reply_str(t->c->reply, rc == ERR_OK ? "OK" : err_prefix(rc));
}

/* A part that was cut because its rows or its jobs cost so much says how long
 * the next one may be; they grow again by themselves. */
static enum err part_end(struct token_list *t, enum err rc)
{
    struct list_progress *at = &t->c->list;
    if (rc == ERR_PENDING)
        at->part = t->part;
    if (rc != ERR_OK)
        return rc;
    at->part = t->part < PART_MAX / 2 ? t->part * 2 : PART_MAX;
    at->done += t->part;
    return at->done < t->total ? cmd_more(t->c) : ERR_OK;
}

enum err token_list_end(struct token_list *t, enum err rc)
{
    if (t->tokens != t->words)
        mem_free(t->tokens);
    return t->cut == NULL ? rc : part_end(t, rc);
}

enum err token_replies_end(struct token_list *t, enum err rc)
{
    rc = token_list_end(t, rc);
    if (rc != ERR_OK || t->total > 1)
        return rc;
    if (t->first == ERR_OK)
        reply_ok(t->c->reply);
    return t->first;
}

enum err manage_jobs(struct cmd_ctx *c, struct manage_params *p,
                     struct slice first, const struct opt_list *also)
{
    struct token_list t;
    enum err rc = token_list_begin(&t, c, first, also, TOKENS_MAX);
    if (rc != ERR_OK)
        return rc;
    p->jobs = t.tokens;
    p->n = t.n;
    p->cut = t.cut;
    rc = engine_manage(c->engine, c->gather, p, c->now, token_reply, &t, &c->e);
    return token_replies_end(&t, rc);
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
