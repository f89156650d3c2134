/* Names and keys that the requests of a world give. */
#include "world_impl.h"

#include <stdio.h>

#include "util/assert.h"

#define MINUTE_MS ((uint64_t)60 * 1000)

void keys_begin(struct world *w)
{
    if (chance(w, 500))
        w->config.idempotency_ms =
            MINUTE_MS + rng_below(&w->rng, 20 * MINUTE_MS);
    w->keys = keys_new(w->undo, w->config.idempotency_ms);
}

/* --- requests ------------------------------------------------------------ */

/* The reply to a request did not come, or its client forgot: once more. */
static void draw_again(struct world *w, struct op *op)
{
    struct gather *gather = op->gather;
    *op = w->asked[rng_below(&w->rng, w->asked_n)];
    op->gather = gather;
    op->again = true;
    trace(w, "  again job %u", op->k);
}

static void draw_unique(struct world *w, struct op *op)
{
    struct key_use *use = &op->use;
    use->unique = (uint8_t)(1 + rng_below(&w->rng, KEYS_UNIQUE));
    use->global = chance(w, 300);
    if (chance(w, 200)) {
        use->debounce_ms = 1 + rng_below(&w->rng, MINUTE_MS);
        op->delay_ms = 0;
        use->waiting = true; /* what comes while it runs counts */
        return;
    }
    use->waiting = chance(w, 300);
    if (!use->waiting && chance(w, 300))
        use->for_ms = 1 + rng_below(&w->rng, 10 * MINUTE_MS);
    use->has_conflict = chance(w, 700);
    if (use->has_conflict)
        use->conflict = (uint8_t)rng_below(&w->rng, 3);
}

void keys_draw(struct world *w, struct op *op)
{
    struct key_use *use = &op->use;
    if (w->asked_n > 0 && chance(w, 120)) {
        draw_again(w, op);
        return;
    }
    op->n = 1;
    if (chance(w, 500))
        draw_unique(w, op);
    if (chance(w, 100))
        use->name = (uint8_t)(1 + rng_below(&w->rng, KEYS_NAMES));
    if (use->unique == 0 && use->name == 0 && chance(w, 150))
        op->n = 1 + (uint32_t)rng_below(&w->rng, KEYS_JOBS);
    while (w->next_k + op->n > model_jobs(w->model) + 1)
        op->n--; /* the first has its number already */
    w->next_k += op->n - 1;
    trace(w,
          "  n %u unique %u global %d waiting %d for %llu debounce %llu "
          "conflict %d/%u name %u",
          op->n, use->unique, use->global, use->waiting,
          (unsigned long long)use->for_ms, (unsigned long long)use->debounce_ms,
          use->has_conflict, use->conflict, use->name);
    if (chance(w, 700))
        return;
    use->repeat = (uint8_t)(1 + rng_below(&w->rng, KEYS_REQUESTS));
    use->request = op->k;
    w->asked[w->asked_n < ASKED_MAX ? w->asked_n++
                                    : rng_below(&w->rng, ASKED_MAX)] = *op;
}

static struct slice word(char *to, size_t size, const char *kind, unsigned n)
{
    (void)snprintf(to, size, "%s%u", kind, n);
    return slice_str(to);
}

void keys_options(struct op *op, struct add_params *p, struct job_options *o)
{
    const struct key_use *use = &op->use;
    if (use->name > 0)
        p->name = word(op->words[0], sizeof(op->words[0]), "name-", use->name);
    if (use->repeat > 0)
        p->idempotency =
            word(op->words[1], sizeof(op->words[1]), "request-", use->repeat);
    if (use->unique == 0)
        return;
    o->given |= (uint64_t)1 << JOPT_UNIQUE | (uint64_t)1 << JOPT_SCOPE;
    o->unique =
        word(op->words[2], sizeof(op->words[2]), "unique-", use->unique);
    o->scope = use->global ? SCOPE_GLOBAL : SCOPE_QUEUE;
    if (use->debounce_ms > 0) {
        o->given |= (uint64_t)1 << JOPT_DEBOUNCE;
        o->debounce_ms = use->debounce_ms;
    } else if (use->waiting) {
        o->given |= (uint64_t)1 << JOPT_WHILE;
        o->unique_while = WHILE_WAITING;
    }
    if (use->for_ms > 0) {
        o->given |= (uint64_t)1 << JOPT_FOR;
        o->for_ms = use->for_ms;
    }
    if (use->has_conflict) {
        o->given |= (uint64_t)1 << JOPT_CONFLICT;
        o->conflict = use->conflict;
    }
}

/* --- answers ------------------------------------------------------------- */

static bool same_jobs(const struct world *w, const struct key_answer *a,
                      const struct op *op, const struct add_result *results)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (results[i].created != a->created ||
            !id_eq(&results[i].id, &model_job(w->model, a->jobs[i])->id))
            return false;
    return a->n == op->n;
}

enum key_outcome keys_judge(struct world *w, struct op *op, enum err rc,
                            const struct add_result *results)
{
    struct key_answer a;
    keys_expect(w->keys, w->model, op->queue, &op->use, w->now, &a);
    if (a.unsure && rc == ERR_OK && results[0].created)
        a = (struct key_answer){.outcome = KEY_MADE};
    if (rc != a.rc) {
        violate(w, op,
                rc == ERR_OK ? "a request was accepted against a key"
                             : "a request was refused, though its keys are "
                               "free");
        return KEY_REFUSED;
    }
    if (a.outcome == KEY_REFUSED)
        return KEY_REFUSED;
    if (a.outcome != KEY_MADE && !same_jobs(w, &a, op, results))
        violate(w, op, "a request did not get the jobs that its keys name");
    if (a.outcome == KEY_MADE && !results[0].created)
        violate(w, op, "a request got old jobs, though its keys are free");
    for (uint32_t i = 0; i < op->n; i++)
        if (a.outcome != KEY_MADE)
            op->jobs[i] = a.jobs[i];
    keys_answered(w->keys, w->model, op->queue, &op->use, a.outcome, op->jobs,
                  op->n, w->now);
    return a.outcome;
}

bool keys_make(const struct world *w, const struct op *op)
{
    struct key_answer a;
    keys_expect(w->keys, w->model, op->queue, &op->use, w->now, &a);
    return a.outcome == KEY_MADE || a.unsure;
}

bool keys_replace(const struct world *w, const struct op *op, uint32_t *k)
{
    struct key_answer a;
    if (w->keys == NULL)
        return false;
    keys_expect(w->keys, w->model, op->queue, &op->use, w->now, &a);
    *k = a.jobs[0];
    return a.outcome == KEY_REPLACED;
}

/* --- back to life -------------------------------------------------------- */

bool keys_barred(const struct world *w, uint32_t k)
{
    enum mstate s = model_job(w->model, k)->state;
    bool over =
        s == M_COMPLETED || s == M_FAILED || s == M_CANCELLED || s == M_EXPIRED;
    return w->keys != NULL && over && keys_bar(w->keys, w->model, k, w->now);
}
