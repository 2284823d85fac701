/* LABELS: swiftshader lavapipe native sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Losses that are weighted sums, with terms on several levels of a pyramid, against plain C in double
 * precision: levels and their transposed, values of the terms, dL/dI against central differences of the
 * definition, both halves of two walks, and a bound of |dL/dI|. With sides that are odd, weights that are 0,
 * and levels that have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fit_rig.h"
#include "support/fixed_point_cases.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 3, WIDTH = 21, HEIGHT = 13, PIXELS = WIDTH * HEIGHT, VALUES = CHANNELS * PIXELS };

static fit_rig *rig;

static int setup(void **state)
{
    fit_rig_open_checked(state);
    rig = *state;
    return 0;
}

static void fill(float *values, uint32_t n, uint64_t seed, float scale)
{
    for (uint32_t i = 0; i < n; i++)
        values[i] = scale * (float)(random_word(&seed) >> 8) / 16777216.0f;
}

/* ---- the definition ---- */

static double value_of(const bl_loss_term *t, double i, double target)
{
    double d = i - target, a = fabs(d), constant = t->constant;
    switch (t->loss) {
    case BL_LOSS_L1:
        return a;
    case BL_LOSS_RELATIVE_L2:
        return d * d / (target * target + constant);
    case BL_LOSS_HUBER:
        return a <= constant ? d * d / 2 : constant * (a - constant / 2);
    default:
        return d * d;
    }
}

typedef struct picture {
    uint32_t width, height;
    double values[VALUES], weights[VALUES];
} picture;

/* The next level in place: means by weights, and the plain mean of weights. */
static void coarser(picture *p)
{
    picture next = {.width = (p->width + 1) / 2, .height = (p->height + 1) / 2};
    for (uint32_t i = 0; i < CHANNELS * next.width * next.height; i++) {
        uint32_t x = i / CHANNELS % next.width, y = i / CHANNELS / next.width, count = 0;
        double sum = 0, weight = 0;
        for (uint32_t row = 2 * y; row < 2 * y + 2 && row < p->height; row++)
            for (uint32_t column = 2 * x; column < 2 * x + 2 && column < p->width; column++, count++) {
                uint32_t at = (row * p->width + column) * CHANNELS + i % CHANNELS;
                if (p->weights[at] > 0)
                    sum += p->weights[at] * p->values[at];
                weight += p->weights[at];
            }
        next.values[i] = weight > 0 ? sum / weight : 0, next.weights[i] = weight / count;
    }
    *p = next;
}

static void picture_of(const double *values, const float *weights, picture *p)
{
    p->width = WIDTH, p->height = HEIGHT;
    for (uint32_t i = 0; i < VALUES; i++)
        p->values[i] = values[i], p->weights[i] = weights ? (double)weights[i] : 1;
}

/* What a term adds to the loss of an image. */
static double term_value(const bl_loss_term *t, const double *image, const double *target,
                         const float *weights)
{
    static picture a, b;
    const uint32_t levels = t->levels ? t->levels : 1;
    double sum = 0;
    picture_of(image, weights, &a), picture_of(target, weights, &b);
    for (uint32_t l = 0; l < levels; l++) {
        const uint32_t n = CHANNELS * a.width * a.height;
        double own = 0;
        for (uint32_t i = 0; i < n; i++)
            own += a.weights[i] > 0 ? a.weights[i] * value_of(t, a.values[i], b.values[i]) / n : 0;
        sum += own * (t->level_weights ? t->level_weights[l] : 1.0 / levels);
        coarser(&a), coarser(&b);
    }
    return sum * (t->weight > 0 ? t->weight : 1);
}

static double loss_value(const bl_composite_loss *c, const double *image, const double *target,
                         const float *weights)
{
    double sum = 0;
    for (uint32_t t = 0; t < c->term_count; t++)
        sum += term_value(&c->terms[t], image, target, weights);
    return sum;
}

/* ---- the device ---- */

typedef struct run {
    gpu_buffer *image, *film, *target, *adjoint, *results;
    fit_composite *composite;
} run;

static void begin(run *r, const bl_composite_loss *loss, const float *image, const float *target,
                  bool weighted, bool halves)
{
    const fit_composite_desc d = {loss, WIDTH, HEIGHT, CHANNELS, weighted, halves};
    CHECK(fit_composite_create(rig->device, &d, &r->composite, &fit_rig_error));
    r->image = fit_rig_words(rig, VALUES, halves ? NULL : image);
    r->film = fit_rig_words(rig, 2 * VALUES, halves ? image : NULL);
    r->target = fit_rig_words(rig, (weighted ? 2 : 1) * VALUES, target);
    r->adjoint = fit_rig_words(rig, 2 * VALUES, NULL), r->results = fit_rig_words(rig, 4, NULL);
}

static void compare(const run *r, double weight)
{
    fit_rig_begin(rig);
    fit_record_composite(rig->batch, rig->kernels, r->composite,
                         &(fit_composite_use){.weight = weight,
                                              .image = r->image,
                                              .target = r->target,
                                              .adjoint = r->adjoint,
                                              .results = r->results,
                                              .film = r->film,
                                              .strips = 2,
                                              .spp = 2,
                                              .pixel_count = PIXELS,
                                              .last = true});
    fit_rig_finish(rig);
}

static void end(run *r)
{
    fit_rig_free_buffers((void **)&rig);
    fit_composite_destroy(r->composite);
}

/* ---- cases ---- */

static const double some_levels[] = {0, 0.5, 0, 2};
static const bl_loss_term every_loss[] = {
    {.loss = BL_LOSS_L1, .weight = 0.3, .levels = 5},
    {.loss = BL_LOSS_HUBER, .constant = 0.2, .levels = 4, .level_weights = some_levels},
    {.loss = BL_LOSS_L2, .weight = 2},
    {.loss = BL_LOSS_RELATIVE_L2, .constant = 0.1, .levels = 6},
};
static const bl_loss_term coarse_only[] = {{.loss = BL_LOSS_L2, .levels = 4, .level_weights = some_levels}};
static const bl_loss_term affine[] = {{.loss = BL_LOSS_L2, .weight = 0.7, .levels = 4},
                                      {.loss = BL_LOSS_RELATIVE_L2, .constant = 0.1},
                                      {.loss = BL_LOSS_L2, .weight = 0.1}};
static const bl_loss_term flat[] = {{.loss = BL_LOSS_L2, .weight = 0.7},
                                    {.loss = BL_LOSS_RELATIVE_L2, .constant = 0.1}};

static float images[2 * VALUES], target[2 * VALUES];
static double as_double[2][VALUES], target_as_double[VALUES];

static void make_pictures(uint64_t seed)
{
    fill(images, 2 * VALUES, seed, 2), fill(target, 2 * VALUES, seed + 1, 1.5f);
    for (uint32_t i = 0; i < VALUES; i++) { /* a part without weight, whose target is no number */
        const uint32_t x = i / CHANNELS % WIDTH, y = i / CHANNELS / WIDTH;
        bool counts = x >= 6 || y >= 8;
        target[VALUES + i] = counts ? 0.1f + target[VALUES + i] : 0;
    }
    for (uint32_t i = 0; i < VALUES; i++) {
        as_double[0][i] = (double)images[i], as_double[1][i] = (double)images[VALUES + i];
        target_as_double[i] = (double)target[i];
    }
}

/* Central differences of the definition; *slack where it has a kink within the step. */
static double difference(const bl_composite_loss *c, uint32_t i, const float *weights, double *slack)
{
    const double e = 1e-6, at = as_double[0][i], mid = loss_value(c, as_double[0], target_as_double, weights);
    as_double[0][i] = at + e;
    double high = loss_value(c, as_double[0], target_as_double, weights);
    as_double[0][i] = at - e;
    double low = loss_value(c, as_double[0], target_as_double, weights);
    as_double[0][i] = at;
    *slack = fabs(high - 2 * mid + low) / (2 * e);
    return (high - low) / (2 * e);
}

static void check_values(const run *r, const bl_composite_loss *c, const float *weights, double scale)
{
    double terms[BL_LOSS_TERMS_MOST] = {0}, all = 0;
    float result;
    CHECK(fit_composite_add_values(r->composite, terms, &fit_rig_error));
    CHECK(gpu_buffer_read(r->results, 0, &result, 4, &fit_rig_error));
    for (uint32_t t = 0; t < c->term_count; t++) {
        double expected = scale * term_value(&c->terms[t], as_double[0], target_as_double, weights);
        if (!(fabs(terms[t] - expected) <= 2e-6 * expected))
            fail_msg("term %u: %.9g instead of %.9g", t, terms[t], expected);
        all += expected;
    }
    assert_true(fabs((double)result - all) <= 2e-6 * all);
}

static void check_slopes(const run *r, const bl_composite_loss *c, const float *weights, double scale)
{
    static float adjoint[VALUES];
    const fit_goal goal = {target, NULL, VALUES, 1, false};
    const double bound = fit_composite_steepest(r->composite, &goal);
    double most = 0, slack;
    CHECK(gpu_buffer_read(r->adjoint, 0, adjoint, sizeof adjoint, &fit_rig_error));
    for (uint32_t i = 0; i < VALUES; i++) {
        double slope = scale * difference(c, i, weights, &slack);
        most = fmax(most, fabs((double)adjoint[i]));
        if (!(fabs((double)adjoint[i] - slope) <= 2e-6 * fabs(slope) + 3e-9 + scale * slack))
            fail_msg("value %u: slope %.9g, by differences %.9g", i, (double)adjoint[i], slope);
    }
    if (!weights && scale == 1) /* images are brighter than the target, by 2 to 1.5 at most */
        assert_true(most <= bound * 2 / 1.5 && bound < 60 * most);
}

static void a_sum_has_the_values_and_slopes_of_its_definition(void **state)
{
    (void)state;
    const bl_composite_loss cases[] = {{every_loss, 4, {0}}, {coarse_only, 1, {0}}, {affine, 3, {0}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int weighted = 0; weighted < 2; weighted++) {
            run r;
            const double scale = weighted ? 0.25 : 1;
            const float *weights = weighted ? target + VALUES : NULL;
            make_pictures(11 + k);
            begin(&r, &cases[k], images, target, weighted, false);
            compare(&r, weighted ? scale : 0);
            check_values(&r, &cases[k], weights, scale);
            check_slopes(&r, &cases[k], weights, scale);
            end(&r);
        }
}

/* <coarser(x), y> = <x, transposed(y)>: with the slope y of a linear function of the coarsest level. The
 * slope of a squared error at image x is linear in x, so slopes at two images A and B tell it: <slope(A), B>
 * = <slope(B), A> for a target of zeros, since levels and their transposed stand on both sides. */
static void levels_and_their_adjoints_are_transposed(void **state)
{
    (void)state;
    static float slopes[2][VALUES];
    const bl_composite_loss c = {coarse_only, 1, {0}};
    make_pictures(5);
    for (int k = 0; k < 2; k++) {
        run r;
        memset(target, 0, VALUES * sizeof *target);
        begin(&r, &c, images + k * VALUES, target, true, false);
        compare(&r, 0);
        CHECK(gpu_buffer_read(r.adjoint, 0, slopes[k], sizeof slopes[k], &fit_rig_error));
        end(&r);
    }
    double one = 0, other = 0;
    for (uint32_t i = 0; i < VALUES; i++)
        one += (double)slopes[0][i] * as_double[1][i], other += (double)slopes[1][i] * as_double[0][i];
    assert_true(one > 0.1 && fabs(one - other) <= 1e-6 * one);
}

/* In two walks dL/dI of each half is the slope at that half's image, and the loss the mean of slope(A) (B -
 * T) / 2 on every level: of squared errors ((A - T) (B - T)). */
static void two_walks_have_the_slopes_of_both_halves(void **state)
{
    (void)state;
    static float adjoint[2 * VALUES], alone[VALUES];
    const bl_composite_loss cases[] = {{affine, 3, {0}}, {flat, 2, {0}}, {coarse_only, 1, {0}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        run r;
        float result;
        make_pictures(23 + k);
        begin(&r, &cases[k], images, target, true, true);
        compare(&r, 0);
        CHECK(gpu_buffer_read(r.adjoint, 0, adjoint, sizeof adjoint, &fit_rig_error));
        CHECK(gpu_buffer_read(r.results, 0, &result, 4, &fit_rig_error));
        end(&r);
        for (int half = 0; half < 2; half++) {
            begin(&r, &cases[k], images + half * VALUES, target, true, false);
            compare(&r, 0);
            CHECK(gpu_buffer_read(r.adjoint, 0, alone, sizeof alone, &fit_rig_error));
            end(&r);
            for (uint32_t i = 0; i < VALUES; i++)
                assert_true(fabs((double)adjoint[half * VALUES + i] - (double)alone[i]) <=
                            1e-6 * fabs((double)alone[i]) + 1e-9);
        }
        /* of a form that is bilinear and symmetric: f(A, B) = (f(A + B) - f(A - B)) / 4, of images without
           the target */
        static double sum[VALUES], off[VALUES], none[VALUES];
        for (uint32_t i = 0; i < VALUES; i++) {
            double a = as_double[0][i] - target_as_double[i], b = as_double[1][i] - target_as_double[i];
            sum[i] = target_as_double[i] + (a + b) / 2, off[i] = target_as_double[i] + (a - b) / 2;
            none[i] = target_as_double[i];
        }
        double expected = loss_value(&cases[k], sum, none, target + VALUES) -
                          loss_value(&cases[k], off, none, target + VALUES);
        if (!(fabs((double)result - expected) <= 1e-5 * fabs(expected)))
            fail_msg("the loss of two walks: %.9g instead of %.9g", (double)result, expected);
    }
}

static void targets_without_weight_may_be_anything(void **state)
{
    (void)state;
    static float with[VALUES], without[VALUES];
    const bl_composite_loss c = {every_loss, 4, {0}};
    make_pictures(31);
    for (int k = 0; k < 2; k++) {
        run r;
        for (uint32_t i = 0; i < VALUES && k; i++)
            target[i] = target[VALUES + i] > 0 ? target[i] : i % 2 ? NAN : 1e30f;
        begin(&r, &c, images, target, true, false);
        compare(&r, 0);
        CHECK(gpu_buffer_read(r.adjoint, 0, k ? with : without, sizeof with, &fit_rig_error));
        end(&r);
    }
    assert_memory_equal(with, without, sizeof with);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_has_the_values_and_slopes_of_its_definition),
        cmocka_unit_test(levels_and_their_adjoints_are_transposed),
        cmocka_unit_test(two_walks_have_the_slopes_of_both_halves),
        cmocka_unit_test(targets_without_weight_may_be_anything),
    };
    return cmocka_run_group_tests(tests, setup, fit_rig_close);
}
