/* Refuses a program memory: LD_PRELOAD=alloc.so.
 *
 *   RIG_ALLOC  a file of struct control, mapped; the rig writes orders into it
 *              while the program runs
 *
 * Only requests that the program itself makes count, and only they fail: what
 * its libraries do without memory is not ours to promise.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* nomem's FIELDS say the same. */
struct control {
    uint64_t fail_at;  /* the how many-th; 0: none */
    uint64_t at_least; /* requests of so many bytes count */
    uint64_t seen, hits;
};

static struct control *control;
static uintptr_t program_from, program_to;
static void *(*real_malloc)(size_t size);
static void *(*real_calloc)(size_t n, size_t size);
static void *(*real_realloc)(void *old, size_t size);

static int first_object(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    program_from = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = at + info->dlpi_phdr[i].p_memsz;
        program_from = at < program_from ? at : program_from;
        program_to = end > program_to ? end : program_to;
    }
    return 1; /* the program is the first one */
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("RIG_ALLOC");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void *map =
        mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    dl_iterate_phdr(first_object, NULL);
    if (map != MAP_FAILED)
        control = map;
}

static int refused(const void *caller, size_t size)
{
    uintptr_t at = (uintptr_t)caller;
    if (control == NULL || at < program_from || at >= program_to ||
        size < control->at_least)
        return 0;
    uint64_t n = __atomic_add_fetch(&control->seen, 1, __ATOMIC_RELAXED);
    if (n != __atomic_load_n(&control->fail_at, __ATOMIC_RELAXED))
        return 0;
    __atomic_add_fetch(&control->hits, 1, __ATOMIC_RELAXED);
    errno = ENOMEM;
    return 1;
}

#define FIND(name)                                            \
    do {                                                      \
        if (real_##name == NULL)                              \
            *(void **)&real_##name = dlsym(RTLD_NEXT, #name); \
    } while (0)

void *malloc(size_t size)
{
    FIND(malloc);
    return refused(__builtin_return_address(0), size) ? NULL
                                                      : real_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    FIND(calloc);
    return refused(__builtin_return_address(0), n * size)
               ? NULL
               : real_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    FIND(realloc);
    return refused(__builtin_return_address(0), size) ? NULL
                                                      : real_realloc(old, size);
}
