/* Queues, handlers and owners: found by name and by number, created on first
 * use, never forgotten while the server runs, but for a queue in which nobody
 * has done more than wait: it has no row and no number. */
#include "engine/core.h"

static bool queue_named(const struct map_node *n, const void *key)
{
    return slice_eq(CONTAINER_OF(n, struct queue, by_name)->name,
                    *(const struct slice *)key);
}

static bool handler_named(const struct map_node *n, const void *key)
{
    return slice_eq(CONTAINER_OF(n, struct handler, by_name)->name,
                    *(const struct slice *)key);
}

static bool owner_named(const struct map_node *n, const void *key)
{
    return slice_eq(CONTAINER_OF(n, struct owner, by_name)->name,
                    *(const struct slice *)key);
}

void names_init(struct engine *e)
{
    map_init(&e->queues_by_name, queue_named);
    map_init(&e->handlers_by_name, handler_named);
    map_init(&e->owners_by_name, owner_named);
}

enum err name_check(struct slice name, const char *what, struct errbuf *err)
{
    if (name.len == 0)
        return err_set(err, ERR_SYNTAX, "%s name is empty", what);
    if (name.len > NAME_MAX_LEN)
        return err_set(err, ERR_LIMIT,
                       "%s name has %zu bytes; at most %d are allowed", what,
                       name.len, NAME_MAX_LEN);
    size_t blank = slice_blank(name);
    if (blank < name.len)
        return err_set(err, ERR_SYNTAX,
                       "%s name holds byte 0x%02x; blanks and control "
                       "characters are not allowed",
                       what, (unsigned)(unsigned char)name.data[blank]);
    return ERR_OK;
}

struct queue *queue_find(struct engine *e, struct slice name)
{
    struct map_node *n = map_get(&e->queues_by_name, hash64(name), &name);
    return n == NULL ? NULL : CONTAINER_OF(n, struct queue, by_name);
}

struct handler *handler_find(struct engine *e, struct slice name)
{
    struct map_node *n = map_get(&e->handlers_by_name, hash64(name), &name);
    return n == NULL ? NULL : CONTAINER_OF(n, struct handler, by_name);
}

struct owner *owner_find(struct engine *e, struct slice name)
{
    struct map_node *n = map_get(&e->owners_by_name, hash64(name), &name);
    return n == NULL ? NULL : CONTAINER_OF(n, struct owner, by_name);
}

struct slice name_u32(uint32_t n, char out[4])
{
    for (int i = 3; i >= 0; i--, n >>= 8)
        out[i] = (char)(unsigned char)n;
    return slice_of(out, 4);
}

/* What name_u32() made. */
static bool name_parse_u32(struct slice name, uint32_t *n)
{
    *n = 0;
    for (size_t i = 0; i < name.len; i++)
        *n = *n << 8 | (unsigned char)name.data[i];
    return name.len == 4;
}

/* Make room for index `id` in an array of pointers that doubles. */
static void *array_for(void *array, uint32_t *n, uint32_t id)
{
    if (id < *n)
        return array;
    uint32_t size = *n == 0 ? 16 : *n;
    while (size <= id)
        size *= 2;
    array = mem_realloc(array, size * sizeof(void *));
    memset((char *)array + *n * sizeof(void *), 0,
           (size - *n) * sizeof(void *));
    *n = size;
    return array;
}

void *names_array(void *array, uint32_t *n, uint32_t id)
{
    return array_for(array, n, id);
}

/* Numbers start at 1; 0 means none. */
static void queue_number(struct engine *e, struct queue *q, uint32_t id)
{
    q->set.id = id;
    e->queues = array_for(e->queues, &e->queues_n, id);
    ASSERT(e->queues[id] == NULL);
    e->queues[id] = q;
    if (id > e->queue_last)
        e->queue_last = id;
}

/* --- rows ---------------------------------------------------------------- */

void queue_store(struct engine *e, struct queue *q)
{
    struct key k;
    char name[4];
    bool fresh = !q->stored && !q->dropped;
    if (q->set.id == 0)
        queue_number(e, q, e->queue_last + 1);
    if (q->dropped)
        store_del(e->store, FAMILY_NAMED,
                  key_named(&k, NAMED_DROPPED, name_u32(q->set.id, name)));
    q->stored = true;
    q->dropped = false;
    rec_queue_encode(&q->set, store_put(e->store, FAMILY_NAMED,
                                        key_named(&k, NAMED_QUEUE, q->name),
                                        rec_queue_size(&q->set), fresh));
}

void queue_hide(struct engine *e, struct queue *q)
{
    struct rec_mark mark = {0};
    char name[4];
    struct key k;
    ASSERT(q->stored);
    q->stored = false;
    q->dropped = true;
    rec_mark_encode(&mark, store_put(e->store, FAMILY_NAMED,
                                     key_named(&k, NAMED_DROPPED,
                                               name_u32(q->set.id, name)),
                                     rec_mark_size(&mark), false));
}

enum err queue_load_dropped(struct engine *e, struct slice key,
                            struct errbuf *err)
{
    uint8_t kind;
    struct slice name;
    uint32_t id;
    if (!key_parse_named(key, &kind, &name) || !name_parse_u32(name, &id))
        return err_set(err, ERR_CORRUPT, "family named: bad key of a queue");
    if (id >= e->queues_n || e->queues[id] == NULL)
        return err_set(err, ERR_CORRUPT, "family named: no queue was dropped");
    e->queues[id]->stored = false;
    e->queues[id]->dropped = true;
    return ERR_OK;
}

void handler_store(struct engine *e, struct handler *h)
{
    struct key k;
    rec_handler_encode(&h->set, store_put(e->store, FAMILY_NAMED,
                                          key_named(&k, NAMED_HANDLER, h->name),
                                          rec_handler_size(&h->set), false));
}

void owner_store(struct engine *e, struct owner *o)
{
    struct key k;
    rec_owner_encode(&o->set, store_put(e->store, FAMILY_NAMED,
                                        key_named(&k, NAMED_OWNER, o->name),
                                        rec_owner_size(&o->set), false));
}

void queue_touch(struct engine *e, struct queue *q)
{
    if (list_linked(&q->touched))
        return;
    list_append(&e->touched_queues, &q->touched);
    e->owed_bytes += 2 * sizeof(struct rec_counts);
}

static void counts_store(struct engine *e, struct queue *q)
{
    struct rec_counts *c = &q->totals;
    char name[4];
    struct key k;
    c->blocked = q->counts[JOB_BLOCKED];
    c->scheduled = q->counts[JOB_SCHEDULED];
    c->ready = q->counts[JOB_READY];
    c->parked = q->counts[JOB_PARKED];
    c->retrying = q->counts[JOB_RETRYING];
    c->held = q->counts[JOB_HELD];
    c->running = q->counts[JOB_RUNNING];
    rec_counts_encode(
        c, store_put(e->store, FAMILY_NAMED,
                     key_named(&k, NAMED_COUNTS, name_u32(q->set.id, name)),
                     rec_counts_size(c), false));
}

void names_commit(struct engine *e)
{
    struct list *l;
    while ((l = list_pop(&e->touched_queues)) != NULL)
        counts_store(e, CONTAINER_OF(l, struct queue, touched));
}

/* --- making -------------------------------------------------------------- */

static struct queue *queue_new(struct engine *e, struct slice name)
{
    struct queue *q = mem_zalloc_named(sizeof(*q), &name);
    q->name = name;
    q->slot = key_slot(name);
    line_init(&q->open, strand_less);
    list_init(&q->strands);
    list_init(&q->waiters);
    list_init(&q->closed);
    map_add(&e->queues_by_name, &q->by_name, hash64(name));
    e->stats.queues++;
    return q;
}

static struct handler *handler_new(struct engine *e, struct slice name,
                                   uint32_t id)
{
    struct handler *h = mem_zalloc_named(sizeof(*h), &name);
    h->name = name;
    h->set.id = id;
    h->open = true;
    breaker_defaults(&h->breaker.set);
    list_init(&h->strands);
    map_add(&e->handlers_by_name, &h->by_name, hash64(name));
    e->handlers = array_for(e->handlers, &e->handlers_n, id);
    ASSERT(e->handlers[id] == NULL);
    e->handlers[id] = h;
    e->stats.handlers++;
    return h;
}

static struct owner *owner_new(struct engine *e, struct slice name, uint32_t id)
{
    struct owner *o = mem_zalloc_named(sizeof(*o), &name);
    o->name = name;
    o->set.id = id;
    o->set.weight = 1;
    map_add(&e->owners_by_name, &o->by_name, hash64(name));
    e->owners = array_for(e->owners, &e->owners_n, id);
    ASSERT(e->owners[id] == NULL);
    e->owners[id] = o;
    owner_born(e, o);
    e->stats.owners++;
    return o;
}

struct queue *queue_make(struct engine *e, struct slice name, bool store)
{
    struct queue *q = queue_find(e, name);
    if (q == NULL) {
        if (e->stats.queues >= e->config.names_max)
            return NULL;
        q = queue_new(e, name);
    }
    if (store && !q->stored)
        queue_store(e, q);
    return q;
}

struct handler *handler_make(struct engine *e, struct slice name)
{
    struct handler *h = handler_find(e, name);
    if (h == NULL) {
        if (e->stats.handlers >= e->config.names_max)
            return NULL;
        h = handler_new(e, name, (uint32_t)e->stats.handlers + 1);
        handler_store(e, h);
    }
    return h;
}

struct owner *owner_make(struct engine *e, struct slice name)
{
    struct owner *o = owner_find(e, name);
    if (o == NULL) {
        if (e->stats.owners >= e->config.names_max)
            return NULL;
        o = owner_new(e, name, (uint32_t)e->stats.owners + 1);
        owner_store(e, o);
    }
    return o;
}

/* --- start --------------------------------------------------------------- */

static enum err damaged(const char *what, struct errbuf *err)
{
    return err_set(err, ERR_CORRUPT, "family named: bad row of a %s", what);
}

static enum err load_counts(struct engine *e, struct slice name,
                            struct slice value, struct errbuf *err)
{
    uint32_t id;
    struct rec_counts c;
    if (!name_parse_u32(name, &id) || id >= e->queues_n ||
        e->queues[id] == NULL || !rec_counts_decode(&c, value))
        return damaged("queue's counters", err);
    struct queue *q = e->queues[id];
    q->totals = c;
    q->counts[JOB_BLOCKED] = c.blocked;
    q->counts[JOB_SCHEDULED] = c.scheduled;
    q->counts[JOB_READY] = c.ready;
    q->counts[JOB_PARKED] = c.parked;
    q->counts[JOB_RETRYING] = c.retrying;
    q->counts[JOB_HELD] = c.held;
    q->counts[JOB_RUNNING] = c.running;
    return ERR_OK;
}

enum err names_load_row(struct engine *e, struct slice key, struct slice value,
                        struct errbuf *err)
{
    uint8_t kind;
    struct slice name;
    if (!key_parse_named(key, &kind, &name))
        return damaged("name", err);
    if (kind == NAMED_QUEUE) {
        struct rec_queue r;
        if (!rec_queue_decode(&r, value) || r.id == 0 || r.id > (1u << 24))
            return damaged("queue", err);
        struct queue *q = queue_new(e, name);
        queue_number(e, q, r.id);
        q->set = r;
        q->stored = true;
    } else if (kind == NAMED_HANDLER) {
        struct rec_handler r;
        if (!rec_handler_decode(&r, value) || r.id == 0 || r.id > (1u << 24))
            return damaged("handler", err);
        struct handler *h = handler_new(e, name, r.id);
        if (!handler_take_row(h, value))
            return damaged("handler", err);
    } else if (kind == NAMED_OWNER) {
        struct rec_owner r;
        if (!rec_owner_decode(&r, value) || r.id == 0 || r.id > (1u << 24))
            return damaged("owner", err);
        struct owner *o = owner_new(e, name, r.id);
        o->set = r;
        owner_quota_changed(e, o);
    } else if (kind == NAMED_LIVE) {
        uint32_t first;
        if (!name_parse_u32(name, &first) || !owner_load_live(e, first, value))
            return damaged("count of owners' jobs", err);
    } else if (kind == NAMED_COUNTS) {
        return load_counts(e, name, value, err);
    }
    return ERR_OK;
}

static void queue_free(struct map_node *n, void *ud)
{
    struct queue *q = CONTAINER_OF(n, struct queue, by_name);
    struct engine *e = ud;
    map_remove(&e->queues_by_name, &q->by_name);
    line_release(&q->open);
    mem_free(q);
}

void queue_unwanted(struct engine *e, struct queue *q)
{
    if (q->wanted > 0 || q->set.id != 0)
        return;
    ASSERT(!list_linked(&q->touched) && list_empty(&q->waiters));
    ASSERT(q->gate == NULL && list_empty(&q->strands));
    e->stats.queues--;
    queue_free(&q->by_name, e);
}

void names_free(struct engine *e)
{
    map_each(&e->queues_by_name, queue_free, e);
    for (uint32_t i = 0; i < e->handlers_n; i++) {
        struct handler *h = e->handlers[i];
        if (h == NULL)
            continue;
        mem_free(h->defaults);
        buf_release(&h->row);
        mem_free(h);
    }
    for (uint32_t i = 0; i < e->owners_n; i++)
        mem_free(e->owners[i]);
    FREE(&e->queues);
    FREE(&e->handlers);
    FREE(&e->owners);
    lives_free(e);
    map_release(&e->queues_by_name);
    map_release(&e->handlers_by_name);
    map_release(&e->owners_by_name);
}
