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
static uint32_t random_state;
static double uniform(double low, double high) { return low + (high - low) * scene_random(&random_state); }

/* ---- kernels ---- */

static ir_func *trace_intersect(ir_module *m, const plan *p, const shape_kind_class *kind)
{
    ir_func *f = ir_func_create(m, kind->name);
    tracer t = {.f = f, .plan = p};
    ir_ref entry = ir_param(f, IR_U32), r[8], out[3];
    for (int k = 0; k < 8; k++)
        r[k] = ir_param(f, IR_F32);
    kind->intersect(&t, entry, &(shape_ray){vec3_at(r), vec3_at(r + 3), r[6], r[7]}, out);
    ir_return(f, out, 3);
    return f;
}

/* Lane i: ray i -> t, shape, primitive in the shape, u, v, any. */
static ir_module *trace_kernel(const plan *p)
{
    ir_module *m = ir_module_create(), *out;
    ir_buffer_add(m, "scene", true, -1), ir_buffer_add(m, "rays", true, -1),
        ir_buffer_add(m, "hits", false, -1);
    ir_func *intersect[SHAPE_KIND_COUNT];
    uint32_t kinds = 0;
    for (int k = 0; k < SHAPE_KIND_COUNT; k++)
        if (p->scene->kind_used[k])
            intersect[kinds++] = trace_intersect(m, p, shape_kinds[k]);
    ir_func *f = m->entry = ir_func_create(m, "main");
    tracer t = {.f = f, .plan = p};
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

typedef struct primitive {
    uint32_t kind, shape, index;
    double p[3], a[3], b[3], radius; /* corner or centre, edges or half axes */
} primitive;

typedef struct verdict {
    enum { MISSED, UNCLEAR, HIT } is;
    double t, tolerance;
} verdict;

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static double length(const double *a) { return sqrt(dot(a, a)); }
static void cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2],
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Sixteen roundings of f32, relative to the largest terms. */
static const double rounding = 1e-6;

static int clearer(int a, int b) { return a < b ? a : b; }
/* Is x above 0, where it is known to +- margin? A NaN is not clear. */
static int above(double x, double margin) { return x > margin ? HIT : x < -margin ? MISSED : UNCLEAR; }

static int within(double t, double tolerance, const float *line)
{
    return clearer(above(t - (double)line[6], tolerance), above((double)line[7] - t, tolerance));
}

static verdict test_flat(const primitive *q, const float *line)
{
    double d[3] = {line[3], line[4], line[5]}, s[3], pv[3], qv[3];
    for (int k = 0; k < 3; k++)
        s[k] = (double)line[k] - q->p[k];
    cross(d, q->b, pv), cross(s, q->a, qv);
    double determinant = dot(q->a, pv), largest = length(d) * length(q->a) * length(q->b),
           reach = length(s) + length(q->p) + length(q->a) + length(q->b);
    if (fabs(determinant) < 1e-4 * largest) /* grazing: anything may come out */
        return (verdict){UNCLEAR, 0, INFINITY};
    double u = dot(s, pv) / determinant, v = dot(d, qv) / determinant;
    double mu = rounding * reach * length(d) * length(q->b) / fabs(determinant),
           mv = rounding * reach * length(d) * length(q->a) / fabs(determinant);
    verdict out = {
        .t = dot(q->b, qv) / determinant,
        .tolerance = rounding * reach * length(q->a) * length(q->b) / fabs(determinant),
    };
    if (q->kind == SHAPE_DISK)
        out.is = above(1 - u * u - v * v, 2 * (mu + mv));
    else
        out.is = clearer(above(u, mu), clearer(above(v, mv), above(1 - u - v, mu + mv)));
    out.is = clearer(out.is, within(out.t, out.tolerance, line));
    return out;
}

static verdict test_sphere(const primitive *q, const float *line)
{
    double d[3] = {line[3], line[4], line[5]}, to[3], nearest[3];
    for (int k = 0; k < 3; k++)
        to[k] = q->p[k] - (double)line[k];
    double middle = dot(to, d);
    for (int k = 0; k < 3; k++)
        nearest[k] = d[k] * middle - to[k];
    double reach = length(to) + length(q->p) + q->radius,
           square = q->radius * q->radius - dot(nearest, nearest);
    double margin = 2 * rounding * reach * (q->radius + length(nearest)),
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
static verdict test_cylinder(const primitive *q, const float *line)
{
    double d[3] = {line[3], line[4], line[5]}, from[3], flat[3], nearest[3], square = dot(q->a, q->a);
    for (int k = 0; k < 3; k++)
        from[k] = (double)line[k] - q->p[k];
    double start = dot(from, q->a) / square, slope = dot(d, q->a) / square;
    for (int k = 0; k < 3; k++)
        flat[k] = d[k] - slope * q->a[k], from[k] -= start * q->a[k];
    double across = dot(flat, flat), middle = -dot(flat, from) / across;
    if (!(across > 1e-4 * dot(d, d))) /* along the axis: anything may come out */
        return (verdict){UNCLEAR, 0, INFINITY};
    for (int k = 0; k < 3; k++)
        nearest[k] = from[k] + middle * flat[k];
    double reach = length(q->p) + length(q->a) + length(from) + fabs(start) * sqrt(square) + q->radius,
           inside = q->radius * q->radius - dot(nearest, nearest);
    double margin = 4 * rounding * reach * (q->radius + length(nearest)),
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

static verdict test(const primitive *q, const float *line)
{
    return q->kind == SHAPE_SPHERE     ? test_sphere(q, line)
           : q->kind == SHAPE_CYLINDER ? test_cylinder(q, line)
                                       : test_flat(q, line);
}

typedef struct world {
    render_scene *scene;
    primitive *primitives;
    uint32_t count;
} world;

static primitive *find(const world *w, const hit *h)
{
    for (uint32_t k = 0; k < w->count; k++)
        if (w->primitives[k].shape == h->shape && w->primitives[k].index == h->primitive)
            return &w->primitives[k];
    fail_msg("hit of primitive %u of shape %u, which is not there", h->primitive, h->shape);
    return NULL;
}

/* NULL, or what is wrong with an answer. */
static const char *wrong(const world *w, const float *line, const hit *h)
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

static void check(const world *w, const float *line, const hit *h, const char *backend)
{
    const char *reason = wrong(w, line, h);
    if (reason)
        fail_msg("%s: %s: ray (%.9g %.9g %.9g) (%.9g %.9g %.9g) [%g %g]: t %.9g shape %d primitive %d any %u",
                 backend, reason, (double)line[0], (double)line[1], (double)line[2], (double)line[3],
                 (double)line[4], (double)line[5], (double)line[6], (double)line[7], (double)h->t,
                 (int)h->shape, (int)h->primitive, h->any);
}

/* Where on the primitive, as a length: coordinates are worth their axes. */
static double apart(const world *w, const hit *a, const hit *b)
{
    const primitive *q = find(w, a);
    double off[3];
    for (int k = 0; k < 3; k++)
        off[k] = ((double)a->u - (double)b->u) * q->a[k] + ((double)a->v - (double)b->v) * q->b[k];
    return length(off);
}

/* ---- worlds ---- */

static void add_primitives(world *w)
{
    const render_scene *s = w->scene;
    w->count = s->primitives.count;
    w->primitives = calloc(w->count + 1u, sizeof *w->primitives);
    assert_non_null(w->primitives);
    for (uint32_t i = 0; i < w->count; i++) {
        const uint32_t *entry = s->primitives.data[i].entry;
        primitive *q = &w->primitives[i];
        float real[9];
        memcpy(real, entry, sizeof real);
        *q = (primitive){
            .kind = entry[9],
            .shape = entry[10],
            .index = entry[11],
            .radius = (double)real[entry[9] == SHAPE_CYLINDER ? 6 : 3],
        };
        for (int k = 0; k < 3; k++)
            q->p[k] = (double)real[k], q->a[k] = q->kind == SHAPE_SPHERE ? 0 : (double)real[3 + k],
            q->b[k] = q->kind == SHAPE_SPHERE ? 0 : (double)real[6 + k];
    }
}

static world world_load(const char *shapes, const char *folder)
{
    world w = {0};
    bl_error err = {0};
    scene_load_options o = {.registry = &render_registry};
    scene_description *d;
    text xml = {0};
    text_add(&xml, "<scene version='3.0.0'><sensor type='perspective'/>%s</scene>", shapes);
    if (scene_load_string(xml.data, folder, &o, &d, &err) != BL_OK ||
        render_scene_create(d, NULL, &w.scene, &err) != BL_OK)
        fail_msg("%s", err.text);
    text_free(&xml);
    add_primitives(&w);
    return w;
}

static void world_free(world *w)
{
    render_scene_destroy(w->scene);
    free(w->primitives);
}

static const char *const soup_file = "ray_queries_soup.ply", *const ball_file = "ray_queries_ball.ply";

static FILE *open_ply(const char *name, uint32_t vertices, uint32_t faces)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fprintf(f,
            "ply\nformat ascii 1.0\nelement vertex %u\nproperty float x\nproperty float y\nproperty float "
            "z\nelement face %u\n"
            "property list uchar int vertex_indices\nend_header\n",
            vertices, faces);
    return f;
}

/* Separate triangles of all sizes, and a patch that is flat. */
static void write_soup(uint32_t faces)
{
    FILE *f = open_ply(soup_file, 3 * faces, faces);
    for (uint32_t i = 0; i < faces; i++) {
        double centre[3], size = i % 7 ? 0.2 : 0.8;
        for (int k = 0; k < 3; k++)
            centre[k] = uniform(-1, 1);
        for (int c = 0; c < 3; c++)
            fprintf(f, "%.9g %.9g %.9g\n", centre[0] + uniform(-size, size), centre[1] + uniform(-size, size),
                    i % 5 ? centre[2] + uniform(-size, size) : 0.25);
    }
    for (uint32_t i = 0; i < faces; i++)
        fprintf(f, "3 %u %u %u\n", 3 * i, 3 * i + 1, 3 * i + 2);
    fclose(f);
}

/* A closed bumpy ball of 2 n^2 triangles. */
static void write_ball(uint32_t n)
{
    FILE *f = open_ply(ball_file, n * n, 2 * n * (n - 1));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            double theta = 3.14159265358979 * (i + 0.001) / (n - 0.998), phi = 6.28318530717959 * j / n,
                   r = 1 + 0.05 * sin(9 * theta) * cos(7 * phi);
            fprintf(f, "%.9g %.9g %.9g\n", r * sin(theta) * cos(phi), r * sin(theta) * sin(phi),
                    r * cos(theta));
        }
    for (uint32_t i = 0; i + 1 < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            uint32_t a = i * n + j, b = i * n + (j + 1) % n;
            fprintf(f, "3 %u %u %u\n3 %u %u %u\n", a, a + n, b, b, a + n, b + n);
        }
    fclose(f);
}

static void add_spheres(text *xml, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_add(xml,
                 "<shape type='sphere'><point name='center' value='%.6f,%.6f,%.6f'/><float name='radius' "
                 "value='%.6f'/></shape>",
                 uniform(-1, 1), uniform(-1, 1), uniform(-1, 1), uniform(0.01, 0.15));
}

/* Of unit length, because <rotate> takes it as it stands. */
static const char *axis(uint32_t i) { return i % 3 ? "value='.48,.6,.64'" : "y='1'"; }

/* Ellipses too; every third in the plane of two axes, so that its box has no thickness. */
static void add_disks(text *xml, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_add(xml,
                 "<shape type='disk'><transform name='to_world'><scale value='%.6f,%.6f,1'/><rotate %s "
                 "angle='%.6f'/>"
                 "<translate value='%.6f,%.6f,%.6f'/></transform></shape>",
                 uniform(0.02, 0.2), uniform(0.02, 0.2), axis(i), i % 3 ? uniform(0, 360) : 90.0 * (i % 4),
                 uniform(-1, 1), uniform(-1, 1), uniform(-1, 1));
}

static void add_cylinders(text *xml, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_add(xml,
                 "<shape type='cylinder'><float name='radius' value='%.6f'/><transform "
                 "name='to_world'><scale z='%.6f'/><rotate %s "
                 "angle='%.6f'/><translate value='%.6f,%.6f,%.6f'/></transform></shape>",
                 uniform(0.01, 0.15), uniform(0.05, 0.5), axis(i), i % 3 ? uniform(0, 360) : 90.0 * (i % 4),
                 uniform(-1, 1), uniform(-1, 1), uniform(-1, 1));
}

static void add_ply(text *xml, const char *file)
{
    text_add(xml,
             "<shape type='ply'><string name='filename' value='%s'/><boolean name='face_normals' "
             "value='true'/></shape>",
             file);
}

/* ---- rays ---- */

/* A point of the primitive where its edge is, or of the silhouette that `from` sees; now and then off by a
 * few roundings. */
static void edge_point(const primitive *q, const double *from, double *out)
{
    double s = uniform(0, 1), angle = uniform(0, 6.28318), away[3], side[3],
           scale = 1 + uniform(-1, 1) * (scene_random(&random_state) < 0.5 ? 3e-7 : 0);
    for (int k = 0; k < 3; k++)
        away[k] = from[k] - q->p[k];
    if (q->kind == SHAPE_SPHERE) {
        double other[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)}, distance = length(away),
               sine = q->radius / distance;
        cross(away, other, side);
        double cosine = sqrt(fmax(0, 1 - sine * sine)), size = length(side) + 1e-30;
        for (int k = 0; k < 3;
             k++) /* the tangent point: radius at the angle from `away` whose cosine is radius / distance */
            out[k] = q->p[k] + scale * q->radius * (away[k] / distance * sine + side[k] / size * cosine);
        return;
    }
    double u = cos(angle), v = sin(angle);
    if (q->kind == SHAPE_CYLINDER) { /* near a rim, at the side */
        double other[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
        cross(q->a, other, side);
        for (int k = 0; k < 3; k++)
            out[k] =
                q->p[k] + (s < 0.5 ? 0 : 1) * q->a[k] + scale * q->radius * side[k] / (length(side) + 1e-30);
        return;
    }
    if (q->kind == SHAPE_TRIANGLES) {
        int edge = (int)uniform(0, 2.999);
        if (scene_random(&random_state) < 0.1)
            s = 0; /* a corner */
        u = edge == 0 ? s : edge == 1 ? 0 : s, v = edge == 0 ? 0 : edge == 1 ? s : 1 - s;
    }
    for (int k = 0; k < 3; k++)
        out[k] = q->p[k] + scale * (u * q->a[k] + v * q->b[k]);
}

static void make_ray(const world *w, uint32_t i, float *line)
{
    double o[3], to[3], d[3];
    for (int k = 0; k < 3; k++)
        o[k] = (double)(float)uniform(-2, 2), to[k] = uniform(-1, 1);
    if (i % 4 == 1)
        edge_point(&w->primitives[(uint32_t)uniform(0, w->count - 1e-6)], o, to);
    for (int k = 0; k < 3; k++)
        d[k] = i % 16 == 2 && (i / 16 % 7 + 1) >> k & 1 ? 0 : to[k] - o[k]; /* parallel to planes and axes */
    double size = length(d);
    for (int k = 0; k < 3; k++)
        line[k] = (float)o[k], line[3 + k] = size > 0 ? (float)(d[k] / size) : (float)(k == (int)(i % 3));
    line[6] = 0, line[7] = i % 8 == 3 ? (float)(size * uniform(0.5, 1)) : 1e30f;
    if (i % 64 == 7)
        line[7] = i % 128 == 7 ? -1 : line[6];
    if (i % 256 == 9)
        line[i / 256 % 6] = i % 512 == 9 ? NAN : INFINITY;
}

static void compare(world *w, uint32_t count)
{
    float *rays = malloc((size_t)count * RAY_WORDS * sizeof *rays);
    assert_non_null(rays);
    for (uint32_t i = 0; i < count; i++)
        make_ray(w, i, rays + (size_t)i * RAY_WORDS);
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
    world_free(w);
}

static uint32_t ray_count(void) { return getenv("BL_LONG") ? RAYS_MANY : RAYS_FEW; }

static void triangles(void **state)
{
    (void)state;
    text xml = {0};
    write_soup(1000);
    add_ply(&xml, soup_file);
    world w = world_load(xml.data, ".");
    text_free(&xml);
    assert_int_equal(w.count, 1000);
    compare(&w, ray_count());
}

static void every_kind(void **state)
{
    (void)state;
    text xml = {0};
    write_soup(400);
    add_spheres(&xml, 200);
    add_ply(&xml, soup_file);
    add_disks(&xml, 200);
    add_cylinders(&xml, 200);
    world w = world_load(xml.data, ".");
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

static void add_group_shape(text *xml, uint32_t k, const char *then)
{
    uint32_t kept = random_state;
    random_state = 17 * k + 3; /* the same shape whenever it is asked for */
    const char *type = k % 2 ? "sphere" : "cylinder";
    double size = uniform(0.02, 0.2), x = uniform(-1, 1), y = uniform(-1, 1), z = uniform(-1, 1);
    if (k % 4 == 3)
        type = "disk";
    if (k % 8 == 0)
        type = "cube";
    text_add(xml,
             "<shape type='%s'><transform name='to_world'><scale value='%.6f'/><rotate y='1' "
             "angle='%u'/><translate value='%.6f,%.6f,%.6f'/>%s</transform></shape>",
             type, size, 25 * k, x, y, z, then);
    random_state = kept;
}

/* Instances against the same shapes written out, where a map lets them be written out: spheres and cylinders
 * stay round under the second alone. */
static void instances(void **state)
{
    (void)state;
    text two = {0}, one = {0};
    add_group_shape(&two, 1, ""), add_group_shape(&one, 1, "");
    text_add(&two, "<shape type='shapegroup' id='group'>");
    for (uint32_t k = 0; k < IN_GROUP; k++)
        add_group_shape(&two, k, "");
    text_add(&two, "</shape><shape type='shapegroup' id='flat'>");
    for (uint32_t k = 0; k < IN_GROUP; k += 8)
        add_group_shape(&two, k, "");
    text_add(&two, "</shape>");
    for (uint32_t i = 0; i < SHOWN; i++) {
        text_add(&two,
                 "<shape type='instance'><ref id='%s'/><transform name='to_world'>%s</transform></shape>",
                 i == 1 ? "group" : "flat", shown[i]);
        for (uint32_t k = 0; k < IN_GROUP; k += i == 1 ? 1 : 8)
            add_group_shape(&one, k, shown[i]);
    }
    world a = world_load(two.data, NULL), b = world_load(one.data, NULL);
    text_free(&two), text_free(&one);
    uint32_t count = ray_count() / 2, hits = 0, differ[2] = {0, 0}, aimed[2] = {0, 0};
    float *rays = malloc((size_t)count * RAY_WORDS * sizeof *rays);
    assert_non_null(rays);
    for (uint32_t i = 0; i < count; i++)
        make_ray(&b, i, rays + (size_t)i * RAY_WORDS);
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
    world_free(&a), world_free(&b);
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
        fprintf(f, "%s%.6f %.6f %.6f %.6f\n", k % 6 ? "" : "\n", uniform(-1, 1), uniform(-1, 1),
                uniform(-1, 1), uniform(0, .1));
    fclose(f);
    text_add(&xml,
             "<shape type='sdfgrid'><string name='filename' value='%s/ball.vol'/><transform "
             "name='to_world'><rotate x='1' angle='40'/></transform></shape>",
             folder);
    text_add(&xml, "<shape type='linearcurve'><string name='filename' "
                   "value='ray_queries.curves'/></shape><shape type='bsplinecurve'>"
                   "<string name='filename' value='ray_queries.curves'/><transform name='to_world'><rotate "
                   "y='1' angle='70'/></transform></shape>");
    add_disks(&xml, 20);
    world w = world_load(xml.data, ".");
    uint32_t count = ray_count() / 2, differ = 0, hits = 0;
    float *rays = malloc((size_t)count * RAY_WORDS * sizeof *rays);
    assert_non_null(rays);
    for (uint32_t i = 0; i < count; i++)
        make_ray(&w, i % 4 == 1 ? i + 3 : i,
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
    text_free(&xml), world_free(&w);
    unlink("ray_queries.curves");
    scene_files_remove(folder);
}

static void boxes_only(void **state)
{
    (void)state;
    text xml = {0};
    add_disks(&xml, 150);
    world w = world_load(xml.data, NULL);
    compare(&w, 1 << 12);
    add_spheres(&xml, 150);
    w = world_load(xml.data, NULL);
    compare(&w, 1 << 12);
    text_free(&xml);
}

static void large_mesh(void **state)
{
    (void)state;
    text xml = {0};
    write_ball(190);
    add_ply(&xml, ball_file);
    world w = world_load(xml.data, ".");
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
    unlink(soup_file), unlink(ball_file);
    if (!failed) /* a test that failed has left its objects behind */
        device_run_close(&device);
    return failed;
}
