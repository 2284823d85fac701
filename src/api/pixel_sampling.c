/* SPDX-License-Identifier: BSD-3-Clause
 * Which pixels the samples of a gradient pass are in, where they go by |dL/dI| (BL_PIXELS_ADJOINT;
 * docs/theory/variance.md).
 *
 * Of N = pixels * spp samples a pixel p expects e(p) = N |a(p)| / sum |a|, a = dL/dI, the norm over channels.
 * Systematic sampling: pixels lie in a row, each e(p) long, and samples at u, u + 1, u + 2, .. with one
 * random number u, so n(p) is e(p) rounded down or up, and spp everywhere where |a| is the same everywhere.
 * The gradient is the sum over pixels of
 *
 *     a(p) * mean over the n(p) samples / min(1, e(p)):
 *
 * a mean does not care how n came about as long as there are samples, and 1 - min(1, e) is the probability
 * that there are none. So chance comes in only where e < 1; a pixel whose a is 0 has no samples and needs
 * none, and no other one has e = 0, so no share of the samples must be kept for all pixels alike.
 *
 * Lengths are integers, and so is u, below the distance of two samples: n and e are exact. The largest |a|
 * gets 2^32, others their part of that, rounded up, and all are multiplied by spp. The distance is the mean
 * over the pixels without that factor, rounded up, so at most N samples fit. A pixel whose a is no number
 * counts as the largest: its samples show in the pass's counters.
 *
 * Lanes have up to as many samples as those of a pass over all pixels alike; longer ones come first, so that
 * neighbours, which run together, are of one length. The same paths are walked in any order: sample k of a
 * pixel is sample k. */
#include "api/pixel_sampling.h"
#include "api/job_buffers.h"
#include "render/sampler/samplers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const uint64_t full_length = 1ull << 32;

const char *bl_pixels_name(bl_pixels pixels)
{
    static const char *const names[BL_PIXELS_COUNT] = {"uniform", "adjoint"};
    return (unsigned)pixels < BL_PIXELS_COUNT ? names[pixels] : NULL;
}

bl_result pixel_sampling_check(const bl_job *job, bl_error *err)
{
    if ((unsigned)job->desc.pixels >= BL_PIXELS_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no choice of pixels %d", (int)job->desc.pixels);
    if (job->desc.pixels == BL_PIXELS_UNIFORM)
        return BL_OK;
    if (job->scene->light_tracing || job->scene->method != METHOD_REPLAY)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "only path replay can take its samples where dL/dI is, not %s",
                         render_method_name(job->scene));
    if (!sampler_takes_any(job->scene->spreads))
        return error_set(
            err, BL_ERROR_UNSUPPORTED,
            "samples where dL/dI is need a sampler that can take any number of samples in a pixel, "
            "`paddedsobol` or `independent`, not `%s`",
            job->scene->spreads->base.plugin.name);
    return BL_OK;
}

/* ---- how many samples a pixel has ---- */

typedef struct pixel_share {
    uint64_t length; /* length of the pixel in the row of pixels, without the factor spp */
    uint32_t samples;
    float weight; /* weight of each of its samples */
} pixel_share;

static void *zeros(size_t count, size_t size)
{
    void *p = memory_need_zeroed(count ? count : 1, size);
    return p;
}

/* The length of dL/dI. It is infinite where dL/dI is not a number. */
static double norm(const float *a, uint32_t channels)
{
    double sum = 0;
    for (uint32_t c = 0; c < channels; c++)
        sum += (double)a[c] * (double)a[c];
    return isfinite(sum) ? sqrt(sum) : (double)INFINITY;
}

/* Sets the lengths of all pixels. Returns their sum. */
static uint64_t measure(const pixel_adjoint *from, pixel_share *shares)
{
    double most = 0;
    uint64_t sum = 0;
    for (uint32_t p = 0; p < from->pixels; p++) {
        double here = norm(from->values + from->channels * (size_t)p, from->channels);
        most = isfinite(here) ? fmax(most, here) : most;
    }
    for (uint32_t p = 0; p < from->pixels; p++) {
        double here = norm(from->values + from->channels * (size_t)p, from->channels);
        shares[p].length = here < most ? (uint64_t)ceil(here / most * (double)full_length)
                           : here > 0  ? full_length
                                       : 0;
        sum += shares[p].length;
    }
    return sum;
}

static void place(pixel_share *shares, uint32_t pixels, uint32_t spp, uint64_t distance, uint64_t random)
{
    uint64_t next = random % distance; /* distance of the next sample from the pixel's beginning */
    for (uint32_t p = 0; p < pixels; p++) {
        uint64_t length = spp * shares[p].length,
                 n = length > next ? (length - next + distance - 1) / distance : 0;
        next += n * distance - length;
        shares[p].samples = (uint32_t)n;
        shares[p].weight = length >= distance ? 1.0f / (float)n
                           : n                ? (float)((double)distance / (double)length)
                                              : 0;
    }
}

/* ---- lanes ---- */

/* Sets first[k] to the first of the lanes that have k samples. Longer lanes come before. Returns the number
 * of lanes. */
static uint32_t sort_lanes(const pixel_share *shares, uint32_t pixels, uint32_t longest, uint32_t *first)
{
    BL_ASSERT(longest > 0, "lanes of no sample");
    uint32_t lanes = 0;
    for (uint32_t p = 0; p < pixels; p++) {
        first[longest] += shares[p].samples / longest;
        first[shares[p].samples % longest] += shares[p].samples % longest != 0;
    }
    for (uint32_t k = longest; k > 0; k--) {
        uint32_t count = first[k];
        first[k] = lanes, lanes += count;
    }
    return lanes;
}

/* Writes a lane of the list. row: see enum lane_word; adjoint: dL/dI of the row's pixel; weight: that of each
 * of the lane's samples. */
static void set_lane(pixel_list *out, uint32_t lane, const uint32_t row[LANE_WORDS], const float *adjoint,
                     float weight)
{
    BL_ASSERT(lane < out->lanes.count, "lane %u of %u", lane, out->lanes.count);
    memcpy(out->rows + out->row_words * (size_t)lane, row, LANE_WORDS * sizeof *row);
    for (uint32_t c = 0; c < out->channels; c++) {
        float here = adjoint[c] * weight;
        out->adjoint[out->row_words * (size_t)lane + c] = here;
        if (isfinite(here))
            out->lanes.largest = fmax(out->lanes.largest, fabs((double)here));
    }
    out->lanes.samples += row[LANE_SAMPLES];
}

void pixel_list_make(const pixel_adjoint *from, uint32_t spp, uint32_t longest, uint64_t random,
                     pixel_list *out)
{
    const uint32_t pixels = from->pixels, words = lane_row_words(from->channels);
    BL_ASSERT(pixels > 0 && spp > 0 && longest > 0, "%u samples of %u pixels in lanes of %u", spp, pixels,
              longest);
    BL_ASSERT((uint64_t)pixels * spp <= UINT32_MAX, "%u samples of %u pixels", spp, pixels);
    pixel_share *shares = zeros(pixels, sizeof *shares);
    uint32_t *first = zeros(longest + 1u, sizeof *first);
    uint64_t sum = measure(from, shares);
    if (sum)
        place(shares, pixels, spp, sum / pixels + (sum % pixels != 0), random);
    uint32_t lanes = sort_lanes(shares, pixels, longest, first);
    *out = (pixel_list){
        .channels = from->channels,
        .row_words = words,
        .lanes = {.count = lanes ? lanes : 1, .longest = longest},
    }; /* If dL/dI is 0, there is one lane without samples. */
    out->adjoint = zeros(words * (size_t)out->lanes.count, sizeof *out->adjoint);
    out->rows = zeros(words * (size_t)out->lanes.count, sizeof *out->rows);
    for (uint32_t p = 0; p < pixels; p++)
        for (uint32_t done = 0, n = shares[p].samples; done < n;) {
            uint32_t part = n - done < longest ? n - done : longest;
            const uint32_t row[LANE_WORDS] = {[LANE_PIXEL] = p, [LANE_FIRST] = done, [LANE_SAMPLES] = part};
            set_lane(out, first[part]++, row, from->values + from->channels * (size_t)p, shares[p].weight);
            done += part;
        }
    memory_free(first);
    memory_free(shares);
}

void pixel_list_free(pixel_list *list)
{
    memory_free(list->adjoint);
    memory_free(list->rows);
    *list = (pixel_list){0};
}

/* ---- on the device ---- */

static bl_result store(bl_job *job, const pixel_list *list, bl_error *err)
{
    uint32_t words = list->row_words * list->lanes.count;
    uint64_t adjoint = 4ull * words, rows = adjoint, partials = 4ull * fit_loss_partials(words);
    if (gpu_buffer_size(job->lanes) < adjoint + rows)
        TRY(job_replace_buffer(job, adjoint + rows, "lanes", &job->lanes, err));
    if (gpu_buffer_size(job->partials) < partials)
        TRY(job_replace_buffer(job, partials, "partial sums", &job->partials, err));
    TRY(gpu_buffer_write(job->lanes, 0, list->adjoint, adjoint, err));
    return gpu_buffer_write(job->lanes, adjoint, list->rows, rows, err);
}

bl_result pixel_sampling_distribute(bl_job *job, job_work_desc *w, bl_error *err)
{
    if (job->desc.pixels != BL_PIXELS_ADJOINT)
        return BL_OK;
    uint32_t pixels = job_pixels(job), longest = job_everything(w, pixels).last_sample;
    if ((uint64_t)pixels * w->spp > UINT32_MAX)
        return error_set(err, BL_ERROR_ARGUMENT,
                         "%u samples of %u pixels are too many to go where dL/dI is: 2^32 - 1 at most",
                         w->spp, pixels);
    const uint64_t bytes = 4ull * job_values(job);
    float *adjoint = memory_alloc(bytes);
    if (!adjoint)
        return error_set(err, BL_ERROR_MEMORY, "no memory for an image of %u pixels", pixels);
    pixel_list list = {0};
    bl_result r = gpu_buffer_read(job->adjoint, 0, adjoint, bytes, err);
    if (r == BL_OK) {
        const pixel_adjoint from = {adjoint, pixels, film_channels(job->scene)};
        pixel_list_make(&from, w->spp, longest, XXH3_64bits(&w->seed, sizeof w->seed), &list);
        r = store(job, &list, err);
    }
    w->lanes = list.lanes;
    pixel_list_free(&list);
    memory_free(adjoint);
    return r;
}
