/* A server on the simulation's disk, and clients on socket pairs. Everything
 * happens in rig_turn(): one turn of the loop, without waiting. */
#ifndef UNIT_SERVER_RIG_H
#define UNIT_SERVER_RIG_H

#include "server/client.h"
#include "server/server.h"
#include "store/mem.h"
#include "util/buf.h"

struct rig {
    struct conf *conf;
    struct server *s;
    struct mem_disk *disk;
};

/* `directives` are lines of a configuration, or NULL. */
void rig_begin(struct rig *r, const char *directives,
               const struct mem_knobs *knobs);
void rig_end(struct rig *r);
void rig_turn(struct rig *r);

/* The test's end of a new connection. */
int rig_connect(struct rig *r);
void rig_send(int fd, const char *text);
/* What has arrived by now, as a string; valid until the next call. */
const char *rig_read(int fd);
/* Turn, then compare what has arrived. */
#define rig_expect(r, fd, text)                  \
    do {                                         \
        rig_turn(r);                             \
        assert_string_equal(rig_read(fd), text); \
    } while (0)

/* Commands of the rig:
 *   T.FREE            +FREE, passes the gate
 *   T.PUT key         +PUT, changes a row
 *   T.GET key         the row's value, perhaps after a fetch
 *   T.FILL key        +FULL, reads that row and writes one of 600,000 bytes
 *   T.WAIT ms         +WOKEN by T.WAKE, or +LATE
 *   T.TAKE ms         the same, as one that changes rows when it is woken
 *   T.WAKE            wakes the first that waits
 *   T.LEASE token     the token, to be undone if it does not leave
 *   T.BIG bytes       a bulk of that many
 *   T.BUSY            +BUSY, after RIG_BUSY_US of work
 *   T.LIST key        0, the row's value, 2: in parts that fill a slice */
#define RIG_BUSY_US 5000
extern struct waiter *rig_waiting[8];
extern unsigned rig_waiting_count;

#endif
