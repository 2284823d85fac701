/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is path replay the derivative of the path? Two other ways give the same number, sample by sample, in the
 * interpreter:
 *
 *   unrolled   the path of max_depth vertices is written out and differentiated in reverse mode as a whole
 *              (PRB, section 4.1);
 *   frozen     differences of the weights along the path that stays where it is. A weight is a polynomial
 *              of degree 4 at most in any direction of parameter space (three reflectances and a radiance),
 *              so the five-point stencil is exact for any step. Where it is no polynomial, the case names a
 *              small step, and the tolerance is that of rounding divided by the step.
 *
 * Reverse mode takes no loops over differentiated states. So stages of shadow rays, and in heterogeneous
 * media collisions and borders of cells, are written out too, as many as the scenes need. A sample that
 * needs more is not finite, which fails. Differential ratio tracking is not here, because it has other
 * samples (tests/gradient/detours.c).
 *
 * In f64 all three agree to rounding. In f32 replay and the unrolled path agree to f32's rounding. Every
 * parameter must get a gradient somewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sample_check.h"
#include "support/todays_share.h"

#include <math.h>
#include <stdlib.h>

enum { DEEPEST = 4, SAMPLES = 100 };
static const double exact_tolerance = 1e-9,
                    single_tolerance = 2e-5; /* of the largest entry of the sample's gradient */
static const double any_step = 0.1;          /* of differences of polynomials */

static char *folder;

static void replay_agrees(sample_check *s, scene_eval_at at, double tolerance, double *replay)
{
    sample_check_unrolled(s, at, tolerance, 0, replay);
    sample_check_run_clean(s, RENDER_ADJOINT, at);
    sample_check_same(s, at, "separate kernels", replay, tolerance * sample_check_largest(s, replay));
}

static void all_samples(sample_check *s, uint32_t *random)
{
    const double step = s->scene->step > 0 ? s->scene->step : any_step,
                 rounding = s->scene->step > 0 ? 1e-3 / step : 1;
    uint32_t samples = s->scene->volumetric ? SAMPLES / 4 : SAMPLES; /* paths through media are long ones */
    for (uint32_t k = 0; k < samples; k++) {
        double replay[SAMPLE_CHECK_ELEMENTS];
        scene_eval_at at = sample_check_draw(random, false);
        replay_agrees(s, at, single_tolerance, replay);
        at.f64 = true;
        replay_agrees(s, at, exact_tolerance, replay);
        sample_difference d = sample_check_differences(s, at, replay, step, 0);
        sample_check_near(s, at,
                          (sample_pair){"differences of the path that stays", 0, d.along, d.difference},
                          exact_tolerance * (sample_check_largest(s, replay) + d.here) * rounding);
    }
}

/* Three channels of a colour; at least half of the texels of a bitmap. */
static void every_parameter_was_reached(const sample_check *s)
{
    for (uint32_t k = 0; k < scene_case_parameter_count(s->scene); k++)
        sample_check_expect_reached(s, k, s->count[k] == 3 ? 3 : (s->count[k] + 1) / 2);
}

static void at_depth(sample_check *s, uint32_t depth, bool next_event)
{
    arena a = {0};
    uint32_t random = 77;
    const bool baked = depth % 2;
    s->variant = arena_printf(&a, "depth %u, %s", depth, next_event ? "next event" : "no next event");
    char *xml = scene_case_xml(&a, s->scene, (int32_t)depth, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE);
    scene_eval *e =
        scene_eval_create_chosen(xml, folder, s->scene->parameters, scene_case_parameter_count(s->scene),
                                 baked, s->scene->light_tree ? LIGHTS_BY_TREE : LIGHTS_BY_WEIGHT);
    assert_int_equal(e->plan->baked, baked && plan_can_bake(e->scene) && !(e->plan->moves & MOVE_HITS));
    e->options = (render_trace_options){
        .no_next_event = !next_event,
        .unrolled_depth = (uint32_t)e->scene->max_depth * (1 + s->scene->crossings),
    };
    sample_check_begin(s, e, &random);
    s->elements = e->plan->gradient_count;
    all_samples(s, &random);
    scene_eval_destroy(e);
    arena_free(&a);
}

static void case_agrees(void **state)
{
    const scene_case *c = *state;
    sample_check s = {.scene = c};
    for (int next_event = 0; next_event < 2; next_event++) {
        if (c->integrator && c->needs_next_event && !next_event)
            continue; /* direct light by light sampling only, without light sampling */
        uint32_t deepest = c->integrator ? 2 : c->volumetric ? DEEPEST - 1 : DEEPEST;
        for (uint32_t depth = c->integrator ? 2 : 1; depth <= deepest; depth++)
            at_depth(&s, depth, next_event);
    }
    every_parameter_was_reached(&s);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    uint32_t count = 0, all = 0, index = 0;
    for (const scene_case *c = NULL; (c = scene_case_next(c));)
        all++;
    struct CMUnitTest *tests = calloc(all, sizeof *tests);
    for (const scene_case *c = NULL; tests && (c = scene_case_next(c));)
        if ((!c->volumetric || c->crossings > 0) && todays_share(index++))
            tests[count++] = (struct CMUnitTest){c->name, case_agrees, NULL, NULL, (void *)(uintptr_t)c};
    int failed = tests ? _cmocka_run_group_tests("unrolled", tests, count, NULL, NULL) : 1;
    free(tests);
    scene_files_remove(folder);
    return failed;
}
