/* QUEUE.PAUSE, QUEUE.RESUME: nothing is leased from it in between. */
#include "commands/command.h"
#include "engine/engine.h"

struct queue_pause_args {
    uint64_t given[2];
    struct slice queue;
};
#define CMD_ARGS struct queue_pause_args

static enum err set_paused(struct cmd_ctx *c, bool paused)
{
    struct queue_pause_args *a = c->args;
    enum err rc =
        engine_queue_pause(c->engine, a->queue, paused, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static enum err pause_exec(struct cmd_ctx *c)
{
    return set_paused(c, true);
}

static enum err resume_exec(struct cmd_ctx *c)
{
    return set_paused(c, false);
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "its name"},
    {0},
};

static const struct opt opts[] = {{0}};

const struct command cmd_queue_pause = {
    .name = "QUEUE.PAUSE",
    .group = "queues",
    .summary = "Pause a queue: its jobs stay, nothing is leased.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = pause_exec,
    .example = "QUEUE.PAUSE emails",
};

const struct command cmd_queue_resume = {
    .name = "QUEUE.RESUME",
    .group = "queues",
    .summary = "Resume a queue that was paused.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_WRITE | CMD_FAST,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_OK},
    .exec = resume_exec,
    .example = "QUEUE.RESUME emails",
};
