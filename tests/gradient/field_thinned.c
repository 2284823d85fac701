/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is the mean of thinned gradients of a radiance field (thin_gradient) the whole gradient? In the
 * interpreter, over many seeds. Both replay the same paths, so each difference of the two is random by the
 * choice of samples and voxels alone, and has the mean 0: a z-test for each element, and along random
 * directions over all of them. Rays are jittered, and end early. */
#include "support/case_tests.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 3, SEEDS = 6000, DIRECTIONS = 8, PARAMETERS = 3 };
static const double worst_z = 5; /* of some 500 numbers in all: one in 3000 runs of a right estimate fails,
                                    and seeds are fixed */

typedef struct thinned_case {
    const char *name, *density, *color_file, *color, *least_transmittance, *thin;
} thinned_case;
static const thinned_case cases[] = {
    {"degree 0, one of 8", "softplus", "tint.vol", "sigmoid", ".25", "8"},
    {"degree 1, one of 8", "relu", "waves.vol", "softplus", ".55", "8"},
    {"degree 0, one of 2", "softplus", "tint.vol", "sigmoid", ".25", "2"},
    {"degree 0, all samples", "softplus", "tint.vol", "sigmoid", ".25", "1"},
};
static const char *const parameters[PARAMETERS] = {"field.density.data", "field.sh_coeffs.data",
                                                   "sky.radiance.value"};
static char *folder;

static scene_eval *create(const thinned_case *c, const char *thin)
{
    arena a = {0};
    char *integrator = arena_printf(
        &a,
        "<integrator type='radiance_field'><float name='step_size' value='.04'/><float "
        "name='min_transmittance' value='%s'/><integer name='thin_gradient' value='%s'/></integrator>",
        c->least_transmittance, thin);
    char *body = arena_printf(
        &a,
        "<field type='sh_field' id='field'><transform name='to_world'><translate value='-.5,-.5,-.3'/><scale "
        "value='1.9,1.6,1.4'/></transform><string name='density_activation' value='%s'/><string "
        "name='color_activation' value='%s'/><volume type='gridvolume' name='density'><string "
        "name='filename' value='mist.vol'/></volume><volume type='gridvolume' name='sh_coeffs'><string "
        "name='filename' value='%s'/></volume></field><emitter type='constant' id='sky'><rgb name='radiance' "
        "value='.7,.9,1.2'/></emitter>",
        c->density, c->color, c->color_file);
    char *xml = scene_xml(&a, integrator, arena_printf(&a, scene_sensor_format, SIDE, SIDE), body);
    scene_eval *e = scene_eval_create(xml, folder, parameters, PARAMETERS);
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        e->adjoint[i] = 1 + (float)(i % 3);
    arena_free(&a);
    return e;
}

static void run(scene_eval *e, uint32_t seed)
{
    bl_error err = {0};
    scene_eval_at at = {.pixel = seed % (SIDE * SIDE), .sample = seed / 7 % 5, .seed = seed, .stream = 1};
    if (scene_eval_run(e, RENDER_GRADIENT, at, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(e->status[STATUS_NON_FINITE] + e->status[STATUS_DRIFT], 0);
}

typedef struct tally {
    double sum, squares, whole, size;
} tally;

static void add(tally *t, double thinned, double whole)
{
    double off = thinned - whole;
    t->sum += off, t->squares += off * off, t->whole += whole, t->size += fabs(whole);
}

static void expect_mean(const char *name, const char *what, uint32_t k, const tally *t)
{
    double mean = t->sum / SEEDS, deviation = sqrt((t->squares / SEEDS - mean * mean) / SEEDS);
    if (!(fabs(mean) <= worst_z * deviation + 1e-6 * t->size / SEEDS))
        fail_msg("%s, %s %u: %.6g thinned, %.6g whole, z = %.3g", name, what, k, (t->whole + t->sum) / SEEDS,
                 t->whole / SEEDS, mean / deviation);
}

/* The sky's gradient is not thinned, and is the same. */
static void compare(const scene_eval *thinned, const scene_eval *whole, const double *v, tally *elements,
                    tally *directions)
{
    uint32_t count = whole->plan->gradient_count, sky = scene_eval_gradient_first(whole, parameters[2]);
    double along[2][DIRECTIONS] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        add(&elements[i], thinned->gradient[i], whole->gradient[i]);
        assert_true(i - sky >= 3 || thinned->gradient[i] == whole->gradient[i]);
        for (uint32_t d = 0; d < DIRECTIONS; d++)
            along[0][d] += v[d * count + i] * thinned->gradient[i],
                along[1][d] += v[d * count + i] * whole->gradient[i];
    }
    for (uint32_t d = 0; d < DIRECTIONS; d++)
        add(&directions[d], along[0][d], along[1][d]);
}

static void mean_is_the_whole_gradient(void **state)
{
    const thinned_case *c = *state;
    scene_eval *thinned = create(c, c->thin), *whole = create(c, "0");
    uint32_t count = whole->plan->gradient_count, random = 11, noisy = 0;
    tally *elements = calloc(count, sizeof *elements), directions[DIRECTIONS] = {{0}};
    double *v = calloc(DIRECTIONS * count, sizeof *v), noise = 0;
    assert_true(elements && v);
    for (uint32_t i = 0; i < DIRECTIONS * count; i++)
        v[i] = 2 * scene_random(&random) - 1;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        run(thinned, seed), run(whole, seed);
        compare(thinned, whole, v, elements, directions);
    }
    for (uint32_t i = 0; i < count; i++)
        expect_mean(c->name, "element", i, &elements[i]), noisy += elements[i].squares > 0;
    for (uint32_t d = 0; d < DIRECTIONS; d++) {
        expect_mean(c->name, "direction", d, &directions[d]);
        noise = fmax(noise, sqrt(directions[d].squares) / directions[d].size);
    }
    print_message("%s: %u of %u elements are noisy; along directions the mean is known to %.3g\n", c->name,
                  noisy, count, noise);
    assert_int_equal(noisy, count - 3);
    assert_true(noise < 0.05);
    free(elements), free(v);
    scene_eval_destroy(thinned), scene_eval_destroy(whole);
}

int main(void)
{
    return case_tests_run(mean_is_the_whole_gradient, cases, sizeof *cases, sizeof cases / sizeof *cases,
                          &folder);
}
