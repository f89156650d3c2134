#include "server/metrics.h"

#include <stdio.h>
#include <unistd.h>

#include "server/client.h"
#include "server/info.h"
#include "server/parts.h"
#include "server/pubsub.h"
#include "server/stats.h"
#include "util/alloc.h"
#include "util/parse.h"

/* A function for each row, named by its line in the table. */
#define PASTE(a, b) a##b
#define NAMED(line) PASTE(value_of_row_, line)
#define METRIC(section, key, kind, name, expression, help)   \
    static uint64_t NAMED(__LINE__)(const struct metrics *m) \
    {                                                        \
        return (uint64_t)(expression);                       \
    }
#include "server/metrics.def"
#undef METRIC

const struct metric metrics_table[] = {
#define METRIC(section, key, kind, name, expression, help)        \
    {SECTION_##section, METRIC_##kind, #section, key, name, help, \
     NAMED(__LINE__)},
#include "server/metrics.def"
#undef METRIC
};
const unsigned metrics_count = ARRAY_LEN(metrics_table);

/* The second number of /proc/self/statm, in pages. */
static uint64_t resident_bytes(void)
{
    char line[128];
    uint64_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL)
        return 0;
    if (fgets(line, sizeof(line), f) != NULL) {
        const char *p = line + strcspn(line, " ");
        p += *p == ' ';
        (void)parse_u64(slice_of(p, strcspn(p, " ")), &pages);
    }
    (void)fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void metrics_take(struct server *s, struct metrics *m)
{
    struct stats *st = s->parts->stats;
    *m = (struct metrics){.s = s, .stats = st};
    if (s->store != NULL)
        store_get_stats(s->store, &m->store);
    if (s->engine != NULL && s->state != SERVER_LOADING)
        engine_get_stats(s->engine, &m->engine);
    m->memory = mem_used();
    m->resident = resident_bytes();
    if (m->memory > st->peak_memory)
        st->peak_memory = m->memory;
    LIST_FOR (it, &s->clients) {
        const struct client *c = CONTAINER_OF(it, struct client, all);
        uint64_t in = client_in_bytes(c), out = client_out_bytes(c);
        m->client_in_max = in > m->client_in_max ? in : m->client_in_max;
        m->client_out_max = out > m->client_out_max ? out : m->client_out_max;
        m->subscribers += c->sub_count > 0;
        m->tracking += (c->flags & CLIENT_TRACKING) != 0;
    }
}

void metrics_info(const struct metrics *m, enum metric_section section,
                  struct buf *out)
{
    for (unsigned i = 0; i < metrics_count; i++)
        if (metrics_table[i].section == section)
            info_line(out, metrics_table[i].key, metrics_table[i].value(m));
}
