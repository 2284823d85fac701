/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are area lights on analytic shapes right? Each shape, scaled and turned inside out, lights a room and
 * looks as a fine mesh of it does, from outside and from inside, and has the same gradient of its radiance.
 * Where normals are smoothed, the shading normal decides which side shines. Light sampling agrees about
 * that with materials' samples, which need no density. Lights on shapes that Mitsuba cannot sample points
 * on are refused.
 *
 * Two images agree where their blocks do by a z-test. Each comparison also bounds its noise, and fails
 * where either image is black or, for a sealed light seen from its dark side, where it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SIDE = 12,
    BLOCK = 4,
    BLOCKS = 3 * (SIDE / BLOCK) * (SIDE / BLOCK),
    VALUES = 3 * SIDE * SIDE,
    ROUND = 160,
    ALONG = 80,
    RUNS = 8,
    SPP = 192
};
static const double pi = 3.14159265358979323846;

static scene_device device;
static char *folder;

/* ---- meshes ---- */

/* Points of the square [0, 1]^2 on a shape, whose normals are dp/du x dp/dv. */
static void on_cylinder(double u, double v, double p[3])
{
    p[0] = cos(2 * pi * u), p[1] = sin(2 * pi * u), p[2] = v;
}
static void on_disk(double u, double v, double p[3])
{
    p[0] = u * cos(2 * pi * v), p[1] = u * sin(2 * pi * v), p[2] = 0;
}
static void on_rectangle(double u, double v, double p[3]) { p[0] = 2 * u - 1, p[1] = 2 * v - 1, p[2] = 0; }
static void on_sphere(double u, double v, double p[3])
{
    p[0] = sin(pi * v) * cos(2 * pi * (1 - u)), p[1] = sin(pi * v) * sin(2 * pi * (1 - u)),
    p[2] = cos(pi * v);
}

/* Six squares, one after the other. */
static void on_cube(double u, double v, double p[3])
{
    double face = fmin(floor(6 * u), 5), a = 2 * (6 * u - face) - 1, b = 2 * v - 1, sign = face < 3 ? 1 : -1;
    int axis = (int)face % 3;
    p[axis] = sign, p[(axis + 1) % 3] = a * sign, p[(axis + 2) % 3] = b;
}

typedef struct light_shape {
    const char *type, *ops;
    void (*at)(double u, double v, double p[3]);
    bool closed, mirrored; /* has an inside worth looking at; ops turn a mesh inside out, but not the shape */
    bool sealed;           /* has no opening: whoever looks at the side that does not shine sees nothing */
} light_shape;

static const light_shape shapes[] = {
    {"cylinder",
     "<scale x='.5' y='.5' z='1.3'/><rotate x='1' angle='50'/><rotate y='1' angle='20'/><translate z='-.2'/>",
     on_cylinder, true, false, false},
    {"sphere", "<scale value='.6'/><rotate x='1' angle='50'/>", on_sphere, true, false, true},
    {"cube", "<scale x='.5' y='.7' z='.3'/><rotate x='1' angle='35'/>", on_cube, true, false, true},
    {"disk", "<scale x='1.2' y='.5'/><rotate x='1' angle='70'/>", on_disk, false, false, false},
    {"rectangle", "<scale x='-.9' y='.4'/><rotate x='1' angle='60'/>", on_rectangle, false, true, false},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* One quad a cell, so that no triangle stands across two faces of the cube: ROUND is no multiple of 6, 6
 * ALONG is. */
static void write_mesh(const light_shape *s)
{
    arena a = {0};
    int round = s->at == on_cube ? 6 : ROUND;
    FILE *f = fopen(arena_printf(&a, "%s/%s.obj", folder, s->type), "w");
    assert_non_null(f);
    for (int i = 0; i < round; i++)
        for (int j = 0; j < ALONG; j++)
            for (int k = 0; k < 4; k++) {
                double p[3], inset = 1e-9; /* of the cube's cells, so that each lies on its own face */
                s->at((i + (k == 1 || k == 2 ? 1 - inset : inset)) / round, (j + (k > 1)) / (double)ALONG, p);
                fprintf(f, "v %.9g %.9g %.9g\n", p[0], p[1], p[2]);
            }
    for (int i = 0; i < round * ALONG; i++)
        fprintf(f, "f %d %d %d %d\n", 4 * i + 1, 4 * i + 2, 4 * i + 3, 4 * i + 4);
    fclose(f);
    arena_free(&a);
}

/* ---- scenes ---- */

#define ROOM                                                                                                 \
    "<shape type='rectangle'><transform name='to_world'><scale value='4'/><translate "                       \
    "z='-1.5'/></transform></shape>"                                                                         \
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='-90'/><scale "                  \
    "value='4'/><translate y='-1.5'/></transform></shape>"                                                   \
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='90'/><scale "                   \
    "value='4'/><translate y='1.6'/></transform></shape>"
#define BALL                                                                                                 \
    "<shape type='sphere'><float name='radius' value='.12'/><point name='center' x='.05' y='-.05' "          \
    "z='.08'/></shape>"
#define RADIANCE "<emitter type='area' id='light'><rgb name='radiance' value='4,2,1'/></emitter>"

static char *scene_of(arena *a, const char *integrator, bool inside, const char *light)
{
    return scene_xml(
        a,
        arena_printf(a, "<integrator type='%s'><integer name='max_depth' value='3'/></integrator>",
                     integrator),
        arena_printf(a,
                     "<sensor type='perspective'><float name='fov' value='%d'/><transform name='to_world'>"
                     "<lookat origin='%s' target='0,0,%s' up='0,1,0'/></transform><film "
                     "type='hdrfilm'><integer name='width' value='%d'/>"
                     "<integer name='height' value='%d'/><rfilter type='box'/></film></sensor>",
                     inside ? 90 : 45, inside ? "0,-.12,-.1" : "0,.6,5", inside ? ".1" : "0", SIDE, SIDE),
        arena_printf(a, "%s%s%s", ROOM, inside ? BALL : "", light));
}

static char *analytic_light(arena *a, const light_shape *s, bool flip)
{
    return arena_printf(a,
                        "<shape type='%s'><boolean name='flip_normals' value='%s'/><transform "
                        "name='to_world'>%s</transform>" RADIANCE "</shape>",
                        s->type, flip ? "true" : "false", s->ops);
}

static char *mesh_light(arena *a, const light_shape *s, bool flip)
{
    return arena_printf(
        a,
        "<shape type='obj'><string name='filename' value='%s.obj'/><boolean name='face_normals' "
        "value='true'/>"
        "<boolean name='flip_normals' value='%s'/><transform name='to_world'>%s</transform>" RADIANCE
        "</shape>",
        s->type, flip != s->mirrored ? "true" : "false", s->ops);
}

/* ---- images ---- */

typedef struct blocks {
    double mean[BLOCKS], variance[BLOCKS];
} blocks;

static blocks blocks_of(const char *xml, uint32_t spp)
{
    scene_picture p = scene_picture_load(&device, xml, folder, NULL, 0);
    scene_picture_render(&p, spp, 3);
    blocks b = {0};
    const double count = BLOCK * BLOCK;
    for (int i = 0; i < VALUES; i++) {
        int y = i / (3 * SIDE), x = i / 3 % SIDE, at = 3 * (y / BLOCK * (SIDE / BLOCK) + x / BLOCK) + i % 3;
        b.mean[at] += (double)p.image[i] / count,
            b.variance[at] += (double)p.variance[i] / (spp * count * count);
    }
    scene_picture_free(&p);
    return b;
}

/* What a comparison of two pictures expects of them besides their being alike. */
typedef struct expectation {
    const char *name;
    bool dark;      /* no light reaches the camera */
    double slack;   /* of a block, as a share of the light's radiance */
    double loudest; /* most standard error of any block, as a share of the brightest block */
} expectation;

/* A mesh lies a little inside the shape that it stands for, which tells in a pixel at the light's edge. Where
 * all is dark, rays that start on one face of a light and pass its neighbour's edge leak as little. */
static const double mesh_slack = 1e-3;

static double brightest_block(const blocks *b)
{
    double most = 0;
    for (int k = 0; k < BLOCKS; k++)
        most = fmax(most, b->mean[k]);
    return most;
}

static void expect_alike(const expectation *e, const blocks *a, const blocks *b)
{
    static const double radiance[3] = {4, 2, 1};
    double worst = 0, loudest = 0, least = fmin(brightest_block(a), brightest_block(b));
    if (e->dark ? fmax(brightest_block(a), brightest_block(b)) > mesh_slack * radiance[0] : least < 0.05)
        fail_msg("%s: should be %s, and the brightest blocks are %g and %g", e->name,
                 e->dark ? "dark" : "lit", brightest_block(a), brightest_block(b));
    for (int k = 0; k < BLOCKS; k++) {
        double noise = sqrt(a->variance[k] + b->variance[k]),
               off = fmax(0, fabs(a->mean[k] - b->mean[k]) - e->slack * radiance[k % 3]),
               z = off / (noise + 1e-6);
        if (!(z < 5))
            fail_msg("%s: block %d is %g in one and %g in the other, z %.1f", e->name, k, a->mean[k],
                     b->mean[k], z);
        worst = fmax(worst, z), loudest = fmax(loudest, noise / least);
    }
    if (!e->dark && !(loudest < e->loudest))
        fail_msg("%s: too noisy to compare, the standard error of a block is %.3g of the brightest", e->name,
                 loudest);
    print_message("%s: largest z %.1f, brightest block %.3g, standard error up to %.3g of it\n", e->name,
                  worst, least, loudest);
}

static void images_equal_those_of_meshes(void **state)
{
    (void)state;
    for (int k = 0; k < SHAPES; k++)
        for (int flip = 0; flip < 2; flip++)
            for (int inside = 0; inside <= shapes[k].closed; inside++) {
                arena a = {0};
                blocks own =
                           blocks_of(scene_of(&a, "path", inside, analytic_light(&a, &shapes[k], flip)), SPP),
                       mesh = blocks_of(scene_of(&a, "path", inside, mesh_light(&a, &shapes[k], flip)), SPP);
                expect_alike(&(expectation){.name = arena_printf(&a, "%s, %s, seen from %s", shapes[k].type,
                                                                 flip ? "flipped" : "as it is",
                                                                 inside ? "inside" : "outside"),
                                            .dark = shapes[k].sealed && flip != inside,
                                            .slack = mesh_slack,
                                            .loudest = 0.06},
                             &own, &mesh);
                arena_free(&a);
            }
}

/* Tilted, scaled unevenly, inside out: where the normals' interpolation says something else than the
 * faces. */
static void smoothed_normals_decide_the_side(void **state)
{
    (void)state;
    static const char *const ops[] = {
        "<scale value='.6'/><rotate x='1' angle='50'/><rotate y='1' angle='20'/>",
        "<scale x='.9' y='.9' z='.4'/><rotate x='1' angle='50'/>"};
    for (int k = 0; k < 4; k++) {
        arena a = {0};
        char *light = arena_printf(&a,
                                   "<shape type='obj'><string name='filename' value='smooth.obj'/><boolean "
                                   "name='flip_normals' value='%s'/>"
                                   "<transform name='to_world'>%s</transform>" RADIANCE "</shape>",
                                   k % 2 ? "true" : "false", ops[k / 2]);
        blocks path = blocks_of(scene_of(&a, "path", false, light), 8 * SPP),
               chance = blocks_of(scene_of(&a, "prb_basic", false, light), 16 * SPP);
        expect_alike(&(expectation){.name = arena_printf(&a, "smoothed normals %d", k), .loudest = 0.06},
                     &path, &chance);
        arena_free(&a);
    }
}

/* ---- gradients ---- */

typedef struct estimate {
    double mean[3], variance[3];
} estimate;

static estimate gradient_of(const char *xml)
{
    static const char *const name = "light.radiance.value";
    scene_picture p = scene_picture_load(&device, xml, folder, &name, 1);
    float adjoint[VALUES], g[3];
    for (int i = 0; i < VALUES; i++)
        adjoint[i] = (float)(1 + 0.5 * sin(0.3 * i));
    estimate e = {0};
    for (uint32_t run = 0; run < RUNS; run++) {
        bl_stats stats;
        SCENE_MUST(&device,
                   bl_job_gradient(p.job,
                                   &(bl_gradient_desc){.spp = SPP / 4, .seed = 1 + run, .adjoint = adjoint},
                                   &stats));
        SCENE_MUST(&device, bl_job_read_gradient(p.job, 0, g));
        for (int c = 0; c < 3; c++)
            e.mean[c] += (double)g[c] / RUNS, e.variance[c] += (double)g[c] * (double)g[c];
    }
    for (int c = 0; c < 3; c++)
        e.variance[c] = fmax(0, e.variance[c] / RUNS - e.mean[c] * e.mean[c]) / (RUNS - 1);
    scene_picture_free(&p);
    return e;
}

/* Student's t of about 14 degrees is above 8 with a probability of 1e-6. */
static void gradients_equal_those_of_meshes(void **state)
{
    (void)state;
    for (int k = 0; k < SHAPES; k++) {
        arena a = {0};
        estimate own = gradient_of(
                     scene_of(&a, "path", false, analytic_light(&a, &shapes[k], !shapes[k].closed))),
                 mesh =
                     gradient_of(scene_of(&a, "path", false, mesh_light(&a, &shapes[k], !shapes[k].closed)));
        for (int c = 0; c < 3; c++) {
            double noise = sqrt(own.variance[c] + mesh.variance[c]),
                   t = fmax(0, fabs(own.mean[c] - mesh.mean[c]) - 1e-3 * fabs(mesh.mean[c])) / noise;
            print_message("%s, channel %d: %g and %g, t %.1f, standard error %.3g\n", shapes[k].type, c,
                          own.mean[c], mesh.mean[c], t, noise);
            assert_true(mesh.mean[c] > 0 && noise < 0.02 * mesh.mean[c] && t < 8);
        }
        arena_free(&a);
    }
}

/* ---- what is refused ---- */

static void shapes_without_points_say_so(void **state)
{
    (void)state;
    static const char *const bodies[][2] = {
        {"<shape type='linearcurve'><string name='filename' value='bent.txt'/>" RADIANCE "</shape>",
         "linearcurve: this shape cannot be a light"},
        {"<shape type='bsplinecurve'><string name='filename' value='bent.txt'/>" RADIANCE "</shape>",
         "bsplinecurve: this shape cannot be a light"},
        {"<shape type='shapegroup'><shape type='sphere'>" RADIANCE "</shape></shape>",
         "a shape in a shapegroup cannot be a light"},
        {"<shape type='sphere'><emitter type='area'/><emitter type='area'/></shape>",
         "can hold 1 emitter, not more"},
        {"<shape type='sphere'><emitter type='area'><transform name='to_world'/></emitter></shape>",
         "unknown parameter \"to_world\""},
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        arena a = {0};
        bl_scene *scene;
        assert_int_not_equal(bl_scene_load_string(device.context, scene_of(&a, "path", false, bodies[k][0]),
                                                  folder, NULL, &scene),
                             BL_OK);
        if (!strstr(bl_context_error(device.context), bodies[k][1]))
            fail_msg("%s", bl_context_error(device.context));
        arena_free(&a);
    }
}

static void write_file(const char *name, const char *content)
{
    arena a = {0};
    FILE *f = fopen(arena_printf(&a, "%s/%s", folder, name), "w");
    assert_non_null(f);
    fputs(content, f);
    fclose(f);
    arena_free(&a);
}

static int write_files(void **state)
{
    (void)state;
    for (int k = 0; k < SHAPES; k++)
        write_mesh(&shapes[k]);
    write_file("bent.txt", "0 0 0 .1\n1 0 0 .1\n1 1 0 .1\n0 1 0 .1\n");
    /* an octahedron without normals: they are generated, and point along the axes */
    write_file("smooth.obj", "v 1 0 0\nv 0 1 0\nv -1 0 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\nf 1 2 5\nf 2 3 5\nf 3 "
                             "4 5\nf 4 1 5\nf 2 1 6\nf 3 2 6\nf 4 3 6\nf 1 4 6\n");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_equal_those_of_meshes),
        cmocka_unit_test(smoothed_normals_decide_the_side),
        cmocka_unit_test(gradients_equal_those_of_meshes),
        cmocka_unit_test(shapes_without_points_say_so),
    };
    return scene_device_run(&device, &folder, "area lights", tests, sizeof tests / sizeof *tests,
                            write_files);
}
