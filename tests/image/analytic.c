/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are images right whose values are known? Furnaces; point, area and sphere lights, against formulas or
 * quadrature in C; what max_depth and hide_emitters mean. The bound is the variance that the renderer
 * measures, pixel by pixel and in the mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 16, SPP = 256, VALUES = 3 * SIDE * SIDE };
static const double pi = 3.14159265358979323846, camera_height = 4,
                    half_width = 0.75; /* of what the film sees at z = 0 */

static scene_device device;

#define PATH(depth) "<integrator type='path'><integer name='max_depth' value='" depth "'/></integrator>"
#define FLOOR(albedo)                                                                                        \
    "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform>" MATERIAL(            \
        albedo) "</shape>"
#define MATERIAL(albedo) "<bsdf type='diffuse'><rgb name='reflectance' value='" albedo "'/></bsdf>"
#define BLACK MATERIAL("0")

/* Looks down from (0, 0, 4): x to the right, y up, the film spans +-0.75 at z = 0. */
static scene_picture load(const char *integrator, const char *body)
{
    arena a = {0};
    char *sensor =
        arena_printf(&a,
                     "<sensor type='perspective'><float name='fov' value='%.12g'/><transform name='to_world'>"
                     "<lookat origin='0,0,%g' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'>"
                     "<integer name='width' value='%d'/><integer name='height' value='%d'/><rfilter "
                     "type='box'/></film></sensor>",
                     360 / pi * atan(half_width / camera_height), camera_height, SIDE, SIDE);
    scene_picture p = scene_picture_load(&device, scene_xml(&a, integrator, sensor, body), ".", NULL, 0);
    arena_free(&a);
    return p;
}

static void judge(const char *integrator, const char *body, uint32_t spp, const double *expected,
                  double slack, double loudest)
{
    scene_picture p = load(integrator, body);
    scene_picture_render(&p, spp, 1);
    scene_picture_expect(&p, spp, expected, slack, loudest);
    scene_picture_free(&p);
}

static void judge_constant(const char *integrator, const char *body, uint32_t spp, const double rgb[3],
                           double loudest)
{
    double expected[VALUES];
    for (int i = 0; i < VALUES; i++)
        expected[i] = rgb[i % 3];
    judge(integrator, body, spp, expected, 1e-4, loudest); /* rays start a little off the surface */
}

/* Mean over each pixel's square of a function of the point (x, y, 0). */
static void over_pixels(double *expected, int steps, double (*value)(double x, double y),
                        const double colour[3])
{
    for (int i = 0; i < SIDE * SIDE; i++) {
        double sum = 0;
        for (int k = 0; k < steps * steps; k++) {
            double u = (i % SIDE + (k % steps + 0.5) / steps) / SIDE,
                   v = (i / SIDE + (k / steps + 0.5) / steps) / SIDE;
            sum += value(half_width * (2 * u - 1), half_width * (1 - 2 * v));
        }
        for (int c = 0; c < 3; c++)
            expected[3 * i + c] = sum / (steps * steps) * colour[c];
    }
}

/* ---- furnaces ---- */

#define SKY "<emitter type='constant'><rgb name='radiance' value='2,1,.5'/></emitter>"

static void convex_in_a_constant_environment(void **state)
{
    (void)state;
    judge_constant(
        PATH("2"),
        "<shape type='sphere'><point name='center' value='0,0,-2'/><float name='radius' value='2'/>" MATERIAL(
            ".3,.5,.7") "</shape>" SKY,
        SPP, (double[3]){0.6, 0.5, 0.35}, 2e-3);
    judge_constant(PATH("-1"), FLOOR(".3,.5,.7") SKY, SPP, (double[3]){0.6, 0.5, 0.35}, 2e-3);
}

static void nothing_in_the_scene(void **state)
{
    (void)state;
    judge_constant(PATH("3"), SKY, 4, (double[3]){2, 1, 0.5}, 1e-6);
    scene_picture p = load(PATH("3"), "");
    scene_picture_render(&p, 4, 1);
    for (int i = 0; i < VALUES; i++)
        assert_true((double)p.image[i] == 0);
    scene_picture_free(&p);
}

/* Inside a sphere that glows and reflects everywhere: L = Le (1 + a + a^2 + ..). */
#define FURNACE                                                                                              \
    "<shape type='sphere'><float name='radius' value='9'/><boolean name='flip_normals' "                     \
    "value='true'/>" MATERIAL(                                                                               \
        ".5,.3,.8") "<emitter type='area'><rgb name='radiance' value='1,2,.25'/></emitter></shape>"

static double series(double radiance, double albedo, int segments)
{
    return radiance * (1 - pow(albedo, segments)) / (1 - albedo);
}

static void closed_furnace(void **state)
{
    (void)state;
    judge_constant(PATH("1"), FURNACE, 4, (double[3]){1, 2, 0.25}, 1e-6);
    judge_constant(PATH("2"), FURNACE, SPP,
                   (double[3]){series(1, 0.5, 2), series(2, 0.3, 2), series(0.25, 0.8, 2)}, 2e-3);
    judge_constant(PATH("4"), FURNACE, SPP,
                   (double[3]){series(1, 0.5, 4), series(2, 0.3, 4), series(0.25, 0.8, 4)}, 2e-3);
    judge_constant("<integrator type='direct'/>", FURNACE, SPP,
                   (double[3]){series(1, 0.5, 2), series(2, 0.3, 2), series(0.25, 0.8, 2)}, 2e-3);
}

static void closed_furnace_without_bound(void **state)
{
    (void)state;
    judge_constant("<integrator type='path'><integer name='rr_depth' value='1'/></integrator>", FURNACE, SPP,
                   (double[3]){2, 2 / 0.7, 1.25}, 5e-3);
    judge_constant("<integrator type='path'/>", FURNACE, SPP, (double[3]){2, 2 / 0.7, 1.25}, 5e-3);
}

/* A lamp in the middle of a closed ball lights it everywhere alike, and the last segment finds nothing. */
#define LIT_BALL                                                                                             \
    "<shape type='sphere'><float name='radius' value='9'/><boolean name='flip_normals' "                     \
    "value='true'/>" MATERIAL(                                                                               \
        ".5,.3,.8") "</shape><emitter type='point'><rgb name='intensity' value='81,162,20.25'/></emitter>"

static void lamp_in_a_ball(void **state)
{
    (void)state;
    static const char *const bounded[4] = {PATH("1"), PATH("2"), PATH("3"), PATH("5")};
    static const int bounces[4] = {0, 1, 2, 4};
    for (int k = 0; k < 4; k++) {
        double rgb[3] = {series(0.5 / pi, 0.5, bounces[k]), series(0.3 / pi * 2, 0.3, bounces[k]),
                         series(0.8 / pi / 4, 0.8, bounces[k])};
        judge_constant(bounded[k], LIT_BALL, 16, rgb, 1e-3);
    }
}

static void no_depth_no_light(void **state)
{
    (void)state;
    double black[VALUES] = {0};
    scene_picture p = load(PATH("0"), FURNACE);
    scene_picture_render(&p, 4, 1);
    for (int i = 0; i < VALUES; i++)
        assert_true((double)p.image[i] == black[i]);
    scene_picture_free(&p);
}

/* ---- point light ---- */

static double point_irradiance(double x, double y)
{
    double dx = 0.3 - x, dy = -0.2 - y, dz = 1.5, d2 = dx * dx + dy * dy + dz * dz;
    return dz / (d2 * sqrt(d2));
}

static void point_light(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, 16, point_irradiance, (double[3]){0.3 / pi * 4, 0.5 / pi * 3, 0.7 / pi * 2});
    judge(PATH("2"),
          FLOOR(".3,.5,.7") "<emitter type='point'><point name='position' value='.3,-.2,1.5'/><rgb "
                            "name='intensity' value='4,3,2'/></emitter>",
          64, expected, 1e-5, 2e-3);
    judge("<integrator type='direct'/>",
          FLOOR(".3,.5,.7") "<emitter type='point'><transform name='to_world'><translate "
                            "value='.3,-.2,1.5'/></transform>"
                            "<rgb name='intensity' value='4,3,2'/></emitter>",
          64, expected, 1e-5, 2e-3);
}

/* ---- spot ---- */

/* A spot where the point light stands, toward (-.1, .1, 0): full to 6 degrees, nothing from 14 on. */
static double spot_irradiance(double x, double y)
{
    static const double axis[3] = {-0.4, 0.3, -1.5};
    double dx = x - 0.3, dy = y + 0.2, dz = -1.5;
    double along = (dx * axis[0] + dy * axis[1] + dz * axis[2]) /
                   sqrt((dx * dx + dy * dy + dz * dz) * (0.16 + 0.09 + 2.25));
    double falloff = (14 - acos(fmin(along, 1)) * 180 / pi) / (14 - 6.);
    return point_irradiance(x, y) * fmin(fmax(falloff, 0), 1);
}

#define SPOT(angles)                                                                                         \
    FLOOR(".3,.5,.7")                                                                                        \
    "<emitter type='spot'><transform name='to_world'><lookat origin='.3,-.2,1.5' target='-.1,.1,0' "         \
    "up='0,1,0'/>"                                                                                           \
    "</transform><rgb name='intensity' value='4,3,2'/>" angles "</emitter>"

static void spot_light(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, 64, spot_irradiance, (double[3]){0.3 / pi * 4, 0.5 / pi * 3, 0.7 / pi * 2});
    judge(PATH("2"), SPOT("<float name='cutoff_angle' value='14'/><float name='beam_width' value='6'/>"),
          4 * SPP, expected, 1e-3, 1e-2);
    over_pixels(expected, 16, point_irradiance, (double[3]){0.3 / pi * 4, 0.5 / pi * 3, 0.7 / pi * 2});
    judge(PATH("2"), SPOT("<float name='cutoff_angle' value='100'/>"), 64, expected, 1e-5,
          2e-3); /* the whole view is in the beam of 75 */
}

/* ---- directional ---- */

/* However far away, what is in the way throws its shadow. */
#define FAR_SCREEN                                                                                           \
    "<shape type='rectangle'><transform name='to_world'><scale value='6'/><translate "                       \
    "value='-20,-16,40'/></transform></shape>"

static void directional_light(void **state)
{
    (void)state;
    double cosine = 1 / sqrt(0.25 + 0.16 + 1);
    judge_constant(PATH("2"),
                   FLOOR(".3,.5,.7") "<emitter type='directional'><vector name='direction' "
                                     "value='.5,.4,-1'/><rgb name='irradiance' value='4,3,2'/></emitter>",
                   4, (double[3]){1.2 / pi * cosine, 1.5 / pi * cosine, 1.4 / pi * cosine}, 1e-5);
    judge_constant("<integrator type='direct'/>",
                   FLOOR(".3,.5,.7") "<emitter type='directional'><transform name='to_world'><rotate x='1' "
                                     "angle='120'/></transform>"
                                     "<rgb name='irradiance' value='4,3,2'/></emitter>",
                   4, (double[3]){1.2 / pi / 2, 1.5 / pi / 2, 1.4 / pi / 2}, 1e-5);
    scene_picture p =
        load(PATH("2"), FLOOR(".3,.5,.7") FAR_SCREEN
             "<emitter type='directional'><vector name='direction' value='.5,.4,-1'/></emitter>");
    scene_picture_render(&p, 4, 1);
    for (int i = 0; i < VALUES; i++)
        assert_true((double)p.image[i] == 0);
    scene_picture_free(&p);
}

/* ---- area lights: quadrature over the lamp ---- */

typedef struct lamp {
    double x, y, z, half; /* centre and half side of a square that faces down */
    const char *body;
} lamp;

#define LAMP(scale, translate)                                                                               \
    FLOOR(".3,.5,.7")                                                                                        \
    "<shape type='rectangle'><transform name='to_world'><scale value='" scale                                \
    "'/><rotate x='1' angle='180'/>"                                                                         \
    "<translate value='" translate "'/></transform>" BLACK                                                   \
    "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>"

static const lamp lamps[] = {
    {2, 0.5, 1, 1, LAMP("1", "2,.5,1")},         /* large and near, beside the view */
    {-1, 1.5, 5, 0.05, LAMP(".05", "-1,1.5,5")}, /* small and far */
    {1, -1, 0.1, 0.2, LAMP(".2", "1,-1,.1")},    /* close above the floor */
};
static const lamp *now;

static double lamp_irradiance(double x, double y)
{
    enum { STEPS = 64 };
    double sum = 0;
    for (int k = 0; k < STEPS * STEPS; k++) {
        double dx = now->x + now->half * (2 * (k % STEPS + 0.5) / STEPS - 1) - x;
        double dy = now->y + now->half * (2 * (k / STEPS + 0.5) / STEPS - 1) - y;
        double d2 = dx * dx + dy * dy + now->z * now->z;
        sum += now->z * now->z / (d2 * d2);
    }
    return sum * 4 * now->half * now->half / (STEPS * STEPS);
}

static void area_lights(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        double expected[VALUES];
        now = &lamps[k];
        over_pixels(expected, 6, lamp_irradiance, (double[3]){0.3 / pi * 4, 0.5 / pi * 3, 0.7 / pi * 2});
        judge(PATH("2"), lamps[k].body, 2 * SPP, expected, 1e-3, 2e-2);
    }
}

static void area_light_by_chance_alone(void **state)
{
    (void)state;
    double expected[VALUES];
    now = &lamps[0];
    over_pixels(expected, 6, lamp_irradiance, (double[3]){0.3 / pi * 4, 0.5 / pi * 3, 0.7 / pi * 2});
    judge("<integrator type='direct'><integer name='bsdf_samples' value='1'/><integer name='emitter_samples' "
          "value='0'/></integrator>",
          lamps[0].body, 2 * SPP, expected, 1e-3, 1e-2);
    judge("<integrator type='direct'><integer name='bsdf_samples' value='0'/><integer name='emitter_samples' "
          "value='1'/></integrator>",
          lamps[0].body, SPP, expected, 1e-3, 1e-2);
}

/* ---- a disk light, parallel to the floor: Foote's formula ---- */

static double disk_irradiance(double x, double y)
{
    double a2 = (x - 1.2) * (x - 1.2) + (y - 0.1) * (y - 0.1), h2 = 1.5 * 1.5, r2 = 0.5 * 0.5,
           sum = a2 + h2 + r2;
    return pi / 2 * (1 - (a2 + h2 - r2) / sqrt(sum * sum - 4 * a2 * r2));
}

static void disk_light(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, 16, disk_irradiance, (double[3]){0.3 / pi * 4, 0.5 / pi * 3, 0.7 / pi * 2});
    judge(PATH("2"),
          FLOOR(".3,.5,.7") "<shape type='disk'><transform name='to_world'><scale value='.5'/><rotate x='1' "
                            "angle='180'/>"
                            "<translate value='1.2,.1,1.5'/></transform>" BLACK
                            "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>",
          SPP, expected, 1e-3, 5e-3);
}

/* ---- sphere lights ---- */

/* A sphere wholly above the horizon: pi L (r/d)^2 cos. */
static double ball_irradiance(double x, double y)
{
    double dx = 1.5 - x, dy = -y, dz = 1, d2 = dx * dx + dy * dy + dz * dz;
    return pi * 0.25 / d2 * dz / sqrt(d2);
}

static void sphere_light_from_outside(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, 16, ball_irradiance, (double[3]){0.3 / pi * 4, 0.5 / pi * 3, 0.7 / pi * 2});
    judge(PATH("2"),
          FLOOR(".3,.5,.7") "<shape type='sphere'><point name='center' value='1.5,0,1'/><float name='radius' "
                            "value='.5'/>" BLACK
                            "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>",
          SPP, expected, 1e-3, 5e-3);
}

static void sphere_light_from_inside(void **state)
{
    (void)state;
    judge_constant(
        PATH("2"),
        FLOOR(".3,.5,.7") "<shape type='sphere'><point name='center' value='.5,0,1'/><float name='radius' "
                          "value='8'/>"
                          "<boolean name='flip_normals' value='true'/>" BLACK
                          "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>",
        2 * SPP, (double[3]){1.2, 1.5, 1.4}, 5e-3);
}

/* Normals that point outwards: dark from inside. */
static void sphere_light_turned_away(void **state)
{
    (void)state;
    scene_picture p =
        load(PATH("3"),
             FLOOR(".3,.5,.7") "<shape type='sphere'><float name='radius' value='8'/>"
                               "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>");
    scene_picture_render(&p, 4, 1);
    for (int i = 0; i < VALUES; i++)
        assert_true((double)p.image[i] == 0);
    scene_picture_free(&p);
}

/* ---- several lights share the samples; hide_emitters ---- */

#define BALL_AND_BULB                                                                                        \
    "<shape type='sphere'><point name='center' value='1.5,0,1'/><float name='radius' value='.5'/>" BLACK     \
    "<emitter type='area'><rgb name='radiance' value='4'/></emitter></shape>"                                \
    "<emitter type='point'><point name='position' value='-.3,-.2,1.5'/><rgb name='intensity' "               \
    "value='4'/></emitter>"

static double bulb_moved(double x, double y)
{
    return 4 * point_irradiance(x + 0.6, y) + 4 * ball_irradiance(x, y);
}

/* The bulb stands at -.3 here, where the ball throws no shadow into the view. */
static void lights_add_up(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, 16, bulb_moved, (double[3]){0.3 / pi, 0.5 / pi, 0.7 / pi});
    judge(PATH("2"), FLOOR(".3,.5,.7") BALL_AND_BULB, 2 * SPP, expected, 1e-3, 1e-2);
}

/* A lamp that faces the camera fills the view: seen, or not. */
#define FACING                                                                                               \
    "<shape type='rectangle'><transform name='to_world'><scale value='9'/></transform>" MATERIAL(            \
        ".5") "<emitter type='area'><rgb name='radiance' value='4,3,2'/></emitter></shape>"

#define HIDING(depth)                                                                                        \
    "<integrator type='path'><integer name='max_depth' value='" depth                                        \
    "'/><boolean name='hide_emitters' value='true'/></integrator>"

/* The camera looks through lamps (Mitsuba 3.7 and later), and sees no environment; what they light stays
 * lit. */
static void hidden_emitters(void **state)
{
    (void)state;
    judge_constant(PATH("3"), FACING, 4, (double[3]){4, 3, 2}, 1e-6);
    scene_picture p = load(HIDING("3"), FACING);
    scene_picture_render(&p, 4, 1);
    for (int i = 0; i < VALUES; i++)
        assert_true((double)p.image[i] == 0);
    scene_picture_free(&p);
    judge_constant(HIDING("2"), FLOOR(".3,.5,.7") SKY, SPP, (double[3]){0.6, 0.5, 0.35}, 2e-3);
}

/* A lamp between camera and floor that lights the floor and, unhidden, would fill the view. */
static double screen_irradiance(double x, double y)
{
    static const lamp screen = {0, 0, 2, 1, NULL};
    now = &screen;
    return lamp_irradiance(x, y);
}

static void hidden_emitters_do_not_hide_what_is_behind(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, 6, screen_irradiance, (double[3]){0.3 / pi * 4, 0.5 / pi * 3, 0.7 / pi * 2});
    judge(HIDING("2"), LAMP("1", "0,0,2"), SPP, expected, 1e-3, 1e-2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convex_in_a_constant_environment),
        cmocka_unit_test(closed_furnace),
        cmocka_unit_test(closed_furnace_without_bound),
        cmocka_unit_test(lamp_in_a_ball),
        cmocka_unit_test(no_depth_no_light),
        cmocka_unit_test(point_light),
        cmocka_unit_test(area_lights),
        cmocka_unit_test(spot_light),
        cmocka_unit_test(directional_light),
        cmocka_unit_test(disk_light),
        cmocka_unit_test(area_light_by_chance_alone),
        cmocka_unit_test(sphere_light_from_outside),
        cmocka_unit_test(sphere_light_from_inside),
        cmocka_unit_test(sphere_light_turned_away),
        cmocka_unit_test(lights_add_up),
        cmocka_unit_test(hidden_emitters),
        cmocka_unit_test(hidden_emitters_do_not_hide_what_is_behind),
        cmocka_unit_test(nothing_in_the_scene),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "analytic", tests);
}
