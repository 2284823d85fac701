/* SPDX-License-Identifier: BSD-3-Clause
 * Rays against small static scenes. Straight-line code tests every primitive, with its geometry as constants,
 * in place of RAY_CLOSEST and RAY_ANY (docs/architecture.md, Baked geometry). It has no tree, no stack, no
 * gathers and no divergence.
 *
 * Triangles are tested in the form of Baldwin and Weber 2016: with unit normal N and plane distance D,
 *     t = (D - N.o) / (N.d),   P = o + t d,   u = U.P + u0,   v = V.P + v0
 * where U, V, u0, v0 turn a point of the plane into barycentrics. The coefficients are computed here in
 * double precision. A coefficient of zero gives no code, so axis-aligned walls cost little, and value
 * numbering shares what coplanar triangles have in common.
 *
 * Two triangles (a, b, c), (a, c, d) with a + c = b + d are one parallelogram: coordinates (r, s) along b - a
 * and d - a, the first triangle where r >= s. */
#include "base/vector.h"
#include "render/integrator/vertex/vertex.h"

typedef struct facet {
    double n[3], d;            /* plane */
    double u[3], u0, v[3], v0; /* coordinates of a point of the plane */
} facet;

typedef struct hit_state {
    ir_ref t, entry, u, v;
} hit_state;

static void entry_vectors(const uint32_t *entry, double v0[3], double e1[3], double e2[3])
{
    float f[9];
    memcpy(f, entry, sizeof f);
    for (int k = 0; k < 3; k++)
        v0[k] = (double)f[k], e1[k] = (double)f[3 + k], e2[k] = (double)f[6 + k];
}

/* Sets the plane, and the coefficients of a point's coordinates along e1 and e2 from v0. Returns false if the
 * facet has no area. */
static bool make_facet(const double v0[3], const double e1[3], const double e2[3], facet *out)
{
    double n[3];
    cross3(e1, e2, n);
    double square = dot3(n, n), length = sqrt(square);
    if (!(length > 0))
        return false;
    cross3(e2, n, out->u);
    cross3(n, e1, out->v);
    for (int k = 0; k < 3; k++) {
        out->u[k] /= square, out->v[k] /= square;
        out->n[k] = n[k] / length;
    }
    out->u0 = -dot3(out->u, v0), out->v0 = -dot3(out->v, v0);
    /* The two sides of a plane get one sign, so that coplanar facets share code. */
    double lead = fabs(out->n[0]) > 1e-6 ? out->n[0] : fabs(out->n[1]) > 1e-6 ? out->n[1] : out->n[2];
    for (int k = 0; k < 3; k++)
        out->n[k] = lead < 0 ? -out->n[k] : out->n[k];
    out->d = dot3(out->n, v0);
    return true;
}

/* a . b + c, without the terms whose coefficient in a is zero. A coefficient below the rounding error of the
 * others counts as zero. */
static ir_ref affine(tracer *t, const double a[3], vec3 b, double c)
{
    ir_func *f = t->f;
    const ir_ref x[3] = {b.x, b.y, b.z};
    double most = fmax(fabs(a[0]), fmax(fabs(a[1]), fabs(a[2])));
    ir_ref sum = {0};
    for (int k = 0; k < 3; k++) {
        if (fabs(a[k]) <= 1e-12 * most)
            continue;
        ir_ref term = ir_mul(f, x[k], t_f32(t, (float)a[k]));
        sum = ir_is_none(sum) ? term : ir_add(f, sum, term);
    }
    return c == 0 ? sum : ir_add(f, sum, t_f32(t, (float)c));
}

typedef struct crossing {
    ir_ref t, r, s, inside;
} crossing;

/* Finds where the ray meets the facet's plane, and whether that is before the distance `limit`. */
static crossing cross_facet(tracer *t, const facet *q, const ray *path, ir_ref limit)
{
    ir_func *f = t->f;
    const double minus[3] = {-q->n[0], -q->n[1], -q->n[2]};
    ir_ref inverse = ir_div(
        f, t_f32(t, 1),
        affine(t, q->n, path->d, 0)); /* infinite if the ray is along the plane; then no comparison holds */
    crossing c = {.t = ir_mul(f, affine(t, minus, path->o, q->d), inverse)};
    vec3 p = v3_add(t, path->o, v3_scale(t, path->d, c.t));
    c.r = affine(t, q->u, p, q->u0), c.s = affine(t, q->v, p, q->v0);
    ir_ref zero = t_f32(t, 0);
    c.inside = ir_and(f, ir_and(f, ir_gt(f, c.t, zero), ir_lt(f, c.t, limit)),
                      ir_and(f, ir_ge(f, c.r, zero), ir_ge(f, c.s, zero)));
    return c;
}

static ir_ref inside_triangle(tracer *t, const crossing *c)
{
    return ir_and(t->f, c->inside, ir_le(t->f, ir_add(t->f, c->r, c->s), t_f32(t, 1)));
}

static ir_ref inside_quad(tracer *t, const crossing *c)
{
    ir_ref one = t_f32(t, 1);
    return ir_and(t->f, c->inside, ir_and(t->f, ir_le(t->f, c->r, one), ir_le(t->f, c->s, one)));
}

/* ---- primitives in the order of their entries ---- */

typedef struct baked_entry {
    const uint32_t *words;
    uint32_t index;
} baked_entry;

static baked_entry entry_at(const walk *w, uint32_t index)
{
    return (baked_entry){w->plan->words.data + w->plan->words.data[HEADER_ENTRIES] + 12 * index, index};
}

static bool is_triangle(const walk *w, const uint32_t *entry)
{
    return w->plan->scene->shapes.data[entry[BVH_ENTRY_SHAPE]].kind == SHAPE_TRIANGLES;
}

/* The entry that, as (a, c, d), completes the triangle (a, b, c) to a parallelogram, or PLAN_NONE. quad: the
 * parallelogram, with coordinates along b - a and d - a. */
static uint32_t partner(const walk *w, baked_entry first, const bool *done, facet *quad)
{
    double a[3], e1[3], e2[3], a2[3], f1[3], f2[3];
    entry_vectors(first.words, a, e1, e2);
    for (uint32_t k = 0; k < w->plan->scene->bvh.count; k++) {
        baked_entry other = entry_at(w, k);
        if (k == first.index || done[k] || !is_triangle(w, other.words) || other.words[10] != first.words[10])
            continue;
        entry_vectors(other.words, a2, f1, f2);
        bool same = true;
        for (int j = 0; j < 3; j++) /* same corner, second edge of one is the first of the other, and c - a =
                                       (b - a) + (d - a) */
            same &= a[j] == a2[j] && e2[j] == f1[j] &&
                    fabs(e2[j] - e1[j] - f2[j]) <= 1e-6 * (fabs(e1[j]) + fabs(f2[j]));
        if (same && make_facet(a, e1, f2, quad))
            return k;
    }
    return PLAN_NONE;
}

static void take(tracer *t, hit_state *h, ir_ref hit, hit_state nearer)
{
    ir_func *f = t->f;
    h->t = ir_select(f, hit, nearer.t, h->t);
    h->entry = ir_select(f, hit, nearer.entry, h->entry);
    h->u = ir_select(f, hit, nearer.u, h->u);
    h->v = ir_select(f, hit, nearer.v, h->v);
}

static ir_ref quad_hit(tracer *t, const facet *q, const ray *path, uint32_t first, uint32_t second,
                       hit_state *h, ir_ref limit)
{
    ir_func *f = t->f;
    crossing c = cross_facet(t, q, path, limit);
    ir_ref hit = inside_quad(t, &c);
    if (!h)
        return hit;
    ir_ref lower = ir_ge(f, c.r, c.s); /* p = a + r (b - a) + s (d - a), and c - a = (b - a) + (d - a) */
    hit_state nearer = {.t = c.t};
    nearer.v = ir_select(f, lower, c.s, ir_sub(f, c.s, c.r));
    nearer.u = ir_select(f, lower, ir_sub(f, c.r, c.s), c.r);
    nearer.entry = ir_select(f, lower, t_u32(t, first), t_u32(t, second));
    take(t, h, hit, nearer);
    return hit;
}

static ir_ref triangle_hit(tracer *t, const facet *q, const ray *path, uint32_t entry, hit_state *h,
                           ir_ref limit)
{
    crossing c = cross_facet(t, q, path, limit);
    ir_ref hit = inside_triangle(t, &c);
    if (h)
        take(t, h, hit, (hit_state){c.t, t_u32(t, entry), c.r, c.s});
    return hit;
}

/* Tests a primitive of any other kind by its traced function. The entry is a constant, so loads fold. */
static ir_ref other_hit(walk *w, baked_entry e, const ray *path, hit_state *h, ir_ref limit)
{
    tracer *t = &w->t;
    ir_ref args[9] = {t_u32(t, (uint32_t)(e.words - w->plan->words.data)),
                      path->o.x,
                      path->o.y,
                      path->o.z,
                      path->d.x,
                      path->d.y,
                      path->d.z,
                      t_f32(t, 0),
                      limit},
           out[3];
    ir_inline(t->f, w->fn.intersect[e.words[9]], args, out);
    ir_ref hit = ir_lt(t->f, out[0], limit);
    if (h)
        take(t, h, hit, (hit_state){out[0], t_u32(t, e.index), out[1], out[2]});
    return hit;
}

/* Tests every primitive once. If h is NULL, it only finds whether anything is hit. */
static ir_ref test_all(walk *w, const ray *path, hit_state *h)
{
    tracer *t = &w->t;
    uint32_t count = w->plan->scene->bvh.count;
    bool *done = memory_need_zeroed(count + 1u, sizeof *done);
    ir_ref any = ir_bool(t->f, false);
    for (uint32_t k = 0; k < count; k++) {
        if (done[k])
            continue;
        baked_entry e = entry_at(w, k);
        ir_ref limit = h ? h->t : path->tmax, hit;
        double v0[3], e1[3], e2[3];
        facet q;
        if (!is_triangle(w, e.words)) {
            hit = other_hit(w, e, path, h, limit);
        } else {
            uint32_t second = partner(w, e, done, &q);
            entry_vectors(e.words, v0, e1, e2);
            if (second != PLAN_NONE) {
                done[second] = true;
                hit = quad_hit(t, &q, path, k, second, h, limit);
            } else if (make_facet(v0, e1, e2, &q)) {
                hit = triangle_hit(t, &q, path, k, h, limit);
            } else {
                continue;
            }
        }
        any = ir_or(t->f, any, hit);
    }
    memory_free(done);
    return any;
}

void baked_closest(walk *w, const ray *path, ir_ref out[4])
{
    tracer *t = &w->t;
    BL_ASSERT(w->plan->baked, "a scene that is not baked");
    hit_state h = {path->tmax, t_u32(t, PLAN_NONE), t_f32(t, 0), t_f32(t, 0)};
    test_all(w, path, &h);
    out[0] = h.t, out[1] = h.entry, out[2] = h.u, out[3] = h.v;
}

ir_ref baked_any(walk *w, const ray *path) { return test_all(w, path, NULL); }
