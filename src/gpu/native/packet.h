/* SPDX-License-Identifier: BSD-3-Clause
 * Rays that go the same way, traced together: the vector is of rays. Included by packet_avx2.c and
 * packet_avx512.c, which say what a vector is; everything here is theirs alone.
 *
 * A packet (Wald, Slusallek, Benthin, Wagner 2001, "Interactive Rendering with Coherent Ray Tracing") visits
 * a node once for all its rays. Where only a few of them come along, these go on by themselves (rays.c;
 * Benthin, Wald, Woop, Ernst, Mark 2012, "Combining Single and Packet- Ray Tracing for Arbitrary Ray
 * Distributions on the Intel MIC Architecture"): through triangles at once; for candidates and levels the
 * reference goes on their stacks, for when the packet has ended, so that candidates of all lanes are looked
 * at together. A candidate that many rays of the packet have come to interrupts it.
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
#define NEAR_COSINE 0.95f /* of angles in a bundle */

typedef struct vec3 {
    lanes_float x, y, z;
} vec3;

/* Rays on a level. */
typedef struct placed_rays {
    vec3 origin, direction;
    lanes_float inverse[3], shift[3];
    lanes_mask backward[3];
    uint32_t level;
    /* Intervals that hold all rays. */
    uint32_t near[3], far[3]; /* as of `placed` in rays.c */
    float least_inverse[3], most_inverse[3], least_shift[3], most_shift[3];
} placed_rays;

typedef struct packet {
    native_rays *r;
    const gpu_hierarchy *h;
    bool any, next, full;    /* full: rays have little room for what is left to them */
    uint32_t alone;          /* bit k: ray k was never in the packet */
    uint32_t active;         /* bit k: ray k is on its way */
    uint32_t outside;        /* rays that wait for the packet to come back from an inner level */
    vec3 origin, direction;  /* as given */
    lanes_float least, most; /* tmin and tmax as given */
    lanes_int after;         /* of NEXT */
    lanes_float tmin;        /* hits lie behind it; of NEXT they may lie at `least`, too */
    placed_rays outer, inner;
    placed_rays *on; /* one of these */
    float tmin_least, t_most;
    lanes_float t, u, v; /* of the nearest hits; t as of `best` in rays.c */
    lanes_int entry, record;
    packet_waiting *stack;
    uint32_t top;
    const wide_block *block;  /* of the candidate that is looked at */
    uint32_t others, meeting; /* what is left in it, and by which rays */
} packet;

_Static_assert(sizeof(packet) <= PACKET_BYTES, "room for a packet");

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
static inline void place_axis(placed_rays *on, int axis, lanes_float grid, lanes_float o, lanes_float d)
{
    const lanes_float smallest = lanes_all(SMALLEST_DIRECTION);
    lanes_mask backward = lanes_less(d, lanes_all(0)), tiny = lanes_less(lanes_size(d), smallest);
    d = lanes_choose(tiny, lanes_choose(backward, lanes_all(-SMALLEST_DIRECTION), smallest), d);
    on->backward[axis] = backward;
    on->inverse[axis] = lanes_div(lanes_all(1), d);
    on->shift[axis] = lanes_mul(lanes_sub(grid, o), on->inverse[axis]);
}

static void place_rays(const packet *p, uint32_t level, placed_rays *on)
{
    const wide_level *l = &p->h->levels.data[level];
    on->origin = p->origin, on->direction = p->direction, on->level = level;
    if (p->h->desc.level_word) {
        on->origin = add3(mapped(l, on->origin), column(l, 3));
        on->direction = mapped(l, on->direction);
    }
    place_axis(on, 0, lanes_all(l->origin[0]), on->origin.x, on->direction.x);
    place_axis(on, 1, lanes_all(l->origin[1]), on->origin.y, on->direction.y);
    place_axis(on, 2, lanes_all(l->origin[2]), on->origin.z, on->direction.z);
}

/* Rays with infinities or NaNs among what boxes are met by go by themselves: intervals cannot hold them. */
static uint32_t finite_rays(const packet *p, const placed_rays *on)
{
    const lanes_float most = lanes_all(3e38f);
    uint32_t finite = lanes_bits(lanes_at_most(lanes_size(p->tmin), most));
    for (int axis = 0; axis < 3; axis++)
        finite &= lanes_bits(lanes_at_most(lanes_size(on->inverse[axis]), most)) &
                  lanes_bits(lanes_at_most(lanes_size(on->shift[axis]), most));
    return finite;
}

/* Whether all rays go the same way along each axis. */
static bool agree(const placed_rays *on, uint32_t rays)
{
    bool all = true;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t backward = lanes_bits(on->backward[axis]) & rays;
        all = all && (backward == 0 || backward == rays);
    }
    return all;
}

/* Rays whose direction is near that of ray k and has the same signs. */
static uint32_t along(const placed_rays *on, const x86_rays *x, uint32_t rays, uint32_t k)
{
    const float(*d)[X86_LANES_MOST] = x->ray + RAY_DIRECTION;
    vec3 a = on->direction, b = {lanes_all(d[0][k]), lanes_all(d[1][k]), lanes_all(d[2][k])};
    lanes_float c = dot3(a, b),
                least = lanes_mul(lanes_mul(dot3(a, a), dot3(b, b)), lanes_all(NEAR_COSINE * NEAR_COSINE));
    rays &= lanes_bits(lanes_less(lanes_all(0), c)) & lanes_bits(lanes_less(least, lanes_mul(c, c)));
    for (int axis = 0; axis < 3; axis++) {
        uint32_t backward = lanes_bits(on->backward[axis]);
        rays &= backward >> k & 1 ? backward : ~backward;
    }
    return rays;
}

/* The largest of a few bundles among the rays. Lanes begin new paths while others are on their way, so rays
 * of the camera come together with such as go all ways. */
static uint32_t choose_bundle(const placed_rays *on, const x86_rays *x, uint32_t rays)
{
    enum { TRIES = 3 };
    uint32_t best = 0, rest = rays;
    for (int k = 0; k < TRIES && __builtin_popcount(rest) > __builtin_popcount(best); k++) {
        uint32_t ray = (uint32_t)__builtin_ctz(rest), bundle = along(on, x, rays, ray);
        rest &= ~bundle & ~(1u << ray);
        best = __builtin_popcount(bundle) > __builtin_popcount(best) ? bundle : best;
    }
    return __builtin_popcount(best) > FEW ? best : 0;
}

static void bound_rays(placed_rays *on, uint32_t rays)
{
    for (int axis = 0; axis < 3; axis++) {
        uint32_t k = (uint32_t)axis, swap = lanes_bits(on->backward[axis]) & rays ? 3 * WIDE : 0;
        on->near[axis] = WIDE * k + swap, on->far[axis] = WIDE * (k + 3) - swap;
        on->least_inverse[axis] = lanes_least(rays, on->inverse[axis]);
        on->most_inverse[axis] = lanes_most(rays, on->inverse[axis]);
        on->least_shift[axis] = lanes_least(rays, on->shift[axis]);
        on->most_shift[axis] = lanes_most(rays, on->shift[axis]);
    }
}

/* The rays of the packet have become others. */
static void bound_distances(packet *p)
{
    p->tmin_least = lanes_least(p->active, p->tmin);
    p->t_most = lanes_most(p->active, p->t);
}

/* ---- boxes ---- */

#define PLANE(side, axis, bound)                                                                             \
    _mm256_fmadd_ps(_mm256_load_ps(n->least[0] + on->side[axis]), _mm256_set1_ps(on->bound##_inverse[axis]), \
                    _mm256_set1_ps(on->bound##_shift[axis]))

/* Children that some ray of the interval may meet, and where. */
static inline uint32_t meet_interval(const packet *p, const wide_node *n, float enter[WIDE])
{
    const placed_rays *on = p->on;
    __m256 first = _mm256_max_ps(_mm256_max_ps(PLANE(near, 0, least), PLANE(near, 1, least)),
                                 _mm256_max_ps(PLANE(near, 2, least), _mm256_set1_ps(p->tmin_least)));
    __m256 last = _mm256_min_ps(_mm256_min_ps(PLANE(far, 0, most), PLANE(far, 1, most)),
                                _mm256_min_ps(PLANE(far, 2, most), _mm256_set1_ps(p->t_most)));
    last = _mm256_mul_ps(last, _mm256_set1_ps(EXIT_SLACK));
    _mm256_storeu_ps(enter, first);
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(first, last, _CMP_LE_OQ));
}

#undef PLANE

static inline lanes_float plane(const placed_rays *on, const wide_node *n, uint32_t side, uint32_t k,
                                int axis)
{
    const float *planes = n->least[0]; /* of all sides */
    return lanes_fma(lanes_all(planes[side + k]), on->inverse[axis], on->shift[axis]);
}

/* The rays that meet child k, and where. */
static inline uint32_t meet_box(const packet *p, const wide_node *n, uint32_t k, lanes_float *enter)
{
    const placed_rays *on = p->on;
    lanes_float x = plane(on, n, on->near[0], k, 0), y = plane(on, n, on->near[1], k, 1),
                z = plane(on, n, on->near[2], k, 2);
    lanes_float first = lanes_max(lanes_max(x, y), lanes_max(z, p->tmin));
    x = plane(on, n, on->far[0], k, 0), y = plane(on, n, on->far[1], k, 1),
    z = plane(on, n, on->far[2], k, 2);
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

typedef struct hits {
    lanes_float t, u, v;
} hits;

/* Rays meet an entry. Takes the hits that come before the nearest so far, as comes_first in rays.c says;
 * returns their rays. */
static inline uint32_t take_hits(packet *p, uint32_t rays, hits at, uint32_t number)
{
    lanes_int entry = lanes_all_int(number), record = lanes_all_int(p->h->levels.data[p->on->level].record);
    uint32_t same_t = lanes_bits(lanes_equal(at.t, p->t)),
             same_entry = lanes_bits(lanes_equal_int(entry, p->entry)),
             first_entry = lanes_bits(lanes_less_int(entry, p->entry)),
             first_record = lanes_bits(lanes_less_int(record, p->record));
    if (p->next)
        rays &= lanes_bits(lanes_less(p->least, at.t)) |
                (lanes_bits(lanes_equal(at.t, p->least)) & lanes_bits(lanes_less_int(p->after, entry)));
    rays &= lanes_bits(lanes_less(at.t, p->t)) | (same_t & (first_entry | (same_entry & first_record)));
    lanes_mask hit = lanes_of_bits(rays);
    p->t = lanes_choose(hit, at.t, p->t), p->u = lanes_choose(hit, at.u, p->u);
    p->v = lanes_choose(hit, at.v, p->v);
    p->entry = lanes_choose_int(hit, entry, p->entry), p->record = lanes_choose_int(hit, record, p->record);
    return rays;
}

/* Rays have hits: those that want no more end. */
static inline void end_rays(packet *p, uint32_t hit)
{
    if (p->any)
        p->active &= ~hit;
    if (hit && p->active)
        p->t_most = lanes_most(p->active, p->t);
}

/* triangle_intersect of render/shape/mesh.c: triangle k and all rays. */
static inline uint32_t visit_triangle(packet *p, const wide_block *b, uint32_t k, uint32_t rays)
{
    const lanes_float zero = lanes_all(0), one = lanes_all(1);
    vec3 e1 = corner(b->e1, k), e2 = corner(b->e2, k), d = p->on->direction;
    vec3 c = cross3(d, e2), s = sub3(p->on->origin, corner(b->v0, k)), q = cross3(s, e1);
    lanes_float inverse = lanes_div(one, dot3(e1, c));
    lanes_float u = lanes_mul(dot3(s, c), inverse), v = lanes_mul(dot3(d, q), inverse),
                at = lanes_mul(dot3(e2, q), inverse);
    rays &= lanes_bits(lanes_at_most(zero, u)) & lanes_bits(lanes_at_most(zero, v)) &
            lanes_bits(lanes_at_most(lanes_add(u, v), one)) & lanes_bits(lanes_less(p->tmin, at));
    if (!rays)
        return 0;
    return take_hits(p, rays, (hits){at, u, v}, b->first + k);
}

static inline void visit_block(packet *p, const wide_block *b, uint32_t rays)
{
    uint32_t hit = 0;
    for (uint32_t k = 0; k < b->count; k++)
        if (!(b->others >> k & 1))
            hit |= visit_triangle(p, b, k, p->any ? rays & ~hit : rays);
    end_rays(p, hit);
}

/* ---- candidates ---- */

static void store_rows(float (*rows)[X86_LANES_MOST], vec3 v)
{
    lanes_store(rows[0], v.x), lanes_store(rows[1], v.y), lanes_store(rows[2], v.z);
}

/* The next candidate of the block, for the rays that still meet it. Returns whether there is one. */
static bool offer_candidate(packet *p)
{
    x86_rays *x = &p->r->shared;
    uint32_t rays = p->meeting & p->active;
    if (!rays || !p->others)
        return false;
    uint32_t word = p->h->entries + BVH_ENTRY_WORDS * (p->block->first + (uint32_t)__builtin_ctz(p->others));
    p->others &= p->others - 1;
    lanes_store_int(x->data, lanes_all_int(word));
    lanes_store_int(x->kind, lanes_all_int(p->h->words[word + BVH_ENTRY_KIND]));
    store_rows(x->candidate + RAY_ORIGIN, p->on->origin);
    store_rows(x->candidate + RAY_DIRECTION, p->on->direction);
    lanes_store(x->candidate[RAY_TMIN], p->tmin), lanes_store(x->candidate[RAY_TMAX], lanes_after(p->t));
    lanes_store_int(x->has_candidate,
                    lanes_choose_int(lanes_of_bits(rays), lanes_all_int(~0u), lanes_all_int(0)));
    p->r->lanes = rays;
    return true;
}

/* What the kernel found of the candidate. */
static void take_found(packet *p)
{
    const x86_rays *x = &p->r->shared;
    hits at = {lanes_load(x->found[0]), lanes_load(x->found[1]), lanes_load(x->found[2])};
    uint32_t rays = p->r->lanes & lanes_bits(lanes_less(at.t, lanes_load(x->candidate[RAY_TMAX]))),
             entry = (x->data[0] - p->h->entries) / BVH_ENTRY_WORDS;
    end_rays(p, take_hits(p, rays, at, entry));
}

/* ---- traversal ---- */

static void load_hits(packet *p)
{
    const x86_rays *x = &p->r->shared;
    p->t = lanes_load((const float *)x->hit[HIT_T]), p->entry = lanes_load_int(x->hit[HIT_ENTRY]);
    p->u = lanes_load((const float *)x->hit[HIT_U]), p->v = lanes_load((const float *)x->hit[HIT_V]);
    p->record = lanes_load_int(x->hit[HIT_LEVEL]);
}

static void store_hits(const packet *p, lanes_float t)
{
    x86_rays *x = &p->r->shared;
    lanes_store((float *)x->hit[HIT_T], t), lanes_store_int(x->hit[HIT_ENTRY], p->entry);
    lanes_store((float *)x->hit[HIT_U], p->u), lanes_store((float *)x->hit[HIT_V], p->v);
    lanes_store_int(x->hit[HIT_LEVEL], p->record);
}

/* Rays that go on by themselves: through triangles at once, with the rest when the packet has ended. */
static void separate(packet *p, const packet_waiting *w, uint32_t rays)
{
    store_hits(p, p->t);
    p->active &= ~rays_trace_few(p->r, rays, p->on->level, w->reference, w->t);
    for (; rays; rays &= rays - 1)
        p->full = p->full || p->r->left_count[__builtin_ctz(rays)] >= LEFT_MOST;
    load_hits(p);
}

static void leave(packet *p, const packet_waiting *w, uint32_t rays)
{
    for (; rays; rays &= rays - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(rays);
        rays_leave(p->r, k, p->on->level, (waiting){w->reference, w->t[k]});
        p->full = p->full || p->r->left_count[k] >= LEFT_MOST;
    }
}

/* The rays go through a level, and the others wait. w, whose place on the stack is free, is where they come
 * back. */
static void enter_level(packet *p, packet_waiting *w, uint32_t rays)
{
    placed_rays *in = &p->inner;
    uint32_t level = w->reference & WIDE_NUMBER;
    place_rays(p, level, in);
    uint32_t together = rays & finite_rays(p, in);
    if (__builtin_popcount(together) <= FEW || !agree(in, together))
        together = 0;
    leave(p, w, rays & ~together);
    if (!together)
        return;
    packet_waiting *root = w + 1;
    memcpy(root->t, w->t, sizeof w->t);
    root->reference = p->h->levels.data[level].root;
    w->reference = WIDE_BACK;
    p->top += 2;
    p->outside = p->active & ~together, p->active = together, p->on = in;
    bound_rays(in, together);
    bound_distances(p);
}

static void leave_level(packet *p)
{
    while (p->stack[--p->top].reference != WIDE_BACK)
        ;
    p->active |= p->outside, p->outside = 0, p->on = &p->outer;
    if (p->active)
        bound_distances(p);
}

/* Returns whether rays have come to a candidate. */
static bool visit_mixed(packet *p, packet_waiting *w, uint32_t rays)
{
    if ((uint32_t)__builtin_popcount(rays) <= FEW) {
        leave(p, w, rays);
        return false;
    }
    p->block = &p->h->blocks[w->reference & WIDE_NUMBER];
    p->others = p->block->others, p->meeting = rays;
    visit_block(p, p->block, rays);
    return offer_candidate(p);
}

/* Returns whether rays have come to a candidate. */
static bool visit(packet *p, packet_waiting *w, uint32_t rays)
{
    uint32_t reference = w->reference;
    if (p->full)
        leave(p, w, rays);
    else if (reference >= WIDE_LEVEL)
        enter_level(p, w, rays);
    else if (!(reference & WIDE_BLOCK) && (uint32_t)__builtin_popcount(rays) <= FEW)
        separate(p, w, rays);
    else if (!(reference & WIDE_BLOCK))
        visit_node(p, &p->h->nodes[reference]);
    else if (reference & WIDE_MIXED)
        return visit_mixed(p, w, rays);
    else
        visit_block(p, &p->h->blocks[reference & WIDE_NUMBER], rays);
    return false;
}

/* Goes on to the end (false), or to a candidate (true). */
static bool proceed(packet *p)
{
    while (p->top > 0) {
        packet_waiting *w = &p->stack[p->top - 1];
        if (!p->active || w->reference == WIDE_BACK) {
            if (p->on == &p->outer)
                return false;
            leave_level(p);
            continue;
        }
        p->top--;
        lanes_mask met = lanes_at_most(lanes_load(w->t), lanes_mul(p->t, lanes_all(EXIT_SLACK)));
        uint32_t rays = lanes_bits(met) & p->active;
        if (rays && w->reference != WIDE_NONE && visit(p, w, rays))
            return true;
    }
    return false;
}

/* float_before in rays.c. */
static lanes_float before(lanes_float v)
{
    return lanes_choose(lanes_less(lanes_all(0), v), lanes_before(v), lanes_all(0));
}

/* The rays as the kernel wants them. A bundle of them sets out; the others are left the root. */
static void set_out(packet *p, uint32_t lanes)
{
    const x86_rays *x = &p->r->shared;
    p->origin = load_rows(x, RAY_ORIGIN), p->direction = load_rows(x, RAY_DIRECTION);
    p->least = lanes_load(x->ray[RAY_TMIN]), p->most = lanes_load(x->ray[RAY_TMAX]);
    p->after = lanes_load_int(x->after);
    p->tmin = p->next ? before(p->least) : p->least, p->t = before(p->most);
    p->u = p->v = lanes_all(0), p->entry = lanes_all_int(BVH_NONE);
    p->record = lanes_all_int(p->h->levels.data[0].record);
    place_rays(p, 0, &p->outer);
    p->on = &p->outer;
    p->active = choose_bundle(&p->outer, x, lanes & finite_rays(p, &p->outer));
    p->alone = lanes & ~p->active;
    p->stack[0].reference = p->h->levels.data[0].root;
    lanes_store(p->stack[0].t, lanes_all(-INFINITY));
    leave(p, &p->stack[0], p->alone);
    if (!p->active)
        return;
    bound_rays(&p->outer, p->active);
    bound_distances(p);
    p->top = 1;
}

bool PACKET_TRACE(native_rays *r, uint32_t lanes)
{
    packet *p = r->packet;
    if (lanes) {
        memset(r->left_count, 0, sizeof r->left_count), memset(r->left_level, 0, sizeof r->left_level);
        p->r = r, p->h = r->hierarchy, p->stack = r->packet_stack;
        p->any = r->want == X86_RAY_ANY, p->next = r->want == X86_RAY_NEXT;
        p->full = false, p->outside = 0, p->top = 0;
        set_out(p, lanes);
    } else {
        take_found(p);
        if (offer_candidate(p))
            return true;
    }
    if (proceed(p))
        return true;
    lanes_mask none = lanes_equal_int(p->entry, lanes_all_int(BVH_NONE));
    store_hits(p, lanes_choose(none, p->most, p->t));
    r->left = 0;
    for (uint32_t k = 0; k < LANES; k++)
        r->left |= (uint32_t)(r->left_count[k] > 0) << k;
    r->left &= p->active | p->alone;
    return false;
}
