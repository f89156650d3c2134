/* Redis as a job queue, in the two ways people use it.
 *
 * Streams: XADD; XREADGROUP COUNT n; XACK and XDEL of many ids (without XDEL
 * the stream grows for ever). Lists: LPUSH; LMOVE to a list of jobs in
 * progress, one at a time; LREM by value.
 */
#include "bench/proto.h"
#include "bench/workload.h"

static enum err stream_setup(struct conn *c, struct errbuf *e)
{
    struct buf line = {0};
    buf_printf(&line, "XGROUP CREATE %s g 0 MKSTREAM", c->w->queue);
    enum err rc = conn_ask(c, buf_cstr(&line), NULL, e);
    buf_release(&line);
    /* The group is there from an earlier run. */
    return rc == ERR_SYNTAX ? ERR_OK : rc;
}

static void stream_add(struct conn *c, const struct new_job *job)
{
    struct buf *out = &c->out;
    proto_array(out, 5);
    proto_bulk(out, SLICE_LIT("XADD"));
    proto_bulk(out, slice_str(c->w->queue));
    proto_bulk(out, SLICE_LIT("*"));
    proto_bulk(out, SLICE_LIT("d"));
    proto_bulk(out, job->payload);
}

static uint32_t stream_lease(struct conn *c, uint32_t n, uint64_t block_ms)
{
    struct buf *out = &c->out;
    (void)block_ms;
    proto_array(out, 9);
    proto_add_words(out, "XREADGROUP GROUP g c1 COUNT");
    proto_bulk_u64(out, n);
    proto_bulk(out, SLICE_LIT("STREAMS"));
    proto_bulk(out, slice_str(c->w->queue));
    proto_bulk(out, SLICE_LIT(">"));
    return 1;
}

static uint32_t stream_ack(struct conn *c)
{
    struct buf *out = &c->out;
    proto_array(out, (size_t)c->held.n + 3);
    proto_bulk(out, SLICE_LIT("XACK"));
    proto_bulk(out, slice_str(c->w->queue));
    proto_bulk(out, SLICE_LIT("g"));
    for (uint32_t i = 0; i < c->held.n; i++)
        proto_bulk(out, token_slice(&c->held, i));
    proto_array(out, (size_t)c->held.n + 2);
    proto_bulk(out, SLICE_LIT("XDEL"));
    proto_bulk(out, slice_str(c->w->queue));
    for (uint32_t i = 0; i < c->held.n; i++)
        proto_bulk(out, token_slice(&c->held, i));
    return 2;
}

/* [[stream, [[id, [field, value]], ...]]]: an id is the first of depth 4. */
static void stream_item(void *ud, const struct scan_item *item)
{
    struct conn *c = ud;
    if (item->kind == SCAN_ERROR)
        conn_error(c, item->text);
    else if (item->kind == SCAN_BULK && item->depth == 4 && item->index == 0)
        tokens_add(&c->held, item->text);
}

static enum scan_state stream_read(struct conn *c, struct slice in,
                                   size_t *used)
{
    return scanner_step(&c->scan, in, used, stream_item, c);
}

const struct proto proto_redis_stream = {
    .name = "redis-stream",
    .resp = true,
    .setup = stream_setup,
    .add = stream_add,
    .lease = stream_lease,
    .ack = stream_ack,
    .read = stream_read,
};

static void list_add(struct conn *c, const struct new_job *job)
{
    struct buf *out = &c->out;
    proto_array(out, 3);
    proto_bulk(out, SLICE_LIT("LPUSH"));
    proto_bulk(out, slice_str(c->w->queue));
    proto_bulk(out, job->payload);
}

#define IN_PROGRESS SLICE_LIT("bench:in-progress")

static uint32_t list_lease(struct conn *c, uint32_t n, uint64_t block_ms)
{
    struct buf *out = &c->out;
    (void)block_ms;
    for (uint32_t i = 0; i < n; i++) {
        proto_array(out, 5);
        proto_bulk(out, SLICE_LIT("LMOVE"));
        proto_bulk(out, slice_str(c->w->queue));
        proto_bulk(out, IN_PROGRESS);
        proto_add_words(out, "RIGHT LEFT");
    }
    return n;
}

static uint32_t list_ack(struct conn *c)
{
    struct buf *out = &c->out;
    for (uint32_t i = 0; i < c->held.n; i++) {
        proto_array(out, 4);
        proto_bulk(out, SLICE_LIT("LREM"));
        proto_bulk(out, IN_PROGRESS);
        proto_bulk(out, SLICE_LIT("-1"));
        proto_bulk(out, token_slice(&c->held, i));
    }
    return c->held.n;
}

/* Only LMOVE answers with a bulk. */
static void list_item(void *ud, const struct scan_item *item)
{
    struct conn *c = ud;
    if (item->kind == SCAN_ERROR)
        conn_error(c, item->text);
    else if (item->kind == SCAN_BULK)
        tokens_add(&c->held, item->text);
}

static enum scan_state list_read(struct conn *c, struct slice in, size_t *used)
{
    return scanner_step(&c->scan, in, used, list_item, c);
}

const struct proto proto_redis_list = {
    .name = "redis-list",
    .resp = true,
    .add = list_add,
    .lease = list_lease,
    .ack = list_ack,
    .read = list_read,
};
