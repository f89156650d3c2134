/* Entries from the log. What is accepted is taken into a generation, as replay
 * does, and the invariants of the maps hold. */
#include <stdint.h>

#include "store/generation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct generation *g;
    struct entry_reader r;
    struct change c;
    struct errbuf e;
    if (entry_check(slice_of(data, size), &e) != ERR_OK) {
        ASSERT(e.text[0] != '\0'); /* it says why */
        return 0;
    }
    if (g == NULL)
        g = generation_new(0);
    char *at = generation_room(g, size);
    memcpy(at, data, size);
    ASSERT(entry_open(&r, slice_of(at, size), &e) == ERR_OK);
    while (entry_next(&r, &c, &e) == ERR_OK) {
        struct slice value;
        generation_take(g, &c);
        if (c.op == CHANGE_PUT || c.op == CHANGE_PUT_FRESH)
            ASSERT(generation_get(g, c.family, c.key, &value) == SAID_ROW);
    }
    generation_check(g);
    generation_reset(g);
    return 0;
}
