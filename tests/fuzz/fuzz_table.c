/* Bytes that are no table of RocksDB, or nearly one: a start that was refused
 * looks for the one that is damaged. It must end, in bounds. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/rocks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char dir[] = "/tmp/belfry-fuzz-XXXXXX";
    static bool made;
    char path[64];
    struct errbuf e = {"opening failed"};
    if (!made && mkdtemp(dir) == NULL)
        return 0;
    made = true;
    snprintf(path, sizeof(path), "%s/000007.sst", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
    rocks_blame_tables(dir, &e);
    if (e.text[0] == '\0')
        abort();
    unlink(path);
    return 0;
}
