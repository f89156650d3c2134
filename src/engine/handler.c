/* Handlers: what they say about their jobs. */
#include "engine/core.h"

enum err handler_examine(const struct handler *h, const struct add_params *p,
                         struct errbuf *err)
{
    if (h->set.payload_max == 0)
        return ERR_OK;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->payloads[i].len > h->set.payload_max)
            return err_set(err, ERR_LIMIT,
                           "payload has %zu bytes; handler %.*s allows %llu",
                           p->payloads[i].len, SLICE_FMT(h->name),
                           (unsigned long long)h->set.payload_max);
    return ERR_OK;
}

/* Is `word` one of a list of words (length byte, word, ...)? */
static bool list_has(struct slice list, struct slice word)
{
    struct slice w;
    while (word_next(&list, &w))
        if (slice_eq(w, word))
            return true;
    return false;
}

/* NEVER and ONLY: does an error of this type end the job? */
bool handler_says_permanent(const struct job *j, struct slice type)
{
    const struct rec_handler *set = &j->handler->set;
    if (set->never.len > 0 && list_has(set->never, type))
        return true;
    return set->only.len > 0 && !list_has(set->only, type);
}
