/* A new base, made by the applier when it has something to put there.
 *
 * RocksDB takes 30 to 60 ms to create our families (for each it writes a file
 * of options and reads it back), which a start on an empty directory need not
 * wait for: until the first generation is applied, the overlay has every row.
 *
 *  1. The start: no base/, so an empty base.making/, as a proof that there can
 *     be one.
 *  2. Before the first write: RocksDB creates everything in base.making/ and
 *     closes it, which syncs it.
 *  3. base.making/ becomes base/, and base/ is opened.
 *
 * How it fails: what a crash or a full disk leaves in base.making/ is deleted
 * by the next try. So base/ is whole or not there, and while it is not there
 * the log has everything from index 1.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/rocks.h"
#include "util/logger.h"

static void path_of(char *to, size_t size, const char *dir, const char *name)
{
    snprintf(to, size, "%s/%s", dir, name);
}

enum err rocks_base_find(const char *dir, bool *found, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    struct stat st;
    path_of(path, sizeof(path), dir, "base");
    *found = stat(path, &st) == 0;
    if (!*found && errno != ENOENT)
        return err_sys(e, ERR_IO, errno, "look at %s", path);
    return ERR_OK;
}

/* RocksDB makes no folders inside its own. */
enum err rocks_empty(const char *path, struct errbuf *e)
{
    DIR *d = opendir(path);
    if (d == NULL)
        return err_sys(e, ERR_IO, errno, "open %s", path);
    enum err rc = ERR_OK;
    for (struct dirent *f; rc == ERR_OK && (f = readdir(d)) != NULL;)
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0 &&
            unlinkat(dirfd(d), f->d_name, 0) != 0)
            rc = err_sys(e, ERR_IO, errno, "delete %s/%s", path, f->d_name);
    closedir(d);
    return rc;
}

static void discard_part(const char *dir, const char *name)
{
    char path[ROCKS_PATH_MAX + 16];
    struct errbuf e;
    path_of(path, sizeof(path), dir, name);
    if (unlink(path) == 0 || errno == ENOENT)
        return;
    if (rocks_empty(path, &e) != ERR_OK || rmdir(path) != 0)
        say(LL_WARNING, "cannot remove %s, of a copy that failed", path);
}

/* base.tmp is RocksDB's, until a checkpoint is whole. */
void rocks_discard(const char *dir)
{
    static const char *const parts[] = {"belfry", "base", "base.tmp", "log"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        discard_part(dir, parts[i]);
    if (rmdir(dir) != 0)
        say(LL_WARNING, "cannot remove %s, a copy that failed: %s", dir,
            strerror(errno));
}

enum err rocks_base_prepare(const char *dir, struct errbuf *e)
{
    char path[ROCKS_PATH_MAX + 16];
    path_of(path, sizeof(path), dir, "base.making");
    if (mkdir(path, 0750) != 0 && errno != EEXIST)
        return err_sys(e, ERR_IO, errno, "create %s", path);
    return rocks_empty(path, e);
}

static enum err sync_dir(const char *path, struct errbuf *e)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return failed == 0 ? ERR_OK : err_sys(e, ERR_IO, failed, "sync %s", path);
}

enum err rocks_base_create(const char *dir, const struct rocks_base_options *o,
                           struct errbuf *e)
{
    char making[ROCKS_PATH_MAX + 16], path[ROCKS_PATH_MAX + 16];
    struct rocks_base b;
    path_of(making, sizeof(making), dir, "base.making");
    path_of(path, sizeof(path), dir, "base");
    enum err rc = rocks_base_prepare(dir, e);
    if (rc == ERR_OK)
        rc = rocks_base_open(&b, making, o, e);
    if (rc != ERR_OK)
        return rc;
    rocks_base_close(&b);
    rc = sync_dir(making, e);
    if (rc == ERR_OK && rename(making, path) != 0)
        rc = err_sys(e, ERR_IO, errno, "rename %s to %s", making, path);
    /* Before the log may let go of anything. */
    return rc == ERR_OK ? sync_dir(dir, e) : rc;
}
