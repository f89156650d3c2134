/* JOB.LEASE: get jobs to do, or wait for them. */
#include "commands/command.h"
#include "commands/job_reply.h"
#include "engine/engine.h"
#include "util/parse.h"

#define COUNT_MAX 10000
#define WEIGHT_MAX 1000000

struct lease_args {
    uint64_t given[2];
    struct slice queue;
    struct opt_list also;
    uint32_t count;
    uint64_t block_ms, lease_ms;
    struct slice worker, session, idempotency;
    struct opt_list handlers, weights, fields;
};
#define CMD_ARGS struct lease_args

/* Jobs that were added together have the same numbers: what was written of them
 * for the one before is written again. */
struct numbers {
    uint32_t attempt, delivery, retries, priority;
    uint64_t created_ms, lease_ms;
    size_t at, len; /* in the buffer, with what is null behind; 0: none */
};

struct reply_job {
    struct cmd_ctx *c;
    uint32_t n;
    uint32_t fields; /* a bit each */
    struct numbers last;
};

static void time_or_null(struct reply *r, uint64_t ms)
{
    if (ms == 0)
        reply_null(r);
    else
        reply_int(r, (int64_t)ms);
}

static void bulk_or_null(struct reply *r, struct slice s)
{
    if (s.len == 0)
        reply_null(r);
    else
        reply_bulk(r, s);
}

/* 0: there is none. */
static inline uint64_t time_bits(uint64_t ms)
{
    return ms;
}

static inline uint64_t bulk_bits(struct slice s)
{
    return s.len;
}

/* The fields in their order: FIELD(length of the name, name, value). */
#define TEXT_FIELDS(FIELD)                                            \
    FIELD(5, token, reply_bulk(r, v->token))                          \
    FIELD(2, id, reply_bulk(r, slice_of(v->token.data, ID_TEXT_LEN))) \
    FIELD(5, queue, reply_bulk(r, v->queue))                          \
    FIELD(7, handler, reply_bulk(r, v->handler))                      \
    FIELD(7, payload, reply_bulk(r, v->payload))
#define NUMBER_FIELDS(FIELD)                                    \
    FIELD(7, attempt, reply_int(r, v->attempt))                 \
    FIELD(8, delivery, reply_int(r, v->delivery))               \
    FIELD(7, retries, reply_int(r, v->retries))                 \
    FIELD(8, priority, reply_int(r, v->priority))               \
    FIELD(10, created_ms, reply_int(r, (int64_t)v->created_ms)) \
    FIELD(8, lease_ms, reply_int(r, (int64_t)v->lease_ms))
/* Most jobs have none of these, or an owner alone: FIELD(length, name, kind of
 * value). */
#define RARE_BEFORE(FIELD)       \
    FIELD(10, timeout_ms, time)  \
    FIELD(11, deadline_ms, time) \
    FIELD(4, name, bulk)
#define RARE_OWNER(FIELD) FIELD(5, owner, bulk)
#define RARE_BEHIND(FIELD)      \
    FIELD(10, checkpoint, bulk) \
    FIELD(4, meta, bulk)        \
    FIELD(5, trace, bulk)       \
    FIELD(8, schedule, bulk)    \
    FIELD(10, nominal_ms, time) \
    FIELD(10, occurrence, time)
#define RARE_FROM_OWNER(FIELD) \
    RARE_OWNER(FIELD)          \
    RARE_BEHIND(FIELD)
#define RARE_FIELDS(FIELD) \
    RARE_BEFORE(FIELD)     \
    RARE_FROM_OWNER(FIELD)

#define AS_ENUM(len, name, value) FIELD_##name,
enum { TEXT_FIELDS(AS_ENUM) NUMBER_FIELDS(AS_ENUM) HEAD_N };
enum { BEFORE_RARE = HEAD_N - 1, RARE_FIELDS(AS_ENUM) FIELDS_N };
#define ALL_FIELDS (((uint32_t)1 << FIELDS_N) - 1)

#define AS_NAME(len, name, value) #name,
static const char *const field_names[] = {
    TEXT_FIELDS(AS_NAME) NUMBER_FIELDS(AS_NAME) RARE_FIELDS(AS_NAME)};

#define AS_BITS(len, name, kind) | kind##_bits(v->name)

/* None of the rare ones, but perhaps an owner. */
static bool is_plain(const struct lease_view *v)
{
    return (0 RARE_BEFORE(AS_BITS) RARE_BEHIND(AS_BITS)) == 0;
}

/* Names stand ready made: writing the same ones again and again was a visible
 * part of a lease's cost. */
#define AS_NULL_2(len, name, value) "$" #len "\r\n" #name "\r\n$-1\r\n"
#define AS_NULL_3(len, name, value) "$" #len "\r\n" #name "\r\n_\r\n"

#define REPLY_NULLS(r, FIELDS)                          \
    do {                                                \
        static const char two_[] = FIELDS(AS_NULL_2);   \
        static const char three_[] = FIELDS(AS_NULL_3); \
        if ((r)->proto < 3)                             \
            reply_raw(r, two_, sizeof(two_) - 1);       \
        else                                            \
            reply_raw(r, three_, sizeof(three_) - 1);   \
    } while (0)

#define AS_REPLY(len, name, value)                                 \
    if ((fields & (uint32_t)1 << FIELD_##name) != 0) {             \
        static const char bytes_[] = "$" #len "\r\n" #name "\r\n"; \
        _Static_assert(sizeof(#name) - 1 == (len), "of " #name);   \
        reply_raw(r, bytes_, sizeof(bytes_) - 1);                  \
        value;                                                     \
    }
#define AS_RARE_REPLY(len, name, kind) \
    AS_REPLY(len, name, kind##_or_null(r, v->name))

static inline void reply_texts(struct reply *r, const struct lease_view *v,
                               uint32_t fields)
{
    TEXT_FIELDS(AS_REPLY)
}

static inline void reply_numbers(struct reply *r, const struct lease_view *v,
                                 uint32_t fields)
{
    NUMBER_FIELDS(AS_REPLY)
}

static void reply_rare(struct reply *r, const struct lease_view *v,
                       uint32_t fields)
{
    RARE_FIELDS(AS_RARE_REPLY)
}

static bool same_numbers(const struct numbers *n, const struct lease_view *v)
{
    return n->created_ms == v->created_ms && n->attempt == v->attempt &&
           n->delivery == v->delivery && n->retries == v->retries &&
           n->priority == v->priority && n->lease_ms == v->lease_ms;
}

/* All fields behind the texts of a job that has no others but an owner. */
static void reply_plain(struct reply_job *rj, const struct lease_view *v)
{
    const uint32_t fields = ALL_FIELDS;
    struct reply *r = rj->c->reply;
    struct numbers *last = &rj->last;
    if (last->len > 0 && same_numbers(last, v)) {
        reply_again(r, last->at, last->len);
    } else {
        size_t at = r->out->len;
        reply_numbers(r, v, fields);
        REPLY_NULLS(r, RARE_BEFORE);
        *last = (struct numbers){v->attempt,  v->delivery,     v->retries,
                                 v->priority, v->created_ms,   v->lease_ms,
                                 at,          r->out->len - at};
    }
    if (v->owner.len == 0) {
        REPLY_NULLS(r, RARE_FROM_OWNER);
        return;
    }
    RARE_OWNER(AS_RARE_REPLY)
    REPLY_NULLS(r, RARE_BEHIND);
}

static void reply_one(void *ud, const struct lease_view *v)
{
    struct reply_job *rj = ud;
    struct reply *r = rj->c->reply;
    uint32_t fields = rj->fields;
    rj->n++;
    buf_add_slice(rj->c->leased, v->token);
    buf_add_char(rj->c->leased, '\n');
    reply_map(r, (size_t)__builtin_popcount(fields));
    if (fields == ALL_FIELDS && is_plain(v)) {
        reply_texts(r, v, ALL_FIELDS);
        reply_plain(rj, v);
        return;
    }
    reply_texts(r, v, fields);
    reply_numbers(r, v, fields);
    reply_rare(r, v, fields);
}

/* The token is always told: without it nothing can be done with a lease. */
static enum err take_fields(struct cmd_ctx *c, uint32_t *out)
{
    const struct lease_args *a = c->args;
    *out = (uint32_t)1 << FIELD_token;
    for (uint32_t i = 0; i < a->fields.n; i++) {
        uint32_t f = 0;
        while (f < FIELDS_N &&
               !slice_eq_nocase(a->fields.words[i], slice_str(field_names[f])))
            f++;
        if (f == FIELDS_N)
            return err_set(&c->e, ERR_SYNTAX,
                           "FIELDS: '%.*s' is no field of a lease; they are "
                           "listed in the reply without FIELDS",
                           SLICE_FMT(a->fields.words[i]));
        *out |= (uint32_t)1 << f;
    }
    return ERR_OK;
}

/* One weight per queue, in the order in which they were named. */
static enum err take_weights(struct cmd_ctx *c, uint32_t queues_n,
                             uint32_t *out)
{
    const struct lease_args *a = c->args;
    if (a->weights.n != queues_n)
        return err_set(&c->e, ERR_SYNTAX,
                       "WEIGHTS names %u, there are %u queues",
                       (unsigned)a->weights.n, (unsigned)queues_n);
    for (uint32_t i = 0; i < queues_n; i++) {
        uint64_t n;
        if (!parse_u64(a->weights.words[i], &n) || n < 1 || n > WEIGHT_MAX)
            return err_set(&c->e, ERR_SYNTAX,
                           "WEIGHTS: a weight is an integer from 1 to %d",
                           WEIGHT_MAX);
        out[i] = (uint32_t)n;
    }
    return ERR_OK;
}

static enum err lease_exec(struct cmd_ctx *c)
{
    struct lease_args *a = c->args;
    struct slice queues[WAITER_QUEUES_MAX];
    uint32_t weights[WAITER_QUEUES_MAX];
    struct lease_params p = {.queues = queues,
                             .count = cmd_given(c, "COUNT") ? a->count : 1,
                             .lease_ms = a->lease_ms,
                             .worker = a->worker,
                             .session = a->session,
                             .handlers = a->handlers.words,
                             .handlers_n = a->handlers.n,
                             .idempotency = a->idempotency};
    enum err rc = words_join(c, a->queue, &a->also, queues, WAITER_QUEUES_MAX,
                             &p.queues_n);
    if (rc == ERR_OK && cmd_given(c, "WEIGHTS")) {
        rc = take_weights(c, p.queues_n, weights);
        p.weights = weights;
    }
    struct reply_job rj = {.c = c, .fields = ALL_FIELDS};
    if (rc == ERR_OK && cmd_given(c, "FIELDS"))
        rc = take_fields(c, &rj.fields);
    if (rc != ERR_OK)
        return rc;
    struct reply_mark m = reply_array_guess(c->reply, p.count);
    rc = engine_lease(c->engine, c->gather, &p, c->now, reply_one, &rj, &c->e);
    if (rc != ERR_OK && rc != ERR_EMPTY)
        return rc;
    /* Whoever stands in line is there, too: its session has leases perhaps. */
    if (a->session.len > 0)
        engine_session_attach(c->engine, a->session, c->client_id);
    if (rc == ERR_EMPTY && cmd_given(c, "BLOCK") && c->may_block &&
        !c->timed_out) {
        if (!engine_wait_lease(c->engine, c->waiter, &p))
            return err_set(&c->e, ERR_LIMIT,
                           "a queue to wait for does not exist, and there are "
                           "as many as max-names allows");
        return cmd_block(c, a->block_ms == 0 ? UINT64_MAX
                                             : c->now.mono_ms + a->block_ms);
    }
    reply_array_end(c->reply, m, rj.n);
    return ERR_OK;
}

static const struct arg args[] = {
    {"queue", OPT(NAME, queue), .key = true, .help = "where to look first"},
    {0},
};

static const struct opt opts[] = {
    {"COUNT", OPT(U32, count), "as many as this", .value = "n", .min = 1,
     .max = COUNT_MAX, .value_default = "1"},
    {"BLOCK", OPT(MS, block_ms), "wait for a job this long, in ms; 0: for ever",
     .value = "ms"},
    {"WORKER", OPT(NAME, worker),
     "who asks (default: the worker that registered with the session)",
     .value = "w"},
    {"FOR", OPT(MS, lease_ms), "length of the leases", .value = "d", .min = 1},
    {"SESSION", OPT(NAME, session),
     "the leases end 3 s after the session's last connection has gone",
     .value = "s"},
    {"HANDLERS", OPT(LIST, handlers), "only jobs of these", .value = "n h...",
     .min = 1, .max = WAITER_HANDLERS_MAX},
    {"WEIGHTS", OPT(LIST, weights),
     "the queues take turns by weight, instead of the first named first",
     .value = "n weight...", .min = 1, .max = WAITER_QUEUES_MAX},
    {"FIELDS", OPT(LIST, fields),
     "tell these of each job, and its token, not all there is",
     .value = "n field...", .min = 1, .max = FIELDS_N},
    {"IDEMPOTENCY", OPT(BYTES, idempotency),
     "the same request with this key gets the same leases while they live; "
     "another one is refused then, and while a call waits with the key",
     .value = "k", .min = 1, .max = 200},
    {0},
};

const struct command cmd_job_lease = {
    .name = "JOB.LEASE",
    .group = "jobs",
    .summary =
        "Lease jobs of one or more queues, the first named first or by weight.",
    .since = "0.1",
    .reply = "an array of objects, empty if there is nothing to do",
    .flags = CMD_WRITE | CMD_BLOCKING | CMD_LEASES,
    CMD_PARSED(args, opts),
    .also = true,
    .also_offset = offsetof(CMD_ARGS, also),
    .errors = (const enum err[]){ERR_SYNTAX, ERR_LIMIT, ERR_MISMATCH, ERR_OK},
    .exec = lease_exec,
    .example = "JOB.LEASE emails COUNT 10 BLOCK 5000 WORKER w1 ALSO reports",
};
