/* SPDX-License-Identifier: BSD-3-Clause
 * backlight bench --ablation: kernels with all optimisations of the compiler, without each one of them, with
 * none but the sharing of functions, and with none at all: the naive form, in which every material, light and
 * shape has functions of its own. Of a scene with hundreds of shapes its compilation takes minutes.
 *
 * Every variant runs once a round, one after the other; a slowdown is the ratio to the variant with all of
 * them within the round, and medians over the rounds are printed. Compilation by the driver includes what it
 * puts off to the first dispatch: what the first run with two samples takes longer than the second. */
#include "cli.h"

#include <backlight/backlight_testing.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct variant {
    char *name;
    uint32_t off;
    bl_pass pass;
    bl_job *job;
    bl_kernel_info kernel;
    double driver_seconds, *busy, *slowdown; /* per round */
    bool same_image; /* bit for bit that of the first variant, as it should be where the driver keeps to the
                        order of operations */
} variant;

typedef struct ablation {
    const cli_ablation *args;
    const cli_session *session;
    variant *variants;
    float *first_image;                 /* of two samples, by the variant with all optimisations */
    uint32_t switches, per_pass, count; /* per_pass: all, without each, and BARE */
} ablation;

enum {
    BARE = 3
}; /* variants without anything but the last 2, 1, 0 optimisations, which are the sharing of functions */

/* CPU devices compile on the CPU, and CPU time is disturbed less by other programs. */
static double now(const ablation *a) { return a->args->on_cpu ? cpu_seconds() : seconds_now(); }

static double own_seconds(const variant *v)
{
    return v->kernel.trace_seconds + v->kernel.optimise_seconds + v->kernel.generate_seconds;
}

static int run_variant(const ablation *a, variant *v, uint32_t spp, double *took)
{
    bl_stats stats;
    double start = cpu_seconds();
    if (v->pass == BL_PASS_PRIMAL)
        SESSION_TRY(a->session,
                    bl_job_render(v->job, &(bl_render_desc){.spp = spp, .seed = a->session->common->seed},
                                  a->args->image, &stats));
    else
        SESSION_TRY(a->session, bl_job_gradient(v->job,
                                                &(bl_gradient_desc){.form = BL_FORM_FUSED,
                                                                    .spp = spp,
                                                                    .seed = a->session->common->seed,
                                                                    .adjoint = a->args->weights},
                                                &stats));
    *took = a->args->on_cpu ? (cpu_seconds() - start) / a->args->cores : stats.device_seconds;
    return CLI_OK;
}

static uint32_t switched_off(const ablation *a, uint32_t k)
{
    if (k == 0)
        return 0;
    return k <= a->switches ? 1u << (k - 1) : (1u << (k - BARE)) - 1;
}

static char *variant_name(const ablation *a, uint32_t k)
{
    const char *last = bl_optimisation_name(a->switches - 1);
    if (k == 0)
        return text_format("all");
    if (k <= a->switches)
        return text_format("without %s", bl_optimisation_name(k - 1));
    uint32_t left = a->per_pass - 1 - k;
    return left == 0   ? text_format("none")
           : left == 1 ? text_format("none but %s", last)
                       : text_format("none but %s, %s", bl_optimisation_name(a->switches - 2), last);
}

static int make_variant(const ablation *a, variant *v, bl_pass pass, uint32_t k)
{
    const bl_job_testing testing = {.passes_off = switched_off(a, k)};
    bl_job_desc desc = {.testing = &testing};
    double began, compiled, unused, first, second;
    if (pass != BL_PASS_PRIMAL)
        desc.parameters = a->args->names, desc.parameter_count = a->args->name_count;
    v->pass = pass, v->off = testing.passes_off;
    v->name = variant_name(a, k);
    v->busy = memory_or_exit(a->args->rounds * sizeof *v->busy);
    v->slowdown = memory_or_exit(a->args->rounds * sizeof *v->slowdown);
    CLI_TRY(session_create_job(a->session, desc, &v->job));
    began = now(a);
    SESSION_TRY(a->session, bl_job_compile(v->job, pass, &v->kernel));
    compiled = now(a);
    CLI_TRY(run_variant(a, v, 2, &unused));
    first = now(a);
    CLI_TRY(run_variant(a, v, 2, &unused));
    second = now(a);
    v->driver_seconds =
        fmax(0, compiled - began - own_seconds(v)) + fmax(0, (first - compiled) - (second - first));
    size_t size = sizeof *a->first_image * session_values(a->session);
    if (k == 0 && pass == BL_PASS_PRIMAL)
        memcpy(a->first_image, a->args->image, size);
    v->same_image = pass != BL_PASS_PRIMAL || memcmp(a->first_image, a->args->image, size) == 0;
    return CLI_OK;
}

static int measure(ablation *a)
{
    for (uint32_t i = 0; i < a->count; i++)
        CLI_TRY(make_variant(a, &a->variants[i], i < a->per_pass ? BL_PASS_PRIMAL : BL_PASS_GRADIENT,
                             i % a->per_pass));
    for (uint32_t round = 0; round < a->args->rounds; round++)
        for (uint32_t i = 0; i < a->count; i++) {
            variant *v = &a->variants[i];
            CLI_TRY(run_variant(a, v, a->args->spp, &v->busy[round]));
            v->slowdown[round] = v->busy[round] / a->variants[i - i % a->per_pass].busy[round];
        }
    return CLI_OK;
}

static const char *pass_name(const variant *v) { return v->pass == BL_PASS_PRIMAL ? "primal" : "gradient"; }

static void print_table(const ablation *a)
{
    printf("%s: %u x %u, depth %d, %u samples per pixel, on %s, %u rounds, medians\n", a->args->scene,
           a->session->info.width, a->session->info.height, a->session->info.max_depth, a->args->spp,
           a->session->device_info.name, a->args->rounds);
    for (uint32_t i = 0; i < a->count; i++) {
        const variant *v = &a->variants[i];
        if (i % a->per_pass == 0)
            printf("\n%-32s %7s %6s %6s %9s %9s %9s %9s %9s %9s %7s\n", pass_name(v), "ops", "bodies",
                   "calls", "call B", "state B", "words", "ours ms", "driver ms", "run s", "slower");
        printf("%-32s %7u %6u %6u %9u %9u %9llu %9.1f %9.1f %9.3f %6.2fx%s\n", v->name, v->kernel.ops,
               v->kernel.functions, v->kernel.calls, v->kernel.call_bytes, v->kernel.state_bytes,
               (unsigned long long)v->kernel.spirv_words, 1e3 * own_seconds(v), 1e3 * v->driver_seconds,
               median(v->busy, a->args->rounds), median(v->slowdown, a->args->rounds),
               v->same_image ? "" : "  another image");
    }
}

static cJSON *variant_json(const ablation *a, const variant *v)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "pass", pass_name(v));
    cJSON_AddStringToObject(json, "variant", v->name);
    cJSON_AddNumberToObject(json, "passes_off", v->off);
    cJSON_AddNumberToObject(json, "ops", v->kernel.ops);
    cJSON_AddNumberToObject(json, "functions", v->kernel.functions);
    cJSON_AddNumberToObject(json, "calls", v->kernel.calls);
    cJSON_AddNumberToObject(json, "call_bytes", v->kernel.call_bytes);
    cJSON_AddNumberToObject(json, "state_bytes", v->kernel.state_bytes);
    cJSON_AddNumberToObject(json, "spirv_words", (double)v->kernel.spirv_words);
    cJSON_AddNumberToObject(json, "own_seconds", own_seconds(v));
    cJSON_AddNumberToObject(json, "driver_seconds", v->driver_seconds);
    cJSON_AddNumberToObject(json, "run_seconds", median(v->busy, a->args->rounds));
    cJSON_AddItemToObject(json, "run_seconds_rounds", cJSON_CreateDoubleArray(v->busy, (int)a->args->rounds));
    cJSON_AddNumberToObject(json, "slowdown", median(v->slowdown, a->args->rounds));
    if (v->pass == BL_PASS_PRIMAL)
        cJSON_AddBoolToObject(json, "same_image", v->same_image);
    return json;
}

static void put_json(const ablation *a)
{
    cJSON *json = cJSON_CreateObject(), *variants;
    json_add_origin(json, a->session, a->args->scene);
    cJSON_AddNumberToObject(json, "width", a->session->info.width);
    cJSON_AddNumberToObject(json, "height", a->session->info.height);
    cJSON_AddNumberToObject(json, "max_depth", a->session->info.max_depth);
    cJSON_AddNumberToObject(json, "spp", a->args->spp);
    cJSON_AddNumberToObject(json, "rounds", a->args->rounds);
    variants = cJSON_AddArrayToObject(json, "variants");
    for (uint32_t i = 0; i < a->count; i++)
        cJSON_AddItemToArray(variants, variant_json(a, &a->variants[i]));
    print_json(json);
    cJSON_Delete(json);
}

int bench_ablation(const cli_session *session, const cli_ablation *args)
{
    ablation a = {.args = args, .session = session};
    while (bl_optimisation_name(a.switches))
        a.switches++;
    a.per_pass = 1 + a.switches + BARE;
    a.count = args->name_count ? 2 * a.per_pass : a.per_pass;
    a.variants = memory_or_exit(a.count * sizeof *a.variants);
    a.first_image = memory_or_exit(sizeof *a.first_image * session_values(session));
    int status = interrupt_may_end(true) ? measure(&a) : CLI_FAILED; /* kernels are compiled all the time */
    interrupt_may_end(false);
    if (status == CLI_OK && session->common->json)
        put_json(&a);
    else if (status == CLI_OK)
        print_table(&a);
    for (uint32_t i = 0; i < a.count; i++) {
        bl_job_destroy(a.variants[i].job);
        free(a.variants[i].name), free(a.variants[i].busy), free(a.variants[i].slowdown);
    }
    free(a.variants), free(a.first_image);
    return status;
}
