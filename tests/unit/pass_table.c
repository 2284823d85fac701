/* SPDX-License-Identifier: BSD-3-Clause
 * The table of passes (render/integrator/passes.def): every row has its own name, and every public
 * pass is one row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight.h>

#include "render/integrator/passes.h"

#include <string.h>

static void names_differ(void **state)
{
    (void)state;
    for (int a = 0; a < RENDER_PASS_COUNT; a++) {
        assert_true(render_passes[a].name && *render_passes[a].name && *render_passes[a].help);
        assert_true(strspn(render_passes[a].name, "abcdefghijklmnopqrstuvwxyz-") ==
                    strlen(render_passes[a].name));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(render_passes[a].name, render_passes[b].name);
    }
}

static void public_passes_are_rows(void **state)
{
    static const int public_of_row[] = {
#define WALK(id, name, kind, kernel, needs, light, public, help) public,
#define STEP(id, name, kind, kernel, needs, public, help) public,
#include "render/integrator/passes.def"
    };
    (void)state;
    for (int pass = 0; pass < BL_PASS_COUNT; pass++) {
        int rows = 0;
        for (int row = 0; row < RENDER_PASS_COUNT; row++)
            if (public_of_row[row] == pass) {
                rows++;
                assert_string_equal(bl_pass_info_get((bl_pass)pass).name, render_passes[row].name);
            }
        assert_int_equal(rows, 1);
    }
    assert_null(bl_pass_info_get(BL_PASS_COUNT).name);
}

/* Programs keep these numbers. */
static void numbers_stay(void **state)
{
    static const char *const names[] = {"primal", "gradient", "replay", "adjoint", "frozen", "forward"};
    (void)state;
    for (int pass = 0; pass < 6; pass++)
        assert_string_equal(bl_pass_info_get((bl_pass)pass).name, names[pass]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_differ),
        cmocka_unit_test(public_passes_are_rows),
        cmocka_unit_test(numbers_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
