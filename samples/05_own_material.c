/* LABELS: swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * A material of the application's own, differentiated: sample_05_own_material [OUT.png]
 *
 * Minnaert's law (1941) describes dark, dusty surfaces such as the moon's: f = albedo / pi * (cos(wi)
 * cos(wo))^(darkness - 1); darkness 1 is a diffuse surface, more of it darkens the rim. Ice on it mirrors a
 * share `gloss` of the light, which is a discrete lobe. The material is one table and four functions, which
 * record what kernels compute; a texture of our own gives it craters. The program loads a scene that uses
 * both, and compares the gradient of the image's mean by the material's parameters with differences of
 * images. */
#include <backlight/backlight_plugin.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the material ---- */

enum { ALBEDO, DARKNESS, GLOSS };
static const bl_plugin_param moon_params[] = {
    [ALBEDO] = {"albedo", BL_PLUGIN_TEXTURE, "0.5", 0, 1,
                "share of light that is scattered, at normal incidence"},
    [DARKNESS] = {"darkness", BL_PLUGIN_NUMBER, "1", 0.5, 3, "of the rim; 1: none"},
    [GLOSS] = {"gloss", BL_PLUGIN_NUMBER, "0", 0, 1, "share of light that ice mirrors"},
};

static const float inverse_pi = 0.31830988618379067154f;

/* v where both directions are above the surface, else 0 */
static bl_ir_value above(bl_ir_func *f, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_ir_value v)
{
    bl_ir_value zero = bl_ir_f32(f, 0);
    return bl_ir_select(f, bl_ir_and(f, bl_ir_lt(f, zero, wi.z), bl_ir_lt(f, zero, wo.z)), v, zero);
}

/* How often the mirror is chosen: whatever its share, because a gloss of 0 has a gradient, too. */
static const float mirror_probability = 0.5f;

static bl_ir_value moon_pdf(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    (void)uv;
    bl_ir_func *f = bl_plugin_func(t);
    return above(f, wi, wo, bl_ir_mul(f, wo.z, bl_ir_f32(f, (1 - mirror_probability) * inverse_pi)));
}

static bl_bsdf_choice moon_choose(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv,
                                  bl_ir_value u_lobe, bl_ir_value u1, bl_ir_value u2)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value p = bl_ir_f32(f, mirror_probability), mirrors = bl_ir_lt(f, u_lobe, p),
                zero = bl_ir_f32(f, 0);
    bl_plugin_vec3 base = bl_plugin_cosine_hemisphere(t, u1, u2);
    bl_plugin_vec3 wo = {bl_ir_select(f, mirrors, bl_ir_sub(f, zero, wi.x), base.x),
                         bl_ir_select(f, mirrors, bl_ir_sub(f, zero, wi.y), base.y),
                         bl_ir_select(f, mirrors, wi.z, base.z)};
    bl_ir_value pdf = bl_ir_select(f, mirrors, above(f, wi, wo, p), moon_pdf(t, wi, wo, uv));
    return (bl_bsdf_choice){
        .wo = wo, .pdf = pdf, .discrete = mirrors, .lobe = bl_ir_u32(f, 0), .eta = bl_ir_f32(f, 1)};
}

/* As moon_choose goes by its mirror: along directions that gradients follow, where a normal map or the like
 * turns it. */
static bl_plugin_vec3 moon_leads(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv, bl_ir_value lobe)
{
    (void)uv, (void)lobe;
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value zero = bl_ir_f32(f, 0);
    return (bl_plugin_vec3){bl_ir_sub(f, zero, wi.x), bl_ir_sub(f, zero, wi.y), wi.z};
}

static bl_plugin_color moon_coefficient(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv,
                                        bl_ir_value lobe)
{
    (void)wi, (void)uv, (void)lobe; /* there is one */
    bl_ir_value gloss = bl_plugin_number(t, GLOSS);
    return (bl_plugin_color){{gloss, gloss, gloss}};
}

static bl_plugin_color moon_value(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value cosines = bl_ir_max(f, bl_ir_mul(f, wi.z, wo.z), bl_ir_f32(f, 1e-6f));
    bl_ir_value rim = bl_ir_pow(f, cosines, bl_ir_sub(f, bl_plugin_number(t, DARKNESS), bl_ir_f32(f, 1)));
    bl_ir_value left =
        bl_ir_mul(f, bl_ir_sub(f, bl_ir_f32(f, 1), bl_plugin_number(t, GLOSS)), bl_ir_f32(f, inverse_pi));
    bl_ir_value scale = above(f, wi, wo, bl_ir_mul(f, rim, bl_ir_mul(f, wo.z, left)));
    bl_plugin_color value = bl_plugin_texture(t, ALBEDO, uv);
    for (int c = 0; c < 3; c++)
        value.c[c] = bl_ir_mul(f, value.c[c], scale);
    return value;
}

static const bl_bsdf_plugin moon = {
    .name = "minnaert",
    .help = "dark, dusty surface, one-sided",
    .parameters = moon_params,
    .parameter_count = 3,
    .choose = moon_choose,
    .pdf = moon_pdf,
    .value = moon_value,
    .coefficient = moon_coefficient,
    .leads = moon_leads,
};

/* ---- the texture: waves between two colours ---- */

enum { LOW, HIGH };
static const bl_plugin_param wave_params[] = {
    [LOW] = {"low", BL_PLUGIN_TEXTURE, "0.2", 0, 1, "between the crests"},
    [HIGH] = {"high", BL_PLUGIN_TEXTURE, "0.8", 0, 1, "at the crests"},
};

static bl_plugin_color wave_eval(bl_plugin_trace *t, bl_plugin_vec2 uv)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value crest = bl_ir_sin(f, bl_ir_mul(f, uv.x, bl_ir_f32(f, 8 * 3.14159265f))),
                share = bl_ir_mul(f, crest, crest);
    bl_plugin_color low = bl_plugin_texture(t, LOW, uv), high = bl_plugin_texture(t, HIGH, uv), mix;
    for (int c = 0; c < 3; c++)
        mix.c[c] = bl_ir_add(f, low.c[c], bl_ir_mul(f, share, bl_ir_sub(f, high.c[c], low.c[c])));
    return mix;
}

static const bl_texture_plugin waves = {
    .name = "waves",
    .help = "waves around",
    .parameters = wave_params,
    .parameter_count = 2,
    .eval = wave_eval,
};

/* ---- a scene with both, its gradient, and differences ---- */

enum { SIDE = 16, VALUES = SIDE * SIDE * 3, SPP = 64 };
static const char scene_text[] =
    "<scene version='3.0.0'><default name='side' value='16'/><integrator type='path'><integer "
    "name='max_depth' value='3'/></integrator>"
    "<sensor type='perspective'><float name='fov' value='30'/><transform name='to_world'><lookat "
    "origin='0,-5,0' target='0,0,0' up='0,0,1'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='$side'/><integer name='height' "
    "value='$side'/><rfilter "
    "type='box'/></film></sensor>"
    "<shape type='sphere'><bsdf type='minnaert' id='moon'><texture type='waves' name='albedo'><rgb "
    "name='high' value='.9,.8,.6'/></texture>"
    "<float name='darkness' value='1.4'/><float name='gloss' value='.3'/></bsdf></shape>"
    "<emitter type='directional'><vector name='direction' value='1,1,-.5'/></emitter><emitter "
    "type='constant'><float name='radiance' value='.2'/></emitter></scene>";
static const char *const names[] = {"moon.darkness", "moon.albedo.high.value", "moon.gloss"};

static bl_context *ctx;

static void check(bl_result result)
{
    if (result == BL_OK)
        return;
    fprintf(stderr, "%s\n", bl_context_error(ctx));
    exit(1);
}

/* Mean of the image with one value of a parameter moved; the same random numbers every time. */
static double mean_image(bl_job *job, const bl_scene *scene, const char *name, uint32_t element, float by)
{
    static float image[VALUES];
    uint32_t index;
    float values[3], moved[3];
    check(bl_scene_find_parameter(scene, name, &index));
    check(bl_job_get_parameter(job, index, values));
    for (uint32_t c = 0; c < 3; c++)
        moved[c] = values[c] + (c == element ? by : 0);
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
    check(bl_plugin_add_bsdf(ctx, &moon));
    check(bl_plugin_add_texture(ctx, &waves));
    check(bl_scene_load_string(ctx, scene_text, NULL, NULL, &scene));
    check(bl_job_create(device, scene, &(bl_job_desc){.parameters = names, .parameter_count = 3}, &job));
    for (int i = 0; i < VALUES; i++)
        adjoint[i] = 1.0f / VALUES; /* d mean / d image */
    check(bl_job_gradient(job, &(bl_gradient_desc){.spp = SPP, .adjoint = adjoint}, NULL));

    int wrong = 0;
    for (uint32_t k = 0; k < 3; k++) {
        float gradient[3] = {0};
        check(bl_job_read_gradient(job, k, gradient));
        const float h = 0.01f;
        double difference =
            (mean_image(job, scene, names[k], 0, h) - mean_image(job, scene, names[k], 0, -h)) /
            (2 * (double)h);
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
