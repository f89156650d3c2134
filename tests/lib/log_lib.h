/* Helpers for tests of the log: a directory of its own, entries that can be
 * told from their index, and checking them. */
#ifndef LIB_LOG_LIB_H
#define LIB_LOG_LIB_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/log.h"
#include "util/alloc.h"
#include "util/buf.h"

struct place {
    char path[64];
    uint64_t segment_bytes;
    uint64_t keep_bytes;
    enum log_sync_mode sync;
    const struct log_io *io;
};

static inline void place_make(struct place *p)
{
    *p = (struct place){.segment_bytes = 64 << 10};
    /* In memory where possible: these tests sync thousands of times. */
    bool shm = access("/dev/shm", W_OK | X_OK) == 0;
    (void)snprintf(p->path, sizeof(p->path), "%s/belfry-log-XXXXXX",
                   shm ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(p->path));
}

static inline void place_clear(const struct place *p)
{
    DIR *d = opendir(p->path);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d)) != NULL;)
        (void)unlinkat(dirfd(d), f->d_name, 0); /* but . and .. */
    (void)closedir(d);
}

static inline void place_remove(const struct place *p)
{
    place_clear(p);
    assert_int_equal(rmdir(p->path), 0);
}

static inline struct log_options place_options(const struct place *p,
                                               bool threaded)
{
    return (struct log_options){.dir = p->path,
                                .segment_bytes = p->segment_bytes,
                                .keep_bytes = p->keep_bytes,
                                .sync = p->sync,
                                .io = p->io,
                                .threaded = threaded};
}

static inline struct log *place_open(const struct place *p, bool threaded)
{
    struct log_options o = place_options(p, threaded);
    struct log *l;
    struct errbuf e = {""};
    if (log_open(&l, &o, NULL, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return l;
}

/* "entry 42 xxxx": between 9 and 60 bytes, a function of the index. */
static inline struct slice entry_text(char text[64], uint64_t index)
{
    int n = snprintf(text, 64, "entry %llu ", (unsigned long long)index);
    int more = (int)(index * 7 % 40);
    memset(text + n, 'a' + (int)(index % 26), (size_t)more);
    return slice_of(text, (size_t)(n + more));
}

static inline void add_entries(struct log *l, uint64_t from, uint64_t to)
{
    char(*text)[64] = (char(*)[64])mem_alloc((to - from + 1) * 64);
    for (uint64_t i = from; i <= to; i++) {
        uint64_t index = log_append(l, entry_text(text[i - from], i));
        assert_int_equal(index, i);
        if (i % 7 == 0)
            log_submit(l);
    }
    struct errbuf e = {""};
    if (log_drain(l, &e) != ERR_OK)
        fail_msg("%s", e.text);
    mem_free(text);
}

static inline void check_entries(struct log *l, uint64_t from, uint64_t to)
{
    struct log_iter *it;
    struct log_record rec;
    struct errbuf e = {""};
    if (log_iter_open(&it, l, from, &e) != ERR_OK)
        fail_msg("%s", e.text);
    for (uint64_t i = from; i <= to; i++) {
        char text[64];
        if (log_iter_next(it, UINT64_MAX, &rec, &e) != ERR_OK)
            fail_msg("%s", e.text);
        assert_int_equal(rec.index, i);
        assert_true(rec.durable < i);
        assert_true(slice_eq(rec.entry, entry_text(text, i)));
    }
    if (to == log_written(l))
        assert_int_equal(log_iter_next(it, UINT64_MAX, &rec, &e), ERR_EMPTY);
    log_iter_close(&it);
}

/* --- the files as they are, to be put back later ------------------------- */

struct image {
    char name[64];
    struct buf bytes;
};

struct images {
    struct image v[64];
    size_t n;
};

static inline void images_take(struct images *im, const struct place *p)
{
    DIR *d = opendir(p->path);
    assert_non_null(d);
    im->n = 0;
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        if (f->d_name[0] == '.' || strstr(f->d_name, ".reserve") != NULL)
            continue;
        assert_true(im->n < 64);
        struct image *i = &im->v[im->n++];
        (void)snprintf(i->name, sizeof(i->name), "%.60s", f->d_name);
        buf_init(&i->bytes);
        int fd = openat(dirfd(d), f->d_name, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        for (;;) {
            ssize_t got = read(fd, buf_room(&i->bytes, 1 << 16), 1 << 16);
            assert_true(got >= 0);
            if (got == 0)
                break;
            i->bytes.len += (size_t)got;
        }
        (void)close(fd);
    }
    (void)closedir(d);
}

static inline void images_put(const struct images *im, const struct place *p)
{
    place_clear(p);
    for (size_t i = 0; i < im->n; i++) {
        char path[160];
        (void)snprintf(path, sizeof(path), "%s/%s", p->path, im->v[i].name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, im->v[i].bytes.data, im->v[i].bytes.len),
                         im->v[i].bytes.len);
        (void)close(fd);
    }
}

static inline struct image *images_find(struct images *im, const char *part)
{
    for (size_t i = 0; i < im->n; i++)
        if (strstr(im->v[i].name, part) != NULL)
            return &im->v[i];
    fail_msg("no file like %s", part);
    return NULL;
}

static inline void images_release(struct images *im)
{
    for (size_t i = 0; i < im->n; i++)
        buf_release(&im->v[i].bytes);
    im->n = 0;
}

#endif
