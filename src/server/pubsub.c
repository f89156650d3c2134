#include "server/pubsub.h"

#include "server/client.h"
#include "server/parts.h"
#include "util/alloc.h"
#include "util/hash.h"
#include "util/parse.h"

/* A channel, or a pattern: the same, found in another map. */
struct topic {
    struct map_node node;
    struct list link; /* patterns: all of them */
    struct list subs; /* struct sub.of_topic */
    size_t len;
    uint32_t listeners;
    char name[];
};

struct sub {
    struct list of_topic, of_client;
    struct topic *topic;
    struct client *client;
};

struct subs { /* of one client */
    struct list channels, patterns;
    uint32_t n_channels, n_patterns;
    size_t bytes; /* of their names */
};

/* A message that waits for the end of the tick: for one client, as it will be
 * sent, or for all who listen to `channel_len` bytes at its front. */
struct later {
    struct list link;
    uint64_t client_id; /* 0 = all */
    size_t channel_len, len;
    char data[];
};

struct pubsub {
    struct map channels, patterns;
    struct list all_patterns;
    struct list later;
};

static struct slice topic_name(const struct topic *t)
{
    return slice_of(t->name, t->len);
}

static bool topic_eq(const struct map_node *n, const void *key)
{
    const struct topic *t = (const struct topic *)(const void *)n;
    return slice_eq(topic_name(t), *(const struct slice *)key);
}

struct pubsub *pubsub_new(void)
{
    struct pubsub *p = NEW(struct pubsub);
    map_init(&p->channels, topic_eq);
    map_init(&p->patterns, topic_eq);
    list_init(&p->all_patterns);
    list_init(&p->later);
    return p;
}

void pubsub_free(struct pubsub **pp)
{
    struct pubsub *p = *pp;
    if (p == NULL)
        return;
    ASSERT(p->channels.len == 0); /* the clients went first */
    ASSERT(p->patterns.len == 0);
    struct list *it;
    while ((it = list_pop(&p->later)) != NULL)
        mem_free(CONTAINER_OF(it, struct later, link));
    map_release(&p->channels);
    map_release(&p->patterns);
    FREE(pp);
}

static struct topic *topic_get(const struct pubsub *p, struct slice name,
                               bool pattern)
{
    const struct map *m = pattern ? &p->patterns : &p->channels;
    return (struct topic *)(void *)map_get(m, hash64(name), &name);
}

static struct topic *topic_make(struct pubsub *p, struct slice name,
                                bool pattern)
{
    struct topic *t = mem_zalloc(sizeof(*t) + name.len);
    t->len = name.len;
    if (name.len > 0)
        memcpy(t->name, name.data, name.len);
    list_init(&t->subs);
    map_add(pattern ? &p->patterns : &p->channels, &t->node, hash64(name));
    if (pattern)
        list_append(&p->all_patterns, &t->link);
    return t;
}

static void topic_drop(struct pubsub *p, struct topic *t, bool pattern)
{
    map_remove(pattern ? &p->patterns : &p->channels, &t->node);
    list_remove(&t->link);
    mem_free(t);
}

static struct sub *find(const struct client *c, struct slice name, bool pattern)
{
    if (c->subs == NULL)
        return NULL;
    const struct topic *t = topic_get(c->server->parts->pubsub, name, pattern);
    if (t == NULL)
        return NULL;
    struct list *mine = pattern ? &c->subs->patterns : &c->subs->channels;
    uint32_t n = pattern ? c->subs->n_patterns : c->subs->n_channels;
    /* Look through the shorter of the two lists. */
    if (n < t->listeners) {
        LIST_FOR (it, mine) {
            struct sub *sub = CONTAINER_OF(it, struct sub, of_client);
            if (sub->topic == t)
                return sub;
        }
        return NULL;
    }
    LIST_FOR (it, &t->subs) {
        struct sub *sub = CONTAINER_OF(it, struct sub, of_topic);
        if (sub->client == c)
            return sub;
    }
    return NULL;
}

bool pubsub_has_room(const struct client *c, size_t names, size_t bytes)
{
    size_t have = c->subs == NULL ? 0 : c->subs->bytes;
    return c->sub_count + names <= PUBSUB_NAMES_MAX &&
           have + bytes <= PUBSUB_BYTES_MAX;
}

bool pubsub_add(struct client *c, struct slice name, bool pattern)
{
    struct pubsub *p = c->server->parts->pubsub;
    if (find(c, name, pattern) != NULL)
        return false;
    if (c->subs == NULL) {
        c->subs = NEW(struct subs);
        list_init(&c->subs->channels);
        list_init(&c->subs->patterns);
    }
    struct topic *t = topic_get(p, name, pattern);
    if (t == NULL)
        t = topic_make(p, name, pattern);
    struct sub *sub = NEW(struct sub);
    sub->topic = t;
    sub->client = c;
    list_append(&t->subs, &sub->of_topic);
    list_append(pattern ? &c->subs->patterns : &c->subs->channels,
                &sub->of_client);
    t->listeners++;
    c->subs->bytes += name.len;
    (*(pattern ? &c->subs->n_patterns : &c->subs->n_channels))++;
    c->sub_count++;
    return true;
}

static void sub_end(struct sub *sub, bool pattern)
{
    struct client *c = sub->client;
    struct topic *t = sub->topic;
    list_remove(&sub->of_topic);
    list_remove(&sub->of_client);
    mem_free(sub);
    c->subs->bytes -= t->len;
    (*(pattern ? &c->subs->n_patterns : &c->subs->n_channels))--;
    c->sub_count--;
    if (--t->listeners == 0)
        topic_drop(c->server->parts->pubsub, t, pattern);
}

bool pubsub_remove(struct client *c, struct slice name, bool pattern)
{
    struct sub *sub = find(c, name, pattern);
    if (sub == NULL)
        return false;
    sub_end(sub, pattern);
    return true;
}

void pubsub_forget(struct client *c)
{
    if (c->subs == NULL)
        return;
    LIST_FOR (it, &c->subs->channels)
        sub_end(CONTAINER_OF(it, struct sub, of_client), false);
    LIST_FOR (it, &c->subs->patterns)
        sub_end(CONTAINER_OF(it, struct sub, of_client), true);
    ASSERT(c->sub_count == 0);
    FREE(&c->subs);
}

struct slice pubsub_any(const struct client *c, bool pattern)
{
    if (c->subs == NULL)
        return SLICE_EMPTY;
    struct list *it =
        list_first(pattern ? &c->subs->patterns : &c->subs->channels);
    if (it == NULL)
        return SLICE_EMPTY;
    return topic_name(CONTAINER_OF(it, struct sub, of_client)->topic);
}

unsigned pubsub_channels(const struct client *c)
{
    return c->subs == NULL ? 0 : c->subs->n_channels;
}

unsigned pubsub_patterns(const struct client *c)
{
    return c->subs == NULL ? 0 : c->subs->n_patterns;
}

/* As if nobody shared its channels. */
size_t pubsub_memory(const struct client *c)
{
    return c->subs == NULL
               ? 0
               : sizeof(*c->subs) + c->subs->bytes +
                     c->sub_count * (sizeof(struct topic) + sizeof(struct sub));
}

static struct later *later_new(struct pubsub *p, size_t len)
{
    struct later *l = mem_alloc(sizeof(*l) + len);
    *l = (struct later){.len = len};
    list_append(&p->later, &l->link);
    return l;
}

static void write_message(struct reply *r, const struct slice *pattern,
                          struct slice channel, struct slice message)
{
    reply_push(r, pattern != NULL ? 4 : 3);
    reply_str(r, pattern != NULL ? "pmessage" : "message");
    if (pattern != NULL)
        reply_bulk(r, *pattern);
    reply_bulk(r, channel);
    reply_bulk(r, message);
}

static void send_later(struct client *c, const struct slice *pattern,
                       struct slice channel, struct slice message)
{
    struct buf bytes = {0};
    struct reply r = {&bytes, c->proto, false};
    write_message(&r, pattern, channel, message);
    struct later *l = later_new(c->server->parts->pubsub, bytes.len);
    l->client_id = c->id;
    memcpy(l->data, bytes.data, bytes.len);
    buf_release(&bytes);
}

struct message {
    struct slice channel, text;
    bool gated;
    const struct client *running;
};

static size_t send_all(struct topic *t, const struct slice *pattern,
                       const struct message *m)
{
    size_t n = 0;
    LIST_FOR (it, &t->subs) {
        struct client *c = CONTAINER_OF(it, struct sub, of_topic)->client;
        n++;
        if (c == m->running) {
            send_later(c, pattern, m->channel, m->text);
            continue;
        }
        struct reply r = client_push_begin(c, m->gated);
        write_message(&r, pattern, m->channel, m->text);
        client_push_end(c);
    }
    return n;
}

size_t pubsub_publish(struct server *s, struct slice channel,
                      struct slice message, bool gated,
                      const struct client *running)
{
    struct pubsub *p = s->parts->pubsub;
    struct message m = {channel, message, gated, running};
    size_t n = 0;
    struct topic *t = topic_get(p, channel, false);
    if (t != NULL)
        n += send_all(t, NULL, &m);
    LIST_FOR (it, &p->all_patterns) {
        struct topic *pt = CONTAINER_OF(it, struct topic, link);
        struct slice pattern = topic_name(pt);
        if (glob_match(pattern, channel))
            n += send_all(pt, &pattern, &m);
    }
    return n;
}

void pubsub_publish_later(struct server *s, const char *prefix,
                          struct slice rest, struct slice message)
{
    size_t n = strlen(prefix);
    struct later *l = later_new(s->parts->pubsub, n + rest.len + message.len);
    l->channel_len = n + rest.len;
    memcpy(l->data, prefix, n);
    if (rest.len > 0)
        memcpy(l->data + n, rest.data, rest.len);
    if (message.len > 0)
        memcpy(l->data + l->channel_len, message.data, message.len);
}

static void send_now(struct server *s, const struct later *l)
{
    if (l->client_id == 0) {
        (void)pubsub_publish(
            s, slice_of(l->data, l->channel_len),
            slice_of(l->data + l->channel_len, l->len - l->channel_len), true,
            NULL);
        return;
    }
    struct client *c = client_by_id(s, l->client_id);
    if (c == NULL)
        return;
    struct reply r = client_push_begin(c, false);
    if (!r.muted)
        buf_add(r.out, l->data, l->len);
    client_push_end(c);
}

void pubsub_tick(struct server *s)
{
    struct list *it;
    while ((it = list_pop(&s->parts->pubsub->later)) != NULL) {
        struct later *l = CONTAINER_OF(it, struct later, link);
        send_now(s, l);
        mem_free(l);
    }
}

bool pubsub_anybody(const struct server *s)
{
    const struct pubsub *p = s->parts->pubsub;
    return p->channels.len > 0 || p->patterns.len > 0;
}

struct each {
    struct slice pattern;
    pubsub_fn fn;
    void *ud;
};

static void each_topic(struct map_node *n, void *ud)
{
    struct each *e = ud;
    const struct topic *t = (const struct topic *)(const void *)n;
    if (e->pattern.data == NULL || glob_match(e->pattern, topic_name(t)))
        e->fn(e->ud, topic_name(t));
}

void pubsub_each(const struct server *s, struct slice pattern, pubsub_fn fn,
                 void *ud)
{
    struct each e = {pattern, fn, ud};
    map_each(&s->parts->pubsub->channels, each_topic, &e);
}

size_t pubsub_listeners(const struct server *s, struct slice channel)
{
    const struct topic *t = topic_get(s->parts->pubsub, channel, false);
    return t == NULL ? 0 : t->listeners;
}

size_t pubsub_pattern_count(const struct server *s)
{
    return s->parts->pubsub->patterns.len;
}

size_t pubsub_channel_count(const struct server *s)
{
    return s->parts->pubsub->channels.len;
}
