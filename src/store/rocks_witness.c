/* A witness of the log that does not lie in its directory.
 *
 * The log's own watermark goes with log/ when that is deleted, and is as old as
 * the rest when that is put back from a copy. This one is a file of the same
 * form, <dir>/watermark, that the applier writes every two seconds while the
 * log moves. It never names what was not durable before, so a log that ends
 * earlier has lost something.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "store/rocks.h"
#include "util/logger.h"

#define WITNESS_MS 2000

static enum err open_dir(struct log_dir *d, const char *path, struct errbuf *e)
{
    *d = (struct log_dir){.path = path};
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return d->fd >= 0 ? ERR_OK
                      : err_sys(e, ERR_IO, errno, "cannot open %s", path);
}

enum err rocks_witness_read(const char *dir, struct mark *mark,
                            struct errbuf *e)
{
    struct log_dir d;
    enum mark_state state;
    enum err rc = open_dir(&d, dir, e);
    if (rc != ERR_OK)
        return rc;
    rc = mark_read(&d, mark, &state, e);
    close(d.fd);
    if (rc == ERR_OK && state == MARK_DAMAGED)
        say(LL_WARNING,
            "%s/watermark is damaged; it is written anew. A log that was "
            "rolled back may not be noticed this time",
            dir);
    return rc;
}

enum err rocks_witness_check(const char *dir, const struct mark *mark,
                             uint64_t log_last, struct errbuf *e)
{
    if (mark->durable <= log_last)
        return ERR_OK;
    return err_set(e, ERR_CORRUPT,
                   "%s/watermark says that the log was durable up to index "
                   "%llu, but it ends at %llu: it was deleted or rolled back",
                   dir, (unsigned long long)mark->durable,
                   (unsigned long long)log_last);
}

static enum err write_mark(struct rocks *r, uint64_t durable, struct errbuf *e)
{
    struct log_dir d;
    enum err rc = open_dir(&d, r->dir, e);
    if (rc != ERR_OK)
        return rc;
    r->witness.durable = durable;
    rc = mark_write(&d, &r->witness, e);
    close(d.fd);
    return rc;
}

void rocks_witness_turn(struct rocks *r, bool now)
{
    struct errbuf e;
    uint64_t durable = log_durable(r->log);
    uint64_t mono_ms = clock_mono_us() / 1000;
    if (durable <= r->witness.durable || (!now && mono_ms < r->next_witness_ms))
        return;
    r->next_witness_ms = mono_ms + WITNESS_MS;
    if (write_mark(r, durable, &e) != ERR_OK)
        say(LL_WARNING, "%s; a rolled back log may go unnoticed", e.text);
}

enum err rocks_witness_forget(const char *dir, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/watermark", dir);
    if (unlink(path) != 0 && errno != ENOENT)
        return err_sys(e, ERR_IO, errno, "delete %s", path);
    return ERR_OK;
}
