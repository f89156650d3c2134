/* Limits: names with slots and rates, and the flag that says whether a name is
 * open. What stands parked under them is in park.c, their rules are in rule.c.
 *
 *     gate: limit_admits() --- no ---> `open` goes down, the job parks
 *     lease: limits_hold()      a slot and some rate are taken
 *     end:   limits_release()   --> limit_settle() --> open: wake who waits
 *     due:   limit_due()        --> limit_settle()
 */
#include "engine/core.h"

static bool limit_named(const struct map_node *n, const void *key)
{
    return slice_eq(CONTAINER_OF(n, struct limit, by_name)->name,
                    *(const struct slice *)key);
}

static bool parked_is(const struct map_node *n, const void *key)
{
    const struct lane *l = CONTAINER_OF(n, struct lane, by_what);
    const struct lane *k = key;
    return l->limit == k->limit && l->base == k->base;
}

void limits_init(struct engine *e)
{
    map_init(&e->limits_by_name, limit_named);
    map_init(&e->parked_by_what, parked_is);
    list_init(&e->limits);
    list_init(&e->limits_todo);
    list_init(&e->touched_limits);
    list_init(&e->cooling_limits);
    list_init(&e->sifting);
    e->rules_changed = 1;
}

static void limit_free(struct engine *e, struct limit *l)
{
    if (l->queue != NULL)
        l->queue->gate = NULL;
    if (l->owner != NULL) {
        l->owner->gate = NULL;
        owner_quota_changed(e, l->owner);
    }
    map_remove(&e->limits_by_name, &l->by_name);
    list_remove(&l->in_all);
    list_remove(&l->touched);
    list_remove(&l->cooling);
    mem_free(l);
    e->limits_n--;
    e->limits_freed++;
}

void limits_free(struct engine *e)
{
    for (int pass = 0; pass < 2; pass++) {
        struct list *all = pass == 0 ? &e->limits : &e->limits_todo;
        LIST_FOR (it, all) {
            struct limit *l = CONTAINER_OF(it, struct limit, in_all);
            while (!list_empty(&l->groups)) {
                struct park_group *g = CONTAINER_OF(
                    list_first(&l->groups), struct park_group, in_limit);
                struct list *lane;
                while ((lane = list_pop(&g->lanes)) != NULL) {
                    struct lane *p = CONTAINER_OF(lane, struct lane, in_group);
                    window_release(&p->window);
                    mem_free(p);
                }
                list_remove(&g->in_limit);
                mem_free(g);
            }
            limit_free(e, l);
        }
    }
    map_release(&e->limits_by_name);
    map_release(&e->parked_by_what);
    rules_free(e);
    buf_release(&e->scan_from);
}

/* --- names --------------------------------------------------------------- */

struct limit *limit_find(const struct engine *e, struct slice name)
{
    struct map_node *n = map_get(&e->limits_by_name, hash64(name), &name);
    return n == NULL ? NULL : CONTAINER_OF(n, struct limit, by_name);
}

#define SLOT_BYTES 128 /* what a slot is taken from */

void limits_expect(const struct job *j)
{
    for (uint32_t i = 0; i < j->names_n; i++)
        mem_expect(j->names[i], SLOT_BYTES);
}

static struct slice behind(struct slice name, struct slice prefix)
{
    return slice_of(name.data + prefix.len, name.len - prefix.len);
}

void limit_touch(struct engine *e, struct limit *l)
{
    if (!list_linked(&l->touched))
        list_append(&e->touched_limits, &l->touched);
}

void limit_dirty(struct engine *e, struct limit *l)
{
    if (!l->dirty)
        e->owed_bytes += 2 * sizeof(struct rec_limit) + l->name.len;
    l->dirty = true;
    limit_touch(e, l);
}

static bool has_room(const struct limit *l)
{
    return l->concurrency == 0 || l->running + l->reserved < l->concurrency;
}

/* It is touched, so that one that nobody comes to use is forgotten. */
struct limit *limit_make(struct engine *e, struct slice name)
{
    struct limit *l = limit_find(e, name);
    if (l != NULL)
        return l;
    l = mem_zalloc_named(sizeof(*l), &name);
    l->name = name;
    list_init(&l->groups);
    map_add(&e->limits_by_name, &l->by_name, hash64(name));
    list_append(&e->limits, &l->in_all);
    e->limits_n++;
    e->limits_came++;
    l->gate = limit_is_gate(name);
    if (slice_has_prefix(name, QUEUE_LIMIT)) {
        l->queue = queue_find(e, behind(name, QUEUE_LIMIT));
        if (l->queue != NULL) {
            l->queue->gate = l;
            l->running = (uint32_t)l->queue->counts[JOB_RUNNING];
        }
    } else if (slice_has_prefix(name, OWNER_LIMIT)) {
        l->owner = owner_find(e, behind(name, OWNER_LIMIT));
        if (l->owner != NULL) {
            l->owner->gate = l;
            l->running = owner_running(e, l->owner);
            owner_quota_changed(e, l->owner);
        }
    }
    limit_touch(e, l);
    limit_refresh(e, l);
    l->open = has_room(l);
    return l;
}

struct limit *queue_gate(struct engine *e, struct queue *q)
{
    char name[sizeof("queue:") + NAME_MAX_LEN];
    if (q->gate != NULL)
        return q->gate;
    memcpy(name, QUEUE_LIMIT.data, QUEUE_LIMIT.len);
    memcpy(name + QUEUE_LIMIT.len, q->name.data, q->name.len);
    return limit_make(e, slice_of(name, QUEUE_LIMIT.len + q->name.len));
}

struct limit *owner_gate(struct engine *e, struct owner *o)
{
    char name[sizeof("owner:") + NAME_MAX_LEN];
    if (o->gate != NULL)
        return o->gate;
    memcpy(name, OWNER_LIMIT.data, OWNER_LIMIT.len);
    memcpy(name + OWNER_LIMIT.len, o->name.data, o->name.len);
    return limit_make(e, slice_of(name, OWNER_LIMIT.len + o->name.len));
}

void limit_refresh(struct engine *e, struct limit *l)
{
    if (l->seen == e->rules_changed)
        return; /* never so of those that have no rule */
    if (l->queue != NULL) {
        const struct rec_queue *set = &l->queue->set;
        l->concurrency = set->concurrency;
        l->rate = (struct rate){set->rate, set->rate_per_ms, set->burst};
        return;
    }
    if (l->owner != NULL) {
        l->concurrency = l->owner->set.running_max;
        return;
    }
    l->seen = e->rules_changed;
    l->rule = rule_for(e, l->name);
    l->concurrency = l->rule == NULL ? 0 : l->rule->set.concurrency;
    l->rate = l->rule == NULL
                  ? (struct rate){0}
                  : (struct rate){l->rule->set.rate, l->rule->set.per_ms,
                                  l->rule->set.burst};
    l->rate_until_ms = 0; /* by the rule that was */
}

bool job_limited(const struct engine *e, const struct job *j)
{
    return j->limits_len > 0 || owner_has_quota(e, j);
}

static void add_name(struct job_names *n, struct limit *l)
{
    if (l == NULL)
        return;
    for (uint32_t i = 0; i < n->n; i++)
        if (n->at[i] == l)
            return; /* named twice: once is enough */
    n->at[n->n++] = l;
}

/* They are asked for four times in a life: the job remembers them. None of them
 * is gone as long as none was freed, or while the job runs under them. */
static bool names_known(const struct engine *e, const struct job *j,
                        struct job_names *n)
{
    if (j->names_n == 0 ||
        (j->names_seen != NAMES_HELD && j->names_seen != e->limits_freed))
        return false;
    for (; n->n < j->names_n; n->n++)
        n->at[n->n] = j->names[n->n];
    return true;
}

void job_names_are(struct job *j, const struct job_names *n)
{
    j->names_n = n->n <= ARRAY_LEN(j->names) ? n->n : 0;
    j->names_seen = n->seen;
    for (uint32_t i = 0; i < j->names_n; i++)
        j->names[i] = n->at[i];
}

bool limits_known(const struct engine *e, const struct slice *names,
                  uint32_t names_n, struct job_names *n)
{
    for (uint32_t i = 0; i < names_n; i++) {
        struct limit *l = limit_find(e, names[i]);
        if (l == NULL || l->gate) {
            n->n = 0;
            return false;
        }
        add_name(n, l);
    }
    n->seen = e->limits_freed;
    return true;
}

static void names_find(struct engine *e, struct job *j, bool make,
                       struct job_names *n)
{
    struct slice name, limits = job_limits(j);
    bool all = true;
    while (word_next(&limits, &name) && n->n < JOB_LIMITS_MAX) {
        struct limit *l = make ? limit_make(e, name) : limit_find(e, name);
        all &= l != NULL;
        add_name(n, l);
    }
    n->seen = e->limits_freed;
    job_names_are(j, n);
    if (!all)
        j->names_n = 0;
}

/* Without `make` names that nothing runs under are left out: they are open. */
void job_names(struct engine *e, struct job *j, bool make, struct job_names *n)
{
    n->n = 0;
    n->cost = j->cost;
    n->reserved = SLICE_EMPTY;
    if ((j->flags & JOBF_RESERVED) != 0) {
        struct rec_more m;
        job_more(j, &m);
        n->reserved = m.reserved;
    }
    if (j->limits_len > 0 && !names_known(e, j, n))
        names_find(e, j, make, n);
    if (owner_has_quota(e, j))
        add_name(n, owner_gate(e, e->owners[j->owner]));
}

/* --- open or not --------------------------------------------------------- */

static uint64_t opens_ms(const struct limit *l)
{
    return l->closed_ms > l->rate_until_ms ? l->closed_ms : l->rate_until_ms;
}

uint64_t limit_shut_ms(const struct limit *l, struct now now)
{
    return !l->open && opens_ms(l) > now.wall_ms ? opens_ms(l) : 0;
}

/* A wake-up at this time, or earlier: then it is looked at again. */
static void wake_at(struct engine *e, struct limit *l, uint64_t at_ms)
{
    struct due d = {.at_ms = at_ms,
                    .kind = DUE_LIMIT,
                    .id = due_name_id(l->name),
                    .name = l->name};
    if (l->due_ms != 0 && l->due_ms <= at_ms)
        return;
    if (l->due_ms != 0)
        due_del(e, l->due_ms, DUE_LIMIT, &d.id);
    due_put(e, &d, false);
    l->due_ms = at_ms;
}

/* The clock may have been put back, or the rate changed. Then nobody knows
 * until when the rate is closed: whoever is refused next finds out. */
static void follow(struct engine *e, struct limit *l, struct now now)
{
    if (l->rate.n == 0 && l->paid.tat_us == 0)
        return; /* nothing was ever paid */
    bool back = rate_follow(&l->paid, now.wall_ms);
    if (!rate_adopt(&l->paid, &l->rate, now.wall_ms) && !back)
        return;
    l->rate_until_ms = 0;
    limit_dirty(e, l);
}

struct rate_paid limit_paid(const struct limit *l, struct now now)
{
    struct rate_paid paid = l->paid;
    (void)rate_follow(&paid, now.wall_ms);
    (void)rate_adopt(&paid, &l->rate, now.wall_ms);
    return paid;
}

void limit_settle(struct engine *e, struct limit *l, struct now now)
{
    bool was = l->open;
    limit_refresh(e, l);
    follow(e, l, now);
    bool room = has_room(l);
    l->open = room && opens_ms(l) <= now.wall_ms;
    if (l->open && !was)
        park_open(e, l, now);
    else if (!l->open && room && (l->queue != NULL || !list_empty(&l->groups)))
        wake_at(e, l, opens_ms(l));
    /* Nothing may need it any more; if it cools already it is looked at. */
    if (l->running == 0 && list_empty(&l->groups) && !list_linked(&l->cooling))
        limit_touch(e, l);
}

bool limit_admits(struct engine *e, struct limit *l, uint32_t cost,
                  struct now now)
{
    limit_refresh(e, l);
    follow(e, l, now);
    uint64_t fits = rate_fits_ms(&l->rate, l->paid.tat_us, cost);
    if (has_room(l) && l->closed_ms <= now.wall_ms && fits <= now.wall_ms)
        return true;
    l->open = false;
    if (fits > now.wall_ms)
        l->rate_until_ms = fits;
    limit_settle(e, l, now);
    ASSERT(!l->open);
    return false;
}

bool queue_admits(struct engine *e, struct queue *q, struct now now)
{
    return q->gate == NULL || limit_admits(e, q->gate, 1, now);
}

struct limit *limit_refusing(struct engine *e, struct job *j, struct now now)
{
    struct job_names n;
    job_names(e, j, false, &n);
    for (uint32_t i = 0; i < n.n; i++)
        if (!limit_admits(e, n.at[i], n.cost, now))
            return n.at[i];
    return NULL;
}

struct limit *limit_in_the_way(struct engine *e, struct job *j, struct now now)
{
    struct job_names n;
    job_names(e, j, false, &n);
    for (uint32_t i = 0; i < n.n; i++) {
        struct limit *l = n.at[i];
        limit_refresh(e, l);
        struct rate_paid paid = limit_paid(l, now);
        if (!has_room(l) || l->closed_ms > now.wall_ms ||
            !rate_fits(&l->rate, paid.tat_us, n.cost, now.wall_ms))
            return l;
    }
    return NULL;
}

/* --- slots --------------------------------------------------------------- */

void limit_charge(struct engine *e, struct limit *l, uint32_t cost,
                  struct now now)
{
    if (l->rate.n == 0)
        return;
    follow(e, l, now); /* nobody may have asked before */
    l->paid.tat_us = rate_take(&l->rate, l->paid.tat_us, cost, now.wall_ms);
    limit_dirty(e, l);
}

static void take_slot(struct limit *l)
{
    l->rounds = 0;
    l->running++;
    if (!has_room(l))
        l->open = false;
}

static void names_hold(struct engine *e, struct job *j, struct now now)
{
    struct job_names n;
    job_names(e, j, true, &n);
    for (uint32_t i = 0; i < n.n; i++) {
        struct limit *l = n.at[i];
        if (word_among(n.reserved, l->name)) {
            ASSERT(l->reserved > 0);
            l->reserved--;
            limit_dirty(e, l);
        } else {
            limit_charge(e, l, n.cost, now);
        }
        take_slot(l);
    }
    j->names_seen = NAMES_HELD;
    if ((j->flags & JOBF_RESERVED) != 0) {
        struct rec_more m;
        job_more(j, &m);
        m.reserved = SLICE_EMPTY;
        j->flags &= ~(uint32_t)JOBF_RESERVED;
        job_store(e, j, &m);
    }
}

/* The owner's quota, if it is new, begins with what runs: it is counted last,
 * and let go after the quota was found. */
void limits_hold(struct engine *e, struct job *j, struct now now)
{
    if (j->queue->gate != NULL) {
        limit_charge(e, j->queue->gate, 1, now);
        take_slot(j->queue->gate);
    }
    if (job_limited(e, j))
        names_hold(e, j, now);
    owner_runs(e, j, 1);
}

/* A lease that was found at start. A queue's own count is known already. */
void limits_held(struct engine *e, struct job *j)
{
    struct job_names n;
    job_names(e, j, true, &n);
    for (uint32_t i = 0; i < n.n; i++)
        take_slot(n.at[i]);
    owner_runs(e, j, 1);
}

static void give_slot(struct engine *e, struct limit *l, struct now now)
{
    ASSERT(l->running > 0);
    l->running--;
    limit_settle(e, l, now);
}

void limits_release(struct engine *e, struct job *j, struct now now)
{
    struct job_names n = {.n = 0};
    if (j->queue->gate != NULL)
        give_slot(e, j->queue->gate, now);
    if (job_limited(e, j))
        job_names(e, j, true, &n);
    owner_runs(e, j, -1);
    for (uint32_t i = 0; i < n.n; i++)
        give_slot(e, n.at[i], now);
    j->names_seen = e->limits_freed;
}

static void refund(struct engine *e, struct limit *l, uint32_t cost)
{
    if (l->rate.n == 0)
        return;
    l->paid.tat_us = rate_give(&l->rate, l->paid.tat_us, cost);
    l->rate_until_ms = 0;
    limit_dirty(e, l);
}

void limits_refund(struct engine *e, struct job *j)
{
    struct job_names n;
    job_names(e, j, true, &n);
    for (uint32_t i = 0; i < n.n; i++)
        refund(e, n.at[i], n.cost);
    if (j->queue->gate != NULL)
        refund(e, j->queue->gate, 1);
}

void limits_unreserve(struct engine *e, struct job *j, struct now now)
{
    struct rec_more m;
    struct slice name;
    if ((j->flags & JOBF_RESERVED) == 0)
        return;
    job_more(j, &m);
    struct slice list = m.reserved;
    while (word_next(&list, &name)) {
        struct limit *l = limit_find(e, name);
        ASSERT(l != NULL && l->reserved > 0);
        l->reserved--;
        limit_dirty(e, l);
        limit_settle(e, l, now);
    }
    m.reserved = SLICE_EMPTY;
    j->flags &= ~(uint32_t)JOBF_RESERVED;
    job_encode(e, j, &m);
}

/* --- time ---------------------------------------------------------------- */

enum err limit_due(struct engine *e, struct gather *g, uint64_t at_ms,
                   const struct id *id, struct now now, struct errbuf *err)
{
    struct key k;
    struct slice value;
    struct rec_due d;
    enum err rc =
        store_get(e->store, g, FAMILY_DUE,
                  key_due(&k, at_ms, DUE_LIMIT, id_slice(id)), &value, err);
    if (rc == ERR_NOTFOUND)
        return ERR_OK;
    if (rc != ERR_OK)
        return rc;
    if (!rec_due_decode(&d, value))
        return err_set(err, ERR_CORRUPT, "family due: bad row of a limit");
    struct limit *l = limit_find(e, d.name);
    if (l == NULL)
        return ERR_OK;
    if (l->due_ms == at_ms)
        l->due_ms = 0;
    limit_settle(e, l, now);
    return ERR_OK;
}

/* Two names whose hashes are the same share a row: both are looked at by the
 * scan at start, and by whoever is refused next. */

bool limits_busy(const struct engine *e)
{
    return e->scan_on || !list_empty(&e->limits_todo) ||
           !list_empty(&e->sifting);
}

static void visit_all(struct engine *e)
{
    if (list_empty(&e->limits))
        return;
    /* All of them, behind those that are still to be visited. */
    struct list *first = e->limits.next, *last = e->limits.prev;
    first->prev = e->limits_todo.prev;
    e->limits_todo.prev->next = first;
    last->next = &e->limits_todo;
    e->limits_todo.prev = last;
    list_init(&e->limits);
}

void limits_changed(struct engine *e)
{
    e->rules_changed++;
    visit_all(e);
}

void limits_clock(struct engine *e, struct now now)
{
    if (now.wall_ms < e->limits_wall_ms)
        visit_all(e);
    e->limits_wall_ms = now.wall_ms;
}

/* Those that nobody uses are looked at in turn: names come back soon, so one is
 * forgotten when the second round finds that nothing has run under it since the
 * first. With many of them those that come bring their two looks along: those
 * in steady use must not, or a look at them would be due to each look. */
#define COOLED 8
#define RESTING_MAX 4096
static void cool(struct engine *e)
{
    uint32_t n = COOLED + (e->limits_n > RESTING_MAX ? 2 * e->limits_came : 0);
    e->limits_came = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct list *it = list_pop(&e->cooling_limits);
        if (it == NULL)
            return;
        struct limit *l = CONTAINER_OF(it, struct limit, cooling);
        l->rounds++;
        limit_touch(e, l);
    }
}

bool limits_step(struct engine *e, struct now now, uint32_t ops)
{
    struct list *it;
    cool(e);
    while (ops > 0 && (it = list_pop(&e->limits_todo)) != NULL) {
        list_append(&e->limits, it);
        limit_settle(e, CONTAINER_OF(it, struct limit, in_all), now);
        ops--;
    }
    struct list queues;
    list_init(&queues);
    while ((it = list_pop(&e->sifting)) != NULL)
        list_append(&queues, it);
    while ((it = list_pop(&queues)) != NULL) {
        struct queue *q = CONTAINER_OF(it, struct queue, sifting);
        ready_again(e, q, NULL, 1, now);
    }
    if (e->scan_on) {
        struct errbuf err;
        enum err rc = park_scan(e, e->timer_gather, now, &err);
        if (rc == ERR_PENDING) {
            timer_fetch(e);
            return false;
        }
        if (rc != ERR_OK) {
            fault(e, now, &err);
            e->scan_on = false;
        }
    }
    return limits_busy(e);
}

/* --- rows ---------------------------------------------------------------- */

static bool is_past(const struct limit *l, struct now now)
{
    return l->reserved == 0 && l->closed_ms <= now.wall_ms &&
           l->paid.tat_us <= now.wall_ms * 1000;
}

static void store_state(struct engine *e, struct limit *l, struct now now)
{
    struct key k;
    struct slice key = key_named(&k, NAMED_LIMIT_STATE, l->name);
    l->dirty = false;
    if (is_past(l, now)) {
        if (l->stored)
            store_del(e->store, FAMILY_NAMED, key);
        l->stored = false;
        return;
    }
    struct rec_limit r = {l->paid.tat_us, l->closed_ms, l->reserved,
                          l->paid.unit_us};
    rec_limit_encode(
        &r, store_put(e->store, FAMILY_NAMED, key, rec_limit_size(&r), false));
    l->stored = true;
}

static bool is_needed(const struct limit *l)
{
    if (l->running > 0 || l->reserved > 0 || !list_empty(&l->groups))
        return true;
    return l->queue != NULL && (l->concurrency > 0 || l->rate.n > 0);
}

/* After a start all limits are looked at, and of those that are over many may
 * have a row: they go with the entries that follow, as far as there is room. */
void limits_commit(struct engine *e, struct now now)
{
    struct list *it, later;
    list_init(&later);
    while ((it = list_pop(&e->touched_limits)) != NULL) {
        struct limit *l = CONTAINER_OF(it, struct limit, touched);
        bool past = is_past(l, now);
        if (past && !l->dirty && slice_full(e)) {
            list_append(&later, it);
            continue;
        }
        if (l->dirty || (past && l->stored))
            store_state(e, l, now);
        bool needed = is_needed(l);
        if (past && !needed && l->rounds >= 2) {
            limit_free(e, l);
            continue;
        }
        if ((!past || !needed) && !list_linked(&l->cooling))
            list_append(&e->cooling_limits, &l->cooling);
    }
    while ((it = list_pop(&later)) != NULL)
        list_append(&e->touched_limits, it);
}

enum err limit_load_row(struct engine *e, struct slice key, struct slice value,
                        struct errbuf *err)
{
    uint8_t kind;
    struct slice name;
    struct rec_limit r;
    if (!key_parse_named(key, &kind, &name) || !rec_limit_decode(&r, value))
        return err_set(err, ERR_CORRUPT, "family named: bad row of a limit");
    struct limit *l = limit_make(e, name);
    l->paid.tat_us = r.tat_us;
    /* An older version did not say by which rate: by the present one. */
    l->paid.unit_us = r.unit_us > 0 ? r.unit_us : rate_unit_us(&l->rate);
    l->closed_ms = r.closed_ms;
    l->reserved = r.reserved;
    l->stored = true;
    if (!has_room(l))
        l->open = false;
    return ERR_OK;
}

/* --- check --------------------------------------------------------------- */

static const char *check_group(const struct park_group *g)
{
    uint32_t armed = 0;
    bool shut = !list_empty(&g->shut);
    LIST_FOR (it, &g->lanes) {
        const struct lane *l = CONTAINER_OF(it, struct lane, in_group);
        bool work = !window_nothing(&l->window) && !lane_dead(l);
        if (l->armed != line_in(&l->in_part))
            return "a parked lane is armed and stands in no heap, or not";
        if (work && !l->armed && !list_linked(&l->shut))
            return "a parked lane with jobs is in no list";
        armed += l->armed;
    }
    if (armed != g->armed_n)
        return "the armed lanes of a group are miscounted";
    if (g->limit->open && shut && armed == 0)
        return "an open limit has parked jobs that nobody will wake";
    return NULL;
}

const char *limits_check(struct engine *e)
{
    const char *bad = NULL;
    for (int pass = 0; pass < 2 && bad == NULL; pass++) {
        struct list *all = pass == 0 ? &e->limits : &e->limits_todo;
        LIST_FOR (it, all) {
            struct limit *l = CONTAINER_OF(it, struct limit, in_all);
            bool parked = false;
            LIST_FOR (g, &l->groups) {
                struct park_group *pg =
                    CONTAINER_OF(g, struct park_group, in_limit);
                parked = true;
                if (bad == NULL)
                    bad = check_group(pg);
            }
            if (pass == 1)
                continue; /* to be visited: it may still be closed */
            if (!l->open && has_room(l) && (parked || l->queue != NULL) &&
                (l->due_ms == 0 || l->due_ms > opens_ms(l)) && bad == NULL)
                bad = "a limit that time will open has no wake-up";
            if (l->open && !has_room(l) && bad == NULL)
                bad = "a full limit is open";
        }
    }
    return bad;
}
