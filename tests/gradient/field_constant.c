/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * A field of one density and one colour, before a sky, against the closed form. With n samples of optical
 * thickness tau = sigma step, T_i = exp(-i tau) and T = T_n,
 *
 *     L = (1 - T) c + T sky,         dL/dsky = T,     alpha = 1 - T (1 - alpha behind the field),
 *     dL/dtau_i = T (c - sky),       dL/dc_i = T_i (1 - exp(-tau)).
 *
 * Rays are parallel, and the field's cube is turned toward them, so all rays have the same n samples, at
 * known places of the grid, and see the same colour. That colour comes from spherical harmonics made of
 * associated Legendre polynomials, which the field does not use. Each layer of voxels has the sum of its
 * samples' derivatives, weighted as interpolation weights them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>

enum { STEPS = 10, LAYERS = 3, ACROSS = 2, HARMONICS_MOST = 9, SAMPLES = 4 };
static const double pi = 3.14159265358979323846;
static const double constants = 2e-6, single = 4e-5; /* relative errors: of f32 constants, and of f32 sums */

typedef struct constant_field {
    int degree;
    const char *density, *color; /* activations */
    double raw;                  /* density before activation */
    double ahead[3];             /* direction of view */
    bool separate;               /* the gradient in two kernels */
} constant_field;

static const constant_field fields[] = {
    {0, "none", "none", 1.3, {0, 0, 1}, false},
    {0, "softplus", "sigmoid", -0.4, {-1, 0, 0}, true},
    {1, "relu", "sigmoid", 0.9, {0, 1, 0}, true},
    {1, "softplus", "none", 1.7, {0.3, -0.8, 0.5}, false},
    {1, "none", "softplus", 0.2, {-0.6, -0.1, -0.9}, false},
    {2, "softplus", "sigmoid", 0.6, {0.7, 0.2, -0.4}, false},
    {2, "relu", "none", 2.1, {-0.2, 0.9, 0.3}, true},
    {2, "none", "none", 0.7, {0.1, -0.3, 0.8}, false},
};
static const double sky[3] = {0.7, 0.9, 1.2};

/* ---- what is expected ---- */

/* Real harmonic k = l^2 + l + m, with the phase (-1)^m. */
static double harmonic(int k, const double w[3])
{
    int l = (int)floor(sqrt(k)), m = k - l * l - l, size = abs(m);
    double sine = sqrt(w[0] * w[0] + w[1] * w[1]), around = atan2(w[1], w[0]);
    double legendre = 1; /* P_m^m, then P_l^m by recurrence */
    for (int i = 1; i <= size; i++)
        legendre *= -(2 * i - 1) * sine;
    double before = 0;
    for (int i = size + 1; i <= l; i++) {
        double next = (w[2] * (2 * i - 1) * legendre - (i + size - 1) * before) / (i - size);
        before = legendre, legendre = next;
    }
    double norm = sqrt((2 * l + 1) / (4 * pi) * tgamma(l - size + 1) / tgamma(l + size + 1));
    return norm * legendre * (m == 0 ? 1 : sqrt(2) * (m > 0 ? cos(size * around) : sin(size * around)));
}

static double activated(const char *how, double x, double *slope)
{
    double sigmoid = 1 / (1 + exp(-x));
    switch (how[0] == 's' ? how[1] : 'n') {
    case 'o':
        *slope = sigmoid;
        return log1p(exp(x));
    case 'i':
        *slope = sigmoid * (1 - sigmoid);
        return sigmoid;
    default:
        *slope = 1;
        return x;
    }
}

typedef struct closed_form {
    double through;    /* T */
    double image[3];   /* L */
    double weights[3]; /* dL/dI. The gradient for these: */
    double density[LAYERS], coefficient[LAYERS][3 * HARMONICS_MOST], sky[3];
} closed_form;

/* The part of sample i that layer k of voxels has. */
static double share_of(int i, int k)
{
    double at = (i + 0.5) / STEPS * LAYERS - 0.5, low = floor(at), part = at - low;
    int first = (int)fmax(low, 0), second = (int)fmin(low + 1, LAYERS - 1);
    return (first == k ? 1 - part : 0) + (second == k ? part : 0);
}

static double coefficient(int k, int c) { return 0.9 / (1 + k) + 0.3 * c - (k % 3 == 2 ? 1.1 : 0); }

static closed_form expected(const constant_field *c, const double w[3], double step)
{
    double slope, color_slope[3], seen[3], tau = activated(c->density, c->raw, &slope) * step;
    int harmonics = (c->degree + 1) * (c->degree + 1);
    closed_form r = {.through = exp(-STEPS * tau), .weights = {0.5, 1, 2}};
    for (int ch = 0; ch < 3; ch++) {
        double raw = 0;
        for (int k = 0; k < harmonics; k++)
            raw += coefficient(k, ch) * harmonic(k, w);
        seen[ch] = activated(c->color, raw, &color_slope[ch]);
        r.image[ch] = (1 - r.through) * seen[ch] + r.through * sky[ch];
        r.sky[ch] = r.weights[ch] * r.through;
    }
    for (int i = 0; i < STEPS; i++)
        for (int layer = 0; layer < LAYERS; layer++)
            for (int ch = 0; ch < 3; ch++) {
                double share = share_of(i, layer) * r.weights[ch],
                       by_color = share * exp(-i * tau) * -expm1(-tau) * color_slope[ch];
                r.density[layer] += share * r.through * (seen[ch] - sky[ch]) * step * slope;
                for (int k = 0; k < harmonics; k++)
                    r.coefficient[layer][3 * k + ch] += by_color * harmonic(k, w);
            }
    return r;
}

/* ---- the scene ---- */

#define ORTHOGRAPHIC                                                                                         \
    "<sensor type='orthographic'><float name='near_clip' value='.5'/><transform name='to_world'><scale "     \
    "value='.4'/>%s</transform><film type='hdrfilm'><string name='pixel_format' value='rgba'/><integer "     \
    "name='width' value='2'/><integer name='height' value='1'/><rfilter type='box'/></film></sensor>"

/* A transform that turns z into `ahead` and leads to `at`. */
static char *turned(arena *a, const double ahead[3], const double at[3])
{
    bool upright = fabs(ahead[2]) > fabs(ahead[0]) + fabs(ahead[1]);
    return arena_printf(a, "<lookat origin='%.12g,%.12g,%.12g' target='%.12g,%.12g,%.12g' up='%s'/>", at[0],
                        at[1], at[2], at[0] + ahead[0], at[1] + ahead[1], at[2] + ahead[2],
                        upright ? "0,1,0" : "0,0,1");
}

/* The cube has sides of length 2 about the origin. The rays begin 2.5 from its centre, so their first sample
 * in the cube is half a step behind its side. */
static char *scene(arena *a, const constant_field *c, const double w[3], const char *integrator,
                   const char *body)
{
    double eye[3], origin[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        eye[k] = -3 * w[k];
    char *sensor = arena_printf(a, ORTHOGRAPHIC, turned(a, w, eye));
    char *march = arena_printf(a,
                               "<integrator type='radiance_field'><float name='step_size' value='%g'/>"
                               "<boolean name='jitter' value='false'/>%s</integrator>",
                               2.0 / STEPS, integrator);
    char *field = arena_printf(
        a,
        "<field type='sh_field' id='field'><transform name='to_world'><translate value='-.5,-.5,-.5'/><scale "
        "value='2'/>%s</transform><string name='density_activation' value='%s'/><string "
        "name='color_activation' value='%s'/><volume type='gridvolume' name='density'><string "
        "name='resolution' value='%d %d %d'/><float name='value' value='%.9g'/></volume><volume "
        "type='gridvolume' name='sh_coeffs'><string name='resolution' value='%d,%d,%d'/><integer "
        "name='channels' value='%d'/></volume></field>",
        turned(a, w, origin), c->density, c->color, ACROSS, ACROSS, LAYERS, c->raw, ACROSS, ACROSS, LAYERS,
        3 * (c->degree + 1) * (c->degree + 1));
    return scene_xml(a, march, sensor, arena_printf(a, "%s%s", field, body));
}

#define SKY "<emitter type='constant' id='sky'><rgb name='radiance' value='.7,.9,1.2'/></emitter>"
#define WHOLE "<float name='min_transmittance' value='0'/>"
static const char *const parameters[] = {"field.density.data", "field.sh_coeffs.data", "sky.radiance.value"};

static void normalized(const double v[3], double out[3])
{
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++)
        out[k] = v[k] / length;
}

static void expect(const constant_field *c, const char *what, double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("degree %d, %s and %s, view %g %g %g: %s %.9g, in closed form %.9g +- %g", c->degree,
                 c->density, c->color, c->ahead[0], c->ahead[1], c->ahead[2], what, got, wanted, tolerance);
}

static void run(scene_eval *e, render_pass pass, uint32_t sample, bool f64)
{
    bl_error err = {0};
    scene_eval_at at = {.pixel = sample % 2, .sample = sample, .seed = 3, .f64 = f64};
    if (scene_eval_run(e, pass, at, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(e->status[STATUS_NON_FINITE] + e->status[STATUS_DRIFT], 0);
}

/* The sum of a gradient over a layer of voxels. */
static double layer_sum(const scene_eval *e, const char *name, int layer, int channels, int channel)
{
    const double *g = e->gradient + scene_eval_gradient_first(e, name) + layer * ACROSS * ACROSS * channels;
    double sum = 0;
    for (int i = 0; i < ACROSS * ACROSS; i++)
        sum += g[i * channels + channel];
    return sum;
}

static scene_eval *create(const constant_field *c, const double w[3], const char *integrator,
                          const char *body, uint32_t wanted)
{
    arena a = {0};
    scene_eval *e = scene_eval_create(scene(&a, c, w, integrator, body), ".", parameters, wanted);
    uint32_t channels = 3 * (uint32_t)((c->degree + 1) * (c->degree + 1)),
             first = scene_eval_value_first(e, parameters[1]);
    for (uint32_t i = 0; i < ACROSS * ACROSS * LAYERS * channels; i++)
        e->values[first + i] = coefficient((int)(i % channels / 3), (int)(i % 3));
    arena_free(&a);
    return e;
}

static void sample_agrees(scene_eval *e, const constant_field *c, const closed_form *wanted, uint32_t sample,
                          bool f64)
{
    double tolerance = f64 ? constants : single;
    int channels = 3 * (c->degree + 1) * (c->degree + 1);
    run(e, RENDER_PRIMAL, sample, f64);
    for (int ch = 0; ch < 3; ch++)
        expect(c, "image", e->film[3 * (sample % 2) + (uint32_t)ch], wanted->image[ch], tolerance * 3);
    for (uint32_t i = 0; i < 6; i++)
        e->adjoint[i] = (float)wanted->weights[i % 3];
    run(e, c->separate ? RENDER_ADJOINT : RENDER_GRADIENT, sample, f64);
    for (int layer = 0; layer < LAYERS; layer++) {
        expect(c, "gradient by the density", layer_sum(e, parameters[0], layer, 1, 0), wanted->density[layer],
               tolerance);
        for (int k = 0; k < channels; k++)
            expect(c, "gradient by a coefficient", layer_sum(e, parameters[1], layer, channels, k),
                   wanted->coefficient[layer][k], tolerance);
    }
    for (int ch = 0; ch < 3; ch++)
        expect(c, "gradient by the sky",
               e->gradient[scene_eval_gradient_first(e, parameters[2]) + (uint32_t)ch], wanted->sky[ch],
               tolerance * 2);
}

static void image_and_gradient(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        double w[3];
        normalized(fields[k].ahead, w);
        closed_form wanted = expected(&fields[k], w, 2.0 / STEPS);
        scene_eval *e = create(&fields[k], w, WHOLE, SKY, 3);
        for (uint32_t sample = 0; sample < SAMPLES; sample++)
            for (int f64 = 0; f64 < 2; f64++)
                sample_agrees(e, &fields[k], &wanted, sample, f64);
        scene_eval_destroy(e);
    }
}

/* ---- alpha ---- */

/* A square across the view, at a distance from the cube's centre. */
#define SQUARE(z, content)                                                                                   \
    "<shape type='rectangle'><transform name='to_world'><scale value='3'/><translate z='" z                  \
    "'/></transform>" content "</shape>"
#define BLACK "<bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf>"
#define LAMP "<emitter type='area'><rgb name='radiance' value='4'/></emitter>"
#define HIDDEN "<boolean name='hide_emitters' value='true'/>"

static const struct alpha_case {
    const char *integrator, *body;
    int samples; /* of the field before what lies behind it; their light is all that is seen */
    double behind;
} alphas[] = {
    {WHOLE, "", STEPS, 0},
    {WHOLE, SQUARE("1.5", BLACK), STEPS, 1},
    {WHOLE, SQUARE("-1.5", BLACK), 0, 1},
    {WHOLE, SQUARE(".4", BLACK), 7, 1},
    {WHOLE, SQUARE(".4", "<bsdf type='null'/>"), STEPS, 0},
    {WHOLE, SQUARE("-.2", "<bsdf type='null'/>") SQUARE(".8", "<bsdf type='null'/>"), STEPS, 0},
    {WHOLE HIDDEN, SKY, STEPS, 0},
    {WHOLE HIDDEN, SQUARE("-1.8", BLACK LAMP), STEPS, 0},
    {WHOLE HIDDEN, SQUARE("-1.8", BLACK LAMP) SQUARE("1.3", BLACK), STEPS, 1},
    {WHOLE HIDDEN, SQUARE("-1.8", BLACK LAMP) SQUARE("-.6", BLACK), 2, 1},
    {"<float name='min_transmittance' value='.6'/>", "", STEPS, 1},
};

/* Alpha, and the light that the field has added before the surface. The rays look along z. */
static void alpha(void **state)
{
    (void)state;
    static const constant_field c = {1, "softplus", "sigmoid", 0.5, {0, 0, 1}, false};
    static const double w[3] = {0, 0, 1};
    for (size_t k = 0; k < sizeof alphas / sizeof *alphas; k++) {
        const struct alpha_case *own = &alphas[k];
        double slope, tau = activated(c.density, c.raw, &slope) * 2 / STEPS,
                      through = exp(-own->samples * tau);
        scene_eval *e = create(&c, w, own->integrator, own->body, 2);
        closed_form whole = expected(&c, w, 2.0 / STEPS);
        bool ends = strcmp(own->integrator, WHOLE) != 0 && strcmp(own->integrator, WHOLE HIDDEN) != 0;
        for (uint32_t sample = 0; sample < SAMPLES; sample++) {
            run(e, RENDER_CHANNELS, sample, true);
            expect(&c, own->body, e->film[sample % 2], 1 - through * (1 - own->behind), constants);
            run(e, RENDER_PRIMAL, sample, true);
            double seen = (whole.image[0] - whole.through * sky[0]) / (1 - whole.through);
            if (!ends)
                expect(&c, own->body, e->film[3 * (sample % 2)], seen * (1 - through), 3 * constants);
        }
        scene_eval_destroy(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(image_and_gradient), cmocka_unit_test(alpha)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
