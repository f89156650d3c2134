#include "keys.h"

#include "util/alloc.h"
#include "util/assert.h"

#define GLOBAL 3 /* behind the queues */

struct held_key {
    uint32_t job;      /* and 1; 0: nobody has ever held it */
    uint64_t until_ms; /* 0: as long as the job holds it */
};

struct request {
    bool exists, made;
    uint32_t number, jobs[KEYS_JOBS], n;
    uint64_t until_ms, latest_ms; /* for certain, and at the latest */
};

struct keys {
    struct undo *undo;
    uint64_t repeat_ms;
    struct held_key unique[GLOBAL + 1][KEYS_UNIQUE];
    uint32_t names[KEYS_NAMES]; /* a job, and 1 */
    struct request requests[KEYS_REQUESTS];
};

struct keys *keys_new(struct undo *u, uint64_t repeat_ms)
{
    struct keys *k = NEW(struct keys);
    k->undo = u;
    k->repeat_ms = repeat_ms;
    return k;
}

void keys_free(struct keys **k)
{
    FREE(k);
}

static uint32_t scope_of(uint8_t queue, bool global)
{
    ASSERT(queue < GLOBAL);
    return global ? GLOBAL : queue;
}

/* --- what is expected ---------------------------------------------------- */

bool keys_again(const struct keys *keys, const struct key_use *use,
                struct now now)
{
    if (use->repeat == 0)
        return false;
    const struct request *r = &keys->requests[use->repeat - 1];
    return r->exists && r->until_ms > now.wall_ms;
}

static bool same_again(const struct keys *keys, const struct key_use *use,
                       struct now now, struct key_answer *a)
{
    if (!keys_again(keys, use, now))
        return false;
    const struct request *r = &keys->requests[use->repeat - 1];
    if (r->number != use->request) {
        *a = (struct key_answer){.outcome = KEY_REFUSED, .rc = ERR_MISMATCH};
        return true;
    }
    *a = (struct key_answer){
        .outcome = KEY_THEIRS, .n = r->n, .created = r->made};
    for (uint32_t i = 0; i < r->n; i++)
        a->jobs[i] = r->jobs[i];
    return true;
}

bool keys_maybe_again(const struct keys *keys, const struct key_use *use,
                      struct now now)
{
    if (use->repeat == 0)
        return false;
    const struct request *r = &keys->requests[use->repeat - 1];
    return r->exists && r->until_ms <= now.wall_ms &&
           now.wall_ms < r->latest_ms;
}

/* Who has the key now; false: nobody. */
static bool holder(const struct keys *keys, const struct model *m,
                   const struct held_key *h, struct now now, uint32_t *job,
                   bool *unsure)
{
    (void)keys;
    *unsure = false;
    if (h->job == 0)
        return false;
    *job = h->job - 1;
    if (h->until_ms == 0)
        return model_is_live(m, *job) && model_job(m, *job)->holds;
    *unsure = h->until_ms <= model_wall_max(m);
    return now.wall_ms < h->until_ms;
}

static bool name_taken(const struct keys *keys, const struct model *m,
                       const struct key_use *use, uint32_t *by, bool *unsure)
{
    *unsure = false;
    if (use->name == 0 || keys->names[use->name - 1] == 0)
        return false;
    uint32_t k = *by = keys->names[use->name - 1] - 1;
    enum mstate s = model_job(m, k)->state;
    if (s == M_NONE || s == M_ERASED)
        return false;
    *unsure = !model_is_live(m, k) && model_maybe_forgotten(m, k);
    return true;
}

static enum conflict how_of(const struct key_use *use)
{
    return use->has_conflict      ? (enum conflict)use->conflict
           : use->debounce_ms > 0 ? CONFLICT_REPLACE
                                  : CONFLICT_RETURN;
}

static bool has_another_name(const struct keys *keys, uint32_t job,
                             const struct key_use *use)
{
    for (uint32_t i = 0; i < KEYS_NAMES; i++)
        if (keys->names[i] == job + 1 && i + 1 != use->name)
            return use->name > 0;
    return false;
}

static void conflict(const struct model *m, uint8_t queue,
                     const struct key_use *use, uint32_t job,
                     struct key_answer *a)
{
    const struct mjob *j = model_job(m, job);
    enum conflict how = how_of(use);
    if (how == CONFLICT_REJECT) {
        *a = (struct key_answer){.outcome = KEY_REFUSED, .rc = ERR_EXISTS};
        return;
    }
    *a = (struct key_answer){.outcome = KEY_THEIRS, .jobs = {job}, .n = 1};
    /* A key FOR a time may have outlived it. */
    if (how == CONFLICT_RETURN || !model_is_live(m, job))
        return;
    a->outcome = KEY_REPLACED;
    if (j->state == M_RUNNING || j->queue != queue)
        *a = (struct key_answer){.outcome = KEY_REFUSED, .rc = ERR_STATE};
}

void keys_expect(const struct keys *keys, const struct model *m, uint8_t queue,
                 const struct key_use *use, struct now now,
                 struct key_answer *a)
{
    const struct key_answer exists = {.outcome = KEY_REFUSED, .rc = ERR_EXISTS};
    uint32_t job = 0, named = 0;
    bool unsure = false, maybe_forgotten;
    *a = (struct key_answer){.outcome = KEY_MADE};
    if (same_again(keys, use, now, a))
        return;
    bool held =
        use->unique > 0 &&
        holder(keys, m,
               &keys->unique[scope_of(queue, use->global)][use->unique - 1],
               now, &job, &unsure);
    /* A job that is replaced may be called by its name. */
    if (name_taken(keys, m, use, &named, &maybe_forgotten) &&
        !(held && job == named && model_is_live(m, job) &&
          how_of(use) == CONFLICT_REPLACE)) {
        *a = exists;
        a->unsure = maybe_forgotten;
        return;
    }
    if (!held)
        return;
    conflict(m, queue, use, job, a);
    if (a->outcome == KEY_REPLACED && has_another_name(keys, job, use))
        *a = exists;
    a->unsure = unsure;
}

/* --- what came of it ----------------------------------------------------- */

static void remember(struct keys *keys, const struct model *m,
                     const struct key_use *use, bool made, const uint32_t *jobs,
                     uint32_t n, struct now now)
{
    struct request *r = &keys->requests[use->repeat - 1];
    UNDO_SAVE(keys->undo, r);
    *r = (struct request){.exists = true,
                          .made = made,
                          .number = use->request,
                          .n = n,
                          .until_ms = now.wall_ms + keys->repeat_ms,
                          .latest_ms = model_wall_max(m) + keys->repeat_ms};
    for (uint32_t i = 0; i < n; i++)
        r->jobs[i] = jobs[i];
}

void keys_answered(struct keys *keys, struct model *m, uint8_t queue,
                   const struct key_use *use, enum key_outcome outcome,
                   const uint32_t *jobs, uint32_t n, struct now now)
{
    bool again = keys_again(keys, use, now);
    if ((outcome == KEY_MADE || outcome == KEY_REPLACED) && use->name > 0) {
        UNDO_SAVE(keys->undo, &keys->names[use->name - 1]);
        keys->names[use->name - 1] = jobs[0] + 1;
    }
    if ((outcome == KEY_MADE || outcome == KEY_REPLACED) && use->unique > 0) {
        uint32_t scope = scope_of(queue, use->global);
        struct held_key *h = &keys->unique[scope][use->unique - 1];
        UNDO_SAVE(keys->undo, h);
        h->job = jobs[0] + 1;
        h->until_ms = use->for_ms > 0 ? now.wall_ms + use->for_ms : 0;
    }
    if (outcome != KEY_REFUSED && use->repeat > 0 && !again)
        remember(keys, m, use, outcome == KEY_MADE, jobs, n, now);
}

/* --- back to life -------------------------------------------------------- */

static bool wants(const struct mjob *j)
{
    return j->use.unique > 0 && j->use.for_ms == 0 &&
           (!j->use.waiting || j->delivery == 0);
}

bool keys_bar(const struct keys *keys, const struct model *m, uint32_t k,
              struct now now)
{
    const struct mjob *j = model_job(m, k);
    uint32_t job;
    bool unsure;
    if (!wants(j))
        return false;
    const struct held_key *h =
        &keys->unique[scope_of(j->queue, j->use.global)][j->use.unique - 1];
    return holder(keys, m, h, now, &job, &unsure) && job != k;
}

void keys_revived(struct keys *keys, struct model *m, uint32_t k)
{
    const struct mjob *j = model_job(m, k);
    model_holds(m, k, wants(j));
    if (!wants(j))
        return;
    struct held_key *h =
        &keys->unique[scope_of(j->queue, j->use.global)][j->use.unique - 1];
    UNDO_SAVE(keys->undo, h);
    *h = (struct held_key){.job = k + 1};
}

void keys_undone(struct keys *keys, struct model *m, uint32_t k, struct now now)
{
    const struct mjob *j = model_job(m, k);
    uint32_t job;
    bool unsure;
    if (!j->let_go)
        return;
    struct held_key *h =
        &keys->unique[scope_of(j->queue, j->use.global)][j->use.unique - 1];
    if (holder(keys, m, h, now, &job, &unsure))
        return;
    UNDO_SAVE(keys->undo, h);
    *h = (struct held_key){.job = k + 1};
    model_holds(m, k, true);
}
