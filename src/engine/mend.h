/* Make the rows of a salvaged store fit each other again; see mend.c. */
#ifndef ENGINE_MEND_H
#define ENGINE_MEND_H

#include <stdint.h>

#include "engine/engine.h"

struct mended {
    uint64_t requeued;   /* jobs that stood nowhere */
    uint64_t doubled;    /* places too many, dropped */
    uint64_t recounted;  /* queues and owners whose counters were wrong */
    uint64_t keys;       /* names, unique keys and effects of lost jobs */
    uint64_t claimed;    /* names and unique keys that live jobs had lost */
    uint64_t listed;     /* finished jobs that no row of the index named */
    uint64_t homeless;   /* jobs whose queue or lane is lost: left alone */
    uint64_t unreadable; /* rows of jobs */
};

/* `e` is loaded and has done nothing else; afterwards it is only closed.
 *
 * Errors: what reading the store returns. */
MUST_USE enum err engine_mend(struct engine *e, struct now now,
                              struct mended *out, struct errbuf *err);

#endif
