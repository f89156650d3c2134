#include "server/commands.h"

struct auth_args {
    uint64_t given[2];
    struct slice first, second;
};
#define CMD_ARGS struct auth_args

/* Takes as long for the first wrong byte as for the last one. */
static bool same_secret(struct slice given, const char *secret)
{
    size_t len = strlen(secret);
    unsigned diff = given.len != len;
    for (size_t i = 0; i < given.len; i++)
        diff |= (unsigned)((unsigned char)given.data[i] ^
                           (unsigned char)secret[len == 0 ? 0 : i % len]);
    return diff == 0;
}

enum err auth_check(struct client *c, struct slice user, struct slice password,
                    struct errbuf *e)
{
    const char *secret = c->server->cf->requirepass;
    /* Without a password the user `default` may come with any. */
    if (slice_eq(user, SLICE_LIT("default")) &&
        (*secret == '\0' || same_secret(password, secret))) {
        c->flags |= CLIENT_AUTHENTICATED;
        return ERR_OK;
    }
    return err_set(e, ERR_WRONGPASS,
                   "invalid username-password pair or user is disabled.");
}

static enum err auth_exec(struct cmd_ctx *c)
{
    const struct auth_args *a = c->args;
    struct client *client = ctx_client(c);
    struct slice user = SLICE_LIT("default"), password = a->first;
    if (c->argc == 3) {
        user = a->first;
        password = a->second;
    } else if (*client->server->cf->requirepass == '\0') {
        return err_set(&c->e, ERR_SYNTAX,
                       "AUTH <password> called without any password configured "
                       "for the default user. Are you sure your configuration "
                       "is correct?");
    }
    enum err rc = auth_check(client, user, password, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static const struct arg args[] = {
    {"user-or-password", OPT(BYTES, first)},
    {"password", OPT(BYTES, second), .optional = true},
    {0},
};

static const enum err errors[] = {ERR_WRONGPASS, ERR_OK};

const struct command cmd_auth = {
    .name = "AUTH",
    .group = "connection",
    .summary = "Show the password.",
    .since = "0.1",
    .reply = "OK",
    .flags = CMD_FREE | CMD_FAST | CMD_NOAUTH | CMD_LOADING | CMD_SECRET |
             CMD_NO_MULTI,
    CMD_PARSED(args, NULL),
    .errors = errors,
    .exec = auth_exec,
};
