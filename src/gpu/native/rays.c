/* SPDX-License-Identifier: BSD-3-Clause
 * Rays of kernels (x86_rays in spirv_gen/x86/x86.h) through eight-wide hierarchies, with AVX2.
 *
 * Lane after lane, each ray by itself: the vector is not of rays but of the eight boxes of a node, or the
 * eight triangles of a leaf (Wald, Benthin, Boulos 2008, "Getting Rid of Packets"). So lanes that go
 * different ways cost nothing.
 *
 * The same bits as the traced traversal (spirv_gen/opt/ray_bvh.c): triangles are met by the operations of
 * render/shape/mesh.c in their order, without fused ones. The nearest hit is the first in the order of
 * distance, of equal distances, of entries, and, of one entry at one place, of the records of its levels.
 * That is a property of the scene (ray_bvh.c has two exceptions), so the way through the tree does not
 * matter, as long as no box is missed: boxes are those of the packed hierarchy, and ray_bvh.c says what they
 * have to spare.
 *
 * A candidate interrupts a traversal: what is left waits on the lane's stack, and `resume` goes on. */
#include "gpu/native/rays.h"

#include "base/bvh_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX2__) && defined(__FMA__) && defined(__BMI__)
#include <immintrin.h>

/* ---- one ray ---- */

typedef struct best {
    float t; /* hits behind it do not count; of a ray that has none yet, the float before tmax */
    uint32_t entry;
    float u, v;
    uint32_t record; /* of the level */
} best;

/* A ray on a level. */
typedef struct placed {
    __m128 origin, direction;
    __m128 inverse, shift;    /* distance of a plane = plane * inverse + shift */
    uint32_t near[3], far[3]; /* of an axis: where the planes are that it meets first, last; in a node */
    uint32_t level;
} placed;

typedef struct traversal {
    native_rays *r;
    const gpu_hierarchy *h;
    x86_ray_want want;
    uint32_t lane, after;
    __m128 origin, direction; /* as given */
    float least, most;        /* tmin and tmax as given */
    float tmin;               /* hits lie behind it; of NEXT they may lie at `least`, too */
    best nearest;
    waiting *stack;
    uint32_t top;
    placed outer, inner;
    const placed *on;       /* one of these */
    uint32_t block, others; /* of the candidate that is looked at, and what is left in it */
} traversal;

static float float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The largest float below a positive one, else 0; the smallest above one that is finite and not negative. */
static float float_before(float v) { return v > 0 ? float_of(bits_of(v) - 1) : 0; }
static float float_after(float v) { return float_of(bits_of(v) + 1); }

static inline __m128 mapped(const wide_level *l, __m128 v)
{
    __m128 x = _mm_mul_ps(_mm_load_ps(l->column[0]), _mm_shuffle_ps(v, v, _MM_SHUFFLE(0, 0, 0, 0))),
           y = _mm_mul_ps(_mm_load_ps(l->column[1]), _mm_shuffle_ps(v, v, _MM_SHUFFLE(1, 1, 1, 1))),
           z = _mm_mul_ps(_mm_load_ps(l->column[2]), _mm_shuffle_ps(v, v, _MM_SHUFFLE(2, 2, 2, 2)));
    return _mm_add_ps(x, _mm_add_ps(y, z));
}

/* The ray on a level, as enter_level of ray_bvh.c has it. */
static inline void place(const traversal *t, uint32_t level, placed *out)
{
    const wide_level *l = &t->h->levels.data[level];
    __m128 o = t->origin, d = t->direction;
    if (t->h->desc.level_word) {
        o = _mm_add_ps(mapped(l, o), _mm_load_ps(l->column[3]));
        d = mapped(l, d);
    }
    out->origin = o, out->direction = d;
    __m128 backward = _mm_cmplt_ps(d, _mm_setzero_ps()), smallest = _mm_set1_ps(SMALLEST_DIRECTION),
           sign = _mm_set1_ps(-0.0f), size = _mm_andnot_ps(sign, d);
    __m128 least = _mm_or_ps(smallest, _mm_and_ps(backward, sign));
    d = _mm_blendv_ps(d, least, _mm_cmplt_ps(size, smallest));
    out->inverse = _mm_div_ps(_mm_set1_ps(1), d);
    out->shift = _mm_mul_ps(_mm_sub_ps(_mm_load_ps(l->origin), o), out->inverse);
    uint32_t backwards = (uint32_t)_mm_movemask_ps(backward);
    for (uint32_t axis = 0; axis < 3; axis++) {
        uint32_t swap = (backwards >> axis & 1) * 3 * WIDE;
        out->near[axis] = WIDE * axis + swap, out->far[axis] = WIDE * (axis + 3) - swap;
    }
    out->level = level;
}

static inline void enter_level(traversal *t, uint32_t level)
{
    if (t->inner.level != level)
        place(t, level, &t->inner);
    t->on = &t->inner;
}

static inline uint32_t record_of(const traversal *t) { return t->h->levels.data[t->on->level].record; }

/* Distances to planes of eight boxes. side: placed.near or far, of the axis. */
#define PLANE(on, n, axis, side)                                                                             \
    _mm256_fmadd_ps(_mm256_load_ps((n)->least[0] + (on)->side[axis]), ALL((on)->inverse, axis),              \
                    ALL((on)->shift, axis))
#define ALL(v, k) _mm256_broadcast_ss((const float *)&(v) + (k))

/* Distances at which the ray enters the boxes of a node; returns which it meets before it ends. */
static inline uint32_t enter_boxes(const traversal *t, const wide_node *n, __m256 *enter)
{
    const placed *on = t->on;
    __m256 x = PLANE(on, n, 0, near), y = PLANE(on, n, 1, near), z = PLANE(on, n, 2, near);
    __m256 first = _mm256_max_ps(_mm256_max_ps(x, y), _mm256_max_ps(z, _mm256_set1_ps(t->least)));
    x = PLANE(on, n, 0, far), y = PLANE(on, n, 1, far), z = PLANE(on, n, 2, far);
    __m256 last = _mm256_min_ps(_mm256_min_ps(x, y), _mm256_min_ps(z, _mm256_set1_ps(t->nearest.t)));
    last = _mm256_mul_ps(last, _mm256_set1_ps(EXIT_SLACK));
    *enter = first;
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(first, last, _CMP_LE_OQ));
}

/* The nearest of the children that are met; the others go on the stack, the nearest on top. */
static inline uint32_t choose_child(traversal *t, const wide_node *n, uint32_t met, __m256 enter)
{
    float at[WIDE];
    uint32_t k = (uint32_t)__builtin_ctz(met), reference = n->child[k];
    met &= met - 1;
    if (!met)
        return reference;
    _mm256_storeu_ps(at, enter);
    float nearest = at[k];
    waiting *stack = t->stack + t->top;
    uint32_t count = 0;
    for (; met; met &= met - 1, count++) {
        k = (uint32_t)__builtin_ctz(met);
        waiting w = {n->child[k], at[k]};
        if (w.t < nearest) {
            waiting swap = w;
            w = (waiting){reference, nearest};
            reference = swap.reference, nearest = swap.t;
        }
        uint32_t place = count;
        for (; place > 0 && stack[place - 1].t < w.t; place--)
            stack[place] = stack[place - 1];
        stack[place] = w;
    }
    t->top += count;
    return reference;
}

/* bool: a hit takes the place of the nearest so far. */
static inline bool comes_first(const traversal *t, x86_ray_want want, float at, uint32_t entry)
{
    if (want == X86_RAY_NEXT && !(at > t->least || (at == t->least && entry > t->after)))
        return false;
    if (at != t->nearest.t || entry != t->nearest.entry)
        return at < t->nearest.t || (at == t->nearest.t && entry < t->nearest.entry);
    return record_of(t) < t->nearest.record;
}

/* Three numbers of eight triangles. */
typedef struct vec3x8 {
    __m256 x, y, z;
} vec3x8;

static inline vec3x8 load3(const float v[3][WIDE])
{
    return (vec3x8){_mm256_load_ps(v[0]), _mm256_load_ps(v[1]), _mm256_load_ps(v[2])};
}

static inline vec3x8 all3(const __m128 *v) { return (vec3x8){ALL(*v, 0), ALL(*v, 1), ALL(*v, 2)}; }

static inline vec3x8 sub3(vec3x8 a, vec3x8 b)
{
    return (vec3x8){_mm256_sub_ps(a.x, b.x), _mm256_sub_ps(a.y, b.y), _mm256_sub_ps(a.z, b.z)};
}

static inline __m256 dot(vec3x8 a, vec3x8 b)
{
    return _mm256_add_ps(_mm256_mul_ps(a.x, b.x),
                         _mm256_add_ps(_mm256_mul_ps(a.y, b.y), _mm256_mul_ps(a.z, b.z)));
}

static inline vec3x8 cross(vec3x8 a, vec3x8 b)
{
    return (vec3x8){_mm256_sub_ps(_mm256_mul_ps(a.y, b.z), _mm256_mul_ps(a.z, b.y)),
                    _mm256_sub_ps(_mm256_mul_ps(a.z, b.x), _mm256_mul_ps(a.x, b.z)),
                    _mm256_sub_ps(_mm256_mul_ps(a.x, b.y), _mm256_mul_ps(a.y, b.x))};
}

/* triangle_intersect of render/shape/mesh.c for eight triangles; returns which of them are hit. */
static inline uint32_t meet_triangles(const traversal *t, const wide_block *b, __m256 found[3])
{
    const __m256 zero = _mm256_setzero_ps(), one = _mm256_set1_ps(1);
    vec3x8 e1 = load3(b->e1), e2 = load3(b->e2), d = all3(&t->on->direction);
    vec3x8 p = cross(d, e2), s = sub3(all3(&t->on->origin), load3(b->v0)), q = cross(s, e1);
    __m256 inverse = _mm256_div_ps(one, dot(e1, p));
    __m256 u = _mm256_mul_ps(dot(s, p), inverse), v = _mm256_mul_ps(dot(d, q), inverse),
           at = _mm256_mul_ps(dot(e2, q), inverse);
    __m256 hit = _mm256_and_ps(_mm256_cmp_ps(u, zero, _CMP_GE_OQ), _mm256_cmp_ps(v, zero, _CMP_GE_OQ));
    hit = _mm256_and_ps(hit, _mm256_cmp_ps(_mm256_add_ps(u, v), one, _CMP_LE_OQ));
    hit = _mm256_and_ps(hit, _mm256_cmp_ps(at, _mm256_set1_ps(t->tmin), _CMP_GT_OQ));
    hit = _mm256_and_ps(hit, _mm256_cmp_ps(at, _mm256_set1_ps(t->nearest.t), _CMP_LE_OQ));
    found[0] = at, found[1] = u, found[2] = v;
    return (uint32_t)_mm256_movemask_ps(hit);
}

static inline void take_hits(traversal *t, x86_ray_want want, const wide_block *b, uint32_t hit,
                             const __m256 found[3])
{
    float at[WIDE], u[WIDE], v[WIDE];
    _mm256_storeu_ps(at, found[0]), _mm256_storeu_ps(u, found[1]), _mm256_storeu_ps(v, found[2]);
    for (; hit; hit &= hit - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(hit);
        if (comes_first(t, want, at[k], b->first + k))
            t->nearest = (best){at[k], b->first + k, u[k], v[k], record_of(t)};
    }
}

/* Triangles of a block. Returns whether the ray has all that it wants. */
static inline bool visit_block(traversal *t, x86_ray_want want, const wide_block *b)
{
    __m256 found[3];
    uint32_t hit = meet_triangles(t, b, found);
    if (hit)
        take_hits(t, want, b, hit, found);
    return hit && want == X86_RAY_ANY;
}

/* ---- candidates ---- */

static void offer_candidate(traversal *t, uint32_t block, uint32_t others)
{
    x86_rays *x = &t->r->shared;
    uint32_t k = t->lane, entry = t->h->blocks[block].first + (uint32_t)__builtin_ctz(others);
    t->block = block, t->others = others & (others - 1);
    x->data[k] = t->h->entries + BVH_ENTRY_WORDS * entry;
    x->kind[k] = t->h->words[x->data[k] + BVH_ENTRY_KIND];
    for (int i = 0; i < 3; i++)
        x->candidate[i][k] = ((const float *)&t->on->origin)[i],
        x->candidate[RAY_DIRECTION + i][k] = ((const float *)&t->on->direction)[i];
    x->candidate[RAY_TMIN][k] = t->tmin;
    x->candidate[RAY_TMAX][k] = float_after(t->nearest.t);
    x->has_candidate[k] = ~0u;
}

/* ---- traversal ---- */

/* What a ray of a packet cannot do. With little room for more, all that waits is left, too. */
static void leave(traversal *t, uint32_t reference, float at)
{
    rays_leave(t->r, t->lane, t->on->level, (waiting){reference, at});
    while (t->r->left_count[t->lane] >= LEFT_MOST && t->top > 0)
        rays_leave(t->r, t->lane, t->on->level, t->stack[--t->top]);
}

/* Goes on until the ray has all that it wants (false), or to a candidate (true). In a packet a ray leaves
 * levels and candidates for later. */
static inline __attribute__((always_inline)) bool proceed(traversal *t, const x86_ray_want want,
                                                          const bool in_packet)
{
    const wide_node *nodes = t->h->nodes;
    const wide_block *blocks = t->h->blocks;
    while (t->top > 0) {
        waiting w = t->stack[--t->top];
        if (w.t > t->nearest.t * EXIT_SLACK)
            continue;
        uint32_t reference = w.reference;
        if (!in_packet && reference >= WIDE_LEVEL && reference < WIDE_BACK) {
            enter_level(t, reference & WIDE_NUMBER);
            if (reference >= WIDE_AGAIN)
                continue;
            t->stack[t->top++] = (waiting){WIDE_BACK, -INFINITY};
            reference = t->h->levels.data[t->on->level].root;
        }
        while (!(reference & WIDE_BLOCK)) {
            __m256 enter;
            const wide_node *n = &nodes[reference];
            uint32_t met = enter_boxes(t, n, &enter);
            reference = met ? choose_child(t, n, met, enter) : WIDE_NONE;
        }
        if (in_packet && reference != WIDE_NONE && is_for_rays(reference)) {
            leave(t, reference, w.t);
        } else if (reference < WIDE_LEVEL) {
            const wide_block *block = &blocks[reference & WIDE_NUMBER];
            bool triangles = !(reference & WIDE_MIXED) || has_triangles(block);
            if (triangles && visit_block(t, want, block))
                return false;
            if (reference & WIDE_MIXED) {
                offer_candidate(t, reference & WIDE_NUMBER, block->others);
                return true;
            }
        } else if (reference == WIDE_BACK) {
            t->on = &t->outer;
        } else if (reference != WIDE_NONE) { /* a level, found at once: it is entered from the stack */
            t->stack[t->top++] = (waiting){reference, -INFINITY};
        }
    }
    return false;
}

static bool proceed_closest(traversal *t) { return proceed(t, X86_RAY_CLOSEST, false); }
static bool proceed_any(traversal *t) { return proceed(t, X86_RAY_ANY, false); }
static bool proceed_next(traversal *t) { return proceed(t, X86_RAY_NEXT, false); }

static waiting *stack_of(const native_rays *r, uint32_t lane)
{
    return r->stacks + (size_t)(r->left_size + r->stack_size) * lane;
}

static void load(traversal *t, native_rays *r, uint32_t k)
{
    const x86_rays *x = &r->shared;
    t->r = r, t->h = r->hierarchy, t->want = r->want, t->lane = k;
    t->origin = _mm_setr_ps(x->ray[0][k], x->ray[1][k], x->ray[2][k], 0);
    t->direction = _mm_setr_ps(x->ray[3][k], x->ray[4][k], x->ray[5][k], 0);
    t->least = x->ray[RAY_TMIN][k], t->most = x->ray[RAY_TMAX][k];
    t->after = x->after[k];
    t->tmin = t->want == X86_RAY_NEXT ? float_before(t->least) : t->least;
    place(t, 0, &t->outer);
    t->on = &t->outer;
    t->inner.level = 0; /* none */
}

static void put_nearest(const traversal *t)
{
    x86_rays *x = &t->r->shared;
    uint32_t k = t->lane;
    x->hit[HIT_T][k] = bits_of(t->nearest.t), x->hit[HIT_ENTRY][k] = t->nearest.entry;
    x->hit[HIT_U][k] = bits_of(t->nearest.u), x->hit[HIT_V][k] = bits_of(t->nearest.v);
    x->hit[HIT_LEVEL][k] = t->nearest.record;
}

static best get_nearest(const x86_rays *x, uint32_t k)
{
    return (best){float_of(x->hit[HIT_T][k]), x->hit[HIT_ENTRY][k], float_of(x->hit[HIT_U][k]),
                  float_of(x->hit[HIT_V][k]), x->hit[HIT_LEVEL][k]};
}

/* The results as RAY_CLOSEST has them. */
static void finish(const traversal *t)
{
    x86_rays *x = &t->r->shared;
    put_nearest(t);
    if (t->nearest.entry == BVH_NONE)
        x->hit[HIT_T][t->lane] = bits_of(t->most);
}

/* Goes on with a ray. Returns the lane's bit if it has come to a candidate. */
static uint32_t walk(traversal *t)
{
    bool candidate = t->want == X86_RAY_ANY    ? proceed_any(t)
                     : t->want == X86_RAY_NEXT ? proceed_next(t)
                                               : proceed_closest(t);
    if (candidate)
        return 1u << t->lane;
    finish(t);
    return 0;
}

/* ---- a ray and its packet ---- */

void rays_leave(native_rays *r, uint32_t lane, uint32_t level, waiting w)
{
    waiting *left = stack_of(r, lane);
    if (r->left_level[lane] != level)
        left[r->left_count[lane]++] = (waiting){level ? WIDE_AGAIN | level : WIDE_BACK, -INFINITY};
    r->left_level[lane] = level;
    left[r->left_count[lane]++] = w;
}

static traversal *traversal_of(native_rays *r, uint32_t lane)
{
    traversal *t = &r->traversals[lane];
    if (!(r->loaded >> lane & 1))
        load(t, r, lane);
    r->loaded |= 1u << lane;
    return t;
}

bool rays_trace_one(native_rays *r, uint32_t lane, uint32_t level, waiting w)
{
    traversal *t = traversal_of(r, lane);
    t->nearest = get_nearest(&r->shared, lane);
    t->on = &t->outer;
    if (level)
        enter_level(t, level);
    t->stack = stack_of(r, lane) + r->left_size;
    t->stack[0] = w;
    t->top = 1;
    bool any = r->want == X86_RAY_ANY;
    any ? proceed(t, X86_RAY_ANY, true) : proceed(t, X86_RAY_CLOSEST, true);
    put_nearest(t);
    return any && t->nearest.entry != BVH_NONE;
}

/* Begins with what the packet has left: what it came to first is on top. */
static void take_left(traversal *t)
{
    native_rays *r = t->r;
    t->nearest = get_nearest(&r->shared, t->lane);
    t->on = &t->outer;
    if (t->nearest.entry == BVH_NONE)
        t->nearest.t = float_before(t->most);
    t->stack = stack_of(r, t->lane);
    t->top = r->left_count[t->lane];
    for (uint32_t k = 0; k < t->top / 2; k++) {
        waiting w = t->stack[k];
        t->stack[k] = t->stack[t->top - 1 - k], t->stack[t->top - 1 - k] = w;
    }
}

static void take_root(traversal *t)
{
    t->nearest = (best){.t = float_before(t->most), .entry = BVH_NONE, .record = record_of(t)};
    t->stack = stack_of(t->r, t->lane);
    t->stack[0] = (waiting){t->h->levels.data[0].root, -INFINITY};
    t->top = 1;
}

static inline void store_all(uint32_t to[WIDE], uint32_t v)
{
    _mm256_store_si256((__m256i *)(void *)to, _mm256_set1_epi32((int)v));
}

/* No ray has a hit yet. Returns the rays that may get one: a kernel asks for an empty interval where it wants
 * no ray, as for the shadow rays of lanes that see no light. */
static uint32_t miss_all(native_rays *r)
{
    x86_rays *x = &r->shared;
    uint32_t level = r->hierarchy->levels.data[0].record, empty = 0;
    for (uint32_t k = 0; k < X86_LANES_MOST; k += WIDE) {
        __m256 least = _mm256_load_ps(x->ray[RAY_TMIN] + k), most = _mm256_load_ps(x->ray[RAY_TMAX] + k);
        empty |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(most, least, _CMP_LE_OQ)) << k;
        store_all(x->hit[HIT_ENTRY] + k, BVH_NONE), store_all(x->hit[HIT_LEVEL] + k, level);
        store_all(x->hit[HIT_U] + k, 0), store_all(x->hit[HIT_V] + k, 0);
        _mm256_store_ps((float *)x->hit[HIT_T] + k, most);
    }
    return ~empty;
}

/* A packet has ended: each ray goes on with what was left to it. */
static uint32_t walk_left(native_rays *r)
{
    r->in_packet = false, r->lanes = 0;
    for (uint32_t lanes = r->left; lanes; lanes &= lanes - 1) {
        traversal *t = traversal_of(r, (uint32_t)__builtin_ctz(lanes));
        take_left(t);
        r->lanes |= walk(t);
    }
    return r->lanes;
}

static uint32_t begin(x86_rays *shared, uint64_t hierarchy, uint32_t lanes, x86_ray_want want)
{
    native_rays *r = (native_rays *)shared;
    r->hierarchy = (const gpu_hierarchy *)(uintptr_t)hierarchy;
    r->want = want;
    r->lanes = r->loaded = 0;
    lanes &= miss_all(r);
    if (!lanes)
        return 0;
    memset(shared->has_candidate, 0, sizeof shared->has_candidate);
    if (want != X86_RAY_NEXT && __builtin_popcount(lanes) > ALONE_MOST) {
        r->in_packet = r->trace_packet(r, lanes);
        return r->in_packet ? r->lanes : walk_left(r);
    }
    r->in_packet = false;
    for (; lanes; lanes &= lanes - 1) {
        traversal *t = traversal_of(r, (uint32_t)__builtin_ctz(lanes));
        take_root(t);
        r->lanes |= walk(t);
    }
    return r->lanes;
}

/* What the kernel found of the lane's candidate. */
static bool take_found(traversal *t)
{
    const x86_rays *x = &t->r->shared;
    uint32_t k = t->lane, entry = (x->data[k] - t->h->entries) / BVH_ENTRY_WORDS;
    float at = x->found[0][k];
    if (!(at < x->candidate[RAY_TMAX][k] && comes_first(t, t->want, at, entry)))
        return false;
    t->nearest = (best){at, entry, x->found[1][k], x->found[2][k], record_of(t)};
    return t->want == X86_RAY_ANY;
}

static uint32_t resume(x86_rays *shared)
{
    native_rays *r = (native_rays *)shared;
    if (r->in_packet && r->trace_packet(r, 0))
        return r->lanes;
    memset(shared->has_candidate, 0, sizeof shared->has_candidate);
    if (r->in_packet)
        return walk_left(r);
    uint32_t lanes = r->lanes;
    r->lanes = 0;
    for (; lanes; lanes &= lanes - 1) {
        traversal *t = &r->traversals[__builtin_ctz(lanes)];
        if (take_found(t)) {
            finish(t);
        } else if (t->others) {
            offer_candidate(t, t->block, t->others);
            r->lanes |= 1u << t->lane;
        } else {
            r->lanes |= walk(t);
        }
    }
    return r->lanes;
}

/* ---- life ---- */

native_rays *native_rays_create(uint32_t stack_size, x86_target target)
{
    native_rays *r = aligned_alloc(64, (sizeof *r + 63) / 64 * 64);
    if (!r)
        return NULL;
    memset(r, 0, sizeof *r);
    r->shared.begin = begin, r->shared.resume = resume;
    r->trace_packet = target == X86_AVX512 ? packet_trace_avx512 : packet_trace_avx2;
    /* When LEFT_MOST is passed, what waits on the packet's stack and on a ray's is left, too, with few
     * changes of level. */
    r->stack_size = stack_size, r->left_size = 2 * stack_size + LEFT_MOST + CHANGES_MOST;
    r->stacks = malloc((size_t)(r->stack_size + r->left_size) * X86_LANES_MOST * sizeof *r->stacks);
    r->traversals = aligned_alloc(64, X86_LANES_MOST * sizeof *r->traversals);
    r->packet_stack = aligned_alloc(64, (stack_size + WIDE) * sizeof *r->packet_stack);
    r->packet = aligned_alloc(64, PACKET_BYTES);
    if (!r->stacks || !r->packet_stack || !r->traversals || !r->packet) {
        native_rays_destroy(r);
        return NULL;
    }
    return r;
}

void native_rays_destroy(native_rays *r)
{
    if (r)
        free(r->stacks), free(r->packet_stack), free(r->traversals), free(r->packet);
    free(r);
}

#else /* a processor that has no native device */

native_rays *native_rays_create(uint32_t stack_size, x86_target target)
{
    (void)stack_size, (void)target;
    return NULL;
}

void native_rays_destroy(native_rays *r) { (void)r; }

#endif
