/* An engine on a disk in memory with a clock that the test moves. Every step
 * ends with a commit and engine_check(). */
#ifndef UNIT_ENGINE_RIG_H
#define UNIT_ENGINE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "store/mem.h"
#include "store/store.h"

#define RIG_TOKENS 4096

struct rig {
    struct mem_disk *disk;
    struct mem_knobs knobs;
    struct store *store;
    struct engine *engine;
    struct gather *gather;
    struct engine_config config;
    struct now now;
    struct errbuf err;
    bool check;
    uint64_t generation_bytes, overlay_bytes; /* 0: the defaults */
    /* what the last lease gave */
    char tokens[RIG_TOKENS][64];
    struct slice token[RIG_TOKENS];
    struct id ids[RIG_TOKENS];
    char payload[256];
    uint32_t attempt, delivery, n;
    char handler[64];
    uint64_t lease_ms;
    /* what the last verb answered for the last token */
    enum err verdict, verdicts[16];
    uint64_t left_ms; /* of the lease that was renewed last */
    uint32_t events[EVENT_TYPES];
    uint32_t fetches; /* operations that had to wait for rows */
};

int rig_setup(void **state);
int rig_teardown(void **state);

void rig_open(struct rig *r);
void rig_close(struct rig *r);
/* Power off and on again; everything committed was durable. */
void rig_restart(struct rig *r);

/* An operation with r->gather missed rows: bring them. */
void rig_fetch(struct rig *r);
/* Commit, poll, check. */
void rig_step(struct rig *r);
/* Time passes; timers run until nothing is due. */
void rig_pass(struct rig *r, uint64_t ms);

/* One job; options may be NULL. Asserts success. */
struct add_result rig_add(struct rig *r, const char *queue, const char *payload,
                          const struct job_options *o);
/* Into queue q, with `ID name`. */
struct add_result rig_add_named(struct rig *r, const char *name,
                                const struct job_options *o);
enum err rig_try_add(struct rig *r, const struct add_params *p,
                     struct add_result *result);

/* Lease up to n; returns how many were given. */
uint32_t rig_lease(struct rig *r, const char *queue, uint32_t n);
enum err rig_lease_with(struct rig *r, const struct lease_params *p);

enum err rig_ack(struct rig *r, struct slice token);
enum err rig_nack(struct rig *r, struct slice token);
enum err rig_nack_with(struct rig *r, struct nack_params p);
enum err rig_release(struct rig *r, struct slice token);
/* 0: keep the length. Why it is lost is the verdict. */
enum lease_order rig_extend(struct rig *r, struct slice token,
                            uint64_t lease_ms);

/* One verb for jobs by id, for one by name, for all that `p` names: what it
 * answered for the last one. */
enum err rig_manage(struct rig *r, struct manage_params p, const struct id *ids,
                    uint32_t n);
enum err rig_manage_name(struct rig *r, struct manage_params p,
                         struct slice name);
enum err rig_manage_all(struct rig *r, const struct manage_params *p);
enum err rig_update(struct rig *r, struct id id, const struct job_options *o,
                    const char *payload);
uint32_t rig_executions(struct rig *r, struct id id);

enum job_state rig_state(struct rig *r, struct id id); /* 0: not found */
struct job_view rig_view(struct rig *r, struct id id); /* it is there */
struct why_view rig_why(struct rig *r, struct id id);
struct queue_view rig_queue(struct rig *r, const char *queue);
/* Of the queue `q`, and of an owner. */
void rig_set(struct rig *r, struct queue_settings s);
void rig_weigh(struct rig *r, const char *owner, uint32_t weight);

struct chore_view rig_chore(struct rig *r, struct id id);
/* Time passes until the chore is done. */
void rig_until_done(struct rig *r, struct id id);

#define GIVEN(NAME) ((uint64_t)1 << JOPT_##NAME)

#endif
