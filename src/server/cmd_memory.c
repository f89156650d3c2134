#include "server/commands.h"
#include "server/parts.h"
#include "server/stats.h"
#include "store/store.h"
#include "util/alloc.h"

struct memory_args {
    uint64_t given[2];
    struct slice key;
    uint64_t samples;
};
#define CMD_ARGS struct memory_args

static enum err stats_exec(struct cmd_ctx *c)
{
    struct server *s = ctx_server(c);
    struct store_stats st = {0};
    uint64_t clients = 0;
    if (s->store != NULL)
        store_get_stats(s->store, &st);
    LIST_FOR (it, &s->clients)
        clients += client_memory(CONTAINER_OF(it, struct client, all));
    uint64_t used = mem_used();
    struct stats *stats = s->parts->stats;
    if (used > stats->peak_memory)
        stats->peak_memory = used;
    reply_map(c->reply, 6);
    reply_field_int(c->reply, "peak.allocated", (int64_t)stats->peak_memory);
    reply_field_int(c->reply, "total.allocated", (int64_t)used);
    reply_field_int(c->reply, "clients.normal", (int64_t)clients);
    reply_field_int(c->reply, "overlay.bytes", (int64_t)st.overlay_bytes);
    reply_field_int(c->reply, "rocksdb.bytes", (int64_t)st.base_memory_bytes);
    reply_field_int(c->reply, "keys.count", (int64_t)st.overlay_rows);
    return ERR_OK;
}

/* There are no keys. */
static enum err usage_exec(struct cmd_ctx *c)
{
    reply_null(c->reply);
    return ERR_OK;
}

static enum err doctor_exec(struct cmd_ctx *c)
{
    const struct server *s = ctx_server(c);
    uint64_t used = mem_used(), max = s->cf->maxmemory;
    struct buf out = {0};
    if (max != 0 && used > max / 10 * 9)
        buf_printf(&out,
                   "%llu of the %llu bytes of maxmemory are in use: above it "
                   "new work is refused. See INFO memory and INFO rocksdb.\n",
                   (unsigned long long)used, (unsigned long long)max);
    else
        buf_add_str(&out, "No memory problem is visible.\n");
    reply_verbatim(c->reply, buf_slice(&out));
    buf_release(&out);
    return ERR_OK;
}

/* The allocator gives memory back by itself. */
static enum err purge_exec(struct cmd_ctx *c)
{
    reply_ok(c->reply);
    return ERR_OK;
}

static const char *const lines[] = {
    "DOCTOR",      "    Memory in words.",
    "PURGE",       "    Accepted: the allocator gives memory back by itself.",
    "STATS",       "    Who uses how much.",
    "USAGE <key>", "    Always null: there are no keys.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "MEMORY", lines);
    return ERR_OK;
}

static const struct arg usage_args[] = {{"key", OPT(BYTES, key)}, {0}};
static const struct opt usage_opts[] = {
    {"SAMPLES", OPT(U64, samples), "ignored", "n"},
    {0},
};

#define FLAGS (CMD_FREE | CMD_LOADING)
SUBCOMMAND(memory_stats, "MEMORY|STATS", "server", FLAGS, NULL, NULL,
           stats_exec, "Who uses how much memory.", "a map");
SUBCOMMAND(memory_usage, "MEMORY|USAGE", "server", FLAGS, usage_args,
           usage_opts, usage_exec, "For tools that ask about keys.", "null");
SUBCOMMAND(memory_doctor, "MEMORY|DOCTOR", "server", FLAGS, NULL, NULL,
           doctor_exec, "Memory in words.", "a string");
SUBCOMMAND(memory_purge, "MEMORY|PURGE", "server", FLAGS, NULL, NULL,
           purge_exec, "Accepted.", "OK");
SUBCOMMAND(memory_help, "MEMORY|HELP", "server", FLAGS, NULL, NULL, help_exec,
           "What MEMORY can do.", "an array of lines");

static const struct command *const subs[] = {
    &memory_stats, &memory_usage, &memory_doctor,
    &memory_purge, &memory_help,  NULL,
};

const struct command cmd_memory = {
    .name = "MEMORY",
    .group = "server",
    .summary = "Who uses how much memory.",
    .since = "0.1",
    .reply = "depends on the subcommand",
    .flags = FLAGS,
    .subs = subs,
};
