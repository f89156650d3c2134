/* Waiting in line: for a job to lease (one line per queue, first come first
 * served), or for jobs to end.
 *
 * A waiter that is woken leaves its lines, but keeps its turn: if it asks again
 * and somebody was quicker, it stands where it stood. A wake-up that was not
 * used up goes on as long as there is something left in the queue: to the first
 * in line if the waiter is gone or has what it wanted, to the next behind it if
 * it looked in vain. So it reaches whoever can use it, and comes to an end.
 *
 * Who waits for jobs is woken by the first end, and told all of them, also
 * those before it asks again: what waits for rows then would miss them.
 *
 * Calls that wait with one IDEMPOTENCY key all make the same request: another
 * one is refused before it comes here (wait_differs()). The newest has the
 * place in line; those before it only wait for their time to be over, and get
 * the same answer then. If it leaves without jobs the newest of the others
 * takes its place.
 */
#include "engine/core.h"

struct spot {
    struct list in; /* queue.waiters or job_wait.spots */
    struct wait *wait;
    struct queue *queue;
    struct job_wait *job; /* while linked */
    struct id id;
    uint8_t ended; /* the state in which the job ended, 0: not yet */
};

/* A name that is only asked for makes no handler: it may never have a job. */
struct handler_wish {
    struct slice name;       /* behind the wait */
    struct handler *handler; /* NULL: there was none of this name so far */
};

struct wait {
    struct waiter *waiter;
    uint64_t turn; /* smaller was first */
    bool woken;
    bool for_jobs;
    struct slice worker, session; /* who asks; behind the wait */
    uint32_t handlers_n, spots_n;
    struct key_wait *key;          /* NULL: it has no key */
    struct list of_key;            /* in key_wait.waits */
    struct asker *asker;           /* NULL: nobody known */
    struct handler_wish *handlers; /* behind the spots */
    struct spot spots[];
};

struct key_wait {
    struct map_node by_key;
    struct slice key;
    uint64_t request;  /* lease_request() */
    bool served;       /* since the last of them stood in line */
    struct list waits; /* the oldest first */
};

/* For whom calls wait, whether or not such a worker is registered. */
struct who {
    struct slice name;
    bool session; /* of the worker that it belongs to */
};

struct asker {
    struct map_node by_who;
    struct who who;
    uint32_t waits_n;
};

struct job_wait {
    struct map_node by_id;
    struct id id;
    struct list spots;
};

static bool job_wait_is(const struct map_node *n, const void *key)
{
    return id_eq(&CONTAINER_OF(n, struct job_wait, by_id)->id,
                 (const struct id *)key);
}

static bool key_wait_is(const struct map_node *n, const void *key)
{
    return slice_eq(CONTAINER_OF(n, struct key_wait, by_key)->key,
                    *(const struct slice *)key);
}

static bool asker_is(const struct map_node *n, const void *key)
{
    const struct who *a = &CONTAINER_OF(n, struct asker, by_who)->who;
    const struct who *b = key;
    return a->session == b->session && slice_eq(a->name, b->name);
}

void waits_init(struct engine *e)
{
    map_init(&e->askers, asker_is);
    map_init(&e->job_waits, job_wait_is);
    map_init(&e->key_waits, key_wait_is);
}

static bool is_of(struct handler_wish *w, struct handler *h)
{
    if (w->handler == NULL && slice_eq(w->name, h->name))
        w->handler = h;
    return w->handler == h;
}

/* Is there anything at all for it? */
static bool any_for(struct engine *e, struct queue *q, const struct wait *w)
{
    struct handler *there[WAITER_HANDLERS_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->handlers_n; i++) {
        struct handler_wish *want = &w->handlers[i];
        if (want->handler == NULL)
            want->handler = handler_find(e, want->name);
        if (want->handler != NULL)
            there[n++] = want->handler;
    }
    return n > 0 && lane_pick(e, q, there, n) != NULL;
}

static bool spot_wants(struct engine *e, const struct spot *s,
                       struct handler *h)
{
    const struct wait *w = s->wait;
    if (worker_draining(e, w->worker, w->session))
        return false; /* it is passed over until it is resumed */
    if (w->handlers_n == 0)
        return true;
    if (h == NULL)
        return any_for(e, s->queue, w);
    for (uint32_t i = 0; i < w->handlers_n; i++)
        if (is_of(&w->handlers[i], h))
            return true;
    return false;
}

/* --- lines --------------------------------------------------------------- */

/* Usually behind the last; a woken one that comes back stands further ahead. */
static void stand(struct spot *s)
{
    struct list *line = &s->queue->waiters;
    struct list *at = line->prev;
    while (at != line &&
           CONTAINER_OF(at, struct spot, in)->wait->turn > s->wait->turn)
        at = at->prev;
    list_prepend(at, &s->in);
    s->queue->waiters_n++;
}

static void leave_line(struct engine *e, struct spot *s)
{
    if (!list_linked(&s->in))
        return;
    list_remove(&s->in);
    if (s->queue != NULL) {
        s->queue->waiters_n--;
    } else if (list_empty(&s->job->spots)) {
        map_remove(&e->job_waits, &s->job->by_id);
        mem_free(s->job);
    }
}

static void leave_lines(struct engine *e, struct wait *w)
{
    for (uint32_t i = 0; i < w->spots_n; i++)
        leave_line(e, &w->spots[i]);
}

static void wake(struct engine *e, struct wait *w)
{
    leave_lines(e, w);
    w->woken = true;
    w->waiter->wake(w->waiter);
}

/* Those whose turn came after `turn`. */
static void wake_behind(struct engine *e, struct queue *q, struct handler *h,
                        uint64_t n, uint64_t turn)
{
    if (q->waiters_n == 0 || !queue_open(q) || (h != NULL && !h->open))
        return; /* whoever opens it again wakes those in line */
    LIST_FOR (it, &q->waiters) {
        struct spot *s = CONTAINER_OF(it, struct spot, in);
        if (s->wait->turn <= turn || !spot_wants(e, s, h))
            continue;
        /* The successor may be of the same waiter if it named a queue twice;
         * engine_wait_lease() refuses that. */
        wake(e, s->wait);
        if (--n == 0)
            return;
    }
}

void wait_wake(struct engine *e, struct queue *q, struct handler *h, uint64_t n)
{
    wake_behind(e, q, h, n, 0);
}

/* The wake-up of `wait` goes to the next whose turn came after `turn`. A queue
 * whose jobs are still being sifted wakes somebody by itself. */
static void hand_on(struct engine *e, const struct wait *wait, uint64_t turn)
{
    for (uint32_t i = 0; i < wait->spots_n; i++) {
        struct queue *q = wait->spots[i].queue;
        if (q != NULL && q->waiters_n > 0 && !list_linked(&q->sifting) &&
            lane_pick(e, q, NULL, 0) != NULL)
            wake_behind(e, q, NULL, 1, turn);
    }
}

/* --- who asks ------------------------------------------------------------ */

static struct asker *asker_find(const struct engine *e, const struct who *who)
{
    struct map_node *n = who->name.len == 0 || e->askers.len == 0
                             ? NULL
                             : map_get(&e->askers, hash64(who->name), who);
    return n == NULL ? NULL : CONTAINER_OF(n, struct asker, by_who);
}

bool wait_worker(const struct engine *e, struct slice name,
                 struct slice session)
{
    return asker_find(e, &(struct who){name, false}) != NULL ||
           asker_find(e, &(struct who){session, true}) != NULL;
}

static void join_asker(struct engine *e, struct wait *w)
{
    struct who who = {w->worker, false};
    if (who.name.len == 0)
        who = (struct who){w->session, true};
    if (who.name.len == 0)
        return;
    w->asker = asker_find(e, &who);
    if (w->asker == NULL) {
        w->asker = mem_zalloc_named(sizeof(*w->asker), &who.name);
        w->asker->who = who;
        map_add(&e->askers, &w->asker->by_who, hash64(who.name));
    }
    w->asker->waits_n++;
}

static void leave_asker(struct engine *e, struct wait *w)
{
    if (w->asker == NULL || --w->asker->waits_n > 0)
        return;
    map_remove(&e->askers, &w->asker->by_who);
    mem_free(w->asker);
}

static struct slice copied(char **to, struct slice s)
{
    if (s.len > 0)
        memcpy(*to, s.data, s.len);
    s.data = *to;
    *to += s.len;
    return s;
}

/* `p` is what a lease asks for; of what else waits it names nothing. */
static struct wait *wait_new(struct engine *e, struct waiter *w, uint32_t spots,
                             const struct lease_params *p)
{
    uint32_t n = p->handlers_n;
    size_t size = sizeof(struct wait) + spots * sizeof(struct spot) +
                  n * sizeof(struct handler_wish) + p->worker.len +
                  p->session.len;
    for (uint32_t i = 0; i < n; i++)
        size += p->handlers[i].len;
    struct wait *wait = mem_zalloc(size);
    wait->waiter = w;
    wait->turn = ++e->turns;
    wait->spots_n = spots;
    wait->handlers_n = n;
    wait->handlers = (struct handler_wish *)(void *)&wait->spots[spots];
    for (uint32_t i = 0; i < spots; i++)
        wait->spots[i].wait = wait;
    char *names = (char *)&wait->handlers[n];
    for (uint32_t i = 0; i < n; i++)
        wait->handlers[i].name = copied(&names, p->handlers[i]);
    wait->worker = copied(&names, p->worker);
    wait->session = copied(&names, p->session);
    join_asker(e, wait);
    w->engine_private = wait;
    e->waiters_n++;
    return wait;
}

/* --- calls with one key -------------------------------------------------- */

static struct key_wait *key_wait_find(const struct engine *e, struct slice key)
{
    struct map_node *n = map_get(&e->key_waits, hash64(key), &key);
    return n == NULL ? NULL : CONTAINER_OF(n, struct key_wait, by_key);
}

bool wait_differs(const struct engine *e, const struct lease_params *p)
{
    const struct key_wait *kw =
        e->key_waits.len == 0 ? NULL : key_wait_find(e, p->idempotency);
    return kw != NULL && kw->request != lease_request(p);
}

void wait_served(struct engine *e, struct slice key)
{
    struct key_wait *kw = e->key_waits.len == 0 ? NULL : key_wait_find(e, key);
    if (kw != NULL)
        kw->served = true;
}

static void stand_in_lines(struct wait *w)
{
    w->woken = false;
    if (w->key != NULL)
        w->key->served = false;
    for (uint32_t i = 0; i < w->spots_n; i++)
        if (w->spots[i].queue != NULL)
            stand(&w->spots[i]);
}

/* Does it stand in line, or will it when it finds nothing? */
static bool has_place(const struct wait *w)
{
    return w->woken || list_linked(&w->spots[0].in);
}

/* A repeated request takes over the turn of the one whose caller is gone. */
static void take_over(struct engine *e, struct wait *w,
                      const struct lease_params *p)
{
    struct slice key = p->idempotency;
    if (key.len == 0)
        return;
    struct key_wait *kw = key_wait_find(e, key);
    if (kw == NULL) {
        kw = mem_zalloc_named(sizeof(*kw), &key);
        kw->key = key;
        kw->request = lease_request(p);
        list_init(&kw->waits);
        map_add(&e->key_waits, &kw->by_key, hash64(key));
    }
    ASSERT(kw->request == lease_request(p));
    LIST_FOR (it, &kw->waits) {
        struct wait *old = CONTAINER_OF(it, struct wait, of_key);
        if (!list_linked(&old->spots[0].in))
            continue;
        if (old->turn < w->turn)
            w->turn = old->turn;
        leave_lines(e, old);
    }
    w->key = kw;
    list_append(&kw->waits, &w->of_key);
}

static void leave_key(struct engine *e, struct wait *w)
{
    struct key_wait *kw = w->key;
    if (kw == NULL)
        return;
    list_remove(&w->of_key);
    if (list_empty(&kw->waits)) {
        map_remove(&e->key_waits, &kw->by_key);
        mem_free(kw);
        return;
    }
    struct wait *last = CONTAINER_OF(kw->waits.prev, struct wait, of_key);
    if (kw->served || has_place(last))
        return;
    if (w->turn < last->turn)
        last->turn = w->turn;
    stand_in_lines(last);
}

bool engine_wait_lease(struct engine *e, struct waiter *w,
                       const struct lease_params *p)
{
    struct wait *wait = w->engine_private;
    if (wait != NULL && wait->for_jobs) {
        engine_unwait(e, w);
        wait = NULL;
    }
    if (wait == NULL) {
        wait = wait_new(e, w, p->queues_n, p);
        for (uint32_t i = 0; i < p->queues_n; i++) {
            struct queue *q = queue_make(e, p->queues[i], false);
            if (q == NULL) {
                engine_unwait(e, w);
                return false;
            }
            for (uint32_t k = 0; k < i && q != NULL; k++)
                if (wait->spots[k].queue == q)
                    q = NULL; /* named twice */
            wait->spots[i].queue = q;
            if (q != NULL)
                q->wanted++;
        }
        take_over(e, wait, p);
    } else if (!wait->woken) {
        return true; /* still in line */
    } else {
        hand_on(e, wait, wait->turn);
    }
    stand_in_lines(wait);
    return true;
}

static void stand_for_job(struct engine *e, struct spot *s)
{
    struct map_node *m = map_get(&e->job_waits, id_hash(&s->id), &s->id);
    if (m != NULL) {
        s->job = CONTAINER_OF(m, struct job_wait, by_id);
    } else {
        s->job = NEW(struct job_wait);
        s->job->id = s->id;
        list_init(&s->job->spots);
        map_add(&e->job_waits, &s->job->by_id, id_hash(&s->id));
    }
    list_append(&s->job->spots, &s->in);
}

void engine_wait_jobs(struct engine *e, struct waiter *w, const struct id *ids,
                      const enum job_state *states, uint32_t n)
{
    struct wait *wait = w->engine_private;
    if (wait != NULL && !wait->for_jobs) {
        engine_unwait(e, w);
        wait = NULL;
    }
    if (wait == NULL) {
        static const struct lease_params no_lease;
        wait = wait_new(e, w, n, &no_lease);
        wait->for_jobs = true;
        for (uint32_t i = 0; i < n; i++)
            wait->spots[i].id = ids[i];
    }
    ASSERT(wait->spots_n == n);
    wait->woken = false;
    for (uint32_t i = 0; i < n; i++) {
        struct spot *s = &wait->spots[i];
        bool twice = false; /* the same job: one spot is enough */
        for (uint32_t k = 0; k < i && !twice; k++)
            twice = id_eq(&wait->spots[k].id, &s->id);
        if (s->ended == 0 && job_state_ended(states[i])) {
            s->ended = (uint8_t)states[i];
            leave_line(e, s);
        }
        if (!twice && s->ended == 0 && !list_linked(&s->in))
            stand_for_job(e, s);
    }
}

bool engine_waits_for_jobs(const struct waiter *w)
{
    const struct wait *wait = w->engine_private;
    return wait != NULL && wait->for_jobs;
}

enum err engine_waited(struct engine *e, struct gather *g,
                       const struct waiter *w, uint32_t i, struct id *id,
                       enum job_state *state, struct errbuf *err)
{
    const struct wait *wait = w->engine_private;
    ASSERT(engine_waits_for_jobs(w));
    ASSERT(i < wait->spots_n);
    *id = wait->spots[i].id;
    *state = (enum job_state)wait->spots[i].ended;
    if (*state != 0)
        return ERR_OK;
    enum err rc = job_state_of(e, g, id, state, err);
    if (rc != ERR_NOTFOUND)
        return rc;
    /* It was there, and any other end would have been told: it was purged, and
     * the chore has not reached it. */
    *state = JOB_CANCELLED;
    return ERR_OK;
}

void engine_unwait(struct engine *e, struct waiter *w)
{
    struct wait *wait = w->engine_private;
    if (wait == NULL)
        return;
    w->engine_private = NULL;
    leave_lines(e, wait);
    leave_key(e, wait); /* before: the wake-up is for who stands there now */
    leave_asker(e, wait);
    if (wait->woken && !wait->for_jobs)
        hand_on(e, wait, 0);
    for (uint32_t i = 0; i < wait->spots_n; i++) {
        struct queue *q = wait->spots[i].queue;
        if (q == NULL)
            continue;
        q->wanted--;
        queue_unwanted(e, q);
    }
    mem_free(wait);
    e->waiters_n--;
}

void wait_job_ended(struct engine *e, const struct id *id, enum job_state state)
{
    if (e->job_waits.len == 0)
        return;
    struct map_node *n = map_get(&e->job_waits, id_hash(id), id);
    if (n == NULL)
        return;
    struct job_wait *jw = CONTAINER_OF(n, struct job_wait, by_id);
    struct list *it;
    map_remove(&e->job_waits, n);
    while ((it = list_pop(&jw->spots)) != NULL) {
        struct wait *wait = CONTAINER_OF(it, struct spot, in)->wait;
        for (uint32_t i = 0; i < wait->spots_n; i++)
            if (id_eq(&wait->spots[i].id, id))
                wait->spots[i].ended = (uint8_t)state;
        if (wait->woken)
            continue; /* and has not asked again */
        wait->woken = true;
        wait->waiter->wake(wait->waiter);
    }
    mem_free(jw);
}

static void check_key(struct map_node *n, void *ud)
{
    const struct key_wait *kw = CONTAINER_OF(n, struct key_wait, by_key);
    const char **bad = ud;
    if (list_empty(&kw->waits))
        *bad = "the key of calls that wait outlived them";
    else if (!kw->served &&
             !has_place(CONTAINER_OF(kw->waits.prev, struct wait, of_key)))
        *bad = "the newest call with a key stands in no line";
}

const char *waits_check(struct engine *e)
{
    const char *bad = NULL;
    map_each(&e->key_waits, check_key, &bad);
    return bad;
}

static void free_job_wait(struct map_node *n, void *ud)
{
    struct engine *e = ud;
    map_remove(&e->job_waits, n);
    mem_free(CONTAINER_OF(n, struct job_wait, by_id));
}

static void free_key_wait(struct map_node *n, void *ud)
{
    struct engine *e = ud;
    map_remove(&e->key_waits, n);
    mem_free(CONTAINER_OF(n, struct key_wait, by_key));
}

static void free_asker(struct map_node *n, void *ud)
{
    struct engine *e = ud;
    map_remove(&e->askers, n);
    mem_free(CONTAINER_OF(n, struct asker, by_who));
}

/* Waiters leave before the engine goes; lines may be left over in tests. */
void waits_free(struct engine *e)
{
    map_each(&e->job_waits, free_job_wait, e);
    map_each(&e->key_waits, free_key_wait, e);
    map_each(&e->askers, free_asker, e);
    map_release(&e->job_waits);
    map_release(&e->key_waits);
    map_release(&e->askers);
}
