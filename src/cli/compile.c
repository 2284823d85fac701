/* SPDX-License-Identifier: BSD-3-Clause
 * backlight compile: makes the kernels of a scene, or of a fit job, and runs none of them. For each it tells
 * sizes, times, and what the driver's compiler says about registers, memory of lanes and occupancy. The
 * device holds no memory, so a driver without hardware behind it will do. */
#include "fit_job.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    cli_common common;
    const char *input, *spirv;
    cli_names parameters, passes;
} arguments;

typedef struct compiling {
    const arguments *args;
    cli_session *session;
    bl_job *job;
    fit_job fit; /* scene NULL: the input is no fit job */
    cJSON *kernels;
} compiling;

/* ---- which ---- */

static const char *pass_name(uint32_t k) { return bl_pass_info_get((bl_pass)k).name; }

/* Passes that images, gradients and fits do not run are made when they are asked for. */
static bool is_extra(bl_pass pass)
{
    static const bl_pass extra[] = {BL_PASS_VARIANCE,
                                    BL_PASS_FROZEN,
                                    BL_PASS_FORWARD,
                                    BL_PASS_UPDATE_TANGENT,
                                    BL_PASS_CAMERA_RAYS,
                                    BL_PASS_RAYS,
                                    BL_PASS_RAYS_ANY,
                                    BL_PASS_EDGES_SEEN_FORWARD,
                                    BL_PASS_EDGES_PATH_FORWARD,
                                    BL_PASS_EDGES_LIT_FORWARD,
                                    BL_PASS_GEOMETRY_TANGENT};
    for (size_t k = 0; k < sizeof extra / sizeof *extra; k++)
        if (extra[k] == pass)
            return true;
    return false;
}

static bool is_named(const compiling *c, bl_pass pass)
{
    for (uint32_t k = 0; k < c->args->passes.count; k++)
        if (strcmp(c->args->passes.items[k], pass_name(pass)) == 0)
            return true;
    return false;
}

static int check_passes(const arguments *args)
{
    for (uint32_t i = 0; i < args->passes.count; i++) {
        uint32_t k = 0;
        while (pass_name(k) && strcmp(args->passes.items[i], pass_name(k)) != 0)
            k++;
        if (!pass_name(k))
            return usage_error("compile", "--pass: there is no pass '%s'; `backlight ir --help` lists them",
                               args->passes.items[i]);
    }
    return CLI_OK;
}

/* ---- what is told ---- */

static void add_kernel(compiling *c, const char *name, const bl_kernel_info *info, cJSON *statistics)
{
    cJSON *kernel = cJSON_CreateObject();
    cJSON_AddStringToObject(kernel, "kernel", name);
    cJSON_AddNumberToObject(kernel, "words", (double)info->spirv_words);
    cJSON_AddNumberToObject(kernel, "ops", info->ops);
    cJSON_AddNumberToObject(kernel, "functions", info->functions);
    cJSON_AddNumberToObject(kernel, "own_seconds",
                            info->trace_seconds + info->optimise_seconds + info->generate_seconds);
    cJSON_AddNumberToObject(kernel, "driver_seconds", info->driver_seconds);
    cJSON_AddItemToObject(kernel, "statistics", statistics);
    cJSON_AddItemToArray(c->kernels, kernel);
}

/* name: of the pass and, in a split job, of its part. */
static int compile_pass(compiling *c, bl_pass pass, const char *name)
{
    bl_kernel_info info;
    note(c->session->common, "compiling %s", name);
    SESSION_TRY(c->session, bl_job_compile(c->job, pass, &info));
    cJSON *statistics = cJSON_CreateObject();
    const char *number;
    double value;
    for (uint32_t k = 0; bl_job_kernel_statistic(c->job, pass, k, &number, &value); k++)
        cJSON_AddNumberToObject(statistics, number, value);
    add_kernel(c, name, &info, statistics);
    return CLI_OK;
}

static int save_spirv(const compiling *c, bl_pass pass, const char *name)
{
    uint32_t *words;
    size_t count;
    SESSION_TRY(c->session, bl_job_spirv(c->job, pass, &words, &count));
    char *path = text_format("%s/%s.spv", c->args->spirv, name);
    int status = save_file(path, words, count * sizeof *words);
    free(path);
    free(words);
    return status;
}

/* The kernel of one part of a pass. */
static int compile_part(compiling *c, bl_pass pass, uint32_t part)
{
    const char *of = bl_job_part_name(c->job, pass, part);
    const bool named = c->args->passes.count;
    SESSION_TRY(c->session, bl_job_show_part(c->job, part));
    if (named ? !is_named(c, pass) : is_extra(pass))
        return CLI_OK;
    if ((!named || *of) && !bl_job_has_pass(c->job, pass))
        return CLI_OK;
    char *name = text_format("%s%s%s", pass_name(pass), *of ? "-" : "", of);
    int status = c->args->spirv ? save_spirv(c, pass, name) : CLI_OK;
    if (status == CLI_OK)
        status = compile_pass(c, pass, name);
    free(name);
    return status;
}

static int compile_passes(compiling *c)
{
    for (bl_pass pass = 0; pass < BL_PASS_COUNT; pass++)
        for (uint32_t part = 0; bl_job_part_name(c->job, pass, part); part++)
            CLI_TRY(compile_part(c, pass, part));
    return CLI_OK;
}

static int compile_fixed(compiling *c)
{
    for (uint32_t k = 0;; k++) {
        const char *name;
        bl_kernel_info info;
        SESSION_TRY(c->session, bl_device_compile_fixed(c->session->device, k, &name, &info));
        if (!name)
            return CLI_OK;
        char *full = text_format("fixed %s", name);
        add_kernel(c, full, &info, cJSON_CreateObject());
        free(full);
    }
}

/* Numbers of drivers that have a column of their own, where a kernel has them. */
static const struct {
    const char *name, *heading;
} columns[] = {{"VGPRs", "VGPRs"},
               {"SGPRs", "SGPRs"},
               {"Spilled VGPRs", "spilled"},
               {"Scratch size", "scratch B"},
               {"Subgroups per SIMD", "waves"},
               {"Code size", "code B"},
               {"Workspace size", "workspace B"}};
enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return item ? item->valuedouble : 0;
}

static void print_table(const compiling *c)
{
    bool shown[COLUMN_COUNT] = {false};
    const cJSON *kernel;
    cJSON_ArrayForEach(kernel, c->kernels) for (int k = 0; k < COLUMN_COUNT; k++) shown[k] |=
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItem(kernel, "statistics"), columns[k].name) != NULL;
    printf("%s on %s (%s), rays: %s\n\n%-24s %9s %8s %8s %9s", c->args->input, c->session->device_info.name,
           c->session->device_info.driver, bl_job_rays(c->job), "kernel", "words", "ops", "own s",
           "driver s");
    for (int k = 0; k < COLUMN_COUNT; k++)
        if (shown[k])
            printf(" %11s", columns[k].heading);
    printf("\n");
    cJSON_ArrayForEach(kernel, c->kernels)
    {
        const cJSON *statistics = cJSON_GetObjectItem(kernel, "statistics");
        printf("%-24s %9.0f %8.0f %8.3f %9.3f", cJSON_GetObjectItem(kernel, "kernel")->valuestring,
               number(kernel, "words"), number(kernel, "ops"), number(kernel, "own_seconds"),
               number(kernel, "driver_seconds"));
        for (int k = 0; k < COLUMN_COUNT; k++) {
            const cJSON *item = cJSON_GetObjectItemCaseSensitive(statistics, columns[k].name);
            if (shown[k] && item)
                printf(" %11.0f", item->valuedouble);
            else if (shown[k])
                printf(" %11s", "-");
        }
        printf("\n");
    }
}

static void report(compiling *c)
{
    if (!c->session->common->json) {
        print_table(c);
        return;
    }
    cJSON *json = cJSON_CreateObject();
    json_add_origin(json, c->session, c->args->input);
    cJSON_AddStringToObject(json, "ray_backend", bl_job_rays(c->job));
    cJSON_AddItemReferenceToObject(json, "kernels", c->kernels);
    print_json(json);
    cJSON_Delete(json);
}

/* ---- the command ---- */

static bool is_fit_job(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

static int create_job(compiling *c)
{
    cli_names asked = c->args->parameters;
    const char **of_fit = memory_or_exit((c->fit.parameter_count + 1) * sizeof *of_fit), **names;
    for (uint32_t k = 0; k < c->fit.parameter_count; k++)
        of_fit[k] = c->fit.parameters[k].name;
    if (c->fit.scene && !asked.count)
        asked = (cli_names){of_fit, c->fit.parameter_count};
    bl_job_desc desc = {.sensor_moves = c->fit.several, .pixels = c->fit.pixels};
    int status = session_choose_parameters(c->session, &asked, &names, &desc.parameter_count);
    desc.parameters = names;
    if (status == CLI_OK)
        status = session_create_job(c->session, desc, &c->job);
    free(names);
    free(of_fit);
    return status;
}

static int compile(compiling *c, arguments *args)
{
    CLI_TRY(check_passes(args));
    if (is_fit_job(args->input)) {
        CLI_TRY(fit_job_read(args->input, &c->fit));
        fit_job_merge(&c->fit, &args->common);
    } else if (!args->common.sampler && args->parameters.count)
        args->common.sampler = "auto"; /* as in grad */
    args->common.compile_only = true;
    args->common.no_cache = true; /* else the driver's time would be that of a file read */
    CLI_TRY(session_open(c->session, &args->common, c->fit.scene ? c->fit.scene : args->input));
    CLI_TRY(session_open_device(c->session));
    if (args->spirv)
        CLI_TRY(make_folder(args->spirv));
    CLI_TRY(create_job(c));
    interrupt_may_end(true);
    CLI_TRY(compile_passes(c));
    if (c->fit.scene)
        CLI_TRY(compile_fixed(c));
    report(c);
    return CLI_OK;
}

static int run(void *argument)
{
    cli_session session = {0};
    compiling c = {.args = argument, .session = &session, .kernels = cJSON_CreateArray()};
    int status = compile(&c, argument);
    cJSON_Delete(c.kernels);
    bl_job_destroy(c.job);
    session_close(&session);
    fit_job_free(&c.fit);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "SCENE|JOB", .kind = CLI_POSITIONAL, .offset = FIELD(input),
     .help = "a scene of Mitsuba 3 (XML) or in glTF 2.0 (.gltf, .glb), or a fit job (.json), of which "
             "also the kernels that all fits share",
     .required = true},
    {.name = "--param", .kind = CLI_NAMES, .value = "NAME", .offset = FIELD(parameters),
     .help = "parameters of the gradients (default: the job's; of a scene all that have gradients, without "
             "geometry)"},
    {.name = "--pass", .kind = CLI_NAMES, .value = "PASS", .offset = FIELD(passes),
     .help = "only these kernels, named as in `backlight ir` (default: those of images and gradients in "
             "their forms)"},
    {.name = "--spirv", .kind = CLI_TEXT, .value = "DIR", .offset = FIELD(spirv),
     .help = "also write the modules, as DIR/PASS.spv"},
};
// clang-format on
const cli_command command_compile = {
    .name = "compile",
    .summary = "the kernels of a scene or job, and what the driver's compiler makes of them; runs nothing",
    .usage = "SCENE|JOB",
    .example = "backlight compile assets/cornell/scene.xml --param white.reflectance.value\n"
               "  RADV_FORCE_FAMILY=navi31 VK_DRIVER_FILES=build/radv/radeon_icd.json backlight compile "
               "assets/demo/fit.json --device RADV --json",
    CLI_OPTIONS(options),
    .groups = CLI_SCENE | CLI_GRADIENTS | CLI_DEVICE,
    .arguments_size = sizeof(arguments),
    .run = run,
};
