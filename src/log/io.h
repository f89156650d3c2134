/* The file operations of the log, in one place so that tests can make the n-th
 * one fail, write short, or remember what a power cut would have lost.
 *
 * A test hands in a struct log_io; members that are NULL are the real ones.
 * Everything that changes a file's bytes goes through write(), everything that
 * makes them durable through sync().
 */
#ifndef LOG_IO_H
#define LOG_IO_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "util/err.h"

struct log_io {
    /* As pwritev(2), fdatasync(2), fallocate(2): -1 and errno. */
    ssize_t (*write)(void *ud, int fd, const struct iovec *iov, int n,
                     uint64_t off);
    int (*sync)(void *ud, int fd);
    int (*allocate)(void *ud, int fd, uint64_t bytes);
    /* As renameat(2) and unlinkat(2) within one directory, fsync(2) of it. */
    int (*rename)(void *ud, int dir, const char *from, const char *to);
    int (*unlink)(void *ud, int dir, const char *name);
    int (*sync_dir)(void *ud, int dir);
    void *ud;
};

/* A directory and how to work in it. Names are relative to it. */
struct log_dir {
    int fd;
    const char *path;
    const struct log_io *io; /* may be NULL */
};

/* Write all of it; `iov` is used up. 0 or errno. */
int io_write(const struct log_io *io, int fd, struct iovec *iov, int n,
             uint64_t off);
int io_write_bytes(const struct log_io *io, int fd, const void *data,
                   size_t len, uint64_t off);
int io_zero(const struct log_io *io, int fd, uint64_t off, uint64_t len);
int io_sync(const struct log_io *io, int fd);
int io_allocate(const struct log_io *io, int fd, uint64_t bytes);

/* Give the disk what was written just now, and wait until it has it. 0 or
 * errno, which the sync that must follow would not say again. */
MUST_USE int io_write_out(int fd, uint64_t off, uint64_t len);

/* As many bytes as there are, up to `len`; -1 and errno. */
ssize_t io_read(int fd, void *data, size_t len, uint64_t off);

/* Without this a created or renamed file may be gone after a power cut. */
MUST_USE enum err io_sync_dir(const struct log_dir *d, struct errbuf *e);
MUST_USE enum err io_rename(const struct log_dir *d, const char *from,
                            const char *to, struct errbuf *e);
int io_unlink(const struct log_dir *d, const char *name); /* 0 or errno */

/* Create `name` (replacing what is there) with `bytes` of allocated space that
 * reads as zeroes. Leaves nothing behind on failure.
 *
 * Errors:
 *   ERR_NOSPACE  the disk is full. */
MUST_USE enum err io_create(const struct log_dir *d, const char *name,
                            uint64_t bytes, int *fd, struct errbuf *e);

#endif
