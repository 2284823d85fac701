/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are lights right that show attributes of their mesh, or a volume? They are compared with the same light
 * as a bitmap. Its radiance is linear over a square: as four texels, as colours of its four vertices, and
 * as eight voxels around it. All are sampled through the same map of the unit square, so images agree to
 * rounding, pixel by pixel, by paths (lights chosen by power) and by light tracing. Gradients agree too:
 * along all directions in which the radiance stays linear, and by the floor's colour, also where the light
 * is read from a tape. Then values change, and images still agree: the sampling tables have followed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include "base/base.h"
#include "scene/scene.h"

#include <math.h>
#include <string.h>

enum { SIDE = 6, VALUES = 3 * SIDE * SIDE, CORNERS = 4 };
static const double rounding = 2e-4; /* of the largest */

static scene_device device;
static char *folder;

/* ---- the three of them ---- */

typedef struct shown {
    const char *name, *radiance, *parameter;
    uint32_t copies; /* how many of its values, next to each other in units of a colour, each corner has */
} shown;

#define UNIT "<translate value='-.5,-.5,-.5'/><scale value='4'/>" /* centres of two voxels at -1 and 1 */
#define PLACE "<rotate x='1' angle='170'/><translate value='.2,.1,2'/>"

static const shown kinds[] = {
    {"bitmap",
     "<texture type='bitmap' name='radiance'><string name='filename' value='corners.pfm'/><string "
     "name='wrap_mode' value='clamp'/>"
     "<transform name='to_uv'><scale x='.5' y='.5'/><translate x='.25' y='.25'/></transform></texture>",
     "light.radiance.data", 1},
    {"attribute",
     "<texture type='mesh_attribute' name='radiance'><string name='name' value='vertex_color'/></texture>",
     "panel.vertex_color", 1},
    {"volume",
     "<texture type='volume' name='radiance'><volume type='gridvolume' name='volume'><string name='filename' "
     "value='corners.vol'/>"
     "<transform name='to_world'>" UNIT PLACE "</transform></volume></texture>",
     "light.radiance.volume.data", 2},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Corner k stands at (x, y); a radiance that is linear there. */
static const float x_of[CORNERS] = {-1, 1, -1, 1}, y_of[CORNERS] = {-1, -1, 1, 1};
static void linear(float corners[3 * CORNERS], float base, float by_x, float by_y)
{
    for (int k = 0; k < 3 * CORNERS; k++)
        corners[k] = base + (float)(k % 3) + by_x * x_of[k / 3] - by_y * (float)(k % 3) * y_of[k / 3];
}

static int write_files(void **state)
{
    (void)state;
    arena a = {0};
    text ply = {0}, volume = {0};
    bl_error err = {0};
    float corners[3 * CORNERS];
    linear(corners, 3, 1.5f, 1);
    bl_result r = image_save(arena_printf(&a, "%s/corners.pfm", folder), 2, 2, 3, corners, false, &err);
    text_add(&ply, "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty "
                   "float z\nproperty float u\nproperty float v\n"
                   "property float r\nproperty float g\nproperty float b\nelement face 2\nproperty list "
                   "uchar int vertex_indices\nend_header\n");
    for (int k = 0; k < CORNERS; k++)
        text_add(&ply, "%g %g 0 %g %g %g %g %g\n", (double)x_of[k], (double)y_of[k],
                 0.5 * (1 + (double)x_of[k]), 0.5 * (1 + (double)y_of[k]), (double)corners[3 * k],
                 (double)corners[3 * k + 1], (double)corners[3 * k + 2]);
    text_add(&ply, "3 0 1 3\n3 0 3 2\n");
    r = r == BL_OK ? file_write(arena_printf(&a, "%s/panel.ply", folder), ply.data, ply.length, &err) : r;
    const uint32_t header[12] = {
        0x034C4F56 /* VOL 3 */, 1, 2, 2, 2, 3, 0, 0, 0, 0x3F800000, 0x3F800000, 0x3F800000};
    text_add_bytes(&volume, header, sizeof header);
    for (int z = 0; z < 2; z++)
        text_add_bytes(&volume, corners, sizeof corners);
    r = r == BL_OK ? file_write(arena_printf(&a, "%s/corners.vol", folder), volume.data, volume.length, &err)
                   : r;
    if (r != BL_OK)
        fail_msg("%s", err.text);
    text_free(&ply), text_free(&volume), arena_free(&a);
    return 0;
}

/* The panel is in view and above a floor; a small lamp beside it. */
static bl_job *load(const shown *k, const char *integrator, const char *const *parameters, uint32_t count,
                    bl_scene **scene)
{
    arena a = {0};
    const char *sensor =
        "<sensor type='perspective'><float name='fov' value='70'/><transform name='to_world'>"
        "<lookat origin='0,-4,1.2' target='0,0,1' up='0,0,1'/></transform><film type='hdrfilm'><integer "
        "name='width' value='6'/>"
        "<integer name='height' value='6'/><rfilter type='box'/></film></sensor>";
    const char *body =
        arena_printf(&a,
                     "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform>"
                     "<bsdf type='diffuse' id='floor'/></shape>"
                     "<shape type='ply' id='panel'><string name='filename' value='panel.ply'/><transform "
                     "name='to_world'>" PLACE "</transform>"
                     "<emitter type='area' id='light'>%s</emitter></shape>"
                     "<emitter type='point'><point name='position' value='1,-1,1'/><rgb name='intensity' "
                     "value='.2,.3,.4'/></emitter>",
                     k->radiance);
    const char *walk = arena_printf(
        &a, "<integrator type='%s'><integer name='max_depth' value='3'/></integrator>", integrator);
    const bl_scene_desc desc = {.lights = BL_LIGHTS_BY_POWER};
    SCENE_MUST(&device,
               bl_scene_load_string(device.context, scene_xml(&a, walk, sensor, body), folder, &desc, scene));
    bl_job *job = scene_device_job(&device, *scene, parameters, count);
    arena_free(&a);
    return job;
}

/* ---- comparison ---- */

static void expect_near(const char *what, const char *name, const float *got, const float *expected,
                        uint32_t count)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)expected[i]));
    assert_true(most > 0);
    for (uint32_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)expected[i]) <= rounding * most))
            fail_msg("%s, %s, entry %u: %.8g, of the bitmap %.8g", what, name, i, (double)got[i],
                     (double)expected[i]);
}

/* By base, by_x and by_y of every channel. */
static void along_linear(const shown *k, const float *gradient, float out[9])
{
    memset(out, 0, 9 * sizeof *out);
    for (uint32_t i = 0; i < 3 * CORNERS * k->copies; i++) {
        uint32_t corner = i / 3 % CORNERS, c = i % 3;
        out[c] += gradient[i], out[3 + c] += gradient[i] * x_of[corner],
            out[6 + c] += gradient[i] * y_of[corner];
    }
}

typedef struct result {
    float image[VALUES], changed[VALUES], floor[3], gradient[9];
} result;

static void set_corners(bl_job *job, bl_scene *scene, const shown *k, const float corners[3 * CORNERS])
{
    float values[6 * CORNERS];
    for (uint32_t i = 0; i < k->copies; i++)
        memcpy(values + i * 3 * CORNERS, corners, 3 * CORNERS * sizeof *corners);
    SCENE_MUST(&device, bl_job_set_parameter(job, scene_device_find(&device, scene, k->parameter), values));
}

/* What a kind of integrator is asked for: the light's own gradient is the walk's, and a tape knows no
 * attributes as parameters. */
typedef struct asked {
    const char *integrator;
    bool image, gradient, volume;
} asked;

static void run(const shown *k, const asked *by, result *out)
{
    bl_scene *scene;
    const char *const parameters[] = {"floor.reflectance.value", k->parameter};
    bl_job *job = load(k, by->integrator, parameters, by->image ? 2 : 1, &scene);
    float weights[VALUES], corners[3 * CORNERS], gradient[6 * CORNERS];
    uint32_t random = 5;
    for (uint32_t i = 0; i < VALUES; i++)
        weights[i] = (float)(0.5 + scene_random(&random));
    if (by->gradient) {
        bl_stats stats;
        SCENE_MUST(&device, bl_job_gradient(
                                job, &(bl_gradient_desc){.spp = 16, .seed = 4, .adjoint = weights}, &stats));
        assert_int_equal(stats.drifted + stats.overflowed + stats.non_finite, 0);
        SCENE_MUST(&device, bl_job_read_gradient(job, 0, out->floor));
    }
    if (by->gradient && by->image) {
        SCENE_MUST(&device, bl_job_read_gradient(job, 1, gradient));
        along_linear(k, gradient, out->gradient);
    }
    if (by->image) {
        SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 16, .seed = 3}, out->image, NULL));
        linear(corners, 1.5f, -.9f, .4f);
        set_corners(job, scene, k, corners);
        SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 16, .seed = 3}, out->changed, NULL));
    }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

static void all_show_the_same(void **state)
{
    static result expected, got;
    const asked *by = *state;
    run(&kinds[0], by, &expected);
    for (int k = 1; k < (by->volume ? KINDS : KINDS - 1); k++) {
        run(&kinds[k], by, &got);
        if (by->gradient)
            expect_near("gradient of the floor", kinds[k].name, got.floor, expected.floor, 3);
        if (by->gradient && by->image)
            expect_near("gradient", kinds[k].name, got.gradient, expected.gradient, 9);
        if (!by->image)
            continue;
        expect_near("image", kinds[k].name, got.image, expected.image, VALUES);
        expect_near("image of other values", kinds[k].name, got.changed, expected.changed, VALUES);
    }
}

/* The tape has surfaces as they were, and looks for no vertex whose value an attribute is. */
static void tape_refuses_attributes(void **state)
{
    (void)state;
    const char *const attribute[] = {"panel.vertex_color"};
    bl_scene *scene;
    bl_job *job = load(&kinds[1], "tape", NULL, 0, &scene), *none;
    assert_int_equal(bl_job_create(device.device, scene,
                                   &(bl_job_desc){.parameters = attribute, .parameter_count = 1}, &none),
                     BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context), "panel.vertex_color has no gradient"));
    bl_parameter_info info;
    SCENE_MUST(&device,
               bl_scene_parameter_info(scene, scene_device_find(&device, scene, attribute[0]), &info));
    assert_false(info.differentiable);
    SCENE_MUST(&device, bl_scene_parameter_info(
                            scene, scene_device_find(&device, scene, "floor.reflectance.value"), &info));
    assert_true(info.differentiable);
    bl_job_destroy(job), bl_scene_destroy(scene);
}

int main(void)
{
    static const asked path = {"path", true, true, true}, light = {"ptracer", true, false, false},
                       tape = {"tape", false, true, false};
    const struct CMUnitTest tests[] = {
        {"paths", all_show_the_same, NULL, NULL, (void *)(uintptr_t)&path},
        {"light tracing", all_show_the_same, NULL, NULL, (void *)(uintptr_t)&light},
        {"tape", all_show_the_same, NULL, NULL, (void *)(uintptr_t)&tape},
        cmocka_unit_test(tape_refuses_attributes)};
    return scene_device_run(&device, &folder, "surface lights", tests, sizeof tests / sizeof *tests,
                            write_files);
}
