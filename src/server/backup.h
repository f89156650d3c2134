/* BACKUP, BGSAVE and LASTSAVE: copies of the store, made while it runs. */
#ifndef SERVER_BACKUP_H
#define SERVER_BACKUP_H

#include "util/err.h"

struct server;

/* Start a copy into `path`. One at a time.
 *
 * Errors:
 *   ERR_BUSY  one is under way.
 */
MUST_USE enum err backup_start(struct server *s, const char *path,
                               struct errbuf *e);

#endif
