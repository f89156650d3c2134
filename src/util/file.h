/* Small files as a whole: read with a bound, replaced so that a crash leaves
 * the old one or the new one. */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include "util/buf.h"
#include "util/err.h"
#include "util/slice.h"

/* Append what `path` holds to `out`.
 *
 * Errors:
 *   ERR_IO     it cannot be opened or read.
 *   ERR_LIMIT  it holds more than `max` bytes.
 */
MUST_USE enum err file_read(const char *path, size_t max, struct buf *out,
                            struct errbuf *e);

/* The same from an open descriptor, up to its end; `name` is for *e. */
MUST_USE enum err file_read_fd(int fd, const char *name, size_t max,
                               struct buf *out, struct errbuf *e);

/* Write a file beside `path`, sync it, rename it over `path`, sync the
 * directory. Mode and owner are those of the old file, if there is one. */
MUST_USE enum err file_replace(const char *path, struct slice content,
                               struct errbuf *e);

/* Sync the directory in which `path` stands: without that a power cut may take
 * a name that was created or renamed. */
MUST_USE enum err file_sync_dir_of(const char *path, struct errbuf *e);

#endif
