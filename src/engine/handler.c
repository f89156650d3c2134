/* Handlers: what they say about their jobs, and whether these may run. */
#include "engine/core.h"
#include "engine/handlers.h"

#include <stdlib.h>

#include "util/json.h"
#include "util/parse.h"

#define TYPES_MAX 32 /* of NEVER and ONLY */
#define TYPE_MAX 128
#define DESCRIPTION_MAX 4096

const char *const payload_check_list[] = {"any", "json", NULL};

/* --- rules about jobs ---------------------------------------------------- */

enum err handler_examine(const struct handler *h, const struct slice *payloads,
                         uint32_t n, struct errbuf *err)
{
    for (uint32_t i = 0; i < n; i++) {
        size_t len = payloads[i].len;
        if (h->set.payload_max > 0 && len > h->set.payload_max)
            return err_set(err, ERR_LIMIT,
                           "payload has %zu bytes; handler %.*s allows %llu",
                           len, SLICE_FMT(h->name),
                           (unsigned long long)h->set.payload_max);
        if (h->set.check == CHECK_JSON && !json_valid(payloads[i], len, err)) {
            err_wrap(err, "handler %.*s takes JSON", SLICE_FMT(h->name));
            return ERR_SYNTAX;
        }
    }
    return ERR_OK;
}

/* Does one of a list of patterns (length byte, pattern, ...) fit? */
static bool list_fits(struct slice list, struct slice word)
{
    struct slice pattern;
    while (word_next(&list, &pattern))
        if (glob_match(pattern, word))
            return true;
    return false;
}

/* NEVER and ONLY: does an error of this type end the job? */
bool handler_says_permanent(const struct job *j, struct slice type)
{
    const struct rec_handler *set = &j->handler->set;
    if (set->never.len > 0 && list_fits(set->never, type))
        return true;
    return set->only.len > 0 && !list_fits(set->only, type);
}

/* --- open or not --------------------------------------------------------- */

/* Each queue's first in line may have its jobs, as many as may run: it is not
 * known yet which queue they will come from. */
static void tell_opened(struct engine *e, struct handler *h, struct now now)
{
    uint64_t room = breaker_room(h);
    LIST_FOR (it, &h->strands)
        ready_again(e, CONTAINER_OF(it, struct strand, in_handler)->queue, h,
                    room, now);
}

void handler_refresh(struct engine *e, struct handler *h, struct now now)
{
    bool open = h->set.paused == 0 && breaker_allows(h);
    if (open == h->open)
        return;
    handler_open(h, open);
    if (open)
        tell_opened(e, h, now);
}

/* --- rows ---------------------------------------------------------------- */

/* From the row: slices of `set` and of the defaults point into it. */
bool handler_take_row(struct handler *h, struct slice row)
{
    struct buf bytes = {0};
    struct rec_handler r;
    struct rec_breaker b;
    struct job_options *defaults = NULL;
    buf_add_slice(&bytes, row);
    breaker_defaults(&b);
    bool good =
        rec_handler_decode(&r, buf_slice(&bytes)) && r.check <= CHECK_JSON &&
        (r.breaker.len == 0 ||
         (rec_breaker_decode(&b, r.breaker) && b.state <= BREAKER_HALF_OPEN));
    if (good && r.options.len > 0) {
        defaults = NEW(struct job_options);
        good = options_decode(defaults, r.options);
    }
    if (!good) {
        mem_free(defaults);
        buf_release(&bytes);
        return false;
    }
    mem_free(h->defaults);
    h->defaults = defaults;
    buf_release(&h->row);
    h->row = bytes;
    h->set = r;
    h->breaker.set = b;
    h->open = r.paused == 0 && breaker_allows(h);
    return true;
}

/* `set` and the breaker's state as the row, in memory and in the store. */
void handler_keep(struct engine *e, struct handler *h)
{
    struct buf b = {0}, row = {0};
    bool open = h->open;
    struct rec_handler r = h->set;
    size_t len = rec_breaker_size(&h->breaker.set);
    rec_breaker_encode(&h->breaker.set, buf_room(&b, len));
    b.len = len;
    r.breaker = buf_slice(&b);
    len = rec_handler_size(&r);
    rec_handler_encode(&r, buf_room(&row, len));
    row.len = len;
    bool good = handler_take_row(h, buf_slice(&row));
    ASSERT(good);
    h->open = open; /* handler_refresh() moves it */
    handler_store(e, h);
    buf_release(&b);
    buf_release(&row);
}

/* --- setting ------------------------------------------------------------- */

static enum err types_put(struct buf *to, const char *word,
                          const struct slice *types, uint32_t n,
                          struct errbuf *err)
{
    if (n > TYPES_MAX)
        return err_set(err, ERR_LIMIT,
                       "%s names %u types; at most %d are allowed", word,
                       (unsigned)n, TYPES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        if (types[i].len == 0 || types[i].len > TYPE_MAX)
            return err_set(err, ERR_LIMIT,
                           "%s: a type has %zu bytes; 1 to %d are allowed",
                           word, types[i].len, TYPE_MAX);
        buf_add_char(to, (char)(unsigned char)types[i].len);
        buf_add_slice(to, types[i]);
    }
    return ERR_OK;
}

static bool has_any(struct slice s, struct slice of)
{
    for (size_t i = 0; i < s.len; i++)
        if (memchr(of.data, s.data[i], of.len) != NULL)
            return true;
    return false;
}

/* Everything that the one matches, the other matches too; false if that is not
 * plain. A type is matched or not. Where `inner` is a pattern, its special
 * characters as text must be matched by a star, which may be any text: by
 * letters and stars alone they are, but for what stands in brackets. */
static bool pattern_covers(struct slice outer, struct slice inner)
{
    bool plain =
        !has_any(inner, SLICE_LIT("*?[\\")) ||
        (!has_any(inner, SLICE_LIT("[")) && !has_any(outer, SLICE_LIT("?[\\")));
    return slice_eq(outer, inner) || (plain && glob_match(outer, inner));
}

/* What NEVER names is not retried, even if ONLY names it, which may be an
 * exception; a type of ONLY of which nothing is left says nothing. */
static enum err examine_types(struct slice never, struct slice only,
                              struct errbuf *err)
{
    struct slice type, pattern;
    while (word_next(&only, &type))
        for (struct slice list = never; word_next(&list, &pattern);)
            if (pattern_covers(pattern, type))
                return err_set(err, ERR_SYNTAX,
                               "NEVER and ONLY exclude each other: all of "
                               "%.*s (ONLY) is in %.*s (NEVER)",
                               SLICE_FMT(type), SLICE_FMT(pattern));
    return ERR_OK;
}

/* Options that say nothing about jobs in general. */
static enum err examine_defaults(const struct job_options *o, uint64_t said,
                                 struct now now, struct errbuf *err)
{
    static const enum job_option not_here[] = {JOPT_HANDLER, JOPT_AT,
                                               JOPT_BATCH, JOPT_AFTER};
    for (size_t i = 0; i < ARRAY_LEN(not_here); i++)
        if (option_given(o, not_here[i]))
            return err_set(err, ERR_SYNTAX,
                           "%s is of one job, not of all jobs of a handler",
                           job_option_name(not_here[i]));
    if (o->owner.len > 0) {
        enum err rc = name_check(o->owner, "owner", err);
        if (rc != ERR_OK)
            return rc;
    }
    for (uint32_t i = 0; i < o->limits_n; i++) {
        enum err rc = limit_name_check(o->limits[i], err);
        if (rc != ERR_OK)
            return rc;
    }
    return options_check_defaults(o, said, now, err);
}

static enum err examine(struct engine *e, struct slice name,
                        const struct handler_params *p, struct errbuf *err)
{
    enum err rc = name_check(name, "handler", err);
    if (rc == ERR_OK && p->description.len > DESCRIPTION_MAX)
        rc = err_set(err, ERR_LIMIT,
                     "DESCRIPTION has %zu bytes; at most %d are allowed",
                     p->description.len, DESCRIPTION_MAX);
    if (rc == ERR_OK && (p->given & HSET_MAX) != 0 &&
        p->payload_max > e->config.payload_max)
        rc = err_set(err, ERR_LIMIT,
                     "MAX is above the %llu bytes that payload-max-size allows",
                     (unsigned long long)e->config.payload_max);
    if (rc == ERR_OK && p->options != NULL &&
        option_given(p->options, JOPT_LEASE) &&
        p->options->lease_ms > e->config.lease_ms_max)
        rc = err_set(err, ERR_LIMIT,
                     "LEASE %llu ms is above the limit of %llu ms",
                     (unsigned long long)p->options->lease_ms,
                     (unsigned long long)e->config.lease_ms_max);
    return rc;
}

static void take_params(struct rec_handler *r, const struct handler_params *p,
                        struct slice never, struct slice only)
{
    if ((p->given & HSET_DESCRIPTION) != 0)
        r->description = p->description;
    if ((p->given & HSET_CHECK) != 0)
        r->check = (uint8_t)p->check;
    if ((p->given & HSET_MAX) != 0)
        r->payload_max = p->payload_max;
    if ((p->given & HSET_NEVER) != 0)
        r->never = never;
    if ((p->given & HSET_ONLY) != 0)
        r->only = only;
}

enum err engine_handler_set(struct engine *e, struct slice name,
                            const struct handler_params *p, struct now now,
                            struct errbuf *err)
{
    struct buf never = {0}, only = {0}, options = {0}, row = {0};
    struct job_options merged = {0};
    struct breaker_settings back = {0};
    struct handler *h = NULL;
    bool on = false;
    enum err rc = examine(e, name, p, err);
    if (rc == ERR_OK)
        rc = types_put(&never, "NEVER", p->never, p->never_n, err);
    if (rc == ERR_OK)
        rc = types_put(&only, "ONLY", p->only, p->only_n, err);
    if (rc != ERR_OK)
        goto out;
    h = handler_find(e, name);
    if (p->options != NULL)
        merged = *p->options;
    uint64_t said = merged.given;
    bool kept = h != NULL && !p->clear;
    if (kept)
        options_inherit(&merged, h->defaults);
    rc = examine_defaults(&merged, said, now, err);
    if (rc == ERR_OK && (p->given & (HSET_NEVER | HSET_ONLY)) != 0)
        rc = examine_types(
            (p->given & HSET_NEVER) != 0 || !kept ? buf_slice(&never)
                                                  : h->set.never,
            (p->given & HSET_ONLY) != 0 || !kept ? buf_slice(&only)
                                                 : h->set.only,
            err);
    if (rc != ERR_OK)
        goto out;
    h = handler_make(e, name);
    if (h == NULL) {
        rc =
            err_set(err, ERR_LIMIT, "there are %u handlers already (max-names)",
                    (unsigned)e->config.names_max);
        goto out;
    }
    /* What was set may lie in the row that is replaced: encode first. */
    struct rec_handler r = {.id = h->set.id, .paused = h->set.paused};
    if (!p->clear)
        r = h->set;
    take_params(&r, p, buf_slice(&never), buf_slice(&only));
    if (merged.given != 0) {
        size_t len = options_size(&merged);
        options_encode(&merged, buf_room(&options, len));
        options.len = len;
    }
    r.options = buf_slice(&options);
    r.breaker = SLICE_EMPTY; /* handler_keep() puts it in */
    size_t row_len = rec_handler_size(&r);
    rec_handler_encode(&r, buf_room(&row, row_len));
    row.len = row_len;
    struct breaker breaker = h->breaker;
    bool open = h->open;
    bool good = handler_take_row(h, buf_slice(&row));
    ASSERT(good);
    h->breaker = breaker;
    h->open = open;
    if (p->clear)
        back = (struct breaker_settings){50, 5, 60 * 1000, 30 * 1000, 5};
    on = (p->given & HSET_BREAKER) != 0 ? p->breaker
                                        : !p->clear && breaker.set.on != 0;
    if (p->clear)
        breaker_set(e, h, on, &back, now);
    breaker_set(e, h, on, &p->breaker_set, now);
    handler_keep(e, h);
    handler_refresh(e, h, now);
out:
    buf_release(&never);
    buf_release(&only);
    buf_release(&options);
    buf_release(&row);
    return rc;
}

enum err engine_handler_pause(struct engine *e, struct slice name, bool paused,
                              struct now now, struct errbuf *err)
{
    enum err rc = name_check(name, "handler", err);
    if (rc != ERR_OK)
        return rc;
    struct handler *h = handler_make(e, name);
    if (h == NULL)
        return err_set(err, ERR_LIMIT,
                       "there are %u handlers already (max-names)",
                       (unsigned)e->config.names_max);
    if ((h->set.paused != 0) == paused)
        return ERR_OK;
    h->set.paused = paused;
    handler_keep(e, h);
    struct event ev = {.type = paused ? EVENT_HANDLER_PAUSED
                                      : EVENT_HANDLER_RESUMED,
                       .at_ms = now.wall_ms,
                       .handler = h->name,
                       .handler_id = h->set.id};
    report_event(e, &ev);
    handler_refresh(e, h, now);
    return ERR_OK;
}

/* --- looking ------------------------------------------------------------- */

static void view_of(const struct handler *h, struct now now,
                    struct handler_view *v)
{
    *v = (struct handler_view){
        .name = h->name,
        .description = h->set.description,
        .id = h->set.id,
        .paused = h->set.paused != 0,
        .open = h->open,
        .check = (enum payload_check)h->set.check,
        .payload_max = h->set.payload_max,
        .never = h->set.never,
        .only = h->set.only,
        .defaults = h->defaults,
    };
    breaker_view_of(h, now, &v->breaker);
}

enum err engine_handler(struct engine *e, struct slice name, struct now now,
                        struct handler_view *v, struct errbuf *err)
{
    const struct handler *h = handler_find(e, name);
    if (h == NULL)
        return err_set(err, ERR_NOTFOUND, "no such handler");
    view_of(h, now, v);
    return ERR_OK;
}

static void list(struct engine *e, const struct page *page, bool breakers,
                 struct now now, handler_fn fn, void *ud)
{
    struct page_list l = page_begin(page);
    for (uint32_t i = 0; i < e->handlers_n; i++)
        if (e->handlers[i] != NULL &&
            (!breakers || e->handlers[i]->breaker.set.on != 0))
            page_offer(&l, e->handlers[i]->name, e->handlers[i]);
    page_sort(&l);
    for (size_t i = 0; i < l.n; i++) {
        struct handler_view v;
        view_of(l.items[i].what, now, &v);
        fn(ud, &v);
    }
    page_end(&l);
}

void engine_handlers(struct engine *e, const struct page *page, struct now now,
                     handler_fn fn, void *ud)
{
    list(e, page, false, now, fn, ud);
}

void engine_breakers(struct engine *e, const struct page *page, struct now now,
                     handler_fn fn, void *ud)
{
    list(e, page, true, now, fn, ud);
}
