#include <stdio.h>

#include "server/backup.h"
#include "server/commands.h"

struct bgsave_args {
    uint64_t given[2];
    bool schedule;
};
#define CMD_ARGS struct bgsave_args

#define NAMES_MAX 1000

/* Everything is on disk already; who asks for a snapshot gets a copy beside the
 * data, named by its second, and by a number if there is one of that second. */
static enum err bgsave_exec(struct cmd_ctx *c)
{
    const struct server *s = ctx_server(c);
    unsigned long long second = c->now.wall_ms / 1000;
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/backup-%llu", s->cf->dir, second);
    enum err rc = backup_start(ctx_server(c), path, &c->e);
    for (int i = 2; rc == ERR_EXISTS && i <= NAMES_MAX; i++) {
        (void)snprintf(path, sizeof(path), "%s/backup-%llu-%d", s->cf->dir,
                       second, i);
        rc = backup_start(ctx_server(c), path, &c->e);
    }
    if (rc == ERR_OK)
        reply_simple(c->reply, "Background saving started");
    return rc;
}

static const struct opt opts[] = {
    {"SCHEDULE", OPT(FLAG, schedule), "as without"},
    {0},
};

static const enum err errors[] = {ERR_IO, ERR_OK};

const struct command cmd_bgsave = {
    .name = "BGSAVE",
    .group = "server",
    .summary = "BACKUP into a directory beside the data.",
    .since = "0.1",
    .reply = "Background saving started",
    .flags = CMD_READONLY | CMD_ADMIN | CMD_NO_MULTI,
    CMD_PARSED(NULL, opts),
    .errors = errors,
    .exec = bgsave_exec,
};
