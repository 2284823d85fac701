/* SPDX-License-Identifier: BSD-3-Clause
 * Sampled spectra as linear sRGB, by Mitsuba's rule: straight lines between the samples, nothing outside of
 * them; a sum over 1000 wavelengths from 360 to 830 nm against the CIE 1931 curves; XYZ to sRGB; negative
 * channels become 0. A light is taken as power; all else (an index of refraction, too) is what it looks like
 * under D65, so that a constant c is the grey c (to .11 %), and a reflectance is held in [0, 1]. Text is a
 * list of wavelength:value, or a file (.spd) of lines with a wavelength and a value; # starts a comment. */
#include "scene/scene_internal.h"

#include <math.h>
#include <string.h>

enum { STEPS = 1000 };
static const double first_wavelength = 360, last_wavelength = 830;
const double spectrum_luminance_norm = 1 / 106.7502593994140625,
             spectrum_d65_norm = 1 / 98.99741751876255; /* both as in Mitsuba: grey c becomes .9989 c */
const double spectrum_rgb_rows[3][3] = {
    {3.240479, -1.537150, -0.498535}, {-0.969256, 1.875991, 0.041556}, {0.055648, -0.204043, 1.057311}};

/* CIE 15:2004, tables T.4 and T.1. */
const double spectrum_curves[SPECTRUM_CURVE_SAMPLES][4] = {
    {.0001299, 3.917e-06, .0006061, 46.6383},
    {.0002321, 6.965e-06, .001086, 49.3637},
    {.0004149, 1.239e-05, .001946, 52.0891},
    {.0007416, 2.202e-05, .003486, 51.0323},
    {.001368, 3.9e-05, .00645, 49.9755},
    {.002236, 6.4e-05, .01055, 52.3118},
    {.004243, .00012, .02005, 54.6482},
    {.00765, .000217, .03621, 68.7015},
    {.01431, .000396, .06785, 82.7549},
    {.02319, .00064, .1102, 87.1204},
    {.04351, .00121, .2074, 91.486},
    {.07763, .00218, .3713, 92.4589},
    {.13438, .004, .6456, 93.4318},
    {.21477, .0073, 1.03905, 90.057},
    {.2839, .0116, 1.3856, 86.6823},
    {.3285, .01684, 1.62296, 95.7736},
    {.34828, .023, 1.74706, 104.865},
    {.34806, .0298, 1.7826, 110.936},
    {.3362, .038, 1.77211, 117.008},
    {.3187, .048, 1.7441, 117.41},
    {.2908, .06, 1.6692, 117.812},
    {.2511, .0739, 1.5281, 116.336},
    {.19536, .09098, 1.28764, 114.861},
    {.1421, .1126, 1.0419, 115.392},
    {.09564, .13902, .81295, 115.923},
    {.05795, .1693, .6162, 112.367},
    {.03201, .20802, .46518, 108.811},
    {.0147, .2586, .3533, 109.082},
    {.0049, .323, .272, 109.354},
    {.0024, .4073, .2123, 108.578},
    {.0093, .503, .1582, 107.802},
    {.0291, .6082, .1117, 106.296},
    {.06327, .71, .07825, 104.79},
    {.1096, .7932, .05725, 106.239},
    {.1655, .862, .04216, 107.689},
    {.22575, .91485, .02984, 106.047},
    {.2904, .954, .0203, 104.405},
    {.3597, .9803, .0134, 104.225},
    {.43345, .99495, .00875, 104.046},
    {.51205, 1, .00575, 102.023},
    {.5945, .995, .0039, 100},
    {.6784, .9786, .00275, 98.1671},
    {.7621, .952, .0021, 96.3342},
    {.8425, .9154, .0018, 96.0611},
    {.9163, .87, .00165, 95.788},
    {.9786, .8163, .0014, 92.2368},
    {1.0263, .757, .0011, 88.6856},
    {1.0567, .6949, .001, 89.3459},
    {1.0622, .631, .0008, 90.0062},
    {1.0456, .5668, .0006, 89.8026},
    {1.0026, .503, .00034, 89.5991},
    {.9384, .4412, .00024, 88.6489},
    {.85445, .381, .00019, 87.6987},
    {.7514, .321, .0001, 85.4936},
    {.6424, .265, 5e-05, 83.2886},
    {.5419, .217, 3e-05, 83.4939},
    {.4479, .175, 2e-05, 83.6992},
    {.3608, .1382, 1e-05, 81.863},
    {.2835, .107, 0, 80.0268},
    {.2187, .0816, 0, 80.1207},
    {.1649, .061, 0, 80.2146},
    {.1212, .04458, 0, 81.2462},
    {.0874, .032, 0, 82.2778},
    {.0636, .0232, 0, 80.281},
    {.04677, .017, 0, 78.2842},
    {.0329, .01192, 0, 74.0027},
    {.0227, .00821, 0, 69.7213},
    {.01584, .005723, 0, 70.6652},
    {.0113592, .004102, 0, 71.6091},
    {.00811092, .002929, 0, 72.979},
    {.00579035, .002091, 0, 74.349},
    {.00410946, .001484, 0, 67.9765},
    {.00289933, .001047, 0, 61.604},
    {.00204919, .00074, 0, 65.7448},
    {.00143997, .00052, 0, 69.8856},
    {.000999949, .0003611, 0, 72.4863},
    {.000690079, .0002492, 0, 75.087},
    {.000476021, .0001719, 0, 69.3398},
    {.000332301, .00012, 0, 63.5927},
    {.000234826, 8.48e-05, 0, 55.0054},
    {.000166151, 6e-05, 0, 46.4182},
    {.000117413, 4.24e-05, 0, 56.6118},
    {8.30753e-05, 3e-05, 0, 66.8054},
    {5.87065e-05, 2.12e-05, 0, 65.0941},
    {4.15099e-05, 1.499e-05, 0, 63.3828},
    {2.93533e-05, 1.06e-05, 0, 63.8434},
    {2.06738e-05, 7.4657e-06, 0, 64.304},
    {1.45598e-05, 5.2578e-06, 0, 61.8779},
    {1.0254e-05, 3.7029e-06, 0, 59.4519},
    {7.22146e-06, 2.6078e-06, 0, 55.7054},
    {5.08587e-06, 1.8366e-06, 0, 51.959},
    {3.58165e-06, 1.2934e-06, 0, 54.6998},
    {2.52253e-06, 9.1093e-07, 0, 57.4406},
    {1.77651e-06, 6.4153e-07, 0, 58.8765},
    {1.25114e-06, 4.5181e-07, 0, 60.3125},
};

typedef struct spectrum {
    ARRAY(double) wavelengths;
    ARRAY(double) values;
} spectrum;

static void spectrum_free(spectrum *s)
{
    array_free(&s->wavelengths);
    array_free(&s->values);
}

/* ---- colour ---- */

static double curve_at(double wavelength, int which)
{
    double at = (wavelength - first_wavelength) / 5;
    int k = (int)fmin(at, SPECTRUM_CURVE_SAMPLES - 2);
    return spectrum_curves[k][which] + (at - k) * (spectrum_curves[k + 1][which] - spectrum_curves[k][which]);
}

/* *k: an interval to begin the search at; wavelengths come in ascending order. */
static double value_at(const double *w, const double *v, uint32_t count, double wavelength, uint32_t *k)
{
    uint32_t last = count - 1;
    if (wavelength < w[0] || wavelength > w[last])
        return 0;
    while (*k + 1 < last && w[*k + 1] < wavelength)
        ++*k;
    return v[*k] + (wavelength - w[*k]) / (w[*k + 1] - w[*k]) * (v[*k + 1] - v[*k]);
}

spectrum_rule spectrum_rule_of(unsigned flags)
{
    return flags & PLUGIN_EMISSION                      ? SPECTRUM_POWER
           : flags & (PLUGIN_REFLECTANCE | PLUGIN_HELD) ? SPECTRUM_REFLECTANCE
                                                        : SPECTRUM_COLOUR;
}

/* Without limits. */
static void linear_rgb(const double *wavelengths, const double *values, uint32_t count, spectrum_rule rule,
                       double out[3])
{
    double xyz[3] = {0};
    uint32_t interval = 0;
    for (int i = 0; i < STEPS; i++) {
        double wavelength = first_wavelength + i / (STEPS - 1.0) * (last_wavelength - first_wavelength);
        double value = value_at(wavelengths, values, count, wavelength, &interval) *
                       (rule != SPECTRUM_POWER ? curve_at(wavelength, 3) * spectrum_d65_norm : 1);
        for (int c = 0; c < 3; c++)
            xyz[c] += value * curve_at(wavelength, c) * spectrum_luminance_norm *
                      (last_wavelength - first_wavelength) / STEPS;
    }
    for (int c = 0; c < 3; c++)
        out[c] = spectrum_rgb_rows[c][0] * xyz[0] + spectrum_rgb_rows[c][1] * xyz[1] +
                 spectrum_rgb_rows[c][2] * xyz[2];
}

void spectrum_rgb(const double *wavelengths, const double *values, uint32_t count, spectrum_rule rule,
                  double out[3])
{
    linear_rgb(wavelengths, values, count, rule, out);
    for (int c = 0; c < 3; c++)
        out[c] = out[c] < 0 ? 0 : rule == SPECTRUM_REFLECTANCE && out[c] > 1 ? 1 : out[c];
}

void spectrum_weight(const double *wavelengths, uint32_t count, uint32_t k, spectrum_rule rule, double out[3])
{
    uint32_t first = k ? k - 1 : 0, last = k + 1 < count ? k + 1 : k;
    double values[3] = {0};
    values[k - first] = 1;
    linear_rgb(wavelengths + first, values, last - first + 1, rule, out);
}

/* ---- text ---- */

static const char *skip_blank(const char *at, const char *end, const char *blanks)
{
    while (at < end && strchr(blanks, *at) && *at)
        at++;
    return at;
}

/* `separator` stands between a wavelength and its value, 0: blanks do. NULL, or where the text is wrong. */
static const char *read_pairs(spectrum *s, const char *at, const char *end, char separator)
{
    static const char blanks[] = " \t\r\n,";
    while ((at = skip_blank(at, end, blanks)) < end) {
        double pair[2];
        const char *start = at;
        if (*at == '#') {
            while (at < end && *at != '\n')
                at++;
            continue;
        }
        at = number_scan(at, end, &pair[0]);
        if (at && separator)
            at = at < end && *at == separator ? at + 1 : NULL;
        at = at ? number_scan(skip_blank(at, end, separator ? "" : blanks), end, &pair[1]) : NULL;
        if (!at || (s->wavelengths.count && !(pair[0] > s->wavelengths.data[s->wavelengths.count - 1])))
            return start;
        array_push(&s->wavelengths, pair[0]);
        array_push(&s->values, pair[1]);
    }
    return NULL;
}

/* The samples that a text lists. The caller frees the spectrum in any case. */
static bl_result read_spectrum(const char *data, size_t size, char separator, spectrum *s, bl_error *err)
{
    const char *end = data + size, *wrong = read_pairs(s, data, end, separator);
    int shown = 0;
    while (wrong && wrong + shown < end && shown < 20 && wrong[shown] >= ' ' && wrong[shown] <= '~')
        shown++;
    if (wrong)
        return error_set(err, BL_ERROR_FORMAT,
                         "expected pairs of an ascending wavelength and a value at \"%.*s\"", shown, wrong);
    if (s->wavelengths.count < 2)
        return error_set(err, BL_ERROR_FORMAT, "a spectrum needs at least two samples");
    for (uint32_t k = 0; k < s->values.count; k++)
        if (!(s->values.data[k] >= 0))
            return error_set(err, BL_ERROR_FORMAT, "the value %g at %g nm is negative", s->values.data[k],
                             s->wavelengths.data[k]);
    return BL_OK;
}

bl_result spectrum_check_range(const double *wavelengths, uint32_t count, bl_error *err)
{
    const double first = wavelengths[0], last = wavelengths[count - 1];
    if (first < last_wavelength && last > first_wavelength)
        return BL_OK;
    return error_set(err, BL_ERROR_FORMAT, "no samples between %g and %g nm, only from %g to %g",
                     first_wavelength, last_wavelength, first, last);
}

bl_result spectrum_decode(const char *data, size_t size, char separator, spectrum_rule rule, double out[3],
                          bl_error *err)
{
    spectrum s = {0};
    bl_result r = read_spectrum(data, size, separator, &s, err);
    if (r == BL_OK)
        r = spectrum_check_range(s.wavelengths.data, s.wavelengths.count, err);
    if (r == BL_OK)
        spectrum_rgb(s.wavelengths.data, s.values.data, s.wavelengths.count, rule, out);
    if (r == BL_OK && !(out[0] + out[1] + out[2] <= 1e30))
        r = error_set(err, BL_ERROR_FORMAT, "the numbers of a spectrum are too large");
    spectrum_free(&s);
    return r;
}

bl_result spectrum_lists(const char *data, size_t size, char separator, spectrum_text *out, bl_error *err)
{
    spectrum s = {0};
    bl_result r = read_spectrum(data, size, separator, &s, err);
    for (uint32_t k = 0; r == BL_OK && k < s.wavelengths.count; k++) {
        number_print(&out->wavelengths, s.wavelengths.data[k], k > 0);
        number_print(&out->values, s.values.data[k], k > 0);
    }
    spectrum_free(&s);
    return r;
}
