/* Schedules: SET, firing, overlap, misfire, bounds, the guardian. */
#include "rig.h"

#include <stdio.h>
#include <string.h>

#include <stdlib.h>
#include <unistd.h>

#include "cron/zone.h"
#include "engine/core.h"
#include "engine/schedule_impl.h"
#include "util/alloc.h"
#include "util/parse.h"

#define SECOND 1000u
#define MINUTE (60 * SECOND)
#define HOUR (60 * (uint64_t)MINUTE)

static const struct job_options no_options;

static struct schedule_params every(const char *name, uint64_t ms)
{
    return (struct schedule_params){
        .name = slice_str(name),
        .queue = SLICE_LIT("q"),
        .payload = SLICE_LIT("p"),
        .timing = {.when = WHEN_EVERY, .every_ms = ms},
        .grace_ms = SCHEDULE_GRACE_MS,
        .window_ms = SCHEDULE_WINDOW_MS,
        .options = &no_options,
    };
}

static struct schedule_params cron(const char *name, const char *pattern)
{
    struct schedule_params p = every(name, 0);
    p.timing.when = WHEN_CRON;
    p.timing.patterns[0] = slice_str(pattern);
    p.timing.patterns_n = 1;
    return p;
}

static enum err try_set(struct rig *r, const struct schedule_params *p,
                        uint64_t *next_ms)
{
    enum err rc =
        engine_schedule_set(r->engine, NULL, p, r->now, next_ms, &r->err);
    rig_step(r);
    return rc;
}

static uint64_t set(struct rig *r, const struct schedule_params *p)
{
    uint64_t next_ms = 0;
    if (try_set(r, p, &next_ms) != ERR_OK)
        fail_msg("%s", r->err.text);
    return next_ms;
}

static struct schedule_view get(struct rig *r, const char *name)
{
    struct schedule_view v;
    assert_int_equal(
        engine_schedule_get(r->engine, NULL, slice_str(name), &v, &r->err),
        ERR_OK);
    return v;
}

/* To a whole minute, so that tests can count. */
static int setup(void **state)
{
    rig_setup(state);
    struct rig *r = *state;
    rig_pass(r, MINUTE - r->now.wall_ms % MINUTE);
    return 0;
}

/* --- SET ----------------------------------------------------------------- */

static void it_fires_at_its_times_and_tells_them(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    uint64_t next = set(r, &p);
    assert_int_equal(next, r->now.wall_ms + MINUTE);
    rig_pass(r, MINUTE - 1);
    assert_int_equal(rig_lease(r, "q", 1), 0);
    rig_pass(r, 1);
    assert_int_equal(rig_lease(r, "q", 2), 1);
    assert_string_equal(r->payload, "p");
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.fired, 1);
    assert_int_equal(v.live, 1);
    assert_int_equal(v.last_ms, next);
    assert_int_equal(v.next_ms, next + MINUTE);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    v = get(r, "s");
    assert_int_equal(v.live, 0);
    assert_int_equal(v.completed, 1);
    assert_int_equal(v.outcomes_n, 1);
    assert_int_equal(v.outcomes[0].nominal_ms, next);
    assert_int_equal(v.outcomes[0].state, JOB_COMPLETED);
}

static void set_again_moves_the_next_time_only_with_the_timing(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    uint64_t next = set(r, &p);
    rig_pass(r, 30 * SECOND);
    p.payload = SLICE_LIT("other");
    assert_int_equal(set(r, &p), next);
    rig_pass(r, 30 * SECOND);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_string_equal(r->payload, "other");
    p.timing.every_ms = HOUR;
    uint64_t hour = set(r, &p);
    assert_int_equal(hour % HOUR, 0);
    assert_int_equal(get(r, "s").fired, 1);
    rig_pass(r, MINUTE);
    assert_int_equal(rig_lease(r, "q", 1), 0);
}

static void what_cannot_fire_is_refused(void **state)
{
    struct rig *r = *state;
    uint64_t next;
    struct schedule_params p = cron("s", "0 0 30 2 *");
    assert_int_equal(try_set(r, &p, &next), ERR_SYNTAX);
    p = cron("s", "0 0 0 1 1 * 1999");
    assert_int_equal(try_set(r, &p, &next), ERR_SYNTAX);
    p = cron("s", "@reboot");
    assert_int_equal(try_set(r, &p, &next), ERR_SYNTAX);
    p = cron("s", "* * * * *");
    p.timing.end_ms = r->now.wall_ms - 1;
    assert_int_equal(try_set(r, &p, &next), ERR_SYNTAX);
    p = cron("s", "* * * * *");
    p.timing.zone = SLICE_LIT("Europe/Nowhere");
    assert_int_equal(try_set(r, &p, &next), ERR_SYNTAX);
    struct job_options limit = {
        .given = GIVEN(LIMIT), .limits = {SLICE_LIT("queue:q")}, .limits_n = 1};
    p = cron("s", "* * * * *");
    p.options = &limit;
    assert_int_equal(try_set(r, &p, &next), ERR_SYNTAX);
    p = every("s", 0);
    p.timing.when = WHEN_AT; /* at 0, which means none */
    assert_int_equal(try_set(r, &p, &next), ERR_SYNTAX);
    p = cron("s", "*/7 * * * *");
    p.timing.excludes[0] = SLICE_LIT("* * * * *");
    p.timing.excludes_n = 1;
    assert_int_equal(try_set(r, &p, &next), ERR_SYNTAX);
    struct job_options o = {.given = GIVEN(AT), .at_ms = 1};
    p = cron("s", "* * * * *");
    p.options = &o;
    assert_int_equal(try_set(r, &p, &next), ERR_SYNTAX);
    struct schedule_view v;
    assert_int_equal(
        engine_schedule_get(r->engine, NULL, slice_str("s"), &v, &r->err),
        ERR_NOTFOUND);
}

static void several_patterns_and_exclusions(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = cron("s", "0 * * * *");
    p.timing.patterns[1] = SLICE_LIT("30 * * * *");
    p.timing.patterns_n = 2;
    p.timing.excludes[0] = SLICE_LIT("0 12 * * *");
    p.timing.excludes_n = 1;
    p.overlap = OVERLAP_ALLOW;
    set(r, &p);
    for (int i = 0; i < 48; i++)
        rig_pass(r, 30 * MINUTE);
    assert_int_equal(get(r, "s").fired, 47);
}

struct listed {
    struct schedule_time at[4];
    uint32_t n;
};

static void note_time(void *ud, const struct schedule_time *t)
{
    struct listed *l = ud;
    l->at[l->n++] = *t;
}

/* The first time of `pattern`, of which `exclude` leaves some out. */
static uint64_t first_left(const char *pattern, const char *exclude,
                           const char *from)
{
    struct schedule_params p = cron("s", pattern);
    struct listed l = {.n = 0};
    struct errbuf err;
    uint64_t from_ms;
    assert_true(parse_time_ms(slice_str(from), &from_ms));
    p.timing.zone = SLICE_LIT("Europe/Zurich");
    p.timing.excludes[0] = slice_str(exclude);
    p.timing.excludes_n = 1;
    assert_int_equal(engine_timing_next(&p.timing, p.name, (int64_t)from_ms, 1,
                                        note_time, &l, &err),
                     ERR_OK);
    return l.n == 0 ? 0 : l.at[0].at_ms;
}

static void what_is_excluded_is_jumped_over(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *exclude, *from, *next;
    } cases[] = {
        {"* * * * * *", "* * * * SAT,SUN", "2025-10-03T21:59:59Z",
         "2025-10-05T22:00:00Z"},
        {"*/5 * * * * *", "* 0-7,20-23 * * *", "2025-10-03T18:00:00Z",
         "2025-10-04T06:00:00Z"},
        {"* * * * *", "* * * 1-11 *", "2025-01-01T00:00:00Z",
         "2025-11-30T23:00:00Z"},
        /* 2024-03-31 02:00 -> 03:00, which is 01:00Z. What is left out is the
         * time that was skipped, not the one that the clock shows instead. */
        {"30 2 * * *", "30 2 31 3 *", "2024-03-31T00:00:00Z",
         "2024-04-01T00:30:00Z"},
        {"30 2,3 * * *", "* 3 * * *", "2024-03-31T00:00:00Z",
         "2024-03-31T01:00:00Z"},
        {"0 3 * * *", "30 2 * * *", "2024-03-31T00:00:00Z",
         "2024-03-31T01:00:00Z"},
        {"*/30 * * * *", "30 2 * * *", "2024-03-31T00:30:00Z",
         "2024-03-31T01:00:00Z"},
        /* and both passes of an hour: 2024-10-27 03:00 -> 02:00 */
        {"*/30 * * * *", "* 2 * * *", "2024-10-26T23:30:00Z",
         "2024-10-27T02:00:00Z"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t want;
        assert_true(parse_time_ms(slice_str(cases[i].next), &want));
        uint64_t next =
            first_left(cases[i].pattern, cases[i].exclude, cases[i].from);
        if (next != want)
            fail_msg("'%s' but '%s' after %s: %llu", cases[i].pattern,
                     cases[i].exclude, cases[i].from, (unsigned long long)next);
    }
}

/* An outage that ends inside of what is excluded: the last time before it is
 * the one that runs, and none of those left out counts. */
static void what_is_excluded_was_not_missed(void **state)
{
    struct rig *r = *state;
    for (int i = 0; i < 2; i++) {
        struct schedule_params p = cron(i == 0 ? "a" : "b", "* * * * * *");
        rig_pass(r, HOUR - r->now.wall_ms % HOUR - 10 * SECOND);
        uint64_t from = r->now.wall_ms;
        char exclude[2][64];
        unsigned hour = (unsigned)((from / HOUR + 1) % 24);
        /* As one hour, and as two halves that none can jump over. */
        snprintf(exclude[0], sizeof(exclude[0]),
                 i == 0 ? "* %u * * *" : "*/2 * %u * * *", hour);
        snprintf(exclude[1], sizeof(exclude[1]), "1-59/2 * %u * * *", hour);
        for (int j = 0; j <= i; j++)
            p.timing.excludes[p.timing.excludes_n++] = slice_str(exclude[j]);
        p.grace_ms = SECOND;
        set(r, &p);
        rig_pass(r, 30 * MINUTE);
        struct schedule_view v = get(r, p.name.data);
        assert_int_equal(v.missed, 9);
        assert_int_equal(v.fired, 1);
        assert_int_equal(v.last_ms, from + 9 * SECOND);
        assert_int_equal(engine_schedule_del(r->engine, NULL, p.name, &r->err),
                         ERR_OK);
        rig_step(r);
    }
}

/* The same, and it ends behind what is excluded: one run for all of it. */
static void once_is_once_over_what_is_excluded(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = cron("s", "* * * * * *");
    rig_pass(r, HOUR - r->now.wall_ms % HOUR - 10 * SECOND);
    uint64_t from = r->now.wall_ms;
    char exclude[2][64];
    unsigned hour = (unsigned)((from / HOUR + 1) % 24);
    snprintf(exclude[0], sizeof(exclude[0]), "*/2 * %u * * *", hour);
    snprintf(exclude[1], sizeof(exclude[1]), "1-59/2 * %u * * *", hour);
    for (int i = 0; i < 2; i++)
        p.timing.excludes[p.timing.excludes_n++] = slice_str(exclude[i]);
    p.grace_ms = 0;
    p.overlap = OVERLAP_ALLOW;
    set(r, &p);
    rig_pass(r, HOUR + 10 * SECOND + 20 * SECOND - 1);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.fired, 1);
    assert_int_equal(v.missed, 9 + 20);
    assert_int_equal(v.last_ms, from + HOUR + 29 * SECOND);
}

static void max_start_and_end_are_kept(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    p.overlap = OVERLAP_ALLOW;
    p.max = 3;
    p.timing.start_ms = r->now.wall_ms + 10 * MINUTE + 7;
    assert_int_equal(set(r, &p), p.timing.start_ms);
    for (int i = 0; i < 30; i++)
        rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 3);
    assert_int_equal(get(r, "s").next_ms, 0);
    p.max = 5;
    assert_int_not_equal(set(r, &p), 0);
    for (int i = 0; i < 30; i++)
        rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 5);

    p = every("t", MINUTE);
    p.overlap = OVERLAP_ALLOW;
    p.timing.end_ms = r->now.wall_ms + 5 * MINUTE;
    set(r, &p);
    for (int i = 0; i < 20; i++)
        rig_pass(r, MINUTE);
    assert_int_equal(get(r, "t").fired, 5);
}

static void spread_is_stable_and_before_the_next_time(void **state)
{
    struct rig *r = *state;
    bool apart = false;
    uint64_t first = 0;
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "s%d", i);
        struct schedule_params p = every(name, MINUTE);
        p.timing.spread_ms = HOUR;
        p.overlap = OVERLAP_ALLOW;
        uint64_t next = set(r, &p);
        struct schedule_view v = get(r, name);
        assert_in_range(v.due_ms, next, next + MINUTE - 1);
        uint64_t late = v.due_ms - next;
        if (i == 0)
            first = late;
        apart = apart || late != first;
    }
    rig_pass(r, 2 * MINUTE);
    struct schedule_view v = get(r, "s0");
    assert_int_equal(v.due_ms - v.next_ms, first);
    assert_int_equal(v.fired, v.due_ms - v.next_ms == 0 ? 2 : 1);
    assert_true(apart);
}

static void once_at_a_time(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", 0);
    p.timing =
        (struct schedule_timing){.when = WHEN_AT, .at_ms = r->now.wall_ms + 5};
    assert_int_equal(set(r, &p), r->now.wall_ms + 5);
    rig_pass(r, 5);
    assert_int_equal(set(r, &p), 0);
    rig_pass(r, HOUR);
    assert_int_equal(get(r, "s").fired, 1);
}

/* What it did before it got its AT is not the AT's. */
static void a_paused_at_fires_when_it_is_resumed(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    uint64_t next, at = r->now.wall_ms + HOUR;
    p.overlap = OVERLAP_ALLOW;
    set(r, &p);
    rig_pass(r, 2 * MINUTE);
    p.timing = (struct schedule_timing){.when = WHEN_AT, .at_ms = at};
    assert_int_equal(set(r, &p), at);
    for (int round = 0; round < 2; round++) {
        for (int paused = 1; paused >= 0; paused--) {
            assert_int_equal(engine_schedule_pause(r->engine, NULL, p.name,
                                                   paused == 1, r->now, &next,
                                                   &r->err),
                             ERR_OK);
            rig_step(r);
            if (round == 0 && paused == 1)
                rig_pass(r, 2 * HOUR);
        }
        rig_pass(r, 1);
        assert_int_equal(get(r, "s").last_ms, at);
        assert_int_equal(get(r, "s").fired, 3);
    }
}

static void pause_resume_and_del(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    uint64_t next;
    set(r, &p);
    assert_int_equal(engine_schedule_pause(r->engine, NULL, slice_str("s"),
                                           true, r->now, &next, &r->err),
                     ERR_OK);
    rig_step(r);
    rig_pass(r, 5 * MINUTE);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.fired, 0);
    assert_int_equal(v.missed, 0);
    assert_int_equal(engine_schedule_pause(r->engine, NULL, slice_str("s"),
                                           false, r->now, &next, &r->err),
                     ERR_OK);
    assert_int_equal(next, r->now.wall_ms + MINUTE);
    rig_step(r);
    rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 1);
    assert_int_equal(
        engine_schedule_del(r->engine, NULL, slice_str("s"), &r->err), ERR_OK);
    rig_step(r);
    rig_pass(r, 5 * MINUTE);
    assert_int_equal(rig_lease(r, "q", 10), 1); /* its job stayed */
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
}

static void a_schedule_made_anew_counts_all_that_still_live(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    p.overlap = OVERLAP_ALLOW;
    set(r, &p);
    for (uint32_t i = 0; i <= SCHEDULE_BUFFER_MAX; i++) {
        struct id id;
        assert_int_equal(engine_schedule_run(r->engine, NULL, slice_str("s"),
                                             r->now, &id, &r->err),
                         ERR_OK);
    }
    rig_step(r);
    assert_int_equal(
        engine_schedule_del(r->engine, NULL, slice_str("s"), &r->err), ERR_OK);
    rig_step(r);
    set(r, &p);
    assert_int_equal(get(r, "s").live, SCHEDULE_BUFFER_MAX + 1);
    /* Its predecessor's jobs are in the way of its first one, all of them. */
    p.overlap = OVERLAP_TERMINATE;
    set(r, &p);
    rig_pass(r, MINUTE);
    rig_pass(r, 10);
    assert_int_equal(get(r, "s").fired, 1);
    assert_int_equal(get(r, "s").live, 1);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 1);
}

/* Whatever makes or ends many jobs at once stays below the bytes of an entry.
 */
static void large_payloads_are_made_and_ended_in_slices(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    char *payload = mem_alloc(1000000);
    memset(payload, 'x', 1000000);
    p.payload = slice_of(payload, 1000000);
    p.overlap = OVERLAP_ALLOW;
    p.misfire = MISFIRE_ALL;
    set(r, &p);
    assert_int_equal(engine_schedule_backfill(r->engine, NULL, p.name,
                                              r->now.wall_ms - 29 * MINUTE,
                                              r->now.wall_ms, r->now, &r->err),
                     ERR_OK);
    for (int i = 0; i < 40; i++)
        rig_pass(r, 1);
    assert_int_equal(get(r, "s").manual, 30);
    rig_pass(r, 20 * (uint64_t)MINUTE);
    assert_int_equal(get(r, "s").fired, 20);
    p.overlap = OVERLAP_TERMINATE;
    set(r, &p);
    rig_pass(r, MINUTE);
    for (int i = 0; i < 60; i++)
        rig_pass(r, 1);
    assert_int_equal(get(r, "s").fired, 21);
    assert_int_equal(get(r, "s").live, 1);
    mem_free(payload);
}

/* More running jobs than are told in one slice. */
static void each_live_job_is_told_to_stop(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    struct job_options o = {.given = GIVEN(LEASE), .lease_ms = HOUR};
    p.options = &o;
    p.overlap = OVERLAP_ALLOW;
    r->config.slice_ops = 4;
    rig_restart(r);
    set(r, &p);
    for (int i = 0; i < 20; i++)
        rig_pass(r, MINUTE);
    for (int i = 0; i < 10; i++)
        assert_int_equal(rig_lease(r, "q", 1), 1);
    p.overlap = OVERLAP_CANCEL;
    uint64_t next = set(r, &p);
    rig_pass(r, MINUTE);
    for (int i = 0; i < 20; i++)
        rig_pass(r, 1);
    /* Those that waited are gone, all that run have been told. */
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.live, 10);
    assert_int_equal(v.buffered, 1);
    assert_int_equal(v.next_ms, next + MINUTE);
    rig_pass(r, 31 * SECOND); /* they are forced */
    v = get(r, "s");
    assert_int_equal(v.live, 1);
    assert_int_equal(v.fired, 21);
    assert_int_equal(v.last_ms, next);
}

/* While jobs are displaced slice by slice, one that had ended is taken back. */
static void a_job_taken_back_meanwhile_is_displaced_too(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    struct job_options o = {.given = GIVEN(RETRIES)};
    struct manage retry = {.verb = MANAGE_RETRY};
    p.options = &o;
    p.overlap = OVERLAP_ALLOW;
    r->config.slice_ops = 1;
    rig_restart(r);
    set(r, &p);
    rig_pass(r, MINUTE);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct id first = r->ids[0];
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    for (int i = 0; i < 4; i++)
        rig_pass(r, MINUTE);
    p.overlap = OVERLAP_TERMINATE;
    set(r, &p);
    r->now.wall_ms += MINUTE;
    r->now.mono_ms += MINUTE;
    (void)engine_tick(r->engine, r->now);
    rig_step(r);
    assert_int_equal(get(r, "s").live, 3);
    assert_int_equal(
        manage_do(r->engine, NULL, &retry, &first, r->now, &r->err), ERR_OK);
    rig_step(r);
    for (int i = 0; i < 10; i++)
        rig_pass(r, 1);
    assert_int_equal(get(r, "s").fired, 6);
    assert_int_equal(get(r, "s").live, 1);
    assert_int_equal(rig_state(r, first), JOB_CANCELLED);
}

/* A full queue drops another schedule's job for the one that displaces. */
static void times_that_were_displaced_stay_so(void **state)
{
    struct rig *r = *state;
    struct queue_settings q = {
        .has_maxlen = true, .maxlen = 2, .has_overflow = true, .overflow = 1};
    struct schedule_params p = every("s", MINUTE), t = every("t", HOUR);
    struct id id;
    p.overlap = OVERLAP_BUFFER_ALL;
    set(r, &p);
    set(r, &t);
    for (int i = 0; i < 3; i++)
        rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").buffered, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            engine_schedule_run(r->engine, NULL, t.name, r->now, &id, &r->err),
            ERR_OK);
    assert_int_equal(
        engine_queue_set(r->engine, slice_str("q"), &q, r->now, &r->err),
        ERR_OK);
    rig_step(r);
    p.overlap = OVERLAP_TERMINATE;
    set(r, &p);
    rig_pass(r, MINUTE);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.fired, 2);
    assert_int_equal(v.overlapped, 2);
    assert_int_equal(v.buffered, 0);
    assert_int_equal(get(r, "t").live, 1);
}

static void
a_job_taken_back_counts_for_the_next_schedule_of_its_name(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    struct manage again = {.verb = MANAGE_RETRY};
    set(r, &p);
    rig_pass(r, MINUTE);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct id id = r->ids[0];
    assert_int_equal(
        engine_schedule_del(r->engine, NULL, slice_str("s"), &r->err), ERR_OK);
    assert_int_equal(
        engine_schedule_del(r->engine, NULL, slice_str("s"), &r->err),
        ERR_NOTFOUND);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(manage_do(r->engine, NULL, &again, &id, r->now, &r->err),
                     ERR_OK);
    rig_step(r);
    set(r, &p);
    assert_int_equal(get(r, "s").live, 1);
    rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").overlapped, 1);
}

/* Those that wait are promised: none is made beyond MAX. */
static void max_counts_the_times_that_wait(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    p.overlap = OVERLAP_BUFFER_ALL;
    p.max = 3;
    set(r, &p);
    for (int i = 0; i < 10; i++)
        rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").buffered, 2);
    assert_int_equal(get(r, "s").next_ms, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        rig_pass(r, 1);
    }
    assert_int_equal(get(r, "s").fired, 3);
    assert_int_equal(rig_lease(r, "q", 1), 0);
}

/* --- overlap and misfire ------------------------------------------------- */

/* A job runs, then `down` passes in one step, then all jobs are done one after
 * another: what does each pair of rules make of it? */
struct expect {
    enum schedule_overlap overlap;
    enum schedule_misfire misfire;
    uint32_t fired, missed, overlapped; /* after the outage */
    uint32_t done;                      /* jobs that ended well in the end */
};

static void play(struct rig *r, const struct expect *x)
{
    struct schedule_params p = every("s", MINUTE);
    p.overlap = x->overlap;
    p.misfire = x->misfire;
    p.grace_ms = 10 * SECOND;
    set(r, &p);
    rig_pass(r, MINUTE);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    /* Five occurrences are due; the last one 5 s ago, in its grace. */
    uint64_t off = 5 * (uint64_t)MINUTE + 5 * SECOND;
    r->now.wall_ms += off; /* the lease lives on */
    rig_pass(r, 0);
    struct schedule_view v = get(r, "s");
    if (v.fired != x->fired || v.missed != x->missed ||
        v.overlapped != x->overlapped)
        fail_msg("overlap %d misfire %d: fired %d missed %d overlapped %d",
                 x->overlap, x->misfire, (int)v.fired, (int)v.missed,
                 (int)v.overlapped);
    uint64_t next;
    assert_int_equal(engine_schedule_pause(r->engine, NULL, slice_str("s"),
                                           true, r->now, &next, &r->err),
                     ERR_OK);
    assert_int_equal(engine_schedule_pause(r->engine, NULL, slice_str("s"),
                                           false, r->now, &next, &r->err),
                     ERR_OK);
    enum err rc = rig_ack(r, r->token[0]);
    assert_true(rc == ERR_OK || x->overlap == OVERLAP_TERMINATE);
    rig_pass(r, 0);
    while (rig_lease(r, "q", 1) == 1) {
        assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
        rig_pass(r, 0);
    }
    v = get(r, "s");
    if (v.completed != x->done)
        fail_msg("overlap %d misfire %d: done %d", x->overlap, x->misfire,
                 (int)v.completed);
    assert_int_equal(v.live, 0);
    assert_int_equal(v.buffered, 0);
}

static void every_overlap_with_every_misfire(void **state)
{
    static const struct expect all[] = {
        {OVERLAP_SKIP, MISFIRE_ONCE, 1, 4, 1, 1},
        {OVERLAP_SKIP, MISFIRE_SKIP, 1, 4, 1, 1},
        {OVERLAP_SKIP, MISFIRE_ALL, 1, 4, 5, 1},
        {OVERLAP_BUFFER_ONE, MISFIRE_ONCE, 1, 4, 0, 2},
        {OVERLAP_BUFFER_ONE, MISFIRE_SKIP, 1, 4, 0, 2},
        {OVERLAP_BUFFER_ONE, MISFIRE_ALL, 1, 4, 4, 2},
        {OVERLAP_BUFFER_ALL, MISFIRE_ONCE, 1, 4, 0, 2},
        {OVERLAP_BUFFER_ALL, MISFIRE_SKIP, 1, 4, 0, 2},
        {OVERLAP_BUFFER_ALL, MISFIRE_ALL, 1, 4, 0, 6},
        {OVERLAP_CANCEL, MISFIRE_ONCE, 1, 4, 0, 2},
        {OVERLAP_CANCEL, MISFIRE_SKIP, 1, 4, 0, 2},
        {OVERLAP_CANCEL, MISFIRE_ALL, 1, 4, 4, 2},
        {OVERLAP_TERMINATE, MISFIRE_ONCE, 2, 4, 0, 1},
        {OVERLAP_TERMINATE, MISFIRE_SKIP, 2, 4, 0, 1},
        {OVERLAP_TERMINATE, MISFIRE_ALL, 6, 4, 0, 1},
        {OVERLAP_ALLOW, MISFIRE_ONCE, 2, 4, 0, 2},
        {OVERLAP_ALLOW, MISFIRE_SKIP, 2, 4, 0, 2},
        {OVERLAP_ALLOW, MISFIRE_ALL, 6, 4, 0, 6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        void *own;
        setup(&own);
        play(own, &all[i]);
        rig_teardown(&own);
    }
}

/* Its jobs are new work; what is due otherwise is not. */
static void below_the_disk_reserve_a_schedule_waits(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    struct job_options o = {.given = GIVEN(DELAY), .delay_ms = 2 * MINUTE};
    p.overlap = OVERLAP_ALLOW;
    p.misfire = MISFIRE_ALL;
    p.grace_ms = 10 * SECOND;
    set(r, &p);
    struct id delayed = rig_add(r, "other", "x", &o).id;
    mem_knobs(r->disk)->room = STORE_FINISH_ONLY;
    rig_pass(r, 3 * MINUTE + SECOND);
    assert_int_equal(get(r, "s").fired, 0);
    assert_int_equal(rig_state(r, delayed), JOB_READY);
    assert_true(engine_next_ms(r->engine, r->now) > r->now.mono_ms);
    mem_knobs(r->disk)->room = STORE_ROOM;
    assert_true(engine_next_ms(r->engine, r->now) <= r->now.mono_ms);
    rig_pass(r, 0);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.fired, 3);
    assert_int_equal(v.missed, 2);
    assert_int_equal(rig_lease(r, "q", 9), 3);
}

static void what_is_outside_the_window_is_counted_only(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    p.overlap = OVERLAP_ALLOW;
    p.misfire = MISFIRE_ALL;
    p.window_ms = 10 * MINUTE;
    set(r, &p);
    rig_pass(r, 100 * (uint64_t)MINUTE);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.fired, 11);  /* 0 to 10 minutes ago */
    assert_int_equal(v.missed, 98); /* all but 0 and 1 minute ago */
}

static void a_year_of_milliseconds_is_not_walked(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", 100);
    set(r, &p);
    rig_pass(r, 300 * 24 * HOUR);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.fired, 1);
    assert_int_equal(v.missed, 300 * 24 * HOUR / 100 - 1);
}

static void a_long_outage_of_a_pattern_is_walked_in_slices(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = cron("s", "* * * * * *");
    set(r, &p);
    rig_pass(r, HOUR + 500);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.fired, 1);
    assert_int_equal(v.missed, 3599);
}

/* --- clocks and crashes -------------------------------------------------- */

static void a_clock_that_steps_back_fires_nothing_twice(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    p.overlap = OVERLAP_ALLOW;
    set(r, &p);
    for (int i = 0; i < 10; i++)
        rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 10);
    r->now.wall_ms -= 5 * MINUTE;
    for (int i = 0; i < 5; i++)
        rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 10);
    rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 11);

    /* Also if it is made to look from now on. */
    uint64_t next;
    r->now.wall_ms -= 5 * MINUTE;
    for (int paused = 1; paused >= 0; paused--)
        assert_int_equal(engine_schedule_pause(r->engine, NULL, slice_str("s"),
                                               paused == 1, r->now, &next,
                                               &r->err),
                         ERR_OK);
    assert_int_equal(next, r->now.wall_ms + MINUTE);
    for (int i = 0; i < 5; i++)
        rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 11);
    rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 12);
}

/* Crash after each entry of a busy quarter of an hour; what is not durable is
 * lost, and done again. No nominal time may have two jobs, none may lack one.*/
static void a_crash_anywhere_leaves_one_job_per_time(void **state)
{
    (void)state;
    for (uint64_t keep = 0; keep < 12; keep++) {
        void *own;
        setup(&own);
        struct rig *r = own;
        struct schedule_params p = every("s", MINUTE);
        p.overlap = OVERLAP_ALLOW;
        p.misfire = MISFIRE_ALL;
        set(r, &p);
        uint64_t from = r->now.wall_ms;
        mem_knobs(r->disk)->manual_sync = true;
        for (int i = 0; i < 6; i++)
            rig_pass(r, MINUTE);
        gather_free(&r->gather);
        engine_free(&r->engine);
        mem_crash(&r->store, keep);
        mem_knobs(r->disk)->manual_sync = false;
        rig_open(r);
        rig_pass(r, 4 * MINUTE);
        struct schedule_view v = get(r, "s");
        assert_int_equal(v.fired, 10);
        assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 10);
        assert_int_equal(v.next_ms, from + 11 * MINUTE);
        rig_teardown(&own);
    }
}

/* Live jobs that must be fetched before they can be displaced. */
static void
a_time_that_displaces_is_not_lost_while_rows_are_fetched(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    p.overlap = OVERLAP_TERMINATE;
    set(r, &p);
    rig_pass(r, MINUTE);
    rig_restart(r);
    mem_knobs(r->disk)->pending_per_1000 = 500;
    for (int i = 0; i < 60; i++)
        rig_pass(r, i == 0 ? MINUTE : 0);
    mem_knobs(r->disk)->pending_per_1000 = 0;
    assert_int_equal(get(r, "s").fired, 2);
    assert_int_equal(get(r, "s").live, 1);
}

static void rows_that_must_be_fetched_change_nothing(void **state)
{
    struct rig *r = *state;
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof(name), "s%d", i);
        struct schedule_params p = every(name, MINUTE);
        set(r, &p);
    }
    rig_restart(r);
    mem_knobs(r->disk)->pending_per_1000 = 300;
    mem_knobs(r->disk)->fetch_polls_max = 3;
    for (int i = 0; i < 5; i++)
        rig_pass(r, i == 0 ? MINUTE : 0);
    mem_knobs(r->disk)->pending_per_1000 = 0;
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 200);
}

/* --- failures ------------------------------------------------------------ */

static void it_pauses_after_failures_in_a_row(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(RETRIES), .retries = 0};
    struct schedule_params p = every("s", MINUTE);
    p.options = &o;
    p.pause_after = 2;
    set(r, &p);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(get(r, "s").paused, PAUSED_NOT);
        rig_pass(r, MINUTE);
        assert_int_equal(rig_lease(r, "q", 1), 1);
        assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    }
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.paused, PAUSED_BY_FAILURES);
    assert_int_equal(v.failed, 2);
    assert_int_equal(r->events[EVENT_SCHEDULE_PAUSED], 1);
    rig_pass(r, 10 * MINUTE);
    assert_int_equal(get(r, "s").fired, 2);
}

static void a_job_that_cannot_be_made_is_told(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(UNIQUE) | GIVEN(CONFLICT),
                            .unique = SLICE_LIT("k"),
                            .conflict = CONFLICT_REJECT};
    struct schedule_params p = every("s", MINUTE);
    p.options = &o;
    p.overlap = OVERLAP_ALLOW;
    set(r, &p);
    rig_pass(r, MINUTE);
    rig_pass(r, MINUTE);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.fired, 1);
    assert_int_equal(v.rejected, 1);
    assert_true(v.error.len > 0);
    assert_int_not_equal(v.next_ms, 0);
}

/* EXPECT above TIMEOUT has not always been refused. */
static void what_an_earlier_version_accepted_makes_jobs(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(EXPECT) | GIVEN(TIMEOUT),
                            .expect_ms = 1000,
                            .timeout_ms = 2000};
    struct schedule_params p = every("s", MINUTE);
    struct id id = due_name_id(p.name);
    struct schedule s = {0};
    struct buf old = {0};
    struct key k;
    p.options = &o;
    set(r, &p);
    assert_int_equal(schedule_load(r->engine, NULL, &id, &s, &r->err), ERR_OK);
    o.expect_ms = 3000;
    size_t len = options_size(&o);
    options_encode(&o, buf_room(&old, len));
    s.set.options = slice_of(old.data, len);
    rec_schedule_encode(&s.set,
                        store_put(r->store, FAMILY_NAMED,
                                  schedule_key(&k, NAMED_SCHEDULE_SET, &id),
                                  rec_schedule_size(&s.set), false));
    schedule_release(&s);
    buf_release(&old);
    rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 1);
    assert_int_equal(get(r, "s").rejected, 0);
    assert_int_equal(try_set(r, &p, NULL), ERR_SYNTAX);
}

static void a_job_that_is_taken_back_is_live_again(void **state)
{
    struct rig *r = *state;
    struct job_options o = {.given = GIVEN(RETRIES), .retries = 0};
    struct schedule_params p = every("s", MINUTE);
    p.options = &o;
    set(r, &p);
    rig_pass(r, MINUTE);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct id id = r->ids[0];
    assert_int_equal(rig_nack(r, r->token[0]), ERR_OK);
    assert_int_equal(get(r, "s").live, 0);
    struct manage a = {.verb = MANAGE_RETRY};
    assert_int_equal(manage_do(r->engine, NULL, &a, &id, r->now, &r->err),
                     ERR_OK);
    rig_step(r);
    assert_int_equal(get(r, "s").live, 1);
    rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").overlapped, 1);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(rig_ack(r, r->token[0]), ERR_OK);
    assert_int_equal(get(r, "s").live, 0);
}

static void a_job_that_does_not_stop_is_stopped_for_its_successor(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    p.overlap = OVERLAP_CANCEL;
    struct job_options o = {.given = GIVEN(LEASE), .lease_ms = HOUR};
    p.options = &o;
    set(r, &p);
    rig_pass(r, MINUTE);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    struct id id = r->ids[0];
    rig_pass(r, MINUTE);
    assert_int_equal(rig_state(r, id), JOB_RUNNING);
    assert_int_equal(get(r, "s").buffered, 1);
    rig_pass(r, 30 * SECOND);
    assert_int_equal(rig_state(r, id), JOB_CANCELLED);
    assert_int_equal(rig_lease(r, "q", 1), 1);
    assert_int_equal(get(r, "s").fired, 2);
}

/* --- RUN, BACKFILL ------------------------------------------------------- */

static void backfill_makes_what_was_not_made(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    struct id job;
    p.overlap = OVERLAP_ALLOW;
    set(r, &p);
    uint64_t from = r->now.wall_ms;
    for (int i = 0; i < 10; i++)
        rig_pass(r, MINUTE);
    assert_int_equal(engine_schedule_run(r->engine, NULL, slice_str("s"),
                                         r->now, &job, &r->err),
                     ERR_OK);
    rig_step(r);
    assert_int_equal(engine_schedule_backfill(r->engine, NULL, slice_str("s"),
                                              from - 199 * MINUTE,
                                              r->now.wall_ms, r->now, &r->err),
                     ERR_OK);
    rig_step(r);
    assert_true(get(r, "s").filling);
    assert_int_equal(engine_schedule_backfill(r->engine, NULL, slice_str("s"),
                                              from, r->now.wall_ms, r->now,
                                              &r->err),
                     ERR_STATE);
    rig_pass(r, 1);
    rig_restart(r);
    for (int i = 0; i < 20; i++)
        rig_pass(r, 1);
    struct schedule_view v = get(r, "s");
    assert_false(v.filling);
    assert_int_equal(v.fired, 10);
    assert_int_equal(v.manual, 201);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], 211);
}

static void a_backfill_can_be_stopped(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", MINUTE);
    p.overlap = OVERLAP_ALLOW;
    set(r, &p);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            engine_schedule_backfill(r->engine, NULL, p.name,
                                     r->now.wall_ms - (uint64_t)1000 * MINUTE,
                                     r->now.wall_ms, r->now, &r->err),
            i == 0 ? ERR_OK : ERR_STATE);
    (void)engine_tick(r->engine, r->now);
    rig_step(r);
    assert_in_range(get(r, "s").manual, 1, 900);
    assert_int_equal(
        engine_schedule_fill_stop(r->engine, NULL, p.name, &r->err), ERR_OK);
    rig_step(r);
    uint64_t made = get(r, "s").manual;
    for (int i = 0; i < 10; i++)
        rig_pass(r, 1);
    assert_int_equal(get(r, "s").manual, made);
    assert_false(get(r, "s").filling);
    assert_int_equal(
        engine_schedule_fill_stop(r->engine, NULL, slice_str("none"), &r->err),
        ERR_NOTFOUND);
}

static void count_views(void *ud, const struct schedule_view *v)
{
    (void)v;
    ++*(uint32_t *)ud;
}

static void a_list_goes_on_where_it_stopped_looking(void **state)
{
    struct rig *r = *state;
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof(name), "s%02d", i);
        struct schedule_params p = every(name, HOUR);
        set(r, &p);
    }
    struct schedule_page page = {
        .match = SLICE_LIT("*9"), .count = 100, .look = 3};
    struct buf next = {0}, after = {0};
    uint32_t found = 0, calls = 0;
    do {
        buf_clear(&after);
        buf_add_slice(&after, buf_slice(&next));
        page.after = buf_slice(&after);
        assert_int_equal(engine_schedules(r->engine, NULL, &page, count_views,
                                          &found, &next, &r->err),
                         ERR_OK);
        calls++;
    } while (next.len > 0 && calls < 100);
    assert_int_equal(found, 2);
    assert_int_equal(calls, 7);
    /* Names that begin otherwise are not looked at. */
    page.match = SLICE_LIT("s1?");
    page.look = 11;
    page.after = SLICE_EMPTY;
    found = 0;
    assert_int_equal(engine_schedules(r->engine, NULL, &page, count_views,
                                      &found, &next, &r->err),
                     ERR_OK);
    assert_int_equal(found, 10);
    assert_int_equal(next.len, 0);
    buf_release(&next);
    buf_release(&after);
}

/* --- the guardian -------------------------------------------------------- */

static void the_guardian_mends_what_was_broken(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = every("s", HOUR * 5);
    uint64_t next = set(r, &p);
    struct id id = due_name_id(slice_str("s"));
    rig_pass(r, 100);
    /* An alarm is lost, one is too many, a job that is none is counted. */
    r->check = false;
    due_del(r->engine, next, DUE_SCHEDULE, &id);
    struct due d = {
        .at_ms = r->now.wall_ms + MINUTE, .kind = DUE_SCHEDULE, .id = id};
    due_put(r->engine, &d, false);
    assert_int_not_equal(engine_check(r->engine, &r->err), ERR_OK);
    rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 0);
    rig_pass(r, HOUR);
    r->check = true;
    rig_step(r);
    assert_int_equal(r->events[EVENT_SCHEDULE_REPAIRED], 1);
    struct engine_stats stats;
    engine_get_stats(r->engine, &stats);
    assert_int_equal(stats.schedules, 1);
    assert_int_equal(stats.schedule_repairs, 1);
    rig_pass(r, next - r->now.wall_ms);
    assert_int_equal(get(r, "s").fired, 1);
}

static void copy_zone(const char *from, const char *to)
{
    char bytes[8192];
    FILE *in = fopen(from, "rb");
    assert_non_null(in);
    size_t n = fread(bytes, 1, sizeof(bytes), in);
    fclose(in);
    FILE *out = fopen(to, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(out);
}

static void new_rules_of_a_zone_move_the_next_time(void **state)
{
    struct rig *r = *state;
    char dir[] = "/tmp/belfry-zone-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/Moving", dir);
    copy_zone("/usr/share/zoneinfo/Asia/Tokyo", path);
    zone_set_dir(dir);
    struct schedule_params p = cron("s", "0 12 * * *");
    p.timing.zone = SLICE_LIT("Moving");
    uint64_t next = set(r, &p);
    assert_int_equal(next % (24 * HOUR), 3 * HOUR);
    rig_pass(r, 1);
    copy_zone("/usr/share/zoneinfo/Asia/Kolkata", path);
    zone_set_dir(dir);
    rig_restart(r);
    rig_pass(r, 1);
    assert_int_equal(get(r, "s").next_ms % (24 * HOUR), 6 * HOUR + 30 * MINUTE);
    rig_step(r);
    unlink(path);
    rmdir(dir);
    zone_set_dir("/usr/share/zoneinfo");
}

/* A package of zones is half-way through its upgrade while the server starts.
 */
static void a_zone_that_cannot_be_read_is_waited_for(void **state)
{
    struct rig *r = *state;
    char dir[] = "/tmp/belfry-zone-XXXXXX", path[64];
    uint64_t paused;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/Gone", dir);
    copy_zone("/usr/share/zoneinfo/Asia/Tokyo", path);
    zone_set_dir(dir);
    struct schedule_params p = cron("s", "* * * * *");
    p.timing.zone = SLICE_LIT("Gone");
    uint64_t next = set(r, &p);
    assert_int_equal(engine_schedule_backfill(r->engine, NULL, p.name,
                                              r->now.wall_ms - 9 * MINUTE,
                                              r->now.wall_ms, r->now, &r->err),
                     ERR_OK);
    rig_step(r);
    unlink(path);
    zone_set_dir(dir);
    r->check = false; /* its alarm is elsewhere for a while */
    rig_restart(r);
    rig_pass(r, next - r->now.wall_ms);
    rig_pass(r, MINUTE);
    assert_int_equal(get(r, "s").fired, 0);
    assert_true(r->events[EVENT_ENGINE_FAULT] > 0);
    copy_zone("/usr/share/zoneinfo/Asia/Tokyo", path);
    rig_pass(r, MINUTE);
    for (int i = 0; i < 10; i++)
        rig_pass(r, 1);
    r->check = true;
    rig_step(r);
    assert_int_equal(get(r, "s").fired, 1);
    assert_int_equal(get(r, "s").manual, 10);
    unlink(path);
    zone_set_dir(dir);
    assert_int_equal(engine_schedule_pause(r->engine, NULL, p.name, true,
                                           r->now, &paused, &r->err),
                     ERR_OK);
    rig_step(r);
    rmdir(dir);
    zone_set_dir("/usr/share/zoneinfo");
}

/* Slice by slice the alarm gets later than planned, which is no new rule. */
static void the_guardian_leaves_an_alarm_that_displaces_alone(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = cron("s", "* * * * *");
    p.timing.zone = SLICE_LIT("Europe/Berlin");
    p.overlap = OVERLAP_ALLOW;
    set(r, &p);
    for (int i = 0; i < 3; i++)
        rig_pass(r, MINUTE);
    p.overlap = OVERLAP_TERMINATE;
    uint64_t next = set(r, &p);
    r->config.slice_ops = 1;
    rig_restart(r);
    r->now.wall_ms += MINUTE;
    r->now.mono_ms += MINUTE;
    (void)engine_tick(r->engine, r->now);
    rig_step(r);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.live, 2);
    assert_int_equal(v.next_ms, next);
    assert_int_equal(v.due_ms, next + 1);
    rig_pass(r, SECOND);
    v = get(r, "s");
    assert_int_equal(v.live, 1);
    assert_int_equal(v.fired, 4);
    assert_int_equal(v.next_ms, next + MINUTE);
}

/* An outage ended inside of what is excluded: slice by slice the last time
 * before it is held while the search is far behind it, which is no new rule
 * either. */
static void the_guardian_leaves_a_walk_alone(void **state)
{
    struct rig *r = *state;
    struct schedule_params p = cron("s", "* * * * * *");
    p.timing.zone = SLICE_LIT("Etc/UTC");
    rig_pass(r, HOUR - r->now.wall_ms % HOUR - 10 * SECOND);
    uint64_t from = r->now.wall_ms;
    char exclude[2][64];
    unsigned hour = (unsigned)((from / HOUR + 1) % 24);
    snprintf(exclude[0], sizeof(exclude[0]), "*/2 * %u * * *", hour);
    snprintf(exclude[1], sizeof(exclude[1]), "1-59/2 * %u * * *", hour);
    for (int i = 0; i < 2; i++)
        p.timing.excludes[p.timing.excludes_n++] = slice_str(exclude[i]);
    p.grace_ms = SECOND;
    set(r, &p);
    r->config.slice_ops = 1;
    rig_restart(r);
    rig_pass(r, 30 * MINUTE);
    struct schedule_view v = get(r, "s");
    assert_int_equal(v.missed, 9);
    assert_int_equal(v.fired, 1);
    assert_int_equal(v.last_ms, from + 9 * SECOND);
}

#define MANY 100000

static void many_schedules_fire_and_cost_no_memory(void **state)
{
    struct rig *r = *state;
    struct engine_stats before, after;
    uint64_t next;
    r->check = false;
    engine_get_stats(r->engine, &before);
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof(name), "s%d", i);
        struct schedule_params p = cron(name, "@daily");
        assert_int_equal(
            engine_schedule_set(r->engine, NULL, &p, r->now, &next, &r->err),
            ERR_OK);
        if (i % 1000 == 0)
            rig_step(r);
    }
    rig_step(r);
    rig_restart(r);
    engine_get_stats(r->engine, &after);
    assert_in_range(after.memory_bytes, 0, before.memory_bytes + (1 << 20));
    rig_pass(r, next - r->now.wall_ms);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], MANY);
    rig_pass(r, HOUR);
    assert_int_equal(rig_queue(r, "q").jobs[JOB_READY], MANY);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_fires_at_its_times_and_tells_them),
        TEST(set_again_moves_the_next_time_only_with_the_timing),
        TEST(what_cannot_fire_is_refused),
        TEST(several_patterns_and_exclusions),
        TEST(what_is_excluded_is_jumped_over),
        TEST(what_is_excluded_was_not_missed),
        TEST(once_is_once_over_what_is_excluded),
        TEST(max_start_and_end_are_kept),
        TEST(spread_is_stable_and_before_the_next_time),
        TEST(once_at_a_time),
        TEST(a_paused_at_fires_when_it_is_resumed),
        TEST(pause_resume_and_del),
        TEST(a_schedule_made_anew_counts_all_that_still_live),
        TEST(large_payloads_are_made_and_ended_in_slices),
        TEST(each_live_job_is_told_to_stop),
        TEST(a_job_taken_back_meanwhile_is_displaced_too),
        TEST(times_that_were_displaced_stay_so),
        TEST(a_job_taken_back_counts_for_the_next_schedule_of_its_name),
        TEST(max_counts_the_times_that_wait),
        TEST(below_the_disk_reserve_a_schedule_waits),
        TEST(every_overlap_with_every_misfire),
        TEST(what_is_outside_the_window_is_counted_only),
        TEST(a_year_of_milliseconds_is_not_walked),
        TEST(a_long_outage_of_a_pattern_is_walked_in_slices),
        TEST(a_clock_that_steps_back_fires_nothing_twice),
        TEST(a_crash_anywhere_leaves_one_job_per_time),
        TEST(rows_that_must_be_fetched_change_nothing),
        TEST(a_time_that_displaces_is_not_lost_while_rows_are_fetched),
        TEST(it_pauses_after_failures_in_a_row),
        TEST(a_job_that_cannot_be_made_is_told),
        TEST(what_an_earlier_version_accepted_makes_jobs),
        TEST(a_job_that_is_taken_back_is_live_again),
        TEST(a_job_that_does_not_stop_is_stopped_for_its_successor),
        TEST(backfill_makes_what_was_not_made),
        TEST(a_backfill_can_be_stopped),
        TEST(a_list_goes_on_where_it_stopped_looking),
        TEST(the_guardian_mends_what_was_broken),
        TEST(new_rules_of_a_zone_move_the_next_time),
        TEST(a_zone_that_cannot_be_read_is_waited_for),
        TEST(the_guardian_leaves_an_alarm_that_displaces_alone),
        TEST(the_guardian_leaves_a_walk_alone),
        TEST(many_schedules_fire_and_cost_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
