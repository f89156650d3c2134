/* Handlers: what is said once about all jobs of a kind, and the breaker that
 * stops them when what they need is broken.
 *
 * A handler exists from its first job or HANDLER.SET on. What it says about a
 * job counts where the job says nothing and nothing that collides with it
 * (options_apply()). A paused handler, or one whose breaker is open, closes its
 * lanes by a flag: nothing moves, and what waits keeps its place.
 *
 * The breaker (engine/breaker.c) is off unless set:
 *
 *               percent of at least `least` outcomes within window_ms failed
 *     CLOSED ---------------------------------------------------> OPEN
 *       ^                                                         |  ^
 *       | `probes` probes                                 open_ms |  | a probe
 *       | ended well                                              v  | failed
 *       `--------------------------------------------------- HALF OPEN
 *
 * Half open lets one job out; each that ends well lets one more run beside, so
 * what has just recovered is not flooded.
 */
#ifndef ENGINE_HANDLERS_H
#define ENGINE_HANDLERS_H

#include "engine/engine.h"

/* Stored: never renumber. */
enum breaker_state { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN };
const char *breaker_state_name(enum breaker_state s); /* "half-open" */

enum payload_check { CHECK_ANY, CHECK_JSON };
extern const char *const payload_check_list[];

/* 0 in a bound means: as it was, at first the default. */
struct breaker_settings {
    uint32_t percent; /* of outcomes that failed */
    uint32_t least;   /* outcomes, before anything is judged */
    uint64_t window_ms, open_ms;
    uint32_t probes; /* that must end well */
};

enum handler_setting {
    HSET_DESCRIPTION = 1 << 0,
    HSET_CHECK = 1 << 1,
    HSET_MAX = 1 << 2,
    HSET_NEVER = 1 << 3,
    HSET_ONLY = 1 << 4,
    HSET_BREAKER = 1 << 5,
};

struct handler_params {
    unsigned given; /* enum handler_setting */
    bool clear;     /* forget first what was set before */
    const struct job_options *options;
    struct slice description;
    uint32_t check;       /* enum payload_check */
    uint64_t payload_max; /* 0: the server's */
    const struct slice *never, *only;
    uint32_t never_n, only_n;
    bool breaker; /* on */
    struct breaker_settings breaker_set;
};

/* What is given replaces what was said before, the rest stays.
 *
 * Errors:
 *   ERR_SYNTAX  options that collide, or that are no defaults (AT)
 *   ERR_LIMIT   too long, too many handlers
 */
MUST_USE enum err engine_handler_set(struct engine *e, struct slice name,
                                     const struct handler_params *p,
                                     struct now now, struct errbuf *err);

struct breaker_view {
    bool on;
    struct breaker_settings set;
    enum breaker_state state;
    uint64_t since_ms, until_ms; /* until: open only, else 0 */
    uint64_t trips;              /* since ever */
    uint64_t good, bad;          /* within the window */
    uint32_t probing, probed_well;
};

struct handler_view {
    struct slice name, description;
    uint32_t id;
    bool paused, open;
    enum payload_check check;
    uint64_t payload_max;
    struct slice never, only;           /* lists of words: see word_next() */
    const struct job_options *defaults; /* NULL: none */
    struct breaker_view breaker;
};

/* Errors: ERR_NOTFOUND. */
MUST_USE enum err engine_handler(struct engine *e, struct slice name,
                                 struct now now, struct handler_view *v,
                                 struct errbuf *err);
typedef void (*handler_fn)(void *ud, const struct handler_view *v);
/* By name; and those whose breaker is on. */
void engine_handlers(struct engine *e, const struct page *page, struct now now,
                     handler_fn fn, void *ud);
void engine_breakers(struct engine *e, const struct page *page, struct now now,
                     handler_fn fn, void *ud);

/* Makes the handler if it is new. Errors: ERR_SYNTAX, ERR_LIMIT. */
MUST_USE enum err engine_handler_pause(struct engine *e, struct slice name,
                                       bool paused, struct now now,
                                       struct errbuf *err);

/* By hand: open it for `open_ms` (0: as long as it is set to), or close it and
 * forget what was counted.
 *
 * Errors:
 *   ERR_NOTFOUND  no such handler
 *   ERR_STATE     its breaker is off
 */
MUST_USE enum err engine_breaker_trip(struct engine *e, struct slice name,
                                      uint64_t open_ms, struct now now,
                                      struct errbuf *err);
MUST_USE enum err engine_breaker_reset(struct engine *e, struct slice name,
                                       struct now now, struct errbuf *err);

#endif
