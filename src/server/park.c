#include "server/park.h"

#include "server/backend.h"
#include "server/client.h"
#include "server/dispatch.h"
#include "server/server.h"
#include "util/alloc.h"

/* Of a turn, for all long lists: whoever has had it by the rows that came, or
 * by new lists, reads no further ahead in the same turn. */
enum { LISTS_US = 250 };

bool park_less(const struct heap_node *a, const struct heap_node *b)
{
    return CONTAINER_OF(a, struct parked, deadline)->deadline_mono_ms <
           CONTAINER_OF(b, struct parked, deadline)->deadline_mono_ms;
}

static void run_later(struct parked *p)
{
    if (p->why != PARK_NOT && !list_linked(&p->run))
        list_append(&p->server->run, &p->run);
}

static void on_wake(struct waiter *w)
{
    struct parked *p = CONTAINER_OF(w, struct parked, waiter);
    CHECK_OBJ(p, PARKED);
    /* Whoever waits for rows starts over when they are there, and asks again:
     * not before, with a fetch under way. */
    if (p->why == PARK_BLOCKED)
        run_later(p);
}

static void on_rows(void *ud)
{
    struct parked *p = (struct parked *)ud;
    CHECK_OBJ(p, PARKED);
    run_later(p);
}

struct parked *park_frame(struct server *s)
{
    if (s->spare == NULL) {
        struct parked *p = s->spare = NEW(struct parked);
        INIT_OBJ(p, PARKED);
        p->server = s;
        p->waiter.wake = on_wake;
        list_init(&p->run);
        p->gather = backend_gather_new(s);
    } else if (s->spare->gather == NULL) {
        s->spare->gather = backend_gather_new(s);
    }
    return s->spare;
}

/* The one place where a command's bytes are kept longer than their call. */
static void copy_words(struct parked *p, const struct slice *argv,
                       uint32_t argc)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < argc; i++)
        bytes += argv[i].len;
    p->argv = (struct slice *)mem_alloc(argc * sizeof(*argv) + bytes);
    p->argc = argc;
    char *to = (char *)(p->argv + argc);
    for (uint32_t i = 0; i < argc; i++) {
        if (argv[i].len > 0)
            memcpy(to, argv[i].data, argv[i].len);
        p->argv[i] = slice_of(to, argv[i].len);
        to += argv[i].len;
    }
}

static void set_why(struct parked *p, enum park_why why)
{
    struct server *s = p->server;
    if (p->why == PARK_BLOCKED)
        s->blocked_count--;
    p->why = why;
    if (why == PARK_BLOCKED)
        s->blocked_count++;
}

void park(struct parked *p, struct client *c, const struct cmd_entry *entry,
          const struct slice *argv, uint32_t argc, enum park_why why,
          uint64_t deadline_mono_ms)
{
    struct server *s = p->server;
    CHECK_OBJ(p, PARKED);
    ASSERT(why != PARK_NOT);
    if (p->client == NULL) {
        ASSERT(c->parked == NULL && s->spare == p);
        copy_words(p, argv, argc);
        p->entry = entry;
        p->client = c;
        c->parked = p;
        s->spare = NULL;
    }
    ASSERT(c->parked == p);
    if (why == PARK_BLOCKED && p->why != PARK_BLOCKED)
        s->stats.parked_blocked++;
    else if (why == PARK_MORE)
        s->stats.lists_cut++;
    else if (why == PARK_ROWS)
        s->stats.parked_rows++;
    set_why(p, why);
    heap_remove(&s->deadlines, &p->deadline);
    p->deadline_mono_ms = deadline_mono_ms;
    if (deadline_mono_ms != 0 && deadline_mono_ms != UINT64_MAX)
        heap_add(&s->deadlines, &p->deadline);
    if (why == PARK_ROWS)
        backend_fetch(s, p->gather, on_rows, p);
    else
        backend_gather_release(s, p->gather);
    if (why == PARK_MORE) {
        list_append(&s->more, &p->run);
        s->lists += !p->cut;
        p->cut = true;
    }
}

void park_end(struct parked *p)
{
    struct server *s = p->server;
    struct client *c = p->client;
    CHECK_OBJ(p, PARKED);
    if (p->waiter.engine_private != NULL)
        backend_unwait(s, &p->waiter);
    if (c == NULL) {
        ASSERT(p == s->spare);
        backend_gather_release(s, p->gather);
        return;
    }
    ASSERT(c->parked == p);
    c->parked = NULL;
    s->lists -= p->cut;
    set_why(p, PARK_NOT);
    heap_remove(&s->deadlines, &p->deadline);
    list_remove(&p->run);
    backend_gather_free(s, &p->gather);
    buf_release(&p->reply);
    mem_free(p->argv);
    p->magic = 0;
    mem_free(p);
    client_resume(c);
}

void park_cancel(struct client *c)
{
    if (c->parked != NULL)
        park_end(c->parked);
}

bool park_time_out(struct client *c)
{
    if (c->parked == NULL || c->parked->why != PARK_BLOCKED)
        return false;
    c->parked->timed_out = true;
    run_later(c->parked);
    return true;
}

void park_deadlines(struct server *s)
{
    struct heap_node *n;
    while ((n = heap_top(&s->deadlines)) != NULL) {
        struct parked *p = CONTAINER_OF(n, struct parked, deadline);
        CHECK_OBJ(p, PARKED);
        if (p->deadline_mono_ms > s->now.mono_ms)
            break;
        heap_remove(&s->deadlines, n);
        p->timed_out = true;
        /* Rows that are on their way come first: without them the command could
         * not even say that it found nothing. */
        if (p->why == PARK_BLOCKED)
            run_later(p);
    }
}

void park_run(struct server *s)
{
    struct list *n;
    while ((n = list_pop(&s->run)) != NULL) {
        struct parked *p = CONTAINER_OF(n, struct parked, run);
        CHECK_OBJ(p, PARKED);
        dispatch_again(p);
    }
}

/* Lists stop where input does, while too much is unsynced: their parts would
 * pile up all the same. CLIENT PAUSE holds what has not begun; a list has, as
 * has a caller whose rows are fetched. */
void park_more(struct server *s)
{
    struct list *n;
    while (!s->input_held && s->lists_us < LISTS_US &&
           (n = list_pop(&s->more)) != NULL) {
        struct parked *p = CONTAINER_OF(n, struct parked, run);
        CHECK_OBJ(p, PARKED);
        dispatch_again(p);
    }
    s->lists_us = 0;
}

void park_release(struct server *s)
{
    if (s->spare != NULL) {
        backend_gather_free(s, &s->spare->gather);
        FREE(&s->spare);
    }
}
