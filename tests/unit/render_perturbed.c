/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Normal and bump maps against their rules written out here in double precision: a diffuse material about the
 * turned normal, darkened by the shadowing function; normals that face away from the viewer, directions
 * between the two planes; bumps of a plane of known slope. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_probe.h"
#include "support/scene_cases.h"

#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const double pi = 3.14159265358979323846;
static char *folder;

#define CLAY "<bsdf type='diffuse'><rgb name='reflectance' value='.5'/></bsdf>"
#define OFF(name) "<boolean name='" name "' value='false'/>"
#define MAP(inside)                                                                                          \
    "<bsdf type='normalmap' id='it'><rgb name='normalmap' value='.7,.6,.95'/>" inside "</bsdf>"

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void unit(double x, double y, double z, double out[3])
{
    double length = sqrt(x * x + y * y + z * z);
    out[0] = x / length, out[1] = y / length, out[2] = z / length;
}

static double tangent2(double cosine) { return (1 - cosine * cosine) / (cosine * cosine); }

/* What a diffuse reflectance of .5 about n looks like. */
static double expected(const double normal[3], const double wi[3], const double wo[3], bool flip, bool shadow)
{
    double n[3] = {normal[0], normal[1], normal[2]};
    if (flip && wi[2] * dot(wi, n) <= 0)
        n[0] = -n[0], n[1] = -n[1];
    if (dot(wi, n) <= 0 || dot(wo, n) <= 0 || wo[2] * dot(wo, n) <= 0)
        return 0;
    double dark = 2 / (1 + sqrt(1 + fmin(1, tangent2(n[2]) / 8) * tangent2(wo[2])));
    return 0.5 * dot(n, wo) / pi * (shadow ? dark : 1);
}

/* Pairs of directions all over the sphere; fails unless both something and nothing is seen. */
static void compare(const char *xml, const double normal[3], bool flip, bool shadow, bool both_sides)
{
    const material_case c = {.name = xml, .xml = xml};
    material_probe p = material_probe_create(&c, folder);
    uint32_t state = 3, lit = 0, dark = 0;
    for (int k = 0; k < 300; k++) {
        double wi[3], wo[3];
        material_direction(2 * scene_random(&state) - 1, 2 * pi * scene_random(&state), wi);
        material_direction(2 * scene_random(&state) - 1, 2 * pi * scene_random(&state), wo);
        double mirror = both_sides && wi[2] < 0 ? -1 : 1, in[3] = {wi[0], wi[1], mirror * wi[2]},
               out[3] = {wo[0], wo[1], mirror * wo[2]};
        material_value v = material_probe_value(&p, wi, wo, false, 0);
        double e = expected(normal, in, out, flip, shadow);
        assert_float_equal(v.rgb[1], e, 1e-6);
        assert_true((v.pdf > 0) == (e > 0));
        *(e > 0 ? &lit : &dark) += 1;
    }
    assert_true(lit > 20 && dark > 20);
    material_probe_destroy(&p);
}

static void a_map_turns_a_diffuse_material(void **state)
{
    (void)state;
    double n[3];
    unit(.4, .2, .9, n);
    compare(MAP(CLAY), n, true, true, false);
    compare(MAP(OFF("flip_invalid_normals") CLAY), n, false, true, false);
    compare(MAP(OFF("use_shadowing_function") CLAY), n, true, false, false);
    compare(
        "<bsdf type='twosided' id='it'><bsdf type='normalmap'><rgb name='normalmap' value='.7,.6,.95'/>" CLAY
        "</bsdf></bsdf>",
        n, true, true, true);
}

/* A mirror about n, and the shadowing of its one direction. */
static void a_mirror_reflects_about_the_map(void **state)
{
    (void)state;
    const material_case c = {
        .name = "mirror",
        .xml = MAP("<bsdf type='conductor'><float name='eta' value='0'/><float name='k' value='1'/></bsdf>")};
    material_probe p = material_probe_create(&c, folder);
    double n[3], wi[3], r[3], u[3] = {.5, .3, .2};
    unit(.4, .2, .9, n), unit(.3, -.2, .8, wi);
    for (int k = 0; k < 3; k++)
        r[k] = 2 * dot(wi, n) * n[k] - wi[k];
    material_sample s = material_probe_sample(&p, wi, u);
    assert_true(s.delta && s.pdf == 1);
    for (int k = 0; k < 3; k++)
        assert_float_equal(s.wo[k], r[k], 1e-6);
    double dark = 2 / (1 + sqrt(1 + tangent2(n[2]) / 8 * tangent2(r[2])));
    assert_float_equal(material_probe_value(&p, wi, s.wo, true, s.lobe).rgb[0], dark, 1e-6);
    unit(-.8, -.2, .45, wi); /* n faces the viewer, but the reflection goes below the surface */
    assert_true(material_probe_sample(&p, wi, u).pdf == 0);
    material_probe_destroy(&p);
}

/* Heights a x + b y in texels of a 4 x 4 image, seen where no wrapping is near; the surface has dp/du = (2,
 * 0), dp/dv = (0, 2). */
static void bumps_have_the_slope_of_the_plane(void **state)
{
    (void)state;
    arena a = {0};
    bl_error err = {0};
    float pixels[16];
    const float along_x = 0.05f, along_y = -0.03f;
    for (int k = 0; k < 16; k++)
        pixels[k] = 0.5f + along_x * (float)(k % 4) + along_y * (float)(k / 4);
    char *file = arena_printf(&a, "%s/plane.pfm", folder);
    assert_int_equal(image_save(file, 4, 4, 1, pixels, false, &err), BL_OK);
    double n[3]; /* heights over uv rise by 4 times that, and uv by half the distance; scale 1.5 */
    unit(-1.5 * 4 * (double)along_x / 2, -1.5 * 4 * (double)along_y / 2, 1, n);
#define BUMPS(inside)                                                                                        \
    "<bsdf type='bumpmap' id='it'><float name='scale' value='1.5'/><texture type='bitmap'><string "          \
    "name='filename' value='plane.pfm'/>" inside "</texture>" CLAY "</bsdf>"
    compare(BUMPS(""), n, true, true, false);
    unit(-1.5 * 4 * (double)along_x, -1.5 * 4 * -(double)along_y / 4, 1,
         n); /* at (.5, .875 - .5 * .75) by the chain rule */
    compare(BUMPS("<transform name='to_uv'><scale x='2' y='-.5'/><translate y='.8'/></transform>"), n, true,
            true, false);
    const double up[3] = {0, 0, 1};
    compare(BUMPS("<string name='filter_type' value='nearest'/>"), up, true, true, false);
    unlink(file);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_turns_a_diffuse_material),
        cmocka_unit_test(a_mirror_reflects_about_the_map),
        cmocka_unit_test(bumps_have_the_slope_of_the_plane),
    };
    folder = scene_files_create();
    if (!folder)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
