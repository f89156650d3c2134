#include "server/backend.h"

#include "log/log.h"
#include "net/loop.h"
#include "server/server.h"
#include "store/mem.h"
#include "store/store.h"
#include "util/alloc.h"

static void on_wake(void *ud)
{
    struct server *s = (struct server *)ud;
    if (s->loop != NULL)
        loop_wake(s->loop);
}

static void fill_options(struct server *s, struct store_options *o)
{
    const struct config *cf = s->cf;
    store_options_default(o);
    o->dir = cf->dir;
    o->log_sync = cf->appendfsync == FSYNC_ALWAYS     ? LOG_ALWAYS
                  : cf->appendfsync == FSYNC_EVERYSEC ? LOG_EVERYSEC
                                                      : LOG_NO;
    o->log_segment_bytes = cf->log_segment_size;
    o->log_max_bytes = cf->log_max_bytes;
    o->generation_bytes = cf->generation_max_bytes;
    o->generation_age_ms = cf->generation_max_age_ms;
    o->overlay_bytes_max = cf->overlay_max_bytes;
    o->block_cache_bytes = cf->rocksdb_block_cache_size;
    o->write_buffer_bytes = cf->rocksdb_write_buffer_size;
    o->disk_reserve_bytes = cf->disk_reserve;
    o->on_wake = on_wake;
    o->ud = s;
}

enum err backend_open_mem(struct server *s, struct mem_disk *disk,
                          struct errbuf *e)
{
    struct store_options o;
    fill_options(s, &o);
    s->disk = disk;
    return store_open_mem(&s->store, disk, &o, e);
}

enum err backend_open(struct server *s, struct errbuf *e)
{
    struct store_options o;
    fill_options(s, &o);
    return store_open(&s->store, &o, e);
}

enum err backend_load_step(struct server *s, bool *done, struct errbuf *e)
{
    return store_load_step(s->store, s->now, done, e);
}

void backend_close(struct server *s)
{
    if (s->store != NULL)
        store_close(&s->store);
    if (s->disk != NULL)
        mem_disk_free(&s->disk);
}

void backend_poll(struct server *s)
{
    if (s->state != SERVER_LOADING)
        store_poll(s->store, s->now);
}

uint64_t backend_next_ms(struct server *s)
{
    return s->state == SERVER_LOADING ? 0 : store_next_poll_ms(s->store);
}

bool backend_tick(struct server *s, bool reap)
{
    (void)s;
    (void)reap;
    return false;
}

uint64_t backend_commit(struct server *s)
{
    return store_commit(s->store, s->now);
}

uint64_t backend_acked(const struct server *s)
{
    return s->store == NULL ? 0 : store_acked(s->store);
}

uint64_t backend_last(const struct server *s)
{
    return s->store == NULL ? 0 : store_last(s->store);
}

size_t backend_entry_bytes(const struct server *s)
{
    return store_entry_bytes(s->store);
}

void backend_sync_if_idle(struct server *s)
{
    store_sync_if_idle(s->store);
}

bool backend_is_behind(const struct server *s)
{
    /* Under `everysec` unsynced bytes are no reason to wait: replies leave. */
    return s->store != NULL && store_acked(s->store) < store_last(s->store) &&
           store_pending_bytes(s->store) > s->cf->unsynced_max_bytes;
}

enum err backend_may_write(struct server *s, bool new_work, struct errbuf *e)
{
    enum store_room room = store_room(s->store);
    if (room == STORE_FULL) {
        struct store_stats st;
        store_get_stats(s->store, &st);
        if (st.fault != NULL)
            return err_set(e, ERR_IO, "writes are refused: %s", st.fault);
        return err_set(e, ERR_NOSPACE,
                       "the disk is full or too slow: no writes until changes "
                       "in memory have been written");
    }
    if (room == STORE_FINISH_ONLY && new_work)
        return err_set(e, ERR_NOSPACE,
                       "free disk is below disk-reserve: no new work, only "
                       "work that finishes jobs");
    if (new_work && s->cf->maxmemory != 0 && mem_used() > s->cf->maxmemory)
        return err_set(e, ERR_OOM,
                       "command not allowed when used memory > 'maxmemory'.");
    return ERR_OK;
}

struct gather *backend_gather_new(struct server *s)
{
    return s->store == NULL ? NULL : gather_new(s->store);
}

void backend_gather_free(struct server *s, struct gather **g)
{
    (void)s;
    if (*g != NULL)
        gather_free(g);
}

void backend_gather_release(struct server *s, struct gather *g)
{
    (void)s;
    if (g != NULL)
        gather_release(g);
}

void backend_fetch(struct server *s, struct gather *g, void (*done)(void *ud),
                   void *ud)
{
    store_fetch(s->store, g, done, ud);
}

void backend_unwait(struct server *s, struct waiter *w)
{
    (void)s;
    (void)w;
}

void backend_undo(struct server *s, struct slice tokens)
{
    (void)s;
    (void)tokens;
}

void backend_attach(struct server *s, struct slice session)
{
    (void)s;
    (void)session;
}

void backend_detach(struct server *s, struct slice session)
{
    (void)s;
    (void)session;
}
