/* belfry-check: look at a data directory, bring a backup back, save what can
 * be saved. The server must not be running on it.
 *
 * Exit status: 0 all is well (or done), 1 damage, 2 a wrong command line,
 * 3 something else failed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/mend.h"
#include "log/log.h"
#include "store/entry.h"
#include "store/key.h"
#include "store/offline.h"
#include "store/store.h"
#include "util/parse.h"

enum { EXIT_WELL, EXIT_DAMAGE, EXIT_USAGE, EXIT_FAILED };

static int usage(FILE *to)
{
    fputs("usage: belfry-check DIR                 read everything, change "
          "nothing\n"
          "       belfry-check --inspect DIR       what is there, in short\n"
          "       belfry-check --dump FAMILY DIR   the rows of one family\n"
          "       belfry-check --log DIR           the entries of the log\n"
          "       belfry-check --restore BACKUP DIR\n"
          "                                        verify a backup and copy it "
          "to DIR\n"
          "       belfry-check --salvage DIR       keep what can be read, say "
          "what was lost\n",
          to);
    return to == stdout ? EXIT_WELL : EXIT_USAGE;
}

static int failed(enum err rc, const struct errbuf *e)
{
    fprintf(stderr, "belfry-check: %s\n", e->text);
    return rc == ERR_CORRUPT ? EXIT_DAMAGE : EXIT_FAILED;
}

/* --- what there is ------------------------------------------------------- */

static void print_log(const struct offline_count *n)
{
    printf("log       records %" PRIu64 " to %" PRIu64 "\n", n->log_first,
           n->log_last);
    printf("replay    %" PRIu64 " entries at the next start\n", n->replay);
    if (n->tail_records > 0)
        printf("tail      %" PRIu64 " unfinished records, never acknowledged, "
               "will be dropped\n",
               n->tail_records);
}

static void print_cut(const struct manifest_cut *cut)
{
    if (cut->bytes > 0)
        printf("torn      %s: the last write, %" PRIu64
               " bytes from offset %" PRIu64 "%s, will be cut off at the next "
               "start; the log has everything behind index %" PRIu64 "\n",
               cut->name, cut->bytes, cut->at,
               cut->table == 0 ? "" : ", of a table that is not there",
               cut->applied);
}

/* --- rows against rows --------------------------------------------------- */

static enum err load(struct engine *engine, struct errbuf *e)
{
    bool done = false;
    enum err rc = ERR_OK;
    while (rc == ERR_OK && !done)
        rc = engine_load(engine, clock_now(), &done, e);
    return rc;
}

struct findings {
    uint64_t n;
};

#define FINDINGS_TOLD 20

static void tell_finding(void *ud, const char *finding)
{
    struct findings *f = ud;
    if (f->n++ < FINDINGS_TOLD)
        fprintf(stderr, "belfry-check: %s\n", finding);
}

static void tell_rest(const struct findings *f)
{
    if (f->n > FINDINGS_TOLD)
        fprintf(stderr, "belfry-check: and %" PRIu64 " findings more\n",
                f->n - FINDINGS_TOLD);
}

/* As a start would load it, and further. */
static enum err compare_rows(const char *dir, struct findings *f,
                             struct errbuf *e)
{
    struct offline *o = NULL;
    struct store *s = NULL;
    struct engine *engine = NULL;
    struct engine_config config;
    engine_config_default(&config);
    enum err rc = offline_open(&o, dir, e);
    if (rc == ERR_OK)
        rc = offline_look(&s, o, e);
    if (rc != ERR_OK)
        goto out;
    engine = engine_new(s, &config);
    rc = load(engine, e);
    if (rc != ERR_OK) {
        err_wrap(e, "a start would fail");
        goto out;
    }
    rc = engine_audit(engine, tell_finding, f, e);

out:
    engine_free(&engine);
    store_abandon(&s);
    offline_close(&o);
    return rc;
}

static int compared(const char *dir)
{
    struct findings f = {0};
    struct errbuf e = {{0}};
    enum err rc = compare_rows(dir, &f, &e);
    tell_rest(&f);
    if (rc != ERR_OK)
        return failed(rc, &e);
    return f.n == 0 ? EXIT_WELL : EXIT_DAMAGE;
}

/* --- verify and inspect -------------------------------------------------- */

static int verify(const char *dir)
{
    struct offline_count n;
    struct errbuf e = {{0}};
    uint64_t rows = 0;
    enum err rc = offline_verify(dir, &n, &e);
    if (rc != ERR_OK)
        return failed(rc, &e);
    for (int f = 0; f < FAMILIES; f++) {
        rows += n.rows[f];
        if (n.rows[f] > 0)
            printf("%-9s %" PRIu64 " rows\n", family_name((enum family)f),
                   n.rows[f]);
    }
    printf("base      %" PRIu64 " rows, %" PRIu64
           " bytes, everything up to index %" PRIu64 "\n",
           rows, n.bytes, n.applied);
    print_cut(&n.cut);
    print_log(&n);
    printf("start     number %" PRIu32 "\n", n.start_number);
    /* In the order in which things were found out. */
    fflush(stdout);
    int status = compared(dir);
    if (status == EXIT_WELL)
        printf("OK: every row, record and change was read (%" PRIu64
               " changes in the log), and the rows fit each other\n",
               n.changes);
    return status;
}

static int inspect(const char *dir)
{
    struct offline *o = NULL;
    struct log_check check = {0};
    struct errbuf e = {{0}};
    char path[4096];
    enum err rc = offline_open(&o, dir, &e);
    if (rc != ERR_OK)
        return failed(rc, &e);
    printf("base      everything up to index %" PRIu64 "\n",
           offline_applied(o));
    print_cut(offline_cut(o));
    offline_close(&o);
    snprintf(path, sizeof(path), "%s/log", dir);
    rc = log_verify(path, &check, NULL, NULL, &e);
    printf("log       %" PRIu64 " segments, records %" PRIu64 " to %" PRIu64
           "\n",
           check.segments, check.first, check.last);
    return rc == ERR_OK ? EXIT_WELL : failed(rc, &e);
}

/* --- dump ---------------------------------------------------------------- */

static enum err dump_row(enum family f, struct slice key, struct slice value,
                         void *ud, struct errbuf *e)
{
    (void)f;
    (void)ud;
    (void)e;
    printf("%s %zu bytes\n", offline_hex(key), value.len);
    return ERR_OK;
}

static int dump(const char *family, const char *dir)
{
    struct offline *o = NULL;
    struct errbuf e = {{0}};
    int f = 0;
    while (f < FAMILIES && strcmp(family, family_name((enum family)f)) != 0)
        f++;
    if (f == FAMILIES) {
        fprintf(stderr, "belfry-check: no family \"%s\"; there are", family);
        for (f = 0; f < FAMILIES; f++)
            fprintf(stderr, " %s", family_name((enum family)f));
        fputc('\n', stderr);
        return EXIT_USAGE;
    }
    enum err rc = offline_open(&o, dir, &e);
    if (rc == ERR_OK)
        rc = offline_rows(o, (enum family)f, dump_row, NULL, &e);
    offline_close(&o);
    return rc == ERR_OK ? EXIT_WELL : failed(rc, &e);
}

static const char *op_name(enum change_op op)
{
    switch (op) {
    case CHANGE_PUT:
        return "put";
    case CHANGE_PUT_FRESH:
        return "put fresh";
    case CHANGE_DEL:
        return "del";
    case CHANGE_RANGE:
        return "del range";
    case CHANGE_EVENT:
        return "event";
    }
    return "?";
}

static enum err dump_entry(const struct log_record *rec, void *ud,
                           struct errbuf *e)
{
    struct entry_reader r;
    struct change c;
    (void)ud;
    enum err rc = entry_open(&r, rec->entry, e);
    if (rc != ERR_OK)
        return rc;
    printf("%" PRIu64 ":%" PRIu64 " at %" PRIu64 " ms, %zu bytes\n", rec->epoch,
           rec->index, r.wall_ms, rec->entry.len);
    while ((rc = entry_next(&r, &c, e)) == ERR_OK)
        printf("  %-9s %-6s %s %zu bytes\n", op_name(c.op),
               c.op == CHANGE_EVENT ? "" : family_name(c.family),
               offline_hex(c.key), c.value.len);
    return rc == ERR_EMPTY ? ERR_OK : rc;
}

static int dump_log(const char *dir)
{
    struct log_check check;
    struct errbuf e = {{0}};
    char path[4096];
    snprintf(path, sizeof(path), "%s/log", dir);
    enum err rc = log_verify(path, &check, dump_entry, NULL, &e);
    return rc == ERR_OK ? EXIT_WELL : failed(rc, &e);
}

/* --- restore and salvage ------------------------------------------------- */

static int restore(const char *backup, const char *dir)
{
    struct offline_count n;
    struct errbuf e = {{0}};
    enum err rc = offline_verify(backup, &n, &e);
    if (rc != ERR_OK) {
        err_wrap(&e, "the backup %s", backup);
        return failed(rc, &e);
    }
    int status = compared(backup);
    if (status != EXIT_WELL) {
        fprintf(stderr, "belfry-check: the backup %s is not copied\n", backup);
        return status;
    }
    rc = offline_copy(backup, dir, &e);
    if (rc == ERR_OK)
        rc = offline_verify(dir, &n, &e);
    if (rc != ERR_OK)
        return failed(rc, &e);
    printf("restored to %s: everything up to index %" PRIu64 "\n", dir,
           n.log_last > n.applied ? n.log_last : n.applied);
    return EXIT_WELL;
}

static void tell(void *ud, const char *line)
{
    (void)ud;
    printf("%s\n", line);
    fflush(stdout); /* whatever becomes of the rest */
}

/* Jobs into their places, counters as they should be. */
static enum err mend(const char *dir, struct errbuf *e)
{
    struct mended m = {0};
    struct store *s = NULL;
    struct engine_config config;
    engine_config_default(&config);
    enum err rc = offline_start(&s, dir, e);
    if (rc != ERR_OK)
        return rc;
    struct engine *engine = engine_new(s, &config);
    rc = load(engine, e);
    if (rc == ERR_OK)
        rc = engine_mend(engine, clock_now(), &m, e);
    engine_free(&engine);
    if (rc == ERR_OK)
        store_close(&s);
    else
        store_abandon(&s);
    if (rc == ERR_OK)
        printf("jobs: %" PRIu64 " put back into their queues, %" PRIu64
               " places too many and %" PRIu64
               " keys of lost ones dropped, %" PRIu64
               " names and unique keys given back; %" PRIu64
               " finished ones listed again; %" PRIu64
               " queues and owners counted anew\n",
               m.requeued, m.doubled, m.keys, m.claimed, m.listed, m.recounted);
    if (m.homeless + m.unreadable > 0)
        printf("jobs: %" PRIu64 " belong to no queue that is known, %" PRIu64
               " cannot be read\n",
               m.homeless, m.unreadable);
    return rc;
}

static int salvage(const char *dir)
{
    struct offline_count n;
    struct errbuf e = {{0}};
    enum err rc = offline_salvage(dir, tell, NULL, &e);
    if (rc == ERR_OK && mend(dir, &e) != ERR_OK)
        /* A server may do better, or say the same. */
        printf("jobs: left as they are: %s\n", e.text);
    if (rc == ERR_OK)
        rc = offline_verify(dir, &n, &e);
    if (rc != ERR_OK)
        return failed(rc, &e);
    print_log(&n);
    struct findings f = {0};
    rc = compare_rows(dir, &f, &e);
    if (rc != ERR_OK)
        return failed(rc, &e);
    tell_rest(&f);
    printf("%s can be started on again\n", dir);
    return EXIT_WELL;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)
        return usage(stdout);
    if (argc == 2 && verb[0] != '-')
        return verify(verb);
    if (argc == 3 && strcmp(verb, "--inspect") == 0)
        return inspect(argv[2]);
    if (argc == 3 && strcmp(verb, "--log") == 0)
        return dump_log(argv[2]);
    if (argc == 3 && strcmp(verb, "--salvage") == 0)
        return salvage(argv[2]);
    if (argc == 4 && strcmp(verb, "--dump") == 0)
        return dump(argv[2], argv[3]);
    if (argc == 4 && strcmp(verb, "--restore") == 0)
        return restore(argv[2], argv[3]);
    return usage(stderr);
}
