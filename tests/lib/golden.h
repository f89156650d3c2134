/* Golden bytes: what a format looked like when it was released.
 *
 * tests/golden/<file> has a line per thing: its name and its bytes in hex. A
 * released line never changes; GOLDEN_WRITE=1 adds lines that are missing. */
#ifndef LIB_GOLDEN_H
#define LIB_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/slice.h"

static inline void golden_path(const char *file, char *path, size_t size)
{
    snprintf(path, size, "tests/golden/%s", file);
}

/* The hex of `name`, or an empty string. */
static inline void golden_find(const char *file, const char *name, char *hex,
                               size_t size)
{
    char path[256], line[8192], is[256];
    golden_path(file, path, sizeof(path));
    FILE *f = fopen(path, "r");
    hex[0] = '\0';
    if (f == NULL)
        return;
    while (fgets(line, sizeof(line), f) != NULL) {
        int n = 0;
        if (line[0] == '#' || sscanf(line, "%255s %n", is, &n) != 1 ||
            strcmp(is, name) != 0)
            continue;
        snprintf(hex, size, "%.*s", (int)strcspn(line + n, "\n"), line + n);
        break;
    }
    fclose(f);
}

static inline void golden_add(const char *file, const char *name,
                              const char *hex)
{
    char path[256];
    golden_path(file, path, sizeof(path));
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fprintf(f, "%s %s\n", name, hex);
    fclose(f);
}

/* The bytes of `s` are those that stand in the file. */
static inline void golden_check(const char *file, const char *name,
                                struct slice s)
{
    static char hex[8192], is[8192];
    assert_true(s.len < sizeof(hex) / 2);
    for (size_t i = 0; i < s.len; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)s.data[i]);
    hex[2 * s.len] = '\0';
    golden_find(file, name, is, sizeof(is));
    if (is[0] == '\0' && getenv("GOLDEN_WRITE") != NULL)
        golden_add(file, name, hex);
    else if (is[0] == '\0')
        fail_msg("tests/golden/%s has no line \"%s\"; GOLDEN_WRITE=1 adds it",
                 file, name);
    else
        assert_string_equal(hex, is);
}

/* The bytes of a line, into `to`. */
static inline struct slice golden_read(const char *file, const char *name,
                                       char *to, size_t size)
{
    static char hex[8192];
    golden_find(file, name, hex, sizeof(hex));
    size_t n = strlen(hex) / 2;
    assert_true(n > 0 && n <= size);
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        to[i] = (char)byte;
    }
    return slice_of(to, n);
}

#endif
