/* Configuration: what a file, standard input and argv say, and CONFIG.
 *
 * config.def lists the directives; `struct config` has a typed field of each.
 * Later sources win: defaults, then the file (with its includes), then
 * standard input, then argv.
 *
 *     belfry-server [file] [-] [--directive value...]...
 *
 * Invariants:
 *  1. The values are valid at any time: a line that does not fit is refused
 *     with its place, and the nearest known name if there is one.
 *  2. CONFIG SET is all or nothing: every value is checked, the callbacks
 *     are asked, and if one refuses, all go back to what they were.
 *  3. What conf_values() returns stays at its address; strings in it live
 *     until the next successful or refused conf_set().
 */
#ifndef CONF_CONF_H
#define CONF_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/parse.h"
#include "util/slice.h"

#define CONF_SIZE_MAX (UINT64_MAX / 4)
#define CONF_MS_MAX DURATION_MS_MAX

/* Enumerations: the words, in the order of their values. */
enum conf_supervised { SUPERVISED_NO, SUPERVISED_AUTO, SUPERVISED_SYSTEMD };
enum conf_loglevel {
    LOGLEVEL_DEBUG,
    LOGLEVEL_VERBOSE,
    LOGLEVEL_NOTICE,
    LOGLEVEL_WARNING
};
enum conf_appendfsync { FSYNC_ALWAYS, FSYNC_EVERYSEC, FSYNC_NO };

enum conf_obuf_class { OBUF_NORMAL, OBUF_PUBSUB, OBUF_CLASSES };

/* Bounds on unread replies; 0 is no bound. */
struct conf_obuf {
    struct {
        uint64_t hard_bytes, soft_bytes, soft_s;
    } of[OBUF_CLASSES];
};

#define CONF_C_BOOL bool
#define CONF_C_U64 uint64_t
#define CONF_C_I64 int64_t
#define CONF_C_SIZE uint64_t
#define CONF_C_MS uint64_t
#define CONF_C_MODE uint64_t
#define CONF_C_STR char *
#define CONF_C_WORDS char * /* parted by one blank */
#define CONF_C_OBUF struct conf_obuf

struct config {
#define CONF(type, field, name, def, min, max, flags, since, help) \
    CONF_C_##type field;
#define CONF_ENUM(words, field, name, def, flags, since, help) \
    enum conf_##words field;
#define CONF_SECTION(title)
#include "conf/config.def"
#undef CONF
#undef CONF_ENUM
#undef CONF_SECTION
};

struct conf;

/* Every directive at its default. */
struct conf *conf_new(void);
void conf_free(struct conf **conf);

const struct config *conf_values(const struct conf *conf);
const char *conf_path(const struct conf *conf); /* NULL: no file was read */

/* What argv says, argv[0] left out: file, `-`, --directives.
 *
 * Errors:
 *   ERR_IO      a file cannot be read.
 *   ERR_SYNTAX  *e names file:line or --directive, and what is allowed.
 */
MUST_USE enum err conf_load_args(struct conf *conf, int argc,
                                 const char *const *argv, struct errbuf *e);
/* One file and those that it includes. */
MUST_USE enum err conf_load_file(struct conf *conf, const char *path,
                                 struct errbuf *e);
/* Lines of text; `name` stands for the file in errors. */
MUST_USE enum err conf_load_text(struct conf *conf, struct slice text,
                                 const char *name, struct errbuf *e);

/* Ask or tell a user of a directive: called with the new values after all of
 * them were checked. A refusal (anything but ERR_OK) undoes the whole SET, and
 * those who had agreed are called again with the old values. */
typedef enum err (*conf_apply_fn)(void *ud, const struct config *now,
                                  struct errbuf *e);
/* `name` may be NULL: called once for each SET, whatever it changed. */
void conf_on_set(struct conf *conf, const char *name, conf_apply_fn fn,
                 void *ud);

/* CONFIG SET: `pairs` is name, value, name, value ... (`n` slices).
 *
 * Errors:
 *   ERR_SYNTAX  unknown, given twice, read at start only, or a bad value.
 */
MUST_USE enum err conf_set(struct conf *conf, const struct slice *pairs,
                           size_t n, struct errbuf *e);

/* Is there such a directive, and (`value`) may others see its value? */
bool conf_is_public(struct slice name, bool value);

/* CONFIG GET: call `fn` once for each directive that any pattern matches.
 * A secret is shown as CONFIG GET of Redis does: in plain. */
typedef void (*conf_get_fn)(void *ud, const char *name, struct slice value);
void conf_get(const struct conf *conf, const struct slice *patterns, size_t n,
              conf_get_fn fn, void *ud);

/* CONFIG REWRITE: the file again, with the present values. Lines that still
 * say the truth stay as they are, comments too; directives that the file did
 * not name go to its end if they are not at their default.
 *
 * Errors:
 *   ERR_STATE  the server was started without a file.
 *   ERR_IO     the file could not be read, written, synced or renamed; it is
 *              then as it was.
 */
MUST_USE enum err conf_rewrite(struct conf *conf, struct errbuf *e);

#endif
