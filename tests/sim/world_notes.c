/* What workers note down about a job, what others change of it, and what the
 * next lease shows of both. */
#include "world_impl.h"

#include <string.h>

#include "util/assert.h"

#define EFFECTS 4
/* Longer ones stand in a row of their own. */
#define LONG 600

struct note_text {
    char bytes[LONG + 16];
    struct slice s;
};

/* A checkpoint is told by its number; an odd one is long. */
static struct slice checkpoint(uint32_t number, struct note_text *t)
{
    struct buf b = {t->bytes, 0, sizeof(t->bytes)};
    if (number == 0)
        return SLICE_EMPTY;
    if (number % 2 == 1) {
        memset(t->bytes, 'c', LONG);
        b.len = LONG;
    }
    buf_add_u64(&b, number);
    return buf_slice(&b);
}

void notes_draw(struct world *w, struct op *op)
{
    op->count = (uint32_t)rng_below(&w->rng, 3);
    op->number = 1 + (uint32_t)rng_below(&w->rng, 1000);
}

/* A worker says something about the job that it has. */
enum err notes_run(struct world *w, struct op *op)
{
    static const char *const keys[EFFECTS] = {"a", "b", "c", "d"};
    const struct held *h = &op->held;
    struct slice token = slice_of(h->text, h->len);
    struct note_text text;
    uint32_t effect = op->number % EFFECTS;
    bool first = false;
    enum err rc;
    op->k = h->k;
    if (op->count == 0)
        rc = engine_checkpoint(w->engine, op->gather, token,
                               checkpoint(op->number, &text), w->now, &w->e);
    else if (op->count == 1)
        rc = engine_progress(w->engine, op->gather, token, op->number % 101,
                             SLICE_LIT("on the way"), w->now, &w->e);
    else
        rc = engine_effect(w->engine, op->gather, token,
                           slice_str(keys[effect]), w->now, &first, &w->e);
    if (rc == ERR_PENDING)
        return rc;
    note(w, op->k, (uint64_t)rc * 2 + first);
    trace(w, "  note %u number %u: %s", op->count, op->number, err_name(rc));
    violate(w, op, model_token(w->model, h->k, h->delivery, rc, w->now));
    if (rc != ERR_OK)
        return ERR_OK;
    struct mjob *j = model_change(w->model, h->k);
    if (op->count == 0) {
        j->checkpoint = op->number;
    } else if (op->count == 1) {
        j->progress = op->number % 101;
    } else {
        if (first != ((j->effects >> effect & 1) == 0))
            violate(w, op, "an effect is new, or not, against what was said");
        j->effects |= (uint8_t)(1u << effect);
    }
    return ERR_OK;
}

void notes_leased(struct world *w, const struct op *op, uint32_t k,
                  const struct lease_view *v)
{
    struct note_text text;
    if (!slice_eq(v->checkpoint,
                  checkpoint(model_job(w->model, k)->checkpoint, &text)))
        violate(w, op, "a lease shows another checkpoint");
}

void notes_seen(struct world *w, const struct op *op, const struct job_view *v)
{
    struct note_text text;
    const struct mjob *j = model_job(w->model, op->k);
    if (!model_sure(w->model, op->k, w->now))
        return;
    if (!slice_eq(v->checkpoint, checkpoint(j->checkpoint, &text)))
        violate(w, op, "a job shows another checkpoint");
    if (j->state == M_RUNNING && v->progress != j->progress)
        violate(w, op, "a job shows another progress");
}

/* --- changes ------------------------------------------------------------- */

void update_draw(struct world *w, struct op *op)
{
    op->update = (uint32_t)(1 + rng_below(&w->rng, 15));
    op->number = 1000000 + (uint32_t)rng_below(&w->rng, 1000000);
    op->priority = (uint32_t)rng_below(&w->rng, 1001);
    op->retries = (uint32_t)rng_below(&w->rng, 4);
    op->delay_ms = chance(w, 500) ? 0 : rng_below(&w->rng, 600000);
    op->queue = model_job(w->model, op->k)->queue;
    op->priority = turns_priority(w, op->queue, op->priority);
    if (w->ends && (op->update & UPDATE_DELAY) != 0)
        ends_draw(w, op);
    if (w->gates == NULL)
        return;
    gates_draw(w, op);
    op->update |= UPDATE_GATES;
}

static void changed(struct world *w, const struct op *op)
{
    struct mjob *j = model_change(w->model, op->k);
    if ((op->update & UPDATE_PAYLOAD) != 0)
        j->payload = op->number;
    if ((op->update & UPDATE_RETRIES) != 0)
        j->retries = op->retries;
    if ((op->update & UPDATE_DELAY) != 0)
        j->not_before_ms = j->stands_ms = w->now.wall_ms + op->delay_ms;
    j->in_line = false;
    ends_said(w, op, op->k);
    if ((op->update & UPDATE_GATES) == 0)
        return;
    uint32_t names = ((uint32_t)1 << GATE_NAMES) - 1;
    if (op->handler > 0)
        j->handler = op->handler;
    if ((op->gates & names) == 0)
        return;
    j->gates = (j->gates & ~names) | (op->gates & names);
    if (op->cost > 0)
        j->cost = op->cost;
}

static enum err update_answer(const struct world *w, uint32_t k)
{
    switch (model_job(w->model, k)->state) {
    case M_WAITING:
        return ERR_OK;
    case M_RUNNING:
        return ERR_STATE;
    case M_NONE:
    case M_ERASED:
        return ERR_NOTFOUND;
    case M_COMPLETED:
    case M_FAILED:
    case M_CANCELLED:
    case M_EXPIRED:
        break;
    }
    return ERR_FINISHED;
}

enum err update_run(struct world *w, struct op *op)
{
    char text[ID_TEXT_LEN], payload[16];
    struct buf b = {payload, 0, sizeof(payload)};
    struct job_options o = {0};
    struct update_params p = {.job = slice_of(text, sizeof(text)),
                              .options = &o,
                              .has_payload =
                                  (op->update & UPDATE_PAYLOAD) != 0};
    if (!model_sure(w->model, op->k, w->now) ||
        model_job(w->model, op->k)->queue >= QUEUES)
        return ERR_OK;
    id_text(&model_job(w->model, op->k)->id, text);
    buf_add_u64(&b, op->number);
    p.payload = buf_slice(&b);
    if ((op->update & UPDATE_RETRIES) != 0)
        o.given |= (uint64_t)1 << JOPT_RETRIES;
    if ((op->update & UPDATE_PRIORITY) != 0)
        o.given |= (uint64_t)1 << JOPT_PRIORITY;
    if ((op->update & UPDATE_DELAY) != 0)
        o.given |= (uint64_t)1 << JOPT_DELAY;
    o.retries = op->retries;
    o.priority = op->priority;
    o.delay_ms = op->delay_ms;
    if ((op->update & UPDATE_GATES) != 0)
        gates_options(op, &o);
    ends_options(op, &o);
    enum err rc = engine_update(w->engine, op->gather, &p, w->now, &w->e);
    if (rc == ERR_PENDING)
        return rc;
    note(w, op->k, rc);
    trace(w, "  update %x of %u: %s", op->update, op->k, err_name(rc));
    enum err expected = update_answer(w, op->k);
    if (expected == ERR_OK && ends_refuse(w, op, op->k))
        expected = ERR_SYNTAX;
    if (rc != expected)
        violate(w, op, "a change of a job got the wrong answer");
    else if (rc == ERR_OK)
        changed(w, op);
    return ERR_OK;
}
