/* Prints what subscribers are told, from engine/events.def.
 * prints: docs/events.md */
#include <stdio.h>

#include "engine/event.h"
#include "server/events.h"

static const char head[] =
    "# Events\n\n"
    "<!-- Printed by src/gen/events.c; `make docs` writes it. -->\n\n"
    "Belfry tells what happens to those who subscribe, and pushes nothing to "
    "others.\nA message leaves when what it says is on disk; who is not "
    "connected then has\nmissed it, so a job's state is asked of `JOB.GET`, "
    "not gathered from messages.\n\n"
    "| channel | message |\n| --- | --- |\n"
    "| `belfry:ready:<queue>` | the id of a job that may be leased now |\n"
    "| `belfry:job:<queue>` | what happened to its jobs, and to the schedules "
    "that make them, in JSON |\n"
    "| `belfry:queue:<queue>` | it was paused or resumed, in JSON |\n"
    "| `belfry:handler:<handler>` | the same of a handler, and of its breaker, "
    "in JSON |\n"
    "| `belfry:alert` | what somebody should look at, in JSON |\n\n"
    "    PSUBSCRIBE belfry:job:*\n\n"
    "The JSON is one object with `event` (a name below), `at_ms` and, where "
    "they\napply, `id`, `n` (of the delivery, or how many), `queue`, "
    "`handler`, `worker`,\n`took_ms` (a lease: how long the job had waited; "
    "an end: how long it ran) and\n`text` (reason, type of error, name of a "
    "schedule; never a payload).\n\n"
    "| event | channel | alert | |\n| --- | --- | --- | --- |\n";

int main(void)
{
    (void)fputs(head, stdout);
    for (int i = 1; i < EVENT_TYPES; i++) {
        enum event_type type = (enum event_type)i;
        if (event_name(type) == NULL || type == EVENT_JOB_READY)
            continue;
        const char *channel = event_channel(type);
        if (channel == NULL && !event_is_alert(type))
            continue;
        (void)printf("| `%s` | %s%s%s | %s | %s |\n", event_name(type),
                     channel != NULL ? "`" : "", channel != NULL ? channel : "",
                     channel != NULL ? "`" : "",
                     event_is_alert(type) ? "yes" : "", event_meaning(type));
    }
    return 0;
}
