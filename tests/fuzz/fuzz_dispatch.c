/* Bytes from a connection, through parser, dispatch and commands, on a store in
 * memory. Nothing may crash, leak, or leave the reply stream broken. */
#include <stdint.h>

#include "server/backend.h"
#include "server/client.h"
#include "server/server.h"
#include "server/tick.h"
#include "store/mem.h"
#include "util/logger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each reply begins with a known type and ends with CRLF. */
static void check_replies(struct slice out)
{
    if (out.len == 0)
        return;
    ASSERT(memchr("+-:$*_%~>=", out.data[0], 10) != NULL);
    ASSERT(out.len >= 3 && out.data[out.len - 1] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errbuf e;
    struct mem_knobs knobs = {0};
    bool done = false;
    logger_set_level(LL_WARNING);
    struct conf *conf = conf_new();
    struct server *s = server_bare(conf);
    enum err rc = backend_open_mem(s, mem_disk_new(&knobs), &e);
    while (rc == ERR_OK && !done)
        rc = backend_load_step(s, &done, &e);
    ASSERT(rc == ERR_OK);
    server_ready(s);
    struct client *c = client_new(s);
    client_feed(c, slice_of(data, size));
    for (int i = 0; i < 8; i++) {
        s->fresh = false;
        server_refresh(s);
        backend_poll(s);
        clients_continue(s);
        server_end_tick(s);
    }
    check_replies(buf_slice(&c->out));
    server_free(&s);
    conf_free(&conf);
    return 0;
}
