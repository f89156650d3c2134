/* HELLO: the protocol, and who the server is. Seven fields, always the same:
 * Lettuce needs `id`, `version`, `mode` and `role`. */
#include "server/commands.h"
#include "util/parse.h"

struct hello_args {
    uint64_t given[2];
    struct slice version;
    struct opt_pair auth;
    struct slice name;
};
#define CMD_ARGS struct hello_args

static enum err wanted_version(struct cmd_ctx *c, int *proto)
{
    const struct hello_args *a = c->args;
    int64_t n;
    *proto = ctx_client(c)->proto;
    if (c->argc == 1)
        return ERR_OK;
    if (!parse_i64(a->version, &n))
        return err_set(&c->e, ERR_SYNTAX,
                       "Protocol version is not an integer or out of range");
    if (n != 2 && n != 3)
        return err_set(&c->e, ERR_NOPROTO, "unsupported protocol version");
    *proto = (int)n;
    return ERR_OK;
}

static void introduce(struct cmd_ctx *c)
{
    struct reply *r = c->reply;
    reply_map(r, 7);
    reply_field_str(r, "server", SLICE_LIT("belfry"));
    reply_field_str(r, "version", SLICE_LIT(SERVER_VERSION));
    reply_field_int(r, "proto", r->proto);
    reply_field_int(r, "id", (int64_t)ctx_client(c)->id);
    reply_field_str(r, "mode", SLICE_LIT("standalone"));
    reply_field_str(r, "role", SLICE_LIT("master"));
    reply_str(r, "modules");
    reply_array(r, 0);
}

static enum err hello_exec(struct cmd_ctx *c)
{
    const struct hello_args *a = c->args;
    struct client *client = ctx_client(c);
    int proto;
    enum err rc = wanted_version(c, &proto);
    if (rc == ERR_OK && cmd_given(c, "AUTH"))
        rc = auth_check(client, a->auth.key, a->auth.value, &c->e);
    if (rc != ERR_OK)
        return rc;
    if (client_needs_auth(client))
        return err_set(&c->e, ERR_NOAUTH,
                       "HELLO must be called with the client already "
                       "authenticated, otherwise the HELLO <proto> AUTH <user> "
                       "<pass> option can be used to authenticate the client "
                       "and select the RESP protocol version at the same time");
    if (cmd_given(c, "SETNAME")) {
        rc = client_set_name(client, a->name, &c->e);
        if (rc != ERR_OK)
            return rc;
    }
    client->proto = c->reply->proto = proto;
    introduce(c);
    return ERR_OK;
}

/* All but the two words behind AUTH. */
static bool hello_shows(const struct slice *argv, uint32_t i)
{
    return !slice_is(argv[i - 1], "AUTH") &&
           (i < 2 || !slice_is(argv[i - 2], "AUTH"));
}

static const struct arg args[] = {
    {"protover", OPT(BYTES, version), .optional = true},
    {0},
};

static const struct opt opts[] = {
    {"AUTH", OPT(TWO, auth), "user name and password", "username password"},
    {"SETNAME", OPT(BYTES, name), "name of the connection", "name",
     .max = CLIENT_NAME_MAX},
    {0},
};

static const enum err errors[] = {ERR_NOPROTO, ERR_WRONGPASS, ERR_NOAUTH,
                                  ERR_OK};

const struct command cmd_hello = {
    .name = "HELLO",
    .group = "connection",
    .summary = "Choose the protocol and learn who the server is.",
    .since = "0.1",
    .reply = "a map: server, version, proto, id, mode, role, modules",
    .flags = CMD_FREE | CMD_FAST | CMD_NOAUTH | CMD_LOADING | CMD_SECRET |
             CMD_NO_MULTI,
    CMD_PARSED(args, opts),
    .errors = errors,
    .exec = hello_exec,
    .shows = hello_shows,
    .example = "HELLO 3 SETNAME worker-1",
};
