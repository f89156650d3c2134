/* After a salvage, rows may stand alone: a lease or a place in a queue whose
 * job was lost. A server would refuse to start on the first and trip over the
 * second, so they go, through the store itself, so that what the log still
 * holds counts.
 *
 * The opposite, a job that stands nowhere, is kept: engine_mend() puts it back.
 */
#include <stdio.h>

#include "store/entry.h"
#include "store/key.h"
#include "store/offline.h"
#include "util/alloc.h"

#define CHUNK 500

/* A chunk of one family's rows: changes end the slices of a scan. */
struct sweep {
    struct store *s;
    enum family family;
    struct key keys[CHUNK];
    size_t n;
    uint64_t dropped;
};

static bool keep_key(struct slice key, struct slice value, void *ud)
{
    struct sweep *w = ud;
    (void)value;
    if (key.len <= KEY_MAX) {
        struct key *k = &w->keys[w->n++];
        memcpy(k->bytes, key.data, key.len);
        k->len = (uint16_t)key.len;
    }
    return true;
}

static bool is_there(struct store *s, enum family f, const struct id *id)
{
    struct slice value;
    return store_get(s, NULL, f, id_slice(id), &value, NULL) == ERR_OK;
}

/* The jobs without which a row makes no sense. */
static size_t jobs_of(enum family f, struct slice key, struct id ids[2])
{
    struct ready_key ready;
    struct parked_key parked;
    struct body_key body;
    struct due_key due;
    switch (f) {
    case FAMILY_RUNS:
        return key_parse_id(key, &ids[0]) ? 1 : 0;
    case FAMILY_READY:
        if (!key_parse_ready(key, &ready))
            return 0;
        ids[0] = ready.id;
        return 1;
    case FAMILY_PARKED:
        if (!key_parse_parked(key, &parked))
            return 0;
        ids[0] = parked.id;
        return 1;
    case FAMILY_BODIES:
        if (!key_parse_body(key, &body))
            return 0;
        ids[0] = body.id;
        return 1;
    case FAMILY_DUE:
        if (!key_parse_due(key, &due) || due.what.len != ID_LEN ||
            due.kind > 31 || (KEY_DUE_OF_JOBS >> due.kind & 1) == 0)
            return 0;
        memcpy(ids[0].bytes, due.what.data, ID_LEN);
        return 1;
    case FAMILY_DEPS:
        return key_parse_dep(key, &ids[0], &ids[1]) ? 2 : 0;
    default:
        return 0;
    }
}

static void drop_alone(void *ud)
{
    struct sweep *w = ud;
    for (size_t i = 0; i < w->n; i++) {
        struct slice key = key_slice(&w->keys[i]);
        struct id ids[2];
        size_t n = jobs_of(w->family, key, ids);
        bool alone = false;
        for (size_t k = 0; k < n; k++)
            alone |= !is_there(w->s, FAMILY_JOBS, &ids[k]);
        if (alone) {
            store_del(w->s, w->family, key);
            w->dropped++;
        }
    }
    store_commit(w->s, clock_now());
    store_poll(w->s, clock_now());
    w->n = 0;
}

enum err offline_start(struct store **s, const char *dir, struct errbuf *e)
{
    struct store_options o;
    bool done = false;
    store_options_default(&o);
    o.dir = dir;
    enum err rc = store_open(s, &o, e);
    while (rc == ERR_OK && !done)
        rc = store_load_step(*s, clock_now(), &done, e);
    return rc;
}

enum err offline_drop_orphans(const char *dir, offline_tell_fn tell, void *ud,
                              struct errbuf *e)
{
    static const enum family families[] = {FAMILY_RUNS,   FAMILY_READY,
                                           FAMILY_PARKED, FAMILY_BODIES,
                                           FAMILY_DUE,    FAMILY_DEPS};
    struct sweep *w = NEW(struct sweep);
    enum err rc = offline_start(&w->s, dir, e);
    for (size_t i = 0; i < ARRAY_LEN(families) && rc == ERR_OK; i++) {
        char line[128];
        w->family = families[i];
        w->dropped = 0;
        rc = store_walk(w->s, w->family, CHUNK, keep_key, drop_alone, w, e);
        if (w->dropped == 0)
            continue;
        snprintf(line, sizeof(line),
                 "family %s: %llu rows of jobs that were lost are dropped",
                 family_name(w->family), (unsigned long long)w->dropped);
        tell(ud, line);
    }
    if (rc == ERR_OK)
        store_close(&w->s);
    else
        store_abandon(&w->s);
    mem_free(w);
    return rc;
}
