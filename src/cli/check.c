/* SPDX-License-Identifier: BSD-3-Clause
 * backlight check: is the gradient right? For each parameter, along one direction d of its entries, three
 * numbers for the loss sum(W * I) with a smooth weight W that changes sign:
 *
 *   gradient   <dL/dp, d> by path replay
 *   frozen     differences with the paths of the unchanged scene: same directions, choices and densities,
 *              weights from p + h d.
 *              Edges do not move on them, so the gradient is taken without the edges' part (BL_EDGES_NONE).
 *              With the random numbers of the gradient pass it agrees seed by seed, up to rounding and the
 *              order of the
 *              difference. Where it does not, the gradient is wrong (estimators, not noise): exit status 1.
 *   plain      differences of the image, same seed on both sides. Agrees on average. Where only this one
 *              disagrees, the
 *              paths themselves depend on the parameter: something that is never sampled (support), or moving
 *              edges.
 *
 * Differences are central, or one-sided of second order where p +- h d would leave the parameter's range.
 * Frozen ones are taken at h and h/2 and extrapolated (Richardson); what the two steps differ by is part of
 * the tolerance. If they disagree, shorter steps are tried as well: where rays follow the parameter,
 * frozen paths cross kinks (of texels, of approximations) within a long step. If a shorter step agrees,
 * within less than the error found before, the report says that the step is too large. That does not prove
 * the gradient, so the exit status stays 1. If no step agrees in every seed, but the mean over at least eight
 * seeds does, the report says so and by how much: paths at total reflection have derivatives without bound,
 * which no step shows. */
#include "check.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const stencil stencils[] = {{"central", 2, {-1, 1}, {-.5, .5}},
                                   {"forward", 3, {0, 1, 2}, {-1.5, 2, -.5}},
                                   {"backward", 3, {0, -1, -2}, {1.5, -2, .5}}};

/* A difference of images, reduced with W. */
typedef struct difference {
    double value;    /* sum W dI */
    double size;     /* sum |W dI| */
    double rounding; /* expected error of value from images in float */
} difference;

/* ---- weight, direction, step ---- */

/* Cosines of periods near the film's size, with another phase per channel; divided by n, so that the loss is
 * like a mean. */
static void make_weights(const cli_session *session, float *weights)
{
    uint32_t width = session->info.width, height = session->info.height, channels = session->info.channels;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < channels; c++) {
                double u = (x + .5) / width, v = (y + .5) / height;
                double w =
                    cos(7.1 * u + 1.3 * c + .4) * cos(5.3 * v + .9 * c) + .6 * sin(11.7 * (u + v) + 2.1 * c);
                weights[((size_t)y * width + x) * channels + c] =
                    (float)(w / ((double)channels * width * height));
            }
}

static bool in_range(const check_finding *f, double offset)
{
    for (uint32_t i = 0; i < f->parameter.info.count; i++) {
        double v = (double)f->values[i] + offset * f->epsilon * (double)f->direction[i];
        if (f->direction[i] != 0 &&
            (v < (double)f->parameter.info.least || v > (double)f->parameter.info.most))
            return false;
    }
    return true;
}

static bool is_matrix(const bl_parameter_info *info)
{
    return info->rank == 2 && info->shape[0] == 4 && info->shape[1] == 4;
}

static int choose_step(const check_work *w, check_finding *f)
{
    double largest = 0, pull = 0;
    for (uint32_t i = 0; i < f->parameter.info.count; i++) {
        if (!is_matrix(&f->parameter.info) ||
            i % 4 < 3) /* how far away a thing is says nothing of how far it may turn */
            largest = fmax(largest, fabs((double)f->values[i]));
        pull = fmax(pull, fabs((double)f->direction[i]));
    }
    if (pull == 0)
        return fail("the direction is zero");
    f->epsilon = w->args->epsilon > 0 ? w->args->epsilon : 0.02 * (largest > 0 ? largest : 1) / pull;
    for (int k = 0; k < 3; k++) {
        f->differences = &stencils[k];
        bool inside = true;
        for (int i = 0; i < f->differences->count; i++)
            inside = inside && in_range(f, f->differences->offset[i]);
        if (inside)
            return CLI_OK;
    }
    return fail("%s cannot be moved by %g without leaving its range: use a smaller --epsilon",
                f->parameter.info.name, f->epsilon);
}

/* All ones; a matrix turns and moves, since many shapes and sensors take nothing else. */
static void default_direction(check_finding *f)
{
    static const float turn[3][3] = {{0, -.4f, .3f}, {.4f, 0, -.5f}, {-.3f, .5f, 0}},
                       move[3] = {.5f, -.3f, .4f};
    const bl_parameter_info *info = &f->parameter.info;
    for (uint32_t i = 0; i < info->count; i++)
        f->direction[i] = 1;
    if (!is_matrix(info))
        return;
    for (uint32_t row = 0; row < 4; row++)
        for (uint32_t column = 0; column < 4; column++) {
            float sum = row < 3 && column == 3 ? move[row] : 0;
            for (uint32_t k = 0; row < 3 && column < 3 && k < 3; k++)
                sum += turn[row][k] * f->values[4 * k + column];
            f->direction[4 * row + column] = sum;
        }
}

static int prepare_finding(const check_work *w, check_finding *f)
{
    uint32_t count = f->parameter.info.count;
    f->values = memory_or_exit(count * sizeof *f->values);
    SESSION_TRY(w->session, bl_scene_get_parameter(w->session->scene, f->parameter.index, f->values));
    if (w->args->direction) {
        CLI_TRY(load_npy(w->args->direction, count, &f->direction));
    } else {
        f->direction = memory_or_exit(count * sizeof *f->direction);
        default_direction(f);
    }
    f->gradient = memory_or_exit(w->seeds * sizeof *f->gradient);
    f->frozen = memory_or_exit(w->seeds * sizeof *f->frozen);
    f->inside = memory_or_exit(w->seeds * sizeof *f->inside);
    f->plain = memory_or_exit(w->seeds * sizeof *f->plain);
    return choose_step(w, f);
}

/* Position of a parameter in the concatenation of all. */
static int concatenated(const cli_session *session, uint32_t index, size_t *first)
{
    *first = 0;
    for (uint32_t i = 0; i < index; i++) {
        bl_parameter_info info;
        SESSION_TRY(session, bl_scene_parameter_info(session->scene, i, &info));
        *first += info.count;
    }
    return CLI_OK;
}

static int load_all_values(check_work *w)
{
    size_t total;
    uint32_t count = bl_scene_parameter_count(w->session->scene);
    CLI_TRY(concatenated(w->session, count, &total));
    w->all = memory_or_exit(total * sizeof *w->all);
    for (uint32_t i = 0; i < count; i++) {
        size_t first;
        CLI_TRY(concatenated(w->session, i, &first));
        SESSION_TRY(w->session, bl_scene_get_parameter(w->session->scene, i, w->all + first));
    }
    return CLI_OK;
}

/* ---- one image, one difference ---- */

typedef struct render_progress {
    const check_work *w;
    cli_progress bar;
} render_progress;

static bool on_progress(void *user, double done)
{
    render_progress *p = user;
    return progress_call(&p->bar, (p->w->renders_done + done) / p->w->renders);
}

static int render(check_work *w, check_finding *f, bool frozen, uint32_t seed, double offset,
                  render_progress *progress)
{
    uint32_t count = f->parameter.info.count;
    float *moved = memory_or_exit(count * sizeof *moved);
    for (uint32_t i = 0; i < count; i++)
        moved[i] = (float)((double)f->values[i] + offset * f->epsilon * (double)f->direction[i]);
    bl_render_desc desc = {
        .spp = w->spp, .seed = seed, .gradient_stream = frozen, .progress = on_progress, .user = progress};
    size_t first = 0;
    int status = concatenated(w->session, f->parameter.index, &first);
    bl_result result = BL_OK;
    if (frozen) {
        memcpy(w->all + first, moved, count * sizeof *moved);
        desc.frozen = w->all;
    } else {
        result = bl_job_set_parameter(w->job, f->parameter.index, moved);
    }
    if (result == BL_OK && status == CLI_OK)
        result = bl_job_render(w->job, &desc, w->image, NULL);
    memcpy(w->all + first, f->values, count * sizeof *moved);
    if (result == BL_OK && !frozen)
        result = bl_job_set_parameter(w->job, f->parameter.index, f->values);
    free(moved);
    w->renders_done++;
    return result == BL_OK ? status : session_fail(w->session, result);
}

/* How images for differences are made. The step is scale * epsilon. */
typedef struct difference_mode {
    bool frozen;
    uint32_t seed;
    double scale;
} difference_mode;

static int differentiate(check_work *w, check_finding *f, difference_mode mode, render_progress *progress,
                         difference *out)
{
    const stencil *s = f->differences;
    memset(w->slope, 0, w->n * sizeof *w->slope);
    double step = mode.scale * f->epsilon, squares = 0;
    for (int k = 0; k < s->count; k++) {
        CLI_TRY(render(w, f, mode.frozen, mode.seed, mode.scale * s->offset[k], progress));
        double factor = s->weight[k] / step;
        for (size_t i = 0; i < w->n; i++) {
            double value = (double)w->image[i], weighted = factor * (double)w->weights[i] * value;
            w->slope[i] += factor * value;
            squares += weighted * weighted;
        }
    }
    *out = (difference){.rounding = 1e-6 * sqrt(squares)};
    for (size_t i = 0; i < w->n; i++) {
        double term = (double)w->weights[i] * w->slope[i];
        out->value += term;
        out->size += fabs(term);
    }
    return CLI_OK;
}

/* ---- all seeds ---- */

/* The gradient with the edges that move, or without: as it is along frozen paths. */
static int gradient_seed(check_work *w, uint32_t s, render_progress *progress, bool edges)
{
    bl_gradient_desc desc = {
        .spp = w->spp,
        .spp_primal = w->spp,
        .seed = w->args->common.seed + s,
        .adjoint = w->weights,
        .edges = edges ? BL_EDGES_AUTO : BL_EDGES_NONE,
        .progress = on_progress,
        .user = progress,
    };
    bl_stats stats;
    SESSION_TRY(w->session, bl_job_gradient(w->job, &desc, &stats));
    w->renders_done++;
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        check_finding *f = &w->findings[k];
        float *values = memory_or_exit(f->parameter.info.count * sizeof *values);
        bl_result result = bl_job_read_gradient(w->job, k, values);
        double along = 0;
        for (uint32_t i = 0; i < f->parameter.info.count; i++)
            along += (double)values[i] * (double)f->direction[i];
        f->inside[s] = along;
        if (edges)
            f->gradient[s] = along;
        free(values);
        SESSION_TRY(w->session, result);
    }
    return edges && stats.edges ? gradient_seed(w, s, progress, false) : CLI_OK;
}

/* Frozen differences of one seed. */
typedef struct frozen_pair {
    double value, curvature; /* extrapolated; what the two steps differ by */
    double tolerance;        /* of the gradient's difference from the value */
} frozen_pair;

static int differentiate_frozen(check_work *w, check_finding *f, uint32_t s, double scale,
                                render_progress *progress, frozen_pair *out)
{
    uint32_t seed = w->args->common.seed + s;
    difference whole, half;
    CLI_TRY(differentiate(w, f, (difference_mode){true, seed, scale}, progress, &whole));
    CLI_TRY(differentiate(w, f, (difference_mode){true, seed, .5 * scale}, progress, &half));
    *out = (frozen_pair){
        .value = (4 * half.value - whole.value) / 3,
        .curvature = fabs(whole.value - half.value),
    };
    /* a tenth of a percent, and the rounding of sums that cancel */
    out->tolerance = 1e-3 * fabs(out->value) + 2e-5 * half.size + out->curvature + 2 * half.rounding + 1e-30;
    return CLI_OK;
}

static int difference_seed(check_work *w, check_finding *f, uint32_t s, render_progress *progress)
{
    difference plain;
    frozen_pair frozen;
    CLI_TRY(differentiate_frozen(w, f, s, 1, progress, &frozen));
    const difference_mode free_paths = {.seed = w->args->common.seed + s, .scale = 1};
    CLI_TRY(differentiate(w, f, free_paths, progress, &plain));
    f->frozen[s] = frozen.value;
    f->plain[s] = plain.value;
    f->curvature += frozen.curvature / w->seeds;
    double ratio = fabs(f->inside[s] - f->frozen[s]) / frozen.tolerance;
    if (!(ratio <= f->worst)) { /* NaN is the worst of all */
        f->worst = ratio;
        f->worst_difference = f->inside[s] - f->frozen[s];
        f->worst_tolerance = frozen.tolerance;
    }
    return CLI_OK;
}

/* Whether every seed agrees at a shorter step, at which an error of the size found before would show. */
static int measure_short(check_work *w, check_finding *f, double scale, render_progress *progress)
{
    bool agrees = true;
    w->renders += w->seeds * 2 * (uint32_t)f->differences->count;
    for (uint32_t s = 0; s < w->seeds; s++) {
        frozen_pair frozen;
        CLI_TRY(differentiate_frozen(w, f, s, scale, progress, &frozen));
        agrees = agrees && fabs(f->inside[s] - frozen.value) <= frozen.tolerance &&
                 frozen.tolerance < fabs(f->worst_difference);
    }
    f->short_step = agrees ? scale * f->epsilon : 0;
    return CLI_OK;
}

static int measure_shorter(check_work *w, check_finding *f, render_progress *progress)
{
    static const double scales[] = {1. / 16, 1. / 256};
    for (size_t k = 0; k < sizeof scales / sizeof *scales && f->short_step == 0; k++)
        CLI_TRY(measure_short(w, f, scales[k], progress));
    return CLI_OK;
}

static int measure(check_work *w)
{
    uint32_t each = 1;
    for (uint32_t k = 0; k < w->args->parameters.count; k++)
        each += 3 * (uint32_t)w->findings[k].differences->count;
    w->renders = each * w->seeds;
    uint64_t paths = (uint64_t)w->renders * session_pixels(w->session) * w->spp;
    render_progress progress = {.w = w, .bar = progress_begin(&w->args->common, "check", paths)};
    int status = CLI_OK;
    for (uint32_t s = 0; s < w->seeds && status == CLI_OK; s++) {
        status = gradient_seed(w, s, &progress, true);
        for (uint32_t k = 0; k < w->args->parameters.count && status == CLI_OK; k++)
            status = difference_seed(w, &w->findings[k], s, &progress);
    }
    for (uint32_t k = 0; k < w->args->parameters.count && status == CLI_OK; k++)
        if (!(w->findings[k].worst <= 1))
            status = measure_shorter(w, &w->findings[k], &progress);
    progress_end(&progress.bar);
    return status;
}

/* ---- the command ---- */

static int prepare(check_work *w)
{
    const check_arguments *args = w->args;
    cli_session *session = w->session;
    CLI_TRY(session_open(session, &args->common, args->scene));
    w->n = session_values(session);
    w->seeds = args->seeds ? args->seeds : 8;
    w->spp = bl_scene_spp(session->scene, args->common.spp);
    w->findings = memory_or_exit(args->parameters.count * sizeof *w->findings);
    cli_parameter *parameters = memory_or_exit(args->parameters.count * sizeof *parameters);
    int status = session_find_parameters(session, args->parameters.items, args->parameters.count, parameters);
    if (status == CLI_OK)
        session_warn_incomplete(session, parameters, args->parameters.count);
    for (uint32_t k = 0; k < args->parameters.count && status == CLI_OK; k++) {
        w->findings[k].parameter = parameters[k];
        status = prepare_finding(w, &w->findings[k]);
    }
    free(parameters);
    CLI_TRY(status);
    if (args->adjoint) {
        CLI_TRY(session_read_image(session, args->adjoint, &w->weights));
    } else {
        w->weights = memory_or_exit(w->n * sizeof *w->weights);
        make_weights(session, w->weights);
    }
    w->image = memory_or_exit(w->n * sizeof *w->image);
    w->slope = memory_or_exit(w->n * sizeof *w->slope);
    return load_all_values(w);
}

static int check(check_work *w)
{
    CLI_TRY(prepare(w));
    CLI_TRY(check_image_path(w->args->output ? w->args->output : "check.png"));
    CLI_TRY(session_open_device(w->session));
    interrupt_install();
    bl_job_desc desc = {
        .parameters = w->args->parameters.items,
        .parameter_count = w->args->parameters.count,
        .frozen = true,
    };
    int status = interrupt_may_end(true) ? session_create_job(w->session, desc, &w->job) : CLI_FAILED;
    if (status == CLI_OK)
        status = measure(w);
    interrupt_may_end(false);
    CLI_TRY(status);
    return check_report(w);
}

static void release(check_work *w)
{
    bl_job_destroy(w->job);
    for (uint32_t k = 0; w->findings && k < w->args->parameters.count; k++) {
        check_finding *f = &w->findings[k];
        free(f->values);
        free(f->direction);
        free(f->gradient);
        free(f->frozen);
        free(f->inside);
        free(f->plain);
    }
    free(w->findings);
    free(w->weights);
    free(w->image);
    free(w->all);
    free(w->slope);
    session_close(w->session);
}

static int run(void *argument)
{
    const check_arguments *args = argument;
    if (args->seeds == 1)
        return usage_error("check", "--seeds: error bars need at least 2");
    if (args->direction && args->parameters.count != 1)
        return usage_error("check", "--direction belongs to one parameter");
    cli_session session = {0};
    check_work w = {.session = &session, .args = args};
    int status = check(&w);
    release(&w);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(check_arguments, name)
static const cli_option options[] = {
    {.name = "SCENE", .kind = CLI_POSITIONAL, .offset = FIELD(scene),
     .help = "a scene of Mitsuba 3 (XML) or in glTF 2.0 (.gltf, .glb)", .required = true},
    {.name = "--param", .kind = CLI_NAMES, .value = "NAME", .offset = FIELD(parameters),
     .help = "parameters to check; repeatable", .required = true},
    {.name = "--adjoint", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(adjoint),
     .help = "weights W instead of our own smooth ones"},
    {.name = "--direction", .kind = CLI_TEXT, .value = "FILE.npy", .offset = FIELD(direction),
     .help = "direction in the parameter's space (default: all ones; a matrix turns and moves)"},
    {.name = "--epsilon", .kind = CLI_NUMBER, .value = "H", .offset = FIELD(epsilon),
     .help = "step along the direction (default: 2 % of the largest value, of a matrix of its linear part)"},
    {.name = "--seeds", .kind = CLI_COUNT, .value = "N", .offset = FIELD(seeds),
     .help = "number of seeds, for error bars (default: 8)"},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(output),
     .help = "the picture (default: check.png)"},
};
// clang-format on
const cli_command command_check = {
    .name = "check",
    .summary = "the gradient against frozen-path and plain finite differences",
    .usage = "SCENE --param NAME...",
    .example = "backlight check assets/cornell/scene.xml --param red.reflectance.value --spp 32",
    CLI_OPTIONS(options),
    .groups = CLI_ALL,
    .arguments_size = sizeof(check_arguments),
    .run = run};
