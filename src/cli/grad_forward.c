/* SPDX-License-Identifier: BSD-3-Clause
 * backlight grad --forward: the derivative of the image along one direction of parameter space. DIR/NAME.exr
 * and, as a blue-white-red picture, DIR/NAME.png; "direction" is the name where several parameters move at
 * once. DIR/summary.json last. */
#include "cli.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    cli_session *session;
    const cli_forward *args;
    uint32_t count; /* parameters */
    char **names;
    double *moves; /* per parameter: V of NAME=V */
    cli_parameter *parameters;
    float **tangents; /* per parameter, its values */
    float *image;
    bl_job *job;
    bl_stats stats;
    uint32_t spp;
    double start;
} work;

/* ---- the direction ---- */

static int split_name(work *w, uint32_t k)
{
    const char *text = w->args->parameters->items[k], *equals = strchr(text, '=');
    w->names[k] = equals ? text_format("%.*s", (int)(equals - text), text) : text_format("%s", text);
    w->moves[k] = 1;
    if (!equals)
        return CLI_OK;
    char *end;
    w->moves[k] = strtod(equals + 1, &end);
    if (end == equals + 1 || *end || !isfinite(w->moves[k]))
        return usage_error("grad", "--forward: '%s' is not a number in '%s'", equals + 1, text);
    if (w->args->tangents->count > 0)
        return usage_error("grad", "--forward: '%s' says how %s moves, and so does --tangent", text,
                           w->names[k]);
    return CLI_OK;
}

static int read_tangent(work *w, uint32_t k)
{
    uint32_t count = w->parameters[k].info.count;
    if (w->args->tangents->count > 0) {
        CLI_TRY(load_npy(w->args->tangents->items[k], count, &w->tangents[k]));
        for (uint32_t i = 0; i < count; i++)
            if (!isfinite(w->tangents[k][i]))
                return fail("%s: entry %u is not finite", w->args->tangents->items[k], i);
        return CLI_OK;
    }
    w->tangents[k] = memory_or_exit(count * sizeof **w->tangents);
    for (uint32_t i = 0; i < count; i++)
        w->tangents[k][i] = (float)w->moves[k];
    return CLI_OK;
}

/* ---- the order of things: input, device, output folder, work ---- */

static int prepare(work *w)
{
    const cli_common *common = w->args->common;
    for (uint32_t k = 0; k < w->count; k++)
        CLI_TRY(split_name(w, k));
    CLI_TRY(session_open(w->session, common, w->args->scene));
    const char *const *names = (const char *const *)w->names;
    CLI_TRY(session_find_parameters(w->session, names, w->count, w->parameters));
    session_warn_incomplete(w->session, w->parameters, w->count);
    for (uint32_t k = 0; k < w->count; k++)
        CLI_TRY(read_tangent(w, k));
    CLI_TRY(session_open_device(w->session));
    CLI_TRY(make_folder(w->args->output));
    w->spp = bl_scene_spp(w->session->scene, common->spp_grad ? common->spp_grad : common->spp);
    w->image = memory_or_exit(session_values(w->session) * sizeof *w->image);
    return session_create_job(w->session, (bl_job_desc){.parameters = names, .parameter_count = w->count},
                              &w->job);
}

static int compute(work *w)
{
    const cli_common *common = w->args->common;
    uint64_t paths = (uint64_t)w->session->info.width * w->session->info.height * w->spp;
    cli_progress progress = progress_begin(common, "forward", paths);
    bl_forward_desc desc = {
        .spp = w->spp,
        .seed = common->seed,
        .tangents = (const float *const *)w->tangents,
        .progress = progress_call,
        .user = &progress,
    };
    interrupt_may_end(true);
    bl_result result = bl_job_forward(w->job, &desc, w->image, &w->stats);
    interrupt_may_end(false);
    progress_end(&progress);
    SESSION_TRY(w->session, result);
    return CLI_OK;
}

static int save_images(const work *w)
{
    const bl_scene_info *info = &w->session->info;
    const char *name = w->count == 1 ? w->names[0] : "direction";
    char *image = text_format("%s/%s.exr", w->args->output, name);
    char *picture = text_format("%s/%s.png", w->args->output, name);
    bl_result result = session_write_image(w->session, image, w->image);
    char *title = text_format("derivative by %s", name);
    const signed_picture p = {.width = info->width,
                              .height = info->height,
                              .channels = info->channels,
                              .values = w->image,
                              .title = title};
    int status =
        result == BL_OK ? save_signed_png(w->session, picture, &p) : session_fail(w->session, result);
    free(title);
    free(picture);
    free(image);
    return status;
}

static cJSON *summary(const work *w)
{
    cJSON *json = cJSON_CreateObject();
    json_add_origin(json, w->session, w->args->scene);
    cJSON_AddStringToObject(json, "mode", "forward");
    cJSON_AddStringToObject(json, "volume_gradient", bl_volume_gradient_name(bl_job_volume_gradient(w->job)));
    cJSON_AddStringToObject(json, "sampling", bl_job_sampling(w->job));
    cJSON_AddStringToObject(json, "sampler", w->session->info.sampler);
    cJSON_AddNumberToObject(json, "non_finite", (double)w->stats.non_finite);
    cJSON_AddNumberToObject(json, "cut", (double)w->stats.cut);
    grad_add_singular(json, &w->stats);
    cJSON_AddNumberToObject(json, "paths", (double)w->stats.paths);
    cJSON_AddNumberToObject(json, "slices", (double)w->stats.slices);
    cJSON_AddNumberToObject(json, "spp_grad", w->spp);
    cJSON *seeds = cJSON_AddArrayToObject(json, "seeds");
    cJSON_AddItemToArray(seeds, cJSON_CreateNumber(w->args->common->seed));
    grad_add_effort(json, w->session, &w->stats, w->start);
    grad_add_parameters(json, w->parameters, w->count);
    return json;
}

static int report(const work *w)
{
    const cli_common *common = w->args->common;
    note_dropped(common, &w->stats);
    grad_note_singular(common, &w->stats);
    cJSON *json = summary(w);
    char *path = text_format("%s/summary.json", w->args->output);
    int status = save_json(path, json);
    if (status == CLI_OK && common->json)
        print_json(json);
    if (status == CLI_OK)
        note(common, "image derivative by %s%s in %s (%s)", w->names[0], w->count > 1 ? " and others" : "",
             w->args->output, duration_text(w->stats.seconds));
    free(path);
    cJSON_Delete(json);
    return status;
}

static int derivative(work *w)
{
    CLI_TRY(prepare(w));
    interrupt_install();
    CLI_TRY(compute(w));
    CLI_TRY(save_images(w));
    return report(w);
}

int grad_forward(const cli_forward *args)
{
    cli_session session = {0};
    work w = {.session = &session, .args = args, .count = args->parameters->count, .start = seconds_now()};
    w.names = memory_or_exit(w.count * sizeof *w.names), w.moves = memory_or_exit(w.count * sizeof *w.moves);
    w.parameters = memory_or_exit(w.count * sizeof *w.parameters),
    w.tangents = memory_or_exit(w.count * sizeof *w.tangents);
    int status = derivative(&w);
    bl_job_destroy(w.job);
    for (uint32_t k = 0; k < w.count; k++)
        free(w.names[k]), free(w.tangents[k]);
    free(w.names), free(w.moves), free(w.parameters), free(w.tangents), free(w.image);
    session_close(&session);
    return status;
}
