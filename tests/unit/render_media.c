/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Bounds of densities in cells, in the interpreter: along random rays through a turned grid, from cell to
 * cell, the extinction is nowhere above the bound of the cell, walking ends, and the bounds are worth it:
 * they are often below the bound of all. With and without gradients wanted, which raises bounds; and after
 * values have changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/classes.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"
#include "support/scene_traced.h"

enum { RAYS = 60, PLACES = 12, RESULTS = 5, CELLS_MOST = 100 };

typedef struct probe {
    scene_eval *e;
    ir_module *module;
    ir_func *f; /* o 3, d 3, distance, part -> bound, where the cell ends, bound of all, extinction a part of
                   the way there, bound from below */
} probe;

/* cells: majorant_cells, 0 being 5 of the 20 voxels along a side */
static probe open_probe(const char *folder, bool wanted, uint32_t cells)
{
    arena a = {0};
    bl_error err = {0};
    static const char *const names[] = {"fog.sigma_t.data"};
    const scene_case room = {
        .body = arena_printf(
            &a,
            "<medium type='heterogeneous' id='fog'><float name='scale' value='3'/><volume type='gridvolume' "
            "name='sigma_t'><string name='filename' value='cloud.vol'/>"
            "<integer name='majorant_cells' value='%u'/><transform name='to_world'><scale "
            "value='1.6,.7,1.2'/><rotate x='1' z='1' angle='40'/></transform></volume></medium>"
            "<shape type='sphere'><ref id='fog' name='interior'/></shape><emitter type='constant'/>",
            cells),
        .volumetric = true};
    probe s = {
        .e = scene_eval_create(scene_case_xml(&a, &room, 2, 4, 4), folder, names, wanted),
        .module = ir_module_create(),
    };
    const plan *p = s.e->plan;
    uint32_t medium = p->words.data[HEADER_MEDIA];
    const class_node *n = p->media.data[p->words.data[medium + MEDIUM_CLASS]];
    ir_buffer_add(s.module, "scene", true, -1), ir_buffer_add(s.module, "values", true, -1);
    tracer t = plan_tracer(p, s.f = ir_func_create(s.module, "media"));
    ir_ref in[8], record = t_u32(&t, p->words.data[medium + MEDIUM_RECORD]), out[RESULTS];
    for (int k = 0; k < 8; k++)
        in[k] = ir_param(t.f, IR_F32);
    vec3 o = v3(in[0], in[1], in[2]), d = v3(in[3], in[4], in[5]);
    assert_int_equal(medium_cells(&t, n), cells ? cells : 5);
    volume_ray in_cube = medium_into(&t, n, record, o, d);
    cell_bounds cell = medium_cell(&t, n, record, &in_cube, in[6]);
    out[0] = cell.majorant, out[1] = cell.leaves, out[4] = cell.minorant;
    out[2] = medium_majorant(&t, n, record);
    ir_ref end = ir_min(t.f, out[1], ir_add(t.f, in[6], t_f32(&t, 2))),
           at = t_mad(&t, ir_sub(t.f, end, in[6]), in[7], in[6]);
    out[3] = medium_extinction(&t, n, record, v3_add(&t, o, v3_scale(&t, d, at))).c[0];
    ir_return(t.f, out, RESULTS);
    if (ir_finish(s.module, &err) != BL_OK)
        fail_msg("%s", err.text);
    arena_free(&a);
    return s;
}

static void ask(const probe *s, const double in[8], double out[RESULTS], bool f64)
{
    ir_value values[8], results[RESULTS];
    bl_error err = {0};
    for (int k = 0; k < 8; k++)
        values[k].f = f64 ? in[k] : (double)(float)in[k];
    ir_eval_buffer buffers[2] = {{.words = s->e->plan->words.data, .count = s->e->plan->words.count},
                                 {.reals = s->e->values, .count = s->e->plan->value_count}};
    if (ir_eval(s->f, values, results, &(ir_eval_env){.buffers = buffers, .buffer_count = 2, .f64 = f64},
                &err) != BL_OK)
        fail_msg("%s", err.text);
    for (int k = 0; k < RESULTS; k++)
        out[k] = results[k].f;
}

/* From cell to cell; counts cells, and those whose bound is well below that of all. */
static void along_ray(const probe *s, uint32_t *state, bool f64, uint32_t *cells, uint32_t *low)
{
    double in[8], out[RESULTS], length = 0, distance = 0;
    for (int k = 0; k < 3; k++) {
        in[k] = 3 * scene_random(state) - 1.5;
        in[3 + k] = scene_random(state) - in[k]; /* toward the grid */
    }
    if (scene_random(state) < 0.3)
        in[3 + (int)(3 * scene_random(state))] = 0;
    for (int k = 3; k < 6; k++)
        length += in[k] * in[k];
    for (int k = 3; k < 6; k++)
        in[k] /= sqrt(length);
    uint32_t visited = 0;
    for (; distance < 1e29 && visited < CELLS_MOST; visited++) {
        in[6] = distance;
        for (int k = 0; k < PLACES; k++) {
            in[7] = k / (PLACES - 1.0);
            ask(s, in, out, f64);
            if (!(out[3] <= out[0] * (1 + 1e-5)) || !(out[4] <= out[3] * (1 + 1e-5)) ||
                !(out[0] <= out[2] * (1 + 1e-6)) || !(out[1] > distance))
                fail_msg("at %g to %g: extinction %g, bounds %g and %g, of all %g", distance, out[1], out[3],
                         out[4], out[0], out[2]);
        }
        *low += out[0] < 0.8 * out[2];
        distance = out[1];
    }
    assert_true(visited < CELLS_MOST);
    *cells += visited;
}

static char *folder;

static void check(bool wanted, bool f64, bool changed, uint32_t given)
{
    bl_error err = {0};
    probe s = open_probe(folder, wanted, given);
    uint32_t state = 4, cells = 0, low = 0, data = scene_eval_find(s.e, "fog.sigma_t.data");
    const render_parameter *p = &s.e->scene->parameters.data[data];
    for (uint32_t i = 0; changed && i < p->count; i++)
        s.e->values[p->offset + i] = scene_random(&state) < 0.5 ? 0 : 2 * scene_random(&state);
    if (scene_eval_tables(s.e, f64, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < RAYS; i++)
        along_ray(&s, &state, f64, &cells, &low);
    assert_true(cells > (given == 2 ? 1 : 2) * RAYS && (changed || given == 2 || low > cells / 20));
    ir_module_destroy(s.module);
    scene_eval_destroy(s.e);
}

static void bounds_hold(void **state)
{
    (void)state;
    for (int k = 0; k < 8; k++)
        check(k & 1, k >> 1 & 1, k >> 2, 0);
}

/* Also of more cells than voxels. */
static void bounds_hold_for_any_number_of_cells(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {2, 7, 20, 31};
    for (int k = 0; k < 4; k++)
        check(k & 1, true, k >> 1, numbers[k]);
}

static void one_bound_is_for_all(void **state)
{
    (void)state;
    arena a = {0};
    const scene_case room = {
        .body = "<medium type='heterogeneous' id='fog'><volume type='gridvolume' "
                "name='sigma_t'><string name='filename' value='cloud.vol'/>"
                "<integer name='majorant_cells' value='1'/></volume></medium><shape "
                "type='sphere'><ref id='fog' name='interior'/></shape>",
        .volumetric = true,
    };
    scene_eval *e = scene_eval_create(scene_case_xml(&a, &room, 2, 4, 4), folder, NULL, 0);
    const plan *p = e->plan;
    tracer t = plan_tracer(p, NULL);
    assert_int_equal(
        medium_cells(&t, p->media.data[p->words.data[p->words.data[HEADER_MEDIA] + MEDIUM_CLASS]]), 0);
    scene_eval_destroy(e);
    arena_free(&a);
}

/* What walks cross is noted for separate kernels where there is something to cross
 * (integrator/media/remembered_transmittance.c). */
static void walks_note_what_they_cross(void **state)
{
    (void)state;
    static const struct {
        const char *bsdf, *medium;
        bool notes;
    } rooms[] = {{"<bsdf type='diffuse'/>", "", false},
                 {"<bsdf type='null'/>", "", true},
                 {"<bsdf type='diffuse'/>", "<medium type='homogeneous' name='interior'/>", true}};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) {
        arena a = {0};
        const scene_case room = {
            .body = arena_printf(&a, "<shape type='sphere'>%s%s</shape>", rooms[k].bsdf, rooms[k].medium),
            .volumetric = true};
        scene_eval *e = scene_eval_create(scene_case_xml(&a, &room, 4, 4, 4), folder, NULL, 0);
        const sample_planes planes = sample_planes_of(e->scene->mode->channels);
        assert_int_equal(plan_sample_words(e->plan), planes.words +
                                                         (rooms[k].notes ? 3 * planes.remembered : 0) +
                                                         HITS_REMEMBERED * plan_hit_words(e->plan));
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

static render_scene *load(const char *emitter, const char *density, bl_error *err)
{
    arena a = {0};
    render_scene *s = NULL;
    traced_try_load(arena_printf(&a,
                                 "<scene version='3.0.0'><integrator type='volpath'/><sensor "
                                 "type='perspective'><film type='hdrfilm'/></sensor>"
                                 "<shape type='cube'><bsdf type='null'/><medium name='interior' id='fog' "
                                 "type='heterogeneous'><volume name='sigma_t' type='gridvolume'><string "
                                 "name='resolution' value='2'/><float name='value' value='%s'/></volume>"
                                 "</medium></shape><emitter type='constant' id='sky'><rgb name='radiance' "
                                 "value='%s'/></emitter></scene>",
                                 density, emitter),
                    ".", NULL, 0, &s, err);
    arena_free(&a);
    return s;
}

/* What single precision cannot hold would become infinite, and every sample would be dropped. */
static void values_beyond_single_precision_are_refused(void **state)
{
    (void)state;
    bl_error err = {0};
    assert_null(load("1,1e300,1", "1", &err));
    assert_non_null(strstr(err.text, "sky.radiance.value: value 1"));
    assert_null(load("1,1,1", "1e39", &err));
    assert_non_null(strstr(err.text, "fog.sigma_t.data: value 0"));
}

static void negative_densities_are_counted(void **state)
{
    (void)state;
    bl_error err = {0};
    render_scene *s = load("1,1,1", "-0.5", &err);
    assert_non_null(s);
    assert_non_null(strstr(s->description->warnings.data, "fog.sigma_t.data: 8 of 8 values are negative"));
    render_scene_destroy(s);
    s = load("1,1,1", "0", &err);
    assert_non_null(s);
    assert_true(!s->description->warnings.data || !strstr(s->description->warnings.data, "negative"));
    render_scene_destroy(s);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_beyond_single_precision_are_refused),
                                       cmocka_unit_test(negative_densities_are_counted),
                                       cmocka_unit_test(bounds_hold),
                                       cmocka_unit_test(bounds_hold_for_any_number_of_cells),
                                       cmocka_unit_test(one_bound_is_for_all),
                                       cmocka_unit_test(walks_note_what_they_cross)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
