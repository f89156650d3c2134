/* The options that describe a job, as commands give them and as a handler's or
 * a schedule's defaults.
 *
 * `given` says which were given (bit JOPT_<NAME>); what was not given is taken
 * from the handler's defaults, then from the engine's configuration, when a job
 * is made. Slices are borrowed for the call.
 */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/clock.h"
#include "util/err.h"
#include "util/slice.h"

#define JOB_LIMITS_MAX 4
#define JOB_TAGS_MAX 16
#define JOB_PARENTS_MAX 64
#define PRIORITY_MAX 1000
#define PRIORITY_DEFAULT 500

enum job_option {
#define JOB_OPTION(NAME) JOPT_##NAME,
#include "engine/options.def"
#undef JOB_OPTION
    JOB_OPTIONS
};
_Static_assert(JOB_OPTIONS <= 64, "one bit each in `given`");

/* Words of enumerated options; 0 is the default. Stored: never renumber. */
enum backoff {
    BACKOFF_EXPONENTIAL,
    BACKOFF_LINEAR,
    BACKOFF_FIXED,
    BACKOFF_NONE
};
enum sla { SLA_WARN, SLA_FLEXIBLE, SLA_STRICT };
enum unique_scope { SCOPE_QUEUE, SCOPE_GLOBAL };
enum unique_while { WHILE_LIVE, WHILE_WAITING };
enum conflict { CONFLICT_RETURN, CONFLICT_REJECT, CONFLICT_REPLACE };
enum edge_on { ON_SUCCESS, ON_FAILURE, ON_COMPLETION };
enum edge_else { ELSE_CANCEL, ELSE_RUN, ELSE_HOLD };

/* The words, NULL at the end. */
extern const char *const backoff_list[],
    *const sla_list[], *const scope_list[], *const while_list[],
                                                *const conflict_list[],
                                                    *const on_list[],
                                                        *const else_list[];

const char *job_option_name(enum job_option o); /* "DELAY" */

struct job_parent {
    struct slice id; /* an id or a name */
    uint32_t on, otherwise;
};

struct job_tag {
    struct slice key, value;
};

struct job_options {
    uint64_t given;
    struct slice handler;
    uint64_t delay_ms, at_ms;
    uint32_t priority, retries, backoff;
    uint64_t base_ms;
    double factor;
    uint64_t cap_ms;
    uint32_t jitter; /* percent */
    uint64_t lease_ms, timeout_ms, expect_ms;
    uint32_t sla;
    uint64_t expires_ms, deadline_ms, keep_ms;
    struct slice unique;
    uint32_t scope, unique_while;
    uint64_t for_ms;
    uint32_t conflict;
    uint64_t debounce_ms;
    uint32_t limits_n, cost;
    struct slice owner;
    uint32_t parents_n;
    struct slice batch;
    uint32_t tags_n;
    struct slice trace, meta;
    /* Only as many as are counted above mean anything. */
    struct slice limits[JOB_LIMITS_MAX];
    struct job_tag tags[JOB_TAGS_MAX];
    struct job_parent parents[JOB_PARENTS_MAX];
};

static inline bool option_given(const struct job_options *o,
                                enum job_option which)
{
    return o->given >> which & 1;
}

/* Combinations that make no sense: names the two words that collide. `said` are
 * the words of `o` that are said now (bits as in `given`); the others stood
 * before, and what is wrong among themselves is let be.
 *
 * Errors:
 *   ERR_SYNTAX
 */
MUST_USE enum err options_check(const struct job_options *o, uint64_t said,
                                struct now now, struct errbuf *e);
/* The same of what a handler says about its jobs: a word that needs another
 * one may wait for a job that says it. */
MUST_USE enum err options_check_defaults(const struct job_options *o,
                                         uint64_t said, struct now now,
                                         struct errbuf *e);

/* Fill what `o` does not give from `defaults` (NULL: nothing). */
void options_inherit(struct job_options *o, const struct job_options *defaults);
/* The same for a job. Of a default that collides with what the job says and
 * that word one is left out: the default, but for a bound (RETRIES 0, TIMEOUT,
 * DEADLINE) beside which the word has no effect. So is a default that needs a
 * word which neither has said. A job that would expire before it may start
 * remains, for options_check() to refuse. */
void options_apply(struct job_options *o, const struct job_options *defaults,
                   struct now now);

/* As bytes for a settings row and back; `out`'s slices point into `bytes`. */
size_t options_size(const struct job_options *o);
char *options_encode(const struct job_options *o, char *to);
bool options_decode(struct job_options *out, struct slice bytes);

#endif
