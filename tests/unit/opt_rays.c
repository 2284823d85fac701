/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Ray lowering: traversal of random scenes of triangles and spheres, run by the interpreter, against a
 * brute-force loop in C that computes the same f32 expressions, so that hits have to be equal to the bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spirv_gen/opt/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIANGLE, SPHERE, MAX_ENTRIES = 600, MAX_NODES = 600, WORDS = 2 + 16 * MAX_NODES + 12 * MAX_ENTRIES };

static uint32_t random_state = 1;
static float random_between(float low, float high)
{
    random_state = random_state * 747796405u + 2891336453u;
    uint32_t word = ((random_state >> ((random_state >> 28) + 4)) ^ random_state) * 277803737u;
    return low + (high - low) * ((float)((word ^ (word >> 22)) >> 8) / 16777216.0f);
}

/* ---- the same intersections, traced and in C ---- */

typedef struct vec {
    ir_ref x, y, z;
} vec;

static vec sub(ir_func *f, vec a, vec b)
{
    return (vec){ir_sub(f, a.x, b.x), ir_sub(f, a.y, b.y), ir_sub(f, a.z, b.z)};
}

static ir_ref dot(ir_func *f, vec a, vec b)
{
    return ir_add(f, ir_add(f, ir_mul(f, a.x, b.x), ir_mul(f, a.y, b.y)), ir_mul(f, a.z, b.z));
}

static vec cross(ir_func *f, vec a, vec b)
{
    return (vec){ir_sub(f, ir_mul(f, a.y, b.z), ir_mul(f, a.z, b.y)),
                 ir_sub(f, ir_mul(f, a.z, b.x), ir_mul(f, a.x, b.z)),
                 ir_sub(f, ir_mul(f, a.x, b.y), ir_mul(f, a.y, b.x))};
}

static ir_ref word(ir_func *f, ir_ref data, uint32_t k)
{
    return ir_load(f, IR_F32, 0, ir_add(f, data, ir_u32(f, k)));
}
static vec load_vec(ir_func *f, ir_ref data, uint32_t k)
{
    return (vec){word(f, data, k), word(f, data, k + 1), word(f, data, k + 2)};
}

typedef struct ray_refs {
    ir_ref data, tmin, tmax;
    vec o, d;
} ray_refs;

static ray_refs ray_params(ir_func *f)
{
    ir_ref p[9];
    for (int k = 0; k < 9; k++)
        p[k] = ir_param(f, k ? IR_F32 : IR_U32);
    return (ray_refs){p[0], p[7], p[8], {p[1], p[2], p[3]}, {p[4], p[5], p[6]}};
}

static ir_ref inside(ir_func *f, ir_ref low, ir_ref x, ir_ref high)
{
    return ir_and(f, ir_le(f, low, x), ir_le(f, x, high));
}

static ir_func *trace_triangle(ir_module *m)
{
    ir_func *f = ir_func_create(m, "triangle");
    ray_refs r = ray_params(f);
    vec e1 = load_vec(f, r.data, 3), e2 = load_vec(f, r.data, 6), p = cross(f, r.d, e2),
        s = sub(f, r.o, load_vec(f, r.data, 0));
    vec q = cross(f, s, e1);
    ir_ref zero = ir_f32(f, 0), one = ir_f32(f, 1), scale = ir_div(f, one, dot(f, e1, p));
    ir_ref u = ir_mul(f, dot(f, s, p), scale), v = ir_mul(f, dot(f, r.d, q), scale),
           t = ir_mul(f, dot(f, e2, q), scale);
    ir_ref ok =
        ir_and(f, inside(f, zero, u, one), ir_and(f, ir_le(f, zero, v), ir_le(f, ir_add(f, u, v), one)));
    ok = ir_and(f, ok, ir_and(f, ir_le(f, r.tmin, t), ir_lt(f, t, r.tmax)));
    ir_return(f, (ir_ref[]){ir_select(f, ok, t, r.tmax), u, v}, 3);
    return f;
}

static ir_func *trace_sphere(ir_module *m)
{
    ir_func *f = ir_func_create(m, "sphere");
    ray_refs r = ray_params(f);
    vec s = sub(f, r.o, load_vec(f, r.data, 0));
    ir_ref radius = word(f, r.data, 3), zero = ir_f32(f, 0);
    ir_ref a = dot(f, r.d, r.d), b = dot(f, s, r.d), c = ir_sub(f, dot(f, s, s), ir_mul(f, radius, radius));
    ir_ref square = ir_sub(f, ir_mul(f, b, b), ir_mul(f, a, c)),
           root = ir_sqrt(f, ir_select(f, ir_lt(f, square, zero), zero, square));
    ir_ref near = ir_div(f, ir_sub(f, ir_neg(f, b), root), a), far = ir_div(f, ir_sub(f, root, b), a);
    ir_ref t = ir_select(f, ir_le(f, r.tmin, near), near, far);
    ir_ref ok = ir_and(f, ir_le(f, zero, square), ir_and(f, ir_le(f, r.tmin, t), ir_lt(f, t, r.tmax)));
    ir_return(f, (ir_ref[]){ir_select(f, ok, t, r.tmax), zero, zero}, 3);
    return f;
}

typedef struct ray {
    float o[3], d[3], tmin, tmax;
} ray;

static void sub3(const float *a, const float *b, float *out)
{
    for (int k = 0; k < 3; k++)
        out[k] = a[k] - b[k];
}

static float dot3(const float *a, const float *b) { return (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]; }

static void cross3(const float *a, const float *b, float *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static float hit_triangle(const float *data, const ray *r, float tmax, float *u, float *v)
{
    float p[3], q[3], s[3];
    cross3(r->d, data + 6, p);
    sub3(r->o, data, s);
    cross3(s, data + 3, q);
    float scale = 1.0f / dot3(data + 3, p), t = dot3(data + 6, q) * scale;
    *u = dot3(s, p) * scale;
    *v = dot3(r->d, q) * scale;
    return 0 <= *u && *u <= 1 && 0 <= *v && *u + *v <= 1 && r->tmin <= t && t < tmax ? t : tmax;
}

static float hit_sphere(const float *data, const ray *r, float tmax, float *u, float *v)
{
    float s[3];
    sub3(r->o, data, s);
    float a = dot3(r->d, r->d), b = dot3(s, r->d), square = b * b - a * (dot3(s, s) - data[3] * data[3]);
    float root = sqrtf(square < 0 ? 0 : square), t = (-b - root) / a;
    *u = *v = 0;
    t = r->tmin <= t ? t : (root - b) / a;
    return 0 <= square && r->tmin <= t && t < tmax ? t : tmax;
}

/* ---- scenes: the words of opt/ray_bvh.c, split at the median ---- */

typedef struct scene {
    uint32_t words[WORDS], wide[16 * MAX_NODES]; /* nodes with planes in f32 are packed into words */
    uint32_t node_base, entry_base, entry_count, node_count, depth, leaf_size;
    float low[MAX_ENTRIES][3], high[MAX_ENTRIES][3]; /* by entry */
    uint32_t sort_axis;
} scene;

typedef struct box {
    float low[3], high[3];
} box;

static const float *payload(const scene *s, uint32_t entry)
{
    return (const float *)(const void *)(s->words + s->entry_base + 12 * entry);
}

static box bounds(const scene *s, uint32_t first, uint32_t count)
{
    box b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (uint32_t i = first; i < first + count; i++)
        for (int k = 0; k < 3; k++) {
            b.low[k] = fminf(b.low[k], s->low[i][k]);
            b.high[k] = fmaxf(b.high[k], s->high[i][k]);
        }
    return b;
}

static void swap_entries(scene *s, uint32_t a, uint32_t b)
{
    uint32_t w[12];
    float v[3];
    memcpy(w, payload(s, a), sizeof w);
    memcpy(s->words + s->entry_base + 12 * a, payload(s, b), sizeof w);
    memcpy(s->words + s->entry_base + 12 * b, w, sizeof w);
    memcpy(v, s->low[a], sizeof v), memcpy(s->low[a], s->low[b], sizeof v), memcpy(s->low[b], v, sizeof v);
    memcpy(v, s->high[a], sizeof v), memcpy(s->high[a], s->high[b], sizeof v),
        memcpy(s->high[b], v, sizeof v);
}

static void sort_entries(scene *s, uint32_t first, uint32_t count, int axis)
{
    for (uint32_t i = first + 1; i < first + count; i++)
        for (uint32_t j = i; j > first && s->low[j][axis] < s->low[j - 1][axis]; j--)
            swap_entries(s, j, j - 1);
}

static uint32_t build_node(scene *s, uint32_t first, uint32_t count, uint32_t depth);

/* Reference and box of a range as child of node `parent`. */
static void build_child(scene *s, uint32_t parent, int side, uint32_t first, uint32_t count, uint32_t depth)
{
    box b = bounds(s, first, count);
    uint32_t reference = 0xFFFFFFFFu;
    if (count > 0 && count <= s->leaf_size)
        reference = 0x80000000u | (count - 1) << 28 | first;
    else if (count)
        reference = build_node(s, first, count, depth + 1);
    uint32_t *node = s->wide + 16 * parent;
    memcpy(node + 6 * side, &b, sizeof b);
    node[12 + side] = reference;
}

static uint32_t build_node(scene *s, uint32_t first, uint32_t count, uint32_t depth)
{
    uint32_t node = s->node_count++, left = count <= s->leaf_size ? count : count / 2;
    s->depth = depth > s->depth ? depth : s->depth;
    sort_entries(s, first, count, (int)(depth % 3));
    build_child(s, node, 0, first, left, depth);
    build_child(s, node, 1, first + left, count - left, depth);
    return node;
}

static void add_triangle(scene *s, uint32_t i, bool flat, float offset, float size)
{
    float *data = (float *)(void *)(s->words + s->entry_base + 12 * i);
    for (int k = 0; k < 3; k++) {
        data[k] = offset + (flat && k == 1 ? 0 : random_between(-1, 1));
        data[3 + k] = flat && k == 1 ? 0 : random_between(-size, size);
        data[6 + k] = flat && k == 1 ? 0 : random_between(-size, size);
        float b = data[k] + data[3 + k], c = data[k] + data[6 + k];
        s->low[i][k] = fminf(data[k], fminf(b, c));
        s->high[i][k] = fmaxf(data[k], fmaxf(b, c));
    }
}

static void add_sphere(scene *s, uint32_t i)
{
    float *data = (float *)(void *)(s->words + s->entry_base + 12 * i);
    data[3] = random_between(0.01f, 0.15f);
    for (int k = 0; k < 3; k++) {
        data[k] = random_between(-1, 1);
        s->low[i][k] = data[k] - data[3];
        s->high[i][k] = data[k] + data[3];
    }
}

typedef struct scene_options {
    uint32_t count, leaf_size;
    bool spheres, flat;
    float offset;   /* of the scene from zero, on every axis */
    float distance; /* of ray origins from the scene; 0: within and around it */
} scene_options;

static scene *scene_create(scene_options o)
{
    scene *s = calloc(1, sizeof *s);
    s->node_base = 4;
    s->entry_base = 4 + opt_packed_words(MAX_NODES);
    s->entry_count = o.count;
    s->leaf_size = o.leaf_size;
    s->words[0] = s->node_base;
    s->words[1] = s->entry_base;
    for (uint32_t i = 0; i < o.count; i++) {
        bool sphere = o.spheres && i % 3 == 0;
        if (sphere)
            add_sphere(s, i);
        else
            add_triangle(s, i, o.flat, o.offset, o.count < 20 ? 2.0f : 0.3f);
        s->words[s->entry_base + 12 * i + 9] = sphere ? SPHERE : TRIANGLE;
    }
    build_node(s, 0, o.count, 1);
    opt_pack_nodes(s->wide, s->node_count, s->words + s->node_base);
    return s;
}

/* ---- comparison ---- */

typedef struct hit {
    float t, u, v;
    uint32_t entry;
    bool tie; /* another entry at the same distance */
} hit;

static hit brute_force(const scene *s, const ray *r)
{
    hit best = {r->tmax, 0, 0, ~0u, false};
    for (uint32_t i = 0; i < s->entry_count; i++) {
        float u, v, t;
        bool sphere = s->words[s->entry_base + 12 * i + 9] == SPHERE;
        t = sphere ? hit_sphere(payload(s, i), r, r->tmax, &u, &v)
                   : hit_triangle(payload(s, i), r, r->tmax, &u, &v);
        if (t < best.t)
            best = (hit){t, u, v, i, false};
        else if (t <= best.t && t < r->tmax)
            best.tie = true;
    }
    return best;
}

typedef enum question { CLOSEST_AND_ANY, NEXT } question;

/* f(origin, direction, tmin, tmax) -> t, entry, u, v, any; or f(origin, direction, tmin, tmax, entry before)
 * -> t, entry, u, v, level; lowered by the whole pipeline */
static ir_module *trace_query(const scene *s, bool spheres, question asked)
{
    ir_module *m = ir_module_create(), *out;
    ir_buffer_add(m, "scene", true, -1);
    ir_func *intersect[2] = {trace_triangle(m), trace_sphere(m)}, *f = ir_func_create(m, "query");
    ir_ref args[9], results[5];
    for (int k = 0; k < 8 + (asked == NEXT); k++)
        args[k] = ir_param(f, k < 8 ? IR_F32 : IR_U32);
    if (asked == NEXT) {
        ir_ray_next(f, intersect, spheres ? 2 : 1, args, results);
    } else {
        ir_ray_closest(f, intersect, spheres ? 2 : 1, args, results);
        results[4] = ir_ray_any(f, intersect, spheres ? 2 : 1, args); /* instead of the level: there is one */
    }
    ir_return(f, results, 5);
    bl_error err = {0};
    opt_options o = {
        .scene_buffer = 0, .node_base_word = 0, .entry_base_word = 1, .stack_size = s->depth + 1};
    if (ir_finish(m, &err) != BL_OK || opt_run(m, &o, &out, &err) != BL_OK || ir_verify(out, &err) != BL_OK)
        fail_msg("%s", err.text);
    ir_module_destroy(m);
    return out;
}

static ray random_ray(uint32_t i)
{
    ray r = {.tmin = i % 5 ? 0 : 0.2f, .tmax = i % 7 ? 1e30f : 1.0f};
    for (int k = 0; k < 3; k++) {
        r.o[k] = random_between(-2, 2);
        r.d[k] = random_between(-1, 1) - (i % 2 ? r.o[k] : 0);
        if ((i >> 3) % 8 & 1u << k)
            r.d[k] = i & 1 ? 0.0f : -0.0f;
    }
    if (r.d[0] == 0 && r.d[1] == 0 && r.d[2] == 0)
        r.d[i % 3] = i % 2 ? 1 : -1;
    return r;
}

/* From far away towards the scene, and along to what is behind it. */
static ray distant_ray(uint32_t i, const scene_options *o)
{
    ray r = {.tmin = 0, .tmax = i % 7 ? 1e30f : 1.5f};
    for (int k = 0; k < 3; k++) {
        r.o[k] = o->offset + o->distance * random_between(-1, 1);
        r.d[k] = o->offset + random_between(-1, 1) - r.o[k];
    }
    return r;
}

static uint32_t check_ray(const scene *s, const ir_func *f, const ray *r)
{
    ir_value args[8], v[5];
    ir_eval_buffer buffer = {.words = (uint32_t *)(uintptr_t)s->words, .count = WORDS};
    ir_eval_env env = {.buffers = &buffer, .buffer_count = 1, .step_limit = 1000000};
    bl_error err = {0};
    for (int k = 0; k < 3; k++) {
        args[k].f = r->o[k];
        args[3 + k].f = r->d[k];
    }
    args[6].f = r->tmin;
    args[7].f = r->tmax;
    if (ir_eval(f, args, v, &env, &err) != BL_OK)
        fail_msg("%s", err.text);
    hit h = brute_force(s, r);
    bool same = (float)v[0].f == h.t && v[4].b == (h.entry != ~0u) && (h.tie || v[1].u == h.entry);
    if (same && h.entry != ~0u && !h.tie)
        same = (float)v[2].f == h.u && (float)v[3].f == h.v;
    if (!same)
        fail_msg("ray (%g %g %g) (%g %g %g) [%g %g]: t %g entry %u any %d, expected %g entry %u", r->o[0],
                 r->o[1], r->o[2], r->d[0], r->d[1], r->d[2], r->tmin, r->tmax, v[0].f, v[1].u, v[4].b, h.t,
                 h.entry);
    return h.entry != ~0u;
}

static void check_scene(scene_options o, uint32_t rays, uint32_t expected_hits)
{
    scene *s = scene_create(o);
    ir_module *m = trace_query(s, o.spheres, CLOSEST_AND_ANY);
    const ir_func *f = m->functions.data[m->functions.count - 1];
    uint32_t hits = 0;
    for (uint32_t i = 0; i < rays; i++) {
        ray r = o.distance > 0 ? distant_ray(i, &o) : random_ray(i);
        hits += check_ray(s, f, &r);
    }
    if (hits < expected_hits)
        fail_msg("only %u of %u rays hit anything", hits, rays);
    ir_module_destroy(m);
    free(s);
}

static void triangles(void **state)
{
    (void)state;
    check_scene((scene_options){.count = 500, .leaf_size = 4}, 1500, 300);
}

static void triangles_and_spheres(void **state)
{
    (void)state;
    check_scene((scene_options){.count = 500, .leaf_size = 4, .spheres = true}, 1500, 330);
    check_scene((scene_options){.count = 300, .leaf_size = 1, .spheres = true}, 500, 80);
    check_scene((scene_options){.count = 300, .leaf_size = 8, .spheres = true}, 500, 80);
}

/* ---- the hits of a ray, one after another ---- */

typedef struct crossing {
    float t;
    uint32_t entry;
} crossing;

static int earlier(const void *a, const void *b)
{
    const crossing *x = a, *y = b;
    return x->t < y->t ? -1 : x->t > y->t ? 1 : x->entry < y->entry ? -1 : x->entry > y->entry;
}

static uint32_t all_crossings(const scene *s, const ray *r, crossing *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->entry_count; i++) {
        float u, v, t = hit_triangle(payload(s, i), r, r->tmax, &u, &v);
        if (t < r->tmax && t > r->tmin)
            out[count++] = (crossing){t, i};
    }
    qsort(out, count, sizeof *out, earlier);
    return count;
}

/* Returns the number of hits at the distance of the hit before. */
static uint32_t check_sequence(const scene *s, const ir_func *f, const ray *r)
{
    crossing expected[MAX_ENTRIES + 1], last = {r->tmin, 0};
    uint32_t count = all_crossings(s, r, expected), ties = 0;
    expected[count] = (crossing){r->tmax, ~0u};
    for (uint32_t i = 0; i <= count; i++) {
        ir_value args[9], v[5];
        ir_eval_buffer buffer = {.words = (uint32_t *)(uintptr_t)s->words, .count = WORDS};
        ir_eval_env env = {.buffers = &buffer, .buffer_count = 1, .step_limit = 1000000};
        bl_error err = {0};
        for (int k = 0; k < 3; k++)
            args[k].f = r->o[k], args[3 + k].f = r->d[k];
        args[6].f = last.t, args[7].f = r->tmax, args[8].u = last.entry;
        if (ir_eval(f, args, v, &env, &err) != BL_OK)
            fail_msg("%s", err.text);
        if ((float)v[0].f != expected[i].t || v[1].u != expected[i].entry)
            fail_msg("hit %u of %u: t %g entry %u, expected %g entry %u", i, count, v[0].f, v[1].u,
                     expected[i].t, expected[i].entry);
        ties += i > 0 && i < count && expected[i].t == last.t;
        last = expected[i];
    }
    return ties;
}

/* Every triangle stands there three times, so every hit has two others at its distance. */
static void hits_in_order(void **state)
{
    (void)state;
    scene *s = scene_create((scene_options){.count = 300, .leaf_size = 4});
    for (uint32_t i = 0; i < 300; i++)
        if (i % 3) {
            memcpy(s->words + s->entry_base + 12 * i, payload(s, i - i % 3), 36);
            memcpy(s->low[i], s->low[i - i % 3], sizeof s->low[i]);
            memcpy(s->high[i], s->high[i - i % 3], sizeof s->high[i]);
        }
    s->node_count = 0, build_node(s, 0, s->entry_count, 1);
    opt_pack_nodes(s->wide, s->node_count, s->words + s->node_base);
    ir_module *m = trace_query(s, false, NEXT);
    const ir_func *f = m->functions.data[m->functions.count - 1];
    uint32_t ties = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        ray r = random_ray(i);
        ties += check_sequence(s, f, &r);
    }
    if (ties < 200)
        fail_msg("only %u hits at the distance of the one before", ties);
    ir_module_destroy(m);
    free(s);
}

/* Where planes in 16 bits and distances in 24 are coarsest. */
static void far_away(void **state)
{
    (void)state;
    const float distances[] = {10, 60, 200, 3e3f, 1e5f}, offsets[] = {0, 3, 1000, -1e5f};
    for (int i = 0; i < 5; i++)
        check_scene((scene_options){.count = 300, .leaf_size = 4, .distance = distances[i]}, 400, 60);
    for (int i = 0; i < 4; i++)
        check_scene((scene_options){.count = 300, .leaf_size = 4, .offset = offsets[i], .distance = 5}, 400,
                    60);
}

/* Every packed box holds its own with a cell to spare, and is not much larger. */
static void packed_boxes_hold_their_own(void **state)
{
    (void)state;
    const float offsets[] = {0, 7, -300, 1e5f, 3e7f}, sizes[] = {1, 1e-3f, 1e6f};
    for (int variant = 0; variant < 15; variant++) {
        enum { NODES = 50 };
        uint32_t wide[16 * NODES] = {0}, packed[8 * (NODES + 1)];
        float offset = offsets[variant % 5], size = sizes[variant / 5];
        for (uint32_t i = 0; i < 2 * NODES; i++) {
            float *planes = (float *)(void *)(wide + i / 2 * 16 + i % 2 * 6);
            for (int k = 0; k < 3; k++) {
                float a = offset + size * random_between(-1, 1),
                      b = i % 9 ? offset + size * random_between(-1, 1) : a;
                planes[k] = k == 2 && variant % 2 ? offset : fminf(a, b),
                planes[3 + k] = k == 2 && variant % 2 ? offset : fmaxf(a, b);
            }
            wide[i / 2 * 16 + 12 + i % 2] = 0x80000000u | i;
        }
        assert_int_equal(opt_packed_words(NODES), 8 * (NODES + 1));
        opt_pack_nodes(wide, NODES, packed);
        const float *grid = (const float *)(const void *)packed;
        for (uint32_t i = 0; i < 2 * NODES; i++) {
            const uint32_t *node = packed + 8 * (i / 2 + 1);
            const float *planes = (const float *)(const void *)(wide + i / 2 * 16 + i % 2 * 6);
            assert_int_equal(node[6 + i % 2], 0x80000000u | i);
            for (int k = 0; k < 3; k++) {
                double origin = (double)grid[k], cell = (double)grid[3 + k],
                       low = origin + (node[k] >> 16 * (i % 2) & 0xFFFF) * cell,
                       high = origin + (node[3 + k] >> 16 * (i % 2) & 0xFFFF) * cell;
                assert_true(low <= (double)planes[k] - cell && (double)planes[k] - 2.001 * cell <= low);
                assert_true(high >= (double)planes[3 + k] + cell &&
                            (double)planes[3 + k] + 2.001 * cell >= high);
            }
        }
    }
}

/* Boxes without extent. */
static void flat_scenes(void **state)
{
    (void)state;
    check_scene((scene_options){.count = 300, .leaf_size = 4, .flat = true}, 1000, 70);
}

/* The root has a leaf and no other child, or nothing at all. */
static void small_scenes(void **state)
{
    (void)state;
    for (uint32_t count = 0; count < 12; count++)
        check_scene((scene_options){.count = count, .leaf_size = 4, .spheres = true}, 200, count > 2 ? 4 : 0);
}

/* As deep as trees get here; the interpreter refuses an index beyond the stack. */
static void stack_is_large_enough(void **state)
{
    (void)state;
    check_scene((scene_options){.count = 256, .leaf_size = 1}, 300, 45);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangles),
        cmocka_unit_test(triangles_and_spheres),
        cmocka_unit_test(flat_scenes),
        cmocka_unit_test(small_scenes),
        cmocka_unit_test(stack_is_large_enough),
        cmocka_unit_test(far_away),
        cmocka_unit_test(hits_in_order),
        cmocka_unit_test(packed_boxes_hold_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
