/* SPDX-License-Identifier: BSD-3-Clause
 * Microflakes: mirrors that float in the medium. Their normals are distributed as on an ellipsoid (Heitz,
 * Dupuy, Crassin, Dachsbacher, The SGGX Microflake Distribution, 2015). S is the symmetric positive matrix
 * of the ellipsoid in the world. It is a grid of six channels: xx, yy, zz, xy, xz, yz. With h the half
 * vector of wi and wo,
 *
 *     area(w) = sqrt(w' S w)                 seen from w (equation 10)
 *     D(h) = 1 / (pi sqrt|S| (h' S^-1 h)^2)  of normals
 *     f = D(h) / (4 area(wi)).
 *
 * f is sampled exactly, by the visible normals. The extinction of a medium of flakes is proportional to the
 * area that they show in the direction of travel (`area`, `most_area`). The bound of the area is a sampling
 * table, so it is detached. |S| S^-1 is the matrix of cofactors, so nothing is divided by a determinant of
 * 0. */
#include "render/classes.h"

enum { SGGX_S };
enum { TABLE_AREA, TABLE_PARTS, TABLE_WORDS = TABLE_PARTS + LARGEST_LANES };
enum { STEP_PARTS, STEP_AREA, STEP_COUNT };
static const float inverse_pi = 0.318309886183790671538f, two_pi = 6.28318530717958647692f;
static const float margin = 1.25f; /* where S is differentiated, the bound of areas is multiplied by this */

typedef struct flakes {
    ir_ref xx, yy, zz, xy, xz, yz;
} flakes;

static flakes flakes_at(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    const class_node *volume = n->param_child[SGGX_S];
    ir_ref m[6];
    BL_ASSERT(volume_of(volume)->six, "the volume %s has no six channels", volume->cls->plugin.name);
    volume_of(volume)->six(t, volume, t_offset(t, record, n->field[SGGX_S]), p, m);
    return (flakes){m[0], m[1], m[2], m[3], m[4], m[5]};
}

/* The number a' S b. */
static ir_ref form(tracer *t, flakes m, vec3 a, vec3 b)
{
    vec3 row_x = v3(m.xx, m.xy, m.xz), row_y = v3(m.xy, m.yy, m.yz), row_z = v3(m.xz, m.yz, m.zz);
    return v3_dot(t, a, v3(v3_dot(t, row_x, b), v3_dot(t, row_y, b), v3_dot(t, row_z, b)));
}

static ir_ref minor(tracer *t, ir_ref a, ir_ref b, ir_ref c, ir_ref d)
{
    return ir_sub(t->f, ir_mul(t->f, a, d), ir_mul(t->f, b, c));
}

static flakes cofactors(tracer *t, flakes m)
{
    return (flakes){
        .xx = minor(t, m.yy, m.yz, m.yz, m.zz),
        .yy = minor(t, m.xx, m.xz, m.xz, m.zz),
        .zz = minor(t, m.xx, m.xy, m.xy, m.yy),
        .xy = minor(t, m.xz, m.xy, m.zz, m.yz),
        .xz = minor(t, m.xy, m.xz, m.yy, m.yz),
        .yz = minor(t, m.xy, m.xx, m.yz, m.xz),
    };
}

static ir_ref determinant(tracer *t, flakes m, flakes c)
{
    ir_ref d = t_mad(t, m.xx, c.xx, t_mad(t, m.xy, c.xy, ir_mul(t->f, m.xz, c.xz)));
    return ir_max(t->f, d, t_f32(t, 1e-20f));
}

static ir_ref area(tracer *t, flakes m, vec3 w)
{
    return ir_sqrt(t->f, ir_max(t->f, form(t, m, w, w), t_f32(t, 1e-20f)));
}

static ir_ref sggx_area(tracer *t, const class_node *n, ir_ref record, vec3 w, vec3 p)
{
    return area(t, flakes_at(t, n, record, p), w);
}

static ir_ref sggx_value(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 wo, vec3 p)
{
    ir_func *f = t->f;
    flakes m = flakes_at(t, n, record, p), c = cofactors(t, m);
    vec3 h = v3_add(t, wi, wo);
    ir_ref d = determinant(t, m, c), stretched = t_ratio(t, v3_dot(t, h, h), form(t, c, h, h));
    ir_ref normals =
        ir_mul(f, ir_mul(f, d, ir_sqrt(f, d)), ir_mul(f, t_sqr(t, stretched), t_f32(t, inverse_pi)));
    return ir_div(f, normals, ir_mul(f, area(t, m, wi), t_f32(t, 4)));
}

/* Samples a visible normal (section 5 of the paper's supplement) and mirrors wi at it. S is taken in the
 * frame of wi. Its root maps a hemisphere around wi to the normals that wi sees. */
static vec3 sggx_sample(tracer *t, const class_node *n, ir_ref record, vec3 wi, vec3 p, const ir_ref u[3])
{
    ir_func *f = t->f;
    flakes m = flakes_at(t, n, record, p);
    frame fr = frame_around(t, wi);
    ir_ref jj = form(t, m, fr.t, fr.t), ii = ir_max(f, form(t, m, wi, wi), t_f32(t, 1e-20f));
    ir_ref kj = form(t, m, fr.s, fr.t), ki = form(t, m, fr.s, wi), ji = form(t, m, fr.t, wi);
    ir_ref d = determinant(t, m, cofactors(t, m)), root_ii = ir_div(f, t_f32(t, 1), ir_sqrt(f, ii));
    ir_ref face = ir_sqrt(f, ir_max(f, minor(t, jj, ji, ji, ii), t_f32(t, 1e-20f)));
    ir_ref radius = ir_sqrt(f, u[1]), angle = ir_mul(f, u[2], t_f32(t, two_pi));
    ir_ref a = ir_mul(f, radius, ir_cos(f, angle)), b = ir_mul(f, radius, ir_sin(f, angle)),
           c = t_safe_sqrt(t, ir_sub(f, t_f32(t, 1), u[1]));
    ir_ref k = ir_mul(f, a, ir_div(f, ir_sqrt(f, d), face));
    k = t_mad(t, b, ir_div(f, ir_mul(f, root_ii, minor(t, kj, ki, ji, ii)), face), k);
    k = t_mad(t, c, ir_mul(f, root_ii, ki), k);
    ir_ref j = t_mad(t, b, ir_mul(f, root_ii, face), ir_mul(f, c, ir_mul(f, root_ii, ji))),
           i = ir_mul(f, c, ir_mul(f, root_ii, ii));
    vec3 normal = v3_normalize(t, frame_to_world(t, (frame){fr.s, fr.t, wi}, v3(k, j, i)));
    vec3 wo = v3_sub(t, v3_scale(t, normal, ir_mul(f, t_f32(t, 2), v3_dot(t, normal, wi))), wi);
    return v3_normalize(t, wo);
}

/* ---- the largest area ---- */

static uint32_t sggx_words(const render_scene *s, const scene_object *o, const render_shape *shape)
{
    (void)s, (void)o, (void)shape;
    return TABLE_WORDS;
}

static uint32_t sggx_lanes(const render_scene *s, const scene_object *o, uint32_t step)
{
    (void)s, (void)o;
    return step == STEP_PARTS ? LARGEST_LANES : 1;
}

/* Makes the table: the bound of the area. The square of an area is at most the trace of S, which is at most
 * three times the largest value. */
static void sggx_step(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane)
{
    ir_func *f = t->f;
    ir_ref table = plan_table_at(t, n, record), parts = t_offset(t, table, TABLE_PARTS);
    if (step == STEP_PARTS) {
        largest_part(t, n->param_child[SGGX_S], t_offset(t, record, n->field[SGGX_S]), parts, lane);
        return;
    }
    ir_ref bound = ir_sqrt(f, ir_mul(f, largest_of(t, parts), t_f32(t, 3)));
    ir_store(f, BUFFER_VALUES, table, plan_wants(n, "S") ? ir_mul(f, bound, t_f32(t, margin)) : bound);
}

static ir_ref sggx_most_area(tracer *t, const class_node *n, ir_ref record)
{
    return ir_load(t->f, IR_F32, BUFFER_VALUES, plan_table_at(t, n, record));
}

/* ---- class ---- */

static bl_result sggx_check(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *v = scene_get(o, "S");
    const volume_class *volume = (const volume_class *)(const void *)v->object->cls;
    if (!volume->channels || volume->channels(s, v->object) != 6)
        return scene_error(err, BL_ERROR_SCENE, v->where,
                           "sggx: \"S\" must be a grid of six channels: xx, yy, zz, xy, xz, yz");
    return BL_OK;
}

static const plugin_param sggx_params[] = {
    [SGGX_S] = {"S", PLUGIN_VOLUMETRIC, PLUGIN_REQUIRED, NULL, -1e30, 1e30,
                "the ellipsoid's matrix in the world: xx, yy, zz, xy, xz, yz"},
};
const phase_class phase_sggx = {
    .base = {.plugin = {PLUGIN_PHASE, "sggx", PLUGIN_TABLE(sggx_params), PLUGIN_NONE,
                        "microflakes that mirror"},
             .check = sggx_check,
             .table_steps = STEP_COUNT,
             .table_words = sggx_words,
             .table_lanes = sggx_lanes,
             .table_step = sggx_step},
    .sample = sggx_sample,
    .value = sggx_value,
    .pdf = sggx_value,
    .area = sggx_area,
    .most_area = sggx_most_area,
};
