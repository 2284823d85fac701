/* LABELS: swiftshader rayquery */
/* SPDX-License-Identifier: BSD-3-Clause
 * Geometry that commands of the caller's move: positions out of a vertex buffer, places of instances, and the
 * normals, lights and hierarchies that follow on the device. Images, gradients and steps of fits are the
 * bytes of a job of Backlight's own that is told the same values; the device is left alone while they are
 * recorded. Where a hierarchy has become bad, preparing makes a new one. The validation layer must stay
 * silent where there is one. With ray queries only what differs there is tested, because lavapipe takes its
 * time to compile it; gradients alone, in parts, with BL_LONG=1, because steps have them, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/todays_tests.h"
#include "support/vulkan_app.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 5, /* vertices */
    VERTICES = SIDE * SIDE,
    WIDTH = 16,
    HEIGHT = 12,
    VALUES = 3 * WIDTH * HEIGHT,
    STRIDE = 7, /* floats of a vertex of the caller's */
    STEPS = 3,
    SPP = 4
};

static scene_device device;
static vulkan_app app;
static bl_device *theirs;
static bl_recorder *recorder;

/* ---- a scene: a smooth grid under a mesh that shines, and two instances of a ball and a tile ---- */

static float ground[3 * VERTICES], lamp[9] = {-0.6f, -0.6f, 3, 0, 0.9f, 3, 0.6f, -0.6f, 3};
static uint32_t faces[6 * (SIDE - 1) * (SIDE - 1)];
static const uint32_t lamp_faces[3] = {0, 1, 2};
static const float tile[9] = {-0.5f, 0, 0, 0.5f, 0, 0, 0, 0, 0.8f};

static void bend(float *positions, float by)
{
    for (int i = 0; i < VERTICES; i++) {
        float x = 2.0f * (float)(i % SIDE) / (SIDE - 1) - 1, y = 2.0f * (float)(i / SIDE) / (SIDE - 1) - 1;
        positions[3 * i] = x + 0.1f * by * y, positions[3 * i + 1] = y;
        positions[3 * i + 2] = by * sinf(2 * x + y);
    }
}

static void make_faces(void)
{
    uint32_t *f = faces;
    for (uint32_t y = 0; y < SIDE - 1; y++)
        for (uint32_t x = 0; x < SIDE - 1; x++) {
            uint32_t a = y * SIDE + x, corners[6] = {a, a + 1, a + SIDE + 1, a, a + SIDE + 1, a + SIDE};
            for (int k = 0; k < 6; k++)
                *f++ = corners[k];
        }
}

static void place(bl_object *instance, double x)
{
    const double m[16] = {0.5, 0, 0, x, 0, 0.5, 0, -0.4, 0, 0, 0.5, 0.5, 0, 0, 0, 1};
    bl_object_transform(instance, "to_world", m);
}

static void add_paint(bl_builder *b, bl_object *shape)
{
    bl_object *both = bl_builder_object(b, "bsdf", "twosided", NULL),
              *paint = bl_builder_object(b, "bsdf", "diffuse", NULL);
    bl_object_color(paint, "reflectance", 0.7, 0.5, 0.3);
    bl_object_add(both, NULL, paint);
    bl_object_add(shape, NULL, both);
}

/* flat: the ground's normals are those of its faces. */
static bl_scene *make_scene_of(const uint32_t *ground_faces, bool flat)
{
    static const double from_above[16] = {-1, 0, 0, 0.3, 0, 0.6, -0.8, 3.2, 0, -0.8, -0.6, 2.6, 0, 0, 0, 1};
    bl_builder *b;
    bl_scene *scene;
    SCENE_MUST(&device, bl_builder_create(device.context, &b));
    bl_object *root = bl_builder_root(b), *film = bl_builder_object(b, "film", "hdrfilm", NULL),
              *filter = bl_builder_object(b, "rfilter", "box", NULL),
              *sensor = bl_builder_object(b, "sensor", "perspective", NULL),
              *integrator = bl_builder_object(b, "integrator", "direct", NULL);
    bl_object_integer(film, "width", WIDTH), bl_object_integer(film, "height", HEIGHT);
    bl_object_add(film, NULL, filter);
    bl_object_add(sensor, NULL, film);
    bl_object_number(sensor, "fov", 50);
    bl_object_transform(sensor, "to_world", from_above);
    bl_object_add(root, NULL, sensor);
    bl_object_add(root, NULL, integrator);
    bl_object *hill = bl_builder_mesh(b, "ground",
                                      &(bl_mesh){.vertex_count = VERTICES,
                                                 .face_count = 2 * (SIDE - 1) * (SIDE - 1),
                                                 .positions = ground,
                                                 .faces = ground_faces});
    bl_object_flag(hill, "face_normals", flat);
    add_paint(b, hill);
    bl_object_add(root, NULL, hill);
    bl_object *shining = bl_builder_mesh(
        b, "lamp", &(bl_mesh){.vertex_count = 3, .face_count = 1, .positions = lamp, .faces = lamp_faces});
    bl_object *emitter = bl_builder_object(b, "emitter", "area", NULL);
    bl_object_color(emitter, "radiance", 12, 13, 14);
    bl_object_flag(shining, "face_normals", true);
    bl_object_add(shining, NULL, emitter);
    bl_object_add(root, NULL, shining);
    bl_object *group = bl_builder_object(b, "shape", "shapegroup", "group"),
              *ball = bl_builder_object(b, "shape", "sphere", NULL),
              *flag = bl_builder_mesh(
                  b, "tile",
                  &(bl_mesh){.vertex_count = 3, .face_count = 1, .positions = tile, .faces = lamp_faces});
    bl_object_number(ball, "radius", 0.4);
    add_paint(b, ball), add_paint(b, flag);
    bl_object_add(group, NULL, ball), bl_object_add(group, NULL, flag);
    bl_object_add(root, NULL, group);
    static const char *const ids[] = {"here", "there"};
    for (int k = 0; k < 2; k++) {
        bl_object *instance = bl_builder_object(b, "shape", "instance", ids[k]);
        place(instance, k - 0.6);
        bl_object_add(instance, NULL, group);
        bl_object_add(root, NULL, instance);
    }
    SCENE_MUST(&device, bl_builder_finish(b, NULL, NULL, &scene));
    return scene;
}

static bl_scene *make_scene(void) { return make_scene_of(faces, false); }

/* ---- a pair of jobs ---- */

typedef struct pair {
    bl_job *own, *job;
} pair;

static pair make_jobs(const bl_scene *scene, const char *parameter)
{
    const bl_job_desc desc = {.parameters = &parameter,
                              .parameter_count = parameter != NULL,
                              .geometry_changes = !parameter,
                              .rays = scene_device_rays()};
    pair p;
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &p.own));
    SCENE_MUST(&device, bl_job_create(theirs, scene, &desc, &p.job));
    assert_true(desc.rays != BL_RAYS_QUERY || strcmp(bl_job_rays(p.job), "query") == 0);
    return p;
}

static void destroy_jobs(pair *p)
{
    bl_job_destroy(p->own);
    bl_job_destroy(p->job);
}

static void end_recording(void)
{
    static const vulkan_app_counts none;
    assert_memory_equal(&vulkan_app_count, &none, sizeof none); /* the device was left alone */
    vulkan_app_run(&app);
    SCENE_MUST(&device, bl_recorder_reset(recorder));
}

static void read_region(const bl_vulkan_region *r, void *out)
{
    vulkan_app_buffer b = vulkan_app_buffer_create(&app, r->size, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    const VkBufferCopy copy = {.srcOffset = r->offset, .size = r->size};
    vulkan_app_begin(&app);
    vulkan_app_barrier(&app);
    app.CmdCopyBuffer(app.commands, r->buffer, b.handle, 1, &copy);
    vulkan_app_run(&app);
    memcpy(out, b.mapped, r->size);
    vulkan_app_buffer_destroy(&app, &b);
}

static vulkan_app_buffer storage(VkDeviceSize size)
{
    return vulkan_app_buffer_create(&app, size, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
}

/* The caller's vertices: positions from float 1 on, and other things. */
static bl_vulkan_pixels vertices_of(const vulkan_app_buffer *b)
{
    return (bl_vulkan_pixels){.buffer = b->handle,
                              .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                              .buffer_size = b->size,
                              .offset = sizeof(float),
                              .stride = STRIDE * sizeof(float)};
}

static void fill_vertices(vulkan_app_buffer *b, const float *positions)
{
    for (int i = 0; i < VERTICES; i++)
        memcpy((float *)b->mapped + STRIDE * i + 1, positions + 3 * i, 12);
}

static void expect_image(pair *p, const char *what)
{
    static float expected[VALUES], found[VALUES];
    bl_vulkan_results results;
    SCENE_MUST(&device, bl_job_render(p->own, &(bl_render_desc){.spp = SPP, .seed = 5}, expected, NULL));
    SCENE_MUST(&device, bl_job_vulkan_results(p->job, &results));
    read_region(&results.image, found);
    double mean = 0;
    for (int i = 0; i < VALUES; i++)
        mean += (double)expected[i] / VALUES;
    assert_true(mean > 0.01);
    if (memcmp(found, expected, sizeof found) != 0)
        fail_msg("%s: another image, of mean %g", what, mean);
}

/* ---- tests ---- */

static void vertices_come_from_a_buffer(void **state)
{
    (void)state;
    if (scene_device_rays() == BL_RAYS_QUERY)
        return;
    static const float bends[] = {0.1f, 0.4f, -0.3f};
    bl_scene *scene = make_scene();
    pair p = make_jobs(scene, NULL);
    uint32_t index = scene_device_find(&device, scene, "ground.vertex_positions");
    vulkan_app_buffer b = storage(STRIDE * VERTICES * sizeof(float));
    bl_vulkan_pixels vertices = vertices_of(&b);
    bl_vulkan_image_desc desc = {.pass = {.spp = SPP, .seed = 5, .changed = &index, .changed_count = 1}};
    float back[3 * VERTICES];
    SCENE_MUST(&device, bl_job_prepare_image(p.job, &desc, NULL));
    SCENE_MUST(&device, bl_job_prepare_values(p.job, index, &vertices));
    for (size_t k = 0; k < sizeof bends / sizeof *bends; k++) {
        float moved[3 * VERTICES];
        bend(moved, bends[k]);
        fill_vertices(&b, moved);
        vulkan_app_begin(&app);
        vulkan_app_count = (vulkan_app_counts){0};
        SCENE_MUST(&device, bl_job_record_values(p.job, recorder, app.commands, index, &vertices));
        SCENE_MUST(&device, bl_job_record_image(p.job, recorder, app.commands, &desc));
        end_recording();
        SCENE_MUST(&device, bl_job_set_parameter(p.own, index, moved));
        expect_image(&p, "moved");
        SCENE_MUST(&device, bl_job_get_parameter(p.job, index, back));
        assert_memory_equal(back, moved, sizeof back);
    }
    vulkan_app_buffer_destroy(&app, &b);
    destroy_jobs(&p);
    bl_scene_destroy(scene);
}

/* The same vertices, joined otherwise: each square of the ground divided the other way, in another order, and
 * then as it was. The image is that of a scene that is made so. */
static void faces_come_from_a_buffer(void **state)
{
    (void)state;
    enum { FACES = 2 * (SIDE - 1) * (SIDE - 1) };
    static uint32_t other[3 * FACES];
    float moved[3 * VERTICES];
    for (uint32_t k = 0; k < FACES / 2; k++) { /* a, a + 1, a + SIDE + 1, a, a + SIDE + 1, a + SIDE */
        const uint32_t *q = faces + 6 * ((FACES / 2 - 1) - k);
        const uint32_t divided[6] = {q[1], q[2], q[5], q[0], q[1], q[5]};
        memcpy(other + 6 * k, divided, sizeof divided);
    }
    bl_scene *scene = make_scene_of(faces, true), *joined = make_scene_of(other, true);
    pair p = make_jobs(scene, NULL), q = make_jobs(joined, NULL);
    uint32_t index = scene_device_find(&device, scene, "ground.vertex_positions");
    vulkan_app_buffer b = storage(sizeof other);
    const bl_vulkan_pixels from = {
        .buffer = b.handle, .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, .buffer_size = b.size};
    bl_vulkan_image_desc desc = {.pass = {.spp = SPP, .seed = 5, .changed = &index, .changed_count = 1}};
    bl_vulkan_region r;
    bend(moved, 0.5f);
    SCENE_MUST(&device, bl_job_prepare_image(p.job, &desc, NULL));
    SCENE_MUST(&device, bl_job_prepare_faces(p.job, index, &from));
    SCENE_MUST(&device, bl_job_vulkan_parameter(p.job, index, &r));
    SCENE_MUST(&device, bl_job_set_parameter(q.own, index, moved));
    SCENE_MUST(&device, bl_job_set_parameter(p.own, index, moved));
    for (int k = 0; k < 2; k++) {
        pair both = {k ? p.own : q.own, p.job};
        memcpy(b.mapped, k ? faces : other, sizeof other);
        vulkan_app_begin(&app);
        app.CmdUpdateBuffer(app.commands, r.buffer, r.offset, r.size, moved);
        vulkan_app_count = (vulkan_app_counts){0};
        SCENE_MUST(&device, bl_job_record_faces(p.job, recorder, app.commands, index, &from));
        SCENE_MUST(&device, bl_job_record_image(p.job, recorder, app.commands, &desc));
        end_recording();
        expect_image(&both, k ? "the first faces" : "other faces");
    }
    memset(b.mapped, 0xff, sizeof other); /* no index is followed out of the mesh */
    vulkan_app_begin(&app);
    vulkan_app_count = (vulkan_app_counts){0};
    SCENE_MUST(&device, bl_job_record_faces(p.job, recorder, app.commands, index, &from));
    SCENE_MUST(&device, bl_job_record_image(p.job, recorder, app.commands, &desc));
    end_recording();
    vulkan_app_buffer_destroy(&app, &b);
    destroy_jobs(&p), destroy_jobs(&q);
    bl_scene_destroy(scene), bl_scene_destroy(joined);
}

/* The lights' tables follow; and three moves recorded before any is executed: of an instance that is moved,
 * hidden and, once more moved, shown. Without it the image is another one. */
static void lights_and_instances_move(void **state)
{
    (void)state;
    static const char *const there = "there.to_world";
    bl_scene *scene = make_scene();
    pair p = make_jobs(scene, there);
    const uint32_t index[2] = {scene_device_find(&device, scene, there),
                               scene_device_find(&device, scene, "lamp.vertex_positions")};
    enum { MOVES = 3, LAST = MOVES - 1, GONE = 1 };
    const float maps[MOVES][16] = {{0.6f, 0, 0, -0.3f, 0, 0.5f, 0.1f, 0.2f, 0, 0, 0.7f, 0.4f, 0, 0, 0, 1},
                                   {0},
                                   {0.4f, 0.1f, 0, 0.1f, 0, 0.5f, 0, 0.4f, 0.1f, 0, 0.5f, 0.7f, 0, 0, 0, 1}};
    float moved[9];
    bl_vulkan_region r[2];
    bl_vulkan_image_desc desc = {.pass = {.spp = SPP, .seed = 5, .changed = index, .changed_count = 2}};
    for (int i = 0; i < 9; i++)
        moved[i] = 1.2f * lamp[i] + (i % 3 == 0 ? 0.2f : 0);
    SCENE_MUST(&device, bl_job_prepare_image(p.job, &desc, NULL));
    for (int k = 0; k < 2; k++)
        SCENE_MUST(&device, bl_job_vulkan_parameter(p.job, index[k], &r[k]));
    vulkan_app_begin(&app);
    for (int k = 0; k < MOVES; k++) {
        vulkan_app_barrier(&app);
        app.CmdUpdateBuffer(app.commands, r[0].buffer, r[0].offset, r[0].size, maps[k]);
        app.CmdUpdateBuffer(app.commands, r[1].buffer, r[1].offset, r[1].size, k == LAST ? moved : lamp);
        vulkan_app_count = (vulkan_app_counts){0};
        SCENE_MUST(&device, bl_job_record_image(p.job, recorder, app.commands, &desc));
    }
    end_recording();
    SCENE_MUST(&device, bl_job_set_parameter(p.own, index[0], maps[LAST]));
    SCENE_MUST(&device, bl_job_set_parameter(p.own, index[1], moved));
    expect_image(&p, "lamp and instance");
    vulkan_app_begin(&app);
    app.CmdUpdateBuffer(app.commands, r[0].buffer, r[0].offset, r[0].size, maps[GONE]);
    vulkan_app_count = (vulkan_app_counts){0};
    SCENE_MUST(&device, bl_job_record_image(p.job, recorder, app.commands, &desc));
    end_recording();
    SCENE_MUST(&device, bl_job_set_parameter(p.own, index[0], maps[GONE]));
    expect_image(&p, "a hidden instance");
    destroy_jobs(&p);
    bl_scene_destroy(scene);
}

/* By positions, whose normals are derived from them; after a move; in parts. */
static void gradients_by_geometry(void **state)
{
    (void)state;
    if (!getenv("BL_LONG"))
        return;
    static const char *const parameter = "ground.vertex_positions";
    static float weights[VALUES];
    float moved[3 * VERTICES], expected[3 * VERTICES], found[3 * VERTICES];
    bl_scene *scene = make_scene();
    pair p = make_jobs(scene, parameter);
    uint32_t index = scene_device_find(&device, scene, parameter);
    vulkan_app_buffer b = storage(sizeof weights);
    bl_vulkan_gradient_desc desc = {
        .pass = {.spp = SPP, .seed = 5, .changed = &index, .changed_count = 1, .parts = 3},
        .adjoint = {
            .buffer = b.handle, .buffer_usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, .buffer_size = b.size}};
    bl_vulkan_region to, from;
    for (int i = 0; i < VALUES; i++)
        weights[i] = cosf(0.1f * (float)i);
    memcpy(b.mapped, weights, sizeof weights);
    bend(moved, 0.3f);
    SCENE_MUST(&device, bl_job_set_parameter(p.own, index, moved));
    SCENE_MUST(&device,
               bl_job_gradient(p.own, &(bl_gradient_desc){.spp = SPP, .seed = 5, .adjoint = weights}, NULL));
    SCENE_MUST(&device, bl_job_read_gradient(p.own, 0, expected));
    SCENE_MUST(&device, bl_job_prepare_gradient(p.job, &desc, NULL));
    SCENE_MUST(&device, bl_job_vulkan_parameter(p.job, index, &to));
    vulkan_app_begin(&app);
    vulkan_app_count = (vulkan_app_counts){0};
    app.CmdUpdateBuffer(app.commands, to.buffer, to.offset, to.size, moved);
    for (desc.pass.part = 0; desc.pass.part < desc.pass.parts; desc.pass.part++)
        SCENE_MUST(&device, bl_job_record_gradient(p.job, recorder, app.commands, &desc));
    end_recording();
    SCENE_MUST(&device, bl_job_vulkan_gradient(p.job, 0, &from));
    read_region(&from, found);
    double sum = 0;
    for (int i = 0; i < 3 * VERTICES; i++)
        sum += fabs((double)expected[i]);
    assert_true(isfinite(sum) && sum > 1e-3);
    assert_memory_equal(found, expected, sizeof found);
    vulkan_app_buffer_destroy(&app, &b);
    destroy_jobs(&p);
    bl_scene_destroy(scene);
}

static void steps_move_vertices(void **state)
{
    (void)state;
    if (scene_device_rays() == BL_RAYS_QUERY)
        return;
    static float target[VALUES];
    const bl_fit_parameter parameter = {.name = "ground.vertex_positions", .rate = 0.02};
    bl_scene *scene = make_scene();
    const bl_fit_desc desc = {.parameters = &parameter,
                              .parameter_count = 1,
                              .target = target,
                              .form = BL_FORM_SEPARATE,
                              .rays = scene_device_rays(),
                              .spp = SPP};
    float expected[3 * VERTICES], found[3 * VERTICES];
    bl_fit *own, *fit;
    for (int i = 0; i < VALUES; i++)
        target[i] = 0.3f;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &own));
    SCENE_MUST(&device, bl_fit_create(theirs, scene, &desc, &fit));
    SCENE_MUST(&device, bl_fit_prepare_step(fit, NULL));
    vulkan_app_begin(&app);
    vulkan_app_count = (vulkan_app_counts){0};
    for (int i = 0; i < STEPS; i++)
        SCENE_MUST(&device, bl_fit_record_step(fit, recorder, app.commands, 0, 1));
    end_recording();
    for (int i = 0; i < STEPS; i++)
        SCENE_MUST(&device, bl_fit_step(own, NULL));
    SCENE_MUST(&device, bl_fit_get(own, 0, expected));
    SCENE_MUST(&device, bl_fit_get(fit, 0, found));
    assert_memory_not_equal(expected, ground, sizeof ground);
    assert_memory_equal(found, expected, sizeof found);
    bl_fit_destroy(own);
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    bl_scene *scene = make_scene();
    pair p = make_jobs(scene, NULL);
    uint32_t index = scene_device_find(&device, scene, "ground.vertex_positions"),
             map = scene_device_find(&device, scene, "there.to_world");
    vulkan_app_buffer b = storage(STRIDE * VERTICES * sizeof(float));
    bl_vulkan_pixels vertices = vertices_of(&b), few = vertices;
    bl_vulkan_region r;
    bl_vulkan_image_desc desc = {.pass = {.spp = SPP}};
    SCENE_MUST(&device, bl_job_prepare_image(p.job, &desc, NULL));
    vulkan_app_begin(&app);
    desc.pass.changed = &index, desc.pass.changed_count = 1; /* not as it was prepared */
    scene_device_refused(&device, bl_job_record_image(p.job, recorder, app.commands, &desc),
                         BL_ERROR_ARGUMENT, "prepare");
    few.buffer_size -= 24;
    scene_device_refused(&device, bl_job_prepare_values(p.job, index, &few), BL_ERROR_ARGUMENT,
                         "ground.vertex_positions");
    scene_device_refused(&device, bl_job_record_values(p.job, NULL, app.commands, index, &vertices),
                         BL_ERROR_ARGUMENT, "must be given");
    scene_device_refused(&device, bl_job_prepare_values(p.job, map, &vertices), BL_ERROR_ARGUMENT,
                         "without this parameter");
    uint32_t light = scene_device_find(&device, scene, "lamp.vertex_positions");
    scene_device_refused(&device, bl_job_prepare_faces(p.job, index, &vertices), BL_ERROR_UNSUPPORTED,
                         "normals");
    few.buffer_size = few.offset + 8;
    scene_device_refused(&device, bl_job_prepare_faces(p.job, light, &few), BL_ERROR_ARGUMENT,
                         "lamp.vertex_positions");
    scene_device_refused(
        &device, bl_job_prepare_faces(p.job, light, &(bl_vulkan_pixels){.image = (VkImage)(uintptr_t)1}),
        BL_ERROR_ARGUMENT, "not from an image");
    scene_device_refused(&device, bl_job_vulkan_parameter(p.job, map, &r), BL_ERROR_ARGUMENT,
                         "without this parameter");
    vulkan_app_run(&app);
    vulkan_app_buffer_destroy(&app, &b);
    destroy_jobs(&p);
    bl_scene_destroy(scene);
}

static int setup(void **state)
{
    (void)state;
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    desc.lock_queue = desc.unlock_queue = NULL;
    SCENE_MUST(&device, bl_device_from_vulkan(device.context, &desc, &theirs));
    SCENE_MUST(&device, bl_recorder_create(theirs, &recorder));
    bend(ground, 0.05f);
    make_faces();
    return 0;
}

static void teardown(void)
{
    bl_recorder_destroy(recorder);
    bl_device_destroy(theirs);
}

/* Half of them each day, and on one driver (cmake/Tests.cmake). */
int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(lights_and_instances_move), cmocka_unit_test(vertices_come_from_a_buffer),
        cmocka_unit_test(faces_come_from_a_buffer),  cmocka_unit_test(steps_move_vertices),
        cmocka_unit_test(gradients_by_geometry),     cmocka_unit_test(what_cannot_be_is_refused),
    };
    size_t count = todays_tests(tests, sizeof tests / sizeof *tests, 2);
    return vulkan_app_test(&app, &device, "vulkan_geometry", tests, count, setup, teardown);
}
