/* SPDX-License-Identifier: BSD-3-Clause
 * backlight bench: what passes cost on a device, beside the same image by the hand-written reference
 * (glsl/reference_pt.comp).
 *
 * Every form runs once a round, one after the other, so that what else happens on the machine meets all of
 * them; ratios are taken within a round, and medians over the rounds are printed. A form's time is device
 * time, but on devices that are the CPU itself CPU time of the process over the number of cores, which other
 * programs disturb less. What drivers compile on the first dispatch is the difference of the first two runs
 * with one sample. */
#include "cli.h"

#include <backlight/backlight_testing.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMS = 6 * BL_FORM_COUNT + 1, DEFAULT_ROUNDS = 5 };

typedef struct arguments {
    cli_common common;
    const char *scene;
    cli_names parameters;
    uint32_t rounds;
    bool ablation, rays;
} arguments;

typedef struct form {
    char *name;
    bool gradient;
    const char *rays;       /* of a job: bl_job_rays */
    bl_wavefront wavefront; /* of a job */
    bl_gradient_form walks; /* of a gradient */
    bl_job *job;
    bl_reference *reference; /* instead of a job */
    bl_kernel_info kernel;
    bl_stats stats;      /* of the last run */
    double lazy_seconds; /* of the first dispatch: compilation that the driver puts off */
    double *wall, *device, *cpu, *busy, *to_reference, *to_primal; /* per round */
} form;

typedef struct bench {
    const arguments *args;
    cli_session *session;
    form forms[FORMS];
    uint32_t form_count, rounds, spp, spp_grad;
    char *no_reference;   /* why there is none */
    double rays_per_path; /* counted by the reference; 0: not */
    float *image, *weights;
    const char **names;
    uint32_t name_count;
    double cores;
    bool on_cpu;
} bench;

/* ---- runs ---- */

static bl_result run_form(bench *b, form *f, uint32_t spp, cli_progress *progress)
{
    bl_render_desc render = {
        .spp = spp, .seed = b->args->common.seed, .progress = progress_call, .user = progress};
    bl_gradient_desc gradient = {
        .form = f->walks,
        .spp = spp,
        .seed = b->args->common.seed,
        .progress = progress_call,
        .user = progress,
    };
    uint64_t rays;
    if (bl_gradient_form_finds_loss(f->walks))
        gradient.target = b->weights;
    else
        gradient.adjoint = b->weights;
    if (f->gradient)
        return bl_job_gradient(f->job, &gradient, &f->stats);
    if (f->job)
        return bl_job_render(f->job, &render, b->image, &f->stats);
    bl_result result = bl_reference_render(f->reference, &render, b->image, &f->stats, &rays);
    if (result == BL_OK)
        b->rays_per_path = (double)rays / (double)f->stats.paths;
    return result;
}

static uint32_t form_spp(const bench *b, const form *f) { return f->gradient ? b->spp_grad : b->spp; }

/* Time of a path, for comparison between forms. */
static double per_path(const bench *b, const form *f, uint32_t round)
{
    return f->busy[round] / form_spp(b, f);
}

static int measure(bench *b, form *f, uint32_t round)
{
    uint32_t spp = form_spp(b, f);
    cli_progress progress = progress_begin(&b->args->common, f->name,
                                           (uint64_t)b->session->info.width * b->session->info.height * spp);
    double cpu = cpu_seconds();
    bl_result result = run_form(b, f, spp, &progress);
    f->cpu[round] = cpu_seconds() - cpu;
    progress_end(&progress);
    SESSION_TRY(b->session, result);
    f->wall[round] = f->stats.seconds, f->device[round] = f->stats.device_seconds;
    f->busy[round] = b->on_cpu ? f->cpu[round] / b->cores : f->device[round];
    return CLI_OK;
}

/* Two samples, twice: compiles what is compiled late, and lets the slicing learn the speed. */
static int warm_up(bench *b, form *f)
{
    double first = 0;
    for (int k = 0; k < 2; k++) {
        cli_progress none = {0};
        double start = seconds_now();
        SESSION_TRY(b->session, run_form(b, f, 2, &none));
        f->lazy_seconds = fmax(0, first - (seconds_now() - start));
        first = seconds_now() - start;
    }
    return CLI_OK;
}

/* A round's figures, so that a run that is ended early has shown something. */
static void tell_round(const bench *b, uint32_t round)
{
    char *line = text_format("round %u of %u, Mpaths/s:", round + 1, b->rounds);
    for (uint32_t i = 0; i < b->form_count; i++) {
        const form *f = &b->forms[i];
        char *longer = text_format("%s%s %s %.3g", line, i ? ";" : "", f->name,
                                   1e-6 * (double)f->stats.paths / f->busy[round]);
        free(line);
        line = longer;
    }
    note(&b->args->common, "%s", line);
    free(line);
}

static int run_rounds(bench *b)
{
    for (uint32_t i = 0; i < b->form_count; i++)
        CLI_TRY(warm_up(b, &b->forms[i]));
    for (uint32_t round = 0; round < b->rounds; round++) {
        const form *reference = NULL, *primal = NULL;
        for (uint32_t i = 0; i < b->form_count; i++) {
            CLI_TRY(measure(b, &b->forms[i], round));
            reference = b->forms[i].reference ? &b->forms[i] : reference;
        }
        for (uint32_t i = 0; i < b->form_count; i++) {
            form *f = &b->forms[i];
            primal = f->gradient ? primal : f; /* a form's gradient follows its primal */
            f->to_reference[round] =
                reference && !f->gradient ? per_path(b, reference, round) / per_path(b, f, round) : 0;
            f->to_primal[round] = f->gradient ? per_path(b, f, round) / per_path(b, primal, round) : 0;
        }
        tell_round(b, round);
    }
    return CLI_OK;
}

/* ---- forms ---- */

static form *add_form(bench *b)
{
    form *f = &b->forms[b->form_count++];
    double **series[] = {&f->wall, &f->device, &f->cpu, &f->busy, &f->to_reference, &f->to_primal};
    for (size_t k = 0; k < sizeof series / sizeof *series; k++)
        *series[k] = memory_or_exit(b->rounds * sizeof(double));
    return f;
}

/* What making the kernels of a pass took, added to the form's. */
static int compile(bench *b, form *f, bl_pass pass)
{
    for (uint32_t part = 0; bl_job_part_name(f->job, pass, part); part++) {
        bl_kernel_info one;
        SESSION_TRY(b->session, bl_job_show_part(f->job, part));
        SESSION_TRY(b->session, bl_job_compile(f->job, pass, &one));
        f->kernel.trace_seconds += one.trace_seconds, f->kernel.optimise_seconds += one.optimise_seconds;
        f->kernel.generate_seconds += one.generate_seconds, f->kernel.driver_seconds += one.driver_seconds;
        f->kernel.cache_seconds += one.cache_seconds;
        f->kernel.spirv_words += one.spirv_words;
    }
    return CLI_OK;
}

/* "baked", "general" (our hierarchy), "query" */
static const char *geometry_name(const form *f) { return strcmp(f->rays, "bvh") == 0 ? "general" : f->rays; }

/* What all forms of one kind of job have in common. */
typedef struct job_kind {
    bool no_baking;
    bl_rays rays;
    bl_wavefront wavefront;
} job_kind;

static char *form_name(const form *f, const char *pass)
{
    const char *mode = f->wavefront == BL_WAVEFRONT_NONE ? "" : ", wavefront";
    return text_format("%s, %s%s", pass, geometry_name(f), mode);
}

static int add_job(bench *b, form *f, const bl_job_desc *desc)
{
    f->wavefront = desc->wavefront;
    SESSION_TRY(b->session, bl_job_create(b->session->device, b->session->scene, desc, &f->job));
    f->rays = bl_job_rays(f->job);
    return CLI_OK;
}

static int add_primal(bench *b, job_kind k)
{
    form *f = add_form(b);
    CLI_TRY(
        add_job(b, f, &(bl_job_desc){.no_baking = k.no_baking, .rays = k.rays, .wavefront = k.wavefront}));
    CLI_TRY(compile(b, f, BL_PASS_PRIMAL));
    f->name = form_name(f, "primal");
    return CLI_OK;
}

static int add_gradient(bench *b, bl_gradient_form walks, job_kind k)
{
    form *f = add_form(b);
    bl_job_desc desc = {
        .no_baking = k.no_baking,
        .rays = k.rays,
        .wavefront = k.wavefront,
        .parameters = b->names,
        .parameter_count = b->name_count,
        .volume_gradient = session_volume_gradient(b->session),
    };
    f->gradient = true, f->walks = walks;
    CLI_TRY(add_job(b, f, &desc));
    if (walks == BL_FORM_FUSED)
        CLI_TRY(compile(b, f, BL_PASS_GRADIENT));
    if (walks != BL_FORM_FUSED) {
        CLI_TRY(compile(b, f, BL_PASS_REPLAY));
        CLI_TRY(compile(b, f, BL_PASS_ADJOINT));
    }
    char *pass = text_format("gradient %s", bl_gradient_form_name(walks));
    f->name = form_name(f, pass);
    free(pass);
    return CLI_OK;
}

static int add_kind(bench *b, job_kind k)
{
    CLI_TRY(add_primal(b, k));
    for (int walks = BL_FORM_AUTO + 1; walks < BL_FORM_COUNT && b->name_count; walks++)
        CLI_TRY(add_gradient(b, walks, k));
    return CLI_OK;
}

/* In wavefront mode, too, where that was asked for. */
static int add_geometry(bench *b, bool no_baking, bl_rays rays)
{
    job_kind k = {.no_baking = no_baking, .rays = rays};
    CLI_TRY(add_kind(b, k));
    k.wavefront = session_wavefront(b->session);
    return k.wavefront == BL_WAVEFRONT_NONE ? CLI_OK : add_kind(b, k);
}

static int add_forms(bench *b)
{
    bl_rays rays = b->session->rays;
    if (rays != BL_RAYS_QUERY)
        CLI_TRY(add_geometry(b, b->args->common.no_baking, BL_RAYS_BVH));
    if (rays != BL_RAYS_QUERY && strcmp(b->forms[0].rays, "baked") == 0)
        CLI_TRY(add_geometry(b, true, BL_RAYS_BVH));
    if (rays == BL_RAYS_QUERY || (rays == BL_RAYS_AUTO && b->session->device_info.ray_query))
        CLI_TRY(add_geometry(b, true, BL_RAYS_QUERY));
    form *f = add_form(b);
    f->name = text_format("primal, hand-written GLSL");
    bl_result result = bl_reference_create(b->session->device, b->session->scene, &f->kernel, &f->reference);
    if (result == BL_ERROR_UNSUPPORTED) {
        b->no_reference = text_format("%s", bl_context_error(b->session->ctx));
        note(&b->args->common, "%s", b->no_reference);
        b->form_count--;
        return CLI_OK;
    }
    SESSION_TRY(b->session, result);
    return CLI_OK;
}

/* Those asked for, or all whose gradient is complete. */
static int choose_parameters(bench *b)
{
    CLI_TRY(session_choose_parameters(b->session, &b->args->parameters, &b->names, &b->name_count));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->name_count; i++) {
        uint32_t index;
        bl_parameter_info info;
        SESSION_TRY(b->session, bl_scene_find_parameter(b->session->scene, b->names[i], &index));
        SESSION_TRY(b->session, bl_scene_parameter_info(b->session->scene, index, &info));
        if (b->args->parameters.count > 0 || !info.reason)
            b->names[kept++] = b->names[i];
    }
    b->name_count = kept;
    return CLI_OK;
}

/* ---- results ---- */

static double mpaths(const bench *b, const form *f)
{
    return 1e-6 * (double)f->stats.paths / median(f->busy, b->rounds);
}

static double own_compile(const form *f)
{
    return f->kernel.trace_seconds + f->kernel.optimise_seconds + f->kernel.generate_seconds +
           f->kernel.cache_seconds;
}

static void print_table(const bench *b)
{
    printf("%s: %u x %u, depth %d, %u samples per pixel, on %s, %u rounds, medians\n", b->args->scene,
           b->session->info.width, b->session->info.height, b->session->info.max_depth, b->spp,
           b->session->device_info.name, b->rounds);
    printf("\n%-26s %9s %9s %9s %9s %9s %10s %9s %9s\n", "pass", "Mpaths/s", "Mrays/s", "to GLSL", "range",
           "wall s", "device s", "CPU s", "MiB");
    for (uint32_t i = 0; i < b->form_count; i++) {
        const form *f = &b->forms[i];
        char rays[32] = "-", ratio[32] = "-", range[32] = "-";
        double least = INFINITY, most = 0;
        for (uint32_t k = 0; k < b->rounds; k++)
            least = fmin(least, f->to_reference[k]), most = fmax(most, f->to_reference[k]);
        if (b->rays_per_path > 0 && !f->gradient)
            snprintf(rays, sizeof rays, "%.3g", mpaths(b, f) * b->rays_per_path);
        if (most > 0 && !f->reference) {
            snprintf(ratio, sizeof ratio, "%.2f x", median(f->to_reference, b->rounds));
            snprintf(range, sizeof range, "%.2f-%.2f", least, most);
        }
        printf("%-26s %9.3g %9s %9s %9s %9.3f %10.3f %9.3f %9.1f\n", f->name, mpaths(b, f), rays, ratio,
               range, median(f->wall, b->rounds), median(f->device, b->rounds), median(f->cpu, b->rounds),
               (double)f->stats.device_bytes / 1048576);
    }
    printf("\n%-26s %12s %10s %10s %12s %14s\n", "kernel, milliseconds", "trace+passes", "code", "driver",
           "1st dispatch", "code words");
    for (uint32_t i = 0; i < b->form_count; i++) {
        const form *f = &b->forms[i];
        printf("%-26s %12.1f %10.1f %10.1f %12.1f %14llu\n", f->name,
               1e3 * (f->kernel.trace_seconds + f->kernel.optimise_seconds), 1e3 * f->kernel.generate_seconds,
               1e3 * f->kernel.driver_seconds, 1e3 * f->lazy_seconds,
               (unsigned long long)f->kernel.spirv_words);
    }
    bl_cache_info cache = bl_context_cache_info(b->session->ctx);
    if (cache.folder)
        printf("kernels from the cache on disk: %llu, compiled: %llu (--no-cache compiles all)\n",
               (unsigned long long)cache.hits, (unsigned long long)cache.misses);
    printf("\n");
    for (uint32_t i = 0; i < b->form_count; i++)
        if (b->forms[i].gradient)
            printf("%s, %u parameters: pass %.2f, step %.2f times its primal\n", b->forms[i].name,
                   b->name_count, median(b->forms[i].to_primal, b->rounds),
                   median(b->forms[i].to_primal, b->rounds) +
                       (bl_gradient_form_finds_loss(b->forms[i].walks) ? 0 : 1));
    if (b->rays_per_path > 0)
        printf("%.2f rays a path, counted by the hand-written kernel\n", b->rays_per_path);
}

static void add_series(cJSON *json, const bench *b, const char *name, const double *values)
{
    char key[64];
    snprintf(key, sizeof key, "%s_rounds", name);
    cJSON_AddNumberToObject(json, name, median(values, b->rounds));
    cJSON_AddItemToObject(json, key, cJSON_CreateDoubleArray(values, (int)b->rounds));
}

static cJSON *form_json(const bench *b, const form *f)
{
    cJSON *json = cJSON_CreateObject(), *compile;
    cJSON_AddStringToObject(json, "name", f->name);
    cJSON_AddStringToObject(json, "pass", f->gradient ? "gradient" : "primal");
    cJSON_AddStringToObject(json, "kernel", f->reference ? "glsl" : geometry_name(f));
    cJSON_AddNumberToObject(json, "spp", form_spp(b, f));
    cJSON_AddNumberToObject(json, "paths", (double)f->stats.paths);
    add_series(json, b, "wall_seconds", f->wall);
    add_series(json, b, "device_seconds", f->device);
    add_series(json, b, "cpu_seconds", f->cpu);
    cJSON_AddNumberToObject(json, "paths_per_second", 1e6 * mpaths(b, f));
    if (b->rays_per_path > 0 && !f->gradient)
        cJSON_AddNumberToObject(json, "rays_per_second", 1e6 * mpaths(b, f) * b->rays_per_path);
    if (f->to_reference[0] > 0)
        add_series(json, b, "speed_to_glsl", f->to_reference);
    if (f->gradient)
        add_series(json, b, "time_to_primal", f->to_primal);
    cJSON_AddNumberToObject(json, "device_bytes", (double)f->stats.device_bytes);
    compile = cJSON_AddObjectToObject(json, "compile");
    cJSON_AddNumberToObject(compile, "trace_seconds", f->kernel.trace_seconds);
    cJSON_AddNumberToObject(compile, "optimise_seconds", f->kernel.optimise_seconds);
    cJSON_AddNumberToObject(compile, "generate_seconds", f->kernel.generate_seconds);
    cJSON_AddNumberToObject(compile, "cache_seconds", f->kernel.cache_seconds);
    cJSON_AddNumberToObject(compile, "own_seconds", own_compile(f));
    cJSON_AddNumberToObject(compile, "driver_seconds", f->kernel.driver_seconds);
    cJSON_AddNumberToObject(compile, "first_dispatch_seconds", f->lazy_seconds);
    cJSON_AddNumberToObject(compile, "spirv_words", (double)f->kernel.spirv_words);
    return json;
}

static void put_json(const bench *b)
{
    cJSON *json = cJSON_CreateObject(), *forms, *names;
    json_add_origin(json, b->session, b->args->scene);
    cJSON_AddNumberToObject(json, "width", b->session->info.width);
    cJSON_AddNumberToObject(json, "height", b->session->info.height);
    cJSON_AddNumberToObject(json, "max_depth", b->session->info.max_depth);
    cJSON_AddNumberToObject(json, "primitives", b->session->info.primitives);
    cJSON_AddNumberToObject(json, "rounds", b->rounds);
    cJSON_AddStringToObject(json, "rates_from", b->on_cpu ? "cpu_seconds / cores" : "device_seconds");
    cJSON_AddNumberToObject(json, "cores", b->cores);
    names = cJSON_AddArrayToObject(json, "parameters");
    for (uint32_t i = 0; i < b->name_count; i++)
        cJSON_AddItemToArray(names, cJSON_CreateString(b->names[i]));
    if (b->rays_per_path > 0)
        cJSON_AddNumberToObject(json, "rays_per_path", b->rays_per_path);
    if (b->no_reference)
        cJSON_AddStringToObject(json, "no_reference", b->no_reference);
    bl_cache_info cache = bl_context_cache_info(b->session->ctx);
    cJSON_AddNumberToObject(json, "cache_hits", (double)cache.hits);
    cJSON_AddNumberToObject(json, "cache_misses", (double)cache.misses);
    forms = cJSON_AddArrayToObject(json, "forms");
    for (uint32_t i = 0; i < b->form_count; i++)
        cJSON_AddItemToArray(forms, form_json(b, &b->forms[i]));
    print_json(json);
    cJSON_Delete(json);
}

/* ---- the command ---- */

static void free_forms(bench *b)
{
    for (uint32_t i = 0; i < FORMS; i++) {
        form *f = &b->forms[i];
        bl_job_destroy(f->job);
        bl_reference_destroy(f->reference);
        free(f->wall), free(f->device), free(f->cpu), free(f->busy), free(f->to_reference),
            free(f->to_primal), free(f->name);
    }
    free(b->no_reference);
    free(b->image);
    free(b->weights);
    free(b->names);
}

static int work(bench *b)
{
    size_t values = session_values(b->session);
    b->image = memory_or_exit(values * sizeof *b->image);
    b->weights = memory_or_exit(values * sizeof *b->weights);
    for (size_t i = 0; i < values; i++)
        b->weights[i] = 1.0f / (float)values;
    CLI_TRY(choose_parameters(b));
    if (b->args->ablation)
        return bench_ablation(b->session, &(cli_ablation){.scene = b->args->scene,
                                                          .names = b->names,
                                                          .name_count = b->args->parameters.count,
                                                          .rounds = b->rounds,
                                                          .spp = b->spp,
                                                          .image = b->image,
                                                          .weights = b->weights,
                                                          .cores = b->cores,
                                                          .on_cpu = b->on_cpu});
    int status = interrupt_may_end(true) ? add_forms(b) : CLI_FAILED;
    if (status == CLI_OK)
        status = run_rounds(b);
    interrupt_may_end(false);
    CLI_TRY(status);
    if (b->args->common.json)
        put_json(b);
    else
        print_table(b);
    return CLI_OK;
}

static int open_and_work(cli_session *session, const arguments *args)
{
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 0); /* or compilation takes the time of reading a file */
    CLI_TRY(session_open(session, &args->common, args->scene));
    CLI_TRY(session_open_device(session));
    interrupt_install();
    const char *kind = session->device_info.kind;
    bench b = {
        .args = args,
        .session = session,
        .rounds = args->rounds ? args->rounds : DEFAULT_ROUNDS,
        .spp = args->common.spp ? args->common.spp : session->info.spp,
        .cores = (double)sysconf(_SC_NPROCESSORS_ONLN),
        .on_cpu = !strcmp(kind, "native") || !strcmp(kind, "swiftshader") || !strcmp(kind, "lavapipe"),
    };
    b.spp_grad = args->common.spp_grad ? args->common.spp_grad : b.spp;
    if (b.rounds > ROUNDS_MOST)
        return usage_error("bench", "--rounds: at most %d", ROUNDS_MOST);
    if (args->rays && args->ablation)
        return usage_error("bench", "--rays and --ablation are two measurements: ask for one of them");
    if (args->rays)
        return bench_rays(session, &(cli_ray_bench){.scene = args->scene, .rounds = b.rounds});
    int status = work(&b);
    free_forms(&b);
    return status;
}

static int run(void *argument)
{
    cli_session session = {0};
    arguments *args = argument;
    args->common.no_cache |= args->ablation; /* what it is about would not happen */
    int status = open_and_work(&session, args);
    session_close(&session);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "SCENE", .kind = CLI_POSITIONAL, .offset = FIELD(scene),
     .help = "a scene of Mitsuba 3 (XML) or in glTF 2.0 (.gltf, .glb)", .required = true},
    {.name = "--param", .kind = CLI_NAMES, .value = "NAME", .offset = FIELD(parameters),
     .help = "parameters of the gradient pass (default: all whose gradient is complete)"},
    {.name = "--rounds", .kind = CLI_COUNT, .value = "N", .offset = FIELD(rounds),
     .help = "how often each pass is measured (default: 5)"},
    {.name = "--ablation", .kind = CLI_FLAG, .offset = FIELD(ablation),
     .help = "instead: kernels with all optimisations of the compiler, without each one, and with none "
             "(minutes, where there are hundreds of shapes); the gradient pass only with --param"},
    {.name = "--rays", .kind = CLI_FLAG, .offset = FIELD(rays),
     .help = "instead: rays per second of each way of tracing rays, closest and any hits, of the camera and "
             "from where its rays hit; beside Embree, where the program is built with it (BL_EMBREE)"},
    {.name = "--wavefront", .kind = CLI_TEXT, .value = "HOW", .offset = FIELD(common.wavefront),
     .help = "beside each pass, the same in wavefront mode: walks cut into many kernels, with their "
             "states in memory, by vertex, or by vertex and kind of material (target)",
     .choices = "vertex|target"},
};
// clang-format on
const cli_command command_bench = {
    .name = "bench",
    .summary = "what passes cost here, beside a hand-written path tracer",
    .usage = "SCENE",
    .example = "backlight bench assets/cornell/scene.xml --spp 16 --device lavapipe",
    CLI_OPTIONS(options),
    .groups = CLI_ALL,
    .arguments_size = sizeof(arguments),
    .run = run,
};
