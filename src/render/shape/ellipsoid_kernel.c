/* SPDX-License-Identifier: BSD-3-Clause
 * The kernel of an ellipsoid, as a ray sees it (docs/theory/ellipsoids.md): a Gaussian whose deviations are
 * the scales, at the point of the ray where it is largest ("3D Gaussian Ray Tracing", Moenne-Loccoz et al.
 * 2024),
 *
 *     alpha = min(opacity exp(-r^2 / 2), 0.9999)        r: distance of the ray from the centre, in deviations
 *
 * and its colour max(0.5 + sum of coefficients times harmonics of the ray's direction, 0). Derivatives by the
 * point are zero, because the Gaussian is largest there, so the point is detached.
 *
 * The words that rays read and the box of an ellipsoid follow from its values: ellipsoid_remake. */
#include "render/classes.h"
#include "render/shape/ellipsoids.h"

static const float alpha_most = 0.9999f, smallest_scale = 1e-6f;

/* ---- values ---- */

static bool requests(const plan *p, enum ellipsoid_array array)
{
    bool any = false;
    for (uint32_t i = 0; i < p->scene->shapes.count; i++) {
        uint32_t k = ellipsoid_parameter(p->scene, &p->scene->shapes.data[i], array);
        any |= k != PLAN_NONE && p->gradient_offset[k] != PLAN_NONE;
    }
    return any;
}

typedef struct array_read {
    ir_ref value, gradient, first; /* offsets of the array; the first value of the ellipsoid */
    bool requested;
} array_read;

/* width: values of each ellipsoid. */
static array_read array_of(tracer *t, ir_ref data, ir_ref number, enum ellipsoid_array array, ir_ref width)
{
    uint32_t word = ELLIPSOID_OFFSETS + 2 * (uint32_t)array;
    array_read r = {.value = t_word(t, data, word),
                    .first = ir_mul(t->f, number, width),
                    .requested = t->differentiated && requests(t->plan, array)};
    r.gradient = r.requested ? t_word(t, data, word + 1) : r.value;
    return r;
}

static ir_ref array_value(tracer *t, const array_read *a, uint32_t k)
{
    return plan_value(t, a->value, a->gradient, a->requested, t_offset(t, a->first, k));
}

typedef struct gaussian {
    vec3 center, axis[3]; /* unit axes */
    ir_ref scale[3];      /* deviations along them, above 0 */
} gaussian;

/* The axes that a quaternion of any length turns the unit axes to. */
static void turn_axes(tracer *t, const ir_ref q[4], vec3 axis[3])
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), x = q[0], y = q[1], z = q[2], w = q[3];
    ir_ref square = ir_add(f, ir_add(f, t_sqr(t, x), t_sqr(t, y)), ir_add(f, t_sqr(t, z), t_sqr(t, w))),
           twice = ir_div(f, t_f32(t, 2), ir_max(f, square, t_f32(t, 1e-20f)));
    ir_ref xx = ir_mul(f, twice, t_sqr(t, x)), yy = ir_mul(f, twice, t_sqr(t, y)),
           zz = ir_mul(f, twice, t_sqr(t, z)), xy = ir_mul(f, twice, ir_mul(f, x, y)),
           xz = ir_mul(f, twice, ir_mul(f, x, z)), yz = ir_mul(f, twice, ir_mul(f, y, z)),
           xw = ir_mul(f, twice, ir_mul(f, x, w)), yw = ir_mul(f, twice, ir_mul(f, y, w)),
           zw = ir_mul(f, twice, ir_mul(f, z, w));
    axis[0] = v3(ir_sub(f, one, ir_add(f, yy, zz)), ir_add(f, xy, zw), ir_sub(f, xz, yw));
    axis[1] = v3(ir_sub(f, xy, zw), ir_sub(f, one, ir_add(f, xx, zz)), ir_add(f, yz, xw));
    axis[2] = v3(ir_add(f, xz, yw), ir_sub(f, yz, xw), ir_sub(f, one, ir_add(f, xx, yy)));
}

static gaussian read_gaussian(tracer *t, ir_ref data, ir_ref number)
{
    gaussian g;
    ir_ref v[ELLIPSOID_VALUES];
    array_read a = array_of(t, data, number, ELLIPSOID_DATA, t_u32(t, ELLIPSOID_VALUES));
    for (uint32_t k = 0; k < ELLIPSOID_VALUES; k++)
        v[k] = array_value(t, &a, k);
    g.center = vec3_at(v + ELLIPSOID_AT);
    for (uint32_t k = 0; k < 3; k++)
        g.scale[k] = ir_max(t->f, ir_abs(t->f, v[ELLIPSOID_SCALE + k]), t_f32(t, smallest_scale));
    turn_axes(t, v + ELLIPSOID_QUATERNION, g.axis);
    return g;
}

static ir_ref read_opacity(tracer *t, ir_ref data, ir_ref number)
{
    array_read a = array_of(t, data, number, ELLIPSOID_OPACITIES, t_u32(t, 1));
    return array_value(t, &a, 0);
}

/* ---- what the ray meets ---- */

/* A vector in deviations along the axes. */
static vec3 in_deviations(tracer *t, const gaussian *g, vec3 v)
{
    ir_ref r[3];
    for (int k = 0; k < 3; k++)
        r[k] = ir_div(t->f, v3_dot(t, g->axis[k], v), g->scale[k]);
    return vec3_at(r);
}

ir_ref ellipsoid_alpha(tracer *t, const ellipsoid_hit *hit)
{
    ir_func *f = t->f;
    gaussian g = read_gaussian(t, hit->data, hit->number);
    vec3 from = in_deviations(t, &g, v3_sub(t, hit->o, g.center)), along = in_deviations(t, &g, hit->d);
    ir_ref peak = ir_neg(f, ir_div(f, v3_dot(t, from, along), v3_dot(t, along, along)));
    vec3 nearest = v3_add(t, from, v3_scale(t, along, ir_detach(f, peak)));
    ir_ref density = ir_exp(f, ir_mul(f, t_f32(t, -0.5f), v3_dot(t, nearest, nearest)));
    return ir_min(f, ir_mul(f, read_opacity(t, hit->data, hit->number), density), t_f32(t, alpha_most));
}

/* The most coefficients that a colour has in some shape, and whether shapes differ in that. */
static uint32_t coefficients_of(const render_scene *s, bool *differ)
{
    uint32_t most = 0;
    *differ = false;
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        uint32_t k = ellipsoid_parameter(s, &s->shapes.data[i], ELLIPSOID_SH_COEFFS);
        uint32_t own = k == PLAN_NONE ? 0 : s->parameters.data[k].shape[1] / 3;
        *differ |= own > 0 && most > 0 && own != most;
        most = own > most ? own : most;
    }
    return most;
}

color ellipsoid_color(tracer *t, const ellipsoid_hit *hit)
{
    ir_func *f = t->f;
    bool differ;
    uint32_t most = coefficients_of(t->plan->scene, &differ), degree = 0;
    ir_ref basis[HARMONICS_MOST],
        own = differ ? t_word(t, hit->data, ELLIPSOID_COEFFICIENTS) : t_u32(t, most);
    while ((degree + 1) * (degree + 1) < most)
        degree++;
    harmonics(t, hit->d, degree, basis);
    array_read a = array_of(t, hit->data, hit->number, ELLIPSOID_SH_COEFFS, ir_mul(f, own, t_u32(t, 3)));
    color sum = color_all(t_f32(t, 0.5f));
    for (uint32_t k = 0; k < most; k++) {
        /* Where a shape has fewer coefficients, its first one is read and counts nothing. */
        ir_ref there = ir_lt(f, t_u32(t, k), own), by = ir_select(f, there, basis[k], t_f32(t, 0));
        array_read at = a;
        at.first = ir_select(f, there, t_offset(t, a.first, 3 * k), a.first);
        for (uint32_t c = 0; c < t->channels; c++)
            sum.c[c] = t_mad(t, array_value(t, &at, c), by, sum.c[c]);
    }
    COLOR_EACH(r, ir_max(f, sum.c[c], t_f32(t, 0)));
    return r;
}

/* ---- words and boxes ---- */

/* The extent in deviations: never 0, because the map would be infinite. */
static ir_ref read_extent(tracer *t, ir_ref data, ir_ref number)
{
    ir_func *f = t->f;
    ir_ref extent = t_real(t, data, ELLIPSOID_EXTENT), adaptive = t_word(t, data, ELLIPSOID_ADAPTIVE);
    ir_ref opacity = ir_max(f, read_opacity(t, data, number), t_f32(t, 0.01f));
    ir_ref reach = t_safe_sqrt(t, ir_mul(f, t_f32(t, 2), ir_log(f, ir_mul(f, opacity, t_f32(t, 100)))));
    ir_ref clamped = ir_max(f, ir_mul(f, reach, t_f32(t, 1.0f / 3)), t_f32(t, ELLIPSOID_LEAST_CLAMPING));
    return ir_select(f, ir_ne(f, adaptive, t_u32(t, 0)), ir_mul(f, extent, clamped), extent);
}

void ellipsoid_box(tracer *t, const ir_ref centre[3], const ir_ref square[3], transformed_primitive *out)
{
    ir_func *f = t->f;
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref reach = ir_mul(f, ir_sqrt(f, square[k]), t_f32(t, 1 + 2e-5f));
        reach = ir_add(f, reach, ir_mul(f, ir_abs(f, centre[k]), t_f32(t, 2e-6f)));
        out->least[k] = ir_sub(f, centre[k], reach), out->most[k] = ir_add(f, centre[k], reach);
    }
}

void ellipsoid_remake(tracer *t, const object_primitive *at, transformed_primitive *out)
{
    ir_func *f = t->f;
    gaussian g = read_gaussian(t, at->data, at->number);
    ir_ref extent = read_extent(t, at->data, at->number), centre[3], square[3];
    square[0] = square[1] = square[2] = t_f32(t, 0);
    vec3_put(g.center, centre), vec3_put(g.center, out->words + ELLIPSOID_CENTER);
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref axis[3], half = ir_mul(f, g.scale[k], extent);
        vec3_put(g.axis[k], axis);
        for (uint32_t row = 0; row < 3; row++) {
            ir_ref reach = ir_mul(f, axis[row], half);
            out->words[ELLIPSOID_MAP + 3 * k + row] = ir_div(f, axis[row], half);
            square[row] = t_mad(t, reach, reach, square[row]);
        }
    }
    ellipsoid_box(t, centre, square, out);
    out->to = t_word(t, at->entry, 0), out->word_count = ELLIPSOID_WORDS;
}
