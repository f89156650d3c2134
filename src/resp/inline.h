/* Inline commands: a line of words, as a person types it into telnet. For
 * resp/parse.c. */
#ifndef RESP_INLINE_H
#define RESP_INLINE_H

#include "resp/parse.h"

/* Append a word. */
void resp_args_add(struct resp_args *a, struct slice word);

/* A decimal as Redis accepts it: no plus, no leading zeros, no blanks. */
bool parse_resp_int(struct slice s, int64_t *out);

MUST_USE enum resp_status parse_inline(struct slice in, struct resp_args *args,
                                       size_t *used, struct errbuf *e);

/* Split a line into words with Redis' quoting. False: quotes do not match. */
MUST_USE bool split_words(struct slice line, struct resp_args *args);

#endif
