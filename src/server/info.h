/* INFO: sections of "key:value" lines. */
#ifndef SERVER_INFO_H
#define SERVER_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/slice.h"

struct server;

/* Add the sections that the server itself has. */
void info_init(struct server *s);

void info_jobs_init(struct server *s);

/* "key:value\r\n" */
void info_line(struct buf *out, const char *key, uint64_t value);

/* The sections that the words ask for, as INFO takes them: names, `all`,
 * `everything`, `default`; no words are `default`. Unknown names are empty. */
bool info_is_asked_for(const struct server *s, const char *section,
                       const struct slice *names, size_t n);
void info_print(struct server *s, const struct slice *names, size_t n,
                struct buf *out);

#endif
