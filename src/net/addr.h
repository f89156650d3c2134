/* Where a connection comes from, small enough to be kept for each. */
#ifndef NET_ADDR_H
#define NET_ADDR_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

enum addr_kind { ADDR_NONE, ADDR_UNIX, ADDR_IP4, ADDR_IP6 };

struct addr {
    uint8_t kind;
    uint8_t ip[16];
    uint16_t port;
};

#define ADDR_TEXT_SIZE 64

void addr_of(struct addr *a, const struct sockaddr *sa);
/* "127.0.0.1:80", "[::1]:80"; "" for others. */
void addr_text(const struct addr *a, char out[ADDR_TEXT_SIZE]);
/* 127.0.0.0/8, ::1 or a Unix socket. */
bool addr_is_local(const struct addr *a);

#endif
