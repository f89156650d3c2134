#include "turns.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/assert.h"

/* What a lease costs an owner of weight 1: each weight divides it. */
#define UNIT 60000000
/* The engine reckons in parts of a lease of weight 1, and rounds. */
#define PART (UNIT / (1 << 20) + 1)

struct weight {
    uint32_t now; /* 0: never said */
    uint32_t least;
};

struct turns {
    struct undo *undo;
    bool fair[TURNS_QUEUES], said[TURNS_QUEUES];
    bool large; /* there were large weights */
    struct weight weights[TURNS_OWNERS];
    int64_t served[TURNS_QUEUES][TURNS_OWNERS];
    /* How far the one was ahead when both began to stand in line. */
    bool both[TURNS_QUEUES][TURNS_OWNERS][TURNS_OWNERS];
    int64_t ahead[TURNS_QUEUES][TURNS_OWNERS][TURNS_OWNERS];
};

struct turns *turns_new(struct undo *u)
{
    struct turns *s = NEW(struct turns);
    s->undo = u;
    s->weights[0] = (struct weight){1, 1};
    return s;
}

void turns_free(struct turns **s)
{
    FREE(s);
}

void turns_crashed(struct turns *s)
{
    memset(s->both, 0, sizeof(s->both));
}

void turns_fair(struct turns *s, uint32_t queue, bool fair)
{
    ASSERT(queue < TURNS_QUEUES);
    UNDO_SAVE(s->undo, &s->fair[queue]);
    UNDO_SAVE(s->undo, &s->said[queue]);
    s->fair[queue] = fair;
    s->said[queue] = true;
    memset(s->both[queue], 0, sizeof(s->both[queue]));
}

void turns_gone(struct turns *s, uint32_t queue)
{
    turns_fair(s, queue, false);
    s->said[queue] = false;
}

bool turns_is_said(const struct turns *s, uint32_t queue)
{
    return s->said[queue];
}

bool turns_is_fair(const struct turns *s, uint32_t queue)
{
    return s->fair[queue];
}

void turns_weigh(struct turns *s, uint32_t owner, uint32_t weight)
{
    ASSERT(owner > 0 && owner < TURNS_OWNERS);
    ASSERT(weight > 0 && UNIT % weight == 0);
    struct weight *w = &s->weights[owner];
    if (weight >= TURNS_LARGE)
        s->large = true;
    UNDO_SAVE(s->undo, w);
    w->now = weight;
    if (w->least == 0 || weight < w->least)
        w->least = weight;
    for (uint32_t q = 0; q < TURNS_QUEUES; q++)
        for (uint32_t i = 0; i < TURNS_OWNERS; i++)
            s->both[q][owner][i] = s->both[q][i][owner] = false;
}

bool turns_is_weighed(const struct turns *s, uint32_t owner)
{
    return s->weights[owner].now > 0;
}

/* Whose share stands in line for certain, as a bit each. */
static uint32_t standing(const struct model *m, uint32_t queue)
{
    uint32_t bits = 0;
    for (uint32_t k = 0; k < model_jobs(m); k++) {
        const struct mjob *j = model_job(m, k);
        if (j->state == M_WAITING && j->in_line && !j->held &&
            j->queue == queue)
            bits |= (uint32_t)1 << j->share;
    }
    return bits;
}

/* A job of each is on its way: what either may be ahead. Of large weights that
 * may be less than what is rounded. */
static int64_t bound(const struct turns *s, uint32_t a, uint32_t b)
{
    int64_t ahead = UNIT / s->weights[a].least + UNIT / s->weights[b].least;
    return ahead + (s->large ? 2 * PART : 0);
}

const char *turns_leased(struct turns *s, const struct model *m, uint32_t k)
{
    const struct mjob *j = model_job(m, k);
    uint32_t q = j->queue, served = j->share;
    if (q >= TURNS_QUEUES || !s->fair[q])
        return NULL;
    uint32_t bits = standing(m, q);
    if (served == M_SHARE_UNKNOWN) {
        bits &= ~(1 | (uint32_t)1 << j->owner); /* one of them has paid */
    } else {
        bits |= (uint32_t)1 << served;
        s->served[q][served] += UNIT / s->weights[served].now;
    }
    for (uint32_t a = 0; a < TURNS_OWNERS; a++)
        for (uint32_t b = 0; b < a; b++) {
            int64_t ahead = s->served[q][a] - s->served[q][b];
            bool both = (bits >> a & 1) != 0 && (bits >> b & 1) != 0;
            if (!both || !s->both[q][a][b])
                s->ahead[q][a][b] = ahead;
            s->both[q][a][b] = both;
            if (llabs(ahead - s->ahead[q][a][b]) > bound(s, a, b))
                return "owners do not take turns by their weights";
        }
    return NULL;
}
