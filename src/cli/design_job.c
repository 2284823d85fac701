/* SPDX-License-Identifier: BSD-3-Clause
 * Reads a design job (docs/design-job.schema.json). What it leaves out gets a value that suits the rest. */
#include "design.h"
#include "json_keys.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *light_name(uint32_t k)
{
    static const char *const names[] = {"collimated", "sun", "point", "area"};
    return k < DESIGN_LIGHT_COUNT ? names[k] : NULL;
}

static int read_slab(json_place at, const cJSON *json, design_job *job)
{
    static const json_key keys[] = {{"size", KEY_POSITIVE, offsetof(design_job, size), false},
                                    {"thickness", KEY_POSITIVE, offsetof(design_job, thickness), false},
                                    {"index", KEY_POSITIVE, offsetof(design_job, index), false},
                                    {"abbe", KEY_POSITIVE, offsetof(design_job, abbe), false},
                                    {0}};
    if (!json)
        return CLI_OK;
    CLI_TRY(json_enter(&at, "slab", "an object with size, thickness, index and abbe", json));
    CLI_TRY(json_read_keys(&at, json, keys, job));
    if (!(job->index > 1 && job->index < 4))
        return json_wrong(&at, "index", "must be above 1 and below 4: 1.49 is that of acrylic glass");
    if (job->abbe && !(job->abbe >= 15 && job->abbe <= 1000))
        return json_wrong(&at, "abbe", "must be from 15 to 1000: 58 is that of acrylic glass");
    return CLI_OK;
}

static int read_light(json_place at, const cJSON *json, design_job *job)
{
    static const json_key collimated[] = {{"type", KEY_OTHER, 0, true}, {0}},
                          sun[] = {{"type", KEY_OTHER, 0, true},
                                   {"angle", KEY_POSITIVE, offsetof(design_job, light_angle), false},
                                   {0}},
                          near[] = {{"type", KEY_OTHER, 0, true},
                                    {"distance", KEY_POSITIVE, offsetof(design_job, light_distance), true},
                                    {"size", KEY_POSITIVE, offsetof(design_job, light_size), false},
                                    {0}};
    static const json_key *const keys[DESIGN_LIGHT_COUNT] = {collimated, sun, near, near};
    uint32_t kind = DESIGN_COLLIMATED;
    if (!json)
        return CLI_OK;
    CLI_TRY(json_enter(&at, "light", "an object with a type: collimated, sun, point or area", json));
    CLI_TRY(json_read_type(&at, json, "light", light_name, &kind));
    job->light = (design_light)kind;
    CLI_TRY(json_read_keys(&at, json, keys[kind], job));
    if (!(job->light_angle <= 20))
        return json_wrong(&at, "angle", "must be at most 20 degrees; the sun's is 0.53");
    return CLI_OK;
}

/* 300 for all levels, or [300, 200, 100]. Fills what `put` says of each level. */
static int read_series(json_place at, const cJSON *json, const char *name, design_job *job,
                       void (*put)(design_level *level, double value))
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, name);
    const int count = cJSON_IsArray(value) ? cJSON_GetArraySize(value) : 0;
    if (!value)
        return CLI_OK;
    if (!cJSON_IsNumber(value) && count != (int)job->level_count)
        return json_wrong(&at, name, "must be a number, or a list of %u, one for each of \"resolutions\"",
                          job->level_count);
    for (uint32_t k = 0; k < job->level_count; k++) {
        const cJSON *one = count ? cJSON_GetArrayItem(value, (int)k) : value;
        if (!cJSON_IsNumber(one) || !(one->valuedouble > 0 && one->valuedouble <= 1e6))
            return json_wrong(&at, name, "must be above 0 and at most 1000000");
        put(&job->levels[k], one->valuedouble);
    }
    return CLI_OK;
}

static void put_steps(design_level *level, double v) { level->steps = (uint32_t)fmax(1, v); }
static void put_spp(design_level *level, double v) { level->spp = (uint32_t)fmax(1, v); }
static void put_smoothness(design_level *level, double v) { level->smoothness = v; }
static void put_rate(design_level *level, double v) { level->rate *= v; }

static int read_resolutions(json_place at, const cJSON *json, design_job *job)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "resolutions");
    static const double usual[] = {16, 32, 64, 128};
    const uint32_t count = list ? (uint32_t)cJSON_GetArraySize(list) : 4;
    if ((list && !cJSON_IsArray(list)) || count < 1 || count > DESIGN_LEVELS_MOST)
        return json_wrong(&at, "resolutions", "must be a list of 1 to %d numbers of pixels, coarse to fine",
                          DESIGN_LEVELS_MOST);
    for (uint32_t k = 0; k < count; k++) {
        const cJSON *one = list ? cJSON_GetArrayItem(list, (int)k) : NULL;
        const double n = one ? one->valuedouble : usual[k];
        if ((one && !cJSON_IsNumber(one)) || !(n >= 4 && n <= DESIGN_SIDE_MOST) || n != floor(n) ||
            (k && n <= job->levels[k - 1].picture))
            return json_wrong(&at, "resolutions",
                              "must be whole numbers from 4 to %d, each above the one before",
                              DESIGN_SIDE_MOST);
        job->levels[k].picture = (uint32_t)n;
    }
    job->level_count = count;
    return CLI_OK;
}

/* Light moves on the receiver by the slope times distance (index - 1). The first steps move it by a fraction
 * of a coarse pixel; finer levels correct less. */
static void set_defaults(design_job *job)
{
    const double pixel = job->size / job->levels[0].picture, lens = job->distance * (job->index - 1);
    for (uint32_t k = 0; k < job->level_count; k++) {
        design_level *level = &job->levels[k];
        level->rate = 0.3 * pixel * pixel / lens * pow(0.65, k);
        level->steps = 150, level->smoothness = 5 * pow(1.7, k);
        level->spp = (uint32_t)fmax(8, 32 >> (k < 5 ? k : 5));
        if (job->light == DESIGN_AREA) /* it shines to all sides: few of its paths meet the slab */
            level->spp *= DESIGN_AREA_PATHS;
    }
    if (!job->light_size)
        job->light_size = job->light == DESIGN_AREA ? 0.05 * job->light_distance : 0.01 * job->light_distance;
    if (!job->light_angle) /* collimated: small enough to blur by two of the finest pixels */
        job->light_angle = job->light == DESIGN_SUN
                               ? 0.53
                               : 57.29577951308232 * 2 * job->size /
                                     job->levels[job->level_count - 1].picture / job->distance;
}

static int read_job(json_place at, design_job *job)
{
    typedef struct head {
        const char *target, *slide, *output, *schema;
        double distance;
        uint32_t seed, checkpoint_steps;
    } head;
    static const json_key keys[] = {{"target", KEY_TEXT, offsetof(head, target), true},
                                    {"slide", KEY_TEXT, offsetof(head, slide), false},
                                    {"slab", KEY_OTHER, 0, false},
                                    {"distance", KEY_POSITIVE, offsetof(head, distance), false},
                                    {"light", KEY_OTHER, 0, false},
                                    {"resolutions", KEY_OTHER, 0, false},
                                    {"steps", KEY_OTHER, 0, false},
                                    {"spp", KEY_OTHER, 0, false},
                                    {"smoothness", KEY_OTHER, 0, false},
                                    {"rate", KEY_OTHER, 0, false},
                                    {"verify", KEY_OTHER, 0, false},
                                    {"seed", KEY_SEED, offsetof(head, seed), false},
                                    {"checkpoint_steps", KEY_COUNT, offsetof(head, checkpoint_steps), false},
                                    {"output", KEY_TEXT, offsetof(head, output), false},
                                    {"$schema", KEY_TEXT, offsetof(head, schema), false}, /* for editors */
                                    {0}};
    static const json_key verify[] = {{"spp", KEY_COUNT, offsetof(design_job, verify_spp), true}, {0}};
    const cJSON *json = job->json, *checked = cJSON_GetObjectItemCaseSensitive(json, "verify");
    head h = {.distance = 200};
    CLI_TRY(json_read_keys(&at, json, keys, &h));
    job->target = json_beside(at.file, h.target);
    job->slide = h.slide ? json_beside(at.file, h.slide) : NULL;
    job->output = h.output ? json_beside(at.file, h.output) : NULL;
    job->distance = h.distance, job->seed = h.seed, job->checkpoint_steps = h.checkpoint_steps;
    CLI_TRY(read_slab(at, cJSON_GetObjectItemCaseSensitive(json, "slab"), job));
    CLI_TRY(read_light(at, cJSON_GetObjectItemCaseSensitive(json, "light"), job));
    CLI_TRY(read_resolutions(at, json, job));
    set_defaults(job);
    CLI_TRY(read_series(at, json, "steps", job, put_steps));
    CLI_TRY(read_series(at, json, "spp", job, put_spp));
    CLI_TRY(read_series(at, json, "smoothness", job, put_smoothness));
    CLI_TRY(read_series(at, json, "rate", job, put_rate));
    if (!checked)
        return CLI_OK;
    CLI_TRY(json_enter(&at, "verify", "an object with spp", checked));
    return json_read_keys(&at, checked, verify, job);
}

int design_job_read(const char *path, design_job *job)
{
    *job = (design_job){.size = 100, .thickness = 5, .index = 1.49};
    CLI_TRY(json_read_file(path, &job->json, &job->text));
    return cJSON_IsObject(job->json) ? read_job((json_place){.file = path}, job)
                                     : fail("%s: a design job is a JSON object", path);
}

void design_job_free(design_job *job)
{
    free(job->text);
    free(job->target);
    free(job->output);
    free(job->slide);
    cJSON_Delete(job->json);
    *job = (design_job){0};
}
