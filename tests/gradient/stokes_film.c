/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Images of Stokes vectors (stokesfilm), on a device. The image is what the integrator `stokes` has beside
 * its own. Gradients of a loss by all entries are differences of that image with shrinking steps, and the
 * gradient pass finds that image itself; forms that need such images, one image and two walks, and samples
 * where dL/dI is give the gradient, too. What is not there says so. Sample by sample: polarized.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 12, PIXELS = SIDE * SIDE, SPP = 8, MOST = 12 };

static scene_device device;

/* A lamp behind a polariser, in a plate of metal that tilts against the view. */
#define SCENE                                                                                                \
    "<scene version='3.0.0'>%s<sensor type='perspective'><float name='fov' value='20'/>"                     \
    "<transform name='to_world'><lookat origin='0,-5,2' target='0,0,0' up='0,0,1'/></transform>"             \
    "<film type='%s'><integer name='width' value='12'/><integer name='height' value='12'/>"                  \
    "<rfilter type='box'/></film></sensor>"                                                                  \
    "<shape type='rectangle'><transform name='to_world'><scale value='2'/><rotate y='1' angle='12'/>"        \
    "</transform><bsdf type='conductor' id='metal'><rgb name='eta' value='.4,.9,1.3'/>"                      \
    "<rgb name='k' value='3,2.4,1.9'/></bsdf></shape>"                                                       \
    "<shape type='rectangle'><transform name='to_world'><scale value='9'/><rotate x='1' angle='90'/>"        \
    "<translate value='0,5,3'/></transform><emitter type='area'><rgb name='radiance' value='1,.9,.7'/>"      \
    "</emitter></shape>"                                                                                     \
    "<shape type='rectangle'><transform name='to_world'><scale value='9'/><rotate x='1' angle='90'/>"        \
    "<translate value='0,4.5,3'/></transform><bsdf type='polarizer' id='pane'><float name='theta' "          \
    "value='35'/></bsdf></shape></scene>"
#define PATH "<integrator type='path'><integer name='max_depth' value='5'/></integrator>"

static bl_scene *load(const char *mode, const char *integrator, const char *film, bl_result expected)
{
    char *xml;
    bl_scene *scene = NULL;
    if (asprintf(&xml, SCENE, integrator, film) < 0)
        fail_msg("out of memory");
    bl_result r = bl_scene_load_string(device.context, xml, ".", &(bl_scene_desc){.mode = mode}, &scene);
    if (r != expected)
        fail_msg("%s, %s: %s", mode, film, bl_context_error(device.context));
    free(xml);
    return scene;
}

static uint32_t channels_of(const bl_scene *scene)
{
    bl_scene_info info;
    assert_int_equal(bl_scene_info_get(scene, &info), BL_OK);
    assert_int_equal(info.width * info.height, PIXELS);
    return info.channels;
}

static void image_is_what_stokes_has_beside_its_own(void **state)
{
    (void)state;
    static const char *const modes[] = {"mono_polarized", "rgb_polarized", "spectral_polarized"};
    static float image[PIXELS * MOST], usual[PIXELS * 3], channels[PIXELS * MOST];
    for (int m = 0; m < 3; m++) {
        bl_scene *whole = load(modes[m], PATH, "stokesfilm", BL_OK),
                 *beside =
                     load(modes[m], "<integrator type='stokes'>" PATH "</integrator>", "hdrfilm", BL_OK);
        const uint32_t n = channels_of(whole) / 4;
        bl_job *jobs[2];
        assert_int_equal(n, channels_of(beside));
        assert_string_equal(bl_scene_band_name(whole, n), n == 1 ? "S1.Y" : "S1.R");
        assert_null(bl_scene_band_name(whole, 4 * n));
        if (bl_job_create(device.device, whole, NULL, &jobs[0]) ||
            bl_job_create(device.device, beside, NULL, &jobs[1]) ||
            bl_job_render(jobs[0], &(bl_render_desc){.spp = SPP}, image, NULL) ||
            bl_job_render(jobs[1], &(bl_render_desc){.spp = SPP, .channels = channels}, usual, NULL))
            fail_msg("%s", bl_context_error(device.context));
        double polarised = 0;
        for (uint32_t i = 0; i < PIXELS; i++)
            for (uint32_t k = 0; k < 4 * n; k++) {
                float other = channels[12 * i + 3 * (k / n) + k % n];
                if (!(fabsf(image[4 * n * i + k] - other) <= 1e-5f))
                    fail_msg("%s, pixel %u, channel %u: %g, and %g beside the image", modes[m], i, k,
                             (double)image[4 * n * i + k], (double)other);
                polarised += k < n ? 0 : fabs((double)other);
            }
        assert_true(polarised > 0.1 * PIXELS);
        for (int k = 0; k < 2; k++)
            bl_job_destroy(jobs[k]);
        bl_scene_destroy(whole), bl_scene_destroy(beside);
    }
}

static const char *const names[] = {"metal.eta.value", "metal.k.value", "pane.theta.value"};
enum { NAMES = sizeof names / sizeof *names, COUNT = 7 };

static double weight_of(uint32_t i) { return sin(1 + 0.7 * (double)(i % MOST) + 0.1 * (double)i); }

/* The loss: a weight for each number of the image. */
static double loss_of(bl_job *job, const bl_scene *scene, const char *name, uint32_t element, float step)
{
    static float image[PIXELS * MOST];
    float values[3], moved[3];
    uint32_t index;
    if (bl_scene_find_parameter(scene, name, &index) || bl_job_get_parameter(job, index, values))
        fail_msg("%s", bl_context_error(device.context));
    memcpy(moved, values, sizeof moved);
    moved[element] += step;
    if (bl_job_set_parameter(job, index, moved) ||
        bl_job_render(job, &(bl_render_desc){.spp = SPP, .seed = 3, .gradient_stream = true}, image, NULL) ||
        bl_job_set_parameter(job, index, values))
        fail_msg("%s", bl_context_error(device.context));
    double sum = 0;
    for (uint32_t i = 0; i < PIXELS * channels_of(scene); i++)
        sum += weight_of(i) * (double)image[i];
    return sum;
}

static void gradients_are_differences(void **state)
{
    (void)state;
    static float weights[PIXELS * MOST];
    bl_scene *scene = load("rgb_polarized", PATH, "stokesfilm", BL_OK);
    bl_job *job;
    assert_int_equal(channels_of(scene), MOST);
    for (uint32_t i = 0; i < PIXELS * MOST; i++)
        weights[i] = (float)weight_of(i);
    if (bl_job_create(device.device, scene, &(bl_job_desc){.parameters = names, .parameter_count = NAMES},
                      &job))
        fail_msg("%s", bl_context_error(device.context));
    float gradient[2][COUNT];
    for (int form = 0; form < 2; form++) {
        bl_stats stats;
        const bl_gradient_desc d = {
            .form = form ? BL_FORM_SEPARATE : BL_FORM_FUSED, .spp = SPP, .seed = 3, .adjoint = weights};
        if (bl_job_gradient(job, &d, &stats))
            fail_msg("%s", bl_context_error(device.context));
        assert_int_equal(stats.drifted, 0);
        for (uint32_t k = 0; k < NAMES; k++)
            bl_job_read_gradient(job, k, &gradient[form][3 * k]);
        double here = 0;
        static float image[PIXELS * MOST];
        bl_job_render(job, &(bl_render_desc){.spp = SPP, .seed = 3, .gradient_stream = true}, image, NULL);
        for (uint32_t i = 0; i < PIXELS * MOST; i++)
            here += weight_of(i) * (double)image[i];
        assert_true(fabs(stats.loss - here) <= 1e-5 * fabs(here)); /* of the image that the pass finds */
    }
    for (uint32_t e = 0; e < COUNT; e++) {
        assert_true(fabsf(gradient[0][e] - gradient[1][e]) <= 1e-4f * fabsf(gradient[0][e]));
        double steps[] = {0.08, 0.04}, difference[2];
        for (int k = 0; k < 2; k++) {
            float step = (float)steps[k] * (e < 6 ? 1 : 20);
            difference[k] = (loss_of(job, scene, names[e / 3], e % 3, step) -
                             loss_of(job, scene, names[e / 3], e % 3, -step)) /
                            (2 * (double)step);
        }
        double limit = (4 * difference[1] - difference[0]) / 3; /* their error falls as the step's square */
        print_message("%s[%u]: %g, differences %g, %g\n", names[e / 3], e % 3, (double)gradient[0][e],
                      difference[0], difference[1]);
        if (!(fabs((double)gradient[0][e] - limit) <= 2e-3 * fabs(limit)))
            fail_msg("%s[%u]: %.6g, differences %.6g", names[e / 3], e % 3, (double)gradient[0][e], limit);
    }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

static void gradient_of(bl_job *job, const bl_gradient_desc *d, bl_gradient_form form, float out[COUNT])
{
    bl_stats stats;
    if (bl_job_gradient(job, d, &stats))
        fail_msg("%s", bl_context_error(device.context));
    assert_int_equal(stats.form, form);
    assert_int_equal(stats.drifted, 0);
    for (uint32_t k = 0; k < NAMES; k++)
        bl_job_read_gradient(job, k, &out[3 * k]);
}

/* The largest of the differences, each over the size of the parameter's part. */
static double off_by(const float a[COUNT], const float b[COUNT])
{
    double most = 0;
    for (uint32_t e = 0; e < COUNT; e++) {
        const uint32_t first = e / 3 * 3, end = first + 3 < COUNT ? first + 3 : COUNT;
        double size = 0;
        for (uint32_t k = first; k < end; k++)
            size = fmax(size, fabs((double)b[k]));
        most = fmax(most, fabs((double)(a[e] - b[e])) / size);
    }
    return most;
}

/* Samples differ by their place in the pixel alone, so many of them have little noise. The target is chosen
 * so that all entries matter: its intensity is the image's. */
static void forms_with_images_of_their_own_agree(void **state)
{
    (void)state;
    enum { MANY = 256 };
    static float target[PIXELS * MOST], adjoint[PIXELS * MOST], image[PIXELS * MOST];
    bl_scene *scene = load("rgb_polarized", PATH, "stokesfilm", BL_OK);
    bl_job *job, *there;
    bl_job_desc d = {.parameters = names, .parameter_count = NAMES};
    if (bl_job_create(device.device, scene, &d, &job) ||
        (d.pixels = BL_PIXELS_ADJOINT, bl_job_create(device.device, scene, &d, &there)) ||
        bl_job_render(job, &(bl_render_desc){.spp = MANY, .seed = 4, .gradient_stream = true}, image, NULL))
        fail_msg("%s", bl_context_error(device.context));
    for (uint32_t i = 0; i < PIXELS * MOST; i++) {
        target[i] = i % MOST < 3 ? image[i] : 0.2f * (float)weight_of(i);
        adjoint[i] = 2 * (image[i] - target[i]) / (PIXELS * MOST);
    }
    float usual[COUNT], found[COUNT];
    bl_gradient_desc g = {.form = BL_FORM_SEPARATE, .spp = MANY, .seed = 4, .adjoint = adjoint};
    gradient_of(job, &g, BL_FORM_SEPARATE, usual);
    gradient_of(there, &g, BL_FORM_SEPARATE, found);
    print_message("samples where dL/dI is: %.2g\n", off_by(found, usual));
    assert_true(off_by(found, usual) < 0.02);
    g.adjoint = NULL, g.target = target, g.spp_primal = MANY;
    g.form = BL_FORM_ONE_IMAGE;
    gradient_of(job, &g, BL_FORM_ONE_IMAGE, found);
    print_message("one image: %.2g\n", off_by(found, usual));
    assert_true(off_by(found, usual) < 1e-4);
    g.form = BL_FORM_AUTO;
    gradient_of(job, &g, BL_FORM_TWO_WALK, found);
    print_message("two walks: %.2g\n", off_by(found, usual));
    assert_true(off_by(found, usual) < 0.02);
    bl_job_destroy(job), bl_job_destroy(there);
    bl_scene_destroy(scene);
}

static void what_is_missing_says_so(void **state)
{
    (void)state;
    load("rgb", PATH, "stokesfilm", BL_ERROR_UNSUPPORTED);
    assert_non_null(
        strstr(bl_context_error(device.context), "no polarisation in mode rgb; --mode rgb_polarized has it"));
    load("rgb_polarized", "<integrator type='stokes'>" PATH "</integrator>", "stokesfilm", BL_ERROR_SCENE);
    assert_non_null(strstr(bl_context_error(device.context), "another channel called \"S0.R\""));
    load("rgb_polarized", "<integrator type='depth'/>", "stokesfilm", BL_ERROR_UNSUPPORTED);
    assert_non_null(
        strstr(bl_context_error(device.context), "stokesfilm: the integrator depth has distances"));
    load("rgb_polarized", "<integrator type='ptracer'/>", "hdrfilm", BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context),
                           ":1: mode rgb_polarized: the integrator \"ptracer\" knows no polarised light"));
    bl_scene *scene = load("rgb_polarized", PATH, "stokesfilm", BL_OK);
    bl_job *job = NULL;
    const char *const moves[] = {"sensor.to_world"};
    assert_int_equal(
        bl_job_create(device.device, scene, &(bl_job_desc){.parameters = moves, .parameter_count = 1}, &job),
        BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bl_context_error(device.context),
                           "those of what moves are not implemented where light is polarised"));
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(image_is_what_stokes_has_beside_its_own),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(forms_with_images_of_their_own_agree),
        cmocka_unit_test(what_is_missing_says_so),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "stokes-film", tests);
}
