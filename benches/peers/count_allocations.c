// Counts what a program allocates, for `LD_PRELOAD`. The counts are in a file that is mapped, so that they can be read at any time:
// $COUNT_ALLOCATIONS_IN/PID, two numbers of eight octets: malloc + calloc + realloc and their kin, and the octets that they were asked for.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// glibc's own, under the names that it keeps for this.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

struct counts {
    atomic_ullong calls, octets;
};

// Until the file is there, and where it cannot be.
static struct counts early;
static struct counts *counts = &early;

static void count(size_t octets) {
    atomic_fetch_add_explicit(&counts->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counts->octets, octets, memory_order_relaxed);
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    count(size);
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

__attribute__((constructor)) static void start(void) {
    const char *folder = getenv("COUNT_ALLOCATIONS_IN");
    char path[4096];
    if (!folder || snprintf(path, sizeof path, "%s/%d", folder, getpid()) >= (int)sizeof path) return;
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, sizeof early) != 0) return;
    void *mapped = mmap(NULL, sizeof early, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) counts = mapped;
}
