/* Who holds leases: workers by name, and sessions, whose leases end when their
 * last client has been gone for a while. */
#include "engine/core.h"

/* A client that uses a session. One may have many of the other. */
struct tie {
    struct list of_client, of_session;
    struct client *client;
    struct session *session;
};

struct client {
    struct map_node by_id;
    uint64_t id;
    struct list ties;
    uint32_t sessions_n;
};

static bool worker_is(const struct map_node *n, const void *key)
{
    return slice_eq(CONTAINER_OF(n, struct worker, by_name)->name,
                    *(const struct slice *)key);
}

static bool worker_has(const struct map_node *n, const void *key)
{
    return slice_eq(CONTAINER_OF(n, struct worker, by_session)->set.session,
                    *(const struct slice *)key);
}

static bool session_is(const struct map_node *n, const void *key)
{
    return slice_eq(CONTAINER_OF(n, struct session, by_name)->name,
                    *(const struct slice *)key);
}

static bool client_is(const struct map_node *n, const void *key)
{
    return CONTAINER_OF(n, struct client, by_id)->id == *(const uint64_t *)key;
}

static bool ends_before(const struct heap_node *a, const struct heap_node *b)
{
    return CONTAINER_OF(a, struct session, by_end)->ends_mono_ms <
           CONTAINER_OF(b, struct session, by_end)->ends_mono_ms;
}

static uint64_t client_hash(uint64_t id)
{
    return hash_number(id);
}

void sessions_init(struct engine *e)
{
    map_init(&e->workers, worker_is);
    map_init(&e->session_workers, worker_has);
    list_init(&e->workers_seen);
    map_init(&e->sessions, session_is);
    map_init(&e->clients, client_is);
    heap_init(&e->sessions_ending, ends_before);
}

/* --- workers ------------------------------------------------------------- */

struct worker *worker_make(struct engine *e, struct slice name)
{
    uint64_t h = hash64(name);
    struct map_node *n = map_get(&e->workers, h, &name);
    if (n != NULL)
        return CONTAINER_OF(n, struct worker, by_name);
    struct worker *w = mem_zalloc_named(sizeof(*w), &name);
    w->name = name;
    list_init(&w->leases);
    map_add(&e->workers, &w->by_name, h);
    return w;
}

static void worker_free(struct engine *e, struct worker *w)
{
    worker_release(e, w);
    map_remove(&e->workers, &w->by_name);
    mem_free(w);
}

void worker_drop(struct engine *e, struct worker *w)
{
    if (w->leases_n == 0 && !w->registered)
        worker_free(e, w);
}

void worker_add(struct engine *e, struct job *j, struct slice name,
                struct now now)
{
    struct worker *w = worker_make(e, name);
    worker_seen(e, w, now);
    w->leases_n++;
    j->worker = w;
    list_append(&w->leases, &j->of_worker);
}

void worker_remove(struct engine *e, struct job *j)
{
    struct worker *w = j->worker;
    ASSERT(w->leases_n > 0);
    w->leases_n--;
    list_remove(&j->of_worker);
    j->worker = NULL;
    worker_drop(e, w);
}

/* --- sessions ------------------------------------------------------------ */

static struct session *session_make(struct engine *e, struct slice name)
{
    uint64_t h = hash64(name);
    struct map_node *n = map_get(&e->sessions, h, &name);
    if (n != NULL)
        return CONTAINER_OF(n, struct session, by_name);
    struct session *s = mem_zalloc_named(sizeof(*s), &name);
    s->name = name;
    list_init(&s->leases);
    list_init(&s->ties);
    map_add(&e->sessions, &s->by_name, h);
    e->stats.sessions++;
    return s;
}

static void session_free(struct engine *e, struct session *s)
{
    heap_remove(&e->sessions_ending, &s->by_end);
    map_remove(&e->sessions, &s->by_name);
    e->stats.sessions--;
    mem_free(s);
}

/* A session without client and leases is nothing. */
static void session_drop(struct engine *e, struct session *s)
{
    if (s->clients_n == 0 && list_empty(&s->leases))
        session_free(e, s);
}

static void session_end_at(struct engine *e, struct session *s, uint64_t at)
{
    s->ends_mono_ms = at;
    if (heap_in(&s->by_end))
        heap_changed(&e->sessions_ending, &s->by_end);
    else
        heap_add(&e->sessions_ending, &s->by_end);
}

void session_grant(struct engine *e, struct session *s, uint64_t until_mono_ms)
{
    if (s->clients_n == 0 && until_mono_ms > s->ends_mono_ms)
        session_end_at(e, s, until_mono_ms);
}

/* A lease in a session that no client is attached to has the grace too, so
 * that the order of LEASE and attaching does not matter. */
void session_add(struct engine *e, struct job *j, struct slice name,
                 struct now now)
{
    struct session *s = session_make(e, name);
    j->session = s;
    list_append(&s->leases, &j->of_session);
    session_grant(e, s, now.mono_ms + e->config.session_grace_ms);
}

void session_remove(struct engine *e, struct job *j)
{
    struct session *s = j->session;
    list_remove(&j->of_session);
    j->session = NULL;
    session_drop(e, s);
}

/* By the side that has fewer. */
static bool are_tied(const struct client *c, const struct session *s)
{
    if (s->clients_n < c->sessions_n) {
        LIST_FOR (it, &s->ties)
            if (CONTAINER_OF(it, struct tie, of_session)->client == c)
                return true;
        return false;
    }
    LIST_FOR (it, &c->ties)
        if (CONTAINER_OF(it, struct tie, of_client)->session == s)
            return true;
    return false;
}

void engine_session_attach(struct engine *e, struct slice name,
                           uint64_t client_id)
{
    struct session *s = session_make(e, name);
    struct map_node *n =
        map_get(&e->clients, client_hash(client_id), &client_id);
    struct client *c;
    if (n != NULL) {
        c = CONTAINER_OF(n, struct client, by_id);
        if (are_tied(c, s))
            return;
    } else {
        c = NEW(struct client);
        c->id = client_id;
        list_init(&c->ties);
        map_add(&e->clients, &c->by_id, client_hash(client_id));
    }
    struct tie *t = NEW(struct tie);
    t->client = c;
    t->session = s;
    list_append(&c->ties, &t->of_client);
    list_append(&s->ties, &t->of_session);
    c->sessions_n++;
    s->clients_n++;
    s->seen = true;
    s->ends_mono_ms = 0;
    heap_remove(&e->sessions_ending, &s->by_end);
}

static void client_free(struct engine *e, struct client *c)
{
    map_remove(&e->clients, &c->by_id);
    mem_free(c);
}

void engine_client_gone(struct engine *e, uint64_t client_id, struct now now)
{
    struct map_node *n =
        map_get(&e->clients, client_hash(client_id), &client_id);
    if (n == NULL)
        return;
    struct client *c = CONTAINER_OF(n, struct client, by_id);
    struct list *it;
    while ((it = list_pop(&c->ties)) != NULL) {
        struct tie *t = CONTAINER_OF(it, struct tie, of_client);
        struct session *s = t->session;
        list_remove(&t->of_session);
        mem_free(t);
        ASSERT(s->clients_n > 0);
        if (--s->clients_n == 0 && !list_empty(&s->leases))
            session_end_at(e, s, now.mono_ms + e->config.session_grace_ms);
        session_drop(e, s);
    }
    client_free(e, c);
}

/* A job that kills its worker must be noticed (docs/decisions/0035). Who was
 * told to go may go, and one that was not seen since the start may not have
 * found the way back. What was told to stop comes to its end either way. */
static bool is_crash(const struct engine *e, const struct session *s,
                     const struct job *j)
{
    struct slice worker = j->worker == NULL ? SLICE_EMPTY : j->worker->name;
    return (j->run_flags & RUNF_CANCEL) != 0 ||
           (s->seen && !worker_draining(e, worker, s->name));
}

bool session_reap(struct engine *e, struct now now, uint32_t ops)
{
    struct heap_node *top;
    bool any = false;
    while ((top = heap_top(&e->sessions_ending)) != NULL) {
        struct session *s = CONTAINER_OF(top, struct session, by_end);
        if (s->ends_mono_ms > now.mono_ms)
            return false;
        if (e->event_mask & EVENT_BIT(EVENT_SESSION_ENDED)) {
            struct event ev = {.type = EVENT_SESSION_ENDED,
                               .at_ms = now.wall_ms,
                               .text = s->name};
            e->on_event(e->event_ud, &ev);
        }
        struct list *it;
        while ((it = list_first(&s->leases)) != NULL) {
            if (ops-- == 0 || (any && slice_full(e)))
                return true;
            any = true;
            struct job *j = CONTAINER_OF(it, struct job, of_session);
            bool last = it->next == &s->leases;
            /* Frees the session with its last lease. */
            if (!is_crash(e, s, j))
                execution_released(e, j, VERB_RELEASE, 0, now);
            else if (!lease_give_up(e, j, now))
                return false;
            if (last)
                break;
        }
    }
    return false;
}

uint64_t session_next_ms(const struct engine *e)
{
    const struct heap_node *top = heap_top(&e->sessions_ending);
    return top == NULL
               ? UINT64_MAX
               : CONTAINER_OF(top, struct session, by_end)->ends_mono_ms;
}

/* --- end ----------------------------------------------------------------- */

static void free_worker(struct map_node *n, void *ud)
{
    worker_free(ud, CONTAINER_OF(n, struct worker, by_name));
}

static void free_session(struct map_node *n, void *ud)
{
    session_free(ud, CONTAINER_OF(n, struct session, by_name));
}

static void free_client(struct map_node *n, void *ud)
{
    struct client *c = CONTAINER_OF(n, struct client, by_id);
    struct list *it;
    while ((it = list_pop(&c->ties)) != NULL)
        mem_free(CONTAINER_OF(it, struct tie, of_client));
    client_free(ud, c);
}

void sessions_free(struct engine *e)
{
    map_each(&e->clients, free_client, e);
    map_each(&e->sessions, free_session, e);
    map_each(&e->workers, free_worker, e);
    map_release(&e->clients);
    map_release(&e->sessions);
    map_release(&e->workers);
    map_release(&e->session_workers);
    heap_release(&e->sessions_ending);
}
