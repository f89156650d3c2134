/* belfry-server: argv, configuration, build the server, run, exit code.
 *
 * Exit codes: 0 stopped as asked; 1 could not start, or a bad configuration;
 * EXIT_LOG_FAILED and EXIT_BASE_STUCK, from whoever finds that out.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf/conf.h"
#include "server/daemon.h"
#include "server/server.h"
#include "server/signals.h"
#include "util/alloc.h"
#include "util/build_id.h"
#include "util/logger.h"

static const char usage[] =
    "usage: belfry-server [file] [-] [--directive value...]...\n"
    "       belfry-server --test-config [file] [--directive value...]...\n"
    "       belfry-server --version | --help\n"
    "\n"
    "Any directive of the configuration file is a flag too:\n"
    "       belfry-server belfry.conf --port 2400 --loglevel verbose\n"
    "`-` reads directives from standard input. Later ones win.\n";

static int fail(const char *what, const struct errbuf *e)
{
    (void)fprintf(stderr, "belfry-server: %s%s\n", what, e->text);
    return 1;
}

static enum err open_log(const struct config *cf, struct errbuf *e)
{
    /* The levels have the same order in both tables. */
    _Static_assert((int)LOGLEVEL_WARNING == (int)LL_WARNING, "levels");
    return logger_open(cf->logfile, (enum log_level)cf->loglevel, e);
}

static int serve(struct conf *conf)
{
    const struct config *cf = conf_values(conf);
    struct server *s = NULL;
    struct errbuf e;
    int code = 1;
    if (cf->daemonize)
        daemon_begin();
    mem_return_unused();
    if (cf->supervised == SUPERVISED_NO)
        daemon_notify_off();
    if (open_log(cf, &e) != ERR_OK)
        return fail("", &e);
    signals_catch_crashes();
    (void)mkdir(cf->dir, 0750); /* the store says what is wrong with it */
    if (cf->pidfile[0] != '\0' && daemon_pidfile(cf->pidfile, &e) != ERR_OK)
        return fail("", &e);
    /* Whole, because ./data depends on where one stands. */
    char dir[PATH_MAX];
    say(LL_NOTICE, "Belfry " SERVER_VERSION " starting, build %s, data in %s",
        build_id(), realpath(cf->dir, dir) != NULL ? dir : cf->dir);
    if (server_new(&s, conf, &e) != ERR_OK) {
        say(LL_WARNING, "cannot start: %s", e.text);
        if (cf->logfile[0] != '\0')
            (void)fail("cannot start: ", &e);
    } else {
        code = server_run(s);
        server_free(&s);
        say(LL_NOTICE, "Bye");
    }
    if (cf->pidfile[0] != '\0')
        daemon_pidfile_remove(cf->pidfile);
    logger_close();
    return code;
}

static bool is_any(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

int main(int argc, char **argv)
{
    bool test = false;
    struct errbuf e;
    if (argc == 2 && is_any(argv[1], "--version", "-v")) {
        (void)printf("belfry-server " SERVER_VERSION
                     " (%s, %d bits, build %s)\n",
                     __VERSION__, (int)sizeof(void *) * 8, build_id());
        return 0;
    }
    if (argc == 2 && is_any(argv[1], "--help", "-h")) {
        (void)fputs(usage, stdout);
        return 0;
    }
    if (argc >= 2 && strcmp(argv[1], "--test-config") == 0) {
        test = true;
        argv++;
        argc--;
    }
    struct conf *conf = conf_new();
    int code = 0;
    if (conf_load_args(conf, argc - 1, (const char *const *)argv + 1, &e) !=
        ERR_OK)
        code = fail("", &e);
    else if (test)
        (void)puts("the configuration is right");
    else
        code = serve(conf);
    conf_free(&conf);
    return code;
}
