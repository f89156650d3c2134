/* The options that describe a job, for the tables of JOB.ADD, JOB.ADDM and
 * whoever else makes jobs or has defaults for them.
 *
 * A command's struct has `uint64_t given[2]` and `struct job_options o`, and
 * its table begins with JOB_OPTION_ROWS, so that bit i of given[0] is the
 * engine's JOPT_ number (a test compares the names with engine/options.def).
 */
#ifndef COMMANDS_JOB_OPTIONS_H
#define COMMANDS_JOB_OPTIONS_H

#include "commands/command.h"
#include "engine/options.h"

/* clang-format off */
#define JOB_OPTION_ROWS_RUN \
    {"HANDLER", OPT(NAME, o.handler), "what runs the job; default: the queue's name", .value = "h"}, \
    {"DELAY", OPT(MS, o.delay_ms), "run no earlier than this from now", .value = "d", .group = "start"}, \
    {"AT", OPT(TIME, o.at_ms), "run no earlier than this time (unix ms or RFC 3339)", .value = "t", .group = "start"}, \
    {"PRIORITY", OPT(U32, o.priority), "0 to 1000, higher first", .value = "n", .min = 0, .max = PRIORITY_MAX, .value_default = "500"}, \
    {"RETRIES", OPT(U32, o.retries), "failed executions that are followed by another", .value = "n", .min = 0, .max = 1000000, .value_default = "3"}, \
    {"BACKOFF", OPT(ENUM, o.backoff), "how the delay before a retry grows", .value = "kind", .words = backoff_list}, \
    {"BASE", OPT(MS, o.base_ms), "delay before the first retry", .value = "d", .value_default = "1s"}, \
    {"FACTOR", OPT(F64, o.factor), "growth of an exponential delay", .value = "x", .min = 1, .max = 1000, .value_default = "2"}, \
    {"CAP", OPT(MS, o.cap_ms), "the longest delay before a retry; a BASE above the default raises it", .value = "d", .value_default = "1h"}, \
    {"JITTER", OPT(U32, o.jitter), "random part added to the delay, in percent", .value = "pct", .min = 0, .max = 100, .value_default = "30"}, \
    {"LEASE", OPT(MS, o.lease_ms), "length of its leases", .value = "d", .min = 1, .value_default = "30s"}, \
    {"TIMEOUT", OPT(MS, o.timeout_ms), "an execution that runs longer has failed", .value = "d", .min = 1}, \
    {"EXPECT", OPT(MS, o.expect_ms), "an execution that runs longer is reported", .value = "d", .min = 1}, \
    {"SLA", OPT(ENUM, o.sla), "what passing EXPECT means", .value = "policy", .words = sla_list}, \
    {"EXPIRES", OPT(MS, o.expires_ms), "it expires if it does not run then and no execution failed or crashed before", .value = "d", .min = 1}, \
    {"DEADLINE", OPT(MS, o.deadline_ms), "if it has not ended by then it expires", .value = "d", .min = 1}, \
    {"KEEP", OPT(MS, o.keep_ms), "how long it is kept when finished; 0: not at all", .value = "d"}

#define JOB_OPTION_ROWS_UNIQUE \
    {"UNIQUE", OPT(BYTES, o.unique), "one job with this key at a time", .value = "key", .min = 1, .max = 200}, \
    {"SCOPE", OPT(ENUM, o.scope), "where the key is unique", .value = "s", .words = scope_list}, \
    {"WHILE", OPT(ENUM, o.unique_while), "until the job ends, or until it is first leased", .value = "w", .words = while_list}, \
    {"FOR", OPT(MS, o.for_ms), "the key is held for this long, whatever becomes of the job", .value = "d", .min = 1}, \
    {"CONFLICT", OPT(ENUM, o.conflict), "what happens if another job has the key", .value = "c", .words = conflict_list}, \
    {"DEBOUNCE", OPT(MS, o.debounce_ms), "replace the waiting job, and start this long from now", .value = "d", .min = 1}

#define JOB_OPTION_ROWS_LIMIT \
    {"LIMIT", OPT(BYTES, o.limits), "a name whose concurrency and rate are limited (LIMIT.SET)", .value = "name", .min = 1, .max = 128, OPT_MANY(o.limits, o.limits_n)}, \
    {"COST", OPT(U32, o.cost), "how much of a limit's rate and of an owner's turn it takes", .value = "n", .min = 1, .max = 1000000, .value_default = "1"}

#define JOB_OPTION_ROWS_OWNER \
    {"OWNER", OPT(NAME, o.owner), "the tenant it belongs to", .value = "o"}

#define JOB_OPTION_ROWS_LABEL \
    {"TAG", OPT(PAIR, o.tags), "a label to find it by", .value = "k=v", OPT_MANY(o.tags, o.tags_n)}, \
    {"TRACE", OPT(BYTES, o.trace), "a traceparent that is handed on", .value = "traceparent", .max = 256}, \
    {"META", OPT(BYTES, o.meta), "anything that is handed on", .value = "bytes", .max = 4096}

/* All of them, in the order of engine/options.def. */
#define JOB_OPTION_ROWS \
    JOB_OPTION_ROWS_RUN, JOB_OPTION_ROWS_UNIQUE, JOB_OPTION_ROWS_LIMIT, \
    JOB_OPTION_ROWS_OWNER, JOB_OPTION_ROWS_LABEL
/* clang-format on */

/* Call first in exec: what was given, as the engine wants to know it. */
#define JOB_OPTIONS_TAKE(a) \
    ((a)->o.given = (a)->given[0] & (((uint64_t)1 << (JOPT_META + 1)) - 1))

#endif
