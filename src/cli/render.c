/* SPDX-License-Identifier: BSD-3-Clause
 * backlight render: an image of a scene, on request the variance of its samples, on request in passes that a
 * kill does not lose (render_passes.c). */
#include "render_passes.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct arguments {
    cli_common common;
    const char *scene, *output, *variance, *checkpoint, *curve, *events, *tev;
    uint32_t pass;
    double exposure;
    bool exposed; /* --exposure was given */
    cli_live *live;
} arguments;

static void add_chains(cJSON *json, bl_chains c)
{
    if (c.count == 0)
        return;
    cJSON *chains = cJSON_AddObjectToObject(json, "chains");
    cJSON_AddNumberToObject(chains, "count", (double)c.count);
    cJSON_AddNumberToObject(chains, "particles", (double)c.particles);
    cJSON_AddNumberToObject(chains, "steps", (double)c.steps);
    cJSON_AddNumberToObject(chains, "probes", (double)c.probes);
    cJSON_AddNumberToObject(chains, "vertices", (double)c.vertices);
    cJSON_AddNumberToObject(chains, "mean", c.mean);
    cJSON_AddNumberToObject(chains, "mean_error", c.mean_error);
    cJSON_AddNumberToObject(chains, "large_mean", c.large_mean);
    cJSON_AddNumberToObject(chains, "taken", c.taken);
    cJSON_AddNumberToObject(chains, "large_taken", c.large_taken);
}

static cJSON *stats_json(const cli_session *session, const arguments *args, const bl_job *job,
                         const bl_stats *stats, uint32_t spp)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "output", args->output);
    if (args->variance)
        cJSON_AddStringToObject(json, "variance", args->variance);
    if (args->common.denoise)
        cJSON_AddBoolToObject(json, "denoised", true);
    cJSON_AddStringToObject(json, "light_mode", session->info.mode);
    cJSON_AddStringToObject(json, "device", session->device_info.name);
    cJSON_AddStringToObject(json, "ray_backend", bl_job_rays(job));
    cJSON_AddStringToObject(json, "precision", session_doubles(session) ? "double" : "single");
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
    add_chains(json, bl_job_chains(job));
    cJSON_AddNumberToObject(json, "non_finite", (double)stats->non_finite);
    cJSON_AddNumberToObject(json, "cut", (double)stats->cut);
    cJSON_AddNumberToObject(json, "device_bytes", (double)stats->device_bytes);
    cJSON_AddNumberToObject(json, "host_peak_bytes", (double)host_peak_bytes());
    return json;
}

static void report(const cli_session *session, const arguments *args, const bl_job *job,
                   const bl_stats *stats, uint32_t spp)
{
    note_dropped(session->common, stats);
    note(session->common, "%u x %u, %u samples per pixel on %s: %s, %.2f Mpaths/s", session->info.width,
         session->info.height, spp, session->device_info.name, duration_text(stats->seconds),
         stats->device_seconds > 0 ? 1e-6 * (double)stats->paths / stats->device_seconds : 0.0);
    const bl_chains chains = bl_job_chains(job);
    if (chains.count)
        note(
            session->common,
            "%llu chains of %llu steps took %.0f %% of small and %.0f %% of large ones; mean luminance %.4g, "
            "known to %.2g %%",
            (unsigned long long)chains.count, (unsigned long long)chains.steps, 100 * chains.taken,
            100 * chains.large_taken, chains.mean,
            chains.mean > 0 ? 100 * chains.mean_error / chains.mean : 0.0);
    if (!session->common->json)
        return;
    cJSON *json = stats_json(session, args, job, stats, spp);
    print_json(json);
    cJSON_Delete(json);
}

/* What is rendered into. */
typedef struct pictures {
    float *image, *variance, *channels; /* NULL: not wanted, or there are none */
    double *doubles;                    /* the image, for a file of doubles */
} pictures;

/* Also of what has other channels: those go into EXR files alone. */
static int save_for_screens(const cli_session *session, const arguments *args, const float *image)
{
    const bl_scene_info *info = &session->info;
    float *shown = memory_or_exit(session_values(session) * sizeof *shown);
    memcpy(shown, image, session_values(session) * sizeof *shown);
    tonemap(shown, session_pixels(session), info->channels, args->exposure,
            args->curve ? args->curve : "clip");
    bl_result result =
        bl_image_write(session->ctx, args->output, info->width, info->height, info->channels, shown);
    free(shown);
    SESSION_TRY(session, result);
    return CLI_OK;
}

static int save_pictures(const cli_session *session, const arguments *args, const pictures *p)
{
    const bl_scene_info *info = &session->info;
    live_image(args->live, session, args->output, p->image);
    if (p->doubles)
        CLI_TRY(save_npy_doubles(args->output, p->doubles,
                                 (const uint32_t[]){info->height, info->width, info->channels}, 3));
    else if (args->curve || args->exposed)
        CLI_TRY(save_for_screens(session, args, p->image));
    else
        SESSION_TRY(session, bl_scene_write_image(session->scene, args->output, p->image, p->channels));
    if (p->variance)
        SESSION_TRY(session, session_write_image(session, args->variance, p->variance));
    return CLI_OK;
}

static int denoise(const cli_session *session, const pictures *p)
{
    const double begun = seconds_now();
    if (!session->common->denoise)
        return CLI_OK;
    SESSION_TRY(session, bl_scene_denoise(session->scene, p->image, p->channels));
    tell(session->common, "denoised in %s", duration_text(seconds_now() - begun));
    return CLI_OK;
}

static int render_in_passes(const cli_session *session, const arguments *args, bl_job *job,
                            const pictures *to)
{
    const uint32_t spp = bl_scene_spp(session->scene, args->common.spp);
    const cli_passes p = {.session = session,
                          .job = job,
                          .scene = args->scene,
                          .checkpoint = args->checkpoint,
                          .spp = spp,
                          .pass = args->pass ? args->pass : 16,
                          .image = to->image,
                          .channels = to->channels};
    bl_stats stats;
    uint32_t taken;
    CLI_TRY(passes_render(&p, &taken, &stats));
    if (taken)
        CLI_TRY(denoise(session, to));
    if (taken)
        CLI_TRY(save_pictures(session, args, to));
    if (taken < spp) {
        note(&args->common, "interrupted: %s has %u of %u samples; the same command goes on from %s",
             taken ? args->output : "no picture yet; the checkpoint", taken, spp, args->checkpoint);
        return CLI_FAILED;
    }
    report(session, args, job, &stats, taken);
    return passes_end(&p);
}

/* How much was done when progress was told last. */
typedef struct watched_progress {
    cli_progress bar;
    const cli_live *live;
    double done;
} watched_progress;

static bool watch(void *user, double done)
{
    watched_progress *p = user;
    p->done = done;
    cJSON *event = live_event(p->live, "progress");
    if (event)
        cJSON_AddNumberToObject(event, "done", done);
    live_send(p->live, event);
    return progress_call(&p->bar, done);
}

/* After Ctrl-C: the rows that are there, without further channels and as noisy as they are. */
static int save_part(const cli_session *session, const arguments *args, const pictures *to, double done,
                     uint32_t spp)
{
    if (done <= 0)
        return fail("interrupted: no picture yet");
    CLI_TRY(save_pictures(session, args, &(pictures){.image = to->image}));
    note(session->common,
         "interrupted: %s has %.3g of %u samples per pixel on average; what is black has none yet",
         args->output, done * spp, spp);
    return CLI_FAILED;
}

static int render(const cli_session *session, const arguments *args, bl_job *job, const pictures *to)
{
    uint32_t spp = bl_scene_spp(session->scene, args->common.spp);
    uint64_t paths = (uint64_t)session->info.width * session->info.height * spp;
    watched_progress progress = {.bar = progress_begin(&args->common, "render", paths), .live = args->live};
    bl_stats stats;
    bl_result result = bl_job_render(job,
                                     &(bl_render_desc){.spp = spp,
                                                       .seed = args->common.seed,
                                                       .variance = to->variance,
                                                       .channels = to->channels,
                                                       .doubles = to->doubles,
                                                       .progress = watch,
                                                       .user = &progress,
                                                       .partial = true},
                                     to->image, &stats);
    progress_end(&progress.bar);
    if (result == BL_ERROR_CANCELLED && interrupted())
        return save_part(session, args, to, progress.done, spp);
    SESSION_TRY(session, result);
    CLI_TRY(denoise(session, to));
    CLI_TRY(save_pictures(session, args, to));
    report(session, args, job, &stats, spp);
    return CLI_OK;
}

static int render_with(const cli_session *session, const arguments *args, bl_job *job)
{
    CLI_TRY(session_compile(session, job, args->variance ? BL_PASS_VARIANCE : BL_PASS_PRIMAL));
    const size_t values = session_values(session);
    const size_t channels = session_pixels(session) * bl_scene_channel_count(session->scene);
    const pictures to = {.image = memory_or_exit(values * sizeof(float)),
                         .variance = args->variance ? memory_or_exit(values * sizeof(float)) : NULL,
                         .channels = channels ? memory_or_exit(channels * sizeof(float)) : NULL,
                         .doubles = is_npy(args->output) ? memory_or_exit(values * sizeof(double)) : NULL};
    int status = (args->checkpoint ? render_in_passes : render)(session, args, job, &to);
    free(to.channels);
    free(to.doubles);
    free(to.image);
    free(to.variance);
    return status;
}

static int check_arguments(const arguments *args)
{
    if (args->checkpoint && args->variance)
        return usage_error("render", "--variance is of one pass alone: it does not go with --checkpoint");
    const bool doubles = args->common.precision && strcmp(args->common.precision, "double") == 0;
    if (is_npy(args->output) && (!doubles || args->checkpoint || args->common.denoise))
        return usage_error("render",
                           ".npy files are for --precision double, without --checkpoint and --denoise");
    if ((args->curve || args->exposed) && !is_display_image(args->output))
        return usage_error("render",
                           "--exposure and --tonemap are for screens: -o FILE.png or .jpg; other files keep "
                           "the light as it is");
    return CLI_OK;
}

/* What a film of bands or Stokes vectors cannot do. */
static int check_bands(const cli_session *session, const arguments *args)
{
    if (!bl_scene_band_name(session->scene, 0))
        return CLI_OK;
    if (args->curve || args->exposed)
        return fail("--exposure and --tonemap are for colours: the image of %s has other channels",
                    args->scene);
    if (!is_exr(args->output) && !is_display_image(args->output))
        return fail(
            "%s: EXR files keep the channels of such an image, .png and .jpg show three of them; give one of "
            "these names",
            args->output);
    return args->variance && !is_exr(args->variance)
               ? fail("%s: the variance of such an image goes into an EXR file", args->variance)
               : CLI_OK;
}

static int render_scene(cli_session *session, const arguments *args)
{
    CLI_TRY(check_arguments(args));
    CLI_TRY(session_open(session, &args->common, args->scene));
    CLI_TRY(check_bands(session, args));
    if (args->common.denoise)
        SESSION_TRY(session, bl_scene_denoise(session->scene, NULL, NULL));
    CLI_TRY((is_npy(args->output) ? check_writable : check_image_path)(args->output));
    if (args->variance)
        CLI_TRY(check_image_path(args->variance));
    if (args->checkpoint)
        CLI_TRY(check_writable(args->checkpoint));
    CLI_TRY(session_open_device(session));
    interrupt_install();
    bl_job *job;
    CLI_TRY(session_create_job(session, (bl_job_desc){0}, &job));
    int status = render_with(session, args, job);
    bl_job_destroy(job);
    return status;
}

/* With -o -: through a file that nobody else sees, since images are written whole. */
static int render_to_stdout(cli_session *session, arguments *args)
{
    char folder[] = "/tmp/backlight-XXXXXX";
    if (args->common.json)
        return usage_error("render", "-o - and --json both want standard output");
    if (!mkdtemp(folder))
        return fail("cannot create a folder in /tmp: %s", strerror(errno));
    char *file = text_format("%s/image.png", folder);
    args->output = file;
    int status = render_scene(session, args);
    if (is_file(file) && copy_to_stdout(file) != CLI_OK)
        status = CLI_FAILED;
    remove_file(file);
    rmdir(folder);
    free(file);
    return status;
}

static void tell_end(const arguments *args, int status)
{
    cJSON *event = live_end(args->live, status);
    if (event && status == CLI_OK)
        cJSON_AddStringToObject(event, "output", args->output);
    live_send(args->live, event);
}

static int run(void *argument)
{
    arguments *args = argument;
    cli_session session = {0};
    cli_live live = {.tev = -1};
    args->live = &live;
    int status = live_open_events(&live, args->events, false);
    if (status == CLI_OK)
        status = live_open_tev(&live, args->tev);
    if (status == CLI_OK)
        status =
            strcmp(args->output, "-") == 0 ? render_to_stdout(&session, args) : render_scene(&session, args);
    tell_end(args, status);
    live_close(&live);
    session_close(&session);
    return status;
}

// clang-format off
#define FIELD(name) offsetof(arguments, name)
static const cli_option options[] = {
    {.name = "SCENE", .kind = CLI_POSITIONAL, .offset = FIELD(scene),
     .help = "a scene of Mitsuba 3 (XML) or in glTF 2.0 (.gltf, .glb)", .required = true},
    {.name = "--output", .letter = 'o', .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(output),
     .help = "image in the film's format: .exr, .pfm, .hdr, .png or .jpg; bands of a specfilm, and channels "
             "such as alpha or those of an aov integrator, go into .exr files; -: a PNG on standard output",
     .required = true},
    {.name = "--exposure", .kind = CLI_SIGNED, .value = "STOPS", .offset = FIELD(exposure),
     .given = FIELD(exposed), .help = "of a .png or .jpg: 1 is twice as bright, -1 half (default: 0)"},
    {.name = "--tonemap", .kind = CLI_TEXT, .value = "CURVE", .offset = FIELD(curve),
     .help = "how a .png or .jpg shows what is brighter than white: clip (the default), filmic (Hable), aces "
             "(Narkowicz's fit), agx (Sobotka)", .choices = "clip|filmic|aces|agx"},
    {.name = "--denoise", .kind = CLI_FLAG, .offset = FIELD(common.denoise),
     .help = "without its noise, by Open Image Denoise 2 where it is installed or where BL_OIDN names "
             "its folder; biased, for looking"},
    {.name = "--variance", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(variance),
     .help = "also the variance of one sample, per pixel and channel"},
    {.name = "--checkpoint", .kind = CLI_TEXT, .value = "FILE", .offset = FIELD(checkpoint),
     .help = "render in passes, and keep what there is in FILE: killed or interrupted, the same command goes "
             "on and ends in the same bytes; Ctrl-C also writes the image so far. FILE is removed at the "
             "end"},
    CLI_LIVE_OPTIONS(FIELD(events), FIELD(tev)),
    {.name = "--pass", .kind = CLI_COUNT, .value = "N", .offset = FIELD(pass),
     .help = "samples of a pass with --checkpoint (default: 16)"},
    {.name = "--guide", .kind = CLI_COUNT, .value = "N", .offset = FIELD(common.guide),
     .help = "learn from N samples per pixel where light comes from, and sample by that, too: for light that "
             "few paths find ('--guide 64')"},
    {.name = "--wavefront", .kind = CLI_TEXT, .value = "HOW", .offset = FIELD(common.wavefront),
     .help = "walks as many kernels, for comparison: cut by vertex, or by vertex and kind of "
             "material (target)",
     .choices = "vertex|target"},
    {.name = "--precision", .kind = CLI_TEXT, .value = "HOW", .offset = FIELD(common.precision),
     .help = "what kernels compute in: single (the default), or double, for references (native, "
             "lavapipe); -o FILE.npy keeps it, as float64",
     .choices = "single|double"},
};
// clang-format on
const cli_command command_render = {
    .name = "render",
    .summary = "an image of a scene",
    .usage = "SCENE -o FILE",
    .example = "backlight render assets/cornell/scene.xml -o cornell.png --spp 64",
    CLI_OPTIONS(options),
    .groups = CLI_SCENE | CLI_SAMPLES | CLI_DEVICE,
    .arguments_size = sizeof(arguments),
    .run = run,
};
