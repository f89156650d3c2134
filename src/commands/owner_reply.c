#include "commands/owner_reply.h"

void reply_owner(struct reply *r, const struct owner_view *v)
{
    reply_map(r, 8);
    reply_field_str(r, "owner", v->name);
    reply_field_int(r, "weight", v->set.weight);
    reply_field_int(r, "live", (int64_t)v->live);
    reply_field_int(r, "live_max", (int64_t)v->set.live_max);
    reply_field_int(r, "running", (int64_t)v->running);
    reply_field_int(r, "running_max", v->set.running_max);
    reply_field_int(r, "adds", (int64_t)v->set.adds.n);
    reply_field_int(r, "adds_per_ms", (int64_t)v->set.adds.per_ms);
}
