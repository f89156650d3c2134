#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUCKETS 1024

/* A sector as it was when the file was last synced. */
struct image {
    struct image *next;
    uint64_t number;
    int given_up; /* a sync failed, and it was not written again since */
    unsigned char bytes[SECTOR];
};

struct file {
    struct file *next;
    dev_t dev;
    ino_t ino;
    int fd; /* of our own, for reading and writing */
    int users;
    off_t synced_size;
    uint64_t images;
    struct image *image[BUCKETS];
};

enum change_kind { CREATED, RENAMED, REMOVED };

struct change {
    enum change_kind kind;
    char *path;   /* CREATED, REMOVED: the name; RENAMED: the old one */
    char *to;     /* RENAMED: the new one */
    char *backup; /* in the shadow: what the name stood for, or NULL */
};

static char dir[PATH_MAX], shadow[PATH_MAX];
static size_t dir_len;
static struct file *files;
static struct file *by_fd[FD_MAX];
static char *dir_of_fd[FD_MAX];
static struct change *changes;
static size_t changes_len, changes_cap;
static uint64_t backups;

static void die(const char *what)
{
    fprintf(stderr, "shim: %s: %s\n", what, strerror(errno));
    abort();
}

static void *must(void *p)
{
    if (p == NULL)
        die("memory");
    return p;
}

void disk_init(const char *data, const char *aside)
{
    if (realpath(data, dir) == NULL || realpath(aside, shadow) == NULL)
        die("RIG_DIR or RIG_SHADOW");
    dir_len = strlen(dir);
}

static int below(const char *path)
{
    return strncmp(path, dir, dir_len) == 0 &&
           (path[dir_len] == '/' || path[dir_len] == '\0');
}

static int path_of_fd(int fd, char *out, size_t size)
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, size - 1);
    if (n <= 0)
        return 0;
    out[n] = '\0';
    return below(out);
}

int disk_path(int at, const char *path, char *out, size_t size)
{
    char base[PATH_MAX], joined[2 * PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (path[0] == '/') {
        snprintf(joined, sizeof(joined), "%s", path);
    } else {
        if (at == AT_FDCWD ? getcwd(base, sizeof(base)) == NULL
                           : !path_of_fd(at, base, sizeof(base)))
            return 0;
        snprintf(joined, sizeof(joined), "%s/%s", base, path);
    }
    /* The name itself need not exist: resolve its directory. */
    char *last = strrchr(joined, '/');
    *last = '\0';
    char real_dir[PATH_MAX];
    if (realpath(joined[0] == '\0' ? "/" : joined, real_dir) == NULL)
        return 0;
    snprintf(out, size, "%s/%s", real_dir, slash != NULL ? slash + 1 : path);
    return below(out);
}

int disk_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

int disk_is_ours(int fd)
{
    return fd >= 0 && fd < FD_MAX && by_fd[fd] != NULL;
}

int disk_is_dir(int fd)
{
    return fd >= 0 && fd < FD_MAX && dir_of_fd[fd] != NULL;
}

static struct change *change_new(enum change_kind kind, const char *path)
{
    if (changes_len == changes_cap) {
        changes_cap = changes_cap == 0 ? 64 : changes_cap * 2;
        changes = must(realloc(changes, changes_cap * sizeof(*changes)));
    }
    struct change *c = &changes[changes_len++];
    *c = (struct change){.kind = kind, .path = must(strdup(path))};
    return c;
}

static void change_free(struct change *c)
{
    if (c->backup != NULL)
        real.unlinkat(AT_FDCWD, c->backup, 0);
    free(c->path);
    free(c->to);
    free(c->backup);
}

/* A second name for what `path` stands for now. */
static char *back_up(const char *path)
{
    char name[2 * PATH_MAX];
    snprintf(name, sizeof(name), "%s/%d.%llu", shadow, (int)getpid(),
             (unsigned long long)++backups);
    return real.linkat(AT_FDCWD, path, AT_FDCWD, name, 0) == 0
               ? must(strdup(name))
               : NULL;
}

void disk_opened(int fd, int flags, int existed)
{
    char path[PATH_MAX];
    struct stat st;
    if (fd < 0 || fd >= FD_MAX || !path_of_fd(fd, path, sizeof(path)) ||
        fstat(fd, &st) != 0)
        return;
    disk_closed(fd); /* a close that we did not see */
    if (S_ISDIR(st.st_mode)) {
        dir_of_fd[fd] = must(strdup(path));
        return;
    }
    if (!S_ISREG(st.st_mode) || (flags & O_ACCMODE) == O_RDONLY)
        return;
    struct file *f = files;
    while (f != NULL && (f->dev != st.st_dev || f->ino != st.st_ino))
        f = f->next;
    if (f == NULL) {
        char link[64];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        f = must(calloc(1, sizeof(*f)));
        f->dev = st.st_dev;
        f->ino = st.st_ino;
        f->synced_size = st.st_size;
        f->fd = real.openat(AT_FDCWD, link, O_RDWR | O_CLOEXEC);
        if (f->fd < 0)
            die(path);
        f->next = files;
        files = f;
    }
    f->users++;
    by_fd[fd] = f;
    if (!existed)
        change_new(CREATED, path);
}

static void forget_images(struct file *f)
{
    for (size_t i = 0; f->images > 0 && i < BUCKETS; i++)
        for (struct image **at = &f->image[i]; *at != NULL;) {
            struct image *gone = *at;
            if (gone->given_up) {
                at = &gone->next;
                continue;
            }
            *at = gone->next;
            f->images--;
            free(gone);
        }
}

static off_t size_of(const struct file *f)
{
    struct stat st;
    return fstat(f->fd, &st) == 0 ? st.st_size : 0;
}

/* Nobody has it open and nothing of it is in danger. */
static void drop_if_done(struct file *f)
{
    if (f->users > 0 || f->images > 0 || f->synced_size != size_of(f))
        return;
    struct file **at = &files;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    real.close(f->fd);
    free(f);
}

void disk_closed(int fd)
{
    if (fd < 0 || fd >= FD_MAX)
        return;
    free(dir_of_fd[fd]);
    dir_of_fd[fd] = NULL;
    struct file *f = by_fd[fd];
    by_fd[fd] = NULL;
    if (f != NULL) {
        f->users--;
        drop_if_done(f);
    }
}

static struct image *keep_image(struct file *f, uint64_t number)
{
    struct image **at = &f->image[number % BUCKETS];
    for (struct image *i = *at; i != NULL; i = i->next)
        if (i->number == number)
            return i;
    struct image *i = must(calloc(1, sizeof(*i)));
    i->number = number;
    if (real.pread(f->fd, i->bytes, SECTOR, (off_t)(number * SECTOR)) < 0)
        die("read a sector");
    i->next = *at;
    *at = i;
    f->images++;
    return i;
}

void disk_write(int fd, off_t off, size_t len)
{
    struct file *f = by_fd[fd];
    if (off < 0) {
        int flags = fcntl(fd, F_GETFL);
        off = flags & O_APPEND ? size_of(f) : lseek(fd, 0, SEEK_CUR);
    }
    off_t end = off + (off_t)len;
    if (end > f->synced_size)
        end = f->synced_size;
    if (off >= end)
        return;
    for (uint64_t n = (uint64_t)off / SECTOR; n <= (uint64_t)(end - 1) / SECTOR;
         n++)
        keep_image(f, n)->given_up = 0;
}

void disk_truncate(int fd, off_t size)
{
    struct file *f = by_fd[fd];
    if (size < f->synced_size)
        disk_write(fd, size, (size_t)(f->synced_size - size));
}

static int parent_is(const char *path, const char *parent)
{
    size_t n = strlen(parent);
    return strncmp(path, parent, n) == 0 && path[n] == '/' &&
           strchr(path + n + 1, '/') == NULL;
}

static void forget_changes(const char *parent)
{
    size_t kept = 0;
    for (size_t i = 0; i < changes_len; i++) {
        struct change *c = &changes[i];
        if (parent_is(c->to != NULL ? c->to : c->path, parent))
            change_free(c);
        else
            changes[kept++] = *c;
    }
    changes_len = kept;
}

void disk_synced(int fd)
{
    if (disk_is_ours(fd)) {
        forget_images(by_fd[fd]);
        by_fd[fd]->synced_size = size_of(by_fd[fd]);
    } else {
        forget_changes(dir_of_fd[fd]);
    }
}

/* What was appended is zeroes, if it is not on the disk. */
static void keep_zeroes(struct file *f, off_t size)
{
    for (off_t at = f->synced_size; at < size;) {
        struct image *i = keep_image(f, (uint64_t)(at / SECTOR));
        memset(i->bytes + at % SECTOR, 0, SECTOR - (size_t)(at % SECTOR));
        at = (at / SECTOR + 1) * SECTOR;
    }
    if (size > f->synced_size)
        f->synced_size = size;
}

void disk_sync_failed(int fd)
{
    if (!disk_is_ours(fd))
        return;
    struct file *f = by_fd[fd];
    keep_zeroes(f, size_of(f));
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct image *i = f->image[b]; i != NULL; i = i->next)
            i->given_up = 1;
}

void disk_removed_dir(const char *path)
{
    forget_changes(path);
}

void disk_renaming(const char *from, const char *to)
{
    char *backup = disk_exists(to) ? back_up(to) : NULL;
    struct change *c = change_new(RENAMED, from);
    c->to = must(strdup(to));
    c->backup = backup;
}

void disk_removing(const char *path)
{
    char *backup = back_up(path);
    if (backup == NULL)
        return;
    change_new(REMOVED, path)->backup = backup;
}

void disk_linking(const char *path)
{
    change_new(CREATED, path);
}

void disk_undo_last(void)
{
    if (changes_len > 0)
        change_free(&changes[--changes_len]);
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Of each hundred sectors this many survive: none, few, half, most, all but
 * the odd one. */
static const unsigned char survive[] = {0, 10, 50, 90, 99};

static void cut_file(struct file *f, uint64_t *rng, struct cut *cut)
{
    static const unsigned char zeroes[SECTOR];
    unsigned percent = survive[next_random(rng) % sizeof(survive)];
    off_t size = size_of(f);
    for (size_t b = 0; b < BUCKETS; b++)
        for (struct image *i = f->image[b]; i != NULL; i = i->next) {
            off_t at = (off_t)(i->number * SECTOR);
            off_t len = f->synced_size - at;
            if (next_random(rng) % 100 < percent) {
                cut->sectors_kept++;
                continue;
            }
            cut->sectors_lost++;
            if (real.pwrite(f->fd, i->bytes,
                            (size_t)(len < SECTOR ? len : SECTOR), at) < 0)
                die("put a sector back");
        }
    /* What was appended: the size may be lost with it, or stay. */
    if (size > f->synced_size && next_random(rng) % 100 >= percent) {
        cut->sectors_lost += (uint64_t)(size - f->synced_size) / SECTOR + 1;
        if (real.ftruncate(f->fd, f->synced_size) != 0)
            die("cut off");
        return;
    }
    for (off_t at = f->synced_size; at < size;) {
        off_t end = (at / SECTOR + 1) * SECTOR;
        if (end > size)
            end = size;
        if (next_random(rng) % 100 < percent) {
            cut->sectors_kept++;
        } else {
            cut->sectors_lost++;
            if (real.pwrite(f->fd, zeroes, (size_t)(end - at), at) < 0)
                die("clear a sector");
        }
        at = end;
    }
}

static void undo(const struct change *c)
{
    if (c->kind == CREATED) {
        real.unlinkat(AT_FDCWD, c->path, 0);
        return;
    }
    if (c->kind == RENAMED &&
        real.renameat(AT_FDCWD, c->to, AT_FDCWD, c->path) != 0)
        die(c->to);
    const char *name = c->kind == RENAMED ? c->to : c->path;
    if (c->backup != NULL &&
        real.linkat(AT_FDCWD, c->backup, AT_FDCWD, name, 0) != 0 &&
        errno != EEXIST)
        die(name);
}

/* Each directory keeps a prefix of its changes. Directories are told apart by
 * a hash of their path and the seed, so that no list of them is needed. */
static int survives(const struct change *c, size_t i, uint64_t seed)
{
    const char *path = c->to != NULL ? c->to : c->path;
    const char *end = strrchr(path, '/');
    uint64_t h = seed;
    for (const char *p = path; p < end; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return i < next_random(&h) % (changes_len + 1);
}

struct cut disk_cut(uint64_t seed)
{
    struct cut cut = {0};
    uint64_t rng = seed;
    for (struct file *f = files; f != NULL; f = f->next)
        if (f->images > 0 || f->synced_size != size_of(f))
            cut_file(f, &rng, &cut);
    for (size_t i = changes_len; i-- > 0;) {
        if (survives(&changes[i], i, seed)) {
            cut.names_kept++;
        } else {
            cut.names_lost++;
            undo(&changes[i]);
        }
        if (changes[i].backup != NULL)
            real.unlinkat(AT_FDCWD, changes[i].backup, 0);
    }
    return cut;
}
