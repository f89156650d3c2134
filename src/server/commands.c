/* The server's own commands and what they hook into the core. */
#include "server/commands.h"

#include <stdio.h>

#include "server/events.h"
#include "server/info.h"
#include "server/monitor.h"
#include "server/multi.h"
#include "server/parts.h"
#include "server/pubsub.h"
#include "server/stats.h"
#include "util/alloc.h"

#define COMMAND(entry) extern const struct command cmd_##entry;
#include "server/commands.def"
#undef COMMAND

const struct command *const registry_server[] = {
#define COMMAND(entry) &cmd_##entry,
#include "server/commands.def"
#undef COMMAND
    NULL,
};

static void forget(struct client *c)
{
    multi_forget(c);
    pubsub_forget(c);
    monitor_forget(c);
}

static void cron(struct server *s)
{
    stats_cron(s);
}

static void tick(struct server *s)
{
    events_tick(s);
    pubsub_tick(s);
}

void server_commands_init(struct server *s)
{
    registry_init(&s->registry);
    registry_add(&s->registry, registry_server);
    registry_add(&s->registry, registry_jobs);
    s->parts = NEW(struct parts);
    s->parts->pubsub = pubsub_new();
    s->parts->stats = stats_new(s->registry.len);
    list_init(&s->parts->monitors);
    s->hooks = (struct hooks){
        .multi_queue = multi_queue,
        .multi_spoil = multi_spoil,
        .before = monitor_before,
        .after = stats_after,
        .refused = stats_refused,
        .forget = forget,
        .cron = cron,
        .tick = tick,
    };
    info_init(s);
}

void server_commands_release(struct server *s)
{
    if (s->parts == NULL)
        return;
    pubsub_free(&s->parts->pubsub);
    stats_free(&s->parts->stats);
    FREE(&s->parts);
    registry_release(&s->registry);
}

void help_reply(struct reply *r, const char *command, const char *const *lines)
{
    char head[128];
    size_t n = 0;
    while (lines[n] != NULL)
        n++;
    (void)snprintf(head, sizeof(head),
                   "%s <subcommand> [<arg> [value] [opt] ...]. Subcommands "
                   "are:",
                   command);
    reply_array(r, n + 3);
    reply_simple(r, head);
    for (size_t i = 0; i < n; i++)
        reply_simple(r, lines[i]);
    reply_simple(r, "HELP");
    reply_simple(r, "    Print this help.");
}
