/* LABELS: native swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * An integrator of the application's own: sample_11_ambient_occlusion [SCENE.xml [OUT.png]]
 *
 * Ambient occlusion (Zhukov, Iones, Kronin 1998): whether the hemisphere above a point is open up to a
 * distance. The function below does not run for each pixel: it records, once, what kernels of any device do.
 */
#include <backlight/backlight_integrator.h>

#include <stdio.h>
#include <stdlib.h>

enum { RADIUS };
static const bl_plugin_param numbers[] = {
    [RADIUS] = {"radius", BL_PLUGIN_NUMBER, "1", 0, 1e9, "how far occluders matter"}};

static bl_plugin_color radiance(bl_plugin_trace *t, bl_trace_ray camera)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value u[4];
    bl_surface s = bl_trace_closest(t, camera);
    bl_trace_random(t, bl_ir_u32(f, 1), u);
    bl_plugin_vec3 d = bl_trace_to_world(t, &s, bl_plugin_cosine_hemisphere(t, u[1], u[2]));
    bl_trace_ray up = bl_trace_leave(t, &s, d);
    up.tmax = bl_plugin_number(t, RADIUS);
    bl_ir_value open = bl_ir_not(f, bl_trace_any(t, up));
    bl_ir_value v = bl_ir_to_f32(f, bl_ir_and(f, s.valid, open));
    return (bl_plugin_color){{v, v, v}};
}

static const bl_integrator_plugin plugin = {"ao", "ambient occlusion", numbers, 1, radiance, NULL, NULL};

int main(int argc, char **argv)
{
    static float image[64 * 64 * 3];
    const char *folder = getenv("BL_SOURCE_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/assets/cornell/scene.xml", folder ? folder : ".");
    bl_context *ctx = NULL;
    bl_device *device = NULL;
    bl_scene *scene = NULL;
    bl_job *job = NULL;
    const bl_scene_desc desc = {
        .integrator = "ao", .defines = &(bl_define){"resolution", "64"}, .define_count = 1};
    bl_result r = bl_context_create(NULL, &ctx);
    if (r != BL_OK || bl_device_create(ctx, getenv("BL_DEVICE"), &device) != BL_OK)
        return 77; /* no device: CTest reports the sample as skipped */
    if ((r = bl_plugin_add_integrator(ctx, &plugin)) == BL_OK &&
        (r = bl_scene_load(ctx, argc > 1 ? argv[1] : path, &desc, &scene)) == BL_OK &&
        (r = bl_job_create(device, scene, NULL, &job)) == BL_OK &&
        (r = bl_job_render(job, &(bl_render_desc){.spp = 64}, image, NULL)) == BL_OK && argc > 2)
        r = bl_image_write(ctx, argv[2], 64, 64, 3, image);
    double corner = (double)image[0], middle = (double)image[(40 * 64 + 32) * 3];
    printf("%s: %.2f open in a corner, %.2f in the middle\n", r == BL_OK ? "done" : bl_context_error(ctx),
           corner, middle);
    bl_job_destroy(job), bl_scene_destroy(scene), bl_device_destroy(device), bl_context_destroy(ctx);
    return r != BL_OK || !(corner < middle);
}
