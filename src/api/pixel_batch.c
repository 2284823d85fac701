/* SPDX-License-Identifier: BSD-3-Clause
 * Batches of pixels. A job with a batch has film, image, dL/dI and target of as many pixels as the batch has,
 * and walks the pixels of a list in the scene buffer (plan_reserve_batch). So a pass costs what its batch
 * costs, whatever the number of views.
 *
 * The draw is a random permutation without a table: a Feistel network of six rounds over the least even
 * number of bits that holds all numbers; what falls outside of them goes through the network again until it
 * is inside (cycle walking; Black and Rogaway 2002, "Ciphers with arbitrary finite domains"). On average
 * fewer than four rounds of the network are needed, because the network's domain is less than four times as
 * large. Each pass through all numbers has a key of its own. */
#include "api/pixel_batch.h"
#include "api/job_pass.h"
#include "api/job_results.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- the draw ---- */

typedef struct permutation {
    uint64_t key, total;
    uint32_t half_bits;
} permutation;

static uint64_t feistel(const permutation *p, uint64_t number)
{
    enum { ROUNDS = 6 };
    uint32_t mask = (uint32_t)((1ull << p->half_bits) - 1), left = (uint32_t)(number >> p->half_bits),
             right = (uint32_t)number & mask;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t from[2] = {right, round};
        uint32_t next = left ^ ((uint32_t)XXH3_64bits_withSeed(from, sizeof from, p->key) & mask);
        left = right, right = next;
    }
    return (uint64_t)left << p->half_bits | right;
}

static uint64_t permute(const permutation *p, uint64_t number)
{
    do
        number = feistel(p, number);
    while (number >= p->total);
    return number;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void pixel_batch_draw(uint32_t seed, uint32_t step, uint64_t total, uint32_t count, uint32_t *out)
{
    BL_ASSERT(total > 0 && total <= UINT32_MAX && count > 0, "%u of %llu pixels", count,
              (unsigned long long)total);
    permutation p = {.total = total, .half_bits = 1};
    while (total > 1ull << 2 * p.half_bits)
        p.half_bits++;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t at = (uint64_t)step * count + k;
        const uint64_t pass[2] = {seed, at / total};
        p.key = XXH3_64bits(pass, sizeof pass);
        out[k] = (uint32_t)permute(&p, at % total);
    }
    qsort(out, count, sizeof *out, ascending); /* Neighbours walk alike. */
}

bl_result pixel_batch_list(bl_job *job, const uint32_t *pixels, bl_error *err)
{
    return gpu_buffer_write(job->words, 4ull * plan_batch_word(job->plan), pixels, 4ull * job_pixels(job),
                            err);
}

/* ---- whole views ---- */

/* Renders the pixels of the list and reads them. */
static bl_result render_list(bl_job *job, const job_work_desc *w, float *pixels, bl_error *err)
{
    bl_stats stats = {0};
    TRY(job_run(job, w, &stats, err));
    return job_resolve(job, w->spp, w->strips, pixels, &stats, err);
}

static bl_result render_lists(bl_job *job, uint32_t view, job_work_desc *w, uint32_t *list, float *pixels,
                              float *image, bl_error *err)
{
    const size_t channels = film_channels(job->scene);
    uint32_t all = film_pixels(job->scene), count = job_pixels(job);
    for (uint32_t first = 0; first < all; first += count) {
        uint32_t here = all - first < count ? all - first : count;
        for (uint32_t k = 0; k < count; k++) /* A short list is filled up with the last pixel. */
            list[k] = view * all + first + (k < here ? k : here - 1);
        w->progress_from = (double)first / all, w->progress_to = (double)(first + here) / all;
        TRY(pixel_batch_list(job, list, err));
        TRY(render_list(job, w, pixels, err));
        memcpy(image + channels * first, pixels, channels * here * sizeof *image);
    }
    return BL_OK;
}

bl_result pixel_batch_render(bl_job *job, uint32_t view, const bl_render_desc *desc, float *image,
                             bl_error *err)
{
    BL_ASSERT(view < job->plan->batch_views, "view %u of %u", view, job->plan->batch_views);
    if (desc->frozen || desc->variance || desc->channels)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "a fit with a batch renders images alone: no variance, channels or frozen paths");
    uint32_t count = job_pixels(job);
    job_work_desc w = job_image_work(job, desc);
    TRY(memory_check(16 * (size_t)count, err));
    uint32_t *list = memory_need(count * sizeof *list);
    float *pixels = memory_need((size_t)job_values(job) * sizeof *pixels);
    bl_result r = render_lists(job, view, &w, list, pixels, image, err);
    memory_free(list);
    memory_free(pixels);
    return r;
}
