/* LABELS: rayquery */
/* SPDX-License-Identifier: BSD-3-Clause
 * The ray comparison test: the same rays against the same scenes by both ray backends, on the device, and by
 * a loop over all primitives in double precision on the host. Backends round differently, so where they
 * disagree, and for a sample of all rays, each answer has to be acceptable on its own: its primitive is not
 * clearly missed, its distance is right, and no other primitive is clearly hit before it. "Clearly" is by
 * more than f32's rounding in the intersection. So ties (two primitives at one distance, shared edges) and
 * rays through an edge may go either way, and nothing else may. Rays are random, aimed at edges, silhouettes
 * and rims, parallel to axes, short, and such as ask for nothing (tmax below tmin, not finite). Ordinary
 * tier: 2^15 rays a scene; BL_LONG=1: 2^20. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/ray_backend.h"
#include "render/classes.h"
#include "support/device_run.h"
#include "support/ray_cases.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SCENE,
    RAYS,
    HITS,
    BUFFERS,
    RAY_WORDS = 8,
    HIT_WORDS = 6,
    RAYS_FEW = 1 << 15,
    RAYS_MANY = 1 << 20,
    BRUTE_EVERY = 16
};

static device_run device;

/* ---- kernels ---- */

/* Lane i: ray i -> t, shape, primitive in the shape, u, v, any. */
static ir_module *trace_kernel(const plan *p)
{
    ir_module *m = ir_module_create(), *out;
    ir_buffer_add(m, "scene", true, -1), ir_buffer_add(m, "rays", true, -1),
        ir_buffer_add(m, "hits", false, -1);
    ir_func *intersect[SHAPE_KIND_COUNT];
    uint32_t kinds = ray_trace_kinds(m, p, intersect);
    ir_func *f = m->entry = ir_func_create(m, "main");
    tracer t = plan_tracer(p, f);
    ir_ref args[RAY_WORDS], hit[5], id = ir_global_id(f), none = t_u32(&t, PLAN_NONE),
                                    first = ir_mul(f, id, t_u32(&t, RAY_WORDS));
    for (uint32_t k = 0; k < RAY_WORDS; k++)
        args[k] = ir_load(f, IR_F32, RAYS, t_offset(&t, first, k));
    ir_ray_closest(f, intersect, kinds, args, hit);
    ir_ref there = ir_ne(f, hit[1], none),
           entry = ir_mul(f, ir_select(f, there, hit[1], t_u32(&t, 0)), t_u32(&t, 12));
    entry = ir_add(f, t_word(&t, t_u32(&t, 0), HEADER_ENTRIES), entry);
    ir_ref words[HIT_WORDS] = {hit[0],
                               ir_select(f, there, t_word(&t, entry, 10), none),
                               ir_select(f, there, t_word(&t, entry, 11), none),
                               hit[2],
                               hit[3],
                               ir_to_u32(f, ir_ray_any(f, intersect, kinds, args))};
    ir_ref at = ir_mul(f, id, t_u32(&t, HIT_WORDS));
    for (uint32_t k = 0; k < HIT_WORDS; k++)
        ir_store(f, HITS, t_offset(&t, at, k), words[k]);
    ir_return(f, NULL, 0);
    opt_options o = {0};
    plan_ray_options(p, &o);
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK || opt_run(m, &o, &out, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(m);
    return out;
}

typedef struct hit {
    float t;
    uint32_t shape, primitive;
    float u, v;
    uint32_t any;
} hit;

static hit *run_backend(const render_scene *s, plan_rays rays, const float *line, uint32_t count)
{
    plan *p = plan_create(s, NULL, 0, rays, 0);
    gpu_accel *accel = NULL;
    if (p->query && ray_backend_build(device.device, p, false, &accel, &device.err) != BL_OK)
        fail_msg("%s", device.err.text);
    ir_module *m = trace_kernel(p);
    run_memory memory =
        run_memory_create((uint32_t[]){p->words.count, count * RAY_WORDS, count * HIT_WORDS}, BUFFERS);
    memcpy(memory.words[SCENE], p->words.data, p->words.count * sizeof(uint32_t));
    memcpy(memory.words[RAYS], line, (size_t)count * RAY_WORDS * sizeof *line);
    device.rays = ray_backend_lowering(p);
    double start = clock_seconds();
    device_run_kernel(&device, m, &memory, count);
    print_message("%s: %u rays, twice, %.2f s\n", p->query ? "query" : "bvh", count, clock_seconds() - start);
    hit *hits = malloc((size_t)count * sizeof *hits);
    assert_non_null(hits);
    memcpy(hits, memory.words[HITS], (size_t)count * sizeof *hits);
    run_memory_free(&memory);
    ir_module_destroy(m);
    gpu_accel_destroy(accel);
    plan_destroy(p);
    return hits;
}

/* ---- primitives in double precision ---- */

typedef struct verdict {
    enum { MISSED, UNCLEAR, HIT } is;
    double t, tolerance;
} verdict;

/* Sixteen roundings of f32, relative to the largest terms. */
static const double rounding = 1e-6;

static int clearer(int a, int b) { return a < b ? a : b; }
/* Is x above 0, where it is known to +- margin? A NaN is not clear. */
static int above(double x, double margin) { return x > margin ? HIT : x < -margin ? MISSED : UNCLEAR; }

static int within(double t, double tolerance, const float *line)
{
    return clearer(above(t - (double)line[6], tolerance), above((double)line[7] - t, tolerance));
}

static verdict test_flat(const ray_primitive *q, const float *line)
{
    double d[3] = {line[3], line[4], line[5]}, s[3], pv[3], qv[3];
    for (int k = 0; k < 3; k++)
        s[k] = (double)line[k] - q->p[k];
    ray_cross(d, q->b, pv), ray_cross(s, q->a, qv);
    double determinant = ray_dot(q->a, pv), largest = ray_length(d) * ray_length(q->a) * ray_length(q->b),
           reach = ray_length(s) + ray_length(q->p) + ray_length(q->a) + ray_length(q->b);
    if (fabs(determinant) < 1e-4 * largest) /* grazing: anything may come out */
        return (verdict){UNCLEAR, 0, INFINITY};
    double u = ray_dot(s, pv) / determinant, v = ray_dot(d, qv) / determinant;
    double mu = rounding * reach * ray_length(d) * ray_length(q->b) / fabs(determinant),
           mv = rounding * reach * ray_length(d) * ray_length(q->a) / fabs(determinant);
    verdict out = {
        .t = ray_dot(q->b, qv) / determinant,
        .tolerance = rounding * reach * ray_length(q->a) * ray_length(q->b) / fabs(determinant),
    };
    if (q->kind == SHAPE_DISK)
        out.is = above(1 - u * u - v * v, 2 * (mu + mv));
    else
        out.is = clearer(above(u, mu), clearer(above(v, mv), above(1 - u - v, mu + mv)));
    out.is = clearer(out.is, within(out.t, out.tolerance, line));
    return out;
}

static verdict test_sphere(const ray_primitive *q, const float *line)
{
    double d[3] = {line[3], line[4], line[5]}, to[3], nearest[3];
    for (int k = 0; k < 3; k++)
        to[k] = q->p[k] - (double)line[k];
    double middle = ray_dot(to, d);
    for (int k = 0; k < 3; k++)
        nearest[k] = d[k] * middle - to[k];
    double reach = ray_length(to) + ray_length(q->p) + q->radius,
           square = q->radius * q->radius - ray_dot(nearest, nearest);
    double margin = 2 * rounding * reach * (q->radius + ray_length(nearest)),
           half = sqrt(square > 0 ? square : 0);
    verdict out = {.tolerance = rounding * reach + margin / fmax(half, sqrt(margin))};
    int pierced = above(square, margin), near = within(middle - half, out.tolerance, line),
        far = within(middle + half, out.tolerance, line);
    bool first = near != MISSED;
    out.t = first ? middle - half : middle + half;
    out.is = clearer(pierced, near == UNCLEAR && far == HIT ? UNCLEAR : first ? near : far);
    return out;
}

/* The first of the two roots that lies on the tube, about the ray's nearest point to the axis. */
static verdict test_cylinder(const ray_primitive *q, const float *line)
{
    double d[3] = {line[3], line[4], line[5]}, from[3], flat[3], nearest[3], square = ray_dot(q->a, q->a);
    for (int k = 0; k < 3; k++)
        from[k] = (double)line[k] - q->p[k];
    double start = ray_dot(from, q->a) / square, slope = ray_dot(d, q->a) / square;
    for (int k = 0; k < 3; k++)
        flat[k] = d[k] - slope * q->a[k], from[k] -= start * q->a[k];
    double across = ray_dot(flat, flat), middle = -ray_dot(flat, from) / across;
    if (!(across > 1e-4 * ray_dot(d, d))) /* along the axis: anything may come out */
        return (verdict){UNCLEAR, 0, INFINITY};
    for (int k = 0; k < 3; k++)
        nearest[k] = from[k] + middle * flat[k];
    double reach = ray_length(q->p) + ray_length(q->a) + ray_length(from) + fabs(start) * sqrt(square) +
                   q->radius,
           inside = q->radius * q->radius - ray_dot(nearest, nearest);
    double margin = 4 * rounding * reach * (q->radius + ray_length(nearest)),
           half = sqrt(fmax(inside, 0) / across);
    verdict out = {.is = MISSED,
                   .tolerance =
                       (rounding * reach + margin / fmax(sqrt(fmax(inside, 0)), sqrt(margin))) / across};
    int pierced = above(inside, margin);
    for (int side = -1; side <= 1; side += 2) {
        double t = middle + side * half, height = start + slope * t,
               slack = (out.tolerance + rounding * reach) / sqrt(square) * 2;
        int is = clearer(clearer(pierced, within(t, out.tolerance, line)),
                         clearer(above(height, slack), above(1 - height, slack)));
        if (out.is == MISSED)
            out.is = is, out.t = t;
        else if (out.is == UNCLEAR && is != MISSED) /* one or the other */
            out.tolerance += t - out.t;
    }
    return out;
}

static verdict test(const ray_primitive *q, const float *line)
{
    return q->kind == SHAPE_SPHERE     ? test_sphere(q, line)
           : q->kind == SHAPE_CYLINDER ? test_cylinder(q, line)
                                       : test_flat(q, line);
}

static ray_primitive *find(const ray_world *w, const hit *h)
{
    for (uint32_t k = 0; k < w->count; k++)
        if (w->primitives[k].shape == h->shape && w->primitives[k].index == h->primitive)
            return &w->primitives[k];
    fail_msg("hit of primitive %u of shape %u, which is not there", h->primitive, h->shape);
    return NULL;
}

/* NULL, or what is wrong with an answer. */
static const char *wrong(const ray_world *w, const float *line, const hit *h)
{
    bool valid = line[6] < line[7];
    double limit = (double)line[7], slack = 0;
    for (int k = 0; k < 6; k++)
        valid = valid && isfinite(line[k]);
    if (!valid)
        return h->shape == PLAN_NONE && !h->any ? NULL : "no ray hits something";
    if (h->shape == PLAN_NONE && !(h->t == line[7]))
        return "t of a ray without a hit is not tmax";
    if ((h->shape != PLAN_NONE) != (h->any != 0))
        return "closest and any disagree";
    if (h->shape != PLAN_NONE) {
        verdict v = test(find(w, h), line);
        limit = (double)h->t, slack = v.tolerance;
        if (v.is == MISSED)
            return "what is said to be hit is clearly missed";
        if (fabs(v.t - limit) > 2 * v.tolerance)
            return "t is off";
    }
    for (uint32_t k = 0; k < w->count; k++) {
        verdict v = test(&w->primitives[k], line);
        if (v.is == HIT && v.t < limit - 2 * (v.tolerance + slack))
            return "something is clearly hit before";
    }
    return NULL;
}

static void check(const ray_world *w, const float *line, const hit *h, const char *backend)
{
    const char *reason = wrong(w, line, h);
    if (reason)
        fail_msg("%s: %s: ray (%.9g %.9g %.9g) (%.9g %.9g %.9g) [%g %g]: t %.9g shape %d primitive %d any %u",
                 backend, reason, (double)line[0], (double)line[1], (double)line[2], (double)line[3],
                 (double)line[4], (double)line[5], (double)line[6], (double)line[7], (double)h->t,
                 (int)h->shape, (int)h->primitive, h->any);
}

/* Where on the primitive, as a length: coordinates are worth their axes. */
static double apart(const ray_world *w, const hit *a, const hit *b)
{
    const ray_primitive *q = find(w, a);
    double off[3];
    for (int k = 0; k < 3; k++)
        off[k] = ((double)a->u - (double)b->u) * q->a[k] + ((double)a->v - (double)b->v) * q->b[k];
    return ray_length(off);
}

/* ---- comparing ---- */

static void compare(ray_world *w, uint32_t count)
{
    float *rays = malloc((size_t)count * RAY_WORDS * sizeof *rays);
    assert_non_null(rays);
    for (uint32_t i = 0; i < count; i++)
        ray_make(w, i, rays + (size_t)i * RAY_WORDS);
    hit *bvh = run_backend(w->scene, PLAN_RAYS_BVH, rays, count),
        *query = run_backend(w->scene, PLAN_RAYS_QUERY, rays, count);
    uint32_t hits = 0, differ = 0, aimed = 0, ties = 0,
             every = w->count > 2000 ? 64 * BRUTE_EVERY : BRUTE_EVERY;
    for (uint32_t i = 0; i < count; i++) {
        const hit *a = &bvh[i], *b = &query[i];
        const float *line = rays + (size_t)i * RAY_WORDS;
        bool level = a->any == b->any && fabsf(a->t - b->t) <= 1e-5f * (1 + fabsf(a->t));
        bool same = level && a->shape == b->shape && a->primitive == b->primitive;
        if (same && a->shape != PLAN_NONE && i % BRUTE_EVERY == 0)
            assert_true(apart(w, a, b) <= 1e-4);
        hits += a->shape != PLAN_NONE;
        ties += level && !same, differ += !level && i % 4 != 1, aimed += !level && i % 4 == 1;
        if (!same || i % every == 0)
            check(w, line, a, "bvh"), check(w, line, b, "query");
    }
    print_message("%u primitives: %u of %u rays hit; %u ties, backends differ on %u of those aimed at edges "
                  "and %u others\n",
                  w->count, hits, count, ties, aimed, differ);
    assert_true(hits > count / 10);
    assert_true(differ <= count / 1000);
    free(bvh), free(query), free(rays);
    ray_world_free(w);
}

static uint32_t ray_count(void) { return getenv("BL_LONG") ? RAYS_MANY : RAYS_FEW; }

static void triangles(void **state)
{
    (void)state;
    text xml = {0};
    ray_write_soup(1000);
    ray_add_ply(&xml, ray_soup_file);
    ray_world w = ray_world_load(xml.data, ".");
    text_free(&xml);
    assert_int_equal(w.count, 1000);
    compare(&w, ray_count());
}

static void every_kind(void **state)
{
    (void)state;
    text xml = {0};
    ray_write_soup(400);
    ray_add_spheres(&xml, 200);
    ray_add_ply(&xml, ray_soup_file);
    ray_add_disks(&xml, 200);
    ray_add_cylinders(&xml, 200);
    ray_world w = ray_world_load(xml.data, ".");
    text_free(&xml);
    assert_int_equal(w.count, 1000);
    compare(&w, ray_count());
}

/* A group of every kind, and where it is shown. */
static const char *const shown[] = {
    "<scale value='1,-.5,.8'/><rotate x='.6' y='.8' angle='50'/><translate value='.2,-.4,.1'/>",
    "<scale value='.6'/><translate value='-.3,.3,0'/>",
    "<rotate z='1' angle='30'/><scale value='.3,.9,1.1'/><translate x='.4'/>"};
enum { SHOWN = sizeof shown / sizeof *shown, IN_GROUP = 40 };

/* Instances against the same shapes written out, where a map lets them be written out: spheres and cylinders
 * stay round under the second alone. */
static void instances(void **state)
{
    (void)state;
    text two = {0}, one = {0};
    ray_add_group_shape(&two, 1, ""), ray_add_group_shape(&one, 1, "");
    text_add(&two, "<shape type='shapegroup' id='group'>");
    for (uint32_t k = 0; k < IN_GROUP; k++)
        ray_add_group_shape(&two, k, "");
    text_add(&two, "</shape><shape type='shapegroup' id='flat'>");
    for (uint32_t k = 0; k < IN_GROUP; k += 8)
        ray_add_group_shape(&two, k, "");
    text_add(&two, "</shape>");
    for (uint32_t i = 0; i < SHOWN; i++) {
        text_add(&two,
                 "<shape type='instance'><ref id='%s'/><transform name='to_world'>%s</transform></shape>",
                 i == 1 ? "group" : "flat", shown[i]);
        for (uint32_t k = 0; k < IN_GROUP; k += i == 1 ? 1 : 8)
            ray_add_group_shape(&one, k, shown[i]);
    }
    ray_world a = ray_world_load(two.data, NULL), b = ray_world_load(one.data, NULL);
    text_free(&two), text_free(&one);
    uint32_t count = ray_count() / 2, hits = 0, differ[2] = {0, 0}, aimed[2] = {0, 0};
    float *rays = malloc((size_t)count * RAY_WORDS * sizeof *rays);
    assert_non_null(rays);
    for (uint32_t i = 0; i < count; i++)
        ray_make(&b, i, rays + (size_t)i * RAY_WORDS);
    hit *plain = run_backend(b.scene, PLAN_RAYS_BVH, rays, count);
    hit *levels[2] = {run_backend(a.scene, PLAN_RAYS_BVH, rays, count),
                      run_backend(a.scene, PLAN_RAYS_QUERY, rays, count)};
    for (uint32_t i = 0; i < count; i++) {
        hits += plain[i].shape != PLAN_NONE;
        for (int k = 0; k < 2; k++)
            if (levels[k][i].any != plain[i].any ||
                !(fabsf(levels[k][i].t - plain[i].t) <= 1e-4f * (1 + fabsf(plain[i].t))))
                *(i % 4 == 1 ? &aimed[k] : &differ[k]) += 1;
    }
    print_message("%u of %u rays hit; instances differ from copies on %u and %u of those aimed at edges and "
                  "%u and %u others\n",
                  hits, count, aimed[0], aimed[1], differ[0], differ[1]);
    assert_true(hits > count / 10);
    assert_true(differ[0] <= count / 1000 && differ[1] <= count / 1000 && aimed[0] < count / 16 &&
                aimed[1] < count / 16);
    free(plain), free(levels[0]), free(levels[1]), free(rays);
    ray_world_free(&a), ray_world_free(&b);
}

/* Kinds that only the other backend judges here; tests/unit/shapes.c has the truth of them. */
static void other_kinds(void **state)
{
    (void)state;
    char *folder = scene_files_create();
    text xml = {0};
    FILE *f = fopen("ray_queries.curves", "w");
    assert_non_null(folder), assert_non_null(f);
    for (int k = 0; k < 60; k++)
        fprintf(f, "%s%.6f %.6f %.6f %.6f\n", k % 6 ? "" : "\n", ray_uniform(-1, 1), ray_uniform(-1, 1),
                ray_uniform(-1, 1), ray_uniform(0, .1));
    fclose(f);
    text_add(&xml,
             "<shape type='sdfgrid'><string name='filename' value='%s/ball.vol'/><transform "
             "name='to_world'><rotate x='1' angle='40'/></transform></shape>",
             folder);
    text_add(&xml, "<shape type='linearcurve'><string name='filename' "
                   "value='ray_queries.curves'/></shape><shape type='bsplinecurve'>"
                   "<string name='filename' value='ray_queries.curves'/><transform name='to_world'><rotate "
                   "y='1' angle='70'/></transform></shape>");
    ray_add_disks(&xml, 20);
    ray_world w = ray_world_load(xml.data, ".");
    uint32_t count = ray_count() / 2, differ = 0, hits = 0;
    float *rays = malloc((size_t)count * RAY_WORDS * sizeof *rays);
    assert_non_null(rays);
    for (uint32_t i = 0; i < count; i++)
        ray_make(&w, i % 4 == 1 ? i + 3 : i,
                 rays + (size_t)i * RAY_WORDS); /* none at edges, which these kinds do not have */
    hit *bvh = run_backend(w.scene, PLAN_RAYS_BVH, rays, count),
        *query = run_backend(w.scene, PLAN_RAYS_QUERY, rays, count);
    for (uint32_t i = 0; i < count; i++) {
        hits += bvh[i].shape != PLAN_NONE;
        differ += bvh[i].any != query[i].any || bvh[i].shape != query[i].shape ||
                  !(fabsf(bvh[i].t - query[i].t) <= 1e-5f * (1 + fabsf(bvh[i].t)));
    }
    print_message("%u of %u rays hit, backends differ on %u\n", hits, count, differ);
    assert_true(hits > count / 10 && differ <= count / 1000);
    free(bvh), free(query), free(rays);
    text_free(&xml), ray_world_free(&w);
    unlink("ray_queries.curves");
    scene_files_remove(folder);
}

static void boxes_only(void **state)
{
    (void)state;
    text xml = {0};
    ray_add_disks(&xml, 150);
    ray_world w = ray_world_load(xml.data, NULL);
    compare(&w, 1 << 12);
    ray_add_spheres(&xml, 150);
    w = ray_world_load(xml.data, NULL);
    compare(&w, 1 << 12);
    text_free(&xml);
}

static void large_mesh(void **state)
{
    (void)state;
    text xml = {0};
    ray_write_ball(190);
    ray_add_ply(&xml, ray_ball_file);
    ray_world w = ray_world_load(xml.data, ".");
    text_free(&xml);
    assert_int_equal(w.count, 71820);
    compare(&w, getenv("BL_LONG") ? 1 << 14 : 1 << 13);
}

int main(void)
{
    if (!device_run_open(&device))
        return device_run_missing();
    if (!gpu_device_info(device.device)->ray_query) {
        print_message("no ray queries on %s\n", gpu_device_info(device.device)->name);
        return device_run_missing();
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(triangles),  cmocka_unit_test(every_kind),
                                       cmocka_unit_test(instances),  cmocka_unit_test(other_kinds),
                                       cmocka_unit_test(boxes_only), cmocka_unit_test(large_mesh)};
    int failed = cmocka_run_group_tests_name("ray queries", tests, NULL, NULL);
    unlink(ray_soup_file), unlink(ray_ball_file);
    if (!failed) /* a test that failed has left its objects behind */
        device_run_close(&device);
    return failed;
}
