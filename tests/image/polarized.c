/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Images of polarised light (mode mono_polarized and rgb_polarized) against closed forms: a camera without
 * perspective looks through plates, at mirrors and at glass, before a sky of 1. What depolarises looks as it
 * does in mode mono. What these modes do not have is an error that says so. */
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

enum { SIDE = 32, SPP = 64 };

static scene_device device;

#define NUMBER(name, value) "<float name='" name "' value='" value "'/>"
#define SHEET(size, z, bsdf)                                                                                 \
    "<shape type='rectangle'><transform name='to_world'><scale value='" size "'/><translate value='0,0," z   \
    "'/></transform>" bsdf "</shape>"
#define PLATE(z, bsdf) SHEET("3", z, bsdf)
#define FILTER(theta) "<bsdf type='polarizer'>" NUMBER("theta", theta) "</bsdf>"
#define POLARIZER(z, theta) PLATE(z, FILTER(theta))
#define LARGE_POLARIZER(z, theta) SHEET("9", z, FILTER(theta))
#define RETARDER(z, theta, delta)                                                                            \
    PLATE(z, "<bsdf type='retarder'>" NUMBER("theta", theta) NUMBER("delta", delta) "</bsdf>")
#define CIRCULAR(z, left)                                                                                    \
    PLATE(z, "<bsdf type='circular'><boolean name='left_handed' value='" left "'/></bsdf>")
#define MIRROR PLATE("0", "<bsdf type='conductor'/>")
/* At Brewster's angle for an index of 1.5: its normal is turned about y, so x lies in the plane of incidence,
 * and then about z. */
#define BREWSTER(angle_y, angle_z, bsdf)                                                                     \
    "<shape type='rectangle'><transform name='to_world'><scale value='9'/><rotate y='1' angle='" angle_y     \
    "'/><rotate z='1' angle='" angle_z "'/></transform>" bsdf "</shape>"
#define FACING "56.309932"
#define AWAY "236.309932"
#define INDEX_1_5 "<bsdf type='dielectric'>" NUMBER("int_ior", "1.5") NUMBER("ext_ior", "1") "</bsdf>"
#define GLASS BREWSTER(FACING, "0", INDEX_1_5)
#define TURNED_GLASS BREWSTER(FACING, "-45", INDEX_1_5)
#define METAL_1_5 "<bsdf type='conductor'>" NUMBER("eta", "1.5") NUMBER("k", "0") "</bsdf>"
#define FACETS_1_5(alpha)                                                                                    \
    "<bsdf type='roughconductor'>" NUMBER("eta", "1.5") NUMBER("k", "0") NUMBER("alpha", alpha) "</bsdf>"
#define TWOSIDED(bsdf) "<bsdf type='twosided'>" bsdf "</bsdf>"
#define BALL(bsdf) "<shape type='sphere'>" bsdf "</shape>"

/* integrator: XML */
static char *scene_with(const char *integrator, const char *body)
{
    char *xml;
    if (asprintf(&xml,
                 "<scene version='3.0.0'>%s<sensor type='orthographic'>"
                 "<transform name='to_world'><lookat origin='0,0,5' target='0,0,0' up='0,1,0'/></transform>"
                 "<film type='hdrfilm'><integer name='width' value='%d'/><integer name='height' value='%d'/>"
                 "<rfilter type='box'/></film></sensor><emitter type='constant'/>%s</scene>",
                 integrator, SIDE, SIDE, body) < 0)
        fail_msg("out of memory");
    return xml;
}

/* With an integrator that has no settings. */
static char *scene_by(const char *integrator, const char *body)
{
    char *element;
    if (asprintf(&element, "<integrator type='%s'/>", integrator) < 0)
        fail_msg("out of memory");
    char *xml = scene_with(element, body);
    free(element);
    return xml;
}

/* The mean of the first channel; all channels of these scenes are alike. */
static double mean_by(const char *integrator, const char *mode, const char *body)
{
    char *xml = scene_by(integrator, body);
    bl_scene *scene;
    bl_job *job;
    static float image[SIDE * SIDE * 3];
    if (bl_scene_load_string(device.context, xml, ".", &(bl_scene_desc){.mode = mode}, &scene) ||
        bl_job_create(device.device, scene, NULL, &job) ||
        bl_job_render(job, &(bl_render_desc){.spp = SPP}, image, NULL))
        fail_msg("%s", bl_context_error(device.context));
    const uint32_t channels = strstr(mode, "rgb") ? 3 : 1;
    double sum = 0;
    for (uint32_t i = 0; i < SIDE * SIDE; i++)
        for (uint32_t c = 0; c < channels; c++) {
            assert_true(image[channels * i + c] == image[channels * i]);
            sum += (double)image[channels * i + c] / channels;
        }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    free(xml);
    return sum / (SIDE * SIDE);
}

static double mean_of(const char *mode, const char *body) { return mean_by("path", mode, body); }

static const struct {
    const char *name, *body;
    double expected, tolerance;
} cases[] = {
    {"a polariser", POLARIZER("2", "20"), 0.5, 1e-6},
    {"two of them, by Malus' law", POLARIZER("2", "20") POLARIZER("1", "50"), 0.375, 1e-6},
    {"crossed", POLARIZER("2", "20") POLARIZER("1", "110"), 0, 1e-6},
    {"a third one between", POLARIZER("2", "0") POLARIZER("1.5", "45") POLARIZER("1", "90"), 0.125, 1e-6},
    {"one turned over",
     POLARIZER("2", "30") "<shape type='rectangle'><transform name='to_world'><scale "
                          "value='3'/><rotate y='1' angle='180'/></transform>" FILTER("30") "</shape>",
     0.125, 1e-6},
    {"a quarter wave between crossed polarisers",
     POLARIZER("2", "0") RETARDER("1.5", "45", "90") POLARIZER("1", "90"), 0.25, 1e-6},
    {"half a wave between crossed polarisers",
     POLARIZER("2", "0") RETARDER("1.5", "45", "180") POLARIZER("1", "90"), 0.5, 1e-6},
    {"a retarder along an axis, whose angle counts the other way round",
     POLARIZER("2", "20") RETARDER("1.5", "-20", "70") POLARIZER("1", "110"), 0, 1e-6},
    {"a retarder along the axis", POLARIZER("2", "0") RETARDER("1.5", "90", "70") POLARIZER("1", "90"), 0,
     1e-6},
    {"two circular polarisers", CIRCULAR("2", "true") CIRCULAR("1", "true"), 0.5, 1e-6},
    {"of both hands", CIRCULAR("2", "true") CIRCULAR("1", "false"), 0, 1e-6},
    {"a polariser before a mirror", POLARIZER("2", "20") MIRROR, 0.5, 1e-6},
    {"a circular one before a mirror, which turns the hand", CIRCULAR("2", "false") MIRROR, 0, 1e-6},
    {"a quarter wave before a mirror is half a wave", POLARIZER("2", "0") RETARDER("1.5", "45", "90") MIRROR,
     0, 1e-6},
    /* R_s = (1.25 / 3.25)^2; what crosses is radiance over 1.5^2 */
    {"glass, in the plane", POLARIZER("4", "0") GLASS, 0.5 / 2.25, 2e-3},
    {"glass, across it", POLARIZER("4", "90") GLASS, 0.5 * (0.147929 + 0.852071 / 2.25), 2e-3},
    {"glass and a polariser behind it, which lies across",
     POLARIZER("4", "0") GLASS LARGE_POLARIZER("-4.9", "90"), 0, 1e-5},
    {"glass whose plane of incidence lies at 45 degrees, clockwise", POLARIZER("4", "45") TURNED_GLASS,
     0.5 / 2.25, 2e-3},
    {"metal in the plane of incidence", POLARIZER("4", "45") BREWSTER(FACING, "-45", METAL_1_5), 0, 1e-6},
    {"metal across it", POLARIZER("4", "-45") BREWSTER(FACING, "-45", METAL_1_5), 0.5 * 0.147929, 1e-6},
    {"facets in the plane of incidence", POLARIZER("4", "45") BREWSTER(FACING, "-45", FACETS_1_5("0.001")), 0,
     1e-5},
    {"facets across it", POLARIZER("4", "-45") BREWSTER(FACING, "-45", FACETS_1_5("0.001")), 0.5 * 0.147929,
     1e-4},
    {"the back of both, in the plane of incidence",
     POLARIZER("4", "45") BREWSTER(AWAY, "-45", TWOSIDED(METAL_1_5 FACETS_1_5("0.001"))), 0, 1e-5},
    {"the back of both, across it",
     POLARIZER("4", "-45") BREWSTER(AWAY, "-45", TWOSIDED(METAL_1_5 FACETS_1_5("0.001"))), 0.5 * 0.147929,
     1e-4},
    {"the front of both, across it",
     POLARIZER("4", "-45") BREWSTER(FACING, "-45", TWOSIDED(METAL_1_5 FACETS_1_5("0.001"))), 0.5 * 0.147929,
     1e-6},
    /* 0.5 cos(10)^12; from the sixth on by roulette */
    {"seven polarisers",
     POLARIZER("4", "0") POLARIZER("3.5", "10") POLARIZER("3", "20") POLARIZER("2.5", "30")
         POLARIZER("2", "40") POLARIZER("1.5", "50") POLARIZER("1", "60"),
     0.416141, 6e-3},
    {"a mask over a polariser, and one that is crossed",
     PLATE("2", "<bsdf type='mask'>" NUMBER("opacity", "0.5") "<bsdf type='polarizer'/></bsdf>")
         POLARIZER("1", "90"),
     0.25, 1e-2},
    {"a blend of crossed polarisers, and one of them again",
     PLATE("2", "<bsdf type='blendbsdf'>" NUMBER("weight", "0.5") "<bsdf type='polarizer'/><bsdf "
                                                                  "type='polarizer'>" NUMBER(
                                                                      "theta", "90") "</bsdf></bsdf>")
         POLARIZER("1", "90"),
     0.25, 1e-2},
    {"a circular polariser before a mirror with a normal map",
     CIRCULAR("2", "false") PLATE(
         "0", "<bsdf type='normalmap'><texture type='rawconstant' name='normalmap'><vector name='value' "
              "value='.5,.5,1'/></texture><bsdf type='conductor'/></bsdf>"),
     0, 1e-6},
    {"a circular polariser before a blend of a mirror and a black surface",
     CIRCULAR("2", "false") PLATE(
         "0", "<bsdf type='blendbsdf'>" NUMBER(
                  "weight", "0.5") "<bsdf type='conductor'/><bsdf "
                                   "type='diffuse'><rgb name='reflectance' value='0,0,0'/></bsdf></bsdf>"),
     0, 1e-6},
    {"a furnace of metal", BALL("<bsdf type='conductor'/>"), 1, 1e-3},
    {"a furnace of glass", BALL("<bsdf type='dielectric'/>"), 1, 1e-2},
};

static void images_are_the_closed_forms(void **state)
{
    (void)state;
    static const char *const modes[] = {"mono_polarized", "llvm_ad_rgb_polarized"};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int m = 0; m < 2; m++) {
            double mean = mean_of(modes[m], cases[k].body);
            if (!(fabs(mean - cases[k].expected) <= cases[k].tolerance))
                fail_msg("%s, %s: %.7g, expected %.7g", cases[k].name, modes[m], mean, cases[k].expected);
        }
}

/* ---- gradients ---- */

#define NAMED(z, type, id, parameters) PLATE(z, "<bsdf type='" type "' id='" id "'>" parameters "</bsdf>")
#define RADIAN 0.017453292519943295

static const struct {
    const char *name, *body, *parameter;
    double expected, tolerance; /* derivative of the mean of a channel by the number, or by all of a colour */
} slopes[] = {
    {"Malus' law, by the far angle",
     POLARIZER("2", "20") NAMED("1", "polarizer", "it", NUMBER("theta", "50")), "it.theta.value",
     -0.5 * 0.8660254037844386 * RADIAN, 1e-7},
    {"and by the near one", NAMED("2", "polarizer", "it", NUMBER("theta", "20")) POLARIZER("1", "50"),
     "it.theta.value", 0.5 * 0.8660254037844386 * RADIAN, 1e-7},
    {"crossed, where light has its least",
     POLARIZER("2", "20") NAMED("1", "polarizer", "it", NUMBER("theta", "110")), "it.theta.value", 0, 1e-7},
    {"a polariser between two crossed ones", /* sin(2 theta)^2 / 8 */
     POLARIZER("2", "0") NAMED("1.5", "polarizer", "it", NUMBER("theta", "20")) POLARIZER("1", "90"),
     "it.theta.value", 0.25 * 0.984807753012208 * RADIAN, 1e-7},
    {"a delay between crossed polarisers", /* sin(delta / 2)^2 / 2 */
     POLARIZER("2", "0") NAMED("1.5", "retarder", "it", NUMBER("theta", "45") NUMBER("delta", "60"))
         POLARIZER("1", "90"),
     "it.delta.value", 0.25 * 0.8660254037844386 * RADIAN, 1e-7},
    {"the angle of half a wave", /* sin(2 theta)^2 / 2 */
     POLARIZER("2", "0") NAMED("1.5", "retarder", "it", NUMBER("theta", "20") NUMBER("delta", "180"))
         POLARIZER("1", "90"),
     "it.theta.value", 0.984807753012208 * RADIAN, 2e-7},
    {"a transmittance", POLARIZER("2", "20") NAMED("1", "polarizer", "it", NUMBER("theta", "50")),
     "it.transmittance.value", 0.375, 1e-6},
    /* k of a metal seen straight on: R = ((1 - eta)^2 + k^2) / ((1 + eta)^2 + k^2) */
    {"a metal", POLARIZER("2", "20") NAMED("0", "conductor", "it", NUMBER("eta", "0.5") NUMBER("k", "2")),
     "it.k.value", 0.5 * 4 * 2.0 / (6.25 * 6.25), 1e-6},
};

typedef struct slope {
    double replay, forward; /* by all entries of the parameter together */
    bl_stats stats;
} slope;

static slope slope_of(const char *mode, const char *body, const char *parameter, bl_gradient_form form)
{
    char *xml = scene_by("path", body);
    bl_scene *scene;
    bl_job *job;
    static float adjoint[SIDE * SIDE * 3], image[SIDE * SIDE * 3];
    float values[3] = {0};
    const uint32_t n = SIDE * SIDE * (strstr(mode, "rgb") ? 3 : 1);
    for (uint32_t i = 0; i < n; i++)
        adjoint[i] = 1.0f / (float)n;
    slope r = {0};
    if (bl_scene_load_string(device.context, xml, ".", &(bl_scene_desc){.mode = mode}, &scene) ||
        bl_job_create(device.device, scene, &(bl_job_desc){.parameters = &parameter, .parameter_count = 1},
                      &job) ||
        bl_job_gradient(job, &(bl_gradient_desc){.spp = 4, .adjoint = adjoint, .form = form}, &r.stats) ||
        bl_job_read_gradient(job, 0, values) ||
        bl_job_forward(job, &(bl_forward_desc){.spp = 4}, image, NULL))
        fail_msg("%s", bl_context_error(device.context));
    for (uint32_t i = 0; i < n; i++)
        r.forward += (double)adjoint[i] * (double)image[i];
    r.replay = (double)values[0] + (double)values[1] + (double)values[2];
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    free(xml);
    return r;
}

static void gradients_are_the_closed_forms(void **state)
{
    (void)state;
    static const char *const modes[] = {"mono_polarized", "rgb_polarized"};
    static const bl_gradient_form forms[] = {BL_FORM_FUSED, BL_FORM_SEPARATE};
    for (size_t k = 0; k < sizeof slopes / sizeof *slopes; k++)
        for (int m = 0; m < 2; m++) {
            slope s = slope_of(modes[m], slopes[k].body, slopes[k].parameter, forms[m]);
            assert_int_equal(s.stats.drifted, 0);
            assert_int_equal(s.stats.non_finite, 0);
            const double both[2] = {s.replay, s.forward};
            for (int i = 0; i < 2; i++)
                if (!(fabs(both[i] - slopes[k].expected) <= slopes[k].tolerance))
                    fail_msg("%s, %s, %s: %.9g, expected %.9g", slopes[k].name, modes[m],
                             i ? "forward" : "replay", both[i], slopes[k].expected);
        }
}

/* The derivative is where differences with shrinking steps go to: here by the index of a metal seen at an
 * angle through a polariser, of which every sample is the same. */
static void differences_shrink_to_the_gradient(void **state)
{
    (void)state;
    static const char format[] =
        POLARIZER("4", "30") "<shape type='rectangle'><transform name='to_world'>"
                             "<scale value='9'/><rotate y='1' angle='60'/>"
                             "</transform><bsdf type='conductor' id='it'>"
                             "<float name='eta' value='%.9g'/>" NUMBER("k", "2") "</bsdf></shape>";
    const double eta = 1.5;
    double last = 0;
    char *body;
    if (asprintf(&body, format, eta) < 0)
        fail_msg("out of memory");
    slope s = slope_of("mono_polarized", body, "it.eta.value", BL_FORM_AUTO);
    free(body);
    assert_true(fabs(s.replay) > 0.01);
    for (int k = 0; k < 4; k++) {
        double step = 0.8 / (1 << k), mean[2];
        for (int side = 0; side < 2; side++) {
            if (asprintf(&body, format, eta + (side ? step : -step)) < 0)
                fail_msg("out of memory");
            mean[side] = mean_of("mono_polarized", body);
            free(body);
        }
        double error = fabs((mean[1] - mean[0]) / (2 * step) - s.replay);
        if (k > 0 && !(error < 0.35 * last)) /* 1 / 4, and what rounding adds */
            fail_msg("step %g: off by %g of %g, and by %g with twice that step", step, error, s.replay, last);
        last = error;
    }
}

/* Paths that are twice as long need no more memory. */
static void memory_is_constant_in_depth(void **state)
{
    (void)state;
    static const char body[] = PLATE("0", "<bsdf type='twosided'><bsdf type='conductor' id='it'/></bsdf>")
        PLATE("9", "<bsdf type='twosided'><bsdf type='conductor'/></bsdf>");
    uint64_t bytes[2];
    for (int k = 0; k < 2; k++) {
        char *xml = scene_by("path", body);
        bl_scene *scene;
        bl_job *job;
        bl_stats stats;
        static float adjoint[SIDE * SIDE];
        const char *parameter = "it.k.value";
        if (bl_scene_load_string(device.context, xml, ".",
                                 &(bl_scene_desc){.mode = "mono_polarized", .max_depth = k ? 64 : 4},
                                 &scene) ||
            bl_job_create(device.device, scene,
                          &(bl_job_desc){.parameters = &parameter, .parameter_count = 1}, &job) ||
            bl_job_gradient(job, &(bl_gradient_desc){.spp = 2, .adjoint = adjoint}, &stats))
            fail_msg("%s", bl_context_error(device.context));
        bytes[k] = stats.device_bytes;
        assert_int_equal(stats.drifted, 0);
        bl_job_destroy(job);
        bl_scene_destroy(scene);
        free(xml);
    }
    assert_int_equal(bytes[0], bytes[1]);
}

/* ---- what is like mono, and what is missing ---- */

/* ---- Stokes vectors, spectra ---- */

/* The means of S0 to S3 in the channels of `stokes`, of which red, green and blue are alike or, in spectral
 * modes, all nearly so; rgb: of the image's three channels. */
static void stokes_of(const char *mode, const char *body, double out[4])
{
    char *xml = scene_with("<integrator type='stokes'><integrator type='path'/></integrator>", body);
    bl_scene *scene;
    bl_job *job;
    static float image[SIDE * SIDE * 3], channels[SIDE * SIDE * 12];
    if (bl_scene_load_string(device.context, xml, ".", &(bl_scene_desc){.mode = mode}, &scene) ||
        bl_job_create(device.device, scene, NULL, &job) ||
        bl_job_render(job, &(bl_render_desc){.spp = SPP, .channels = channels}, image, NULL))
        fail_msg("%s", bl_context_error(device.context));
    assert_int_equal(bl_scene_channel_count(scene), 12);
    assert_string_equal(bl_scene_channel_name(scene, 0), "S0.R");
    assert_string_equal(bl_scene_channel_name(scene, 5), "S1.B");
    const uint32_t n = strcmp(mode, "mono_polarized") == 0 ? 1 : 3;
    for (int k = 0; k < 4; k++)
        out[k] = 0;
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        for (uint32_t c = 0; c < 3; c++) /* S0 is the image */
            assert_true(fabsf(channels[12 * i + c] - image[n * i + (n == 3 ? c : 0)]) <= 1e-4f);
        for (int k = 0; k < 4; k++)
            out[k] += (double)channels[12 * i + 3 * (uint32_t)k + 1] / (SIDE * SIDE);
    }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    free(xml);
}

static void stokes_vectors_are_the_closed_forms(void **state)
{
    (void)state;
    static const struct {
        const char *name, *body;
        double expected[4], tolerance;
    } vectors[] = {
        {"the sky", "", {1, 0, 0, 0}, 1e-6},
        {"a polariser", POLARIZER("2", "0"), {0.5, 0.5, 0, 0}, 1e-6},
        {"a polariser that is turned", POLARIZER("2", "30"), {0.5, 0.25, -0.4330127, 0}, 1e-6},
        {"a circular one", CIRCULAR("2", "false"), {0.5, 0, 0, 0.5}, 1e-6},
        {"of the other hand", CIRCULAR("2", "true"), {0.5, 0, 0, -0.5}, 1e-6},
        {"a quarter wave before a polariser",
         RETARDER("2", "45", "90") POLARIZER("1", "0"),
         {0.5, 0, 0, 0.5},
         1e-6},
        {"what depolarises", PLATE("0", "<bsdf type='diffuse'/>"), {0.5, 0, 0, 0}, 2e-2},
        /* (R_s + R_p + (1 - R_s + 1 - R_p) / eta^2) / 2, and what differs: R_p is 0, R_s is across */
        {"glass", GLASS, {0.485534, -0.041091, 0, 0}, 3e-3},
    };
    static const char *const modes[] = {"mono_polarized", "rgb_polarized"};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
        for (int m = 0; m < 2; m++) {
            double s[4];
            stokes_of(modes[m], vectors[k].body, s);
            for (int i = 0; i < 4; i++)
                if (!(fabs(s[i] - vectors[k].expected[i]) <= vectors[k].tolerance))
                    fail_msg("%s, %s: S%d is %.7g, expected %.7g", vectors[k].name, modes[m], i, s[i],
                             vectors[k].expected[i]);
        }
}

/* Wavelengths that carry Stokes vectors: the colours of a white sky have noise, ratios have none. */
static void spectra_are_polarised(void **state)
{
    (void)state;
    static const struct {
        const char *name, *body;
        double expected[4], tolerance;
    } vectors[] = {
        {"a polariser that is turned", POLARIZER("2", "30"), {0.5, 0.25, -0.4330127, 0}, 1e-5},
        {"crossed", POLARIZER("2", "20") POLARIZER("1", "110"), {0, 0, 0, 0}, 1e-6},
        {"a circular one", CIRCULAR("2", "false"), {0.5, 0, 0, 0.5}, 1e-5},
        {"a furnace of metal", BALL("<bsdf type='conductor'/>"), {1, 0, 0, 0}, 2e-3},
    };
    double sky[4];
    stokes_of("spectral_polarized", "", sky);
    assert_true(fabs(sky[0] - 1) < 2e-2);
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
        double s[4];
        stokes_of("spectral_polarized", vectors[k].body, s);
        for (int i = 0; i < 4; i++)
            if (!(fabs(s[i] / sky[0] - vectors[k].expected[i]) <= vectors[k].tolerance))
                fail_msg("%s: S%d is %.7g of %.7g, expected %.7g", vectors[k].name, i, s[i], sky[0],
                         vectors[k].expected[i]);
    }
}

/* Without polarisation everything passes half. */
static void plates_attenuate_without_polarisation(void **state)
{
    (void)state;
    double mean = mean_of("mono", POLARIZER("2", "20") POLARIZER("1", "110"));
    assert_true(fabs(mean - 0.25) < 1e-6);
}

/* Both modes take the same samples. */
static void looks_the_same(const char *body)
{
    double mono = mean_of("mono", body), polarized = mean_of("mono_polarized", body);
    assert_true(mono > 0.1 && fabs(mono - polarized) < 1e-5 * mono);
}

static void what_depolarises_looks_the_same(void **state)
{
    (void)state;
    looks_the_same(PLATE("0", "<bsdf type='diffuse'/>") BALL("<bsdf type='roughplastic'/>"));
}

/* Of light that is not polarised a reflection has the brightness that it has without polarisation. */
static void one_reflection_looks_the_same(void **state)
{
    (void)state;
    looks_the_same(BALL("<bsdf type='conductor'><string name='material' value='Cr'/></bsdf>"));
    looks_the_same(BALL("<bsdf type='roughconductor'><string name='material' value='Cr'/>" NUMBER(
        "alpha_u", "0.2") NUMBER("alpha_v", "0.5") "</bsdf>"));
}

/* Facets that are tilted in all directions: their planes of incidence are turned over with the frame. */
static void both_sides_look_the_same(void **state)
{
    (void)state;
    double front =
               mean_of("mono_polarized", POLARIZER("4", "-45") BREWSTER(FACING, "-45", FACETS_1_5("0.5"))),
           back = mean_of("mono_polarized",
                          POLARIZER("4", "-45") BREWSTER(AWAY, "-45", TWOSIDED(FACETS_1_5("0.5"))));
    assert_true(front > 0.01 && fabs(front - back) < 5e-3 * front);
}

/* Media depolarise; what polarises in them does so up to the first scattering. */
static void media_look_as_they_do_in_mono(void **state)
{
    (void)state;
    static const char fog[] = "<shape type='cube'><transform name='to_world'><scale value='1.5'/></transform>"
                              "<bsdf type='null'/><medium name='interior' type='homogeneous'>"
                              "<float name='sigma_t' value='.7'/><float name='albedo' value='.8'/></medium>"
                              "</shape>" PLATE("-2", "<bsdf type='diffuse'/>"),
                      metal[] = BALL("<bsdf type='conductor'/>");
    double mono = mean_by("volpath", "mono", fog), polarized = mean_by("volpath", "mono_polarized", fog);
    assert_true(mono > 0.3 && mono < 0.99 && fabs(mono - polarized) < 1e-4 * mono);
    assert_true(fabs(mean_by("volpath", "mono_polarized", metal) - 1) < 1e-3);
}

static void refused(const char *integrator, const char *body, const char *why)
{
    char *xml = scene_by(integrator, body);
    bl_scene *scene = NULL;
    assert_int_equal(
        bl_scene_load_string(device.context, xml, ".", &(bl_scene_desc){.mode = "mono_polarized"}, &scene),
        BL_ERROR_UNSUPPORTED);
    if (!strstr(bl_context_error(device.context), why))
        fail_msg("\"%s\" is not in: %s", why, bl_context_error(device.context));
    free(xml);
}

static void what_is_missing_is_an_error(void **state)
{
    (void)state;

    refused("ptracer", BALL("<bsdf type='conductor'/>"), "knows no polarised light");
    refused("pssmlt", BALL("<bsdf type='conductor'/>"), "knows no polarised light");
    refused("volpath", POLARIZER("1", "0"), "does not pass polarizer in volumetric integrators");
    char *xml = scene_by("path", BALL("<bsdf type='conductor' id='it'/>"));
    bl_scene *scene;
    bl_job *job = NULL;
    assert_int_equal(
        bl_scene_load_string(device.context, xml, ".", &(bl_scene_desc){.mode = "mono_polarized"}, &scene),
        BL_OK);
    const char *names[] = {"sensor.to_world"};
    assert_int_not_equal(
        bl_job_create(device.device, scene, &(bl_job_desc){.parameters = names, .parameter_count = 1}, &job),
        BL_OK);
    assert_non_null(
        strstr(bl_context_error(device.context), "those of what moves are not implemented where light is"));
    bl_scene_destroy(scene);
    free(xml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_the_closed_forms),
        cmocka_unit_test(stokes_vectors_are_the_closed_forms),
        cmocka_unit_test(spectra_are_polarised),
        cmocka_unit_test(gradients_are_the_closed_forms),
        cmocka_unit_test(differences_shrink_to_the_gradient),
        cmocka_unit_test(memory_is_constant_in_depth),
        cmocka_unit_test(plates_attenuate_without_polarisation),
        cmocka_unit_test(what_depolarises_looks_the_same),
        cmocka_unit_test(one_reflection_looks_the_same),
        cmocka_unit_test(both_sides_look_the_same),
        cmocka_unit_test(media_look_as_they_do_in_mono),
        cmocka_unit_test(what_is_missing_is_an_error),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "polarized", tests);
}
