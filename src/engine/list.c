/* Lists of jobs: a walk over rows from a position.
 *
 *     jobs (live, by id)  -->  done: bucket by bucket, its index by queue,
 *                              state and time
 *
 * Where queue and states are asked for, only those parts of the index are
 * walked whose counters are not zero, and live jobs only if theirs are not.
 * Running jobs alone are found in `runs`, which has the same keys. What begins
 * with some characters of an id, or was created in some time, is a range of
 * ids, and of live jobs only that range is walked; a whole id is looked up. A
 * call examines a bounded number of rows and says where it stopped; the
 * position is a key, so it stays good while rows come and go around it.
 */
#include "engine/core.h"

#define ROWS_A_CALL 1000 /* about a millisecond */
#define BLOCKS_A_SCAN 64 /* of the index: each names many jobs */
#define SCAN_MIN 4       /* more with each scan that was not enough */
#define HOUR_MS ((uint64_t)3600 * 1000)
#define LIVE_STATES (((uint32_t)1 << (JOB_RUNNING + 1)) - 2)

/* --- what fits ----------------------------------------------------------- */

static bool any_live(const struct job_filter *f)
{
    return (f->states == 0 || (f->states & LIVE_STATES) != 0) &&
           f->finished_from_ms == 0 && f->finished_to_ms == 0;
}

/* The counters of its queue say that no live job fits. */
static bool none_live(struct engine *e, const struct job_filter *f)
{
    if (f->queue.len == 0)
        return false;
    const struct queue *q = queue_find(e, f->queue);
    for (unsigned s = JOB_BLOCKED; q != NULL && s <= JOB_RUNNING; s++)
        if ((f->states == 0 || (f->states >> s & 1) != 0) && q->counts[s] > 0)
            return false;
    return true;
}

/* Of live jobs only those that run have a worker. */
static bool only_running(const struct job_filter *f)
{
    return f->worker.len > 0 || (f->states & LIVE_STATES) == (uint32_t)1
                                                                 << JOB_RUNNING;
}

static bool any_done(const struct job_filter *f)
{
    return f->states == 0 || (f->states & ~LIVE_STATES) != 0;
}

static bool state_fits(const struct job_filter *f, unsigned state)
{
    return f->states == 0 || (f->states >> state & 1) != 0;
}

static bool in_range(uint64_t ms, uint64_t from, uint64_t to)
{
    return ms >= from && (to == 0 || ms <= to);
}

/* Ids sort by creation, so those that fit lie between two. False: none can. */
static bool id_range(const struct job_filter *f, struct id *low,
                     struct id *high)
{
    char first[ID_TEXT_LEN], last[ID_TEXT_LEN];
    memset(first, '0', sizeof(first));
    memset(last, 'Z', sizeof(last));
    last[0] = '7'; /* of the first digit there are three bits */
    for (size_t i = 0; i < f->id_prefix.len && i < ID_TEXT_LEN; i++)
        first[i] = last[i] = f->id_prefix.data[i];
    if (!id_parse(slice_of(first, sizeof(first)), low) ||
        !id_parse(slice_of(last, sizeof(last)), high))
        return false;
    struct id from = id_make(f->created_from_ms & WALL_MS_MAX, 0, 0, 0);
    struct id to = id_make(f->created_to_ms & WALL_MS_MAX, UINT16_MAX,
                           UINT32_MAX, UINT32_MAX);
    if (id_cmp(low, &from) < 0)
        *low = from;
    if (f->created_to_ms > 0 && f->created_to_ms < WALL_MS_MAX &&
        id_cmp(high, &to) > 0)
        *high = to;
    return id_cmp(low, high) <= 0;
}

static bool tag_fits(const struct job_filter *f, struct slice tags)
{
    struct slice key, value;
    while (word_next(&tags, &key) && word_next(&tags, &value))
        if (slice_eq(key, f->tag_key) && slice_eq(value, f->tag_value))
            return true;
    return false;
}

static bool fits(const struct job_filter *f, const struct job_view *v)
{
    return state_fits(f, v->state) &&
           (f->queue.len == 0 || slice_eq(f->queue, v->queue)) &&
           (f->handler.len == 0 || slice_eq(f->handler, v->handler)) &&
           (f->owner.len == 0 || slice_eq(f->owner, v->owner)) &&
           (f->worker.len == 0 || slice_eq(f->worker, v->worker)) &&
           (f->key.len == 0 || slice_eq(f->key, v->unique)) &&
           (!f->has_tag || tag_fits(f, v->tags)) &&
           (f->signature == 0 ||
            f->signature == dead_signature(v->error_type, v->error));
}

enum err list_examine(const struct job_filter *f, struct errbuf *err)
{
    if (f->id_prefix.len > ID_TEXT_LEN)
        return err_set(err, ERR_SYNTAX, "ID has %d characters at most",
                       ID_TEXT_LEN);
    bool created =
        f->created_to_ms > 0 && f->created_from_ms > f->created_to_ms;
    if (created ||
        (f->finished_to_ms > 0 && f->finished_from_ms > f->finished_to_ms))
        return err_set(err, ERR_SYNTAX, "%s ends before it begins",
                       created ? "CREATED" : "FINISHED");
    if (!any_live(f) && !any_done(f))
        return err_set(err, ERR_SYNTAX,
                       "STATE and FINISHED exclude each other: none of these "
                       "states is an end");
    if (f->worker.len > 0 && (f->states & LIVE_STATES) == f->states &&
        f->states != 0 && !state_fits(f, JOB_RUNNING))
        return err_set(err, ERR_SYNTAX,
                       "STATE and WORKER exclude each other: a job that waits "
                       "has no worker");
    return ERR_OK;
}

/* --- the walk ------------------------------------------------------------ */

struct walk {
    struct engine *e;
    struct gather *g;
    const struct job_filter *f;
    struct id low, high; /* ids that fit */
    struct now now;
    job_fn fn;
    void *ud;
    struct list_result *r;
    uint64_t count, most; /* to tell, to examine */
    uint32_t scan;        /* rows to read at once */
    struct buf rows;      /* key length, value length, key, value */
    uint32_t rows_n;
    uint32_t skip;  /* of the ids of the row that is being looked at */
    uint64_t asked; /* rows that are missing and will be told */
    bool pending;
};

/* What the id alone says. */
static bool id_fits(const struct walk *w, const struct id *id)
{
    struct slice prefix = w->f->id_prefix;
    char text[ID_TEXT_LEN];
    if (id_cmp(id, &w->low) < 0 || id_cmp(id, &w->high) > 0)
        return false;
    if (prefix.len == 0)
        return true;
    id_text(id, text); /* some letters are read like others */
    return slice_eq_nocase(slice_of(text, prefix.len), prefix);
}

static bool copy_row(struct slice key, struct slice value, void *ud)
{
    struct walk *w = ud;
    uint32_t len[2] = {(uint32_t)key.len, (uint32_t)value.len};
    buf_add(&w->rows, len, sizeof(len));
    buf_add_slice(&w->rows, key);
    buf_add_slice(&w->rows, value);
    w->rows_n++;
    return true;
}

static void tell(struct walk *w, const struct job_view *v)
{
    if (!fits(w->f, v))
        return;
    w->r->n++;
    if (w->fn != NULL)
        w->fn(w->ud, v);
}

/* `family` is jobs, where value is the job's row, or runs. */
static enum err live_row(struct walk *w, enum family family, struct slice key,
                         struct slice value, struct errbuf *err)
{
    struct id id;
    struct job_view v;
    if (!key_parse_id(key, &id))
        return err_set(err, ERR_CORRUPT, "family jobs or runs: bad key");
    if (!id_fits(w, &id))
        return ERR_OK;
    struct job *j = job_get(w->e, &id);
    enum err rc = ERR_OK;
    if (j != NULL && job_purged(j))
        return ERR_OK;
    if (j == NULL && family == FAMILY_RUNS)
        rc = job_load(w->e, w->g, &id, &j, err);
    else if (j == NULL)
        rc = job_load_row(w->e, w->g, &id, value, &j, err);
    if (rc != ERR_OK)
        return rc == ERR_NOTFOUND ? ERR_OK : rc; /* purged */
    job_view_of(w->e, j, w->now, &v);
    tell(w, &v);
    job_drop(w->e, j);
    return ERR_OK;
}

/* Whatever the index leads to is told, but for what only the row itself says.
 */
static bool index_knows(const struct job_filter *f)
{
    return f->handler.len == 0 && f->owner.len == 0 && f->worker.len == 0 &&
           f->key.len == 0 && !f->has_tag && f->signature == 0;
}

/* History is mostly not in memory, and a row that is costs the loop several
 * times what the reader asks for it among others. */
static enum err past_row(struct walk *w, struct slice key, struct slice *row,
                         struct errbuf *err)
{
    struct store *s = w->e->store;
    return w->g == NULL ? store_get(s, NULL, FAMILY_PAST, key, row, err)
                        : store_get_later(s, w->g, FAMILY_PAST, key, row, err);
}

static enum err done_one(struct walk *w, const struct index_key *at,
                         const struct id *id, struct errbuf *err)
{
    struct engine *e = w->e;
    struct key k;
    struct job_view v;
    struct slice row;
    enum err rc = past_row(w, key_past_job(&k, at->bucket, id), &row, err);
    if (rc == ERR_NOTFOUND)
        rc = err_set(err, ERR_CORRUPT, "family index: a row without its job");
    if (rc == ERR_OK)
        rc = done_view(e, id, row, &v, err);
    if (rc == ERR_OK)
        tell(w, &v);
    return rc;
}

static bool enough(const struct walk *w)
{
    return w->r->n + w->asked >= w->count || w->r->examined >= w->most;
}

/* The jobs of a block from w->skip on, which ends at 0 if none is left. Ids
 * that do not fit cost next to nothing: all of a block count as one. */
static enum err done_row(struct walk *w, struct slice key, struct slice value,
                         struct errbuf *err)
{
    struct index_key k;
    struct slice ids;
    struct id id;
    size_t at = w->skip;
    uint64_t examined = w->r->examined;
    w->skip = 0;
    if (!key_parse_index(key, &k) || !index_ids(value, &ids))
        return err_set(err, ERR_CORRUPT, "family index: bad row");
    if (!state_fits(w->f, k.state) ||
        !in_range(k.time_ms, w->f->finished_from_ms, w->f->finished_to_ms)) {
        w->r->examined++;
        return ERR_OK;
    }
    while (!enough(w)) {
        if (!index_next(ids, &at, &id)) {
            if (w->r->examined == examined)
                w->r->examined++;
            return ERR_OK;
        }
        if (!id_fits(w, &id))
            continue;
        w->r->examined++;
        enum err rc = done_one(w, &k, &id, err);
        if (rc == ERR_PENDING) {
            w->pending = true; /* ask for the others too */
            w->asked += index_knows(w->f);
        } else if (rc != ERR_OK) {
            return rc;
        }
    }
    w->skip = at < ids.len ? (uint32_t)at : 0;
    return ERR_OK;
}

/* The rows of [from, to), at most `most`; *all: there were no more. *pos moves
 * behind the last one that was looked at. */
static enum err take_rows(struct walk *w, enum family family,
                          const struct key *from, struct slice to,
                          uint32_t most, struct list_pos *pos, bool *all,
                          struct errbuf *err)
{
    struct slice last = SLICE_EMPTY;
    buf_clear(&w->rows);
    w->rows_n = 0;
    enum err rc = store_scan(w->e->store, w->g, family, key_slice(from), to,
                             most, copy_row, w, err);
    *all = w->rows_n < most;
    for (size_t at = 0; rc == ERR_OK && at < w->rows.len;) {
        uint32_t len[2];
        if (enough(w) || w->skip > 0) {
            *all = false;
            break;
        }
        memcpy(len, w->rows.data + at, sizeof(len));
        at += sizeof(len);
        last = slice_of(w->rows.data + at, len[0]);
        at += len[0];
        struct slice value = slice_of(w->rows.data + at, len[1]);
        at += len[1];
        if (family == FAMILY_INDEX) {
            if (slice_eq(last, key_slice(&pos->next)))
                w->skip = pos->skip;
            rc = done_row(w, last, value, err);
            continue;
        }
        w->r->examined++;
        rc = live_row(w, family, last, value, err);
        if (rc == ERR_PENDING) {
            w->pending = true;
            rc = ERR_OK;
        }
    }
    if (last.len == 0)
        return rc;
    pos->skip = w->skip;
    if (w->skip > 0) {
        *all = false;
        pos->next.len = (uint16_t)last.len;
        memcpy(pos->next.bytes, last.data, last.len);
    } else {
        (void)key_next(&pos->next, last);
    }
    return rc;
}

static bool before(const struct key *a, const struct key *b)
{
    return slice_cmp(key_slice(a), key_slice(b)) < 0;
}

static enum err walk_live(struct walk *w, struct list_pos *pos, uint32_t rows,
                          struct errbuf *err)
{
    struct key from = pos->next, low, high, to;
    bool all;
    (void)key_job(&low, &w->low);
    if (before(&from, &low))
        from = low;
    (void)key_next(&to, key_job(&high, &w->high));
    if (!before(&from, &to)) {
        all = true;
    } else {
        enum family family = only_running(w->f) ? FAMILY_RUNS : FAMILY_JOBS;
        enum err rc =
            take_rows(w, family, &from, key_slice(&to),
                      rows < w->scan ? rows : w->scan, pos, &all, err);
        if (rc != ERR_OK)
            return rc;
    }
    if (all) {
        pos->done = true;
        pos->next.len = 0;
    }
    return ERR_OK;
}

/* The first stretch of the index at or behind `at`: within a bucket all of it,
 * or what one queue has in one state. False: there is none. */
static bool stretch(struct walk *w, const struct key *at, struct key *from,
                    struct key *to)
{
    struct engine *e = w->e;
    const struct job_filter *f = w->f;
    struct queue *q = f->queue.len == 0 ? NULL : queue_find(e, f->queue);
    if (f->queue.len > 0 && q == NULL)
        return false;
    for (uint32_t i = 0; i < e->buckets_n; i++) {
        uint32_t b = e->buckets[i].hour;
        uint64_t ends_ms = (uint64_t)b * HOUR_MS;
        if (ends_ms < f->created_from_ms || ends_ms < f->finished_from_ms ||
            e->buckets[i].newest_ms < id_ms(&w->low) ||
            e->buckets[i].oldest_ms > id_ms(&w->high))
            continue;
        for (unsigned s = JOB_COMPLETED; s < JOB_STATES; s++) {
            if (q != NULL && (!state_fits(f, s) || q->counts[s] == 0))
                continue;
            if (q == NULL) {
                key_prefix_bucket(from, b);
                s = JOB_STATES; /* once */
            } else {
                key_prefix_index(from, b, q->set.id, (uint8_t)s);
            }
            (void)key_after(to, key_slice(from));
            if (!before(at, to))
                continue;
            if (before(from, at))
                *from = *at;
            return true;
        }
    }
    return false;
}

static enum err walk_done(struct walk *w, struct list_pos *pos, uint32_t rows,
                          struct errbuf *err)
{
    struct key from, to;
    bool all;
    if (rows > BLOCKS_A_SCAN)
        rows = BLOCKS_A_SCAN;
    if (rows > w->scan)
        rows = w->scan;
    if (!stretch(w, &pos->next, &from, &to)) {
        pos->end = true;
        return ERR_OK;
    }
    enum err rc =
        take_rows(w, FAMILY_INDEX, &from, key_slice(&to), rows, pos, &all, err);
    if (rc == ERR_OK && all)
        pos->next = to;
    return rc;
}

/* The one job with a whole id, if it has ended. */
static enum err look_up(struct walk *w, struct list_pos *pos,
                        struct errbuf *err)
{
    const struct job_filter *f = w->f;
    struct slice row;
    uint32_t bucket;
    struct job_view v;
    enum err rc = done_find(w->e, w->g, &w->low, &bucket, &row, err);
    if (rc == ERR_OK)
        rc = done_view(w->e, &w->low, row, &v, err);
    if (rc == ERR_OK && id_fits(w, &v.id) &&
        in_range(v.finished_ms, f->finished_from_ms, f->finished_to_ms))
        tell(w, &v);
    w->r->examined++;
    pos->end = true;
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

enum err list_walk(struct engine *e, struct gather *g,
                   const struct job_filter *f, struct list_pos *pos,
                   uint32_t count, uint32_t rows, struct now now, job_fn fn,
                   void *ud, struct list_result *r, struct errbuf *err)
{
    struct walk w = {.e = e,
                     .g = g,
                     .f = f,
                     .now = now,
                     .fn = fn,
                     .ud = ud,
                     .r = r,
                     .count = count,
                     .most = rows,
                     .scan = count < SCAN_MIN ? SCAN_MIN
                             : count < rows   ? count
                                              : rows};
    struct list_pos at = *pos;
    enum err rc = ERR_OK;
    r->n = r->examined = 0;
    index_settle(e);
    if (!id_range(f, &w.low, &w.high))
        at.end = true;
    /* Stretches of the index cost a seek each, even the empty ones. */
    for (uint32_t seeks = 0;
         rc == ERR_OK && !at.end && !enough(&w) && seeks < 64; seeks++) {
        uint32_t left = rows - (uint32_t)r->examined;
        if (!at.done && (!any_live(f) || none_live(e, f))) {
            at.done = true;
            at.next.len = 0;
            at.skip = 0;
        } else if (!at.done) {
            rc = walk_live(&w, &at, left, err);
        } else if (!any_done(f)) {
            at.end = true;
        } else if (f->id_prefix.len == ID_TEXT_LEN) {
            rc = look_up(&w, &at, err);
        } else {
            rc = walk_done(&w, &at, left, err);
        }
        w.scan = w.scan < rows / 4 ? w.scan * 4 : rows;
    }
    buf_release(&w.rows);
    if (rc == ERR_OK && w.pending)
        rc = ERR_PENDING;
    if (rc == ERR_OK)
        *pos = at;
    return rc;
}

/* --- cursors: phase, filters, ids skipped, key ---------------------------- */

/* A position says nothing to a walk with other filters, so a cursor knows which
 * ones it belongs to. */
static uint32_t filter_hash(const struct job_filter *f)
{
    const struct slice words[] = {f->queue,     f->handler,  f->owner,
                                  f->worker,    f->key,      f->tag_key,
                                  f->tag_value, f->id_prefix};
    const uint64_t numbers[] = {f->has_tag,          f->states,
                                f->created_from_ms,  f->created_to_ms,
                                f->finished_from_ms, f->finished_to_ms,
                                f->signature};
    uint64_t h = hash64(slice_of((const char *)numbers, sizeof(numbers)));
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        h = hash64_seed(words[i], h);
    return (uint32_t)(h ^ h >> 32);
}

static char *hex_print(char *at, const char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        *at++ = digits[c >> 4];
        *at++ = digits[c & 15];
    }
    return at;
}

void cursor_print(const struct list_pos *pos, const struct job_filter *f,
                  char *out)
{
    uint32_t filters = filter_hash(f);
    char *at = out;
    if (!pos->end) {
        *at++ = pos->done ? 'd' : 'l';
        char skip = (char)(pos->skip / ID_LEN);
        at = hex_print(at, (const char *)&filters, sizeof(filters));
        at = hex_print(at, &skip, 1);
        ASSERT((size_t)(at - out) + 2u * pos->next.len < CURSOR_MAX);
        at = hex_print(at, pos->next.bytes, pos->next.len);
    }
    *at = '\0';
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

static bool hex_parse(struct slice text, char *out)
{
    for (size_t i = 0; i + 1 < text.len; i += 2) {
        int high = digit(text.data[i]), low = digit(text.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        *out++ = (char)(high << 4 | low);
    }
    return text.len % 2 == 0;
}

enum err cursor_parse(struct slice text, const struct job_filter *f,
                      struct list_pos *pos, struct errbuf *err)
{
    uint32_t of, filters = filter_hash(f);
    const size_t head = 1 + 2 * sizeof(filters) + 2;
    unsigned char skip;
    *pos = (struct list_pos){0};
    if (text.len == 0)
        return ERR_OK;
    if ((text.data[0] != 'l' && text.data[0] != 'd') || text.len < head ||
        text.len >= CURSOR_MAX ||
        !hex_parse(slice_of(text.data + 1, 2 * sizeof(of)), (char *)&of) ||
        !hex_parse(slice_of(text.data + head - 2, 2), (char *)&skip) ||
        !hex_parse(slice_of(text.data + head, text.len - head),
                   pos->next.bytes))
        return err_set(err, ERR_SYNTAX,
                       "CURSOR is not one that an earlier call returned");
    if (of != filters)
        return err_set(err, ERR_SYNTAX,
                       "CURSOR belongs to a call with other filters");
    pos->done = text.data[0] == 'd';
    pos->skip = (uint32_t)skip * ID_LEN;
    pos->next.len = (uint16_t)((text.len - head) / 2);
    return ERR_OK;
}

static enum err walk_from(struct engine *e, struct gather *g,
                          const struct list_params *p, uint32_t count,
                          uint32_t rows, struct now now, job_fn fn, void *ud,
                          struct list_result *r, struct errbuf *err)
{
    struct list_pos pos;
    *r = (struct list_result){0};
    enum err rc = list_examine(p->filter, err);
    if (rc == ERR_OK)
        rc = cursor_parse(p->cursor, p->filter, &pos, err);
    if (rc == ERR_OK)
        rc = list_walk(e, g, p->filter, &pos, count, rows, now, fn, ud, r, err);
    if (rc == ERR_OK)
        cursor_print(&pos, p->filter, r->cursor);
    return rc;
}

enum err engine_list(struct engine *e, struct gather *g,
                     const struct list_params *p, struct now now, job_fn fn,
                     void *ud, struct list_result *r, struct errbuf *err)
{
    return walk_from(e, g, p, p->count, ROWS_A_CALL, now, fn, ud, r, err);
}

/* Nothing but queue and states is asked for. */
static bool counters_know(const struct job_filter *f)
{
    return f->handler.len + f->owner.len + f->worker.len + f->key.len +
                   f->id_prefix.len ==
               0 &&
           !f->has_tag && f->signature == 0 && f->created_from_ms == 0 &&
           f->created_to_ms == 0 && f->finished_from_ms == 0 &&
           f->finished_to_ms == 0;
}

enum err engine_count(struct engine *e, struct gather *g,
                      const struct list_params *p, struct now now,
                      struct list_result *r, struct errbuf *err)
{
    const struct job_filter *f = p->filter;
    if (!counters_know(f) || p->cursor.len > 0)
        return walk_from(e, g, p, UINT32_MAX, ROWS_A_CALL, now, NULL, NULL, r,
                         err);
    *r = (struct list_result){0};
    struct queue *only = f->queue.len == 0 ? NULL : queue_find(e, f->queue);
    for (uint32_t i = 0; i < e->queues_n; i++) {
        const struct queue *q = e->queues[i];
        if (q == NULL || (f->queue.len > 0 && q != only))
            continue;
        for (unsigned s = 1; s < JOB_STATES; s++)
            if (state_fits(f, s))
                r->n += q->counts[s];
    }
    return ERR_OK;
}
