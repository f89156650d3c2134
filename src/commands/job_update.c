/* JOB.UPDATE: change a job that waits. */
#include <string.h>

#include "commands/command.h"
#include "commands/job_options.h"
#include "engine/engine.h"

struct update_args {
    uint64_t given[2];
    struct slice id, payload;
    struct job_options o;
};
#define CMD_ARGS struct update_args

static enum err update_exec(struct cmd_ctx *c)
{
    struct update_args *a = c->args;
    /* The table here is a part of all options: find their numbers by name. */
    a->o.given = 0;
    for (unsigned i = 0; c->cmd->opts[i].name != NULL; i++)
        for (unsigned o = 0; o < JOB_OPTIONS; o++)
            if ((a->given[0] >> i & 1) != 0 &&
                strcmp(c->cmd->opts[i].name,
                       job_option_name((enum job_option)o)) == 0)
                a->o.given |= (uint64_t)1 << o;
    struct update_params p = {.job = a->id,
                              .options = &a->o,
                              .has_payload = cmd_given(c, "PAYLOAD"),
                              .payload = a->payload};
    enum err rc = engine_update(c->engine, c->gather, &p, c->now, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"id", OPT(BYTES, id), .key = true, .help = "or the job's name"},
    {0},
};

static const struct opt opts[] = {
    JOB_OPTION_ROWS_RUN,
    JOB_OPTION_ROWS_LIMIT,
    JOB_OPTION_ROWS_LABEL,
    {"PAYLOAD", OPT(BYTES, payload), "another payload", .value = "bytes"},
    {0},
};

const struct command cmd_job_update = {
    .name = "JOB.UPDATE",
    .group = "jobs",
    .summary = "Change a waiting job; times count from now, LIMIT and TAG "
               "replace all that it has.",
    .since = "0.1",
    .reply = "OK; what the job has and what is said must not collide",
    .flags = CMD_WRITE,
    CMD_PARSED(args, opts),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_NOTFOUND, ERR_FINISHED,
                                 ERR_STATE, ERR_LIMIT, ERR_OK},
    .exec = update_exec,
    .example = "JOB.UPDATE 01J8ZQ4W2H0000000000000001 PRIORITY 900 DELAY 5m",
};
