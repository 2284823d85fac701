/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The preconditioner of large steps against a dense matrix, written down from its definition and solved by
 * Gauss and Jordan; a step against the formulas of the paper; and what cannot be factorised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fit/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fan around vertex 0, a triangle of its own, a face twice, a degenerate face, and vertex 10 alone. */
static const uint32_t faces[] = {0, 1, 2, 0, 2, 3, 0, 3, 4, 0, 4, 5, 0, 5, 1, 6, 7, 8, 6, 7, 8, 9, 9, 0};
enum { FACES = sizeof faces / sizeof *faces / 3, N = 11, COUNT = 3 * N };
static const double lambda = 2.5;
static bl_error err;

static uint32_t random_state = 17;
static double uniform(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) * 0x1p-24;
}

static void dense(double a[N][N])
{
    bool edge[N][N] = {{0}};
    for (uint32_t c = 0; c < 3 * FACES; c++) {
        uint32_t i = faces[c], j = faces[c / 3 * 3 + (c + 1) % 3];
        edge[i][j] = edge[j][i] = i != j;
    }
    memset(a, 0, N * sizeof *a);
    for (int i = 0; i < N; i++) {
        a[i][i] = 1;
        for (int j = 0; j < N; j++)
            if (edge[i][j])
                a[i][i] += lambda, a[i][j] -= lambda;
    }
}

/* x = inverse(A) x */
static void solve_dense(double *x)
{
    double a[N][N];
    dense(a);
    for (int k = 0; k < N; k++) /* positive definite: no pivoting */
        for (int i = 0; i < N; i++) {
            double factor = i == k ? 0 : a[i][k] / a[k][k];
            for (int j = 0; j < N; j++)
                a[i][j] -= factor * a[k][j];
            for (int c = 0; c < 3; c++)
                x[3 * i + c] -= factor * x[3 * k + c];
        }
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 3; c++)
            x[3 * i + c] /= a[i][i];
}

static fit_smoothing *create(void)
{
    fit_smoothing *s;
    if (fit_smoothing_create(faces, FACES, N, lambda, &s, &err) != BL_OK)
        fail_msg("%s", err.text);
    return s;
}

static void solution_equals_dense(void **state)
{
    (void)state;
    fit_smoothing *s = create();
    for (int round = 0; round < 3; round++) {
        double got[COUNT], wanted[COUNT], given[COUNT];
        for (int i = 0; i < COUNT; i++)
            got[i] = wanted[i] = given[i] = 2 * uniform() - 1;
        assert_int_equal(fit_smoothing_solve(s, got, COUNT, &err), BL_OK);
        solve_dense(wanted);
        for (int i = 0; i < COUNT; i++)
            assert_true(fabs(got[i] - wanted[i]) < 1e-13);
        double heights[N]; /* one number a vertex: that coordinate alone */
        for (int i = 0; i < N; i++)
            heights[i] = given[3 * i];
        assert_int_equal(fit_smoothing_solve(s, heights, N, &err), BL_OK);
        for (int i = 0; i < N; i++)
            assert_true(fabs(heights[i] - wanted[3 * i]) < 1e-13);
    }
    fit_smoothing_destroy(s);
}

/* AdamUniform as Nicolet et al. write it, by u, in double precision, with x = inverse(A) u. */
static void steps_equal_the_papers(void **state)
{
    (void)state;
    enum { STEPS = 4 };
    const double beta_1 = 0.9, beta_2 = 0.99, epsilon = 1e-8, rate = 0.03;
    fit_smoothing *s = create();
    float values[COUNT], first[COUNT] = {0}, second[COUNT] = {0}, gradient[COUNT];
    double x[COUNT], m[COUNT] = {0}, v[COUNT] = {0}, way[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = (double)(values[i] = (float)uniform());
    for (uint32_t step = 1; step <= STEPS; step++) {
        double most = 0, by_u[COUNT];
        for (int i = 0; i < COUNT; i++) {
            gradient[i] = (float)(uniform() - 0.5);
            by_u[i] = i % 3 == 1 ? 0 : (double)gradient[i];
        }
        fit_smoothing_move move = {
            .gradient = gradient,
            .values = values,
            .first = first,
            .second = second,
            .count = COUNT,
            .step = step,
            .rate = rate,
            .beta_1 = beta_1,
            .beta_2 = beta_2,
            .epsilon = epsilon,
            .fixed_axes = 2,
        };
        assert_int_equal(fit_smoothing_step(s, &move, &err), BL_OK);
        solve_dense(by_u);
        for (int i = 0; i < COUNT; i++) {
            m[i] = beta_1 * m[i] + (1 - beta_1) * by_u[i],
            v[i] = beta_2 * v[i] + (1 - beta_2) * by_u[i] * by_u[i];
            most = fmax(most, v[i] / (1 - pow(beta_2, step)));
        }
        for (int i = 0; i < COUNT; i++)
            way[i] = rate * m[i] / (1 - pow(beta_1, step)) / (epsilon + sqrt(most));
        solve_dense(way);
        for (int i = 0; i < COUNT; i++) {
            double before = x[i];
            x[i] -= way[i];
            assert_true(fabs((double)values[i] - x[i]) < 1e-6);
            assert_true(i % 3 != 1 || x[i] == before);
        }
    }
    fit_smoothing_destroy(s);
}

static void mistakes_are_errors(void **state)
{
    (void)state;
    fit_smoothing *s = NULL;
    static const double wrong[] = {0, -1, NAN, INFINITY};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_int_equal(fit_smoothing_create(faces, FACES, N, wrong[k], &s, &err), BL_ERROR_ARGUMENT);
        assert_null(s);
    }
    fit_smoothing_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(solution_equals_dense),
                                       cmocka_unit_test(steps_equal_the_papers),
                                       cmocka_unit_test(mistakes_are_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
