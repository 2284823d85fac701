/* SPDX-License-Identifier: BSD-3-Clause
 * Reads a fit job, by tables of the keys of its objects. Relative paths count from the folder of the job. */
#include "fit_job.h"
#include "json_keys.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_BYTES_MOST = 64 << 20 };

/* Paths in a job count from the job's folder. */
static char *beside(const char *job_path, const char *path)
{
    const char *slash = strrchr(job_path, '/');
    if (path[0] == '/' || !slash)
        return text_format("%s", path);
    return text_format("%.*s/%s", (int)(slash - job_path), job_path, path);
}

/* ---- objects of the job ---- */

static const char *optimizer_name(uint32_t k) { return bl_optimizer_name((bl_optimizer)k); }
static const char *loss_name(uint32_t k) { return bl_loss_info_get((bl_loss)k).name; }
static const char *form_name(uint32_t k) { return bl_gradient_form_name((bl_gradient_form)k); }

static int read_optimizer(json_place at, const cJSON *json, fit_job *job)
{
#define COMMON_KEYS {"type", KEY_OTHER, 0, true}, {"rate", KEY_POSITIVE, offsetof(fit_job, rate), false}
    static const json_key adam[] = {COMMON_KEYS,
                               {"beta_1", KEY_SHARE, offsetof(fit_job, beta_1), false},
                               {"beta_2", KEY_SHARE, offsetof(fit_job, beta_2), false},
                               {"epsilon", KEY_POSITIVE, offsetof(fit_job, epsilon), false},
                               {0}};
    static const json_key sgd[] = {COMMON_KEYS,
                              {"momentum", KEY_MOMENTUM, offsetof(fit_job, momentum), false},
                              {"nesterov", KEY_FLAG, offsetof(fit_job, nesterov), false},
                              {0}};
    static const json_key rmsprop[] = {COMMON_KEYS,
                                  {"alpha", KEY_SHARE, offsetof(fit_job, alpha), false},
                                  {"epsilon", KEY_POSITIVE, offsetof(fit_job, epsilon), false},
                                  {0}};
#undef COMMON_KEYS
    static const json_key *const keys[BL_OPTIMIZER_COUNT] = {adam, sgd, rmsprop};
    uint32_t kind;
    if (!json)
        return CLI_OK;
    if (!cJSON_IsObject(json))
        return json_wrong(&at, "optimizer", "must be an object with a type");
    snprintf(at.path, sizeof at.path, "optimizer.");
    CLI_TRY(json_read_type(&at, json, "optimizer", optimizer_name, &kind));
    CLI_TRY(json_read_keys(&at, json, keys[kind], job));
    job->optimizer = (bl_optimizer)kind;
    if (job->nesterov && !(job->momentum > 0))
        return json_wrong(&at, "nesterov", "needs a momentum above 0");
    return CLI_OK;
}

/* "huber", or {"type": "huber", "delta": .1} */
static int read_loss(json_place at, const cJSON *json, fit_job *job)
{
    uint32_t kind;
    if (!json)
        return CLI_OK;
    if (cJSON_IsString(json)) {
        CLI_TRY(json_find_name(&at, "loss", "loss", json->valuestring, loss_name, &kind));
        job->loss = (bl_loss)kind;
        return CLI_OK;
    }
    if (!cJSON_IsObject(json))
        return json_wrong(&at, "loss", "must be a loss's name or an object with a type");
    snprintf(at.path, sizeof at.path, "loss.");
    CLI_TRY(json_read_type(&at, json, "loss", loss_name, &kind));
    job->loss = (bl_loss)kind;
    const char *constant = bl_loss_info_get(job->loss).constant_name;
    const json_key keys[] = {{"type", KEY_OTHER, 0, true}, {constant, KEY_POSITIVE, offsetof(fit_job, loss_constant), false}, {0}};
    return json_read_keys(&at, json, keys, job);
}

static int read_form(json_place at, const char *name, fit_job *job)
{
    uint32_t form = BL_FORM_AUTO;
    if (name)
        CLI_TRY(json_find_name(&at, "form", "form", name, form_name, &form));
    job->form = (bl_gradient_form)form;
    return CLI_OK;
}

static int read_schedule(json_place at, const cJSON *json, fit_job *job)
{
    static const json_key keys[] = {{"step", KEY_COUNT, offsetof(bl_fit_change, step), true},
                               {"factor", KEY_POSITIVE, offsetof(bl_fit_change, factor), true},
                               {0}};
    if (!json)
        return CLI_OK;
    if (!cJSON_IsArray(json))
        return json_wrong(&at, "schedule", "must be a list of objects with step and factor");
    job->schedule = memory_or_exit((size_t)cJSON_GetArraySize(json) * sizeof *job->schedule);
    for (const cJSON *one = json->child; one; one = one->next) {
        bl_fit_change *c = &job->schedule[job->schedule_count++];
        snprintf(at.path, sizeof at.path, "schedule[%u]", job->schedule_count - 1);
        if (!cJSON_IsObject(one))
            return json_wrong(&at, "", "must be an object with step and factor");
        strcat(at.path, ".");
        CLI_TRY(json_read_keys(&at, one, keys, c));
        if (job->schedule_count > 1 && c->step <= c[-1].step)
            return json_wrong(&at, "step", "must be above the one before it");
    }
    return CLI_OK;
}

/* at: with the path of the object that holds the target. */
static int read_target(json_place at, const cJSON *json, fit_job_view *view)
{
    static const json_key keys[] = {{"render", KEY_OTHER, 0, true},
                               {"spp", KEY_COUNT, offsetof(fit_job_view, spp), false},
                               {"seed", KEY_SEED, offsetof(fit_job_view, seed), false},
                               {0}};
    if (cJSON_IsString(json) && *json->valuestring) {
        view->target = beside(at.file, json->valuestring);
        return CLI_OK;
    }
    if (!cJSON_IsObject(json))
        return json_wrong(&at, "target",
                     "must be an image's path, or {\"render\": true, \"spp\": .., \"seed\": ..}");
    strcat(at.path, "target.");
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

/* As <lookat> in a scene: +z toward the target, +x to the left. false: up is along the view, or nothing to look at. */
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
    static const json_key keys[] = {{"origin", KEY_OTHER, 0, true}, {"target", KEY_OTHER, 0, true}, {"up", KEY_OTHER, 0, true}, {0}};
    double matrix[16], vectors[3][3];
    if (!json)
        return CLI_OK;
    view->posed = true;
    if (read_vector(json, 16, matrix)) {
        for (int k = 0; k < 16; k++)
            view->to_world[k] = (float)matrix[k];
        return CLI_OK;
    }
    if (!cJSON_IsObject(json))
        return json_wrong(&at, "to_world", "must be 16 numbers, row by row, or {\"origin\": [..], \"target\": [..], \"up\": [..]}");
    strcat(at.path, "to_world.");
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
                               {0}};
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) == 0)
        return json_wrong(&at, "views", "must be a list of at least one object");
    job->several = true;
    job->views = memory_or_exit((size_t)cJSON_GetArraySize(json) * sizeof *job->views);
    for (const cJSON *one = json->child; one; one = one->next) {
        fit_job_view *v = &job->views[job->view_count++];
        v->seed = TARGET_SEED + job->view_count - 1;
        snprintf(at.path, sizeof at.path, "views[%u]", job->view_count - 1);
        if (!cJSON_IsObject(one))
            return json_wrong(&at, "", "must be an object with a target");
        strcat(at.path, ".");
        CLI_TRY(json_read_keys(&at, one, keys, v));
        CLI_TRY(read_pose(at, cJSON_GetObjectItemCaseSensitive(one, "to_world"), v));
        CLI_TRY(read_target(at, cJSON_GetObjectItemCaseSensitive(one, "target"), v));
    }
    return CLI_OK;
}

/* Either a target, seen through the first sensor, or views. */
static int read_goal(json_place at, const cJSON *json, fit_job *job)
{
    const cJSON *target = cJSON_GetObjectItemCaseSensitive(json, "target"), *views = cJSON_GetObjectItemCaseSensitive(json, "views");
    if (!target == !views)
        return json_wrong(&at, "target", target ? "give either target or views" : "missing key (or views)");
    if (views)
        return read_views(at, views, job);
    job->views = memory_or_exit(sizeof *job->views);
    job->view_count = 1;
    job->views[0].seed = TARGET_SEED;
    return read_target(at, target, &job->views[0]);
}

static bool finite_number(const cJSON *json) { return cJSON_IsNumber(json) && isfinite(json->valuedouble); }

static int read_bounds(const json_place *at, const cJSON *json, fit_job_parameter *p)
{
    if (!json)
        return CLI_OK;
    const cJSON *low = cJSON_GetArrayItem(json, 0), *high = cJSON_GetArrayItem(json, 1);
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) != 2 || !finite_number(low) ||
        !finite_number(high) || !(low->valuedouble < high->valuedouble))
        return json_wrong(at, "bounds", "must be two numbers, [least, most], the first below the second");
    p->bounded = true;
    p->least = low->valuedouble;
    p->most = high->valuedouble;
    return CLI_OK;
}

static int read_initial(const json_place *at, const cJSON *json, fit_job_parameter *p)
{
    if (!json)
        return CLI_OK;
    bool list = cJSON_IsArray(json);
    int count = list ? cJSON_GetArraySize(json) : 1;
    p->initial = memory_or_exit((size_t)count * sizeof *p->initial);
    p->initial_count = (uint32_t)count;
    const cJSON *value = list ? json->child : json;
    for (int i = 0; i < count; i++, value = value->next) {
        if (!finite_number(value) || !isfinite((float)value->valuedouble))
            return json_wrong(at, "initial", "must be a number or a list of numbers, one per entry");
        p->initial[i] = (float)value->valuedouble;
    }
    return count ? CLI_OK : json_wrong(at, "initial", "is an empty list");
}

typedef struct large_steps {
    double lambda;
    const char *fixed;
} large_steps;

/* {"lambda": 19, "fixed": "xy"} */
static int read_large_steps(json_place at, const cJSON *json, fit_job_parameter *p)
{
    static const json_key keys[] = {{"lambda", KEY_POSITIVE, offsetof(large_steps, lambda), true},
                               {"fixed", KEY_TEXT, offsetof(large_steps, fixed), false},
                               {0}};
    large_steps read = {.fixed = ""};
    if (!json)
        return CLI_OK;
    if (!cJSON_IsObject(json))
        return json_wrong(&at, "large_steps", "must be an object with lambda");
    if (p->bounded)
        return json_wrong(&at, "large_steps", "know no bounds");
    strcat(at.path, "large_steps.");
    CLI_TRY(json_read_keys(&at, json, keys, &read));
    p->large_steps = read.lambda;
    for (const char *c = read.fixed; *c; c++) {
        const char *axis = strchr("xyz", *c);
        if (!axis || p->fixed_axes >> (axis - "xyz") & 1)
            return json_wrong(&at, "fixed", "must be one or two of the letters x, y, z");
        p->fixed_axes |= 1u << (axis - "xyz");
    }
    return p->fixed_axes == 7 ? json_wrong(&at, "fixed", "must be one or two of the letters x, y, z") : CLI_OK;
}

static int read_parameters(json_place at, const cJSON *json, fit_job *job)
{
    static const json_key keys[] = {{"name", KEY_TEXT, offsetof(fit_job_parameter, name), true},
                               {"initial", KEY_OTHER, 0, false},
                               {"bounds", KEY_OTHER, 0, false},
                               {"rate", KEY_POSITIVE, offsetof(fit_job_parameter, rate), false},
                               {"total_variation", KEY_POSITIVE, offsetof(fit_job_parameter, total_variation), false},
                               {"smoothing", KEY_POSITIVE, offsetof(fit_job_parameter, smoothing), false},
                               {"large_steps", KEY_OTHER, 0, false},
                               {0}};
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) == 0)
        return json_wrong(&at, "parameters", "must be a list of at least one object");
    job->parameters = memory_or_exit((size_t)cJSON_GetArraySize(json) * sizeof *job->parameters);
    for (const cJSON *one = json->child; one; one = one->next) {
        fit_job_parameter *p = &job->parameters[job->parameter_count++];
        snprintf(at.path, sizeof at.path, "parameters[%u]", job->parameter_count - 1);
        if (!cJSON_IsObject(one))
            return json_wrong(&at, "", "must be an object with a name");
        strcat(at.path, ".");
        CLI_TRY(json_read_keys(&at, one, keys, p));
        CLI_TRY(read_bounds(&at, cJSON_GetObjectItemCaseSensitive(one, "bounds"), p));
        CLI_TRY(read_initial(&at, cJSON_GetObjectItemCaseSensitive(one, "initial"), p));
        CLI_TRY(read_large_steps(at, cJSON_GetObjectItemCaseSensitive(one, "large_steps"), p));
    }
    return CLI_OK;
}

static int read_sides(const json_place *at, const cJSON *json, fit_job_size *size)
{
    int count = cJSON_GetArraySize(json);
    if (!cJSON_IsArray(json) || count < 2 || count > 3)
        return json_wrong(at, json->string, "must be the sides of an image, [height, width], or of a grid, [z, y, x]");
    for (const cJSON *one = json->child; one; one = one->next) {
        double number = one->valuedouble;
        if (!cJSON_IsNumber(one) || number != floor(number) || number < 1 || number > 65536)
            return json_wrong(at, json->string, "a side must be a whole number from 1 to 65536");
        size->sides[size->side_count++] = (uint32_t)number;
    }
    return CLI_OK;
}

/* {"NAME": [z, y, x], ..} */
static int read_resolution(json_place at, const cJSON *json, const fit_job *job, fit_job_stage *stage)
{
    if (!json)
        return CLI_OK;
    if (!cJSON_IsObject(json))
        return json_wrong(&at, "resolution", "must be an object: the sides of parameters by their names");
    strcat(at.path, "resolution.");
    stage->sizes = memory_or_exit(((size_t)cJSON_GetArraySize(json) + 1) * sizeof *stage->sizes);
    for (const cJSON *one = json->child; one; one = one->next) {
        fit_job_size *size = &stage->sizes[stage->size_count++];
        while (size->parameter < job->parameter_count && strcmp(job->parameters[size->parameter].name, one->string) != 0)
            size->parameter++;
        if (size->parameter == job->parameter_count)
            return json_wrong(&at, one->string, "is not among the parameters");
        for (uint32_t k = 0; k + 1 < stage->size_count; k++)
            if (stage->sizes[k].parameter == size->parameter)
                return json_wrong(&at, one->string, "given twice");
        CLI_TRY(read_sides(&at, one, size));
    }
    return CLI_OK;
}

/* Stages, or the steps of a single one. */
static int read_stages(json_place at, const cJSON *json, fit_job *job)
{
    static const json_key keys[] = {{"steps", KEY_COUNT, offsetof(fit_job_stage, steps), true}, {"resolution", KEY_OTHER, 0, false}, {0}};
    uint64_t steps = 0;
    if (!json == !job->steps)
        return json_wrong(&at, "steps", json ? "give either steps or stages" : "missing key (or stages)");
    if (json && (!cJSON_IsArray(json) || cJSON_GetArraySize(json) == 0))
        return json_wrong(&at, "stages", "must be a list of at least one object");
    job->stages = memory_or_exit((json ? (size_t)cJSON_GetArraySize(json) : 1) * sizeof *job->stages);
    job->stages[0].steps = job->steps, job->stage_count = !json;
    for (const cJSON *one = json ? json->child : NULL; one; one = one->next) {
        fit_job_stage *s = &job->stages[job->stage_count++];
        snprintf(at.path, sizeof at.path, "stages[%u]", job->stage_count - 1);
        if (!cJSON_IsObject(one))
            return json_wrong(&at, "", "must be an object with steps");
        strcat(at.path, ".");
        CLI_TRY(json_read_keys(&at, one, keys, s));
        CLI_TRY(read_resolution(at, cJSON_GetObjectItemCaseSensitive(one, "resolution"), job, s));
        if ((steps += s->steps) > UINT32_MAX)
            return json_wrong(&at, "steps", "the steps of all stages are too many");
        job->steps = (uint32_t)steps;
    }
    return CLI_OK;
}

static int read_defines(json_place at, const cJSON *json, fit_job *job)
{
    if (!json)
        return CLI_OK;
    if (!cJSON_IsObject(json))
        return json_wrong(&at, "defines", "must be an object of texts");
    job->defines = memory_or_exit((size_t)(cJSON_GetArraySize(json) + 1) * sizeof *job->defines);
    snprintf(at.path, sizeof at.path, "defines.");
    for (const cJSON *one = json->child; one; one = one->next) {
        if (!cJSON_IsString(one) || !*one->string)
            return json_wrong(&at, one->string, "must be a text");
        job->defines[job->define_count++] = text_format("%s=%s", one->string, one->valuestring);
    }
    return CLI_OK;
}

/* ---- the file ---- */

static int read_job(json_place at, fit_job *job)
{
    typedef struct head {
        const char *scene, *form, *output, *schema;
        uint32_t steps, spp, spp_grad, seed, checkpoint_steps;
    } head;
    static const json_key keys[] = {{"scene", KEY_TEXT, offsetof(head, scene), true},
                               {"target", KEY_OTHER, 0, false},
                               {"views", KEY_OTHER, 0, false},
                               {"loss", KEY_OTHER, 0, false},
                               {"form", KEY_TEXT, offsetof(head, form), false},
                               {"parameters", KEY_OTHER, 0, true},
                               {"optimizer", KEY_OTHER, 0, false},
                               {"schedule", KEY_OTHER, 0, false},
                               {"steps", KEY_COUNT, offsetof(head, steps), false},
                               {"stages", KEY_OTHER, 0, false},
                               {"spp", KEY_COUNT, offsetof(head, spp), false},
                               {"spp_grad", KEY_COUNT, offsetof(head, spp_grad), false},
                               {"seed", KEY_SEED, offsetof(head, seed), false},
                               {"checkpoint_steps", KEY_COUNT, offsetof(head, checkpoint_steps), false},
                               {"output", KEY_TEXT, offsetof(head, output), false},
                               {"defines", KEY_OTHER, 0, false},
                               {"$schema", KEY_TEXT, offsetof(head, schema), false}, /* for editors */
                               {0}};
    head h = {0};
    const cJSON *json = job->json;
    CLI_TRY(json_read_keys(&at, json, keys, &h));
    job->scene = beside(at.file, h.scene);
    job->output = h.output ? beside(at.file, h.output) : NULL;
    job->steps = h.steps;
    job->spp = h.spp;
    job->spp_grad = h.spp_grad;
    job->seed = h.seed;
    job->checkpoint_steps = h.checkpoint_steps;
    CLI_TRY(read_goal(at, json, job));
    CLI_TRY(read_loss(at, cJSON_GetObjectItemCaseSensitive(json, "loss"), job));
    CLI_TRY(read_form(at, h.form, job));
    CLI_TRY(read_parameters(at, cJSON_GetObjectItemCaseSensitive(json, "parameters"), job));
    CLI_TRY(read_stages(at, cJSON_GetObjectItemCaseSensitive(json, "stages"), job));
    CLI_TRY(read_defines(at, cJSON_GetObjectItemCaseSensitive(json, "defines"), job));
    CLI_TRY(read_schedule(at, cJSON_GetObjectItemCaseSensitive(json, "schedule"), job));
    return read_optimizer(at, cJSON_GetObjectItemCaseSensitive(json, "optimizer"), job);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fail("cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    size_t size = 0, capacity = 1 << 16;
    char *text = memory_or_exit(capacity);
    for (size_t got; size < JOB_BYTES_MOST && (got = fread(text + size, 1, capacity - size - 1, file)) > 0;) {
        size += got;
        if (capacity - size < 4096) {
            char *grown = realloc(text, capacity *= 2);
            if (!grown)
                break;
            text = grown;
        }
    }
    bool good = !ferror(file) && feof(file);
    fclose(file);
    text[size] = 0;
    if (good && strlen(text) == size)
        return text;
    fail(good ? "%s: contains a zero byte: not JSON" : "cannot read %s", path);
    free(text);
    return NULL;
}

static int syntax_error(const char *path, const char *text, const char *end)
{
    uint32_t line = 1, column = 1;
    for (const char *c = text; c < end && *c; c++, column++)
        if (*c == '\n')
            line++, column = 0;
    return fail("%s:%u:%u: not valid JSON", path, line, column);
}

int fit_job_read(const char *path, fit_job *job)
{
    *job = (fit_job){0};
    char *text = read_text(path);
    if (!text)
        return CLI_FAILED;
    const char *end = text;
    job->json = cJSON_ParseWithOpts(text, &end, true);
    int status;
    if (!job->json)
        status = syntax_error(path, text, end);
    else if (!cJSON_IsObject(job->json))
        status = fail("%s: a fit job is a JSON object", path);
    else
        status = read_job((json_place){.file = path}, job);
    job->text = text;
    return status;
}

void fit_job_free(fit_job *job)
{
    for (uint32_t i = 0; i < job->parameter_count; i++)
        free(job->parameters[i].initial);
    for (uint32_t i = 0; i < job->stage_count; i++)
        free(job->stages[i].sizes);
    free(job->stages);
    for (uint32_t i = 0; i < job->define_count; i++)
        free((char *)(uintptr_t)job->defines[i]);
    for (uint32_t i = 0; i < job->view_count; i++)
        free(job->views[i].target);
    free(job->views);
    free(job->schedule);
    free(job->parameters);
    free(job->defines);
    free(job->text);
    free(job->scene);
    free(job->output);
    cJSON_Delete(job->json);
    *job = (fit_job){0};
}
