/* SPDX-License-Identifier: BSD-3-Clause
 * Reads a fit job. Every object has a table of its keys; a key that is not in the table, given twice, missing, or of the
 * wrong type is an error that names the file and the path of the key. Relative paths count from the folder of the job. */
#include "fit_job.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_BYTES_MOST = 64 << 20 };

typedef struct place { /* where we are, for messages */
    const char *file;
    char path[200]; /* "parameters[1]." */
} place;

static int wrong(const place *at, const char *key, const char *format, ...) CLI_PRINTF(3, 4);
static int wrong(const place *at, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "backlight: %s: %s%s: ", at->file, at->path, key);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    return CLI_FAILED;
}

/* ---- keys ---- */

typedef enum key_type {
    KEY_TEXT,
    KEY_COUNT,    /* uint32_t, 1 or above */
    KEY_SEED,     /* uint32_t */
    KEY_POSITIVE, /* double above 0 */
    KEY_SHARE,    /* double between 0 and 1, both excluded */
    KEY_MOMENTUM, /* the same with 0 */
    KEY_FLAG,     /* bool */
    KEY_OTHER
} key_type;

typedef struct key {
    const char *name;
    key_type type;
    size_t offset;
    bool required;
} key;

static int read_value(const place *at, const key *k, const cJSON *value, void *object)
{
    void *field = (char *)object + k->offset;
    double number = value->valuedouble;
    bool whole = cJSON_IsNumber(value) && number == floor(number) && number <= 4294967295.0;
    switch (k->type) {
    case KEY_TEXT:
        if (!cJSON_IsString(value) || !*value->valuestring)
            return wrong(at, k->name, "must be a text");
        *(const char **)field = value->valuestring;
        break;
    case KEY_COUNT:
        if (!whole || number < 1)
            return wrong(at, k->name, "must be a whole number above 0");
        *(uint32_t *)field = (uint32_t)number;
        break;
    case KEY_SEED:
        if (!whole || number < 0)
            return wrong(at, k->name, "must be a whole number, 0 or above");
        *(uint32_t *)field = (uint32_t)number;
        break;
    case KEY_POSITIVE:
        if (!cJSON_IsNumber(value) || !isfinite(number) || number <= 0)
            return wrong(at, k->name, "must be a number above 0");
        *(double *)field = number;
        break;
    case KEY_SHARE:
        if (!cJSON_IsNumber(value) || !(number > 0 && number < 1))
            return wrong(at, k->name, "must be a number above 0 and below 1");
        *(double *)field = number;
        break;
    case KEY_MOMENTUM:
        if (!cJSON_IsNumber(value) || !(number >= 0 && number < 1))
            return wrong(at, k->name, "must be a number, 0 or above, and below 1");
        *(double *)field = number;
        break;
    case KEY_FLAG:
        if (!cJSON_IsBool(value))
            return wrong(at, k->name, "must be true or false");
        *(bool *)field = cJSON_IsTrue(value);
        break;
    case KEY_OTHER:
        break;
    }
    return CLI_OK;
}

static const key *find_key(const key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (!strcmp(keys->name, name))
            return keys;
    return NULL;
}

static int unknown_key(const place *at, const key *keys, const char *name)
{
    const char *names[32] = {0};
    char list[400] = "";
    for (uint32_t i = 0; keys[i].name && i < 31; i++) {
        names[i] = keys[i].name;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", keys[i].name);
    }
    const char *near = nearest_name(name, names);
    if (near)
        return wrong(at, name, "unknown key (did you mean \"%s\"?)", near);
    return wrong(at, name, "unknown key (there are: %s)", list);
}

/* Checks all keys of json against the table, and stores those of simple types into object. */
static int read_keys(const place *at, const cJSON *json, const key *keys, void *object)
{
    for (const cJSON *value = json->child; value; value = value->next) {
        const key *k = find_key(keys, value->string);
        if (!k)
            return unknown_key(at, keys, value->string);
        for (const cJSON *other = json->child; other != value; other = other->next)
            if (!strcmp(other->string, value->string))
                return wrong(at, k->name, "given twice");
        CLI_TRY(read_value(at, k, value, object));
    }
    for (; keys->name; keys++)
        if (keys->required && !cJSON_GetObjectItemCaseSensitive(json, keys->name))
            return wrong(at, keys->name, "missing key");
    return CLI_OK;
}

/* Paths in a job count from the job's folder. */
static char *beside(const char *job_path, const char *path)
{
    const char *slash = strrchr(job_path, '/');
    if (path[0] == '/' || !slash)
        return text_format("%s", path);
    return text_format("%.*s/%s", (int)(slash - job_path), job_path, path);
}

/* ---- objects of the job ---- */

/* One of the names that name_of gives for 0, 1, .. until NULL. */
static int find_name(const place *at, const char *field, const char *what, const char *name, const char *(*name_of)(uint32_t), uint32_t *index)
{
    char list[200] = "";
    for (*index = 0; name_of(*index); ++*index) {
        if (!strcmp(name_of(*index), name))
            return CLI_OK;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *index ? ", " : "", name_of(*index));
    }
    return wrong(at, field, "unknown %s \"%s\" (there are: %s)", what, name, list);
}

static const char *optimizer_name(uint32_t k) { return bl_optimizer_name((bl_optimizer)k); }
static const char *loss_name(uint32_t k) { return bl_loss_info_get((bl_loss)k).name; }

static const char *form_name(uint32_t k) { return bl_gradient_form_name((bl_gradient_form)k); }

/* "type" of an object, before its other keys are looked at: which they are depends on it. */
static int read_type(const place *at, const cJSON *json, const char *what, const char *(*name_of)(uint32_t), uint32_t *index)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(json, "type");
    if (!type)
        return wrong(at, "type", "missing key");
    if (!cJSON_IsString(type))
        return wrong(at, "type", "must be a text");
    return find_name(at, "type", what, type->valuestring, name_of, index);
}

static int read_optimizer(place at, const cJSON *json, fit_job *job)
{
#define COMMON_KEYS {"type", KEY_OTHER, 0, true}, {"rate", KEY_POSITIVE, offsetof(fit_job, rate), false}
    static const key adam[] = {COMMON_KEYS,
                               {"beta_1", KEY_SHARE, offsetof(fit_job, beta_1), false},
                               {"beta_2", KEY_SHARE, offsetof(fit_job, beta_2), false},
                               {"epsilon", KEY_POSITIVE, offsetof(fit_job, epsilon), false},
                               {0}};
    static const key sgd[] = {COMMON_KEYS,
                              {"momentum", KEY_MOMENTUM, offsetof(fit_job, momentum), false},
                              {"nesterov", KEY_FLAG, offsetof(fit_job, nesterov), false},
                              {0}};
    static const key rmsprop[] = {COMMON_KEYS,
                                  {"alpha", KEY_SHARE, offsetof(fit_job, alpha), false},
                                  {"epsilon", KEY_POSITIVE, offsetof(fit_job, epsilon), false},
                                  {0}};
#undef COMMON_KEYS
    static const key *const keys[BL_OPTIMIZER_COUNT] = {adam, sgd, rmsprop};
    uint32_t kind;
    if (!json)
        return CLI_OK;
    if (!cJSON_IsObject(json))
        return wrong(&at, "optimizer", "must be an object with a type");
    snprintf(at.path, sizeof at.path, "optimizer.");
    CLI_TRY(read_type(&at, json, "optimizer", optimizer_name, &kind));
    CLI_TRY(read_keys(&at, json, keys[kind], job));
    job->optimizer = (bl_optimizer)kind;
    if (job->nesterov && !(job->momentum > 0))
        return wrong(&at, "nesterov", "needs a momentum above 0");
    return CLI_OK;
}

/* "huber", or {"type": "huber", "delta": .1} */
static int read_loss(place at, const cJSON *json, fit_job *job)
{
    uint32_t kind;
    if (!json)
        return CLI_OK;
    if (cJSON_IsString(json)) {
        CLI_TRY(find_name(&at, "loss", "loss", json->valuestring, loss_name, &kind));
        job->loss = (bl_loss)kind;
        return CLI_OK;
    }
    if (!cJSON_IsObject(json))
        return wrong(&at, "loss", "must be a loss's name or an object with a type");
    snprintf(at.path, sizeof at.path, "loss.");
    CLI_TRY(read_type(&at, json, "loss", loss_name, &kind));
    job->loss = (bl_loss)kind;
    const char *constant = bl_loss_info_get(job->loss).constant_name;
    const key keys[] = {{"type", KEY_OTHER, 0, true}, {constant, KEY_POSITIVE, offsetof(fit_job, loss_constant), false}, {0}};
    return read_keys(&at, json, keys, job);
}

static int read_form(place at, const char *name, fit_job *job)
{
    uint32_t form = BL_FORM_AUTO;
    if (name)
        CLI_TRY(find_name(&at, "form", "form", name, form_name, &form));
    job->form = (bl_gradient_form)form;
    return CLI_OK;
}

static int read_schedule(place at, const cJSON *json, fit_job *job)
{
    static const key keys[] = {{"step", KEY_COUNT, offsetof(bl_fit_change, step), true},
                               {"factor", KEY_POSITIVE, offsetof(bl_fit_change, factor), true},
                               {0}};
    if (!json)
        return CLI_OK;
    if (!cJSON_IsArray(json))
        return wrong(&at, "schedule", "must be a list of objects with step and factor");
    job->schedule = memory_or_exit((size_t)cJSON_GetArraySize(json) * sizeof *job->schedule);
    for (const cJSON *one = json->child; one; one = one->next) {
        bl_fit_change *c = &job->schedule[job->schedule_count++];
        snprintf(at.path, sizeof at.path, "schedule[%u]", job->schedule_count - 1);
        if (!cJSON_IsObject(one))
            return wrong(&at, "", "must be an object with step and factor");
        strcat(at.path, ".");
        CLI_TRY(read_keys(&at, one, keys, c));
        if (job->schedule_count > 1 && c->step <= c[-1].step)
            return wrong(&at, "step", "must be above the one before it");
    }
    return CLI_OK;
}

/* at: with the path of the object that holds the target. */
static int read_target(place at, const cJSON *json, fit_job_view *view)
{
    static const key keys[] = {{"render", KEY_OTHER, 0, true},
                               {"spp", KEY_COUNT, offsetof(fit_job_view, spp), false},
                               {"seed", KEY_SEED, offsetof(fit_job_view, seed), false},
                               {0}};
    if (cJSON_IsString(json) && *json->valuestring) {
        view->target = beside(at.file, json->valuestring);
        return CLI_OK;
    }
    if (!cJSON_IsObject(json))
        return wrong(&at, "target",
                     "must be an image's path, or {\"render\": true, \"spp\": .., \"seed\": ..}");
    strcat(at.path, "target.");
    CLI_TRY(read_keys(&at, json, keys, view));
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "render")))
        return wrong(&at, "render", "must be true: the scene's own values make the target");
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

static int read_pose(place at, const cJSON *json, fit_job_view *view)
{
    static const key keys[] = {{"origin", KEY_OTHER, 0, true}, {"target", KEY_OTHER, 0, true}, {"up", KEY_OTHER, 0, true}, {0}};
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
        return wrong(&at, "to_world", "must be 16 numbers, row by row, or {\"origin\": [..], \"target\": [..], \"up\": [..]}");
    strcat(at.path, "to_world.");
    CLI_TRY(read_keys(&at, json, keys, NULL));
    for (int k = 0; k < 3; k++)
        if (!read_vector(cJSON_GetObjectItemCaseSensitive(json, keys[k].name), 3, vectors[k]))
            return wrong(&at, keys[k].name, "must be three numbers");
    if (!look_at(vectors[0], vectors[1], vectors[2], view->to_world))
        return wrong(&at, "up", "must not point along the view, nor the target lie in the origin");
    return CLI_OK;
}

enum { TARGET_SEED = 1 << 20 }; /* far from those of steps; every view has its own */

static int read_views(place at, const cJSON *json, fit_job *job)
{
    static const key keys[] = {{"sensor", KEY_SEED, offsetof(fit_job_view, sensor), false},
                               {"to_world", KEY_OTHER, 0, false},
                               {"target", KEY_OTHER, 0, true},
                               {0}};
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) == 0)
        return wrong(&at, "views", "must be a list of at least one object");
    job->several = true;
    job->views = memory_or_exit((size_t)cJSON_GetArraySize(json) * sizeof *job->views);
    for (const cJSON *one = json->child; one; one = one->next) {
        fit_job_view *v = &job->views[job->view_count++];
        v->seed = TARGET_SEED + job->view_count - 1;
        snprintf(at.path, sizeof at.path, "views[%u]", job->view_count - 1);
        if (!cJSON_IsObject(one))
            return wrong(&at, "", "must be an object with a target");
        strcat(at.path, ".");
        CLI_TRY(read_keys(&at, one, keys, v));
        CLI_TRY(read_pose(at, cJSON_GetObjectItemCaseSensitive(one, "to_world"), v));
        CLI_TRY(read_target(at, cJSON_GetObjectItemCaseSensitive(one, "target"), v));
    }
    return CLI_OK;
}

/* Either a target, seen through the first sensor, or views. */
static int read_goal(place at, const cJSON *json, fit_job *job)
{
    const cJSON *target = cJSON_GetObjectItemCaseSensitive(json, "target"), *views = cJSON_GetObjectItemCaseSensitive(json, "views");
    if (!target == !views)
        return wrong(&at, "target", target ? "give either target or views" : "missing key (or views)");
    if (views)
        return read_views(at, views, job);
    job->views = memory_or_exit(sizeof *job->views);
    job->view_count = 1;
    job->views[0].seed = TARGET_SEED;
    return read_target(at, target, &job->views[0]);
}

static bool finite_number(const cJSON *json) { return cJSON_IsNumber(json) && isfinite(json->valuedouble); }

static int read_bounds(const place *at, const cJSON *json, fit_job_parameter *p)
{
    if (!json)
        return CLI_OK;
    const cJSON *low = cJSON_GetArrayItem(json, 0), *high = cJSON_GetArrayItem(json, 1);
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) != 2 || !finite_number(low) ||
        !finite_number(high) || !(low->valuedouble < high->valuedouble))
        return wrong(at, "bounds", "must be two numbers, [least, most], the first below the second");
    p->bounded = true;
    p->least = low->valuedouble;
    p->most = high->valuedouble;
    return CLI_OK;
}

static int read_initial(const place *at, const cJSON *json, fit_job_parameter *p)
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
            return wrong(at, "initial", "must be a number or a list of numbers, one per entry");
        p->initial[i] = (float)value->valuedouble;
    }
    return count ? CLI_OK : wrong(at, "initial", "is an empty list");
}

static int read_parameters(place at, const cJSON *json, fit_job *job)
{
    static const key keys[] = {{"name", KEY_TEXT, offsetof(fit_job_parameter, name), true},
                               {"initial", KEY_OTHER, 0, false},
                               {"bounds", KEY_OTHER, 0, false},
                               {"rate", KEY_POSITIVE, offsetof(fit_job_parameter, rate), false},
                               {0}};
    if (!cJSON_IsArray(json) || cJSON_GetArraySize(json) == 0)
        return wrong(&at, "parameters", "must be a list of at least one object");
    job->parameters = memory_or_exit((size_t)cJSON_GetArraySize(json) * sizeof *job->parameters);
    for (const cJSON *one = json->child; one; one = one->next) {
        fit_job_parameter *p = &job->parameters[job->parameter_count++];
        snprintf(at.path, sizeof at.path, "parameters[%u]", job->parameter_count - 1);
        if (!cJSON_IsObject(one))
            return wrong(&at, "", "must be an object with a name");
        strcat(at.path, ".");
        CLI_TRY(read_keys(&at, one, keys, p));
        CLI_TRY(read_bounds(&at, cJSON_GetObjectItemCaseSensitive(one, "bounds"), p));
        CLI_TRY(read_initial(&at, cJSON_GetObjectItemCaseSensitive(one, "initial"), p));
    }
    return CLI_OK;
}

static int read_defines(place at, const cJSON *json, fit_job *job)
{
    if (!json)
        return CLI_OK;
    if (!cJSON_IsObject(json))
        return wrong(&at, "defines", "must be an object of texts");
    job->defines = memory_or_exit((size_t)(cJSON_GetArraySize(json) + 1) * sizeof *job->defines);
    snprintf(at.path, sizeof at.path, "defines.");
    for (const cJSON *one = json->child; one; one = one->next) {
        if (!cJSON_IsString(one) || !*one->string)
            return wrong(&at, one->string, "must be a text");
        job->defines[job->define_count++] = text_format("%s=%s", one->string, one->valuestring);
    }
    return CLI_OK;
}

/* ---- the file ---- */

static int read_job(place at, fit_job *job)
{
    typedef struct head {
        const char *scene, *form, *output, *schema;
        uint32_t steps, spp, spp_grad, seed, checkpoint_steps;
    } head;
    static const key keys[] = {{"scene", KEY_TEXT, offsetof(head, scene), true},
                               {"target", KEY_OTHER, 0, false},
                               {"views", KEY_OTHER, 0, false},
                               {"loss", KEY_OTHER, 0, false},
                               {"form", KEY_TEXT, offsetof(head, form), false},
                               {"parameters", KEY_OTHER, 0, true},
                               {"optimizer", KEY_OTHER, 0, false},
                               {"schedule", KEY_OTHER, 0, false},
                               {"steps", KEY_COUNT, offsetof(head, steps), true},
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
    CLI_TRY(read_keys(&at, json, keys, &h));
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
        status = read_job((place){.file = path}, job);
    job->text = text;
    return status;
}

void fit_job_free(fit_job *job)
{
    for (uint32_t i = 0; i < job->parameter_count; i++)
        free(job->parameters[i].initial);
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
