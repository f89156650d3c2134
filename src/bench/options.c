#include "bench/options.h"

#include <stddef.h>
#include <strings.h>

#include "bench/proto.h"
#include "util/parse.h"
#include "util/words.h"

enum kind { K_U32, K_U64, K_MS, K_STR, K_FLAG, K_MIX, K_PROTO, K_LIST };

struct option {
    const char *name;
    char letter;
    enum kind kind;
    size_t offset;
    uint64_t least, most;
    const char *help;
};

#define AT(field) offsetof(struct workload, field)
#define ANY UINT64_MAX

static const struct option table[] = {
    {"--host", 'h', K_STR, AT(host), 0, 0, "server's address (127.0.0.1)"},
    {"--port", 'p', K_U32, AT(port), 1, 65535, "server's port (2355)"},
    {"--password", 'a', K_STR, AT(password), 0, 0,
     "of a server that wants one"},
    {"--proto", 0, K_PROTO, AT(proto), 0, 0,
     "belfry, redis-stream, redis-list or beanstalkd"},
    {"--mix", 'm', K_MIX, AT(mix), 0, 0,
     "life, add, drain, pickup, delayed or schedules"},
    {"--connections", 'c', K_U32, AT(connections), 1, CONNECTIONS_MAX,
     "connections (16); producers where workers block"},
    {"--pipeline", 'P', K_U32, AT(pipeline), 1, PIPELINE_MAX,
     "jobs per connection and round (16)"},
    {"--jobs", 'n', K_U64, AT(jobs), 1, ANY, "jobs in all (100000)"},
    {"--seconds", 's', K_U64, AT(seconds), 1, 86400,
     "stop after this (60); life, add: without --jobs, run for it"},
    {"--payload", 'd', K_U32, AT(payload), 24, 64 << 20,
     "bytes of payload (150)"},
    {"--backlog", 0, K_U64, AT(backlog), 0, ANY,
     "jobs added beforehand; drain: all of --jobs"},
    {"--queue", 'q', K_STR, AT(queue), 0, 0, "name of the queue (bench)"},
    {"--rate", 'r', K_U64, AT(rate), 1, 10000000,
     "open loop: jobs a second (1000)"},
    {"--workers", 'w', K_U32, AT(workers), 1, CONNECTIONS_MAX,
     "blocked workers of the open loop (16)"},
    {"--priorities", 0, K_U32, AT(priorities), 0, 1001,
     "so many priorities, at random"},
    {"--owners", 0, K_U32, AT(owners), 0, 100000000,
     "so many owners, in turn (see --setup)"},
    {"--limits", 0, K_U32, AT(limits), 0, 100000000,
     "so many limit names, at random (see --setup)"},
    {"--handlers", 0, K_U32, AT(handlers), 0, 1000000,
     "so many handlers, in turn"},
    {"--delay", 0, K_MS, AT(delay_ms), 0, DURATION_MS_MAX,
     "due within this time, evenly spread"},
    {"--every", 0, K_MS, AT(every_ms), 1000, DURATION_MS_MAX,
     "schedules: interval of each (60s)"},
    {"--add", 0, K_LIST, AT(add_words), 0, 0,
     "words behind each JOB.ADD: --add 'RETRIES 5'"},
    {"--setup", 0, K_LIST, AT(setup), 0, 0,
     "command sent before the run: --setup 'QUEUE.SET bench FAIR 1'"},
    {"--seed", 0, K_U64, AT(seed), 0, ANY, "of the random choices (1)"},
    {"--pid", 0, K_U32, AT(server_pid), 1, 1 << 30,
     "the server's process, for its CPU time (default: INFO says)"},
    {"--lean", 0, K_FLAG, AT(lean), 0, 0,
     "leases tell token and payload alone, as a stream does"},
    {"--json", 0, K_FLAG, AT(json), 0, 0, "one JSON object per run"},
    {"--quiet", 0, K_FLAG, AT(quiet), 0, 0, "no progress line"},
    {"--compare", 0, K_FLAG, AT(compare), 0, 0,
     "lives beside Redis Streams with appendfsync always"},
    {"--start", 0, K_STR, AT(start), 0, 0,
     "compare: start this belfry-server for it"},
    {"--redis", 0, K_STR, AT(redis), 0, 0, "compare: program (redis-server)"},
    {"--dir", 0, K_STR, AT(dir), 0, 0,
     "compare: where the data of both go and stay (a new folder in /tmp)"},
    {"--shapes", 0, K_STR, AT(shapes), 0, 0,
     "compare: connections:pipeline (1:1,50:1,16:16,16:64,50:100)"},
    {"--rounds", 0, K_U32, AT(rounds), 1, 1000,
     "compare: interleaved rounds (5)"},
};

static const char *const mixes[] = {"life",    "add",       "drain", "pickup",
                                    "delayed", "schedules", NULL};

const char *mix_name(enum mix mix)
{
    return mixes[mix];
}

static enum err bad(struct errbuf *e, const struct option *o, const char *value)
{
    return err_set(e, ERR_SYNTAX, "%s: '%s' is not allowed: %s", o->name, value,
                   o->help);
}

static enum err bad_number(struct errbuf *e, const struct option *o,
                           const char *value)
{
    char most[32] = "";
    if (o->kind == K_MS)
        return err_set(e, ERR_SYNTAX,
                       "%s wants a duration of at least %llums such as 250ms, "
                       "5s or 1h, not '%s': %s",
                       o->name, (unsigned long long)o->least, value, o->help);
    if (o->most != ANY)
        snprintf(most, sizeof(most), " to %llu", (unsigned long long)o->most);
    return err_set(e, ERR_SYNTAX, "%s wants a number from %llu%s, not '%s': %s",
                   o->name, (unsigned long long)o->least, most, value, o->help);
}

static enum err number(const struct option *o, const char *value, uint64_t *out,
                       struct errbuf *e)
{
    bool ok = o->kind == K_MS ? parse_duration_ms(slice_str(value), out)
                              : parse_u64(slice_str(value), out);
    if (!ok || *out < o->least || *out > o->most)
        return bad_number(e, o, value);
    return ERR_OK;
}

static enum err add_to_list(const struct option *o, struct workload *w,
                            const char *value, struct errbuf *e)
{
    bool add = o->offset == AT(add_words);
    uint32_t *n = add ? &w->add_words_n : &w->setup_n;
    if (*n == EXTRA_MAX)
        return err_set(e, ERR_SYNTAX, "%s: at most %d times", o->name,
                       EXTRA_MAX);
    (add ? w->add_words : w->setup)[(*n)++] = value;
    return ERR_OK;
}

static enum err store(const struct option *o, struct workload *w,
                      const char *value, struct errbuf *e)
{
    char *field = (char *)w + o->offset;
    uint64_t n;
    switch (o->kind) {
    case K_FLAG:
        *(bool *)(void *)field = true;
        return ERR_OK;
    case K_STR:
        *(const char **)(void *)field = value;
        return ERR_OK;
    case K_U32:
        if (number(o, value, &n, e) != ERR_OK)
            return ERR_SYNTAX;
        *(uint32_t *)(void *)field = (uint32_t)n;
        return ERR_OK;
    case K_U64:
    case K_MS:
        if (number(o, value, &n, e) != ERR_OK)
            return ERR_SYNTAX;
        *(uint64_t *)(void *)field = n;
        return ERR_OK;
    case K_MIX:
        for (int i = 0; mixes[i] != NULL; i++)
            if (strcasecmp(mixes[i], value) == 0) {
                w->mix = (enum mix)i;
                return ERR_OK;
            }
        return bad(e, o, value);
    case K_PROTO:
        w->proto = proto_find(value);
        return w->proto != NULL ? ERR_OK : bad(e, o, value);
    case K_LIST:
        return add_to_list(o, w, value, e);
    }
    return ERR_OK;
}

static const struct option *find(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct option *o = &table[i];
        if (strcmp(word, o->name) == 0)
            return o;
        if (o->letter != 0 && word[0] == '-' && word[1] == o->letter &&
            word[2] == '\0')
            return o;
    }
    return NULL;
}

static enum err unknown(const char *word, struct errbuf *e)
{
    const char *near = NULL;
    unsigned least = 4;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        unsigned d =
            words_distance(slice_str(word), slice_str(table[i].name), least);
        if (d < least) {
            least = d;
            near = table[i].name;
        }
    }
    return err_set(e, ERR_SYNTAX, "unknown option '%s'; %s%s--help lists them",
                   word, near != NULL ? near : "", near != NULL ? "? " : "");
}

enum err options_parse(struct workload *w, int argc, char **argv,
                       struct errbuf *e)
{
    *w = (struct workload){
        .proto = proto_find("belfry"),
        .host = "127.0.0.1",
        .port = 2355,
        .connections = 16,
        .workers = 16,
        .pipeline = 16,
        .rate = 1000,
        .payload = 150,
        .queue = "bench",
        .every_ms = 60000,
        .seed = 1,
        .redis = "redis-server",
        .shapes = "1:1,50:1,16:16,16:64,50:100",
        .rounds = 5,
    };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return ERR_EMPTY;
        const struct option *o = find(argv[i]);
        if (o == NULL)
            return unknown(argv[i], e);
        const char *value = "";
        if (o->kind != K_FLAG) {
            if (++i == argc)
                return err_set(e, ERR_SYNTAX, "%s wants a value: %s", o->name,
                               o->help);
            value = argv[i];
        }
        enum err rc = store(o, w, value, e);
        if (rc != ERR_OK)
            return rc;
    }
    w->by_time = w->jobs == 0 && w->seconds > 0 && w->mix <= MIX_ADD;
    w->jobs = w->jobs > 0 ? w->jobs : 100000;
    w->seconds = w->seconds > 0 ? w->seconds : 60;
    if (w->mix >= MIX_PICKUP && !w->proto->blocking)
        return err_set(e, ERR_SYNTAX, "--mix %s is for --proto belfry",
                       mix_name(w->mix));
    if (w->compare && w->port == 65535)
        return err_set(e, ERR_SYNTAX,
                       "--port: Redis gets the one behind it, so '65535' is "
                       "not allowed with --compare");
    return ERR_OK;
}

void options_help(FILE *to)
{
    fputs("usage: belfry-bench [option value]...\n"
          "Loads a server with jobs and says how fast it was.\n\n",
          to);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct option *o = &table[i];
        char letter[5] = "    ";
        if (o->letter != 0)
            snprintf(letter, sizeof(letter), "-%c, ", o->letter);
        fprintf(to, "  %s%-14s %s\n", letter, o->name, o->help);
    }
    fputs("\nA life is add, lease and acknowledge; each is waited for, so the "
          "figures are of\nwhat the server calls durable. pickup and delayed "
          "are open loops: latency counts\nfrom the time at which a job was to "
          "be sent, not from when it could be, also of\njobs that are not done "
          "when the time is up. What fires of schedules within\n--seconds is "
          "waited for.\n\n"
          "Exit status: 0 all went well, 1 something was refused or failed, 2 "
          "a wrong word,\n130 interrupted (what was measured is told).\n\n"
          "  belfry-bench -c 50 -P 16 -n 1000000\n"
          "  belfry-bench -c 50 -P 16 --seconds 5\n"
          "  belfry-bench --mix pickup --rate 1000 --workers 16\n"
          "  belfry-bench --compare --start build/release/belfry-server\n",
          to);
}
