/* Which build this is: the id that the linker makes of all that it links, so
 * that equal sources, compilers and flags have an equal one. It is what
 * `readelf -n` and debuggers know the program by. */
#ifndef UTIL_BUILD_ID_H
#define UTIL_BUILD_ID_H

/* In hexadecimal digits; empty if the program has none. For ever valid; the
 * first call must not be in a signal handler, nor beside another. */
const char *build_id(void);

#endif
