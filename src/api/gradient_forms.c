/* SPDX-License-Identifier: BSD-3-Clause
 * The forms of a gradient pass that keep samples between two kernels: separate kernels, two walks
 * (docs/theory/two_walks.md), and one image. All go tile by tile: the replay kernel walks the samples of a
 * tile, then the adjoint kernel walks them again. With two walks, the images of the two halves of the tile's
 * samples give dL/dI between the two kernels; with one image, that of all of the tile's samples does. So no
 * walk for an image comes before. The loss of a pixel depends on that pixel alone, so tiles of whole pixels
 * change only the memory that is needed. Of a loss with levels (fit_composite_whole) a tile is the whole
 * film.
 *
 * With two walks, the image may have samples of its own besides: half of their sum is in the film of each
 * half before the first walk adds to it (job_pass.c).
 *
 * One image is biased. Where sample k of n of a pixel has the radiance X_k and the derivative D_k, and I is
 * the mean of the X_k, the form's expectation is that of l'(I) D_k. For the loss (I - T)^2 it is the gradient
 * at the expected image, plus 2 cov(X, D) / n: the slope of the variance of the image, which is what the loss
 * of a noisy image has besides that of the expected one. It is the gradient of the expected loss of the
 * images that are rendered. Where samples have no noise, both are the same. */
#include "api/gradient_forms.h"
#include "api/job_buffers.h"
#include "api/job_results.h"
#include "api/kernel_code.h"

enum {
    SLOTS_MOST_CPU = 1 << 18, /* most samples of a tile; they need 9 .. */
    SLOTS_MOST_GPU = 1 << 22, /* .. and 144 MiB */
    STRIP_SAMPLES = 64,       /* of a tile of whole pixels */
    LANES_MOST = 1 << 22
};

bool bl_gradient_form_finds_loss(bl_gradient_form form)
{
    return form == BL_FORM_TWO_WALK || form == BL_FORM_ONE_IMAGE;
}

const char *bl_gradient_form_name(bl_gradient_form form)
{
    static const char *const names[BL_FORM_COUNT] = {"auto", "fused", "separate", "two-walk", "one-image"};
    return (unsigned)form < BL_FORM_COUNT ? names[form] : NULL;
}

/* ---- tiles ---- */

static bool on_processor(const bl_job *job)
{
    return gpu_is_processor(gpu_device_info(job->device->gpu)->kind);
}

static uint32_t slots_most(const bl_job *job)
{
    uint32_t most = on_processor(job) ? SLOTS_MOST_CPU : SLOTS_MOST_GPU;
    return most / (plan_sample_words(job->plan) / sample_planes_of(job->scene->mode->channels).words);
}

/* A tile of separate kernels: whole lanes, or a part of the samples of some lanes. */
static job_range separate_tile(const bl_job *job, job_range all, uint32_t lane, uint32_t sample)
{
    uint32_t most = slots_most(job), lanes = most / all.last_sample / LOCAL_SIZE * LOCAL_SIZE,
             left = all.lane_count - lane, least = job_lanes_least(job->device);
    if (lanes >= least || lanes >= left)
        return (job_range){lane, lanes < left ? lanes : left, 0, all.last_sample};
    lanes = most / SAMPLES_SUMMED < least ? most / SAMPLES_SUMMED : least;
    lanes = left < lanes ? left : lanes;
    uint32_t samples = most / lanes / SAMPLES_SUMMED * SAMPLES_SUMMED, rest = all.last_sample - sample;
    return (job_range){lane, lanes, sample, sample + (samples < rest ? samples : rest)};
}

/* A tile of two walks or one image: as many whole pixels as fit, but at least as many as a loss needs; whole:
 * that is all of them. */
static job_range pixel_tile(const bl_job *job, job_range all, uint32_t strips, bool whole, uint32_t lane)
{
    if (whole)
        return all;
    uint64_t step = (uint64_t)FIT_TILE_PIXELS * strips, steps = slots_most(job) / all.last_sample / step;
    uint64_t lanes = step * (steps > 1 ? steps : 1), left = all.lane_count - lane;
    return (job_range){lane, (uint32_t)(lanes < left ? lanes : left), 0, all.last_sample};
}

/* Whether the loss of a pixel depends on others. */
static bool whole_images(const job_work_desc *w)
{
    return w->loss && w->loss->composite && fit_composite_whole(w->loss->composite);
}

static job_range tile_at(const bl_job *job, const job_work_desc *w, job_range all, uint32_t lane,
                         uint32_t sample)
{
    return bl_gradient_form_finds_loss(w->form) ? pixel_tile(job, all, w->strips, whole_images(w), lane)
                                                : separate_tile(job, all, lane, sample);
}

/* The number of samples of the largest tile. With separate kernels that need not be the first tile: the last
 * one takes all lanes that are left, which may be some more. */
static uint64_t slots_needed(const bl_job *job, const job_work_desc *w, job_range all)
{
    if (bl_gradient_form_finds_loss(w->form))
        return job_range_paths(pixel_tile(job, all, w->strips, whole_images(w), 0));
    uint64_t most = slots_most(job), paths = (uint64_t)all.lane_count * all.last_sample;
    return paths < most ? paths : most;
}

/* ---- the choice ---- */

/* A tile of whole pixels holds all of their samples, so the more of them a lane walks, the fewer lanes it
 * has. Strips of few samples keep their number; a film of many pixels has fewer, because each lane has a
 * place in the film. */
static uint32_t pixel_strips(uint32_t pixels, uint32_t spp)
{
    uint32_t wanted = (spp + STRIP_SAMPLES - 1) / STRIP_SAMPLES, most = LANES_MOST / pixels;
    return wanted < most ? wanted : most;
}

uint32_t gradient_form_strips(const bl_job *job, bl_gradient_form form, uint32_t spp)
{
    BL_ASSERT(form != BL_FORM_AUTO, "the form is not chosen yet");
    uint32_t pixels = job_pixels(job), strips = job_strips(pixels, spp), least = pixel_strips(pixels, spp);
    if (bl_gradient_form_finds_loss(form) && strips < least)
        strips = least;
    return form == BL_FORM_TWO_WALK ? strips < 2 ? 2 : strips / 2 * 2 : strips;
}

uint32_t gradient_form_spp(const gradient_wish *wish, bl_gradient_form form)
{
    return form == BL_FORM_TWO_WALK ? wish->spp_halves : wish->spp_gradient;
}

uint32_t gradient_form_shared(const bl_job *job, const gradient_wish *wish, bl_gradient_form form)
{
    /* As asked for: for two halves a sampler may take another number, which asks for nothing. */
    bool more = wish->spp > wish->spp_gradient;
    return form == BL_FORM_TWO_WALK && more && wish->spp > wish->spp_halves
               ? job_spp(job, wish->spp - wish->spp_halves)
               : 0;
}

/* The reason why the samples of image and gradient cannot be the same ones, or NULL if they can. */
static const char *shared_obstacle(const bl_job *job, const gradient_wish *wish, bl_gradient_form form)
{
    if (!wish->target)
        return "dL/dI of the caller would have to come from an image of the same samples";
    if (job->desc.pixels == BL_PIXELS_ADJOINT)
        return "its samples are those of the image, as many in every pixel, before there is a dL/dI to go by";
    if (wish->form == BL_FORM_TWO_WALK && wish->spp < wish->spp_gradient)
        return "the gradient's samples make the image, too, which cannot have fewer";
    if (wish->form != BL_FORM_TWO_WALK && wish->spp != wish->spp_gradient)
        return "the samples are those of the image and of the gradient at once, so their numbers must be "
               "equal";
    uint32_t spp = gradient_form_spp(wish, form);
    job_work_desc w = {.spp = spp, .strips = gradient_form_strips(job, form, spp)};
    job_range all = job_everything(&w, job_pixels(job));
    bool whole = wish->composite && fit_composite_levels(wish->composite) > 1;
    uint64_t paths = (uint64_t)pixel_tile(job, all, w.strips, whole, 0).lane_count * all.last_sample;
    if (whole && wish->form == BL_FORM_AUTO && paths > slots_most(job))
        return "a loss with levels needs the samples of the whole image at once, which are too many";
    const uint64_t words = plan_sample_words(job->plan) * paths;
    if ((job->plan->doubles ? 8 : 4) * words > gpu_device_info(job->device->gpu)->max_buffer_range ||
        paths > UINT32_MAX)
        return "so many samples of a tile of pixels do not fit into a buffer";
    return NULL;
}

/* The name of the loss, or of a term of it, that is not affine; NULL: all are. */
static const char *biased_loss(const gradient_wish *wish)
{
    const bl_loss_info info = fit_loss_info(wish->loss);
    return wish->composite ? fit_composite_biased(wish->composite) : info.unbiased ? NULL : info.name;
}

/* The reason why two walks are not possible, or NULL if they are. */
static const char *two_walk_obstacle(const bl_job *job, const gradient_wish *wish)
{
    if (biased_loss(wish))
        return "its slope is not affine in the image, so noise would bias the gradient twice as much";
    if (wish->spp_halves % 2)
        return "two halves need an even number of samples";
    if (wish->form == BL_FORM_AUTO && wish->spp_halves > wish->spp_gradient)
        return "the scene's sampler needs more samples than are wanted to spread those of each half";
    return shared_obstacle(job, wish, BL_FORM_TWO_WALK);
}

/* The automatic choice prefers two walks, since they cost less than three. Else it prefers separate kernels,
 * which were faster than the fused one in all measured cases (docs/decisions/gradient-forms.md). */
bl_result gradient_form_choose(const bl_job *job, const gradient_wish *wish, bl_gradient_form *out,
                               bl_error *err)
{
    if ((unsigned)wish->form >= BL_FORM_COUNT)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no gradient form %d", (int)wish->form);
    bool only_fused = job->scene->light_tracing || job->scene->method != METHOD_REPLAY;
    if (only_fused && wish->form != BL_FORM_AUTO && wish->form != BL_FORM_FUSED)
        return error_set(err, BL_ERROR_ARGUMENT, "the gradient of %s has one form, the fused one",
                         render_method_name(job->scene));
    if (only_fused) {
        *out = BL_FORM_FUSED;
        return BL_OK;
    }
    const char *obstacle = wish->form == BL_FORM_ONE_IMAGE ? shared_obstacle(job, wish, wish->form)
                                                           : two_walk_obstacle(job, wish);
    if (wish->form == BL_FORM_TWO_WALK && biased_loss(wish))
        return error_set(err, BL_ERROR_ARGUMENT, "no gradient in two walks of the loss %s: %s",
                         biased_loss(wish), obstacle);
    if (bl_gradient_form_finds_loss(wish->form) && obstacle)
        return error_set(err, BL_ERROR_ARGUMENT, "no gradient in %s: %s",
                         wish->form == BL_FORM_ONE_IMAGE ? "one image" : "two walks", obstacle);
    *out = wish->form != BL_FORM_AUTO ? wish->form : obstacle ? BL_FORM_SEPARATE : BL_FORM_TWO_WALK;
    return BL_OK;
}

/* ---- the pass ---- */

/* Appends the images of the two halves of a tile's samples, their losses and dL/dI. */
static void record_halves(bl_job *job, const job_work_desc *w, job_range tile, bool last)
{
    BL_ASSERT(tile.first_lane % w->strips == 0 && tile.lane_count % w->strips == 0,
              "a tile of %u lanes at %u is not one of whole pixels of %u strips", tile.lane_count,
              tile.first_lane, w->strips);
    uint32_t pixels = job_pixels(job);
    if (w->loss->composite) {
        fit_record_composite(job->batch, job->device->fixed, w->loss->composite,
                             &(fit_composite_use){.weight = w->loss->weight,
                                                  .image = job->image,
                                                  .target = w->loss->target,
                                                  .adjoint = job->adjoint,
                                                  .results = job->results,
                                                  .film = job->film,
                                                  .strips = w->strips,
                                                  .spp = w->spp + w->shared,
                                                  .first_pixel = tile.first_lane / w->strips,
                                                  .pixel_count = tile.lane_count / w->strips,
                                                  .last = last});
        return;
    }
    fit_record_loss_halves(job->batch, job->device->fixed,
                           &(fit_loss_halves){.loss = w->loss->kind,
                                              .constant = w->loss->constant,
                                              .weight = w->loss->weight,
                                              .weighted = w->loss->weighted,
                                              .film = job->film,
                                              .target = w->loss->target,
                                              .image = job->image,
                                              .adjoint = job->adjoint,
                                              .partials = job->partials,
                                              .pixels = pixels,
                                              .channels = film_channels(job->scene),
                                              .strips = w->strips,
                                              .spp = w->spp + w->shared,
                                              .first_pixel = tile.first_lane / w->strips,
                                              .pixel_count = tile.lane_count / w->strips});
    if (last)
        fit_record_loss_sum(job->batch, job->device->fixed, job->partials, job->results, job_values(job), 0);
}

/* Appends the image of the tile's samples, loss and dL/dI. It does so for all pixels, which is cheap beside
 * a walk: those of tiles to come are black, and are computed again, and those of tiles before stay. */
static void record_image(bl_job *job, const job_work_desc *w)
{
    job_record_resolve(job, w->spp, w->strips);
    job_record_loss(job, w->loss);
}

void gradient_form_record_loss(bl_job *job, const job_work_desc *w, job_range tile, bool last)
{
    if (w->form == BL_FORM_TWO_WALK)
        record_halves(job, w, tile, last);
    else if (w->form == BL_FORM_ONE_IMAGE)
        record_image(job, w);
}

static bl_result compare(bl_job *job, const job_work_desc *w, job_range tile, bool last, bl_stats *stats,
                         bl_error *err)
{
    double seconds;
    TRY(gpu_batch_begin(job->batch, err));
    gradient_form_record_loss(job, w, tile, last);
    return job_submit(job, stats, &seconds, err);
}

static bl_result run_tile(bl_job *job, const job_work_desc *w, job_range tile, bool last, bl_stats *stats,
                          bl_error *err)
{
    double middle = 0.5 * (w->progress_from + w->progress_to);
    job_work_desc half = *w;
    half.progress_to = middle;
    TRY(job_run_part(job, &half, RENDER_REPLAY, tile, stats, err));
    if (bl_gradient_form_finds_loss(w->form) && !w->compared)
        TRY(compare(job, w, tile, last, stats, err));
    half.progress_from = middle, half.progress_to = w->progress_to;
    return job_run_part(job, &half, RENDER_ADJOINT, tile, stats, err);
}

bl_result gradient_form_reserve(bl_job *job, const job_work_desc *w, bl_error *err)
{
    uint64_t slots = slots_needed(job, w, job_everything(w, job_pixels(job)));
    TRY(job_reserve_samples(job, plan_sample_words(job->plan) * slots, err));
    return job_reserve_adjoints(job, w->form == BL_FORM_TWO_WALK ? 2 : 1, err);
}

bool gradient_form_reserved(const bl_job *job, const job_work_desc *w)
{
    uint64_t slots = slots_needed(job, w, job_everything(w, job_pixels(job))),
             images = w->form == BL_FORM_TWO_WALK ? 2 : 1;
    return gpu_buffer_size(job->samples) >= 4 * plan_sample_words(job->plan) * slots &&
           gpu_buffer_size(job->adjoint) >= 4ull * job_values(job) * images;
}

bool gradient_form_next(const bl_job *job, const job_work_desc *w, job_range *tile, bool *last)
{
    job_range all = job_everything(w, job_pixels(job));
    uint32_t lane = tile->first_lane, sample = tile->last_sample;
    if (sample == all.last_sample)
        lane += tile->lane_count, sample = 0;
    if (lane == all.lane_count)
        return false;
    *tile = tile_at(job, w, all, lane, sample);
    *last = tile->last_sample == all.last_sample && tile->first_lane + tile->lane_count == all.lane_count;
    return true;
}

bl_result gradient_form_run(bl_job *job, const job_work_desc *w, bl_stats *stats, bl_error *err)
{
    BL_ASSERT(w->form == BL_FORM_SEPARATE || bl_gradient_form_finds_loss(w->form), "form %d keeps no samples",
              (int)w->form);
    job_range all = job_everything(w, job_pixels(job));
    uint64_t slots = slots_needed(job, w, all);
    TRY(gradient_form_reserve(job, w, err));
    double range = (w->progress_to - w->progress_from) / ((double)all.lane_count * all.last_sample);
    job_work_desc part = *w;
    job_range tile = {0};
    bool last;
    while (gradient_form_next(job, w, &tile, &last)) {
        BL_ASSERT(job_range_paths(tile) <= slots, "a tile of %llu samples, room for %llu",
                  (unsigned long long)job_range_paths(tile), (unsigned long long)slots);
        part.progress_to = part.progress_from + range * job_range_paths(tile);
        TRY(run_tile(job, &part, tile, last, stats, err));
        part.progress_from = part.progress_to;
    }
    return BL_OK;
}
