#include "util/words.h"

#include <strings.h>

#include "util/alloc.h"
#include "util/assert.h"

/* Lower case for eight bytes at a time, exact: only A-Z change. */
static inline uint64_t fold(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t low = x & (ones * 0x7f);
    uint64_t above_z = low + ones * (0x7f - 'Z');
    uint64_t from_a = low + ones * (0x80 - 'A');
    uint64_t upper = ~x & (ones * 0x80) & (from_a ^ above_z);
    return x | (upper >> 2);
}

/* First and last eight bytes, which overlap in a word of less than 16. */
static inline void load(struct slice s, uint64_t *head, uint64_t *tail)
{
    uint64_t h = 0, t = 0;
    if (s.len >= 8) {
        memcpy(&h, s.data, 8);
        memcpy(&t, s.data + s.len - 8, 8);
    } else if (s.len >= 4) {
        uint32_t a, b;
        memcpy(&a, s.data, 4);
        memcpy(&b, s.data + s.len - 4, 4);
        h = a;
        t = b;
    } else if (s.len > 0) {
        h = (uint64_t)(unsigned char)s.data[0] |
            (uint64_t)(unsigned char)s.data[s.len / 2] << 8;
        t = (unsigned char)s.data[s.len - 1];
    }
    *head = fold(h);
    *tail = fold(t);
}

static inline uint32_t mix(uint64_t head, uint64_t tail, size_t len)
{
    uint64_t x = (head ^ (tail * 0x9e3779b97f4a7c15u) ^ len);
    x *= 0xd6e8feb86659fd93u;
    return (uint32_t)(x >> 32);
}

void words_init(struct words *w, uint32_t n)
{
    uint32_t size = 8;
    ASSERT(n < (1u << 28));
    while (size < n * 4)
        size *= 2;
    w->slots = mem_zalloc(size * sizeof(w->slots[0]));
    w->mask = size - 1;
    w->len = 0;
}

void words_release(struct words *w)
{
    FREE(&w->slots);
    w->mask = w->len = 0;
}

/* The slot that holds the word, or the empty one where it would go. */
static struct words_slot *seek(const struct words *w, struct slice s,
                               uint64_t head, uint64_t tail)
{
    for (uint32_t i = mix(head, tail, s.len);; i++) {
        struct words_slot *slot = &w->slots[i & w->mask];
        if (slot->word == NULL)
            return slot;
        if (slot->head == head && slot->tail == tail && slot->len == s.len &&
            (s.len <= 16 || strncasecmp(slot->word, s.data, s.len) == 0))
            return slot;
    }
}

bool words_add(struct words *w, const char *word, uint32_t value)
{
    struct slice s = slice_str(word);
    uint64_t head, tail;
    ASSERT(w->len < (w->mask + 1) / 2);
    load(s, &head, &tail);
    struct words_slot *slot = seek(w, s, head, tail);
    if (slot->word != NULL)
        return false;
    *slot = (struct words_slot){head, tail, word, (uint32_t)s.len, value};
    w->len++;
    return true;
}

int64_t words_find(const struct words *w, struct slice word)
{
    uint64_t head, tail;
    if (w->slots == NULL)
        return -1;
    load(word, &head, &tail);
    const struct words_slot *slot = seek(w, word, head, tail);
    return slot->word == NULL ? -1 : (int64_t)slot->value;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : (unsigned char)c;
}

/* Damerau's distance in its plain form, three rows at a time. */
unsigned words_distance(struct slice a, struct slice b, unsigned max)
{
    enum { LONGEST = 48 };
    if (a.len > LONGEST || b.len > LONGEST)
        return max + 1;
    unsigned rows[3][LONGEST + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= b.len; j++)
        last[j] = j;
    memcpy(before, last, sizeof(rows[0]));
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            bool same = lower(a.data[i - 1]) == lower(b.data[j - 1]);
            unsigned d = last[j - 1] + !same;
            if (last[j] + 1 < d)
                d = last[j] + 1;
            if (row[j - 1] + 1 < d)
                d = row[j - 1] + 1;
            if (i > 1 && j > 1 &&
                lower(a.data[i - 1]) == lower(b.data[j - 2]) &&
                lower(a.data[i - 2]) == lower(b.data[j - 1]) &&
                before[j - 2] + 1 < d)
                d = before[j - 2] + 1;
            row[j] = d;
        }
        unsigned *t = before;
        before = last;
        last = row;
        row = t;
    }
    return last[b.len] > max ? max + 1 : last[b.len];
}
