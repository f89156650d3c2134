/* Channels and those who listen.
 *
 *   channel --- struct sub ... ---> client      (a sub is in two lists: its
 *   pattern --- struct sub ... ---> client       channel's and its client's)
 *
 * Only the standard kinds of messages are sent, and only to subscribers. What
 * tells of changes of the engine is sent gated: a subscriber must not learn of
 * a job that a crash could take back.
 *
 * Invariants:
 *  1. A channel exists while somebody listens to it.
 *  2. client->sub_count is the number of the client's subs.
 *
 * Bounds: PUBSUB_NAMES_MAX names of PUBSUB_BYTES_MAX together for one client,
 * refused before the first of a command is added.
 */
#ifndef SERVER_PUBSUB_H
#define SERVER_PUBSUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/slice.h"

#define PUBSUB_NAMES_MAX 100000
#define PUBSUB_BYTES_MAX ((size_t)8 << 20)

struct client;
struct pubsub;
struct server;

struct pubsub *pubsub_new(void);
void pubsub_free(struct pubsub **p);

/* May it listen to so many names of so many bytes more? */
bool pubsub_has_room(const struct client *c, size_t names, size_t bytes);
/* Returns false if the client listens already. */
bool pubsub_add(struct client *c, struct slice name, bool pattern);
bool pubsub_remove(struct client *c, struct slice name, bool pattern);
void pubsub_forget(struct client *c); /* all of them */

/* One of the names that the client listens to, or empty: to leave all. */
struct slice pubsub_any(const struct client *c, bool pattern);

unsigned pubsub_channels(const struct client *c);
unsigned pubsub_patterns(const struct client *c);
size_t pubsub_memory(const struct client *c);

/* Returns how many got it. `running` is the client whose command runs, or NULL:
 * it may be in the middle of its reply, so that its own messages are sent when
 * the tick ends. */
size_t pubsub_publish(struct server *s, struct slice channel,
                      struct slice message, bool gated,
                      const struct client *running);
/* The same for everybody when the tick ends, gated: for events of the engine,
 * which come while commands run. */
void pubsub_publish_later(struct server *s, const char *prefix,
                          struct slice rest, struct slice message);
/* Once a tick, between commands. */
void pubsub_tick(struct server *s);
/* Would anybody get it? Cheap if nobody listens to anything. */
bool pubsub_anybody(const struct server *s);

/* Channels by pattern (empty: all), as PUBSUB CHANNELS shows them. */
typedef void (*pubsub_fn)(void *ud, struct slice channel);
void pubsub_each(const struct server *s, struct slice pattern, pubsub_fn fn,
                 void *ud);
size_t pubsub_listeners(const struct server *s, struct slice channel);
size_t pubsub_pattern_count(const struct server *s);
size_t pubsub_channel_count(const struct server *s);

#endif
