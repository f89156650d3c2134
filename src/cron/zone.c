#include "cron/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cron/tzif.h"
#include "util/alloc.h"
#include "util/hash.h"
#include "util/map.h"

#define ZONE_MAGIC 0x5a6f6e65u
#define ZONE_DIR "/usr/share/zoneinfo"

/* What a file looked like when it was read; a package upgrade renames a new
 * file over the old one, so the inode changes even within a second. */
struct stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime;
};

struct zone {
    OBJ_MAGIC;
    struct map_node node;
    char *name;
    struct tz_table table;
    struct stamp stamp;
    uint32_t version;
};

static struct {
    bool ready;
    char dir[PATH_MAX];
    struct map zones;
    struct zone utc;
    unsigned changed;
    struct errbuf *e;
} cache;

static bool zone_eq(const struct map_node *n, const void *key)
{
    const struct zone *z = CONTAINER_OF(n, struct zone, node);
    return slice_eq(slice_str(z->name), *(const struct slice *)key);
}

static void cache_init(void)
{
    if (cache.ready)
        return;
    cache.ready = true;
    if (cache.dir[0] == '\0')
        (void)snprintf(cache.dir, sizeof(cache.dir), "%s", ZONE_DIR);
    map_init(&cache.zones, zone_eq);
    INIT_OBJ(&cache.utc, ZONE);
    cache.utc.name = mem_dup(SLICE_LIT("UTC"));
    tz_table_init(&cache.utc.table, 0);
}

static void zone_free(struct map_node *n, void *ud)
{
    (void)ud;
    struct zone *z = CONTAINER_OF(n, struct zone, node);
    map_remove(&cache.zones, n);
    tz_table_release(&z->table);
    mem_free(z->name);
    mem_free(z);
}

void zone_cache_clear(void)
{
    if (!cache.ready)
        return;
    map_each(&cache.zones, zone_free, NULL);
    map_release(&cache.zones);
    tz_table_release(&cache.utc.table);
    FREE(&cache.utc.name);
    cache.ready = false;
}

void zone_set_dir(const char *path)
{
    ASSERT(strlen(path) < sizeof(cache.dir));
    zone_cache_clear();
    (void)snprintf(cache.dir, sizeof(cache.dir), "%s", path);
}

/* Words of [A-Za-z0-9_+-] with single slashes between them: no way out of the
 * directory, no hidden files, no terminal escapes in messages. */
static bool name_is_valid(struct slice name)
{
    bool word = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool ok = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  (c >= '0' && c <= '9') || c == '_' || c == '+' || c == '-';
        if (!ok && !(c == '/' && word))
            return false;
        word = ok;
    }
    return word && name.len <= ZONE_NAME_MAX;
}

static struct stamp stamp_of(const struct stat *st)
{
    return (struct stamp){.dev = st->st_dev,
                          .ino = st->st_ino,
                          .size = st->st_size,
                          .mtime = st->st_mtim};
}

static bool stamp_eq(const struct stamp *a, const struct stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime.tv_sec == b->mtime.tv_sec &&
           a->mtime.tv_nsec == b->mtime.tv_nsec;
}

static enum err unknown(struct slice name, struct errbuf *e)
{
    return err_set(e, ERR_SYNTAX,
                   "unknown time zone '%.*s': an IANA name such as "
                   "Europe/Zurich is expected, or UTC",
                   SLICE_FMT(name));
}

/* Read the whole file into *buf (the caller's). */
static enum err file_read(const char *path, struct slice name, char **buf,
                          size_t *len, struct stamp *stamp, struct errbuf *e)
{
    struct stat st;
    enum err rc = ERR_OK;
    char *data = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? unknown(name, e)
                   : err_sys(e, ERR_IO, errno, "open %s", path);
    if (fstat(fd, &st) != 0) {
        rc = err_sys(e, ERR_IO, errno, "stat %s", path);
        goto out;
    }
    if (!S_ISREG(st.st_mode)) { /* a region, such as "Europe" */
        rc = unknown(name, e);
        goto out;
    }
    if (st.st_size > TZIF_SIZE_MAX) {
        rc = err_set(e, ERR_CORRUPT, "%s is larger than %d bytes", path,
                     TZIF_SIZE_MAX);
        goto out;
    }
    data = mem_alloc((size_t)st.st_size + 1);
    size_t n = 0;
    while (n < (size_t)st.st_size) {
        ssize_t got = read(fd, data + n, (size_t)st.st_size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            rc = err_sys(e, ERR_IO, errno, "read %s", path);
            goto out;
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    *stamp = stamp_of(&st);
    *len = n;
    *buf = data;
    data = NULL;

out:
    mem_free(data);
    (void)close(fd);
    return rc;
}

static void zone_path(struct slice name, char *path, size_t size)
{
    int n = snprintf(path, size, "%s/%.*s", cache.dir, SLICE_FMT(name));
    ASSERT(n > 0 && (size_t)n < size);
}

static enum err zone_load(struct slice name, struct tz_table *table,
                          struct stamp *stamp, struct errbuf *e)
{
    char path[PATH_MAX + ZONE_NAME_MAX + 2];
    char *data = NULL;
    size_t len = 0;
    zone_path(name, path, sizeof(path));
    enum err rc = file_read(path, name, &data, &len, stamp, e);
    if (rc != ERR_OK)
        return rc;
    rc = tzif_decode(slice_of(data, len), table, e);
    if (rc != ERR_OK)
        err_wrap(e, "time zone '%.*s' (%s)", SLICE_FMT(name), path);
    mem_free(data);
    return rc;
}

enum err zone_get(struct slice name, const struct zone **out, struct errbuf *e)
{
    cache_init();
    if (slice_eq(name, SLICE_LIT("UTC"))) {
        *out = &cache.utc;
        return ERR_OK;
    }
    if (!name_is_valid(name)) {
        size_t shown = name.len <= ZONE_NAME_MAX ? name.len : ZONE_NAME_MAX;
        return unknown(slice_of(name.data, shown), e);
    }
    uint64_t hash = hash64(name);
    struct map_node *n = map_get(&cache.zones, hash, &name);
    if (n != NULL) {
        *out = CONTAINER_OF(n, struct zone, node);
        return ERR_OK;
    }
    struct tz_table table;
    struct stamp stamp;
    enum err rc = zone_load(name, &table, &stamp, e);
    if (rc != ERR_OK)
        return rc;
    struct zone *z = NEW(struct zone);
    INIT_OBJ(z, ZONE);
    z->name = mem_dup(name);
    z->table = table;
    z->stamp = stamp;
    map_add(&cache.zones, &z->node, hash);
    *out = z;
    return ERR_OK;
}

const struct zone *zone_utc(void)
{
    cache_init();
    return &cache.utc;
}

const char *zone_name(const struct zone *z)
{
    CHECK_OBJ(z, ZONE);
    return z->name;
}

uint32_t zone_version(const struct zone *z)
{
    CHECK_OBJ(z, ZONE);
    return z->version;
}

static bool table_eq(const struct tz_table *a, const struct tz_table *b)
{
    return a->len == b->len && a->cyclic == b->cyclic &&
           memcmp(a->at, b->at, a->len * sizeof(a->at[0])) == 0 &&
           memcmp(a->offset, b->offset, (a->len + 1) * sizeof(a->offset[0])) ==
               0;
}

static void zone_refresh(struct map_node *n, void *ud)
{
    (void)ud;
    struct zone *z = CONTAINER_OF(n, struct zone, node);
    struct slice name = slice_str(z->name);
    char path[PATH_MAX + ZONE_NAME_MAX + 2];
    struct stat st;
    zone_path(name, path, sizeof(path));
    if (stat(path, &st) == 0) {
        struct stamp now = stamp_of(&st);
        if (stamp_eq(&now, &z->stamp))
            return;
    }
    struct tz_table table;
    struct stamp stamp;
    if (zone_load(name, &table, &stamp, cache.e) != ERR_OK)
        return; /* half-way through an upgrade; the old data is the best */
    z->stamp = stamp;
    if (table_eq(&table, &z->table)) {
        tz_table_release(&table);
        return;
    }
    tz_table_release(&z->table);
    z->table = table;
    z->version++;
    cache.changed++;
}

unsigned zone_reload_changed(struct errbuf *e)
{
    cache_init();
    if (e != NULL)
        e->text[0] = '\0';
    cache.changed = 0;
    cache.e = e;
    map_each(&cache.zones, zone_refresh, NULL);
    cache.e = NULL;
    return cache.changed;
}

/* How many changes are at or before `t`. */
static size_t changes_until(const struct tz_table *table, int64_t t)
{
    size_t lo = 0, hi = table->len;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (table->at[mid] <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void zone_span_at(const struct zone *z, int64_t utc_s, struct zone_span *out)
{
    CHECK_OBJ(z, ZONE);
    const struct tz_table *t = &z->table;
    int64_t shift = 0;
    /* The last change itself belongs to the next round of the cycle, so that
     * each span found has its true neighbours. */
    if (t->cyclic && utc_s >= t->at[t->len - 2]) {
        int64_t over = utc_s - t->at[t->len - 2];
        shift = (over / TZ_CYCLE_S + 1) * TZ_CYCLE_S;
    }
    size_t i = changes_until(t, utc_s - shift);
    out->offset = t->offset[i];
    out->before = i > 0 ? t->offset[i - 1] : t->offset[i];
    out->after = i < t->len ? t->offset[i + 1] : t->offset[i];
    out->begin = i > 0 ? t->at[i - 1] + shift : INT64_MIN;
    out->end = i < t->len ? t->at[i] + shift : INT64_MAX;
}

int32_t zone_offset_at(const struct zone *z, int64_t utc_s)
{
    struct zone_span span;
    zone_span_at(z, utc_s, &span);
    return span.offset;
}

void zone_local_to_utc(const struct zone *z, int64_t local_s,
                       struct zone_local *out)
{
    struct zone_span span;
    bool found = false;
    int64_t gap = local_s;
    /* Any span that could show `local_s` begins within the widest offset of
     * it; usually that is one span, sometimes two. */
    zone_span_at(z, local_s - ZONE_OFFSET_MAX, &span);
    for (;;) {
        int64_t utc = local_s - span.offset;
        if (utc >= span.begin && utc < span.end) {
            out->last = utc;
            if (!found)
                out->first = utc;
            found = true;
        }
        if (span.end == INT64_MAX || span.end > local_s + ZONE_OFFSET_MAX)
            break;
        if (local_s >= span.end + span.offset &&
            local_s < span.end + span.after)
            gap = span.end;
        zone_span_at(z, span.end, &span);
    }
    if (!found) {
        *out = (struct zone_local){ZONE_GAP, gap, gap};
        return;
    }
    out->when = out->first == out->last ? ZONE_ONCE : ZONE_TWICE;
}

bool zone_check(const struct zone *z)
{
    CHECK_OBJ(z, ZONE);
    const struct tz_table *t = &z->table;
    for (size_t i = 0; i <= t->len; i++) {
        if (t->offset[i] < -ZONE_OFFSET_MAX || t->offset[i] > ZONE_OFFSET_MAX)
            return false;
        if (i > 0 && t->offset[i] == t->offset[i - 1])
            return false;
        if (i > 1 && t->at[i - 1] <= t->at[i - 2])
            return false;
    }
    return !t->cyclic || t->len > 2;
}
