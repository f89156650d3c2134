/* The server's own log lines: "pid:role date level message". (The write-ahead
 * log is src/log/.) Levels follow Redis' words: debug, verbose, notice,
 * warning. The engine never logs; it reports events. Never a payload.
 *
 * Safe from any thread: a line is one write(2). */
#ifndef UTIL_LOGGER_H
#define UTIL_LOGGER_H

#include "util/err.h"

enum log_level { LL_DEBUG, LL_VERBOSE, LL_NOTICE, LL_WARNING };

/* An empty path means standard output. */
MUST_USE enum err logger_open(const char *path, enum log_level least,
                              struct errbuf *e);
MUST_USE enum err logger_reopen(struct errbuf *e); /* after rotation */
void logger_set_level(enum log_level least);
void logger_close(void);
int logger_fd(void); /* for the crash report */

void say(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
