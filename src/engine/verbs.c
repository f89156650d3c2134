/* What the holder of a lease may do with it. Each verb shows a token; the batch
 * forms take several and answer for each. */
#include "engine/core.h"
#include "util/parse.h"

/* What is to be done with each token. */
struct act {
    enum verb verb;
    const struct ack_params *ack;
    const struct nack_params *nack;
};

static struct slice usage_of(const struct act *a)
{
    return a->ack != NULL    ? a->ack->usage
           : a->nack != NULL ? a->nack->usage
                             : SLICE_EMPTY;
}

/* What its holder says of a name is true whatever becomes of the job. */
static void close_name(struct engine *e, const struct nack_params *p,
                       struct now now)
{
    struct errbuf err;
    if (p == NULL || p->close.len == 0)
        return;
    enum err rc = engine_limit_close(e, p->close, p->close_ms, now, &err);
    ASSERT(rc == ERR_OK); /* examined before */
}

static void act_on(struct engine *e, struct gather *g, const struct act *a,
                   struct job *j, struct now now)
{
    struct outcome o = {.verb = a->verb, .usage = usage_of(a)};
    switch (a->verb) {
    case VERB_ACK:
        o.result = a->ack->result;
        job_finish(e, g, j, JOB_COMPLETED, &o, now);
        return;
    case VERB_FAIL:
        o.error = a->nack->error;
        o.type = a->nack->type;
        o.stack = a->nack->stack;
        o.code = a->nack->code;
        o.reason = a->nack->permanent || handler_says_permanent(j, o.type)
                       ? REASON_PERMANENT
                       : REASON_ERROR;
        execution_failed(e, g, j, &o, a->nack->has_delay, a->nack->delay_ms,
                         now);
        return;
    case VERB_SNOOZE:
        execution_released(e, j, VERB_SNOOZE, a->nack->delay_ms, now);
        return;
    default: /* a release is no execution of which anything is told */
        ASSERT(a->verb == VERB_RELEASE);
        execution_released(e, j, VERB_RELEASE, 0, now);
    }
}

/* Was it told to stop? A worker that is done all the same is believed. */
static bool cancelled(struct engine *e, struct gather *g, const struct act *a,
                      struct job *j, struct now now)
{
    struct outcome o = {.verb = a->verb, .usage = usage_of(a)};
    if (a->nack != NULL) {
        o.error = a->nack->error;
        o.type = a->nack->type;
    }
    return a->verb != VERB_ACK && execution_cancelled(e, g, j, &o, now);
}

/* Find the lease and what its end will read, unless it only goes on. */
static enum err prepare(struct engine *e, struct gather *g, const struct act *a,
                        const struct token *token, struct job **j,
                        struct errbuf *err)
{
    enum err rc = token_job(e, g, token, a->verb, j, err);
    if (rc == ERR_OK && a->verb != VERB_NONE)
        rc = finish_gather(e, g, *j, a->ack == NULL ? 0 : a->ack->result.len,
                           err);
    return rc;
}

/* They are looked up twice, but read once. */
static const struct token *parse_all(struct engine *e,
                                     const struct slice *texts, uint32_t n)
{
    buf_clear(&e->tokens);
    struct token *t = (void *)buf_room(&e->tokens, n * sizeof(*t));
    for (uint32_t i = 0; i < n; i++)
        if (!token_parse(texts[i], &t[i]))
            t[i].n = 0;
    return t;
}

#define AHEAD 4 /* tokens: long enough for a job to come from memory */

/* The jobs of those behind token i, and for what stands in these. */
static void expect(const struct engine *e, const struct token *tokens,
                   uint32_t n, uint32_t i)
{
    if (i + 2 * AHEAD < n && tokens[i + 2 * AHEAD].n > 0)
        job_expect(e, &tokens[i + 2 * AHEAD].id);
    if (i + AHEAD < n && tokens[i + AHEAD].n > 0)
        job_expect_limits(e, &tokens[i + AHEAD].id);
}

/* Ask for the rows of all, or of as many as there is time for. */
static enum err rehearse(struct engine *e, struct gather *g,
                         const struct act *a, const struct token *tokens,
                         uint32_t *n, bool may_cut, struct errbuf *err)
{
    enum err rc = ERR_OK;
    struct job *j;
    if (may_cut)
        cut_begin(e, g);
    for (uint32_t i = 0; i < *n; i++) {
        expect(e, tokens, *n, i);
        if (prepare(e, g, a, &tokens[i], &j, err) == ERR_PENDING)
            rc = ERR_PENDING;
        if (may_cut && cut_here(e, i))
            *n = i + 1;
    }
    return rc;
}

static enum err for_each(struct engine *e, struct gather *g,
                         const struct slice *texts, uint32_t n, uint32_t *cut,
                         const struct act *a, struct now now, token_fn fn,
                         void *ud, struct errbuf *err)
{
    const struct token *tokens = parse_all(e, texts, n);
    struct job *j;
    /* One token needs no rehearsal. */
    enum err all =
        n > 1 ? rehearse(e, g, a, tokens, &n, cut != NULL, err) : ERR_OK;
    if (cut != NULL)
        *cut = n;
    if (all != ERR_OK)
        return all;
    if (cut != NULL)
        slice_begin(e);
    for (uint32_t i = 0; i < n; i++) {
        enum err rc = prepare(e, g, a, &tokens[i], &j, err);
        if (rc == ERR_PENDING && i == 0)
            return rc;
        if (rc == ERR_PENDING) {
            /* An earlier token changed what this one needs. */
            if (cut != NULL) {
                *cut = i;
                return ERR_OK;
            }
            rc = prepare(e, NULL, a, &tokens[i], &j, err);
        }
        if (rc == ERR_OK) {
            close_name(e, a->nack, now);
            if (!cancelled(e, g, a, j, now))
                act_on(e, g, a, j, now);
        } else if (rc == ERR_BUSY) {
            rc = ERR_OK; /* the same verb again: the same answer */
        }
        fn(ud, i, rc, rc == ERR_OK ? "" : err->text);
        if (cut != NULL && cut_here(e, i))
            *cut = n = i + 1;
    }
    return ERR_OK;
}

enum err engine_ack(struct engine *e, struct gather *g,
                    const struct ack_params *p, struct now now, token_fn fn,
                    void *ud, struct errbuf *err)
{
    struct act a = {.verb = VERB_ACK, .ack = p};
    if (p->result.len > e->config.payload_max)
        return err_set(
            err, ERR_LIMIT, "RESULT has %zu bytes; at most %llu are allowed",
            p->result.len, (unsigned long long)e->config.payload_max);
    return for_each(e, g, p->tokens, p->n, p->cut, &a, now, fn, ud, err);
}

enum err engine_nack(struct engine *e, struct gather *g,
                     const struct nack_params *p, struct now now, token_fn fn,
                     void *ud, struct errbuf *err)
{
    struct act a = {.verb = p->snooze ? VERB_SNOOZE : VERB_FAIL, .nack = p};
    if (p->delay_ms > DURATION_MS_MAX)
        return err_set(err, ERR_LIMIT, "a delay of more than 100 years");
    if (p->close.len > 0) {
        enum err rc = limit_name_check(p->close, err);
        if (rc != ERR_OK)
            return rc;
        if (p->close_ms > TIME_MS_MAX)
            return err_set(err, ERR_LIMIT, "UNTIL lies behind the year 9999");
    }
    return for_each(e, g, p->tokens, p->n, p->cut, &a, now, fn, ud, err);
}

enum err engine_release(struct engine *e, struct gather *g,
                        const struct slice *tokens, uint32_t n, uint32_t *cut,
                        struct now now, token_fn fn, void *ud,
                        struct errbuf *err)
{
    struct act a = {.verb = VERB_RELEASE};
    return for_each(e, g, tokens, n, cut, &a, now, fn, ud, err);
}

/* Of a lease's row: with its key, a worker and a session more than there is. */
#define RUN_BYTES ((size_t)384)

/* Only those that get another length are written. */
static enum err renewals_fit(struct engine *e, const struct slice *tokens,
                             uint32_t n, uint64_t lease_ms, struct errbuf *err)
{
    size_t bytes = STEP_BYTES + n * RUN_BYTES;
    struct token t;
    if (entry_has_room(e, bytes, err) == ERR_OK)
        return ERR_OK;
    for (uint32_t i = 0; i < n; i++) {
        struct job *j = token_parse(tokens[i], &t) ? job_get(e, &t.id) : NULL;
        if (lease_ms == 0 || j == NULL || j->state != JOB_RUNNING ||
            j->lease_ms == lease_ms)
            bytes -= RUN_BYTES;
    }
    return entry_has_room(e, bytes, err);
}

/* While others are read leases do not run out: each lives on for its length, or
 * for the new one if that is shorter. Nothing is written, and it is renewed
 * when it is answered. */
static void hold_all(struct engine *e, const struct token *tokens, uint32_t n,
                     uint64_t lease_ms, struct now now)
{
    for (uint32_t i = 0; i < n; i++) {
        struct job *j = token_in_force(e, &tokens[i]);
        if (j == NULL || j->timeout_mono_ms <= now.mono_ms)
            continue;
        bool shorter = lease_ms > 0 && lease_ms < j->lease_ms;
        lease_hold(e, j, shorter ? lease_ms : j->lease_ms, now);
    }
}

/* A renewal looks at memory alone. Only why one is lost may have to be read,
 * and that comes first: it is lost anyway. So is what only the reaper has not
 * seen yet to be past its time limit, which no renewal moves. */
enum err engine_extend(struct engine *e, struct gather *g,
                       const struct extend_params *p, struct now now,
                       extend_fn fn, void *ud, struct errbuf *err)
{
    const struct act a = {.verb = VERB_NONE};
    uint32_t n = p->n;
    if (p->lease_ms > e->config.lease_ms_max)
        return err_set(err, ERR_LIMIT,
                       "FOR %llu ms is above the limit of %llu ms",
                       (unsigned long long)p->lease_ms,
                       (unsigned long long)e->config.lease_ms_max);
    const struct token *tokens = parse_all(e, p->tokens, n);
    enum err rc = rehearse(e, g, &a, tokens, &n, p->cut != NULL, err);
    if (p->cut != NULL)
        *p->cut = n;
    if (rc == ERR_PENDING)
        hold_all(e, tokens, p->n, p->lease_ms, now);
    if (rc == ERR_OK && p->lease_ms > 0)
        rc = renewals_fit(e, p->tokens, n, p->lease_ms, err);
    if (rc != ERR_OK)
        return rc;
    for (uint32_t i = 0; i < n; i++) {
        struct job *j;
        rc = prepare(e, g, &a, &tokens[i], &j, err);
        /* Gone since the rehearsal. */
        if (rc == ERR_PENDING && i == 0)
            return rc;
        if (rc == ERR_PENDING && p->cut != NULL) {
            *p->cut = i;
            return ERR_OK;
        }
        if (rc == ERR_PENDING)
            rc = prepare(e, NULL, &a, &tokens[i], &j, err);
        if (rc == ERR_OK && j->timeout_mono_ms <= now.mono_ms)
            rc = ERR_STALE;
        if (rc != ERR_OK) {
            fn(ud, i, 0, ORDER_LOST, rc);
            continue;
        }
        lease_renew(e, j, p->lease_ms, now);
        fn(ud, i, j->reap_mono_ms - now.mono_ms,
           (j->run_flags & RUNF_CANCEL) != 0 ? ORDER_CANCEL : ORDER_CONTINUE,
           ERR_OK);
    }
    return ERR_OK;
}

/* --- notes that an execution leaves -------------------------------------- */

static enum err holder(struct engine *e, struct gather *g, struct slice token,
                       struct job **j, struct errbuf *err)
{
    enum err rc = token_find(e, g, token, VERB_NONE, j, err);
    /* An execution never ends by no verb. */
    ASSERT(rc != ERR_BUSY);
    return rc;
}

enum err engine_progress(struct engine *e, struct gather *g, struct slice token,
                         uint32_t percent, struct slice text, struct now now,
                         struct errbuf *err)
{
    struct job *j;
    struct rec_more m;
    if (percent > 100)
        return err_set(err, ERR_SYNTAX, "progress is 0 to 100, not %u",
                       (unsigned)percent);
    if (text.len > BODY_INLINE_MAX)
        return err_set(err, ERR_LIMIT,
                       "TEXT has %zu bytes; at most %d are allowed", text.len,
                       BODY_INLINE_MAX);
    enum err rc = holder(e, g, token, &j, err);
    if (rc != ERR_OK)
        return rc;
    job_more(j, &m);
    m.progress = percent;
    m.progress_text = text;
    j->progress = percent;
    job_store(e, j, &m);
    report(e, EVENT_JOB_PROGRESS, j, now, percent, text);
    return ERR_OK;
}

enum err engine_checkpoint(struct engine *e, struct gather *g,
                           struct slice token, struct slice bytes,
                           struct now now, struct errbuf *err)
{
    struct job *j;
    struct rec_more m;
    struct key k;
    (void)now;
    if (bytes.len > e->config.payload_max)
        return err_set(err, ERR_LIMIT,
                       "checkpoint has %zu bytes; at most %llu are allowed",
                       bytes.len, (unsigned long long)e->config.payload_max);
    enum err rc = holder(e, g, token, &j, err);
    if (rc != ERR_OK)
        return rc;
    job_more(j, &m);
    struct slice key = key_body(&k, &j->id, BODY_CHECKPOINT, 0);
    if (bytes.len > BODY_INLINE_MAX) {
        memcpy(store_put(e->store, FAMILY_BODIES, key, bytes.len, false),
               bytes.data, bytes.len);
        m.checkpoint = SLICE_EMPTY;
        j->flags |= JOBF_CHECKPOINT;
    } else {
        if ((j->flags & JOBF_CHECKPOINT) != 0)
            store_del(e->store, FAMILY_BODIES, key);
        m.checkpoint = bytes;
        j->flags &= ~(uint32_t)JOBF_CHECKPOINT;
    }
    job_store(e, j, &m);
    return ERR_OK;
}

enum err engine_effect(struct engine *e, struct gather *g, struct slice token,
                       struct slice name, struct now now, bool *first,
                       struct errbuf *err)
{
    struct job *j;
    struct key k;
    struct slice value;
    char bytes[KEY_NAME_MAX];
    (void)now;
    if (name.len == 0 || name.len > UNIQUE_MAX)
        return err_set(err, ERR_LIMIT,
                       "effect key has %zu bytes; 1 to %d are "
                       "allowed",
                       name.len, UNIQUE_MAX);
    enum err rc = holder(e, g, token, &j, err);
    if (rc != ERR_OK)
        return rc;
    memcpy(bytes, j->id.bytes, ID_LEN);
    memcpy(bytes + ID_LEN, name.data, name.len);
    struct slice key =
        key_key(&k, KEY_EFFECT, slice_of(bytes, ID_LEN + name.len));
    rc = store_get(e->store, g, FAMILY_KEYS, key, &value, err);
    *first = rc == ERR_NOTFOUND;
    if (rc == ERR_NOTFOUND)
        rc = effect_fits(e, g, j, key, err);
    if (rc != ERR_OK || !*first)
        return rc;
    struct rec_mark mark = {0};
    rec_mark_encode(&mark, store_put(e->store, FAMILY_KEYS, key,
                                     rec_mark_size(&mark), false));
    if ((j->flags & JOBF_EFFECTS) == 0) {
        j->flags |= JOBF_EFFECTS;
        job_store(e, j, NULL);
    }
    return ERR_OK;
}
