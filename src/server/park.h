/* Callers that wait: the one way to wait for all commands.
 *
 *   dispatch -- exec returned ERR_PENDING --> parked
 *       |  rows are missing: store_fetch() ..... store_poll() ---.
 *       |  cmd_block(): engine's lists ......... waiter.wake() --+--> run list
 *       |  ......................................deadline -------'       |
 *       |  cmd_more(): the next slice of this or the next turn ---.      |
 *       '------------------------- park_run(): exec starts over <--------'
 *
 * A parked caller owns copies of its words, its gather and its place in the
 * engine's lists. Its connection's later commands wait. (Replies that wait for
 * the disk are not parked callers: see gate.h.)
 *
 * The command at hand already runs in a `struct parked`, the server's `spare`,
 * because its waiter must be at its final place when exec puts it in a list. So
 * the hot path allocates nothing.
 *
 * Invariants:
 *  1. A client has at most one parked caller; it is c->parked.
 *  2. The run list is FIFO and is emptied before newer commands are run.
 *     Long lists take turns, and begin no part in a turn of the loop of which
 *     they have had 250 us.
 *  3. When a parked caller ends, for whatever reason, its waiter stands in no
 *     list of the engine and no fetch of it is under way.
 */
#ifndef SERVER_PARK_H
#define SERVER_PARK_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/command.h"
#include "commands/registry.h"
#include "engine/waiter.h"
#include "util/buf.h"
#include "util/heap.h"
#include "util/list.h"
#include "util/slice.h"

#define PARKED_MAGIC 0x9a4ced01u

struct client;
struct gather;
struct server;

enum park_why { PARK_NOT, PARK_ROWS, PARK_BLOCKED, PARK_MORE };

struct parked {
    OBJ_MAGIC;
    enum park_why why;
    struct server *server;
    struct client *client;
    const struct cmd_entry *entry;
    struct slice *argv; /* a copy, one block with the bytes behind */
    uint32_t argc;
    struct gather *gather;
    struct waiter waiter;
    struct heap_node deadline;
    uint64_t deadline_mono_ms; /* 0 = none yet; UINT64_MAX = for ever */
    struct list run;           /* PARK_MORE: in the list `more` */
    struct list_progress list; /* of a long list, and the reply so far: */
    struct buf reply;
    bool cut; /* it is one, counted in server.lists */
    bool timed_out;
    bool unblocked_error; /* CLIENT UNBLOCK ... ERROR: fails when it runs */
    uint64_t us;          /* spent in exec so far */
};

bool park_less(const struct heap_node *a, const struct heap_node *b);

/* A place for the next command to run in. */
struct parked *park_frame(struct server *s);

/* The frame's command waits. Copies the words if they are not its own yet. */
void park(struct parked *p, struct client *c, const struct cmd_entry *entry,
          const struct slice *argv, uint32_t argc, enum park_why why,
          uint64_t deadline_mono_ms);

/* The frame's command has ended: leave the engine's lists, forget the rows. A
 * frame that was parked is freed and its client goes on. */
void park_end(struct parked *p);

/* The client is gone, or SHUTDOWN: end without a reply. */
void park_cancel(struct client *c);

/* CLIENT UNBLOCK and drain: start over as if the deadline had passed. False: it
 * is not blocked. */
bool park_time_out(struct client *c);

/* Put those whose deadline has passed on the run list. */
void park_deadlines(struct server *s);
/* Start over all on the run list. */
void park_run(struct server *s);

/* Go on with long lists, for a slice of time or until the entry is full. */
void park_more(struct server *s);

void park_release(struct server *s);

#endif
