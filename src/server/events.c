#include "server/events.h"

#include "engine/engine.h"
#include "server/parts.h"
#include "server/pubsub.h"
#include "server/server.h"
#include "util/logger.h"

/* What operators read in the log, whether anybody subscribed or not. */
#define OF_HANDLERS                                                         \
    (EVENT_BIT(EVENT_HANDLER_PAUSED) | EVENT_BIT(EVENT_HANDLER_RESUMED) |   \
     EVENT_BIT(EVENT_BREAKER_OPENED) | EVENT_BIT(EVENT_BREAKER_HALF_OPEN) | \
     EVENT_BIT(EVENT_BREAKER_CLOSED))
#define LOGGED                                                                 \
    (EVENT_BIT(EVENT_QUEUE_PAUSED) | EVENT_BIT(EVENT_QUEUE_RESUMED) |          \
     EVENT_BIT(EVENT_ENGINE_FAULT) | EVENT_BIT(EVENT_JOB_FAILED) | SCHEDULES | \
     OF_HANDLERS)
/* What is wrong with schedules; overlap is what they were told to expect. */
#define SCHEDULES                                                            \
    (EVENT_BIT(EVENT_SCHEDULE_MISSED) | EVENT_BIT(EVENT_SCHEDULE_REJECTED) | \
     EVENT_BIT(EVENT_SCHEDULE_PAUSED) | EVENT_BIT(EVENT_SCHEDULE_REPAIRED))
#define ALERTS                                                    \
    (EVENT_BIT(EVENT_JOB_FAILED) | EVENT_BIT(EVENT_JOB_TIMEOUT) | \
     EVENT_BIT(EVENT_ENGINE_FAULT) | SCHEDULES |                  \
     EVENT_BIT(EVENT_BREAKER_OPENED) | EVENT_BIT(EVENT_BREAKER_CLOSED))
#define EVERYTHING (EVENT_BIT(EVENT_TYPES) - 2)

const char *event_channel(enum event_type type)
{
    if (type == EVENT_JOB_READY)
        return "belfry:ready:";
    if (type == EVENT_QUEUE_PAUSED || type == EVENT_QUEUE_RESUMED)
        return "belfry:queue:";
    if ((OF_HANDLERS & EVENT_BIT(type)) != 0)
        return "belfry:handler:";
    if (type == EVENT_ENGINE_FAULT || type == EVENT_SESSION_ENDED)
        return NULL;
    return "belfry:job:";
}

bool event_is_alert(enum event_type type)
{
    return (ALERTS & EVENT_BIT(type)) != 0;
}

static void add_json_str(struct buf *out, struct slice s)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char ch = (unsigned char)s.data[i];
        if (ch == '"' || ch == '\\')
            buf_add_char(out, '\\');
        if (ch < ' ')
            buf_printf(out, "\\u%04x", ch);
        else
            buf_add_char(out, (char)ch);
    }
    buf_add_char(out, '"');
}

static void add_field(struct buf *out, const char *name, struct slice value)
{
    if (value.len == 0)
        return;
    buf_printf(out, ",\"%s\":", name);
    add_json_str(out, value);
}

static void add_json(struct buf *out, const struct event *ev)
{

    buf_printf(out, "{\"event\":\"%s\",\"at_ms\":%llu", event_name(ev->type),
               (unsigned long long)ev->at_ms);
    if (!id_is_zero(&ev->id)) {
        char text[ID_TEXT_LEN];
        id_text(&ev->id, text);
        add_field(out, "id", slice_of(text, ID_TEXT_LEN));
    }
    if (ev->n > 0)
        buf_printf(out, ",\"n\":%u", ev->n);
    add_field(out, "queue", ev->queue);
    add_field(out, "handler", ev->handler);
    add_field(out, "worker", ev->worker);
    if (ev->took_ms > 0)
        buf_printf(out, ",\"took_ms\":%llu", (unsigned long long)ev->took_ms);
    add_field(out, "text", ev->text);
    buf_add_char(out, '}');
}

static void tell_subscribers(struct server *s, const struct event *ev)
{
    const char *channel = event_channel(ev->type);
    if (ev->type == EVENT_JOB_READY) {
        char text[ID_TEXT_LEN];
        id_text(&ev->id, text);
        pubsub_publish_later(s, channel, ev->queue,
                             slice_of(text, ID_TEXT_LEN));
        return;
    }
    struct buf json = {0};
    add_json(&json, ev);
    struct slice name =
        (OF_HANDLERS & EVENT_BIT(ev->type)) != 0 ? ev->handler : ev->queue;
    if (channel != NULL && name.len > 0)
        pubsub_publish_later(s, channel, name, buf_slice(&json));
    if (event_is_alert(ev->type))
        pubsub_publish_later(s, "belfry:alert", SLICE_EMPTY, buf_slice(&json));
    buf_release(&json);
}

static void tell_log(const struct event *ev)
{
    char text[ID_TEXT_LEN];
    switch (ev->type) {
    case EVENT_ENGINE_FAULT:
        say(LL_WARNING, "fault: %.*s", SLICE_FMT(ev->text));
        break;
    case EVENT_QUEUE_PAUSED:
    case EVENT_QUEUE_RESUMED:
        say(LL_NOTICE, "%s queue=%.*s", event_name(ev->type),
            SLICE_FMT(ev->queue));
        break;
    case EVENT_BREAKER_OPENED:
        say(LL_WARNING, "%s handler=%.*s: %.*s", event_name(ev->type),
            SLICE_FMT(ev->handler), SLICE_FMT(ev->text));
        break;
    case EVENT_HANDLER_PAUSED:
    case EVENT_HANDLER_RESUMED:
    case EVENT_BREAKER_HALF_OPEN:
    case EVENT_BREAKER_CLOSED:
        say(LL_NOTICE, "%s handler=%.*s", event_name(ev->type),
            SLICE_FMT(ev->handler));
        break;
    case EVENT_JOB_FAILED:
        id_text(&ev->id, text);
        say(LL_VERBOSE, "dead letter job=%.*s queue=%.*s", ID_TEXT_LEN, text,
            SLICE_FMT(ev->queue));
        break;
    case EVENT_SCHEDULE_PAUSED:
    case EVENT_SCHEDULE_REJECTED:
    case EVENT_SCHEDULE_REPAIRED:
        say(LL_WARNING, "%s: %.*s", event_name(ev->type), SLICE_FMT(ev->text));
        break;
    case EVENT_SCHEDULE_MISSED:
        /* After an outage there is one for each of them. */
        say(LL_VERBOSE, "%s: %.*s times=%u", event_name(ev->type),
            SLICE_FMT(ev->text), ev->n);
        break;
    default:
        break;
    }
}

static void on_event(void *ud, const struct event *ev)
{
    struct server *s = ud;
    if (pubsub_anybody(s))
        tell_subscribers(s, ev);
    if ((LOGGED & EVENT_BIT(ev->type)) != 0)
        tell_log(ev);
}

void events_tick(struct server *s)
{
    struct parts *p = s->parts;
    if (s->engine == NULL)
        return;
    uint64_t mask = pubsub_anybody(s) ? EVERYTHING : LOGGED;
    if (p->events_attached && p->events_mask == mask)
        return;
    engine_on_event(s->engine, mask, on_event, s);
    p->events_attached = true;
    p->events_mask = mask;
}
