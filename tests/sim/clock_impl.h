/* What the files of the model of schedules share: see clock.h. */
#ifndef SIM_CLOCK_IMPL_H
#define SIM_CLOCK_IMPL_H

#include <stddef.h>

#include "clock.h"

/* Grows only; a state says how much of it is valid. */
struct clock_ledger {
    uint64_t *at;
    size_t cap;
};

struct clock_state {
    bool exists, paused, filling;
    struct clock_settings set;
    uint64_t next_ms, due_ms, high_ms;
    uint64_t offset_ms; /* of the alarm behind the nominal time */
    uint64_t fired, missed, overlapped, manual;
    uint64_t completed_before, failed_before;
    size_t head, tail;     /* of the times that wait */
    size_t decided, older; /* times that had their job; by earlier lives */
    uint64_t fill_from_ms, fill_to_ms;
    bool fill_moved; /* the timing changed meanwhile */
};

struct clock_was {
    uint64_t index; /* 0: the open entry */
    uint32_t s;
    struct clock_state was;
};

struct clocks {
    struct clock_state now[CLOCK_SCHEDULES];
    struct clock_ledger waiting[CLOCK_SCHEDULES], decided[CLOCK_SCHEDULES];
    struct clock_was *undo;
    size_t undo_n, undo_cap;
};

/* --- clock.c ------------------------------------------------------------- */

/* It changes here; a crash may take that back. */
struct clock_state *clocks_change(struct clocks *c, uint32_t s);
void clocks_note(struct clock_ledger *l, size_t i, uint64_t at_ms);
/* This time has had its job. */
void clocks_decide(struct clocks *c, uint32_t s, struct clock_state *st,
                   uint64_t at_ms);
bool clocks_found(const struct clock_ledger *l, size_t from, size_t to,
                  uint64_t at_ms);
/* The first time behind that one; 0: there is none. */
uint64_t clocks_next(const struct clock_settings *set, int64_t after_ms);
void clocks_move(struct clock_state *st, int64_t after_ms);
const char *clocks_compare(const struct clock_state *st,
                           const struct schedule_view *v);

#endif
