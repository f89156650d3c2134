#include "net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

void addr_of(struct addr *a, const struct sockaddr *sa)
{
    memset(a, 0, sizeof(*a));
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof(in));
        a->kind = ADDR_IP4;
        memcpy(a->ip, &in.sin_addr, 4);
        a->port = ntohs(in.sin_port);
    } else if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, sa, sizeof(in));
        a->kind = ADDR_IP6;
        memcpy(a->ip, &in.sin6_addr, 16);
        a->port = ntohs(in.sin6_port);
    } else if (sa->sa_family == AF_UNIX) {
        a->kind = ADDR_UNIX;
    }
}

void addr_text(const struct addr *a, char out[ADDR_TEXT_SIZE])
{
    char ip[INET6_ADDRSTRLEN] = "";
    out[0] = '\0';
    if (a->kind == ADDR_IP4 && inet_ntop(AF_INET, a->ip, ip, sizeof(ip)))
        (void)snprintf(out, ADDR_TEXT_SIZE, "%s:%u", ip, a->port);
    else if (a->kind == ADDR_IP6 && inet_ntop(AF_INET6, a->ip, ip, sizeof(ip)))
        (void)snprintf(out, ADDR_TEXT_SIZE, "[%s]:%u", ip, a->port);
}

bool addr_is_local(const struct addr *a)
{
    static const uint8_t one[16] = {[15] = 1};
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    switch (a->kind) {
    case ADDR_UNIX:
        return true;
    case ADDR_IP4:
        return a->ip[0] == 127;
    case ADDR_IP6:
        return memcmp(a->ip, one, 16) == 0 ||
               (memcmp(a->ip, mapped, 12) == 0 && a->ip[12] == 127);
    default:
        return false;
    }
}
