/* Events: to those who listen, and compactly into the entry. */
#include "engine/core.h"

static const struct {
    const char *name, *meaning;
    bool logged;
} kinds[EVENT_TYPES] = {
#define EVENT(NAME, number, name, logged, meaning) \
    [EVENT_##NAME] = {name, meaning, logged},
#include "engine/events.def"
#undef EVENT
};

const char *event_name(enum event_type type)
{
    ASSERT(type > 0 && type < EVENT_TYPES);
    return kinds[type].name;
}

const char *event_meaning(enum event_type type)
{
    ASSERT(type > 0 && type < EVENT_TYPES);
    return kinds[type].meaning;
}

#define TEXT_LOGGED_MAX 256

static void log_event(struct engine *e, const struct event *ev)
{
    struct rec_event r = {.type = (uint8_t)ev->type,
                          .at_ms = ev->at_ms,
                          .job = ev->id,
                          .n = ev->n,
                          .queue = ev->queue_id,
                          .handler = ev->handler_id,
                          .took_ms = ev->took_ms,
                          .text = ev->text};
    if (r.text.len > TEXT_LOGGED_MAX)
        r.text.len = TEXT_LOGGED_MAX;
    rec_event_encode(&r, store_event(e->store, rec_event_size(&r)));
}

void report_event(struct engine *e, const struct event *ev)
{
    if (kinds[ev->type].logged)
        log_event(e, ev);
    if ((e->event_mask & EVENT_BIT(ev->type)) != 0)
        e->on_event(e->event_ud, ev);
}

void report(struct engine *e, enum event_type type, const struct job *j,
            struct now now, uint64_t took_ms, struct slice text)
{
    struct event ev = {.type = type,
                       .at_ms = now.wall_ms,
                       .id = j->id,
                       .n = j->n,
                       .queue = j->queue->name,
                       .handler = j->handler->name,
                       .worker =
                           j->worker == NULL ? SLICE_EMPTY : j->worker->name,
                       .queue_id = j->queue->set.id,
                       .handler_id = j->handler->set.id,
                       .took_ms = took_ms,
                       .text = text};
    report_event(e, &ev);
}

void fault(struct engine *e, struct now now, const struct errbuf *why)
{
    e->timer_faults++;
    if ((e->event_mask & EVENT_BIT(EVENT_ENGINE_FAULT)) == 0)
        return;
    struct event ev = {.type = EVENT_ENGINE_FAULT,
                       .at_ms = now.wall_ms,
                       .text = slice_str(why->text)};
    e->on_event(e->event_ud, &ev);
}
