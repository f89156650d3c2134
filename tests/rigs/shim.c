/* Between a program and its disk: LD_PRELOAD=shim.so.
 *
 *   RIG_DIR      files below it are watched
 *   RIG_SHADOW   an empty folder on the same file system
 *   RIG_CONTROL  a file of struct control, mapped; the rig writes orders into
 *                it while the program runs
 *
 * It can cut the power (disk.h) before the n-th operation that changes
 * something, at once, or when a program that met a failure ends; and make the
 * n-th operation of some kinds fail or write short. A thread looks for the
 * order "at once" even while the program is idle.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "disk.h"

/* The exit code of a program that lost its power. */
#define EXIT_CUT 137

enum kind {
    WRITE = 1,
    SYNC = 2,
    DIR_SYNC = 4,
    CREATE = 8,
    ALLOCATE = 16,
    NAME = 32, /* rename, link, unlink, rmdir */
    READ = 64,
    LOG_SYNC = 128, /* beside SYNC: of a segment of the log */
};
#define CHANGES (WRITE | SYNC | DIR_SYNC | CREATE | ALLOCATE | NAME)

/* The rig's struct in faults.py says the same. */
struct control {
    uint64_t seed;
    uint64_t cut_now;
    uint64_t cut_at; /* before this operation; 0: not */
    uint64_t operations;
    uint64_t fail_kinds; /* bits of enum kind */
    uint64_t fail_at;    /* the how many-th of these kinds; 0: none */
    uint64_t fail_times; /* so many in a row; 0: for ever */
    uint64_t fail_errno; /* 0: writes are short instead */
    uint64_t fail_seen, fail_hits;
    uint64_t cut_manifest; /* before so many syncs of a MANIFEST; 0: not */
    uint64_t cut_at_end;   /* when the program ends, if a failure was hit */
    struct cut cut;
};

struct real real;
static struct control *control;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

_Noreturn static void end(int code)
{
    for (;;)
        syscall(SYS_exit_group, code);
}

/* With the lock held, which is kept: no other thread comes to its disk. */
static void cut_power(void)
{
    control->cut = disk_cut(control->seed);
    end(EXIT_CUT);
}

/* The program ends with `code`, and what it had not synced is lost all the
 * same. */
static void cut_at_end(int code)
{
    if (control == NULL || !control->cut_at_end)
        return;
    pthread_mutex_lock(&lock);
    if (control->fail_hits > 0) {
        control->cut = disk_cut(control->seed);
        end(code);
    }
    pthread_mutex_unlock(&lock);
}

void _exit(int code)
{
    cut_at_end(code);
    end(code);
}

static void at_exit(int code, void *unused)
{
    (void)unused;
    cut_at_end(code);
}

static void *watch(void *unused)
{
    for (;;) {
        poll(NULL, 0, 1);
        if (__atomic_load_n(&control->cut_now, __ATOMIC_ACQUIRE)) {
            pthread_mutex_lock(&lock);
            cut_power();
        }
    }
    return unused;
}

#define FIND(member, name) (*(void **)&real.member = dlsym(RTLD_NEXT, name))

__attribute__((constructor)) static void start(void)
{
    FIND(openat, "openat");
    FIND(close, "close");
    FIND(write, "write");
    FIND(pwrite, "pwrite");
    FIND(writev, "writev");
    FIND(pwritev, "pwritev");
    FIND(read, "read");
    FIND(pread, "pread");
    FIND(fsync, "fsync");
    FIND(fdatasync, "fdatasync");
    FIND(ftruncate, "ftruncate");
    FIND(fallocate, "fallocate");
    FIND(renameat, "renameat");
    FIND(unlinkat, "unlinkat");
    FIND(linkat, "linkat");
    const char *path = getenv("RIG_CONTROL");
    const char *dir = getenv("RIG_DIR"), *shadow = getenv("RIG_SHADOW");
    if (path == NULL || dir == NULL || shadow == NULL)
        return;
    int fd = real.openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    void *map =
        mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || map == MAP_FAILED) {
        fprintf(stderr, "shim: %s: %s\n", path, strerror(errno));
        abort();
    }
    real.close(fd);
    disk_init(dir, shadow);
    pthread_t thread;
    control = map;
    if (pthread_create(&thread, NULL, watch, NULL) != 0)
        abort();
    pthread_detach(thread);
    on_exit(at_exit, NULL);
}

/* Count an operation, with the lock held: 0 go on, 1 fail with errno set,
 * 2 write short. */
static int order(uint64_t kind)
{
    if ((kind & CHANGES) && ++control->operations == control->cut_at)
        cut_power();
    if (!(control->fail_kinds & kind) || control->fail_at == 0)
        return 0;
    uint64_t seen = ++control->fail_seen;
    if (seen < control->fail_at ||
        (control->fail_times > 0 &&
         seen >= control->fail_at + control->fail_times))
        return 0;
    if (control->fail_errno == 0 && kind != WRITE)
        return 0;
    control->fail_hits++;
    errno = (int)control->fail_errno;
    return control->fail_errno != 0 ? 1 : 2;
}

/* With the lock, if so. Looked at without it first: a signal handler may write
 * to an eventfd while its thread is in here. Nobody writes to a descriptor that
 * another thread is just opening. */
static int ours(int fd)
{
    if (control == NULL || !disk_is_ours(fd))
        return 0;
    pthread_mutex_lock(&lock);
    if (disk_is_ours(fd))
        return 1;
    pthread_mutex_unlock(&lock);
    return 0;
}

/* --- opening and closing ------------------------------------------------- */

static int do_open(int at, const char *path, int flags, mode_t mode)
{
    char full[PATH_MAX];
    if (control == NULL)
        return real.openat(at, path, flags, mode);
    pthread_mutex_lock(&lock);
    int watched = disk_path(at, path, full, sizeof(full));
    int existed = watched ? disk_exists(full) : 1;
    int fd = -1;
    if (existed || !(flags & O_CREAT) || order(CREATE) == 0)
        fd = real.openat(at, path, flags, mode);
    if (fd >= 0 && watched)
        disk_opened(fd, flags, existed);
    int saved = errno;
    pthread_mutex_unlock(&lock);
    errno = saved;
    return fd;
}

#define MODE_OF(flags, mode)                 \
    do {                                     \
        va_list args_;                       \
        va_start(args_, flags);              \
        if ((flags) & (O_CREAT | O_TMPFILE)) \
            mode = va_arg(args_, mode_t);    \
        va_end(args_);                       \
    } while (0)

#define OPEN(name)                                   \
    int name(const char *path, int flags, ...)       \
    {                                                \
        mode_t mode = 0;                             \
        MODE_OF(flags, mode);                        \
        return do_open(AT_FDCWD, path, flags, mode); \
    }
#define OPENAT(name)                                   \
    int name(int at, const char *path, int flags, ...) \
    {                                                  \
        mode_t mode = 0;                               \
        MODE_OF(flags, mode);                          \
        return do_open(at, path, flags, mode);         \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* What _FORTIFY_SOURCE makes of open() without a mode. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);
int __open_2(const char *path, int flags)
{
    return do_open(AT_FDCWD, path, flags, 0);
}
int __open64_2(const char *path, int flags)
{
    return do_open(AT_FDCWD, path, flags, 0);
}
int __openat_2(int at, const char *path, int flags)
{
    return do_open(at, path, flags, 0);
}
int __openat64_2(int at, const char *path, int flags)
{
    return do_open(at, path, flags, 0);
}

int close(int fd)
{
    if (control == NULL)
        return real.close(fd);
    pthread_mutex_lock(&lock);
    disk_closed(fd);
    int rc = real.close(fd);
    int saved = errno;
    pthread_mutex_unlock(&lock);
    errno = saved;
    return rc;
}

/* --- writing ------------------------------------------------------------- */

static ssize_t leave(ssize_t rc)
{
    int saved = errno;
    pthread_mutex_unlock(&lock);
    errno = saved;
    return rc;
}

static size_t halved(size_t len)
{
    return len > 1 ? len / 2 : len;
}

ssize_t write(int fd, const void *data, size_t len)
{
    if (!ours(fd))
        return real.write(fd, data, len);
    int what = order(WRITE);
    if (what == 1)
        return leave(-1);
    disk_write(fd, -1, len);
    return leave(real.write(fd, data, what == 2 ? halved(len) : len));
}

static ssize_t do_pwrite(int fd, const void *data, size_t len, off_t off)
{
    if (!ours(fd))
        return real.pwrite(fd, data, len, off);
    int what = order(WRITE);
    if (what == 1)
        return leave(-1);
    disk_write(fd, off, len);
    return leave(real.pwrite(fd, data, what == 2 ? halved(len) : len, off));
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t off)
{
    return do_pwrite(fd, data, len, off);
}
ssize_t pwrite64(int fd, const void *data, size_t len, off_t off)
{
    return do_pwrite(fd, data, len, off);
}

static size_t total(const struct iovec *iov, int n)
{
    size_t len = 0;
    for (int i = 0; i < n; i++)
        len += iov[i].iov_len;
    return len;
}

/* A short write of several pieces: half of the first that is not empty. */
static ssize_t first_half(int fd, const struct iovec *iov, int n, off_t off)
{
    int i = 0;
    while (i + 1 < n && iov[i].iov_len == 0)
        i++;
    size_t len = halved(iov[i].iov_len);
    return off < 0 ? real.write(fd, iov[i].iov_base, len)
                   : real.pwrite(fd, iov[i].iov_base, len, off);
}

ssize_t writev(int fd, const struct iovec *iov, int n)
{
    if (!ours(fd))
        return real.writev(fd, iov, n);
    int what = order(WRITE);
    if (what == 1)
        return leave(-1);
    disk_write(fd, -1, total(iov, n));
    return leave(what == 2 ? first_half(fd, iov, n, -1)
                           : real.writev(fd, iov, n));
}

static ssize_t do_pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
    if (!ours(fd))
        return real.pwritev(fd, iov, n, off);
    int what = order(WRITE);
    if (what == 1)
        return leave(-1);
    disk_write(fd, off, total(iov, n));
    return leave(what == 2 ? first_half(fd, iov, n, off)
                           : real.pwritev(fd, iov, n, off));
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
    return do_pwritev(fd, iov, n, off);
}
ssize_t pwritev64(int fd, const struct iovec *iov, int n, off_t off)
{
    return do_pwritev(fd, iov, n, off);
}

static int do_ftruncate(int fd, off_t size)
{
    if (!ours(fd))
        return real.ftruncate(fd, size);
    if (order(ALLOCATE) == 1)
        return (int)leave(-1);
    disk_truncate(fd, size);
    return (int)leave(real.ftruncate(fd, size));
}

int ftruncate(int fd, off_t size)
{
    return do_ftruncate(fd, size);
}
int ftruncate64(int fd, off_t size)
{
    return do_ftruncate(fd, size);
}

static int do_fallocate(int fd, int mode, off_t off, off_t len)
{
    if (!ours(fd))
        return real.fallocate(fd, mode, off, len);
    if (order(ALLOCATE) == 1)
        return (int)leave(-1);
    return (int)leave(real.fallocate(fd, mode, off, len));
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
    return do_fallocate(fd, mode, off, len);
}
int fallocate64(int fd, int mode, off_t off, off_t len)
{
    return do_fallocate(fd, mode, off, len);
}

/* --- syncing ------------------------------------------------------------- */

static void name_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
}

static uint64_t kind_of_sync(int fd, int directory)
{
    char path[PATH_MAX];
    if (directory || !(control->fail_kinds & LOG_SYNC))
        return directory ? DIR_SYNC : SYNC;
    name_of(fd, path);
    return strstr(path, ".seg") != NULL ? SYNC | LOG_SYNC : SYNC;
}

/* Between a write to RocksDB's list of tables and its sync: the rarest of the
 * moments that matter, so there is an order for it. */
static void order_manifest(int fd)
{
    char path[PATH_MAX];
    if (control->cut_manifest == 0)
        return;
    name_of(fd, path);
    if (strstr(path, "/base/MANIFEST-") != NULL && --control->cut_manifest == 0)
        cut_power();
}

static int do_sync(int fd, int (*sync)(int fd))
{
    if (control == NULL)
        return sync(fd);
    pthread_mutex_lock(&lock);
    int directory = disk_is_dir(fd);
    if (!directory && !disk_is_ours(fd)) {
        pthread_mutex_unlock(&lock);
        return sync(fd);
    }
    if (!directory)
        order_manifest(fd);
    if (order(kind_of_sync(fd, directory)) == 1) {
        int failed = errno;
        disk_sync_failed(fd);
        errno = failed;
        return (int)leave(-1);
    }
    int rc = sync(fd);
    if (rc == 0)
        disk_synced(fd);
    return (int)leave(rc);
}

int fsync(int fd)
{
    return do_sync(fd, real.fsync);
}
int fdatasync(int fd)
{
    return do_sync(fd, real.fdatasync);
}

/* --- names --------------------------------------------------------------- */

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    char a[PATH_MAX], b[PATH_MAX];
    if (control == NULL)
        return real.renameat(from_dir, from, to_dir, to);
    pthread_mutex_lock(&lock);
    int watched = disk_path(from_dir, from, a, sizeof(a)) &&
                  disk_path(to_dir, to, b, sizeof(b));
    if (watched && order(NAME) == 1)
        return (int)leave(-1);
    if (watched)
        disk_renaming(a, b);
    int rc = real.renameat(from_dir, from, to_dir, to);
    if (rc != 0 && watched)
        disk_undo_last();
    return (int)leave(rc);
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to,
           int flags)
{
    char full[PATH_MAX];
    if (control == NULL)
        return real.linkat(from_dir, from, to_dir, to, flags);
    pthread_mutex_lock(&lock);
    int watched = disk_path(to_dir, to, full, sizeof(full));
    if (watched && order(NAME) == 1)
        return (int)leave(-1);
    if (watched)
        disk_linking(full);
    int rc = real.linkat(from_dir, from, to_dir, to, flags);
    if (rc != 0 && watched)
        disk_undo_last();
    return (int)leave(rc);
}

int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int rmdir(const char *path)
{
    char full[PATH_MAX];
    if (control == NULL)
        return real.unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
    pthread_mutex_lock(&lock);
    int watched = disk_path(AT_FDCWD, path, full, sizeof(full));
    if (watched && order(NAME) == 1)
        return (int)leave(-1);
    int rc = real.unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
    if (rc == 0 && watched)
        disk_removed_dir(full);
    return (int)leave(rc);
}

int unlinkat(int at, const char *path, int flags)
{
    char full[PATH_MAX];
    if (control == NULL || (flags & AT_REMOVEDIR))
        return real.unlinkat(at, path, flags);
    pthread_mutex_lock(&lock);
    int watched = disk_path(at, path, full, sizeof(full)) && disk_exists(full);
    if (watched && order(NAME) == 1)
        return (int)leave(-1);
    if (watched)
        disk_removing(full);
    int rc = real.unlinkat(at, path, flags);
    if (rc != 0 && watched)
        disk_undo_last();
    return (int)leave(rc);
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

/* --- reading ------------------------------------------------------------- */

/* Reads are of files opened for reading, which disk.c does not know. */
static int read_fails(int fd)
{
    char link[64], path[PATH_MAX];
    const char *dir = getenv("RIG_DIR");
    if (control == NULL || !(control->fail_kinds & READ))
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0 || strncmp(path, dir, strlen(dir)) != 0)
        return 0;
    pthread_mutex_lock(&lock);
    return (int)leave(order(READ) == 1);
}

ssize_t read(int fd, void *data, size_t len)
{
    return read_fails(fd) ? -1 : real.read(fd, data, len);
}

static ssize_t do_pread(int fd, void *data, size_t len, off_t off)
{
    return read_fails(fd) ? -1 : real.pread(fd, data, len, off);
}

ssize_t pread(int fd, void *data, size_t len, off_t off)
{
    return do_pread(fd, data, len, off);
}
ssize_t pread64(int fd, void *data, size_t len, off_t off)
{
    return do_pread(fd, data, len, off);
}
