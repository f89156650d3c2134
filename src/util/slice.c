#include "util/slice.h"

#include <stdint.h>
#include <strings.h>

/* Eight bytes at a time until one of them is below '!' or DEL. */
size_t slice_blank(struct slice s)
{
    const uint64_t ones = 0x0101010101010101u;
    size_t i = 0;
    for (; i + 8 <= s.len; i += 8) {
        uint64_t x, del;
        memcpy(&x, s.data + i, 8);
        del = x ^ ones * 0x7f;
        if (((((x - ones * '!') & ~x) | ((del - ones) & ~del)) & ones * 0x80) !=
            0)
            break;
    }
    while (i < s.len && (unsigned char)s.data[i] > ' ' && s.data[i] != 0x7f)
        i++;
    return i;
}

bool slice_eq_nocase(struct slice a, struct slice b)
{
    return a.len == b.len &&
           (a.len == 0 || strncasecmp(a.data, b.data, a.len) == 0);
}

bool slice_is(struct slice s, const char *word)
{
    return slice_eq_nocase(s, slice_str(word));
}
