/* SPDX-License-Identifier: BSD-3-Clause
 * Buffers: pages of their own, which the system hands out zeroed, with X86_PADDING behind the last word.
 *
 * Large buffers ask for large pages, because kernels gather from all over them: words at random places of 64
 * and 256 MiB came 8 and 22 % faster. The price is the first touch where memory is in pieces: 0.1 s became
 * 0.5 s for 256 MiB. */
#include "gpu/native/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE = 4 << 20 };

bl_result native_buffer_build(gpu_buffer *b, const gpu_buffer_desc *desc, bl_error *err)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes = (b->size + X86_PADDING + page - 1) / page * page;
    BL_ASSERT(desc->usage == 0, "buffer '%s' is for %x", b->label, desc->usage);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return error_set(err, BL_ERROR_DEVICE_MEMORY, "no %llu bytes of memory for buffer '%s': %s",
                         (unsigned long long)bytes, b->label, strerror(errno));
    if (bytes >= LARGE)
        madvise(memory, bytes, MADV_HUGEPAGE);
    b->mapped = memory;
    gpu_buffer_allocated(b, bytes);
    return BL_OK;
}

void native_buffer_destroy(gpu_buffer *b)
{
    if (b->mapped)
        munmap(b->mapped, b->allocated);
}
