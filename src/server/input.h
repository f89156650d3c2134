/* The way in: from a readable socket to commands that run.
 *
 * Bytes are read into one buffer of the server and commands run right out of
 * it. Only what is left of a command that is cut in two, or must wait, is
 * copied to the client.
 *
 * A client's input waits while: it has a parked caller; its replies pile up;
 * too much is unsynced and the next command is not a free one. It is then read
 * no further than a bound, and client_resume() makes it go on. What is left
 * when its commands took long goes on by itself, a slice each turn.
 */
#ifndef SERVER_INPUT_H
#define SERVER_INPUT_H

struct client;

/* The socket has bytes: read once, run what is complete. */
void input_read(struct client *c);
/* The peer sends no more, and all that it sent was read. */
void input_end(struct client *c);
/* The peer sends no more; the socket may still hold what it sent before. */
void input_hang_up(struct client *c);

#endif
