/* Keys that jobs hold: names (aliases), uniqueness, idempotency of requests.
 *
 * A unique key is a row that its job writes when it is added and deletes when
 * it ends (or is first leased: WHILE waiting; a lease that is undone was
 * none), in the same entry as its state:
 * there is no lock that could be left behind. With FOR the row has a time of
 * its own and a due row that deletes it.
 */
#include "engine/core.h"

#define DAY_HOURS 24
#define HOUR_MS ((uint64_t)3600 * 1000)

static enum err bad_key(struct errbuf *err)
{
    return err_set(err, ERR_CORRUPT, "family keys: bad row");
}

/* The row of a key that only a live job has: a job that was purged, though its
 * rows are not all gone yet, has it no longer. */
static enum err holder_lives(struct engine *e, struct gather *g,
                             const struct id *id, struct errbuf *err)
{
    struct job *j;
    if (e->purged_queues == 0)
        return ERR_OK;
    enum err rc = job_load(e, g, id, &j, err);
    if (rc == ERR_OK)
        job_drop(e, j);
    return rc;
}

/* --- aliases ------------------------------------------------------------- */

/* Is this name one of a job, live or kept? */
enum err alias_find(struct engine *e, struct gather *g, struct slice name,
                    struct id *id, struct errbuf *err)
{
    struct key k;
    struct slice value;
    struct rec_alias r;
    enum err rc = store_find(e->store, g, FAMILY_KEYS,
                             key_key(&k, KEY_ALIAS, name), &value, err);
    bool pending = false;
    if (rc == ERR_OK && rec_alias_decode(&r, value)) {
        *id = r.job;
        rc = holder_lives(e, g, id, err);
        if (rc != ERR_NOTFOUND)
            return rc;
    }
    /* The newest bucket first: a name that is used again and again is there. */
    for (uint32_t i = e->buckets_n; rc == ERR_NOTFOUND && i > 0; i--) {
        rc = store_find(e->store, g, FAMILY_DONE,
                        key_done_alias(&k, e->buckets[i - 1].hour, name),
                        &value, err);
        if (rc == ERR_PENDING) {
            pending = true;
            rc = ERR_NOTFOUND;
        }
    }
    if (rc == ERR_NOTFOUND && pending)
        return ERR_PENDING;
    if (rc != ERR_OK)
        return rc;
    if (!rec_alias_decode(&r, value))
        return bad_key(err);
    *id = r.job;
    return ERR_OK;
}

enum err alias_is(struct engine *e, struct gather *g, struct slice name,
                  const struct id *id, bool *is, struct errbuf *err)
{
    struct key k;
    struct slice value;
    struct rec_alias r;
    enum err rc = store_get(e->store, g, FAMILY_KEYS,
                            key_key(&k, KEY_ALIAS, name), &value, err);
    if (rc == ERR_OK && !rec_alias_decode(&r, value))
        return bad_key(err);
    *is = rc == ERR_OK && id_eq(&r.job, id);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

/* `[A-Za-z0-9_.:-]`, up to 64, and not of the shape of an id. */
enum err alias_check(struct slice name, struct errbuf *err)
{
    struct id id;
    if (name.len > 64)
        return err_set(err, ERR_LIMIT,
                       "ID has %zu bytes; at most 64 are allowed", name.len);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':' ||
              c == '-'))
            return err_set(err, ERR_SYNTAX,
                           "ID may hold letters, digits and _ . : - only");
    }
    if (id_parse(name, &id))
        return err_set(err, ERR_SYNTAX,
                       "ID looks like an id of the server's own");
    return ERR_OK;
}

void alias_put(struct engine *e, struct slice name, const struct id *id)
{
    struct rec_alias r = {*id};
    struct key k;
    rec_alias_encode(&r, store_put(e->store, FAMILY_KEYS,
                                   key_key(&k, KEY_ALIAS, name),
                                   rec_alias_size(&r), false));
}

enum err engine_find(struct engine *e, struct gather *g, struct slice ref,
                     struct id *id, struct errbuf *err)
{
    if (id_parse(ref, id))
        return ERR_OK;
    enum err rc = alias_check(ref, NULL);
    if (rc != ERR_OK || ref.len == 0)
        return err_set(err, ERR_SYNTAX,
                       "neither an id (26 characters) nor a job's name");
    rc = alias_find(e, g, ref, id, err);
    if (rc == ERR_NOTFOUND)
        return err_set(err, rc, "no job has this name");
    return rc;
}

/* --- uniqueness ---------------------------------------------------------- */

/* Scope in front, so that keys of queues and global ones never meet. */
struct slice unique_key(struct key *k, uint32_t scope, const struct queue *q,
                        struct slice unique)
{
    char bytes[KEY_NAME_MAX];
    ASSERT(unique.len <= UNIQUE_MAX);
    size_t len = 0;
    bytes[len++] = scope == SCOPE_GLOBAL ? 'g' : 'q';
    if (scope != SCOPE_GLOBAL) {
        name_u32(q->set.id, bytes + len);
        len += 4;
    }
    memcpy(bytes + len, unique.data, unique.len);
    return key_key(k, KEY_UNIQUE, slice_of(bytes, len + unique.len));
}

/* Who holds the key? ERR_NOTFOUND: nobody, or its time is over. */
enum err unique_find(struct engine *e, struct gather *g, uint32_t scope,
                     const struct queue *q, struct slice unique, struct now now,
                     struct rec_unique *r, struct errbuf *err)
{
    struct key k;
    struct slice value;
    enum err rc = store_get(e->store, g, FAMILY_KEYS,
                            unique_key(&k, scope, q, unique), &value, err);
    if (rc != ERR_OK)
        return rc;
    if (!rec_unique_decode(r, value))
        return bad_key(err);
    if (r->until_ms > 0)
        return r->until_ms <= now.wall_ms ? ERR_NOTFOUND : ERR_OK;
    return holder_lives(e, g, &r->job, err);
}

enum err unique_is(struct engine *e, struct gather *g, const struct job *j,
                   const struct rec_more *m, bool *is, struct errbuf *err)
{
    struct key k;
    struct slice value;
    struct rec_unique r;
    enum err rc = store_get(
        e->store, g, FAMILY_KEYS,
        unique_key(&k, m->unique_scope, j->queue, m->unique), &value, err);
    if (rc == ERR_OK && !rec_unique_decode(&r, value))
        return bad_key(err);
    *is = rc == ERR_OK && id_eq(&r.job, &j->id);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

void unique_put(struct engine *e, uint32_t scope, const struct queue *q,
                struct slice unique, const struct id *id, uint64_t until_ms)
{
    struct rec_unique r = {*id, until_ms};
    struct key k;
    struct slice key = unique_key(&k, scope, q, unique);
    rec_unique_encode(
        &r, store_put(e->store, FAMILY_KEYS, key, rec_unique_size(&r), false));
    if (until_ms > 0) {
        struct due d = {.at_ms = until_ms,
                        .kind = DUE_UNIQUE,
                        .id = due_name_id(key),
                        .name = key};
        due_put(e, &d, false);
    }
}

void unique_release(struct engine *e, struct job *j)
{
    struct rec_more m;
    struct key k;
    ASSERT((j->flags & JOBF_UNIQUE) != 0);
    job_more(j, &m);
    j->flags &= ~(uint32_t)JOBF_UNIQUE;
    store_del(e->store, FAMILY_KEYS,
              unique_key(&k, m.unique_scope, j->queue, m.unique));
}

/* The lease for which a waiting job let its key go is undone. If somebody else
 * has taken it since it stays theirs: this job waits without, as one does that
 * is retried. */
void unique_retake(struct engine *e, struct job *j, struct now now)
{
    struct rec_more m;
    struct rec_unique r;
    struct errbuf err;
    if ((j->run_flags & RUNF_UNIQUE) == 0)
        return;
    ASSERT((j->flags & JOBF_UNIQUE) == 0);
    job_more(j, &m);
    enum err rc =
        unique_find(e, NULL, m.unique_scope, j->queue, m.unique, now, &r, &err);
    if (rc == ERR_NOTFOUND) {
        unique_put(e, m.unique_scope, j->queue, m.unique, &j->id, 0);
        j->flags |= JOBF_UNIQUE;
    } else if (rc != ERR_OK) {
        fault(e, now, &err);
    }
}

/* The time of a FOR row is over. It may have been taken anew meanwhile. */
enum err unique_forget(struct engine *e, struct gather *g, uint64_t at_ms,
                       const struct id *hash, struct errbuf *err)
{
    struct key k, row;
    struct slice value;
    struct rec_due d;
    struct rec_unique r;
    enum err rc =
        store_get(e->store, g, FAMILY_DUE,
                  key_due(&k, at_ms, DUE_UNIQUE, id_slice(hash)), &value, err);
    if (rc == ERR_NOTFOUND)
        return ERR_OK;
    if (rc != ERR_OK)
        return rc;
    if (!rec_due_decode(&d, value) || d.name.len > KEY_MAX)
        return bad_key(err);
    memcpy(row.bytes, d.name.data, d.name.len);
    row.len = (uint16_t)d.name.len;
    rc = store_get(e->store, g, FAMILY_KEYS, key_slice(&row), &value, err);
    if (rc == ERR_NOTFOUND)
        return ERR_OK;
    if (rc != ERR_OK)
        return rc;
    if (!rec_unique_decode(&r, value))
        return bad_key(err);
    if (r.until_ms != 0 && r.until_ms <= at_ms)
        store_del(e->store, FAMILY_KEYS, key_slice(&row));
    return ERR_OK;
}

/* --- idempotency --------------------------------------------------------- */

/* Replies of requests with a key are filed in `done` by day, so that they fall
 * with their bucket; the row knows its exact time. Two days are looked at, the
 * later one first: so the days must not go back with a clock that is corrected.
 */
static uint32_t idem_bucket(uint64_t until_ms)
{
    uint64_t hours = (until_ms + HOUR_MS - 1) / HOUR_MS;
    return (uint32_t)((hours + DAY_HOURS - 1) / DAY_HOURS * DAY_HOURS);
}

uint64_t idem_until(struct engine *e, struct now now)
{
    return arrival_ms(e, now) + e->config.idempotency_ms;
}

/* The row for this key, if there is one: its value. */
enum err idem_find(struct engine *e, struct gather *g, enum key_kind kind,
                   struct slice name, struct now now, struct slice *value,
                   struct errbuf *err)
{
    uint32_t first = (uint32_t)(now.wall_ms / HOUR_MS) / DAY_HOURS * DAY_HOURS;
    uint32_t last = idem_bucket(idem_until(e, now));
    enum err rc = ERR_NOTFOUND;
    for (uint32_t b = last; rc == ERR_NOTFOUND && b >= first && b > 0;
         b -= DAY_HOURS) {
        struct key k;
        rc = store_get(e->store, g, FAMILY_DONE,
                       key_done_key(&k, b, (uint8_t)kind, name), value, err);
    }
    return rc;
}

char *idem_put(struct engine *e, enum key_kind kind, struct slice name,
               uint64_t until_ms, size_t len)
{
    struct key k;
    uint32_t bucket = idem_bucket(until_ms);
    done_note(e, bucket);
    return store_put(e->store, FAMILY_DONE,
                     key_done_key(&k, bucket, (uint8_t)kind, name), len, false);
}
