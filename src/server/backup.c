#include "server/backup.h"

#include <stdio.h>

#include "server/parts.h"
#include "server/server.h"
#include "store/store.h"
#include "util/logger.h"

static void on_done(void *ud, enum err rc, const char *why)
{
    struct server *s = ud;
    struct parts *p = s->parts;
    p->backup_running = false;
    if (rc == ERR_OK) {
        p->backup_ended_ms = s->now.wall_ms;
        p->backup_error[0] = '\0';
        say(LL_NOTICE, "Backup finished");
        return;
    }
    (void)snprintf(p->backup_error, sizeof(p->backup_error), "%s",
                   why == NULL || *why == '\0' ? err_name(rc) : why);
    say(LL_WARNING, "Backup failed: %s", p->backup_error);
}

enum err backup_start(struct server *s, const char *path, struct errbuf *e)
{
    struct parts *p = s->parts;
    if (p->backup_running)
        return err_set(e, ERR_BUSY, "Background save already in progress");
    p->backup_running = true;
    p->backup_started_ms = s->now.wall_ms;
    enum err rc = store_backup(s->store, path, on_done, s, e);
    if (rc != ERR_OK)
        p->backup_running = false;
    else
        say(LL_NOTICE, "Backup into %s started", path);
    return rc;
}
