/* One word of a command into one value, or a sentence that says what was wrong
 * with it and what is allowed.
 */
#ifndef COMMANDS_VALUE_H
#define COMMANDS_VALUE_H

#include "commands/command.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/slice.h"

/* Names are 1..VALUE_NAME_MAX bytes unless the table says otherwise. */
#define VALUE_NAME_MAX 128

/* What positional arguments and options have in common. */
struct value_spec {
    const char *command; /* for the sentence: "JOB.ADD" */
    const char *name;    /* "DELAY", "queue" */
    enum opt_type type;
    const char *const *words;
    int64_t min, max;
};

/* Store the value of `word` at `to`, as command.h says for each type. OPT_FLAG
 * and OPT_LIST have no single word and are not for here.
 *
 * Errors:
 *   ERR_SYNTAX  not a value of that type, or outside its bounds.
 *   ERR_LIMIT   longer than the table allows.
 */
MUST_USE enum err value_parse(const struct value_spec *spec, struct slice word,
                              void *to, struct errbuf *e);

/* "a number from 1 to 1000": what would be allowed. */
void value_wants(const struct value_spec *spec, struct buf *out);

/* The word as it may stand in an error: cut to 64 bytes, no control characters
 * and no broken UTF-8. `size` is at least 80. */
const char *value_shown(struct slice word, char *out, size_t size);

#endif
