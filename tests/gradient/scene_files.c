/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients of scenes in files right, by all parameters that are said to be complete? Sample by sample
 * in the interpreter (f64): path replay in one kernel equals two kernels, forward mode, and differences of
 * the weights along the path that stays where it is. This needs no device and compiles nothing, so hundreds
 * of random scenes take minutes (scripts/sweep-gradients --samples).
 *
 *   gradient_scene_files SAMPLES SCENE...   at most so many samples, or seconds, of each; names what
 *                                           disagrees, and then ends with 1
 *
 * As a test: one scene whose parts meet in no other test: fog with tables, beside lights that are chosen by
 * a table, and principled glass with a flat base behind a mask. */
#include <backlight/backlight.h>

#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEED = 23, GRADIENT_STREAM = 1, SAMPLE_INDICES = 100000, TOLD_MOST = 3, SECONDS_MOST = 8 };
static const double exact_tolerance = 1e-7,
                    difference_tolerance = 1e-5; /* of what the derivative is summed from */
static const double value_tolerance = 1e-2;      /* of these, of the sample's value */

typedef struct subject {
    const char *file;
    scene_eval *e;
    const char **names;
    uint32_t count;
    double *v; /* direction, by value */
    uint32_t bad, reached, not_finite;
} subject;

/* ---- what is asked for ---- */

/* Whether the parameter is one of the file's that are complete; its name then, to be freed. */
static const char *complete(const bl_scene *scene, uint32_t index)
{
    bl_parameter_info info;
    bool is = bl_scene_parameter_info(scene, index, &info) == BL_OK && info.differentiable && !info.reason;
    return is ? strdup(info.name) : NULL;
}

/* A shape's to_world says the same as its translation, rotation and scale, and jobs take either. */
static void drop_places(subject *s)
{
    const char *end = ".to_world";
    uint32_t kept = 0;
    for (uint32_t k = 0; k < s->count; k++) {
        char *name = (char *)(uintptr_t)s->names[k], scale[256];
        size_t length = strlen(name), at = length > strlen(end) ? length - strlen(end) : 0;
        bool said = false;
        snprintf(scale, sizeof scale, "%.*s.scale", (int)at, name);
        for (uint32_t i = k + 1; i < s->count && strcmp(name + at, end) == 0; i++)
            said |= strcmp(s->names[i], scale) == 0;
        if (said)
            free(name);
        else
            s->names[kept++] = name;
    }
    s->count = kept;
}

static bool find_names(subject *s)
{
    bl_context *ctx = NULL;
    bl_scene *scene = NULL;
    if (bl_context_create(NULL, &ctx) != BL_OK || bl_scene_load(ctx, s->file, NULL, &scene) != BL_OK) {
        printf("REFUSED %s: %s\n", s->file, ctx ? bl_context_error(ctx) : "no memory");
        bl_context_destroy(ctx);
        return false;
    }
    uint32_t all = bl_scene_parameter_count(scene);
    s->names = calloc(all + 1u, sizeof *s->names);
    BL_ASSERT(s->names, "out of memory");
    for (uint32_t i = 0; i < all; i++)
        if ((s->names[s->count] = complete(scene, i)))
            s->count++;
    drop_places(s);
    bl_scene_destroy(scene);
    bl_context_destroy(ctx);
    return true;
}

static const render_parameter *parameter(const subject *s, uint32_t k)
{
    return &s->e->scene->parameters.data[scene_eval_find(s->e, s->names[k])];
}

/* Numbers in proportion to the largest of each parameter; what stands at its upper bound goes inwards, at the
 * lower one not at all. only: PLAN_NONE for all. */
static void point(subject *s, uint32_t only)
{
    uint32_t state = 5;
    memset(s->v, 0, s->e->plan->stored_count * sizeof *s->v);
    for (uint32_t k = 0; k < s->count; k++) {
        const render_parameter *p = parameter(s, k);
        uint32_t first = scene_eval_value_first(s->e, s->names[k]);
        double largest = 0;
        for (uint32_t i = 0; i < p->count; i++)
            largest = fmax(largest, fabs(s->e->values[first + i]));
        for (uint32_t i = 0; i < p->count; i++) {
            double along = (2 * scene_random(&state) - 1) * (largest > 0 ? largest : 1),
                   value = s->e->values[first + i];
            along = value <= (double)p->least ? 0 : value >= (double)p->most ? -fabs(along) : along;
            s->v[first + i] = only == PLAN_NONE || only == k ? along : 0;
        }
    }
}

/* ---- one sample ---- */

typedef struct place {
    uint32_t pixel, sample;
} place;

static void run(subject *s, render_pass pass, place at)
{
    bl_error err = {0};
    bl_result r = scene_eval_run(
        s->e, pass,
        (scene_eval_at){
            .pixel = at.pixel, .sample = at.sample, .seed = SEED, .stream = GRADIENT_STREAM, .f64 = true},
        &err);
    BL_ASSERT(r == BL_OK, "%s: %s", s->file, err.text);
    s->not_finite += s->e->status[STATUS_NON_FINITE];
}

static double reverse(subject *s, render_pass pass, place at, double *size)
{
    run(s, pass, at);
    double along = 0;
    *size = 0;
    for (uint32_t k = 0; k < s->count; k++) {
        const double *g = s->e->gradient + scene_eval_gradient_first(s->e, s->names[k]);
        const double *v = s->v + scene_eval_value_first(s->e, s->names[k]);
        for (uint32_t i = 0; i < parameter(s, k)->count; i++)
            along += g[i] * v[i], *size += fabs(g[i] * v[i]);
    }
    return along;
}

static double forward(subject *s, place at)
{
    memcpy(s->e->tangent, s->v, s->e->plan->stored_count * sizeof *s->v);
    run(s, RENDER_FORWARD, at);
    return scene_eval_weighted(s->e, at.pixel);
}

static double frozen(subject *s, place at, double step)
{
    scene_eval_freeze(s->e, s->v, step);
    run(s, RENDER_FROZEN, at);
    return scene_eval_weighted(s->e, at.pixel);
}

static double difference(subject *s, place at, double h)
{
    return (8 * (frozen(s, at, h) - frozen(s, at, -h)) - (frozen(s, at, 2 * h) - frozen(s, at, -2 * h))) /
           (12 * h);
}

/* What disagrees with path replay along s->v; NULL: nothing. Where a step of 1e-4 crosses a kink, one of 1e-6
 * may not. */
static const char *disagrees(subject *s, place at, double value, double *size, double got[4])
{
    double unused;
    got[0] = reverse(s, RENDER_GRADIENT, at, size), got[1] = reverse(s, RENDER_ADJOINT, at, &unused),
    got[2] = forward(s, at);
    double exact = exact_tolerance * (*size + value_tolerance * (value + 1e-3));
    double near = difference_tolerance * (*size + value_tolerance * value) + 1e-10;
    got[3] = difference(s, at, 1e-4);
    if (!(fabs(got[3] - got[0]) <= near))
        got[3] = difference(s, at, 1e-6), near += difference_tolerance * 0.1 * value + 1e-9;
    return !(fabs(got[1] - got[0]) <= exact)   ? "two kernels"
           : !(fabs(got[2] - got[0]) <= exact) ? "forward"
           : !(fabs(got[3] - got[0]) <= near)  ? "frozen"
                                               : NULL;
}

#define NUMBERS "replay %.9g, two kernels %.9g, forward %.9g, frozen %.9g\n"

/* All parameters at once; where they disagree, one after the other. */
static void judge(subject *s, place at)
{
    double got[4], size, value = fabs(frozen(s, at, 0));
    point(s, PLAN_NONE);
    const char *what = disagrees(s, at, value, &size, got);
    s->reached += size != 0;
    if (!what || s->bad++ >= TOLD_MOST)
        return;
    printf("%s: pixel %u, sample %u: %s: " NUMBERS, s->file, at.pixel, at.sample, what, got[0], got[1],
           got[2], got[3]);
    for (uint32_t k = 0; k < s->count; k++) {
        point(s, k);
        what = disagrees(s, at, value, &size, got);
        if (what)
            printf("    %s: %s: " NUMBERS, s->names[k], what, got[0], got[1], got[2], got[3]);
    }
}

/* ---- scenes ---- */

/* Whether nothing disagrees, and at least so many samples have a derivative. */
static bool judge_file(const char *file, uint32_t samples, uint32_t least_reached)
{
    subject s = {.file = file};
    void *xml;
    size_t size;
    bl_error err = {0};
    if (!find_names(&s))
        return false;
    BL_ASSERT(file_read(file, 1 << 24, &xml, &size, &err) == BL_OK, "%s", err.text);
    char *folder = strdup(file), *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    s.e = scene_eval_create(xml, slash ? folder : ".", s.names, s.count);
    s.v = calloc(s.e->plan->stored_count + 1u, sizeof *s.v);
    BL_ASSERT(s.v, "out of memory");
    uint32_t pixels = s.e->scene->width * s.e->scene->height, state = 9, done = 0;
    for (uint32_t i = 0; i < 3 * pixels; i++)
        s.e->adjoint[i] = (float)(0.5 + scene_random(&state));
    point(&s, PLAN_NONE);
    for (clock_t start = clock();
         s.count > 0 && done < samples && clock() - start < (clock_t)SECONDS_MOST * CLOCKS_PER_SEC; done++) {
        uint32_t pixel = (uint32_t)(scene_random(&state) * pixels);
        judge(&s, (place){pixel, (uint32_t)(scene_random(&state) * SAMPLE_INDICES)});
    }
    printf("%s: %u parameters, %u samples, %u with a derivative, %u disagree, %u not finite\n", file, s.count,
           done, s.reached, s.bad, s.not_finite);
    for (uint32_t k = 0; k < s.count; k++)
        free((void *)(uintptr_t)s.names[k]);
    free(s.names), free(s.v), free(xml), free(folder);
    scene_eval_destroy(s.e);
    return s.bad == 0 && s.not_finite == 0 && s.reached >= least_reached;
}

#define FLAT_GLASS                                                                                           \
    "<bsdf type='principled'><float name='roughness' value='.5'/><float name='spec_trans' value='.4'/>"      \
    "<float name='flatness' value='.3'/></bsdf>"
static const char odd_scene[] =
    "<scene version='3.0.0'><integrator type='volpath'><integer name='max_depth' value='5'/></integrator>"
    "<sensor type='perspective'><transform name='to_world'><lookat origin='0,-4,1' target='0,0,.6' "
    "up='0,0,1'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='6'/><integer name='height' value='6'/><rfilter "
    "type='box'/></film></sensor>"
    "<emitter type='constant'><float name='sampling_weight' value='2'/></emitter>"
    "<emitter type='point'><point name='position' value='1,-1,2'/><float name='sampling_weight' "
    "value='.5'/></emitter>"
    "<shape type='sphere'><point name='center' value='0,0,.6'/><bsdf type='mask'><float name='opacity' "
    "value='.4'/>" FLAT_GLASS "</bsdf>"
    "<medium name='interior' type='heterogeneous'><volume name='sigma_t' type='gridvolume'><string "
    "name='filename' value='smoke.vol'/>"
    "<transform name='to_world'><translate value='-.5,-.5,0'/><scale value='2'/></transform></volume>"
    "<rgb name='albedo' value='.9,.5,.7'/><phase type='tabphase'><string name='values' "
    "value='1,0,2'/></phase></medium></shape></scene>";

static bool judge_odd_scene(void)
{
    arena a = {0};
    char *folder = scene_files_create();
    BL_ASSERT(folder, "no folder");
    const char *file = arena_printf(&a, "%s/odd.xml", folder);
    bl_error err = {0};
    BL_ASSERT(file_write(file, odd_scene, strlen(odd_scene), &err) == BL_OK, "%s", err.text);
    bool good = judge_file(file, 400, 300);
    scene_files_remove(folder);
    arena_free(&a);
    return good;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return judge_odd_scene() ? 0 : 1;
    bool good = true;
    for (int k = 2; k < argc; k++) {
        good &= judge_file(argv[k], (uint32_t)strtoul(argv[1], NULL, 10), 0);
        fflush(stdout);
    }
    return good ? 0 : 1;
}
