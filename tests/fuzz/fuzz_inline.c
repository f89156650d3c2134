/* Inline commands: words that are split and quoted again must split into the
 * same words. */
#include <stdint.h>

#include "resp/inline.h"
#include "util/buf.h"
#include "util/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct resp_args first = {NULL, 0, 0, {NULL, 0, 0}};
    struct resp_args again = {NULL, 0, 0, {NULL, 0, 0}};
    struct buf line = {NULL, 0, 0};
    struct errbuf e;
    size_t used;
    if (size > 0 && data[0] != '*' &&
        parse_inline(slice_of(data, size), &first, &used, &e) == RESP_COMMAND) {
        ASSERT(used <= size);
        for (uint32_t i = 0; i < first.argc; i++) {
            if (i > 0)
                buf_add_char(&line, ' ');
            tokens_quote(&line, first.argv[i]);
        }
        bool ok = split_words(buf_slice(&line), &again);
        ASSERT(ok);
        ASSERT(again.argc == first.argc);
        for (uint32_t i = 0; i < first.argc; i++)
            ASSERT(slice_eq(first.argv[i], again.argv[i]));
    }
    resp_args_release(&first);
    resp_args_release(&again);
    buf_release(&line);
    return 0;
}
