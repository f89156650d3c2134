#include <stdio.h>

#include "bench/compare.h"
#include "bench/load.h"
#include "bench/options.h"
#include "bench/proto.h"

static enum err one_run(const struct workload *w, bool *clean, struct errbuf *e)
{
    struct result r;
    result_init(&r);
    enum err rc = load_run(w, &r, e);
    result_progress_end(&r, w);
    if (rc == ERR_OK) {
        if (w->json)
            result_json(&r, w, stdout);
        else
            result_text(&r, w, stdout);
    }
    *clean = r.errors == 0;
    result_release(&r);
    return rc;
}

static void interrupt(int sig)
{
    (void)sig;
    load_interrupted = 1;
}

/* The second one ends the program. A comparison's servers get the signal, too,
 * and there is nothing to tell of one that is not done. */
static void listen_to_signals(void)
{
    struct sigaction sa = {.sa_flags = (int)SA_RESETHAND};
    sa.sa_handler = interrupt;
    sigaction(SIGINT, &sa, NULL);
}

int main(int argc, char **argv)
{
    struct workload w;
    struct errbuf e = {{0}};
    bool clean = true;
    enum err rc = options_parse(&w, argc, argv, &e);
    if (rc == ERR_EMPTY) {
        options_help(stdout);
        return 0;
    }
    if (rc == ERR_OK && !w.compare)
        listen_to_signals();
    if (rc == ERR_OK)
        rc = w.compare ? compare_run(&w, &e) : one_run(&w, &clean, &e);
    if (rc != ERR_OK) {
        fprintf(stderr, "belfry-bench: %s\n", e.text);
        return rc == ERR_SYNTAX ? 2 : 1;
    }
    if (load_interrupted)
        return 128 + SIGINT;
    return clean ? 0 : 1;
}
