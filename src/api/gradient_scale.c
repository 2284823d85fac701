/* SPDX-License-Identifier: BSD-3-Clause
 * The fixed-point scale of each element of a gradient, from what its contributions may be
 * (docs/architecture.md, Accumulation). */
#include "api/gradient_scale.h"
#include "fit/fit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bits below a typical contribution that are kept; double precision keeps more, and
 * has less room for sums; those that overflow are taken again, coarser. */
enum { BITS_KEPT = 24, BITS_KEPT_DOUBLE = 44 };

static int bits_kept(const bl_job *job) { return job->plan->doubles ? BITS_KEPT_DOUBLE : BITS_KEPT; }

/* A power of two. A contribution of one sample is about dL/dI / spp times the derivative of radiance: for
 * what emits, 1 times a power of the scene's radius; for everything else about the light's brightness. 24
 * bits below that are kept (more in double precision); up to 2^28 times that fits into one contribution and
 * 2^38 such contributions into the sum (opt/fixed_point.c, which has one scale for all elements of a
 * parameter). */
static int power_for(double contribution, int bits, uint32_t coarser)
{
    int exponent = 0;
    frexp(contribution > 0 ? contribution : 1, &exponent);
    return bits - exponent - 8 * (int)coarser;
}

static float scale_for(double contribution, int bits, uint32_t coarser)
{
    int power = power_for(contribution, bits, coarser);
    return ldexpf(1, power > 120 ? 120 : power < -120 ? -120 : power);
}

/* Roughly the radiance of a light over the emission parameter that gives it. */
static double emission_factor(const bl_job *job, const render_parameter *p)
{
    double length = pow(job->scene->radius > 0 ? (double)job->scene->radius : 1, p->length_power);
    double factor = p->factor == PLAN_NONE
                        ? 1
                        : fabs((double)job->host_values[job->scene->parameters.data[p->factor].offset]);
    return factor > 0 ? length * factor : length;
}

/* Of a colour its largest channel. Of an image the mean, which is about what a sample brings where texels are
 * sampled by brightness; what is brighter has 28 bits of room. */
static double magnitude(const bl_job *job, const render_parameter *p)
{
    const float *values = job->host_values + p->offset;
    double most = 0, sum = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        sum += fabs((double)values[i]);
        most = fmax(most, fabs((double)values[i]));
    }
    return p->rank > 1 ? sum / p->count : most;
}

/* How bright a shape that emits makes others, over how bright it is itself: about its area over the square of
 * the scene's radius. The sensor and mirrors see the light itself; LEAST keeps room for that (power_for). */
static double share_of_light(const render_scene *s, const render_parameter *p)
{
    static const double LEAST = 0x1p-20;
    const double radius = (double)s->radius;
    return p->emitting_area > 0 && radius > 0
               ? fmin(1, fmax(LEAST, (double)p->emitting_area / (radius * radius)))
               : 1;
}

/* Roughly the largest radiance that a light of the scene gives to others; 1 where all lights are dark. */
static double brightness(const bl_job *job)
{
    double most = 0;
    for (uint32_t k = 0; k < job->scene->parameters.count; k++) {
        const render_parameter *p = &job->scene->parameters.data[k];
        if (p->emits)
            most = fmax(most, magnitude(job, p) * emission_factor(job, p) * share_of_light(job->scene, p));
    }
    return most > 0 && isfinite(most) ? most : 1;
}

float job_radiance_scale(const bl_job *job) { return scale_for(brightness(job), bits_kept(job), 0); }

static uint32_t requested_elements(const bl_job *job)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < job->requested_count; k++)
        n += job->scene->parameters.data[job->requested[k]].count;
    return n;
}

bl_result job_set_scale(bl_job *job, double largest_adjoint, uint32_t spp, uint32_t coarser, bl_error *err)
{
    BL_ASSERT(largest_adjoint >= 0 && spp > 0, "|dL/dI| of %g, %u samples", largest_adjoint, spp);
    uint32_t n = job->plan->gradient_count;
    if (n == 0 || !job->fixed_point)
        return BL_OK;
    TRY(memory_check(n * sizeof(float), err));
    float *scales = memory_need(n * sizeof *scales);
    double contribution = largest_adjoint / spp, light = brightness(job);
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        uint32_t first = job->plan->gradient_offset[job->requested[k]];
        for (uint32_t i = 0; i < p->count; i++)
            scales[first + i] = scale_for(contribution * (p->emits ? emission_factor(job, p) : light),
                                          bits_kept(job), coarser);
    }
    for (uint32_t i = requested_elements(job); i < n; i++) /* The rest are derived quantities. */
        scales[i] = scale_for(contribution * light, bits_kept(job), coarser);
    bl_result r = gpu_buffer_write(job->scale, 0, scales, n * sizeof *scales, err);
    memory_free(scales);
    return r;
}

/* What the device looks at for the largest |dL/dI|, and how that follows from the largest magnitude there. */
typedef struct scale_source {
    gpu_buffer *values;
    fit_slope_bound bound;
    uint32_t over; /* the bound is divided by this */
} scale_source;

/* What a range of elements has besides the largest magnitude. */
typedef struct scale_rule {
    const scale_source *from;
    double factor;
    uint32_t spp, coarser;
    int bits;
} scale_rule;

static int power_of_rule(const void *user, double largest)
{
    const scale_rule *r = user;
    return power_for(r->from->bound.factor * largest / r->from->over / r->spp * r->factor, r->bits,
                     r->coarser);
}

static void record_range(bl_job *job, const scale_rule *rule, uint32_t first, uint32_t count)
{
    fit_record_scales(job->batch, job->device->fixed, job->partials, job_values(job),
                      &(fit_scale_range){.scale = job->scale,
                                         .first = first,
                                         .count = count,
                                         .least = rule->from->bound.least,
                                         .most = rule->from->bound.most,
                                         .epsilon = rule->from->bound.epsilon,
                                         .power = power_of_rule,
                                         .user = rule});
}

static scale_source source_of(const bl_job *job, const job_loss *loss)
{
    scale_source s = {job->adjoint, {1, 0, FLT_MAX, 0}, 1};
    if (!loss)
        return s;
    s.bound = fit_loss_bound(loss->kind, loss->constant);
    s.values = loss->target;
    s.over = job_values(job);
    return s;
}

void job_record_scale(bl_job *job, const job_loss *loss, uint32_t spp, uint32_t coarser)
{
    uint32_t n = job->plan->gradient_count, own = requested_elements(job);
    BL_ASSERT(spp > 0, "no samples");
    if (n == 0 || !job->fixed_point)
        return;
    const scale_source from = source_of(job, loss);
    fit_record_largest(job->batch, job->device->fixed, from.values, job_values(job), from.bound.epsilon > 0,
                       job->partials);
    double light = brightness(job);
    for (uint32_t k = 0; k < job->requested_count; k++) {
        const render_parameter *p = &job->scene->parameters.data[job->requested[k]];
        scale_rule rule = {&from, p->emits ? emission_factor(job, p) : light, spp, coarser, bits_kept(job)};
        record_range(job, &rule, job->plan->gradient_offset[job->requested[k]], p->count);
    }
    record_range(job, &(scale_rule){&from, light, spp, coarser, bits_kept(job)}, own, n - own);
}

static float splat_scale(const bl_job *job, uint32_t spp, uint32_t coarser)
{
    BL_ASSERT(job->splat_scale && spp > 0, "a job without splats, or %u samples", spp);
    return scale_for(brightness(job) / spp, bits_kept(job), coarser);
}

void job_record_splat_scale(bl_job *job, uint32_t spp, uint32_t coarser)
{
    float scale = splat_scale(job, spp, coarser);
    uint32_t word;
    memcpy(&word, &scale, sizeof word);
    gpu_batch_fill(job->batch, job->splat_scale, 0, gpu_buffer_size(job->splat_scale), word);
}

bl_result job_set_splat_scale(bl_job *job, uint32_t spp, uint32_t coarser, bl_error *err)
{
    return job_set_splat_size(job, brightness(job) / spp, coarser, err);
}

bl_result job_set_splat_size(bl_job *job, double contribution, uint32_t coarser, bl_error *err)
{
    uint32_t n = job_values(job);
    TRY(memory_check(n * sizeof(float), err));
    float *scales = memory_need(n * sizeof *scales), scale = scale_for(contribution, bits_kept(job), coarser);
    for (uint32_t i = 0; i < n; i++)
        scales[i] = scale;
    bl_result r = gpu_buffer_write(job->splat_scale, 0, scales, n * sizeof *scales, err);
    memory_free(scales);
    return r;
}
