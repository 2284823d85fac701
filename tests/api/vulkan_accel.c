/* LABELS: rayquery */
/* SPDX-License-Identifier: BSD-3-Clause
 * An acceleration structure of the caller's, with triangles in the order of each mesh's faces, in place of a
 * job's: images are the bytes of a job with Backlight's own, also after the caller has moved vertices and
 * built its structure anew. The validation layer must stay silent where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/vulkan_app.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 9, VERTICES = SIDE * SIDE, FACES = 2 * (SIDE - 1) * (SIDE - 1), MESHES = 2 };
enum { WIDTH = 16, HEIGHT = 12, VALUES = 3 * WIDTH * HEIGHT, SPP = 8 };

static scene_device device;
static vulkan_app app;
static bl_device *theirs;
static float ground[3 * VERTICES];
static uint32_t faces[3 * FACES];
static const float lamp[9] = {-0.6f, -0.6f, 3, 0, 0.9f, 3, 0.6f, -0.6f, 3};
static const uint32_t lamp_faces[3] = {0, 1, 2};

static void bend(float *positions, float by)
{
    for (int i = 0; i < VERTICES; i++) {
        float x = 2.0f * (float)(i % SIDE) / (SIDE - 1) - 1, y = 2.0f * (float)(i / SIDE) / (SIDE - 1) - 1;
        positions[3 * i] = x, positions[3 * i + 1] = y, positions[3 * i + 2] = by * sinf(4 * x + y);
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

static void paint(bl_builder *b, bl_object *shape)
{
    bl_object *both = bl_builder_object(b, "bsdf", "twosided", NULL),
              *matte = bl_builder_object(b, "bsdf", "diffuse", NULL);
    bl_object_color(matte, "reflectance", 0.7, 0.5, 0.3);
    bl_object_add(both, NULL, matte);
    bl_object_add(shape, NULL, both);
}

/* The ground, which is smooth, below a lamp; ball: and a ball, which is no mesh. */
static bl_scene *make_scene(bool ball)
{
    static const double from_above[16] = {-1, 0, 0, 0.1, 0, 0.6, -0.8, 3.2, 0, -0.8, -0.6, 2.6, 0, 0, 0, 1};
    bl_builder *b;
    bl_scene *scene;
    SCENE_MUST(&device, bl_builder_create(device.context, &b));
    bl_object *root = bl_builder_root(b), *film = bl_builder_object(b, "film", "hdrfilm", NULL),
              *sensor = bl_builder_object(b, "sensor", "perspective", NULL),
              *emitter = bl_builder_object(b, "emitter", "area", NULL);
    bl_object_integer(film, "width", WIDTH), bl_object_integer(film, "height", HEIGHT);
    bl_object_add(sensor, NULL, film);
    bl_object_number(sensor, "fov", 50);
    bl_object_transform(sensor, "to_world", from_above);
    bl_object_add(root, NULL, sensor);
    bl_object *hill = bl_builder_mesh(
                  b, "ground",
                  &(bl_mesh){
                      .vertex_count = VERTICES, .face_count = FACES, .positions = ground, .faces = faces}),
              *shining = bl_builder_mesh(
                  b, "lamp",
                  &(bl_mesh){.vertex_count = 3, .face_count = 1, .positions = lamp, .faces = lamp_faces});
    paint(b, hill);
    bl_object_color(emitter, "radiance", 12, 13, 14);
    bl_object_add(shining, NULL, emitter);
    bl_object_add(root, NULL, hill), bl_object_add(root, NULL, shining);
    if (ball)
        bl_object_add(root, NULL, bl_builder_object(b, "shape", "sphere", NULL));
    SCENE_MUST(&device, bl_builder_finish(b, NULL, NULL, &scene));
    return scene;
}

/* ---- the application's structure ---- */

#define FUNCTION(name) PFN_vk##name name = (PFN_vk##name)app.GetDeviceProcAddr(app.device, "vk" #name)

typedef struct level {
    vulkan_app_buffer storage, scratch, input, indices;
    VkAccelerationStructureKHR handle;
} level;

static VkDeviceAddress address(const vulkan_app_buffer *b)
{
    FUNCTION(GetBufferDeviceAddress);
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                            .buffer = b->handle};
    return GetBufferDeviceAddress(app.device, &info);
}

static vulkan_app_buffer input_of(const void *data, VkDeviceSize size)
{
    vulkan_app_buffer b =
        vulkan_app_buffer_create(&app, size,
                                 VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR |
                                     VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    memcpy(b.mapped, data, size);
    return b;
}

/* Builds a level, which is made first where there is none. */
static void build(level *l, const VkAccelerationStructureGeometryKHR *geometry, uint32_t count)
{
    enum { ALIGNMENT = 256 };
    FUNCTION(CreateAccelerationStructureKHR);
    FUNCTION(GetAccelerationStructureBuildSizesKHR);
    FUNCTION(CmdBuildAccelerationStructuresKHR);
    bool top = geometry->geometryType == VK_GEOMETRY_TYPE_INSTANCES_KHR;
    VkAccelerationStructureBuildGeometryInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
        .type = top ? VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR
                    : VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR,
        .geometryCount = 1,
        .pGeometries = geometry};
    VkAccelerationStructureBuildSizesInfoKHR sizes = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
    GetAccelerationStructureBuildSizesKHR(app.device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info,
                                          &count, &sizes);
    if (!l->handle) {
        l->storage = vulkan_app_buffer_create(&app, sizes.accelerationStructureSize,
                                              VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR |
                                                  VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
        l->scratch = vulkan_app_buffer_create(&app, sizes.buildScratchSize + ALIGNMENT,
                                              VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                  VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
        const VkAccelerationStructureCreateInfoKHR created = {
            .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
            .buffer = l->storage.handle,
            .size = sizes.accelerationStructureSize,
            .type = info.type};
        assert_int_equal(CreateAccelerationStructureKHR(app.device, &created, NULL, &l->handle), VK_SUCCESS);
    }
    const VkAccelerationStructureBuildRangeInfoKHR range = {.primitiveCount = count}, *ranges = &range;
    info.dstAccelerationStructure = l->handle;
    info.scratchData.deviceAddress = (address(&l->scratch) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    vulkan_app_begin(&app);
    CmdBuildAccelerationStructuresKHR(app.commands, 1, &info, &ranges);
    vulkan_app_run(&app);
}

/* A bottom level of indexed triangles. */
static void build_mesh(level *l, const float *positions, uint32_t vertices, const uint32_t *indices,
                       uint32_t count)
{
    if (!l->handle) {
        l->input = input_of(positions, 12ull * vertices);
        l->indices = input_of(indices, 12ull * count);
    }
    memcpy(l->input.mapped, positions, 12ull * vertices);
    build(l,
          &(VkAccelerationStructureGeometryKHR){
              .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
              .geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR,
              .flags = VK_GEOMETRY_OPAQUE_BIT_KHR,
              .geometry.triangles = {.sType =
                                         VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR,
                                     .vertexFormat = VK_FORMAT_R32G32B32_SFLOAT,
                                     .vertexData.deviceAddress = address(&l->input),
                                     .vertexStride = 12,
                                     .maxVertex = vertices - 1,
                                     .indexType = VK_INDEX_TYPE_UINT32,
                                     .indexData.deviceAddress = address(&l->indices)}},
          count);
}

static void build_top(level *l, const level *meshes, const uint32_t custom[MESHES])
{
    FUNCTION(GetAccelerationStructureDeviceAddressKHR);
    VkAccelerationStructureInstanceKHR list[MESHES];
    for (int k = 0; k < MESHES; k++) {
        const VkAccelerationStructureDeviceAddressInfoKHR info = {
            .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR,
            .accelerationStructure = meshes[k].handle};
        list[k] = (VkAccelerationStructureInstanceKHR){
            .transform.matrix = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
            .instanceCustomIndex = custom[k] & 0xffffff,
            .mask = 0xff,
            .flags = VK_GEOMETRY_INSTANCE_TRIANGLE_FACING_CULL_DISABLE_BIT_KHR,
            .accelerationStructureReference = GetAccelerationStructureDeviceAddressKHR(app.device, &info)};
    }
    if (!l->handle)
        l->input = input_of(list, sizeof list);
    memcpy(l->input.mapped, list, sizeof list);
    build(l,
          &(VkAccelerationStructureGeometryKHR){
              .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
              .geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR,
              .geometry.instances = {.sType =
                                         VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
                                     .data.deviceAddress = address(&l->input)}},
          MESHES);
}

static void destroy_level(level *l)
{
    FUNCTION(DestroyAccelerationStructureKHR);
    DestroyAccelerationStructureKHR(app.device, l->handle, NULL);
    vulkan_app_buffer *const all[] = {&l->storage, &l->scratch, &l->input, &l->indices};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k]->handle)
            vulkan_app_buffer_destroy(&app, all[k]);
}

/* ---- tests ---- */

static bl_job *job_on(bl_device *on, const bl_scene *scene, bl_rays rays)
{
    bl_job *job;
    SCENE_MUST(&device,
               bl_job_create(on, scene, &(bl_job_desc){.geometry_changes = true, .rays = rays}, &job));
    return job;
}

static void expect_same(bl_job *own, bl_job *job, const char *what)
{
    static float expected[VALUES], found[VALUES];
    const bl_render_desc desc = {.spp = SPP, .seed = 5};
    SCENE_MUST(&device, bl_job_render(own, &desc, expected, NULL));
    SCENE_MUST(&device, bl_job_render(job, &desc, found, NULL));
    double mean = 0;
    for (int i = 0; i < VALUES; i++)
        mean += (double)expected[i] / VALUES;
    assert_true(mean > 0.01);
    if (memcmp(found, expected, sizeof found) != 0)
        fail_msg("%s: another image", what);
}

static void images_are_those_of_an_own_structure(void **state)
{
    (void)state;
    float moved[3 * VERTICES];
    level meshes[MESHES] = {0}, top = {0};
    bl_scene *scene = make_scene(false);
    bl_job *own = job_on(device.device, scene, BL_RAYS_QUERY), *job = job_on(theirs, scene, BL_RAYS_QUERY);
    uint32_t index = scene_device_find(&device, scene, "ground.vertex_positions"), custom[MESHES];
    bl_vulkan_mesh rule;
    for (uint32_t k = 0; k < MESHES; k++) {
        SCENE_MUST(&device, bl_job_vulkan_mesh(job, k, &rule));
        assert_int_equal(rule.triangle_count, k ? 1 : FACES);
        custom[k] = rule.custom_index;
    }
    build_mesh(&meshes[0], ground, VERTICES, faces, FACES);
    build_mesh(&meshes[1], lamp, 3, lamp_faces, 1);
    build_top(&top, meshes, custom);
    SCENE_MUST(&device, bl_job_use_accel(job, top.handle));
    expect_same(own, job, "as loaded");
    bend(moved, 0.3f);
    build_mesh(&meshes[0], moved, VERTICES, faces, FACES);
    build_top(&top, meshes, custom);
    SCENE_MUST(&device, bl_job_set_parameter(own, index, moved));
    SCENE_MUST(&device, bl_job_set_parameter(job, index, moved));
    expect_same(own, job, "moved");
    bl_job_destroy(own), bl_job_destroy(job);
    destroy_level(&top), destroy_level(&meshes[0]), destroy_level(&meshes[1]);
    bl_scene_destroy(scene);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const VkAccelerationStructureKHR some = (VkAccelerationStructureKHR)(uintptr_t)1; /* never looked at */
    bl_vulkan_mesh rule;
    bl_scene *scene = make_scene(false), *other = make_scene(true);
    bl_job *own = job_on(device.device, scene, BL_RAYS_QUERY), *bvh = job_on(theirs, scene, BL_RAYS_BVH),
           *balls = job_on(theirs, other, BL_RAYS_QUERY), *job = job_on(theirs, scene, BL_RAYS_QUERY);
    scene_device_refused(&device, bl_job_use_accel(own, some), BL_ERROR_UNSUPPORTED, "bl_device_from_vulkan");
    scene_device_refused(&device, bl_job_use_accel(bvh, some), BL_ERROR_UNSUPPORTED, "BL_RAYS_QUERY");
    scene_device_refused(&device, bl_job_use_accel(balls, some), BL_ERROR_UNSUPPORTED, "1 primitives");
    scene_device_refused(&device, bl_job_use_accel(job, VK_NULL_HANDLE), BL_ERROR_ARGUMENT,
                         "no acceleration structure");
    scene_device_refused(&device, bl_job_vulkan_mesh(job, MESHES, &rule), BL_ERROR_ARGUMENT,
                         "no shape 2 of 2");
    bl_job_destroy(own), bl_job_destroy(bvh), bl_job_destroy(balls), bl_job_destroy(job);
    bl_scene_destroy(scene), bl_scene_destroy(other);
}

static int setup(void **state)
{
    (void)state;
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    SCENE_MUST(&device, bl_device_from_vulkan(device.context, &desc, &theirs));
    bend(ground, 0.05f);
    make_faces();
    return 0;
}

static void teardown(void) { bl_device_destroy(theirs); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_those_of_an_own_structure),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return VULKAN_APP_TEST(&app, &device, "vulkan_accel", tests, setup, teardown);
}
