/* Bytes that are no log, or nearly one. The input is taken twice: as what
 * stands in a segment behind its head (the reader and the search behind damage
 * must end, in bounds), and as a single record. A record that verifies must be
 * the one that encoding its fields gives.
 *
 * The first byte chooses how many real records are put in front, so that the
 * fuzzer also reaches what comes after a good beginning. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log/segment.h"

#define SALT                                                        \
    0 /* known, so that the fuzzer could build sums if it learnt to \
       */

static void decode_one(const uint8_t *data, size_t size)
{
    struct log_record rec;
    unsigned char head[REC_HEAD];
    if (!rec_decode(slice_of(data, size), SALT, &rec))
        return;
    ASSERT((const uint8_t *)rec.entry.data + rec.entry.len <= data + size);
    rec_encode(head, &rec, SALT);
    ASSERT(memcmp(head, data, REC_HEAD) == 0);
}

static enum err check_one(const struct log_record *rec, void *ud,
                          struct errbuf *e)
{
    uint64_t *next = (uint64_t *)ud;
    (void)e;
    ASSERT(rec->index == (*next)++);
    ASSERT(rec->durable < rec->index);
    return ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0)
        fd = memfd_create("segment", MFD_CLOEXEC);
    if (fd < 0 || size < 1)
        return 0;
    decode_one(data + 1, size - 1);

    struct seg_head head = {.first = 5, .epoch = 2, .salt = SALT};
    uint64_t off = SEG_DATA, good = data[0] % 4;
    head.size = SEG_DATA + 4 * (REC_HEAD + 8) + size;
    if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)SEG_DATA) != 0)
        return 0;
    for (uint64_t i = 0; i < good; i++) {
        unsigned char bytes[REC_HEAD + 8] = {0};
        struct log_record rec = {.index = head.first + i,
                                 .epoch = 2 + i / 2,
                                 .durable = head.first - 1,
                                 .entry = SLICE_LIT("entry")};
        rec_encode(bytes, &rec, SALT);
        memcpy(bytes + REC_HEAD, rec.entry.data, rec.entry.len);
        if (pwrite(fd, bytes, sizeof(bytes), (off_t)off) < 0)
            return 0;
        off += sizeof(bytes);
    }
    if (pwrite(fd, data + 1, size - 1, (off_t)off) < 0)
        return 0;
    struct log_dir d = {.fd = -1, .path = "fuzz"};
    struct seg_scan s;
    struct errbuf e;
    uint64_t next = head.first;
    ASSERT(seg_scan(&d, fd, &head, 2, &s, check_one, &next, &e) == ERR_OK);
    ASSERT(s.last + 1 == next && s.last + 1 >= head.first + good);
    ASSERT(s.end >= off && s.after_end <= off + size + 8);
    return 0;
}
