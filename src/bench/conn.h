/* One connection of the load generator: bytes out, replies in.
 *
 * Nothing blocks after conn_open(). What a reply meant is noted in the
 * connection by its protocol (proto.h): the tokens of leased jobs in `held`,
 * refusals in `errors`.
 */
#ifndef BENCH_CONN_H
#define BENCH_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/scanner.h"
#include "util/buf.h"
#include "util/err.h"

struct workload;

/* A leased job: its token is bytes[start..start + len) of the list. */
struct token {
    uint32_t start, len;
    uint64_t stamp; /* what the payload's head says; see payload.h */
};

struct tokens {
    struct buf bytes;
    struct token *list;
    uint32_t n, cap;
};

void tokens_add(struct tokens *t, struct slice token);
void tokens_clear(struct tokens *t);

static inline struct slice token_slice(const struct tokens *t, uint32_t i)
{
    return slice_of(t->bytes.data + t->list[i].start, t->list[i].len);
}

struct conn {
    int fd;
    uint32_t number;
    struct buf out;
    size_t sent; /* of out */
    struct buf in;
    size_t taken; /* of in */
    struct scanner scan;
    const struct workload *w;
    struct tokens held;
    uint64_t errors;
    char first_error[120];
    /* proto_belfry.c */
    bool reading_token, reading_payload, reading_nominal;

    /* Of the loops: replies awaited and come, jobs to be leased yet. */
    int phase;
    bool polls_out;
    uint32_t expect, got;
    uint32_t owed;
    uint64_t round_us, phase_us;
    uint32_t idle; /* leases in a row that brought nothing */
};

/* Connect, blocking, and authenticate. */
MUST_USE enum err conn_open(struct conn *c, const struct workload *w,
                            uint32_t number, struct errbuf *e);
void conn_close(struct conn *c);

/* Is the server on this machine? */
bool conn_is_local(const struct conn *c);

/* Buffers that a connection does not need for now serve the next one, so that
 * a few of them stay in the processor's cache. Borrow before replies are read
 * and requests written, give back when they are. */
void conn_borrow(struct conn *c);
void conn_give_back(struct conn *c);

/* Write what the socket takes. True if something is left. */
MUST_USE enum err conn_write(struct conn *c, bool *left, struct errbuf *e);

/* As conn_write(), and epoll `fd` watches for room while something is left;
 * its events carry `tag`. */
MUST_USE enum err conn_push(struct conn *c, int fd, void *tag,
                            struct errbuf *e);

/* Read what there is. */
MUST_USE enum err conn_read(struct conn *c, struct errbuf *e);

/* Take one reply off the input. False if none is complete. A server that does
 * not speak the protocol is an error. */
MUST_USE enum err conn_reply(struct conn *c, bool *complete, struct errbuf *e);

/* Send `line` (words at blanks) and wait for its reply; an error reply is an
 * error. `reply`, if not NULL, gets the text of a bulk reply. */
MUST_USE enum err conn_ask(struct conn *c, const char *line, struct buf *reply,
                           struct errbuf *e);

/* Send what is in `out` and wait for `replies`. */
MUST_USE enum err conn_await(struct conn *c, uint32_t replies,
                             struct errbuf *e);

void conn_error(struct conn *c, struct slice text);

#endif
