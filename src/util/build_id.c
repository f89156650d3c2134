#include "util/build_id.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "util/slice.h"

enum { ID_BYTES_MAX = 32 };

static char text[2 * ID_BYTES_MAX + 1];

static size_t padded(size_t len, size_t align)
{
    return (len + align - 1) / align * align;
}

static void print_id(const unsigned char *id, size_t len)
{
    for (size_t i = 0; i < len && i < ID_BYTES_MAX; i++) {
        text[2 * i] = "0123456789abcdef"[id[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
    }
}

/* A segment of notes: header, name and bytes of each are padded. */
static bool find_note(const char *p, size_t left, size_t align)
{
    ElfW(Nhdr) note;
    while (left >= sizeof(note)) {
        memcpy(&note, p, sizeof(note));
        size_t name = padded(sizeof(note) + note.n_namesz, align);
        size_t len = padded(name + note.n_descsz, align);
        if (len > left)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(p + sizeof(note), "GNU", 4) == 0) {
            print_id((const unsigned char *)p + name, note.n_descsz);
            return true;
        }
        p += len;
        left -= len;
    }
    return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *ud)
{
    (void)size;
    (void)ud;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + ph->p_vaddr);
        if (ph->p_type == PT_NOTE &&
            find_note(at, ph->p_memsz, ph->p_align == 8 ? 8 : 4))
            break;
    }
    return 1; /* the program comes first; libraries have ids of their own */
}

const char *build_id(void)
{
    if (text[0] == '\0')
        (void)dl_iterate_phdr(look, NULL);
    return text;
}
