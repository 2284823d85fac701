/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Instances against the same shapes written out: sample by sample, in the interpreter, a path tracer that
 * walks among instances returns what it returns among copies. And what scenes with misplaced groups say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 12, HEIGHT = 9, SAMPLES = 6 };

#define MATERIALS                                                                                            \
    "<bsdf type='twosided' id='tiles'><bsdf type='diffuse'><texture type='checkerboard' name='reflectance'>" \
    "<transform name='to_uv'><scale value='3,2,1'/></transform></texture></bsdf></bsdf><bsdf "               \
    "type='dielectric' id='glass'/>"
#define AROUND                                                                                               \
    "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform></shape><emitter "     \
    "type='constant'/>"                                                                                      \
    "<shape type='sphere'><point name='center' value='0,0,3'/><float name='radius' value='.5'/><emitter "    \
    "type='area'><rgb name='radiance' "                                                                      \
    "value='5,4,3'/></emitter></shape>"
#define TURNED "<rotate x='.8' y='.6' angle='70'/><translate value='.3,-.2,.7'/>"
#define MIRRORED "<scale value='.5,-.5,.5'/><rotate y='1' angle='30'/><translate value='-.6,-.3,.4'/>"
#define SHAPE(type, own, then, more)                                                                         \
    "<shape type='" type "'><transform name='to_world'>" own then "</transform>" more "</shape>"
#define GROUP(then)                                                                                          \
    SHAPE("cylinder", "<scale value='.4,.4,.9'/>", then, "<ref id='tiles'/>")                                \
    SHAPE("sphere", "<scale value='.3'/><translate z='1'/>", then, "<ref id='glass'/>")                      \
    SHAPE("disk", "<scale value='.7'/><translate z='.2'/>", then, "<ref id='tiles'/>")                       \
    SHAPE("cube", "<scale value='.15'/><translate x='.6'/>", then, "<ref id='tiles'/>")

static scene_eval *evaluate(const char *body)
{
    arena a = {0};
    char *xml = scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='5'/></integrator>",
                          arena_printf(&a, scene_sensor_format, WIDTH, HEIGHT), body);
    scene_eval *e = scene_eval_create(xml, ".", NULL, 0);
    arena_free(&a);
    return e;
}

static void instances_equal_copies(void **state)
{
    (void)state;
    scene_eval *two = evaluate(MATERIALS "<shape type='shapegroup' id='group'>" GROUP(
        "") "</shape>" AROUND SHAPE("instance", "", TURNED, "<ref id='group'/>")
                                   SHAPE("instance", "", MIRRORED, "<ref id='group'/>"));
    scene_eval *one = evaluate(MATERIALS AROUND GROUP(TURNED) GROUP(MIRRORED));
    assert_int_equal(two->scene->instances.count, 3);
    assert_int_equal(one->scene->instances.count, 0);
    uint32_t lit = 0, differ = 0;
    for (uint32_t pixel = 0; pixel < WIDTH * HEIGHT; pixel++)
        for (uint32_t sample = 0; sample < SAMPLES; sample++) {
            bl_error err = {0};
            if (scene_eval_run(two, RENDER_PRIMAL,
                               (scene_eval_at){.pixel = pixel, .sample = sample, .seed = 7, .f64 = true},
                               &err) != BL_OK ||
                scene_eval_run(one, RENDER_PRIMAL,
                               (scene_eval_at){.pixel = pixel, .sample = sample, .seed = 7, .f64 = true},
                               &err) != BL_OK)
                fail_msg("%s", err.text);
            bool same = true;
            for (uint32_t c = 3 * pixel; c < 3 * pixel + 3; c++)
                same &= fabs(two->film[c] - one->film[c]) <= 1e-3 * (1e-3 + fabs(one->film[c]));
            differ += !same, lit += one->film[3 * pixel] > 0;
        }
    print_message("%u of %d samples differ, %u are lit\n", differ, WIDTH * HEIGHT * SAMPLES, lit);
    assert_true(lit > WIDTH * HEIGHT * SAMPLES / 2);
    assert_true(differ <= WIDTH * HEIGHT * SAMPLES /
                              100); /* positions are rounded to f32: a path at an edge may go elsewhere */
    scene_eval_destroy(two);
    scene_eval_destroy(one);
}

static void a_group_alone_is_not_seen(void **state)
{
    (void)state;
    bl_error err = {0};
    scene_eval *e = evaluate("<emitter type='constant'/><shape type='shapegroup' id='group'>" SHAPE(
        "sphere", "<scale value='100'/>", "", "") "</shape>");
    assert_int_equal(e->scene->instances.count, 0);
    assert_int_equal(scene_eval_run(e, RENDER_PRIMAL, (scene_eval_at){.seed = 1, .f64 = true}, &err), BL_OK);
    assert_true(fabs(e->film[0] - 1) < 1e-6);
    scene_eval_destroy(e);
}

static const struct {
    const char *body, *reason;
} bad[] = {
    {"<shape type='instance'/>", "instance"},
    {"<shape type='instance'><shape type='sphere'/></shape>",
     "what it shows must be a shapegroup, not \"sphere\""},
    {"<shape type='shapegroup'/>", "shapegroup"},
    {"<shape type='shapegroup'><shape type='sphere'><emitter type='area'/></shape></shape>",
     "a shape in a shapegroup cannot be a light"},
    {"<shape type='shapegroup'><shape type='merge'><shape type='shapegroup'><shape "
     "type='sphere'/></shape></shape></shape>",
     "groups cannot hold other groups"},
    {"<shape type='shapegroup' id='a'><shape type='sphere'/></shape><shape type='shapegroup'><shape "
     "type='instance'><ref id='a'/></shape></shape>",
     "groups cannot hold instances"},
    {"<shape type='sphere' id='a'/><shape type='shapegroup'><ref id='a'/></shape>",
     "in a shapegroup and outside of it"},
    {"<shape type='instance'><shape type='shapegroup'><shape type='sphere'/></shape><transform "
     "name='to_world'><scale x='0'/></transform></shape>",
     "singular"},
    {"<shape type='instance'><shape type='shapegroup'><shape type='sphere'/></shape><transform "
     "name='to_world'><scale value='1e-42'/></transform></shape>",
     "out of range"},
    {"<shape type='instance'><shape type='shapegroup'><shape type='sphere'/></shape><transform "
     "name='to_world'><matrix value='1 0 0 0  0 1 0 0  0 0 1 0  0 0 1 1'/>"
     "</transform></shape>",
     "affine"},
};

static void misplaced_groups_say_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        arena a = {0};
        scene_load_options o = {.registry = &render_registry};
        scene_description *d;
        render_scene *s = NULL;
        bl_error err = {0};
        bl_result r = scene_load_string(scene_xml(&a, "", "<sensor type='perspective'/>", bad[i].body), NULL,
                                        &o, &d, &err);
        if (r == BL_OK)
            r = render_scene_create(d, NULL, &s, &err);
        if (r == BL_OK || !strstr(err.text, bad[i].reason))
            fail_msg("%s: %s", bad[i].body, r == BL_OK ? "no error" : err.text);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(instances_equal_copies),
                                       cmocka_unit_test(a_group_alone_is_not_seen),
                                       cmocka_unit_test(misplaced_groups_say_why)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
