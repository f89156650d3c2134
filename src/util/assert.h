/* Assertions that stay on in release builds, and magics for opaque pointers.
 *
 * ASSERT is for our own bugs only; bytes from the network or the disk are
 * checked with errors. What comes back through a `void *` carries a magic that
 * CHECK_OBJ() looks at on the first line.
 */
#ifndef UTIL_ASSERT_H
#define UTIL_ASSERT_H

#include <stdint.h>

#define ASSERT(cond)                                          \
    do {                                                      \
        if (__builtin_expect(!(cond), 0))                     \
            assert_fail(#cond, __FILE__, __LINE__, __func__); \
    } while (0)

#define OBJ_MAGIC uint32_t magic

#define INIT_OBJ(obj, type) ((obj)->magic = type##_MAGIC)

#define CHECK_OBJ(obj, type)                  \
    do {                                      \
        ASSERT((obj) != 0);                   \
        ASSERT((obj)->magic == type##_MAGIC); \
    } while (0)

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

#define CONTAINER_OF(ptr, type, member) \
    ((type *)(void *)((char *)(ptr) - __builtin_offsetof(type, member)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

__attribute__((noreturn, cold)) void
assert_fail(const char *cond, const char *file, int line, const char *func);

#endif
