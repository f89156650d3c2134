/* How jobs, ids and answers for tokens look in replies. */
#ifndef COMMANDS_JOB_REPLY_H
#define COMMANDS_JOB_REPLY_H

#include "commands/command.h"
#include "engine/engine.h"

void reply_id(struct reply *r, const struct id *id);

/* The string, or null if it is empty. */
void reply_field_maybe(struct reply *r, const char *name, struct slice s);
/* The number, or null if it is 0. */
void reply_field_time(struct reply *r, const char *name, uint64_t ms);
/* A list of words as an array, a list of pairs as a map. */
void reply_field_words(struct reply *r, const char *name, struct slice list);
void reply_field_tags(struct reply *r, const char *name, struct slice list);
/* A list of names and decimal numbers as a map of integers. */
void reply_field_numbers(struct reply *r, const char *name, struct slice list);
/* USAGE as such a list. Errors: ERR_SYNTAX. */
MUST_USE enum err usage_words(struct cmd_ctx *c, const struct opt_pair *pairs,
                              uint32_t n, struct buf *out);

/* The fields with which JOB.GET and JOB.LIST begin, of the caller's map. */
#define JOB_HEAD_FIELDS 13
void reply_job_head(struct reply *r, const struct job_view *v);

/* The first word of `c` and its ALSO list in one array of at most `max`.
 *
 * Errors: ERR_LIMIT. */
MUST_USE enum err words_join(struct cmd_ctx *c, struct slice first,
                             const struct opt_list *also, struct slice *out,
                             uint32_t max, uint32_t *n);

/* A long list of tokens or ids, `first` and `also`, is worked off in parts,
 * each with its own rows and its own place in an entry, and others have their
 * turn between two of them. With several words the reply is an array. Use:
 * token_list_begin(); the engine with tokens, n and cut of the struct, which
 * answers for each word; then return token_list_end().
 *
 * The verbs answer by token_reply(), and end with token_replies_end(): with a
 * single word the reply is OK or the error, with several OK and error words. */
#define TOKENS_MAX 10000 /* of one command */
#define PART_MAX 256     /* of them at a time */
#define WHOLE_MAX 8      /* so few cannot be cut */

struct token_list {
    struct cmd_ctx *c;
    uint32_t total, n;
    struct slice words[PART_MAX];
    struct slice *tokens; /* `words`, or allocated if it must not be cut */
    uint32_t *cut;        /* NULL: it must not */
    uint32_t part;
    enum err first;
};
/* At most `max` words. Errors: ERR_LIMIT. */
MUST_USE enum err token_list_begin(struct token_list *t, struct cmd_ctx *c,
                                   struct slice first,
                                   const struct opt_list *also, uint32_t max);
enum err token_list_end(struct token_list *t, enum err rc);
void token_reply(void *ud, uint32_t i, enum err rc, const char *why);
enum err token_replies_end(struct token_list *t, enum err rc);

/* Do p->verb with `first` and the jobs of `also`; answers like those above. */
enum err manage_jobs(struct cmd_ctx *c, struct manage_params *p,
                     struct slice first, const struct opt_list *also);

#define IDS_MAX 1000 /* to look up, in all buckets if they are unknown */

#endif
