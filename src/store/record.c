#include "store/record.h"

/* The shortest form only (invariant 1): otherwise two byte strings would mean
 * the same record and golden bytes would prove little. */
uint64_t record_get_u64_long(struct record_reader *in)
{
    const char *at = in->at;
    size_t most = in->bad ? 0 : (size_t)(in->end - at);
    uint64_t n = 0;
    if (most > 10)
        most = 10;
    for (size_t i = 0; i < most; i++) {
        uint8_t byte = (uint8_t)at[i];
        n |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            if ((byte == 0 && i > 0) || (i == 9 && byte > 1))
                break;
            in->at = at + i + 1;
            return n;
        }
    }
    in->bad = true;
    return 0;
}
