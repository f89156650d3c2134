/* What is to happen at a time: rows of `due` in the order of their times. The
 * near future is a window in memory; due_step() works it off. */
#ifndef ENGINE_DUE_H
#define ENGINE_DUE_H

#include "engine/state.h"

/* Rows of things with a name use due_name_id() and hold the name. */
struct due {
    uint64_t at_ms;
    enum due_kind kind;
    struct id id;
    struct lane *lane; /* DUE_READY: where it will stand */
    uint32_t priority;
    unsigned flags;    /* enum due_flag */
    struct slice name; /* of what has no id */
    struct job *job;   /* in memory, to be kept there if there is room */
};
struct id due_name_id(struct slice name);
void due_put(struct engine *e, const struct due *d, bool fresh);
void due_del(struct engine *e, uint64_t at_ms, enum due_kind kind,
             const struct id *id);
/* Is it there for certain? It may be even if not: on disk only. */
bool due_waits(const struct engine *e, const struct due *d);
/* Work off what is due, at most `ops`; returns true if there is more. */
bool due_step(struct engine *e, struct now now, uint32_t ops);
/* Do schedules wait for the disk? */
bool due_held(const struct engine *e);
uint64_t due_next_ms(const struct engine *e); /* wall; UINT64_MAX: never */
void due_commit(struct engine *e);
/* ERR_NOTFOUND if the row is gone, which means that it has fired. */
MUST_USE enum err due_exists(struct engine *e, struct gather *g, uint64_t at_ms,
                             enum due_kind kind, const struct id *id,
                             struct errbuf *err);
void due_load(struct engine *e, struct slice key, struct slice value);

/* Kinds that have files of their own: ERR_OK, ERR_PENDING, or a fault. */
MUST_USE enum err due_fire_other(struct engine *e, struct gather *g,
                                 enum due_kind kind, uint64_t at_ms,
                                 const struct id *id, struct now now,
                                 struct errbuf *err);

#endif
