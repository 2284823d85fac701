/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers and transforms against values worked out by hand, and properties that hold for all: order of steps,
 * orthonormal columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene_internal.h"
#include "support/test_registry.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct transform_case {
    const char *steps;
    double point[3], image[3];
} transform_case;

static const transform_case cases[] = {
    {"", {1, 2, 3}, {1, 2, 3}},
    {"<translate x='1' z='-2'/>", {1, 2, 3}, {2, 2, 1}},
    {"<translate value='1, 2, 3'/>", {1, 2, 3}, {2, 4, 6}},
    {"<scale value='2'/>", {1, 2, 3}, {2, 4, 6}},
    {"<scale y='2'/>", {1, 2, 3}, {1, 4, 3}},
    {"<scale value='2 3 4'/>", {1, 2, 3}, {2, 6, 12}},
    {"<rotate z='1' angle='90'/>", {1, 0, 5}, {0, 1, 5}},
    {"<rotate y='1' angle='90'/>", {1, 0, 0}, {0, 0, -1}},
    {"<rotate x='-1' angle='90'/>", {0, 1, 0}, {0, 0, -1}},
    {"<rotate value='0.57735026918962576, 0.57735026918962576, 0.57735026918962576' angle='120'/>",
     {1, 2, 3},
     {3, 1, 2}},
    {"<rotate x='2' y='1' angle='90'/>",
     {1, 1, 1},
     {7, 1, 1}}, /* not a unit axis: taken as it stands (Mitsuba 3.9) */
    {"<matrix value='1 2 3 4  5 6 7 8  9 10 11 12  0 0 0 1'/>", {1, 1, 1}, {10, 26, 42}},
    {"<matrix value='0 1 0  0 0 1  1 0 0'/>", {1, 2, 3}, {2, 3, 1}},
    /* in document order: first scale, then translate */
    {"<scale value='2'/><translate x='1'/>", {1, 1, 1}, {3, 2, 2}},
    {"<translate x='1'/><scale value='2'/>", {1, 1, 1}, {4, 2, 2}},
    {"<rotate z='1' angle='90'/><translate x='10'/><rotate z='1' angle='90'/>", {1, 0, 0}, {-1, 10, 0}},
    /* the camera looks along +z, +x is left of the image, +y up */
    {"<lookat origin='0,0,5' target='0,0,0' up='0,1,0'/>", {0, 0, 1}, {0, 0, 4}},
    {"<lookat origin='0,0,5' target='0,0,0' up='0,1,0'/>", {1, 0, 0}, {-1, 0, 5}},
    {"<lookat origin='0,0,5' target='0,0,0' up='0,3,1'/>", {0, 1, 0}, {0, 1, 5}},
    {"<lookat origin='1,2,3' target='4,2,3' up='0,0,1'/>", {1, 2, 3}, {4, 3, 5}},
    {"<lookat origin='0,0,0' target='0,0,9'/>",
     {1, 0, 0},
     {0, -1, 0}}, /* up = (1,0,0), left = up x z = (0,-1,0) */
    {"<lookat origin='0,0,0' target='0,0,9' up='0,0,0'/>", {0, 1, 0}, {1, 0, 0}},
    /* up is nearly parallel to the direction (1, 0, -5000), but not quite: no error (Mitsuba 3.9) */
    {"<lookat origin='0,0,5' target='.001,0,0' up='0,0,1'/>",
     {0, 1, 0},
     {0.9999999800000006, 0, 5.000199999996}},
    {"<lookat origin='0,0,5' target='.001,0,0' up='0,0,1'/>", {1, 0, 0}, {0, 1, 5}},
    {"<scale x='0'/><translate y='1'/>",
     {3, 2, 1},
     {0, 3, 1}}, /* has no inverse: shapes refuse it, transforms do not */
};

static scene_description *load(const char *steps)
{
    text xml = {0};
    scene_description *s = NULL;
    bl_error err = {0};
    scene_load_options options = {.registry = &test_registry};
    text_add(
        &xml,
        "<scene version='3.0.0'><shape type='cube'><transform name='to_world'>%s</transform></shape></scene>",
        steps);
    if (scene_load_string(xml.data, ".", &options, &s, &err) != BL_OK)
        fail_msg("%s: %s", steps, err.text);
    text_free(&xml);
    return s;
}

static void points_go_where_they_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scene_description *s = load(cases[i].steps);
        const double *m = scene_get(s->root->children[0], "to_world")->matrix, *p = cases[i].point;
        for (int row = 0; row < 3; row++) {
            double got = m[4 * row] * p[0] + m[4 * row + 1] * p[1] + m[4 * row + 2] * p[2] + m[4 * row + 3];
            if (!(fabs(got - cases[i].image[row]) < 1e-12))
                fail_msg("%s: component %d is %.17g instead of %g", cases[i].steps, row, got,
                         cases[i].image[row]);
        }
        scene_free(s);
    }
}

static void lookat_is_orthonormal(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        char steps[300];
        snprintf(steps, sizeof steps, "<lookat origin='%d,%d,%d' target='%d.5,%d,%d' up='%d,%d.25,%d'/>",
                 i % 7, i % 3, i % 11, i % 5, -(i % 13), i % 4, i % 3 - 1, i % 6, 1 + i % 2);
        scene_description *s = load(steps);
        const double *m = scene_get(s->root->children[0], "to_world")->matrix;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) {
                double dot = m[a] * m[b] + m[4 + a] * m[4 + b] + m[8 + a] * m[8 + b];
                assert_true(fabs(dot - (a == b)) < 1e-12);
            }
        double inverse[16];
        assert_true(matrix_invert(m, inverse));
        scene_free(s);
    }
}

static void inverses(void **state)
{
    (void)state;
    double m[16], inverse[16];
    srand(3);
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 16; i++)
            m[i] = rand() / (double)RAND_MAX - 0.5 + (round % 2 && i % 5 == 0 ? 0 : 1e-9);
        assert_true(matrix_invert(m, inverse));
        double largest = 0;
        for (int i = 0; i < 16; i++)
            largest = fmax(largest, fabs(inverse[i]));
        for (int i = 0; i < 16; i++) {
            double sum = 0;
            for (int k = 0; k < 4; k++)
                sum += m[4 * (i / 4) + k] * inverse[4 * k + i % 4];
            assert_true(fabs(sum - (i % 5 == 0)) < 1e-14 * (1 + largest) * 10);
        }
    }
    static const double singular[16] = {1, 2, 3, 4, 2, 4, 6, 8, 0, 0, 1, 0, 0, 0, 0, 1};
    static const double zero[16] = {0}, bad[16] = {NAN};
    assert_false(matrix_invert(singular, inverse));
    assert_false(matrix_invert(zero, inverse));
    assert_false(matrix_invert(bad, inverse));
}

static void numbers_equal_strtod(void **state)
{
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "1",
                                          "+1",
                                          "-1.5",
                                          ".5",
                                          "5.",
                                          "1e5",
                                          "1E-5",
                                          "123456789012345",
                                          "1234567890123456",
                                          "0.1",
                                          "3.14159265358979",
                                          "2.2250738585072014e-308",
                                          "4.9e-324",
                                          "1.7976931348623157e308",
                                          "0.000000000000000000000000000001",
                                          "1e22",
                                          "1e23",
                                          "9007199254740993",
                                          "000000000000000000000000001.5",
                                          "0.30000000000000004",
                                          "123456789e-30",
                                          "5e-22",
                                          "0e999999999999",
                                          "1e-999999999",
                                          "100000000000000000000000"};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        double value = -7;
        if (!number_parse(numbers[i], &value))
            fail_msg("%s is not a number", numbers[i]);
        double expected = strtod(numbers[i], NULL);
        if (memcmp(&value, &expected, sizeof value) != 0)
            fail_msg("%s: %.17g instead of %.17g", numbers[i], value, expected);
    }
    srand(1);
    for (int i = 0; i < 200000; i++) {
        char chars[60];
        double value, expected;
        uint64_t bits = ((uint64_t)rand() << 42) ^ ((uint64_t)rand() << 21) ^ (uint64_t)rand();
        memcpy(&expected, &bits, sizeof expected);
        if (!isfinite(expected))
            continue;
        snprintf(chars, sizeof chars, i % 2 ? "%.17g" : "%.9g", i % 4 < 2 ? expected : rand() / 1e6);
        assert_true(number_parse(chars, &value));
        expected = strtod(chars, NULL);
        assert_memory_equal(&value, &expected, sizeof value);
    }
    static const char *const others[] = {"",    " ",  "x",   "1x",  "1 2", "e5",  ".",     "-",
                                         "--1", "1e", "1e+", "inf", "nan", "0x1", "1e309", "1,5"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        double value;
        if (number_parse(others[i], &value))
            fail_msg("\"%s\" is taken for a number", others[i]);
    }
}

static void locale_does_not_matter(void **state)
{
    (void)state;
    double value = 0;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    for (size_t i = 0; i < sizeof locales / sizeof locales[0]; i++)
        if (setlocale(LC_ALL, locales[i]))
            break;
    assert_true(number_parse("1.2345678901234567890", &value));
    assert_true(value == 1.2345678901234567890);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_go_where_they_should),
        cmocka_unit_test(lookat_is_orthonormal),
        cmocka_unit_test(inverses),
        cmocka_unit_test(numbers_equal_strtod),
        cmocka_unit_test(locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
