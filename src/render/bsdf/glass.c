/* SPDX-License-Identifier: BSD-3-Clause
 * Glasses and crystals whose index is known at all wavelengths, by name. The index follows Sellmeier's
 * formula
 *
 *     n^2 = 1 + sum over i of B_i l^2 / (l^2 - C_i),    l the wavelength in micrometres.
 *
 * Coefficients: Schott, Optical Glass Data Sheets 2017 (N-.., F2); Malitson 1965 (fused silica); Malitson
 * and Dodge 1972 (sapphire, the ordinary ray); Peter 1923 (diamond). */
#include "render/bsdf/fresnel.h"

#include <math.h>
#include <strings.h>

typedef struct glass {
    const char *name;
    double b[3], c[3];
} glass;

static const glass glasses[] = {
    {"N-BK7", {1.03961212, .231792344, 1.01046945}, {.00600069867, .0200179144, 103.560653}},
    {"N-BAF10", {1.5851495, .143559385, 1.08521269}, {.00926681282, .0424489805, 105.613573}},
    {"N-SF6", {1.77931763, .338149866, 2.08734474}, {.0133714182, .0617533621, 174.01759}},
    {"N-SF11", {1.73759695, .313747346, 1.89878101}, {.013188707, .0623068142, 155.23629}},
    {"N-LASF9", {2.00029547, .298926886, 1.80691843}, {.0121426017, .0538736236, 156.530829}},
    {"F2", {1.34533359, .209073176, .937357162}, {.00997743871, .0470450767, 111.886764}},
    {"N-SF10", {1.62153902, .256287842, 1.64447552}, {.0122241457, .0595736775, 147.468793}},
    {"fused silica", {.6961663, .4079426, .8974794}, {.00467914826, .0135120631, 97.9340025}},
    {"sapphire", {1.4313493, .65054713, 5.3414021}, {.00527992610, .0142382647, 325.017834}},
    {"diamond curve", {4.3356, .3306, 0}, {.011236, .030625, 0}},
};
enum { GLASSES = sizeof glasses / sizeof *glasses };

static double sellmeier(const glass *g, double nm)
{
    double l2 = nm * nm * 1e-6, n2 = 1;
    for (int i = 0; i < 3; i++)
        n2 += g->b[i] * l2 / (l2 - g->c[i]);
    return sqrt(n2);
}

bool glass_index(const char *name, double nm, double *out)
{
    for (size_t i = 0; i < GLASSES; i++)
        if (strcasecmp(glasses[i].name, name) == 0) {
            *out = sellmeier(&glasses[i], nm);
            return true;
        }
    return false;
}

void glass_list(text *names)
{
    for (size_t i = 0; i < GLASSES; i++)
        text_add(names, "%s%s", i ? ", " : "", glasses[i].name);
}
