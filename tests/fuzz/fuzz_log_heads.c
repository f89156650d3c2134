/* The small records of the log that are read before anything else: the head of
 * a segment and the watermark. If the first byte is odd the sums are made
 * right, so that what stands under them is reached. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/record.h"
#include "log/segment.h"
#include "log/watermark.h"
#include "util/hash.h"

#define COPY 4096 /* where the second head and the second slot stand */

static void write_file(int dir, const char *name, const unsigned char *one,
                       const unsigned char *two, size_t len)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || pwrite(fd, one, len, 0) < 0 || pwrite(fd, two, len, COPY) < 0)
        abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int dir = -1;
    unsigned char one[72] = {0}, two[72] = {0};
    struct seg_head head;
    struct errbuf e;
    struct mark mark;
    enum mark_state state;
    int fd;
    if (dir < 0) {
        char path[] = "/tmp/belfry-fuzz-XXXXXX";
        if (mkdtemp(path) == NULL)
            return 0;
        dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (dir < 0 || size < 1)
        return 0;
    size_t half = (size - 1) / 2;
    memcpy(one, data + 1, half < sizeof(one) ? half : sizeof(one));
    memcpy(two, data + 1 + half, half < sizeof(two) ? half : sizeof(two));
    struct log_dir d = {.fd = dir, .path = "fuzz"};

    if (data[0] & 1) {
        put_le64(one + 56, hash64(slice_of(one, 56)));
        put_le64(two + 56, hash64(slice_of(two, 56)));
    }
    write_file(dir, "00000000000000000007.seg", one, two, 64);
    enum err rc = seg_open(&d, 7, O_RDONLY, &fd, &head, &e);
    if (rc == ERR_OK) {
        if (head.first != 7)
            abort();
        close(fd);
    } else if (rc != ERR_CORRUPT) {
        abort();
    }

    if (data[0] & 1) {
        put_le64(one + 64, hash64(slice_of(one, 64)));
        put_le64(two + 64, hash64(slice_of(two, 64)));
    }
    write_file(dir, "watermark", one, two, sizeof(one));
    if (mark_read(&d, &mark, &state, &e) != ERR_OK || state == MARK_MISSING)
        abort();
    unlinkat(dir, "00000000000000000007.seg", 0);
    unlinkat(dir, "watermark", 0);
    return 0;
}
