/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right where something moves and the grid of a medium ends within the medium? Its density
 * steps there, so the faces of the grid's box must hold collisions as surfaces do
 * (docs/theory/moving_geometry.md). No edge matters: what is seen has no silhouette but those of null
 * surfaces. A border that moves around a whole grid changes nothing, so that gradient must be 0. Where the
 * border stands in the place of the faces, gradients are the same. Means over seeds are compared with
 * differences of images; ordinary runs take the first four cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/moved_scene.h"
#include "support/scene_cases.h"

#include <math.h>

enum { ORDINARY = 4 };

static scene_device device;
static char *folder;

#define VOLPATH(depth)                                                                                       \
    "<integrator type='volpath'><integer name='max_depth' value='" depth                                     \
    "'/><integer name='rr_depth' value='99'/></integrator>"
#define EYE                                                                                                  \
    "<sensor type='perspective' id='it'><float name='fov' value='30'/>" TO_WORLD(                            \
        "<lookat origin='0,0,4' target='.1,.1,0' up='0,1,0'/>") MOVED_FILM "</sensor>"
#define DOWN                                                                                                 \
    "<sensor type='perspective'><float name='fov' value='30'/>" TO_WORLD(                                    \
        "<lookat origin='0,0,4' target='.1,.1,0' up='0,1,0'/>") MOVED_FILM "</sensor>"
#define WIDE                                                                                                 \
    TO_WORLD("<rotate x='1' angle='10'/><scale value='60'/><translate z='-1.5'/>")                           \
    "<bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' value='.8,.5,.3'/></bsdf></bsdf>"    \
    "</shape>"
#define GROUND "<shape type='rectangle'>" WIDE
/* A grid of one density in a box with these sides, turned by an angle about y. */
#define SMOKE(sides, angle, more)                                                                            \
    "<medium type='heterogeneous' name='interior'><volume type='gridvolume' name='sigma_t'><string "         \
    "name='resolution' value='2'/><float name='value' value='1.2'/>" TO_WORLD(                               \
        "<translate value='-.5,-.5,-.5'/><scale value='" sides "'/><rotate y='1' angle='" angle              \
        "'/>") "</volume><rgb name='albedo' value='.8,.6,.9'/>" more "</medium>"
/* The same, of many densities, which vary by channel. */
#define CLOUDS(sides)                                                                                        \
    "<medium type='heterogeneous' name='interior'><volume type='gridvolume' name='sigma_t'><string "         \
    "name='filename' value='smoke.vol'/>" TO_WORLD(                                                          \
        "<translate value='-.5,-.5,-.5'/><scale value='" sides                                               \
        "'/><rotate y='1' angle='10'/>") "</volume>"                                                         \
                                         "<float name='scale' value='1.5'/><phase type='hg'><float "         \
                                         "name='g' value='.4'/></phase></medium>"
#define HULL(medium)                                                                                         \
    "<shape type='cube'>" TO_WORLD(                                                                          \
        "<scale value='1.2'/><rotate y='1' angle='10'/>") "<bsdf type='null'/>" medium "</shape>"
/* It holds ground and light, too. */
#define DEEP(medium)                                                                                         \
    "<shape type='cube'>" TO_WORLD(                                                                          \
        "<scale value='2.8'/><rotate y='1' angle='10'/>") "<bsdf type='null'/>" medium "</shape>"
/* It cuts the grid on two sides. */
#define CUT(medium)                                                                                          \
    "<shape type='cube' id='it'>" TO_WORLD(                                                                  \
        "<scale value='.5,.9,.9'/><rotate y='1' angle='10'/>") "<bsdf "                                      \
                                                               "type='null'/>" medium "</shape>"
#define BULB "<emitter type='point'><point name='position' value='1,.6,2.5'/></emitter>"
#define GOES                                                                                                 \
    {                                                                                                        \
        {.1, -.2, .3}, .2, { .3, -.5, .4 }                                                                   \
    }
#define NEARS                                                                                                \
    {                                                                                                        \
        {.02, -.03, .1}, 0, { .1, -.2, .6 }                                                                  \
    }

static const moved_means cases[] = {
    {{"camera", VOLPATH("4"), EYE, GROUND HULL(SMOKE("1,1.1,.8", "20", "")) BULB, "it.to_world", NEARS, 2048,
      0},
     .03,
     10},
    {{"border that cuts the grid", VOLPATH("4"), DOWN, GROUND CUT(SMOKE("1,1.1,.8", "20", "")) BULB,
      "it.to_world", GOES, 2048, 0},
     .01,
     10},
    {{"ground", VOLPATH("4"), DOWN,
      "<shape type='rectangle' id='it'>" WIDE DEEP(SMOKE("1,1.1,.8", "20", "")) BULB, "it.to_world", GOES,
      256, 0},
     .02,
     10},
    {{"camera over many densities", VOLPATH("4"), EYE, GROUND HULL(CLOUDS("1,1.1,.8")) BULB, "it.to_world",
      NEARS, 4096, 0},
     .03,
     4},
    {{"light", VOLPATH("4"), DOWN,
      GROUND DEEP(SMOKE("1,1.1,.8", "20", "")) "<emitter type='point' id='it'><point name='position' "
                                               "value='1,.6,2.5'/></emitter>",
      "it.position", GOES, 512, 0},
     .02,
     10},
    {{"camera over smoke that glows", VOLPATH("3"), EYE,
      HULL(SMOKE("1,1.1,.8", "20", "<rgb name='emission' value='.5,.7,.2'/>")), "it.to_world", NEARS, 2048,
      0},
     .03,
     10},
};

static void means(void **state)
{
    (void)state;
    moved_means_expect_all(&device, cases, sizeof cases / sizeof *cases, ORDINARY, folder);
}

/* What does not move with anything in the image: the border of a medium around a grid that ends in it. Single
 * numbers of the matrix are 0, too, though rays are held by this border in front of the grid. */
static void border_around_grid(void **state)
{
    (void)state;
    static const moved_case c = {
        .name = "border around a grid",
        .integrator = VOLPATH("5"),
        .sensor = DOWN,
        .body = GROUND "<shape type='cube' id='it'>" TO_WORLD(
            "<scale value='1.2'/><rotate y='1' "
            "angle='10'/>") "<bsdf type='null'/>" SMOKE("1.5,1,.8", "20",
                                                        "<rgb name='emission' value='.5,.7,.2'/>") "</"
                                                                                                   "shape"
                                                                                                   ">" BULB,
        .parameter = "it.to_world",
        .motion = GOES,
        .spp = 256,
    };
    moved_scene m = moved_load(&device, &c, NULL, folder);
    double size, along = moved_gradient(&m, MOVED_SEED, &size);
    print_message("%s: %.3g, of parts of size %.3g\n", c.name, along, size);
    assert_true(size < 1e-6);
    moved_free(&m);
}

/* The same cube of smoke, ended by its grid, and by a border in a larger grid. */
#define BY_GRID                                                                                              \
    "<shape type='cube'>" TO_WORLD("<scale value='1.2'/>") "<bsdf type='null'/>" SMOKE("1,1,1", "0",         \
                                                                                       "") "</shape>"
#define BY_BORDER                                                                                            \
    "<shape type='cube'>" TO_WORLD("<scale value='.5'/>") "<bsdf type='null'/>" SMOKE("9,9,9", "0",          \
                                                                                      "") "</shape>"

/* All rays of the camera go through the cube. */
#define NARROW(id)                                                                                           \
    "<sensor type='perspective' id='" id                                                                     \
    "'><float name='fov' value='8'/>" TO_WORLD("<lookat origin='0,0,4' target='.01,.02,0' up='0,1,0'/>")     \
        MOVED_FILM "</sensor>"
#define LIGHT "<emitter type='point' id='it'><point name='position' value='1,.6,2.5'/></emitter>"

#define MOVES_GROUND(smoke) "<shape type='rectangle' id='it'>" WIDE smoke BULB, "it.to_world", GOES, 256, 0
#define MOVES_LIGHT(smoke) GROUND smoke LIGHT, "it.position", GOES, 256, 0
#define MOVES_CAMERA(smoke) GROUND smoke BULB, "it.to_world", NEARS, 256, 0

/* Faces of a grid do what a border in their place does, sample by sample, since paths are the same. allowed:
 * as a share of the sizes of the derivative's terms. Some samples decide otherwise by rounding, and the
 * ground has few that count. */
static void as_border(void **state)
{
    (void)state;
    static const struct {
        moved_case by_grid, by_border;
        double allowed;
    } pairs[] = {
        {{"camera", VOLPATH("6"), NARROW("it"), MOVES_CAMERA(BY_GRID)},
         {"camera", VOLPATH("6"), NARROW("it"), MOVES_CAMERA(BY_BORDER)},
         1e-3},
        {{"ground", VOLPATH("6"), NARROW("eye"), MOVES_GROUND(BY_GRID)},
         {"ground", VOLPATH("6"), NARROW("eye"), MOVES_GROUND(BY_BORDER)},
         5e-3},
        {{"light", VOLPATH("6"), NARROW("eye"), MOVES_LIGHT(BY_GRID)},
         {"light", VOLPATH("6"), NARROW("eye"), MOVES_LIGHT(BY_BORDER)},
         1e-3},
    };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        const moved_case *cases_of[] = {&pairs[k].by_grid, &pairs[k].by_border};
        double along[2], size;
        for (int i = 0; i < 2; i++) {
            moved_scene m = moved_load(&device, cases_of[i], NULL, folder);
            along[i] = moved_gradient(&m, MOVED_SEED, &size);
            moved_free(&m);
        }
        print_message("%s: by the grid %.8g, by the border %.8g, of parts of size %.3g\n",
                      pairs[k].by_grid.name, along[0], along[1], size);
        assert_true(fabs(along[0] - along[1]) < pairs[k].allowed * size);
    }
}

/* Reverse mode, forward mode and frozen paths, on the same samples. */
static void modes(void **state)
{
    (void)state;
    moved_case even = cases[0].c, varied = cases[3].c;
    even.spp = varied.spp = 64;
    moved_expect(&device, &even, folder);
    moved_expect(&device, &varied, folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(border_around_grid), cmocka_unit_test(as_border),
                                       cmocka_unit_test(modes), cmocka_unit_test(means)};
    return SCENE_DEVICE_RUN(&device, &folder, "ended grids", tests);
}
