/* SPDX-License-Identifier: BSD-3-Clause
 * Differences of images for check: of whole images or along frozen paths, weighted and summed, and the pixels
 * that change smoothly.
 *
 * A pixel changes smoothly within a step if its values at the two ends and in the middle lie on a line,
 * nearly: if the slopes of the two halves differ by little, and so do those of the step and of half a step. A
 * kink within the step bends the line by the jump of its slope, unless it lies near an end. There it does not
 * reach the difference with half of the step. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How much these slopes may differ, over the slope. */
static const double BEND_MOST = .1;

/* Of a sum, relative to its terms' root of squares: of images in float, or in double precision, of whose
 * sums 48 bits are kept. */
static double rounding_of(const check_work *w) { return w->doubles ? 1e-13 : 1e-6; }

const check_stencil check_stencils[3] = {{"central", {-1, 0, 1}, {-.5, 0, .5}},
                                         {"forward", {0, 1, 2}, {-1.5, 2, -.5}},
                                         {"backward", {0, -1, -2}, {1.5, -2, .5}}};

int check_place_of(const cli_session *session, uint32_t index, size_t *first)
{
    *first = 0;
    for (uint32_t i = 0; i < index; i++) {
        bl_parameter_info info;
        SESSION_TRY(session, bl_scene_parameter_info(session->scene, i, &info));
        *first += info.count;
    }
    return CLI_OK;
}

bool check_progress(void *work, double done)
{
    check_work *w = work;
    return progress_call(&w->bar, (w->renders_done + done) / w->renders);
}

/* ---- one image ---- */

static int render(check_work *w, const check_finding *f, check_step step, double offset)
{
    uint32_t count = f->parameter.info.count;
    size_t first = 0;
    int status = check_place_of(w->session, f->parameter.index, &first);
    double *moved = w->moved + first;
    float *rounded = w->all + first;
    for (uint32_t i = 0; i < count; i++) {
        moved[i] = (double)f->values[i] + offset * step.scale * f->epsilon * (double)f->direction[i];
        rounded[i] = (float)moved[i];
    }
    bl_render_desc desc = {.spp = w->spp,
                           .seed = step.seed,
                           .gradient_stream = step.frozen,
                           .doubles = w->doubles ? w->image : NULL,
                           .progress = check_progress,
                           .user = w};
    bl_result result = BL_OK;
    if (step.frozen && w->doubles)
        desc.frozen_doubles = w->moved;
    else if (step.frozen)
        desc.frozen = w->all;
    else
        result = bl_job_set_parameter(w->job, f->parameter.index, rounded);
    if (result == BL_OK && status == CLI_OK)
        result = bl_job_render(w->job, &desc, w->rounded, NULL);
    for (size_t i = 0; i < w->n && !w->doubles; i++)
        w->image[i] = (double)w->rounded[i];
    for (uint32_t i = 0; i < count; i++)
        rounded[i] = f->values[i], moved[i] = (double)f->values[i];
    if (result == BL_OK && !step.frozen)
        result = bl_job_set_parameter(w->job, f->parameter.index, f->values);
    w->renders_done++;
    return result == BL_OK ? status : session_fail(w->session, result);
}

/* ---- differences ---- */

uint32_t check_images(const check_stencil *s)
{
    uint32_t count = 0;
    for (int k = 0; k < CHECK_POINTS; k++)
        count += s->weight[k] != 0;
    return count;
}

int check_differentiate(check_work *w, const check_finding *f, check_step step, check_slopes *out)
{
    static const double second[CHECK_POINTS] = {1, -2, 1};
    const check_stencil *s = f->differences;
    double length = step.scale * f->epsilon;
    memset(out->slope, 0, w->n * sizeof *out->slope);
    memset(out->bend, 0, w->n * sizeof *out->bend);
    memset(out->squares, 0, w->n * sizeof *out->squares);
    for (int k = 0; k < CHECK_POINTS; k++) {
        if (s->weight[k] == 0 && !step.bends)
            continue;
        CLI_TRY(render(w, f, step, s->offset[k]));
        for (size_t i = 0; i < w->n; i++) {
            double term = s->weight[k] / length * w->image[i];
            out->slope[i] += term;
            out->squares[i] += term * term;
            out->bend[i] += second[k] / length * w->image[i];
        }
    }
    return CLI_OK;
}

check_difference check_weigh(const check_work *w, const check_slopes *s, const float *weights)
{
    check_difference d = {0};
    double squares = 0;
    for (size_t i = 0; i < w->n; i++) {
        double weight = (double)weights[i], term = weight * s->slope[i];
        d.value += term;
        d.size += fabs(term);
        squares += weight * weight * s->squares[i];
    }
    d.rounding = rounding_of(w) * sqrt(squares);
    return d;
}

check_difference check_extrapolate(const check_work *w, const float *weights)
{
    check_difference whole = check_weigh(w, &w->whole, weights), half = check_weigh(w, &w->half, weights);
    double squares = 0;
    for (size_t i = 0; i < w->n; i++) {
        double gap = (double)weights[i] * (w->whole.slope[i] - w->half.slope[i]);
        squares += gap * gap;
    }
    check_difference d = {
        .value = (4 * half.value - whole.value) / 3,
        .size = half.size,
        .rounding = half.rounding,
        .curvature = fabs(whole.value - half.value),
        .kinks = 3 * sqrt(squares),
    };
    /* A tenth of a percent, and the rounding of sums that cancel. In double precision a millionth; steps are
     * short there, and extrapolation leaves far less than a thousandth of what it takes away. */
    d.tolerance = w->doubles ? 1e-6 * fabs(d.value) + 1e-9 * d.size + 1e-3 * d.curvature
                             : 1e-3 * fabs(d.value) + 2e-5 * d.size + d.curvature;
    d.tolerance += 2 * d.rounding + 1e-30;
    return d;
}

void check_choose_smooth(const check_work *w, float *weights, check_share *count)
{
    for (size_t i = 0; i < w->n; i++) {
        double rounding = 4 * rounding_of(w) * sqrt(w->half.squares[i]), slope = fabs(w->half.slope[i]),
               bend = fabs(w->whole.bend[i]) + fabs(w->whole.slope[i] - w->half.slope[i]);
        bool changes = w->weights[i] != 0 && !(slope + bend <= rounding),
             smooth = bend <= BEND_MOST * slope + rounding; /* not where it is no number */
        weights[i] = smooth ? w->weights[i] : 0;
        count->changing += changes;
        count->smooth += changes && smooth;
    }
}
