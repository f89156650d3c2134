/* Commands out of bytes: RESP arrays of bulk strings, and inline commands.
 *
 *     *2\r\n $4\r\nECHO\r\n $5\r\nhello\r\n        ECHO "hello"\r\n
 *
 * Nothing is copied: the words point into the input. Only inline words with
 * quotes or escapes are put together in a buffer of `struct resp_args`.
 *
 * A command may arrive in any number of pieces. The caller passes the same
 * bytes again with more behind them, perhaps at another address; the parser
 * remembers how far it came, so that a command that dribbles in byte by byte is
 * still read once.
 *
 * Limits and the texts of errors are those of Redis 7.0 (networking.c), because
 * clients and people know them. Like Redis, the two bytes behind a bulk string
 * are skipped, not compared.
 *
 * Invariants:
 *  1. Each slice of args.argv lies within `in` or within args.text.
 *  2. Memory grows with bytes received, never with a length announced.
 */
#ifndef RESP_PARSE_H
#define RESP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/slice.h"

#define RESP_INLINE_MAX (64 * 1024)
#define RESP_UNAUTH_ARGS_MAX 10
#define RESP_UNAUTH_BULK_MAX 16384

struct resp_limits {
    uint64_t bulk_max;
    bool unauthenticated; /* few and small arguments only */
};

/* The words of one command; shared by all connections of a loop. */
struct resp_args {
    struct slice *argv;
    uint32_t argc, cap;
    struct buf text;
};

void resp_args_release(struct resp_args *a);

struct resp_pending;

/* One per connection; zeroed is a parser at the start of a command. */
struct resp_parser {
    struct resp_pending *pending; /* a command cut in two, or NULL */
};

enum resp_status {
    RESP_MORE,    /* the command is not complete */
    RESP_COMMAND, /* args hold it; *used bytes of input are done */
    RESP_NOTHING, /* an empty line, *0 or *-1: *used bytes are done */
    RESP_ERROR,   /* *e says what is wrong: reply it and close */
};

/* `in` begins with the command that was begun, if one was. */
MUST_USE enum resp_status resp_parse(struct resp_parser *p,
                                     const struct resp_limits *limits,
                                     struct slice in, struct resp_args *args,
                                     size_t *used, struct errbuf *e);

void resp_parser_release(struct resp_parser *p);
size_t resp_parser_memory(const struct resp_parser *p);

/* Bytes that are still missing of the bulk string at hand, 0 if unknown: a hint
 * for how much to read. */
size_t resp_parser_wants(const struct resp_parser *p, size_t have);

#endif
