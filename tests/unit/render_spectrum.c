/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Sampled spectra, traced, in the interpreter: densities of wavelengths against their integral and the
 * inverse of sampling; the observer, D65 and a film's response against sums in C; curves against lines drawn
 * by hand; black bodies against Planck's law; smooth spectra for RGB against the colour that they should
 * have and values that Mitsuba 3.9 gives. Derivatives against differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/spectrum/spectrum.h"
#include "scene/scene.h"
#include "spirv_gen/ad/ad.h"
#include "support/scene_cases.h"

#include <math.h>
#include <string.h>

enum { IN_MOST = 12, OUT_MOST = 16 };

/* What is traced: numbers from numbers. */
typedef void traced_body(tracer *t, const ir_ref *in, ir_ref *out);

/* With weights, running it also gives the derivatives of the weighted sum of the outputs. */
typedef struct traced {
    ir_module *module;
    ir_func *f;
    uint32_t ins, outs;
} traced;

static traced record(traced_body *body, uint32_t ins, uint32_t outs, const double *weights)
{
    traced r = {ir_module_create(), NULL, ins, outs};
    ir_buffer_add(r.module, "scene", true, -1);
    ir_buffer_add(r.module, "values", true, BUFFER_GRADIENT);
    ir_buffer_add(r.module, "gradient", false, -1);
    r.f = ir_func_create(r.module, "test");
    r.module->entry = r.f;
    tracer t = {.f = r.f, .differentiated = weights != NULL, .channels = 3};
    ir_ref in[IN_MOST], out[OUT_MOST], seeds[OUT_MOST];
    for (uint32_t k = 0; k < ins; k++)
        in[k] = weights ? ir_dload(r.f, BUFFER_VALUES, ir_u32(r.f, k), ir_u32(r.f, k))
                        : ir_load(r.f, IR_F32, BUFFER_VALUES, ir_u32(r.f, k));
    body(&t, in, out);
    for (uint32_t k = 0; k < outs && weights; k++)
        seeds[k] = ir_f32(r.f, (float)weights[k]);
    if (weights)
        ad_backward(r.f, out, seeds, outs, NULL, NULL, 0);
    ir_return(r.f, out, outs);
    bl_error err = {0};
    if (ir_finish(r.module, &err) != BL_OK)
        fail_msg("%s", err.text);
    return r;
}

/* Three bands: one with a jump at either end, one that overlaps it, and one by itself, behind a gap. */
enum { BANDS = 3, KNOTS = 10, BANDS_WORDS_MOST = 64 };
static const double band_nm[KNOTS] = {400, 400, 450, 500, 500, 550, 700, 800, 900, 900},
                    band_values[KNOTS * BANDS] = {0, 0, 0, .5, 0, 0, .75, 0, 0, 1, .5, 0, 0, .5, 0,
                                                  0, 1, 0, 0,  0, 0, 0,   0, 2, 0, 0,  1, 0, 0,  0};
static const film_bands bands = {.count = BANDS, .knots = KNOTS, .nm = band_nm, .values = band_values};
static const char *const band_names[BANDS] = {"jump", "tent", "far"};
static const double band_integrals[BANDS] = {75, 125 + 12.5 - 12.5 + 0, 250};

static void put_bands(uint32_t *words)
{
    assert_true(bands_words(&bands) <= BANDS_WORDS_MOST);
    bands_table(&bands, words);
}

/* gradient: of as many numbers as there are ins, or NULL. */
static void run(const traced *r, bool f64, const double *in, double *out, double *gradient)
{
    static uint32_t table[SPECTRUM_TABLE_WORDS + BANDS_WORDS_MOST];
    double none[IN_MOST] = {0};
    float single[IN_MOST];
    ir_value got[OUT_MOST];
    bl_error err = {0};
    for (uint32_t k = 0; k < r->ins; k++)
        single[k] = (float)in[k];
    for (uint32_t k = 0; k < r->ins && gradient; k++)
        gradient[k] = 0;
    if (table[0] == 0) {
        spectrum_table(table);
        put_bands(table + SPECTRUM_TABLE_WORDS);
    }
    ir_eval_buffer buffers[3] = {{.words = table, .count = sizeof table / sizeof *table},
                                 {.reals = (double *)(uintptr_t)in, .count = r->ins},
                                 {.reals = gradient ? gradient : none, .count = r->ins}};
    if (!f64)
        buffers[1] = (ir_eval_buffer){.words = (uint32_t *)(void *)single, .count = r->ins};
    ir_eval_env env = {.buffers = buffers, .buffer_count = 3, .f64 = f64};
    if (ir_eval(r->f, NULL, got, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t k = 0; k < r->outs; k++)
        out[k] = got[k].f;
}

static void near(double value, double expected, double tolerance, const char *what)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%s: %.12g, expected %.12g", what, value, expected);
}

/* Derivatives of the weighted sum of the outputs by the first `by` inputs, against central differences in
 * f64. */
static void check_slopes(traced_body *body, const double *in, uint32_t ins, uint32_t by, uint32_t outs,
                         double step, double tolerance)
{
    double weights[OUT_MOST], gradient[IN_MOST], out[OUT_MOST], moved[IN_MOST];
    uint32_t random = 7;
    for (uint32_t k = 0; k < outs; k++)
        weights[k] = 0.5 + scene_random(&random);
    traced forth = record(body, ins, outs, weights), plain = record(body, ins, outs, NULL);
    run(&forth, true, in, out, gradient);
    for (uint32_t k = 0; k < by; k++) {
        double sum[2] = {0}, h = step * fmax(fabs(in[k]), 0.1);
        for (int side = 0; side < 2; side++) {
            memcpy(moved, in, ins * sizeof *in);
            moved[k] += side ? h : -h;
            run(&plain, true, moved, out, NULL);
            for (uint32_t o = 0; o < outs; o++)
                sum[side] += (double)(float)weights[o] * out[o];
        }
        double slope = (sum[1] - sum[0]) / (2 * h);
        if (!(fabs(slope - gradient[k]) <= tolerance * (1 + fabs(slope))))
            fail_msg("by number %u at (%g, %g, %g): %.9g, differences %.9g", k, in[0], in[1], in[2],
                     gradient[k], slope);
    }
    ir_module_destroy(forth.module);
    ir_module_destroy(plain.module);
}

/* ---- wavelengths ---- */

static void put_wavelengths(tracer *t, const wavelength_set *w, ir_ref *out)
{
    for (int k = 0; k < WAVELENGTHS; k++)
        out[k] = w->nm[k], out[WAVELENGTHS + k] = ir_div(t->f, t_f32(t, 1), w->inverse[k]);
}
static void sample_visible(tracer *t, const ir_ref *in, ir_ref *out)
{
    wavelength_set w = wavelengths_sample(t, t_u32(t, 0), in[0]);
    put_wavelengths(t, &w, out);
}
/* Sampling is the inverse of the density's integral: 4 d nm / d u is 1 / pdf, since a quarter of the density
 * belongs to a wavelength. It goes on from one quarter to the next, from the first wavelength to the last. So
 * the density integrates to 1. */
static void wavelengths_have_their_density(void **state)
{
    (void)state;
    double at[8], below[8], above[8];
    traced r = record(sample_visible, 1, 8, NULL);
    for (int i = 0; i < 400; i++) {
        double u = (i + 0.31) / 400, h = 1e-5;
        if (floor((u - h) * SPECTRUM_CELLS) < floor((u + h) * SPECTRUM_CELLS))
            continue; /* the density jumps there */
        run(&r, true, (double[]){u}, at, NULL);
        run(&r, true, (double[]){u - h}, below, NULL);
        run(&r, true, (double[]){u + h}, above, NULL);
        for (int k = 0; k < WAVELENGTHS; k++) {
            assert_true(at[k] >= 360 && at[k] <= 830);
            near(4 * (above[k] - below[k]) / (2 * h) * at[4 + k], 1, 1e-5, "4 d nm / d u times pdf");
        }
    }
    run(&r, false, (double[]){0}, at, NULL);
    run(&r, false, (double[]){1 - 0x1p-24}, below, NULL);
    near(at[0], 360, 1e-3, "the first wavelength");
    for (int k = 0; k + 1 < WAVELENGTHS; k++)
        near(below[k], at[k + 1], 1e-3, "the end of a quarter");
    near(below[3], 830, 1e-3, "the last wavelength");
    assert_true(below[3] <= 830);
    ir_module_destroy(r.module);
}

/* The density is Mitsuba's but for its steps. */
static void visible_wavelengths_are_those_of_mitsuba(void **state)
{
    (void)state;
    static const double known[4][2] = {
        {360, 955.273}, {479.154, 302.177}, {545.903, 254.643}, {616.856, 344.819}};
    traced r = record(sample_visible, 1, 8, NULL);
    double out[8], first = tanh(.0072 * (538 - 360)), range = first - tanh(.0072 * (538 - 830));
    run(&r, false, (double[]){0}, out, NULL);
    for (int k = 0; k < 4; k++) {
        near(out[k], known[k][0], 1e-3, "wavelength");
        near(1 / out[4 + k], known[k][1], 0.01 * known[k][1], "1 / pdf");
    }
    for (int cell = 0; cell < SPECTRUM_CELLS; cell++) {
        run(&r, false, (double[]){(double)cell / SPECTRUM_CELLS}, out, NULL);
        for (int k = 0; k < WAVELENGTHS; k++)
            near((first - tanh(.0072 * (538 - out[k]))) / range, (k + (double)cell / SPECTRUM_CELLS) / 4,
                 1e-6, "the share below a wavelength");
    }
    ir_module_destroy(r.module);
}

/* ---- observer, response ---- */

static void observe(tracer *t, const ir_ref *in, ir_ref *out)
{
    wavelength_set w = {.nm = {in[0], in[0], in[0], in[0]}};
    wavelengths_observe(t, t_u32(t, 0), &w);
    out[0] = w.rgb[3][0], out[1] = w.rgb[3][1], out[2] = w.rgb[3][2], out[3] = w.d65[3];
}

static void observer_follows_its_table(void **state)
{
    (void)state;
    traced r = record(observe, 1, 4, NULL);
    double out[4], white[3] = {0};
    for (int i = 0; i < 940; i++) {
        double nm = 360 + (i + 0.25) / 2, at = (nm - 360) / 5, share = at - floor(at), curve[4];
        const double *low = spectrum_curves[(int)at], *high = spectrum_curves[(int)at + 1];
        run(&r, true, &nm, out, NULL);
        for (int c = 0; c < 4; c++)
            curve[c] =
                (low[c] + share * (high[c] - low[c])) * (c < 3 ? spectrum_luminance_norm : spectrum_d65_norm);
        for (int c = 0; c < 3; c++) {
            const double *row = spectrum_rgb_rows[c];
            near(out[c], row[0] * curve[0] + row[1] * curve[1] + row[2] * curve[2], 1e-6, "a curve");
            white[c] += out[c] * out[3] / 2;
        }
        near(out[3], curve[3], 1e-6, "D65");
    }
    for (int c = 0; c < 3; c++)
        near(white[c], 1, 3e-4, "D65 in linear sRGB");
    for (int side = 0; side < 2; side++) {
        run(&r, true, (double[]){side ? 830.1 : 359.9}, out, NULL);
        assert_true(out[0] == 0 && out[1] == 0 && out[2] == 0 && out[3] == 0);
        run(&r, false, (double[]){side ? 830 : 360}, out, NULL);
        assert_true(out[0] > 0 && out[2] != 0 && out[3] > 0.4);
    }
    ir_module_destroy(r.module);
}

/* The film's weights for what D65 gives, estimated with wavelengths from in[0]. */
static void see_d65(tracer *t, const ir_ref *in, ir_ref *out)
{
    wavelength_set w = wavelengths_sample(t, t_u32(t, 0), in[0]);
    film_response r = response_rgb(&w);
    response_apply(t, &r, w.d65, out);
}
/* <film, weights light> - <weights^T film, light>, and the first of the two. */
static void transpose(tracer *t, const ir_ref *in, ir_ref *out)
{
    ir_func *f = t->f;
    ir_ref back[WAVELENGTHS], seen[3], here = t_f32(t, 0), there = here;
    wavelength_set w = wavelengths_sample(t, t_u32(t, 0), in[0]);
    film_response r = response_rgb(&w);
    response_apply(t, &r, in + 1, seen);
    response_transposed(t, &r, in + 1 + WAVELENGTHS, back);
    for (int b = 0; b < 3; b++)
        here = t_mad(t, in[1 + WAVELENGTHS + b], seen[b], here);
    for (int k = 0; k < WAVELENGTHS; k++)
        there = t_mad(t, in[1 + k], back[k], there);
    out[0] = ir_sub(f, here, there), out[1] = here;
}

static void film_sees_white_under_d65(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    traced r = record(see_d65, 1, 3, NULL);
    double sum[3] = {0}, out[3];
    for (int i = 0; i < COUNT; i++) {
        run(&r, true, (double[]){(i + 0.5) / COUNT}, out, NULL);
        for (int c = 0; c < 3; c++)
            sum[c] += out[c] / COUNT;
    }
    for (int c = 0; c < 3; c++)
        near(sum[c], 1, 3e-4, "D65 in linear sRGB");
    ir_module_destroy(r.module);
}

/* What the film sees of light (nm / 500)^3 under D65. */
static void see_slope(tracer *t, const ir_ref *in, ir_ref *out)
{
    wavelength_set w = wavelengths_sample(t, t_u32(t, 0), in[0]);
    film_response r = response_rgb(&w);
    ir_ref light[WAVELENGTHS];
    for (int k = 0; k < WAVELENGTHS; k++) {
        ir_ref at = ir_mul(t->f, w.nm[k], t_f32(t, 1.0f / 500));
        light[k] = ir_mul(t->f, w.d65[k], ir_mul(t->f, at, ir_mul(t->f, at, at)));
    }
    response_apply(t, &r, light, out);
}

/* Cells of wavelengths give the integrals of the curves, which are straight between samples. */
static void cells_give_integrals(void **state)
{
    (void)state;
    enum { COUNT = 16 * SPECTRUM_CELLS, FINE = 4700 };
    traced r = record(see_slope, 1, 3, NULL), curves = record(observe, 1, 4, NULL);
    double sum[3] = {0}, expected[3] = {0}, out[4];
    for (int i = 0; i < COUNT; i++) {
        run(&r, true, (double[]){(i + 0.5) / COUNT}, out, NULL);
        for (int c = 0; c < 3; c++)
            sum[c] += out[c] / COUNT;
    }
    for (int i = 0; i < FINE; i++) {
        double nm = 360 + (i + 0.5) * 470 / FINE;
        run(&curves, true, &nm, out, NULL);
        for (int c = 0; c < 3; c++)
            expected[c] += out[c] * out[3] * pow(nm / 500, 3) * 470 / FINE;
    }
    for (int c = 0; c < 3; c++)
        near(sum[c], expected[c], 1e-5 * expected[c], "light in linear sRGB");
    ir_module_destroy(r.module);
    ir_module_destroy(curves.module);
}

static void response_has_its_transpose(void **state)
{
    (void)state;
    double out[2];
    traced r = record(transpose, 8, 2, NULL);
    run(&r, true, (double[]){.37, .2, 1.5, .7, 3, .9, -.4, 2}, out, NULL);
    near(out[0], 0, 1e-12, "difference of the products");
    assert_true(fabs(out[1]) > 0.1);
    ir_module_destroy(r.module);
}

/* ---- bands ---- */

static ir_ref bands_table_at(tracer *t) { return t_u32(t, SPECTRUM_TABLE_WORDS); }
static void sample_bands(tracer *t, const ir_ref *in, ir_ref *out)
{
    wavelength_set w = bands_sample(t, bands_table_at(t), BANDS, in[0]);
    put_wavelengths(t, &w, out);
}
static void see_bands(tracer *t, const ir_ref *in, ir_ref *out)
{
    ir_ref light[WAVELENGTHS];
    wavelength_set w = bands_sample(t, bands_table_at(t), BANDS, in[0]);
    film_response r = response_bands(t, bands_table_at(t), BANDS, &w);
    for (int k = 0; k < WAVELENGTHS; k++)
        light[k] = ir_mul(t->f, w.nm[k], t_f32(t, 0.01f)); /* a light that is no constant */
    response_apply(t, &r, light, out);
    for (int k = 0; k < WAVELENGTHS; k++)
        light[k] = t_f32(t, 1);
    response_apply(t, &r, light, out + BANDS);
}

/* The curve of a band by hand, and the integral of its product with nm / 100 by a fine sum. */
static double band_at(int b, double nm)
{
    for (int j = 1; j < KNOTS; j++)
        if (nm > band_nm[j - 1] && nm < band_nm[j]) {
            double low = band_values[(j - 1) * BANDS + b], high = band_values[j * BANDS + b];
            return low + (nm - band_nm[j - 1]) / (band_nm[j] - band_nm[j - 1]) * (high - low);
        }
    return 0;
}

static void bands_are_sampled_by_their_sum(void **state)
{
    (void)state;
    traced r = record(sample_bands, 1, 8, NULL);
    double at[8], below[8], above[8], all = 0;
    for (int b = 0; b < BANDS; b++)
        all += bands_integral_of(&bands, (uint32_t)b);
    for (int i = 0; i < 400; i++) {
        double u = (i + 0.31) / 400, h = 1e-6;
        run(&r, true, (double[]){u}, at, NULL);
        run(&r, true, (double[]){u - h}, below, NULL);
        run(&r, true, (double[]){u + h}, above, NULL);
        for (int k = 0; k < WAVELENGTHS; k++) {
            double sum = band_at(0, at[k]) + band_at(1, at[k]) + band_at(2, at[k]);
            near(at[4 + k], sum / all, 1e-6 * sum / all, "density");
            if (above[k] - below[k] < 1) /* not over the gap */
                near((above[k] - below[k]) / (2 * h) * at[4 + k], 1, 1e-3, "d nm / d u times pdf");
        }
    }
    run(&r, false, (double[]){0}, at, NULL);
    near(at[0], 400, 1e-3, "the first wavelength");
    run(&r, false, (double[]){1 - 0x1p-24}, at, NULL);
    near(at[0], 900, 1e-1, "the last wavelength");
    ir_module_destroy(r.module);
}

/* Bands of a known light; of a constant one every sample has the sum of all integrals. */
static void bands_are_integrals(void **state)
{
    (void)state;
    enum { COUNT = 4000, FINE = 200000 };
    traced r = record(see_bands, 1, 2 * BANDS, NULL);
    double sum[2 * BANDS] = {0}, out[2 * BANDS], all = 0;
    for (int b = 0; b < BANDS; b++) {
        near(bands_integral_of(&bands, (uint32_t)b), band_integrals[b], 1e-9, band_names[b]);
        all += band_integrals[b];
    }
    for (int i = 0; i < COUNT; i++) {
        run(&r, true, (double[]){(i + 0.5) / COUNT}, out, NULL);
        near(out[BANDS] + out[BANDS + 1] + out[BANDS + 2], all, 1e-4 * all, "all bands of a sample");
        for (int b = 0; b < 2 * BANDS; b++)
            sum[b] += out[b] / COUNT;
    }
    for (int b = 0; b < BANDS; b++) {
        double expected = 0;
        for (int i = 0; i < FINE; i++) {
            double nm = 400 + (i + 0.5) / FINE * 500;
            expected += band_at(b, nm) * nm / 100 * 500 / FINE;
        }
        near(sum[b], expected, 2e-3 * expected, band_names[b]);
        near(sum[BANDS + b], band_integrals[b], 2e-3 * band_integrals[b], band_names[b]);
    }
    ir_module_destroy(r.module);
}

/* ---- curves ---- */

enum { SAMPLES = 4, PLACES = 2 * SAMPLES /* where the wavelengths stand, behind values and other inputs */ };

static ir_ref listed(tracer *t, const void *of, ir_ref k)
{
    const ir_ref *in = of;
    ir_ref r = in[0];
    for (uint32_t i = 1; i < SAMPLES; i++)
        r = ir_select(t->f, ir_eq(t->f, k, t_u32(t, i)), in[i], r);
    return r;
}
/* in: the values, then the wavelength; in[PLACES] and on: the wavelengths of the samples */
static void irregular(tracer *t, const ir_ref *in, ir_ref *out)
{
    sampled_curve c = {listed, in, t_u32(t, SAMPLES)};
    out[0] = curve_irregular(t, &c, t_u32(t, PLACES), ir_detach(t->f, in[SAMPLES]));
}
static void blackbody(tracer *t, const ir_ref *in, ir_ref *out)
{
    out[0] = curve_blackbody(t, in[0], ir_detach(t->f, in[1]));
}

static void curves_are_lines_between_samples(void **state)
{
    (void)state;
    static const double known[][2] = {
        /* wavelength; the value */
        {399.9, 0}, {400, 1},   {415, 2}, {430, 3},  {500, 3 + 70 / 170.0 * 2}, {550, 3 + 120 / 170.0 * 2},
        {600, 5},   {650, 2.5}, {700, 0}, {700.1, 0}};
    traced i = record(irregular, 12, 1, NULL);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (int f64 = 0; f64 < 2; f64++) {
            double out;
            run(&i, f64, (double[]){1, 3, 5, 0, known[k][0], 0, 0, 0, 400, 430, 600, 700}, &out, NULL);
            near(out, known[k][1], 1e-5, "samples");
        }
    ir_module_destroy(i.module);
    check_slopes(irregular, (double[]){1, 3, 5, 0, 530, 0, 0, 0, 400, 430, 600, 700}, 12, 4, 1, 1e-3, 1e-6);
}

static void black_bodies_follow_plancks_law(void **state)
{
    (void)state;
    traced r = record(blackbody, 2, 1, NULL);
    for (int i = 0; i < 40; i++) {
        double temperature = 800 * pow(1.1, i), nm = 365 + 11 * i, metres = nm * 1e-9, out;
        double expected = 2 * 6.62607015e-34 * 299792458.0 * 299792458.0 / pow(metres, 5) /
                          expm1(6.62607015e-34 * 299792458.0 / (metres * 1.380649e-23 * temperature)) * 1e-9;
        for (int f64 = 0; f64 < 2; f64++) {
            run(&r, f64, (double[]){temperature, nm}, &out, NULL);
            near(out, expected, 2e-5 * expected, "radiance");
        }
    }
    ir_module_destroy(r.module);
    check_slopes(blackbody, (double[]){3000, 600}, 2, 1, 1, 1e-4, 1e-4);
}

/* ---- smooth spectra ---- */

static void solve(tracer *t, const ir_ref *in, ir_ref *out)
{
    upsampling u = upsampling_solve(t, t_u32(t, 0), in);
    out[0] = u.c[0], out[1] = u.c[1], out[2] = u.c[2];
}
static void evaluate(tracer *t, const ir_ref *in, ir_ref *out)
{
    upsampling u = {{in[0], in[1], in[2]}, in[3]};
    out[0] = upsampled(t, &u, in[4]);
}
/* Five spectra about in[0..2], with weights in[3..7], at in[8] nm: mixed, and one by one. in[9] times what
 * sets them apart. */
enum { MIXED = 5 };
static void mix(tracer *t, const ir_ref *in, ir_ref *out)
{
    upsampling u[MIXED];
    out[1] = t_f32(t, 0);
    for (int k = 0; k < MIXED; k++) {
        ir_ref apart = ir_mul(t->f, in[9], t_f32(t, (float)k));
        u[k] = (upsampling){{ir_sub(t->f, in[0], apart), in[1], t_mad(t, apart, t_f32(t, 2), in[2])},
                            t_f32(t, 1)};
        out[1] = t_mad(t, in[3 + k], upsampled(t, &u[k], in[8]), out[1]);
    }
    out[0] = upsampled_mix(t, u, in + 3, MIXED, in[8]);
}
/* The spectrum of in[0..2] at five wavelengths. */
static void upsample(tracer *t, const ir_ref *in, ir_ref *out)
{
    static const float nm[5] = {420, 470, 530, 580, 650};
    upsampling u = upsampling_solve(t, t_u32(t, 0), in);
    for (int k = 0; k < 5; k++)
        out[k] = upsampled(t, &u, t_f32(t, nm[k]));
}

/* The colour under D65 of the spectrum with these coefficients, by the midpoint rule in steps of 1 nm. */
static void colour_of(const traced *at, const double *c, double rgb[3])
{
    double white[3] = {0}, value;
    rgb[0] = rgb[1] = rgb[2] = 0;
    for (int i = 0; i < 470; i++) {
        double nm = 360.5 + i, place = (nm - 360) / 5, share = place - floor(place), xyz[4];
        const double *low = spectrum_curves[(int)place], *high = spectrum_curves[(int)place + 1];
        for (int k = 0; k < 4; k++)
            xyz[k] = low[k] + share * (high[k] - low[k]);
        run(at, true, (double[]){c[0], c[1], c[2], 1, nm}, &value, NULL);
        assert_true(value >= 0 && value <= 1);
        for (int b = 0; b < 3; b++) {
            const double *row = spectrum_rgb_rows[b];
            double seen = (row[0] * xyz[0] + row[1] * xyz[1] + row[2] * xyz[2]) * xyz[3];
            rgb[b] += seen * value, white[b] += seen;
        }
    }
    for (int b = 0; b < 3; b++)
        rgb[b] /= white[b];
}

static void check_colour(const traced *found, const traced *at, const double *rgb, bool f64)
{
    double c[3], seen[3];
    run(found, f64, rgb, c, NULL);
    colour_of(at, c, seen);
    for (int b = 0; b < 3; b++)
        if (!(fabs(seen[b] - rgb[b]) <= 4e-4)) /* LEAST_SHARE, and another rule of integration */
            fail_msg("(%g, %g, %g)%s: coefficients %g %g %g have the colour %.7g %.7g %.7g", rgb[0], rgb[1],
                     rgb[2], f64 ? ", f64" : "", c[0], c[1], c[2], seen[0], seen[1], seen[2]);
}

static void spectra_have_their_colour(void **state)
{
    (void)state;
    static const double extremes[][3] = {
        {0, 0, 0},    {1, 1, 1},  {1, 0, 0},    {0, 1, 0},       {0, 0, 1},          {1, 1, 0},
        {0, 1, 1},    {1, 0, 1},  {1e-3, 0, 0}, {1, 1, .999},    {.63, .065, .05},   {.14, .45, .091},
        {.5, .5, .5}, {1, .5, 0}, {0, 0, .003}, {.9, .95, 0.01}, {1e-6, 1e-5, 1e-4},
    };
    traced found = record(solve, 3, 3, NULL), at = record(evaluate, 5, 1, NULL);
    uint32_t random = 3;
    for (size_t k = 0; k < sizeof extremes / sizeof *extremes; k++)
        for (int f64 = 0; f64 < 2; f64++)
            check_colour(&found, &at, extremes[k], f64);
    for (int i = 0; i < 60; i++) {
        double rgb[3];
        for (int b = 0; b < 3; b++) {
            double u = scene_random(&random);
            rgb[b] = i % 3 == 0 ? u : i % 3 == 1 ? pow(u, 6) : 1 - pow(u, 6);
        }
        check_colour(&found, &at, rgb, false);
    }
    ir_module_destroy(found.module);
    ir_module_destroy(at.module);
}

/* A grey is the same at all wavelengths; white and black nearly 1 and 0; out of range is held. */
static void range_of_spectrum(tracer *t, const ir_ref *in, ir_ref *out)
{
    const upsampling u = {{in[0], in[1], in[2]}, t_f32(t, 1)};
    upsampled_range(t, &u, 360, 830, &out[0], &out[1]);
    upsampled_range(t, &u, 500, 900, &out[2], &out[3]);
}

/* The bounds are those of the spectrum at wavelengths .5 nm apart: with vertices within and beyond the range,
 * of both signs, and without. */
static void ranges_are_those_of_the_spectrum(void **state)
{
    (void)state;
    static const double sets[][3] = {{2, 1, -1},  {-3, 1, .5}, {-3, 9, 1},
                                     {5, -20, 0}, {0, 2, -1},  {0, 0, .3}};
    traced range = record(range_of_spectrum, 3, 4, NULL), at = record(evaluate, 5, 1, NULL);
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        const double *c = sets[k];
        double found[4], bounds[4] = {1, 0, 1, 0}, value;
        run(&range, true, c, found, NULL);
        for (double nm = 360; nm <= 900; nm += .5) {
            run(&at, true, (double[]){c[0], c[1], c[2], 1, nm}, &value, NULL);
            for (int b = 0; b < 2; b++) {
                bool within = b ? nm >= 500 : nm <= 830;
                bounds[2 * b] = within ? fmin(bounds[2 * b], value) : bounds[2 * b];
                bounds[2 * b + 1] = within ? fmax(bounds[2 * b + 1], value) : bounds[2 * b + 1];
            }
        }
        for (int b = 0; b < 4; b++)
            if (!(fabs(found[b] - bounds[b]) <= 1e-5))
                fail_msg("set %zu, bound %d: %g, expected %g", k, b, found[b], bounds[b]);
    }
    ir_module_destroy(range.module);
    ir_module_destroy(at.module);
}

/* Between spectra of colours, and of blacks alone, where paths end. */
static void mixes_are_sums(void **state)
{
    (void)state;
    static const double sets[][10] = {{2, 1, -1, .1, .2, .3, .15, .25, 430, .7},
                                      {-3, .5, -40, .5, 0, .1, .4, 2, 650, 9},
                                      {5, -20, 300, .1, .2, .3, .15, .25, 500, -90}};
    traced r = record(mix, 10, 2, NULL);
    double out[2];
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        run(&r, true, sets[k], out, NULL);
        near(out[0], out[1], 1e-9, "a mix");
        run(&r, false, sets[k], out, NULL);
        near(out[0], out[1], 1e-6, "a mix in single precision");
        check_slopes(mix, sets[k], 10, 8, 2, 1e-5, 1e-5);
    }
    run(&r, false, (double[]){0, 0, -0x1p30, .1, .2, .3, .15, .25, 500, 0}, out, NULL);
    assert_true(out[0] == 0 && out[1] == 0);
    run(&r, false, (double[]){0, 0, 0x1p30, .1, .2, .3, .15, .25, 500, 0}, out, NULL);
    near(out[0], 1, 2e-7, "a mix of whites");
    ir_module_destroy(r.module);
}

static void greys_are_flat(void **state)
{
    (void)state;
    static const double known[][2] = {{0, 0}, {.2, .2}, {.5, .5}, {.8, .8}, {1, 1}, {1.5, 1}, {-.1, 0}};
    traced r = record(upsample, 3, 5, NULL);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        double g = known[k][0], out[5];
        run(&r, false, (double[]){g, g, g}, out, NULL);
        for (int i = 0; i < 5; i++)
            near(out[i], known[k][1], 2e-6, "a grey");
        for (int i = 0; i < 5 && (known[k][1] == 0 || known[k][1] == 1); i++)
            assert_true(out[i] == known[k][1]); /* so that paths end at black */
    }
    ir_module_destroy(r.module);
}

/* Mitsuba 3.9 interpolates a table, so it is a little off. */
static void spectra_are_those_of_mitsuba(void **state)
{
    (void)state;
    static const struct {
        double rgb[3], values[5], tolerance; /* at 400, 450, 500, 550 and 600 nm */
    } known[] = {{{.63, .065, .05}, {.119285, .059523, .054797, .087648, .327475}, .004},
                 {{1, 0, 0}, {.474965, .010658, .006484, .013593, .866820}, .02}};
    traced found = record(solve, 3, 3, NULL), at = record(evaluate, 5, 1, NULL);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        double c[3], value;
        run(&found, false, known[k].rgb, c, NULL);
        for (int i = 0; i < 5; i++) {
            run(&at, true, (double[]){c[0], c[1], c[2], 1, 400 + 50 * i}, &value, NULL);
            near(value, known[k].values[i], known[k].tolerance, "a value of Mitsuba's");
        }
    }
    ir_module_destroy(found.module);
    ir_module_destroy(at.module);
}

static void spectra_have_their_derivatives(void **state)
{
    (void)state;
    static const double colours[][3] = {{.63, .065, .05}, {.5, .5, .5},  {.2, .7, .4}, {.99, .98, .995},
                                        {.02, .01, .015}, {.9, .01, .3}, {.1, .9, .95}};
    for (size_t k = 0; k < sizeof colours / sizeof *colours; k++)
        check_slopes(upsample, colours[k], 3, 3, 5, 1e-4, 2e-4);
}

/* Also at black and white, where a coefficient's derivative is beyond single precision's reach, the spectrum
 * grows by what the grey grows; and by single precision. */
static void derivatives_stay_finite_at_the_ends(void **state)
{
    (void)state;
    static const double ends[][3] = {{0, 0, 0}, {1, 1, 1}, {1e-3, 1e-3, 1e-3}, {1, 0, 0}, {0, 1, 1}};
    static const double weights[5] = {1, 1, 1, 1, 1};
    traced r = record(upsample, 3, 5, weights);
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        double out[5], gradient[3];
        run(&r, true, ends[k], out, gradient);
        for (int b = 0; b < 3; b++)
            assert_true(isfinite(gradient[b]) && fabs(gradient[b]) < 1e4);
        if (k < 3)
            near(gradient[0] + gradient[1] + gradient[2], 5, 1e-2, "the derivative by a grey");
    }
    ir_module_destroy(r.module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wavelengths_have_their_density),
        cmocka_unit_test(visible_wavelengths_are_those_of_mitsuba),
        cmocka_unit_test(observer_follows_its_table),
        cmocka_unit_test(film_sees_white_under_d65),
        cmocka_unit_test(cells_give_integrals),
        cmocka_unit_test(response_has_its_transpose),
        cmocka_unit_test(bands_are_sampled_by_their_sum),
        cmocka_unit_test(bands_are_integrals),
        cmocka_unit_test(curves_are_lines_between_samples),
        cmocka_unit_test(black_bodies_follow_plancks_law),
        cmocka_unit_test(spectra_have_their_colour),
        cmocka_unit_test(ranges_are_those_of_the_spectrum),
        cmocka_unit_test(mixes_are_sums),
        cmocka_unit_test(greys_are_flat),
        cmocka_unit_test(spectra_are_those_of_mitsuba),
        cmocka_unit_test(spectra_have_their_derivatives),
        cmocka_unit_test(derivatives_stay_finite_at_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
