/* Prints the server's figures, from server/metrics.def.
 * prints: docs/metrics.md */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "server/metrics.h"

static const char head[] =
    "# Figures\n\n"
    "<!-- Printed by src/gen/metrics.c; `make docs` writes it. -->\n\n"
    "`INFO` prints each figure in its section as `key:value`; the metric is "
    "the name\nunder which it will be served to monitoring systems (it is not "
    "yet). Counters\ngrow from the start of the process, or from `CONFIG "
    "RESETSTAT` in the section\nStats.\n\n"
    "The other lines of `INFO` are words, or there because clients of Redis "
    "look for\nthem. Of our own are `fault` (why writes are refused; empty if "
    "they are not) and\n`backup_error` (of the last backup).\n";

int main(void)
{
    const char *section = "";
    (void)fputs(head, stdout);
    for (unsigned i = 0; i < metrics_count; i++) {
        const struct metric *m = &metrics_table[i];
        if (strcmp(section, m->section_name) != 0) {
            section = m->section_name;
            (void)printf("\n## %c", section[0]);
            for (const char *p = section + 1; *p != '\0'; p++)
                (void)putchar(tolower((unsigned char)*p));
            (void)printf("\n\n| key | metric | kind | |\n"
                         "| --- | --- | --- | --- |\n");
        }
        (void)printf("| `%s` | ", m->key);
        if (*m->name != '\0')
            (void)printf("`belfry_%s`", m->name);
        (void)printf(" | %s | %s |\n",
                     m->kind == METRIC_COUNTER ? "counter" : "gauge", m->help);
    }
    return 0;
}
