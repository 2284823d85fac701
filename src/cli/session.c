/* SPDX-License-Identifier: BSD-3-Clause
 * What every command opens: context, scene, device. The scene comes before the device, so
 * that what is wrong with the input is said without waiting for a driver. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int session_fail(const cli_session *session, bl_result result)
{
    const char *text = session->ctx ? bl_context_error(session->ctx) : "";
    return fail("%s", *text ? text : bl_result_text(result));
}

static void print_log(void *user, const char *message)
{
    (void)user;
    fprintf(stderr, "%s\n", message);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value && strcmp(value, "0") != 0;
}

/* bl_user_cache, to be freed with free(); NULL: the user has no cache. */
static char *cache_folder(const char *part)
{
    size_t length = bl_user_cache(part, NULL, 0);
    char *path = length ? memory_or_exit(length + 1) : NULL;
    if (path)
        bl_user_cache(part, path, length + 1);
    return path;
}

/* lavapipe runs gathers best at 128 bits, and reads the width when it is loaded. Its shader cache does not
 * know the width, so the width comes with a cache of its own. A user who has set either variable keeps
 * both as they are. */
static void prepare_lavapipe(void)
{
    if (getenv("LP_NATIVE_VECTOR_WIDTH") || getenv("MESA_SHADER_CACHE_DIR"))
        return;
    char *folder = cache_folder("mesa-128");
    if (!folder)
        return;
    setenv("LP_NATIVE_VECTOR_WIDTH", "128", 0);
    setenv("MESA_SHADER_CACHE_DIR", folder, 0);
    free(folder);
}

/* The common options as a descriptor; keys and values point into one copy, which *storage receives. */
static bl_scene_desc scene_desc(const cli_common *common, bl_define **defines, char ***storage,
                                bl_limits *limits)
{
    uint32_t count = common->defines.count;
    *defines = memory_or_exit((count + 1) * sizeof **defines);
    *storage = memory_or_exit((count + 1) * sizeof **storage);
    for (uint32_t i = 0; i < count; i++) {
        char *key = text_format("%s", common->defines.items[i]), *equals = strchr(key, '=');
        *equals = 0;
        (*storage)[i] = key;
        (*defines)[i] = (bl_define){.key = key, .value = equals + 1};
    }
    uint32_t lights = common->lights ? 0 : BL_LIGHTS_AUTO;
    for (uint32_t i = 0; i < common->limits.count; i++)
        limit_set(limits, common->limits.items[i]); /* options.c has checked them */
    while (common->lights &&
           strcmp(common->lights, bl_light_choice_name(lights)) != 0) /* options.c allows these names alone */
        lights++;
    uint32_t edges = 0;
    while (common->edges && strcmp(common->edges, bl_edges_name(edges)) != 0)
        edges++;
    return (bl_scene_desc){
        .defines = *defines,
        .define_count = count,
        .untrusted = common->untrusted,
        .roots = common->roots.items,
        .root_count = common->roots.count,
        .mode = common->mode,
        .sampler = common->sampler && strcmp(common->sampler, "scene") != 0 ? common->sampler : NULL,
        .integrator = common->integrator,
        .silhouette = common->silhouette,
        .max_depth = common->max_depth,
        .sensor = common->sensor,
        .guides = common->denoise,
        .lights = lights,
        .edges = edges,
        .limits = limits,
    };
}

/* Which mode is in use, where it is not the usual one, and who says so. */
static void note_mode(const cli_session *session)
{
    const char *mode = session->info.mode, *file = session->info.file_mode;
    if (file && session->common->mode && strcmp(file, session->common->mode) != 0)
        note(session->common, "mode %s, as asked for; the scene says %s", mode, file);
    else if (file || strcmp(mode, "rgb") != 0)
        note(session->common, "mode %s%s", mode, file && !session->common->mode ? ", as the scene says" : "");
}

static void free_defines(bl_define *defines, char **storage)
{
    for (uint32_t i = 0; storage[i]; i++)
        free(storage[i]);
    free(storage);
    free(defines);
}

int session_convert(cli_session *session, const char *path, const char *output, char **notes)
{
    bl_define *defines;
    char **storage;
    bl_limits limits = {0};
    bl_scene_desc desc = scene_desc(session->common, &defines, &storage, &limits);
    bl_result result = bl_scene_convert(session->ctx, path, &desc, output, notes);
    free_defines(defines, storage);
    SESSION_TRY(session, result);
    return CLI_OK;
}

static int load_scene(cli_session *session, const char *path)
{
    bl_define *defines;
    char **storage;
    bl_limits limits = {0};
    bl_scene_desc desc = scene_desc(session->common, &defines, &storage, &limits);
    bl_result result = bl_scene_load(session->ctx, path, &desc, &session->scene);
    free_defines(defines, storage);
    SESSION_TRY(session, result);
    SESSION_TRY(session, bl_scene_info_get(session->scene, &session->info));
    const char *warnings = bl_scene_warnings(session->scene);
    size_t length = strlen(warnings);
    while (length > 0 && warnings[length - 1] == '\n')
        length--;
    if (length > 0)
        note(session->common, "%.*s", (int)length, warnings);
    note_mode(session);
    uint32_t spp = session->common->spp, taken = bl_scene_spp(session->scene, spp);
    if (spp && taken != spp)
        note(session->common, "the scene's sampler takes %u samples per pixel instead of %u", taken, spp);
    return CLI_OK;
}

static int choose_rays(cli_session *session)
{
    const char *option = session->common->ray_backend, *name = option ? option : getenv("BL_RAY_BACKEND");
    if (!name || !*name)
        session->rays = BL_RAYS_AUTO;
    else if (!strcmp(name, "bvh"))
        session->rays = BL_RAYS_BVH;
    else if (!strcmp(name, "query"))
        session->rays = BL_RAYS_QUERY;
    else {
        fprintf(stderr, "backlight: BL_RAY_BACKEND: '%s' is not one of bvh|query\n", name);
        return CLI_USAGE;
    }
    return CLI_OK;
}

int session_open(cli_session *session, const cli_common *common, const char *scene)
{
    *session = (cli_session){.common = common};
    CLI_TRY(choose_rays(session));
    if (common->no_cache) /* Mesa's drivers have one of their own, and read this when they are loaded */
        setenv("MESA_SHADER_CACHE_DISABLE", "true", 0);
    prepare_lavapipe();
    bool validation = is_set("BL_VALIDATION");
    /* How devices were looked for interests `backlight devices` alone. */
    char *cache = common->no_cache ? NULL : cache_folder("kernels");
    bl_context_desc desc = {.validation = validation,
                            .log = validation || !scene || common->verbose ? print_log : NULL,
                            .cache = cache,
                            .untrusted = common->untrusted};
    bl_result result = bl_context_create(&desc, &session->ctx);
    free(cache);
    SESSION_TRY(session, result);
    const double begun = seconds_now();
    if (scene)
        CLI_TRY(load_scene(session, scene));
    if (scene)
        tell(common, "scene: %s, %u parameters, read in %s", scene, bl_scene_parameter_count(session->scene),
             duration_text(seconds_now() - begun));
    return CLI_OK;
}

int session_open_files(cli_session *session, const cli_common *common)
{
    *session = (cli_session){.common = common};
    SESSION_TRY(session, bl_context_create(&(bl_context_desc){.no_devices = true}, &session->ctx));
    return CLI_OK;
}

int session_open_device(cli_session *session)
{
    const char *name = session->common->device ? session->common->device : getenv("BL_DEVICE");
    name = name && *name ? name : NULL;
    SESSION_TRY(session, session->common->compile_only
                             ? bl_device_create_compiler(session->ctx, name, &session->device)
                             : bl_device_create(session->ctx, name, &session->device));
    SESSION_TRY(session, bl_device_info_get(session->device, &session->device_info));
    tell(session->common, "device: %s, driver %s", session->device_info.name, session->device_info.driver);
    return CLI_OK;
}

bl_volume_gradient session_volume_gradient(const cli_session *session)
{
    bl_volume_gradient how = BL_VOLUME_GRADIENT_AUTO;
    while (session->common->volume_gradient &&
           strcmp(session->common->volume_gradient, bl_volume_gradient_name(how)) != 0)
        how++; /* options.c allows these names alone */
    return how;
}

bl_wavefront session_wavefront(const cli_session *session)
{
    bl_wavefront how = BL_WAVEFRONT_NONE;
    while (session->common->wavefront && strcmp(session->common->wavefront, bl_wavefront_name(how)) != 0)
        how++; /* commands allow these names alone */
    return how;
}

bool session_doubles(const cli_session *session)
{
    const char *precision = session->common->precision;
    return precision && strcmp(precision, bl_precision_name(BL_PRECISION_DOUBLE)) == 0;
}

bl_result session_read_gradient(const cli_session *session, bl_job *job, uint32_t k, uint32_t count,
                                double *values)
{
    if (session_doubles(session))
        return bl_job_read_gradient_doubles(job, k, values);
    float *singles = memory_or_exit(count * sizeof *singles);
    bl_result result = bl_job_read_gradient(job, k, singles);
    for (uint32_t i = 0; i < count && result == BL_OK; i++)
        values[i] = (double)singles[i];
    free(singles);
    return result;
}

int session_create_job(const cli_session *session, bl_job_desc desc, bl_job **job)
{
    desc.no_baking = session->common->no_baking, desc.rays = session->rays,
    desc.volume_gradient = session_volume_gradient(session), desc.wavefront = session_wavefront(session),
    desc.guide = session->common->guide;
    desc.precision = session_doubles(session) ? BL_PRECISION_DOUBLE : BL_PRECISION_SINGLE;
    SESSION_TRY(session, bl_job_create(session->device, session->scene, &desc, job));
    return CLI_OK;
}

int session_compile(const cli_session *session, bl_job *job, bl_pass pass)
{
    const double begun = seconds_now();
    bl_result result = BL_OK;
    for (uint32_t part = 0; interrupt_may_end(true) && result == BL_OK && bl_job_part_name(job, pass, part);
         part++) {
        result = bl_job_show_part(job, part);
        if (result == BL_OK && bl_job_has_pass(job, pass))
            result = bl_job_compile(job, pass, NULL);
    }
    interrupt_may_end(false);
    tell(session->common, "kernels: %s", duration_text(seconds_now() - begun));
    SESSION_TRY(session, result);
    return CLI_OK;
}

void session_close(cli_session *session)
{
    bl_device_destroy(session->device);
    bl_scene_destroy(session->scene);
    if (session->ctx)
        bl_context_destroy(session->ctx);
    *session = (cli_session){0};
}

size_t session_pixels(const cli_session *session)
{
    return (size_t)session->info.width * session->info.height;
}

size_t session_values(const cli_session *session) { return session_pixels(session) * session->info.channels; }

float luminance(const float *rgb) /* a grey stays exactly that grey */
{
    return rgb[1] + (0.212671f * (rgb[0] - rgb[1]) + 0.072169f * (rgb[2] - rgb[1]));
}

static bool is_pattern(const char *name) { return strpbrk(name, "*?") != NULL; }

static bool is_among(const char *const *names, uint32_t count, const char *name)
{
    bool among = false;
    for (uint32_t k = 0; k < count; k++)
        among |= strcmp(names[k], name) == 0;
    return among;
}

/* Appends what a pattern matches and is not there yet: parameters that have gradients, but not those of which
 * others say the same in better numbers (only_listed). */
static int add_matches(const cli_session *session, const char *pattern, const char **names, uint32_t *count)
{
    bool some = false;
    for (uint32_t i = 0; i < bl_scene_parameter_count(session->scene); i++) {
        bl_parameter_info info;
        SESSION_TRY(session, bl_scene_parameter_info(session->scene, i, &info));
        if (!info.differentiable || info.only_listed || !text_matches(pattern, info.name))
            continue;
        some = true;
        if (!is_among(names, *count, info.name))
            names[(*count)++] = info.name;
    }
    return some ? CLI_OK
                : fail("\"%s\" matches no parameter that has a gradient; \"backlight params\" lists them",
                       pattern);
}

int session_choose_parameters(const cli_session *session, const cli_names *asked, const char ***names,
                              uint32_t *count)
{
    uint32_t all = bl_scene_parameter_count(session->scene);
    *names = memory_or_exit(((size_t)all + asked->count + 1) * sizeof **names);
    *count = 0;
    for (uint32_t i = 0; i < all && asked->count == 0; i++) {
        bl_parameter_info info;
        SESSION_TRY(session, bl_scene_parameter_info(session->scene, i, &info));
        if (info.differentiable && !info.geometry)
            (*names)[(*count)++] = info.name;
    }
    for (uint32_t i = 0; i < asked->count; i++)
        if (!is_pattern(asked->items[i]))
            (*names)[(*count)++] = asked->items[i];
        else
            CLI_TRY(add_matches(session, asked->items[i], *names, count));
    return CLI_OK;
}

int session_expand_names(const cli_session *session, cli_names *names)
{
    cli_names expanded;
    int status = session_choose_parameters(session, names, &expanded.items, &expanded.count);
    free(names->items);
    *names = expanded;
    return status;
}

static int check_parameter(const cli_session *session, const cli_parameter *p)
{
    CLI_TRY(check_file_name(p->info.name));
    if (!p->info.differentiable)
        return fail("%s has no gradient%s%s", p->info.name, p->info.reason ? ": " : "",
                    p->info.reason ? p->info.reason : "");
    if (!p->info.reason)
        return CLI_OK;
    return session->common->strict
               ? fail("the gradient of %s is incomplete: %s (an error because of --strict)", p->info.name,
                      p->info.reason)
               : CLI_OK;
}

/* Names of those parameters from k on that have the reason of k; none, if an earlier one has it. */
static char *names_with_reason(const cli_parameter *p, uint32_t count, uint32_t k)
{
    char *names = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!p[i].info.reason || strcmp(p[i].info.reason, p[k].info.reason) != 0)
            continue;
        if (i < k)
            return NULL;
        char *longer = text_format("%s%s%s", names ? names : "", names ? ", " : "", p[i].info.name);
        free(names);
        names = longer;
    }
    return names;
}

char *session_incomplete(const cli_parameter *p, uint32_t count)
{
    char *all = NULL;
    for (uint32_t k = 0; k < count; k++) {
        char *names = p[k].info.reason ? names_with_reason(p, count, k) : NULL;
        if (!names)
            continue;
        char *longer = text_format("%s%s%s: %s", all ? all : "", all ? "; " : "", names, p[k].info.reason);
        free(names);
        free(all);
        all = longer;
    }
    return all;
}

void session_warn_incomplete(const cli_session *session, const cli_parameter *p, uint32_t count)
{
    char *what = session_incomplete(p, count);
    if (what)
        note(session->common, "warning: incomplete gradients: %s", what);
    free(what);
}

static int find_parameter(const cli_session *session, const char *const *names, uint32_t i,
                          cli_parameter *out)
{
    SESSION_TRY(session, bl_scene_find_parameter(session->scene, names[i], &out[i].index));
    SESSION_TRY(session, bl_scene_parameter_info(session->scene, out[i].index, &out[i].info));
    out[i].info.name = names[i]; /* files and keys are called as the user does, be it by path */
    for (uint32_t k = 0; k < i; k++)
        if (out[k].index == out[i].index)
            return fail("%s is named twice", names[i]);
    return check_parameter(session, &out[i]);
}

int session_find_parameters(const cli_session *session, const char *const *names, uint32_t count,
                            cli_parameter *out)
{
    int status = CLI_OK;
    for (uint32_t i = 0; i < count; i++) /* all that is wrong is said at once */
        if (find_parameter(session, names, i, out) != CLI_OK)
            status = CLI_FAILED;
    return status;
}

int session_read_image(const cli_session *session, const char *path, float **pixels)
{
    *pixels = memory_or_exit(session_values(session) * sizeof **pixels);
    bl_result r = bl_scene_read_image(session->scene, path, *pixels);
    if (r != BL_OK)
        free(*pixels), *pixels = NULL;
    SESSION_TRY(session, r);
    return CLI_OK;
}

int session_read_pixels(const cli_session *session, const char *path, float **pixels)
{
    const bl_scene_info *info = &session->info;
    return is_npy(path)
               ? load_npy_image(path, (const uint32_t[]){info->height, info->width, info->channels}, pixels)
               : session_read_image(session, path, pixels);
}

bl_result session_write_image(const cli_session *session, const char *path, const float *image)
{
    const bl_scene_info *info = &session->info;
    return bl_scene_band_name(session->scene, 0)
               ? bl_scene_write_image(session->scene, path, image, NULL)
               : bl_image_write(session->ctx, path, info->width, info->height, info->channels, image);
}

bool find_loss(const char *name, bl_loss *loss)
{
    for (bl_loss l = 0; bl_loss_info_get(l).name; l++)
        if (!strcmp(bl_loss_info_get(l).name, name)) {
            *loss = l;
            return true;
        }
    return false;
}
