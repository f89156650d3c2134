#include "undo.h"

#include <string.h>

#include "util/alloc.h"
#include "util/list.h"

struct saved {
    struct list in;
    uint64_t index; /* 0: the open entry */
    void *at;
    size_t len;
    char was[];
};

struct undo {
    struct list saved; /* oldest first */
};

struct undo *undo_new(void)
{
    struct undo *u = NEW(struct undo);
    list_init(&u->saved);
    return u;
}

static void drop(struct saved *s)
{
    list_remove(&s->in);
    mem_free(s);
}

static struct saved *last(const struct undo *u)
{
    return list_empty(&u->saved)
               ? NULL
               : CONTAINER_OF(u->saved.prev, struct saved, in);
}

void undo_free(struct undo **u)
{
    LIST_FOR (it, &(*u)->saved)
        drop(CONTAINER_OF(it, struct saved, in));
    FREE(u);
}

void undo_save(struct undo *u, void *at, size_t len)
{
    struct saved *s = mem_zalloc(sizeof(*s) + len);
    s->at = at;
    s->len = len;
    memcpy(s->was, at, len);
    list_append(&u->saved, &s->in);
}

void undo_committed(struct undo *u, uint64_t index)
{
    for (struct list *it = u->saved.prev; it != &u->saved; it = it->prev) {
        struct saved *s = CONTAINER_OF(it, struct saved, in);
        if (s->index != 0)
            return;
        s->index = index;
    }
}

void undo_crashed(struct undo *u, uint64_t index)
{
    struct saved *s;
    while ((s = last(u)) != NULL && (s->index == 0 || s->index > index)) {
        memcpy(s->at, s->was, s->len);
        drop(s);
    }
    undo_durable(u, UINT64_MAX);
}

void undo_durable(struct undo *u, uint64_t index)
{
    LIST_FOR (it, &u->saved) {
        struct saved *s = CONTAINER_OF(it, struct saved, in);
        if (s->index == 0 || s->index > index)
            return;
        drop(s);
    }
}
