/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * The noise of a fit through the public functions. Looking at that of its gradients changes nothing, and says
 * what many gradients of the same values say. Samples that follow from it, recursive images and means over
 * steps are what the header promises; tests/api/fit_state.c has their checkpoints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lit_wall.h"
#include "support/scene_device.h"
#include "support/todays_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE, STEPS = 7, PARAMETERS = 2 };

static scene_device device;
static float target[VALUES];
static const char *const names[PARAMETERS] = {"wall.reflectance.value", "lamp.radiance.value"};

static bl_scene *room(void) { return lit_wall_load(&device, SIDE, ".5", ""); }

static const bl_fit_parameter wall_and_lamp[PARAMETERS] = {
    {.name = "wall.reflectance.value", .initial = (const float[]){0.4f, 0.5f, 0.6f}},
    {.name = "lamp.radiance.value", .rate = 0.5, .initial = (const float[]){1, 1, 1}}};

static bl_fit_desc plain(void)
{
    return (bl_fit_desc){
        .parameters = wall_and_lamp, .parameter_count = PARAMETERS, .target = target, .spp = 4, .seed = 11};
}

static bl_fit *create(const bl_scene *scene, const bl_fit_desc *desc)
{
    bl_fit *fit;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, desc, &fit));
    return fit;
}

typedef struct outcome {
    float values[PARAMETERS][3];
    double loss[STEPS];
} outcome;

static void walk(const bl_scene *scene, const bl_fit_desc *desc, outcome *o)
{
    bl_fit *fit = create(scene, desc);
    bl_fit_noise noise;
    for (uint32_t step = 0; step < STEPS; step++) {
        bl_fit_status status;
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        o->loss[step] = status.loss;
        SCENE_MUST(&device, bl_fit_get_noise(fit, 1, &noise));
        assert_int_equal(noise.step,
                         desc->variance_steps ? 1 + step / desc->variance_steps * desc->variance_steps : 0);
        assert_true(!desc->variance_steps == !(noise.variance > 0));
    }
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_fit_get(fit, k, o->values[k]));
    assert_int_equal(bl_fit_get_noise(fit, PARAMETERS, &noise), BL_ERROR_ARGUMENT);
    bl_fit_destroy(fit);
}

static void looking_changes_nothing(void **state)
{
    (void)state;
    static outcome with, without;
    bl_scene *scene = room();
    const bl_fit_view views[2] = {{.target = target}, {.target = target, .weight = 3}};
    for (int several = 0; several < 3; several++)
        for (bl_gradient_form form = BL_FORM_FUSED; form < BL_FORM_COUNT; form++) {
            bl_fit_desc desc = plain();
            desc.form = form, desc.common_numbers = form == BL_FORM_FUSED;
            if (several)
                desc.target = NULL, desc.views = views, desc.view_count = 2;
            desc.batch = several == 2 ? 20 : 0;
            walk(scene, &desc, &without);
            desc.variance_steps = 3;
            walk(scene, &desc, &with);
            assert_memory_equal(with.loss, without.loss, sizeof with.loss);
            assert_memory_equal(with.values, without.values, sizeof with.values);
        }
    bl_scene_destroy(scene);
}

/* ---- what it says ---- */

enum { LOOKS = 1000, GRADIENTS = 1000 };

/* Means of variance and square over the looks of a fit that stays where it is. */
static void look(const bl_scene *scene, bl_gradient_form form, double variance[PARAMETERS],
                 double square[PARAMETERS])
{
    bl_fit_parameter still[PARAMETERS] = {wall_and_lamp[0], wall_and_lamp[1]};
    still[0].rate = still[1].rate = 1e-30;
    bl_fit_desc desc = plain();
    desc.form = form, desc.variance_steps = 1, desc.parameters = still;
    bl_fit *fit = create(scene, &desc);
    for (int step = 0; step < LOOKS; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
        for (uint32_t k = 0; k < PARAMETERS; k++) {
            bl_fit_noise one;
            SCENE_MUST(&device, bl_fit_get_noise(fit, k, &one));
            variance[k] += one.variance / LOOKS, square[k] += one.square / LOOKS;
        }
    }
    bl_fit_destroy(fit);
}

/* The same of gradients of a job. */
static void measure(const bl_scene *scene, bl_gradient_form form, double variance[PARAMETERS],
                    double square[PARAMETERS])
{
    bl_job *job;
    double sum[PARAMETERS][3] = {{0}}, squares[PARAMETERS][3] = {{0}};
    SCENE_MUST(&device,
               bl_job_create(device.device, scene,
                             &(bl_job_desc){.parameters = names, .parameter_count = PARAMETERS}, &job));
    for (uint32_t k = 0; k < PARAMETERS; k++)
        SCENE_MUST(&device, bl_job_set_parameter(job, scene_device_find(&device, scene, names[k]),
                                                 wall_and_lamp[k].initial));
    for (uint32_t seed = 0; seed < GRADIENTS; seed++) {
        SCENE_MUST(
            &device,
            bl_job_gradient(job, &(bl_gradient_desc){.target = target, .form = form, .spp = 4, .seed = seed},
                            NULL));
        for (uint32_t k = 0; k < PARAMETERS; k++) {
            float g[3];
            SCENE_MUST(&device, bl_job_read_gradient(job, k, g));
            for (int c = 0; c < 3; c++)
                sum[k][c] += (double)g[c], squares[k][c] += (double)g[c] * (double)g[c];
        }
    }
    for (uint32_t k = 0; k < PARAMETERS; k++)
        for (int c = 0; c < 3; c++) {
            const double mean = sum[k][c] / GRADIENTS;
            variance[k] += (squares[k][c] / GRADIENTS - mean * mean) / 3, square[k] += mean * mean / 3;
        }
    bl_job_destroy(job);
}

/* Both variances have a relative standard error of about sqrt(2 / 1000) = 4.5 %, so their ratio of 6 %. A
 * product of two gradients has the variance 2 square variance + variance^2; that of the mean of many is less.
 * Several values of a parameter are taken as one, since they see the same paths. */
static void it_is_the_noise_of_many_gradients(void **state)
{
    (void)state;
    bl_scene *scene = room();
    for (bl_gradient_form form = BL_FORM_FUSED; form <= BL_FORM_TWO_WALK; form++) {
        double variance[2][PARAMETERS] = {{0}}, square[2][PARAMETERS] = {{0}};
        look(scene, form, variance[0], square[0]);
        measure(scene, form, variance[1], square[1]);
        for (uint32_t k = 0; k < PARAMETERS; k++) {
            const double v = variance[1][k], s = square[1][k],
                         error = sqrt((6 * s * v + v * v) / LOOKS) + v / GRADIENTS;
            print_message("%s, %s: variance %.3g (of many: %.3g), square %.4g (%.4g, +- %.2g)\n",
                          bl_gradient_form_name(form), names[k], variance[0][k], v, square[0][k], s, error);
            assert_true(variance[0][k] < 1.3 * v && v < 1.3 * variance[0][k]);
            assert_true(fabs(square[0][k] - s) < 4 * error);
        }
    }
    bl_scene_destroy(scene);
}

/* ---- samples that follow from it ---- */

enum { LEAST = 4, MOST = 32, LONG = 25 };

static void walk_adaptively(const bl_scene *scene, double wanted, uint32_t spp[LONG], double loss[LONG])
{
    bl_fit_desc desc = plain();
    desc.wanted_noise = wanted, desc.spp = MOST, desc.spp_least = LEAST;
    bl_fit *fit = create(scene, &desc);
    uint64_t samples = 0;
    for (int step = 0; step < LONG; step++) {
        bl_fit_status status;
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        spp[step] = status.spp_gradient, loss[step] = status.loss;
        samples += SIDE * SIDE * spp[step]; /* in two walks */
        assert_true(status.samples == samples && status.spp == spp[step] && spp[step] % 2 == 0);
        assert_true(spp[step] >= LEAST && spp[step] <= MOST);
        assert_true(step == 0 || spp[step] <= 1.5 * spp[step - 1] + 2);
    }
    bl_fit_destroy(fit);
}

static void samples_follow_from_noise(void **state)
{
    (void)state;
    bl_scene *scene = room();
    uint32_t few[LONG], some[LONG], again[LONG], many[LONG], all = 0, least = LONG * LEAST;
    double loss[2][LONG];
    walk_adaptively(scene, 1e3, few, loss[0]);
    walk_adaptively(scene, 1e-3, many, loss[0]);
    walk_adaptively(scene, 0.5, again, loss[1]);
    walk_adaptively(scene, 0.5, some, loss[0]);
    assert_memory_equal(some, again, sizeof some);
    assert_memory_equal(loss[0], loss[1], sizeof loss[0]);
    assert_int_equal(many[LONG - 1], MOST);
    for (int step = 0; step < LONG; step++) {
        assert_int_equal(few[step], LEAST);
        all += some[step];
    }
    print_message("samples of a pixel in %d steps: %u, at least %u\n", LONG, all, least);
    assert_true(all > 1.2 * least && all < LONG * MOST / 1.2);
    bl_scene_destroy(scene);
}

/* ---- samples by the schedule ---- */

/* A step is that of a fit which has as many samples in every step, up to the rounding of sums in fixed point,
 * whose scale follows from the values that the fit began with. */
static void samples_follow_the_schedule(void **state)
{
    (void)state;
    static const uint32_t wanted[STEPS] = {4, 4, 8, 8, 8, 2, 2};
    static const bl_fit_change changes[] = {{3, 1, 2}, {5, 1, 0}, {6, 1, 0.4}};
    bl_scene *scene = room();
    bl_fit_desc desc = plain(), constant = plain();
    desc.optimizer = constant.optimizer = BL_OPTIMIZER_SGD; /* it has no state */
    desc.schedule = changes, desc.schedule_count = 3;
    bl_fit *fit = create(scene, &desc), *same = create(scene, &constant);
    for (uint32_t step = 0; step < STEPS; step++) {
        bl_fit_status status, other;
        float values[2][PARAMETERS][3];
        bl_fit_parameter here[PARAMETERS] = {wall_and_lamp[0], wall_and_lamp[1]};
        if (step > 0 && wanted[step] != wanted[step - 1]) {
            for (uint32_t k = 0; k < PARAMETERS; k++) {
                SCENE_MUST(&device, bl_fit_get(fit, k, values[0][k]));
                here[k].initial = values[0][k];
            }
            constant.parameters = here, constant.first_step = step, constant.spp = wanted[step];
            bl_fit_destroy(same);
            same = create(scene, &constant);
        }
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        SCENE_MUST(&device, bl_fit_step(same, &other));
        assert_int_equal(status.spp, wanted[step]);
        assert_int_equal(status.spp_gradient, wanted[step]);
        assert_true(fabs(status.loss - other.loss) < 1e-5 * other.loss);
        for (uint32_t k = 0; k < PARAMETERS; k++) {
            SCENE_MUST(&device, bl_fit_get(fit, k, values[0][k]));
            SCENE_MUST(&device, bl_fit_get(same, k, values[1][k]));
            for (int c = 0; c < 3; c++)
                assert_true(fabsf(values[0][k][c] - values[1][k][c]) < 1e-5f);
        }
    }
    bl_fit_destroy(fit);
    bl_fit_destroy(same);
    bl_scene_destroy(scene);
}

static void what_a_schedule_cannot_do_is_refused(void **state)
{
    (void)state;
    bl_scene *scene = room();
    static const bl_fit_change more[] = {{3, 1, 2}}, fewer[] = {{3, 1, -1}}, many[] = {{3, 1, 1e30}};
    bl_fit_desc bad[] = {plain(), plain(), plain(), plain()};
    const char *const words[] = {"not from both", "the schedule", "above 0", "below 2^32"};
    for (int k = 0; k < 4; k++)
        bad[k].schedule = k < 2 ? more : k == 2 ? fewer : many, bad[k].schedule_count = 1;
    bad[0].wanted_noise = 1, bad[1].recursive_images = 1;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        bl_fit *fit;
        scene_device_refused(&device, bl_fit_create(device.device, scene, &bad[k], &fit), BL_ERROR_ARGUMENT,
                             words[k]);
    }
    bl_scene_destroy(scene);
}

/* ---- recursive images ---- */

/* The losses of steps; with the loss l1 and a black target they are the mean of the image, or of one pixel.
 */
static void images(const bl_scene *scene, bl_fit_desc desc, double loss[STEPS])
{
    bl_fit *fit = create(scene, &desc);
    for (int step = 0; step < STEPS; step++) {
        bl_fit_status status;
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        loss[step] = status.loss;
    }
    bl_fit_destroy(fit);
}

static const float black[VALUES];

static bl_fit_desc of_images(const bl_fit_parameter *parameters)
{
    bl_fit_desc desc = plain();
    desc.target = black, desc.loss = BL_LOSS_L1, desc.parameters = parameters;
    return desc;
}

static void still_images_are_running_means(void **state)
{
    (void)state;
    bl_scene *scene = room();
    bl_fit_parameter still[PARAMETERS] = {wall_and_lamp[0], wall_and_lamp[1]};
    still[0].rate = still[1].rate = 1e-30;
    bl_fit_desc desc = of_images(still);
    for (bl_gradient_form form = BL_FORM_FUSED; form <= BL_FORM_SEPARATE; form++) {
        double plain_loss[STEPS], loss[STEPS], sum = 0;
        desc.form = form, desc.recursive_images = 0;
        images(scene, desc, plain_loss);
        desc.recursive_images = 1;
        images(scene, desc, loss);
        for (int step = 0; step < STEPS; step++) {
            sum += plain_loss[step];
            assert_true(fabs(loss[step] / (sum / (step + 1)) - 1) < 1e-5);
        }
    }
    bl_scene_destroy(scene);
}

enum { SEEDS = 400 };

typedef struct moments {
    double mean, square;
} moments;

/* Of the last step's image over seeds. */
static moments over_seeds(const bl_scene *scene, bl_fit_desc desc)
{
    moments m = {0};
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        double loss[STEPS];
        desc.seed = seed + (desc.recursive_images ? SEEDS : 0);
        images(scene, desc, loss);
        m.mean += loss[STEPS - 1] / SEEDS, m.square += loss[STEPS - 1] * loss[STEPS - 1] / SEEDS;
    }
    return m;
}

static double variance_of(moments m) { return (m.square - m.mean * m.mean) * SEEDS / (SEEDS - 1); }

/* The same expectation and less variance, while the parameters move: of the whole image, and of one pixel at
 * the lamp's border, whose samples are skewed. With 400 seeds the ratio of two variances has a standard error
 * of 10 % and more. */
static void recursive_images_have_the_same_mean_and_less_noise(void **state)
{
    (void)state;
    bl_scene *scene = room();
    float weights[SIDE * SIDE] = {0};
    weights[SIDE * 4 + 2] = SIDE * SIDE;
    bl_fit_parameter slow[PARAMETERS] = {wall_and_lamp[0], wall_and_lamp[1]};
    slow[0].rate = 0.005, slow[1].rate = 0.02; /* images stay above 0, so that their magnitude is they */
    for (int single = 0; single < 2; single++) {
        bl_fit_desc desc = of_images(slow);
        desc.spp = 2, desc.form = BL_FORM_SEPARATE, desc.weights = single ? weights : NULL;
        const moments one = over_seeds(scene, desc);
        desc.recursive_images = 1;
        const moments other = over_seeds(scene, desc);
        const double v = variance_of(one), w = variance_of(other),
                     z = (other.mean - one.mean) / sqrt((v + w) / SEEDS);
        print_message("%s: mean %.6g and %.6g, z %.2f; variance %.3g and %.3g\n",
                      single ? "a pixel" : "the image", one.mean, other.mean, z, v, w);
        assert_true(fabs(z) < 4 && w < 0.6 * v && w > 0);
    }
    bl_scene_destroy(scene);
}

static void what_cannot_be_recursive_is_refused(void **state)
{
    (void)state;
    bl_scene *scene = room();
    bl_fit_desc bad[] = {plain(), plain(), plain(), plain(), plain(), plain(), plain()};
    const char *const words[] = {"fused or separate",    "batch",   "even spp",
                                 "variance_steps",       "above 0", "spp_least (9)",
                                 "common random numbers"};
    for (int k = 0; k < 4; k++)
        bad[k].recursive_images = 1;
    bad[0].form = BL_FORM_TWO_WALK, bad[1].batch = 4, bad[2].spp = 3, bad[3].variance_steps = 2;
    bad[4].wanted_noise = -1, bad[5].wanted_noise = 1, bad[5].spp_least = 9;
    bad[6].wanted_noise = 1, bad[6].common_numbers = true;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        bl_fit *fit;
        scene_device_refused(&device, bl_fit_create(device.device, scene, &bad[k], &fit), BL_ERROR_ARGUMENT,
                             words[k]);
    }
    bl_scene_destroy(scene);
}

/* ---- means over steps ---- */

static void settled_values_are_means(void **state)
{
    (void)state;
    bl_scene *scene = room();
    bl_fit_desc desc = plain();
    desc.average_from = 4;
    bl_fit *fit = create(scene, &desc);
    double sum[3] = {0};
    float values[3];
    for (int step = 1; step <= STEPS; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, NULL));
        SCENE_MUST(&device, bl_fit_get(fit, 0, values));
        for (int c = 0; c < 3 && step >= 4; c++)
            sum[c] += (double)values[c];
        if (step == 3) { /* nothing to settle to */
            float same[3];
            SCENE_MUST(&device, bl_fit_settle(fit));
            SCENE_MUST(&device, bl_fit_get(fit, 0, same));
            assert_memory_equal(same, values, sizeof same);
        }
    }
    SCENE_MUST(&device, bl_fit_settle(fit));
    for (int c = 0; c < 3; c++) {
        const double last = (double)values[c];
        float mean[3];
        SCENE_MUST(&device, bl_fit_get(fit, 0, mean));
        assert_true(fabs((double)mean[c] - sum[c] / (STEPS - 3)) < 1e-6);
        assert_true(fabs((double)mean[c] - last) > 1e-4);
    }
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
}

int main(void)
{
    for (int i = 0; i < VALUES; i++)
        target[i] = (float)(i % 7) / 7;
    struct CMUnitTest tests[] = {
        cmocka_unit_test(looking_changes_nothing),
        cmocka_unit_test(it_is_the_noise_of_many_gradients),
        cmocka_unit_test(samples_follow_from_noise),
        cmocka_unit_test(samples_follow_the_schedule),
        cmocka_unit_test(what_a_schedule_cannot_do_is_refused),
        cmocka_unit_test(still_images_are_running_means),
        cmocka_unit_test(recursive_images_have_the_same_mean_and_less_noise),
        cmocka_unit_test(what_cannot_be_recursive_is_refused),
        cmocka_unit_test(settled_values_are_means),
    };
    size_t count = todays_tests(tests, sizeof tests / sizeof *tests, 2);
    return scene_device_run(&device, NULL, "fit noise", tests, count, NULL);
}
