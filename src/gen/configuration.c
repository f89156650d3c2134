/* Prints every directive with its default and bounds, from conf/config.def.
 * prints: docs/configuration.md */
#include <stdio.h>
#include <string.h>

#include "conf/directive.h"

static const char head[] =
    "# Configuration\n\n"
    "<!-- Printed by src/gen/configuration.c; `make docs` writes it. -->\n\n"
    "    belfry-server [file] [-] [--directive value...]...\n\n"
    "Everything has a default: without a file the server runs. Later sources\n"
    "win: defaults, the file, standard input (`-`), the command line. A file\n"
    "has one directive per line, as in redis.conf: words parted by blanks,\n"
    "`\"...\"` with `\\n \\r \\t \\xHH \\\"`, `'...'`, `#` begins a comment "
    "line,\n`include path` reads another file in its place. A sample with "
    "every\ndirective is `conf/belfry.conf`.\n\n"
    "A directive or value that is not known is refused at start, with file "
    "and\nline and the nearest known name.\n\n"
    "Sizes are bytes or carry `kb mb gb` (1024) or `k m g` (1000). Durations\n"
    "are milliseconds or carry `ms s m h d`; directives in seconds say so.\n\n"
    "`CONFIG SET` changes several directives at once or none; those marked\n"
    "*start* are read at start only. `CONFIG REWRITE` writes the present\n"
    "values into the file and keeps its comments.\n";

static void print_default(const char *def)
{
    if (def[0] == '\0')
        (void)printf("empty");
    else
        (void)printf("`%s`", def);
}

int main(void)
{
    size_t n;
    const struct directive *d = directives(&n);
    const char *section = "";
    struct buf allowed = {NULL, 0, 0};
    (void)fputs(head, stdout);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(d[i].section, section) != 0) {
            section = d[i].section;
            (void)printf("\n## %s\n", section);
            if ((d[i].flags & CF_FIXED) != 0)
                (void)printf("\nAnswered by `CONFIG GET` to clients that ask; "
                             "never set.\n");
        }
        buf_clear(&allowed);
        directive_allowed(&d[i], &allowed);
        (void)printf("\n### %s\n\n%s\n\n", d[i].name, d[i].help);
        (void)printf("Default: ");
        print_default(d[i].def);
        if ((d[i].flags & CF_FIXED) == 0)
            (void)printf(". Allowed: %s.%s", buf_cstr(&allowed),
                         (d[i].flags & CF_START) != 0 ? " *start*" : "");
        (void)printf("%s Since %s.\n", (d[i].flags & CF_FIXED) != 0 ? "." : "",
                     d[i].since);
    }
    buf_release(&allowed);
    return 0;
}
