#include "util/assert.h"

#include <stdio.h>
#include <stdlib.h>

void assert_fail(const char *cond, const char *file, int line, const char *func)
{
    (void)fprintf(stderr, "assertion failed: %s (%s:%d, %s)\n", cond, file,
                  line, func);
    abort();
}
