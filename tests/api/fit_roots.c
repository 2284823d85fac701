/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Where gradients of a fit's last steps vanish (BL_AVERAGE_AUTO), through the public functions: values that
 * move about the goal come nearer to it, those that have overshot, too, and those that drift stay. A step of
 * sgd shows its gradient, penalties included, so the formula is computed here once more, from values alone.
 * tests/api/fit_state.c has its checkpoints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lit_wall.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE, STEPS = 40, FROM = 21, SEEDS = 12 };

static scene_device device;
static float target[VALUES];
static const float truth[3] = {0.5f, 0.4f, 0.3f};

/* The target is of the scene as it is. */
static bl_scene *room(void)
{
    bl_scene *s = lit_wall_load(&device, SIDE, ".5, .4, .3", "");
    bl_job *job = scene_device_job(&device, s, NULL, 0);
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 4096, .seed = 99}, target, NULL));
    bl_job_destroy(job);
    return s;
}

/* All values after all steps, from row 1 on, and those after settling in the last row. */
typedef float course[STEPS + 2][3];

/* Returns the share of parameter 0. */
static double follow(const bl_scene *scene, const bl_fit_desc *desc, course c)
{
    bl_fit *fit;
    double share = 1;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, desc, &fit));
    memcpy(c[0], desc->parameters->initial, sizeof c[0]);
    for (int step = 1; step <= STEPS; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
        SCENE_MUST(&device, bl_fit_get(fit, 0, c[step]));
    }
    SCENE_MUST(&device, bl_fit_get_settled(fit, 0, &share));
    assert_true(share == 0);
    float again[3];
    for (int twice = 0; twice < 2; twice++) { /* the second time there is nothing to do */
        SCENE_MUST(&device, bl_fit_settle(fit));
        SCENE_MUST(&device, bl_fit_get(fit, 0, twice ? again : c[STEPS + 1]));
    }
    assert_memory_equal(again, c[STEPS + 1], sizeof again);
    SCENE_MUST(&device, bl_fit_get_settled(fit, 0, &share));
    assert_int_equal(bl_fit_get_settled(fit, 1, &(double){0}), BL_ERROR_ARGUMENT);
    bl_fit_destroy(fit);
    return share;
}

static double mean_of(course c, int channel)
{
    double sum = 0;
    for (int step = FROM; step <= STEPS; step++)
        sum += (double)c[step][channel];
    return sum / (STEPS - FROM + 1);
}

static bl_fit_desc about(const bl_fit_parameter *wall, uint32_t seed)
{
    return (bl_fit_desc){.parameters = wall,
                         .parameter_count = 1,
                         .target = target,
                         .spp = 2,
                         .seed = seed,
                         .average_from = BL_AVERAGE_AUTO + FROM};
}

/* ---- what it is good for ---- */

/* Root of the mean square over seeds and channels of the distance from the truth, of the last step and after
 * settling. */
static void errors(const bl_scene *scene, const bl_fit_parameter *wall, double found[2], double *share)
{
    found[0] = found[1] = *share = 0;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        course c;
        const bl_fit_desc desc = about(wall, seed);
        *share += follow(scene, &desc, c) / SEEDS;
        for (int k = 0; k < 2; k++)
            for (int channel = 0; channel < 3; channel++)
                found[k] += pow((double)c[STEPS + k][channel] - (double)truth[channel], 2) / (3 * SEEDS);
    }
    found[0] = sqrt(found[0]), found[1] = sqrt(found[1]);
}

static void values_that_move_about_the_goal_come_nearer(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double rate;
        float first[3];
    } cases[] = {{"arrived", 0.1, {0.5f, 0.4f, 0.3f}}, {"overshot", 0.05, {0.8f, 0.7f, 0.6f}}};
    bl_scene *scene = room();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const bl_fit_parameter wall = {
            .name = "wall.reflectance.value", .rate = cases[k].rate, .initial = cases[k].first};
        double found[2], share;
        errors(scene, &wall, found, &share);
        print_message("%s: error %.4g -> %.4g, share %.2f\n", cases[k].name, found[0], found[1], share);
        if (!(found[1] < 0.75 * found[0] && share > 0.4))
            fail_msg("%s: error %g before settling, %g after it, share %g", cases[k].name, found[0], found[1],
                     share);
    }
    bl_scene_destroy(scene);
}

/* With a rate so small that all steps go one way, and with noise in which the goal cannot be seen. */
static void values_that_drift_stay(void **state)
{
    (void)state;
    const bl_fit_parameter wall = {
        .name = "wall.reflectance.value", .rate = 0.002, .initial = (const float[]){0.8f, 0.1f, 0.6f}};
    bl_scene *scene = room();
    double worst = 0;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        course c;
        const bl_fit_desc desc = about(&wall, seed);
        follow(scene, &desc, c);
        for (int channel = 0; channel < 3; channel++) {
            const double last = (double)c[STEPS][channel], behind = fabs(mean_of(c, channel) - last);
            assert_true(behind > 0.015); /* so far would a mean be in the past */
            worst = fmax(worst, fabs((double)c[STEPS + 1][channel] - last) / behind);
        }
    }
    print_message("moved by at most %.3f of what a mean lags\n", worst);
    assert_true(worst < 0.11); /* a step's length: values before steps are what gradients are of */
    bl_scene_destroy(scene);
}

/* ---- what it is ---- */

/* By the formulas of Frees and Ruppert, in two passes over what the values were. */
static double by_formula(course c, int channel, double rate)
{
    enum { N = STEPS - FROM + 1 };
    double x[N], g[N], xm = 0, gm = 0, xx = 0, xg = 0, gg = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (double)c[FROM - 1 + i][channel];
        g[i] = (x[i] - (double)c[FROM + i][channel]) / rate;
        xm += x[i] / N, gm += g[i] / N;
    }
    for (int i = 0; i < N; i++)
        xx += pow(x[i] - xm, 2), xg += (x[i] - xm) * (g[i] - gm), gg += pow(g[i] - gm, 2);
    const double h = xg / xx, z2 = h * xg / ((gg - h * xg) / (N - 2)), most = sqrt(3 * xx / N);
    const double root = xm + fmin(fmax(-gm / h, -most), most), last = (double)c[STEPS][channel];
    return last + (h > 0 ? fmax(0, 1 - 8 / z2) : 0) * (root - last);
}

static void settled_values_are_those_of_the_formula(void **state)
{
    (void)state;
    enum { TRIES = 4 };
    static const struct {
        double rate, prior;
    } cases[] = {{10, 0}, {2, 0.5}};
    bl_scene *scene = room();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double share = 0;
        const bl_fit_parameter wall = {.name = "wall.reflectance.value",
                                       .rate = cases[k].rate,
                                       .initial = truth,
                                       .prior = cases[k].prior > 0 ? BL_PRIOR_L2 : BL_PRIOR_NONE,
                                       .prior_weight = cases[k].prior};
        for (uint32_t seed = 1; seed <= TRIES; seed++) {
            course c;
            bl_fit_desc desc = about(&wall, seed);
            desc.optimizer = BL_OPTIMIZER_SGD;
            share += follow(scene, &desc, c) / TRIES;
            for (int channel = 0; channel < 3; channel++) {
                const double expected = by_formula(c, channel, cases[k].rate),
                             last = (double)c[STEPS][channel], got = (double)c[STEPS + 1][channel];
                if (!(fabs(got - expected) < 1e-6 + 1e-3 * fabs(expected - last)))
                    fail_msg("case %zu, seed %u, channel %d: %.8g, by the formula %.8g (last %.8g)", k, seed,
                             channel, got, expected, last);
            }
        }
        assert_true(share > 0.2);
    }
    bl_scene_destroy(scene);
}

/* Before the first of the steps, and with fewer than eight of them. */
static void few_steps_tell_nothing(void **state)
{
    (void)state;
    const bl_fit_parameter wall = {.name = "wall.reflectance.value", .rate = 0.1, .initial = truth};
    bl_scene *scene = room();
    for (uint32_t from = STEPS - 8; from <= STEPS + 1; from += 2) {
        course c;
        bl_fit_desc desc = about(&wall, 1);
        desc.average_from = BL_AVERAGE_AUTO + from;
        const double share = follow(scene, &desc, c);
        assert_true((share > 0) == (from < STEPS - 6));
        assert_true(!memcmp(c[STEPS], c[STEPS + 1], sizeof c[0]) == !(share > 0));
    }
    bl_fit *fit;
    bl_fit_desc desc = about(&wall, 1);
    desc.average_from = 2 * BL_AVERAGE_AUTO;
    scene_device_refused(&device, bl_fit_create(device.device, scene, &desc, &fit), BL_ERROR_ARGUMENT,
                         "average_from");
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_move_about_the_goal_come_nearer),
        cmocka_unit_test(values_that_drift_stay),
        cmocka_unit_test(settled_values_are_those_of_the_formula),
        cmocka_unit_test(few_steps_tell_nothing),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "fit roots", tests);
}
