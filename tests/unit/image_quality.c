/* SPDX-License-Identifier: BSD-3-Clause
 * PSNR and SSIM (bl_image_compare) against closed forms, and against what tests/tools/image_quality.py
 * computes in numpy, window by window, of the same patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>

#include <math.h>
#include <stdlib.h>

enum { MOST = 3 * 64 * 40 };
static float a[MOST], b[MOST];

/* As in image_quality.py; every operation here is rounded as there. */
static void pattern(uint32_t width, uint32_t height)
{
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < 3; c++) {
                size_t i = 3 * ((size_t)y * width + x) + c;
                a[i] = (float)((7 * x + 13 * y + 29 * c) % 64 / 64.0 * 1.2 - 0.05);
                b[i] = (float)((double)a[i] + 0.3 * ((x * y + 3 * c) % 8 / 8.0 - 0.4));
            }
}

static bl_image_quality compare(uint32_t width, uint32_t height)
{
    bl_image_quality q;
    assert_int_equal(bl_image_compare(width, height, a, b, &q), BL_OK);
    return q;
}

static void numpy_finds_the_same(void **state)
{
    (void)state;
    static const struct {
        uint32_t width, height;
        double psnr, ssim;
    } cases[] = {
        {11, 11, 20.9901093094, 0.9466846039},
        {23, 17, 20.9705064912, 0.9499730825},
        {64, 40, 20.9078975838, 0.9493371035},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        pattern(cases[k].width, cases[k].height);
        bl_image_quality q = compare(cases[k].width, cases[k].height);
        if (!(fabs(q.psnr - cases[k].psnr) < 1e-5 && fabs(q.ssim - cases[k].ssim) < 1e-7))
            fail_msg("%u x %u: PSNR %.10f, SSIM %.10f", cases[k].width, cases[k].height, q.psnr, q.ssim);
    }
}

static void fill(uint32_t values, float of_a, float of_b)
{
    for (uint32_t i = 0; i < values; i++)
        a[i] = of_a, b[i] = of_b;
}

/* Of two constants u and v, displayed, the square is (u - v)^2, and SSIM (2 u v + c1) / (u^2 + v^2 + c1). */
static void constants_have_closed_forms(void **state)
{
    (void)state;
    static const struct {
        float linear;
        double displayed;
    } values[] = {{0, 0}, {-3, 0}, {NAN, 0}, {1, 1}, {7, 1}, {0.002f, 0.02584}, {0.21404114f, 0.5}};
    enum { COUNT = sizeof values / sizeof *values };
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) {
            double u = values[i].displayed, v = values[j].displayed, c1 = 1e-4;
            fill(3 * 13 * 12, values[i].linear, values[j].linear);
            bl_image_quality q = compare(13, 12);
            if (u == v)
                assert_true(isinf(q.psnr) && q.psnr > 0);
            else
                assert_true(fabs(q.psnr + 20 * log10(fabs(u - v))) < 1e-4);
            assert_true(fabs(q.ssim - (2 * u * v + c1) / (u * u + v * v + c1)) < 1e-6);
        }
}

static void small_and_empty_images(void **state)
{
    (void)state;
    bl_image_quality q;
    fill(3 * 10 * 40, 0, 1);
    q = compare(10, 40);
    assert_true(isnan(q.ssim) && fabs(q.psnr) < 1e-12);
    q = compare(40, 10);
    assert_true(isnan(q.ssim) && fabs(q.psnr) < 1e-12);
    assert_int_equal(bl_image_compare(0, 5, a, b, &q), BL_ERROR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numpy_finds_the_same),
        cmocka_unit_test(constants_have_closed_forms),
        cmocka_unit_test(small_and_empty_images),
    };
    return cmocka_run_group_tests_name("image quality", tests, NULL, NULL);
}
