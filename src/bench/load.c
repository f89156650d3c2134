#include "bench/load.h"

#include "bench/proto.h"
#include "util/clock.h"
#include "util/parse.h"

/* Beanstalkd knows neither INFO nor set-up commands. */
static bool speaks_resp(const struct workload *w)
{
    return w->proto != &proto_beanstalkd;
}

static uint32_t ask_pid(struct conn *c)
{
    struct buf info = {0};
    struct errbuf e;
    uint64_t pid = 0;
    if (conn_ask(c, "INFO server", &info, &e) == ERR_OK) {
        static const char field[] = "process_id:";
        const char *at = strstr(buf_cstr(&info), field);
        if (at != NULL) {
            at += sizeof(field) - 1;
            if (!parse_u64(slice_of(at, strspn(at, "0123456789")), &pid))
                pid = 0;
        }
    }
    buf_release(&info);
    return (uint32_t)pid;
}

static enum err prepare(const struct workload *w, uint32_t *pid,
                        struct errbuf *e)
{
    struct conn c;
    enum err rc = conn_open(&c, w, 0, e);
    if (rc != ERR_OK)
        return rc;
    if (w->proto->setup != NULL)
        rc = w->proto->setup(&c, e);
    if (speaks_resp(w)) {
        for (uint32_t i = 0; i < w->setup_n && rc == ERR_OK; i++)
            rc = conn_ask(&c, w->setup[i], NULL, e);
        if (*pid == 0 && rc == ERR_OK)
            *pid = ask_pid(&c);
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
    add.seconds = 86400;
    add.connections = w->connections < 16 ? w->connections : 16;
    add.pipeline = w->pipeline > 64 ? w->pipeline : 64;
    result_init(&r);
    enum err rc = closed_run(&add, &r, e);
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
    uint64_t backlog = w->backlog, rss;
    double cpu_s = 0;
    enum err rc = prepare(w, &pid, e);
    if (w->mix == MIX_DRAIN)
        backlog += w->jobs;
    if (rc == ERR_OK && backlog > 0)
        rc = fill(w, backlog, e);
    if (rc != ERR_OK)
        return rc;
    bool known = pid != 0 && process_usage(pid, &cpu_s, &rss);
    rc = w->mix >= MIX_PICKUP ? open_run(w, r, e) : closed_run(w, r, e);
    if (rc == ERR_OK && known &&
        process_usage(pid, &r->server_cpu_s, &r->server_rss))
        r->server_cpu_s -= cpu_s;
    return rc;
}
