/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Every curved shape against a fine mesh of it: traced intersection and interaction, run in the interpreter,
 * against a loop over the triangles of a surface (u, v) -> point that is written down here again. Where the
 * mesh is clearly hit the shape is, at the same distance, with the surface's normal and uv; where it is
 * clearly missed so is the shape. As lights: points lie on the surface, uniformly in area. And what wrong
 * parameters say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "render/integrator/kernels/kernels.h"
#include "support/scene_cases.h"

enum { SIDE = 96, RAYS = 400, IN = 8, OUT = 12 };
static const double pi = 3.14159265358979323846;

/* ---- surfaces ---- */

/* flip_normals true, and a matrix that turns, mirrors and scales */
static const double placed[16] = {0, 0, 1.2, .1, -1.2, 0, 0, .2, 0, 1.2, 0, -.3, 0, 0, 0, 1};
#define PLACED                                                                                               \
    "<transform name='to_world'><matrix value='0 0 1.2 .1  -1.2 0 0 .2  0 1.2 0 -.3  0 0 0 1'/></transform>"

static void move(const double m[16], const double v[3], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = m[4 * k] * v[0] + m[4 * k + 1] * v[1] + m[4 * k + 2] * v[2] + m[4 * k + 3];
}

static void cylinder(double u, double v, double p[3])
{
    p[0] = cos(2 * pi * u), p[1] = sin(2 * pi * u), p[2] = v;
}

/* p0 = (.1, .2, .3), p1 = (.1, .8, 1.1): along n = (0, .6, .8), whose frame is s = (1, 0, 0), t = (0, .8,
 * -.6) */
static void cylinder_placed(double u, double v, double p[3])
{
    double x = .5 * cos(2 * pi * u), y = .5 * sin(2 * pi * u),
           q[3] = {.1 + x, .2 + .6 * v + .8 * y, .3 + .8 * v - .6 * y};
    move(placed, q, p);
}

static void sphere(double u, double v, double p[3])
{
    double q[3] = {.5 + .7 * cos(2 * pi * u) * sin(pi * v), .7 * sin(2 * pi * u) * sin(pi * v),
                   .7 * cos(pi * v)};
    move(placed, q, p);
}

/* The second of tests/data/three_gaussians.ply alone, two deviations, moved by `placed` without its mirror;
 * in the coordinates of a sphere. */
#define TURNED                                                                                               \
    "<transform name='to_world'><matrix value='0 0 1.2 .1  1.2 0 0 .2  0 1.2 0 -.3  0 0 0 1'/></transform>"
static const char *const gaussian_file = "shapes_gaussian.ply";
static const double gaussian[10] = {.8, .3, -.2, -1.5, -2.2, -1.8, .7, .3, -.5, .2};

static void write_gaussian(void)
{
    static const char *const names[] = {"x",       "y",     "z",     "scale_0", "scale_1",
                                        "scale_2", "rot_0", "rot_1", "rot_2",   "rot_3"};
    FILE *f = fopen(gaussian_file, "w");
    assert_non_null(f);
    fprintf(f, "ply\nformat ascii 1.0\nelement vertex 1\n");
    for (int k = 0; k < 10; k++)
        fprintf(f, "property float %s\n", names[k]);
    fprintf(f, "end_header\n");
    for (int k = 0; k < 10; k++)
        fprintf(f, "%g ", gaussian[k]);
    fprintf(f, "\n");
    fclose(f);
}

/* q v q*, by two products with the unit quaternion (w, q). */
static void turn_by(const double q[4], const double v[3], double out[3])
{
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), w = q[0] / n, x = q[1] / n,
           y = q[2] / n, z = q[3] / n;
    double a = -x * v[0] - y * v[1] - z * v[2], b = w * v[0] + y * v[2] - z * v[1],
           c = w * v[1] + z * v[0] - x * v[2], d = w * v[2] + x * v[1] - y * v[0];
    out[0] = -a * x + b * w - c * z + d * y, out[1] = -a * y + b * z + c * w - d * x,
    out[2] = -a * z - b * y + c * x + d * w;
}

static void ellipsoid(double u, double v, double p[3])
{
    static const double turned[16] = {0, 0, 1.2, .1, 1.2, 0, 0, .2, 0, 1.2, 0, -.3, 0, 0, 0, 1};
    double q[3] = {2 * exp(gaussian[3]) * cos(2 * pi * u) * sin(pi * v),
                   2 * exp(gaussian[4]) * sin(2 * pi * u) * sin(pi * v), 2 * exp(gaussian[5]) * cos(pi * v)},
           r[3];
    turn_by(gaussian + 6, q, r);
    for (int k = 0; k < 3; k++)
        r[k] += gaussian[k];
    move(turned, r, p);
}

/* ---- curves: the control points of `curve_points`, and what the plugin's documents say of them ---- */

static const char *const curve_file = "shapes.curves";
static const double curve_points[5][4] = {
    {0, 0, 0, .3}, {1, .2, .1, .2}, {1.2, 1, .4, .1}, {.5, 1.5, .6, .2}, {0, 1, 1, .3}};

static void write_curve(void)
{
    FILE *f = fopen(curve_file, "w");
    assert_non_null(f);
    for (int k = 0; k < 5; k++)
        fprintf(f, "%g %g %g %g\n", curve_points[k][0], curve_points[k][1], curve_points[k][2],
                curve_points[k][3]);
    fclose(f);
}

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2],
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* c + radius times the direction that leans by `tilt` (its sine) along the axis, at the turn u from cross(up,
 * axis). */
static void around(const double c[3], const double c1[3], double radius, double tilt, double u, double p[3])
{
    double axis[3], up[3], start[3], length = sqrt(dot(c1, c1));
    for (int k = 0; k < 3; k++)
        axis[k] = c1[k] / length;
    for (int k = 0; k < 3; k++)
        up[k] = (k == 2) - axis[2] * axis[k];
    double high = sqrt(dot(up, up));
    for (int k = 0; k < 3; k++)
        up[k] /= high;
    cross(up, axis, start);
    for (int k = 0; k < 3; k++)
        p[k] = c[k] + radius * (tilt * axis[k] + sqrt(1 - tilt * tilt) *
                                                     (cos(2 * pi * u) * start[k] + sin(2 * pi * u) * up[k]));
}

static void linear_curve(double u, double v, double p[3])
{
    int k = (int)fmin(fmax(floor(4 * v), 0), 3);
    double s = 4 * v - k, c[3], c1[3], q = curve_points[k][3] - curve_points[k + 1][3];
    for (int j = 0; j < 3; j++)
        c1[j] = curve_points[k + 1][j] - curve_points[k][j], c[j] = curve_points[k][j] + s * c1[j];
    around(c, c1, curve_points[k][3] - s * q, q / sqrt(dot(c1, c1)), u, p);
}

static void bspline_curve(double u, double v, double p[3])
{
    int k = (int)fmin(fmax(floor(2 * v), 0), 1);
    double s = 2 * v - k, c[4], c1[3];
    for (int j = 0; j < 4; j++) {
        double a = curve_points[k][j], b = curve_points[k + 1][j], d = curve_points[k + 2][j],
               e = curve_points[k + 3][j];
        c[j] = ((1 - s) * (1 - s) * (1 - s) * a + (3 * s * s * s - 6 * s * s + 4) * b +
                (-3 * s * s * s + 3 * s * s + 3 * s + 1) * d + s * s * s * e) /
               6;
        if (j < 3)
            c1[j] = (-(1 - s) * (1 - s) * a + (3 * s * s - 4 * s) * b + (-3 * s * s + 2 * s + 1) * d +
                     s * s * e) /
                    2;
    }
    around(c, c1, c[3], 0, u, p);
}

typedef struct curved {
    const char *name, *xml; /* xml: of the shape */
    void (*point)(double u, double v, double p[3]);
    double sign; /* of the normal beside the outward one */
    double area; /* 0: no light */
    double centre[3];
    bool curve; /* normals point away from the other side; the ends and joints of linear ones are no part of
                   the mesh */
} curved;

static const curved surfaces[] = {
    {"cylinder", "<shape type='cylinder'/>", cylinder, 1, 2 * 3.14159265358979, {0, 0, .5}, false},
    {"cylinder, placed",
     "<shape type='cylinder'><point name='p0' value='.1,.2,.3'/><point name='p1' value='.1,.8,1.1'/><float "
     "name='radius' value='.5'/>"
     "<boolean name='flip_normals' value='true'/>" PLACED "</shape>",
     cylinder_placed,
     -1,
     1.44 * 3.14159265358979,
     {.94, .08, .3},
     false},
    {"sphere, placed",
     "<shape type='sphere'><point name='center' value='.5,0,0'/><float name='radius' value='.7'/>" PLACED
     "</shape>",
     sphere,
     -1,
     0,
     {.1, -.4, -.3},
     false}, /* mirrored, so inside out */
    {"linear curve",
     "<shape type='linearcurve'><string name='filename' value='shapes.curves'/></shape>",
     linear_curve,
     1,
     0,
     {.6, .8, .4},
     true},
    {"B-spline curve",
     "<shape type='bsplinecurve'><string name='filename' value='shapes.curves'/></shape>",
     bspline_curve,
     1,
     0,
     {.8, .9, .4},
     true},
    {"ellipsoid",
     "<shape type='ellipsoids'><string name='filename' value='shapes_gaussian.ply'/><float name='extent' "
     "value='2'/>" TURNED "</shape>",
     ellipsoid,
     1,
     0,
     {-.14, 1.16, .06},
     false},
};
enum { SURFACES = sizeof surfaces / sizeof *surfaces };

/* ---- the shape, traced ---- */

typedef struct traced {
    render_scene *scene;
    plan *plan;
    ir_module *module;
    ir_func *f;
} traced;

static bl_result try_load(const char *xml, render_scene **scene, bl_error *err)
{
    arena a = {0};
    scene_load_options o = {.registry = &render_registry};
    scene_description *d;
    bl_result r = scene_load_string(
        arena_printf(&a, "<scene version='3.0.0'><sensor type='perspective'/>%s</scene>", xml), ".", &o, &d,
        err);
    if (r == BL_OK)
        r = render_scene_create(d, NULL, scene, err);
    arena_free(&a);
    return r;
}

static traced begin(const char *xml)
{
    traced l = {0};
    bl_error err = {0};
    if (try_load(xml, &l.scene, &err) != BL_OK)
        fail_msg("%s", err.text);
    l.plan = plan_create(l.scene, NULL, 0, PLAN_RAYS_BVH, 0);
    l.module = kernel_module(l.plan);
    l.f = ir_func_create(l.module, "test");
    return l;
}

static void end(traced *l, const ir_ref *results, uint32_t count)
{
    bl_error err = {0};
    ir_return(l->f, results, count);
    if (ir_finish(l->module, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void run_as(const traced *l, bool f64, const double *in, uint32_t parameters, double *out,
                   uint32_t results)
{
    ir_value args[16], got[16];
    bl_error err = {0};
    uint32_t words[1] = {0};
    ir_eval_buffer buffers[BUFFER_COUNT] = {
        [BUFFER_SCENE] = {.words = l->plan->words.data, .count = l->plan->words.count}};
    for (int k = BUFFER_SCENE + 1; k < BUFFER_COUNT; k++)
        buffers[k] = (ir_eval_buffer){.words = words, .count = 1};
    ir_eval_env env = {.buffers = buffers, .buffer_count = BUFFER_COUNT, .f64 = f64};
    for (uint32_t k = 0; k < parameters; k++)
        args[k].f = in[k];
    if (ir_eval(l->f, args, got, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
    for (uint32_t k = 0; k < results; k++)
        out[k] = got[k].f;
}

static void run(const traced *l, const double *in, uint32_t parameters, double *out, uint32_t results)
{
    run_as(l, true, in, parameters, out, results);
}

static void release(traced *l)
{
    ir_module_destroy(l->module);
    plan_destroy(l->plan);
    render_scene_destroy(l->scene);
}

static const shape_kind_class *kind_of(const traced *l) { return shape_kinds[l->scene->shapes.data[0].kind]; }
static uint32_t data_of(const traced *l)
{
    return l->plan->words.data[l->plan->words.data[HEADER_SHAPES] + SHAPE_DATA];
}

/* Closest over all entries of the scene, as a loop that is unrolled here: t, p, ng, ns, uv. */
static traced trace_hits(const char *xml)
{
    traced l = begin(xml);
    tracer t = plan_tracer(l.plan, l.f);
    ir_ref in[IN], best[4] = {{0}};
    for (int k = 0; k < IN; k++)
        in[k] = ir_param(l.f, IR_F32);
    vec3 o = v3(in[0], in[1], in[2]), d = v3(in[3], in[4], in[5]);
    best[0] = in[7], best[1] = best[2] = t_f32(&t, 0),
    best[3] = t_u32(&t, l.plan->words.data[HEADER_ENTRIES]);
    for (uint32_t k = 0; k < l.scene->primitives.count; k++) {
        ir_ref entry = t_u32(&t, l.plan->words.data[HEADER_ENTRIES] + 12 * k), hit[3];
        kind_of(&l)->intersect(&t, entry, &(shape_ray){o, d, in[6], best[0]}, hit);
        ir_ref closer = ir_lt(l.f, hit[0], best[0]);
        for (int j = 0; j < 3; j++)
            best[j] = ir_select(l.f, closer, hit[j], best[j]);
        best[3] = ir_select(l.f, closer, entry, best[3]);
    }
    interaction si = {0};
    shape_hit hit = {best[3], t_u32(&t, data_of(&l)), o, d, best[0], best[1], best[2]};
    kind_of(&l)->interact(&t, &hit, &si);
    ir_ref out[OUT] = {best[0], si.p.x,  si.p.y,  si.p.z,  si.ng.x, si.ng.y,
                       si.ng.z, si.ns.x, si.ns.y, si.ns.z, si.uv.x, si.uv.y};
    end(&l, out, OUT);
    return l;
}

/* ---- its mesh ---- */

typedef struct mesh_hit {
    double t, u, v, cosine;
} mesh_hit;

/* The nearest triangle; its cosine is that between normal and ray, by which silhouettes are known. */
static bool hit_triangle(const double p[3][3], const double *o, const double *d, double *t, double *b,
                         double *cosine)
{
    double e1[3], e2[3], s[3], pv[3], qv[3], n[3];
    for (int k = 0; k < 3; k++)
        e1[k] = p[1][k] - p[0][k], e2[k] = p[2][k] - p[0][k], s[k] = o[k] - p[0][k];
    cross(d, e2, pv), cross(s, e1, qv), cross(e1, e2, n);
    double determinant = dot(e1, pv);
    b[0] = dot(s, pv) / determinant, b[1] = dot(d, qv) / determinant, *t = dot(e2, qv) / determinant;
    *cosine = dot(n, d) / sqrt(dot(n, n));
    return b[0] >= 0 && b[1] >= 0 && b[0] + b[1] <= 1 && *t > 0;
}

static mesh_hit hit_mesh(const curved *s, const double *o, const double *d)
{
    static double grid[SIDE + 1][SIDE + 1][3];
    static const curved *made;
    mesh_hit best = {.t = INFINITY};
    for (int i = 0; made != s && i <= SIDE; i++)
        for (int j = 0; j <= SIDE; j++)
            s->point((double)i / SIDE, (double)j / SIDE, grid[i][j]);
    made = s;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            for (int half = 0; half < 2; half++) {
                const double *a = grid[i + half][j + half], *b = grid[i + 1][j], *c = grid[i][j + 1];
                double p[3][3], t, w[2], cosine;
                for (int k = 0; k < 3; k++)
                    p[0][k] = a[k], p[1][k] = half ? c[k] : b[k], p[2][k] = half ? b[k] : c[k];
                if (!hit_triangle(p, o, d, &t, w, &cosine) || t >= best.t)
                    continue;
                double along = half ? 1 - w[0] : w[0], up = half ? 1 - w[1] : w[1];
                best = (mesh_hit){.t = t, .u = (i + along) / SIDE, .v = (j + up) / SIDE, .cosine = cosine};
            }
    return best;
}

/* Unit normal of the surface, outward: away from `centre`. */
static void surface_normal(const curved *s, double u, double v, double n[3])
{
    double a[3], b[3], p[3], du[3], dv[3], out[3], h = 1e-5;
    s->point(u + h, v, a), s->point(u - h, v, b);
    for (int k = 0; k < 3; k++)
        du[k] = a[k] - b[k];
    s->point(u, v + h, a), s->point(u, v - h, b);
    for (int k = 0; k < 3; k++)
        dv[k] = a[k] - b[k];
    cross(du, dv, n);
    s->point(u, v, p);
    for (int k = 0; k < 3; k++)
        out[k] = p[k] - s->centre[k];
    if (s->curve) {
        s->point(u + 0.5, v, out);
        for (int k = 0; k < 3; k++)
            out[k] = p[k] - out[k];
    }
    double scale = s->sign * (dot(n, out) < 0 ? -1 : 1) / sqrt(dot(n, n));
    for (int k = 0; k < 3; k++)
        n[k] *= scale;
}

/* ---- tests ---- */

static double uniform(uint32_t *state, double low, double high)
{
    return low + (high - low) * scene_random(state);
}

static void make_ray(const curved *s, uint32_t *random, double in[IN])
{
    double target[3], d[3];
    s->point(uniform(random, 0, 1), uniform(random, 0, 1), target);
    for (int k = 0; k < 3; k++) {
        in[k] = s->centre[k] + uniform(random, -2.5, 2.5);
        d[k] = target[k] + uniform(random, -.3, .3) - in[k];
    }
    for (int k = 0; k < 3; k++)
        in[3 + k] = d[k] / sqrt(dot(d, d));
    in[6] = 0, in[7] = 1e6;
}

static void shapes_equal_their_meshes(void **state)
{
    (void)state;
    uint32_t random = 1;
    write_curve(), write_gaussian();
    for (int i = 0; i < SURFACES; i++) {
        const curved *s = &surfaces[i];
        traced l = trace_hits(s->xml);
        uint32_t hits = 0, misses = 0, unclear = 0;
        for (int r = 0; r < RAYS; r++) {
            double in[IN], got[OUT], n[3], p[3];
            make_ray(s, &random, in);
            run(&l, in, IN, got, OUT);
            mesh_hit h = hit_mesh(s, in, in + 3);
            bool hit = got[0] < in[7], joint = hit && s->curve && got[11] * 4 == floor(got[11] * 4);
            if (isfinite(h.t) != hit || joint ||
                (hit && (fabs(h.cosine) < 0.2 || fabs(h.t - got[0]) > 0.01))) {
                unclear++; /* silhouettes and rims of a mesh are not the shape's: few rays see the difference
                            */
                continue;
            }
            if (!hit) {
                misses++;
                continue;
            }
            hits++;
            bool has_uv = s->point != ellipsoid;
            s->point(has_uv ? got[10] : h.u, has_uv ? got[11] : h.v,
                     p); /* the point with that uv is the one that was hit */
            surface_normal(s, has_uv ? got[10] : h.u, has_uv ? got[11] : h.v, n);
            for (int k = 0; k < 3; k++) {
                double slack = has_uv ? 1 : 50, on_ray = in[k] + got[0] * in[3 + k];
                if (!(fabs(p[k] - on_ray) < slack * 1e-4) || !(fabs(got[1 + k] - on_ray) < 1e-4))
                    fail_msg("%s: p[%d] %g, by uv %g, on the ray %g", s->name, k, got[1 + k], p[k], on_ray);
                if (!(fabs(got[4 + k] - n[k]) < slack * 1e-3) || !(fabs(got[7 + k] - n[k]) < slack * 1e-3))
                    fail_msg("%s: normal[%d] %g and %g, of the surface %g", s->name, k, got[4 + k],
                             got[7 + k], n[k]);
            }
        }
        print_message("%s: %u hits, %u misses, %u at edges\n", s->name, hits, misses, unclear);
        assert_true(hits > RAYS / 4 && misses > RAYS / 50 && unclear < RAYS / 4);
        release(&l);
    }
    unlink(curve_file), unlink(gaussian_file);
}

/* What is computed of a ray that meets nothing is multiplied by zero: it has to be finite in f32, up to the
 * ends that rays of paths have. */
static void misses_are_finite(void **state)
{
    (void)state;
    uint32_t random = 7;
    write_curve(), write_gaussian();
    for (int i = 0; i < SURFACES; i++) {
        traced l = trace_hits(surfaces[i].xml);
        for (int r = 0; r < 20; r++) {
            double in[IN], got[OUT];
            make_ray(&surfaces[i], &random, in);
            in[6] = in[7] = 1e30;
            run_as(&l, false, in, IN, got, OUT);
            for (int k = 1; k < OUT; k++)
                if (!isfinite(got[k]))
                    fail_msg("%s: result %d of a ray that misses is %g", surfaces[i].name, k, got[k]);
        }
        release(&l);
    }
    unlink(curve_file), unlink(gaussian_file);
}

/* A ray that misses a flat shape by a little, as one may that is computed anew from a hit at its border, is
 * followed to the plane: the hit must not jump to infinity. */
static void borders_are_followed(void **state)
{
    (void)state;
    static const char *const flat[] = {"<shape type='rectangle'/>", "<shape type='disk'/>"};
    for (int i = 0; i < 2; i++) {
        traced l = begin(flat[i]);
        tracer t = plan_tracer(l.plan, l.f);
        ir_ref in[6], at[3], entry = t_u32(&t, l.plan->words.data[HEADER_ENTRIES]);
        for (int k = 0; k < 6; k++)
            in[k] = ir_param(l.f, IR_F32);
        at[0] = t_f32(&t, 5), at[1] = at[2] = t_f32(&t, 0);
        shape_ray all = {v3(in[0], in[1], in[2]), v3(in[3], in[4], in[5]), t_f32(&t, 0), t_f32(&t, 1e30f)};
        ir_ref met[3];
        kind_of(&l)->follow(&t, entry, all.o, all.d, at);
        kind_of(&l)->intersect(&t, entry, &all, met);
        end(&l, (ir_ref[]){at[0], met[0]}, 2);
        for (int beyond = 0; beyond < 2; beyond++) { /* from (0, 0, 5) toward (0, -1 -+ 1e-6, 0) */
            double y = beyond ? -1 - 1e-6 : -1 + 1e-6, length = sqrt(25 + y * y),
                   in_ray[6] = {0, 0, 5, 0, y / length, -5 / length}, got[2];
            run(&l, in_ray, 6, got, 2);
            assert_true(fabs(got[0] - length) < 1e-6);
            assert_true(beyond ? got[1] > 1e29 : fabs(got[1] - length) < 1e-6);
        }
        release(&l);
    }
}

/* Means of position and of its squares over (u1, u2) are those over the surface; density as `pdf` says. */
static void lights_are_sampled_by_area(void **state)
{
    (void)state;
    enum { GRID = 60 };
    for (int i = 0; i < SURFACES; i++) {
        const curved *s = &surfaces[i];
        if (s->area == 0)
            continue;
        traced l = begin(s->xml);
        tracer t = plan_tracer(l.plan, l.f);
        ir_ref u1 = ir_param(l.f, IR_F32), u2 = ir_param(l.f, IR_F32), data = t_u32(&t, data_of(&l));
        vec3 from = v3(t_f32(&t, 2), t_f32(&t, 1.5f), t_f32(&t, -1));
        emitter_sample e =
            kind_of(&l)->sample(&t, data, t_f32(&t, 1 / l.scene->shapes.data[0].area), from, u1, u2);
        end(&l, (ir_ref[]){e.d.x, e.d.y, e.d.z, e.distance, e.pdf, e.uv.x, e.uv.y, ir_to_f32(l.f, e.facing)},
            8);
        assert_true(fabs((double)l.scene->shapes.data[0].area - s->area) < 1e-5 * s->area);
        double mean[6] = {0}, expected[6] = {0};
        for (int k = 0; k < GRID * GRID; k++) {
            double in[2] = {(k % GRID + .5) / GRID, (k / GRID + .5) / GRID}, got[8], p[3], n[3], q[3],
                   ref[3] = {2, 1.5, -1};
            run(&l, in, 2, got, 8);
            s->point(got[5], got[6], p);
            surface_normal(s, got[5], got[6], n);
            s->point(in[0], in[1], q); /* the surfaces here have constant area per du dv */
            for (int j = 0; j < 3; j++) {
                assert_true(fabs(ref[j] + got[3] * got[j] - p[j]) < 1e-5);
                mean[j] += p[j], mean[3 + j] += p[j] * p[j], expected[j] += q[j],
                    expected[3 + j] += q[j] * q[j];
            }
            double cosine = dot(got, n);
            assert_true(fabs(got[4] * fabs(cosine) * s->area / (got[3] * got[3]) - 1) < 1e-4);
            assert_true((cosine < 0) == (got[7] != 0));
        }
        for (int j = 0; j < 6; j++)
            assert_true(fabs(mean[j] - expected[j]) / (GRID * GRID) < 1e-3);
        release(&l);
    }
}

/* ---- signed distances ---- */

enum { NX = 7, NY = 5, NZ = 6 };
static const char *const sdf_file = "shapes_sdf.vol";
static float distances[NZ][NY][NX];

static void put_word(FILE *f, uint32_t word)
{
    for (int k = 0; k < 4; k++)
        fputc((int)(word >> 8 * k & 255), f);
}

/* A ball with bumps: smooth enough to be hit, rough enough that every part of an interpolant counts. */
static void write_sdf(float offset)
{
    FILE *f = fopen(sdf_file, "wb");
    assert_non_null(f);
    const uint32_t header[] = {1, NX, NY, NZ, 1, 0, 0, 0, 0x3F800000, 0x3F800000, 0x3F800000};
    uint32_t random = 11;
    fputs("VOL\x03", f);
    for (int k = 0; k < 11; k++)
        put_word(f, header[k]);
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                double p[3] = {(double)x / (NX - 1) - .5, (double)y / (NY - 1) - .5,
                               (double)z / (NZ - 1) - .5};
                distances[z][y][x] = (float)(sqrt(dot(p, p)) - .37 + uniform(&random, -.06, .06)) + offset;
                put_word(f, float_word(distances[z][y][x]));
            }
    fclose(f);
}

/* Trilinear interpolant at a point of [0,1]^3. */
static double sdf_at(const double p[3])
{
    int size[3] = {NX, NY, NZ}, cell[3];
    double w[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        double g = p[k] * (size[k] - 1);
        cell[k] = (int)fmin(fmax(floor(g), 0), size[k] - 2);
        w[k] = g - cell[k];
    }
    for (int i = 0; i < 8; i++)
        sum += (double)distances[cell[2] + (i >> 2)][cell[1] + (i >> 1 & 1)][cell[0] + (i & 1)] *
               (i & 1 ? w[0] : 1 - w[0]) * (i & 2 ? w[1] : 1 - w[1]) * (i & 4 ? w[2] : 1 - w[2]);
    return sum;
}

/* First change of sign along the ray, by small steps; INFINITY. */
static double march(const double o[3], const double d[3])
{
    enum { STEPS = 4000 };
    double before = 0;
    bool inside_before = false;
    for (int i = 0; i <= STEPS; i++) {
        double t = 4.0 * i / STEPS, p[3];
        bool inside = true;
        for (int k = 0; k < 3; k++) {
            p[k] = o[k] + t * d[k];
            inside &= p[k] >= 0 && p[k] <= 1;
        }
        double now = inside ? sdf_at(p) : 0;
        if (inside && inside_before && (now < 0) != (before < 0))
            return t - 4.0 / STEPS * now / (now - before);
        before = now, inside_before = inside;
    }
    return INFINITY;
}

static void signed_distances(void **state)
{
    (void)state;
    write_sdf(0);
    uint32_t random = 5, hits = 0, misses = 0, unclear = 0;
    double smooth_off = 0;
    for (int smooth = 0; smooth < 2; smooth++) {
        arena a = {0};
        traced l =
            trace_hits(arena_printf(&a,
                                    "<shape type='sdfgrid'><string name='filename' value='%s'/><string "
                                    "name='normals' value='%s'/>" PLACED "</shape>",
                                    sdf_file, smooth ? "smooth" : "analytic"));
        for (int r = 0; r < RAYS; r++) {
            double in[IN], o[3], d[3], inverse[16], got[OUT], n[3], p[3], g[3];
            assert_true(matrix_invert(placed, inverse));
            for (int k = 0; k < 3; k++) {
                o[k] = uniform(&random, -.6, 1.6);
                d[k] = uniform(&random, -.2, 1.2) - o[k];
            }
            double length = sqrt(dot(d, d));
            for (int k = 0; k < 3; k++)
                d[k] /= length;
            move(placed, o, in);
            for (int k = 0; k < 3; k++)
                in[3 + k] = placed[4 * k] * d[0] + placed[4 * k + 1] * d[1] + placed[4 * k + 2] * d[2];
            in[6] = 0, in[7] = 4;
            run(&l, in, IN, got, OUT);
            double expected = march(o, d);
            if (isfinite(expected) != (got[0] < 4) ||
                (isfinite(expected) && fabs(expected - got[0]) > 2e-3)) {
                unclear++; /* a ray that only touches the surface between two steps */
                continue;
            }
            if (!isfinite(expected)) {
                misses++;
                continue;
            }
            hits++;
            move(inverse, got + 1, p);
            assert_true(fabs(sdf_at(p)) < 1e-5);
            for (int k = 0; k < 3; k++) { /* in the voxel of p: one-sided where a face is near */
                double q[2][3], h = 1e-6;
                memcpy(q[0], p, sizeof p), memcpy(q[1], p, sizeof p);
                q[0][k] -= h, q[1][k] += h;
                g[k] = (sdf_at(q[1]) - sdf_at(q[0])) / (2 * h);
            }
            for (int k = 0; k < 3; k++)
                n[k] = inverse[k] * g[0] + inverse[4 + k] * g[1] + inverse[8 + k] * g[2];
            double size = sqrt(dot(n, n)), off = 0;
            for (int k = 0; k < 3; k++) {
                if (!(fabs(got[4 + k] - n[k] / size) < 1e-3))
                    fail_msg("normal[%d] %g, of the interpolant %g", k, got[4 + k], n[k] / size);
                off += got[4 + k] * got[7 + k];
            }
            assert_true(smooth ? off > 0.5 : off > 1 - 1e-9);
            smooth_off += smooth * (1 - off);
            assert_true(got[10] == 0 && got[11] == 0);
        }
        release(&l);
        arena_free(&a);
    }
    print_message("%u hits, %u misses, %u unclear\n", hits, misses, unclear);
    assert_true(hits > RAYS / 2 && misses > RAYS / 8 && unclear < RAYS / 50);
    assert_true(smooth_off > 0.1); /* smooth normals are others */
    unlink(sdf_file);
}

/* From within a curve nothing is hit; a B-spline is open at its ends, a polyline is not. */
static void curves_have_one_side(void **state)
{
    (void)state;
    write_curve();
    for (int linear = 0; linear < 2; linear++) {
        traced l = trace_hits(
            linear ? "<shape type='linearcurve'><string name='filename' value='shapes.curves'/></shape>"
                   : "<shape type='bsplinecurve'><string name='filename' value='shapes.curves'/></shape>");
        double got[OUT],
            c[3] = {5.2 / 6, 1.8 / 6,
                    .8 / 6}; /* where the spline begins, (p0 + 4 p1 + p2) / 6, is within the first segment */
        run(&l, (double[IN]){c[0], c[1], c[2], 0, 1, 0, 0, 1e6}, IN, got, OUT);
        assert_true(got[0] == 1e6);
        double length =
            sqrt(dot(c, c)); /* from outside through the origin, where the polyline has a cap of radius 0.3 */
        run(&l,
            (double[IN]){-2 * c[0], -2 * c[1], -2 * c[2], c[0] / length, c[1] / length, c[2] / length, 0,
                         2.9 * length},
            IN, got, OUT);
        assert_true(linear ? fabs(got[0] - (2 * length - .3)) < 1e-6 : got[0] == 2.9 * length);
        release(&l);
    }
    unlink(curve_file);
}

static const struct {
    const char *text, *reason;
} bad_curves[] = {
    {"", "no control points"},
    {"0 0 0 1\n1 0 0 1\n2 0 0 1\n", "line 3: a curve of 3 control points ends here, 4 is the least"},
    {"0 0 0 1\n\n1 0 0 1\n", "line 2"},
    {"0 0 0\n", "line 1: expected four"},
    {"0 0 nan 1\n", "four finite"},
    {"0 0 0 -1\n", "negative radius"},
    {"0 0 0 x\n", "line 1"},
    {"1e300 0 0 1\n", "four finite"},
};

static void bad_curves_say_why(void **state)
{
    (void)state;
    static const char good[] = "\n0 0 0 1 9\r\n 1 2 3 0\n\n\n4 5 6 7\n8 9 10 11";
    scene_curves c;
    bl_error err = {0};
    for (size_t i = 0; i < sizeof bad_curves / sizeof *bad_curves; i++)
        if (curves_parse(bad_curves[i].text, strlen(bad_curves[i].text), 4, &c, &err) == BL_OK ||
            !strstr(err.text, bad_curves[i].reason))
            fail_msg("%s: %s", bad_curves[i].text, err.text);
    assert_int_equal(curves_parse(good, strlen(good), 2, &c, &err), BL_OK);
    assert_int_equal(c.curve_count, 2);
    assert_int_equal(c.point_count, 4);
    assert_int_equal(c.firsts[1], 2);
    assert_true(c.points[7] == 0 && c.points[15] == 11);
    curves_free(&c);
}

static void bad_signed_distances(void **state)
{
    (void)state;
    static const struct {
        const char *inside, *reason;
        float offset;
    } cases[] = {
        {"", "no voxel holds a surface", 9},
        {"<string name='normals' value='round'/>", "not \"round\"", 0},
        {"<emitter type='area'/>", "cannot be a light", 0},
        {"<transform name='to_world'><scale y='0'/></transform>", "singular", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        arena a = {0};
        render_scene *s = NULL;
        bl_error err = {0};
        write_sdf(cases[i].offset);
        if (try_load(arena_printf(&a, "<shape type='sdfgrid'><string name='filename' value='%s'/>%s</shape>",
                                  sdf_file, cases[i].inside),
                     &s, &err) == BL_OK ||
            !strstr(err.text, cases[i].reason))
            fail_msg("%s: %s", cases[i].inside, err.text);
        arena_free(&a);
    }
    unlink(sdf_file);
}

static const struct {
    const char *xml, *reason;
} bad[] = {
    {"<shape type='ellipsoids'><string name='filename' value='none.ply'/></shape>", "none.ply"},
    {"<shape type='cylinder'><float name='radius' value='0'/></shape>", "the radius must be positive"},
    {"<shape type='cylinder'><point name='p1' value='0,0,0'/></shape>", "p0 and p1 must differ"},
    {"<shape type='cylinder'><transform name='to_world'><scale x='2'/></transform></shape>",
     "keep the section round"},
    {"<shape type='cylinder'><transform name='to_world'><scale value='0'/></transform></shape>",
     "keep the section round"},
    {"<shape type='cylinder'><transform name='to_world'><matrix value='1 0 .5 0  0 1 0 0  0 0 1 0  0 0 0 "
     "1'/></transform></shape>",
     "at a right angle"},
    {"<shape type='cylinder'><transform name='to_world'><matrix value='1 0 0 0  0 1 0 0  0 0 1 0  0 0 1 "
     "1'/></transform></shape>",
     "affine"},
    {"<shape type='cylinder'><transform name='to_world'><scale value='1e30'/></transform></shape>",
     "out of range"},
};

static void bad_shapes_say_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        render_scene *s = NULL;
        bl_error err = {0};
        if (try_load(bad[i].xml, &s, &err) == BL_OK)
            fail_msg("%s: no error", bad[i].xml);
        if (!strstr(err.text, bad[i].reason))
            fail_msg("%s: %s", bad[i].xml, err.text);
    }
}

/* What Mitsuba shows as nothing, or as if the last row were another, is an error for all shapes alike. */
static void no_shape_takes_a_transform_without_inverse(void **state)
{
    (void)state;
    static const char *const ops[][2] = {{"<scale value='0'/>", ""},
                                         {"<scale x='0'/>", ""},
                                         {"<scale y='0'/>", ""},
                                         {"<scale z='0'/>", ""},
                                         {"<matrix value='1 0 0 0  2 0 0 0  0 0 1 0  0 0 0 1'/>", ""},
                                         {"<matrix value='1 0 0 0  0 1 0 0  0 0 1 0  0 0 0 2'/>", "affine"},
                                         {"<matrix value='1 0 0 0  0 1 0 0  0 0 1 0  0 .5 0 1'/>", "affine"}};
    write_gaussian(), write_sdf(0);
    const char *const shapes[][2] = {{"rectangle", ""},    {"cube", ""},     {"sphere", ""},
                                     {"disk", ""},         {"cylinder", ""}, {"ellipsoids", gaussian_file},
                                     {"sdfgrid", sdf_file}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
            arena a = {0};
            render_scene *s = NULL;
            bl_error err = {0};
            char *file =
                *shapes[i][1] ? arena_printf(&a, "<string name='filename' value='%s'/>", shapes[i][1]) : "";
            char *xml =
                arena_printf(&a, "<shape type='%s'>%s<transform name='to_world'>%s</transform></shape>",
                             shapes[i][0], file, ops[k][0]);
            if (try_load(xml, &s, &err) == BL_OK || !strstr(err.text, shapes[i][0]) ||
                !(strstr(err.text, "to_world") || strstr(err.text, "transform")) ||
                !strstr(err.text, ops[k][1]))
                fail_msg("%s: %s", xml, err.text);
            arena_free(&a);
        }
    unlink(sdf_file), unlink(gaussian_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_shape_takes_a_transform_without_inverse),
                                       cmocka_unit_test(shapes_equal_their_meshes),
                                       cmocka_unit_test(misses_are_finite),
                                       cmocka_unit_test(borders_are_followed),
                                       cmocka_unit_test(lights_are_sampled_by_area),
                                       cmocka_unit_test(bad_shapes_say_why),
                                       cmocka_unit_test(signed_distances),
                                       cmocka_unit_test(bad_signed_distances),
                                       cmocka_unit_test(curves_have_one_side),
                                       cmocka_unit_test(bad_curves_say_why)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
