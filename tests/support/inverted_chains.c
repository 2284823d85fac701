/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/inverted_chains.h"
#include "support/sample_check.h"

#include <math.h>

#define INVERTED(regularization)                                                                             \
    "<integrator type='prb_attached'><integer name='max_depth' value='9'/><integer name='rr_depth' "         \
    "value='1000'/><string name='chains' value='jacobians'/><float name='regularization' "                   \
    "value='" regularization "'/></integrator>"

/* The sum of what chains dropped because a Jacobian was singular. */
static uint32_t dropped(const scene_eval *e)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < SINGULAR_DEPTHS; k++)
        sum += e->status[STATUS_SINGULAR + k];
    return sum;
}

static sample_check begin_inverted(scene_case *c, const char *integrator, const char *folder,
                                   uint32_t *random)
{
    arena a = {0};
    c->integrator = integrator;
    sample_check s = {.scene = c, .variant = integrator};
    scene_eval *e = scene_eval_create(scene_case_xml(&a, c, 0, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE), folder,
                                      c->parameters, scene_case_parameter_count(c));
    e->options = (render_trace_options){.unrolled_depth = INVERTED_DEPTH};
    sample_check_begin(&s, e, random);
    for (uint32_t i = 0; i < e->plan->value_count; i++)
        e->tangent[i] = 1e3; /* On a device nothing is bound there. */
    arena_free(&a);
    return s;
}

void inverted_chains_are_unrolled(const scene_case *scene, const char *folder, uint32_t samples)
{
    scene_case c = *scene;
    uint32_t random = 5, compared = 0;
    double replay[SAMPLE_CHECK_ELEMENTS];
    sample_check s = begin_inverted(&c, INVERTED("0"), folder, &random);
    for (uint32_t k = 0; k < samples; k++) {
        scene_eval_at at = sample_check_draw(&random, true);
        sample_check_run_clean(&s, RENDER_GRADIENT, at);
        if (dropped(s.e) > 0)
            continue;
        sample_check_unrolled(&s, at, 1e-7, 0, replay);
        compared += sample_check_largest(&s, replay) > 0;
    }
    print_message("%s: %u of %u samples\n", c.name, compared, samples);
    assert_true(compared >= 5);
    scene_eval_destroy(s.e);
}

/* <gradient, fixed direction>: one number of many. */
static double along(const sample_check *s, const double *gradient)
{
    uint32_t random = 9;
    double sum = 0;
    for (uint32_t i = 0; i < s->elements; i++)
        sum += (scene_random(&random) - 0.5) * gradient[i];
    return sum;
}

void inverted_chains_keep_means(const scene_case *scene, const char *folder, uint32_t samples)
{
    scene_case c = *scene;
    uint32_t random = 6, changed = 0;
    double sum = 0, squares = 0, size = 0;
    sample_check s = begin_inverted(&c, INVERTED("0.1"), folder, &random);
    for (uint32_t k = 0; k < samples; k++) {
        scene_eval_at at = sample_check_draw(&random, true);
        at.seed += k; /* each with its own noise */
        sample_check_run_clean(&s, RENDER_GRADIENT, at);
        assert_int_equal(dropped(s.e), 0);
        double noisy = along(&s, s.e->gradient);
        sample_check_run_clean(&s, RENDER_UNROLLED, at);
        double d = noisy - along(&s, s.e->gradient);
        bool differs = fabs(d) > 1e-9 * fabs(noisy);
        sum += differs ? d : 0, squares += differs ? d * d : 0, size += fabs(noisy), changed += differs;
    }
    if (!(fabs(sum) <= 3.5 * sqrt(squares)))
        fail_msg("%s: noise of mean 0 changes the gradient by %g: z = %.2f", c.name, sum / size,
                 sum / sqrt(squares));
    print_message("%s: noise changes %u of %u samples\n", c.name, changed, samples);
    scene_eval_destroy(s.e);
}
