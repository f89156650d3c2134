/* hiredis: synchronous, pipelined, binary, with and without a password. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int passed, failed;

static void check(const char *name, int ok)
{
    printf("%s %s\n", ok ? "ok     " : "FAILED ", name);
    if (ok)
        passed++;
    else
        failed++;
}

static redisContext *open_port(const char *variable)
{
    redisContext *c = redisConnect("127.0.0.1", atoi(getenv(variable)));
    if (c == NULL || c->err != 0) {
        printf("cannot connect: %s\n", c == NULL ? "memory" : c->errstr);
        exit(1);
    }
    return c;
}

static redisReply *field(redisReply *object, const char *name)
{
    for (size_t i = 0; i + 1 < object->elements; i += 2)
        if (strcmp(object->element[i]->str, name) == 0)
            return object->element[i + 1];
    return NULL;
}

static void life(redisContext *c)
{
    const char payload[] = "a\0b\xff";
    redisReply *id = redisCommand(c, "JOB.ADD hiredis %b PRIORITY 600", payload,
                                  sizeof(payload) - 1);
    check("JOB.ADD gives an id",
          id != NULL && id->type == REDIS_REPLY_STRING && id->len == 26);
    redisReply *leased = redisCommand(c, "JOB.LEASE hiredis COUNT %d", 5);
    check("JOB.LEASE gives one object", leased != NULL &&
                                            leased->type == REDIS_REPLY_ARRAY &&
                                            leased->elements == 1);
    redisReply *token = field(leased->element[0], "token");
    redisReply *back = field(leased->element[0], "payload");
    check("the payload is what was added",
          back != NULL && back->len == sizeof(payload) - 1 &&
              memcmp(back->str, payload, back->len) == 0);
    redisReply *ack = redisCommand(c, "JOB.ACK %s", token->str);
    check("JOB.ACK is taken", ack != NULL && ack->type != REDIS_REPLY_ERROR);
    redisReply *none = redisCommand(c, "JOB.LEASE hiredis");
    check("then there is nothing", none != NULL &&
                                       none->type == REDIS_REPLY_ARRAY &&
                                       none->elements == 0);
    redisReply *bad = redisCommand(c, "JOB.ADD q x DELAY abc");
    check("an error is an error", bad != NULL &&
                                      bad->type == REDIS_REPLY_ERROR &&
                                      strstr(bad->str, "DELAY wants") != NULL);
    freeReplyObject(id);
    freeReplyObject(leased);
    freeReplyObject(ack);
    freeReplyObject(none);
    freeReplyObject(bad);
}

static void pipeline(redisContext *c)
{
    int ok = 1;
    for (int i = 0; i < 1000; i++)
        redisAppendCommand(c, "ECHO %d", i);
    for (int i = 0; i < 1000; i++) {
        redisReply *r = NULL;
        if (redisGetReply(c, (void **)&r) != REDIS_OK || atoi(r->str) != i)
            ok = 0;
        freeReplyObject(r);
    }
    check("a pipeline of 1000 stays in order", ok);
}

static void password(void)
{
    redisContext *c = open_port("AUTH_PORT");
    redisReply *r = redisCommand(c, "PING");
    check("no command before AUTH",
          r != NULL && strncmp(r->str, "NOAUTH", 6) == 0);
    freeReplyObject(r);
    r = redisCommand(c, "AUTH %s", getenv("PASSWORD"));
    check("AUTH", r != NULL && r->type == REDIS_REPLY_STATUS);
    freeReplyObject(r);
    r = redisCommand(c, "PING");
    check("PING after AUTH", r != NULL && strcmp(r->str, "PONG") == 0);
    freeReplyObject(r);
    redisFree(c);
}

int main(void)
{
    redisContext *c = open_port("PORT");
    life(c);
    pipeline(c);
    redisFree(c);
    password();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
