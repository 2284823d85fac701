/* SPDX-License-Identifier: BSD-3-Clause
 * Losses that are weighted sums. A term with levels is a part for each level whose weight is not 0, and a
 * part is one of the losses of loss.c between images of that level (kernels/pyramid.c), with partial sums and
 * a value of its own. dL/dI goes the other way: from the coarsest level to the finest, each adds its parts
 * and the transposed of what the coarser one has left.
 *
 * In two walks the even and the odd half's image have a pyramid each. Levels are linear in the image, so what
 * is affine in a level is affine in the image, and what holds of one loss (docs/theory/two_walks.md) holds of
 * the sum. A level of two images is to the kernels of halves a film of two strips, of one sample each. */
#include "fit/fit_internal.h"

#include <math.h>

enum { PARTS_MOST = BL_LOSS_TERMS_MOST * BL_LOSS_LEVELS_MOST };

typedef struct part {
    bl_loss loss;
    double constant, weight;
    uint32_t level, term;
    gpu_buffer *partials;
} part;

typedef struct level {
    uint32_t width, height, values;
    double share;                          /* the largest share that a pixel of level 0 has in a cell */
    gpu_buffer *images, *target, *adjoint; /* level 0: of the caller, but for the two images of two walks */
} level;

struct fit_composite {
    uint32_t channels, images; /* images: of a level, 2 in two walks */
    uint32_t part_count, term_count, level_count;
    bool weighted;
    part parts[PARTS_MOST];
    level levels[BL_LOSS_LEVELS_MOST];
    gpu_buffer *scratch; /* dL/dI of a part that is not the first of its level */
    gpu_buffer *mean;    /* the mean of both halves of a level, which nobody needs */
    gpu_buffer *values;  /* of the parts */
    uint64_t bytes;
};

/* ---- what is asked for ---- */

static double level_weight(const bl_loss_term *t, uint32_t k)
{
    return t->level_weights ? t->level_weights[k] : 1.0 / fit_term_levels(t);
}

uint32_t fit_term_levels(const bl_loss_term *term) { return term->levels ? term->levels : 1; }

uint32_t fit_composite_levels(const bl_composite_loss *loss)
{
    uint32_t most = 1;
    for (uint32_t t = 0; t < loss->term_count; t++) {
        uint32_t levels = fit_term_levels(&loss->terms[t]);
        most = levels > most ? levels : most;
    }
    return most;
}

const char *fit_composite_biased(const bl_composite_loss *loss)
{
    for (uint32_t t = 0; t < loss->term_count; t++)
        if (!fit_loss_info(loss->terms[t].loss).unbiased)
            return fit_loss_info(loss->terms[t].loss).name;
    return NULL;
}

static void add_parts(fit_composite *c, const bl_loss_term *given, uint32_t term)
{
    for (uint32_t k = 0; k < fit_term_levels(given); k++) {
        double weight = level_weight(given, k) * (given->weight > 0 ? given->weight : 1);
        if (weight > 0)
            c->parts[c->part_count++] = (part){
                .loss = given->loss, .constant = given->constant, .weight = weight, .level = k, .term = term};
    }
}

/* ---- buffers ---- */

static bl_result make(fit_composite *c, gpu_device *device, uint64_t words, const char *label,
                      gpu_buffer **out, bl_error *err)
{
    TRY(gpu_buffer_create(device, GPU_DEVICE, 4 * words, label, out, err));
    c->bytes += gpu_buffer_size(*out);
    return BL_OK;
}

static bl_result make_level(fit_composite *c, gpu_device *device, uint32_t k, bl_error *err)
{
    level *l = &c->levels[k];
    const level *finer = &c->levels[k - 1];
    const uint64_t images = c->images;
    l->width = (finer->width + 1) / 2, l->height = (finer->height + 1) / 2;
    l->values = c->channels * l->width * l->height;
    l->share = finer->share * (finer->width % 2 ? 1 : 0.5) * (finer->height % 2 ? 1 : 0.5);
    TRY(make(c, device, images * l->values, "level of images", &l->images, err));
    TRY(make(c, device, (c->weighted ? 2ull : 1ull) * l->values, "level of targets", &l->target, err));
    return make(c, device, images * l->values, "level of adjoints", &l->adjoint, err);
}

static bl_result make_buffers(fit_composite *c, gpu_device *device, bl_error *err)
{
    const uint64_t all = (uint64_t)c->images * c->levels[0].values;
    for (uint32_t k = 1; k < c->level_count; k++)
        TRY(make_level(c, device, k, err));
    if (c->images == 2 && c->level_count > 1) {
        TRY(make(c, device, all, "images of halves", &c->levels[0].images, err));
        TRY(make(c, device, c->levels[1].values, "mean of halves", &c->mean, err));
    }
    for (uint32_t k = 0; k < c->part_count; k++)
        TRY(make(c, device, fit_loss_partials(c->levels[c->parts[k].level].values), "partial sums of a term",
                 &c->parts[k].partials, err));
    TRY(make(c, device, all, "adjoint of a term", &c->scratch, err));
    return make(c, device, c->part_count, "values of terms", &c->values, err);
}

bl_result fit_composite_create(gpu_device *device, const fit_composite_desc *desc, fit_composite **out,
                               bl_error *err)
{
    fit_composite *c = *out = memory_zeroed(1, sizeof *c);
    if (!c)
        return error_set(err, BL_ERROR_MEMORY, "out of memory for the terms of a loss");
    c->channels = desc->channels, c->weighted = desc->weighted, c->images = desc->halves ? 2 : 1;
    c->term_count = desc->loss->term_count, c->level_count = fit_composite_levels(desc->loss);
    c->levels[0] = (level){.width = desc->width,
                           .height = desc->height,
                           .values = desc->channels * desc->width * desc->height,
                           .share = 1};
    for (uint32_t t = 0; t < c->term_count; t++)
        add_parts(c, &desc->loss->terms[t], t);
    return make_buffers(c, device, err);
}

void fit_composite_destroy(fit_composite *c)
{
    if (!c)
        return;
    for (uint32_t k = 0; k < c->level_count; k++) {
        gpu_buffer_destroy(c->levels[k].images);
        gpu_buffer_destroy(c->levels[k].target);
        gpu_buffer_destroy(c->levels[k].adjoint);
    }
    for (uint32_t k = 0; k < c->part_count; k++)
        gpu_buffer_destroy(c->parts[k].partials);
    gpu_buffer_destroy(c->scratch);
    gpu_buffer_destroy(c->mean);
    gpu_buffer_destroy(c->values);
    memory_free(c);
}

bool fit_composite_whole(const fit_composite *c) { return c->level_count > 1; }
uint64_t fit_composite_bytes(const fit_composite *c) { return c->bytes; }

/* A cell's mean is no brighter than the brightest value, and, where no value is negative, no darker than the
 * darkest. A pixel's share in a cell is its weight over the sum of them; the cell weighs their mean; so the
 * weights of pixels cancel but for the pixel's own. */
double fit_composite_steepest(const fit_composite *c, const fit_goal *goal)
{
    double sum = 0;
    for (uint32_t k = 0; k < c->part_count; k++) {
        const level *l = &c->levels[c->parts[k].level];
        fit_goal own = *goal;
        own.averaged = c->parts[k].level > 0;
        double slope = fit_loss_steepest(c->parts[k].loss, c->parts[k].constant, &own);
        sum += c->parts[k].weight * slope * l->share * c->levels[0].values / l->values;
    }
    return sum;
}

/* ---- recording ---- */

/* What a comparison reads and writes at a level. */
typedef struct place {
    gpu_buffer *images, *target, *adjoint;
} place;

static place at_level(const fit_composite *c, const fit_composite_use *use, uint32_t k)
{
    const level *l = &c->levels[k];
    return (place){.images = l->images ? l->images : use->image,
                   .target = k ? l->target : use->target,
                   .adjoint = k ? l->adjoint : use->adjoint};
}

static void record_coarser(gpu_batch *batch, fit_kernels *kernels, const fit_composite *c, uint32_t k,
                           gpu_buffer *const buffers[3], uint32_t from, uint32_t to, bool weighted)
{
    const level *finer = &c->levels[k - 1], *coarser = &c->levels[k];
    uint32_t push[] = {
        coarser->values, finer->width, finer->height, c->channels, from, to, weighted ? finer->values : 0};
    fit_dispatch(batch, kernels, FIT_COARSER, buffers, push, coarser->values);
}

/* Level k of images, target and its weights, from the finer one. */
static void record_level(gpu_batch *batch, fit_kernels *kernels, const fit_composite *c,
                         const fit_composite_use *use, uint32_t k)
{
    const place finer = at_level(c, use, k - 1), coarser = at_level(c, use, k);
    const uint32_t from = c->levels[k - 1].values, to = c->levels[k].values;
    for (uint32_t i = 0; i < c->images; i++)
        record_coarser(batch, kernels, c, k, (gpu_buffer *[]){finer.images, finer.target, coarser.images},
                       i * from, i * to, c->weighted);
    record_coarser(batch, kernels, c, k, (gpu_buffer *[]){finer.target, finer.target, coarser.target}, 0, 0,
                   c->weighted);
    if (c->weighted) /* the plain mean of the weights */
        record_coarser(batch, kernels, c, k, (gpu_buffer *[]){finer.target, finer.target, coarser.target},
                       from, to, false);
}

static void record_adjoint(gpu_batch *batch, fit_kernels *kernels, const fit_composite *c,
                           const fit_composite_use *use, uint32_t k)
{
    const place finer = at_level(c, use, k - 1), coarser = at_level(c, use, k);
    const level *l = &c->levels[k - 1];
    for (uint32_t i = 0; i < c->images; i++) {
        gpu_buffer *buffers[] = {coarser.adjoint, finer.target, finer.adjoint};
        uint32_t push[] = {l->values,
                           l->width,
                           l->height,
                           c->channels,
                           i * c->levels[k].values,
                           i * l->values,
                           c->weighted ? l->values : 0};
        fit_dispatch(batch, kernels, FIT_COARSER_ADJOINT, buffers, push, l->values);
    }
}

/* One part, whose dL/dI goes to `adjoint`. */
static void record_part(gpu_batch *batch, fit_kernels *kernels, const fit_composite *c,
                        const fit_composite_use *use, uint32_t k, gpu_buffer *adjoint)
{
    const part *p = &c->parts[k];
    const level *l = &c->levels[p->level];
    const place at = at_level(c, use, p->level);
    const double weight = p->weight * (use->weight > 0 ? use->weight : 1);
    if (c->images == 1) {
        fit_record_loss(batch, kernels,
                        &(fit_loss){.loss = p->loss,
                                    .constant = p->constant,
                                    .weight = weight,
                                    .weighted = c->weighted,
                                    .image = at.images,
                                    .target = at.target,
                                    .adjoint = adjoint,
                                    .partials = p->partials,
                                    .results = c->values,
                                    .n = l->values,
                                    .slot = k});
        return;
    }
    const bool film = c->level_count == 1;
    fit_record_loss_halves(batch, kernels,
                           &(fit_loss_halves){.loss = p->loss,
                                              .constant = p->constant,
                                              .weight = weight,
                                              .weighted = c->weighted,
                                              .film = film ? use->film : at.images,
                                              .target = at.target,
                                              .image = p->level ? c->mean : use->image,
                                              .adjoint = adjoint,
                                              .partials = p->partials,
                                              .pixels = l->width * l->height,
                                              .channels = c->channels,
                                              .strips = film ? use->strips : 2,
                                              .spp = film ? use->spp : 2,
                                              .first_pixel = film ? use->first_pixel : 0,
                                              .pixel_count = film ? use->pixel_count : l->width * l->height});
}

/* The parts of a level, and their sum in its dL/dI. */
static void record_parts(gpu_batch *batch, fit_kernels *kernels, const fit_composite *c,
                         const fit_composite_use *use, uint32_t k)
{
    const place at = at_level(c, use, k);
    const uint32_t count = c->images * c->levels[k].values;
    bool first = true;
    for (uint32_t i = 0; i < c->part_count; i++) {
        if (c->parts[i].level != k)
            continue;
        record_part(batch, kernels, c, use, i, first ? at.adjoint : c->scratch);
        if (!first)
            fit_dispatch(batch, kernels, FIT_ADD, (gpu_buffer *[]){c->scratch, at.adjoint},
                         (uint32_t[]){count}, count);
        first = false;
    }
    if (first)
        gpu_batch_fill(batch, at.adjoint, 0, 4ull * count, 0);
}

/* Even and odd strips of the film as two images: the film is one of twice as many pixels, and half as many
 * strips. */
static void record_two_images(gpu_batch *batch, fit_kernels *kernels, const fit_composite *c,
                              const fit_composite_use *use)
{
    fit_record_resolve(batch, kernels,
                       &(fit_resolve){.film = use->film,
                                      .image = c->levels[0].images,
                                      .pixels = 2 * c->levels[0].width * c->levels[0].height,
                                      .strips = use->strips / 2,
                                      .channels = c->channels,
                                      .scale = (float)(2.0 / use->spp)});
}

void fit_record_composite(gpu_batch *batch, fit_kernels *kernels, const fit_composite *c,
                          const fit_composite_use *use)
{
    const bool pyramid = c->level_count > 1;
    BL_ASSERT(c->images == 1 || !pyramid || use->pixel_count == c->levels[0].width * c->levels[0].height,
              "a tile of %u pixels of a pyramid", use->pixel_count);
    if (c->images == 2 && pyramid)
        record_two_images(batch, kernels, c, use);
    for (uint32_t k = 1; k < c->level_count; k++)
        record_level(batch, kernels, c, use, k);
    for (uint32_t k = c->level_count; k-- > 0;) {
        record_parts(batch, kernels, c, use, k);
        if (k + 1 < c->level_count)
            record_adjoint(batch, kernels, c, use, k + 1);
    }
    if (c->images == 2 && !use->last)
        return;
    for (uint32_t k = 0; k < c->part_count && c->images == 2; k++)
        fit_record_loss_sum(batch, kernels, c->parts[k].partials, c->values,
                            c->levels[c->parts[k].level].values, k);
    uint32_t push[] = {0, c->part_count, 1, 0};
    fit_dispatch(batch, kernels, FIT_REDUCE_SUM, (gpu_buffer *[]){c->values, use->results}, push, 1);
}

bl_result fit_composite_add_values(const fit_composite *c, double *terms, bl_error *err)
{
    float values[PARTS_MOST];
    TRY(gpu_buffer_read(c->values, 0, values, 4ull * c->part_count, err));
    for (uint32_t k = 0; k < c->part_count; k++)
        terms[c->parts[k].term] += (double)values[k];
    return BL_OK;
}
