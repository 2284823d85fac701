/* LABELS: native swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Integrators of an application (support/own_integrators.c). A path tracer with path replay that a user has
 * written gives the image and the gradient of the library's prb_basic; one with light sampling and MIS the
 * image of its path; one that brings no adjoint is differentiated by the library, in reverse and in forward
 * mode. Mistakes in their functions are errors with a text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/own_integrators.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 24, VALUES = SIDE * SIDE * 3, SPP = 16, PARAMETERS = 4 };

static scene_device device;

/* Lamps, a mirror, a textured ball and a sky: what lights and materials there are in kind. */
static const char scene_text[] =
    "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='5'/></integrator>"
    "<sensor type='perspective' id='sensor'><float name='fov' value='45'/><transform name='to_world'><lookat "
    "origin='0,-5,1.5' target='0,0,.3' up='0,0,1'/></transform><film type='hdrfilm'><integer name='width' "
    "value='24'/><integer name='height' value='24'/><rfilter type='tent'/></film></sensor>"
    "<emitter type='constant' id='sky'><rgb name='radiance' value='.2,.25,.4'/></emitter>"
    "<emitter type='point'><point name='position' x='2' y='-3' z='3'/><rgb name='intensity' "
    "value='9,7,5'/></emitter>"
    "<shape type='rectangle' id='floor'><transform name='to_world'><scale value='3'/><translate "
    "value='0,0,-.6'/></transform><bsdf type='diffuse' id='ground'><rgb name='reflectance' "
    "value='.6,.4,.2'/></bsdf></shape>"
    "<shape type='sphere' id='ball'><point name='center' x='-.8' y='0' z='.2'/><float name='radius' "
    "value='.7'/>"
    "<bsdf type='roughconductor' id='metal'><float name='alpha' value='.3'/><rgb name='specular_reflectance' "
    "value='.9,.7,.5'/></bsdf></shape>"
    "<shape type='sphere'><point name='center' x='.9' y='.2' z='.1'/><float name='radius' value='.6'/>"
    "<bsdf type='conductor' id='mirror'><rgb name='specular_reflectance' value='.8'/></bsdf></shape>"
    "<shape type='rectangle'><transform name='to_world'><rotate x='1' angle='180'/><scale "
    "value='.6'/><translate "
    "value='.3,-.2,2.4'/></transform><emitter type='area' id='lamp'><rgb name='radiance' "
    "value='6,5,4'/></emitter></shape>"
    "</scene>";
static const char *const parameters[PARAMETERS] = {"ground.reflectance.value", "lamp.radiance.value",
                                                   "metal.specular_reflectance.value", "sky.radiance.value"};

typedef struct subject {
    bl_scene *scene;
    bl_job *job;
} subject;

static bl_scene *load(const char *integrator, int32_t max_depth)
{
    bl_scene *scene;
    SCENE_MUST(&device, bl_scene_load_string(
                            device.context, scene_text, NULL,
                            &(bl_scene_desc){.integrator = integrator, .max_depth = max_depth}, &scene));
    return scene;
}

static subject subject_of(const char *integrator, int32_t max_depth)
{
    subject s = {.scene = load(integrator, max_depth)};
    SCENE_MUST(&device, bl_job_create(device.device, s.scene,
                                      &(bl_job_desc){.parameters = parameters, .parameter_count = PARAMETERS},
                                      &s.job));
    return s;
}

static void subject_free(subject *s) { bl_job_destroy(s->job), bl_scene_destroy(s->scene); }

static void render(const subject *s, bool gradient_stream, float image[VALUES])
{
    bl_stats stats;
    SCENE_MUST(&device,
               bl_job_render(s->job,
                             &(bl_render_desc){.spp = SPP, .seed = 3, .gradient_stream = gradient_stream},
                             image, &stats));
    assert_true(stats.non_finite == 0 && stats.paths == (uint64_t)SIDE * SIDE * SPP);
}

/* A weight for every value of the image, of either sign. */
static void make_adjoint(float out[VALUES])
{
    for (int i = 0; i < VALUES; i++)
        out[i] = sinf(0.37f * (float)i) + 0.2f;
}

static double dot(const float *a, const float *b, int count)
{
    double r = 0;
    for (int i = 0; i < count; i++)
        r += (double)a[i] * (double)b[i];
    return r;
}

/* The largest difference, over the largest value. */
static double apart(const float *a, const float *b, int count)
{
    double worst = 0, most = 0;
    for (int i = 0; i < count; i++) {
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
        most = fmax(most, fabs((double)b[i]));
    }
    assert_true(most > 0);
    return worst / most;
}

static void gradient(const subject *s, float out[3 * PARAMETERS])
{
    static float adjoint[VALUES];
    make_adjoint(adjoint);
    SCENE_MUST(&device,
               bl_job_gradient(s->job, &(bl_gradient_desc){.spp = SPP, .seed = 3, .adjoint = adjoint}, NULL));
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_job_read_gradient(s->job, k, out + 3 * k));
}

static void a_users_prb_basic_is_the_librarys(void **state)
{
    (void)state;
    static float mine[VALUES], theirs[VALUES];
    float my_gradient[3 * PARAMETERS], their_gradient[3 * PARAMETERS];
    subject my = subject_of("my_prb_basic", 5), their = subject_of("prb_basic", 5);
    render(&my, false, mine), render(&their, false, theirs);
    assert_true(apart(mine, theirs, VALUES) < 1e-5);
    gradient(&my, my_gradient), gradient(&their, their_gradient);
    for (int k = 0; k < PARAMETERS; k++)
        if (!(apart(my_gradient + 3 * k, their_gradient + 3 * k, 3) < 2e-5))
            fail_msg("%s: %g %g", parameters[k], (double)my_gradient[3 * k], (double)their_gradient[3 * k]);
    subject_free(&my), subject_free(&their);
}

static void a_users_path_is_the_librarys(void **state)
{
    (void)state;
    static float mine[VALUES], theirs[VALUES];
    subject my = subject_of("my_path", 5), their = subject_of("path", 5); /* its roulette begins at 5 */
    render(&my, false, mine), render(&their, false, theirs);
    assert_true(apart(mine, theirs, VALUES) < 1e-5);
    subject_free(&my), subject_free(&their);
}

/* Images along one parameter, with the random numbers of the gradient: linear in each, so a difference has no
 * error but rounding. */
static void difference(const subject *s, uint32_t k, float out[VALUES])
{
    static float moved[VALUES];
    uint32_t index = scene_device_find(&device, s->scene, parameters[k]);
    float values[3], more[3];
    SCENE_MUST(&device, bl_job_get_parameter(s->job, index, values));
    for (int c = 0; c < 3; c++)
        more[c] = values[c] + 0.25f;
    render(s, true, out);
    SCENE_MUST(&device, bl_job_set_parameter(s->job, index, more));
    render(s, true, moved);
    SCENE_MUST(&device, bl_job_set_parameter(s->job, index, values));
    for (int i = 0; i < VALUES; i++)
        out[i] = (moved[i] - out[i]) * 4;
}

static void forward(const subject *s, uint32_t k, float out[VALUES])
{
    const float ones[3] = {1, 1, 1};
    const float *directions[PARAMETERS] = {NULL};
    directions[k] = ones;
    SCENE_MUST(
        &device,
        bl_job_forward(s->job, &(bl_forward_desc){.spp = SPP, .seed = 3, .tangents = directions}, out, NULL));
}

/* Of an integrator without an adjoint the library makes one. */
static void derivatives_are_those_of_differences(void **state)
{
    (void)state;
    static float tangent[VALUES], expected[VALUES], adjoint[VALUES];
    float found[3 * PARAMETERS];
    make_adjoint(adjoint);
    subject s = subject_of("my_direct", 0);
    gradient(&s, found);
    for (uint32_t k = 0; k < PARAMETERS; k++) {
        forward(&s, k, tangent), difference(&s, k, expected);
        assert_true(apart(tangent, expected, VALUES) < 1e-4);
        double reverse = (double)found[3 * k] + (double)found[3 * k + 1] + (double)found[3 * k + 2],
               size = sqrt(dot(tangent, tangent, VALUES) * dot(adjoint, adjoint, VALUES));
        assert_true(fabs(dot(tangent, adjoint, VALUES) - reverse) < 1e-5 * size);
    }
    subject_free(&s);
}

/* Forward mode goes through loops that multiply, so it checks the adjoint that the user has written. */
static void forward_mode_is_the_transpose_of_a_users_adjoint(void **state)
{
    (void)state;
    static float tangent[VALUES], adjoint[VALUES];
    float found[3 * PARAMETERS];
    make_adjoint(adjoint);
    subject s = subject_of("my_prb_basic", 4);
    gradient(&s, found);
    for (uint32_t k = 0; k < PARAMETERS; k++) {
        forward(&s, k, tangent);
        double reverse = (double)found[3 * k] + (double)found[3 * k + 1] + (double)found[3 * k + 2],
               size = sqrt(dot(tangent, tangent, VALUES) * dot(adjoint, adjoint, VALUES));
        assert_true(size > 0 && fabs(dot(tangent, adjoint, VALUES) - reverse) < 1e-5 * size);
    }
    subject_free(&s);
}

/* ---- mistakes ---- */

static bl_plugin_color black(bl_ir_func *f)
{
    bl_ir_value zero = bl_ir_f32(f, 0);
    return (bl_plugin_color){{zero, zero, zero}};
}

static bl_plugin_color returns_nothing(bl_plugin_trace *t, bl_trace_ray camera)
{
    (void)t, (void)camera;
    return (bl_plugin_color){{{0}, {0}, {0}}};
}

static bl_plugin_color takes_a_word_for_a_number(bl_plugin_trace *t, bl_trace_ray camera)
{
    camera.tmax = bl_ir_u32(bl_plugin_func(t), 7);
    bl_surface s = bl_trace_closest(t, camera);
    const bl_ir_value u[3] = {s.uv.x, s.uv.y, s.distance};
    bl_bsdf_draw draw = bl_trace_bsdf_sample(t, &s, u); /* goes on after the mistake */
    return bl_trace_bsdf_drawn(t, &draw);
}

static bl_plugin_color asks_of_no_surface(bl_plugin_trace *t, bl_trace_ray camera)
{
    bl_surface s = bl_trace_closest(t, camera);
    s.id += 7;
    return bl_trace_emission(t, &s);
}

static bl_plugin_color takes_a_surface_for_a_light(bl_plugin_trace *t, bl_trace_ray camera)
{
    bl_surface s = bl_trace_closest(t, camera);
    return bl_trace_light_radiance(t, &(bl_light_draw){.id = s.id});
}

static bl_plugin_color leaves_a_block(bl_plugin_trace *t, bl_trace_ray camera)
{
    bl_ir_func *f = bl_plugin_func(t);
    bl_ir_if(f, bl_ir_lt(f, camera.o.x, camera.d.x));
    bl_surface s = bl_trace_closest(t, camera);
    bl_ir_else(f);
    bl_ir_endif(f);
    return bl_trace_emission(t, &s);
}

static bl_plugin_color says_so(bl_plugin_trace *t, bl_trace_ray camera)
{
    (void)camera;
    bl_plugin_fail(t, "there is no such thing as a free lunch");
    return black(bl_plugin_func(t));
}

static bl_plugin_color asks_for_no_setting(bl_plugin_trace *t, bl_trace_ray camera)
{
    (void)camera;
    bl_ir_value v = bl_ir_f32(bl_plugin_func(t), (float)bl_trace_setting(t, 3));
    return (bl_plugin_color){{v, v, v}};
}

static bl_plugin_color asks_in_a_material(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo,
                                          bl_plugin_vec2 uv)
{
    (void)wi, (void)uv;
    bl_ir_value far = bl_ir_f32(bl_plugin_func(t), 1), open = bl_trace_any(t, (bl_trace_ray){wo, wo, far});
    return (bl_plugin_color){{open, open, open}};
}

static bl_plugin_vec3 some_sample(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec2 uv,
                                  bl_ir_value u_lobe, bl_ir_value u1, bl_ir_value u2)
{
    (void)wi, (void)uv, (void)u_lobe;
    return bl_plugin_cosine_hemisphere(t, u1, u2);
}

static bl_ir_value word_as_pdf(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    (void)wi, (void)wo, (void)uv;
    return bl_ir_u32(bl_plugin_func(t), 1);
}

static bl_ir_value ends_the_function(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo,
                                     bl_plugin_vec2 uv)
{
    (void)wi, (void)wo, (void)uv;
    bl_ir_return(bl_plugin_func(t), NULL, 0);
    return bl_ir_f32(bl_plugin_func(t), 1);
}

static bl_plugin_color grey_value(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    (void)wi, (void)uv;
    return (bl_plugin_color){{bl_ir_abs(bl_plugin_func(t), wo.z), wo.z, wo.z}};
}

static bl_ir_value some_pdf(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv)
{
    (void)wi, (void)wo, (void)uv;
    return bl_ir_f32(bl_plugin_func(t), 1);
}

static void fails_with(const char *name, const char *word)
{
    static float image[VALUES];
    bl_scene *scene = load(name, 0);
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene, NULL, &job));
    scene_device_refused(&device, bl_job_render(job, &(bl_render_desc){.spp = 1}, image, NULL),
                         BL_ERROR_COMPILE, word);
    bl_job_destroy(job), bl_scene_destroy(scene);
}

static void mistakes_in_functions_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bl_plugin_color (*radiance)(bl_plugin_trace *t, bl_trace_ray camera);
        const char *word;
    } cases[] = {
        {"nothing", returns_nothing, "returns nothing"},
        {"word", takes_a_word_for_a_number, "wrong operand types"},
        {"nowhere", asks_of_no_surface, "is no surface"},
        {"no_light", takes_a_surface_for_a_light, "is no sample of a light"},
        {"out_of_block", leaves_a_block, "has ended"},
        {"says", says_so, "free lunch"},
        {"settings", asks_for_no_setting, "has no parameter 3"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        SCENE_MUST(&device, bl_plugin_add_integrator(device.context,
                                                     &(bl_integrator_plugin){.name = cases[k].name,
                                                                             .radiance = cases[k].radiance}));
        fails_with(cases[k].name, cases[k].word);
    }
}

static void only_integrators_ask_the_scene(void **state)
{
    (void)state;
    static float image[VALUES];
    bl_scene *scene;
    bl_job *job;
    SCENE_MUST(&device, bl_plugin_add_bsdf(device.context, &(bl_bsdf_plugin){.name = "curious",
                                                                             .sample = some_sample,
                                                                             .pdf = some_pdf,
                                                                             .value = asks_in_a_material}));
    SCENE_MUST(&device, bl_scene_load_string(
                            device.context,
                            "<scene version='3.0.0'><sensor type='perspective'/><emitter "
                            "type='constant'/><shape type='sphere'><bsdf type='curious'/></shape></scene>",
                            NULL, NULL, &scene));
    SCENE_MUST(&device, bl_job_create(device.device, scene, NULL, &job));
    scene_device_refused(&device, bl_job_render(job, &(bl_render_desc){.spp = 1}, image, NULL),
                         BL_ERROR_COMPILE, "only an integrator's functions");
    bl_job_destroy(job), bl_scene_destroy(scene);
}

static void fails_in_every_pass(const char *xml, const char *parameter, const char *word)
{
    static float image[VALUES], variance[VALUES], adjoint[VALUES];
    bl_scene *scene = scene_device_load(&device, xml, NULL);
    bl_job *job;
    make_adjoint(adjoint);
    SCENE_MUST(&device, bl_job_create(device.device, scene,
                                      &(bl_job_desc){.parameters = &parameter, .parameter_count = 1}, &job));
    const bl_result r[] = {
        bl_job_render(job, &(bl_render_desc){.spp = 1}, image, NULL),
        bl_job_render(job, &(bl_render_desc){.spp = 2, .variance = variance}, image, NULL),
        bl_job_forward(job, &(bl_forward_desc){.spp = 1}, image, NULL),
        bl_job_gradient(job, &(bl_gradient_desc){.spp = 1, .adjoint = adjoint}, NULL),
        bl_job_gradient(job, &(bl_gradient_desc){.spp = 2, .adjoint = adjoint, .form = BL_FORM_SEPARATE},
                        NULL),
    };
    for (size_t k = 0; k < sizeof r / sizeof *r; k++)
        scene_device_refused(&device, r[k], BL_ERROR_COMPILE, word);
    bl_job_destroy(job), bl_scene_destroy(scene);
}

#define SEEN                                                                                                 \
    "<sensor type='perspective'><film type='hdrfilm'><integer name='width' value='24'/><integer "            \
    "name='height' value='24'/></film></sensor>"

/* Whatever a material's function does, no pass makes more of it than an error. */
static void mistakes_in_materials_are_errors_of_every_pass(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bl_ir_value (*pdf)(bl_plugin_trace *t, bl_plugin_vec3 wi, bl_plugin_vec3 wo, bl_plugin_vec2 uv);
        const char *word;
    } cases[] = {{"worded", word_as_pdf, "pdf of \"worded\" returns u32"},
                 {"ended", ends_the_function, "after the end of the function"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char xml[1024];
        SCENE_MUST(&device, bl_plugin_add_bsdf(device.context, &(bl_bsdf_plugin){.name = cases[k].name,
                                                                                 .sample = some_sample,
                                                                                 .pdf = cases[k].pdf,
                                                                                 .value = grey_value}));
        snprintf(xml, sizeof xml,
                 "<scene version='3.0.0'>" SEEN "<emitter type='constant' id='sky'/><shape type='sphere'>"
                 "<bsdf type='%s'/></shape></scene>",
                 cases[k].name);
        fails_in_every_pass(xml, "sky.radiance.value", cases[k].word);
    }
}

static bl_light_sample from_above(bl_plugin_trace *t, bl_plugin_vec3 point, bl_ir_value u1, bl_ir_value u2)
{
    (void)point;
    return (bl_light_sample){.d = bl_plugin_uniform_sphere(t, u1, u2), .pdf = u1};
}

static bl_ir_value no_density(bl_plugin_trace *t, bl_plugin_vec3 d)
{
    (void)d;
    return bl_ir_f32(bl_plugin_func(t), 1);
}

static bl_plugin_color glow(bl_plugin_trace *t, bl_plugin_vec2 uv, bl_ir_value distance)
{
    (void)distance;
    return bl_plugin_texture(t, 0, uv);
}

/* The first call is that of light that is sampled; the one that the test is about is in the kernel itself. */
static int located;
static bl_plugin_vec2 locates_once(bl_plugin_trace *t, bl_plugin_vec3 d)
{
    if (located++ > 0)
        bl_plugin_fail(t, "lost in the sky");
    return (bl_plugin_vec2){d.x, d.y};
}

static void a_mistake_in_the_middle_of_a_kernel_is_an_error(void **state)
{
    (void)state;
    static const bl_plugin_param color[] = {{"radiance", BL_PLUGIN_TEXTURE, "1", 0, 0, ""}};
    static float image[VALUES];
    SCENE_MUST(&device, bl_plugin_add_light(device.context, &(bl_light_plugin){.name = "lost_sky",
                                                                               .parameters = color,
                                                                               .parameter_count = 1,
                                                                               .kind = BL_LIGHT_SKY,
                                                                               .sample = from_above,
                                                                               .pdf = no_density,
                                                                               .locate = locates_once,
                                                                               .radiance = glow}));
    bl_scene *scene = scene_device_load(
        &device, "<scene version='3.0.0'>" SEEN "<emitter type='lost_sky'/><shape type='sphere'/></scene>",
        NULL);
    bl_job *job;
    SCENE_MUST(&device, bl_job_create(device.device, scene, NULL, &job));
    located = 0;
    scene_device_refused(&device, bl_job_render(job, &(bl_render_desc){.spp = 1}, image, NULL),
                         BL_ERROR_COMPILE, "lost in the sky");
    assert_true(located > 1);
    bl_job_destroy(job), bl_scene_destroy(scene);
}

/* Names of parameters that integrators of the renderer have mean nothing to it here. */
static void an_integrators_parameters_are_its_own(void **state)
{
    (void)state;
    static const bl_plugin_param numbers[] = {{"edges", BL_PLUGIN_NUMBER, "3", 0, 0, ""},
                                              {"sppc", BL_PLUGIN_NUMBER, "-4", 0, 0, ""},
                                              {"max_depth", BL_PLUGIN_NUMBER, "1e300", 0, 0, ""}};
    bl_integrator_plugin p = own_direct;
    p.name = "with_edges", p.parameters = numbers, p.parameter_count = 3;
    SCENE_MUST(&device, bl_plugin_add_integrator(device.context, &p));
    bl_scene_destroy(scene_device_load(
        &device,
        "<scene version='3.0.0'><integrator type='with_edges'><float name='edges' value='2'/></integrator>"
        "<sensor type='perspective'/></scene>",
        NULL));
}

static void wrong_tables_are_errors(void **state)
{
    (void)state;
    static const bl_plugin_param texture[] = {{"colour", BL_PLUGIN_TEXTURE, "1", 0, 1, ""}};
    bl_integrator_plugin p = own_path;
    scene_device_refused(&device, bl_plugin_add_integrator(device.context, &p), BL_ERROR_ARGUMENT, "already");
    p.name = "path";
    scene_device_refused(&device, bl_plugin_add_integrator(device.context, &p), BL_ERROR_ARGUMENT, "already");
    p.name = "other", p.parameters = texture;
    scene_device_refused(&device, bl_plugin_add_integrator(device.context, &p), BL_ERROR_ARGUMENT,
                         "is a number");
    p.parameter_count = 0, p.radiance = NULL;
    scene_device_refused(&device, bl_plugin_add_integrator(device.context, &p), BL_ERROR_ARGUMENT, "missing");
}

/* What cannot be asked of such an integrator is refused, with the reason. */
static void what_there_is_not_is_refused(void **state)
{
    (void)state;
    static float adjoint[VALUES];
    static const char *const moved[] = {"ball.to_world", "sensor.translation"};
    bl_job *job;
    bl_scene *scene = load("my_path", 0);
    for (int k = 0; k < 2; k++)
        scene_device_refused(&device,
                             bl_job_create(device.device, scene,
                                           &(bl_job_desc){.parameters = &moved[k], .parameter_count = 1},
                                           &job),
                             BL_ERROR_UNSUPPORTED, "application's integrator");
    bl_scene_destroy(scene);
    subject s = subject_of("my_path", 0);
    make_adjoint(adjoint);
    bl_gradient_desc desc = {.spp = 2, .adjoint = adjoint};
    scene_device_refused(&device, bl_job_gradient(s.job, &desc, NULL), BL_ERROR_COMPILE,
                         "loop"); /* its loop multiplies */
    desc.form = BL_FORM_SEPARATE;
    scene_device_refused(&device, bl_job_gradient(s.job, &desc, NULL), BL_ERROR_ARGUMENT,
                         "application's integrator");
    subject_free(&s);
}

/* A number comes from the scene, else from the call's max_depth if that is its name, else from the table. */
static void numbers_come_from_the_scene(void **state)
{
    (void)state;
    static float a[VALUES], b[VALUES];
    static const char with[] = "<scene version='3.0.0'><integrator type='my_prb_basic'><integer "
                               "name='max_depth' value='2'/></integrator>";
    char text[sizeof scene_text + sizeof with];
    strcpy(text, with), strcat(text, strstr(scene_text, "<sensor"));
    subject given = {.scene = scene_device_load(&device, text, NULL)}, call = subject_of("my_prb_basic", 2);
    SCENE_MUST(&device, bl_job_create(device.device, given.scene, NULL, &given.job));
    render(&given, false, a), render(&call, false, b);
    assert_memory_equal(a, b, sizeof a);
    subject preset = subject_of("my_prb_basic", 0);
    render(&preset, false, b);
    assert_memory_not_equal(a, b, sizeof a);
    subject_free(&given), subject_free(&call), subject_free(&preset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_users_prb_basic_is_the_librarys),
        cmocka_unit_test(a_users_path_is_the_librarys),
        cmocka_unit_test(derivatives_are_those_of_differences),
        cmocka_unit_test(forward_mode_is_the_transpose_of_a_users_adjoint),
        cmocka_unit_test(mistakes_in_functions_are_errors),
        cmocka_unit_test(only_integrators_ask_the_scene),
        cmocka_unit_test(mistakes_in_materials_are_errors_of_every_pass),
        cmocka_unit_test(a_mistake_in_the_middle_of_a_kernel_is_an_error),
        cmocka_unit_test(an_integrators_parameters_are_its_own),
        cmocka_unit_test(wrong_tables_are_errors),
        cmocka_unit_test(what_there_is_not_is_refused),
        cmocka_unit_test(numbers_come_from_the_scene),
    };
    if (!scene_device_open(&device))
        return scene_device_missing();
    static const bl_integrator_plugin *const added[] = {&own_prb_basic, &own_path, &own_direct};
    for (int k = 0; k < 3; k++)
        if (bl_plugin_add_integrator(device.context, added[k]) != BL_OK)
            return 1;
    return SCENE_DEVICE_RUN(&device, NULL, "own integrators", tests);
}
