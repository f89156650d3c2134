/* The command line of belfry-bench. One table gives parser and help text. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdio.h>

#include "bench/workload.h"
#include "util/err.h"

/* Fill `w` from the words; what they do not name gets its default. The
 * strings of `w` are borrowed from `argv`.
 *
 * Errors:
 *   ERR_SYNTAX  *e names the word and what is allowed.
 *   ERR_EMPTY   --help was asked for.
 */
MUST_USE enum err options_parse(struct workload *w, int argc, char **argv,
                                struct errbuf *e);

void options_help(FILE *to);

#endif
