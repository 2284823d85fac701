/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Files of ellipsoids that emit: both forms give the same parameters, a to_world is in their values, and what
 * is wrong with a file is said with the scene's line and the file's name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/gaussians.h"
#include "support/scene_cases.h"
#include "support/scene_traced.h"

#include <math.h>
#include <string.h>

static char *folder;
static const char camera[] =
    "<sensor type='perspective'><film type='hdrfilm'><integer name='width' value='4'/><integer "
    "name='height' value='4'/></film></sensor>";

static void write(const gaussians *g, bool plain, const char *name)
{
    arena a = {0};
    bl_error err = {0};
    if (gaussians_write(g, plain, arena_printf(&a, "%s/%s", folder, name), &err) != BL_OK)
        fail_msg("%s", err.text);
    arena_free(&a);
}

static const char *scene_of(arena *a, const char *integrator, const char *file, const char *more)
{
    return arena_printf(a,
                        "<scene version='3.0.0'><integrator type='%s'/>%s\n<shape type='ellipsoids' id='e'>"
                        "<string name='filename' value='%s'/>%s</shape></scene>",
                        integrator, camera, file, more);
}

static render_scene *load(const char *file, const char *more)
{
    arena a = {0};
    bl_error err = {0};
    render_scene *s;
    if (traced_try_load(scene_of(&a, "volprim_rf_basic", file, more), folder, NULL, 0, &s, &err) != BL_OK)
        fail_msg("%s", err.text);
    arena_free(&a);
    return s;
}

static const float *values_of(const render_scene *s, const char *name, uint32_t rows, uint32_t columns)
{
    uint32_t i = render_parameter_called(s, name);
    assert_true(i != PLAN_NONE);
    const render_parameter *p = &s->parameters.data[i];
    assert_int_equal(p->rank, 2);
    assert_int_equal(p->shape[0], rows);
    assert_int_equal(p->shape[1], columns);
    return render_initial(s, p);
}

static void both_forms_are_the_same(void **state)
{
    (void)state;
    for (uint32_t degree = 0; degree <= 3; degree++) {
        gaussians g = gaussians_random(5, degree, 0.3, degree + 1);
        write(&g, false, "trained.ply"), write(&g, true, "plain.ply");
        render_scene *trained = load("trained.ply", ""), *plain = load("plain.ply", "");
        const uint32_t columns[] = {10, 3 * g.coefficients, 1};
        const char *const names[] = {"e.data", "e.sh_coeffs", "e.opacities"};
        for (int k = 0; k < 3; k++) {
            const float *a = values_of(trained, names[k], 5, columns[k]),
                        *b = values_of(plain, names[k], 5, columns[k]);
            for (uint32_t i = 0; i < 5 * columns[k]; i++)
                assert_true(fabsf(a[i] - b[i]) <= 1e-7f);
        }
        const float *harmonics = values_of(trained, "e.sh_coeffs", 5, 3 * g.coefficients);
        for (uint32_t i = 0; i < 3 * g.coefficients; i++)
            assert_true((double)harmonics[3 * g.coefficients + i] == g.harmonics[1][i / 3][i % 3]);
        render_scene_destroy(trained), render_scene_destroy(plain);
    }
}

/* Quarter turns about z, twice as large, and moved. */
static void values_are_in_the_world(void **state)
{
    (void)state;
    gaussians g = gaussians_random(1, 0, 0.3, 3);
    memcpy(g.rotation[0], (double[]){1, 0, 0, 0}, sizeof g.rotation[0]);
    write(&g, false, "one.ply");
    render_scene *s =
        load("one.ply", "<float name='scale_factor' value='3'/><transform name='to_world'><scale "
                        "value='2'/><rotate z='1' angle='90'/><translate x='5'/></transform>");
    const float *v = values_of(s, "e.data", 1, 10);
    const double half = sqrt(0.5), expected[10] = {5 - 2 * g.center[0][1],
                                                   2 * g.center[0][0],
                                                   2 * g.center[0][2],
                                                   6 * exp(g.log_scale[0][0]),
                                                   6 * exp(g.log_scale[0][1]),
                                                   6 * exp(g.log_scale[0][2]),
                                                   0,
                                                   0,
                                                   half,
                                                   half};
    for (int k = 0; k < 10; k++)
        if (!(fabs((double)v[k] - expected[k]) < 1e-6))
            fail_msg("value %d is %g, expected %g", k, (double)v[k], expected[k]);
    render_scene_destroy(s);
}

/* Other integrators see shells alone, and need no colours. */
static void shells_need_no_colours(void **state)
{
    (void)state;
    arena a = {0};
    bl_error err = {0};
    render_scene *s;
    assert_int_equal(traced_try_load(scene_of(&a, "path", "gaussian.ply", ""), folder, NULL, 0, &s, &err),
                     BL_OK);
    assert_true(render_parameter_called(s, "e.data") == PLAN_NONE);
    render_scene_destroy(s);
    arena_free(&a);
}

/* ---- what is wrong ---- */

static const struct {
    const char *columns, *row, *text; /* behind x y z, scale and rot; what the message says */
} wrong[] = {
    {"", "", "needs the columns opacity and f_dc_0"},
    {"opacity f_dc_0 f_dc_1", "1 0 0", "needs the columns opacity and f_dc_0"},
    {"f_dc_0 f_dc_1 f_dc_2", "0 0 0", "needs the columns opacity and f_dc_0"},
    {"opacities", ".5", "needs the columns opacity and f_dc_0"},
    {"opacity f_dc_0 f_dc_1 f_dc_2 f_rest_0 f_rest_1", "1 0 0 0 0 0", "2 columns f_rest_0 .."},
    {"opacities sh_coeffs_0 sh_coeffs_1 sh_coeffs_2 sh_coeffs_3", ".5 0 0 0 0", "4 columns sh_coeffs_0 .."},
    {"opacities sh_coeffs_0 sh_coeffs_1 sh_coeffs_2", "1.5 0 0 0", "the opacity 1.5 of ellipsoid 0"},
    {"opacities sh_coeffs_0 sh_coeffs_1 sh_coeffs_2", "-.1 0 0 0", "the opacity -0.1 of ellipsoid 0"},
    {"opacities sh_coeffs_0 sh_coeffs_1 sh_coeffs_2", ".5 nan 0 0", "not a finite number"},
};

static void write_row(const char *columns, const char *row)
{
    text t = {0};
    arena a = {0};
    bl_error err = {0};
    char *words = arena_strdup(&a, columns), *rest = words;
    text_add(&t,
             "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float "
             "z\nproperty float scale_0\nproperty float scale_1\nproperty float scale_2\nproperty float "
             "rot_0\nproperty float rot_1\nproperty float rot_2\nproperty float rot_3\n");
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        text_add(&t, "property float %s\n", word);
    text_add(&t, "end_header\n0 0 0 -1 -1 -1 1 0 0 0 %s\n", row);
    if (file_write(arena_printf(&a, "%s/wrong.ply", folder), t.data, t.length, &err) != BL_OK)
        fail_msg("%s", err.text);
    text_free(&t);
    arena_free(&a);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        arena a = {0};
        bl_error err = {0};
        render_scene *s;
        write_row(wrong[k].columns, wrong[k].row);
        bl_result r =
            traced_try_load(scene_of(&a, "volprim_rf_basic", "wrong.ply", ""), folder, NULL, 0, &s, &err);
        if (r == BL_OK || !strstr(err.text, wrong[k].text) || !strstr(err.text, "wrong.ply") ||
            !strstr(err.text, ":2: "))
            fail_msg("columns \"%s\": %s", wrong[k].columns, r == BL_OK ? "no error" : err.text);
        arena_free(&a);
    }
}

static void no_ellipsoids_are_an_error(void **state)
{
    (void)state;
    arena a = {0};
    bl_error err = {0};
    render_scene *s;
    gaussians g = gaussians_random(0, 0, 1, 1);
    write(&g, false, "none.ply");
    assert_true(traced_try_load(scene_of(&a, "volprim_rf_basic", "none.ply", ""), folder, NULL, 0, &s,
                                &err) != BL_OK);
    assert_non_null(strstr(err.text, "0 ellipsoids"));
    arena_free(&a);
}

/* One more coefficient than degree 3 has. */
static void degree_four_is_an_error(void **state)
{
    (void)state;
    text columns = {0}, row = {0};
    text_add(&columns, "opacity f_dc_0 f_dc_1 f_dc_2"), text_add(&row, "0 0 0 0");
    for (int k = 0; k < 72; k++)
        text_add(&columns, " f_rest_%d", k), text_add(&row, " 0");
    write_row(columns.data, row.data);
    arena a = {0};
    bl_error err = {0};
    render_scene *s;
    assert_true(traced_try_load(scene_of(&a, "volprim_rf_basic", "wrong.ply", ""), folder, NULL, 0, &s,
                                &err) != BL_OK);
    assert_non_null(strstr(err.text, "46 columns f_rest_0"));
    text_free(&columns), text_free(&row), arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_are_the_same), cmocka_unit_test(values_are_in_the_world),
        cmocka_unit_test(shells_need_no_colours),  cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(degree_four_is_an_error), cmocka_unit_test(no_ellipsoids_are_an_error),
    };
    folder = scene_files_create();
    if (!folder)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
