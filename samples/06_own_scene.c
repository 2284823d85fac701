/* LABELS: swiftshader turn */
/* SPDX-License-Identifier: BSD-3-Clause
 * A scene that a program makes itself, without a file: sample_06_own_scene [OUT.png]
 *
 * A square of triangles from our own arrays lies under a light. It is rendered; then its middle is pulled up,
 * in place, and it is rendered again, with the derivative of the image's mean by every vertex; and along that
 * the vertices move once more, which makes the picture brighter by what it says. */
#include <backlight/backlight.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 17, VERTICES = SIDE * SIDE, FACES = 2 * (SIDE - 1) * (SIDE - 1), PIXELS = 96 };

static float positions[3 * VERTICES], image[3 * PIXELS * PIXELS], gradient[3 * VERTICES];
static uint32_t faces[3 * FACES];

/* A hill of this height in the middle of [-1, 1]^2. */
static void make_hill(float height)
{
    for (int i = 0; i < VERTICES; i++) {
        float x = 2.0f * (float)(i % SIDE) / (SIDE - 1) - 1, y = 2.0f * (float)(i / SIDE) / (SIDE - 1) - 1;
        positions[3 * i] = x, positions[3 * i + 1] = y;
        positions[3 * i + 2] = height * expf(-6 * (x * x + y * y));
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

/* Plugins, properties and nesting are those of a scene file. What is wrong, bl_builder_finish says. */
static bl_result make_scene(bl_context *ctx, bl_scene **scene)
{
    static const double from_above[16] = {-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 5, 0, 0, 0, 1};
    bl_builder *b;
    bl_result result = bl_builder_create(ctx, &b);
    if (result != BL_OK)
        return result;
    bl_object *root = bl_builder_root(b);

    bl_object *film = bl_builder_object(b, "film", "hdrfilm", NULL),
              *sensor = bl_builder_object(b, "sensor", "perspective", NULL);
    bl_object_integer(film, "width", PIXELS), bl_object_integer(film, "height", PIXELS);
    bl_object_number(sensor, "fov", 20);
    bl_object_transform(sensor, "to_world", from_above);
    bl_object_add(sensor, NULL, film);
    bl_object_add(root, NULL, sensor);

    bl_object *paint = bl_builder_object(b, "bsdf", "diffuse", "paint"),
              *light = bl_builder_object(b, "emitter", "point", NULL);
    bl_object_color(paint, "reflectance", 0.8, 0.6, 0.4);
    bl_object_point(light, "position", 4, 0, 4);
    bl_object_color(light, "intensity", 60, 60, 60);
    bl_object_add(root, NULL, light);

    bl_object *ground = bl_builder_mesh(
        b, "ground",
        &(bl_mesh){.vertex_count = VERTICES, .face_count = FACES, .positions = positions, .faces = faces});
    bl_object_flag(ground, "face_normals", true);
    bl_object_add(ground, NULL, paint);
    bl_object_add(root, NULL, ground);
    return bl_builder_finish(b, NULL, &(bl_scene_desc){.integrator = "direct"}, scene);
}

static double mean(void)
{
    double sum = 0;
    for (int i = 0; i < 3 * PIXELS * PIXELS; i++)
        sum += (double)image[i];
    return sum / (3 * PIXELS * PIXELS);
}

/* A picture of the hill; its mean's derivative by every vertex; vertices moved along that; a picture
 * again. */
static bl_result climb(bl_job *job, uint32_t parameter)
{
    static float weights[3 * PIXELS * PIXELS];
    bl_result result;
    for (int i = 0; i < 3 * PIXELS * PIXELS; i++)
        weights[i] = 1.0f / (3 * PIXELS * PIXELS);
    make_hill(0.3f);
    if ((result = bl_job_set_parameter(job, parameter, positions)) != BL_OK ||
        (result = bl_job_gradient(job, &(bl_gradient_desc){.spp = 64, .adjoint = weights, .image = image},
                                  NULL)) != BL_OK ||
        (result = bl_job_read_gradient(job, 0, gradient)) != BL_OK)
        return result;
    double before = mean(), slope = 0;
    for (int v = 0; v < VERTICES; v++)
        slope += (double)gradient[3 * v + 2] * (double)gradient[3 * v + 2];
    double expected = 0.01 * before, step = expected / slope;
    for (int v = 0; v < VERTICES; v++) /* heights alone */
        positions[3 * v + 2] += (float)(step * (double)gradient[3 * v + 2]);
    if ((result = bl_job_set_parameter(job, parameter, positions)) != BL_OK ||
        (result = bl_job_render(job, &(bl_render_desc){.spp = 64}, image, NULL)) != BL_OK)
        return result;
    double gained = mean() - before;
    printf("mean %.4f, along its derivative it gains %.5f; expected %.5f\n", before, gained, expected);
    return gained > 0.5 * expected && gained < 1.5 * expected ? BL_OK : BL_ERROR_DEVICE;
}

static bl_result look(bl_device *device, bl_scene *scene)
{
    static const char *const vertices[] = {"ground.vertex_positions"};
    bl_job *job;
    uint32_t parameter;
    bl_result result = bl_scene_find_parameter(scene, vertices[0], &parameter);
    if (result == BL_OK)
        result =
            bl_job_create(device, scene, &(bl_job_desc){.parameters = vertices, .parameter_count = 1}, &job);
    if (result != BL_OK)
        return result;
    if ((result = bl_job_render(job, &(bl_render_desc){.spp = 64}, image, NULL)) == BL_OK) {
        printf("mean of the flat square %.4f\n", mean());
        result = climb(job, parameter);
    }
    bl_job_destroy(job);
    return result;
}

int main(int argc, char **argv)
{
    bl_context *ctx;
    bl_device *device = NULL;
    bl_scene *scene = NULL;
    make_hill(0);
    make_faces();
    bl_result result = bl_context_create(NULL, &ctx);
    if (result != BL_OK)
        return fprintf(stderr, "%s\n", bl_result_text(result)), 1;
    if ((result = bl_device_create(ctx, getenv("BL_DEVICE"), &device)) == BL_OK &&
        (result = make_scene(ctx, &scene)) == BL_OK)
        result = look(device, scene);
    if (result == BL_OK && argc > 1)
        result = bl_image_write(ctx, argv[1], PIXELS, PIXELS, 3, image);
    if (result != BL_OK)
        fprintf(stderr, "%s\n", bl_context_error(ctx));
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    bl_context_destroy(ctx);
    return result != BL_OK;
}
