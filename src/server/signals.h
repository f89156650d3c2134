/* Signals become events of the loop; a crash becomes a report.
 *
 *   SIGTERM, SIGINT   drain and stop; again: stop at once
 *   SIGHUP            open the log file again
 *   SIGPIPE           ignored
 *   SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL   backtrace into the log, then die
 */
#ifndef SERVER_SIGNALS_H
#define SERVER_SIGNALS_H

struct server;

/* Before anything else, in main(). */
void signals_catch_crashes(void);

/* From here on signals wake this server's loop. */
void signals_begin(struct server *s);
void signals_end(void);
/* Do what was signalled since the last call. */
void signals_take(struct server *s);

#endif
