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

typedef enum key_type { KEY_TEXT, KEY_COUNT, KEY_SEED, KEY_POSITIVE, KEY_OTHER } key_type;

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

static int read_optimizer(place at, const cJSON *json, fit_job *job)
{
    typedef struct optimizer {
        const char *type;
        double rate, beta_1, beta_2, epsilon;
    } optimizer;
    static const key keys[] = {{"type", KEY_TEXT, offsetof(optimizer, type), true},
                               {"rate", KEY_POSITIVE, offsetof(optimizer, rate), false},
                               {"beta_1", KEY_POSITIVE, offsetof(optimizer, beta_1), false},
                               {"beta_2", KEY_POSITIVE, offsetof(optimizer, beta_2), false},
                               {"epsilon", KEY_POSITIVE, offsetof(optimizer, epsilon), false},
                               {0}};
    if (!json)
        return CLI_OK;
    if (!cJSON_IsObject(json))
        return wrong(&at, "optimizer", "must be an object");
    snprintf(at.path, sizeof at.path, "optimizer.");
    optimizer o = {0};
    CLI_TRY(read_keys(&at, json, keys, &o));
    if (strcmp(o.type, "adam") != 0)
        return wrong(&at, "type", "unknown optimizer \"%s\" (there is: adam)", o.type);
    if (o.beta_1 >= 1 || o.beta_2 >= 1)
        return wrong(&at, o.beta_1 >= 1 ? "beta_1" : "beta_2", "must be below 1");
    job->rate = o.rate;
    job->beta_1 = o.beta_1;
    job->beta_2 = o.beta_2;
    job->epsilon = o.epsilon;
    return CLI_OK;
}

static int read_target(place at, const cJSON *json, fit_job *job)
{
    typedef struct target {
        uint32_t spp, seed;
    } target;
    static const key keys[] = {{"render", KEY_OTHER, 0, true},
                               {"spp", KEY_COUNT, offsetof(target, spp), false},
                               {"seed", KEY_SEED, offsetof(target, seed), false},
                               {0}};
    if (cJSON_IsString(json) && *json->valuestring) {
        job->target = beside(at.file, json->valuestring);
        return CLI_OK;
    }
    if (!cJSON_IsObject(json))
        return wrong(&at, "target",
                     "must be an image's path, or {\"render\": true, \"spp\": .., \"seed\": ..}");
    snprintf(at.path, sizeof at.path, "target.");
    target t = {.seed = 1u << 20};
    CLI_TRY(read_keys(&at, json, keys, &t));
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "render")))
        return wrong(&at, "render", "must be true: the scene's own values make the target");
    job->render_target = true;
    job->target_spp = t.spp;
    job->target_seed = t.seed;
    return CLI_OK;
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
        const char *scene, *loss, *output, *schema;
        uint32_t steps, spp, spp_grad, seed;
    } head;
    static const key keys[] = {{"scene", KEY_TEXT, offsetof(head, scene), true},
                               {"target", KEY_OTHER, 0, true},
                               {"loss", KEY_TEXT, offsetof(head, loss), false},
                               {"parameters", KEY_OTHER, 0, true},
                               {"optimizer", KEY_OTHER, 0, false},
                               {"steps", KEY_COUNT, offsetof(head, steps), true},
                               {"spp", KEY_COUNT, offsetof(head, spp), false},
                               {"spp_grad", KEY_COUNT, offsetof(head, spp_grad), false},
                               {"seed", KEY_SEED, offsetof(head, seed), false},
                               {"output", KEY_TEXT, offsetof(head, output), false},
                               {"defines", KEY_OTHER, 0, false},
                               {"$schema", KEY_TEXT, offsetof(head, schema), false}, /* for editors */
                               {0}};
    head h = {0};
    const cJSON *json = job->json;
    CLI_TRY(read_keys(&at, json, keys, &h));
    if (h.loss && strcmp(h.loss, "l2") != 0)
        return wrong(&at, "loss", "unknown loss \"%s\" (there is: l2)", h.loss);
    job->scene = beside(at.file, h.scene);
    job->output = h.output ? beside(at.file, h.output) : NULL;
    job->steps = h.steps;
    job->spp = h.spp;
    job->spp_grad = h.spp_grad;
    job->seed = h.seed;
    CLI_TRY(read_target(at, cJSON_GetObjectItemCaseSensitive(json, "target"), job));
    CLI_TRY(read_parameters(at, cJSON_GetObjectItemCaseSensitive(json, "parameters"), job));
    CLI_TRY(read_defines(at, cJSON_GetObjectItemCaseSensitive(json, "defines"), job));
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
    free(text);
    return status;
}

void fit_job_free(fit_job *job)
{
    for (uint32_t i = 0; i < job->parameter_count; i++)
        free(job->parameters[i].initial);
    for (uint32_t i = 0; i < job->define_count; i++)
        free((char *)(uintptr_t)job->defines[i]);
    free(job->parameters);
    free(job->defines);
    free(job->scene);
    free(job->target);
    free(job->output);
    cJSON_Delete(job->json);
    *job = (fit_job){0};
}
