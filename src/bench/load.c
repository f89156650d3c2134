#include "bench/load.h"

#include "bench/proto.h"
#include "util/clock.h"
#include "util/parse.h"

volatile sig_atomic_t load_interrupted;

/* A number that INFO tells, or -1. */
static int64_t ask_info(struct conn *c, const char *line, const char *field)
{
    struct buf info = {0};
    struct errbuf e;
    uint64_t n = 0;
    bool known = false;
    if (conn_ask(c, line, &info, &e) == ERR_OK) {
        const char *at = strstr(buf_cstr(&info), field);
        if (at != NULL) {
            at += strlen(field);
            known = parse_u64(slice_of(at, strspn(at, "0123456789")), &n);
        }
    }
    buf_release(&info);
    return known ? (int64_t)n : -1;
}

static double ask_tick_ms(const struct workload *w)
{
    struct conn c;
    struct errbuf e;
    if (!w->proto->resp || conn_open(&c, w, 0, &e) != ERR_OK)
        return -1;
    int64_t us = ask_info(&c, "INFO stats", "tick_max_usec:");
    conn_close(&c);
    return us < 0 ? -1 : (double)us / 1e3;
}

static enum err prepare(const struct workload *w, uint32_t *pid,
                        struct errbuf *e)
{
    struct conn c;
    enum err rc = conn_open(&c, w, 0, e);
    if (rc != ERR_OK)
        return rc;
    /* Who is not served learns it now and not from a run of refusals. */
    if (w->proto->resp && conn_ask(&c, "PING", NULL, e) != ERR_OK)
        rc = ERR_STATE;
    if (rc == ERR_OK && w->proto->setup != NULL)
        rc = w->proto->setup(&c, e);
    if (rc == ERR_OK && w->proto->resp) {
        for (uint32_t i = 0; i < w->setup_n && rc == ERR_OK; i++)
            rc = conn_ask(&c, w->setup[i], NULL, e);
        if (*pid == 0 && rc == ERR_OK && conn_is_local(&c)) {
            int64_t told = ask_info(&c, "INFO server", "process_id:");
            *pid = told < 0 ? 0 : (uint32_t)told;
        }
    }
    conn_close(&c);
    return rc;
}

/* Jobs that are there before the clock starts. */
static enum err fill(const struct workload *w, uint64_t jobs, struct errbuf *e)
{
    struct workload add = *w;
    struct result r;
    add.mix = MIX_ADD;
    add.jobs = jobs;
    add.by_time = false;
    add.seconds = 86400;
    add.connections = w->connections < 16 ? w->connections : 16;
    add.pipeline = w->pipeline > 64 ? w->pipeline : 64;
    result_init(&r);
    enum err rc = closed_run(&add, &r, e);
    result_progress_end(&r, w);
    if (rc == ERR_OK && r.errors > 0)
        rc = err_set(e, ERR_STATE, "%s", r.first_error);
    if (rc == ERR_OK && !w->json)
        printf("filled with %llu jobs: %.0f jobs/s\n",
               (unsigned long long)r.done, result_rate(&r));
    result_release(&r);
    return rc;
}

enum err load_run(const struct workload *w, struct result *r, struct errbuf *e)
{
    uint32_t pid = w->server_pid;
    uint64_t backlog = w->backlog;
    struct usage before = {0};
    enum err rc = prepare(w, &pid, e);
    if (w->mix == MIX_DRAIN)
        backlog += w->jobs;
    if (rc == ERR_OK && backlog > 0)
        rc = fill(w, backlog, e);
    if (rc != ERR_OK)
        return rc;
    bool known = pid != 0 && process_usage(pid, &before);
    rc = w->mix >= MIX_PICKUP ? open_run(w, r, e) : closed_run(w, r, e);
    if (rc != ERR_OK)
        return rc;
    if (known && process_usage(pid, &r->used)) {
        r->measured = true;
        r->used.cpu_s -= before.cpu_s;
        if (r->used.disk_bytes >= 0)
            r->used.disk_bytes -= before.disk_bytes;
    }
    r->tick_ms = ask_tick_ms(w);
    return ERR_OK;
}
