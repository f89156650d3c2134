/* What of a program's files is durable, and what a power cut would take.
 *
 * Between a write and its sync the content of a file is a set of 512-byte
 * sectors that may or may not have reached the disk, each by itself. disk.c
 * keeps what stood there before (pre-images), and a cut puts a seeded choice of
 * them back. The same for names: a created, renamed or removed name is certain
 * only once its directory was synced; a cut undoes a suffix of what happened to
 * a directory since.
 *
 *    synced size                size
 *    |                          |
 *    [..old..|new|..old..|new|..][ appended ]
 *             ^           ^          ^
 *             pre-images kept        zeroes, or cut off
 *
 * All functions want the caller to hold the shim's lock, and use the real file
 * operations through `real`.
 */
#ifndef RIGS_DISK_H
#define RIGS_DISK_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define SECTOR 512
#define FD_MAX 65536

/* The C library's functions, behind our own of the same name. */
struct real {
    int (*openat)(int dir, const char *path, int flags, ...);
    int (*close)(int fd);
    ssize_t (*write)(int fd, const void *data, size_t len);
    ssize_t (*pwrite)(int fd, const void *data, size_t len, off_t off);
    ssize_t (*writev)(int fd, const struct iovec *iov, int n);
    ssize_t (*pwritev)(int fd, const struct iovec *iov, int n, off_t off);
    ssize_t (*read)(int fd, void *data, size_t len);
    ssize_t (*pread)(int fd, void *data, size_t len, off_t off);
    int (*fsync)(int fd);
    int (*fdatasync)(int fd);
    int (*ftruncate)(int fd, off_t size);
    int (*fallocate)(int fd, int mode, off_t off, off_t len);
    int (*renameat)(int from_dir, const char *from, int to_dir, const char *to);
    int (*unlinkat)(int dir, const char *path, int flags);
    int (*linkat)(int from_dir, const char *from, int to_dir, const char *to,
                  int flags);
};
extern struct real real;

/* Files below `dir` count; removed ones are kept in `shadow`, which must be on
 * the same file system. */
void disk_init(const char *dir, const char *shadow);

/* 0: not ours. */
int disk_is_ours(int fd);
int disk_is_dir(int fd);

void disk_opened(int fd, int flags, int existed);
void disk_closed(int fd);

/* `len` bytes at `off` are about to be written; off < 0: where the descriptor
 * stands. Then disk_wrote(). */
void disk_write(int fd, off_t off, size_t len);
void disk_truncate(int fd, off_t size);
void disk_synced(int fd); /* a file or a directory */

/* As Linux takes it: what was not synced counts as written now, so a later sync
 * does not bring it to the disk, unless it is written once more. */
void disk_sync_failed(int fd);

/* The absolute path of `path` at `dir`, or 0 if it is not below ours. */
int disk_path(int dir, const char *path, char *out, size_t size);
int disk_exists(const char *path);

/* Before the real call; disk_undo_last() if that fails. */
void disk_renaming(const char *from, const char *to);
void disk_removing(const char *path);
void disk_linking(const char *path); /* a second name */
void disk_undo_last(void);
/* A directory is gone, for good: no cut brings back what was in it. */
void disk_removed_dir(const char *path);

struct cut {
    uint64_t sectors_kept, sectors_lost, names_kept, names_lost;
};

/* The power fails: make the files what a disk might hold now. */
struct cut disk_cut(uint64_t seed);

#endif
