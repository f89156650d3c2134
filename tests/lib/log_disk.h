/* A disk that can lose what was not synced, and fail on order.
 *
 * It sits behind the file operations of the log (log/io.h). Before a write it
 * notes what each 512-byte sector held; a sync of the file forgets that. At
 * disk_crash() each noted sector becomes old, new, or garbage where the two
 * differ. Names that were changed or removed since the directory was synced are
 * taken back, the last ones first, up to some point. After `dies_after` more
 * operations the power is gone: nothing that the log still does has any effect,
 * though it is told that all is well.
 */
#ifndef LIB_LOG_DISK_H
#define LIB_LOG_DISK_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/io.h"
#include "util/alloc.h"
#include "util/rng.h"

#define SECTOR 512

struct sector {
    ino_t ino;
    uint64_t n;
    char old[SECTOR];
};

/* A file that got another name, or none: then it is kept as .gone-<serial>. */
struct renamed {
    char from[64], to[64];
};

struct disk {
    struct log_io io;
    struct rng rng;
    struct sector *v;
    size_t n, cap;
    struct renamed *names;
    size_t names_n, names_cap;
    unsigned gone;
    uint64_t names_lost;
    uint64_t dies_after;  /* 0: never */
    pthread_mutex_t lock; /* the log has two threads of its own */
    bool dead;
    bool short_writes;
    uint64_t fail_write, fail_sync; /* the n-th from now; 0: never */
    uint64_t fail_any;              /* of all operations */
    atomic_bool full;               /* no allocation succeeds */
    uint64_t writes, syncs;
};

static inline bool disk_alive(struct disk *d)
{
    if (d->dies_after > 0 && --d->dies_after == 0)
        d->dead = true;
    return !d->dead;
}

static inline bool disk_fails(struct disk *d, uint64_t *kind)
{
    bool fails = kind != NULL && *kind > 0 && --*kind == 0;
    fails |= d->fail_any > 0 && --d->fail_any == 0;
    if (fails)
        errno = EIO;
    return fails;
}

static inline ino_t disk_ino(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return st.st_ino;
}

static inline void disk_note(struct disk *d, int fd, uint64_t n)
{
    ino_t ino = disk_ino(fd);
    for (size_t i = d->n; i-- > 0;)
        if (d->v[i].ino == ino && d->v[i].n == n)
            return;
    if (d->n == d->cap) {
        d->cap = d->cap == 0 ? 64 : d->cap * 2;
        d->v = (struct sector *)mem_realloc(d->v, d->cap * sizeof(*d->v));
    }
    struct sector *s = &d->v[d->n++];
    *s = (struct sector){.ino = ino, .n = n};
    assert_true(io_read(fd, s->old, SECTOR, n * SECTOR) >= 0);
}

static inline ssize_t disk_write_locked(void *ud, int fd,
                                        const struct iovec *iov, int n,
                                        uint64_t off)
{
    struct disk *d = (struct disk *)ud;
    size_t len = 0;
    d->writes++;
    for (int i = 0; i < n; i++)
        len += iov[i].iov_len;
    if (disk_fails(d, &d->fail_write))
        return -1;
    if (!disk_alive(d))
        return (ssize_t)len;
    for (uint64_t s = off / SECTOR; s * SECTOR < off + len; s++)
        disk_note(d, fd, s);
    if (d->short_writes && len > 1) {
        struct iovec one = iov[0];
        one.iov_len = 1 + rng_below(&d->rng, one.iov_len);
        return pwritev(fd, &one, 1, (off_t)off);
    }
    return pwritev(fd, iov, n, (off_t)off);
}

static inline ssize_t disk_write(void *ud, int fd, const struct iovec *iov,
                                 int n, uint64_t off)
{
    struct disk *d = (struct disk *)ud;
    (void)pthread_mutex_lock(&d->lock);
    ssize_t rc = disk_write_locked(ud, fd, iov, n, off);
    int why = errno;
    (void)pthread_mutex_unlock(&d->lock);
    errno = why;
    return rc;
}

static inline void disk_forget(struct disk *d, ino_t ino)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].ino != ino)
            d->v[kept++] = d->v[i];
    d->n = kept;
}

static inline int disk_sync_locked(void *ud, int fd)
{
    struct disk *d = (struct disk *)ud;
    d->syncs++;
    if (disk_fails(d, &d->fail_sync))
        return -1;
    if (!disk_alive(d))
        return 0;
    disk_forget(d, disk_ino(fd));
    return 0;
}

static inline int disk_sync(void *ud, int fd)
{
    struct disk *d = (struct disk *)ud;
    (void)pthread_mutex_lock(&d->lock);
    int rc = disk_sync_locked(ud, fd);
    int why = errno;
    (void)pthread_mutex_unlock(&d->lock);
    errno = why;
    return rc;
}

static inline int disk_allocate(void *ud, int fd, uint64_t bytes)
{
    struct disk *d = (struct disk *)ud;
    (void)pthread_mutex_lock(&d->lock);
    bool fails = disk_fails(d, NULL);
    (void)pthread_mutex_unlock(&d->lock);
    if (d->full)
        errno = ENOSPC;
    else if (fails)
        errno = EIO;
    return d->full || fails ? -1 : fallocate(fd, 0, 0, (off_t)bytes);
}

static inline void disk_note_name(struct disk *d, const char *from,
                                  const char *to)
{
    if (d->names_n == d->names_cap) {
        d->names_cap = d->names_cap == 0 ? 16 : d->names_cap * 2;
        d->names = (struct renamed *)mem_realloc(
            d->names, d->names_cap * sizeof(*d->names));
    }
    struct renamed *r = &d->names[d->names_n++];
    (void)snprintf(r->from, sizeof(r->from), "%s", from);
    (void)snprintf(r->to, sizeof(r->to), "%s", to);
}

/* What names there are is on the disk. */
static inline void disk_keep_names(struct disk *d, int dir)
{
    for (size_t i = 0; i < d->names_n; i++) {
        const char *name = d->names[i].to;
        struct stat st;
        if (name[0] != '.')
            continue;
        assert_int_equal(fstatat(dir, name, &st, 0), 0);
        disk_forget(d, st.st_ino); /* the next file may get its number */
        assert_int_equal(unlinkat(dir, name, 0), 0);
    }
    d->names_n = 0;
}

static inline void disk_lose_names(struct disk *d, int dir)
{
    size_t kept = (size_t)rng_below(&d->rng, d->names_n + 1);
    while (d->names_n > kept) {
        struct renamed *r = &d->names[--d->names_n];
        assert_int_equal(renameat(dir, r->to, dir, r->from), 0);
        d->names_lost++;
    }
    disk_keep_names(d, dir);
}

static inline int disk_rename_locked(void *ud, int dir, const char *from,
                                     const char *to)
{
    struct disk *d = (struct disk *)ud;
    if (disk_fails(d, NULL))
        return -1;
    if (!disk_alive(d))
        return 0;
    disk_note_name(d, from, to);
    return renameat(dir, from, dir, to);
}

static inline int disk_rename(void *ud, int dir, const char *from,
                              const char *to)
{
    struct disk *d = (struct disk *)ud;
    (void)pthread_mutex_lock(&d->lock);
    int rc = disk_rename_locked(ud, dir, from, to);
    int why = errno;
    (void)pthread_mutex_unlock(&d->lock);
    errno = why;
    return rc;
}

static inline int disk_unlink_locked(void *ud, int dir, const char *name)
{
    struct disk *d = (struct disk *)ud;
    char gone[64];
    if (disk_fails(d, NULL))
        return -1;
    if (!disk_alive(d))
        return 0;
    (void)snprintf(gone, sizeof(gone), ".gone-%u", ++d->gone);
    if (renameat(dir, name, dir, gone) != 0)
        return -1;
    disk_note_name(d, name, gone);
    return 0;
}

static inline int disk_unlink(void *ud, int dir, const char *name)
{
    struct disk *d = (struct disk *)ud;
    (void)pthread_mutex_lock(&d->lock);
    int rc = disk_unlink_locked(ud, dir, name);
    int why = errno;
    (void)pthread_mutex_unlock(&d->lock);
    errno = why;
    return rc;
}

static inline int disk_sync_dir(void *ud, int dir)
{
    struct disk *d = (struct disk *)ud;
    (void)pthread_mutex_lock(&d->lock);
    bool fails = disk_fails(d, NULL);
    if (!fails && disk_alive(d))
        disk_keep_names(d, dir);
    (void)pthread_mutex_unlock(&d->lock);
    if (fails)
        errno = EIO;
    return fails ? -1 : 0;
}

static inline void disk_init(struct disk *d, uint64_t seed)
{
    *d = (struct disk){.io = {.write = disk_write,
                              .sync = disk_sync,
                              .allocate = disk_allocate,
                              .rename = disk_rename,
                              .unlink = disk_unlink,
                              .sync_dir = disk_sync_dir}};
    d->io.ud = d;
    (void)pthread_mutex_init(&d->lock, NULL);
    rng_seed(&d->rng, seed);
}

static inline void disk_release(struct disk *d)
{
    mem_free(d->v);
    mem_free(d->names);
    (void)pthread_mutex_destroy(&d->lock);
    d->v = NULL;
    d->names = NULL;
    d->n = d->cap = d->names_n = d->names_cap = 0;
}

static inline void disk_lose(struct disk *d, int fd, const struct sector *s)
{
    char now[SECTOR] = {0};
    uint64_t roll = rng_below(&d->rng, 10);
    if (roll < 5)
        return; /* it had been written after all */
    assert_true(io_read(fd, now, SECTOR, s->n * SECTOR) >= 0);
    /* Garbage only where something was being written: that a write harms its
     * neighbours in the sector is not what disks do. */
    for (size_t i = 0; i < SECTOR; i++)
        if (now[i] != s->old[i])
            now[i] = roll < 9 ? s->old[i] : (char)rng_next(&d->rng);
    assert_int_equal(pwrite(fd, now, SECTOR, (off_t)(s->n * SECTOR)), SECTOR);
}

/* The power comes back: the files in `path` are what a disk might hold. */
static inline void disk_crash(struct disk *d, const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    disk_lose_names(d, dirfd(dir));
    for (struct dirent *f; (f = readdir(dir)) != NULL;) {
        int fd = openat(dirfd(dir), f->d_name, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            continue; /* a directory */
        struct stat before;
        assert_int_equal(fstat(fd, &before), 0);
        for (size_t i = 0; i < d->n; i++)
            if (d->v[i].ino == before.st_ino)
                disk_lose(d, fd, &d->v[i]);
        if (before.st_size > 0) /* a sector may lie across the end */
            assert_int_equal(ftruncate(fd, before.st_size), 0);
        (void)close(fd);
    }
    (void)closedir(dir);
    d->n = 0;
    d->dead = false;
    d->dies_after = 0;
}

#endif
