/* SPDX-License-Identifier: BSD-3-Clause
 * The part of a fit job that says what the images are to look like, and from where they are seen. */
#include "fit_job_parts.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct target_file {
    const char *image, *encoding;
} target_file;

static const char *encoding_name(uint32_t k)
{
    static const char *const names[] = {"srgb", "linear"};
    return k < 2 ? names[k] : NULL;
}

static int take_file(const json_place *at, const target_file *file, const fit_job *job, fit_job_view *view)
{
    uint32_t encoding = 0;
    CLI_TRY(json_find_name(at, "encoding", "encoding", file->encoding, encoding_name, &encoding));
    view->target = json_beside(at->file, file->image);
    view->linear = encoding == 1;
    if (view->linear && job->over)
        return json_wrong(at, "encoding",
                          "linear does not go with a background, which is composed of decoded values");
    return file->encoding && !is_png(file->image)
               ? json_wrong(at, "encoding", "is of PNG files; others have linear values")
               : CLI_OK;
}

static int read_mask(const json_place *at, const cJSON *json, fit_job_view *view)
{
    if (!json)
        return CLI_OK;
    if (!cJSON_IsString(json) || !*json->valuestring)
        return json_wrong(at, "mask", "must be an image's path");
    view->mask = json_beside(at->file, json->valuestring);
    return CLI_OK;
}

/* at: with the path of the object that holds the target. */
static int read_target(json_place at, const cJSON *json, const fit_job *job, fit_job_view *view)
{
    static const json_key keys[] = {{"render", KEY_OTHER, 0, true},
                                    {"spp", KEY_COUNT, offsetof(fit_job_view, spp), false},
                                    {"seed", KEY_SEED, offsetof(fit_job_view, seed), false},
                                    {0}};
    static const json_key file_keys[] = {{"image", KEY_TEXT, offsetof(target_file, image), true},
                                         {"encoding", KEY_TEXT, offsetof(target_file, encoding), false},
                                         {0}};
    if (cJSON_IsString(json) && *json->valuestring) {
        view->target = json_beside(at.file, json->valuestring);
        return CLI_OK;
    }
    CLI_TRY(json_enter(&at, "target",
                       "an image's path, {\"image\": .., \"encoding\": ..}, or {\"render\": true, "
                       "\"spp\": .., \"seed\": ..}",
                       json));
    if (cJSON_GetObjectItemCaseSensitive(json, "image")) {
        target_file file = {0};
        CLI_TRY(json_read_keys(&at, json, file_keys, &file));
        return take_file(&at, &file, job, view);
    }
    CLI_TRY(json_read_keys(&at, json, keys, view));
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "render")))
        return json_wrong(&at, "render", "must be true: the scene's own values make the target");
    return CLI_OK;
}

static bool read_vector(const cJSON *json, int count, double *out)
{
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) != count)
        return false;
    for (const cJSON *one = json->child; one; one = one->next) {
        if (!cJSON_IsNumber(one) || !isfinite((float)one->valuedouble))
            return false;
        *out++ = one->valuedouble;
    }
    return true;
}

static bool normalise(double v[3])
{
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++)
        v[k] /= length;
    return length > 1e-12;
}

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

/* The pose that <lookat> gives in a scene: +z toward the target, +x to the left. false: up is along the view,
 * or origin and target are the same. */
static bool look_at(const double origin[3], const double target[3], const double up[3], float to_world[16])
{
    double forward[3], left[3], upward[3];
    for (int k = 0; k < 3; k++)
        forward[k] = target[k] - origin[k];
    if (!normalise(forward))
        return false;
    cross(up, forward, left);
    if (!normalise(left))
        return false;
    cross(forward, left, upward);
    for (int k = 0; k < 3; k++) {
        to_world[4 * k] = (float)left[k];
        to_world[4 * k + 1] = (float)upward[k];
        to_world[4 * k + 2] = (float)forward[k];
        to_world[4 * k + 3] = (float)origin[k];
    }
    to_world[15] = 1;
    return true;
}

static int read_pose(json_place at, const cJSON *json, fit_job_view *view)
{
    static const json_key keys[] = {
        {"origin", KEY_OTHER, 0, true}, {"target", KEY_OTHER, 0, true}, {"up", KEY_OTHER, 0, true}, {0}};
    double matrix[16], vectors[3][3];
    if (!json)
        return CLI_OK;
    view->posed = true;
    if (read_vector(json, 16, matrix)) {
        for (int k = 0; k < 16; k++)
            view->to_world[k] = (float)matrix[k];
        return CLI_OK;
    }
    CLI_TRY(json_enter(&at, "to_world",
                       "16 numbers, row by row, or {\"origin\": [..], \"target\": [..], \"up\": [..]}",
                       json));
    CLI_TRY(json_read_keys(&at, json, keys, NULL));
    for (int k = 0; k < 3; k++)
        if (!read_vector(cJSON_GetObjectItemCaseSensitive(json, keys[k].name), 3, vectors[k]))
            return json_wrong(&at, keys[k].name, "must be three numbers");
    if (!look_at(vectors[0], vectors[1], vectors[2], view->to_world))
        return json_wrong(&at, "up", "must not point along the view, nor the target lie in the origin");
    return CLI_OK;
}

enum { TARGET_SEED = 1 << 20 }; /* far from those of steps; every view has its own */

static int read_views(json_place at, const cJSON *json, fit_job *job)
{
    static const json_key keys[] = {{"sensor", KEY_SEED, offsetof(fit_job_view, sensor), false},
                                    {"to_world", KEY_OTHER, 0, false},
                                    {"target", KEY_OTHER, 0, true},
                                    {"mask", KEY_OTHER, 0, false},
                                    {"weight", KEY_POSITIVE, offsetof(fit_job_view, weight), false},
                                    {0}};
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) == 0)
        return json_wrong(&at, "views", "must be a list of at least one object");
    job->several = true;
    job->views = memory_or_exit((size_t)cJSON_GetArraySize(json) * sizeof *job->views);
    for (const cJSON *one = json->child; one; one = one->next) {
        fit_job_view *v = &job->views[job->view_count];
        v->seed = TARGET_SEED + job->view_count;
        CLI_TRY(json_read_item(&at, "views", job->view_count++, "an object with a target", one, keys, v));
        CLI_TRY(read_pose(at, cJSON_GetObjectItemCaseSensitive(one, "to_world"), v));
        CLI_TRY(read_target(at, cJSON_GetObjectItemCaseSensitive(one, "target"), job, v));
        CLI_TRY(read_mask(&at, cJSON_GetObjectItemCaseSensitive(one, "mask"), v));
    }
    return CLI_OK;
}

/* The numbers of the views that are not fitted. */
static int read_held_out(json_place at, const cJSON *json, fit_job *job)
{
    if (!json)
        return CLI_OK;
    if (!cJSON_IsArray(json) || !job->several)
        return json_wrong(&at, "held_out", "must be a list of numbers of views, counted from 0%s",
                          job->several ? "" : ", which the job does not have");
    for (const cJSON *one = json->child; one; one = one->next) {
        double number = one->valuedouble;
        if (!cJSON_IsNumber(one) || number != floor(number) || number < 0 || number >= job->view_count)
            return json_wrong(&at, "held_out", "there is no such view; the job has %u, counted from 0",
                              job->view_count);
        fit_job_view *view = &job->views[(uint32_t)number];
        if (view->held_out)
            return json_wrong(&at, "held_out", "view %u is named twice", (uint32_t)number);
        view->held_out = true, job->held_out_count++;
    }
    return job->held_out_count < job->view_count
               ? CLI_OK
               : json_wrong(&at, "held_out", "names all views; the fit needs at least one");
}

static int read_background(json_place at, const cJSON *json, fit_job *job)
{
    double colour[3];
    if (!json)
        return CLI_OK;
    if (!read_vector(json, 3, colour))
        return json_wrong(&at, "background", "must be three numbers");
    job->over = true;
    for (int k = 0; k < 3; k++)
        job->background[k] = (float)colour[k];
    return CLI_OK;
}

/* true, or a list of ids. */
static int read_silhouette(json_place at, const cJSON *json, fit_job *job)
{
    if (!json || cJSON_IsFalse(json))
        return CLI_OK;
    if (job->batch)
        return json_wrong(&at, "batch",
                          "leaves moving edges out, and nothing else moves a silhouette: use whole views");
    if (!cJSON_IsTrue(json) && (!cJSON_IsArray(json) || cJSON_GetArraySize(json) == 0))
        return json_wrong(&at, "silhouette", "must be true, or a list of ids of shapes");
    job->silhouette = text_format("%s", "");
    for (const cJSON *one = cJSON_IsArray(json) ? json->child : NULL; one; one = one->next) {
        if (!cJSON_IsString(one) || !*one->valuestring || strpbrk(one->valuestring, ", \t\r\n"))
            return json_wrong(&at, "silhouette",
                              "must be true, or a list of ids of shapes, without commas and blanks");
        char *longer = text_format("%s%s%s", job->silhouette, *job->silhouette ? "," : "", one->valuestring);
        free(job->silhouette);
        job->silhouette = longer;
    }
    return CLI_OK;
}

int job_read_goal(json_place at, const cJSON *json, fit_job *job)
{
    const cJSON *held_out = cJSON_GetObjectItemCaseSensitive(json, "held_out");
    CLI_TRY(read_background(at, cJSON_GetObjectItemCaseSensitive(json, "background"), job));
    CLI_TRY(read_silhouette(at, cJSON_GetObjectItemCaseSensitive(json, "silhouette"), job));
    const cJSON *mask = cJSON_GetObjectItemCaseSensitive(json, "mask"),
                *target = cJSON_GetObjectItemCaseSensitive(json, "target"),
                *views = cJSON_GetObjectItemCaseSensitive(json, "views");
    if (!target == !views)
        return json_wrong(&at, "target", target ? "give either target or views" : "missing key (or views)");
    if (views && mask)
        return json_wrong(&at, "mask", "is of `target`; views have masks of their own");
    if (views) {
        CLI_TRY(read_views(at, views, job));
        return read_held_out(at, held_out, job);
    }
    CLI_TRY(read_held_out(at, held_out, job));
    job->views = memory_or_exit(sizeof *job->views);
    job->view_count = 1;
    job->views[0].seed = TARGET_SEED;
    CLI_TRY(read_target(at, target, job, &job->views[0]));
    return read_mask(&at, mask, &job->views[0]);
}
