/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Paths whose directions a guide has sampled, in the interpreter: the guide is a detached density, so path
 * replay, in one kernel and in two, the unrolled path and differences along the path that stays where it is
 * agree sample by sample, as in unrolled.c. The guide has random numbers for what was learnt: bins of all
 * sizes, some empty, and cells without any. Its densities sum to 1, and are those of its samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sample_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4, SAMPLES = 60 };
static const double exact_tolerance = 1e-9, single_tolerance = 2e-5, any_step = 0.1;

static char *folder;

static const char *const cases[] = {"area light",
                                    "environment map",
                                    "twosided, two materials",
                                    "plastic, rough glass and a pane",
                                    "principled, opaque, glass and a sheet",
                                    "rough plastic and brushed metal",
                                    "roulette",
                                    "all lights at once"};

static const scene_case *case_called(const char *name)
{
    for (const scene_case *c = NULL; (c = scene_case_next(c));)
        if (strcmp(c->name, name) == 0)
            return c;
    fail_msg("no scene %s", name);
    return NULL;
}

/* What was learnt: of one cell in four nothing, of the others a third of the bins is empty. */
static double *random_sums(uint32_t cells, uint32_t *random)
{
    double *sums = calloc((size_t)cells * GUIDE_BINS, sizeof *sums);
    assert_non_null(sums);
    for (uint32_t c = 0; c < cells; c++)
        for (uint32_t k = 0; k < GUIDE_BINS && c % 4; k++) {
            const double u = scene_random(random);
            sums[(size_t)c * GUIDE_BINS + k] = u < 0.33 ? 0 : exp(6 * u);
        }
    return sums;
}

static float *words_learnt(const plan *p, uint32_t *random)
{
    float *words = calloc(plan_guide_words(&p->guide), sizeof *words);
    double *sums = random_sums(plan_guide_cells(&p->guide), random);
    assert_non_null(words);
    plan_write_guide(p, sums, words);
    free(sums);
    return words;
}

static double *longer(double *values, uint32_t from, uint32_t to)
{
    double *r = realloc(values, (to + 1u) * sizeof *r);
    assert_non_null(r);
    memset(r + from, 0, (to + 1u - from) * sizeof *r);
    return r;
}

static scene_eval *create(const scene_case *c, bool guided)
{
    arena a = {0};
    uint32_t random = 5;
    char *xml = scene_case_xml(&a, c, DEPTH, SAMPLE_CHECK_SIDE, SAMPLE_CHECK_SIDE);
    scene_eval *e = scene_eval_create(xml, folder, c->parameters, scene_case_parameter_count(c));
    e->options.unrolled_depth = DEPTH;
    if (guided) {
        const uint32_t before = e->plan->value_count;
        plan_place_guide(e->plan, 1 << 16);
        const uint32_t after = e->plan->value_count;
        e->values = longer(e->values, before, after), e->frozen = longer(e->frozen, before, after);
        e->tangent = longer(e->tangent, before, after);
        float *words = words_learnt(e->plan, &random);
        for (uint32_t k = 0; k < plan_guide_words(&e->plan->guide); k++)
            e->values[e->plan->guide.at + k] = (double)words[k];
        free(words);
    }
    arena_free(&a);
    return e;
}

static void replay_agrees(sample_check *s, scene_eval_at at, double tolerance, double *replay)
{
    sample_check_unrolled(s, at, tolerance, 0, replay);
    sample_check_run_clean(s, RENDER_ADJOINT, at);
    sample_check_same(s, at, "separate kernels", replay, tolerance * sample_check_largest(s, replay));
}

/* bool: the image's sample is another one than without a guide. */
static bool is_guided(sample_check *s, scene_eval *plain, scene_eval_at at)
{
    bl_error err;
    sample_check_run(s, RENDER_PRIMAL, at);
    assert_int_equal(scene_eval_run(plain, RENDER_PRIMAL, at, &err), BL_OK);
    return memcmp(s->e->film, plain->film, 3 * sizeof *plain->film * SAMPLE_CHECK_SIDE * SAMPLE_CHECK_SIDE);
}

static void case_agrees(void **state)
{
    const scene_case *c = case_called(*state);
    const double step = c->step > 0 ? c->step : any_step, rounding = c->step > 0 ? 1e-3 / step : 1;
    scene_eval *plain = create(c, false), *e = create(c, true);
    assert_true(plan_has_guide(e->plan) && !e->plan->moves && !plan_attaches_paths(e->plan));
    sample_check s = {.scene = c, .variant = "guided"};
    uint32_t random = 77, guided = 0;
    sample_check_begin(&s, e, &random);
    for (uint32_t k = 0; k < SAMPLES; k++) {
        double replay[SAMPLE_CHECK_ELEMENTS];
        scene_eval_at at = sample_check_draw(&random, false);
        replay_agrees(&s, at, single_tolerance, replay);
        at.f64 = true;
        replay_agrees(&s, at, exact_tolerance, replay);
        sample_difference d = sample_check_differences(&s, at, replay, step, 0);
        sample_check_near(&s, at,
                          (sample_pair){"differences of the path that stays", 0, d.along, d.difference},
                          exact_tolerance * (sample_check_largest(&s, replay) + d.here) * rounding);
        guided += is_guided(&s, plain, at);
    }
    assert_true(guided > SAMPLES / 6);
    scene_eval_destroy(e), scene_eval_destroy(plain);
}

/* ---- the table ---- */

static uint32_t word_of(const double *cell, uint32_t bin)
{
    const float number = (float)cell[GUIDE_BIN + bin];
    uint32_t word;
    memcpy(&word, &number, sizeof word);
    return word;
}

/* The thresholds of the alias table give each bin the probability that its density says, and these sum to 1.
 */
static void tables_are_their_densities(void **state)
{
    (void)state;
    scene_eval *e = create(case_called("area light"), true);
    const plan_guide *g = &e->plan->guide;
    uint32_t known = 0;
    for (uint32_t c = 0; c < plan_guide_cells(g); c++) {
        const double *cell = e->values + g->at + GUIDE_HEADER + (size_t)c * GUIDE_CELL_WORDS;
        uint32_t found[GUIDE_BINS] = {0}, sum = 0;
        if (c % 4 == 0) {
            assert_true(cell[GUIDE_SHARE] == 0);
            continue;
        }
        assert_true(cell[GUIDE_SHARE] == 0.5);
        known++;
        for (uint32_t k = 0; k < GUIDE_BINS; k++) {
            const uint32_t word = word_of(cell, k), level = word >> GUIDE_LEVEL_BIT & 31;
            found[k] += level, found[word & (GUIDE_BINS - 1)] += GUIDE_LEVELS - level;
        }
        for (uint32_t k = 0; k < GUIDE_BINS; k++) {
            const uint32_t parts = (word_of(cell, k) ^ GUIDE_MARK) >> GUIDE_PARTS_BIT;
            assert_true(parts > 0 && found[k] == parts);
            sum += parts;
        }
        assert_int_equal(sum, GUIDE_BINS * GUIDE_LEVELS);
    }
    assert_true(known > 0);
    scene_eval_destroy(e);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    enum { COUNT = sizeof cases / sizeof *cases };
    struct CMUnitTest tests[COUNT + 1] = {cmocka_unit_test(tables_are_their_densities)};
    for (int k = 0; k < COUNT; k++)
        tests[1 + k] = (struct CMUnitTest){cases[k], case_agrees, NULL, NULL, (void *)(uintptr_t)cases[k]};
    int failed = cmocka_run_group_tests_name("guided replay", tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
