/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is the forward kernel right? In the interpreter, sample by sample, along a random direction v over all
 * parameters of a scene at once:
 *
 *   replay     <W, J v> = <J' W, v> with the gradient kernel, which is another kernel, another mode and
 *              other formulas;
 *   frozen     J v, channel by channel, equals differences of the weights along the path that stays where
 *              it is;
 *   drt        media whose extinction has its gradient by differential ratio tracking: replay alone,
 *              because no other kernel walks DRT paths.
 *
 * The scenes are those of scene_cases.c and scene_field_cases.c, media included. Others have factors that are
 * exactly zero, or parameters that act through derived values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 6, SEED = 23, SAMPLES = 60, GRADIENT_STREAM = 1 };
static const double exact_tolerance = 1e-9;

#define ROOM(floor, wall)                                                                                    \
    "<bsdf type='diffuse' id='white'><rgb name='reflectance' value='" floor "'/></bsdf>"                     \
    "<bsdf type='diffuse' id='red'><rgb name='reflectance' value='" wall "'/></bsdf>"                        \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/></transform><ref "               \
    "id='white'/></shape>"                                                                                   \
    "<shape type='rectangle'><transform name='to_world'><scale value='1.5'/><rotate x='1' "                  \
    "angle='90'/><translate value='0,1.1,1'/></transform>"                                                   \
    "<ref id='red'/></shape>"

static const scene_case zero_factors = {
    .name = "zero factors",
    .body =
        ROOM("0,.7,0",
             "0,0,.4") "<emitter type='constant' id='sky'><rgb name='radiance' value='1,0,.5'/></emitter>",
    .parameters = {"white.reflectance.value", "red.reflectance.value", "sky.radiance.value"}};
static const scene_case derived_values = {
    .name = "derived values",
    .body = ROOM(
        ".7,.75,.8",
        ".6,.2,.15") "<emitter type='spot' id='spot'><transform name='to_world'><scale value='1,1.3,.8'/>"
                     "<lookat origin='-.8,-.9,1.9' target='.1,.2,.2' up='0,0,1'/></transform><rgb "
                     "name='intensity' value='5,6,7'/>"
                     "<float name='cutoff_angle' value='35'/><float name='beam_width' value='12'/></emitter>"
                     "<emitter type='spot' id='other'><transform name='to_world'><lookat origin='.8,-.9,1.7' "
                     "target='.1,.2,.2' up='0,0,1'/></transform>"
                     "<rgb name='intensity' value='3,2,1'/><float name='cutoff_angle' value='30'/></emitter>",
    .step = 1e-3,
    .needs_next_event = true,
    .parameters = {"spot.cutoff_angle", "spot.beam_width", "spot.intensity.value",
                   "white.reflectance.value"}};

static const scene_case moved_lights = {
    .name = "moved lights",
    .step = 1e-3,
    .body = ROOM(
        ".7,.75,.8",
        ".6,.2,.15") "<emitter type='spot' id='spot'><transform name='to_world'><scale value='1,1.3,.8'/>"
                     "<lookat origin='-.8,-.9,1.9' target='.1,.2,.2' up='0,0,1'/></transform><rgb "
                     "name='intensity' value='5,6,7'/>"
                     "<float name='cutoff_angle' value='35'/></emitter>"
                     "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.5'/></emitter>"
                     "<emitter type='directional' id='sun'><vector name='direction' "
                     "value='.5,.4,-1'/></emitter>"
                     "<emitter type='projector' id='slide'><transform name='to_world'><lookat "
                     "origin='.8,-.9,1.7' target='.1,.2,.2' up='0,0,1'/></transform>"
                     "<rgb name='irradiance' value='1,2,3'/></emitter>",
    .needs_next_event = true,
    .parameters = {"spot.to_world", "bulb.position", "sun.direction", "slide.to_world", "slide.fov",
                   "slide.scale", "slide.irradiance.value"}};

static const scene_case chains = {
    .name = "mirrors and glass",
    .step = 1e-4,
    .body = ROOM(
        ".7,.75,.8",
        ".6,.2,.15") "<bsdf type='dielectric' id='glass'><float name='int_ior' value='1.5'/><float "
                     "name='ext_ior' value='1'/></bsdf>"
                     "<bsdf type='normalmap' id='tiles'><texture type='bitmap' name='normalmap'><string "
                     "name='filename' value='normals.pfm'/>"
                     "<boolean name='raw' value='true'/></texture><bsdf type='conductor'/></bsdf>"
                     "<shape type='rectangle'><transform name='to_world'><scale value='.9'/><rotate x='1' "
                     "angle='55'/><translate value='0,.2,.7'/></transform>"
                     "<ref id='tiles'/></shape>"
                     "<shape type='sphere'><point name='center' value='.1,-.8,.7'/><float name='radius' "
                     "value='.5'/><ref id='glass'/></shape>"
                     "<emitter type='envmap' id='sky'><string name='filename' value='sky.pfm'/></emitter>",
    .parameters = {"glass.eta", "tiles.normalmap.data", "sky.data"}};

static const scene_case chains_in_media = {
    .name = "mirrors and glass, fog and smoke",
    .step = 1e-5,
    .body = ROOM(
        ".7,.75,.8",
        ".6,.2,.15") "<bsdf type='dielectric' id='glass'><float name='int_ior' value='1.4'/></bsdf>"
                     "<bsdf type='normalmap' id='tiles'><texture type='bitmap' name='normalmap'><string "
                     "name='filename' value='normals.pfm'/>"
                     "<boolean name='raw' value='true'/></texture><bsdf type='conductor'/></bsdf>"
                     "<medium type='homogeneous' id='fog'><rgb name='sigma_t' value='.4,.7,.5'/><rgb "
                     "name='emission' value='.5,.3,.2'/></medium>"
                     "<medium type='heterogeneous' id='smoke'><volume type='gridvolume' name='sigma_t'>"
                     "<string name='filename' value='smoke.vol'/><transform name='to_world'><scale "
                     "value='2'/><translate value='-1,-1.2,0'/></transform></volume></medium>"
                     "<shape type='rectangle'><transform name='to_world'><scale value='.9'/><rotate x='1' "
                     "angle='55'/><translate value='0,.2,.7'/></transform><ref id='tiles'/></shape>"
                     "<shape type='sphere'><point name='center' value='.1,-.8,.7'/><float name='radius' "
                     "value='.5'/><ref id='glass'/><ref id='fog' name='interior'/></shape>"
                     "<shape type='cube'><transform name='to_world'><scale value='.5,.3,.4'/><translate "
                     "value='0,.3,1.4'/></transform><bsdf type='null'/><ref id='smoke' name='interior'/>"
                     "</shape>"
                     "<emitter type='envmap' id='sky'><string name='filename' value='sky.pfm'/></emitter>",
    .volumetric = true,
    .parameters = {"glass.eta", "tiles.normalmap.data", "sky.data"}};

static const scene_case attached = {
    .name = "rough metal and glass, attached",
    .step = 1e-4,
    .integrator = "<integrator type='prb_attached'><integer name='max_depth' value='4'/></integrator>",
    .body = ROOM(
        ".7,.75,.8",
        ".6,.2,.15") "<bsdf type='roughdielectric' id='glass'><float name='alpha' value='.1'/><float "
                     "name='int_ior' value='1.5'/><float name='ext_ior' value='1'/></bsdf>"
                     "<bsdf type='normalmap' id='tiles'><texture type='bitmap' name='normalmap'><string "
                     "name='filename' value='normals.pfm'/>"
                     "<boolean name='raw' value='true'/></texture><bsdf type='roughconductor' "
                     "id='metal'><float name='alpha' value='.05'/></bsdf></bsdf>"
                     "<shape type='rectangle'><transform name='to_world'><scale value='.9'/><rotate x='1' "
                     "angle='55'/><translate value='0,.2,.7'/></transform>"
                     "<ref id='tiles'/></shape>"
                     "<shape type='sphere'><point name='center' value='.1,-.8,.7'/><float name='radius' "
                     "value='.5'/><ref id='glass'/></shape>"
                     "<emitter type='envmap' id='sky'><string name='filename' value='sky.pfm'/></emitter>",
    .parameters = {"glass.eta", "glass.alpha.value", "metal.alpha.value", "tiles.normalmap.data",
                   "sky.data"}};

static const scene_case *const more_cases[] = {&zero_factors, &derived_values,  &moved_lights,
                                               &chains,       &chains_in_media, &attached};
enum { MORE_CASES = sizeof more_cases / sizeof *more_cases };

typedef struct subject {
    const scene_case *c;
    scene_eval *e;
    scene_eval_at at; /* the sample that is compared */
    double *v;        /* direction, by value; tangents are this */
    double reached;   /* sum of |J v| */
} subject;

static void run(subject *s, render_pass pass)
{
    bl_error err = {0};
    if (scene_eval_run(s->e, pass, s->at, &err) != BL_OK)
        fail_msg("%s: %s", s->c->name, err.text);
    assert_int_equal(s->e->status[STATUS_NON_FINITE], 0);
}

static void expect_near(const subject *s, const char *what, double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%s, pixel %u, sample %u: forward %.17g, %s %.17g (tolerance %g)", s->c->name, s->at.pixel,
                 s->at.sample, got, what, expected, tolerance);
}

/* <J' W, v>; *size: what it is summed from. */
static double replayed(subject *s, render_pass pass, double *size)
{
    run(s, pass);
    double along = 0;
    *size = 0;
    for (uint32_t k = 0; k < scene_case_parameter_count(s->c); k++) {
        const render_parameter *p = &s->e->scene->parameters.data[scene_eval_find(s->e, s->c->parameters[k])];
        const double *g = s->e->gradient + scene_eval_gradient_first(s->e, s->c->parameters[k]);
        const double *v = s->v + scene_eval_value_first(s->e, s->c->parameters[k]);
        for (uint32_t i = 0; i < p->count; i++) {
            along += g[i] * v[i];
            *size += fabs(g[i] * v[i]);
        }
    }
    return along;
}

/* Channel c of the frozen path at values + step * v. */
static void frozen(subject *s, double step, double out[3])
{
    scene_eval *e = s->e;
    for (uint32_t i = 0; i < e->plan->stored_count; i++)
        e->frozen[i] = e->values[i] + step * s->v[i];
    run(s, RENDER_FROZEN);
    memcpy(out, e->film + 3 * s->at.pixel, 3 * sizeof *out);
}

static void sample_agrees(subject *s)
{
    scene_eval *e = s->e;
    const double h = s->c->step > 0 ? s->c->step : 0.1;
    double tangent[3], f[5][3], along = 0, size;
    for (uint32_t i = 0; i < e->plan->stored_count; i++)
        e->tangent[i] = s->v[i];
    run(s, RENDER_FORWARD);
    memcpy(tangent, e->film + 3 * s->at.pixel, sizeof tangent);
    for (uint32_t c = 0; c < 3; c++) {
        along += (double)e->adjoint[3 * s->at.pixel + c] * tangent[c];
        s->reached += fabs(tangent[c]);
    }
    double transposed = replayed(s, RENDER_GRADIENT, &size);
    expect_near(s, "replay", along, transposed, exact_tolerance * (1e-3 + size));
    if (e->plan->drt) {
        double separate = replayed(s, RENDER_ADJOINT, &size);
        expect_near(s, "separate kernels", along, separate, exact_tolerance * (1e-3 + size));
        return;
    }
    for (int k = -2; k <= 2; k++)
        frozen(s, k * h, f[k + 2]);
    for (uint32_t c = 0; c < 3; c++) {
        double slope = (8 * (f[3][c] - f[1][c]) - (f[4][c] - f[0][c])) / (12 * h);
        expect_near(s, "frozen differences", tangent[c], slope,
                    exact_tolerance * (1e-3 + size + fabs(f[2][c])) / h);
    }
}

static char *folder;

static void direction(subject *s)
{
    uint32_t state = 5;
    for (uint32_t k = 0; k < scene_case_parameter_count(s->c); k++) {
        const render_parameter *p = &s->e->scene->parameters.data[scene_eval_find(s->e, s->c->parameters[k])];
        for (uint32_t i = 0; i < p->count; i++)
            s->v[scene_eval_value_first(s->e, s->c->parameters[k]) + i] = 2 * scene_random(&state) - 1;
    }
}

static void at_depth(const scene_case *c, int32_t depth, bool next_event, bool drt)
{
    arena a = {0};
    subject s = {.c = c};
    s.e = scene_eval_create_baked(scene_case_xml(&a, c, depth, SIDE, SIDE), folder, c->parameters,
                                  scene_case_parameter_count(c), depth % 2);
    s.e->options = (render_trace_options){.no_next_event = !next_event};
    s.e->plan->drt = drt;
    s.v = calloc(s.e->plan->stored_count + 1u, sizeof *s.v);
    assert_non_null(s.v);
    direction(&s);
    uint32_t state = 9;
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        s.e->adjoint[i] = (float)(0.5 + scene_random(&state));
    s.at = (scene_eval_at){.seed = SEED, .stream = GRADIENT_STREAM, .f64 = true};
    for (uint32_t k = 0; k < SAMPLES; k++) {
        s.at.sample = (uint32_t)(scene_random(&state) * 1000);
        s.at.pixel = (uint32_t)(scene_random(&state) * SIDE * SIDE);
        sample_agrees(&s);
    }
    if (next_event) /* the other way lights are found too rarely to demand it of this many samples */
        assert_true(s.reached > 0);
    free(s.v);
    scene_eval_destroy(s.e);
    arena_free(&a);
}

static void case_agrees(void **state)
{
    const scene_case *c = *state;
    at_depth(c, 4, true, false);
    at_depth(c, 3, true, false);
    if (!c->needs_next_event)
        at_depth(c, 3, false, false);
    if (c->volumetric)
        at_depth(c, 4, true, true);
}

int main(void)
{
    folder = scene_files_create();
    uint32_t most = scene_case_count + scene_media_case_count + scene_field_case_count + MORE_CASES,
             count = 0;
    struct CMUnitTest *tests = calloc(most, sizeof *tests);
    if (!folder || !tests)
        return 1;
    const struct {
        const scene_case *cases;
        uint32_t count;
    } tables[] = {{scene_cases, scene_case_count},
                  {scene_media_cases, scene_media_case_count},
                  {scene_field_cases, scene_field_case_count}};
    for (uint32_t k = 0; k < sizeof tables / sizeof *tables; k++)
        for (const scene_case *c = tables[k].cases; c < tables[k].cases + tables[k].count; c++)
            tests[count++] = (struct CMUnitTest){c->name, case_agrees, NULL, NULL, (void *)(uintptr_t)c};
    for (uint32_t k = 0; k < MORE_CASES; k++)
        tests[count++] = (struct CMUnitTest){more_cases[k]->name, case_agrees, NULL, NULL,
                                             (void *)(uintptr_t)more_cases[k]};
    int failed = _cmocka_run_group_tests("forward", tests, count, NULL, NULL);
    free(tests);
    scene_files_remove(folder);
    return failed;
}
