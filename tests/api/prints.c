/* LABELS: native swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * What an application's integrator prints while it runs (bl_trace_print): each message once, with its pixel
 * and sample, in order, with values of all types; the image has the same bytes with and without; an adjoint
 * prints, too; what has no room is told; mistakes are errors with a text. The same of a material and its
 * texture under the renderer's integrator: each vertex of each path prints what its functions were given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include <backlight/backlight_integrator.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 5, HEIGHT = 4, VALUES = WIDTH * HEIGHT * 3, SPP = 3, STEPS = 2, ROOM = 1 << 16 };

static const char scene_text[] =
    "<scene version='3.0.0'><integrator type='talk'/><sensor type='perspective'><transform "
    "name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'>"
    "<integer name='width' value='5'/><integer name='height' value='4'/><rfilter type='box'/></film></sensor>"
    "<emitter type='constant' id='sky'/><shape type='sphere'><bsdf type='diffuse' "
    "id='white'/></shape></scene>";

static scene_device device;
static enum mistake { NONE, TOO_FEW, NO_VALUE, NO_BOOL, MISTAKES } mistake;

/* STEPS messages in a loop, then one with a value of each type, and a random number. */
static bl_plugin_color talk(bl_plugin_trace *t, bl_trace_ray ray)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_surface s = bl_trace_closest(t, ray);
    bl_ir_value state[1] = {bl_ir_u32(f, 0)}, u[4];
    bl_ir_value loop = bl_ir_loop(f, state, 1);
    bl_ir_while(f, bl_ir_lt(f, state[0], bl_ir_u32(f, STEPS)));
    bl_trace_print(t, bl_ir_bool(f, true), "step {}", state, 1);
    bl_ir_endloop(f, loop, (bl_ir_value[]){bl_ir_add(f, state[0], bl_ir_u32(f, 1))}, 1);
    bl_trace_random(t, bl_ir_u32(f, 1), u);
    const bl_ir_value all[] = {bl_ir_f32(f, 2.5f), bl_ir_i32(f, -3), bl_ir_u32(f, 4000000000u), s.valid,
                               u[0]};
    bl_trace_print(t, mistake == NO_BOOL ? all[1] : s.valid, "f32 {}, i32 {}, u32 {}, bool {}; random {}.",
                   mistake == NO_VALUE ? (bl_ir_value[5]){{0}} : all, mistake == TOO_FEW ? 4 : 5);
    return (bl_plugin_color){{u[0], u[1], u[2]}};
}

static bl_plugin_color radiance(bl_plugin_trace *t, bl_trace_ray ray) { return talk(t, ray); }

static bl_plugin_color adjoint(bl_plugin_trace *t, bl_trace_ray ray, bl_plugin_color dL)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_trace_print(t, bl_ir_bool(f, true), "dL {}", dL.c, 1);
    return talk(t, ray);
}

static bl_job *job_of(const bl_scene *scene, uint64_t bytes)
{
    static const char *const parameter = "white.reflectance.value";
    bl_job *job;
    SCENE_MUST(
        &device,
        bl_job_create(device.device, scene,
                      &(bl_job_desc){.parameters = &parameter, .parameter_count = 1, .print_bytes = bytes},
                      &job));
    return job;
}

static bl_scene *load(void) { return scene_device_load(&device, scene_text, NULL); }

static void render(bl_job *job, float image[VALUES])
{
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = SPP, .seed = 7}, image, NULL));
}

/* Checks the messages of one sample, of which m is the first; returns the one behind them. */
static const bl_print *sample_has(const bl_print *m, const bl_print *end, const char *before, uint32_t pixel,
                                  uint32_t sample, float *random)
{
    char expected[64], last = 0;
    *random = 0;
    for (uint32_t k = 0; k < STEPS + 2; k++) {
        if (k == 0 && !before)
            continue;
        if (k == STEPS + 1 && (m == end || strncmp(m->text, "f32", 3)))
            continue; /* the ray has met nothing */
        assert_true(m < end && m->x == pixel % WIDTH && m->y == pixel / WIDTH && m->sample == sample);
        snprintf(expected, sizeof expected, "step %u", k - 1);
        if (k == 0)
            assert_string_equal(m->text, before);
        else if (k <= STEPS)
            assert_string_equal(m->text, expected);
        else
            assert_true(sscanf(m->text, "f32 2.5, i32 -3, u32 4000000000, bool true; random %f%c", random,
                               &last) == 2 &&
                        last == '.' && *random > 0);
        m++;
    }
    return m;
}

/* The mean of the random numbers that a pixel has printed is its red, if all its rays have met the ball. */
static void messages_are(bl_job *job, const char *before, const float *image)
{
    const bl_print *m;
    uint32_t count, whole = 0;
    bool more = true;
    SCENE_MUST(&device, bl_job_prints(job, &m, &count, &more));
    const bl_print *end = m + count;
    assert_false(more);
    for (uint32_t pixel = 0; pixel < WIDTH * HEIGHT; pixel++) {
        double sum = 0;
        uint32_t met = 0;
        for (uint32_t sample = 0; sample < SPP; sample++) {
            float random;
            m = sample_has(m, end, before, pixel, sample, &random);
            sum += (double)random, met += random > 0;
        }
        if (met == SPP && image) {
            assert_float_equal(sum / SPP, image[3 * pixel], 1e-6);
            whole++;
        }
    }
    assert_ptr_equal(m, end);
    assert_true(!image || whole >= 4);
}

static void every_message_arrives(void **state)
{
    (void)state;
    static float image[VALUES], again[VALUES], plain[VALUES];
    bl_scene *scene = load();
    bl_job *job = job_of(scene, ROOM), *silent = job_of(scene, 0);
    render(job, image);
    messages_are(job, NULL, image);
    render(job, again);
    messages_are(job, NULL, again); /* of the last pass alone */
    render(silent, plain);
    assert_memory_equal(image, plain, sizeof image);
    const bl_print *none;
    uint32_t count;
    assert_int_equal(bl_job_prints(silent, &none, &count, NULL), BL_ERROR_ARGUMENT);
    bl_job_destroy(job), bl_job_destroy(silent), bl_scene_destroy(scene);
}

static void an_adjoint_prints(void **state)
{
    (void)state;
    static float adjoint_image[VALUES];
    for (int i = 0; i < VALUES; i++)
        adjoint_image[i] = 6;
    bl_scene *scene = load();
    bl_job *job = job_of(scene, ROOM);
    SCENE_MUST(&device, bl_job_gradient(
                            job, &(bl_gradient_desc){.spp = SPP, .seed = 7, .adjoint = adjoint_image}, NULL));
    messages_are(job, "dL 2", NULL); /* 6 over the samples */
    bl_job_destroy(job), bl_scene_destroy(scene);
}

static void what_has_no_room_is_told(void **state)
{
    (void)state;
    static float image[VALUES];
    bl_scene *scene = load();
    bl_job *job = job_of(scene, 100);
    render(job, image);
    const bl_print *m;
    uint32_t count;
    bool more = false;
    SCENE_MUST(&device, bl_job_prints(job, &m, &count, &more));
    assert_true(more && count >= 3 && count <= 6); /* 25 words; a message has 4 or 8 */
    for (uint32_t k = 0; k < count; k++)
        assert_true(strncmp(m[k].text, "step ", 5) == 0 || strncmp(m[k].text, "f32 2.5", 7) == 0);
    bl_job_destroy(job);
    assert_int_equal(bl_job_create(device.device, scene, &(bl_job_desc){.print_bytes = 1u << 30}, &job),
                     BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "print_bytes"));
    bl_scene_destroy(scene);
}

/* ---- a material ---- */

/* A hemisphere, evenly. Prints the sine of the direction's elevation. */
static bl_plugin_vec3 chat_sample(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv,
                                  bl_ir_value u_lobe, bl_ir_value u1, bl_ir_value u2)
{
    (void)wi, (void)uv, (void)u_lobe;
    bl_ir_func *f = bl_plugin_func(t);
    bl_plugin_vec3 wo = bl_plugin_uniform_sphere(t, u1, u2);
    wo.z = bl_ir_abs(f, wo.z);
    bl_trace_print(t, mistake == NO_BOOL ? u1 : bl_ir_bool(f, true), "sample {}",
                   mistake == NO_VALUE ? (bl_ir_value[1]){{0}} : &wo.z, mistake == TOO_FEW ? 0 : 1);
    return wo;
}

static bl_ir_value chat_pdf(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    (void)wi, (void)wo, (void)uv;
    return bl_ir_f32(bl_plugin_func(t), 0.159154943f);
}

static bl_plugin_color chat_value(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    (void)wi;
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_value v = bl_ir_mul(f, bl_ir_max(f, wo.z, bl_ir_f32(f, 0)), bl_ir_f32(f, 0.25f));
    bl_trace_print(t, bl_ir_bool(f, true), "value {}", &wo.z, 1);
    bl_plugin_texture(t, 0, uv);
    return (bl_plugin_color){{v, v, v}};
}

/* A texture of a material. */
static bl_plugin_color chat_texture(bl_plugin_trace *t, bl_plugin_vec2 uv)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_trace_print(t, bl_ir_bool(f, true), "texture", NULL, 0);
    return (bl_plugin_color){{uv.x, uv.x, bl_ir_f32(f, 1)}};
}

/* A closed room: a path has as many vertices as depth allows. */
static const char room_text[] =
    "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='3'/></integrator>"
    "<sensor type='perspective' id='eye'><film type='hdrfilm'><integer name='width' value='5'/>"
    "<integer name='height' value='4'/><rfilter type='box'/></film></sensor>"
    "<emitter type='point'><point name='position' value='0,.5,0'/></emitter><emitter type='constant'/><shape "
    "type='cube'>"
    "<transform name='to_world'><scale value='2'/></transform><boolean name='flip_normals' value='true'/>"
    "<bsdf type='chat' id='walls'><texture type='chat_texture' name='paint'/></bsdf></shape></scene>";
enum {
    VERTICES = 2,
    AT_VERTEX = 5 /* a sample, a value and its texture for the light, both for the sample */
};

/* The messages of one vertex, in the order of calls. */
static const bl_print *vertex_has(const bl_print *m, const bl_print *end, uint32_t pixel, uint32_t sample)
{
    float drawn, lit, there;
    assert_true(end - m >= AT_VERTEX);
    for (uint32_t k = 0; k < AT_VERTEX; k++)
        assert_true(m[k].x == pixel % WIDTH && m[k].y == pixel / WIDTH && m[k].sample == sample);
    assert_int_equal(sscanf(m[0].text, "sample %f", &drawn), 1);
    assert_int_equal(sscanf(m[1].text, "value %f", &lit), 1);
    assert_string_equal(m[2].text, "texture");
    assert_int_equal(sscanf(m[3].text, "value %f", &there), 1);
    assert_string_equal(m[4].text, "texture");
    assert_true(drawn == there && drawn != lit && drawn > 0 && drawn <= 1);
    return m + AT_VERTEX;
}

/* Where the camera may move, kernels call materials where a path has no further vertex, too. */
static void a_material_prints(void **state)
{
    static float image[VALUES], plain[VALUES];
    static const char *const camera = "eye.to_world";
    bl_scene *scene = scene_device_load(&device, room_text, NULL);
    bl_job *job, *silent;
    bl_job_desc desc = {.parameters = &camera, .parameter_count = *state ? 1 : 0};
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &silent));
    desc.print_bytes = ROOM;
    SCENE_MUST(&device, bl_job_create(device.device, scene, &desc, &job));
    render(job, image), render(silent, plain);
    assert_memory_equal(image, plain, sizeof image);
    const bl_print *m;
    uint32_t count;
    bool more = true;
    SCENE_MUST(&device, bl_job_prints(job, &m, &count, &more));
    const bl_print *end = m + count;
    assert_false(more);
    for (uint32_t k = 0; k < WIDTH * HEIGHT * SPP * VERTICES; k++)
        m = vertex_has(m, end, k / (SPP * VERTICES), k / VERTICES % SPP);
    assert_ptr_equal(m, end);
    bl_job_destroy(job), bl_job_destroy(silent), bl_scene_destroy(scene);
}

static void mistakes_in(const char *xml, const char *too_few)
{
    const char *const texts[MISTAKES] = {NULL, too_few, "no such value", "print"};
    static float image[VALUES];
    bl_scene *scene = scene_device_load(&device, xml, NULL);
    for (mistake = NONE + 1; mistake < MISTAKES; mistake++) {
        bl_job *job;
        SCENE_MUST(&device, bl_job_create(device.device, scene, &(bl_job_desc){.print_bytes = ROOM}, &job));
        assert_true(bl_job_render(job, &(bl_render_desc){.spp = SPP}, image, NULL) != BL_OK);
        if (!strstr(bl_context_error(device.context), texts[mistake]))
            fail_msg("%s", bl_context_error(device.context));
        bl_job_destroy(job);
    }
    mistake = NONE;
    bl_scene_destroy(scene);
}

static void mistakes_are_told(void **state)
{
    (void)state;
    mistakes_in(scene_text, "5 times {}, and 4 values");
    mistakes_in(room_text, "1 times {}, and 0 values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_arrives),
        cmocka_unit_test(an_adjoint_prints),
        cmocka_unit_test(what_has_no_room_is_told),
        cmocka_unit_test(a_material_prints),
        {"a material prints before a camera that moves", a_material_prints, NULL, NULL, &device},

        cmocka_unit_test(mistakes_are_told),
    };
    static const bl_integrator_plugin talker = {
        .name = "talk", .help = "prints", .radiance = radiance, .adjoint = adjoint};
    static const bl_plugin_param paint = {.name = "paint", .kind = BL_PLUGIN_TEXTURE, .preset = "1"};
    static const bl_texture_plugin texture = {.name = "chat_texture", .help = "prints", .eval = chat_texture};
    static const bl_bsdf_plugin material = {.name = "chat",
                                            .help = "prints",
                                            .parameters = &paint,
                                            .parameter_count = 1,
                                            .sample = chat_sample,
                                            .pdf = chat_pdf,
                                            .value = chat_value};
    if (!scene_device_open(&device))
        return scene_device_missing();
    if (bl_plugin_add_integrator(device.context, &talker) != BL_OK ||
        bl_plugin_add_texture(device.context, &texture) != BL_OK ||
        bl_plugin_add_bsdf(device.context, &material) != BL_OK)
        return 1;
    return SCENE_DEVICE_RUN(&device, NULL, "prints", tests);
}
