/* SPDX-License-Identifier: BSD-3-Clause
 * Images between our layout and that of a caller's buffers, and the fixed-point scale that follows from such
 * an image where the host never sees it. */
#include "fit/fit_internal.h"

#include <math.h>

/* ---- pixels ---- */

static void move_pixels(gpu_batch *batch, fit_kernels *kernels, fit_kernel kernel, gpu_buffer *image,
                        uint32_t image_first, const fit_pixels *theirs, uint32_t pixels)
{
    static const uint32_t words[] = {3, 4, 2, 3};
    uint64_t last = theirs->first + (uint64_t)theirs->stride * (pixels - 1) + words[theirs->format];
    BL_ASSERT(pixels > 0 && theirs->stride >= words[theirs->format], "%u pixels, %u words apart", pixels,
              theirs->stride);
    BL_ASSERT(last * 4 <= gpu_buffer_size(theirs->buffer) &&
                  4ull * image_first + pixels * 12ull <= gpu_buffer_size(image),
              "%u pixels do not fit", pixels);
    _Static_assert((int)FIT_RGBA_HALF == (int)PIXELS_HALF && (int)FIT_FACES == (int)PIXELS_FACES, "one list");
    bool out = kernel == FIT_PIXELS_OUT;
    BL_ASSERT(!out || theirs->format != FIT_FACES, "faces come in, from word %u on", theirs->first);
    gpu_buffer *buffers[] = {out ? image : theirs->buffer, out ? theirs->buffer : image};
    uint32_t push[] = {pixels, theirs->first, theirs->stride, theirs->format, image_first, theirs->last};
    fit_dispatch(batch, kernels, kernel, buffers, push, pixels);
}

void fit_record_pixels_out(gpu_batch *batch, fit_kernels *kernels, gpu_buffer *image, const fit_pixels *to,
                           uint32_t pixels)
{
    move_pixels(batch, kernels, FIT_PIXELS_OUT, image, 0, to, pixels);
}

void fit_record_pixels_in(gpu_batch *batch, fit_kernels *kernels, const fit_pixels *from, gpu_buffer *image,
                          uint32_t image_first, uint32_t pixels)
{
    move_pixels(batch, kernels, FIT_PIXELS_IN, image, image_first, from, pixels);
}

/* ---- the scale ---- */

static uint32_t parts(uint32_t n) { return n / FIT_FAN_IN + (n % FIT_FAN_IN != 0); }

/* The word where the last stage of fit_record_largest leaves its result. */
static uint32_t last_word(uint32_t n)
{
    uint32_t word = 0;
    for (uint32_t count = parts(n); count > 1; count = parts(count))
        word += count;
    return word;
}

/* The word behind it: that of the smallest, which is found first, and which the largest leaves alone. */
static uint32_t smallest_word(uint32_t n) { return last_word(n) + 1; }

/* Reduces from what (magnitudes or turned ones) to one word, `last`. */
static void reduce(gpu_batch *batch, fit_kernels *kernels, gpu_buffer *const buffers[2], uint32_t n,
                   fit_reduced what, uint32_t last)
{
    uint32_t first = 0, out = 0, count = n;
    do {
        uint32_t lanes = parts(count), push[] = {first, count, lanes, lanes == 1 ? last : out, what};
        fit_dispatch(batch, kernels, FIT_LARGEST, buffers, push, lanes);
        first = out, out += lanes, count = lanes, what = FIT_REDUCED_PARTIALS;
    } while (count > 1);
}

void fit_record_largest(gpu_batch *batch, fit_kernels *kernels, gpu_buffer *values, uint32_t n, bool smallest,
                        gpu_buffer *partials)
{
    BL_ASSERT(n > 0 && n * 4ull <= gpu_buffer_size(values), "the largest of %u values", n);
    BL_ASSERT(4ull * smallest_word(n) + 4 <= gpu_buffer_size(partials), "%u values need more partial results",
              n);
    gpu_buffer *const buffers[] = {values, partials};
    if (smallest)
        reduce(batch, kernels, buffers, n, FIT_REDUCED_TURNED, smallest_word(n));
    reduce(batch, kernels, buffers, n, FIT_REDUCED_MAGNITUDES, last_word(n));
}

/* The mantissa bits of the first float in [1, 2) for which the power is that of numbers just below 2. */
static uint32_t threshold(const fit_scale_range *r)
{
    uint32_t below = 0, there = 0x7fffff; /* the power is right at `there`; nothing is known below `below` */
    const int wanted = r->power(r->user, 1 + there * 0x1p-23);
    while (below < there) {
        uint32_t middle = below + (there - below) / 2;
        if (r->power(r->user, 1 + middle * 0x1p-23) == wanted)
            there = middle;
        else
            below = middle + 1;
    }
    return there;
}

void fit_record_scales(gpu_batch *batch, fit_kernels *kernels, gpu_buffer *partials, uint32_t n,
                       const fit_scale_range *range)
{
    enum {
        ONE = 127,    /* exponent bits of floats in [1, 2) */
        DIVISOR = 256 /* added to exponents of divisors */
    };
    int power = range->power(range->user, 2 - 0x1p-23), none = range->power(range->user, 0);
    BL_ASSERT(((uint64_t)range->first + range->count) * 4 <= gpu_buffer_size(range->scale),
              "%u scales from %u on", range->count, range->first);
    if (range->count == 0)
        return;
    BL_ASSERT(0 <= range->least && range->least <= range->most, "x between %g and %g", (double)range->least,
              (double)range->most);
    none = none > 120 ? 120 : none < -120 ? -120 : none;
    power = power > 700 ? 700 : power < -700 ? -700 : power;
    gpu_buffer *buffers[] = {partials, range->scale};
    uint32_t push[] = {last_word(n),
                       range->first,
                       range->count,
                       (uint32_t)(1024 + 127 + power + ONE - DIVISOR),
                       threshold(range),
                       float_word(ldexp(1, none)),
                       float_word((double)range->least),
                       float_word((double)range->most),
                       smallest_word(n),
                       range->epsilon > 0 ? (uint32_t)(DIVISOR + fit_slope_divisor(range->epsilon, 0)) : 0};
    fit_dispatch(batch, kernels, FIT_SCALES, buffers, push, range->count);
}
