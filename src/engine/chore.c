/* Chores: work that touches more jobs than one call may.
 *
 *     JOB.BULK, QUEUE.PURGE, DEAD.RETRY --> chore: verb, filter, position
 *     engine_tick() --> a slice: walk on, do the verb, write the position
 *
 * The position and what was done lie in one entry, so after a crash a chore
 * goes on exactly behind what it has done. A slice is a bounded number of rows
 * and jobs, about a millisecond; a chore with a rate waits between slices.
 * Chores take turns. A chore reads with a gather of its own: while its rows are
 * fetched, timers and commands go on.
 *
 * Only jobs that were there when the chore began are touched: a job that is
 * retried and fails again is not retried for ever. Each verb looks only where
 * it can do something, so what a cancelled job becomes is not met again.
 *
 * QUEUE.PURGE is another thing: it happens at once, and its chore only frees
 * rows (purge.c).
 */
#include "engine/core.h"

#define SLICE_ROWS 256
#define SLICE_JOBS 64
#define CHORES_MAX 1000
#define BUSY_AGAIN_MS 10  /* with a busy base: look whether it still is, ... */
#define BUSY_SLICE_MS 100 /* ... and a slice in spite of it */
#define KEPT_MS ((uint64_t)24 * 3600 * 1000)

enum chore_state {
    CHORE_ACTIVE = 1, /* stored: never renumber */
    CHORE_DONE = 2,
    CHORE_CANCELLED = 3,
    CHORE_FAILED = 4,
};

static const char *const state_names[] = {
    [CHORE_ACTIVE] = "active",
    [CHORE_DONE] = "done",
    [CHORE_CANCELLED] = "cancelled",
    [CHORE_FAILED] = "failed",
};

/* Stored like a manage_verb, but nothing that can be done with one job. */
#define CHORE_PURGE 7

static const char *const verb_names[] = {
    [MANAGE_CANCEL] = "cancel", [MANAGE_RUNNOW] = "runnow",
    [MANAGE_HOLD] = "hold",     [MANAGE_UNHOLD] = "unhold",
    [MANAGE_RETRY] = "retry",   [MANAGE_DELETE] = "delete",
    [CHORE_PURGE] = "purge",
};

struct chore {
    struct list in_all;
    struct id id;
    struct rec_chore r; /* slices point into `row` */
    struct buf row;
    struct job_filter filter; /* slices too */
    struct list_pos pos;
    /* Ids behind the position that had their turn before an entry was full, and
     * are still found there. A restart forgets them and counts them again. */
    struct buf acted;
    struct purge purge;    /* instead of the position, if it is one */
    uint32_t fewer;        /* jobs than SLICE_JOBS: they take their time */
    uint64_t next_mono_ms; /* a rate lets it go on then */
};

#define LIVE_WAITING                                             \
    (1u << JOB_BLOCKED | 1u << JOB_SCHEDULED | 1u << JOB_READY | \
     1u << JOB_PARKED | 1u << JOB_RETRYING | 1u << JOB_HELD)
#define ENDED                                                       \
    (1u << JOB_COMPLETED | 1u << JOB_FAILED | 1u << JOB_CANCELLED | \
     1u << JOB_EXPIRED)

/* The states in which each verb does something. */
static const uint32_t states_of[] = {
    [MANAGE_CANCEL] = LIVE_WAITING | 1u << JOB_RUNNING,
    [MANAGE_RUNNOW] = 1u << JOB_SCHEDULED | 1u << JOB_RETRYING,
    [MANAGE_HOLD] = LIVE_WAITING & ~(1u << JOB_HELD),
    [MANAGE_UNHOLD] = 1u << JOB_HELD,
    [MANAGE_RETRY] = ENDED,
    [MANAGE_DELETE] = LIVE_WAITING | ENDED,
};

enum manage_verb manage_verb_parse(struct slice word)
{
    for (unsigned v = MANAGE_CANCEL; v <= MANAGE_DELETE; v++)
        if (slice_eq_nocase(word, slice_str(verb_names[v])))
            return (enum manage_verb)v;
    return (enum manage_verb)0;
}

/* --- rows ---------------------------------------------------------------- */

static void filter_encode(const struct job_filter *f, struct buf *out)
{
    struct rec_filter r = {.queue = f->queue,
                           .handler = f->handler,
                           .owner = f->owner,
                           .worker = f->worker,
                           .key = f->key,
                           .has_tag = f->has_tag,
                           .tag_key = f->tag_key,
                           .tag_value = f->tag_value,
                           .id_prefix = f->id_prefix,
                           .states = f->states,
                           .created_from_ms = f->created_from_ms,
                           .created_to_ms = f->created_to_ms,
                           .finished_from_ms = f->finished_from_ms,
                           .finished_to_ms = f->finished_to_ms,
                           .signature = f->signature};
    size_t len = rec_filter_size(&r);
    buf_clear(out);
    rec_filter_encode(&r, buf_room(out, len));
    out->len = len;
}

static bool filter_decode(struct job_filter *f, struct slice bytes)
{
    struct rec_filter r;
    if (!rec_filter_decode(&r, bytes))
        return false;
    *f = (struct job_filter){.queue = r.queue,
                             .handler = r.handler,
                             .owner = r.owner,
                             .worker = r.worker,
                             .key = r.key,
                             .has_tag = r.has_tag != 0,
                             .tag_key = r.tag_key,
                             .tag_value = r.tag_value,
                             .id_prefix = r.id_prefix,
                             .states = r.states,
                             .created_from_ms = r.created_from_ms,
                             .created_to_ms = r.created_to_ms,
                             .finished_from_ms = r.finished_from_ms,
                             .finished_to_ms = r.finished_to_ms,
                             .signature = r.signature};
    return true;
}

static void chore_store(struct engine *e, struct chore *c)
{
    struct key k;
    if (c->r.verb == CHORE_PURGE) {
        c->r.phase = c->purge.step;
        c->r.next = key_slice(&c->purge.next);
    } else {
        c->r.phase = c->pos.end ? 2 : c->pos.done ? 1 : 0;
        c->r.next = key_slice(&c->pos.next);
        c->r.skip = c->pos.skip;
    }
    rec_chore_encode(&c->r,
                     store_put(e->store, FAMILY_NAMED,
                               key_named(&k, NAMED_CHORE, id_slice(&c->id)),
                               rec_chore_size(&c->r), false));
}

/* Take the row's bytes as the chore's own; slices point into them. */
static bool chore_take(struct engine *e, struct chore *c, struct slice bytes)
{
    buf_clear(&c->row);
    buf_add_slice(&c->row, bytes);
    if (!rec_chore_decode(&c->r, buf_slice(&c->row)) ||
        c->r.verb < MANAGE_CANCEL || c->r.verb > CHORE_PURGE ||
        c->r.state < CHORE_ACTIVE || c->r.state > CHORE_FAILED ||
        c->r.next.len > KEY_MAX || !filter_decode(&c->filter, c->r.filter))
        return false;
    struct key *next = c->r.verb == CHORE_PURGE ? &c->purge.next : &c->pos.next;
    next->len = (uint16_t)c->r.next.len;
    memcpy(next->bytes, c->r.next.data, c->r.next.len);
    if (c->r.verb == CHORE_PURGE) {
        c->purge.queue = queue_find(e, c->filter.queue);
        c->purge.step = c->r.phase;
        return c->purge.queue != NULL && c->r.phase <= PURGE_LANES;
    }
    c->pos.done = c->r.phase >= 1;
    c->pos.end = c->r.phase >= 2;
    c->pos.skip = c->r.skip;
    return true;
}

static void chore_free(struct engine *e, struct chore *c)
{
    list_remove(&c->in_all);
    e->chores_n--;
    buf_release(&c->row);
    buf_release(&c->acted);
    mem_free(c);
}

static void chore_forget(struct engine *e, struct chore *c)
{
    struct key k;
    store_del(e->store, FAMILY_NAMED,
              key_named(&k, NAMED_CHORE, id_slice(&c->id)));
    chore_free(e, c);
}

static struct chore *chore_new(struct engine *e, const struct id *id)
{
    struct chore *c = NEW(struct chore);
    c->id = *id;
    list_append(&e->chores, &c->in_all);
    e->chores_n++;
    return c;
}

enum err chore_load_row(struct engine *e, struct slice key, struct slice value,
                        struct errbuf *err)
{
    uint8_t kind;
    struct slice name;
    struct id id;
    if (!key_parse_named(key, &kind, &name) || name.len != ID_LEN)
        return err_set(err, ERR_CORRUPT, "family named: bad key of a chore");
    memcpy(id.bytes, name.data, ID_LEN);
    struct chore *c = chore_new(e, &id);
    if (chore_take(e, c, value))
        return ERR_OK;
    chore_free(e, c);
    return err_set(err, ERR_CORRUPT, "family named: bad row of a chore");
}

void chores_init(struct engine *e)
{
    list_init(&e->chores);
    e->chore_gather = gather_new(e->store);
}

void chores_free(struct engine *e)
{
    gather_free(&e->chore_gather);
    struct list *it;
    while ((it = list_first(&e->chores)) != NULL)
        chore_free(e, CONTAINER_OF(it, struct chore, in_all));
}

/* --- a slice ------------------------------------------------------------- */

static void chore_end(struct engine *e, struct chore *c, enum chore_state how,
                      struct now now)
{
    c->r.state = (uint8_t)how;
    c->r.finished_ms = now.wall_ms;
    chore_store(e, c);
}

static void fetched(void *ud)
{
    struct engine *e = ud;
    CHECK_OBJ(e, ENGINE);
    e->chore_fetching = false;
    e->chore_came = true;
}

static void take_id(void *ud, const struct job_view *v)
{
    buf_add(ud, v->id.bytes, ID_LEN);
}

static struct id id_at(const struct buf *ids, size_t i)
{
    struct id id;
    memcpy(id.bytes, ids->data + i * ID_LEN, ID_LEN);
    return id;
}

/* Is all at hand that the verb needs for these jobs? */
static enum err rehearse(struct engine *e, const struct manage *a,
                         const struct buf *ids, struct now now)
{
    enum err all = ERR_OK;
    struct errbuf err;
    for (size_t i = 0; i < ids->len / ID_LEN; i++) {
        struct id id = id_at(ids, i);
        if (manage_examine(e, e->chore_gather, a, &id, now, &err) ==
            ERR_PENDING)
            all = ERR_PENDING;
    }
    return all;
}

/* *acted: so many of them, at least one, the entry had room for. ERR_PENDING:
 * not all that the first needs is at hand. */
static enum err act(struct engine *e, struct chore *c, const struct manage *a,
                    const struct buf *ids, struct now now, uint32_t *acted)
{
    struct gather *g = e->chore_gather;
    struct errbuf err;
    uint32_t n = (uint32_t)(ids->len / ID_LEN), i = 0;
    for (; i < n && (i == 0 || !slice_full(e)); i++) {
        struct id id = id_at(ids, i);
        enum err rc = manage_examine(e, g, a, &id, now, &err);
        if (rc == ERR_OK)
            rc = manage_do(e, g, a, &id, now, &err);
        if (rc == ERR_PENDING) /* the one before it changed what it needs */
            break;
        if (rc == ERR_OK || rc == ERR_BUSY)
            c->r.done++;
        else
            c->r.refused++;
    }
    *acted = i;
    return i == 0 && n > 0 ? ERR_PENDING : ERR_OK;
}

static bool has_id(struct slice ids, const char *id)
{
    for (size_t at = 0; at < ids.len; at += ID_LEN)
        if (memcmp(ids.data + at, id, ID_LEN) == 0)
            return true;
    return false;
}

/* Those of `ids` that are not among `others`, in their order. */
static void ids_without(const struct buf *ids, struct slice others,
                        struct buf *out)
{
    buf_clear(out);
    for (size_t at = 0; at < ids->len; at += ID_LEN)
        if (!has_id(others, ids->data + at))
            buf_add(out, ids->data + at, ID_LEN);
}

static uint32_t jobs_of_slice(const struct engine *e, const struct chore *c)
{
    uint64_t most = e->config.slice_ops < SLICE_JOBS - c->fewer
                        ? e->config.slice_ops
                        : SLICE_JOBS - c->fewer;
    /* Twenty slices a second, or one job at a time. */
    if (c->r.rate > 0 && c->r.rate / 20 < most)
        most = c->r.rate / 20 + 1;
    if (c->r.dry != 0)
        most = SLICE_ROWS;
    return (uint32_t)most;
}

static enum err slice_of_purge(struct engine *e, struct chore *c,
                               struct now now, struct errbuf *err)
{
    struct purge *p = &c->purge;
    p->expected = c->r.matched;
    p->done = c->r.done;
    p->examined = c->r.examined;
    enum err rc = purge_slice(e, e->chore_gather, p, now, err);
    if (rc != ERR_OK)
        return rc;
    c->r.done = p->done;
    c->r.examined = p->examined;
    c->r.updated_ms = now.wall_ms;
    if (p->step == PURGE_END)
        chore_end(e, c, CHORE_DONE, now);
    else
        chore_store(e, c);
    return ERR_OK;
}

/* A slice ends: `found` is what was walked over, in `ids`, of which the first
 * `acted` of `left` have had their turn now. */
static void slice_end(struct engine *e, struct chore *c,
                      const struct list_pos *pos,
                      const struct list_result *found, const struct buf *ids,
                      const struct buf *left, uint32_t acted, struct now now)
{
    uint32_t n = (uint32_t)(left->len / ID_LEN);
    bool all = c->r.dry != 0 || acted == n;
    /* A millisecond was too short for so many: half as many next time. */
    if (slice_over(e))
        c->fewer += (SLICE_JOBS - c->fewer) / 2;
    else if (c->fewer > 0)
        c->fewer--;
    if (all) {
        c->pos = *pos;
        c->r.examined += found->examined - (found->n - n);
        c->r.matched += n;
        buf_clear(&c->acted);
    } else { /* again from where it began */
        size_t at = (size_t)acted * ID_LEN;
        c->r.examined += acted;
        c->r.matched += acted;
        ids_without(ids, slice_of(left->data + at, left->len - at), &c->acted);
    }
    c->r.updated_ms = now.wall_ms;
    if (c->r.rate > 0 && c->r.dry == 0)
        c->next_mono_ms = now.mono_ms + (uint64_t)acted * 1000 / c->r.rate;
    if (all && pos->end)
        chore_end(e, c, CHORE_DONE, now);
    else
        chore_store(e, c);
}

static enum err slice(struct engine *e, struct chore *c, struct now now,
                      struct errbuf *err)
{
    if (c->r.verb == CHORE_PURGE)
        return slice_of_purge(e, c, now, err);
    struct manage a = {.verb = (enum manage_verb)c->r.verb};
    struct list_pos pos = c->pos;
    struct list_result found;
    struct buf ids = {0}, left = {0};
    uint32_t most = jobs_of_slice(e, c) + (uint32_t)(c->acted.len / ID_LEN);
    enum err rc = list_walk(e, e->chore_gather, &c->filter, &pos, most,
                            SLICE_ROWS, now, take_id, &ids, &found, err);
    ids_without(&ids, buf_slice(&c->acted), &left);
    if (rc == ERR_OK && c->r.dry == 0)
        rc = rehearse(e, &a, &left, now);
    if (rc == ERR_OK) {
        uint32_t acted = 0;
        if (c->r.dry == 0)
            rc = act(e, c, &a, &left, now, &acted);
        if (rc == ERR_OK)
            slice_end(e, c, &pos, &found, &ids, &left, acted, now);
    }
    buf_release(&ids);
    buf_release(&left);
    return rc;
}

/* A chore makes changes as fast as the loop can; the base takes longer to take
 * them in, and then it is others who are slowed down, or refused. A slice now
 * and then is made all the same: those who are many may be at it for hours. */
static bool must_wait(const struct engine *e, const struct chore *c,
                      struct now now)
{
    return c->r.dry == 0 && !e->chore_came &&
           now.mono_ms - e->chore_ran_mono_ms < BUSY_SLICE_MS &&
           store_base_is_busy(e->store);
}

bool chore_step(struct engine *e, struct now now)
{
    ASSERT(!e->chore_fetching);
    uint64_t next = UINT64_MAX;
    struct chore *ready = NULL;
    LIST_FOR (it, &e->chores) {
        struct chore *c = CONTAINER_OF(it, struct chore, in_all);
        if (c->r.state != CHORE_ACTIVE)
            continue;
        if (ready == NULL && c->next_mono_ms <= now.mono_ms)
            ready = c;
        else if (c->next_mono_ms < next)
            next = c->next_mono_ms;
    }
    if (ready != NULL && must_wait(e, ready, now)) {
        e->chore_next_mono_ms = now.mono_ms + BUSY_AGAIN_MS;
        return false;
    }
    if (ready != NULL) {
        struct errbuf err;
        slice_begin(e);
        e->chore_came = false;
        e->chore_ran_mono_ms = now.mono_ms;
        enum err rc = slice(e, ready, now, &err);
        if (rc == ERR_PENDING) {
            e->chore_fetching = true;
            store_fetch(e->store, e->chore_gather, fetched, e);
            return false;
        }
        if (rc != ERR_OK) {
            fault(e, now, &err);
            chore_end(e, ready, CHORE_FAILED, now);
        }
        /* The others first. */
        list_remove(&ready->in_all);
        list_append(&e->chores, &ready->in_all);
        if (ready->r.state == CHORE_ACTIVE && ready->next_mono_ms < next)
            next = ready->next_mono_ms;
    }
    e->chore_next_mono_ms = next;
    return next <= now.mono_ms;
}

uint64_t chore_next_ms(const struct engine *e)
{
    return e->chore_fetching ? UINT64_MAX : e->chore_next_mono_ms;
}

/* --- operations ---------------------------------------------------------- */

/* Old ones go when a new one comes. */
static void forget_old(struct engine *e, struct now now)
{
    LIST_FOR (it, &e->chores) {
        struct chore *c = CONTAINER_OF(it, struct chore, in_all);
        if (c->r.state != CHORE_ACTIVE &&
            (c->r.finished_ms + KEPT_MS <= now.wall_ms ||
             e->chores_n >= CHORES_MAX))
            chore_forget(e, c);
    }
}

static enum err room_for_one(struct engine *e, struct now now,
                             struct errbuf *err)
{
    forget_old(e, now);
    if (e->chores_n >= CHORES_MAX)
        return err_set(err, ERR_LIMIT, "there are %d chores already",
                       CHORES_MAX);
    return ERR_OK;
}

/* `r` says verb and settings. */
static struct id chore_begin(struct engine *e, struct rec_chore *r,
                             const struct job_filter *f, struct now now)
{
    static const struct queue anywhere;
    struct id id = id_next(e, &anywhere, now);
    struct buf filter = {0}, row = {0};
    filter_encode(f, &filter);
    r->state = CHORE_ACTIVE;
    r->filter = buf_slice(&filter);
    r->created_ms = r->updated_ms = now.wall_ms;
    size_t len = rec_chore_size(r);
    rec_chore_encode(r, buf_room(&row, len));
    row.len = len;
    struct chore *c = chore_new(e, &id);
    bool good = chore_take(e, c, buf_slice(&row));
    ASSERT(good);
    chore_store(e, c);
    e->chore_next_mono_ms = 0;
    buf_release(&filter);
    buf_release(&row);
    return id;
}

enum err engine_bulk(struct engine *e, const struct bulk_params *p,
                     struct now now, struct id *id, struct errbuf *err)
{
    struct job_filter f = *p->filter;
    uint32_t may = states_of[p->verb];
    enum err rc = list_examine(&f, err);
    if (rc != ERR_OK)
        return rc;
    if (f.finished_from_ms > 0 || f.finished_to_ms > 0) {
        may &= ENDED;
        if (may == 0)
            return err_set(err, ERR_SYNTAX,
                           "%s and FINISHED exclude each other: it does "
                           "nothing to jobs that have ended",
                           verb_names[p->verb]);
    }
    f.states = f.states == 0 ? may : f.states & may;
    if (f.states == 0)
        return err_set(err, ERR_SYNTAX,
                       "%s does nothing to jobs in the states asked for",
                       verb_names[p->verb]);
    rc = room_for_one(e, now, err);
    if (rc != ERR_OK)
        return rc;
    /* What comes later is not meant. */
    uint64_t last_ms = e->id_ms > now.wall_ms ? e->id_ms : now.wall_ms;
    if (f.created_to_ms == 0 || f.created_to_ms > last_ms)
        f.created_to_ms = last_ms;
    if ((f.states & ~(uint32_t)ENDED) == 0 &&
        (f.finished_to_ms == 0 || f.finished_to_ms > now.wall_ms))
        f.finished_to_ms = now.wall_ms;
    struct rec_chore r = {
        .verb = (uint8_t)p->verb, .dry = p->dry, .rate = p->rate};
    *id = chore_begin(e, &r, &f, now);
    return ERR_OK;
}

/* One purge of a queue at a time: another one while its rows are being freed
 * makes it begin anew, with more to free. */
static struct chore *purge_of(struct engine *e, const struct queue *q)
{
    LIST_FOR (it, &e->chores) {
        struct chore *c = CONTAINER_OF(it, struct chore, in_all);
        if (c->r.verb == CHORE_PURGE && c->r.state == CHORE_ACTIVE &&
            c->purge.queue == q)
            return c;
    }
    return NULL;
}

enum err engine_purge(struct engine *e, struct slice queue, struct now now,
                      struct id *id, struct errbuf *err)
{
    struct queue *q = queue_find(e, queue);
    if (q == NULL || !q->stored)
        return err_set(err, ERR_NOTFOUND, "no such queue");
    struct chore *c = purge_of(e, q);
    if (c != NULL) {
        c->r.matched += purge_begin(e, q);
        c->purge = (struct purge){.queue = q};
        c->r.updated_ms = now.wall_ms;
        chore_store(e, c);
        e->chore_next_mono_ms = 0;
        *id = c->id;
        return ERR_OK;
    }
    enum err rc = room_for_one(e, now, err);
    if (rc != ERR_OK)
        return rc;
    struct job_filter f = {.queue = q->name};
    struct rec_chore r = {.verb = CHORE_PURGE, .matched = purge_begin(e, q)};
    *id = chore_begin(e, &r, &f, now);
    return ERR_OK;
}

static void view_of(const struct chore *c, struct chore_view *v)
{
    *v = (struct chore_view){
        .id = c->id,
        .verb = slice_str(verb_names[c->r.verb]),
        .state = slice_str(state_names[c->r.state]),
        .filter = &c->filter,
        .dry = c->r.dry != 0,
        .rate = c->r.rate,
        .examined = c->r.examined,
        .matched = c->r.matched,
        .done = c->r.done,
        .refused = c->r.refused,
        .created_ms = c->r.created_ms,
        .updated_ms = c->r.updated_ms,
        .finished_ms = c->r.finished_ms,
    };
}

static struct chore *find(struct engine *e, struct slice text)
{
    struct id id;
    if (!id_parse(text, &id))
        return NULL;
    LIST_FOR (it, &e->chores) {
        struct chore *c = CONTAINER_OF(it, struct chore, in_all);
        if (id_eq(&c->id, &id))
            return c;
    }
    return NULL;
}

void engine_chores(struct engine *e, chore_fn fn, void *ud)
{
    LIST_FOR (it, &e->chores) {
        struct chore_view v;
        view_of(CONTAINER_OF(it, struct chore, in_all), &v);
        fn(ud, &v);
    }
}

enum err engine_chore(struct engine *e, struct slice id, struct chore_view *v,
                      struct errbuf *err)
{
    struct chore *c = find(e, id);
    if (c == NULL)
        return err_set(err, ERR_NOTFOUND, "no such chore");
    view_of(c, v);
    return ERR_OK;
}

enum err engine_chore_cancel(struct engine *e, struct slice id, struct now now,
                             struct errbuf *err)
{
    struct chore *c = find(e, id);
    if (c == NULL)
        return err_set(err, ERR_NOTFOUND, "no such chore");
    if (c->r.state == CHORE_CANCELLED)
        return ERR_OK;
    if (c->r.state != CHORE_ACTIVE)
        return err_set(err, ERR_FINISHED, "the chore has already ended");
    if (c->r.verb == CHORE_PURGE)
        return err_set(err, ERR_STATE,
                       "the jobs are purged; only their rows are still there");
    chore_end(e, c, CHORE_CANCELLED, now);
    return ERR_OK;
}
