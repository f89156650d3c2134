/* The engine's records: the values of its rows. How a list becomes a struct,
 * size, encode and decode is told in store/record.h, keys in store/key.h.
 *
 * A released list never changes; a new field makes the next version (RECORD2,
 * RECORD4_CUT).
 * Numbers of kinds, states, verbs and reasons are on disk: never reuse one.
 */
#ifndef ENGINE_RECORDS_H
#define ENGINE_RECORDS_H

#include "store/record.h"

/* Kinds of rows in `named`. Numbered names are 4 bytes, big-endian. */
enum named_kind {
    NAMED_QUEUE = 1,    /* name -> rec_queue */
    NAMED_HANDLER = 2,  /* name -> rec_handler */
    NAMED_OWNER = 3,    /* name -> rec_owner */
    NAMED_LANE = 4,     /* lane id -> rec_lane */
    NAMED_COUNTS = 5,   /* queue id -> rec_counts */
    NAMED_LIMIT = 6,    /* pattern -> rec_rule */
    NAMED_SCHEDULE = 7, /* name -> rec_schedule_name */
    NAMED_WORKER = 8,   /* worker.c */
    NAMED_BATCH = 9,    /* batch.c */
    NAMED_ALERT = 10,
    NAMED_CHORE = 11,       /* chore.c */
    NAMED_ENGINE = 12,      /* "due", "forget": rec_head */
    NAMED_LIMIT_STATE = 13, /* limit name -> rec_limit */
    NAMED_PURGED = 14,      /* queue id -> rec_purged */
    NAMED_DROPPED = 15,     /* queue id -> rec_mark: nobody has used it since */
    /* of schedules, by their id */
    NAMED_SCHEDULE_SET = 16,
    NAMED_SCHEDULE_STATE = 17,
    NAMED_SCHEDULE_FILL = 18,
    NAMED_LIVE = 19, /* first owner's id -> rec_live */
};

/* Kinds of rows in `due`: what happens at that time. */
enum due_kind {
    DUE_READY = 1,    /* id: a delayed or retrying job becomes ready: rec_due */
    DUE_EXPIRES = 2,  /* id: too late to start */
    DUE_DEADLINE = 3, /* id: too late to go on */
    DUE_UNIQUE = 4,   /* unique key: the time of its row is over */
    DUE_LIMIT = 5,    /* limit name: it opens */
    DUE_SCHEDULE = 6, /* schedule: it fires */
    DUE_CANCEL = 7,   /* id: a cancelled execution is ended by force */
    DUE_BREAKER = 8,
    DUE_SCHEDULE_FREE = 10, /* schedule: what it buffers may start */
    DUE_SCHEDULE_FILL = 11, /* schedule: a slice of its backfill */
};

/* How a DUE_READY job comes back. */
enum due_flag {
    DUEF_RETRYING = 1 << 0,  /* from RETRYING, else from SCHEDULED */
    DUEF_OLD_PLACE = 1 << 1, /* to where it stood, else behind its time */
};

/* Kinds of rows in `keys`. */
enum key_kind {
    KEY_ALIAS = 1,     /* name -> rec_alias */
    KEY_UNIQUE = 2,    /* scope and key -> rec_unique */
    KEY_EFFECT = 3,    /* id, key -> rec_mark */
    KEY_ADD = 4,       /* idempotency of ADD, in done buckets: rec_add_reply */
    KEY_LEASE = 5,     /* idempotency of LEASE -> rec_lease_reply */
    KEY_SCHEDULE = 10, /* schedule, job: it is live -> rec_mark */
    KEY_OCCURRENCE = 11, /* in done buckets: schedule, nominal -> rec_mark */
    /* in done buckets, of an ADD in parts: its first job, how many were before
     * the part -> rec_add_reply */
    KEY_ADD_PART = 12,
};

/* Parts of rows in `bodies`. */
enum body_part {
    BODY_PAYLOAD = 1,
    BODY_RESULT = 2,
    BODY_EXECUTION = 3, /* n -> rec_exec */
    BODY_CHECKPOINT = 4,
};

/* Longer payloads, results and checkpoints have rows of their own. */
#define BODY_INLINE_MAX 512

enum job_flag {
    JOBF_NAMED = 1 << 0,      /* has an alias row */
    JOBF_UNIQUE = 1 << 1,     /* has a unique row now */
    JOBF_BODY = 1 << 2,       /* the payload is in `bodies` */
    JOBF_CHECKPOINT = 1 << 3, /* the checkpoint is in `bodies` */
    JOBF_LIMITS = 1 << 4,     /* has limit names */
    JOBF_EXPIRES = 1 << 5,    /* has a due row DUE_EXPIRES */
    JOBF_DEADLINE = 1 << 6,   /* has a due row DUE_DEADLINE */
    JOBF_EXECUTIONS = 1 << 7, /* has execution rows in `bodies` */
    JOBF_EFFECTS = 1 << 8,    /* has effect rows in `keys` */
    JOBF_CHILDREN = 1 << 9,   /* has edges in `deps` */
    JOBF_PARENTS = 1 << 10,
    JOBF_BATCH = 1 << 11,
    JOBF_MOVED = 1 << 12,    /* its rows may exist in the base: never fresh */
    JOBF_RESERVED = 1 << 13, /* parked, with slots of names reserved */
    JOBF_OWNED = 1 << 14,    /* has an owner */
    JOBF_SCHEDULE = 1 << 15, /* made by a schedule */
    JOBF_CANCEL = 1 << 16,   /* has a due row DUE_CANCEL */
    JOBF_BEGUN = 1 << 17,    /* it ran when its EXPIRES was over: that is met */
};

enum run_flag {
    RUNF_CANCEL = 1 << 0,   /* told to stop */
    RUNF_EXPECTED = 1 << 1, /* EXPECT was passed and reported */
    RUNF_PROBE = 1 << 2,  /* begun while the handler's breaker was half open */
    RUNF_AGAIN = 1 << 3,  /* given again: one lost reply undoes it no more */
    RUNF_UNIQUE = 1 << 4, /* it let the key go that only waiting jobs have */
};

/* What ended an execution, as the holder of the token is told when it asks
 * again; also the outcome of an execution row. */
enum verb {
    VERB_NONE = 0,
    VERB_ACK = 1,
    VERB_FAIL = 2,
    VERB_RELEASE = 3,
    VERB_SNOOZE = 4,
    VERB_LOST = 5,
    VERB_TIMEOUT = 6,
    VERB_CANCEL = 7,
};

/* Why a job ended. */
enum reason {
    REASON_NONE = 0,
    REASON_ERROR = 1,     /* retries used up */
    REASON_PERMANENT = 2, /* the worker, or a rule, said so */
    REASON_POISON = 3,    /* crashes used up */
    REASON_EXPIRES = 4,   /* not started in time */
    REASON_DEADLINE = 5,
    REASON_CANCELLED = 6,
    REASON_PARENT = 7,
    REASON_DROPPED = 8, /* MAXLEN made room */
};

/* jobs: id -> a live job. Not rewritten by a lease: `runs` has what changes.
 * `since_ms` is the time at which it became or becomes ready. `keep` is the
 * time to keep it when finished plus one; 0: nobody said. */
#define REC_JOB_V1(X)  \
    X(u8, state)       \
    X(u32, flags)      \
    X(u32, queue)      \
    X(u32, handler)    \
    X(u32, lane)       \
    X(u64, order)      \
    X(u64, since_ms)   \
    X(u32, priority)   \
    X(u32, retries)    \
    X(u32, failures)   \
    X(u32, crashes)    \
    X(u32, deliveries) \
    X(u64, lease_ms)   \
    X(u64, keep)       \
    X(bytes, more)     \
    X(bytes, payload)

/* What few jobs have; `more` is empty if all of it is zero. Its first part is
 * all that most of those have, and the second has the rest of what every lease
 * asks for (see job.c). */
#define REC_MORE_FIRST(X) \
    X(bytes, name)        \
    X(u32, owner)         \
    X(bytes, unique)      \
    X(u8, unique_scope)   \
    X(u8, unique_while)   \
    X(u64, unique_for_ms) \
    X(bytes, limits)      \
    X(u32, cost)
#define REC_MORE_NEXT(X) \
    X(bytes, batch)      \
    X(bytes, tags)       \
    X(bytes, trace)      \
    X(bytes, meta)       \
    X(u8, retry_given)   \
    X(u8, backoff)       \
    X(u64, base_ms)      \
    X(fix64, factor)     \
    X(u64, cap_ms)       \
    X(u32, jitter)       \
    X(u64, timeout_ms)
#define REC_MORE_HOT(X) \
    REC_MORE_FIRST(X)   \
    REC_MORE_NEXT(X)
#define REC_MORE_REST_V1(X)  \
    X(u64, expect_ms)        \
    X(u8, sla)               \
    X(u64, expires_at_ms)    \
    X(u64, deadline_at_ms)   \
    X(u32, last_n)           \
    X(u32, last_e)           \
    X(u8, last_verb)         \
    X(bytes, error)          \
    X(bytes, error_type)     \
    X(u64, first_crash_ms)   \
    X(u32, progress)         \
    X(bytes, progress_text)  \
    X(bytes, checkpoint)     \
    X(u32, parents_left)     \
    X(u64, blocked_delay_ms) \
    X(bytes, schedule)       \
    X(u64, nominal_ms)       \
    X(bytes, reserved)       \
    X(u8, held_from)         \
    X(u64, cancel_at_ms)     \
    X(u64, occurrence)
#define REC_MORE_V1(X) \
    REC_MORE_HOT(X)    \
    REC_MORE_REST_V1(X)
/* How long EXPIRES and DEADLINE give it each time: a RETRY begins anew. */
#define REC_MORE_REST_V2(X) \
    REC_MORE_REST_V1(X)     \
    X(u64, expires_ms)      \
    X(u64, deadline_ms)
#define REC_MORE_V2(X) \
    REC_MORE_HOT(X)    \
    REC_MORE_REST_V2(X)
/* When it crashed, as far as that still counts: fix64 each. Of a job that an
 * older version wrote there is `first_crash_ms` instead. */
#define REC_MORE_REST(X) \
    REC_MORE_REST_V2(X)  \
    X(bytes, crashed_ms)
#define REC_MORE_VERSION 4
#define REC_MORE_V3(X) \
    REC_MORE_HOT(X)    \
    REC_MORE_REST(X)

/* ready */
#define REC_READY_V1(X) \
    X(u32, priority)    \
    X(u64, since_ms)

/* parked: `met` counts the full names that the job met in turn */
#define REC_PARKED_V1(X) \
    X(u32, priority)     \
    X(u64, since_ms)     \
    X(u8, met)

/* due: a job that becomes ready brings its lane, so that it need not be read;
 * things without an id bring their name (their id is a hash of it). */
#define REC_DUE_V1(X) \
    X(u32, lane)      \
    X(u32, priority)  \
    X(u8, flags)      \
    X(bytes, name)

/* due, other kinds; effects */
#define REC_MARK_V1(X) X(u32, flags)

/* runs: id -> the lease in force */
#define REC_RUN_V1(X)  \
    X(u32, n)          \
    X(u32, e)          \
    X(u64, started_ms) \
    X(u64, lease_ms)   \
    X(u32, flags)      \
    X(bytes, worker)   \
    X(bytes, session)  \
    X(bytes, limits)   \
    X(bytes, request)

/* an execution that has ended */
#define REC_EXEC_V1(X)   \
    X(u32, n)            \
    X(u8, verb)          \
    X(u64, started_ms)   \
    X(u64, ended_ms)     \
    X(bytes, worker)     \
    X(bytes, error)      \
    X(bytes, error_type) \
    X(bytes, stack)      \
    X(i64, code)
/* `usage`: words, name and number in turn */
#define REC_EXEC_V2(X) \
    REC_EXEC_V1(X)     \
    X(bytes, usage)

/* past, PAST_JOB: `exec` is the last execution (empty: there was none), `job`
 * the row it had when alive. `e` with exec's n makes the token that ended it.
 * `block` is where the index names it. */
#define REC_DONE_V1(X)  \
    X(u8, state)        \
    X(u8, reason)       \
    X(u64, finished_ms) \
    X(u32, e)           \
    X(u8, has_result)   \
    X(u64, block)       \
    X(bytes, exec)      \
    X(bytes, result)    \
    X(bytes, job)

/* index: ids, one behind the other */
#define REC_INDEX_V1(X) X(bytes, ids)

/* done, DONE_COUNT */
#define REC_COUNT_V1(X) X(u64, count)

/* named */
#define REC_QUEUE_V1(X) \
    X(u32, id)          \
    X(u8, paused)       \
    X(u8, order)        \
    X(u64, age_ms)      \
    X(u8, fair)         \
    X(u64, lease_ms)    \
    X(u64, keep)        \
    X(u64, maxlen)      \
    X(u8, drop_oldest)  \
    X(u32, concurrency) \
    X(u64, rate)        \
    X(u64, rate_per_ms) \
    X(u64, burst)

#define REC_HANDLER_V1(X) \
    X(u32, id)            \
    X(u8, paused)         \
    X(bytes, options)     \
    X(bytes, description) \
    X(u8, check)          \
    X(u64, payload_max)   \
    X(bytes, never)       \
    X(bytes, only)        \
    X(bytes, breaker)

#define REC_WORKER_V1(X) \
    X(bytes, session)    \
    X(u32, concurrency)  \
    X(bytes, queues)     \
    X(bytes, labels)     \
    X(u8, draining)      \
    X(u64, registered_ms)

/* in rec_handler: settings and state of its breaker */
#define REC_BREAKER_V1(X) \
    X(u8, on)             \
    X(u32, percent)       \
    X(u32, least)         \
    X(u64, window_ms)     \
    X(u64, open_ms)       \
    X(u32, probes)        \
    X(u8, state)          \
    X(u64, since_ms)      \
    X(u64, tripped_ms)    \
    X(u64, until_ms)      \
    X(u64, trips)

#define REC_OWNER_V1(X) \
    X(u32, id)          \
    X(u32, weight)      \
    X(u64, live_max)    \
    X(u32, running_max) \
    X(u64, add_rate)    \
    X(u64, add_per_ms)

/* Live jobs of LIVE_BLOCK owners whose ids follow each other: where a thousand
 * owners have work, a tick writes sixty rows, not a thousand. */
#define LIVE_BLOCK 16
#define REC_LIVE_V1(X) \
    X(u64, n0)         \
    X(u64, n1)         \
    X(u64, n2)         \
    X(u64, n3)         \
    X(u64, n4)         \
    X(u64, n5)         \
    X(u64, n6)         \
    X(u64, n7)         \
    X(u64, n8)         \
    X(u64, n9)         \
    X(u64, n10)        \
    X(u64, n11)        \
    X(u64, n12)        \
    X(u64, n13)        \
    X(u64, n14)        \
    X(u64, n15)

/* A rule of limits; 0 is unlimited. */
#define REC_RULE_V1(X)  \
    X(u32, concurrency) \
    X(u64, rate)        \
    X(u64, per_ms)      \
    X(u64, burst)

/* What a limit must know after a restart, while it is not all past. */
#define REC_LIMIT_V1(X) \
    X(u64, tat_us)      \
    X(u64, closed_ms)   \
    X(u32, reserved)
/* `unit_us`: what one unit took by the rate that tat_us was reckoned with. */
#define REC_LIMIT_V2(X) \
    REC_LIMIT_V1(X)     \
    X(u64, unit_us)

#define REC_LANE_V1(X) \
    X(u32, queue)      \
    X(u32, handler)    \
    X(u32, owner)      \
    X(u8, order)       \
    X(u64, age_ms)     \
    X(u64, head)

#define REC_COUNTS_V1(X) \
    X(u64, blocked)      \
    X(u64, scheduled)    \
    X(u64, ready)        \
    X(u64, parked)       \
    X(u64, retrying)     \
    X(u64, held)         \
    X(u64, running)      \
    X(u64, added)        \
    X(u64, leased)       \
    X(u64, completed)    \
    X(u64, failed)       \
    X(u64, cancelled)    \
    X(u64, expired)      \
    X(u64, lost)         \
    X(u64, retried)

/* named, NAMED_CHORE: id -> a chore; `filter` is a rec_filter. The phases of a
 * purge are others (purge.c). */
#define REC_CHORE_V1(X) \
    X(u8, state)        \
    X(u8, verb)         \
    X(u8, dry)          \
    X(u64, rate)        \
    X(bytes, filter)    \
    X(u8, phase)        \
    X(bytes, next)      \
    X(u64, created_ms)  \
    X(u64, updated_ms)  \
    X(u64, finished_ms) \
    X(u64, examined)    \
    X(u64, matched)     \
    X(u64, done)        \
    X(u64, refused)

/* `skip`: ids of the index's row at `next` that have been looked at */
#define REC_CHORE_V2(X) \
    REC_CHORE_V1(X)     \
    X(u32, skip)

#define REC_FILTER_V1(X)     \
    X(bytes, queue)          \
    X(bytes, handler)        \
    X(bytes, owner)          \
    X(bytes, worker)         \
    X(bytes, key)            \
    X(u8, has_tag)           \
    X(bytes, tag_key)        \
    X(bytes, tag_value)      \
    X(bytes, id_prefix)      \
    X(u32, states)           \
    X(u64, created_from_ms)  \
    X(u64, created_to_ms)    \
    X(u64, finished_from_ms) \
    X(u64, finished_to_ms)   \
    X(fix64, signature)

#define REC_HEAD_V1(X) X(u64, time_ms)

/* Lanes of the queue up to this number are dead, and all that waits in them. */
#define REC_PURGED_V1(X) X(u32, lane)

/* keys */
#define REC_ALIAS_V1(X) X(id, job)

#define REC_UNIQUE_V1(X) \
    X(id, job)           \
    X(u64, until_ms)

#define REC_ADD_REPLY_V1(X) \
    X(fix64, request)       \
    X(u64, until_ms)        \
    X(bytes, ids)
/* Was it an older job's id? A record of the first version does not tell. */
#define REC_ADD_REPLY_V2(X) \
    REC_ADD_REPLY_V1(X)     \
    X(u8, older)

#define REC_LEASE_REPLY_V1(X) \
    X(fix64, request)         \
    X(bytes, tokens)

/* schedules: what SET says */
#define REC_SCHEDULE_NAME_V1(X) X(id, id)

#define REC_SCHEDULE_V1(X) \
    X(u64, created_ms)     \
    X(u64, changed_ms)     \
    X(u8, when)            \
    X(bytes, patterns)     \
    X(bytes, excludes)     \
    X(u64, every_ms)       \
    X(u64, at_ms)          \
    X(bytes, zone)         \
    X(u8, gap)             \
    X(u8, fold)            \
    X(u64, start_ms)       \
    X(u64, end_ms)         \
    X(u64, spread_ms)      \
    X(u64, max)            \
    X(u8, overlap)         \
    X(u8, misfire)         \
    X(u64, grace_ms)       \
    X(u64, window_ms)      \
    X(u32, pause_after)    \
    X(bytes, name)         \
    X(bytes, queue)        \
    X(bytes, options)      \
    X(bytes, payload)

/* schedules: what the clock did. `from_ms` is where the search for next_ms
 * began; `high_ms` the latest nominal time that was decided. */
#define REC_SCHEDULE_STATE_V1(X) \
    X(u8, paused)                \
    X(u64, from_ms)              \
    X(u64, next_ms)              \
    X(u64, due_ms)               \
    X(u64, high_ms)              \
    X(u64, last_ms)              \
    X(u64, last_fired_ms)        \
    X(id, last_job)              \
    X(u64, fired)                \
    X(u64, missed)               \
    X(u64, overlapped)           \
    X(u64, failed)               \
    X(u64, completed)            \
    X(u64, rejected)             \
    X(u64, manual)               \
    X(u32, pause_after)          \
    X(u32, failures_in_row)      \
    X(u32, live)                 \
    X(bytes, buffered)           \
    X(bytes, outcomes)           \
    X(bytes, error)
/* `displaced`: an id, up to which the present time has displaced live jobs. */
#define REC_SCHEDULE_STATE_V2(X) \
    REC_SCHEDULE_STATE_V1(X)     \
    X(bytes, displaced)

#define REC_SCHEDULE_FILL_V1(X) \
    X(u64, from_ms)             \
    X(u64, to_ms)               \
    X(u64, at_ms)               \
    X(u64, made)

/* an event in an entry */
#define REC_EVENT_V1(X) \
    X(u8, type)         \
    X(u64, at_ms)       \
    X(id, job)          \
    X(u32, n)           \
    X(u32, queue)       \
    X(u32, handler)     \
    X(u64, took_ms)     \
    X(bytes, text)

/* Every one, for tests of all records. */
#define ENGINE_RECORDS(R)                      \
    R(rec_job, REC_JOB_V1)                     \
    R(rec_ready, REC_READY_V1)                 \
    R(rec_parked, REC_PARKED_V1)               \
    R(rec_due, REC_DUE_V1)                     \
    R(rec_mark, REC_MARK_V1)                   \
    R(rec_run, REC_RUN_V1)                     \
    R(rec_done, REC_DONE_V1)                   \
    R(rec_index, REC_INDEX_V1)                 \
    R(rec_count, REC_COUNT_V1)                 \
    R(rec_queue, REC_QUEUE_V1)                 \
    R(rec_handler, REC_HANDLER_V1)             \
    R(rec_breaker, REC_BREAKER_V1)             \
    R(rec_worker, REC_WORKER_V1)               \
    R(rec_owner, REC_OWNER_V1)                 \
    R(rec_live, REC_LIVE_V1)                   \
    R(rec_rule, REC_RULE_V1)                   \
    R(rec_lane, REC_LANE_V1)                   \
    R(rec_counts, REC_COUNTS_V1)               \
    R(rec_filter, REC_FILTER_V1)               \
    R(rec_head, REC_HEAD_V1)                   \
    R(rec_purged, REC_PURGED_V1)               \
    R(rec_alias, REC_ALIAS_V1)                 \
    R(rec_unique, REC_UNIQUE_V1)               \
    R(rec_lease_reply, REC_LEASE_REPLY_V1)     \
    R(rec_schedule_name, REC_SCHEDULE_NAME_V1) \
    R(rec_schedule, REC_SCHEDULE_V1)           \
    R(rec_schedule_fill, REC_SCHEDULE_FILL_V1) \
    R(rec_event, REC_EVENT_V1)

/* Those of which there are two versions. */
#define ENGINE_RECORDS2(R)                                              \
    R(rec_exec, REC_EXEC_V1, REC_EXEC_V2)                               \
    R(rec_limit, REC_LIMIT_V1, REC_LIMIT_V2)                            \
    R(rec_chore, REC_CHORE_V1, REC_CHORE_V2)                            \
    R(rec_schedule_state, REC_SCHEDULE_STATE_V1, REC_SCHEDULE_STATE_V2) \
    R(rec_add_reply, REC_ADD_REPLY_V1, REC_ADD_REPLY_V2)

/* And four. */
#define ENGINE_RECORDS4(R) R(rec_more, REC_MORE_V1, REC_MORE_V2, REC_MORE_V3)

/* clang-format off */
ENGINE_RECORDS(RECORD)
ENGINE_RECORDS2(RECORD2)
ENGINE_RECORDS4(RECORD4_CUT)
/* clang-format on */

#endif
