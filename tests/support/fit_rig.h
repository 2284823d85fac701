/* SPDX-License-Identifier: BSD-3-Clause
 * Runs tests of the fixed kernels of src/fit on a device: with buffers that are bound, with kernels that
 * check their accesses, and with a range so small that every kernel finds its buffers by address. All must
 * leave the same bytes. Exit status 77 where there is no device. */
#ifndef TEST_FIT_RIG_H
#define TEST_FIT_RIG_H

#include "fit/fit.h"

enum { FIT_RIG_BUFFERS = 16 };

typedef struct fit_rig { /* *state of a test */
    gpu *instance;
    gpu_device *device;
    gpu_batch *batch;
    fit_kernels *kernels;
    gpu_buffer *buffers[FIT_RIG_BUFFERS];
    uint32_t buffer_count;
    uint64_t read; /* hash of all that was read back */
} fit_rig;

extern bl_error fit_rig_error;
void fit_rig_check(bl_result result, const char *what);
#define CHECK(call) fit_rig_check((call), #call)

struct CMUnitTest;
int fit_rig_run(const struct CMUnitTest *tests, size_t count); /* how many have failed */
/* Setup and teardown of a group that runs once, with kernels that check their accesses. */
int fit_rig_open_checked(void **state);
int fit_rig_close(void **state);
/* Teardown of a test: destroys the buffers that it has made. */
int fit_rig_free_buffers(void **state);

/* A buffer of n words, zeros or a copy of data. */
gpu_buffer *fit_rig_words(fit_rig *f, uint32_t n, const void *data);
void *fit_rig_read(fit_rig *f, gpu_buffer *b, uint32_t n); /* free() it */
void fit_rig_begin(fit_rig *f);                            /* a batch */
void fit_rig_finish(fit_rig *f);                           /* runs it; no access may be out of range */
/* From 0 to scale. free() them. */
float *fit_rig_floats(uint32_t n, uint64_t seed, float scale);

#endif
