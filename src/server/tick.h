/* One turn of the loop. See tick.c. */
#ifndef SERVER_TICK_H
#define SERVER_TICK_H

struct server;

void server_turn(struct server *s);
/* The store has been loaded: commands may run. */
void server_ready(struct server *s);

#endif
