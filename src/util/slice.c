#include "util/slice.h"

#include <strings.h>

bool slice_eq_nocase(struct slice a, struct slice b)
{
    return a.len == b.len &&
           (a.len == 0 || strncasecmp(a.data, b.data, a.len) == 0);
}

bool slice_is(struct slice s, const char *word)
{
    return slice_eq_nocase(s, slice_str(word));
}
