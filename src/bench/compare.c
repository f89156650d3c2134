#include "bench/compare.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "bench/load.h"
#include "bench/proto.h"
#include "bench/spawn.h"
#include "util/alloc.h"
#include "util/parse.h"

#define SHAPES_MAX 32

enum side { OURS, REDIS, SIDES };

struct samples {
    double *rate, *p99_ms;
};

struct shape {
    uint32_t connections, pipeline;
    struct samples side[SIDES];
    double ratio; /* the median of those of each round */
};

struct compare {
    struct workload w[SIDES];
    pid_t pid[SIDES];
    struct shape shape[SHAPES_MAX];
    uint32_t shapes, rounds;
    struct buf dir[SIDES], log[SIDES];
    char made[32]; /* the folder of both, if it is ours to remove */
};

static enum err bad_shapes(const struct workload *w, struct errbuf *e)
{
    return err_set(e, ERR_SYNTAX,
                   "--shapes: '%s' is not allowed: up to %d of "
                   "connections:pipeline, with commas, as 16:64",
                   w->shapes, SHAPES_MAX);
}

static enum err shapes_parse(struct compare *c, const struct workload *w,
                             struct errbuf *e)
{
    const char *s = w->shapes;
    while (*s != '\0') {
        size_t n = strcspn(s, ","), k = strcspn(s, ":");
        uint64_t connections, pipeline;
        if (c->shapes == SHAPES_MAX || k >= n ||
            !parse_u64(slice_of(s, k), &connections) ||
            !parse_u64(slice_of(s + k + 1, n - k - 1), &pipeline) ||
            connections < 1 || connections > CONNECTIONS_MAX || pipeline < 1 ||
            pipeline > PIPELINE_MAX)
            return bad_shapes(w, e);
        struct shape *shape = &c->shape[c->shapes++];
        *shape =
            (struct shape){(uint32_t)connections, (uint32_t)pipeline, {{0}}, 0};
        for (int i = 0; i < SIDES; i++) {
            shape->side[i].rate = mem_zalloc(w->rounds * sizeof(double));
            shape->side[i].p99_ms = mem_zalloc(w->rounds * sizeof(double));
        }
        s += n + (s[n] == ',');
    }
    return c->shapes > 0 ? ERR_OK : bad_shapes(w, e);
}

static enum err folders(struct compare *c, const struct workload *w,
                        struct errbuf *e)
{
    static const char *const names[SIDES] = {"belfry", "redis"};
    char template[] = "/tmp/belfry-bench.XXXXXX";
    const char *base = w->dir != NULL ? w->dir : mkdtemp(template);
    if (base == NULL)
        return err_sys(e, ERR_IO, errno, "create %s", template);
    if (w->dir == NULL)
        memcpy(c->made, template, sizeof(template));
    if (w->dir != NULL && mkdir(w->dir, 0700) != 0 && errno != EEXIST)
        return err_sys(e, ERR_IO, errno, "create %s", w->dir);
    for (int i = 0; i < SIDES; i++) {
        buf_printf(&c->dir[i], "%s/%s", base, names[i]);
        buf_printf(&c->log[i], "%s/%s.log", base, names[i]);
        const char *path = buf_cstr(&c->dir[i]);
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return err_sys(e, ERR_IO, errno, "create %s", path);
        buf_cstr(&c->log[i]);
    }
    return ERR_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* What was made is removed, but for what a failure may have left to see. */
static void clean_up(const struct compare *c, bool well)
{
    if (c->made[0] == '\0')
        return;
    if (well)
        (void)nftw(c->made, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    else
        fprintf(stderr, "data and logs are in %s\n", c->made);
}

static enum err start(struct compare *c, const struct workload *w,
                      struct errbuf *e)
{
    char port[SIDES][8];
    for (int i = 0; i < SIDES; i++)
        snprintf(port[i], sizeof(port[i]), "%u", c->w[i].port);
    const char *const redis[] = {
        w->redis, "--bind",           "127.0.0.1", "--port", port[REDIS],
        "--dir",  c->dir[REDIS].data, "--save",    "",       "--appendonly",
        "yes",    "--appendfsync",    "always",    NULL};
    const char *const ours[] = {
        w->start,          "--bind",        "127.0.0.1", "--port",
        port[OURS],        "--http-port",   "0",         "--dir",
        c->dir[OURS].data, "--appendfsync", "always",    NULL};
    enum err rc = spawn_server(&c->w[REDIS], redis, c->log[REDIS].data,
                               &c->pid[REDIS], e);
    if (rc == ERR_OK && w->start != NULL)
        rc = spawn_server(&c->w[OURS], ours, c->log[OURS].data, &c->pid[OURS],
                          e);
    return rc;
}

/* Shapes with little in flight are slow: fewer jobs, so that each shape takes
 * about as long. */
static uint64_t jobs_for(const struct workload *w, const struct shape *s)
{
    uint64_t in_flight = (uint64_t)s->connections * s->pipeline;
    uint64_t jobs = in_flight == 1   ? w->jobs / 25
                    : in_flight < 64 ? w->jobs / 5
                                     : w->jobs;
    return jobs < in_flight ? in_flight : jobs;
}

static enum err measure(struct compare *c, enum side side, struct shape *s,
                        struct errbuf *e)
{
    struct workload w = c->w[side];
    struct result r;
    w.connections = s->connections;
    w.pipeline = s->pipeline;
    w.jobs = jobs_for(&c->w[side], s);
    result_init(&r);
    enum err rc = load_run(&w, &r, e);
    if (rc == ERR_OK && r.errors > 0)
        rc = err_set(e, ERR_STATE, "%s", r.first_error);
    if (rc == ERR_OK && r.timed_out)
        rc = err_set(e, ERR_STATE, "the time was up after %llu jobs",
                     (unsigned long long)r.done);
    if (rc == ERR_OK) {
        s->side[side].rate[c->rounds] = result_rate(&r);
        s->side[side].p99_ms[c->rounds] =
            (double)histogram_percentile(r.latency[LAT_LIFE], 99) / 1e3;
        if (w.json)
            result_json(&r, &w, stdout);
    } else {
        err_wrap(e, "%s %u:%u", w.proto->name, s->connections, s->pipeline);
    }
    result_release(&r);
    return rc;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values. */
static double median(const double *v, uint32_t n)
{
    return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* A minute in which the machine is slow is in both sides of a round. Before
 * the samples are sorted: then they are of no round any more. */
static double ratio(const struct compare *c, const struct shape *s)
{
    double *of = mem_zalloc(c->rounds * sizeof(*of));
    for (uint32_t i = 0; i < c->rounds; i++)
        of[i] = s->side[OURS].rate[i] / s->side[REDIS].rate[i];
    qsort(of, c->rounds, sizeof(*of), by_value);
    double m = median(of, c->rounds);
    mem_free(of);
    return m;
}

static void sort(struct compare *c)
{
    for (uint32_t i = 0; i < c->shapes; i++) {
        c->shape[i].ratio = ratio(c, &c->shape[i]);
        for (int k = 0; k < SIDES; k++) {
            struct samples *s = &c->shape[i].side[k];
            qsort(s->rate, c->rounds, sizeof(*s->rate), by_value);
            qsort(s->p99_ms, c->rounds, sizeof(*s->p99_ms), by_value);
        }
    }
}

static void print(const struct compare *c)
{
    printf(
        "lives a second, medians of %u rounds (least..most), ratio: median of "
        "theirs; p99 of a life in ms\n%-9s %30s %30s %6s %15s\n",
        c->rounds, "shape", "belfry", "redis-stream always", "ratio", "p99 ms");
    for (uint32_t i = 0; i < c->shapes; i++) {
        const struct shape *s = &c->shape[i];
        char shape[24], text[SIDES][64];
        for (int k = 0; k < SIDES; k++)
            snprintf(text[k], sizeof(text[k]), "%.0f (%.0f..%.0f)",
                     median(s->side[k].rate, c->rounds), s->side[k].rate[0],
                     s->side[k].rate[c->rounds - 1]);
        snprintf(shape, sizeof(shape), "%u:%u", s->connections, s->pipeline);
        printf("%-9s %30s %30s %6.2f %7.2f %7.2f\n", shape, text[OURS],
               text[REDIS], s->ratio, median(s->side[OURS].p99_ms, c->rounds),
               median(s->side[REDIS].p99_ms, c->rounds));
    }
}

/* One object for each shape, behind those of the runs. */
static void print_json(const struct compare *c)
{
    for (uint32_t i = 0; i < c->shapes; i++) {
        const struct shape *s = &c->shape[i];
        printf("{\"shape\":\"%u:%u\",\"rounds\":%u,\"ratio\":%.3f",
               s->connections, s->pipeline, c->rounds, s->ratio);
        for (int k = 0; k < SIDES; k++)
            printf(",\"%s\":{\"jobs_per_s\":%.1f,\"least\":%.1f,"
                   "\"most\":%.1f,\"p99_ms\":%.3f}",
                   c->w[k].proto->name, median(s->side[k].rate, c->rounds),
                   s->side[k].rate[0], s->side[k].rate[c->rounds - 1],
                   median(s->side[k].p99_ms, c->rounds));
        printf("}\n");
    }
}

static enum err rounds(struct compare *c, const struct workload *w,
                       struct errbuf *e)
{
    while (c->rounds < w->rounds) {
        for (uint32_t i = 0; i < c->shapes; i++)
            for (int k = 0; k < SIDES; k++) {
                /* Who is first changes from round to round. */
                enum side side = (enum side)((k + (int)c->rounds) % SIDES);
                enum err rc = measure(c, side, &c->shape[i], e);
                if (rc != ERR_OK)
                    return rc;
            }
        c->rounds++;
        if (!w->quiet)
            fprintf(stderr, "round %u of %u\n", c->rounds, w->rounds);
    }
    return ERR_OK;
}

enum err compare_run(const struct workload *w, struct errbuf *e)
{
    struct compare c = {.w = {*w, *w}};
    for (int i = 0; i < SIDES; i++) {
        c.w[i].mix = MIX_LIFE;
        c.w[i].quiet = true;
    }
    c.w[REDIS].proto = &proto_redis_stream;
    c.w[REDIS].port = w->port + 1;
    c.w[REDIS].host = "127.0.0.1";
    c.w[REDIS].setup_n = 0;
    c.w[REDIS].server_pid = 0;
    c.w[REDIS].password = NULL;
    if (w->start != NULL)
        c.w[OURS].password = NULL;
    enum err rc = shapes_parse(&c, w, e);
    if (rc == ERR_OK)
        rc = folders(&c, w, e);
    if (rc == ERR_OK)
        rc = start(&c, w, e);
    if (rc == ERR_OK)
        rc = rounds(&c, w, e);
    if (c.rounds > 0) {
        sort(&c);
        (w->json ? print_json : print)(&c);
    }
    for (int i = 0; i < SIDES; i++) {
        spawn_stop(&c.pid[i]);
        buf_release(&c.dir[i]);
        buf_release(&c.log[i]);
    }
    clean_up(&c, rc == ERR_OK);
    for (uint32_t i = 0; i < c.shapes; i++)
        for (int k = 0; k < SIDES; k++) {
            mem_free(c.shape[i].side[k].rate);
            mem_free(c.shape[i].side[k].p99_ms);
        }
    return rc;
}
