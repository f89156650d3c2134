/* MONITOR: connections that see every command as it runs. Arguments that hold
 * secrets are not shown. A monitor that does not read is closed by its output
 * buffer limit, like a subscriber. */
#ifndef SERVER_MONITOR_H
#define SERVER_MONITOR_H

#include <stdint.h>

#include "commands/registry.h"
#include "util/slice.h"

struct client;

void monitor_start(struct client *c);
void monitor_forget(struct client *c);
/* Hook of the core. */
void monitor_before(struct client *c, const struct cmd_entry *entry,
                    const struct slice *argv, uint32_t argc);

#endif
