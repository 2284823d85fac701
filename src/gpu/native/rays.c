/* SPDX-License-Identifier: BSD-3-Clause
 * Rays of kernels (x86_rays in spirv_gen/x86/x86.h) through eight-wide hierarchies, with AVX2.
 *
 * Each ray by itself: the vector is not of rays but of the eight boxes of a node, or the eight triangles of a
 * leaf (Wald, Benthin, Boulos 2008, "Getting Rid of Packets"). So lanes that go different ways cost nothing.
 * Many lanes go in turn, a step each, few one after the other (`walk`).
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
    uint32_t reference;     /* where the ray is */
    float at;               /* where it enters that, or a box around it */
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

/* Distances at which the ray enters the boxes of a node; in `missed` all bits of the boxes that it does not
 * meet before it ends. */
static inline __m256 enter_boxes(const traversal *t, const wide_node *n, __m256 *missed)
{
    const placed *on = t->on;
    __m256 x = PLANE(on, n, 0, near), y = PLANE(on, n, 1, near), z = PLANE(on, n, 2, near);
    __m256 first = _mm256_max_ps(_mm256_max_ps(x, y), _mm256_max_ps(z, _mm256_set1_ps(t->least)));
    x = PLANE(on, n, 0, far), y = PLANE(on, n, 1, far), z = PLANE(on, n, 2, far);
    __m256 last = _mm256_min_ps(_mm256_min_ps(x, y), _mm256_min_ps(z, _mm256_set1_ps(t->nearest.t)));
    last = _mm256_mul_ps(last, _mm256_set1_ps(EXIT_SLACK));
    *missed = _mm256_cmp_ps(first, last, _CMP_NLE_UQ);
    return first;
}

/* The bits of the least distance, of which the last three are the child's number. Distances are not negative,
 * so their bits have their order. */
static inline uint32_t find_nearest(__m256 enter, __m256 missed)
{
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), others = _mm256_set1_epi32(-WIDE);
    __m256i key = _mm256_or_si256(_mm256_and_si256(_mm256_castps_si256(enter), others), number);
    key = _mm256_or_si256(key, _mm256_castps_si256(missed));
    __m128i least = _mm_min_epu32(_mm256_castsi256_si128(key), _mm256_extracti128_si256(key, 1));
    least = _mm_min_epu32(least, _mm_shuffle_epi32(least, _MM_SHUFFLE(1, 0, 3, 2)));
    least = _mm_min_epu32(least, _mm_shuffle_epi32(least, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(least);
}

/* Puts the children that are met on the stack, the nearest on top. It does so without a branch, which would
 * be mistaken for as often as not. Behind the top there is room for WIDE. */
static inline void push_children(traversal *t, const wide_node *n, __m256 enter, __m256 missed)
{
    uint32_t met = (uint32_t)_mm256_movemask_ps(missed) ^ 0xFF, nearest = find_nearest(enter, missed),
             k = nearest % WIDE, others = met & ~(1u << k);
    __m256i order =
                _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)&t->r->order[others])),
            child = _mm256_load_si256((const __m256i *)(const void *)n->child);
    child = _mm256_permutevar8x32_epi32(child, order);
    __m256i at = _mm256_permutevar8x32_epi32(_mm256_castps_si256(enter), order),
            low = _mm256_unpacklo_epi32(child, at), high = _mm256_unpackhi_epi32(child, at);
    waiting *stack = t->stack + t->top;
    _mm256_storeu_si256((__m256i *)(void *)stack, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(stack + 4), _mm256_permute2x128_si256(low, high, 0x31));
    stack[__builtin_popcount(others)] = (waiting){n->child[k], float_of(nearest & (uint32_t)-WIDE)};
    t->top += (uint32_t)__builtin_popcount(met);
}

/* The same, but for the nearest one, which it returns; all in order. For a ray that has the processor for
 * itself: it waits longer for push_children than for a wrong branch. met: not 0. */
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
static inline bool visit_block(traversal *t, const wide_block *b)
{
    __m256 found[3];
    uint32_t hit = meet_triangles(t, b, found);
    if (hit)
        take_hits(t, t->want, b, hit, found);
    return hit && t->want == X86_RAY_ANY;
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
    while (t->r->left_count[t->lane] >= LEFT_MOST && t->top > 1)
        rays_leave(t->r, t->lane, t->on->level, t->stack[--t->top]);
}

/* Goes to what waits on top of the stack and is not behind the nearest hit. */
static inline void take_next(traversal *t)
{
    waiting w;
    do
        w = t->stack[--t->top];
    while (w.t > t->nearest.t * EXIT_SLACK);
    t->reference = w.reference, t->at = w.t;
}

static inline void visit_node(traversal *t)
{
    const wide_node *n = &t->h->nodes[t->reference];
    __m256 missed, enter = enter_boxes(t, n, &missed);
    push_children(t, n, enter, missed);
    take_next(t);
}

/* Goes down to what is no node. */
static inline void descend(traversal *t)
{
    uint32_t reference = t->reference;
    while (!(reference & WIDE_BLOCK)) {
        const wide_node *n = &t->h->nodes[reference];
        __m256 missed, enter = enter_boxes(t, n, &missed);
        uint32_t met = (uint32_t)_mm256_movemask_ps(missed) ^ 0xFF;
        if (met) {
            reference = choose_child(t, n, met, enter);
        } else {
            take_next(t);
            reference = t->reference;
        }
    }
    t->reference = reference;
}

/* To another level, or back. */
static void change_level(traversal *t)
{
    uint32_t reference = t->reference;
    if (reference == WIDE_BACK) {
        t->on = &t->outer;
    } else if (reference != WIDE_NONE) {
        enter_level(t, reference & WIDE_NUMBER);
        if (reference < WIDE_AGAIN) {
            t->stack[t->top++] = (waiting){WIDE_BACK, -INFINITY};
            t->reference = t->h->levels.data[t->on->level].root;
            return;
        }
    }
    take_next(t);
}

typedef enum progress { GOES_ON, ENDED, AT_CANDIDATE } progress;

/* Goes through what is no node. In a packet a ray leaves levels and candidates for later. */
static inline progress visit_other(traversal *t, bool in_packet)
{
    uint32_t reference = t->reference;
    if (reference < WIDE_LEVEL && !(reference & WIDE_MIXED)) {
        if (visit_block(t, &t->h->blocks[reference & WIDE_NUMBER]))
            return ENDED;
        take_next(t);
    } else if (reference == WIDE_END) {
        return ENDED;
    } else if (in_packet && reference != WIDE_NONE) {
        leave(t, reference, t->at);
        take_next(t);
    } else if (reference >= WIDE_LEVEL) {
        change_level(t);
    } else {
        const wide_block *block = &t->h->blocks[reference & WIDE_NUMBER];
        if (has_triangles(block) && visit_block(t, block))
            return ENDED;
        offer_candidate(t, reference & WIDE_NUMBER, block->others);
        return AT_CANDIDATE;
    }
    return GOES_ON;
}

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

/* Rays on their way: those at a node, and the others. */
typedef struct crowd {
    traversal *at_node[X86_LANES_MOST], *elsewhere[X86_LANES_MOST];
    uint32_t nodes, others;
} crowd;

static inline void join(crowd *c, traversal *t)
{
    uint32_t other = t->reference / WIDE_BLOCK;
    c->at_node[c->nodes] = t, c->elsewhere[c->others] = t; /* one of the two counts */
    c->nodes += 1 - other, c->others += other;
}

/* The ray has come to its end or to a candidate. Returns the lane's bit if it is that. */
static inline uint32_t stop(const traversal *t, progress p, bool in_packet)
{
    if (p == AT_CANDIDATE)
        return 1u << t->lane;
    if (in_packet)
        put_nearest(t);
    else
        finish(t);
    return 0;
}

/* Many rays go on in turn, one step each: first those at nodes, then the others. So while one ray waits for
 * its next box another one computes, and no branch tells nodes from triangles. */
static uint32_t walk_in_turn(native_rays *r, uint32_t lanes, bool in_packet)
{
    crowd c = {.nodes = 0};
    uint32_t candidates = 0;
    for (; lanes; lanes &= lanes - 1)
        join(&c, &r->traversals[__builtin_ctz(lanes)]);
    while (c.nodes + c.others) {
        uint32_t count = c.nodes;
        c.nodes = 0;
        for (uint32_t k = 0; k < count; k++) {
            traversal *t = c.at_node[k];
            visit_node(t);
            join(&c, t);
        }
        count = c.others, c.others = 0;
        for (uint32_t k = 0; k < count; k++) {
            traversal *t = c.elsewhere[k];
            progress p = visit_other(t, in_packet);
            if (p == GOES_ON)
                join(&c, t);
            else
                candidates |= stop(t, p, in_packet);
        }
    }
    return candidates;
}

/* Rays go on by themselves. Returns the lanes that have come to a candidate; the others have their hits in
 * shared.hit. */
static uint32_t walk(native_rays *r, uint32_t lanes, bool in_packet)
{
    uint32_t candidates = 0;
    if (__builtin_popcount(lanes) > ALONE_MOST)
        return walk_in_turn(r, lanes, in_packet);
    for (; lanes; lanes &= lanes - 1) {
        traversal *t = &r->traversals[__builtin_ctz(lanes)];
        progress p;
        do {
            descend(t);
            p = visit_other(t, in_packet);
        } while (p == GOES_ON);
        candidates |= stop(t, p, in_packet);
    }
    return candidates;
}

/* ---- a ray and its packet ---- */

void rays_leave(native_rays *r, uint32_t lane, uint32_t level, waiting w)
{
    waiting *left = stack_of(r, lane) + 1;
    if (r->left_level[lane] != level)
        left[r->left_count[lane]++] = (waiting){level ? WIDE_AGAIN | level : WIDE_BACK, -INFINITY};
    r->left_level[lane] = level;
    left[r->left_count[lane]++] = w;
}

/* With nothing but the end on its stack. */
static inline void set_out(traversal *t, waiting *stack, uint32_t reference, float at)
{
    t->stack = stack, t->top = 1;
    t->stack[0] = (waiting){WIDE_END, -INFINITY};
    t->reference = reference, t->at = at;
}

static traversal *traversal_of(native_rays *r, uint32_t lane)
{
    traversal *t = &r->traversals[lane];
    if (!(r->loaded >> lane & 1))
        load(t, r, lane);
    r->loaded |= 1u << lane;
    return t;
}

uint32_t rays_trace_few(native_rays *r, uint32_t lanes, uint32_t level, uint32_t reference, const float *at)
{
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(left);
        traversal *t = traversal_of(r, k);
        t->nearest = get_nearest(&r->shared, k);
        t->on = &t->outer;
        if (level)
            enter_level(t, level);
        set_out(t, stack_of(r, k) + r->left_size, reference, at[k]);
    }
    walk(r, lanes, true);
    uint32_t have_all = 0;
    for (uint32_t left = r->want == X86_RAY_ANY ? lanes : 0; left; left &= left - 1)
        if (r->traversals[__builtin_ctz(left)].nearest.entry != BVH_NONE)
            have_all |= left & -left;
    return have_all;
}

/* Begins with what the packet has left: what it came to first is on top. */
static void take_left(traversal *t)
{
    native_rays *r = t->r;
    t->nearest = get_nearest(&r->shared, t->lane);
    t->on = &t->outer;
    if (t->nearest.entry == BVH_NONE)
        t->nearest.t = float_before(t->most);
    set_out(t, stack_of(r, t->lane), WIDE_NONE, -INFINITY);
    waiting *left = t->stack + 1;
    uint32_t count = r->left_count[t->lane];
    for (uint32_t k = 0; k < count / 2; k++) {
        waiting w = left[k];
        left[k] = left[count - 1 - k], left[count - 1 - k] = w;
    }
    t->top += count;
}

static void take_root(traversal *t)
{
    t->nearest = (best){.t = float_before(t->most), .entry = BVH_NONE, .record = record_of(t)};
    set_out(t, stack_of(t->r, t->lane), t->h->levels.data[0].root, -INFINITY);
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
    r->in_packet = false;
    for (uint32_t lanes = r->left; lanes; lanes &= lanes - 1)
        take_left(traversal_of(r, (uint32_t)__builtin_ctz(lanes)));
    return r->lanes = walk(r, r->left, false);
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
    if (__builtin_popcount(lanes) > ALONE_MOST) {
        r->in_packet = r->trace_packet(r, lanes);
        return r->in_packet ? r->lanes : walk_left(r);
    }
    r->in_packet = false;
    for (uint32_t k = lanes; k; k &= k - 1)
        take_root(traversal_of(r, (uint32_t)__builtin_ctz(k)));
    return r->lanes = walk(r, lanes, false);
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
    uint32_t candidates = 0, go_on = 0;
    for (uint32_t lanes = r->lanes; lanes; lanes &= lanes - 1) {
        traversal *t = &r->traversals[__builtin_ctz(lanes)];
        if (take_found(t)) {
            finish(t);
        } else if (t->others) {
            offer_candidate(t, t->block, t->others);
            candidates |= 1u << t->lane;
        } else {
            take_next(t);
            go_on |= 1u << t->lane;
        }
    }
    return r->lanes = candidates | walk(r, go_on, false);
}

/* ---- life ---- */

/* For each set of children, their numbers, one a byte. */
static void find_orders(uint64_t order[1 << WIDE])
{
    for (uint32_t set = 0; set < 1 << WIDE; set++) {
        uint32_t count = 0;
        order[set] = 0;
        for (uint32_t k = 0; k < WIDE; k++)
            if (set >> k & 1)
                order[set] |= (uint64_t)k << 8 * count++;
    }
}

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
    stack_size += WIDE + 1; /* what is pushed beyond the top, and the end */
    r->stack_size = stack_size, r->left_size = 2 * stack_size + LEFT_MOST + CHANGES_MOST;
    find_orders(r->order);
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
