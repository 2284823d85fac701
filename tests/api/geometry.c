/* LABELS: swiftshader native rayquery sanitized=native sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Vertices that are moved through the API: what a job then renders is what a scene renders that was loaded
 * with the vertices there. Where nothing is computed anew in another precision (flat triangles, no mesh among
 * the lights) the same bytes, after small moves, which refit the hierarchy, and after such as throw all
 * vertices about, which build a new one; with instances and with primitives that are no triangles. Otherwise
 * nearly so. */
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
static const char *const files[2] = {"ground.ply", "lamp.ply"};
static char *folder;

/* A square grid over [-1, 1]^2 at this height; every vertex is moved by up to `by`. */
static void grid(float *positions, double height, double by, uint32_t seed)
{
    for (uint32_t i = 0; i < VERTICES; i++) {
        double p[3] = {2.0 * (i % SIDE) / (SIDE - 1) - 1, 2.0 * (i / SIDE) / (SIDE - 1) - 1, height};
        for (int k = 0; k < 3; k++)
            positions[3 * i + k] = (float)(p[k] + by * (2 * scene_random(&seed) - 1));
    }
}

static void write_grid(const char *name, const float *positions)
{
    arena a = {0};
    FILE *f = fopen(arena_printf(&a, "%s/%s", folder, name), "w");
    assert_non_null(f);
    fprintf(f,
            "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float "
            "z\nelement face %d\n"
            "property list uchar int vertex_indices\nend_header\n",
            VERTICES, FACES);
    for (int i = 0; i < VERTICES; i++)
        fprintf(f, "%.9g %.9g %.9g\n", (double)positions[3 * i], (double)positions[3 * i + 1],
                (double)positions[3 * i + 2]);
    for (int y = 0; y < SIDE - 1; y++)
        for (int x = 0; x < SIDE - 1; x++) {
            int p = y * SIDE + x, q = p + 1, r = p + SIDE, s = r + 1;
            fprintf(f, "3 %d %d %d\n3 %d %d %d\n", p, q, s, p, s, r);
        }
    assert_int_equal(fclose(f), 0);
    arena_free(&a);
}

#define PLY(id, file, more)                                                                                  \
    "<shape type='ply' id='" id "'><string name='filename' value='" file "'/>" more "</shape>"
#define FLAT "<boolean name='face_normals' value='true'/>"
#define MATTE                                                                                                \
    "<bsdf type='twosided'><bsdf type='diffuse'><rgb name='reflectance' value='.7,.5,.3'/></bsdf></bsdf>"
#define TURNED                                                                                               \
    "<transform name='to_world'><rotate x='.8' y='.6' angle='50'/><scale value='.5'/><translate "            \
    "value='.3,-.2,.9'/></transform>"
#define BALL                                                                                                 \
    "<shape type='sphere'><point name='center' value='-.6,.5,.6'/><float name='radius' value='.3'/></shape>"

static const struct {
    const char *name, *integrator, *body;
    bool lamp; /* a mesh that moves, too: numbers that are not the same to the last bit */
} cases[] = {
    {"instances", "<integrator type='depth'/>",
     "<shape type='shapegroup' id='group'>" PLY("ground", "ground.ply", FLAT MATTE) BALL
     "</shape>"
     "<shape type='instance'><ref id='group'/></shape><shape type='instance'>" TURNED
     "<ref id='group'/></shape>",
     false},
    {"smooth, and a light", "<integrator type='direct'/>",
     PLY("ground", "ground.ply", MATTE)
         BALL PLY("lamp", "lamp.ply",
                  FLAT "<boolean name='flip_normals' value='true'/><emitter type='area'><rgb name='radiance' "
                       "value='3,4,5'/></emitter>"),
     true},
};

static char *scene_of(arena *a, uint32_t k)
{
    return scene_xml(a, cases[k].integrator,
                     "<sensor type='perspective'><float name='fov' value='50'/><transform "
                     "name='to_world'><lookat origin='.4,-2.6,2.4' target='0,0,.2' up='0,0,1'/>"
                     "</transform><film type='hdrfilm'><integer name='width' value='24'/><integer "
                     "name='height' value='20'/><rfilter type='box'/></film></sensor>",
                     cases[k].body);
}

/* requested: the positions are among the job's parameters; else it is told that geometry changes. */
static scene_picture load(uint32_t k, bool requested)
{
    static const char *const names[] = {"ground.vertex_positions"};
    arena a = {0};
    scene_picture p = {.d = &device, .scene = scene_device_load(&device, scene_of(&a, k), folder)};
    bl_scene_info info;
    SCENE_MUST(&device, bl_scene_info_get(p.scene, &info));
    p.width = info.width, p.height = info.height, p.values = 3 * info.width * info.height;
    bl_job_desc desc = {
        .parameters = names,
        .parameter_count = requested,
        .geometry_changes = !requested,
        .rays = scene_device_rays(),
    };
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
        differ += same ? got->image[i] != wanted->image[i]
                       : fabs((double)got->image[i] - (double)wanted->image[i]) > 1e-3 * mean;
    print_message("%s: %u of %u values differ, mean %g\n", what, differ, wanted->values, mean);
    assert_true(mean > 0.01);
    assert_true(differ <= (same ? 0 : wanted->values / 50));
}

/* Moves, then compares with a scene that is loaded so. */
static void moved_equals_loaded(uint32_t k, bool requested)
{
    static const double moves[] = {0.04, 1};
    static float positions[2][3 * VERTICES]; /* ground, lamp */
    for (int m = 0; m < 2; m++) {
        grid(positions[m], 3 * m, 0, 1);
        write_grid(files[m], positions[m]);
    }
    scene_picture p = load(k, requested);
    const uint32_t ground = scene_device_find(&device, p.scene, "ground.vertex_positions");
    uint32_t rebuilds = 0;
    bl_stats stats;
    render(&p, &stats);
    for (uint32_t m = scene_device_rays() == BL_RAYS_QUERY; m < sizeof moves / sizeof *moves;
         m++) { /* queries know no rebuilding: one is enough */
        grid(positions[0], 0, moves[m], 10 + m);
        grid(positions[1], 3, 0.1 + 0.3 * m, 20 + m);
        SCENE_MUST(&device, bl_job_set_parameter(p.job, ground, positions[0]));
        if (cases[k].lamp)
            SCENE_MUST(&device, bl_job_set_parameter(
                                    p.job, scene_device_find(&device, p.scene, "lamp.vertex_positions"),
                                    positions[1]));
        render(&p, &stats);
        rebuilds += stats.rebuilds;
        write_grid(files[0], positions[0]), write_grid(files[1], positions[1]);
        scene_picture fresh = load(k, requested);
        bl_stats other;
        render(&fresh, &other);
        expect_alike(&p, &fresh, !cases[k].lamp, cases[k].name);
        scene_picture_free(&fresh);
    }
    float *back = malloc(3 * VERTICES * sizeof *back);
    assert_non_null(back);
    SCENE_MUST(&device, bl_job_get_parameter(p.job, ground, back));
    assert_memory_equal(back, positions[0], 3 * VERTICES * sizeof *back);
    if (scene_device_rays() != BL_RAYS_QUERY)
        assert_true(rebuilds >= 1 && rebuilds < sizeof moves / sizeof *moves);
    free(back);
    /* every triangle a point: nothing is hit, nothing is sampled, nothing is not a number */
    memset(positions, 0, sizeof positions);
    SCENE_MUST(&device, bl_job_set_parameter(p.job, ground, positions[0]));
    if (cases[k].lamp)
        SCENE_MUST(&device,
                   bl_job_set_parameter(p.job, scene_device_find(&device, p.scene, "lamp.vertex_positions"),
                                        positions[1]));
    render(&p, &stats);
    positions[0][7] = NAN;
    assert_int_equal(bl_job_set_parameter(p.job, ground, positions[0]), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "ground.vertex_positions: value 7 is nan"));
    scene_picture_free(&p);
}

static void instances(void **state) { (void)state, moved_equals_loaded(0, false); }
/* What it is about is the same for both ray backends, and lavapipe takes its time to compile it. */
static void smooth(void **state)
{
    (void)state;
    if (scene_device_rays() != BL_RAYS_QUERY)
        moved_equals_loaded(1, true);
}

/* What it costs to move all vertices of a square of LARGE^2 quads. Printed with BL_LONG=1, for
 * docs/decisions/changing-geometry.md. */
static void timing(void **state)
{
    (void)state;
    enum { LARGE = 300, POINTS = (LARGE + 1) * (LARGE + 1), ROUNDS = 5 };
    if (!getenv("BL_LONG"))
        return;
    float *points = malloc(3 * POINTS * sizeof *points);
    uint32_t *corners = malloc(6 * LARGE * LARGE * sizeof *corners), *f = corners, seed = 1;
    assert_true(points && corners);
    for (uint32_t i = 0; i < POINTS; i++) {
        points[3 * i] = (float)(i % (LARGE + 1)) / LARGE - 0.5f,
                   points[3 * i + 1] = (float)(i / (LARGE + 1)) / LARGE - 0.5f;
        points[3 * i + 2] = (float)(0.001 * scene_random(&seed));
    }
    for (uint32_t y = 0; y < LARGE; y++)
        for (uint32_t x = 0; x < LARGE; x++) {
            uint32_t a = y * (LARGE + 1) + x, b = a + LARGE + 1, quad[6] = {a, a + 1, b + 1, a, b + 1, b};
            for (int k = 0; k < 6; k++)
                *f++ = quad[k];
        }
    bl_builder *b;
    bl_scene *scene;
    SCENE_MUST(&device, bl_builder_create(device.context, &b));
    bl_object *film = bl_builder_object(b, "film", "hdrfilm", NULL),
              *sensor = bl_builder_object(b, "sensor", "perspective", NULL);
    bl_object_integer(film, "width", 8), bl_object_integer(film, "height", 8),
        bl_object_add(sensor, NULL, film);
    bl_object_transform(sensor, "to_world",
                        (const double[16]){-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 2, 0, 0, 0, 1});
    bl_object *ground = bl_builder_mesh(
        b, "ground",
        &(bl_mesh){
            .vertex_count = POINTS, .face_count = 2 * LARGE * LARGE, .positions = points, .faces = corners});
    bl_object_flag(ground, "face_normals", true);
    bl_object_add(bl_builder_root(b), NULL, sensor), bl_object_add(bl_builder_root(b), NULL, ground);
    bl_object_add(bl_builder_root(b), NULL, bl_builder_object(b, "integrator", "depth", NULL));
    double start = clock_seconds();
    SCENE_MUST(&device, bl_builder_finish(b, NULL, NULL, &scene));
    double built = clock_seconds() - start, least[2] = {1e9, 1e9};
    bl_job *job;
    float picture[3 * 64];
    SCENE_MUST(&device,
               bl_job_create(device.device, scene,
                             &(bl_job_desc){.geometry_changes = true, .rays = scene_device_rays()}, &job));
    uint32_t parameter = scene_device_find(&device, scene, "ground.vertex_positions");
    for (int round = 0; round < 2 * ROUNDS; round++) {
        for (uint32_t i = 0; i < POINTS && round % 2; i++)
            points[3 * i + 2] = (float)(0.001 * scene_random(&seed));
        bl_stats stats;
        if (round % 2)
            SCENE_MUST(&device, bl_job_set_parameter(job, parameter, points));
        SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 1}, picture, &stats));
        assert_int_equal(stats.rebuilds, 0);
        least[round % 2] = fmin(least[round % 2], stats.seconds);
    }
    print_message("%d triangles: scene made in %.3f s; moving all vertices %.4f s, %.3g us a triangle\n",
                  2 * LARGE * LARGE, built, least[1] - least[0],
                  1e6 * (least[1] - least[0]) / (2.0 * LARGE * LARGE));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    free(points), free(corners);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(instances), cmocka_unit_test(smooth),
                                       cmocka_unit_test(timing)};
    return SCENE_DEVICE_RUN(&device, &folder, "geometry", tests);
}
