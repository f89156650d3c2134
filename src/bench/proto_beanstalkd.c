#include "bench/proto.h"
#include "bench/workload.h"
#include "util/parse.h"

static void add(struct conn *c, const struct new_job *job)
{
    buf_add_str(&c->out, "put 10 0 60 ");
    buf_add_u64(&c->out, job->payload.len);
    buf_add_str(&c->out, "\r\n");
    buf_add_slice(&c->out, job->payload);
    buf_add_str(&c->out, "\r\n");
}

static uint32_t lease(struct conn *c, uint32_t n, uint64_t block_ms)
{
    (void)block_ms;
    for (uint32_t i = 0; i < n; i++)
        buf_add_str(&c->out, "reserve-with-timeout 0\r\n");
    return n;
}

static uint32_t ack(struct conn *c)
{
    for (uint32_t i = 0; i < c->held.n; i++) {
        buf_add_str(&c->out, "delete ");
        buf_add_slice(&c->out, token_slice(&c->held, i));
        buf_add_str(&c->out, "\r\n");
    }
    return c->held.n;
}

/* "RESERVED <id> <bytes>\r\n<data>\r\n", or a line. */
static enum scan_state read_reply(struct conn *c, struct slice in, size_t *used)
{
    const char *lf = in.len > 0 ? memchr(in.data, '\n', in.len) : NULL;
    if (lf == NULL)
        return SCAN_MORE;
    size_t head = (size_t)(lf - in.data) + 1;
    if (head < 2)
        return SCAN_BAD;
    struct slice line = slice_of(in.data, head - 2);
    *used = head;
    if (slice_has_prefix(line, SLICE_LIT("RESERVED "))) {
        const char *id = line.data + 9;
        const char *blank = memchr(id, ' ', line.len - 9);
        uint64_t bytes;
        if (blank == NULL ||
            !parse_u64(
                slice_of(blank + 1, line.len - (size_t)(blank + 1 - line.data)),
                &bytes))
            return SCAN_BAD;
        *used = 0;
        if (in.len < head + bytes + 2)
            return SCAN_MORE;
        tokens_add(&c->held, slice_of(id, (size_t)(blank - id)));
        *used = head + bytes + 2;
    } else if (!slice_has_prefix(line, SLICE_LIT("INSERTED")) &&
               !slice_has_prefix(line, SLICE_LIT("DELETED")) &&
               !slice_has_prefix(line, SLICE_LIT("TIMED_OUT"))) {
        conn_error(c, line);
    }
    return SCAN_DONE;
}

const struct proto proto_beanstalkd = {
    .name = "beanstalkd",
    .add = add,
    .lease = lease,
    .ack = ack,
    .read = read_reply,
};
