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
 * the tolerance.
 *
 * Where rays follow the parameter, frozen paths cross kinks within a step: of texels, at borders of what is
 * seen in glass, where total reflection begins. So where the two disagree, they are compared again in the
 * pixels that change smoothly within the step (check_differences.c). Differences alone decide which these
 * are. The gradient is then one of their weights alone. If it agrees in every seed, at h or at a shorter
 * step, and most pixels that change are among them, the report says so and how many. */
#include "check.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tolerance of a comparison among smooth pixels, over the sum of their changes without signs: at most
 * TOLERANCE_MOST, and so small that the difference found among all pixels would show, or anything above
 * NOTHING. */
static const double TOLERANCE_MOST = .02, NOTHING = .001;

/* Of the largest value. Images in float round too much for shorter steps. */
static const double STEP = .02, STEP_DOUBLE = .001;

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

/* Chooses differences that stay in the parameter's range. False: there are none. */
static bool choose_stencil(check_finding *f)
{
    for (int k = 0; k < 3; k++) {
        f->differences = &check_stencils[k];
        bool inside = true;
        for (int i = 0; i < CHECK_POINTS; i++)
            inside = inside && in_range(f, f->differences->offset[i]);
        if (inside)
            return true;
    }
    return false;
}

/* Turns the direction away from the nearer end of the range, entry by entry. */
static void turn_inward(check_finding *f)
{
    double least = (double)f->parameter.info.least, most = (double)f->parameter.info.most;
    for (uint32_t i = 0; i < f->parameter.info.count; i++)
        if (most - (double)f->values[i] < (double)f->values[i] - least)
            f->direction[i] = -fabsf(f->direction[i]);
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
    const double share = w->doubles ? STEP_DOUBLE : STEP;
    f->epsilon = w->args->epsilon > 0 ? w->args->epsilon : share * (largest > 0 ? largest : 1) / pull;
    if (choose_stencil(f))
        return CLI_OK;
    if (!w->args->direction) { /* a texture with values near both ends, say */
        turn_inward(f);
        if (choose_stencil(f))
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

static int load_all_values(check_work *w)
{
    size_t total;
    uint32_t count = bl_scene_parameter_count(w->session->scene);
    CLI_TRY(check_place_of(w->session, count, &total));
    w->all = memory_or_exit(total * sizeof *w->all);
    w->moved = memory_or_exit(total * sizeof *w->moved);
    for (uint32_t i = 0; i < count; i++) {
        size_t first;
        CLI_TRY(check_place_of(w->session, i, &first));
        SESSION_TRY(w->session, bl_scene_get_parameter(w->session->scene, i, w->all + first));
    }
    for (size_t i = 0; i < total; i++)
        w->moved[i] = (double)w->all[i];
    return CLI_OK;
}

/* ---- all seeds ---- */

/* The gradients of the weighted image's sum. edges: with those that move, or without, as along frozen paths.
 */
static int take_gradients(check_work *w, uint32_t s, const float *weights, bl_edges edges, bl_stats *stats)
{
    bl_gradient_desc desc = {
        .spp = w->spp,
        .spp_primal = w->spp,
        .seed = w->args->common.seed + s,
        .adjoint = weights,
        .edges = edges,
        .progress = check_progress,
        .user = w,
    };
    SESSION_TRY(w->session, bl_job_gradient(w->job, &desc, stats));
    w->renders_done++;
    return CLI_OK;
}

/* The gradient last taken, along the direction of finding k. */
static int read_along(const check_work *w, uint32_t k, double *along)
{
    const check_finding *f = &w->findings[k];
    double *values = memory_or_exit(f->parameter.info.count * sizeof *values);
    bl_result result = session_read_gradient(w->session, w->job, k, f->parameter.info.count, values);
    *along = 0;
    for (uint32_t i = 0; i < f->parameter.info.count; i++)
        *along += values[i] * (double)f->direction[i];
    free(values);
    SESSION_TRY(w->session, result);
    return CLI_OK;
}

static int gradient_seed(check_work *w, uint32_t s)
{
    bl_stats stats;
    CLI_TRY(take_gradients(w, s, w->weights, BL_EDGES_AUTO, &stats));
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        CLI_TRY(read_along(w, k, &w->findings[k].gradient[s]));
        w->findings[k].inside[s] = w->findings[k].gradient[s];
    }
    if (!stats.edges)
        return CLI_OK;
    CLI_TRY(take_gradients(w, s, w->weights, BL_EDGES_NONE, &stats));
    for (uint32_t k = 0; k < w->args->parameters.count; k++)
        CLI_TRY(read_along(w, k, &w->findings[k].inside[s]));
    return CLI_OK;
}

static int difference_seed(check_work *w, check_finding *f, uint32_t s)
{
    check_step step = {.frozen = true, .seed = w->args->common.seed + s, .scale = 1}, shorter = step,
               free_paths = step;
    shorter.scale = .5, free_paths.frozen = false;
    CLI_TRY(check_differentiate(w, f, step, &w->whole));
    CLI_TRY(check_differentiate(w, f, shorter, &w->half));
    check_difference frozen = check_extrapolate(w, w->weights);
    CLI_TRY(check_differentiate(w, f, free_paths, &w->whole));
    f->frozen[s] = frozen.value;
    f->plain[s] = check_weigh(w, &w->whole, w->weights).value;
    f->curvature += frozen.curvature / w->seeds;
    f->differences_sum += fabs(f->inside[s] - f->frozen[s]);
    double ratio = fabs(f->inside[s] - f->frozen[s]) / frozen.tolerance;
    if (!(ratio <= f->worst)) { /* NaN is the worst of all */
        f->worst = ratio;
        f->worst_difference = f->inside[s] - f->frozen[s];
        f->worst_tolerance = frozen.tolerance;
    }
    return CLI_OK;
}

/* Compares the gradient with frozen differences in the pixels that change smoothly within the step. */
static int compare_smooth(check_work *w, uint32_t k, double scale, check_smooth *out)
{
    check_finding *f = &w->findings[k];
    check_share share = {0};
    double tolerance = 0, size = 0;
    *out = (check_smooth){.step = scale * f->epsilon, .agrees = true};
    for (uint32_t s = 0; s < w->seeds; s++) {
        check_step step = {true, true, w->args->common.seed + s, scale}, shorter = step;
        shorter.bends = false, shorter.scale = .5 * scale;
        double along;
        bl_stats stats;
        CLI_TRY(check_differentiate(w, f, step, &w->whole));
        CLI_TRY(check_differentiate(w, f, shorter, &w->half));
        check_choose_smooth(w, w->smooth, &share);
        check_difference frozen = check_extrapolate(w, w->smooth);
        CLI_TRY(take_gradients(w, s, w->smooth, BL_EDGES_NONE, &stats));
        CLI_TRY(read_along(w, k, &along));
        out->agrees = out->agrees && fabs(along - frozen.value) <= frozen.tolerance + frozen.kinks;
        tolerance += frozen.tolerance + frozen.kinks, size += frozen.size;
    }
    out->share = share.changing ? (double)share.smooth / (double)share.changing : 0;
    out->agrees = out->agrees && out->share >= CHECK_SMOOTH_LEAST && tolerance <= TOLERANCE_MOST * size &&
                  tolerance <= fmax(f->differences_sum, NOTHING * size);
    return CLI_OK;
}

/* At the longest step at which they agree. */
static int measure_smooth(check_work *w, uint32_t k)
{
    static const double scales[] = {1, 1. / 16, 1. / 256};
    check_finding *f = &w->findings[k];
    for (size_t i = 0; i < sizeof scales / sizeof *scales && !f->smooth.agrees; i++) {
        w->renders += w->seeds * (CHECK_POINTS + check_images(f->differences) + 1);
        CLI_TRY(compare_smooth(w, k, scales[i], &f->smooth));
    }
    return CLI_OK;
}

static int measure(check_work *w)
{
    uint32_t each = 1;
    for (uint32_t k = 0; k < w->args->parameters.count; k++)
        each += 3 * check_images(w->findings[k].differences);
    w->renders = each * w->seeds;
    uint64_t paths = (uint64_t)w->renders * session_pixels(w->session) * w->spp;
    w->bar = progress_begin(&w->args->common, "check", paths);
    int status = CLI_OK;
    for (uint32_t s = 0; s < w->seeds && status == CLI_OK; s++) {
        status = gradient_seed(w, s);
        for (uint32_t k = 0; k < w->args->parameters.count && status == CLI_OK; k++)
            status = difference_seed(w, &w->findings[k], s);
    }
    for (uint32_t k = 0; k < w->args->parameters.count && status == CLI_OK; k++)
        if (!(w->findings[k].worst <= 1))
            status = measure_smooth(w, k);
    progress_end(&w->bar);
    return status;
}

/* ---- the command ---- */

static int prepare(check_work *w)
{
    check_arguments *args = w->args;
    cli_session *session = w->session;
    CLI_TRY(session_open(session, &args->common, args->scene));
    CLI_TRY(session_expand_names(session, &args->parameters));
    if (args->direction && args->parameters.count != 1)
        return usage_error("check", "--direction belongs to one parameter");
    w->n = session_values(session);
    w->doubles = session_doubles(session);
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
        CLI_TRY(session_read_pixels(session, args->adjoint, &w->weights));
    } else {
        w->weights = memory_or_exit(w->n * sizeof *w->weights);
        make_weights(session, w->weights);
    }
    w->image = memory_or_exit(w->n * sizeof *w->image);
    w->rounded = memory_or_exit(w->n * sizeof *w->rounded);
    w->smooth = memory_or_exit(w->n * sizeof *w->smooth);
    for (int k = 0; k < 2; k++) {
        check_slopes *slopes = k ? &w->half : &w->whole;
        slopes->slope = memory_or_exit(w->n * sizeof *slopes->slope);
        slopes->bend = memory_or_exit(w->n * sizeof *slopes->bend);
        slopes->squares = memory_or_exit(w->n * sizeof *slopes->squares);
    }
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
    free(w->rounded);
    free(w->all);
    free(w->moved);
    free(w->smooth);
    for (int k = 0; k < 2; k++) {
        check_slopes *slopes = k ? &w->half : &w->whole;
        free(slopes->slope);
        free(slopes->bend);
        free(slopes->squares);
    }
    session_close(w->session);
}

static int run(void *argument)
{
    check_arguments *args = argument;
    if (args->seeds == 1)
        return usage_error("check", "--seeds: error bars need at least 2");
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
     .help = "parameters to check, or patterns of names ('*.reflectance.*'); repeatable", .required = true},
    {.name = "--adjoint", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(adjoint),
     .help = "weights W instead of our own smooth ones (an image, also .npy)"},
    {.name = "--direction", .kind = CLI_TEXT, .value = "FILE.npy", .offset = FIELD(direction),
     .help = "direction in the parameter's space (default: ones, or inward from the ends of the range; a "
             "matrix turns and moves)"},
    {.name = "--epsilon", .kind = CLI_NUMBER, .value = "H", .offset = FIELD(epsilon),
     .help = "step along the direction (default: 2 % of the largest value, of a matrix of its linear part; "
             "0.1 % in double precision)"},
    {.name = "--seeds", .kind = CLI_COUNT, .value = "N", .offset = FIELD(seeds),
     .help = "number of seeds, for error bars (default: 8)"},
    {.name = "--precision", .kind = CLI_TEXT, .value = "HOW", .offset = FIELD(common.precision),
     .help = "what kernels compute in: single (the default), or double (native, lavapipe), where frozen "
             "differences are held to a millionth of the gradient instead of a thousandth",
     .choices = "single|double"},
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
