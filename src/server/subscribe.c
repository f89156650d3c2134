#include "server/subscribe.h"

#include "server/pubsub.h"

/* Pushed, so that CLIENT REPLY OFF does not keep it back: as in Redis. */
static void confirm(struct cmd_ctx *c, const char *kind,
                    const struct slice *name)
{
    bool muted = c->reply->muted;
    c->reply->muted = false;
    reply_push(c->reply, 3);
    reply_str(c->reply, kind);
    if (name == NULL)
        reply_null(c->reply);
    else
        reply_bulk(c->reply, *name);
    reply_int(c->reply, ctx_client(c)->sub_count);
    c->reply->muted = muted;
}

enum err subscribe_all(struct cmd_ctx *c, bool pattern)
{
    const struct subscribe_args *a = c->args;
    size_t bytes = 0;
    for (uint32_t i = 0; i < a->names.n; i++)
        bytes += a->names.words[i].len;
    if (!pubsub_has_room(ctx_client(c), a->names.n, bytes))
        return err_set(&c->e, ERR_LIMIT,
                       "a connection listens to at most %d names of %zumb "
                       "together",
                       PUBSUB_NAMES_MAX, PUBSUB_BYTES_MAX >> 20);
    for (uint32_t i = 0; i < a->names.n; i++) {
        (void)pubsub_add(ctx_client(c), a->names.words[i], pattern);
        confirm(c, pattern ? "psubscribe" : "subscribe", &a->names.words[i]);
    }
    return ERR_OK;
}

/* The name dies with its last listener, so it is confirmed from a copy. */
static void leave_all(struct cmd_ctx *c, bool pattern, const char *kind)
{
    struct client *client = ctx_client(c);
    struct buf copy = {0};
    struct slice name = pubsub_any(client, pattern);
    if (name.data == NULL)
        confirm(c, kind, NULL);
    while (name.data != NULL) {
        buf_clear(&copy);
        buf_add_slice(&copy, name);
        struct slice kept = buf_slice(&copy);
        bool was = pubsub_remove(client, kept, pattern);
        ASSERT(was);
        confirm(c, kind, &kept);
        name = pubsub_any(client, pattern);
    }
    buf_release(&copy);
}

enum err unsubscribe_all(struct cmd_ctx *c, bool pattern)
{
    const struct subscribe_args *a = c->args;
    const char *kind = pattern ? "punsubscribe" : "unsubscribe";
    if (a->names.n == 0)
        leave_all(c, pattern, kind);
    for (uint32_t i = 0; i < a->names.n; i++) {
        (void)pubsub_remove(ctx_client(c), a->names.words[i], pattern);
        confirm(c, kind, &a->names.words[i]);
    }
    return ERR_OK;
}
