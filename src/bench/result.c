#include "bench/result.h"

#include <inttypes.h>
#include <unistd.h>

#include "bench/load.h"
#include "bench/proto.h"
#include "util/buf.h"

#define LATENCY_MAX_US ((uint64_t)3600 * 1000000)

static const char *const names[LATENCIES] = {"add",  "lease",  "ack",
                                             "life", "pickup", "late"};

void result_init(struct result *r)
{
    *r = (struct result){.tick_ms = -1};
    for (int i = 0; i < LATENCIES; i++)
        r->latency[i] = histogram_new(LATENCY_MAX_US, 3);
}

void result_release(struct result *r)
{
    for (int i = 0; i < LATENCIES; i++)
        histogram_free(&r->latency[i]);
}

double result_rate(const struct result *r)
{
    return r->run_us > 0 ? (double)r->done * 1e6 / (double)r->run_us : 0;
}

static double ms(const struct histogram *h, double percentile)
{
    return (double)histogram_percentile(h, percentile) / 1e3;
}

void result_text(const struct result *r, const struct workload *w, FILE *to)
{
    bool open = w->mix >= MIX_PICKUP;
    fprintf(to, "%s %s %u:%u, %u B: ", w->proto->name, mix_name(w->mix),
            w->connections, open ? w->workers : w->pipeline, w->payload);
    fprintf(to, "%.0f jobs/s (%" PRIu64 " in %.2f s%s)", result_rate(r),
            r->done, (double)r->run_us / 1e6,
            load_interrupted ? ", interrupted"
            : r->timed_out   ? ", stopped by --seconds"
                             : "");
    if (r->overdue > 0)
        fprintf(to, ", %" PRIu64 " OVERDUE", r->overdue);
    if (r->measured && r->done > 0)
        fprintf(to, ", server %.1f us of CPU a job, %" PRIu64 " MB",
                r->used.cpu_s * 1e6 / (double)r->done, r->used.rss >> 20);
    if (r->measured && r->done > 0 && r->used.disk_bytes >= 0)
        fprintf(to, ", %.0f B to disk a job",
                r->used.disk_bytes / (double)r->done);
    if (r->tick_ms >= 0)
        fprintf(to, ", longest tick %.1f ms", r->tick_ms);
    fputc('\n', to);
    if (r->errors > 0)
        fprintf(to, "  %" PRIu64 " error replies, the first: %s\n", r->errors,
                r->first_error);
    fprintf(to, "  %-8s %9s %9s %9s %9s %9s\n", "ms", "p50", "p90", "p99",
            "p99.9", "max");
    for (int i = 0; i < LATENCIES; i++) {
        const struct histogram *h = r->latency[i];
        if (histogram_count(h) == 0)
            continue;
        fprintf(to, "  %-8s %9.3f %9.3f %9.3f %9.3f %9.3f\n", names[i],
                ms(h, 50), ms(h, 90), ms(h, 99), ms(h, 99.9),
                (double)histogram_max(h) / 1e3);
    }
}

/* Texts from a server, as a JSON string. */
static void json_string(struct buf *b, const char *s)
{
    buf_add_char(b, '"');
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            buf_add_char(b, '\\');
        if ((unsigned char)*s < 32)
            buf_printf(b, "\\u%04x", (unsigned)*s);
        else
            buf_add_char(b, *s);
    }
    buf_add_char(b, '"');
}

void result_json(const struct result *r, const struct workload *w, FILE *to)
{
    struct buf b = {0};
    buf_printf(&b, "{\"proto\":\"%s\",\"mix\":\"%s\",", w->proto->name,
               mix_name(w->mix));
    buf_printf(&b,
               "\"connections\":%u,\"pipeline\":%u,\"workers\":%u,"
               "\"payload\":%u,\"rate\":%" PRIu64 ",",
               w->connections, w->pipeline, w->workers, w->payload, w->rate);
    buf_printf(&b,
               "\"jobs\":%" PRIu64 ",\"seconds\":%.6f,\"jobs_per_s\":%.1f,"
               "\"timed_out\":%s,\"overdue\":%" PRIu64 ",\"errors\":%" PRIu64
               ",\"first_error\":",
               r->done, (double)r->run_us / 1e6, result_rate(r),
               r->timed_out ? "true" : "false", r->overdue, r->errors);
    json_string(&b, r->first_error);
    if (r->measured && r->done > 0)
        buf_printf(&b, ",\"server_cpu_us\":%.3f,\"server_rss\":%" PRIu64,
                   r->used.cpu_s * 1e6 / (double)r->done, r->used.rss);
    if (r->measured && r->done > 0 && r->used.disk_bytes >= 0)
        buf_printf(&b, ",\"disk_bytes\":%.1f",
                   r->used.disk_bytes / (double)r->done);
    if (r->tick_ms >= 0)
        buf_printf(&b, ",\"tick_ms\":%.3f", r->tick_ms);
    buf_add_str(&b, ",\"latency_us\":{");
    const char *comma = "";
    for (int i = 0; i < LATENCIES; i++) {
        const struct histogram *h = r->latency[i];
        if (histogram_count(h) == 0)
            continue;
        buf_printf(&b, "%s\"%s\":{", comma, names[i]);
        static const double at[] = {50, 90, 99, 99.9};
        for (size_t k = 0; k < ARRAY_LEN(at); k++)
            buf_printf(&b, "\"p%g\":%" PRIu64 ",", at[k],
                       histogram_percentile(h, at[k]));
        buf_printf(&b, "\"max\":%" PRIu64 ",\"count\":%" PRIu64 "}",
                   histogram_max(h), histogram_count(h));
        comma = ",";
    }
    buf_add_str(&b, "}}\n");
    fwrite(b.data, 1, b.len, to);
    buf_release(&b);
}

void result_progress(struct result *r, const struct workload *w,
                     uint64_t start_us, uint64_t now_us)
{
    if (r->shown_us == 0)
        r->shown_us = start_us;
    uint64_t passed = now_us - r->shown_us;
    if (passed < 1000000)
        return;
    if (!w->quiet && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%6.1f s  %10" PRIu64 " jobs  %8.0f jobs/s ",
                (double)(now_us - start_us) / 1e6, r->done,
                (double)(r->done - r->shown_done) * 1e6 / (double)passed);
        fflush(stderr);
    }
    r->shown_us = now_us;
    r->shown_done = r->done;
}

void result_progress_end(struct result *r, const struct workload *w)
{
    if (!w->quiet && r->shown_us > 0 && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    r->shown_us = 0;
}

/* What the process sent to the disk, caches not counted: its log, and what
 * RocksDB flushes and compacts. */
static double disk_bytes(uint32_t pid)
{
    char path[64], line[128];
    double n = -1;
    snprintf(path, sizeof(path), "/proc/%u/io", pid);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        (void)sscanf(line, "write_bytes: %lf", &n);
    if (f != NULL)
        fclose(f);
    return n;
}

bool process_usage(uint32_t pid, struct usage *u)
{
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    bool ok = fgets(line, sizeof(line), f) != NULL;
    fclose(f);
    /* The name of the program may hold blanks; fields count from behind it:
     * state is the 1st, utime the 12th, rss the 22nd. */
    const char *p = ok ? strrchr(line, ')') : NULL;
    if (p == NULL)
        return false;
    unsigned long user = 0, system = 0;
    long pages = 0;
    if (sscanf(p + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d "
               "%*d %*d %*d %*d %*u %*u %ld",
               &user, &system, &pages) != 3)
        return false;
    u->cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    u->rss = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    u->disk_bytes = disk_bytes(pid);
    return true;
}
