/* Changes that a crash may take back: the bytes as they were, with the index of
 * the entry that changed them.
 *
 * The model of the jobs has its own journal (model.c), because its jobs move
 * when there are more of them; what is saved here keeps its place.
 */
#ifndef SIM_UNDO_H
#define SIM_UNDO_H

#include <stddef.h>
#include <stdint.h>

struct undo;

struct undo *undo_new(void);
void undo_free(struct undo **u);

/* These bytes are about to change, with the open entry. */
void undo_save(struct undo *u, void *at, size_t len);
#define UNDO_SAVE(u, thing) undo_save(u, thing, sizeof(*(thing)))

/* As for the jobs: see model.h. */
void undo_committed(struct undo *u, uint64_t index);
void undo_crashed(struct undo *u, uint64_t index);
void undo_durable(struct undo *u, uint64_t index);

#endif
