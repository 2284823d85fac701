/* SPDX-License-Identifier: BSD-3-Clause
 * Rays that go the same way, traced together: the vector is of rays. Included by packet_avx2.c and
 * packet_avx512.c, which say what a vector is; everything here is theirs alone.
 *
 * A packet (Wald, Slusallek, Benthin, Wagner 2001, "Interactive Rendering with Coherent Ray Tracing") visits
 * a node once for all its rays. Where only a few of them come along, or something other than triangles waits,
 * these rays go on by themselves (rays.c; Benthin, Wald, Woop, Ernst, Mark 2012, "Combining Single and
 * Packet- Ray Tracing for Arbitrary Ray Distributions on the Intel MIC Architecture"): the reference goes on
 * their stacks. They do so when the packet has ended, so that candidates of all lanes are looked at together.
 *
 * Where directions of all rays have the same signs, one test of eight boxes against intervals that hold all
 * rays comes first (Boulos, Wald, Shirley 2006, "Geometric and Arithmetic Culling Methods for Entire Ray
 * Packets"). It misses no box: planes are not negative, so fma(plane, least inverse, least shift) is at
 * most what each ray has, and rounding keeps the order.
 *
 * The same bits as rays.c: every ray meets boxes and triangles by the same operations. */
#include "base/bvh_layout.h"
#include "gpu/native/rays.h"

#include <math.h>
#include <string.h>

/* So many rays of a packet at one node, or fewer, go on by themselves. */
enum { FEW = LANES / 4 };

typedef struct vec3 {
    lanes_float x, y, z;
} vec3;

typedef struct packet {
    native_rays *r;
    const gpu_hierarchy *h;
    bool any, full;  /* full: rays have little room for what is left to them */
    uint32_t active; /* bit k: ray k is on its way */
    vec3 origin, direction;
    lanes_float inverse[3], shift[3], tmin;
    lanes_mask backward[3];
    /* Intervals that hold all rays. */
    uint32_t near[3], far[3]; /* as of `placed` in rays.c */
    float least_inverse[3], most_inverse[3], least_shift[3], most_shift[3];
    float tmin_least, t_most;
    lanes_float t, u, v; /* of the nearest hits; t as of `best` in rays.c */
    lanes_int entry;
    packet_waiting *stack;
    uint32_t top;
} packet;

static inline vec3 sub3(vec3 a, vec3 b)
{
    return (vec3){lanes_sub(a.x, b.x), lanes_sub(a.y, b.y), lanes_sub(a.z, b.z)};
}

static inline lanes_float dot3(vec3 a, vec3 b)
{
    return lanes_add(lanes_mul(a.x, b.x), lanes_add(lanes_mul(a.y, b.y), lanes_mul(a.z, b.z)));
}

static inline vec3 cross3(vec3 a, vec3 b)
{
    return (vec3){lanes_sub(lanes_mul(a.y, b.z), lanes_mul(a.z, b.y)),
                  lanes_sub(lanes_mul(a.z, b.x), lanes_mul(a.x, b.z)),
                  lanes_sub(lanes_mul(a.x, b.y), lanes_mul(a.y, b.x))};
}

/* ---- the rays ---- */

static inline vec3 load_rows(const x86_rays *x, uint32_t first)
{
    return (vec3){lanes_load(x->ray[first]), lanes_load(x->ray[first + 1]), lanes_load(x->ray[first + 2])};
}

static inline vec3 column(const wide_level *l, int k)
{
    const float *c = l->column[k];
    return (vec3){lanes_all(c[0]), lanes_all(c[1]), lanes_all(c[2])};
}

static inline vec3 scale3(vec3 c, lanes_float by)
{
    return (vec3){lanes_mul(c.x, by), lanes_mul(c.y, by), lanes_mul(c.z, by)};
}

static inline vec3 add3(vec3 a, vec3 b)
{
    return (vec3){lanes_add(a.x, b.x), lanes_add(a.y, b.y), lanes_add(a.z, b.z)};
}

static inline vec3 mapped(const wide_level *l, vec3 v)
{
    return add3(scale3(column(l, 0), v.x), add3(scale3(column(l, 1), v.y), scale3(column(l, 2), v.z)));
}

/* One axis of `place` in rays.c. */
static inline void place_axis(packet *p, int axis, lanes_float grid, lanes_float o, lanes_float d)
{
    const lanes_float smallest = lanes_all(SMALLEST_DIRECTION);
    lanes_mask backward = lanes_less(d, lanes_all(0)), tiny = lanes_less(lanes_size(d), smallest);
    d = lanes_choose(tiny, lanes_choose(backward, lanes_all(-SMALLEST_DIRECTION), smallest), d);
    p->backward[axis] = backward;
    p->inverse[axis] = lanes_div(lanes_all(1), d);
    p->shift[axis] = lanes_mul(lanes_sub(grid, o), p->inverse[axis]);
}

static void place_rays(packet *p)
{
    const wide_level *l = &p->h->levels.data[0];
    if (p->h->desc.level_word) {
        p->origin = add3(mapped(l, p->origin), column(l, 3));
        p->direction = mapped(l, p->direction);
    }
    place_axis(p, 0, lanes_all(l->origin[0]), p->origin.x, p->direction.x);
    place_axis(p, 1, lanes_all(l->origin[1]), p->origin.y, p->direction.y);
    place_axis(p, 2, lanes_all(l->origin[2]), p->origin.z, p->direction.z);
}

/* Rays with infinities or NaNs among what boxes are met by go by themselves: intervals cannot hold them. */
static uint32_t finite_rays(const packet *p)
{
    const lanes_float most = lanes_all(3e38f);
    uint32_t finite = lanes_bits(lanes_at_most(lanes_size(p->tmin), most));
    for (int axis = 0; axis < 3; axis++)
        finite &= lanes_bits(lanes_at_most(lanes_size(p->inverse[axis]), most)) &
                  lanes_bits(lanes_at_most(lanes_size(p->shift[axis]), most));
    return finite;
}

/* Whether all rays go the same way along each axis. */
static bool agree(const packet *p, uint32_t rays)
{
    bool all = true;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t backward = lanes_bits(p->backward[axis]) & rays;
        all = all && (backward == 0 || backward == rays);
    }
    return all;
}

static void bound_rays(packet *p)
{
    for (int axis = 0; axis < 3; axis++) {
        uint32_t k = (uint32_t)axis, swap = lanes_bits(p->backward[axis]) & p->active ? 3 * WIDE : 0;
        p->near[axis] = WIDE * k + swap, p->far[axis] = WIDE * (k + 3) - swap;
        p->least_inverse[axis] = lanes_least(p->active, p->inverse[axis]);
        p->most_inverse[axis] = lanes_most(p->active, p->inverse[axis]);
        p->least_shift[axis] = lanes_least(p->active, p->shift[axis]);
        p->most_shift[axis] = lanes_most(p->active, p->shift[axis]);
    }
    p->tmin_least = lanes_least(p->active, p->tmin);
    p->t_most = lanes_most(p->active, p->t);
}

/* ---- boxes ---- */

#define PLANE(side, axis, bound)                                                                             \
    _mm256_fmadd_ps(_mm256_load_ps(n->least[0] + p->side[axis]), _mm256_set1_ps(p->bound##_inverse[axis]),   \
                    _mm256_set1_ps(p->bound##_shift[axis]))

/* Children that some ray of the interval may meet, and where. */
static inline uint32_t meet_interval(const packet *p, const wide_node *n, float enter[WIDE])
{
    __m256 first = _mm256_max_ps(_mm256_max_ps(PLANE(near, 0, least), PLANE(near, 1, least)),
                                 _mm256_max_ps(PLANE(near, 2, least), _mm256_set1_ps(p->tmin_least)));
    __m256 last = _mm256_min_ps(_mm256_min_ps(PLANE(far, 0, most), PLANE(far, 1, most)),
                                _mm256_min_ps(PLANE(far, 2, most), _mm256_set1_ps(p->t_most)));
    last = _mm256_mul_ps(last, _mm256_set1_ps(EXIT_SLACK));
    _mm256_storeu_ps(enter, first);
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(first, last, _CMP_LE_OQ));
}

#undef PLANE

static inline lanes_float plane(const packet *p, const wide_node *n, uint32_t side, uint32_t k, int axis)
{
    const float *planes = n->least[0]; /* of all sides */
    return lanes_fma(lanes_all(planes[side + k]), p->inverse[axis], p->shift[axis]);
}

/* The rays that meet child k, and where. */
static inline uint32_t meet_box(const packet *p, const wide_node *n, uint32_t k, lanes_float *enter)
{
    lanes_float x = plane(p, n, p->near[0], k, 0), y = plane(p, n, p->near[1], k, 1),
                z = plane(p, n, p->near[2], k, 2);
    lanes_float first = lanes_max(lanes_max(x, y), lanes_max(z, p->tmin));
    x = plane(p, n, p->far[0], k, 0), y = plane(p, n, p->far[1], k, 1), z = plane(p, n, p->far[2], k, 2);
    lanes_float last = lanes_min(lanes_min(x, y), lanes_min(z, p->t));
    lanes_mask met = lanes_at_most(first, lanes_mul(last, lanes_all(EXIT_SLACK)));
    uint32_t bits = lanes_bits(met) & p->active;
    *enter = lanes_choose(lanes_of_bits(bits), first, lanes_all(INFINITY));
    return bits;
}

/* Puts the children that are met on the stack, the nearest on top. */
static inline void visit_node(packet *p, const wide_node *n)
{
    float enter[WIDE], order[WIDE];
    uint32_t met = meet_interval(p, n, enter), count = 0;
    packet_waiting *stack = p->stack + p->top;
    for (; met; met &= met - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(met);
        lanes_float at;
        uint32_t bits = meet_box(p, n, k, &at);
        if (!bits)
            continue;
        float nearest = enter[k];
        uint32_t place = count++;
        for (; place > 0 && order[place - 1] < nearest; place--)
            stack[place] = stack[place - 1], order[place] = order[place - 1];
        lanes_store(stack[place].t, at);
        stack[place].reference = n->child[k], order[place] = nearest;
    }
    p->top += count;
}

/* ---- triangles ---- */

static inline vec3 corner(const float v[3][WIDE], uint32_t k)
{
    return (vec3){lanes_all(v[0][k]), lanes_all(v[1][k]), lanes_all(v[2][k])};
}

/* triangle_intersect of render/shape/mesh.c: triangle k and all rays. */
static inline uint32_t visit_triangle(packet *p, const wide_block *b, uint32_t k, uint32_t rays)
{
    const lanes_float zero = lanes_all(0), one = lanes_all(1);
    vec3 e1 = corner(b->e1, k), e2 = corner(b->e2, k), d = p->direction;
    vec3 c = cross3(d, e2), s = sub3(p->origin, corner(b->v0, k)), q = cross3(s, e1);
    lanes_float inverse = lanes_div(one, dot3(e1, c));
    lanes_float u = lanes_mul(dot3(s, c), inverse), v = lanes_mul(dot3(d, q), inverse),
                at = lanes_mul(dot3(e2, q), inverse);
    rays &= lanes_bits(lanes_at_most(zero, u)) & lanes_bits(lanes_at_most(zero, v)) &
            lanes_bits(lanes_at_most(lanes_add(u, v), one)) & lanes_bits(lanes_less(p->tmin, at));
    if (!rays)
        return 0;
    lanes_int entry = lanes_all_int(b->first + k);
    rays &= lanes_bits(lanes_less(at, p->t)) |
            (lanes_bits(lanes_equal(at, p->t)) & lanes_bits(lanes_less_int(entry, p->entry)));
    lanes_mask hit = lanes_of_bits(rays);
    p->t = lanes_choose(hit, at, p->t), p->u = lanes_choose(hit, u, p->u), p->v = lanes_choose(hit, v, p->v);
    p->entry = lanes_choose_int(hit, entry, p->entry);
    return rays;
}

static inline void visit_block(packet *p, const wide_block *b, uint32_t rays)
{
    uint32_t hit = 0;
    for (uint32_t k = 0; k < b->count; k++)
        hit |= visit_triangle(p, b, k, p->any ? rays & ~hit : rays);
    if (p->any)
        p->active &= ~hit;
    if (hit && p->active)
        p->t_most = lanes_most(p->active, p->t);
}

/* ---- traversal ---- */

static void load_hits(packet *p)
{
    const x86_rays *x = &p->r->shared;
    p->t = lanes_load((const float *)x->hit[HIT_T]), p->entry = lanes_load_int(x->hit[HIT_ENTRY]);
    p->u = lanes_load((const float *)x->hit[HIT_U]), p->v = lanes_load((const float *)x->hit[HIT_V]);
}

static void store_hits(const packet *p, lanes_float t)
{
    x86_rays *x = &p->r->shared;
    lanes_store((float *)x->hit[HIT_T], t), lanes_store_int(x->hit[HIT_ENTRY], p->entry);
    lanes_store((float *)x->hit[HIT_U], p->u), lanes_store((float *)x->hit[HIT_V], p->v);
}

/* Rays that go on by themselves: through triangles at once, with the rest when the packet has ended. */
static void separate(packet *p, const packet_waiting *w, uint32_t rays)
{
    store_hits(p, p->t);
    for (uint32_t left = rays; left; left &= left - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(left);
        if (rays_trace_one(p->r, k, w->reference, w->t[k]))
            p->active &= ~(1u << k);
        p->full = p->full || p->r->left_count[k] >= LEFT_MOST;
    }
    load_hits(p);
}

static void leave(packet *p, const packet_waiting *w, uint32_t rays)
{
    for (; rays; rays &= rays - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(rays);
        rays_leave(p->r, k, w->reference, w->t[k]);
        p->full = p->full || p->r->left_count[k] >= LEFT_MOST;
    }
}

static void proceed(packet *p)
{
    while (p->top > 0 && p->active) {
        packet_waiting *w = &p->stack[--p->top];
        lanes_mask met = lanes_at_most(lanes_load(w->t), lanes_mul(p->t, lanes_all(EXIT_SLACK)));
        uint32_t rays = lanes_bits(met) & p->active, reference = w->reference;
        if (!rays || reference == WIDE_NONE)
            continue;
        if (p->full || is_for_rays(reference))
            leave(p, w, rays);
        else if (!(reference & WIDE_BLOCK) && (uint32_t)__builtin_popcount(rays) <= FEW)
            separate(p, w, rays);
        else if (reference & WIDE_BLOCK)
            visit_block(p, &p->h->blocks[reference & WIDE_NUMBER], rays);
        else
            visit_node(p, &p->h->nodes[reference]);
    }
}

uint32_t PACKET_TRACE(native_rays *r, uint32_t lanes)
{
    const x86_rays *x = &r->shared;
    packet p = {.r = r, .h = r->hierarchy, .any = r->want == X86_RAY_ANY, .stack = r->packet_stack};
    memset(r->left_count, 0, sizeof r->left_count);
    p.origin = load_rows(x, RAY_ORIGIN), p.direction = load_rows(x, RAY_DIRECTION);
    p.tmin = lanes_load(x->ray[RAY_TMIN]);
    lanes_float most = lanes_load(x->ray[RAY_TMAX]);
    p.t = lanes_choose(lanes_less(lanes_all(0), most), lanes_before(most), lanes_all(0));
    p.u = p.v = lanes_all(0), p.entry = lanes_all_int(BVH_NONE);
    place_rays(&p);
    p.active = lanes & finite_rays(&p);
    if (!agree(&p, p.active))
        p.active = 0;
    uint32_t alone = lanes & ~p.active, left = 0;
    p.stack[0].reference = p.h->levels.data[0].root;
    lanes_store(p.stack[0].t, lanes_all(-INFINITY));
    leave(&p, &p.stack[0], alone);
    if (p.active) {
        bound_rays(&p);
        p.top = 1;
        proceed(&p);
    }
    store_hits(&p, lanes_choose(lanes_equal_int(p.entry, lanes_all_int(BVH_NONE)), most, p.t));
    lanes_store_int(r->shared.hit[HIT_LEVEL], lanes_all_int(p.h->levels.data[0].record));
    for (uint32_t k = 0; k < LANES; k++)
        left |= (uint32_t)(r->left_count[k] > 0) << k;
    return left & (p.active | alone);
}
