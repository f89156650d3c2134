/* The engine's records and sets of options from the disk: whatever is accepted
 * is exactly what would be written. */
#include <stdint.h>

#include "engine/options.h"
#include "engine/records.h"
#include "util/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(name, LIST)                              \
    do {                                               \
        struct name r;                                 \
        if (name##_decode(&r, s)) {                    \
            size_t len = name##_size(&r);              \
            char *to = mem_alloc(len);                 \
            ASSERT(name##_encode(&r, to) == to + len); \
            ASSERT(slice_eq(s, slice_of(to, len)));    \
            mem_free(to);                              \
        }                                              \
    } while (0);

/* Of an older version the newer one would be written. */
#define CHECK2(name, old, new)        \
    do {                              \
        if (size > 0 && data[0] == 2) \
            CHECK(name, new)          \
    } while (0);
#define CHECK4(name, oldest, old, new) \
    do {                               \
        if (size > 0 && data[0] == 4)  \
            CHECK(name, new)           \
    } while (0);

static void options(struct slice s)
{
    struct job_options o, back;
    if (!options_decode(&o, s))
        return;
    size_t len = options_size(&o);
    char *to = mem_alloc(len);
    ASSERT(options_encode(&o, to) == to + len);
    ASSERT(options_decode(&back, slice_of(to, len)));
    ASSERT(back.given == o.given && back.tags_n == o.tags_n);
    mem_free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice s = slice_of(data, size);
    ENGINE_RECORDS(CHECK)
    ENGINE_RECORDS2(CHECK2)
    ENGINE_RECORDS4(CHECK4)
    options(s);
    return 0;
}
