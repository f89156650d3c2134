/* Start: what the log holds behind the base goes into the overlay again.
 *
 *  1. The backend has opened base and log and knows the flushed applied index.
 *  2. Entries behind it are copied into generations, which are sealed and
 *     applied as they fill: a long log needs no more memory than a short one.
 *  3. The start number is written and synced, so that no token and no id can
 *     be given twice, whatever the clock or a restored backup says.
 *
 * Each step is a slice: the loop answers LOADING in between.
 */
#include "store/key.h"
#include "store/records.h"
#include "store/state.h"

#define SLICE_BYTES ((size_t)4 << 20)

enum err store_replay(struct store *s, uint64_t index, struct slice entry,
                      struct now now, struct errbuf *e)
{
    struct generation *g = s->open;
    struct entry_reader r;
    struct change c;
    enum err rc;

    if (entry.len > GENERATION_ENTRY_MAX) {
        err_set(e, ERR_CORRUPT, "%zu bytes", entry.len);
        goto damaged;
    }
    /* The whole entry is checked before any of it is taken. */
    if (entry_check(entry, e) != ERR_OK)
        goto damaged;
    char *at = generation_room(g, entry.len);
    memcpy(at, entry.data, entry.len);
    rc = entry_open(&r, slice_of(at, entry.len), e);
    ASSERT(rc == ERR_OK);
    while (entry_next(&r, &c, e) == ERR_OK) {
        /* Some of what is replayed may be in the base already, also in the
         * state of a later entry, so nothing may vanish. */
        if (c.op == CHANGE_PUT_FRESH)
            c.op = CHANGE_PUT;
        generation_take(g, &c);
    }
    if (g->first_index == 0) {
        g->first_index = index;
        g->born_mono_ms = now.mono_ms;
    }
    g->last_index = index;
    s->last_index = index;
    s->stats.replayed_entries++;
    if (g->used >= s->seal_bytes) {
        s->replayed_bytes += generation_bytes(g);
        s->replayed_number = g->number;
        store_seal(s);
    }
    return ERR_OK;

damaged:
    err_wrap(e, "%s/log, record %llu", s->o.dir == NULL ? "" : s->o.dir,
             (unsigned long long)index);
    return ERR_CORRUPT;
}

static enum err replay_slice(struct store *s, struct now now, struct errbuf *e)
{
    size_t bytes = 0;
    /* A long log waits for the applier; one as long as a crash leaves it under
     * load does not, so that the start does not depend on the base's speed.
     * With a full disk waiting would be for ever. */
    if (s->b->ops->room(s->b) == STORE_ROOM &&
        s->sealed_bytes > s->o.overlay_bytes_max / 4 * 3 &&
        s->b->ops->applying(s->b) > 1)
        return ERR_OK;
    while (bytes < SLICE_BYTES) {
        struct slice entry;
        uint64_t index;
        enum err rc = s->b->ops->replay(s->b, &index, &entry, e);
        if (rc == ERR_EMPTY) {
            s->b->ops->replayed(s->b);
            s->phase = LOAD_START;
            return ERR_OK;
        }
        if (rc != ERR_OK)
            return rc;
        rc = store_replay(s, index, entry, now, e);
        if (rc != ERR_OK)
            return rc;
        bytes += entry.len;
    }
    return ERR_OK;
}

static void put_format(struct store *s, const struct key *k, bool fresh)
{
    struct rec_format r = {SLICE_LIT(STORE_OWNER), STORE_FORMAT};
    rec_format_encode(&r, store_put(s, FAMILY_META, key_slice(k),
                                    rec_format_size(&r), fresh));
}

static enum err format_check(struct store *s, struct errbuf *e)
{
    struct key k;
    struct slice value;
    struct rec_format format;
    enum err rc = store_get(s, NULL, FAMILY_META,
                            key_meta(&k, SLICE_LIT("format")), &value, e);
    if (rc == ERR_NOTFOUND) {
        put_format(s, &k, true);
        return ERR_OK;
    }
    if (rc != ERR_OK)
        return rc;
    if (!rec_format_decode(&format, value))
        return err_set(e, ERR_CORRUPT, "family meta, key format");
    if (!slice_eq(format.owner, SLICE_LIT(STORE_OWNER)))
        return err_set(e, ERR_CORRUPT,
                       "the data belongs to \"%.*s\", not to " STORE_OWNER,
                       SLICE_FMT(format.owner));
    if (format.version < STORE_FORMAT_OLDEST || format.version > STORE_FORMAT)
        return err_set(e, ERR_CORRUPT,
                       "the data has format %u, this program knows %d to %d",
                       format.version, STORE_FORMAT_OLDEST, STORE_FORMAT);
    if (format.version < STORE_FORMAT)
        put_format(s, &k, false);
    return ERR_OK;
}

static enum err number_start(struct store *s, struct now now, struct errbuf *e)
{
    struct key k;
    struct slice value;
    struct rec_start start = {0};
    uint64_t unix_s = now.wall_ms / 1000;
    enum err rc = store_get(s, NULL, FAMILY_META,
                            key_meta(&k, SLICE_LIT("start")), &value, e);
    bool first = rc == ERR_NOTFOUND;
    if (!first && rc != ERR_OK)
        return rc;
    if (!first && !rec_start_decode(&start, value))
        return err_set(e, ERR_CORRUPT, "family meta, key start");
    if (start.number == UINT32_MAX)
        return err_set(e, ERR_CORRUPT, "start numbers are used up");
    start.number++;
    if (unix_s > start.number && unix_s < UINT32_MAX)
        start.number = (uint32_t)unix_s;
    start.started_ms = now.wall_ms;
    rec_start_encode(&start, store_put(s, FAMILY_META, key_slice(&k),
                                       rec_start_size(&start), first));
    s->start_number = start.number;
    return ERR_OK;
}

enum err store_load_step(struct store *s, struct now now, bool *done,
                         struct errbuf *e)
{
    enum err rc = ERR_OK;
    CHECK_OBJ(s, STORE);
    ASSERT(s->phase != LOAD_DONE);
    *done = false;
    store_poll(s, now);
    switch (s->phase) {
    case LOAD_REPLAY:
        return replay_slice(s, now, e);
    case LOAD_START:
        rc = format_check(s, e);
        if (rc == ERR_OK)
            rc = number_start(s, now, e);
        if (rc != ERR_OK)
            return rc;
        store_commit(s, now);
        s->b->ops->request_sync(s->b);
        s->phase = LOAD_SYNC;
        /* fall through */
    case LOAD_SYNC:
        if (store_durable(s) < s->last_index)
            return ERR_OK;
        s->phase = LOAD_DONE;
        /* fall through */
    case LOAD_DONE:
        *done = true;
    }
    return ERR_OK;
}
