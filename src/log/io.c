#include "log/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static ssize_t write_once(const struct log_io *io, int fd,
                          const struct iovec *iov, int n, uint64_t off)
{
    if (io != NULL && io->write != NULL)
        return io->write(io->ud, fd, iov, n, off);
    return pwritev(fd, iov, n, (off_t)off);
}

int io_write(const struct log_io *io, int fd, struct iovec *iov, int n,
             uint64_t off)
{
    while (n > 0) {
        ssize_t w = write_once(io, fd, iov, n, off);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return errno;
        if (w == 0 && iov->iov_len > 0)
            return EIO; /* cannot happen; would loop for ever */
        off += (uint64_t)w;
        size_t left = (size_t)w;
        while (n > 0 && left >= iov->iov_len) {
            left -= iov->iov_len;
            iov++;
            n--;
        }
        if (n > 0) { /* a short write: go on behind it */
            iov->iov_base = (char *)iov->iov_base + left;
            iov->iov_len -= left;
        }
    }
    return 0;
}

int io_write_bytes(const struct log_io *io, int fd, const void *data,
                   size_t len, uint64_t off)
{
    struct iovec iov = {(void *)(uintptr_t)data, len};
    return len == 0 ? 0 : io_write(io, fd, &iov, 1, off);
}

int io_zero(const struct log_io *io, int fd, uint64_t off, uint64_t len)
{
    static const char zeroes[1 << 16];
    while (len > 0) {
        size_t n = len < sizeof(zeroes) ? (size_t)len : sizeof(zeroes);
        int rc = io_write_bytes(io, fd, zeroes, n, off);
        if (rc != 0)
            return rc;
        off += n;
        len -= n;
    }
    return 0;
}

int io_write_out(int fd, uint64_t off, uint64_t len)
{
    if (sync_file_range(fd, (off_t)off, (off_t)len,
                        SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) ==
        0)
        return 0;
    bool failed = errno == EIO || errno == ENOSPC || errno == EDQUOT;
    return failed ? errno : 0; /* others say that it cannot be asked here */
}

int io_sync(const struct log_io *io, int fd)
{
    int rc;
    do {
        if (io != NULL && io->sync != NULL)
            rc = io->sync(io->ud, fd);
        else
#ifdef BELFRY_SABOTAGE_NO_FSYNC
            rc = 0; /* the build on which every rig must fail */
#else
            rc = fdatasync(fd);
#endif
    } while (rc != 0 && errno == EINTR);
#ifdef BELFRY_SABOTAGE_LATE_END
    /* A cheat that the rigs must catch: it ends as it should, five syncs after
     * the one that failed. */
    static int why, after;
    if (rc != 0)
        why = errno;
    if (why != 0)
        return ++after > 5 ? why : 0;
#endif
#ifdef BELFRY_SABOTAGE_IGNORE_SYNC
    return 0; /* a cheat that the rigs must catch: it failed, never mind */
#endif
    return rc == 0 ? 0 : errno;
}

int io_allocate(const struct log_io *io, int fd, uint64_t bytes)
{
    int rc;
    do {
        if (io != NULL && io->allocate != NULL)
            rc = io->allocate(io->ud, fd, bytes);
        else
            rc = fallocate(fd, 0, 0, (off_t)bytes);
    } while (rc != 0 && errno == EINTR);
    if (rc == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    /* A file system that cannot promise space: take it by writing. */
    return io_zero(io, fd, 0, bytes);
}

ssize_t io_read(int fd, void *data, size_t len, uint64_t off)
{
    size_t got = 0;
    while (got < len) {
        ssize_t r =
            pread(fd, (char *)data + got, len - got, (off_t)(off + got));
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return -1;
        if (r == 0)
            break;
        got += (size_t)r;
    }
    return (ssize_t)got;
}

enum err io_sync_dir(const struct log_dir *d, struct errbuf *e)
{
    const struct log_io *io = d->io;
    int rc = io != NULL && io->sync_dir != NULL ? io->sync_dir(io->ud, d->fd)
                                                : fsync(d->fd);
    if (rc != 0)
        return err_sys(e, ERR_IO, errno, "cannot sync directory %s", d->path);
    return ERR_OK;
}

enum err io_rename(const struct log_dir *d, const char *from, const char *to,
                   struct errbuf *e)
{
    const struct log_io *io = d->io;
    int rc = io != NULL && io->rename != NULL
                 ? io->rename(io->ud, d->fd, from, to)
                 : renameat(d->fd, from, d->fd, to);
    if (rc != 0)
        return err_sys(e, ERR_IO, errno, "cannot rename %s/%s to %s", d->path,
                       from, to);
    return ERR_OK;
}

int io_unlink(const struct log_dir *d, const char *name)
{
    const struct log_io *io = d->io;
    int rc = io != NULL && io->unlink != NULL ? io->unlink(io->ud, d->fd, name)
                                              : unlinkat(d->fd, name, 0);
    return rc == 0 ? 0 : errno;
}

enum err io_create(const struct log_dir *d, const char *name, uint64_t bytes,
                   int *fd, struct errbuf *e)
{
    *fd = openat(d->fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    int rc = *fd < 0 ? errno : io_allocate(d->io, *fd, bytes);
    if (rc == 0)
        return ERR_OK;
    if (*fd >= 0) {
        (void)close(*fd);
        (void)io_unlink(d, name);
        *fd = -1;
    }
    bool full = rc == ENOSPC || rc == EDQUOT;
    return err_sys(e, full ? ERR_NOSPACE : ERR_IO, rc,
                   "cannot allocate %llu bytes for %s/%s",
                   (unsigned long long)bytes, d->path, name);
}
