/* SPDX-License-Identifier: BSD-3-Clause
 * backlight render: an image of a scene, and on request the variance of its samples. */
#include "cli.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct arguments {
    cli_common common;
    const char *scene, *output, *variance;
} arguments;

static cJSON *stats_json(const cli_session *session, const bl_job *job, const bl_stats *stats, uint32_t spp)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "device", session->device_info.name);
    cJSON_AddStringToObject(json, "ray_backend", bl_job_rays(job));
    cJSON_AddNumberToObject(json, "width", session->info.width);
    cJSON_AddNumberToObject(json, "height", session->info.height);
    cJSON_AddNumberToObject(json, "spp", spp);
    cJSON_AddNumberToObject(json, "seed", session->common->seed);
    cJSON_AddNumberToObject(json, "seconds", stats->seconds);
    cJSON_AddNumberToObject(json, "device_seconds", stats->device_seconds);
    cJSON_AddNumberToObject(json, "compile_seconds", bl_device_stats_get(session->device).compile_seconds);
    cJSON_AddNumberToObject(json, "paths", (double)stats->paths);
    double busy = stats->device_seconds > 0 ? stats->device_seconds : stats->seconds;
    cJSON_AddNumberToObject(json, "paths_per_second", busy > 0 ? (double)stats->paths / busy : 0);
    cJSON_AddNumberToObject(json, "slices", (double)stats->slices);
    cJSON_AddNumberToObject(json, "non_finite", (double)stats->non_finite);
    cJSON_AddNumberToObject(json, "device_bytes", (double)stats->device_bytes);
    cJSON_AddNumberToObject(json, "host_peak_bytes", (double)host_peak_bytes());
    return json;
}

static void report(const cli_session *session, const bl_job *job, const bl_stats *stats, uint32_t spp)
{
    if (stats->non_finite)
        note(session->common, "warning: %llu samples were not finite and were dropped",
             (unsigned long long)stats->non_finite);
    note(session->common, "%u x %u, %u samples per pixel on %s: %s, %.2f Mpaths/s", session->info.width,
         session->info.height, spp, session->device_info.name, duration_text(stats->seconds),
         stats->device_seconds > 0 ? 1e-6 * (double)stats->paths / stats->device_seconds : 0.0);
    if (!session->common->json)
        return;
    cJSON *json = stats_json(session, job, stats, spp);
    print_json(json);
    cJSON_Delete(json);
}

static int render(const cli_session *session, const arguments *args, bl_job *job, float *image,
                  float *variance, float *channels)
{
    uint32_t spp = bl_scene_spp(session->scene, args->common.spp);
    uint64_t paths = (uint64_t)session->info.width * session->info.height * spp;
    cli_progress progress = progress_begin(&args->common, "render", paths);
    bl_stats stats;
    bl_result result = bl_job_render(job,
                                     &(bl_render_desc){.spp = spp,
                                                       .seed = args->common.seed,
                                                       .variance = variance,
                                                       .channels = channels,
                                                       .progress = progress_call,
                                                       .user = &progress},
                                     image, &stats);
    progress_end(&progress);
    SESSION_TRY(session, result);
    uint32_t width = session->info.width, height = session->info.height;
    SESSION_TRY(session, bl_scene_write_image(session->scene, args->output, image, channels));
    if (variance)
        SESSION_TRY(session, bl_image_write(session->ctx, args->variance, width, height, 3, variance));
    report(session, job, &stats, spp);
    return CLI_OK;
}

static int render_scene(cli_session *session, const arguments *args)
{
    CLI_TRY(session_open(session, &args->common, args->scene));
    CLI_TRY(check_image_path(args->output));
    if (args->variance)
        CLI_TRY(check_image_path(args->variance));
    CLI_TRY(session_open_device(session));
    interrupt_install();
    bl_job *job;
    CLI_TRY(session_create_job(session, (bl_job_desc){0}, &job));
    float *image = memory_or_exit(session_values(session) * sizeof *image);
    float *variance = args->variance ? memory_or_exit(session_values(session) * sizeof *variance) : NULL;
    size_t channel_count = session_values(session) / 3 * bl_scene_channel_count(session->scene);
    float *channels = channel_count ? memory_or_exit(channel_count * sizeof *channels) : NULL;
    int status = render(session, args, job, image, variance, channels);
    free(channels);
    free(image);
    free(variance);
    bl_job_destroy(job);
    return status;
}

static int run(void *argument)
{
    cli_session session;
    int status = render_scene(&session, argument);
    session_close(&session);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "SCENE", .kind = CLI_POSITIONAL, .offset = FIELD(scene),
     .help = "a Mitsuba 3 scene (XML)", .required = true},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(output),
     .help = "image in the film's format: .exr, .pfm, .hdr or .png; channels such as alpha or those of an "
             "aov integrator go into .exr files", .required = true},
    {.name = "--variance", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(variance),
     .help = "also the variance of one sample, per pixel and channel"},
};
// clang-format on
const cli_command command_render = {
    .name = "render",
    .summary = "an image of a scene",
    .usage = "SCENE -o FILE",
    .example = "backlight render assets/cornell/scene.xml -o cornell.png --spp 64",
    CLI_OPTIONS(options),
    .arguments_size = sizeof(arguments),
    .run = run,
};
