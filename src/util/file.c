#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum err file_read_fd(int fd, const char *name, size_t max, struct buf *out,
                      struct errbuf *e)
{
    size_t start = out->len;
    for (;;) {
        ssize_t n = read(fd, buf_room(out, 4096), 4096);
        if (n == 0)
            return ERR_OK;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, ERR_IO, errno, "cannot read %s", name);
        out->len += (size_t)n;
        if (out->len - start > max)
            return err_set(e, ERR_LIMIT, "%s holds more than %zu bytes", name,
                           max);
    }
}

enum err file_read(const char *path, size_t max, struct buf *out,
                   struct errbuf *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot open %s", path);
    enum err rc = file_read_fd(fd, path, max, out, e);
    (void)close(fd);
    return rc;
}

static enum err write_all(int fd, const char *name, struct slice s,
                          struct errbuf *e)
{
    while (s.len > 0) {
        ssize_t n = write(fd, s.data, s.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, ERR_IO, errno, "cannot write %s", name);
        s = slice_of(s.data + n, s.len - (size_t)n);
    }
    if (fsync(fd) != 0)
        return err_sys(e, ERR_IO, errno, "cannot sync %s", name);
    return ERR_OK;
}

enum err file_sync_dir_of(const char *path, struct errbuf *e)
{
    char dir[PATH_MAX];
    (void)snprintf(dir, sizeof(dir), "%s", path);
    for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/';)
        dir[--n] = '\0';
    char *slash = strrchr(dir, '/');
    if (slash == NULL)
        (void)snprintf(dir, sizeof(dir), ".");
    else
        slash[slash == dir ? 1 : 0] = '\0';
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot open directory %s", dir);
    enum err rc = ERR_OK;
    if (fsync(fd) != 0)
        rc = err_sys(e, ERR_IO, errno, "cannot sync directory %s", dir);
    (void)close(fd);
    return rc;
}

enum err file_replace(const char *path, struct slice content, struct errbuf *e)
{
    char tmp[PATH_MAX];
    int n = snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof(tmp))
        return err_set(e, ERR_IO, "file name is too long: %s", path);
    int fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot create a file beside %s",
                       path);
    struct stat st;
    bool old = stat(path, &st) == 0;
    enum err rc = ERR_OK;
    if (fchmod(fd, old ? st.st_mode & 07777 : 0644) != 0)
        rc = err_sys(e, ERR_IO, errno, "cannot set the mode of %s", tmp);
    /* Only root may give files away; for others the owner is right already. */
    if (old && geteuid() == 0 && fchown(fd, st.st_uid, st.st_gid) != 0)
        rc = err_sys(e, ERR_IO, errno, "cannot set the owner of %s", tmp);
    if (rc == ERR_OK)
        rc = write_all(fd, tmp, content, e);
    (void)close(fd);
    if (rc == ERR_OK && rename(tmp, path) != 0)
        rc = err_sys(e, ERR_IO, errno, "cannot rename %s to %s", tmp, path);
    if (rc != ERR_OK) {
        (void)unlink(tmp);
        return rc;
    }
    return file_sync_dir_of(path, e);
}
