/* RESP commands: read in one go and in pieces, the same words must come out,
 * inside the input, and the same error. */
#include <stdint.h>
#include <stdlib.h>

#include "resp/parse.h"
#include "util/alloc.h"
#include "util/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct resp_limits limits = {1 << 20, false};

/* What was read, as text that can be compared. */
static void add_command(struct buf *log, const struct resp_args *args)
{
    buf_add_u64(log, args->argc);
    for (uint32_t i = 0; i < args->argc; i++) {
        buf_add_char(log, ' ');
        buf_add_u64(log, args->argv[i].len);
        buf_add_char(log, ':');
        buf_add_slice(log, args->argv[i]);
    }
    buf_add_char(log, '\n');
}

static void check_words(const struct resp_args *args, struct slice in)
{
    for (uint32_t i = 0; i < args->argc; i++) {
        struct slice w = args->argv[i], t = buf_slice(&args->text);
        bool inside = w.data >= in.data && w.data + w.len <= in.data + in.len;
        bool quoted = t.data != NULL && w.data >= t.data &&
                      w.data + w.len <= t.data + t.len;
        ASSERT(w.len == 0 || inside || quoted);
    }
}

static void read_all(struct slice in, size_t step, struct buf *log)
{
    struct resp_parser p = {NULL};
    struct resp_args args = {NULL, 0, 0, {NULL, 0, 0}};
    struct errbuf e;
    size_t done = 0, have = 0;
    while (have < in.len) {
        have = in.len - have < step ? in.len : have + step;
        /* A copy of the right size, so that no read goes past its end. */
        char *copy = (char *)mem_alloc(have - done);
        if (have > done)
            memcpy(copy, in.data + done, have - done);
        struct slice rest = slice_of(copy, have - done);
        enum resp_status st;
        do {
            size_t used;
            st = resp_parse(&p, &limits, rest, &args, &used, &e);
            ASSERT(used <= rest.len);
            if (st == RESP_COMMAND) {
                check_words(&args, rest);
                add_command(log, &args);
            }
            rest.data += used;
            rest.len -= used;
            done += used;
        } while (st == RESP_COMMAND || st == RESP_NOTHING);
        mem_free(copy);
        if (st == RESP_ERROR) {
            buf_add_str(log, e.text);
            break;
        }
    }
    resp_parser_release(&p);
    resp_args_release(&args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = {NULL, 0, 0}, pieces = {NULL, 0, 0};
    if (size < 1)
        return 0;
    struct slice in = slice_of(data + 1, size - 1);
    read_all(in, SIZE_MAX / 2, &whole);
    /* Long inputs in small pieces would only be slow. */
    size_t step = data[0] + 1u + in.len / 4096;
    read_all(in, step, &pieces);
    /* Bounds on unfinished lines are noticed at another place in pieces. */
    if (in.len <= RESP_INLINE_MAX)
        ASSERT(slice_eq(buf_slice(&whole), buf_slice(&pieces)));
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
