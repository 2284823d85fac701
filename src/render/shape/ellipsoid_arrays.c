/* SPDX-License-Identifier: BSD-3-Clause
 * The arrays of ellipsoids whose kernels emit, as parameters: data, opacities, sh_coeffs, with the names and
 * the order that Mitsuba's traverse gives them. They come from a PLY file in one of two forms. Files of 3D
 * Gaussian splatting (Kerbl et al. 2023) have `opacity`, a logit, and f_dc_0 .. 2 and f_rest_0 .. with all
 * higher coefficients of red before those of green. Other files have the arrays themselves: `opacities`, and
 * sh_coeffs_0 .. in the order of the array.
 *
 * `data` is in the world, so a to_world of the file is in it. Where it changes, the device makes the words
 * and boxes of the ellipsoids anew (render/refit.h). */
#include "render/classes.h"
#include "render/shape/ellipsoids.h"

#define ELLIPSOID_COEFFICIENTS_MOST (1u << 28) /* so that no place of the buffers passes 32 bits */

/* ---- columns ---- */

enum {
    COLUMN_LOGIT = 10,
    COLUMN_DC,
    COLUMN_REST = COLUMN_DC + 3,
    REST_MOST = 3 * (HARMONICS_MOST - 1),
    COLUMN_OPACITY = COLUMN_REST + REST_MOST + 1, /* one more than is supported: such a file is an error */
    COLUMN_HARMONICS,
    HARMONICS_COLUMNS = 3 * HARMONICS_MOST,
    COLUMNS = COLUMN_HARMONICS + HARMONICS_COLUMNS + 1
};
_Static_assert((int)COLUMNS == (int)ELLIPSOID_COLUMNS && (int)COLUMNS <= (int)PLY_COLUMNS_MOST,
               "names of columns");

const char *const *ellipsoid_columns(render_scene *s)
{
    static const char *const own[COLUMN_LOGIT + 1] = {
        "x", "y", "z", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3", "opacity"};
    const char **names = arena_alloc(&s->memory, COLUMNS * sizeof *names);
    memcpy(names, own, sizeof own);
    for (int k = 0; k < 3; k++)
        names[COLUMN_DC + k] = arena_printf(&s->memory, "f_dc_%d", k);
    for (int k = 0; k <= REST_MOST; k++)
        names[COLUMN_REST + k] = arena_printf(&s->memory, "f_rest_%d", k);
    names[COLUMN_OPACITY] = "opacities";
    for (int k = 0; k <= HARMONICS_COLUMNS; k++)
        names[COLUMN_HARMONICS + k] = arena_printf(&s->memory, "sh_coeffs_%d", k);
    return names;
}

/* The number of columns that are there, from the first on. */
static uint32_t run_of(const ply_columns *c, uint32_t first, uint32_t most)
{
    uint32_t count = 0;
    while (count < most && c->place[first + count] != PLY_NO_COLUMN)
        count++;
    return count;
}

/* (degree + 1)^2 of a supported degree. */
static bool is_whole_degree(uint32_t coefficients)
{
    bool any = false;
    for (uint32_t degree = 0; degree <= HARMONICS_DEGREE; degree++)
        any |= coefficients == (degree + 1) * (degree + 1);
    return any;
}

bl_result ellipsoid_find_source(const scene_object *o, const ply_columns *c, ellipsoid_source *out,
                                bl_error *err)
{
    scene_place where = scene_get(o, "filename")->where;
    const char *path = scene_get(o, "filename")->path;
    uint32_t dc = run_of(c, COLUMN_DC, 3), rest = run_of(c, COLUMN_REST, REST_MOST + 1),
             plain = run_of(c, COLUMN_HARMONICS, HARMONICS_COLUMNS + 1);
    bool trained = dc == 3 && c->place[COLUMN_LOGIT] != PLY_NO_COLUMN,
         arrays = plain > 0 && c->place[COLUMN_OPACITY] != PLY_NO_COLUMN;
    if (!trained && !arrays)
        return scene_error(err, BL_ERROR_SCENE, where,
                           "%s: %s: volprim_rf_basic needs the columns opacity and f_dc_0 .. f_dc_2, or "
                           "opacities and sh_coeffs_0 ..",
                           o->cls->name, path);
    uint32_t columns = trained ? 3 + rest : plain;
    if (columns % 3 != 0 || !is_whole_degree(columns / 3))
        return scene_error(err, BL_ERROR_SCENE, where,
                           "%s: %s: %u columns %s; harmonics of degree 0 to %d have %s", o->cls->name, path,
                           trained ? rest : plain, trained ? "f_rest_0 .." : "sh_coeffs_0 ..",
                           HARMONICS_DEGREE, trained ? "0, 9, 24 or 45" : "3, 12, 27 or 48");
    if (c->row_count == 0 || (uint64_t)c->row_count * columns > ELLIPSOID_COEFFICIENTS_MOST)
        return scene_error(
            err, BL_ERROR_SCENE, where,
            "%s: %s: %u ellipsoids with %u coefficients each; volprim_rf_basic takes between 1 and "
            "%u coefficients in all",
            o->cls->name, path, c->row_count, columns, ELLIPSOID_COEFFICIENTS_MOST);
    *out = (ellipsoid_source){.columns = c,
                              .first_harmonic = trained ? COLUMN_DC : COLUMN_HARMONICS,
                              .opacity = trained ? COLUMN_LOGIT : COLUMN_OPACITY,
                              .coefficients = columns / 3,
                              .trained = trained};
    return BL_OK;
}

static float column_value(const ply_columns *c, uint32_t row, uint32_t name)
{
    return c->rows[(size_t)row * c->width + (size_t)c->place[name]];
}

/* The logistic function of a logit is kept off 0 and 1 as Mitsuba does. */
float ellipsoid_opacity(const ellipsoid_source *from, uint32_t row)
{
    double v = (double)column_value(from->columns, row, from->opacity);
    return (float)(from->trained ? fmin(fmax(1 / (1 + exp(-v)), 1e-8), 1 - 1e-8) : v);
}

/* The column of coefficient k of a colour. */
static uint32_t harmonic_column(const ellipsoid_source *from, uint32_t k, uint32_t colour)
{
    if (!from->trained || k == 0)
        return from->first_harmonic + 3 * k + colour;
    return COLUMN_REST + (from->coefficients - 1) * colour + k - 1;
}

/* ---- parameters ---- */

static const struct {
    const char *name, *reason;
} arrays[ELLIPSOID_ARRAYS] = {
    [ELLIPSOID_DATA] = {"data", "steps that move with it are left out: where kernels end, where two of them "
                                "change places along a ray, and where a ray ends"},
    [ELLIPSOID_OPACITIES] = {"opacities",
                             "the step where a ray ends because little light comes through, which "
                             "moves with it, is left out"},
    [ELLIPSOID_SH_COEFFS] = {"sh_coeffs", NULL},
};

static void add_array(render_scene *s, const scene_object *o, enum ellipsoid_array array,
                      const uint32_t shape[2], const float *values)
{
    bool bounded = array == ELLIPSOID_OPACITIES;
    uint32_t p = render_add_array(
        s, o, arrays[array].name, PLAN_ELLIPSOID_SLOT + array,
        &(initial_values){2, shape, bounded ? 0 : -INFINITY, bounded ? 1 : INFINITY, values});
    s->parameters.data[p].reason = arrays[array].reason;
}

bl_result ellipsoid_add_arrays(render_scene *s, const scene_object *o, const ellipsoid_source *from,
                               const float *data, bl_error *err)
{
    uint32_t count = from->columns->row_count, width = 3 * from->coefficients;
    float *values = memory_need(((size_t)count * width + 1) * sizeof *values);
    bl_result r = BL_OK;
    add_array(s, o, ELLIPSOID_DATA, (uint32_t[]){count, ELLIPSOID_VALUES}, data);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < width; k++)
            values[(size_t)i * width + k] =
                column_value(from->columns, i, harmonic_column(from, k / 3, k % 3));
    add_array(s, o, ELLIPSOID_SH_COEFFS, (uint32_t[]){count, width}, values);
    for (uint32_t i = 0; i < count && r == BL_OK; i++) {
        values[i] = ellipsoid_opacity(from, i);
        if (!(values[i] >= 0 && values[i] <= 1))
            r = scene_error(err, BL_ERROR_SCENE, scene_get(o, "filename")->where,
                            "%s: %s: the opacity %g of ellipsoid %u is not between 0 and 1", o->cls->name,
                            scene_get(o, "filename")->path, (double)values[i], i);
    }
    if (r == BL_OK)
        add_array(s, o, ELLIPSOID_OPACITIES, (uint32_t[]){count, 1}, values);
    memory_free(values);
    return r;
}

uint32_t ellipsoid_parameter(const render_scene *s, const render_shape *shape, enum ellipsoid_array array)
{
    return s->ellipsoid_field && shape->kind == SHAPE_ELLIPSOID
               ? render_find_parameter(s, shape->object, PLAN_ELLIPSOID_SLOT + array)
               : PLAN_NONE;
}

static bool adapts(const scene_object *o) { return scene_number(o, "extent_adaptive_clamping") != 0; }

bool ellipsoid_moves(const render_scene *s, uint32_t parameter)
{
    bool any = false;
    for (uint32_t i = 0; i < s->shapes.count && s->ellipsoid_field; i++) {
        const render_shape *shape = &s->shapes.data[i];
        any |= parameter == ellipsoid_parameter(s, shape, ELLIPSOID_DATA);
        any |= shape->kind == SHAPE_ELLIPSOID && adapts(shape->object) &&
               parameter == ellipsoid_parameter(s, shape, ELLIPSOID_OPACITIES);
    }
    return any;
}

bl_result ellipsoid_check(const render_scene *s, uint32_t parameter, const float *values, bl_error *err)
{
    const render_parameter *p = &s->parameters.data[parameter];
    for (uint32_t i = 0; p->slot == PLAN_ELLIPSOID_SLOT + ELLIPSOID_DATA && i < p->shape[0]; i++) {
        const float *v = values + (size_t)i * ELLIPSOID_VALUES, *q = v + ELLIPSOID_QUATERNION;
        for (uint32_t k = 0; k < ELLIPSOID_VALUES; k++)
            if (!isfinite(v[k]))
                return error_set(err, BL_ERROR_ARGUMENT, "%s: value %u of ellipsoid %u is not finite",
                                 p->name, k, i);
        if (q[0] == 0 && q[1] == 0 && q[2] == 0 && q[3] == 0)
            return error_set(err, BL_ERROR_ARGUMENT, "%s: ellipsoid %u has no rotation", p->name, i);
    }
    return BL_OK;
}

/* Where a kernel has fallen to 0.01, over 3 standard deviations. */
double ellipsoid_clamping(double opacity)
{
    return fmax(sqrt(fmax(2 * log(fmax(opacity, 0.01) / 0.01), 0)) / 3, (double)ELLIPSOID_LEAST_CLAMPING);
}

/* ---- plan ---- */

void ellipsoid_write_header(plan *p, const render_shape *shape)
{
    const render_scene *s = p->scene;
    uint32_t *w = p->words.data + p->geometry + shape->data;
    for (uint32_t k = 0; k < ELLIPSOID_ARRAYS; k++) {
        uint32_t i = ellipsoid_parameter(s, shape, (enum ellipsoid_array)k);
        w[ELLIPSOID_OFFSETS + 2 * k] = p->value_offset[i];
        w[ELLIPSOID_OFFSETS + 2 * k + 1] = p->gradient_offset[i];
    }
    uint32_t harmonics_of = ellipsoid_parameter(s, shape, ELLIPSOID_SH_COEFFS);
    w[ELLIPSOID_COEFFICIENTS] = s->parameters.data[harmonics_of].shape[1] / 3;
    w[ELLIPSOID_EXTENT] = float_word((float)scene_number(shape->object, "extent"));
    w[ELLIPSOID_ADAPTIVE] = adapts(shape->object);
}
