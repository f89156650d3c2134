/* A fixed set of words that is looked up without regard to ASCII case: names
 * of commands, options, directives.
 *
 * Built once at start, read for ever. A lookup of a word of up to 16 bytes
 * costs a few nanoseconds: the word is folded to lower case eight bytes at a
 * time, hashed, and compared with the one slot where it can be (slots are four
 * times as many as words, so a second probe is rare).
 *
 * The table borrows the words; they must outlive it.
 */
#ifndef UTIL_WORDS_H
#define UTIL_WORDS_H

#include <stdint.h>

#include "util/slice.h"

struct words_slot {
    uint64_t head, tail; /* first and last eight bytes, folded */
    const char *word;
    uint32_t len;
    uint32_t value; /* what the word stands for; used only if word != NULL */
};

struct words {
    struct words_slot *slots;
    uint32_t mask;
    uint32_t len;
};

/* Room for `n` words. */
void words_init(struct words *w, uint32_t n);
void words_release(struct words *w);

/* Returns false, and changes nothing, if the word is there already. */
bool words_add(struct words *w, const char *word, uint32_t value);

/* The word's value, or -1. */
int64_t words_find(const struct words *w, struct slice word);

/* Edits (insert, drop, replace, swap neighbours) from `a` to `b` without
 * regard to case, at most `max`; max + 1 if there are more. For "did you mean".
 */
unsigned words_distance(struct slice a, struct slice b, unsigned max);

#endif
