/* The sections of INFO that the engine fills. */
#include "engine/engine.h"
#include "server/info.h"
#include "server/metrics.h"
#include "server/server.h"

#define ULL(n) ((unsigned long long)(n))

static void keyspace_section(struct server *s, struct buf *out)
{
    struct engine_stats st = {0};
    if (s->engine != NULL && s->state != SERVER_LOADING)
        engine_get_stats(s->engine, &st);
    if (st.jobs_live > 0)
        buf_printf(out, "db0:keys=%llu,expires=0,avg_ttl=0\r\n",
                   ULL(st.jobs_live));
}

static void jobs_section(struct server *s, struct buf *out)
{
    struct metrics m;
    metrics_take(s, &m);
    metrics_info(&m, SECTION_JOBS, out);
}

enum { QUEUES_SHOWN = 1000 };

struct queues {
    struct buf *out;
    uint64_t now_ms;
    uint32_t n;
};

static void one_queue(void *ud, const struct queue_view *v)
{
    struct queues *q = ud;
    q->n++;
    uint64_t oldest_ms =
        v->oldest_ready_ms == 0 || v->oldest_ready_ms > q->now_ms
            ? 0
            : q->now_ms - v->oldest_ready_ms;
    buf_printf(q->out, "queue_%.*s:", SLICE_FMT(v->name));
    for (int i = 1; i < JOB_STATES; i++)
        buf_printf(q->out, "%s=%llu,", job_state_name((enum job_state)i),
                   ULL(v->jobs[i]));
    buf_printf(q->out, "paused=%d,waiters=%llu,oldest_ready_ms=%llu\r\n",
               v->paused, ULL(v->waiters), ULL(oldest_ms));
}

static void queues_section(struct server *s, struct buf *out)
{
    const struct page page = {.most = QUEUES_SHOWN};
    struct queues q = {out, s->now.wall_ms, 0};
    if (s->engine == NULL || s->state == SERVER_LOADING)
        return;
    size_t all = engine_queues(s->engine, &page, one_queue, &q);
    if (all > q.n)
        info_line(out, "queues_not_shown", all - q.n);
}

void info_jobs_init(struct server *s)
{
    server_info_add(s, "Keyspace", keyspace_section, true);
    server_info_add(s, "Jobs", jobs_section, true);
    server_info_add(s, "Queues", queues_section, false);
}
