/* LABELS: swiftshader=long native sanitized=native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are images of participating media right where they are known? Transmittance of a slab by channel; single
 * scattering in it; furnaces of albedo 1; a sensor in a medium; grids that are constant, of one voxel,
 * rotated or empty; null surfaces; rays that end where flights do. Gradients are compared with derivatives of
 * the same formulas. The bound is the variance that the renderer measures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 6, VALUES = 3 * SIDE * SIDE, STEPS = 8 };
static const double pi = 3.14159265358979323846, camera_height = 4,
                    half_width = 0.75; /* of what the film sees at z = 0 */

static scene_device device;

#define VOLPATH(depth)                                                                                       \
    "<integrator type='volpath'><integer name='max_depth' value='" depth                                     \
    "'/><integer name='rr_depth' value='1000'/></integrator>"
#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define SKY(value) "<emitter type='constant'>" RGB("radiance", value) "</emitter>"
#define FOG(type, inside) "<medium type='" type "' id='fog'>" inside "</medium>"
/* between z = -1/2 and z = 1/2, wider than the view */
#define SLAB                                                                                                 \
    "<shape type='cube'><transform name='to_world'><scale value='8,8,.5'/></transform><bsdf "                \
    "type='null'/><ref id='fog' name='interior'/></shape>"
#define BOX(ops) "<transform name='to_world'><translate value='-.5,-.5,-.5'/>" ops "</transform>"
#define GRID(file, ops)                                                                                      \
    "<volume type='gridvolume' name='sigma_t'><string name='filename' value='" file "'/>" BOX(ops) "</"      \
                                                                                                   "volume>"
#define AROUND_SLAB "<scale value='20,20,2'/>"

/* Looks down from (0, 0, 4). */
static char *scene_of(arena *a, const char *integrator, const char *in_sensor, const char *body)
{
    char *sensor =
        arena_printf(a,
                     "<sensor type='perspective'><float name='fov' value='%.12g'/><transform name='to_world'>"
                     "<lookat origin='0,0,%g' target='0,0,0' up='0,1,0'/></transform>%s<film type='hdrfilm'>"
                     "<integer name='width' value='%d'/><integer name='height' value='%d'/><rfilter "
                     "type='box'/></film></sensor>",
                     360 / pi * atan(half_width / camera_height), camera_height, in_sensor, SIDE, SIDE);
    return scene_xml(a, integrator, sensor, body);
}

static void judge_in(const char *integrator, const char *in_sensor, const char *body, uint32_t spp,
                     const double *expected, double loudest)
{
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, integrator, in_sensor, body), ".", NULL, 0);
    arena_free(&a);
    scene_picture_render(&p, spp, 1);
    scene_picture_expect(&p, spp, expected, 1e-4, loudest);
    scene_picture_free(&p);
}

static void judge(const char *integrator, const char *body, uint32_t spp, const double *expected,
                  double loudest)
{
    judge_in(integrator, "", body, spp, expected, loudest);
}

/* Mean over each pixel of a function of the ray's secant (its length within a slab of thickness 1). */
static void over_pixels(double *expected, double (*value)(double secant, int channel))
{
    for (int i = 0; i < SIDE * SIDE; i++)
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int k = 0; k < STEPS * STEPS; k++) {
                double u = (i % SIDE + (k % STEPS + 0.5) / STEPS) / SIDE,
                       v = (i / SIDE + (k / STEPS + 0.5) / STEPS) / SIDE;
                double x = half_width * (2 * u - 1), y = half_width * (1 - 2 * v);
                sum += value(sqrt(x * x + y * y + camera_height * camera_height) / camera_height, c);
            }
            expected[3 * i + c] = sum / (STEPS * STEPS);
        }
}

static void constant(double *expected, double r, double g, double b)
{
    for (int i = 0; i < VALUES; i++)
        expected[i] = i % 3 == 0 ? r : i % 3 == 1 ? g : b;
}

/* ---- transmittance ---- */

static const double sigma[3] = {0.4, 0.8, 1.6};
static double transmitted(double secant, int c) { return exp(-sigma[c] * secant); }
static double transmitted_grey(double secant, int c) { return exp(-sigma[(c & 0) + 1] * secant); }

#define COLOURED RGB("sigma_t", ".4,.8,1.6") RGB("albedo", "0")

static void transmittance(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, transmitted);
    judge(VOLPATH("3"), FOG("homogeneous", COLOURED) SLAB SKY("1"), 1024, expected, 2e-2);
    judge(VOLPATH("3"),
          FOG("heterogeneous", "<volume type='constvolume' name='sigma_t'>" RGB("value", ".4,.8,1.6")
                                   BOX(AROUND_SLAB) "</volume>" RGB("albedo", "0")) SLAB SKY("1"),
          1024, expected, 2e-2);
}

/* Next to a surface the same medium dims what light sampling and what chance bring. Floor below a slab:
 * albedo / pi * E * T^(1 + secant). */
static double floor_lit(double secant, int c) { return 0.5 / pi * 2 * exp(-sigma[c] * (1 + secant)); }

static void shadow_rays_are_dimmed(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, floor_lit);
#define LIT_FLOOR                                                                                            \
    "<shape type='rectangle'><transform name='to_world'><scale value='8'/><translate "                       \
    "value='0,0,-2'/></transform>"                                                                           \
    "<bsdf type='diffuse'>" RGB(                                                                             \
        "reflectance", ".5") "</bsdf></shape>"                                                               \
                             "<emitter type='directional'><vector name='direction' value='0,0,-1'/>" RGB(    \
                                 "irradiance", "2") "</emitter>"
    judge(VOLPATH("2"), FOG("homogeneous", COLOURED) SLAB LIT_FLOOR, 1024, expected, 3e-2);
    judge(VOLPATH("2"),
          FOG("heterogeneous", "<volume type='constvolume' name='sigma_t'>" RGB("value", ".4,.8,1.6")
                                   BOX(AROUND_SLAB) "</volume>" RGB("albedo", "0")) SLAB LIT_FLOOR,
          1024, expected, 3e-2);
}

/* Two sheets, each of which lets half through: light sampling sees the sun through both, as the camera sees
 * the floor. */
static double behind_sheets(double secant, int c)
{
    (void)secant, (void)c;
    return 0.25 * 0.5 / pi * 2;
}

static void light_comes_through_masks(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, behind_sheets);
#define VEIL_AT(y)                                                                                           \
    "<shape type='rectangle'><transform name='to_world'><scale value='2,1.6,1'/><translate value='0," y      \
    "," y "'/></transform>"                                                                                  \
    "<bsdf type='mask'><float name='opacity' value='.5'/><bsdf type='diffuse'>" RGB(                         \
        "reflectance", "0") "</bsdf></bsdf></shape>"
#define SLANTED                                                                                              \
    "<shape type='rectangle'><transform name='to_world'><scale value='8'/></transform><bsdf "                \
    "type='diffuse'>" RGB(                                                                                   \
        "reflectance", ".5") "</bsdf></shape>"                                                               \
                             "<emitter type='directional'><vector name='direction' value='0,-1,-1'/>" RGB(   \
                                 "irradiance", "2.8284271247") "</emitter>"
    judge(VOLPATH("2"), SLANTED VEIL_AT("3") VEIL_AT("3.5"), 16, expected, 1e-5);
}

/* ---- scattering ---- */

static const double single_albedo[3] = {0.9, 0.5, 0.2};
/* Sun along the view: albedo * p(0) * E * integral of sigma exp(-sigma t (1 + 1 / secant)) over [0,
 * secant]. */
static double single_isotropic(double secant, int c)
{
    double k = 1 + 1 / secant;
    return single_albedo[c] / (4 * pi) * 3 * (1 - exp(-sigma[1] * secant * k)) / k;
}
static double single_hg(double secant, int c)
{
    double g = 0.5, cosine = -1 / secant; /* back to where the camera is */
    return single_isotropic(secant, c) * (1 - g * g) / pow(1 + g * g - 2 * g * cosine, 1.5);
}
static double single_rayleigh(double secant, int c)
{
    return single_isotropic(secant, c) * 0.75 * (1 + 1 / (secant * secant));
}

static void single_scattering(void **state)
{
    (void)state;
    double expected[VALUES];
#define SUN                                                                                                  \
    "<emitter type='directional'><vector name='direction' value='0,0,-1'/>" RGB("irradiance",                \
                                                                                "3") "</emitter>"
#define GREY "<float name='sigma_t' value='.8'/>" RGB("albedo", ".9,.5,.2")
    over_pixels(expected, single_isotropic);
    judge(VOLPATH("2"), FOG("homogeneous", GREY) SLAB SUN, 1024, expected, 2e-2);
    judge(VOLPATH("2"),
          FOG("heterogeneous", GRID("eights.vol", AROUND_SLAB) RGB("albedo", ".9,.5,.2")) SLAB SUN, 1024,
          expected, 2e-2);
    over_pixels(expected, single_hg);
    judge(VOLPATH("2"),
          FOG("homogeneous", GREY "<phase type='hg'><float name='g' value='.5'/></phase>") SLAB SUN, 1024,
          expected, 2e-2);
    over_pixels(expected, single_rayleigh);
    judge(VOLPATH("2"), FOG("homogeneous", GREY "<phase type='rayleigh'/>") SLAB SUN, 1024, expected, 2e-2);
}

/* What only scatters, under a sky that is the same everywhere, is not seen. */
static void furnaces(void **state)
{
    (void)state;
    double expected[VALUES];
    constant(expected, 1, 2, 3);
#define BALL "<shape type='sphere'><bsdf type='null'/><ref id='fog' name='interior'/></shape>"
#define UNIT "<integrator type='volpath'/>"
    judge(UNIT,
          FOG("homogeneous", RGB("sigma_t", ".5,2,4")
                                 RGB("albedo", "1") "<phase type='hg'><float name='g' value='.6'/></phase>")
              BALL SKY("1,2,3"),
          1024, expected, 3e-2);
    judge(UNIT,
          FOG("heterogeneous", "<float name='scale' value='4'/>" GRID(
                                   "smoke.vol", "<scale value='2.4'/><rotate x='1' y='2' z='1' "
                                                "angle='40'/>") "<float name='albedo' value='1'/>")
              BALL SKY("1,2,3"),
          256, expected, 3e-2);
    judge(UNIT,
          FOG("heterogeneous",
              "<float name='scale' value='3'/>" GRID(
                  "smoke.vol",
                  "<scale value='2.4'/>") "<float name='albedo' value='1'/>"
                                          "<phase type='sggx'><volume type='gridvolume' name='S'><string "
                                          "name='filename' value='flakes.vol'/></volume></phase>")
              BALL SKY("1,2,3"),
          128, expected, 3e-2);
}

/* Flakes show the area of their ellipsoid in the direction of the ray. */
static double through_flakes(double secant, int c)
{
    (void)c;
    return exp(-1.5 * secant * sqrt((.2 + .8 * (secant * secant - 1)) / (secant * secant)));
}

static void flakes_dim_by_direction(void **state)
{
    (void)state;
    double expected[VALUES];
#define FLAKES                                                                                               \
    "<float name='albedo' value='0'/><phase type='sggx'><volume type='gridvolume' name='S'><string "         \
    "name='filename' value='flat.vol'/></volume></phase>"
    over_pixels(expected, through_flakes);
    judge(VOLPATH("2"), FOG("homogeneous", "<float name='sigma_t' value='1.5'/>" FLAKES) SLAB SKY("1"), 512,
          expected, 2e-2);
    judge(VOLPATH("2"),
          FOG("heterogeneous", "<float name='scale' value='1.875'/>" GRID("eights.vol", AROUND_SLAB) FLAKES)
              SLAB SKY("1"),
          512, expected, 2e-2);
}

/* ---- emission ---- */

static const double glow[3] = {3, 2, 1};
static double emitted(double secant, int c) { return glow[c] * (1 - exp(-sigma[c] * secant)) / sigma[c]; }
static double emitted_through(double secant, int c) { return glow[c] * secant; }

/* Absorbing and emitting; emitting only, with lookups of a density that is 0; and in equilibrium with the
 * sky, where nothing is seen: what is absorbed is emitted. */
static void media_emit(void **state)
{
    (void)state;
    double expected[VALUES];
#define GLOW RGB("emission", "3,2,1")
    over_pixels(expected, emitted);
    judge(VOLPATH("1"), FOG("homogeneous", COLOURED GLOW) SLAB, 16, expected, 1e-2);
    judge(VOLPATH("2"),
          FOG("heterogeneous", "<volume type='constvolume' name='sigma_t'>" RGB("value", ".4,.8,1.6")
                                   BOX(AROUND_SLAB) "</volume>" RGB("albedo", "0") GLOW) SLAB,
          1024, expected, 3e-2);
    over_pixels(expected, emitted_through);
    judge(VOLPATH("2"), FOG("homogeneous", "<float name='sigma_t' value='0'/>" GLOW) SLAB, 16, expected,
          1e-2);
    judge(VOLPATH("2"),
          FOG("heterogeneous", "<float name='scale' value='0'/>" GRID("eights.vol", AROUND_SLAB) GLOW) SLAB,
          1024, expected, 3e-2);
    constant(expected, 1, 2, 3);
    judge(UNIT,
          FOG("homogeneous", RGB("sigma_t", ".5,2,4") RGB("albedo", ".8,.5,.25") RGB("emission", ".1,2,9"))
              BALL SKY("1,2,3"),
          256, expected, 3e-2);
}

/* A closed ball is full of a medium that does nothing but glow. From the middle one radius of it is seen, and
 * behind that the wall, onto which chords of 2 r cos shine: 4/3 r of it are scattered, and so on. */
static void glow_lights_a_wall(void **state)
{
    (void)state;
    static const char *const bounded[3] = {VOLPATH("1"), VOLPATH("2"), VOLPATH("3")};
    const double radius = 2, albedo[3] = {.5, .3, .8};
#define CLEAR "<float name='sigma_t' value='0'/>" GLOW
    for (int k = 0; k < 3; k++) {
        double rgb[3];
        for (int c = 0; c < 3; c++) {
            double onto = 4. / 3 * radius * glow[c], from = 0;
            for (int i = 0; i < k; i++)
                from = albedo[c] * (i == 0 ? onto : onto + from);
            rgb[c] = radius * glow[c] + from;
        }
        double expected[VALUES];
        constant(expected, rgb[0], rgb[1], rgb[2]);
        judge_in(bounded[k], "<float name='near_clip' value='1e-4'/>" FOG("homogeneous", CLEAR),
                 "<shape type='sphere'><point name='center' value='0,0,4'/><float name='radius' "
                 "value='2'/><bsdf type='twosided'><bsdf type='diffuse'>" RGB(
                     "reflectance", ".5,.3,.8") "</bsdf></bsdf><ref id='fog' name='interior'/></shape>",
                 1024, expected, 3e-2);
    }
}

/* ---- rays in homogeneous media ---- */

/* Image and gradients of a scene whose medium has `in_medium`, too. */
static void render_glass_ball(const char *in_medium, const char *sigma_t, float *image, float *gradients)
{
    enum { SPP = 64 };
    const char *parameters[2] = {"fog.sigma_t.value.value", "fog.albedo.value.value"};
    arena a = {0};
    char *fog = arena_printf(&a, "<rgb name='sigma_t' value='%s'/>%s", sigma_t, in_medium);
    char *body = arena_printf(
        &a,
        "<medium type='homogeneous' id='fog'>%s" RGB(
            "albedo",
            ".9,.6,.3") "</medium>" SLAB
                        "<shape type='sphere'><float name='radius' value='.3'/><bsdf type='dielectric'/>"
                        "</shape><emitter type='point'><point name='position' value='1,0,3'/>" RGB(
                            "intensity", "9,9,9") "</emitter>" SKY("1,2,3"),
        fog);
    scene_picture p = scene_picture_load(&device, scene_of(&a, VOLPATH("6"), "", body), ".", parameters, 2);
    scene_picture_render(&p, SPP, 1);
    memcpy(image, p.image, VALUES * sizeof *image);
    float ones[VALUES];
    for (int i = 0; i < VALUES; i++)
        ones[i] = 1;
    bl_stats stats;
    SCENE_MUST(&device,
               bl_job_gradient(p.job, &(bl_gradient_desc){.spp = SPP, .seed = 2, .adjoint = ones}, &stats));
    assert_int_equal(stats.drifted, 0);
    for (uint32_t k = 0; k < 2; k++)
        SCENE_MUST(&device, bl_job_read_gradient(p.job, k, gradients + 3 * k));
    scene_picture_free(&p);
    arena_free(&a);
}

/* A ray goes no further than where its flight ends, except where the medium may emit, which is counted up to
 * the next surface: nothing of the path may depend on that. */
static void flights_shorten_rays(void **state)
{
    (void)state;
    static const char *const sigma_t[] = {".01,.02,.01", ".5,1,2", "30,20,30"};
    for (uint32_t k = 0; k < sizeof sigma_t / sizeof *sigma_t; k++) {
        float shortened[VALUES], whole[VALUES], gradients[2][6];
        render_glass_ball("", sigma_t[k], shortened, gradients[0]);
        render_glass_ball(RGB("emission", "0"), sigma_t[k], whole, gradients[1]);
        assert_memory_equal(shortened, whole, sizeof whole);
        for (uint32_t c = 0; c < 6; c++)
            if (!(fabsf(gradients[0][c] - gradients[1][c]) <= 1e-5f * fabsf(gradients[1][c])))
                fail_msg("sigma_t %s, gradient %u: %.9g and %.9g", sigma_t[k], c, (double)gradients[0][c],
                         (double)gradients[1][c]);
    }
}

/* ---- where the camera is, and what a box is ---- */

static double from_within(double secant, int c)
{
    (void)c;
    return exp(-0.2 * 3.5 * secant); /* from z = 4 down to the floor at 1/2 */
}

static void sensor_in_a_medium(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, from_within);
    judge_in(VOLPATH("2"),
             "<medium type='homogeneous'><float name='sigma_t' value='.2'/><float name='albedo' "
             "value='0'/></medium>",
             "<shape type='rectangle'><transform name='to_world'><scale value='9'/><translate "
             "value='0,0,.5'/></transform>"
             "<bsdf type='diffuse'>" RGB("reflectance", "0") "</bsdf><emitter type='area'>" RGB(
                 "radiance", "1") "</emitter></shape>",
             1024, expected, 2e-2);
}

/* A grid that fills a quarter of the slab's thickness: there is nothing outside of its box. One voxel, and
 * one that is empty. */
static double quarter(double secant, int c)
{
    (void)c;
    return exp(-0.8 * secant / 4);
}

static void grids_end_at_their_boxes(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, quarter);
    judge(VOLPATH("2"),
          FOG("heterogeneous",
              GRID("eights.vol", "<scale value='20,20,.25'/>") "<float name='albedo' value='0'/>")
              SLAB SKY("1"),
          1024, expected, 2e-2);
    judge(VOLPATH("2"),
          FOG("heterogeneous",
              GRID("eights.vol",
                   "<scale value='.25,20,20'/><rotate y='1' angle='90'/>") "<float name='albedo' value='0'/>")
              SLAB SKY("1"),
          1024, expected, 2e-2);
    constant(expected, 1, 1, 1);
    judge(VOLPATH("2"),
          FOG("heterogeneous", "<float name='scale' value='0'/>" GRID("eights.vol", AROUND_SLAB))
              SLAB SKY("1"),
          4, expected, 1e-6);
}

/* Sixteen layers along z, linear in between: bounds in cells. The slab lies in the middle half of the
 * grid. */
static const float layers[16] = {0, 0, 3, 1, 0, 0, 0, 2.5f, .2f, 0, 0, 0, 0, 1, 0, 0};
static const double haze = 0.5;
static double layered(double secant, int c)
{
    enum { FINE = 4000 };
    double depth = 0;
    for (int i = 0; i < FINE; i++) {
        double at = (0.25 + (i + 0.5) / FINE / 2) * 16 - 0.5;
        int low = (int)floor(at);
        depth += ((double)layers[low] * (low + 1 - at) + (double)layers[low + 1] * (at - low)) / FINE;
    }
    (void)c;
    return exp(-depth * secant);
}

static void thin_cells_are_crossed(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, layered);
    judge(VOLPATH("2"),
          FOG("heterogeneous", GRID("layers.vol", AROUND_SLAB) "<float name='albedo' value='0'/>")
              SLAB SKY("1"),
          1024, expected, 2e-2);
}

/* The same layers in haze between a floor and its light: transmittance by residual ratio tracking, in places
 * where cells have bounds from below. */
static double lit_through_layers(double secant, int c)
{
    return 0.5 / pi * 2 * layered(1 + secant, c) * exp(-haze * (1 + secant));
}

static void light_comes_through_layers(void **state)
{
    (void)state;
    double expected[VALUES];
    over_pixels(expected, lit_through_layers);
    judge(VOLPATH("2"),
          FOG("heterogeneous", GRID("hazy.vol", AROUND_SLAB) "<float name='albedo' value='0'/>")
              SLAB LIT_FLOOR,
          1024, expected, 3e-2);
}

/* ---- gradients ---- */

static double slope_grey(double secant, int c) { return -secant * transmitted_grey(secant, c); }

/* d/d(parameter) of the sum of the image, and its standard error, from several seeds. */
static void expect_slope(const char *body, const char *parameter, double expected)
{
    enum { SEEDS = 6, SPP = 256 };
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, VOLPATH("3"), "", body), ".", &parameter, 1);
    float ones[VALUES], g[64];
    double sum = 0, squares = 0;
    for (int i = 0; i < VALUES; i++)
        ones[i] = 1;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        bl_stats stats;
        SCENE_MUST(
            &device,
            bl_job_gradient(p.job, &(bl_gradient_desc){.spp = SPP, .seed = seed, .adjoint = ones}, &stats));
        assert_int_equal(stats.drifted, 0);
        SCENE_MUST(&device, bl_job_read_gradient(p.job, 0, g));
        sum += (double)g[0], squares += (double)g[0] * (double)g[0];
    }
    double mean = sum / SEEDS, error = sqrt(fmax(0, squares / SEEDS - mean * mean) / (SEEDS - 1));
    if (!(fabs(mean - expected) <= 5 * error + 1e-4 * fabs(expected)) || error > 0.05 * fabs(expected))
        fail_msg("%s: %g +- %g, expected %g", parameter, mean, error, expected);
    scene_picture_free(&p);
    arena_free(&a);
}

/* A majorant that touches a constant density has no null collisions; replay needs them. */
static void slope_of_transmittance(void **state)
{
    (void)state;
    double expected[VALUES], sum = 0;
    over_pixels(expected, slope_grey);
    for (int i = 0; i < VALUES; i++)
        sum += expected[i];
    expect_slope(FOG("homogeneous", "<float name='sigma_t' value='.8'/><float name='albedo' value='0'/>")
                     SLAB SKY("1"),
                 "fog.sigma_t.value.value", sum);
    expect_slope(FOG("heterogeneous", GRID("eights.vol", AROUND_SLAB) "<float name='albedo' value='0'/>")
                     SLAB SKY("1"),
                 "fog.sigma_t.data", sum);
    expect_slope(FOG("heterogeneous",
                     "<float name='scale' value='.8'/>"
                     "<volume type='constvolume' name='sigma_t'><float name='value' value='1'/>" BOX(
                         AROUND_SLAB) "</volume><float name='albedo' value='0'/>") SLAB SKY("1"),
                 "fog.scale", sum);
}

/* Without an end and without loss: every path has as many vertices as it may. What replay subtracts, and
 * decides, is what it added. */
static void long_paths_replay(void **state)
{
    (void)state;
    static const char body[] = "<emitter type='point'><point name='position' value='0,0,3'/>" RGB(
        "intensity",
        "1,2,3") "</emitter>" FOG("homogeneous",
                                  RGB("sigma_t", ".5,1,2") "<float name='albedo' value='1'/><phase "
                                                           "type='hg'><float name='g' value='.3'/></phase>");
    const char *parameters[2] = {"fog.sigma_t.value.value", "fog.phase_function.g"};
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, VOLPATH("1000"), "<ref id='fog'/>", body), ".",
                                         parameters, 2);
    float ones[VALUES];
    for (int i = 0; i < VALUES; i++)
        ones[i] = 1;
    bl_stats stats;
    SCENE_MUST(&device,
               bl_job_gradient(p.job, &(bl_gradient_desc){.spp = 2, .seed = 3, .adjoint = ones}, &stats));
    assert_int_equal(stats.drifted, 0);
    assert_int_equal(stats.non_finite + stats.cut, 0);
    scene_picture_free(&p);
    arena_free(&a);
}

static void fits_report_it(bl_scene *scene)
{
    static float target[VALUES];
    const bl_fit_parameter albedo = {.name = "fog.albedo.value.value"};
    const bl_fit_desc desc = {.parameters = &albedo, .parameter_count = 1, .target = target, .spp = 2};
    bl_fit *fit, *again;
    bl_fit_status status;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    SCENE_MUST(&device, bl_fit_step(fit, &status));
    assert_true(status.cut >= SIDE * SIDE && status.non_finite >= SIDE * SIDE);
    SCENE_MUST(&device, bl_fit_save(fit, "dense.checkpoint", NULL, 0));
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &again));
    SCENE_MUST(&device, bl_fit_restore(again, "dense.checkpoint", NULL, NULL));
    assert_true(bl_fit_status_get(again).cut == status.cut);
    bl_fit_destroy(fit), bl_fit_destroy(again);
    remove("dense.checkpoint");
}

/* Nothing where the camera looks, beside a density that no tracking gets through: said, and not without
 * end. */
static void densities_beyond_tracking_are_reported(void **state)
{
    (void)state;
    arena a = {0};
    static const char body[] =
        FOG("heterogeneous", "<float name='scale' value='1e12'/><volume type='gridvolume' "
                             "name='sigma_t'><string name='filename' value='wall.vol'/>"
                             "<string name='filter_type' value='nearest'/>" BOX(
                                 "<scale value='20,20,2'/><translate value='-8,0,0'/>") "</volume>")
            SLAB SKY("1");
    scene_picture p = scene_picture_load(&device, scene_of(&a, VOLPATH("2"), "", body), ".", NULL, 0);
    bl_stats stats;
    SCENE_MUST(&device, bl_job_render(p.job, &(bl_render_desc){.spp = 1, .seed = 1}, p.image, &stats));
    assert_int_equal(stats.non_finite, SIDE * SIDE);
    assert_true(stats.cut >= SIDE * SIDE);
    fits_report_it(p.scene);
    scene_picture_free(&p);
    arena_free(&a);
}

static void write_channels(const char *name, const float *values, uint32_t x, uint32_t y, uint32_t z,
                           uint32_t channels)
{
    uint32_t header[12] = {0x034C4F56, 1, x, y, z, channels, 0, 0, 0, 0x3F800000, 0x3F800000, 0x3F800000};
    text file = {0};
    text_add_bytes(&file, header, sizeof header);
    text_add_bytes(&file, values, (size_t)x * y * z * channels * sizeof *values);
    assert_int_equal(file_write(name, file.data, file.length, NULL), BL_OK);
    text_free(&file);
}

static void write_grid(const char *name, const float *values, uint32_t x, uint32_t y, uint32_t z)
{
    write_channels(name, values, x, y, z, 1);
}

int main(void)
{
    write_grid("eights.vol", (float[1]){0.8f}, 1, 1, 1);
    write_channels("flakes.vol", (float[12]){.3f, .9f, .5f, .1f, -.2f, .15f, .6f, .2f, .9f, 0, .1f, -.1f}, 2,
                   1, 1, 6);
    write_channels("flat.vol", (float[6]){.8f, .8f, .2f, 0, 0, 0}, 1, 1, 1, 6);
    write_grid("wall.vol", (float[2]){1, 0}, 2, 1, 1);
    write_grid("layers.vol", layers, 1, 1, 16);
    float hazy[16];
    for (int i = 0; i < 16; i++)
        hazy[i] = layers[i] + (float)haze;
    write_grid("hazy.vol", hazy, 1, 1, 16);
    write_grid("smoke.vol", (float[12]){0, .5f, 1, .25f, 0, .75f, .1f, .9f, 0, 0, .4f, .6f}, 3, 2, 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transmittance),
        cmocka_unit_test(shadow_rays_are_dimmed),
        cmocka_unit_test(light_comes_through_masks),
        cmocka_unit_test(single_scattering),
        cmocka_unit_test(furnaces),
        cmocka_unit_test(sensor_in_a_medium),
        cmocka_unit_test(grids_end_at_their_boxes),
        cmocka_unit_test(slope_of_transmittance),
        cmocka_unit_test(long_paths_replay),
        cmocka_unit_test(media_emit),
        cmocka_unit_test(glow_lights_a_wall),
        cmocka_unit_test(flights_shorten_rays),
        cmocka_unit_test(light_comes_through_layers),
        cmocka_unit_test(flakes_dim_by_direction),
        cmocka_unit_test(thin_cells_are_crossed),
        cmocka_unit_test(densities_beyond_tracking_are_reported),
    };
    int status = SCENE_DEVICE_RUN(&device, NULL, "media", tests);
    unlink("eights.vol"), unlink("smoke.vol"), unlink("layers.vol"), unlink("wall.vol"), unlink("hazy.vol"),
        unlink("flakes.vol"), unlink("flat.vol");
    return status;
}
