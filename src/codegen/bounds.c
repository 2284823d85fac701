/* SPDX-License-Identifier: BSD-3-Clause
 * BL_DEBUG=bounds: kernels whose every access to a buffer is checked (spirv_gen/opt/bounds.c), and what they
 * report as the error of the pass. Checked kernels are slow, are not kept on disk, and give the same results
 * as others as long as nothing is reported. */
#include "codegen/bounds.h"

#include <stdlib.h>
#include <string.h>

bl_result bounds_wanted(bool *checked, bl_error *err)
{
    const char *value = getenv("BL_DEBUG");
    *checked = value && strcmp(value, "bounds") == 0;
    if (value && *value && !*checked)
        return error_set(err, BL_ERROR_ARGUMENT, "BL_DEBUG=%s: what there is is \"bounds\"", value);
    return BL_OK;
}

bl_result bounds_create(gpu_device *d, uint32_t buffers, kernel_bounds **out, bl_error *err)
{
    *out = NULL;
    kernel_bounds *b = memory_need_zeroed(1, sizeof *b);
    b->buffers = buffers;
    b->sizes = memory_need_zeroed(buffers + 1u, sizeof *b->sizes);
    bl_result r =
        gpu_buffer_create(d, GPU_DEVICE, 4ull * (buffers + OPT_REPORT_WORDS), "bounds", &b->report, err);
    if (r != BL_OK)
        bounds_destroy(b);
    else
        *out = b;
    return r;
}

void bounds_destroy(kernel_bounds *b)
{
    if (!b)
        return;
    gpu_buffer_destroy(b->report);
    opt_sites_free(&b->sites);
    memory_free(b->sizes);
    memory_free(b);
}

static void take_sizes(kernel_bounds *b, gpu_buffer *const *buffers)
{
    for (uint32_t k = 0; k < b->buffers; k++)
        b->sizes[k] = (uint32_t)(gpu_buffer_asked_size(buffers[k]) / 4);
}

void bounds_record(kernel_bounds *b, gpu_batch *batch, gpu_buffer *const *buffers)
{
    take_sizes(b, buffers);
    for (uint32_t k = 0; k < b->buffers; k++)
        gpu_batch_fill(batch, b->report, 4ull * k, 4, b->sizes[k]);
}

bl_result bounds_arm(kernel_bounds *b, gpu_buffer *const *buffers, bl_error *err)
{
    take_sizes(b, buffers);
    return gpu_buffer_write(b->report, 0, b->sizes, 4ull * b->buffers, err);
}

static bl_result tell(const opt_site *s, const uint32_t *sizes, const uint32_t *report, bl_error *err)
{
    text array = {0};
    if (!s->name)
        text_add(&array, "the array has %u elements", s->array_size);
    else
        text_add(&array, "buffer \"%s\" has %u %s", s->name, sizes[s->buffer] / s->element_words,
                 s->element_words == 1 ? "words" : "elements");
    error_set(err, BL_ERROR_BOUNDS, "kernel \"%s\", invocation %u, %s: index %u out of range, %s", s->kernel,
              report[OPT_REPORT_INVOCATION], s->place, report[OPT_REPORT_INDEX], array.data);
    text_free(&array);
    return BL_ERROR_BOUNDS;
}

bl_result bounds_check(kernel_bounds *b, bl_error *err)
{
    static const uint32_t nothing[OPT_REPORT_WORDS];
    uint32_t report[OPT_REPORT_WORDS];
    if (!b)
        return BL_OK;
    TRY(gpu_buffer_read(b->report, 4ull * b->buffers, report, sizeof report, err));
    uint32_t number = report[OPT_REPORT_SITE];
    if (number == 0)
        return BL_OK;
    TRY(gpu_buffer_write(b->report, 4ull * b->buffers, nothing, sizeof nothing, err));
    if (number > b->sites.list.count)
        return error_set(err, BL_ERROR_BOUNDS, "access %u of %u reported, the report is damaged", number,
                         b->sites.list.count);
    return tell(&b->sites.list.data[number - 1], b->sizes, report, err);
}
