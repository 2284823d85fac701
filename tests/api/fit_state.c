/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Checkpoints through the public functions: a fit that goes on from one gives the same bytes as one that was
 * never interrupted, whatever its optimiser, views and fixed-point scale; a file that is cut, changed or of
 * another fit is an error that leaves the fit alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/lit_wall.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 8, VALUES = 3 * SIDE * SIDE, STEPS = 9, SAVED_AT = 4 };

static scene_device device;
static float target[VALUES], other_target[VALUES];
static const char path[] = "fit_state.checkpoint";

static bl_scene *room(const char *grey)
{
    return lit_wall_load(
        &device, SIDE, grey,
        "<emitter type='spot' id='spot'><rgb name='intensity' value='1'/><transform name='to_world'>"
        "<lookat origin='0,0,3' target='0,0,0' up='0,1,0'/></transform></emitter>");
}

static const float dark[3] = {1e-12f, 1e-12f, 1e-12f};
static const bl_fit_parameter wall_and_lamp[] = {
    {.name = "wall.reflectance.value",
     .least = 0.01,
     .most = 0.99,
     .initial = (const float[]){0.4f, 0.5f, 0.6f}},
    {.name = "lamp.radiance.value", .rate = 0.5, .initial = (const float[]){1, 1, 1}},
    {.name = "spot.cutoff_angle", .rate = 0.1}};

static bl_fit_desc plain(void)
{
    return (bl_fit_desc){
        .parameters = wall_and_lamp, .parameter_count = 3, .target = target, .spp = 2, .seed = 11};
}

static bl_fit *create(const bl_scene *scene, const bl_fit_desc *desc)
{
    bl_fit *fit;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, desc, &fit));
    return fit;
}

typedef struct outcome {
    float values[3][3];
    double loss[STEPS];
    bl_fit_status last;
    float image[VALUES];
} outcome;

static void walk(bl_fit *fit, uint32_t from, uint32_t to, outcome *o)
{
    for (uint32_t step = from; step < to; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, &o->last));
        o->loss[step] = o->last.loss;
    }
}

static void finish(bl_fit *fit, const bl_fit_desc *desc, outcome *o)
{
    double share;
    SCENE_MUST(&device, bl_fit_settle(fit));
    SCENE_MUST(&device, bl_fit_get_settled(fit, 0, &share));
    assert_int_equal(share > 0, desc->average_from >= BL_AVERAGE_AUTO);
    for (uint32_t k = 0; k < desc->parameter_count; k++)
        SCENE_MUST(&device, bl_fit_get(fit, k, o->values[k]));
    SCENE_MUST(&device, bl_fit_render(fit, 0, &(bl_render_desc){.spp = 4, .seed = 1}, o->image));
    bl_fit_destroy(fit);
}

static void expect_same_outcome(const outcome *a, const outcome *b)
{
    assert_memory_equal(a->values, b->values, sizeof a->values);
    assert_memory_equal(a->loss, b->loss, sizeof a->loss);
    assert_memory_equal(a->image, b->image, sizeof a->image);
}

/* A fit that is saved on the way, and one that goes on from the file, with an image between that must not
 * matter. */
static void expect_same_bytes(const bl_scene *scene, const bl_fit_desc *desc, uint32_t repeats_least)
{
    static const char note[] = "travels along";
    static outcome saved, resumed;
    bl_fit *fit = create(scene, desc);
    walk(fit, 0, SAVED_AT, &saved);
    SCENE_MUST(&device, bl_fit_save(fit, path, note, sizeof note));
    bl_fit_status at_save = saved.last;
    assert_true(at_save.repeats >= repeats_least);
    memcpy(resumed.loss, saved.loss, sizeof saved.loss);
    walk(fit, SAVED_AT, STEPS, &saved);
    finish(fit, desc, &saved);
    fit = create(scene, desc);
    void *back;
    size_t size;
    SCENE_MUST(&device, bl_fit_render(fit, 0, &(bl_render_desc){.spp = 3}, resumed.image));
    SCENE_MUST(&device, bl_fit_restore(fit, path, &back, &size));
    assert_true(size == sizeof note && memcmp(back, note, size) == 0);
    free(back);
    bl_fit_status now = bl_fit_status_get(fit);
    assert_true(now.step == SAVED_AT && now.loss == at_save.loss && now.repeats == at_save.repeats &&
                now.form == at_save.form && now.skipped == at_save.skipped);
    walk(fit, SAVED_AT, STEPS, &resumed);
    finish(fit, desc, &resumed);
    expect_same_outcome(&saved, &resumed);
    bool moves = false; /* something happens after the file */
    for (uint32_t step = SAVED_AT; step < STEPS; step++)
        moves |= saved.loss[step] != saved.loss[SAVED_AT - 1];
    assert_true(moves);
    remove(path);
}

static void other_optimisers_go_on_exactly(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    for (bl_optimizer kind = BL_OPTIMIZER_ADAM + 1; kind < BL_OPTIMIZER_COUNT; kind++) { /* adam: below */
        bl_fit_desc desc = plain();
        desc.optimizer = kind, desc.momentum = kind == BL_OPTIMIZER_SGD ? 0.9 : 0;
        expect_same_bytes(scene, &desc, 0);
    }
    bl_scene_destroy(scene);
}

static void every_form_goes_on_exactly(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    for (bl_gradient_form form = BL_FORM_AUTO + 1; form < BL_FORM_COUNT; form++) {
        bl_fit_desc desc = plain();
        desc.form = form;
        expect_same_bytes(scene, &desc, 0);
    }
    bl_fit_desc more = plain();
    more.form = BL_FORM_TWO_WALK, more.spp_gradient = 2, more.spp = 7;
    expect_same_bytes(scene, &more, 0);
    more.wanted_noise = 0.5, more.spp_gradient = 8, more.spp = 24;
    expect_same_bytes(scene, &more, 0);
    bl_scene_destroy(scene);
}

static void views_losses_and_schedules_go_on_exactly(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    static const float pose[16] = {-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 1.5f, 0, 0, 0, 1};
    const bl_fit_view views[] = {{.target = target}, {.target = other_target, .to_world = pose}};
    static const bl_fit_change schedule[] = {{SAVED_AT, 0.5, 0}, {SAVED_AT + 3, 0.1, 0}};
    bl_fit_desc desc = plain();
    desc.target = NULL, desc.views = views, desc.view_count = 2, desc.loss = BL_LOSS_HUBER,
    desc.loss_constant = 0.3;
    desc.schedule = schedule, desc.schedule_count = 2, desc.spp_gradient = 3;
    expect_same_bytes(scene, &desc, 0);
    bl_scene_destroy(scene);
}

/* A lamp that starts dark, overshoots into a blaze and dims: the blaze's contributions to the wall leave the
 * range that was chosen for the dark, so the scale becomes coarser; later steps would fit the old one, and
 * must keep the coarser one all the same. */
static void a_coarser_scale_goes_on_exactly(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    bl_fit_parameter p[2] = {
        wall_and_lamp[0],
        {.name = "lamp.radiance.value", .rate = 1e6, .least = 1e-12, .most = 1e5, .initial = dark}};
    bl_fit_desc desc = plain();
    desc.parameters = p, desc.parameter_count = 2,
    desc.optimizer = BL_OPTIMIZER_SGD; /* which forgets the blaze */
    expect_same_bytes(scene, &desc, 1);
    bl_scene_destroy(scene);
}

/* Values that hardly move: then a loss is its random numbers. */
static void common_numbers_stay_the_same(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    bl_fit_parameter p = wall_and_lamp[0];
    p.rate = 1e-12f;
    for (int common = 0; common < 2; common++) {
        outcome o;
        bl_fit_desc desc = plain();
        desc.parameters = &p, desc.parameter_count = 1, desc.common_numbers = common;
        bl_fit *fit = create(scene, &desc);
        walk(fit, 0, STEPS, &o);
        finish(fit, &desc, &o);
        for (uint32_t step = 1; step < STEPS; step++)
            assert_true((o.loss[step] == o.loss[0]) == (common == 1));
    }
    bl_scene_destroy(scene);
}

/* ---- files that are not what they should be ---- */

static void put(const char *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

static char *saved_file(bl_fit *fit, size_t *size)
{
    SCENE_MUST(&device, bl_fit_save(fit, path, "note", 4));
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = malloc(1 << 16);
    *size = fread(bytes, 1, 1 << 16, f);
    assert_true(*size > 200 && *size < 1 << 16);
    fclose(f);
    return bytes;
}

static void refuses(bl_fit *fit, const char *why)
{
    void *note = NULL;
    size_t size;
    bl_fit_status before = bl_fit_status_get(fit);
    if (bl_fit_restore(fit, path, &note, &size) == BL_OK)
        fail_msg("accepted a checkpoint that is wrong: %s", why);
    assert_null(note);
    if (!strstr(bl_context_error(device.context), why))
        fail_msg("\"%s\" does not say \"%s\"", bl_context_error(device.context), why);
    bl_fit_status after = bl_fit_status_get(fit);
    assert_int_equal(before.step, after.step);
}

static void saving_does_not_disturb(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    bl_fit_desc desc = plain();
    static outcome outcomes[2];
    for (int k = 0; k < 2; k++) {
        bl_fit *fit = create(scene, &desc);
        for (uint32_t step = 0; step < STEPS; step++) {
            walk(fit, step, step + 1, &outcomes[k]);
            if (k)
                SCENE_MUST(&device, bl_fit_save(fit, path, NULL, 0));
        }
        finish(fit, &desc, &outcomes[k]);
    }
    expect_same_outcome(&outcomes[0], &outcomes[1]);
    remove(path);
    bl_scene_destroy(scene);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    bl_fit_desc desc = plain();
    static outcome undisturbed, disturbed;
    bl_fit *fit = create(scene, &desc);
    walk(fit, 0, STEPS, &undisturbed);
    finish(fit, &desc, &undisturbed);
    fit = create(scene, &desc);
    walk(fit, 0, 2, &disturbed);
    size_t size;
    char *bytes = saved_file(fit, &size);
    for (size_t length = 0; length < size; length++) {
        put(bytes, length);
        refuses(fit, path);
    }
    for (size_t bit = 0; bit < 8 * size; bit += 3) {
        bytes[bit / 8] ^= (char)(1 << bit % 8);
        put(bytes, size);
        refuses(fit, path);
        bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    char *longer = calloc(1, size + 1);
    memcpy(longer, bytes, size);
    put(longer, size + 1);
    refuses(fit, path);
    remove(path);
    refuses(fit, path);
    walk(fit, 2, STEPS, &disturbed); /* none of it has touched the fit */
    finish(fit, &desc, &disturbed);
    assert_memory_equal(undisturbed.values, disturbed.values, sizeof undisturbed.values);
    free(longer);
    free(bytes);
    bl_scene_destroy(scene);
}

static void refuses_in(const bl_scene *scene, bl_fit_desc desc, const char *why)
{
    bl_fit *fit = create(scene, &desc);
    refuses(fit, why);
    bl_fit_destroy(fit);
}

static void files_of_other_fits_are_refused(void **state)
{
    (void)state;
    bl_scene *scene = room(".5"), *other = room(".51");
    bl_fit_desc desc = plain(), changed;
    bl_fit *fit = create(scene, &desc);
    SCENE_MUST(&device, bl_fit_step(fit, NULL));
    SCENE_MUST(&device, bl_fit_save(fit, path, NULL, 0));
    bl_fit_destroy(fit);
    refuses_in(other, desc, "another scene");
    changed = desc, changed.seed++;
    refuses_in(scene, changed, "other settings");
    changed = desc, changed.spp++;
    refuses_in(scene, changed, "other settings");
    changed = desc, changed.target = other_target;
    refuses_in(scene, changed, "other settings");
    changed = desc, changed.loss = BL_LOSS_L1;
    refuses_in(scene, changed, "other settings");
    changed = desc, changed.common_numbers = true;
    refuses_in(scene, changed, "other settings");
    changed = desc, changed.pixels = BL_PIXELS_ADJOINT;
    refuses_in(scene, changed, "other settings");
    changed = desc, changed.rate = 0.06;
    refuses_in(scene, changed, "other settings");
    changed = desc, changed.optimizer = BL_OPTIMIZER_RMSPROP;
    refuses_in(scene, changed, "checkpoint");
    bl_fit_parameter p[3] = {wall_and_lamp[0], wall_and_lamp[1], wall_and_lamp[2]};
    changed = desc, changed.parameters = p;
    p[0].most = 0.98;
    refuses_in(scene, changed, "other settings");
    p[0] = wall_and_lamp[0], p[1].initial = (const float[]){1, 1, 1.5f};
    refuses_in(scene, changed, "other settings");
    fit = create(scene, &desc); /* and the fit that it is of takes it */
    SCENE_MUST(&device, bl_fit_restore(fit, path, NULL, NULL));
    bl_fit_destroy(fit);
    remove(path);
    bl_scene_destroy(scene);
    bl_scene_destroy(other);
}

static void a_file_that_cannot_be_written_leaves_the_old_one(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    bl_fit_desc desc = plain();
    bl_fit *fit = create(scene, &desc);
    assert_int_not_equal(bl_fit_save(fit, "no_such_folder/checkpoint", NULL, 0), BL_OK);
    assert_non_null(strstr(bl_context_error(device.context), "no_such_folder/checkpoint"));
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
}

static void bad_descriptors_are_refused(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    const bl_fit_change backwards[] = {{5, 1, 0}, {5, 0.5, 0}};
    bl_fit_desc bad[13];
    for (int k = 0; k < 13; k++)
        bad[k] = plain();
    bad[0].parameter_count = 0;
    bad[1].target = NULL;
    bad[2].loss = BL_LOSS_COUNT;
    bad[3].optimizer = BL_OPTIMIZER_COUNT;
    bad[4].momentum = 1;
    bad[5].nesterov = true;
    bad[6].schedule = backwards, bad[6].schedule_count = 2;
    bad[7].views = &(bl_fit_view){0}, bad[7].view_count = 1, bad[7].target = NULL;
    bad[8].beta_1 = -0.5;
    bad[9].rate = 1e300;
    bad[10].loss_constant = 1e-320;
    bad[11].epsilon = NAN;
    bad[12].rate = -1;
    for (int k = 0; k < 13; k++) {
        bl_fit *fit;
        assert_int_equal(bl_fit_create(device.device, scene, &bad[k], &fit), BL_ERROR_ARGUMENT);
        assert_null(fit);
        assert_true(*bl_context_error(device.context) != 0);
    }
    bl_scene_destroy(scene);
}

static void steps_end_before_their_count_overflows(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    bl_fit_desc desc = plain();
    desc.first_step = UINT32_MAX;
    bl_fit *fit = create(scene, &desc);
    assert_int_equal(bl_fit_step(fit, NULL), BL_ERROR_ARGUMENT);
    assert_int_equal(bl_fit_status_get(fit).step, UINT32_MAX);
    bl_fit_destroy(fit);
    bl_scene_destroy(scene);
}

static void names_must_be_there(void **state)
{
    (void)state;
    bl_scene *scene = room(".5"), *other;
    bl_job *job;
    bl_fit *fit;
    uint32_t index;
    const char *names[] = {NULL};
    assert_int_equal(bl_scene_find_parameter(scene, NULL, &index), BL_ERROR_ARGUMENT);
    assert_int_equal(
        bl_job_create(device.device, scene, &(bl_job_desc){.parameters = names, .parameter_count = 1}, &job),
        BL_ERROR_ARGUMENT);
    bl_fit_desc desc = plain();
    desc.parameters = &(bl_fit_parameter){0}, desc.parameter_count = 1;
    assert_int_equal(bl_fit_create(device.device, scene, &desc, &fit), BL_ERROR_ARGUMENT);
    bl_scene_desc bad[] = {{.defines = &(bl_define){.value = "1"}, .define_count = 1},
                           {.defines = &(bl_define){.key = "a"}, .define_count = 1},
                           {.roots = names, .root_count = 1}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_int_equal(
            bl_scene_load_string(device.context, "<scene version='3.0.0'/>", ".", &bad[k], &other),
            BL_ERROR_ARGUMENT);
    bl_scene_destroy(scene);
}

static void parameters_must_be_finite(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    bl_scene *scene = room(".5");
    bl_job *job;
    uint32_t index;
    assert_int_equal(bl_job_create(device.device, scene, NULL, &job), BL_OK);
    assert_int_equal(bl_scene_find_parameter(scene, "wall.reflectance.value", &index), BL_OK);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(bl_job_set_parameter(job, index, (float[]){0.5f, bad[k], 0.5f}), BL_ERROR_ARGUMENT);
        assert_non_null(strstr(bl_context_error(device.context), "wall.reflectance.value: value 1"));
    }
    assert_int_equal(bl_job_set_parameter(job, index, (float[]){0.5f, 0.25f, 0.5f}), BL_OK);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

/* What the next steps depend on besides values and optimiser. */
static void samples_images_and_means_go_on_exactly(void **state)
{
    (void)state;
    bl_scene *scene = room(".5");
    const bl_fit_view views[2] = {{.target = target}, {.target = other_target}};
    bl_fit_desc adaptive = plain(), scheduled = plain(), recursive = plain(), averaged = plain();
    adaptive.wanted_noise = 0.1, adaptive.spp = 64, adaptive.average_from = 2;
    expect_same_bytes(scene, &adaptive, 0);
    const bl_fit_change changes[] = {{SAVED_AT, 1, 4}, {SAVED_AT + 2, 1, 2}};
    scheduled.schedule = changes, scheduled.schedule_count = 2;
    expect_same_bytes(scene, &scheduled, 0);
    recursive.recursive_images = 1;
    expect_same_bytes(scene, &recursive, 0);
    recursive.target = NULL, recursive.views = views, recursive.view_count = 2;
    recursive.form = BL_FORM_FUSED;
    expect_same_bytes(scene, &recursive, 0);
    averaged.average_from = SAVED_AT + 2;
    expect_same_bytes(scene, &averaged, 0);
    averaged.average_from = BL_AVERAGE_AUTO + 1;
    expect_same_bytes(scene, &averaged, 0);
    bl_scene_destroy(scene);
}

int main(void)
{
    for (int i = 0; i < VALUES; i++)
        target[i] = (float)(i % 7) / 7, other_target[i] = (float)(i % 5) / 5;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_optimisers_go_on_exactly),
        cmocka_unit_test(every_form_goes_on_exactly),
        cmocka_unit_test(views_losses_and_schedules_go_on_exactly),
        cmocka_unit_test(common_numbers_stay_the_same),
        cmocka_unit_test(samples_images_and_means_go_on_exactly),
        cmocka_unit_test(a_coarser_scale_goes_on_exactly),
        cmocka_unit_test(saving_does_not_disturb),
        cmocka_unit_test(names_must_be_there),
        cmocka_unit_test(parameters_must_be_finite),
        cmocka_unit_test(steps_end_before_their_count_overflows),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(files_of_other_fits_are_refused),
        cmocka_unit_test(a_file_that_cannot_be_written_leaves_the_old_one),
        cmocka_unit_test(bad_descriptors_are_refused),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "fit state", tests);
}
