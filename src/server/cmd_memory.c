/* MEMORY: of the process, and of one job. */
#include "engine/engine.h"
#include "server/commands.h"
#include "server/metrics.h"
#include "server/stats.h"
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
    struct metrics m;
    uint64_t clients = 0;
    metrics_take(s, &m);
    LIST_FOR (it, &s->clients)
        clients += client_all_memory(CONTAINER_OF(it, struct client, all));
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {
        {"peak.allocated", m.stats->peak_memory},
        {"total.allocated", m.memory},
        {"clients.normal", clients},
        {"engine.bytes", m.engine.memory_bytes},
        {"overlay.bytes", m.store.overlay_bytes},
        {"rocksdb.bytes", m.store.base_memory_bytes},
        {"keys.count", m.engine.jobs_live}, /* as DBSIZE */
    };
    reply_map(c->reply, ARRAY_LEN(fields));
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        reply_field_int(c->reply, fields[i].name, (int64_t)fields[i].value);
    return ERR_OK;
}

/* Tools ask for any word that they take for a key. */
static enum err usage_exec(struct cmd_ctx *c)
{
    const struct memory_args *a = c->args;
    uint64_t bytes = 0;
    enum err rc = engine_job_bytes(c->engine, c->gather, a->key, &bytes, &c->e);
    if (rc == ERR_OK)
        reply_int(c->reply, (int64_t)bytes);
    else if (rc == ERR_NOTFOUND || rc == ERR_SYNTAX)
        reply_null(c->reply);
    else
        return rc;
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
    "DOCTOR",
    "    Memory in words.",
    "PURGE",
    "    Accepted: the allocator gives memory back by itself.",
    "STATS",
    "    Who uses how much.",
    "USAGE <id-or-name>",
    "    Bytes of a job: its rows, its object.",
    NULL,
};

static enum err help_exec(struct cmd_ctx *c)
{
    help_reply(c->reply, "MEMORY", lines);
    return ERR_OK;
}

static const struct arg usage_args[] = {{"id-or-name", OPT(BYTES, key)}, {0}};
static const struct opt usage_opts[] = {
    {"SAMPLES", OPT(U64, samples), "ignored", "n"},
    {0},
};

#define FLAGS (CMD_FREE | CMD_LOADING)
SUBCOMMAND(memory_stats, "MEMORY|STATS", "server", FLAGS, NULL, NULL,
           stats_exec, "Who uses how much memory.", "a map");
SUBCOMMAND(memory_usage, "MEMORY|USAGE", "server", CMD_READONLY, usage_args,
           usage_opts, usage_exec,
           "What a job takes: the bytes of its rows, before compression, and "
           "of its object if it is in memory. An estimate.",
           "bytes, or null if there is no such job");
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
