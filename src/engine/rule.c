/* Rules: which settings a name has.
 *
 * Of the rules whose pattern matches a name one applies: the one with the most
 * bytes that match themselves, so that "api:acme" comes before "api:a*", and
 * that before "*". Each name that it matches has slots and a rate of its own.
 */
#include "engine/core.h"
#include "util/parse.h"

#include <stdlib.h>

static size_t literal_of(struct slice pattern)
{
    size_t n = 0;
    bool special = false;
    for (size_t i = 0; i < pattern.len; i++) {
        char c = pattern.data[i];
        if (c == '\\' && i + 1 < pattern.len) {
            i++;
            n++;
        } else if (c == '*' || c == '?') {
            special = true;
        } else if (c == '[') {
            special = true;
            while (i + 1 < pattern.len && pattern.data[i] != ']')
                i++;
        } else {
            n++;
        }
    }
    /* What is no pattern at all is more specific than any pattern. */
    return special ? n : n + KEY_NAME_MAX;
}

static int more_specific(const void *a, const void *b)
{
    const struct rule *const *x = a, *const *y = b;
    if ((*x)->literal != (*y)->literal)
        return (*x)->literal > (*y)->literal ? -1 : 1;
    return slice_cmp((*x)->pattern, (*y)->pattern);
}

const struct rule *rule_for(const struct engine *e, struct slice name)
{
    for (uint32_t i = 0; i < e->rules_n; i++)
        if (glob_match(e->rules[i]->pattern, name))
            return e->rules[i];
    return NULL;
}

static struct rule *rule_find(const struct engine *e, struct slice pattern)
{
    for (uint32_t i = 0; i < e->rules_n; i++)
        if (slice_eq(e->rules[i]->pattern, pattern))
            return e->rules[i];
    return NULL;
}

static struct rule *rule_new(struct engine *e, struct slice pattern,
                             const struct rec_rule *set)
{
    struct rule *r = NEW(struct rule);
    r->pattern = slice_of(mem_dup(pattern), pattern.len);
    r->set = *set;
    r->literal = literal_of(pattern);
    e->rules = mem_realloc(e->rules, (e->rules_n + 1) * sizeof(struct rule *));
    e->rules[e->rules_n++] = r;
    qsort(e->rules, e->rules_n, sizeof(struct rule *), more_specific);
    return r;
}

static void rule_free(struct rule *r)
{
    mem_free((char *)(uintptr_t)r->pattern.data);
    mem_free(r);
}

void rules_free(struct engine *e)
{
    for (uint32_t i = 0; i < e->rules_n; i++)
        rule_free(e->rules[i]);
    FREE(&e->rules);
    e->rules_n = 0;
}

enum err rule_load_row(struct engine *e, struct slice key, struct slice value,
                       struct errbuf *err)
{
    uint8_t kind;
    struct slice pattern;
    struct rec_rule r;
    if (!key_parse_named(key, &kind, &pattern) || !rec_rule_decode(&r, value) ||
        r.rate > RATE_MAX || r.per_ms > DURATION_MS_MAX || r.burst > BURST_MAX)
        return err_set(err, ERR_CORRUPT, "family named: bad row of a rule");
    rule_new(e, pattern, &r);
    return ERR_OK;
}

/* --- names --------------------------------------------------------------- */

enum err limit_name_check(struct slice name, struct errbuf *err)
{
    enum err rc = name_check(name, "limit", err);
    if (rc == ERR_OK && limit_is_gate(name))
        rc = err_set(err, ERR_SYNTAX,
                     "limit names do not begin with owner: or queue: (see "
                     "OWNER.SET and QUEUE.SET)");
    return rc;
}

/* --- operations ---------------------------------------------------------- */

enum err rate_check(const struct rate *r, struct errbuf *err)
{
    if (r->n > RATE_MAX)
        return err_set(err, ERR_LIMIT, "RATE of %llu; at most %llu are allowed",
                       (unsigned long long)r->n, (unsigned long long)RATE_MAX);
    if (r->n > 0 && (r->per_ms == 0 || r->per_ms > DURATION_MS_MAX))
        return err_set(err, ERR_SYNTAX,
                       "RATE needs a period of 1 ms to 100 years, as in "
                       "100/1s");
    if (r->burst > BURST_MAX)
        return err_set(
            err, ERR_LIMIT, "BURST of %llu; at most %llu are allowed",
            (unsigned long long)r->burst, (unsigned long long)BURST_MAX);
    if (r->burst > 0 && r->n == 0)
        return err_set(err, ERR_SYNTAX, "BURST without RATE means nothing");
    return ERR_OK;
}

/* What a worker closed. */
static void open_name(struct engine *e, struct slice name, struct now now)
{
    struct limit *l = limit_find(e, name);
    if (l == NULL || l->closed_ms == 0)
        return;
    l->closed_ms = 0;
    limit_dirty(e, l);
    limit_settle(e, l, now);
}

enum err engine_limit_set(struct engine *e, struct slice pattern,
                          const struct limit_rule *set, struct now now,
                          struct errbuf *err)
{
    struct key k;
    enum err rc = limit_name_check(pattern, err);
    /* A name may look like a pattern; then there is one that is called so. */
    if (rc == ERR_OK && set->open && literal_of(pattern) < KEY_NAME_MAX &&
        limit_find(e, pattern) == NULL)
        rc = err_set(err, ERR_SYNTAX,
                     "OPEN is for a name, not for a pattern; nothing is "
                     "called %.*s",
                     SLICE_FMT(pattern));
    if (rc != ERR_OK)
        return rc;
    if (!set->has_concurrency && !set->has_rate && !set->has_burst) {
        if (set->open)
            open_name(e, pattern, now);
        return ERR_OK;
    }
    struct rule *r = rule_find(e, pattern);
    struct rec_rule rec = r == NULL ? (struct rec_rule){0} : r->set;
    if (set->has_concurrency)
        rec.concurrency = set->concurrency;
    if (set->has_rate) {
        rec.rate = set->rate.n;
        rec.per_ms = set->rate.n == 0 ? 0 : set->rate.per_ms;
        rec.burst = 0;
    }
    if (set->has_burst)
        rec.burst = set->rate.burst;
    struct rate rate = {rec.rate, rec.per_ms, rec.burst};
    rc = rate_check(&rate, err);
    if (rc != ERR_OK)
        return rc;
    if (r == NULL && e->rules_n >= RULES_MAX)
        return err_set(err, ERR_LIMIT, "there are %d rules already", RULES_MAX);
    if (r == NULL)
        rule_new(e, pattern, &rec);
    else
        r->set = rec;
    rec_rule_encode(&rec, store_put(e->store, FAMILY_NAMED,
                                    key_named(&k, NAMED_LIMIT, pattern),
                                    rec_rule_size(&rec), false));
    limits_changed(e);
    if (set->open)
        open_name(e, pattern, now);
    return ERR_OK;
}

enum err engine_limit_del(struct engine *e, struct slice pattern,
                          struct now now, struct errbuf *err)
{
    struct key k;
    open_name(e, pattern, now);
    for (uint32_t i = 0; i < e->rules_n; i++) {
        struct rule *r = e->rules[i];
        if (!slice_eq(r->pattern, pattern))
            continue;
        store_del(e->store, FAMILY_NAMED, key_named(&k, NAMED_LIMIT, pattern));
        memmove(&e->rules[i], &e->rules[i + 1],
                (e->rules_n - i - 1) * sizeof(struct rule *));
        e->rules_n--;
        rule_free(r);
        limits_changed(e);
        return ERR_OK;
    }
    return err_set(err, ERR_NOTFOUND, "no rule has this pattern");
}

static struct limit_rule rule_view(const struct rule *r)
{
    return (struct limit_rule){
        .pattern = r->pattern,
        .concurrency = r->set.concurrency,
        .rate = {r->set.rate, r->set.per_ms,
                 r->set.rate == 0
                     ? 0
                     : rate_burst(&(struct rate){r->set.rate, r->set.per_ms,
                                                 r->set.burst})}};
}

void engine_limits(struct engine *e, limit_rule_fn fn, void *ud)
{
    for (uint32_t i = 0; i < e->rules_n; i++) {
        struct limit_rule v = rule_view(e->rules[i]);
        fn(ud, &v);
    }
}

void limit_view_of(struct engine *e, struct limit *l, uint32_t cost,
                   struct now now, struct limit_view *v)
{
    limit_refresh(e, l);
    v->name = l->name;
    v->concurrency = l->concurrency;
    v->rate = (struct rate){l->rate.n, l->rate.per_ms,
                            l->rate.n == 0 ? 0 : rate_burst(&l->rate)};
    v->pattern = l->rule == NULL ? SLICE_EMPTY : l->rule->pattern;
    v->running = l->running;
    v->reserved = l->reserved;
    v->closed_ms = l->closed_ms > now.wall_ms ? l->closed_ms : 0;
    struct rate_paid paid = limit_paid(l, now);
    uint64_t at = rate_fits_ms(&l->rate, paid.tat_us, cost);
    if (l->closed_ms > at)
        at = l->closed_ms;
    v->opens_ms = at > now.wall_ms ? at : 0;
    v->room = rate_room(&l->rate, paid.tat_us, now.wall_ms);
    v->full = l->concurrency > 0 && l->running + l->reserved >= l->concurrency;
    LIST_FOR (it, &l->groups) {
        struct park_group *g = CONTAINER_OF(it, struct park_group, in_limit);
        LIST_FOR (lane, &g->lanes) {
            const struct lane *p = CONTAINER_OF(lane, struct lane, in_group);
            v->parked += p->window.len;
            v->parked_more = v->parked_more || !p->window.complete;
        }
    }
}

/* A name that nothing runs under is shown as its rule would have it. */
enum err engine_limit(struct engine *e, struct slice name, struct now now,
                      struct limit_view *v, struct errbuf *err)
{
    struct limit *l = limit_find(e, name);
    memset(v, 0, sizeof(*v));
    if (l == NULL) {
        const struct rule *r = rule_find(e, name);
        if (r == NULL)
            r = rule_for(e, name);
        if (r == NULL)
            return err_set(err, ERR_NOTFOUND,
                           "no rule matches this name and nothing runs or is "
                           "parked under it");
        struct limit_rule s = rule_view(r);
        v->name = name;
        v->pattern = r->pattern;
        v->concurrency = s.concurrency;
        v->rate = s.rate;
        v->room = s.rate.n == 0 ? UINT64_MAX : s.rate.burst;
        return ERR_OK;
    }
    limit_view_of(e, l, 1, now, v);
    return ERR_OK;
}

enum err engine_limit_close(struct engine *e, struct slice name,
                            uint64_t until_ms, struct now now,
                            struct errbuf *err)
{
    enum err rc = limit_name_check(name, err);
    if (rc == ERR_OK && until_ms > TIME_MS_MAX)
        rc = err_set(err, ERR_LIMIT, "UNTIL lies behind the year 9999");
    if (rc != ERR_OK)
        return rc;
    struct limit *l = limit_make(e, name);
    if (until_ms > l->closed_ms)
        l->closed_ms = until_ms;
    limit_dirty(e, l);
    limit_settle(e, l, now);
    return ERR_OK;
}
