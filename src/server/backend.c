#include "server/backend.h"

#include "engine/engine.h"
#include "log/log.h"
#include "net/loop.h"
#include "server/server.h"
#include "server/stats.h"
#include "store/mem.h"
#include "store/store.h"
#include "util/alloc.h"

static void on_wake(void *ud)
{
    struct server *s = (struct server *)ud;
    if (s->loop != NULL)
        loop_wake(s->loop);
}

static int sync_mode(const struct config *cf)
{
    static const enum log_sync_mode modes[] = {[FSYNC_ALWAYS] = LOG_ALWAYS,
                                               [FSYNC_EVERYSEC] = LOG_EVERYSEC,
                                               [FSYNC_NO] = LOG_NO};
    return (int)modes[cf->appendfsync];
}

static void fill_options(struct server *s, struct store_options *o)
{
    const struct config *cf = s->cf;
    store_options_default(o);
    o->hold = true;
    o->dir = cf->dir;
    o->log_sync = sync_mode(cf);
    o->log_segment_bytes = cf->log_segment_size;
    o->log_priority = cf->log_priority;
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

static void fill_engine_config(struct server *s, struct engine_config *c)
{
    const struct config *cf = s->cf;
    engine_config_default(c);
    c->seed = s->engine_seed;
    c->lease_ms = cf->lease_default_ms;
    c->worker_silent_ms = cf->worker_silent_ms;
    c->worker_forget_ms = cf->worker_forget_ms;
    c->keep_ms = cf->keep_default_ms;
    c->keep_failed_ms = cf->dead_keep_ms;
    c->cancel_force_ms = cf->cancel_force_ms;
    c->crashes_max = (uint32_t)cf->max_crashes;
    c->payload_max = cf->payload_max_size;
    /* See backend_is_behind(): alarms leave room for commands. */
    c->alarms_unsynced_max = cf->unsynced_max_bytes / 2;
    c->window_lane = (uint32_t)cf->window_lane_size;
    c->window_due = (uint32_t)cf->window_due_size;
}

static uint64_t watch_us(void *ud)
{
    const struct server *s = ud;
    return stopwatch_us(&s->watch);
}

enum err backend_load_step(struct server *s, bool *done, struct errbuf *e)
{
    bool loaded = false;
    struct engine_config c;
    *done = false;
    if (s->engine != NULL) {
        enum err rc = engine_load(s->engine, s->now, done, e);
#ifdef BELFRY_DEBUG
        if (rc == ERR_OK && *done) /* counters are those of the rows */
            rc = engine_check(s->engine, e);
#endif
        if (rc == ERR_OK && *done)
            store_serves(s->store);
        return rc;
    }
    enum err rc = store_load_step(s->store, s->now, &loaded, e);
    if (rc != ERR_OK || !loaded)
        return rc;
    s->engine_seed = rng_next(&s->rng);
    fill_engine_config(s, &c);
    s->engine = engine_new(s->store, &c);
    engine_set_watch(s->engine, watch_us, s);
    return ERR_OK;
}

void backend_configure(struct server *s)
{
    struct engine_config c;
    struct store_options o;
    if (s->engine != NULL) {
        fill_engine_config(s, &c);
        engine_configure(s->engine, &c);
    }
    fill_options(s, &o);
    if (s->store != NULL)
        store_configure(s->store, &o);
}

void backend_close(struct server *s)
{
    engine_free(&s->engine);
    /* Half a replay must not be flushed as if it were all. */
    if (s->loaded)
        store_close(&s->store);
    else
        store_abandon(&s->store);
    if (s->disk != NULL)
        mem_disk_free(&s->disk);
}

void backend_poll(struct server *s)
{
    if (s->loaded)
        store_poll(s->store, s->now);
}

uint64_t backend_next_ms(struct server *s)
{
    if (!s->loaded)
        return 0;
    uint64_t engine = engine_next_ms(s->engine, s->now);
    uint64_t store = store_next_poll_ms(s->store);
    return engine < store ? engine : store;
}

bool backend_tick(struct server *s, bool reap)
{
    if (!s->loaded) /* loading has just failed: the server is to stop */
        return false;
    bool more = reap && engine_reap(s->engine, s->now);
    return engine_tick(s->engine, s->now) || more;
}

uint64_t backend_commit(struct server *s)
{
    return s->loaded ? engine_commit(s->engine, s->now) : backend_last(s);
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
    return s->engine == NULL ? store_entry_bytes(s->store)
                             : engine_entry_bytes(s->engine);
}

enum err backend_has_room(const struct server *s, const struct slice *argv,
                          uint32_t argc, struct errbuf *e)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < argc; i++)
        bytes += argv[i].len;
    return s->engine == NULL ? ERR_OK : engine_has_room(s->engine, bytes, e);
}

void backend_sync_if_idle(struct server *s)
{
    store_sync_if_idle(s->store);
}

bool backend_holds(const struct server *s)
{
    return s->store != NULL && store_holds(s->store);
}

void backend_submit(struct server *s)
{
    store_submit(s->store);
}

void backend_set_callers(struct server *s, uint32_t callers)
{
    if (s->store != NULL)
        store_set_callers(s->store, callers);
}

bool backend_is_behind(const struct server *s)
{
    if (s->store == NULL)
        return false;
    if (store_base_is_behind(s->store))
        return true;
    /* Under `everysec` unsynced bytes are no reason to wait: replies leave. */
    return store_acked(s->store) < store_last(s->store) &&
           store_pending_bytes(s->store) > s->cf->unsynced_max_bytes;
}

enum err backend_may_write(struct server *s, bool new_work, struct errbuf *e)
{
    enum store_room room = store_room(s->store);
    if (room == STORE_FULL) {
        struct store_stats st;
        store_get_stats(s->store, &st);
        if (st.fault != NULL)
            return err_set(e, st.fault_is, "writes are refused: %s", st.fault);
        return err_set(e, ERR_NOSPACE,
                       "the disk is full or too slow: no writes until changes "
                       "in memory have been written");
    }
#ifdef BELFRY_SABOTAGE_FULL_FOR_ALL
    new_work = true; /* a cheat that the rigs must catch */
#endif
    if (room == STORE_FINISH_ONLY && new_work)
        return err_set(e, ERR_NOSPACE,
                       "free disk is below disk-reserve: no new work, only "
                       "work that finishes jobs");
    if (new_work && s->cf->maxmemory != 0 && stats_memory(s) > s->cf->maxmemory)
        return err_set(e, ERR_OOM,
                       "command not allowed when used memory > 'maxmemory'.");
    return ERR_OK;
}

struct gather *backend_gather_new(struct server *s)
{
    return s->loaded ? gather_new(s->store) : NULL;
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
    engine_unwait(s->engine, w);
}

void backend_undo(struct server *s, struct slice tokens)
{
    while (tokens.len > 0) {
        const char *end = (const char *)memchr(tokens.data, '\n', tokens.len);
        ASSERT(end != NULL);
        struct slice token = slice_of(tokens.data, (size_t)(end - tokens.data));
        engine_lease_undo(s->engine, &token, 1, s->now);
        tokens.data = end + 1;
        tokens.len -= token.len + 1;
    }
}

void backend_client_gone(struct server *s, uint64_t client_id)
{
    if (s->loaded)
        engine_client_gone(s->engine, client_id, s->now);
}
