/* Prints what an error reply means, from util/errors.def.
 * prints: docs/errors.md */
#include <stdio.h>
#include <string.h>

#include "util/err.h"

int main(void)
{
    (void)printf(
        "# Error replies\n\n"
        "<!-- Printed by src/gen/errors.c; `make docs` writes it. -->\n\n"
        "The first word of an error reply says what kind it is; programs may "
        "rely on\nit. The sentence behind it is for people: it says what was "
        "wrong and what is\nallowed, and may change.\n\n"
        "| first word | meaning |\n| --- | --- |\n");
    for (int i = 0; i < ERR_COUNT; i++) {
        enum err code = (enum err)i;
        const char *meaning = err_meaning(code);
        /* These never leave the server. */
        if (code == ERR_OK || strncmp(meaning, "internal:", 9) == 0)
            continue;
        (void)printf("| `%s` | %s |\n", err_prefix(code), meaning);
    }
    return 0;
}
