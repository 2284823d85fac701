/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/path_agreement.h"
#include "support/sample_check.h"

#include <string.h>

static const uint32_t first_random = 77;
/* The first two are relative to the largest entry of the sample's gradient, and are roundings of f64 and f32.
 * The last is relative to that entry plus the sample's radiance: rounding of 1e-16, divided by the step, and
 * what the five-point stencil leaves of a function that is no polynomial. */
static const double exact_tolerance = 1e-9, single_tolerance = 2e-4, difference_tolerance = 1e-7;
/* A gradient this small, of radiances near 1, has had a factor below 2^-126, where floats of 32 bits lose
 * digits. */
static const double single_floor = 0x1p-100;
static const double step = 1e-5; /* of differences: Fresnel terms are no polynomials */

/* First all samples in f32, then all in f64, because derived values are kept for one precision at a time. */
static void all_samples(sample_check *s, const path_agreement *what, uint32_t *random)
{
    double replay[SAMPLE_CHECK_ELEMENTS];
    for (uint32_t k = 0; k < what->samples; k++)
        sample_check_unrolled(s, sample_check_draw(random, false), single_tolerance, single_floor, replay);
    for (uint32_t k = 0; k < what->samples; k++) {
        scene_eval_at at = sample_check_draw(random, true);
        sample_check_unrolled(s, at, exact_tolerance, 0, replay);
        sample_difference d = sample_check_differences(s, at, replay, step, what->inwards);
        sample_check_near(s, at,
                          (sample_pair){"differences of the path that stays", 0, d.along, d.difference},
                          (difference_tolerance + what->slack) * (sample_check_largest(s, replay) + d.most));
    }
}

static void every_parameter_was_reached(const sample_check *s, const path_agreement *what)
{
    for (uint32_t k = 0; k < scene_case_parameter_count(s->scene); k++) {
        bool zero = what->zero && strcmp(what->zero, s->scene->parameters[k]) == 0;
        if (zero && sample_check_reached(s, k) > 0)
            fail_msg("%s: the derivative by %s is 0 in truth, and %u entries got one", s->scene->name,
                     what->zero, sample_check_reached(s, k));
        if (!zero)
            sample_check_expect_reached(s, k, what->dark ? 1 : s->count[k]);
    }
}

void path_agreement_expect(const path_agreement *what)
{
    sample_check s = {.scene = what->scene};
    for (int next_event = 0; next_event < 2; next_event++) {
        arena a = {0};
        uint32_t random = first_random;
        s.variant = next_event ? "next event" : "no next event";
        char *xml =
            scene_case_xml(&a, what->scene, (int32_t)what->depth, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE);
        scene_eval *e = scene_eval_create(xml, what->folder, what->scene->parameters,
                                          scene_case_parameter_count(what->scene));
        e->options = (render_trace_options){.no_next_event = !next_event,
                                            .walks_again = what->walks_again,
                                            .unrolled_depth = what->depth * (1 + what->scene->crossings)};
        sample_check_begin(&s, e, &random);
        all_samples(&s, what, &random);
        scene_eval_destroy(e);
        arena_free(&a);
    }
    every_parameter_was_reached(&s, what);
}
