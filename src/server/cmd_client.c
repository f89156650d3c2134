/* CLIENT: connections as seen by themselves and by others. */
#include "server/commands.h"
#include "server/park.h"
#include "util/alloc.h"
#include "util/parse.h"

static const char *const types[] = {"normal", "master", "replica",
                                    "slave",  "pubsub", NULL};
enum { TYPE_NORMAL, TYPE_MASTER, TYPE_REPLICA, TYPE_SLAVE, TYPE_PUBSUB };
static const char *const on_off[] = {"off", "on", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const modes[] = {"ON", "OFF", "SKIP", NULL};
static const char *const pauses[] = {"ALL", "WRITE", NULL};
static const char *const unblocks[] = {"TIMEOUT", "ERROR", NULL};

struct client_args {
    uint64_t given[2];
    struct slice word, value;
    struct slice addr, laddr, user;
    uint64_t id, max_age_s, ms;
    uint32_t choice, type, skipme;
    struct opt_list ids;
    struct opt_list rest;
    bool bcast, optin, optout, noloop;
    struct slice prefixes[64];
    uint32_t n_prefixes;
};
#define CMD_ARGS struct client_args

/* --- about itself ----------------------------------------------------------*/

static enum err id_exec(struct cmd_ctx *c)
{
    reply_int(c->reply, (int64_t)ctx_client(c)->id);
    return ERR_OK;
}

static enum err setname_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    enum err rc = client_set_name(ctx_client(c), a->word, &c->e);
    if (rc == ERR_OK)
        reply_ok(c->reply);
    return rc;
}

static enum err getname_exec(struct cmd_ctx *c)
{
    const struct client *client = ctx_client(c);
    if (client->name == NULL)
        reply_null(c->reply);
    else
        reply_str(c->reply, client->name);
    return ERR_OK;
}

static enum err setinfo_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    struct client *client = ctx_client(c);
    char **to = NULL;
    if (slice_is(a->word, "LIB-NAME"))
        to = &client->lib_name;
    else if (slice_is(a->word, "LIB-VER"))
        to = &client->lib_ver;
    else
        return err_set(&c->e, ERR_SYNTAX, "Unrecognized option '%.*s'",
                       (int)(a->word.len < 64 ? a->word.len : 64),
                       a->word.data);
    if (!client_word_ok(a->value))
        return err_set(&c->e, ERR_SYNTAX,
                       "%s cannot contain spaces, newlines or special "
                       "characters.",
                       to == &client->lib_name ? "lib-name" : "lib-ver");
    FREE(to);
    if (a->value.len > 0)
        *to = mem_dup(a->value);
    reply_ok(c->reply);
    return ERR_OK;
}

static enum err info_exec(struct cmd_ctx *c)
{
    struct buf line = {0};
    client_describe(ctx_client(c), &line);
    buf_add_char(&line, '\n');
    reply_verbatim(c->reply, buf_slice(&line));
    buf_release(&line);
    return ERR_OK;
}

static enum err reply_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    struct client *client = ctx_client(c);
    switch (a->choice) {
    case 0:
        client->reply_mode = REPLY_ON;
        c->reply->muted = false;
        reply_ok(c->reply);
        break;
    case 1:
        client->reply_mode = REPLY_OFF;
        break;
    default:
        if (client->reply_mode != REPLY_OFF)
            client->reply_mode = REPLY_SKIP;
    }
    return ERR_OK;
}

static void set_flag(struct client *client, unsigned flag, bool on)
{
    client->flags = on ? client->flags | flag : client->flags & ~flag;
}

static enum err no_evict_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    set_flag(ctx_client(c), CLIENT_NO_EVICT, a->choice == 1);
    reply_ok(c->reply);
    return ERR_OK;
}

static enum err no_touch_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    set_flag(ctx_client(c), CLIENT_NO_TOUCH, a->choice == 1);
    reply_ok(c->reply);
    return ERR_OK;
}

/* There are no keys that could change behind a client's cache, so the promise
 * to tell of changes is kept by doing nothing. */
static enum err tracking_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    if (a->optin && a->optout)
        return err_set(&c->e, ERR_SYNTAX,
                       "You can't specify both OPTIN mode and OPTOUT mode");
    set_flag(ctx_client(c), CLIENT_TRACKING, a->choice == 1);
    reply_ok(c->reply);
    return ERR_OK;
}

static enum err trackinginfo_exec(struct cmd_ctx *c)
{
    bool on = (ctx_client(c)->flags & CLIENT_TRACKING) != 0;
    reply_map(c->reply, 3);
    reply_str(c->reply, "flags");
    reply_array(c->reply, 1);
    reply_str(c->reply, on ? "on" : "off");
    reply_field_int(c->reply, "redirect", on ? 0 : -1);
    reply_str(c->reply, "prefixes");
    reply_array(c->reply, 0);
    return ERR_OK;
}

static enum err caching_exec(struct cmd_ctx *c)
{
    if ((ctx_client(c)->flags & CLIENT_TRACKING) == 0)
        return err_set(&c->e, ERR_SYNTAX,
                       "CLIENT CACHING can be called only when the client is "
                       "in tracking mode with OPTIN or OPTOUT mode enabled");
    reply_ok(c->reply);
    return ERR_OK;
}

static enum err getredir_exec(struct cmd_ctx *c)
{
    reply_int(c->reply, (ctx_client(c)->flags & CLIENT_TRACKING) != 0 ? 0 : -1);
    return ERR_OK;
}

/* --- about others ----------------------------------------------------------*/

static bool has_type(const struct client *client, uint32_t type)
{
    switch (type) {
    case TYPE_NORMAL:
        return client_class(client) == CLASS_NORMAL;
    case TYPE_PUBSUB:
        return client_class(client) == CLASS_PUBSUB;
    default:
        return false;
    }
}

static enum err list_ids(struct cmd_ctx *c, const struct opt_list *ids,
                         struct buf *out)
{
    for (uint32_t i = 0; i < ids->n; i++) {
        int64_t id;
        if (!parse_i64(ids->words[i], &id))
            return err_set(&c->e, ERR_SYNTAX, "Invalid client ID");
        const struct client *client = client_by_id(ctx_server(c), (uint64_t)id);
        if (client == NULL)
            continue;
        client_describe(client, out);
        buf_add_char(out, '\n');
    }
    return ERR_OK;
}

static enum err list_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    struct server *s = ctx_server(c);
    struct buf out = {0};
    enum err rc = ERR_OK;
    if (cmd_given(c, "ID")) {
        rc = list_ids(c, &a->ids, &out);
        if (rc != ERR_OK)
            goto out;
    } else {
        LIST_FOR (it, &s->clients) {
            const struct client *client = CONTAINER_OF(it, struct client, all);
            if (cmd_given(c, "TYPE") && !has_type(client, a->type))
                continue;
            client_describe(client, &out);
            buf_add_char(&out, '\n');
        }
    }
    reply_verbatim(c->reply, buf_slice(&out));

out:
    buf_release(&out);
    return rc;
}

static bool matches(struct cmd_ctx *c, const struct client *client)
{
    const struct client_args *a = c->args;
    uint64_t age_ms = c->now.mono_ms - client->created_mono_ms;
    if (cmd_given(c, "ID") && client->id != a->id)
        return false;
    if (cmd_given(c, "ADDR") && !slice_is(a->addr, client_addr(client)))
        return false;
    if (cmd_given(c, "LADDR") && !slice_is(a->laddr, client_laddr(client)))
        return false;
    if (cmd_given(c, "TYPE") && !has_type(client, a->type))
        return false;
    if (cmd_given(c, "USER") && !slice_eq(a->user, SLICE_LIT("default")))
        return false;
    if (cmd_given(c, "MAXAGE") && age_ms / 1000 < a->max_age_s)
        return false;
    /* Not itself, unless it asks for it. */
    return client != ctx_client(c) ||
           (cmd_given(c, "SKIPME") && a->skipme == 0);
}

/* Its own connection is closed behind the reply. */
static void kill_one(struct cmd_ctx *c, struct client *client)
{
    if (client == ctx_client(c))
        client_close_after_reply(client);
    else
        client_kill(client);
}

static enum err kill_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    struct server *s = ctx_server(c);
    int64_t n = 0;
    bool by_addr = a->word.data != NULL;
    if (by_addr && c->argc > 3)
        return err_set(&c->e, ERR_SYNTAX, "syntax error");
    LIST_FOR (it, &s->clients) {
        struct client *client = CONTAINER_OF(it, struct client, all);
        bool hit = by_addr ? slice_is(a->word, client_addr(client))
                           : matches(c, client);
        if (!hit)
            continue;
        n++;
        kill_one(c, client);
        if (by_addr)
            break;
    }
    if (!by_addr) {
        reply_int(c->reply, n);
        return ERR_OK;
    }
    if (n == 0)
        return err_set(&c->e, ERR_SYNTAX, "No such client");
    reply_ok(c->reply);
    return ERR_OK;
}

static enum err kill_check(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    if (a->word.data == NULL && c->argc == 2)
        return err_set(&c->e, ERR_SYNTAX,
                       "wrong number of arguments for 'client|kill' command");
    return ERR_OK;
}

static enum err unblock_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    struct client *client = client_by_id(ctx_server(c), a->id);
    bool done = client != NULL && park_time_out(client);
    if (done)
        client->parked->unblocked_error = a->choice == 1;
    reply_int(c->reply, done);
    return ERR_OK;
}

static enum err pause_exec(struct cmd_ctx *c)
{
    const struct client_args *a = c->args;
    struct server *s = ctx_server(c);
    s->paused_until_ms = c->now.mono_ms + a->ms;
    s->paused_writes_only = a->choice == 1;
    reply_ok(c->reply);
    return ERR_OK;
}

static enum err unpause_exec(struct cmd_ctx *c)
{
    ctx_server(c)->paused_until_ms = 0;
    reply_ok(c->reply);
    return ERR_OK;
}

static const char *const help_lines[] = {
    "CACHING (YES|NO)",
    "    Accepted: there is nothing to invalidate.",
    "GETNAME",
    "    The name of this connection.",
    "GETREDIR",
    "    Where invalidations would go.",
    "ID",
    "    The id of this connection.",
    "INFO",
    "    This connection as LIST shows it.",
    "KILL <ip:port>",
    "    Close one connection.",
    "KILL <option> <value> [<option> <value> [...]]",
    "    Close those that match: ADDR, LADDR, ID, TYPE, USER, MAXAGE; SKIPME",
    "    no includes this one.",
    "LIST [TYPE (NORMAL|PUBSUB)] [ID <id> ...]",
    "    The connections, a line each.",
    "NO-EVICT (ON|OFF)",
    "    Accepted: connections are not evicted.",
    "NO-TOUCH (ON|OFF)",
    "    Accepted: reads leave no traces.",
    "PAUSE <timeout> [WRITE|ALL]",
    "    Run no commands, or none that change something, for so many",
    "    milliseconds.",
    "REPLY (ON|OFF|SKIP)",
    "    Whether this connection gets replies.",
    "SETINFO (LIB-NAME|LIB-VER) <text>",
    "    Name the client library.",
    "SETNAME <name>",
    "    Name this connection.",
    "TRACKING (ON|OFF) [...]",
    "    Accepted: there is nothing to invalidate.",
    "UNBLOCK <id> [TIMEOUT|ERROR]",
    "    Let a parked connection go.",
    "UNPAUSE",
    "    End PAUSE.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "CLIENT", help_lines);
    return ERR_OK;
}

/* --- tables ----------------------------------------------------------------*/

static const struct arg name_args[] = {
    {"name", OPT(BYTES, word), .max = CLIENT_NAME_MAX},
    {0},
};
static const struct arg setinfo_args[] = {
    {"attribute", OPT(BYTES, word)},
    {"value", OPT(BYTES, value), .max = CLIENT_NAME_MAX},
    {0},
};
static const struct arg mode_args[] = {
    {"mode", OPT(ENUM, choice), .words = modes},
    {0},
};
static const struct arg switch_args[] = {
    {"switch", OPT(ENUM, choice), .words = on_off},
    {0},
};
static const struct arg yes_args[] = {
    {"yes-or-no", OPT(ENUM, choice), .words = no_yes},
    {0},
};
static const struct opt tracking_opts[] = {
    {"REDIRECT", OPT(U64, id), "ignored", "id"},
    {"PREFIX", OPT(BYTES, prefixes), "ignored", "prefix",
     OPT_MANY(prefixes, n_prefixes)},
    {"BCAST", OPT(FLAG, bcast), "ignored"},
    {"OPTIN", OPT(FLAG, optin), "ignored"},
    {"OPTOUT", OPT(FLAG, optout), "ignored"},
    {"NOLOOP", OPT(FLAG, noloop), "ignored"},
    {0},
};
static const struct opt list_opts[] = {
    {"TYPE", OPT(ENUM, type), "only connections of this type", .words = types},
    {"ID", OPT(REST, ids), "only these", "id..."},
    {0},
};
static const struct arg kill_args[] = {
    {"ip:port", OPT(BYTES, word), .optional = true, .alone = true},
    {0},
};
static const struct opt kill_opts[] = {
    {"ID", OPT(U64, id), "the connection with this id", "id", .min = 1},
    {"TYPE", OPT(ENUM, type), "connections of this type", .words = types},
    {"ADDR", OPT(BYTES, addr), "its own address", "ip:port"},
    {"LADDR", OPT(BYTES, laddr), "the address it connected to", "ip:port"},
    {"USER", OPT(BYTES, user), "authenticated as", "user"},
    {"MAXAGE", OPT(U64, max_age_s), "older than so many seconds", "seconds"},
    {"SKIPME", OPT(ENUM, skipme), "spare this connection (default yes)",
     .words = no_yes},
    {0},
};
static const struct arg unblock_args[] = {
    {"id", OPT(U64, id)},
    {"how", OPT(ENUM, choice), .optional = true, .words = unblocks},
    {0},
};
static const struct arg pause_args[] = {
    {"milliseconds", OPT(MS, ms)},
    {"what", OPT(ENUM, choice), .optional = true, .words = pauses},
    {0},
};

#define FREE_CMD (CMD_FREE | CMD_LOADING | CMD_FAST)
#define ADMIN_CMD (CMD_FREE | CMD_LOADING | CMD_ADMIN)
#define CLIENT_SUB(id, NAME, flags, args_table, opts_table, text, shape)     \
    SUBCOMMAND(client_##id, "CLIENT|" NAME, "connection", flags, args_table, \
               opts_table, id##_exec, text, shape)

CLIENT_SUB(id, "ID", FREE_CMD, NULL, NULL, "The id of this connection.",
           "an integer");
CLIENT_SUB(setname, "SETNAME", FREE_CMD, name_args, NULL,
           "Name this connection.", "OK");
CLIENT_SUB(getname, "GETNAME", FREE_CMD, NULL, NULL,
           "The name of this connection.", "the name, or null");
CLIENT_SUB(setinfo, "SETINFO", FREE_CMD, setinfo_args, NULL,
           "Name the client library.", "OK");
CLIENT_SUB(info, "INFO", FREE_CMD, NULL, NULL,
           "This connection as CLIENT LIST shows it.", "a line");
/* Inside EXEC it would leave replies out of an array that announced them. */
CLIENT_SUB(reply, "REPLY", FREE_CMD | CMD_NO_MULTI, mode_args, NULL,
           "Whether this connection gets replies.", "OK, or nothing");
CLIENT_SUB(no_evict, "NO-EVICT", ADMIN_CMD, switch_args, NULL,
           "Accepted: connections are not evicted.", "OK");
CLIENT_SUB(no_touch, "NO-TOUCH", FREE_CMD, switch_args, NULL,
           "Accepted: reads leave no traces.", "OK");
CLIENT_SUB(tracking, "TRACKING", FREE_CMD, switch_args, tracking_opts,
           "Accepted: there is nothing to invalidate.", "OK");
CLIENT_SUB(trackinginfo, "TRACKINGINFO", FREE_CMD, NULL, NULL,
           "What CLIENT TRACKING was told.", "a map");
CLIENT_SUB(caching, "CACHING", FREE_CMD, yes_args, NULL,
           "Accepted while tracking.", "OK");
CLIENT_SUB(getredir, "GETREDIR", FREE_CMD, NULL, NULL,
           "Where invalidations would go.", "an integer");
CLIENT_SUB(list, "LIST", ADMIN_CMD, NULL, list_opts,
           "The connections, a line each.", "a string");
static const struct command client_kill_cmd = {
    .name = "CLIENT|KILL",
    .group = "connection",
    .summary = "Close connections.",
    .since = "0.1",
    .reply = "OK for an address, else how many",
    .flags = ADMIN_CMD,
    CMD_PARSED(kill_args, kill_opts),
    .exec = kill_exec,
    .check = kill_check,
};
CLIENT_SUB(unblock, "UNBLOCK", ADMIN_CMD, unblock_args, NULL,
           "Let a parked connection go.", "1 if it was parked, else 0");
CLIENT_SUB(pause, "PAUSE", ADMIN_CMD, pause_args, NULL,
           "Run no commands for a while.", "OK");
CLIENT_SUB(unpause, "UNPAUSE", ADMIN_CMD, NULL, NULL, "End CLIENT PAUSE.",
           "OK");
CLIENT_SUB(help, "HELP", FREE_CMD, NULL, NULL, "What CLIENT can do.",
           "an array of lines");

static const struct command *const subs[] = {
    &client_id,
    &client_setname,
    &client_getname,
    &client_setinfo,
    &client_info,
    &client_reply,
    &client_no_evict,
    &client_no_touch,
    &client_tracking,
    &client_trackinginfo,
    &client_caching,
    &client_getredir,
    &client_list,
    &client_kill_cmd,
    &client_unblock,
    &client_pause,
    &client_unpause,
    &client_help,
    NULL,
};

const struct command cmd_client = {
    .name = "CLIENT",
    .group = "connection",
    .summary = "Connections: names, lists, replies.",
    .since = "0.1",
    .reply = "depends on the subcommand",
    .flags = FREE_CMD,
    .subs = subs,
};
