/* EXEC runs what MULTI kept. It is one command to the core, so that it is one
 * entry of the log. It first gathers for all that reads, and starts over until
 * the rows are there; only then anything is changed. A row that is missed
 * nevertheless (a changing command behind another) is read at once. */
#include "server/commands.h"
#include "server/multi.h"

static enum err exec_exec(struct cmd_ctx *c)
{
    struct client *client = ctx_client(c);
    struct multi *m = client->multi;
    if (m == NULL)
        return err_set(&c->e, ERR_SYNTAX, "EXEC without MULTI");
    if (m->spoiled) {
        multi_forget(client);
        return err_set(&c->e, ERR_EXECABORT,
                       "Transaction discarded because of previous errors.");
    }
    for (uint32_t i = 0; i < m->len; i++) {
        struct multi_cmd *q = &m->cmds[i];
        enum err rc = dispatch_gather(c, q->entry, q->argv, q->argc);
        if (rc != ERR_OK)
            return rc;
    }
    reply_array(c->reply, m->len);
    for (uint32_t i = 0; i < m->len; i++) {
        struct multi_cmd *q = &m->cmds[i];
        enum err rc = dispatch_inner(c, q->entry, q->argv, q->argc, i == 0);
        if (i == 0 && rc == ERR_PENDING)
            return rc;
    }
    multi_forget(client);
    return ERR_OK;
}

static const enum err errors[] = {ERR_EXECABORT, ERR_OK};

const struct command cmd_exec = {
    .name = "EXEC",
    .group = "transactions",
    .summary = "Run what was kept since MULTI, as one entry of the log.",
    .since = "0.1",
    .reply = "an array with a reply for each command; LIMIT for each that the "
             "entry had no room for",
    .flags = CMD_WRITE | CMD_LOADING,
    .errors = errors,
    .exec = exec_exec,
};
