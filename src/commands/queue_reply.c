#include "commands/queue_reply.h"

#include "commands/rate_value.h"

void reply_queue(struct reply *r, const struct queue_view *v, struct now now)
{
    reply_map(r, 4 + (JOB_STATES - 1) + 8 + 12);
    reply_field_str(r, "queue", v->name);
    reply_field_int(r, "paused", v->paused);
    reply_field_int(r, "waiters", (int64_t)v->waiters);
    if (v->oldest_ready_ms == 0)
        reply_field_null(r, "oldest_ready_ms");
    else
        reply_field_int(r, "oldest_ready_ms",
                        now.wall_ms > v->oldest_ready_ms
                            ? (int64_t)(now.wall_ms - v->oldest_ready_ms)
                            : 0);
    for (unsigned s = 1; s < JOB_STATES; s++)
        reply_field_int(r, job_state_name((enum job_state)s),
                        (int64_t)v->jobs[s]);
    reply_field_int(r, "total_added", (int64_t)v->added);
    reply_field_int(r, "total_leased", (int64_t)v->leased);
    reply_field_int(r, "total_completed", (int64_t)v->completed);
    reply_field_int(r, "total_failed", (int64_t)v->failed);
    reply_field_int(r, "total_cancelled", (int64_t)v->cancelled);
    reply_field_int(r, "total_expired", (int64_t)v->expired);
    reply_field_int(r, "total_retried", (int64_t)v->retried);
    reply_field_int(r, "total_lost", (int64_t)v->lost);
    reply_field_str(r, "order", slice_str(v->aging ? "aging" : "priority"));
    reply_field_int(r, "age_ms", (int64_t)v->age_ms);
    reply_field_int(r, "fair", v->fair);
    reply_field_int(r, "maxlen", (int64_t)v->maxlen);
    reply_field_str(r, "overflow",
                    slice_str(v->drops_oldest ? "drop" : "reject"));
    reply_field_int(r, "concurrency", v->concurrency);
    reply_rate(r, "rate", &v->rate);
    reply_field_int(r, "lease_ms", (int64_t)v->lease_ms);
    if (v->keep_given)
        reply_field_int(r, "keep_ms", (int64_t)v->keep_ms);
    else
        reply_field_null(r, "keep_ms");
    reply_field_int(r, "id", v->id);
}
