/* LABELS: swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Lights of the application's own, differentiated: sample_07_own_light [OUT.png]
 *
 * A sky with two colours, which fade into each other with height, and a lamp whose glow falls off across its
 * shape. A light is a table and functions that record: where a sample of the sky lies and how dense samples
 * are there; what it sends. The program compares the gradient of the image's mean by the lights' parameters
 * with differences of images. */
#include <backlight/backlight_plugin.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the sky: a direction is known by its height z alone ---- */

enum { HORIZON, ZENITH };
static const bl_plugin_param sky_params[] = {
    [HORIZON] = {"horizon", BL_PLUGIN_TEXTURE, "0.8, 0.7, 0.6", 0, 0, "radiance from the side"},
    [ZENITH] = {"zenith", BL_PLUGIN_TEXTURE, "0.2, 0.4, 0.8", 0, 0, "radiance from above and from below"},
};

static bl_light_sample sky_sample(bl_plugin_trace *t, bl_plugin_vec3 point, bl_ir_value u1, bl_ir_value u2)
{
    (void)point;
    return (bl_light_sample){
        .d = bl_plugin_uniform_sphere(t, u1, u2),
        .pdf = bl_ir_f32(bl_plugin_func(t), 0.0795774715f),
    };
}

static bl_ir_value sky_pdf(bl_plugin_trace *t, bl_plugin_vec3 d)
{
    (void)d;
    return bl_ir_f32(bl_plugin_func(t), 0.0795774715f); /* 1 / (4 pi) */
}

static bl_plugin_vec2 sky_locate(bl_plugin_trace *t, bl_plugin_vec3 d)
{
    return (bl_plugin_vec2){d.z, bl_ir_f32(bl_plugin_func(t), 0)};
}

static bl_plugin_color sky_radiance(bl_plugin_trace *t, bl_plugin_vec2 uv, bl_ir_value distance)
{
    (void)distance;
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value height = bl_ir_mul(f, uv.x, uv.x);
    bl_plugin_color side = bl_plugin_texture(t, HORIZON, uv), above = bl_plugin_texture(t, ZENITH, uv), mix;
    for (int c = 0; c < 3; c++)
        mix.c[c] = bl_ir_add(f, side.c[c], bl_ir_mul(f, height, bl_ir_sub(f, above.c[c], side.c[c])));
    return mix;
}

static const bl_light_plugin sky = {
    .name = "two_tone",
    .help = "a sky of two colours",
    .parameters = sky_params,
    .parameter_count = 2,
    .kind = BL_LIGHT_SKY,
    .sample = sky_sample,
    .pdf = sky_pdf,
    .locate = sky_locate,
    .radiance = sky_radiance,
};

/* ---- the lamp ---- */

enum { GLOW, FALLOFF };
static const bl_plugin_param lamp_params[] = {
    [GLOW] = {"glow", BL_PLUGIN_TEXTURE, "1", 0, 0, "radiance where u is 0"},
    [FALLOFF] = {"falloff", BL_PLUGIN_NUMBER, "1", 0, 10, "radiance is glow exp(-falloff u)"},
};

static bl_plugin_color lamp_radiance(bl_plugin_trace *t, bl_plugin_vec2 uv, bl_ir_value distance)
{
    (void)distance;
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value share =
        bl_ir_exp(f, bl_ir_sub(f, bl_ir_f32(f, 0), bl_ir_mul(f, bl_plugin_number(t, FALLOFF), uv.x)));
    bl_plugin_color glow = bl_plugin_texture(t, GLOW, uv);
    for (int c = 0; c < 3; c++)
        glow.c[c] = bl_ir_mul(f, glow.c[c], share);
    return glow;
}

static const bl_light_plugin lamp = {
    .name = "fading",
    .help = "a lamp that fades along u",
    .parameters = lamp_params,
    .parameter_count = 2,
    .kind = BL_LIGHT_SHAPE,
    .radiance = lamp_radiance,
};

/* ---- a scene with both, its gradient, and differences ---- */

enum { SIDE = 16, VALUES = SIDE * SIDE * 3, SPP = 64 };
static const char scene_text[] =
    "<scene version='3.0.0'><default name='side' value='16'/><integrator type='path'><integer "
    "name='max_depth' value='3'/></integrator>"
    "<sensor type='perspective'><float name='fov' value='40'/><transform name='to_world'><lookat "
    "origin='0,-5,1' target='0,0,0' up='0,0,1'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='$side'/><integer name='height' "
    "value='$side'/><rfilter "
    "type='box'/></film></sensor>"
    "<shape type='sphere'/><emitter type='two_tone' id='sky'/>"
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='180'/><translate "
    "value='0,0,1.5'/></transform>"
    "<emitter type='fading' id='lamp'><rgb name='glow' value='3,2,1'/><float name='falloff' "
    "value='1.5'/></emitter></shape></scene>";
enum { NAMES = 4 };
static const char *const names[NAMES] = {"sky.horizon.value", "sky.zenith.value", "lamp.glow.value",
                                         "lamp.falloff"};

static bl_context *ctx;

static void check(bl_result result)
{
    if (result == BL_OK)
        return;
    fprintf(stderr, "%s\n", bl_context_error(ctx));
    exit(1);
}

/* Mean of the image with the first value of a parameter moved; the same random numbers every time. */
static double mean_image(bl_job *job, const bl_scene *scene, const char *name, float by)
{
    static float image[VALUES];
    uint32_t index;
    float values[3], moved[3];
    check(bl_scene_find_parameter(scene, name, &index));
    check(bl_job_get_parameter(job, index, values));
    for (int c = 0; c < 3; c++)
        moved[c] = values[c] + (c == 0 ? by : 0);
    check(bl_job_set_parameter(job, index, moved));
    check(bl_job_render(job, &(bl_render_desc){.spp = SPP, .gradient_stream = true}, image, NULL));
    check(bl_job_set_parameter(job, index, values));
    double sum = 0;
    for (int i = 0; i < VALUES; i++)
        sum += (double)image[i] / VALUES;
    return sum;
}

/* The same scene, larger. */
static void draw(bl_device *device, const char *path)
{
    enum { LARGE = 160 };
    static float image[LARGE * LARGE * 3];
    const bl_scene_desc desc = {.defines = &(bl_define){"side", "160"}, .define_count = 1};
    bl_scene *scene;
    bl_job *job;
    check(bl_scene_load_string(ctx, scene_text, NULL, &desc, &scene));
    check(bl_job_create(device, scene, NULL, &job));
    check(bl_job_render(job, &(bl_render_desc){.spp = 256}, image, NULL));
    check(bl_image_write(ctx, path, LARGE, LARGE, 3, image));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

int main(int argc, char **argv)
{
    static float adjoint[VALUES];
    bl_device *device;
    bl_scene *scene;
    bl_job *job;
    if (bl_context_create(NULL, &ctx) != BL_OK ||
        bl_device_create(ctx, getenv("BL_DEVICE"), &device) != BL_OK) {
        fprintf(stderr, "%s\n", bl_context_error(ctx));
        return 77; /* no device: CTest reports the sample as skipped */
    }
    check(bl_plugin_add_light(ctx, &sky));
    check(bl_plugin_add_light(ctx, &lamp));
    check(bl_scene_load_string(ctx, scene_text, NULL, NULL, &scene));
    check(bl_job_create(device, scene, &(bl_job_desc){.parameters = names, .parameter_count = NAMES}, &job));
    for (int i = 0; i < VALUES; i++)
        adjoint[i] = 1.0f / VALUES; /* d mean / d image */
    check(bl_job_gradient(job, &(bl_gradient_desc){.spp = SPP, .adjoint = adjoint}, NULL));

    int wrong = 0;
    for (uint32_t k = 0; k < NAMES; k++) {
        float gradient[3] = {0};
        check(bl_job_read_gradient(job, k, gradient));
        const float h = 0.02f;
        double difference =
            (mean_image(job, scene, names[k], h) - mean_image(job, scene, names[k], -h)) / (2 * (double)h);
        printf("%-24s gradient %9.6f, difference %9.6f\n", names[k], (double)gradient[0], difference);
        wrong += !(fabs((double)gradient[0] - difference) < 0.01 * fabs(difference)) || difference == 0;
    }
    if (argc > 1)
        draw(device, argv[1]);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    bl_device_destroy(device);
    bl_context_destroy(ctx);
    return wrong;
}
