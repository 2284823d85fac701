/* SPDX-License-Identifier: BSD-3-Clause
 * The threads of the native device, and how a task is shared among them.
 *
 * Sharing (Blumofe and Leiserson 1999, with ranges instead of deques): each thread has a range of blocks and
 * takes small pieces from its front. A thread without blocks takes the upper half of another one's range. So
 * neighbouring blocks stay in one thread, and threads meet only where work runs out. A range is 64 bits that
 * change by compare-and-swap; its owner alone makes it larger, when it is empty.
 *
 * Tasks: `state` is one word of three numbers: the turn, which counts tasks, how many threads may join, and
 * how many are in it now. Joining and leaving change it. A thread leaves when it has seen all ranges empty,
 * so when the last one leaves, all blocks are done: what another thread has just stolen keeps that one in the
 * task. The last one opens the next task, or the next job's first one. A task that is over has no room to
 * join.
 *
 * Sleep: a thread that finds nothing to do spins for a while as long as a job is under way, because the next
 * task is near, and then sleeps. Whoever opens a task looks for sleepers after it has opened it, a sleeper
 * looks for a task after it has counted itself; both in sequentially consistent order, so one of the two sees
 * the other. */
#include "gpu/native/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    LINE = 64,      /* bytes of a cache line */
    SHARE = 8,      /* a piece is at most this part of what the thread has left */
    PATIENCE = 1500 /* times that a thread looks for work before it sleeps; some 50 microseconds */
};

/* ---- a range: its first block, and the one behind its last ---- */

typedef struct range {
    _Alignas(LINE) _Atomic uint64_t ends;
} range;

static uint64_t pack(uint32_t first, uint32_t end) { return (uint64_t)end << 32 | first; }
static uint32_t first_of(uint64_t ends) { return (uint32_t)ends; }
static uint32_t end_of(uint64_t ends) { return (uint32_t)(ends >> 32); }

/* ---- the state: turn, room, active ---- */

static uint32_t turn_of(uint64_t state) { return (uint32_t)(state >> 32); }
static uint32_t room_of(uint64_t state) { return (uint32_t)state >> 16; }
static uint32_t active_of(uint64_t state) { return (uint32_t)state & 0xFFFF; }
static uint64_t state_with(uint32_t turn, uint32_t room) { return (uint64_t)turn << 32 | room << 16; }

typedef struct worker {
    _Alignas(LINE) native_pool *pool;
    uint32_t index;
    uint32_t seen; /* the turn of the last task that this thread joined */
    pthread_t thread;
} worker;

struct native_pool {
    uint32_t threads; /* with the caller's, which is worker 0 */
    uint32_t started; /* of its own */
    bool start_tried;
    worker *workers;
    range *ranges;
    _Alignas(LINE) _Atomic uint64_t state;
    _Alignas(LINE) _Atomic(const native_task *) task;
    _Atomic uint32_t sleepers;
    _Atomic bool busy;        /* a job is under way */
    bool stop;                /* under the mutex */
    native_job *first, *last; /* those not done, in order; under the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t woken;
};

/* ---- one task ---- */

/* Takes the next piece of a thread's own range. */
static bool take(range *own, uint32_t *first, uint32_t *count)
{
    uint64_t ends = atomic_load_explicit(&own->ends, memory_order_relaxed);
    for (;;) {
        uint32_t left = end_of(ends) - first_of(ends), piece = left / SHARE;
        if (left == 0)
            return false;
        piece = piece < 1 ? 1 : piece > NATIVE_PIECE ? NATIVE_PIECE : piece;
        if (!atomic_compare_exchange_weak_explicit(&own->ends, &ends,
                                                   pack(first_of(ends) + piece, end_of(ends)),
                                                   memory_order_relaxed, memory_order_relaxed))
            continue;
        *first = first_of(ends), *count = piece;
        return true;
    }
}

/* Moves the upper half of another thread's range into the own one, which is empty. */
static bool steal(native_pool *p, uint32_t thief)
{
    for (uint32_t k = 1; k < p->threads; k++) {
        range *victim = &p->ranges[(thief + k) % p->threads];
        uint64_t ends = atomic_load_explicit(&victim->ends, memory_order_relaxed);
        while (first_of(ends) < end_of(ends)) {
            uint32_t middle = first_of(ends) + (end_of(ends) - first_of(ends)) / 2;
            if (!atomic_compare_exchange_weak_explicit(&victim->ends, &ends, pack(first_of(ends), middle),
                                                       memory_order_relaxed, memory_order_relaxed))
                continue;
            atomic_store_explicit(&p->ranges[thief].ends, pack(middle, end_of(ends)), memory_order_relaxed);
            return true;
        }
    }
    return false;
}

static void run_task(native_pool *p, const worker *w)
{
    const native_task *task = atomic_load_explicit(&p->task, memory_order_relaxed);
    uint32_t first, count;
    do
        while (take(&p->ranges[w->index], &first, &count))
            task->run(task, w->index, w->seen, first, count);
    while (steal(p, w->index));
}

/* ---- from task to task ---- */

static void wake(native_pool *p, bool all)
{
    if (atomic_load(&p->sleepers) == 0)
        return;
    pthread_mutex_lock(&p->mutex);
    if (all)
        pthread_cond_broadcast(&p->woken);
    else
        pthread_cond_signal(&p->woken);
    pthread_mutex_unlock(&p->mutex);
}

/* Nobody is in a task. */
static void open_task(native_pool *p, const native_task *task)
{
    BL_ASSERT(task->blocks > 0, "a task without blocks, of %p", task->data);
    uint32_t room = task->blocks < p->threads ? task->blocks : p->threads;
    for (uint32_t k = 0; k < p->threads; k++) {
        uint64_t from = (uint64_t)task->blocks * k / room, to = (uint64_t)task->blocks * (k + 1) / room;
        atomic_store_explicit(&p->ranges[k].ends, k < room ? pack((uint32_t)from, (uint32_t)to) : 0,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&p->task, task, memory_order_relaxed);
    atomic_store(&p->state, state_with(turn_of(atomic_load(&p->state)) + 1, room));
}

static void open_job(native_pool *p, native_job *job)
{
    job->started = clock_seconds();
    open_task(p, &job->tasks[0]);
}

/* Done, and off the list; returns the next one. */
static native_job *close_job(native_pool *p, native_job *job)
{
    job->seconds = clock_seconds() - job->started;
    pthread_mutex_lock(&p->mutex);
    native_job *next = p->first = job->next;
    if (!next)
        p->last = NULL;
    atomic_store(&p->busy, next != NULL);
    atomic_store(&job->done, true); /* from here on it may be gone */
    pthread_mutex_unlock(&p->mutex);
    return next;
}

/* The task is over, and this thread was the last in it. */
static void advance(native_pool *p)
{
    native_job *job = p->first; /* nobody else changes it while a job is under way */
    if (++job->current < job->count) {
        const native_task *task = &job->tasks[job->current];
        bool shared = task->blocks > 1; /* else this thread runs it */
        open_task(p, task);             /* and other threads may finish it and the whole job */
        if (shared)
            wake(p, true);
        return;
    }
    job = close_job(p, job);
    if (job)
        open_job(p, job);
    wake(p, true);
}

/* Takes part in the task that is open, if there is one with room that this thread has not been in. */
static bool work(native_pool *p, worker *w)
{
    uint64_t state = atomic_load(&p->state);
    do
        if (turn_of(state) == w->seen || active_of(state) >= room_of(state))
            return false;
    while (!atomic_compare_exchange_weak(&p->state, &state, state + 1));
    w->seen = turn_of(state);
    run_task(p, w);
    state = atomic_load(&p->state);
    uint64_t after;
    do
        after = active_of(state) == 1 ? state_with(w->seen, 0) : state - 1;
    while (!atomic_compare_exchange_weak(&p->state, &state, after));
    if (active_of(state) == 1)
        advance(p);
    return true;
}

/* ---- threads ---- */

static bool can_join(native_pool *p, const worker *w)
{
    uint64_t state = atomic_load(&p->state);
    return turn_of(state) != w->seen && active_of(state) < room_of(state);
}

static void relax(void)
{
#if defined(__x86_64__)
    _mm_pause();
#endif
}

/* Returns when there may be something to do. job: what the thread waits for; NULL: nothing but work. */
static void rest(native_pool *p, worker *w, native_job *job)
{
    for (int k = 0; k < PATIENCE && atomic_load_explicit(&p->busy, memory_order_relaxed); k++) {
        if (can_join(p, w) || (job && atomic_load(&job->done)))
            return;
        relax();
    }
    pthread_mutex_lock(&p->mutex);
    atomic_fetch_add(&p->sleepers, 1);
    while (!can_join(p, w) && !p->stop && !(job && atomic_load(&job->done)))
        pthread_cond_wait(&p->woken, &p->mutex);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->mutex);
}

static bool stopped(native_pool *p)
{
    pthread_mutex_lock(&p->mutex);
    bool stop = p->stop;
    pthread_mutex_unlock(&p->mutex);
    return stop;
}

static void *run_thread(void *user)
{
    worker *w = user;
    while (!stopped(w->pool)) {
        while (work(w->pool, w))
            ;
        rest(w->pool, w, NULL);
    }
    return NULL;
}

/* Threads that cannot be had are done without; results do not depend on their number. Signals are for the
 * program's own threads. */
static void start_threads(native_pool *p)
{
    sigset_t all, before;
    p->start_tried = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->started + 1 < p->threads) {
        worker *w = &p->workers[p->started + 1];
        if (pthread_create(&w->thread, NULL, run_thread, w) != 0)
            break;
        p->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bl_result native_pool_create(uint32_t threads, native_pool **out, bl_error *err)
{
    BL_ASSERT(threads >= 1 && threads <= NATIVE_THREADS_MOST, "a pool of %u threads", threads);
    *out = NULL;
    native_pool *p = aligned_alloc(LINE, sizeof *p);
    worker *workers = aligned_alloc(LINE, threads * sizeof *workers);
    range *ranges = aligned_alloc(LINE, threads * sizeof *ranges);
    if (!p || !workers || !ranges) {
        free(p), free(workers), free(ranges);
        return error_set(err, BL_ERROR_MEMORY, "out of memory for %u threads", threads);
    }
    memset(p, 0, sizeof *p);
    memset(workers, 0, threads * sizeof *workers);
    memset(ranges, 0, threads * sizeof *ranges);
    p->threads = threads, p->workers = workers, p->ranges = ranges;
    for (uint32_t k = 0; k < threads; k++)
        workers[k] = (worker){.pool = p, .index = k};
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->woken, NULL);
    *out = p;
    return BL_OK;
}

void native_pool_destroy(native_pool *p)
{
    if (!p)
        return;
    BL_ASSERT(!p->first, "a pool goes while a job of %u tasks is under way", p->first->count);
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->woken);
    pthread_mutex_unlock(&p->mutex);
    for (uint32_t k = 1; k <= p->started; k++)
        pthread_join(p->workers[k].thread, NULL);
    pthread_cond_destroy(&p->woken);
    pthread_mutex_destroy(&p->mutex);
    free(p->workers);
    free(p->ranges);
    free(p);
}

void native_pool_submit(native_pool *p, native_job *job)
{
    job->next = NULL, job->current = 0, job->seconds = 0;
    atomic_store(&job->done, job->count == 0);
    if (job->count == 0)
        return;
    if (!p->start_tried)
        start_threads(p);
    pthread_mutex_lock(&p->mutex);
    bool alone = !p->first;
    if (alone)
        p->first = job;
    else
        p->last->next = job;
    p->last = job;
    atomic_store(&p->busy, true);
    pthread_mutex_unlock(&p->mutex);
    if (alone) {
        open_job(p, job);
        wake(p, job->tasks[0].blocks > 1);
    }
}

void native_pool_finish(native_pool *p, native_job *job)
{
    while (!atomic_load(&job->done)) {
        if (!work(p, &p->workers[0]) && !atomic_load(&job->done))
            rest(p, &p->workers[0], job);
    }
}

void native_pool_drain(native_pool *p)
{
    for (;;) {
        pthread_mutex_lock(&p->mutex);
        native_job *last = p->last;
        pthread_mutex_unlock(&p->mutex);
        if (!last)
            return;
        native_pool_finish(p, last);
    }
}
