#include "log/watermark.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "log/record.h"
#include "util/clock.h"
#include "util/hash.h"

#define SLOT UINT64_C(4096)
#define SLOT_BYTES 72
#define MARK_VERSION 1
static const char mark_name[] = "watermark";
static const char mark_magic[8] = {'B', 'E', 'L', 'F', 'M', 'A', 'R', 'K'};

static void encode(unsigned char p[SLOT_BYTES], const struct mark *m)
{
    memset(p, 0, SLOT_BYTES);
    memcpy(p, mark_magic, sizeof(mark_magic));
    put_le32(p + 8, MARK_VERSION);
    put_le64(p + 16, m->turn);
    put_le64(p + 24, m->durable);
    put_le64(p + 32, m->epoch);
    put_le64(p + 40, m->newest);
    put_le64(p + 48, m->cut);
    put_le64(p + 56, m->time_ms);
    put_le64(p + 64, hash64(slice_of(p, 64)));
}

static bool decode(const unsigned char p[SLOT_BYTES], struct mark *m)
{
    if (memcmp(p, mark_magic, sizeof(mark_magic)) != 0 ||
        get_le32(p + 8) != MARK_VERSION ||
        get_le64(p + 64) != hash64(slice_of(p, 64)))
        return false;
    m->turn = get_le64(p + 16);
    m->durable = get_le64(p + 24);
    m->epoch = get_le64(p + 32);
    m->newest = get_le64(p + 40);
    m->cut = get_le64(p + 48);
    m->time_ms = get_le64(p + 56);
    return true;
}

enum err mark_read(const struct log_dir *d, struct mark *m,
                   enum mark_state *state, struct errbuf *e)
{
    *m = (struct mark){0};
    *state = MARK_MISSING;
    int fd = openat(d->fd, mark_name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return ERR_OK;
    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot open %s/%s", d->path,
                       mark_name);
    *state = MARK_DAMAGED;
    for (uint64_t i = 0; i < 2; i++) {
        unsigned char p[SLOT_BYTES];
        struct mark slot;
        if (io_read(fd, p, sizeof(p), i * SLOT) != SLOT_BYTES ||
            !decode(p, &slot))
            continue;
        if (*state != MARK_GOOD || slot.turn > m->turn)
            *m = slot;
        *state = MARK_GOOD;
    }
    (void)close(fd);
    return ERR_OK;
}

static enum err write_slots(const struct log_dir *d, int fd,
                            const struct mark *m, struct errbuf *e)
{
    unsigned char p[SLOT_BYTES];
    int why = 0;
    encode(p, m);
    /* Both slots are written once, so that later writes never grow the file
     * and a full disk cannot fail them. */
    if (m->turn == 1)
        why = io_write_bytes(d->io, fd, p, sizeof(p), 0);
    if (why == 0)
        why = io_write_bytes(d->io, fd, p, sizeof(p), m->turn % 2 * SLOT);
    if (why == 0)
        why = io_sync(d->io, fd);
    if (why != 0)
        return err_sys(e, ERR_IO, why, "cannot write %s/%s", d->path,
                       mark_name);
    /* Cheap after the first time, and needed exactly then. */
    return m->turn == 1 ? io_sync_dir(d, e) : ERR_OK;
}

enum err mark_write(const struct log_dir *d, struct mark *m, struct errbuf *e)
{
    int fd = openat(d->fd, mark_name, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot open %s/%s", d->path,
                       mark_name);
    m->turn++;
    m->time_ms = clock_wall_us() / 1000;
    enum err rc = write_slots(d, fd, m, e);
    (void)close(fd);
    /* The next one takes this turn, so that it writes over the same slot: the
     * other one is whole, and there are two from the first time on. */
    if (rc != ERR_OK)
        m->turn--;
    return rc;
}
