/* Looking at schedules: one, or by name. */
#include "engine/schedule_impl.h"
#include "util/parse.h"

/* Views borrow copies of the rows, which the engine keeps until the next. */
static void show(struct schedule *s, const struct rec_schedule_fill *fill,
                 struct schedule_view *v)
{
    const struct rec_schedule *r = &s->set;
    const struct rec_schedule_state *st = &s->st;
    *v = (struct schedule_view){
        .name = r->name,
        .queue = r->queue,
        .payload = r->payload,
        .timing = s->timing,
        .overlap = (enum schedule_overlap)r->overlap,
        .misfire = (enum schedule_misfire)r->misfire,
        .grace_ms = r->grace_ms,
        .window_ms = r->window_ms,
        .max = r->max,
        .pause_after = r->pause_after,
        .created_ms = r->created_ms,
        .changed_ms = r->changed_ms,
        .paused = (enum schedule_paused)st->paused,
        .next_ms = st->next_ms,
        .due_ms = st->due_ms,
        .last_ms = st->last_ms,
        .last_fired_ms = st->last_fired_ms,
        .last_job = st->last_job,
        .fired = st->fired,
        .missed = st->missed,
        .overlapped = st->overlapped,
        .failed = st->failed,
        .completed = st->completed,
        .rejected = st->rejected,
        .manual = st->manual,
        .live = st->live,
        .buffered = times_count(st->buffered),
        .failures_in_row = st->failures_in_row,
        .error = st->error,
    };
    v->outcomes_n = schedule_outcomes(st->outcomes, v->outcomes);
    if (!options_decode(&v->options, r->options))
        memset(&v->options, 0, sizeof(v->options));
    if (fill != NULL) {
        v->filling = true;
        v->fill_from_ms = fill->from_ms;
        v->fill_to_ms = fill->to_ms;
        v->fill_at_ms = fill->at_ms;
        v->filled = fill->made;
    }
}

/* All that is to be shown of one. */
static enum err load(struct engine *e, struct gather *g, const struct id *id,
                     struct schedule *s, struct rec_schedule_fill *fill,
                     bool *filling, struct errbuf *err)
{
    struct key k;
    struct slice row;
    enum err rc =
        store_get(e->store, g, FAMILY_NAMED,
                  schedule_key(&k, NAMED_SCHEDULE_FILL, id), &row, err);
    *filling = rc == ERR_OK && rec_schedule_fill_decode(fill, row);
    enum err loaded = schedule_load(e, g, id, s, err);
    if (loaded != ERR_OK)
        return loaded;
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

enum err engine_schedule_get(struct engine *e, struct gather *g,
                             struct slice name, struct schedule_view *v,
                             struct errbuf *err)
{
    struct schedule s = {0};
    struct rec_schedule_fill fill;
    bool filling;
    struct id id = due_name_id(name);
    enum err rc = load(e, g, &id, &s, &fill, &filling, err);
    if (rc == ERR_OK) {
        /* The copies are handed over to the engine and decoded there. */
        buf_clear(&e->shown);
        size_t set_len = s.set_row.len;
        buf_add_slice(&e->shown, buf_slice(&s.set_row));
        buf_add_slice(&e->shown, buf_slice(&s.st_row));
        struct slice set = slice_of(e->shown.data, set_len);
        struct slice st =
            slice_of(e->shown.data + set_len, e->shown.len - set_len);
        struct schedule shown = {.id = id};
        if (!schedule_of_rows(&shown, set, st))
            rc = err_set(err, ERR_CORRUPT, "family named: bad schedule");
        else
            show(&shown, filling ? &fill : NULL, v);
    }
    schedule_release(&s);
    if (rc == ERR_NOTFOUND)
        return err_set(err, rc, "no such schedule");
    return rc;
}

/* --- lists --------------------------------------------------------------- */

struct found {
    const struct schedule_page *page;
    struct buf ids;
    struct buf *last; /* name looked at */
    uint32_t looked;
};

static bool note(struct slice key, struct slice value, void *ud)
{
    struct found *f = ud;
    struct slice match = f->page->match;
    uint8_t kind;
    struct slice name;
    struct rec_schedule_name r;
    f->looked++;
    if (!key_parse_named(key, &kind, &name) ||
        !rec_schedule_name_decode(&r, value))
        return true;
    buf_clear(f->last);
    buf_add_slice(f->last, name);
    if (match.len > 0 && !glob_match(match, name))
        return true;
    buf_add(&f->ids, r.id.bytes, ID_LEN);
    return f->ids.len < (size_t)f->page->count * ID_LEN;
}

/* What each name that fits begins with: names before and behind need no look,
 * which are a million others if somebody asks for "report-*". */
static struct slice literal_of(struct slice glob)
{
    size_t n = 0;
    while (n < glob.len && n < NAME_MAX_LEN &&
           memchr("*?[\\", glob.data[n], 4) == NULL)
        n++;
    return slice_of(glob.data, n);
}

static enum err find(struct engine *e, struct gather *g, struct found *f,
                     struct errbuf *err)
{
    const struct schedule_page *page = f->page;
    struct key from, to, prefix, k;
    schedule_name_key(&prefix, literal_of(page->match));
    from = prefix;
    if (page->after.len > 0) {
        key_next(&from, schedule_name_key(&k, page->after));
        if (slice_cmp(key_slice(&from), key_slice(&prefix)) < 0)
            from = prefix;
    }
    key_after(&to, key_slice(&prefix));
    if (slice_cmp(key_slice(&from), key_slice(&to)) >= 0)
        return ERR_OK;
    return store_scan(e->store, g, FAMILY_NAMED, key_slice(&from),
                      key_slice(&to), page->look, note, f, err);
}

static enum err each(struct engine *e, struct gather *g, const struct id *id,
                     schedule_fn fn, void *ud, struct errbuf *err)
{
    struct schedule s = {0};
    struct schedule_view v;
    struct rec_schedule_fill fill;
    bool filling;
    enum err rc = load(e, g, id, &s, &fill, &filling, err);
    if (rc == ERR_OK && fn != NULL) {
        show(&s, filling ? &fill : NULL, &v);
        fn(ud, &v);
    }
    schedule_release(&s);
    return rc == ERR_NOTFOUND ? ERR_OK : rc;
}

enum err engine_schedules(struct engine *e, struct gather *g,
                          const struct schedule_page *page, schedule_fn fn,
                          void *ud, struct buf *next, struct errbuf *err)
{
    struct found f = {.page = page, .last = next};
    buf_clear(next);
    enum err rc = find(e, g, &f, err);
    /* First for the gather alone: nothing is shown twice. */
    for (int pass = 0; pass < 2 && rc == ERR_OK; pass++) {
        bool pending = false;
        for (size_t at = 0; rc == ERR_OK && at < f.ids.len; at += ID_LEN) {
            struct id id;
            memcpy(id.bytes, f.ids.data + at, ID_LEN);
            rc = each(e, g, &id, pass == 0 ? NULL : fn, ud, err);
            pending = pending || rc == ERR_PENDING;
            if (rc == ERR_PENDING && pass == 0)
                rc = ERR_OK;
        }
        if (rc == ERR_OK && pending)
            rc = ERR_PENDING;
    }
    if (f.looked < page->look && f.ids.len < (size_t)page->count * ID_LEN)
        buf_clear(next); /* that was all */
    buf_release(&f.ids);
    return rc;
}
