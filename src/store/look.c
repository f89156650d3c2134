/* Looking at a directory as a start would, and writing nothing.
 *
 *     base (opened for reading) <-- merge -- overlay <-- records of the log
 *
 * A backend whose log takes everything and keeps nothing, and whose base never
 * hears of a generation: what is replayed stays in the overlay, and so does the
 * start's own entry. So a look asks what a start asks, in the same code, and a
 * directory as a crash leaves it is read as the start would read it.
 *
 * One thread; reads ask the disk at once, so none of them is ever pending.
 */
#include <stdio.h>

#include "store/offline.h"
#include "store/rocks.h"
#include "store/state.h"
#include "util/alloc.h"

static struct offline *offline_of(const struct backend *b)
{
    return CONTAINER_OF(rocks_of(b), struct offline, rocks);
}

/* --- the log ------------------------------------------------------------- */

static uint64_t look_append(struct backend *b, struct slice entry)
{
    (void)entry;
    return ++offline_of(b)->last;
}

static uint64_t look_last(const struct backend *b)
{
    return offline_of(b)->last;
}

static void look_submit(struct backend *b)
{
    (void)b;
}

static bool look_sync_inline(struct backend *b)
{
    (void)b;
    return true;
}

/* offline_look() has done that. */
static enum err look_replay(struct backend *b, uint64_t *index,
                            struct slice *entry, struct errbuf *e)
{
    (void)b;
    (void)index;
    (void)entry;
    (void)e;
    return ERR_EMPTY;
}

/* --- the base ------------------------------------------------------------ */

static enum err look_read(struct backend *b, enum base_tier tier, enum family f,
                          struct slice key, struct arena *to,
                          struct slice *value, struct errbuf *e)
{
    (void)tier;
    return rocks_read(b, BASE_DISK, f, key, to, value, e);
}

static struct base_cursor *look_walk(struct backend *b, enum base_tier tier,
                                     enum family f, struct slice from,
                                     struct slice to, bool back)
{
    (void)tier;
    return rocks_walk(b, BASE_DISK, f, from, to, back);
}

static void look_apply(struct backend *b, struct generation *g)
{
    (void)b;
    (void)g;
}

static size_t look_applying(const struct backend *b)
{
    (void)b;
    return 0;
}

static struct fetch *look_fetched(struct backend *b)
{
    (void)b;
    return NULL;
}

static void look_poll(struct backend *b, struct now now)
{
    (void)b;
    (void)now;
}

static enum store_room look_room(const struct backend *b)
{
    (void)b;
    return STORE_ROOM;
}

static void look_close(struct backend **b, bool clean)
{
    (void)clean;
    *b = NULL; /* the offline's */
}

/* What is not here belongs to a server: fetches, figures, backups. */
static const struct backend_ops look_ops = {
    .append = look_append,
    .submit = look_submit,
    .sync_inline = look_sync_inline,
    .request_sync = look_submit,
    .last = look_last,
    .acked = look_last,
    .durable = look_last,
    .replay = look_replay,
    .replayed = look_submit,
    .read = look_read,
    .walk = look_walk,
    .row = rocks_row,
    .step = rocks_step,
    .finish = rocks_finish,
    .apply = look_apply,
    .applying = look_applying,
    .fetched = look_fetched,
    .poll = look_poll,
    .room = look_room,
    .close = look_close,
};

/* --- replay -------------------------------------------------------------- */

struct replay {
    struct store *s;
    struct offline *o;
};

static enum err take_record(const struct log_record *rec, void *ud,
                            struct errbuf *e)
{
    struct replay *r = ud;
    if (rec->index <= applied_sure(&r->o->applied))
        return ERR_OK;
    r->o->last = rec->index;
    return store_replay(r->s, rec->index, rec->entry, clock_now(), e);
}

static enum err take_log(struct replay *r, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    struct log_check check;
    snprintf(path, sizeof(path), "%s/log", r->o->rocks.dir);
    return log_verify(path, &check, take_record, r, e);
}

enum err offline_look(struct store **out, struct offline *o, struct errbuf *e)
{
    struct store_options so;
    bool done = false;
    rocks_thread_begin();
    store_options_default(&so);
    so.dir = o->rocks.dir;
    o->rocks.backend.ops = &look_ops;
    o->last = offline_applied(o);
    struct replay r = {store_new(&o->rocks.backend, &so), o};
    enum err rc = take_log(&r, e);
    while (rc == ERR_OK && !done)
        rc = store_load_step(r.s, clock_now(), &done, e);
    if (rc == ERR_OK)
        *out = r.s;
    else
        store_abandon(&r.s);
    return rc;
}
