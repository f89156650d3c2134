/* The event loop: waits for sockets, for a time, and for other threads.
 *
 * A thin cover over libevent; no other folder but http/ includes its headers.
 * There is one timer only: the caller knows its next deadline and says it with
 * each wait, so that no timer is armed and disarmed per connection.
 *
 * Threads: everything belongs to the loop's thread but loop_wake(), which any
 * thread and any signal handler may call.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdint.h>

#include "util/err.h"

struct event_base;
struct loop;

MUST_USE enum err loop_new(struct loop **out, struct errbuf *e);
void loop_free(struct loop **l);

/* Wait until something happens or the monotonic clock, which shows `now_ms`,
 * reaches `until_ms`; then run the callbacks of all that is ready. With
 * until_ms <= now_ms it does not wait. */
void loop_wait(struct loop *l, uint64_t now_ms, uint64_t until_ms);

/* End the wait under way, or the next one. Many calls are one wake-up. */
void loop_wake(struct loop *l);

/* For http/, which brings its own events. */
struct event_base *loop_base(struct loop *l);

#endif
