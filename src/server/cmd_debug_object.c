/* DEBUG OBJECT and DEBUG CHECK: the engine from inside. */
#include "engine/engine.h"
#include "server/commands.h"

struct object_args {
    uint64_t given[2];
    struct slice ref;
};
#define CMD_ARGS struct object_args

static enum err object_exec(struct cmd_ctx *c)
{
    const struct object_args *a = c->args;
    struct job_view v;
    enum err rc = engine_get(c->engine, c->gather, a->ref, c->now, &v, &c->e);
    if (rc != ERR_OK)
        return rc;
    reply_printf(c->reply,
                 "state:%s queue:%.*s handler:%.*s slot:%u priority:%u "
                 "failures:%u crashes:%u deliveries:%u run_at_ms:%llu "
                 "payload_len:%zu lease_left_ms:%llu",
                 job_state_name(v.state), SLICE_FMT(v.queue),
                 SLICE_FMT(v.handler), id_slot(&v.id), v.priority, v.failures,
                 v.crashes, v.deliveries, (unsigned long long)v.run_at_ms,
                 v.payload.len, (unsigned long long)v.lease_left_ms);
    return ERR_OK;
}

static enum err check_exec(struct cmd_ctx *c)
{
    enum err rc = engine_check(c->engine, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg object_args[] = {{"id-or-name", OPT(BYTES, ref)}, {0}};

const struct command cmd_debug_object = {
    .name = "DEBUG|OBJECT",
    .group = "server",
    .summary = "Where a job stands.",
    .since = "0.1",
    .reply = "a string",
    .flags = CMD_READONLY | CMD_ADMIN | CMD_DEBUG,
    CMD_PARSED(object_args, NULL),
    .exec = object_exec,
};

const struct command cmd_debug_check = {
    .name = "DEBUG|CHECK",
    .group = "server",
    .summary = "Verify the engine's invariants.",
    .since = "0.1",
    .reply = "OK, or the first violation",
    .flags = CMD_READONLY | CMD_ADMIN | CMD_DEBUG,
    .exec = check_exec,
};
