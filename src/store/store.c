/* Changes, generations and the life of a store.
 *
 * The happy path of a change:
 *  1. store_put() writes it behind the open entry, in the open generation's
 *     region, and takes it into the maps: reads see it from now on.
 *  2. store_commit() writes the head of the entry and appends it to the log.
 *  3. The log thread writes and syncs; store_acked() passes the entry.
 *  4. The generation is full, or old: it is sealed and handed over.
 *  5. Once durable it is applied to the base, as one batch.
 *  6. store_poll() drops it, when no older view is held.
 *
 * How it fails: a full disk stops 5, and the overlay grows until store_room()
 * refuses; 5 is tried again, in order. A log that cannot be written or synced
 * ends the process (log/log.h).
 */
#include "store/store.h"

#include "store/records.h"
#include "store/state.h"
#include "util/alloc.h"

/* The work of about eight commands: with more of them in a tick, others are
 * likely to be on their way, and the loop takes those in while the log thread
 * waits for the disk. */
#define INLINE_CHANGES 24

/* Unless no caller brought more than one job: whoever waits for a reply before
 * sending the next brings nothing while the disk works, and one turn for all of
 * them is cheaper than two halves that take turns (docs/log.md). */
#define CALLER_CHANGES 4

/* Freed in one turn: a full generation has some thousands. */
#define SHED_LEAVES 512

/* A generation of a quiet server whose region is used again. */
#define QUIET_BYTES ((size_t)256 << 10)

/* A generation is applied by age only if none is under way: with a slow or
 * full disk, generations grow to their size instead of growing in number. */
static bool too_old(const struct store *s, uint64_t mono_ms)
{
    const struct generation *g = s->open;
    return g->last_index != 0 &&
           mono_ms >= g->born_mono_ms + s->o.generation_age_ms &&
           s->b->ops->applying(s->b) == 0;
}

static void generation_open(struct store *s)
{
    struct generation *g = s->spare;
    struct list *n;
    s->spare = NULL;
    if (g == NULL && (n = list_pop(&s->retired)) != NULL)
        g = CONTAINER_OF(n, struct generation, node);
    if (g == NULL)
        g = generation_new(s->o.generation_bytes);
    g->number = ++s->next_number;
    list_append(&s->generations, &g->node);
    s->generations_len++;
    s->open = g;
}

/* Regions that were filled stay resident. Under load that spares a page fault
 * for every 4 KiB of changes; a server that has become quiet would hold twice
 * the size of a generation for nothing, so it keeps small ones only. */
static void generation_drop(struct store *s, struct generation *g)
{
    bool full = s->full_mono_ms != 0;
    list_remove(&g->node);
    s->generations_len--;
    for (int f = 0; f < FAMILIES; f++)
        sortmap_shed(&g->maps[f], &s->shed);
    generation_reset(g);
    if (s->spare != NULL || (!full && generation_resident(g) > QUIET_BYTES))
        list_append(&s->retired, &g->node);
    else
        s->spare = g;
}

/* Pages that nobody needs any more, a slice of them: a region at once would
 * hold up the loop for ten milliseconds. */
static void give_back(struct store *s)
{
    struct list *n = list_first(&s->retired);
    if (n == NULL) {
        s->trimming = s->trimming && generation_trim(s->open);
        return;
    }
    struct generation *g = CONTAINER_OF(n, struct generation, node);
    if (generation_trim(g))
        return;
    list_remove(n);
    generation_free(&g);
}

static void trim(struct store *s, uint64_t mono_ms)
{
    if (s->full_mono_ms == 0 ||
        mono_ms < s->full_mono_ms + s->o.generation_age_ms)
        return;
    s->full_mono_ms = 0;
    if (s->spare != NULL && generation_resident(s->spare) > QUIET_BYTES) {
        list_append(&s->retired, &s->spare->node);
        s->spare = NULL;
    }
    s->trimming = true;
}

void store_seal(struct store *s)
{
    struct generation *g = s->open;
    ASSERT(s->entry_changes == 0); /* design: ends at an entry */
    ASSERT(g->last_index != 0);
    s->sealed_bytes += generation_bytes(g);
    s->stats.applied_changes += generation_rows(g);
    s->stats.vanished_changes += g->vanished;
    s->b->ops->request_sync(s->b);
    s->held = false;
    s->b->ops->apply(s->b, g);
    generation_open(s);
}

void store_drop_applied(struct store *s)
{
    for (;;) {
        struct list *n = list_first(&s->generations);
        struct generation *g = CONTAINER_OF(n, struct generation, node);
        if (g == s->open || !g->applied || g->pins > 0)
            return;
        s->sealed_bytes -= generation_bytes(g);
        if (g->number <= s->replayed_number)
            s->replayed_bytes -= generation_bytes(g);
        generation_drop(s, g);
    }
}

/* --- changes ------------------------------------------------------------- */

/* Slices of earlier reads end here; their bytes may still be the key that is
 * being written, so this comes after the copy. */
void store_forget_reads(struct store *s)
{
    if (s->scratch.bytes > 0)
        arena_reset(&s->scratch);
}

static char *change_room(struct store *s, size_t size)
{
    if (s->entry_changes == 0) {
        s->entry_at = s->open->used;
        generation_room(s->open, ENTRY_HEAD);
    }
    s->entry_changes++;
    return generation_room(s->open, size);
}

char *store_put(struct store *s, enum family f, struct slice key, size_t len,
                bool fresh)
{
    ASSERT(f < FAMILIES);
    ASSERT(key.len > 0 && key.len <= ENTRY_KEY_MAX);
    ASSERT(len > 0 && len <= UINT32_MAX); /* invariant 4 */
    char *at = change_room(s, change_size(key.len, len));
    char *value =
        change_write(at, fresh ? CHANGE_PUT_FRESH : CHANGE_PUT, f, key, len);
    generation_put(s->open, f, at, fresh);
    store_forget_reads(s);
    return value;
}

void store_del(struct store *s, enum family f, struct slice key)
{
    ASSERT(f < FAMILIES);
    ASSERT(key.len > 0 && key.len <= ENTRY_KEY_MAX);
    char *at = change_room(s, change_size(key.len, 0));
    change_write(at, CHANGE_DEL, f, key, 0);
    generation_del(s->open, f, at);
    store_forget_reads(s);
}

void store_del_range(struct store *s, enum family f, struct slice from,
                     struct slice to)
{
    ASSERT(f < FAMILIES);
    ASSERT(to.len == 0 || slice_cmp(from, to) < 0);
    char *at = change_room(s, change_size(from.len, to.len));
    char *value = change_write(at, CHANGE_RANGE, f, from, to.len);
    if (to.len > 0)
        memcpy(value, to.data, to.len);
    generation_del_range(s->open, f, change_key(at), change_value(at));
    store_forget_reads(s);
}

char *store_event(struct store *s, size_t len)
{
    char *at = change_room(s, change_size(0, len));
    s->entry_events++;
    return change_write(at, CHANGE_EVENT, 0, SLICE_EMPTY, len);
}

size_t store_entry_bytes(const struct store *s)
{
    return s->entry_changes == 0 ? 0 : s->open->used - s->entry_at;
}

uint64_t store_commit(struct store *s, struct now now)
{
    CHECK_OBJ(s, STORE);
    struct generation *g = s->open;
    store_forget_reads(s);
    if (s->entry_changes == 0)
        return s->last_index;
    struct slice entry =
        slice_of(g->region + s->entry_at, g->used - s->entry_at);
    entry_write_head(g->region + s->entry_at, s->entry_changes, now.wall_ms);
    s->last_index = s->b->ops->append(s->b, entry);
    /* One that is held would be synced here, too. */
    s->inline_pays =
        !s->held && (s->entry_changes <= INLINE_CHANGES ||
                     s->entry_changes <= s->callers * CALLER_CHANGES);
    s->held = s->o.hold && !s->inline_pays;
    if (s->inline_pays)
        s->b->ops->sync_inline(s->b);
    else if (!s->held)
        s->b->ops->submit(s->b);
    if (g->first_index == 0) {
        g->first_index = s->last_index;
        g->born_mono_ms = now.mono_ms;
    }
    g->last_index = s->last_index;
    s->stats.entries++;
    s->stats.changes += s->entry_changes - s->entry_events;
    s->stats.entry_bytes += entry.len;
    s->entry_changes = s->entry_events = 0;
    if (g->used >= s->seal_bytes) {
        s->full_mono_ms = now.mono_ms;
        store_seal(s);
    }
    return s->last_index;
}

/* --- progress ------------------------------------------------------------ */

uint64_t store_last(const struct store *s)
{
    return s->last_index;
}

uint64_t store_acked(const struct store *s)
{
    return s->b->ops->acked(s->b);
}

uint64_t store_durable(const struct store *s)
{
    return s->b->ops->durable(s->b);
}

static size_t overlay_bytes(const struct store *s)
{
    return s->sealed_bytes + generation_bytes(s->open);
}

bool store_base_is_behind(const struct store *s)
{
    return overlay_bytes(s) > s->o.overlay_bytes_max / 2 &&
           s->b->ops->room(s->b) == STORE_ROOM;
}

bool store_base_is_busy(const struct store *s)
{
    return overlay_bytes(s) > s->o.overlay_bytes_max / 8 * 3 &&
           s->b->ops->applying(s->b) > 0 && s->b->ops->room(s->b) == STORE_ROOM;
}

uint64_t store_pending_bytes(const struct store *s)
{
    return s->b->ops->pending_bytes(s->b);
}

void store_set_callers(struct store *s, uint32_t callers)
{
    s->callers = callers;
}

void store_sync_if_idle(struct store *s)
{
    if (s->inline_pays && s->b->ops->acked(s->b) < s->last_index)
        s->b->ops->sync_inline(s->b);
}

bool store_holds(const struct store *s)
{
    return s->held;
}

void store_submit(struct store *s)
{
    CHECK_OBJ(s, STORE);
    if (s->held)
        s->b->ops->submit(s->b);
    s->held = false;
}

/* Several generations must fit, or nothing would be under way while one fills.
 * Their regions are as large as at the start. */
static void set_seal_bytes(struct store *s)
{
    s->seal_bytes = s->o.overlay_bytes_max / 4;
    if (s->seal_bytes > s->o.generation_bytes)
        s->seal_bytes = s->o.generation_bytes;
}

void store_configure(struct store *s, const struct store_options *o)
{
    CHECK_OBJ(s, STORE);
    s->o.generation_age_ms = o->generation_age_ms;
    s->o.overlay_bytes_max = o->overlay_bytes_max;
    set_seal_bytes(s);
    s->b->ops->configure(s->b, o);
}

static void fetch_end(struct fetch *f)
{
    store_fetch_fn done = f->done;
    void *ud = f->ud;
    struct gather *g = f->gather;
    if (g != NULL) {
        g->content = f->content;
        g->fetch = NULL;
        f->content = NULL;
    }
    fetch_free(&f);
    if (g != NULL)
        done(ud);
}

void store_poll(struct store *s, struct now now)
{
    struct fetch *f;
    CHECK_OBJ(s, STORE);
    s->b->ops->poll(s->b, now);
    while ((f = s->b->ops->fetched(s->b)) != NULL)
        fetch_end(f);
    trim(s, now.mono_ms);
    give_back(s);
    store_drop_applied(s);
    sortmap_free_leaves(&s->shed, SHED_LEAVES);
    if (s->entry_changes == 0) {
        store_forget_reads(s);
        if (s->phase == LOAD_DONE && too_old(s, now.mono_ms))
            store_seal(s);
    }
}

uint64_t store_next_poll_ms(const struct store *s)
{
    if (s->trimming || s->shed != NULL || !list_empty(&s->retired))
        return 0;
    if (s->open->last_index == 0 || s->b->ops->applying(s->b) > 0)
        return UINT64_MAX;
    return s->open->born_mono_ms + s->o.generation_age_ms;
}

enum store_room store_room(const struct store *s)
{
    /* The base had some of what a start replays and lost it with the crash, so
     * that this alone may be above the bound. What was there before the crash
     * must be able to finish, so it does not count. On a full disk that cannot
     * go on for ever: the log has no room to grow either. */
    size_t used = overlay_bytes(s);
    if (used - s->replayed_bytes >= s->o.overlay_bytes_max)
        return STORE_FULL;
    enum store_room base = s->b->ops->room(s->b);
    if (base == STORE_ROOM && used >= s->o.overlay_bytes_max / 8 * 7)
        return STORE_FINISH_ONLY;
    return base;
}

void store_get_stats(const struct store *s, struct store_stats *out)
{
    *out = s->stats;
    out->generations = s->generations_len;
    out->overlay_bytes = overlay_bytes(s);
    out->overlay_rows = 0;
    LIST_FOR (n, &s->generations)
        out->overlay_rows +=
            generation_rows(CONTAINER_OF(n, struct generation, node));
    s->b->ops->stats(s->b, out);
}

void store_serves(struct store *s)
{
    s->stats.loop_disk_reads = 0;
}

void store_forget_times(struct store *s)
{
    s->b->ops->forget_times(s->b);
}

/* --- gathers ------------------------------------------------------------- */

struct gather *gather_new(struct store *s)
{
    struct gather *g = NEW(struct gather);
    g->store = s;
    list_init(&g->pinned);
    return g;
}

void store_pin(struct store *s, struct gather *g)
{
    if (g->pin != NULL)
        return;
    g->pin = CONTAINER_OF(list_first(&s->generations), struct generation, node);
    g->pin->pins++;
    list_append(&s->pinned, &g->pinned);
}

void gather_release(struct gather *g)
{
    if (g->fetch != NULL) {
        g->fetch->gather = NULL; /* its content is freed with it */
        g->fetch = NULL;
    }
    content_free(&g->content);
    g->deferred = false;
    if (g->pin != NULL) {
        ASSERT(g->pin->pins > 0);
        g->pin->pins--;
        g->pin = NULL;
        list_remove(&g->pinned);
    }
}

bool store_idle_pins(const struct store *s)
{
    LIST_FOR (it, &s->pinned)
        if (CONTAINER_OF(it, struct gather, pinned)->fetch == NULL)
            return true;
    return false;
}

void gather_defer(struct gather *g)
{
    g->deferred = true;
}

void gather_free(struct gather **gp)
{
    if (*gp == NULL)
        return;
    gather_release(*gp);
    FREE(gp);
}

void store_fetch(struct store *s, struct gather *g, store_fetch_fn done,
                 void *ud)
{
    ASSERT(g->fetch == NULL);
    ASSERT(g->content != NULL && g->content->missing != NULL);
    struct fetch *f = NEW(struct fetch);
    store_pin(s, g);
    f->content = g->content;
    f->gather = g;
    f->done = done;
    f->ud = ud;
    g->content = NULL;
    g->fetch = f;
    s->stats.fetches++;
    s->b->ops->fetch(s->b, f);
}

/* --- life ---------------------------------------------------------------- */

void store_options_default(struct store_options *o)
{
    *o = (struct store_options){
        .log_segment_bytes = (uint64_t)64 << 20,
        .log_max_bytes = (uint64_t)1 << 30,
        .generation_bytes = (uint64_t)48 << 20,
        .generation_age_ms = 5000,
        .overlay_bytes_max = (uint64_t)256 << 20,
        .block_cache_bytes = (uint64_t)64 << 20,
        .write_buffer_bytes = (uint64_t)16 << 20,
        .disk_reserve_bytes = (uint64_t)512 << 20,
    };
}

struct store *store_new(struct backend *b, const struct store_options *o)
{
    struct store *s = NEW(struct store);
    INIT_OBJ(s, STORE);
    s->b = b;
    s->o = *o;
    set_seal_bytes(s);
    list_init(&s->generations);
    list_init(&s->retired);
    list_init(&s->pinned);
    s->last_index = b->ops->last(b);
    generation_open(s);
    return s;
}

struct backend *store_backend(struct store *s)
{
    return s->b;
}

static void leave(struct store **sp, bool clean)
{
    struct store *s = *sp;
    if (s == NULL)
        return;
    CHECK_OBJ(s, STORE);
    clean = clean && s->phase == LOAD_DONE;
    if (clean && s->entry_changes > 0)
        store_commit(s, clock_now());
    if (clean && s->open->last_index != 0)
        store_seal(s);
    s->b->ops->close(&s->b, clean);
    LIST_FOR (n, &s->generations) {
        struct generation *g = CONTAINER_OF(n, struct generation, node);
        g->pins = 0; /* a gather must not be used any more */
        list_remove(n);
        generation_free(&g);
    }
    struct list *n;
    while ((n = list_pop(&s->retired)) != NULL) {
        struct generation *g = CONTAINER_OF(n, struct generation, node);
        generation_free(&g);
    }
    generation_free(&s->spare);
    sortmap_free_leaves(&s->shed, SIZE_MAX);
    arena_release(&s->scratch);
    FREE(&s->rows);
    FREE(sp);
}

void store_close(struct store **s)
{
    leave(s, true);
}

void store_abandon(struct store **s)
{
    leave(s, false);
}

uint32_t store_start_number(const struct store *s)
{
    return s->start_number;
}

enum err store_backup(struct store *s, const char *path, store_backup_fn done,
                      void *ud, struct errbuf *e)
{
    return s->b->ops->backup(s->b, path, done, ud, e);
}
