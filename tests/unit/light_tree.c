/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The tree of lights in the interpreter (integrator/derived/light_tree.c). At places all over a scene with
 * lights of all kinds: probabilities add up to 1, a random number chooses a light as often as its probability
 * says, which is the same for a light that is given, and no light has less than its share of the table. Of
 * point lights and spots probabilities are worked out here, from powers and distances, also after lights have
 * moved and changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/integrator/derived/derived.h"
#include "render/integrator/kernels/kernels.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>

enum { PLACES = 24, CHOICES = 2048, LIGHTS_MOST = 24 };
static const double pi = 3.14159265358979323846, by_table = 0.1, least_share = 0.1;
static char *folder;

typedef struct subject {
    scene_eval *e;
    ir_module *module;
    ir_func *choose; /* place 3, u -> light, its probability */
    ir_func *given;  /* place 3, light -> its probability, that of the table */
} subject;

static vec3 place_of(ir_func *f)
{
    ir_ref x = ir_param(f, IR_F32), y = ir_param(f, IR_F32), z = ir_param(f, IR_F32);
    return v3(x, y, z);
}

/* Derived values and tables, of the values now. */
static void refresh(subject *s)
{
    bl_error err = {0};
    if (scene_eval_run(s->e, RENDER_PRIMAL, (scene_eval_at){.f64 = true}, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static subject load(const char *body)
{
    arena a = {0};
    bl_error err = {0};
    subject s = {0};
    s.e = scene_eval_create_chosen(scene_xml(&a, "", "<sensor type='perspective'/>", body), folder, NULL, 0,
                                   false, LIGHTS_BY_TREE);
    const plan *p = s.e->plan;
    assert_true(p->lights_tree);
    s.module = kernel_module(p);
    tracer t = plan_tracer(p, ir_func_create(s.module, "choose"));
    vec3 from = place_of(t.f);
    ir_ref probability, light = light_choice_sample(&t, &from, ir_param(t.f, IR_F32), &probability);
    ir_return(t.f, (ir_ref[]){ir_to_f32(t.f, light), probability}, 2);
    s.choose = t.f;
    t = plan_tracer(p, ir_func_create(s.module, "given"));
    from = place_of(t.f), light = ir_to_u32(t.f, ir_param(t.f, IR_F32));
    probability = light_choice_probability(&t, &from, light);
    ir_return(t.f, (ir_ref[]){probability, light_choice_probability(&t, NULL, light)}, 2);
    s.given = t.f;
    if (ir_finish(s.module, &err) != BL_OK)
        fail_msg("%s", err.text);
    refresh(&s);
    arena_free(&a);
    return s;
}

static void unload(subject *s)
{
    ir_module_destroy(s->module);
    scene_eval_destroy(s->e);
}

static void evaluate(const subject *s, const ir_func *f, const double place[3], double number, double got[2])
{
    ir_value args[4] = {{.f = place[0]}, {.f = place[1]}, {.f = place[2]}, {.f = number}}, out[2];
    bl_error err = {0};
    if (scene_eval_call(s->e, f, args, true, out, &err) != BL_OK)
        fail_msg("%s", err.text);
    got[0] = out[0].f, got[1] = out[1].f;
}

static void expect_choices(const subject *s, const double place[3])
{
    uint32_t lights = s->e->scene->emitters.count;
    double probability[LIGHTS_MOST], seen[LIGHTS_MOST] = {0}, sum = 0, got[2];
    assert_true(lights <= LIGHTS_MOST);
    for (uint32_t i = 0; i < lights; i++) {
        evaluate(s, s->given, place, i, got);
        probability[i] = got[0], sum += got[0];
        if (!(got[0] >= by_table * got[1] * (1 - 1e-6)))
            fail_msg("light %u: probability %g, of the table alone %g", i, got[0], got[1]);
    }
    if (!(fabs(sum - 1) < 1e-5))
        fail_msg("at (%g, %g, %g) probabilities add up to %.9g", place[0], place[1], place[2], sum);
    for (uint32_t k = 0; k < CHOICES; k++) {
        evaluate(s, s->choose, place, (k + 0.5) / CHOICES, got);
        uint32_t light = (uint32_t)got[0];
        assert_true(light < lights);
        seen[light] += 1.0 / CHOICES;
        if (!(fabs(got[1] - probability[light]) <= 1e-9))
            fail_msg("light %u: probability %.12g where chosen, %.12g where given", light, got[1],
                     probability[light]);
    }
    for (uint32_t i = 0; i < lights; i++) /* two parts of [0, 1), and each has two ends */
        if (!(fabs(seen[i] - probability[i]) <= 2.1 / CHOICES))
            fail_msg("light %u is chosen with probability %g, expected %g", i, seen[i], probability[i]);
}

#define AT(x, y, z) "<transform name='to_world'><translate x='" #x "' y='" #y "' z='" #z "'/></transform>"
#define AREA(light) "<emitter type='area'><rgb name='radiance' value='" light "'/></emitter>"
static const char all_kinds[] = "<shape type='rectangle'>" AT(3, 0, 1) AREA(
    "1,2,3") "</shape>"
             "<shape type='disk'>" AT(-3, 1, 0) AREA(
                 "0,0,0") "</shape>"
                          "<shape type='sphere'>" AT(0, 3, 2) AREA(
                              "5,5,5") "</shape>"
                                       "<shape type='cube'>" AT(0, -4, 2) AREA(
                                           ".1,.2,.1") "</shape>"
                                                       "<emitter type='constant'><rgb name='radiance' "
                                                       "value='.1'/></emitter>"
                                                       "<emitter type='point'><point name='position' "
                                                       "value='1,1,1'/><rgb name='intensity' "
                                                       "value='2'/></emitter>"
                                                       "<emitter type='point'><point name='position' "
                                                       "value='1,1,1'/><rgb name='intensity' "
                                                       "value='1'/></emitter>"
                                                       "<emitter type='point'><point name='position' "
                                                       "value='-2,-2,3'/><rgb name='intensity' value='7'/>"
                                                       "<float name='sampling_weight' value='0'/></emitter>"
                                                       "<emitter type='spot'>" AT(
                                                           0, 0,
                                                           -2) "<rgb name='intensity' value='9'/></emitter>"
                                                               "<emitter type='spot'>" AT(
                                                                   2, 0,
                                                                   -2) "<float name='cutoff_angle' "
                                                                       "value='170'/></emitter>"
                                                                       "<emitter type='projector'>" AT(
                                                                           2, 2,
                                                                           -3) "<float name='fov' "
                                                                               "value='40'/></emitter>"
                                                                               "<emitter "
                                                                               "type='directional'><rgb "
                                                                               "name='irradiance' "
                                                                               "value='3'/></emitter>"
                                                                               "<shape type='cylinder'>" AT(
                                                                                   5, 0, 0)
                                                                                   AREA("1,0,0") "</shape>";

static void choices_follow_probabilities(void **state)
{
    (void)state;
    subject s = load(all_kinds);
    const render_scene *scene = s.e->scene;
    uint32_t random = 3, left_out = PLAN_NONE, dark = PLAN_NONE;
    assert_int_equal(s.e->plan->lights_afar, 2);
    for (uint32_t i = 0; i < scene->emitters.count; i++) {
        uint32_t shape = scene->emitter_shape.data[i];
        if (scene_number(scene->emitters.data[i], "sampling_weight") == 0)
            left_out = i;
        if (shape != PLAN_NONE && scene->shapes.data[shape].kind == SHAPE_DISK)
            dark = i;
    }
    for (int k = 0; k < PLACES; k++) {
        double place[3], got[2];
        for (int c = 0; c < 3; c++)
            place[c] = k == 0 ? 1 : 10 * scene_random(&random) - 5; /* the first is where two lights are */
        expect_choices(&s, place);
        evaluate(&s, s.given, place, left_out, got);
        assert_true(got[0] == 0);
        evaluate(&s, s.given, place, dark, got);
        assert_true(got[0] > 1e-4);
    }
    unload(&s);
}

/* ---- what probabilities are ---- */

typedef struct lamp {
    double at[3], intensity, cone; /* cone: cosine of the half angle around +z; -1: a point */
} lamp;

static double power_of(const lamp *l)
{
    /* a spot with beam_width = cutoff_angle */
    return l->intensity * 2 * pi * (1 - l->cone);
}

/* Two lights with a common parent: by power over squared distance, where the place is lit. */
static void expect_pair(const subject *s, const lamp lamps[2], const double place[3])
{
    double share[2], table[2], sum = 0, powers = power_of(&lamps[0]) + power_of(&lamps[1]);
    for (int i = 0; i < 2; i++) {
        double to[3], square = 0;
        for (int c = 0; c < 3; c++)
            to[c] = place[c] - lamps[i].at[c], square += to[c] * to[c];
        table[i] = (power_of(&lamps[i]) + least_share * powers / 2) / (powers * (1 + least_share));
        share[i] = to[2] / sqrt(square) >= lamps[i].cone ? table[i] / square : 0, sum += share[i];
    }
    for (int i = 0; i < 2; i++) {
        double got[2], tree = sum > 0 ? share[i] / sum : table[i],
                       expected = by_table * table[i] + (1 - by_table) * tree;
        evaluate(s, s->given, place, i, got);
        if (!(fabs(got[0] - expected) < 1e-5))
            fail_msg("light %d at (%g, %g, %g): %.9g, expected %.9g", i, place[0], place[1], place[2], got[0],
                     expected);
    }
}

static double *value_of(subject *s, const char *name)
{
    return s->e->values + s->e->scene->parameters.data[scene_eval_find(s->e, name)].offset;
}

static void probabilities_are_known(void **state)
{
    (void)state;
    subject s = load(
        "<emitter type='point' id='bulb'><point name='position' value='1,0,3'/>"
        "<rgb name='intensity' value='4'/></emitter>"
        "<emitter type='spot' id='spot'>" AT(
            -1, 1, 0) "<float name='cutoff_angle' value='60'/>"
                      "<float name='beam_width' value='60'/><rgb name='intensity' value='9'/></emitter>");
    lamp lamps[2] = {{{1, 0, 3}, 4, -1}, {{-1, 1, 0}, 9, 0.5}};
    const double places[][3] = {{0, 0, 1}, {-1, 1, 5}, {2, 2, -3}, {4, 1, 0.5}, {1, 0, 2.9}};
    for (int moved = 0; moved < 2; moved++) {
        for (size_t k = 0; k < sizeof places / sizeof *places; k++)
            expect_pair(&s, lamps, places[k]);
        for (int c = 0; c < 3; c++) /* the bulb moves and dims, the spot brightens */
            value_of(&s, "bulb.position")[c] = lamps[0].at[c] = (double[]){-2, -1, 1}[c],
                         value_of(&s, "bulb.intensity.value")[c] = 0.5,
                         value_of(&s, "spot.intensity.value")[c] = 20;
        lamps[0].intensity = 0.5, lamps[1].intensity = 20;
        refresh(&s);
    }
    unload(&s);
}

/* A square that shines down: places above it have no more of it than the table gives; below it, it stands in
 * the same place as a bulb and has more power. */
static void areas_shine_to_their_side(void **state)
{
    (void)state;
    subject s =
        load("<shape type='rectangle' id='panel'><transform name='to_world'><rotate x='1' angle='180'/>"
             "<translate z='2'/></transform>" AREA(
                 "1") "</shape>"
                      "<emitter type='point'><point name='position' value='0,0,2'/>"
                      "<rgb name='intensity' value='.5'/></emitter>");
    double above[2], below[2];
    evaluate(&s, s.given, (double[]){0, 0, 8}, 0, above);
    evaluate(&s, s.given, (double[]){0, 0, -8}, 0, below);
    assert_true(fabs(above[0] - by_table * above[1]) < 1e-6);
    assert_true(below[0] > 0.6 && below[0] < 0.8);
    unload(&s);
}

static void few_lights_have_no_tree(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "<emitter type='point'/>",
        "<emitter type='point'/><emitter type='constant'/>",
        "<emitter type='point'/><emitter type='point'><float name='sampling_weight' value='0'/></emitter>",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        arena a = {0};
        scene_eval *e = scene_eval_create_chosen(scene_xml(&a, "", "<sensor type='perspective'/>", bodies[i]),
                                                 folder, NULL, 0, false, LIGHTS_BY_TREE);
        assert_false(e->plan->lights_tree);
        assert_int_equal(e->plan->lights_tabled, i > 0);
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_follow_probabilities),
        cmocka_unit_test(probabilities_are_known),
        cmocka_unit_test(areas_shine_to_their_side),
        cmocka_unit_test(few_lights_have_no_tree),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
