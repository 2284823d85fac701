/* SPDX-License-Identifier: BSD-3-Clause
 * backlight check: is the gradient right? For each parameter, along one direction d of its entries, three numbers for the loss
 * sum(W * I) with a smooth weight W that changes sign:
 *
 *   gradient   <dL/dp, d> by path replay
 *   frozen     differences with the paths of the unchanged scene: same directions, choices and densities, weights from p + h d.
 *              With the random numbers of the gradient pass it agrees seed by seed, up to rounding and the order of the
 *              difference. Where it does not, the gradient is wrong (estimators, not noise): exit status 1.
 *   plain      differences of the image, same seed on both sides. Agrees on average. Where only this one disagrees, the
 *              paths themselves depend on the parameter: something that is never sampled (support), or moving edges.
 *
 * Differences are central, or one-sided of second order where p +- h d would leave the parameter's range. Frozen ones are taken at
 * h and h/2 and extrapolated (Richardson); what the two steps differ by is part of the tolerance. */
#include "cli.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    cli_common common;
    const char *scene, *adjoint, *direction, *output;
    cli_names parameters;
    double epsilon;
    uint32_t seeds;
} arguments;

typedef struct stencil {
    int count;
    double offset[3], weight[3]; /* derivative = sum weight f(p + offset h d) / h */
} stencil;

static const stencil stencils[] = {
    {2, {-1, 1}, {-.5, .5}}, {3, {0, 1, 2}, {-1.5, 2, -.5}}, {3, {0, -1, -2}, {1.5, -2, .5}}};
static const char *const stencil_names[] = {"central", "forward", "backward"};

typedef struct series { /* one number per seed */
    double mean, error;
} series;

typedef struct finding { /* about one parameter */
    cli_parameter parameter;
    float *values, *direction;
    double epsilon;
    uint32_t stencil;
    double *gradient, *frozen, *plain; /* per seed */
    series gradient_series, frozen_series, plain_series;
    double worst, worst_difference, worst_tolerance; /* of gradient against frozen, in tolerances */
    double curvature; /* mean over seeds: what differences at h and h/2 differ by */
    double z;
    bool frozen_agrees, plain_agrees;
} finding;

typedef struct work {
    cli_session *session;
    const arguments *args;
    finding *findings;
    float *weights, *image, *all; /* all: values of every parameter of the scene */
    double *slope;                /* dI/dh per value of the image */
    bl_job *job;
    size_t n;
    uint32_t spp, seeds, renders_done, renders;
} work;

/* A difference of images, reduced with W. */
typedef struct difference {
    double value;    /* sum W dI */
    double size;     /* sum |W dI| */
    double rounding; /* expected error of value from images in float */
} difference;

/* ---- weight, direction, step ---- */

/* Cosines of periods near the film's size, with another phase per channel; divided by n, so that the loss is like a mean. */
static void make_weights(const cli_session *session, float *weights)
{
    uint32_t width = session->info.width, height = session->info.height;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < 3; c++) {
                double u = (x + .5) / width, v = (y + .5) / height;
                double w =
                    cos(7.1 * u + 1.3 * c + .4) * cos(5.3 * v + .9 * c) + .6 * sin(11.7 * (u + v) + 2.1 * c);
                weights[((size_t)y * width + x) * 3 + c] = (float)(w / (3.0 * width * height));
            }
}

static bool in_range(const finding *f, double offset)
{
    for (uint32_t i = 0; i < f->parameter.info.count; i++) {
        double v = (double)f->values[i] + offset * f->epsilon * (double)f->direction[i];
        if (f->direction[i] != 0 &&
            (v < (double)f->parameter.info.least || v > (double)f->parameter.info.most))
            return false;
    }
    return true;
}

static int choose_step(const work *w, finding *f)
{
    double largest = 0, pull = 0;
    for (uint32_t i = 0; i < f->parameter.info.count; i++) {
        largest = fmax(largest, fabs((double)f->values[i]));
        pull = fmax(pull, fabs((double)f->direction[i]));
    }
    if (pull == 0)
        return fail("the direction is zero");
    f->epsilon = w->args->epsilon > 0 ? w->args->epsilon : 0.02 * (largest > 0 ? largest : 1) / pull;
    for (f->stencil = 0; f->stencil < 3; f->stencil++) {
        const stencil *s = &stencils[f->stencil];
        bool inside = true;
        for (int i = 0; i < s->count; i++)
            inside = inside && in_range(f, s->offset[i]);
        if (inside)
            return CLI_OK;
    }
    return fail("%s cannot be moved by %g without leaving its range: use a smaller --epsilon",
                f->parameter.info.name, f->epsilon);
}

static int prepare_finding(const work *w, finding *f)
{
    uint32_t count = f->parameter.info.count;
    f->values = memory_or_exit(count * sizeof *f->values);
    SESSION_TRY(w->session, bl_scene_get_parameter(w->session->scene, f->parameter.index, f->values));
    if (w->args->direction) {
        CLI_TRY(load_npy(w->args->direction, count, &f->direction));
    } else {
        f->direction = memory_or_exit(count * sizeof *f->direction);
        for (uint32_t i = 0; i < count; i++)
            f->direction[i] = 1;
    }
    f->gradient = memory_or_exit(w->seeds * sizeof *f->gradient);
    f->frozen = memory_or_exit(w->seeds * sizeof *f->frozen);
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

static int load_all_values(work *w)
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
    const work *w;
    cli_progress bar;
} render_progress;

static bool on_progress(void *user, double done)
{
    render_progress *p = user;
    return progress_call(&p->bar, (p->w->renders_done + done) / p->w->renders);
}

static int render(work *w, finding *f, bool frozen, uint32_t seed, double offset, render_progress *progress)
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

/* The derivative by differences with step h = scale * epsilon. */
static int differentiate(work *w, finding *f, bool frozen, uint32_t seed, double scale,
                         render_progress *progress, difference *out)
{
    const stencil *s = &stencils[f->stencil];
    memset(w->slope, 0, w->n * sizeof *w->slope);
    double step = scale * f->epsilon, squares = 0;
    for (int k = 0; k < s->count; k++) {
        CLI_TRY(render(w, f, frozen, seed, scale * s->offset[k], progress));
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

static int gradient_seed(work *w, uint32_t s, render_progress *progress)
{
    bl_gradient_desc desc = {.spp = w->spp,
                             .spp_primal = w->spp,
                             .seed = w->args->common.seed + s,
                             .adjoint = w->weights,
                             .progress = on_progress,
                             .user = progress};
    SESSION_TRY(w->session, bl_job_gradient(w->job, &desc, NULL));
    w->renders_done++;
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        finding *f = &w->findings[k];
        float *values = memory_or_exit(f->parameter.info.count * sizeof *values);
        bl_result result = bl_job_read_gradient(w->job, k, values);
        for (uint32_t i = 0; i < f->parameter.info.count; i++)
            f->gradient[s] += (double)values[i] * (double)f->direction[i];
        free(values);
        SESSION_TRY(w->session, result);
    }
    return CLI_OK;
}

static int difference_seed(work *w, finding *f, uint32_t s, render_progress *progress)
{
    uint32_t seed = w->args->common.seed + s;
    difference whole, half, plain;
    CLI_TRY(differentiate(w, f, true, seed, 1, progress, &whole));
    CLI_TRY(differentiate(w, f, true, seed, .5, progress, &half));
    CLI_TRY(differentiate(w, f, false, seed, 1, progress, &plain));
    f->frozen[s] = (4 * half.value - whole.value) / 3;
    f->plain[s] = plain.value;
    f->curvature += fabs(whole.value - half.value) / w->seeds;
    /* a tenth of a percent, and the rounding of sums that cancel */
    double tolerance = 1e-3 * fabs(f->frozen[s]) + 2e-5 * half.size + fabs(whole.value - half.value) +
                       2 * half.rounding + 1e-30;
    double ratio = fabs(f->gradient[s] - f->frozen[s]) / tolerance;
    if (!(ratio <= f->worst)) { /* NaN is the worst of all */
        f->worst = ratio;
        f->worst_difference = f->gradient[s] - f->frozen[s];
        f->worst_tolerance = tolerance;
    }
    return CLI_OK;
}

static int measure(work *w)
{
    uint32_t each = 1;
    for (uint32_t k = 0; k < w->args->parameters.count; k++)
        each += 3 * (uint32_t)stencils[w->findings[k].stencil].count;
    w->renders = each * w->seeds;
    uint64_t paths = (uint64_t)w->renders * w->n / 3 * w->spp;
    render_progress progress = {.w = w, .bar = progress_begin(&w->args->common, "check", paths)};
    int status = CLI_OK;
    for (uint32_t s = 0; s < w->seeds && status == CLI_OK; s++) {
        status = gradient_seed(w, s, &progress);
        for (uint32_t k = 0; k < w->args->parameters.count && status == CLI_OK; k++)
            status = difference_seed(w, &w->findings[k], s, &progress);
    }
    progress_end(&progress.bar);
    return status;
}

/* ---- judging ---- */

static series series_of(const double *values, uint32_t count)
{
    series s = {0};
    for (uint32_t i = 0; i < count; i++)
        s.mean += values[i] / count;
    for (uint32_t i = 0; i < count; i++)
        s.error += (values[i] - s.mean) * (values[i] - s.mean);
    s.error = sqrt(s.error / ((double)(count - 1) * count));
    return s;
}

static void judge(const work *w, finding *f)
{
    f->gradient_series = series_of(f->gradient, w->seeds);
    f->frozen_series = series_of(f->frozen, w->seeds);
    f->plain_series = series_of(f->plain, w->seeds);
    f->frozen_agrees = f->worst <= 1;
    double gap = f->gradient_series.mean - f->plain_series.mean;
    double error = hypot(f->gradient_series.error, f->plain_series.error);
    f->z = gap / fmax(error, 1e-30);
    f->plain_agrees = fabs(gap) <= 4 * error + .01 * fabs(f->plain_series.mean) + f->curvature;
}

static const char *verdict(const finding *f)
{
    if (!f->frozen_agrees)
        return "WRONG: frozen-path differences disagree with the gradient";
    if (!f->plain_agrees)
        return "only plain differences disagree: the paths depend on this parameter (support or moving "
               "edges)";
    return "agrees";
}

/* ---- output ---- */

static void print_table(const work *w)
{
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        const finding *f = &w->findings[k];
        printf("%s  (%s differences, step %g, %u seeds, %u samples per pixel)\n", f->parameter.info.name,
               stencil_names[f->stencil], f->epsilon, w->seeds, w->spp);
        printf("    %-10s %14s %12s %8s\n", "", "value", "std err", "z");
        printf("    %-10s %14.7g %12.2g\n", "gradient", f->gradient_series.mean, f->gradient_series.error);
        printf("    %-10s %14.7g %12.2g          worst seed off by %.2g of %.2g allowed\n", "frozen",
               f->frozen_series.mean, f->frozen_series.error, f->worst_difference, f->worst_tolerance);
        printf("    %-10s %14.7g %12.2g %8.2f\n", "plain", f->plain_series.mean, f->plain_series.error, f->z);
        printf("    %s\n", verdict(f));
    }
}

static void add_number(cJSON *json, const char *key, double number)
{
    cJSON_AddItemToObject(json, key, isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull());
}

static cJSON *add_series(cJSON *json, const char *key, const series *s, const double *values, uint32_t seeds)
{
    cJSON *one = cJSON_AddObjectToObject(json, key);
    add_number(one, "value", s->mean);
    add_number(one, "std_err", s->error);
    cJSON_AddItemToObject(one, "per_seed", cJSON_CreateDoubleArray(values, (int)seeds));
    return one;
}

static cJSON *finding_json(const work *w, const finding *f)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", f->parameter.info.name);
    cJSON_AddNumberToObject(json, "epsilon", f->epsilon);
    cJSON_AddStringToObject(json, "differences", stencil_names[f->stencil]);
    add_series(json, "gradient", &f->gradient_series, f->gradient, w->seeds);
    cJSON *frozen = add_series(json, "frozen", &f->frozen_series, f->frozen, w->seeds);
    add_number(frozen, "worst_difference", f->worst_difference);
    add_number(frozen, "worst_tolerance", f->worst_tolerance);
    cJSON_AddBoolToObject(frozen, "agrees", f->frozen_agrees);
    cJSON *plain = add_series(json, "plain", &f->plain_series, f->plain, w->seeds);
    add_number(plain, "z", f->z);
    cJSON_AddBoolToObject(plain, "agrees", f->plain_agrees);
    cJSON_AddStringToObject(json, "verdict", verdict(f));
    return json;
}

static void print_findings(const work *w)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "version", BL_VERSION_TEXT);
    cJSON_AddStringToObject(json, "scene", w->args->scene);
    cJSON_AddStringToObject(json, "device", w->session->device_info.name);
    cJSON_AddNumberToObject(json, "spp", w->spp);
    cJSON *seeds = cJSON_AddArrayToObject(json, "seeds"), *list = cJSON_AddArrayToObject(json, "parameters");
    for (uint32_t s = 0; s < w->seeds; s++)
        cJSON_AddItemToArray(seeds, cJSON_CreateNumber(w->args->common.seed + s));
    bool agrees = true;
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        cJSON_AddItemToArray(list, finding_json(w, &w->findings[k]));
        agrees = agrees && w->findings[k].frozen_agrees;
    }
    cJSON_AddBoolToObject(json, "agrees", agrees);
    print_json(json);
    cJSON_Delete(json);
}

static int save_plot(const work *w)
{
    uint32_t count = w->args->parameters.count;
    plot_bar(*bars)[3] = memory_or_exit(count * sizeof *bars);
    plot_group *groups = memory_or_exit(count * sizeof *groups);
    for (uint32_t k = 0; k < count; k++) {
        const finding *f = &w->findings[k];
        bars[k][0] = (plot_bar){"gradient", f->gradient_series.mean, f->gradient_series.error, 0x3b6fb5};
        bars[k][1] = (plot_bar){"frozen", f->frozen_series.mean, f->frozen_series.error,
                                f->frozen_agrees ? 0x4f9d5d : 0xc0392b};
        bars[k][2] = (plot_bar){"plain", f->plain_series.mean, f->plain_series.error,
                                f->plain_agrees ? 0xa8a8a8 : 0xe08e2b};
        groups[k] = (plot_group){f->parameter.info.name, bars[k], 3};
    }
    int status = save_bar_plot(w->session, w->args->output ? w->args->output : "check.png", groups, count);
    free(groups);
    free(bars);
    return status;
}

static int report(work *w)
{
    bool wrong = false;
    for (uint32_t k = 0; k < w->args->parameters.count; k++) {
        judge(w, &w->findings[k]);
        wrong = wrong || !w->findings[k].frozen_agrees;
    }
    CLI_TRY(save_plot(w));
    if (w->args->common.json)
        print_findings(w);
    else
        print_table(w);
    note(&w->args->common, "picture: %s", w->args->output ? w->args->output : "check.png");
    return wrong ? CLI_FAILED : CLI_OK;
}

/* ---- the command ---- */

static int prepare(work *w)
{
    const arguments *args = w->args;
    cli_session *session = w->session;
    CLI_TRY(session_open(session, &args->common, args->scene));
    w->n = session_values(session);
    w->seeds = args->seeds ? args->seeds : 8;
    w->spp = bl_scene_spp(session->scene, args->common.spp);
    w->findings = memory_or_exit(args->parameters.count * sizeof *w->findings);
    cli_parameter *parameters = memory_or_exit(args->parameters.count * sizeof *parameters);
    int status = session_find_parameters(session, args->parameters.items, args->parameters.count, parameters);
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

static int check(work *w)
{
    CLI_TRY(prepare(w));
    CLI_TRY(check_image_path(w->args->output ? w->args->output : "check.png"));
    CLI_TRY(session_open_device(w->session));
    interrupt_install();
    bl_job_desc desc = {.parameters = w->args->parameters.items,
                        .parameter_count = w->args->parameters.count,
                        .frozen = true};
    CLI_TRY(session_create_job(w->session, desc, &w->job));
    CLI_TRY(measure(w));
    return report(w);
}

static void release(work *w)
{
    bl_job_destroy(w->job);
    for (uint32_t k = 0; w->findings && k < w->args->parameters.count; k++) {
        finding *f = &w->findings[k];
        free(f->values);
        free(f->direction);
        free(f->gradient);
        free(f->frozen);
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
    const arguments *args = argument;
    if (args->seeds == 1)
        return usage_error("check", "--seeds: error bars need at least 2");
    if (args->direction && args->parameters.count != 1)
        return usage_error("check", "--direction belongs to one parameter");
    cli_session session = {0};
    work w = {.session = &session, .args = args};
    int status = check(&w);
    release(&w);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "SCENE", .kind = CLI_POSITIONAL, .offset = FIELD(scene), .help = "a Mitsuba 3 scene (XML)", .required = true},
    {.name = "--param", .kind = CLI_NAMES, .value = "NAME", .offset = FIELD(parameters), .help = "parameters to check; repeatable", .required = true},
    {.name = "--adjoint", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(adjoint), .help = "weights W instead of our own smooth ones"},
    {.name = "--direction", .kind = CLI_TEXT, .value = "FILE.npy", .offset = FIELD(direction), .help = "direction in the parameter's space (default: all ones)"},
    {.name = "--epsilon", .kind = CLI_NUMBER, .value = "H", .offset = FIELD(epsilon), .help = "step along the direction (default: 2 % of the largest value)"},
    {.name = "--seeds", .kind = CLI_COUNT, .value = "N", .offset = FIELD(seeds), .help = "number of seeds, for error bars (default: 8)"},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(output), .help = "the picture (default: check.png)"},
};
// clang-format on
const cli_command command_check = {
    .name = "check",
    .summary = "the gradient against frozen-path and plain finite differences",
    .usage = "SCENE --param NAME...",
    .example = "backlight check assets/cornell/scene.xml --param red.reflectance.value --spp 32",
    CLI_OPTIONS(options),
    .arguments_size = sizeof(arguments),
    .run = run};
