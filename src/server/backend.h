/* The server's side of engine and store: open, load, commit, poll, close.
 *
 * Everything is answered sensibly before the store is open and without one, so
 * that connections can be served (with -LOADING) from the first moment.
 */
#ifndef SERVER_BACKEND_H
#define SERVER_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"
#include "util/slice.h"

struct gather;
struct mem_disk;
struct server;
struct waiter;

MUST_USE enum err backend_open(struct server *s, struct errbuf *e);
/* On a disk of the simulation, which the server frees: for tests. */
MUST_USE enum err backend_open_mem(struct server *s, struct mem_disk *disk,
                                   struct errbuf *e);
/* A slice of the start; *done when commands may run. */
MUST_USE enum err backend_load_step(struct server *s, bool *done,
                                    struct errbuf *e);
/* CONFIG SET changed something. */
void backend_configure(struct server *s);
void backend_close(struct server *s);

/* Callbacks of finished fetches; sealing. */
void backend_poll(struct server *s);
/* When backend_tick() wants to be called, monotonic ms. */
uint64_t backend_next_ms(struct server *s);
/* What time brings, a slice; `reap`: leases may expire. True: more is due. */
bool backend_tick(struct server *s, bool reap);
/* Returns the index that covers everything so far. */
uint64_t backend_commit(struct server *s);
uint64_t backend_acked(const struct server *s);
uint64_t backend_last(const struct server *s);
/* May another command of an EXEC write into the open entry? */
MUST_USE enum err backend_has_room(const struct server *s,
                                   const struct slice *argv, uint32_t argc,
                                   struct errbuf *e);
size_t backend_entry_bytes(const struct server *s);
void backend_sync_if_idle(struct server *s);
/* Entries wait for backend_submit(). */
bool backend_holds(const struct server *s);
void backend_submit(struct server *s);
void backend_set_callers(struct server *s, uint32_t callers);
/* More waits for the disk than may. */
bool backend_is_behind(const struct server *s);
/* ERR_OK, or ERR_NOSPACE, ERR_IO ... with the sentence. */
MUST_USE enum err backend_may_write(struct server *s, bool new_work,
                                    struct errbuf *e);

struct gather *backend_gather_new(struct server *s);
void backend_gather_free(struct server *s, struct gather **g);
void backend_gather_release(struct server *s, struct gather *g);
void backend_fetch(struct server *s, struct gather *g, void (*done)(void *ud),
                   void *ud);
void backend_unwait(struct server *s, struct waiter *w);
/* Tokens, each followed by a line feed. */
void backend_undo(struct server *s, struct slice tokens);
void backend_client_gone(struct server *s, uint64_t client_id);

#endif
