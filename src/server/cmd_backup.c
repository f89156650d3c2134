#include "server/backup.h"
#include "server/commands.h"
#include "util/alloc.h"

struct backup_args {
    uint64_t given[2];
    struct slice path;
};
#define CMD_ARGS struct backup_args

static enum err backup_exec(struct cmd_ctx *c)
{
    const struct backup_args *a = c->args;
    if (memchr(a->path.data, '\0', a->path.len) != NULL)
        return err_set(&c->e, ERR_SYNTAX, "BACKUP: a path holds no NUL");
    char *path = mem_dup(a->path);
    enum err rc = backup_start(ctx_server(c), path, &c->e);
    mem_free(path);
    if (rc == ERR_OK)
        reply_simple(c->reply, "Background saving started");
    return rc;
}

static const struct arg args[] = {
    {"directory", OPT(NAME, path), .max = 1024},
    {0},
};

static const enum err errors[] = {ERR_IO, ERR_OK};

const struct command cmd_backup = {
    .name = "BACKUP",
    .group = "server",
    .summary = "Copy the data into a new directory while the server runs.",
    .since = "0.1",
    .reply = "Background saving started; INFO persistence tells how it ended",
    .flags = CMD_READONLY | CMD_ADMIN | CMD_NO_MULTI,
    CMD_PARSED(args, NULL),
    .errors = errors,
    .exec = backup_exec,
    .example = "BACKUP /var/backups/belfry/monday",
};
