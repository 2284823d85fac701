/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The derivative by the index of what glass with GGX facets lets through, in all directions together, weighed
 * by a smooth function of them: differences of quadratures, whose domain ends at vertical facets and moves,
 * against the derivative within the domain and that of samples of its limit (bsdf/refraction_limit.h).
 * Beckmann's facets have no limit. */
#include "support/case_tests.h"
#include "support/material_probe.h"
#include "support/scene_cases.h"

#include <math.h>

enum { SIDE = 200, DRAWS = 400 };
static const double pi = 3.14159265358979323846, index0 = 1.45, step = 1e-3;
static char *folder;

typedef struct limit_case {
    const char *name, *before, *after; /* xml, around the index */
    double cosine, azimuth;
    double least; /* share that the limit has at least of the derivative; 0: none at all */
} limit_case;

#define ROUGH(kind, alpha)                                                                                   \
    "<bsdf type='roughdielectric' id='it'><string name='distribution' value='" kind "'/>" alpha              \
    "<string name='attached' value='never'/>"                                                                \
    "<float name='ext_ior' value='1'/><float name='int_ior' value='",                                        \
        "'/></bsdf>"
#define ALPHA(value) "<float name='alpha' value='" value "'/>"
#define BRUSHED "<float name='alpha_u' value='.6'/><float name='alpha_v' value='.3'/>"
#define PRINCIPLED                                                                                           \
    "<bsdf type='principled' id='it'><float name='roughness' value='.7'/><float name='spec_trans' "          \
    "value='.8'/><float name='metallic' value='.1'/>"                                                        \
    "<string name='attached' value='never'/><float name='eta' value='",                                      \
        "'/></bsdf>"
static const limit_case cases[] = {
    {"from outside", ROUGH("ggx", ALPHA(".5")), .9, .4, .02},
    {"from outside, nearly upright", ROUGH("ggx", ALPHA(".5")), .98, 0, .005},
    {"from outside, grazing", ROUGH("ggx", ALPHA(".5")), .2, 1, .01},
    {"from inside", ROUGH("ggx", ALPHA(".5")), -.5, 2, .02},
    {"from inside, grazing", ROUGH("ggx", ALPHA(".25")), -.2, 2, .001},
    {"from inside, nearly upright", ROUGH("ggx", ALPHA(".5")), -.8, 2,
     0}, /* no direction lies on the circle */
    {"brushed, from outside", ROUGH("ggx", BRUSHED), .6, .7, .01},
    {"brushed, from inside", ROUGH("ggx", BRUSHED), -.5, 2.4, .01},
    {"principled, from outside", PRINCIPLED, .7, 1.3, .01},
    {"principled, from inside", PRINCIPLED, -.4, .3, .01},
    {"beckmann", ROUGH("beckmann", ALPHA(".5")), .9, .4, 0},
};

static material_probe glass(const limit_case *c, double index)
{
    arena a = {0};
    material_case what = {
        .name = c->name,
        .xml = arena_printf(&a, "%s%.9f%s", c->before, index, c->after),
        .parameters = {"it.eta"},
        .requested = true,
    };
    material_probe p = material_probe_create(&what, folder);
    p.what = NULL; /* gone with the arena; errors name it no more */
    arena_free(&a);
    return p;
}

/* As much comes in from there. */
static double sky(const double wo[3])
{
    return 1 + .8 * wo[0] - .5 * wo[1] + .6 * wo[0] * wo[2] + .7 * wo[2] * wo[2];
}

/* Over directions on the other side: of the value, or of its derivative. The cosine goes from where facets
 * are vertical to where there are none. */
static double integral(const limit_case *c, double index, bool derivative)
{
    material_probe p = glass(c, index);
    double wi[3], wo[3], n = c->cosine > 0 ? index : 1 / index, limit = fmin(fabs(c->cosine) / n, 1), sum = 0;
    double from = n > 1 ? limit : 0, to = n > 1 ? 1 : limit;
    material_direction(c->cosine, c->azimuth, wi);
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++) {
            material_direction((c->cosine > 0 ? -1 : 1) * (from + (to - from) * (i + .5) / SIDE),
                               c->azimuth + 2 * pi * (k + .5) / SIDE, wo);
            double v = derivative ? material_probe_derivative(&p, wi, wo, false, 0)
                                  : material_probe_value(&p, wi, wo, false, 0).rgb[1];
            sum += v * sky(wo) * (to - from) / SIDE * 2 * pi / SIDE;
        }
    material_probe_destroy(&p);
    return sum;
}

/* The mean over samples of the limit, of derivative over density. *chance: by bisection, how many there are.
 */
static double limit_samples(const limit_case *c, double *chance)
{
    material_probe p = glass(c, index0);
    double wi[3], below = 0, above = 1, sum = 0;
    material_direction(c->cosine, c->azimuth, wi);
    while (above - below > 1e-12) {
        double u = (below + above) / 2;
        *(material_probe_sample(&p, wi, (double[]){u, .5, .5}).delta ? &below : &above) = u;
    }
    *chance = below;
    for (int k = 0; k < DRAWS && below > 0; k++) {
        material_sample s = material_probe_sample(&p, wi, (double[]){below / 2, (k + .5) / DRAWS, .5});
        assert_true(s.delta && (s.lobe & LOBE_REFRACTION_LIMIT) && s.pdf > 0);
        sum += material_probe_derivative(&p, wi, s.wo, true, s.lobe) / s.pdf * sky(s.wo) * below / DRAWS;
    }
    material_probe_destroy(&p);
    return sum;
}

static void is_complete(void **state)
{
    const limit_case *c = *state;
    double chance, within = integral(c, index0, true), limit = limit_samples(c, &chance);
    double wanted = (integral(c, index0 + step, false) - integral(c, index0 - step, false)) / (2 * step);
    print_message("%s: %.6f within, %.6f at the limit, together %.6f; differences %.6f\n", c->name, within,
                  limit, within + limit, wanted);
    assert_true(fabs(limit) >= c->least * fabs(wanted));
    if (c->least == 0)
        assert_true(chance == 0);
    assert_true(fabs(within + limit - wanted) < 2e-3 * fmax(fabs(wanted), fabs(within)));
}

int main(void)
{
    return case_tests_run(is_complete, cases, sizeof *cases, sizeof cases / sizeof *cases, &folder);
}
