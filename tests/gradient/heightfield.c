/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * A heightfield is the mesh that its heights say: the image has the bytes of that mesh from a file, also
 * after heights were set; the gradient by a height is that by its vertex's position, along the axis of
 * heights; and forward mode agrees. Silhouettes of its hills are part of the gradient, as they are of a
 * mesh's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <string.h>

enum { ROWS = 4, COLUMNS = 5, COUNT = ROWS * COLUMNS, SIDE = 16, VALUES = 3 * SIDE * SIDE, SPP = 192 };

static scene_device device;
static char *folder;
static const float heights[COUNT] = {0,    .1f, .3f, .2f, .05f, .1f, .9f, .2f, .1f, .3f,
                                     .15f, .3f, .8f, .1f, 0,    .2f, .1f, .1f, .3f, .2f};

#define TO_WORLD "<transform name='to_world'><scale x='1.2' z='.7'/><rotate z='1' angle='20'/></transform>"
#define SENSOR                                                                                               \
    "<sensor type='perspective'><float name='fov' value='38'/><transform name='to_world'><lookat "           \
    "origin='1,-3,1.6' target='0,0,.1' up='0,0,1'/></transform><film type='hdrfilm'><integer name='width' "  \
    "value='16'/><integer name='height' value='16'/><rfilter type='box'/></film></sensor>"
#define LIGHT                                                                                                \
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='150'/><translate y='1' "        \
    "z='3'/></transform><emitter type='area'><rgb name='radiance' value='8,7,6'/></emitter></shape>"

static char *scene_of(arena *a, const char *shape)
{
    const char *body = arena_printf(a, "<shape %s" TO_WORLD "<bsdf type='diffuse'/></shape>" LIGHT, shape);
    return scene_xml(a, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>", SENSOR,
                     body);
}

#define HILL "type='heightfield' id='hill'><string name='filename' value='hill.pfm'/>"
#define FLAT                                                                                                 \
    "type='heightfield' id='hill'><integer name='columns' value='5'/><integer name='rows' value='4'/>"
#define MESH "type='ply' id='hill'><string name='filename' value='hill.ply'/>"

static void render(const scene_picture *p, float *image)
{
    const bl_render_desc d = {.spp = 16, .seed = 3};
    SCENE_MUST(&device, bl_job_render(p->job, &d, image, NULL));
}

static void image_is_that_of_the_mesh(void **state)
{
    (void)state;
    arena a = {0};
    static float images[3][VALUES];
    const char *const shapes[3] = {MESH, HILL, FLAT}, *const name = "hill.heights";
    for (int k = 0; k < 3; k++) {
        scene_picture p = scene_picture_load(&device, scene_of(&a, shapes[k]), folder, &name, k == 2);
        assert_int_equal(p.values, VALUES);
        if (k == 2) {
            uint32_t index = scene_device_find(&device, p.scene, name);
            bl_parameter_info info;
            SCENE_MUST(&device, bl_scene_parameter_info(p.scene, index, &info));
            assert_true(info.rank == 3 && info.shape[0] == ROWS && info.shape[1] == COLUMNS &&
                        info.shape[2] == 1 && info.differentiable);
            render(&p, images[k]);
            assert_true(memcmp(images[0], images[k], sizeof images[k]) != 0);
            SCENE_MUST(&device, bl_job_set_parameter(p.job, index, heights));
        }
        render(&p, images[k]);
        scene_picture_free(&p);
    }
    assert_memory_equal(images[0], images[1], sizeof images[0]);
    double most = 0, sum = 0; /* positions that follow on the device are rounded in another order */
    for (int i = 0; i < VALUES; i++)
        most = fmax(most, fabs((double)images[0][i] - (double)images[2][i])), sum += (double)images[0][i];
    assert_true(most < 0.1 * sum / VALUES && sum > 0);
    arena_free(&a);
}

/* tolerance: of the largest. Edges, and the curves along which normals turn away, are sampled by positions
 * that are rounded in another order, so some samples differ. Few samples weigh much: one was 5 % of the
 * largest of 96, so there are SPP. */
static void compare_gradients(bl_edges edges, double tolerance)
{
    arena a = {0};
    float adjoint[VALUES], by_height[COUNT], by_position[3 * COUNT], way[COUNT], tangent[VALUES];
    for (int i = 0; i < VALUES; i++)
        adjoint[i] = (float)(1 + sin(0.7 * i));
    for (int i = 0; i < COUNT; i++)
        way[i] = (float)cos(1.3 * i);
    const bl_gradient_desc d = {.spp = SPP, .seed = 5, .adjoint = adjoint, .edges = edges};
    const char *names[2] = {"hill.heights", "hill.vertex_positions"};
    const char *const shapes[2] = {HILL, MESH};
    float *const out[2] = {by_height, by_position};
    for (int k = 0; k < 2; k++) {
        scene_picture p = scene_picture_load(&device, scene_of(&a, shapes[k]), folder, names + k, 1);
        SCENE_MUST(&device, bl_job_gradient(p.job, &d, NULL));
        SCENE_MUST(&device, bl_job_read_gradient(p.job, 0, out[k]));
        const float *const tangents[1] = {way};
        const bl_forward_desc forward = {.spp = SPP, .seed = 5, .tangents = tangents, .edges = edges};
        if (k == 0)
            SCENE_MUST(&device, bl_job_forward(p.job, &forward, tangent, NULL));
        scene_picture_free(&p);
    }
    double largest = 0, along = 0, seen = 0, off = 0;
    for (int i = 0; i < COUNT; i++)
        largest = fmax(largest, fabs((double)by_height[i]));
    for (int i = 0; i < COUNT; i++) {
        double expected = 0.7 * (double)by_position[3 * i + 2];
        off = fmax(off, fabs((double)by_height[i] - expected) / largest);
        if (off > tolerance)
            fail_msg("height %d: %g, by its position %g", i, (double)by_height[i], expected);
        along += (double)by_height[i] * (double)way[i];
    }
    for (int i = 0; i < VALUES; i++)
        seen += (double)tangent[i] * (double)adjoint[i];
    print_message("largest %g, off by %g, along a direction %g, by forward mode %g\n", largest, off, along,
                  seen);
    assert_true(largest > 1e-3 && fabs(along - seen) < 1e-2 * largest);
    arena_free(&a);
}

static void gradient_is_that_of_positions(void **state)
{
    (void)state;
    compare_gradients(BL_EDGES_NONE, 2e-4);
    compare_gradients(BL_EDGES_PROJECTIVE, 2e-2);
}

static void refuses(void **state)
{
    (void)state;
    arena a = {0};
    bl_scene *scene = NULL;
    bl_result r = bl_scene_load_string(
        device.context, scene_of(&a, "type='heightfield'><string name='filename' value='texture.pfm'/>"),
        folder, NULL, &scene);
    scene_device_refused(&device, r, BL_ERROR_SCENE, "one channel");
    scene = scene_device_load(&device, scene_of(&a, HILL), folder);
    const bl_fit_parameter p = {.name = "hill.heights", .large_steps = 1, .fixed_axes = 1};
    const float target[VALUES] = {0};
    bl_fit *fit = NULL;
    r = bl_fit_create(device.device, scene,
                      &(bl_fit_desc){.parameters = &p, .parameter_count = 1, .target = target}, &fit);
    scene_device_refused(&device, r, BL_ERROR_ARGUMENT, "no axes");
    bl_scene_destroy(scene);
    arena_free(&a);
}

static int write_files(void **state)
{
    (void)state;
    arena a = {0};
    FILE *f = fopen(arena_printf(&a, "%s/hill.pfm", folder), "wb");
    assert_non_null(f);
    fprintf(f, "Pf\n%d %d\n-1\n", COLUMNS, ROWS);
    for (int row = ROWS; row-- > 0;)
        fwrite(heights + COLUMNS * row, sizeof *heights, COLUMNS, f);
    fclose(f);
    f = fopen(arena_printf(&a, "%s/hill.ply", folder), "w");
    assert_non_null(f);
    fprintf(f,
            "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\n"
            "property float u\nproperty float v\nelement face %d\nproperty list uchar int vertex_indices\n"
            "end_header\n",
            COUNT, 2 * (ROWS - 1) * (COLUMNS - 1));
    for (int i = 0; i < COUNT; i++) {
        float u = (float)(i % COLUMNS) / (COLUMNS - 1), v = (float)(i / COLUMNS) / (ROWS - 1);
        fprintf(f, "%.9g %.9g %.9g %.9g %.9g\n", (double)(2 * u - 1), (double)(2 * v - 1), (double)heights[i],
                (double)u, (double)v);
    }
    for (int row = 0; row + 1 < ROWS; row++)
        for (int column = 0; column + 1 < COLUMNS; column++) {
            int p = row * COLUMNS + column, q = p + 1, r = q + COLUMNS, s = p + COLUMNS;
            if ((row + column) % 2)
                fprintf(f, "3 %d %d %d\n3 %d %d %d\n", p, q, s, q, r, s);
            else
                fprintf(f, "3 %d %d %d\n3 %d %d %d\n", p, q, r, p, r, s);
        }
    fclose(f);
    arena_free(&a);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(image_is_that_of_the_mesh),
                                       cmocka_unit_test(gradient_is_that_of_positions),
                                       cmocka_unit_test(refuses)};
    return scene_device_run(&device, &folder, "heightfield", tests, sizeof tests / sizeof *tests,
                            write_files);
}
