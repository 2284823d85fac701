/* SPDX-License-Identifier: BSD-3-Clause
 * Threads that work through jobs. A job is a list of tasks, which run one after another; a task is a number
 * of blocks, which may run in any order and in any thread.
 *
 * A job starts when it is submitted. The thread that finishes it works along, so a pool of n has n - 1
 * threads of its own, and with n = 1 everything happens in native_pool_finish. Submitting and finishing are
 * for one thread at a time. */
#ifndef GPU_NATIVE_POOL_H
#define GPU_NATIVE_POOL_H

#include "gpu/gpu_internal.h"

enum { NATIVE_THREADS_MOST = 1024, NATIVE_PIECE = 64 /* most blocks that a thread takes at once */ };

typedef struct native_pool native_pool;
typedef struct native_task native_task;

struct native_task {
    uint32_t blocks; /* at least 1 */
    const void *data;
    /* Runs blocks first .. first + count - 1; count is at most NATIVE_PIECE. `thread` is below the pool's
     * number of threads; `turn` is another number for every task that the pool starts. */
    void (*run)(const native_task *t, uint32_t thread, uint32_t turn, uint32_t first, uint32_t count);
};

typedef struct native_job {
    const native_task *tasks; /* must stay until the job is finished */
    uint32_t count;
    double seconds; /* once finished: from the start of the first task to the end of the last */
    /* the pool's own */
    struct native_job *next;
    uint32_t current;
    double started;
    _Atomic bool done;
} native_job;

bl_result native_pool_create(uint32_t threads, native_pool **out, bl_error *err);
void native_pool_destroy(native_pool *p); /* every job is finished */
void native_pool_submit(native_pool *p, native_job *job);
void native_pool_finish(native_pool *p, native_job *job);
void native_pool_drain(native_pool *p); /* finishes all that were submitted */

#endif
