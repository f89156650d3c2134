/* What every cmocka test includes, in the order that cmocka wants. */
#ifndef LIB_UNIT_H
#define LIB_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/err.h"
#include "util/slice.h"

/* The call succeeds; if not, its sentence is shown. Declares nothing: wants a
 * `struct errbuf e` in scope. */
#define assert_ok(call)                          \
    do {                                         \
        if ((call) != ERR_OK)                    \
            fail_msg("%s: %s", #call, (e).text); \
    } while (0)

#define assert_slice(s, text)                                         \
    do {                                                              \
        struct slice got_ = (s);                                      \
        assert_int_equal(got_.len, strlen(text));                     \
        assert_memory_equal(got_.data != NULL ? got_.data : "", text, \
                            got_.len);                                \
    } while (0)

#endif
