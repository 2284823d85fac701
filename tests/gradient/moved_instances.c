/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients by to_world right, of instances and of shapes in groups?
 *
 * Against differences where no edge moves: a picture on the floor of a group, of which another instance
 * stays; and rooms that grow round their lamp while light goes to and fro in them. Against the same shapes
 * written out, each moved by its own to_world: an instance's gradient is the sum of theirs, whether edges
 * move or not. Ordinary runs take the floor and copies of the smallest groups, because compiling takes the
 * time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/moved_scene.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDINARY = 1, COPIES_MOST = 3 };

static scene_device device;
static char *folder;

#define GROUP(shapes) "<shape type='shapegroup' id='group'>" shapes "</shape>"
#define INSTANCE(id, ops) "<shape type='instance' id='" id "'>" TO_WORLD(ops) "<ref id='group'/></shape>"
#define MATTE                                                                                                \
    "<bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' value='.8,.6,.4'/></bsdf></bsdf>"
#define PICTURE "<bsdf type='diffuse'>" BITMAP("reflectance") "</bsdf>"
#define INSIDE                                                                                               \
    "<sensor type='perspective'><float name='fov' value='30'/>" TO_WORLD(                                    \
        "<lookat origin='0,0,.5' target='.1,.1,-1' up='0,1,0'/>") MOVED_FILM "</sensor>"
#define BULB "<emitter type='point'><point name='position' value='.4,.3,.2'/></emitter>"

static const moved_case cases[] = {
    {"floor of a group",
     DIRECT("1", "0"),
     MOVED_DOWN,
     GROUP("<shape type='rectangle'>" TO_WORLD("<rotate z='1' angle='20'/><scale value='1.5'/>") PICTURE
           "</shape>") INSTANCE("other", "<translate z='-9'/>")
         INSTANCE("it", "<scale value='2,1.8,1'/><rotate y='1' angle='5'/>") "<emitter type='point'><point "
                                                                             "name='position' "
                                                                             "value='1,.6,2'/></emitter>",
     "it.to_world",
     {{.1, -.2, .3}, .2, {.3, -.5, .2}},
     64,
     .005},
    {"floor in a group",
     DIRECT("1", "0"),
     MOVED_DOWN,
     GROUP("<shape type='rectangle' id='it'>" TO_WORLD("<rotate z='1' angle='20'/><scale value='1.5'/>")
               PICTURE "</shape>")
         INSTANCE("seen", "<scale value='2,1.8,1'/><rotate y='1' angle='5'/>") "<emitter type='point'><point "
                                                                               "name='position' "
                                                                               "value='1,.6,2'/></emitter>",
     "it.to_world",
     {{.1, -.2, .3}, .2, {.3, -.5, .2}},
     64,
     .005},
    {"cube round its lamp",
     PATH("4"),
     INSIDE,
     GROUP("<shape type='cube'>" MATTE "</shape>")
         INSTANCE("it", "<rotate x='1' angle='10'/><scale value='1.2,1,1.1'/>") BULB,
     "it.to_world",
     {{.1, .3, .2}, .5, {.2, -.1, .3}},
     512,
     .03},
    {"ball round its lamp",
     PATH("4"),
     INSIDE,
     GROUP("<shape type='sphere'>" MATTE "</shape>")
         INSTANCE("it", "<scale value='1.2,1.5,1.1'/><rotate y='1' angle='30'/>") BULB,
     "it.to_world",
     {{.1, .3, .2}, .5, {.2, -.1, .3}},
     512,
     .03},
};

static void gradient_equals_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < (getenv("BL_LONG") ? sizeof cases / sizeof *cases : ORDINARY); k++)
        moved_expect(&device, &cases[k], folder);
}

#define OVER TO_WORLD("<scale value='.7,.5,1'/><rotate x='1' angle='150'/><translate value='1.6,.3,1.6'/>")
#define AROUND                                                                                               \
    "<shape type='rectangle'>" TO_WORLD("<scale value='3'/>") PICTURE                                        \
        "</shape><shape type='rectangle'>" OVER                                                              \
        "<emitter type='area'>" BITMAP("radiance") "</emitter></shape>"
#define SHAPE(type, id, ops, material) "<shape type='" type "' id='" id "'>" TO_WORLD(ops) material "</shape>"
#define THERE "<rotate x='1' angle='40'/><scale value='.9'/><translate value='-.3,.1,.5'/>"
#define THERE_TOO "<scale value='-.8,.6,.7'/><rotate y='1' angle='30'/><translate value='.6,-.5,.4'/>"
#define TILE(then) "<scale value='.6,.5,1'/><translate z='.2'/>" then
#define BALL(then) "<scale value='.3'/><translate value='.2,.1,.4'/>" then
#define MOTION                                                                                               \
    {                                                                                                        \
        {-.5, .2, -.1}, .1, { .3, .4, -.6 }                                                                  \
    }

/* An instance that shows nothing. Without instances walks would be volumetric where shapes touch, and hold
 * other points. */
#define NOTHING                                                                                              \
    "<shape type='shapegroup' id='hidden'><shape type='rectangle'/></shape><shape type='instance'><ref "     \
    "id='hidden'/><transform name='to_world'><scale value='0'/></transform></shape>"

static const struct {
    moved_case moved;
    const char *copies, *names[COPIES_MOST],
        *seen[COPIES_MOST]; /* seen: to_world of the instance through which a shape in a group moves a copy */
} sums[] = {
    {{"instance", PATH("4"), MOVED_DOWN,
      AROUND GROUP(SHAPE("rectangle", "tile", TILE(""), MATTE) SHAPE("sphere", "ball", BALL(""), PICTURE))
          INSTANCE("it", THERE) INSTANCE("other", THERE_TOO),
      "it.to_world", MOTION, 64, 0},
     AROUND SHAPE("rectangle", "tile", TILE(THERE), MATTE) SHAPE("sphere", "ball", BALL(THERE), PICTURE)
         GROUP(SHAPE("rectangle", "tile2", TILE(""), MATTE) SHAPE("sphere", "ball2", BALL(""), PICTURE))
             INSTANCE("other", THERE_TOO),
     {"tile.to_world", "ball.to_world"},
     {NULL}},
    {{"shape in a group", PATH("4"), MOVED_DOWN,
      AROUND GROUP(SHAPE("rectangle", "it", TILE(""), MATTE)) INSTANCE("one", THERE)
          INSTANCE("other", THERE_TOO),
      "it.to_world", MOTION, 64, 0},
     AROUND NOTHING SHAPE("rectangle", "tile", TILE(THERE), MATTE)
         SHAPE("rectangle", "tile2", TILE(THERE_TOO), MATTE),
     {"tile.to_world", "tile2.to_world"},
     {"one.to_world", "other.to_world"}},
    {{"instance of one shape", PATH("4"), MOVED_DOWN,
      AROUND GROUP(SHAPE("rectangle", "tile", TILE(""), MATTE)) INSTANCE("it", THERE), "it.to_world", MOTION,
      64, 0},
     AROUND NOTHING SHAPE("rectangle", "tile", TILE(THERE), MATTE),
     {"tile.to_world"},
     {NULL}},
};

/* out = a b */
static void product(const float *a, const float *b, float *out)
{
    for (int i = 0; i < 16; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (double)a[4 * (i / 4) + k] * (double)b[4 * k + i % 4];
        out[i] = (float)sum;
    }
}

static void gradient_is_that_of_copies(void **state)
{
    (void)state;
    for (size_t k = getenv("BL_LONG") ? 0 : 1; k < sizeof sums / sizeof *sums; k++) {
        moved_scene whole = moved_load(&device, &sums[k].moved, NULL, folder);
        double size, part, of_copies = 0, along = moved_gradient(&whole, MOVED_SEED, &size);
        for (int c = 0; c < COPIES_MOST && sums[k].names[c]; c++) {
            moved_case copy = sums[k].moved;
            copy.body = sums[k].copies, copy.parameter = sums[k].names[c];
            moved_scene m = moved_load(&device, &copy, NULL, folder);
            if (sums[k].seen[c]) {
                float seen[16];
                SCENE_MUST(&device,
                           bl_scene_get_parameter(
                               whole.scene, scene_device_find(&device, whole.scene, sums[k].seen[c]), seen));
                product(seen, whole.along, m.along);
            }
            of_copies += moved_gradient(&m, MOVED_SEED, &part);
            moved_free(&m);
        }
        print_message("%s: %.6g, of copies %.6g; of parts of size %.6g\n", sums[k].moved.name, along,
                      of_copies, size);
        assert_true(fabs(along) > 0.03 * size);
        assert_true(fabs(of_copies - along) < 2e-3 * size);
        moved_free(&whole);
    }
}

/* What cannot be: clear errors. */
static void refused(void **state)
{
    (void)state;
    moved_scene m = moved_load(&device, &cases[0], NULL, folder);
    float bad[16] = {1}; /* flat; all zeros would hide it */
    assert_int_equal(bl_job_set_parameter(m.job, m.parameter, bad), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "it.to_world is singular"));
    uint32_t other = scene_device_find(&device, m.scene, "other.to_world");
    assert_int_equal(bl_job_set_parameter(m.job, other, m.start), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "other.to_world: this stays where it is"));
    bl_parameter_info info;
    SCENE_MUST(&device, bl_scene_parameter_info(m.scene, m.parameter, &info));
    assert_null(info.reason);
    moved_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_equals_differences),
                                       cmocka_unit_test(refused),
                                       cmocka_unit_test(gradient_is_that_of_copies)};
    return SCENE_DEVICE_RUN(&device, &folder, "moved instances", tests);
}
