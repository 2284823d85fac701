/* SPDX-License-Identifier: BSD-3-Clause
 * LABELS: nodevice
 * roughdiffuse against the formulas of Oren and Nayar 1994 in angles, as the paper writes them, over pairs of
 * directions and roughnesses; without roughness it is Lambert's law. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_probe.h"

#include "support/scene_cases.h"

#include <math.h>

static const double pi = 3.14159265358979323846;
static char *folder;

/* f times cos(theta_o), by angles. */
static double paper(double rho, double alpha, double theta_i, double theta_o, double phi)
{
    double s2 = alpha * alpha / 2, a = fmax(theta_i, theta_o), b = fmin(theta_i, theta_o), c = cos(phi);
    double c1 = 1 - 0.5 * s2 / (s2 + 0.33),
           c2 = 0.45 * s2 / (s2 + 0.09) * (c >= 0 ? sin(a) : sin(a) - pow(2 * b / pi, 3)),
           c3 = 0.125 * s2 / (s2 + 0.09) * pow(4 * a * b / (pi * pi), 2);
    double direct = c1 + c * c2 * tan(b) + (1 - fabs(c)) * c3 * tan((a + b) / 2);
    double between = 0.17 * s2 / (s2 + 0.13) * (1 - c * pow(2 * b / pi, 2));
    return (rho * fmax(direct, 0) + rho * rho * between) / pi * cos(theta_o);
}

static void expect(double alpha)
{
    char xml[256];
    snprintf(xml, sizeof xml,
             "<bsdf type='roughdiffuse' id='it'><rgb name='reflectance' value='.9,.5,.1'/>"
             "<float name='alpha' value='%g'/></bsdf>",
             alpha);
    material_case what = {.name = "roughdiffuse", .xml = xml};
    material_probe s = material_probe_create(&what, folder);
    const double rho[3] = {0.9, 0.5, 0.1};
    for (int i = 0; i < 12; i++)
        for (int o = 0; o < 12; o++)
            for (int k = 0; k < 8; k++) {
                double theta_i = (i + 0.5) / 12 * pi / 2, theta_o = (o + 0.3) / 12 * pi / 2,
                       phi = (k + 0.1) / 8 * 2 * pi, wi[3], wo[3];
                material_direction(cos(theta_i), 0.4, wi), material_direction(cos(theta_o), 0.4 + phi, wo);
                material_value v = material_probe_value(&s, wi, wo, false, 0);
                for (int c = 0; c < 3; c++) {
                    double wanted = paper(rho[c], alpha, theta_i, theta_o, phi);
                    if (fabs(v.rgb[c] - wanted) >
                        1e-7 * fmax(wanted, 1)) /* the code's constants are floats */
                        fail_msg("alpha %g, angles %g %g %g: %.9g, the paper has %.9g", alpha, theta_i,
                                 theta_o, phi, v.rgb[c], wanted);
                    if (alpha == 0)
                        assert_true(fabs(v.rgb[c] - rho[c] * cos(theta_o) / pi) < 1e-7);
                }
            }
    material_probe_destroy(&s);
}

static void follows_the_paper(void **state)
{
    (void)state;
    const double alphas[] = {0, 0.2, 0.6, 1, 3};
    for (size_t k = 0; k < sizeof alphas / sizeof *alphas; k++)
        expect(alphas[k]);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(follows_the_paper)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
