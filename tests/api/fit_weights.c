/* LABELS: native sanitized=native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Weights of pixels and of views in a fit: losses and steps are linear in them, in every form of a step and
 * with batches; what has the weight 0 does not count, whatever its target; weights that make no sense are
 * errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <string.h>

enum { SIDE = 12, PIXELS = SIDE * SIDE, VALUES = 3 * PIXELS };

static scene_device device;
static arena memory;
static bl_scene *scene;
static float target[VALUES], some[PIXELS], others[PIXELS], all[PIXELS], ones[PIXELS];

static int setup(void **state)
{
    (void)state;
    static const char sensor[] =
        "<sensor type='perspective'><float name='fov' value='40'/><transform name='to_world'>"
        "<lookat origin='0,0,3' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'>"
        "<integer name='width' value='12'/><integer name='height' value='12'/><rfilter "
        "type='box'/></film></sensor>";
    static const char body[] =
        "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.7,.2,.1'/></bsdf>"
        "<shape type='rectangle'><ref id='wall'/></shape>"
        "<emitter type='point'><point name='position' x='0' y='0' z='2'/><rgb name='intensity' "
        "value='6'/></emitter>";
    uint32_t random = 7;
    scene = scene_device_load(
        &device,
        scene_xml(&memory, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                  sensor, body),
        ".");
    for (int i = 0; i < VALUES; i++)
        target[i] = (float)scene_random(&random);
    for (int i = 0; i < PIXELS; i++) {
        some[i] = i % SIDE < SIDE / 2 ? 0 : (float)scene_random(&random);
        others[i] = 2 * (float)scene_random(&random);
        all[i] = some[i] + others[i], ones[i] = 1;
    }
    return 0;
}

/* What one step of stochastic gradient descent says and does. */
typedef struct outcome {
    double loss, moved[3];
} outcome;

static bl_fit *begin(const bl_fit_view *views, uint32_t count, bl_gradient_form form, uint32_t batch)
{
    static const float grey[3] = {0.5f, 0.5f, 0.5f};
    bl_fit_parameter p = {.name = "wall.reflectance.value", .initial = grey};
    bl_fit_desc desc = {
        .parameters = &p,
        .parameter_count = 1,
        .views = views,
        .view_count = count,
        .loss = BL_LOSS_RELATIVE_L2,
        .form = form,
        .spp = 16,
        .optimizer = BL_OPTIMIZER_SGD,
        .rate = 0.01,
        .common_numbers = true,
        .batch = batch,
    };
    bl_fit *fit;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &desc, &fit));
    return fit;
}

static outcome step(const bl_fit_view *views, uint32_t count, bl_gradient_form form, uint32_t batch)
{
    float found[3];
    bl_fit_status status;
    bl_fit *fit = begin(views, count, form, batch);
    SCENE_MUST(&device, bl_fit_step(fit, &status));
    SCENE_MUST(&device, bl_fit_get(fit, 0, found));
    assert_int_equal(status.drifted + status.overflowed + status.skipped, 0);
    bl_fit_destroy(fit);
    outcome o = {.loss = status.loss};
    for (int c = 0; c < 3; c++)
        o.moved[c] = (double)found[c] - 0.5;
    return o;
}

/* Single precision adds up losses; positions of .5 have steps of 6e-8. */
static void same(const outcome *a, const outcome *b, const char *what)
{
    bool good = fabs(a->loss - b->loss) <= 2e-6 * (fabs(a->loss) + 1);
    for (int c = 0; c < 3; c++)
        good &= fabs(a->moved[c] - b->moved[c]) <= 2e-7 + 1e-5 * fabs(a->moved[c]);
    if (!good)
        fail_msg("%s: loss %.9g, %.9g; moved %g %g %g, %g %g %g", what, a->loss, b->loss, a->moved[0],
                 a->moved[1], a->moved[2], b->moved[0], b->moved[1], b->moved[2]);
}

static outcome sum(const outcome *a, double by_a, const outcome *b, double by_b)
{
    outcome o = {by_a * a->loss + by_b * b->loss, {0}};
    for (int c = 0; c < 3; c++)
        o.moved[c] = by_a * a->moved[c] + by_b * b->moved[c];
    return o;
}

static outcome weighted(const float *weights, bl_gradient_form form, uint32_t batch)
{
    return step(&(bl_fit_view){.target = target, .weights = weights}, 1, form, batch);
}

static const bl_gradient_form forms[] = {BL_FORM_FUSED, BL_FORM_SEPARATE, BL_FORM_TWO_WALK,
                                         BL_FORM_ONE_IMAGE};

static void losses_and_steps_are_linear_in_weights(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (uint32_t batch = 0; batch <= 40; batch += 40) {
            outcome a = weighted(some, forms[k], batch), b = weighted(others, forms[k], batch),
                    both = weighted(all, forms[k], batch), added = sum(&a, 1, &b, 1);
            same(&both, &added, bl_gradient_form_name(forms[k]));
            assert_true(a.loss != 0 && fabs(a.moved[0]) > 1e-4 && fabs(b.moved[0]) > 1e-4);
            outcome without = weighted(NULL, forms[k], batch), one = weighted(ones, forms[k], batch);
            assert_memory_equal(&without, &one, sizeof one);
        }
}

static void what_does_not_count_may_be_anything(void **state)
{
    (void)state;
    static float other[VALUES];
    for (int i = 0; i < VALUES; i++)
        other[i] = some[i / 3] > 0 ? target[i] : i % 3 ? NAN : 1e30f;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (uint32_t batch = 0; batch <= 40; batch += 40) {
            outcome a = weighted(some, forms[k], batch),
                    b = step(&(bl_fit_view){.target = other, .weights = some}, 1, forms[k], batch);
            same(&a, &b, "other targets");
        }
}

static void views_share_by_their_weights(void **state)
{
    (void)state;
    static float second[VALUES];
    for (int i = 0; i < VALUES; i++)
        second[i] = target[i] / 2 + 0.1f;
    /* A view's random numbers depend on its number, so each outcome is one view alone beside one of weight
     * 1e-30. */
    const double little = 1e-30;
    bl_fit_view views[2] = {{.target = target, .weight = 1},
                            {.target = second, .weights = all, .weight = little}};
    outcome first = step(views, 2, BL_FORM_SEPARATE, 0);
    views[0].weight = little, views[1].weight = 1;
    outcome other = step(views, 2, BL_FORM_SEPARATE, 0);
    views[0].weight = 3, views[1].weight = 1;
    outcome shared = step(views, 2, BL_FORM_SEPARATE, 0), mixed = sum(&first, 0.75, &other, 0.25);
    same(&shared, &mixed, "3 to 1");
    views[0].weight = 0;
    shared = step(views, 2, BL_FORM_SEPARATE, 0), mixed = sum(&first, 0.5, &other, 0.5);
    same(&shared, &mixed, "one without a weight counts as 1");
    /* With a batch of all pixels both views are seen whole. */
    views[0].weight = 3, views[1].weight = 1;
    outcome batch = step(views, 2, BL_FORM_SEPARATE, 2 * PIXELS);
    assert_true(fabs(batch.loss / step(views, 2, BL_FORM_SEPARATE, 0).loss - 1) < 0.02);
}

static void senseless_weights_are_errors(void **state)
{
    (void)state;
    static const float wrong[] = {-1, NAN, INFINITY};
    static float weights[PIXELS];
    bl_fit_parameter p = {.name = "wall.reflectance.value"};
    bl_fit *fit;
    for (size_t k = 0; k < 6; k++) {
        bl_fit_view view = {.target = target, .weights = weights};
        weights[5] = k < 3 ? wrong[k] : 0, view.weight = k < 4 ? 0 : k == 4 ? -1 : (double)NAN;
        const bl_fit_desc desc = {.parameters = &p, .parameter_count = 1, .views = &view, .view_count = 1};
        assert_int_equal(bl_fit_create(device.device, scene, &desc, &fit), BL_ERROR_ARGUMENT);
        assert_null(fit);
        const char *said = bl_context_error(device.context);
        if (!strstr(said, k < 3 ? "pixel 5" : k == 3 ? "all of its pixels" : "its weight"))
            fail_msg("case %zu: %s", k, said);
    }
}

static void end(void **state)
{
    (void)state;
    bl_scene_destroy(scene);
    arena_free(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_steps_are_linear_in_weights),
        cmocka_unit_test(what_does_not_count_may_be_anything),
        cmocka_unit_test(views_share_by_their_weights),
        cmocka_unit_test(senseless_weights_are_errors),
        cmocka_unit_test(end),
    };
    return scene_device_run(&device, NULL, "fit weights", tests, sizeof tests / sizeof *tests, setup);
}
