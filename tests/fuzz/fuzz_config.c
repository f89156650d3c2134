/* Configuration text: what is accepted must be printed and read back as the
 * same values; CONFIG SET takes the same text as pairs. */
#include <stdint.h>

#include "conf/conf.h"
#include "conf/directive.h"
#include "util/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(const struct conf *conf)
{
    size_t n;
    const struct directive *d = directives(&n);
    struct buf line = {NULL, 0, 0};
    struct conf *again = conf_new();
    for (size_t i = 0; i < n; i++) {
        if ((d[i].flags & CF_FIXED) != 0)
            continue;
        buf_add_str(&line, d[i].name);
        buf_add_char(&line, ' ');
        directive_print_words(&d[i], conf_values(conf), &line);
        buf_add_char(&line, '\n');
    }
    struct errbuf e = {""};
    enum err rc = conf_load_text(again, buf_slice(&line), "again", &e);
    ASSERT(rc == ERR_OK);
    for (size_t i = 0; i < n; i++)
        ASSERT(directive_equal(&d[i], conf_values(again), conf_values(conf)));
    conf_free(&again);
    buf_release(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = slice_of(data, size);
    struct conf *conf = conf_new();
    struct errbuf e = {""};
    enum err rc = conf_load_text(conf, text, "fuzz", &e);
    ASSERT(rc == ERR_OK || e.text[0] != '\0');
    if (rc == ERR_OK)
        read_back(conf);
    struct tokens t = {NULL, 0, 0, {NULL, 0, 0}};
    if (tokens_split(&t, text)) {
        rc = conf_set(conf, t.at, t.len, &e);
        ASSERT(rc == ERR_OK || e.text[0] != '\0');
    }
    tokens_release(&t);
    conf_free(&conf);
    return 0;
}
