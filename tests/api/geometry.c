/* LABELS: swiftshader rayquery timeout=120 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Vertices that are moved through the API: what a job then renders is what a scene renders that was loaded with the vertices there. Where nothing is
 * computed anew in another precision (flat triangles, no mesh among the lights) the same bytes, after small moves, which refit the hierarchy, and after
 * such as throw all vertices about, which build a new one; with instances and with primitives that are no triangles. Otherwise nearly so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 9 /* vertices */, VERTICES = SIDE * SIDE, FACES = 2 * (SIDE - 1) * (SIDE - 1), SPP = 4 };

static scene_device device;
static const char *const files[2] = {"geometry_ground.ply", "geometry_lamp.ply"};

/* A square grid over [-1, 1]^2; every vertex is moved by up to `by`. */
static void grid(float *positions, double by, uint32_t seed)
{
    for (uint32_t i = 0; i < VERTICES; i++) {
        double p[3] = {2.0 * (i % SIDE) / (SIDE - 1) - 1, 2.0 * (i / SIDE) / (SIDE - 1) - 1, 0};
        for (int k = 0; k < 3; k++)
            positions[3 * i + k] = (float)(p[k] + by * (2 * scene_random(&seed) - 1));
    }
}

static void write_grid(const char *path, const float *positions)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\nelement face %d\n"
               "property list uchar int vertex_indices\nend_header\n", VERTICES, FACES);
    for (int i = 0; i < VERTICES; i++)
        fprintf(f, "%.9g %.9g %.9g\n", (double)positions[3 * i], (double)positions[3 * i + 1], (double)positions[3 * i + 2]);
    for (int y = 0; y < SIDE - 1; y++)
        for (int x = 0; x < SIDE - 1; x++) {
            int a = y * SIDE + x, b = a + 1, c = a + SIDE, d = c + 1;
            fprintf(f, "3 %d %d %d\n3 %d %d %d\n", a, b, d, a, d, c);
        }
    assert_int_equal(fclose(f), 0);
}

#define PLY(id, file, more) "<shape type='ply' id='" id "'><string name='filename' value='" file "'/>" more "</shape>"
#define FLAT "<boolean name='face_normals' value='true'/>"
#define MATTE "<bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' value='.7,.5,.3'/></bsdf></bsdf>"
#define TURNED "<transform name='to_world'><rotate x='.8' y='.6' angle='50'/><scale value='.5'/><translate value='.3,-.2,.9'/></transform>"
#define BULB "<emitter type='point'><point name='position' value='.5,1,4'/><rgb name='intensity' value='20,18,16'/></emitter>"
#define BALL "<shape type='sphere'><point name='center' value='-.6,.5,.6'/><float name='radius' value='.3'/></shape>"

static const struct {
    const char *name, *body;
    bool same; /* bytes */
} cases[] = {
    {"flat", PLY("ground", "geometry_ground.ply", FLAT MATTE) BALL BULB, true},
    {"instances", "<shape type='shapegroup' id='group'>" PLY("ground", "geometry_ground.ply", FLAT MATTE) BALL "</shape>"
                  "<shape type='instance'><ref id='group'/></shape><shape type='instance'>" TURNED "<ref id='group'/></shape>" BULB, true},
    {"smooth, and a light", PLY("ground", "geometry_ground.ply", MATTE)
                            PLY("lamp", "geometry_lamp.ply", FLAT "<transform name='to_world'><rotate x='1' angle='180'/><translate z='3'/></transform>"
                            "<emitter type='area'><rgb name='radiance' value='3,4,5'/></emitter>"), false},
};

static char *scene_of(arena *a, uint32_t k)
{
    return scene_xml(a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                     "<sensor type='perspective'><float name='fov' value='50'/><transform name='to_world'><lookat origin='.4,-2.6,2.4' target='0,0,.2' up='0,0,1'/>"
                     "</transform><film type='hdrfilm'><integer name='width' value='24'/><integer name='height' value='20'/><rfilter type='box'/></film></sensor>",
                     cases[k].body);
}

/* requested: the positions are among the job's parameters; else it is told that geometry changes. */
static scene_picture load(uint32_t k, bool requested)
{
    static const char *const names[] = {"ground.vertex_positions"};
    arena a = {0};
    scene_picture p = {.d = &device, .scene = scene_device_load(&device, scene_of(&a, k), ".")};
    bl_scene_info info;
    SCENE_MUST(&device, bl_scene_info_get(p.scene, &info));
    p.width = info.width, p.height = info.height, p.values = 3 * info.width * info.height;
    bl_job_desc desc = {.parameters = names, .parameter_count = requested, .geometry_changes = !requested, .rays = scene_device_rays()};
    SCENE_MUST(&device, bl_job_create(device.device, p.scene, &desc, &p.job));
    p.image = calloc(p.values, sizeof *p.image);
    assert_non_null(p.image);
    arena_free(&a);
    return p;
}

static void render(scene_picture *p, bl_stats *stats)
{
    SCENE_MUST(&device, bl_job_render(p->job, &(bl_render_desc){.spp = SPP, .seed = 3}, p->image, stats));
    assert_int_equal(stats->non_finite, 0);
}

static void expect_alike(const scene_picture *got, const scene_picture *wanted, bool same, const char *what)
{
    uint32_t differ = 0;
    double mean = 0;
    for (uint32_t i = 0; i < wanted->values; i++)
        mean += (double)wanted->image[i] / wanted->values;
    for (uint32_t i = 0; i < wanted->values; i++)
        differ += same ? got->image[i] != wanted->image[i] : fabs((double)got->image[i] - (double)wanted->image[i]) > 1e-3 * mean;
    print_message("%s: %u of %u values differ, mean %g\n", what, differ, wanted->values, mean);
    assert_true(mean > 0.01);
    assert_true(differ <= (same ? 0 : wanted->values / 50));
}

/* Moves, then compares with a scene that is loaded so. */
static void moved_equals_loaded(uint32_t k, bool requested)
{
    static const double moves[] = {0.04, 1, 0.1};
    float *positions = malloc(3 * VERTICES * sizeof *positions);
    assert_non_null(positions);
    grid(positions, 0, 1);
    write_grid(files[0], positions), write_grid(files[1], positions);
    scene_picture p = load(k, requested);
    uint32_t ground = scene_device_find(&device, p.scene, "ground.vertex_positions"), rebuilds = 0;
    bl_stats stats;
    render(&p, &stats);
    for (uint32_t m = 0; m < sizeof moves / sizeof *moves; m++) {
        grid(positions, moves[m], 10 + m);
        SCENE_MUST(&device, bl_job_set_parameter(p.job, ground, positions));
        render(&p, &stats);
        rebuilds += stats.rebuilds;
        write_grid(files[0], positions);
        scene_picture fresh = load(k, requested);
        bl_stats other;
        render(&fresh, &other);
        expect_alike(&p, &fresh, cases[k].same, arena_printf(&(arena){0}, "%s, moved by %g", cases[k].name, moves[m]));
        scene_picture_free(&fresh);
    }
    float *back = malloc(3 * VERTICES * sizeof *back);
    assert_non_null(back);
    SCENE_MUST(&device, bl_job_get_parameter(p.job, ground, back));
    assert_memory_equal(back, positions, 3 * VERTICES * sizeof *back);
    if (scene_device_rays() != BL_RAYS_QUERY)
        assert_true(rebuilds >= 1 && rebuilds < sizeof moves / sizeof *moves);
    free(back);
    free(positions);
    scene_picture_free(&p);
}

static void flat(void **state) { (void)state, moved_equals_loaded(0, false), moved_equals_loaded(0, true); }
static void instances(void **state) { (void)state, moved_equals_loaded(1, false); }
static void smooth(void **state) { (void)state, moved_equals_loaded(2, false); }

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    const struct CMUnitTest tests[] = {cmocka_unit_test(flat), cmocka_unit_test(instances), cmocka_unit_test(smooth)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_device_close(&device);
    return failed;
}
