/* Who stands in line, and whose turn it is. */
#include "model_impl.h"

#include "util/alloc.h"

#define LINE_MAX 256 /* so many jobs back the order is looked at */

uint64_t *model_line_new(uint32_t jobs)
{
    return mem_zalloc((jobs / 64 + 1) * sizeof(uint64_t));
}

void model_line_add(struct model *m, uint32_t k)
{
    m->line[k / 64] |= (uint64_t)1 << k % 64;
}

void model_arrived(struct model *m, uint32_t k, uint32_t priority,
                   struct now now)
{
    m->jobs[k].arrived_ms = now.wall_ms;
    m->jobs[k].arrival = ++m->arrivals;
    m->jobs[k].priority = priority;
    m->jobs[k].clock = m->clock;
    m->jobs[k].seen_ms = m->clock_ms;
    m->jobs[k].share = m->fair[m->jobs[k].queue] ? m->jobs[k].owner : 0;
    m->jobs[k].in_line = true;
    model_line_add(m, k);
}

bool model_stands(const struct model *m, uint32_t k, struct now now)
{
    const struct mjob *j = model_job(m, k);
    return j->state == M_WAITING && !j->held && j->stands_ms <= now.wall_ms;
}

void model_ordered(struct model *m, uint32_t queue, uint64_t age_ms)
{
    m->age_ms[queue] = age_ms;
    m->clock++; /* what stands there has lines of its own */
}

void model_fair(struct model *m, uint32_t queue, bool fair)
{
    m->eras[queue] += m->fair[queue] != fair;
    m->fair[queue] = fair;
}

uint8_t model_share(const struct model *m, const struct mjob *j)
{
    if (j->in_line)
        return j->share;
    if (j->owner > 0 && j->era != m->eras[j->queue])
        return M_SHARE_UNKNOWN;
    return m->fair[j->queue] ? j->owner : 0;
}

/* Has it waited longer, each point of its priority counted as some time? What
 * came under another order keeps that among itself. */
static bool is_aged(const struct model *m, const struct mjob *older,
                    const struct mjob *j)
{
    uint64_t age_ms = m->age_ms[j->queue];
    return age_ms > 0 && j->clock == m->clock &&
           older->arrived_ms + (uint64_t)j->priority * age_ms + CORRECTED_MS <
               j->arrived_ms + (uint64_t)older->priority * age_ms;
}

/* One that comes from under a name, or from another share, stands in a line of
 * its own. */
static bool is_apart(const struct mjob *older, const struct mjob *j)
{
    return older->share != j->share || model_has_limits(j);
}

/* Are they compared? Those of one line are. Where owners do not take turns any
 * more the heads of all lines are, and of one share always, by the present
 * order: that is no order of what stands behind a head that came under another
 * one. */
static bool is_of_line(const struct model *m, const struct mjob *older,
                       const struct mjob *j, bool leased)
{
    if (older->held || older->state != M_WAITING || older->queue != j->queue ||
        older->clock != j->clock || older->handler != j->handler ||
        model_has_limits(older))
        return false;
    if (!is_apart(older, j))
        return true;
    return leased && j->clock == m->clock &&
           (older->share == j->share || !m->fair[j->queue]);
}

/* Did it come earlier for certain? Of those that stand apart, and arrived in
 * the same moment, either may be the first, and a clock that is corrected
 * stands still for a while. */
static bool is_older(const struct mjob *older, const struct mjob *j)
{
    return older->arrival < j->arrival &&
           (!is_apart(older, j) || older->seen_ms < j->arrived_ms);
}

/* Does this one wait in the same line, is older, and of no lower priority? */
static bool is_before(const struct model *m, const struct mjob *older,
                      const struct mjob *j, bool leased)
{
    if (!is_of_line(m, older, j, leased))
        return false;
    return (leased && is_aged(m, older, j)) ||
           (is_older(older, j) && older->priority >= j->priority);
}

bool model_passes(struct model *m, uint32_t k, bool leased)
{
    const struct mjob *j = &m->jobs[k];
    uint32_t from = k > LINE_MAX ? k - LINE_MAX : 0;
    uint32_t to = k + LINE_MAX < m->jobs_n ? k + LINE_MAX : m->jobs_n;
    if (!j->in_line)
        return false;
    for (uint32_t at = from / 64; at <= (to - 1) / 64; at++) {
        for (uint64_t left = m->line[at]; left != 0; left &= left - 1) {
            uint32_t i = at * 64 + (uint32_t)__builtin_ctzll(left);
            if (!m->jobs[i].in_line)
                m->line[at] &= ~(left & -left);
            else if (i >= from && i < to &&
                     is_before(m, &m->jobs[i], j, leased))
                return true;
        }
    }
    return false;
}
