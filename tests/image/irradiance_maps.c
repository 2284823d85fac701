/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Irradiance on shapes, as an image that maps the shape. Light tracing, whose paths meet the shape, and path
 * tracing, whose paths begin on it, have the same expectation: on rectangles, disks and meshes, with crop
 * windows, filters, glass and a narrow acceptance angle, and for gradients. A beam from a known place lands
 * where the texture coordinates say, with its exitance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/run_means.h"
#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <string.h>

enum { SIDE = 16, RUNS = 10 };
enum { BORDER = 2 }; /* near it splats also go to what lies beyond: the outermost pixels are left out */

static scene_device device;
static char *folder;

#define FILM(filter)                                                                                         \
    "<film type='hdrfilm'><integer name='width' value='20'/><integer name='height' value='16'/>"             \
    "<integer name='crop_width' value='16'/><integer name='crop_offset_x' value='3'/>"                       \
    "<rfilter type='" filter "'/></film>"
#define METER(more, filter) "<sensor type='irradiancemeter'>" more FILM(filter) "</sensor>"
#define WALL                                                                                                 \
    "<transform name='to_world'><scale x='2' y='1.5'/><rotate x='1' angle='20'/><translate z='-2'/>"         \
    "</transform><bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.6,.5,.3'/></bsdf>"
#define REST                                                                                                 \
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='160'/><translate x='1' y='.8' " \
    "z='1'/></transform><bsdf type='diffuse' id='lamp'><rgb name='reflectance' value='.5,.6,.9'/></bsdf>"    \
    "<emitter type='area' id='panel'><rgb name='radiance' value='8,7,6'/></emitter></shape>"                 \
    "<shape type='sphere'><float name='radius' value='.5'/><point name='center' x='.3' y='.2' z='-.6'/>"     \
    "<bsdf type='dielectric'/></shape>"

typedef struct meter_case {
    const char *name, *body, *hide;
} meter_case;

static const meter_case cases[] = {
    {"rectangle", "<shape type='rectangle'>" WALL METER("", "gaussian") "</shape>" REST, "false"},
    {"narrow",
     "<shape type='rectangle'>" WALL METER("<float name='acceptance_angle' value='35'/>",
                                           "box") "</shape>" REST,
     "false"},
    {"without direct light", "<shape type='rectangle'>" WALL METER("", "box") "</shape>" REST, "true"},
    {"disk", "<shape type='disk'>" WALL METER("", "box") "</shape>" REST, "false"},
    {"mesh",
     "<shape type='obj'><string name='filename' value='roof.obj'/>" WALL METER("", "box") "</shape>" REST,
     "false"},
};
enum { CASES = sizeof cases / sizeof *cases };

static char *scene_of(arena *a, const meter_case *c, const char *integrator)
{
    const char *with = arena_printf(
        a,
        "<integrator type='%s'><integer name='max_depth' value='4'/><boolean name='hide_emitters' "
        "value='%s'/></integrator>",
        integrator, c->hide);
    return scene_xml(a, with, "", c->body);
}

/* ---- two means alike ---- */

/* noise: the largest error of the mean of all values that says something. */
static void compare(const char *name, const run_means *light, const run_means *path, uint32_t count,
                    double noise)
{
    double squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        double x = run_means_value(light, i), y = run_means_value(path, i),
               z = (x - y) / (run_means_error(light, path, i) + 1e-15);
        if (fabs(z) > 7)
            fail_msg("%s: value %u is %g by light tracing and %g by path tracing, z %.1f", name, i, x, y, z);
        squares += z * z / count;
    }
    double error = run_means_error(light, path, RUN_MEANS_ALL), mean = run_means_value(path, RUN_MEANS_ALL),
           z = (run_means_value(light, RUN_MEANS_ALL) - mean) / error, relative = error / fabs(mean);
    print_message("%s: z of the mean %.1f, mean of squares %.1f, noise %.3g\n", name, z, squares, relative);
    assert_true(fabs(z) < 4.5 && relative < noise);
}

static run_means image_runs(const meter_case *c, const char *integrator, uint32_t *count)
{
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, c, integrator), folder, NULL, 0);
    run_means e = {0};
    assert_int_equal(p.values, 3 * SIDE * SIDE);
    for (uint32_t run = 0; run < RUNS; run++) {
        double blocks[RUN_MEANS_MOST];
        bl_stats stats;
        const bl_render_desc d = {.spp = 400, .seed = 1 + run};
        SCENE_MUST(&device, bl_job_render(p.job, &d, p.image, &stats));
        assert_int_equal(stats.non_finite, 0);
        *count = run_means_blocks(p.image, SIDE, SIDE, BORDER, blocks);
        run_means_add(&e, blocks, *count);
    }
    scene_picture_free(&p);
    arena_free(&a);
    return e;
}

static void light_tracing_equals_path_tracing(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        uint32_t count;
        run_means light = image_runs(&cases[k], "ptracer", &count),
                  path = image_runs(&cases[k], "path", &count);
        compare(cases[k].name, &light, &path, count, 2e-2);
    }
}

/* ---- gradients ---- */

static run_means gradient_runs(const char *integrator)
{
    static const char *const names[] = {"wall.reflectance.value", "lamp.reflectance.value",
                                        "panel.radiance.value"};
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, &cases[0], integrator), folder, names, 3);
    float adjoint[3 * SIDE * SIDE];
    for (int i = 0; i < 3 * SIDE * SIDE; i++) {
        int x = i / 3 % SIDE, y = i / 3 / SIDE;
        bool inside = x >= BORDER && y >= BORDER && x < SIDE - BORDER && y < SIDE - BORDER;
        adjoint[i] = inside ? (float)(1 + 0.5 * sin(0.3 * i) + 0.05 * x) : 0;
    }
    run_means e = {0};
    for (uint32_t run = 0; run < RUNS; run++) {
        double values[9];
        bl_stats stats;
        const bl_gradient_desc d = {.spp = 200, .seed = 1 + run, .adjoint = adjoint};
        SCENE_MUST(&device, bl_job_gradient(p.job, &d, &stats));
        assert_int_equal(stats.drifted, 0);
        for (uint32_t k = 0; k < 3; k++) {
            float g[3];
            SCENE_MUST(&device, bl_job_read_gradient(p.job, k, g));
            for (uint32_t c = 0; c < 3; c++)
                values[3 * k + c] = (double)g[c];
        }
        run_means_add(&e, values, 9);
    }
    scene_picture_free(&p);
    arena_free(&a);
    return e;
}

static void gradients_equal_those_of_paths(void **state)
{
    (void)state;
    run_means light = gradient_runs("ptracer"), path = gradient_runs("path");
    compare("gradients", &light, &path, 9, 5e-2);
}

/* ---- closed form ---- */

/* A beam straight down onto the quarter of a rectangle where u and v are below a half: the first columns and
 * rows of the film. Each pixel of that quarter has the exitance, all others are dark. */
static void a_beam_lands_where_uv_says(void **state)
{
    (void)state;
    arena a = {0};
    const char *body =
        "<shape type='rectangle'><transform name='to_world'><scale x='4' y='2'/></transform>"
        "<sensor type='irradiancemeter'><film type='hdrfilm'><integer name='width' value='8'/>"
        "<integer name='height' value='4'/><rfilter type='box'/></film></sensor></shape>"
        "<shape type='rectangle'><transform name='to_world'><scale x='2' y='1'/><rotate x='1' angle='180'/>"
        "<translate x='-2' y='-1' z='3'/></transform><emitter type='directionalarea'><rgb name='radiance' "
        "value='4,2,1'/></emitter></shape>";
    scene_picture p =
        scene_picture_load(&device, scene_xml(&a, "<integrator type='ptracer'/>", "", body), folder, NULL, 0);
    const bl_render_desc d = {.spp = 4000, .seed = 5};
    SCENE_MUST(&device, bl_job_render(p.job, &d, p.image, NULL));
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 8; x++) { /* 16,000 paths land in a lit pixel */
            double expected = x < 4 && y < 2 ? 4 : 0;
            assert_true(fabs((double)p.image[3 * (8 * y + x)] - expected) < 0.05 * expected + 1e-12);
        }
    scene_picture_free(&p);
    arena_free(&a);
}

static void refuses_a_shape_without_a_map(void **state)
{
    (void)state;
    arena a = {0};
    const meter_case c = {"ball", "<shape type='sphere'>" METER("", "box") "</shape>" REST, "false"};
    bl_scene *scene = NULL;
    bl_result r = bl_scene_load_string(device.context, scene_of(&a, &c, "ptracer"), folder, NULL, &scene);
    scene_device_refused(&device, r, BL_ERROR_UNSUPPORTED, "use a rectangle");
    arena_free(&a);
}

static int write_roof(void **state)
{
    (void)state;
    arena a = {0};
    FILE *f = fopen(arena_printf(&a, "%s/roof.obj", folder), "w");
    assert_non_null(f);
    fprintf(f, "v -1 -1 0\nv 0 -1 .5\nv 0 1 .3\nv -1 1 0\nv 1 -1 0\nv 1 1 .2\nf 1 2 3\nf 1 3 4\nf 2 5 6\nf 2 "
               "6 3\n");
    fclose(f);
    arena_free(&a);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(light_tracing_equals_path_tracing), cmocka_unit_test(gradients_equal_those_of_paths),
        cmocka_unit_test(a_beam_lands_where_uv_says), cmocka_unit_test(refuses_a_shape_without_a_map)};
    return scene_device_run(&device, &folder, "irradiance maps", tests, sizeof tests / sizeof *tests,
                            write_roof);
}
