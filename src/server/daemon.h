/* What the system wants of a service: background, pid file, systemd's word. */
#ifndef SERVER_DAEMON_H
#define SERVER_DAEMON_H

#include <stdint.h>

#include "util/err.h"

/* Go to the background; the parent exits when the child says it is ready or
 * dies. Call before threads and sockets exist. */
void daemon_begin(void);
/* Let the parent go. */
void daemon_ready(void);

MUST_USE enum err daemon_pidfile(const char *path, struct errbuf *e);
void daemon_pidfile_remove(const char *path);

/* Lines for NOTIFY_SOCKET ("READY=1"); nothing without one. */
void daemon_notify(const char *lines);
/* RELOADING=1; READY=1 must follow. */
void daemon_notify_reload(uint64_t now_mono_ms);
/* WATCHDOG=1 as often as systemd asks for. */
void daemon_watchdog(uint64_t now_mono_ms);
/* supervised no: never tell systemd anything. */
void daemon_notify_off(void);

#endif
