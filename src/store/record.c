#include "store/record.h"

/* The shortest form only (invariant 1): otherwise two byte strings would mean
 * the same record and golden bytes would prove little. */
uint64_t record_get_u64_long(struct record_reader *in)
{
    uint64_t n = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = record_get_u8(in);
        if (in->bad)
            return 0;
        n |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            if ((byte == 0 && shift > 0) || (shift == 63 && byte > 1))
                break;
            return n;
        }
    }
    in->bad = true;
    return 0;
}
