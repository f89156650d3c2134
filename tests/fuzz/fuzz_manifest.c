/* Bytes that are no list of tables, or nearly one. Whatever they are, a scan
 * ends in bounds, and what it says of them fits together: a MANIFEST is cut
 * where it says. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "store/rocks_manifest.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest_scan s, again;
    struct slice all = slice_of(data, size);
    manifest_scan(all, &s);
    if (s.end > size || (!s.whole && (s.bad < s.end || s.bad > size)))
        abort();
    if (!s.whole && s.other != 0 && (s.other <= s.bad || s.other >= size))
        abort();
    /* What is left by a cut can be read. */
    manifest_scan(slice_of(data, s.end), &again);
    if (!again.whole || again.end != s.end || again.records != s.records)
        abort();
    return 0;
}
