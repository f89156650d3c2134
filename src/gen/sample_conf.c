/* Prints the commented sample of a configuration file, from conf/config.def.
 * prints: conf/belfry.conf */
#include <stdio.h>
#include <string.h>

#include "conf/directive.h"
#include "util/tokens.h"

/* Comment lines of at most 78 columns. */
static void print_wrapped(const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (column > 0 && column + 1 + len > 78) {
            (void)printf("\n");
            column = 0;
        }
        (void)printf("%s%.*s", column == 0 ? "# " : " ", (int)len, text);
        column += (column == 0 ? 2 : 1) + len;
        text += len + (text[len] == ' ' ? 1 : 0);
    }
    (void)printf("\n");
}

/* The directive at its default, as a comment: to uncomment is to change. */
static void print_line(const struct directive *d)
{
    struct config c;
    struct buf value = {NULL, 0, 0};
    if (d->type == CT_OBUF) {
        config_init(&c);
        directive_print(d, &c, &value);
        struct tokens t = {NULL, 0, 0, {NULL, 0, 0}};
        bool ok = tokens_split(&t, buf_slice(&value));
        for (size_t i = 0; ok && i + 3 < t.len; i += 4)
            (void)printf("# %s %.*s %.*s %.*s %.*s\n", d->name,
                         SLICE_FMT(t.at[i]), SLICE_FMT(t.at[i + 1]),
                         SLICE_FMT(t.at[i + 2]), SLICE_FMT(t.at[i + 3]));
        tokens_release(&t);
        config_release(&c);
    } else {
        (void)printf("# %s %s\n", d->name, d->def[0] != '\0' ? d->def : "\"\"");
    }
    buf_release(&value);
}

int main(void)
{
    size_t n;
    const struct directive *d = directives(&n);
    const char *section = "";
    struct buf allowed = {NULL, 0, 0};
    (void)printf("# Belfry, every directive at its default. "
                 "docs/configuration.md says how the\n# file is written.\n");
    for (size_t i = 0; i < n; i++) {
        if ((d[i].flags & CF_FIXED) != 0)
            continue;
        if (strcmp(d[i].section, section) != 0) {
            section = d[i].section;
            (void)printf("\n### %s\n", section);
        }
        (void)printf("\n");
        print_wrapped(d[i].help);
        buf_clear(&allowed);
        buf_add_str(&allowed, "Allowed: ");
        directive_allowed(&d[i], &allowed);
        buf_add_str(&allowed, (d[i].flags & CF_START) != 0
                                  ? "; read at start only."
                                  : ".");
        print_wrapped(buf_cstr(&allowed));
        print_line(&d[i]);
    }
    buf_release(&allowed);
    return 0;
}
