/* LABELS: native sanitized=native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Losses of a fit that are weighted sums: losses and steps are linear in the terms, in every form of a step
 * and with batches; the step is the slope of the loss that is reported, also through levels of a pyramid; two
 * walks take exactly what is affine, in one tile or several; batches of blocks have levels; what does not go
 * together is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 13, HEIGHT = 11, PIXELS = WIDTH * HEIGHT, LARGE = 160, MOST = 3 * LARGE * LARGE };

static scene_device device;
static arena memory;
static bl_scene *scene, *large;
static float target[MOST], weights[LARGE * LARGE];

static bl_scene *load(const char *size)
{
    static const char body[] =
        "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.7,.2,.1'/></bsdf>"
        "<shape type='rectangle'><ref id='wall'/></shape>"
        "<emitter type='point'><point name='position' x='0' y='0' z='2'/><rgb name='intensity' "
        "value='6'/></emitter>";
    char sensor[500];
    snprintf(sensor, sizeof sensor,
             "<sensor type='perspective'><float name='fov' value='40'/><transform name='to_world'>"
             "<lookat origin='0,0,3' target='0,0,0' up='0,1,0'/></transform><film type='hdrfilm'>%s"
             "<rfilter type='box'/></film></sensor>",
             size);
    return scene_device_load(
        &device,
        scene_xml(&memory, "<integrator type='path'><integer name='max_depth' value='3'/></integrator>",
                  sensor, body),
        ".");
}

static int setup(void **state)
{
    (void)state;
    uint32_t random = 7;
    scene = load("<integer name='width' value='13'/><integer name='height' value='11'/>");
    large = load("<integer name='width' value='160'/><integer name='height' value='160'/>");
    for (int i = 0; i < MOST; i++)
        target[i] = (float)scene_random(&random);
    for (int i = 0; i < LARGE * LARGE; i++)
        weights[i] = i % 7 < 2 ? 0 : (float)scene_random(&random);
    return 0;
}

typedef struct setting {
    bl_gradient_form form;
    uint32_t batch;
    float from; /* where the wall's red is */
    bool large, weighted, stays;
} setting;

/* What one step of stochastic gradient descent says and does; what its terms say. */
typedef struct outcome {
    double loss, moved[3], terms[BL_LOSS_TERMS_MOST];
    bl_gradient_form form;
} outcome;

static bl_result create(const bl_loss_term *terms, uint32_t count, const setting *s, bl_fit **out)
{
    const float start[3] = {s->from, 0.5f, 0.5f};
    const bl_composite_loss composite = {.terms = terms, .term_count = count};
    const bl_fit_parameter p = {.name = "wall.reflectance.value", .initial = start};
    const bl_fit_view view = {.target = target, .weights = s->weighted ? weights : NULL};
    const bl_fit_desc desc = {
        .parameters = &p,
        .parameter_count = 1,
        .views = &view,
        .view_count = 1,
        .composite = &composite,
        .form = s->form,
        .spp = 16,
        .optimizer = BL_OPTIMIZER_SGD,
        .rate = s->stays ? 1e-20 : 0.01,
        .common_numbers = true,
        .batch = s->batch,
    };
    return bl_fit_create(device.device, s->large ? large : scene, &desc, out);
}

static outcome step(const bl_loss_term *terms, uint32_t count, const setting *s)
{
    float found[3];
    bl_fit_status status;
    outcome o = {0};
    bl_fit *fit;
    SCENE_MUST(&device, create(terms, count, s, &fit));
    SCENE_MUST(&device, bl_fit_step(fit, &status));
    SCENE_MUST(&device, bl_fit_get(fit, 0, found));
    SCENE_MUST(&device, bl_fit_get_terms(fit, o.terms));
    assert_int_equal(status.drifted + status.overflowed + status.skipped, 0);
    bl_fit_destroy(fit);
    o.loss = status.loss, o.form = status.form;
    for (int c = 0; c < 3; c++)
        o.moved[c] = (double)found[c] - (c ? 0.5 : (double)s->from);
    return o;
}

static bool near(double a, double b, double absolute) { return fabs(a - b) <= absolute + 2e-5 * fabs(b); }

static const bl_gradient_form forms[] = {BL_FORM_FUSED, BL_FORM_SEPARATE, BL_FORM_TWO_WALK,
                                         BL_FORM_ONE_IMAGE};

/* Single precision adds up losses; positions of .5 have steps of 6e-8. */
static void sums_to(const bl_loss_term *terms, uint32_t count, const setting *s)
{
    outcome all = step(terms, count, s), added = {0};
    double said = 0;
    for (uint32_t t = 0; t < count; t++) {
        outcome one = step(&terms[t], 1, s);
        added.loss += one.loss, said += all.terms[t];
        assert_true(one.loss != 0 && fabs(one.moved[0]) > 1e-6 && near(all.terms[t], one.loss, 1e-6));
        for (int c = 0; c < 3; c++)
            added.moved[c] += one.moved[c];
    }
    bool good = near(all.loss, added.loss, 2e-6) && near(said, all.loss, 2e-6);
    for (int c = 0; c < 3; c++)
        good &= near(all.moved[c], added.moved[c], 3e-7);
    if (!good)
        fail_msg("%s, batch %u, weighted %d: loss %.9g, %.9g of the terms; moved %g %g %g, %g %g %g",
                 bl_gradient_form_name(s->form), s->batch, s->weighted, all.loss, added.loss, all.moved[0],
                 all.moved[1], all.moved[2], added.moved[0], added.moved[1], added.moved[2]);
}

static void losses_and_steps_are_sums_of_the_terms(void **state)
{
    (void)state;
    static const bl_loss_term affine[] = {{.loss = BL_LOSS_L2, .weight = 3, .levels = 4},
                                          {.loss = BL_LOSS_RELATIVE_L2, .weight = 0.2},
                                          {.loss = BL_LOSS_L2, .weight = 0.5}},
                              every[] = {{.loss = BL_LOSS_L1, .levels = 3},
                                         {.loss = BL_LOSS_HUBER, .constant = 0.1, .weight = 4, .levels = 4},
                                         {.loss = BL_LOSS_RELATIVE_L2, .weight = 0.2, .levels = 2},
                                         {.loss = BL_LOSS_L2}},
                              flat[] = {{.loss = BL_LOSS_L2, .weight = 2},
                                        {.loss = BL_LOSS_RELATIVE_L2, .weight = 0.2}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (int weighted = 0; weighted < 2; weighted++) {
            const setting s = {.form = forms[k], .from = 0.5f, .weighted = weighted};
            if (forms[k] == BL_FORM_TWO_WALK)
                sums_to(affine, 3, &s);
            else
                sums_to(every, 4, &s);
            sums_to(flat, 2, &(setting){.form = forms[k], .from = 0.5f, .weighted = weighted, .batch = 40});
        }
}

/* In one image, with common random numbers, the step is the slope of the loss that it reports. */
static void the_step_is_the_slope_of_the_loss(void **state)
{
    (void)state;
    static const double some[] = {0, 1, 0.5};
    static const bl_loss_term terms[] = {{.loss = BL_LOSS_L1, .levels = 4},
                                         {.loss = BL_LOSS_RELATIVE_L2, .levels = 3, .level_weights = some}};
    for (int weighted = 0; weighted < 2; weighted++) {
        const float h = 1e-3f;
        setting s = {.form = BL_FORM_ONE_IMAGE, .from = 0.5f, .weighted = weighted}, low = s, high = s;
        low.from -= h, high.from += h;
        double by_differences = (step(terms, 2, &high).loss - step(terms, 2, &low).loss) /
                                ((double)high.from - (double)low.from),
               slope = -step(terms, 2, &s).moved[0] / 0.01;
        if (!(fabs(slope) > 0.05 && fabs(slope - by_differences) < 2e-3 * fabs(slope)))
            fail_msg("slope %.6g, by differences %.6g", slope, by_differences);
    }
}

/* The scene's samples have little noise, so two walks must come near to one image. */
static void two_walks_agree_with_one_image(void **state)
{
    (void)state;
    static const bl_loss_term terms[] = {{.loss = BL_LOSS_L2, .levels = 4},
                                         {.loss = BL_LOSS_RELATIVE_L2, .levels = 2}};
    setting s = {.form = BL_FORM_AUTO, .from = 0.3f};
    outcome two = step(terms, 2, &s);
    assert_int_equal(two.form, BL_FORM_TWO_WALK);
    s.form = BL_FORM_ONE_IMAGE;
    outcome one = step(terms, 2, &s);
    assert_true(fabs(two.loss / one.loss - 1) < 5e-3);
    for (int c = 0; c < 3; c++)
        assert_true(fabs(two.moved[c] / one.moved[c] - 1) < 2e-2);
}

/* 409600 samples are two tiles of a loss that has no levels. With levels all are one. */
static void tiles_do_not_matter(void **state)
{
    (void)state;
    static const bl_loss_term halves[] = {{.loss = BL_LOSS_L2, .weight = 0.5},
                                          {.loss = BL_LOSS_L2, .weight = 0.5}},
                              whole[] = {{.loss = BL_LOSS_L2}},
                              levels[] = {{.loss = BL_LOSS_L2, .levels = 2}};
    setting s = {.form = BL_FORM_TWO_WALK, .from = 0.3f, .large = true};
    outcome a = step(halves, 2, &s), b = step(whole, 1, &s);
    assert_true(near(a.loss, b.loss, 0) && near(a.moved[0], b.moved[0], 3e-7));
    outcome two = step(levels, 1, &s);
    s.form = BL_FORM_ONE_IMAGE;
    outcome one = step(levels, 1, &s);
    assert_true(fabs(two.loss / one.loss - 1) < 5e-3 && fabs(two.moved[0] / one.moved[0] - 1) < 1e-2);
    s.form = BL_FORM_AUTO; /* so many samples at once are not taken unasked */
    assert_int_equal(step(levels, 1, &s).form, BL_FORM_SEPARATE);
}

/* Blocks of 4 x 4 pixels. All of them are the image, so a step is that of the image; and the losses of
 * batches that share the image among them have the image's as their mean. */
static void batches_have_levels(void **state)
{
    (void)state;
    static const bl_loss_term terms[] = {{.loss = BL_LOSS_L2, .levels = 3},
                                         {.loss = BL_LOSS_L1, .levels = 2}};
    for (int weighted = 0; weighted < 2; weighted++) {
        setting s = {.form = BL_FORM_FUSED, .from = 0.4f, .large = true, .weighted = weighted};
        const outcome whole = step(terms, 2, &s);
        s.batch = LARGE * LARGE;
        const outcome blocks = step(terms, 2, &s);
        bool good = near(blocks.loss, whole.loss, 1e-6) && fabs(whole.moved[0]) > 1e-6;
        for (int c = 0; c < 3; c++)
            good &= near(blocks.moved[c], whole.moved[c], 3e-7);
        if (!good)
            fail_msg("weighted %d: loss %.9g, of blocks %.9g; moved %g, of blocks %g", weighted, whole.loss,
                     blocks.loss, whole.moved[0], blocks.moved[0]);
    }
    enum { PARTS = 8 };
    const setting s = {.form = BL_FORM_FUSED, .from = 0.4f, .large = true, .stays = true},
                  part = {BL_FORM_FUSED, LARGE * LARGE / PARTS, 0.4f, true, false, true};
    const outcome whole = step(terms, 2, &s);
    bl_fit *fit;
    double sum = 0, least = 1e30, most = 0;
    SCENE_MUST(&device, create(terms, 2, &part, &fit));
    for (int k = 0; k < PARTS; k++) {
        bl_fit_status status;
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        sum += status.loss, least = fmin(least, status.loss), most = fmax(most, status.loss);
    }
    bl_fit_destroy(fit);
    assert_true(least < 0.99 * most); /* they are different pixels */
    if (!near(sum / PARTS, whole.loss, 1e-6))
        fail_msg("batches have %.9g on average, the image has %.9g", sum / PARTS, whole.loss);
}

static void what_does_not_go_together_is_an_error(void **state)
{
    (void)state;
    static const double none[] = {0, 0}, below[] = {1, -1};
    static const struct {
        bl_loss_term terms[2];
        uint32_t count;
        setting s;
        const char *said;
    } cases[] = {
        {{{.loss = BL_LOSS_L2}, {.loss = BL_LOSS_L1}},
         2,
         {.form = BL_FORM_TWO_WALK},
         "of the loss l1: its slope"},
        {{{.levels = 2}}, 1, {.batch = 40}, "13 x 11, multiples of 2"},
        {{{.levels = 3}},
         1,
         {.batch = 24, .large = true},
         "blocks of 4 x 4 pixels: it must be a multiple of 16"},
        {{{.levels = 6}}, 1, {0}, "13 x 11 pixels have 5"},
        {{{.levels = 9}}, 1, {0}, "there may be 8"},
        {{{.levels = 2, .level_weights = none}}, 1, {0}, "all of its levels"},
        {{{.levels = 2, .level_weights = below}}, 1, {0}, "the weight of level 1"},
        {{{.weight = -1}}, 1, {0}, "its weight"},
        {{{.loss = BL_LOSS_COUNT}}, 1, {0}, "there is no loss"},
        {{{0}}, 0, {0}, "1 to 8 terms"},
        {{{0}}, 9, {0}, "1 to 8 terms"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bl_fit *fit;
        assert_int_equal(create(cases[k].terms, cases[k].count, &cases[k].s, &fit), BL_ERROR_ARGUMENT);
        assert_null(fit);
        if (!strstr(bl_context_error(device.context), cases[k].said))
            fail_msg("case %zu: %s", k, bl_context_error(device.context));
    }
}

static void end(void **state)
{
    (void)state;
    bl_scene_destroy(scene);
    bl_scene_destroy(large);
    arena_free(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_steps_are_sums_of_the_terms),
        cmocka_unit_test(the_step_is_the_slope_of_the_loss),
        cmocka_unit_test(two_walks_agree_with_one_image),
        cmocka_unit_test(tiles_do_not_matter),
        cmocka_unit_test(batches_have_levels),
        cmocka_unit_test(what_does_not_go_together_is_an_error),
        cmocka_unit_test(end),
    };
    return scene_device_run(&device, NULL, "fit composite", tests, sizeof tests / sizeof *tests, setup);
}
