#include <string.h>

#include "bench/payload.h"
#include "bench/proto.h"
#include "bench/workload.h"
#include "util/rng.h"

static enum err setup(struct conn *c, struct errbuf *e)
{
    (void)c;
    (void)e;
    return ERR_OK;
}

static void word_number(struct buf *out, const char *word, const char *prefix,
                        uint64_t n)
{
    char text[40];
    size_t len = strlen(prefix);
    memcpy(text, prefix, len);
    proto_bulk(out, slice_str(word));
    proto_bulk(out, slice_of(text, (size_t)(digits_put(text + len, n) - text)));
}

static void add(struct conn *c, const struct new_job *job)
{
    const struct workload *w = c->w;
    struct buf *out = &c->out;
    size_t words = 3;
    for (uint32_t i = 0; i < w->add_words_n; i++)
        words += proto_words(w->add_words[i]);
    words +=
        2 * (size_t)((w->priorities > 0) + (w->owners > 0) + (w->limits > 0) +
                     (w->handlers > 0) + (job->at_ms > 0 || w->delay_ms > 0));
    proto_array(out, words);
    proto_bulk(out, SLICE_LIT("JOB.ADD"));
    proto_bulk(out, slice_str(w->queue));
    proto_bulk(out, job->payload);
    if (job->at_ms > 0)
        word_number(out, "AT", "", job->at_ms);
    else if (w->delay_ms > 0)
        word_number(out, "DELAY", "", rng_below(job->rng, w->delay_ms + 1));
    if (w->priorities > 0)
        word_number(out, "PRIORITY", "", rng_below(job->rng, w->priorities));
    if (w->owners > 0)
        word_number(out, "OWNER", "owner", job->seq % w->owners);
    if (w->limits > 0)
        word_number(out, "LIMIT", "limit:", rng_below(job->rng, w->limits));
    if (w->handlers > 0)
        word_number(out, "HANDLER", "handler", job->seq % w->handlers);
    for (uint32_t i = 0; i < w->add_words_n; i++)
        proto_add_words(out, w->add_words[i]);
}

static uint32_t lease(struct conn *c, uint32_t n, uint64_t block_ms)
{
    struct buf *out = &c->out;
    proto_array(out, (size_t)(4 + 2 * (block_ms > 0) + 3 * c->w->lean));
    proto_bulk(out, SLICE_LIT("JOB.LEASE"));
    proto_bulk(out, slice_str(c->w->queue));
    proto_bulk(out, SLICE_LIT("COUNT"));
    proto_bulk_u64(out, n);
    if (c->w->lean) {
        proto_bulk(out, SLICE_LIT("FIELDS"));
        proto_bulk_u64(out, 1);
        proto_bulk(out, SLICE_LIT("payload"));
    }
    if (block_ms > 0) {
        proto_bulk(out, SLICE_LIT("BLOCK"));
        proto_bulk_u64(out, block_ms);
    }
    return 1;
}

static uint32_t ack(struct conn *c)
{
    struct buf *out = &c->out;
    uint32_t n = c->held.n;
    proto_array(out, n == 1 ? 2 : (size_t)n + 2);
    proto_bulk(out, SLICE_LIT("JOB.ACK"));
    for (uint32_t i = 0; i < n; i++) {
        if (i == 1)
            proto_bulk(out, SLICE_LIT("ALSO"));
        proto_bulk(out, token_slice(&c->held, i));
    }
    return 1;
}

/* A leased job is an object at depth 1: its members at depth 2 are names at
 * even places, each before its value. */
static void member(struct conn *c, const struct scan_item *item)
{
    if (item->kind == SCAN_INT && c->reading_nominal && c->held.n > 0) {
        c->held.list[c->held.n - 1].stamp = (uint64_t)item->n * 1000;
        c->reading_nominal = false;
    }
    if (item->kind != SCAN_BULK)
        return;
    if (item->index % 2 == 0) {
        c->reading_token = slice_eq(item->text, SLICE_LIT("token"));
        c->reading_payload =
            (c->w->mix == MIX_PICKUP || c->w->mix == MIX_DELAYED) &&
            slice_eq(item->text, SLICE_LIT("payload"));
        c->reading_nominal = c->w->mix == MIX_SCHEDULES &&
                             slice_eq(item->text, SLICE_LIT("nominal_ms"));
    } else if (c->reading_token) {
        tokens_add(&c->held, item->text);
        c->reading_token = false;
        c->scan.skip = c->w->mix < MIX_PICKUP;
    } else if (c->reading_payload && c->held.n > 0) {
        c->held.list[c->held.n - 1].stamp = payload_stamp(item->text);
        c->reading_payload = false;
    }
}

static void item(void *ud, const struct scan_item *item)
{
    struct conn *c = ud;
    if (item->kind == SCAN_ERROR) {
        conn_error(c, item->text);
        return;
    }
    if (item->depth == 2) {
        member(c, item);
        return;
    }
    /* Only JOB.ACK with ALSO has texts there: one for each token. */
    if (item->depth == 1 && item->kind == SCAN_BULK &&
        !slice_eq(item->text, SLICE_LIT("OK")))
        conn_error(c, item->text);
}

static enum scan_state read_reply(struct conn *c, struct slice in, size_t *used)
{
    return scanner_step(&c->scan, in, used, item, c);
}

const struct proto proto_belfry = {
    .name = "belfry",
    .resp = true,
    .blocking = true,
    .setup = setup,
    .add = add,
    .lease = lease,
    .ack = ack,
    .read = read_reply,
};
