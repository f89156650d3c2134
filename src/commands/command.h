/* What a command is: one table entry, from which dispatch, argument checks,
 * COMMAND, COMMAND DOCS and docs/commands.md come.
 *
 * A command declares its arguments and options; nobody parses words by hand:
 *
 *     JOB.ADD queue payload [DELAY d] [AFTER id [ON o] [ELSE e]]... [ALSO ...]
 *     ------- ------------- ----------------------------------- ------------
 *      name    positional    options in any order and case        the rest
 *
 * The parser fills a struct that the command names (`args_size`); an option
 * stores at an offset of it and marks bit `bit` in its `given` word.
 *
 * A command runs like this (see server/dispatch.c):
 *  1. arity and options are parsed; errors name the word that was wrong;
 *  2. exec() gathers (reads with ctx->gather) and then acts;
 *  3. ERR_OK: the reply has been written. ERR_PENDING: rows are missing or
 *     cmd_block() was called; the caller is parked, and exec() starts over when
 *     the rows are there, the waiter is woken or the deadline has passed;
 *     after cmd_more() at the latest with the next turn.
 *     Anything else: an error reply is made of the code and ctx->e, and what
 *     was written of a reply is taken back.
 */
#ifndef COMMANDS_COMMAND_H
#define COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp/reply.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/id.h"
#include "util/slice.h"

struct engine;
struct gather;
struct waiter;
struct cmd_ctx;

enum cmd_flag {
    CMD_WRITE = 1 << 0,    /* changes jobs or settings */
    CMD_READONLY = 1 << 1, /* shows state: its reply waits at the gate */
    CMD_FREE = 1 << 2,     /* neither: passes the gate */
    CMD_ADMIN = 1 << 3,
    CMD_BLOCKING = 1 << 4,  /* may park its caller */
    CMD_PUBSUB = 1 << 5,    /* allowed in RESP2 subscriber mode */
    CMD_NOAUTH = 1 << 6,    /* allowed before AUTH */
    CMD_LOADING = 1 << 7,   /* allowed while the log is replayed */
    CMD_NO_MULTI = 1 << 8,  /* not allowed inside MULTI */
    CMD_FAST = 1 << 9,      /* never touches more than a few rows */
    CMD_NEW_WORK = 1 << 10, /* refused first when the disk fills (NOSPACE) */
    CMD_SECRET = 1 << 11,   /* arguments with secrets, see `shows` */
    CMD_DEBUG = 1 << 12,    /* needs enable-debug-command */
    CMD_LEASES = 1 << 13,   /* gives out jobs: not while the server drains */
};

enum opt_type {
    OPT_FLAG,  /* bool, no value */
    OPT_BYTES, /* struct slice, anything */
    OPT_NAME,  /* struct slice, 1..max bytes of a name */
    OPT_I64,   /* int64_t, min..max */
    OPT_U64,   /* uint64_t, min..max */
    OPT_U32,   /* uint32_t, min..max */
    OPT_F64,   /* double, min..max */
    OPT_MS,    /* uint64_t, a duration */
    OPT_TIME,  /* uint64_t, unix ms or RFC 3339 */
    OPT_SIZE,  /* uint64_t, bytes with units */
    OPT_ENUM,  /* uint32_t: number of the word in `words` */
    OPT_PAIR,  /* k=v into two slices (struct opt_pair) */
    OPT_LIST,  /* n word...: struct opt_list of borrowed words */
    OPT_REST,  /* all words that follow, one at least: struct opt_list */
    OPT_TWO, /* two words into a struct opt_pair: HELLO's AUTH (options only) */
};

struct opt_pair {
    struct slice key, value;
};

/* Borrowed run of argument words. */
struct opt_list {
    const struct slice *words;
    uint32_t n;
};

/* A repeatable option stores into an array of `max_count` elements of
 * `elem_size` bytes at `offset`, and its count (uint32_t) at `count_offset`.
 * A sub-option (`parent` is the name of another option) belongs directly behind
 * its parent and stores at `offset` inside the element that was parsed last; of
 * the struct itself if the parent cannot be repeated. Sub-options of two
 * parents may share a name, no other options may.
 *
 * Bounds are of the number, in its unit; for OPT_BYTES and OPT_NAME `max` is
 * the length, for OPT_LIST the count. 0,0 = the type's own; max 0 with a
 * positive min = no upper bound. Enumerations start with their default: what is
 * not given is zero. */
struct opt {
    const char *name; /* upper case; the end of the table has NULL */
    enum opt_type type;
    size_t offset;
    const char *help;
    const char *value;        /* how the value is called in the docs: "d" */
    const char *const *words; /* OPT_ENUM: names, NULL at the end */
    int64_t min, max;
    const char *group;  /* options of one group exclude each other */
    uint32_t max_count; /* > 0: may be repeated */
    size_t elem_size, count_offset;
    const char *parent;
    const char *value_default; /* for the docs */
    bool required;
};

#define OPTS_MAX 128 /* of one command */

/* Positional arguments, in order. An optional one is taken if a word is there
 * that is not the name of an option, or, if it stands `alone`, if no word
 * follows. OPT_LIST reads its own count: "n word...".
 * `more` takes all words that follow, at least one unless it is optional, as
 * struct opt_list; ALSO is written as .also = true on the entry. */
struct arg {
    const char *name;
    enum opt_type type;
    size_t offset;
    bool optional;
    bool alone;
    bool more; /* the last: struct opt_list */
    bool key;  /* a routing key: COMMAND GETKEYS, ACL */
    const char *help;
    const char *const *words;
    int64_t min, max;
};

/* The tables of a command file are written with these, after
 *
 *     #define CMD_ARGS struct add_args   (which has a member given[2])
 *
 *     {"DELAY", OPT(MS, delay_ms), "run no earlier than this from now"},
 *     {"LIMIT", OPT(NAME, limits), OPT_MANY(limits, n_limits)},
 *     ... and in the entry: CMD_PARSED(args, opts), */
#define OPT(type, field) OPT_##type, offsetof(CMD_ARGS, field)
#define OPT_MANY(field, n_field)                       \
    .max_count = sizeof(((CMD_ARGS *)NULL)->field) /   \
                 sizeof(((CMD_ARGS *)NULL)->field[0]), \
    .elem_size = sizeof(((CMD_ARGS *)NULL)->field[0]), \
    .count_offset = offsetof(CMD_ARGS, n_field)
#define CMD_PARSED(args_table, opts_table)                                     \
    .args = (args_table), .opts = (opts_table), .args_size = sizeof(CMD_ARGS), \
    .given_offset = offsetof(CMD_ARGS, given)
/* For a large struct that ends in the arrays of repeatable options, of which
 * `field` is the first: they are cleared element by element, as they are used,
 * instead of all of them for every command. */
#define CMD_CLEARED(field) .clear_size = offsetof(CMD_ARGS, field)

struct command {
    const char *name;  /* "JOB.ADD"; "CLIENT"; a sub-command: "CLIENT|ID" */
    const char *group; /* "jobs", "queues", "server", "connection" ... */
    const char *summary;
    const char *since;
    const char *reply; /* in words, for the docs */
    unsigned flags;
    const struct arg *args;
    const struct opt *opts;
    size_t args_size;    /* of the struct that exec finds in ctx->args */
    size_t clear_size;   /* 0: all of it */
    size_t given_offset; /* uint64_t[2]: bit i = opts[i] was given */
    bool also;           /* ends with [ALSO key...]: struct opt_list at ... */
    size_t also_offset;
    const enum err *errors; /* ends with ERR_OK */
    enum err (*exec)(struct cmd_ctx *c);
    /* Checks across options, after parsing; NULL if none. */
    enum err (*check)(struct cmd_ctx *c);
    /* With CMD_SECRET: may MONITOR and SLOWLOG show word `i`? NULL: none. */
    bool (*shows)(const struct slice *argv, uint32_t i);
    const struct command *const *subs; /* CLIENT ID, CLIENT LIST ...; or NULL */
    const char *example;               /* one line for the docs, or NULL */
};

/* How far a command with a long list has come; kept while it is parked. */
struct list_progress {
    uint32_t done;   /* words that were answered for: their replies stay */
    uint32_t part;   /* how many to try next; 0: as many as may be */
    struct id first; /* of those that JOB.ADDM has added */
};

/* What a command sees. Never a socket. */
struct cmd_ctx {
    const struct command *cmd;
    const struct slice *argv;
    uint32_t argc;
    void *args; /* the parsed struct */
    struct reply *reply;
    struct engine *engine;
    struct gather *gather;
    struct now now;
    struct errbuf e;
    struct waiter *waiter; /* to be put into the engine's lists before block */
    bool timed_out;        /* exec starts over because the deadline passed */
    bool may_block;        /* false inside MULTI: answer as if BLOCK 0 passed */
    bool blocked;          /* set by cmd_block() */
    uint64_t deadline_mono_ms; /* first set by cmd_block(), kept afterwards */
    struct slice client_name;
    uint64_t client_id;
    /* Tokens that this reply gives out, each followed by a line feed. If the
     * connection is gone before the reply left, they are taken back. */
    struct buf *leased;
    struct list_progress list;
    bool whole; /* inside MULTI: one entry, so lists are not cut */
    bool more;  /* set by cmd_more() */
    void *host; /* the server's own, for its own commands only */
};

/* Park the caller until its waiter is woken or `deadline_mono_ms`
 * (UINT64_MAX: for ever). exec() returns what this returns. */
enum err cmd_block(struct cmd_ctx *c, uint64_t deadline_mono_ms);

/* The list goes on, behind others: what was written of the reply is kept
 * (list.done has grown), and exec() starts over soon for the rest. */
enum err cmd_more(struct cmd_ctx *c);

/* Was this option given? The name is as in the command's own table. */
bool cmd_given(const struct cmd_ctx *c, const char *opt_name);

/* Parse argv into `args` (args_size bytes, zeroed; see CMD_CLEARED). On error
 * the sentence names the word that was wrong and what is allowed. */
MUST_USE enum err cmd_parse(struct cmd_ctx *c);

/* Too few words, or too many: Redis' text, and for commands of our own what
 * they want. Returns ERR_SYNTAX. */
enum err cmd_wrong_arity(const struct command *cmd, struct errbuf *e);

/* The number that the registry gave it, for arrays of counters. */
uint32_t cmd_number(const struct command *cmd);
void cmd_set_number(const struct command *cmd, uint32_t number);

/* Number of words with the name(s), as COMMAND shows it: negative if more may
 * follow. */
int cmd_arity(const struct command *cmd);

/* Words that are names of the command: 1, or 2 for a sub-command. */
unsigned cmd_name_words(const struct command *cmd);

/* Word `i` as others may see it: a secret is "(redacted)". */
struct slice cmd_shown_word(const struct command *cmd, const struct slice *argv,
                            uint32_t i);

#endif
