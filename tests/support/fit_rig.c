/* SPDX-License-Identifier: BSD-3-Clause
 * Tests of kernels in three forms (fit_rig.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fit_rig.h"
#include "support/fixed_point_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_RANGE = 8 }; /* bytes; the smallest buffer has 16 */
enum { BOUND, CHECKED, ADDRESSED, FORM_COUNT };
static uint64_t read_of[FORM_COUNT];
bl_error fit_rig_error;

void fit_rig_check(bl_result result, const char *what)
{
    if (result != BL_OK)
        fail_msg("%s: %s", what, fit_rig_error.text);
}

/* ---- the device ---- */

static int open_device(void **state, uint32_t buffer_range, bool checked)
{
    fit_rig *f = calloc(1, sizeof *f);
    const char *name = getenv("BL_DEVICE");
    if (gpu_open(&(gpu_options){.buffer_range = buffer_range}, &f->instance, &fit_rig_error) != BL_OK ||
        gpu_device_create(f->instance, name ? name : "swiftshader", &f->device, &fit_rig_error) != BL_OK) {
        fprintf(stderr, "no device: %s\n", fit_rig_error.text);
        exit(77);
    }
    CHECK(gpu_batch_create(f->device, &f->batch, &fit_rig_error));
    CHECK(fit_kernels_create(f->device, checked, &f->kernels, &fit_rig_error));
    *state = f;
    return 0;
}

static int bound_setup(void **state) { return open_device(state, 0, false); }
int fit_rig_open_checked(void **state) { return open_device(state, 0, true); }

static int addressed_setup(void **state)
{
    open_device(state, SMALL_RANGE, false);
    const fit_rig *f = *state;
    if (!gpu_device_info(f->device)->buffer_address)
        fail_msg("%s has no buffer addresses", gpu_device_info(f->device)->name);
    return 0;
}

int fit_rig_close(void **state)
{
    fit_rig *f = *state;
    fit_kernels_destroy(f->kernels);
    gpu_batch_destroy(f->batch);
    gpu_device_destroy(f->device);
    gpu_close(f->instance);
    free(f);
    return 0;
}

static int keep(void **state, int form)
{
    read_of[form] = ((const fit_rig *)*state)->read;
    return fit_rig_close(state);
}

static int bound_teardown(void **state) { return keep(state, BOUND); }
static int checked_teardown(void **state) { return keep(state, CHECKED); }
static int addressed_teardown(void **state) { return keep(state, ADDRESSED); }

int fit_rig_free_buffers(void **state)
{
    fit_rig *f = *state;
    for (uint32_t i = 0; i < f->buffer_count; i++)
        gpu_buffer_destroy(f->buffers[i]);
    f->buffer_count = 0;
    return 0;
}

/* ---- buffers and batches ---- */

gpu_buffer *fit_rig_words(fit_rig *f, uint32_t n, const void *data)
{
    assert_true(f->buffer_count < FIT_RIG_BUFFERS);
    gpu_buffer *b = NULL;
    CHECK(gpu_buffer_create(f->device, GPU_DEVICE, n * 4ull, "test", &b, &fit_rig_error));
    f->buffers[f->buffer_count++] = b;
    if (data)
        CHECK(gpu_buffer_write(b, 0, data, n * 4ull, &fit_rig_error));
    return b;
}

void *fit_rig_read(fit_rig *f, gpu_buffer *b, uint32_t n)
{
    unsigned char *data = malloc(n * 4ull);
    CHECK(gpu_buffer_read(b, 0, data, n * 4ull, &fit_rig_error));
    for (uint32_t i = 0; i < 4 * n; i++)
        f->read = (f->read ^ data[i]) * 1099511628211u; /* FNV-1a */
    return data;
}

void fit_rig_begin(fit_rig *f) { CHECK(gpu_batch_begin(f->batch, &fit_rig_error)); }

void fit_rig_finish(fit_rig *f)
{
    CHECK(gpu_batch_submit(f->batch, &fit_rig_error));
    CHECK(gpu_batch_wait(f->batch, NULL, &fit_rig_error));
    CHECK(fit_kernels_check(f->kernels, &fit_rig_error));
}

static float random_float(uint64_t *state) { return (float)(random_word(state) >> 8) / 16777216.0f; }

float *fit_rig_floats(uint32_t n, uint64_t seed, float scale)
{
    float *values = malloc(n * sizeof *values);
    for (uint32_t i = 0; i < n; i++)
        values[i] = scale * random_float(&seed);
    return values;
}

/* ---- the forms ---- */

static void checked_kernels_leave_the_same_bytes(void **state)
{
    (void)state;
    assert_true(read_of[BOUND] != 0);
    assert_true(read_of[BOUND] == read_of[CHECKED]);
}

static void both_forms_leave_the_same_bytes(void **state)
{
    (void)state;
    assert_true(read_of[BOUND] != 0);
    assert_true(read_of[BOUND] == read_of[ADDRESSED]);
}

int fit_rig_run(const struct CMUnitTest *tests, size_t count)
{
    const struct CMUnitTest checks[] = {cmocka_unit_test(checked_kernels_leave_the_same_bytes)},
                            comparison[] = {cmocka_unit_test(both_forms_leave_the_same_bytes)};
    int failed = _cmocka_run_group_tests("bound", tests, count, bound_setup, bound_teardown);
    failed += _cmocka_run_group_tests("checked", tests, count, fit_rig_open_checked, checked_teardown);
    failed += cmocka_run_group_tests(checks, NULL, NULL);
    const char *name = getenv("BL_DEVICE");
    if (name && strcmp(name, "native") == 0) /* Its bindings reach every buffer, so nothing is addressed. */
        return failed;
    failed += _cmocka_run_group_tests("addressed", tests, count, addressed_setup, addressed_teardown);
    return failed + cmocka_run_group_tests(comparison, NULL, NULL);
}
