/* What JOB.ADD and JOB.ADDM were told under an idempotency key: the same
 * request again gets the same ids, and that they were new, if they were.
 *
 * A call in parts is kept part by part, each with its entry. The first part has
 * the key that the call came with and a hash of all of it, so that no other
 * call is taken for it. The others go by the first one's first job: they belong
 * to this call alone, and outlive the key.
 */
#include "engine/core.h"

/* Where the reply to a part is kept. */
struct kept {
    enum key_kind kind;
    struct slice name;
    char part[ID_LEN + 4];
};

static void kept_at(const struct add_params *p, struct kept *at)
{
    *at = (struct kept){.kind = KEY_ADD, .name = p->idempotency};
    if (p->before == 0)
        return;
    at->kind = KEY_ADD_PART;
    at->name = slice_of(at->part, sizeof(at->part));
    memcpy(at->part, p->first.bytes, ID_LEN);
    for (unsigned i = 0; i < 4; i++)
        at->part[ID_LEN + i] = (char)(p->before >> (8 * i));
}

static uint64_t hash_of(struct engine *e, const struct add_params *p)
{
    uint32_t n = p->before == 0 ? p->n + p->behind : p->n;
    uint64_t h = hash64_seed(p->queue, n);
    for (uint32_t i = 0; i < n; i++)
        h = hash64_seed(p->payloads[i], h);
    h = hash64_seed(p->name, h);
    size_t len = options_size(p->options);
    buf_clear(&e->scratch);
    options_encode(p->options, buf_room(&e->scratch, len));
    return hash64_seed(slice_of(e->scratch.data, len), h);
}

static enum err find(struct engine *e, struct gather *g,
                     const struct add_params *p, struct now now,
                     struct rec_add_reply *r, struct errbuf *err)
{
    struct kept at;
    struct slice value;
    kept_at(p, &at);
    enum err rc = idem_find(e, g, at.kind, at.name, now, &value, err);
    if (rc != ERR_OK)
        return rc;
    if (!rec_add_reply_decode(r, value) || r->ids.len < ID_LEN)
        return err_set(err, ERR_CORRUPT, "family done: bad row of a request");
    bool over = at.kind == KEY_ADD && r->until_ms <= now.wall_ms;
    return over ? ERR_NOTFOUND : ERR_OK;
}

enum err engine_added(struct engine *e, struct gather *g,
                      const struct add_params *p, struct now now, uint32_t *n,
                      struct errbuf *err)
{
    struct rec_add_reply r;
    enum err rc = find(e, g, p, now, &r, err);
    if (rc == ERR_OK)
        *n = (uint32_t)(r.ids.len / ID_LEN);
    return rc;
}

enum err request_again(struct engine *e, struct gather *g,
                       const struct add_params *p, struct now now,
                       struct add_result *results, struct errbuf *err)
{
    struct rec_add_reply r;
    enum err rc = find(e, g, p, now, &r, err);
    if (rc != ERR_OK)
        return rc;
    if (r.request != hash_of(e, p) || r.ids.len != p->n * ID_LEN)
        return err_set(err, ERR_MISMATCH,
                       "IDEMPOTENCY key was used with another request");
    for (uint32_t i = 0; i < p->n; i++) {
        results[i] = (struct add_result){.created = r.older == 0,
                                         .start_estimate_ms = -1};
        memcpy(results[i].id.bytes, r.ids.data + i * ID_LEN, ID_LEN);
    }
    return ERR_OK;
}

void request_keep(struct engine *e, const struct add_params *p,
                  const struct add_result *results, struct now now)
{
    struct kept at;
    struct buf ids = {0};
    kept_at(p, &at);
    for (uint32_t i = 0; i < p->n; i++)
        buf_add(&ids, results[i].id.bytes, ID_LEN);
    struct rec_add_reply r = {.request = hash_of(e, p),
                              .until_ms = idem_until(e, now),
                              .ids = buf_slice(&ids),
                              .older = !results[0].created};
    rec_add_reply_encode(
        &r, idem_put(e, at.kind, at.name, r.until_ms, rec_add_reply_size(&r)));
    buf_release(&ids);
}
