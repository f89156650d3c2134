/* The way out: reply buffers, the commit gate, limits on unread replies.
 *
 * At the end of a tick every client with new replies is visited once: what is
 * gated gets a mark (first byte, index), and what lies before the first mark
 * that is not yet acknowledged is sent with one system call. When more is
 * acknowledged, the clients with marks are visited again.
 */
#ifndef SERVER_GATE_H
#define SERVER_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct server;

/* Make `c->out` ready to be appended to. */
void gate_begin(struct client *c);
/* Replies were appended since position `from` (see client_pos()); `gated`: they
 * wait for this tick's entry. */
void gate_add(struct client *c, uint64_t from, bool gated);

/* Where the next reply byte stands; how far the socket has taken them. */
uint64_t client_pos(const struct client *c);
uint64_t client_sent(const struct client *c);

/* Stamp this tick's replies with `index` and send what may go. */
void gate_end_tick(struct server *s, uint64_t index);
/* More was acknowledged: send what it frees. */
void gate_open(struct server *s);
/* The socket takes bytes again. */
void gate_flush(struct client *c);
/* Too many replies are unread: no more commands of this client for now. */
bool gate_is_piled(const struct client *c);
/* Nothing waits to be sent, to anybody who reads. */
bool gate_all_sent(const struct server *s);
void gate_forget(struct client *c);
/* Close those that are over the soft limit for too long. */
void gate_check_soft(struct client *c);

#endif
