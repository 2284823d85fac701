/* SPDX-License-Identifier: BSD-3-Clause
 * Chains of rays that move with parameters, backpropagated from their first vertex to their last (PRB,
 * section 4.2 and listing 3; docs/theory/attached_replay.md). It is the other order than that of
 * attached_replay.c: linear in the length of a chain, whatever the length, but it divides by Jacobians.
 *
 * A ray is taken as a line, with four coordinates (struct line_frame). With G_i the derivative of the loss by
 * the line that leads to vertex i, a_i that of the vertex's own terms, and J_i the Jacobian of the next line,
 *
 *     G_i = a_i + G_(i+1) J_i .
 *
 * In phase 1 a lane walks each chain twice.
 *
 *   FORTH  carries the product of the Jacobians, and sums up the derivative by the chain's first line.
 *   AGAIN  begins with that derivative, and solves the equation for G_(i+1) at each vertex. This is the seed
 *          with which the vertex is backpropagated.
 *
 * A ray that was sampled attached has two numbers more, which the next ray does not depend on: its density
 * and a shift of its origin along it. They change the MIS weight of the light that it meets, and nothing
 * else. So each vertex meets what the next one will (weigh_ahead), and counts their derivatives as its own.
 *
 * PRB carries both through phase 0, by channel and from the camera on, since its chains are whole paths. Here
 * a chain ends at a vertex that is detached, and L is known in phase 1, so four numbers do.
 *
 * A vertex whose outgoing line does not depend on the incoming one has a singular Jacobian. Noise of mean 0
 * on the diagonal makes it regular: render_scene.regularization times a random sign. Both walks have the same
 * noise, so the mean of the gradient stays. Where the equation has no finite solution all the same, the rest
 * of the chain has no derivative by its lines, and the drop is counted by depth (STATUS_SINGULAR). */
#include "render/integrator/kernels/replay.h"
#include "render/integrator/motion/attached_vertex.h"
#include "spirv_gen/ad/ad.h"

enum inversion_mode { FORTH, AGAIN };
enum { N = LINE_NUMBERS, PDF = 6 }; /* PDF: place of the density among a ray's numbers (walk_ray) */

/* No vertex has these blocks of random numbers: that of depth k is this less k. */
static const uint32_t noise_block = 0xFFFFFEu;

/* ---- state ---- */

static void state_inversion(walk *w, loop_state *s, replay_state *p)
{
    replay_inversion *c = &p->inversion;
    state_position(w, s, &c->from);
    state_throughput(w, s, &c->b);
    state_sums(s, &w->t, &c->sums);
    state_refs(s, c->product, N * N), state_refs(s, c->line, N);
    state_ref(s, &c->mode), state_ref(s, &c->lost), state_ref(s, &c->left);
}

/* Where `when`: no vertex of the chain has been walked. */
static void forget(walk *w, replay_inversion *c, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    for (uint32_t k = 0; k < N * N; k++)
        c->product[k] = ir_select(f, when, t_f32(t, k % (N + 1) == 0 ? 1 : 0), c->product[k]);
    for (uint32_t k = 0; k < N; k++)
        c->line[k] = ir_select(f, when, t_f32(t, 0), c->line[k]);
    c->lost = ir_and(f, c->lost, ir_not(f, when));
}

static void start_inversion(walk *w, replay_state *p, kept_rows *rows)
{
    (void)rows;
    tracer *t = &w->t;
    ir_ref none = t_u32(t, 0), no = ir_bool(t->f, false);
    replay_inversion c = {
        .from = walk_before(w, none),
        .b = throughput_start(w),
        .sums = sums_start(t),
        .mode = t_u32(t, FORTH),
        .lost = no,
        .left = no,
    };
    for (uint32_t k = 0; k < N * N; k++)
        c.product[k] = t_f32(t, 0);
    for (uint32_t k = 0; k < N; k++)
        c.line[k] = t_f32(t, 0);
    p->inversion = c;
}

static ir_ref is(walk *w, const replay_state *p, enum inversion_mode mode)
{
    return ir_eq(w->t.f, p->inversion.mode, t_u32(&w->t, mode));
}

/* Where `when`: a chain begins at the path's position. Its sums are kept at its first vertex. */
static void begin_here(walk *w, replay_state *p, ir_ref when)
{
    replay_inversion *c = &p->inversion;
    c->from = position_select(w, when, p->at, c->from);
    c->b = throughput_select(w, when, &p->b, &c->b);
    forget(w, c, when);
}

static ir_ref inversion_begins(walk *w, const replay_state *p)
{
    return ir_and(w->t.f, walk_begins(w, &p->at), is(w, p, FORTH));
}

/* ---- lines ---- */

/* Coordinates of lines near the ray with direction d: a shift of its points and a turn of its direction, each
 * along two vectors across d. What shifts points along d moves no line. */
typedef struct line_frame {
    vec3 s, t;
} line_frame;

static line_frame frame_of(tracer *t, vec3 d)
{
    frame across = frame_around(t, v3_detach(t, d));
    return (line_frame){across.s, across.t};
}

/* The motion of the ray's numbers per unit of coordinate k. */
static void ray_of_unit(tracer *t, line_frame at, uint32_t k, ir_ref out[RAY_MOST])
{
    ir_ref zero = t_f32(t, 0);
    vec3 none = v3(zero, zero, zero), along = k % 2 ? at.t : at.s;
    vec3_put(k < 2 ? along : none, out), vec3_put(k < 2 ? none : along, out + 3);
    out[PDF] = zero;
}

/* Coordinate k of a motion of the ray's numbers. */
static ir_ref coordinate(tracer *t, line_frame at, uint32_t k, const ir_ref *motion)
{
    return v3_dot(t, k % 2 ? at.t : at.s, vec3_at(motion + (k < 2 ? 0 : 3)));
}

/* ---- what only the next vertex knows ---- */

/* Derivatives of the loss by what of a ray that was sampled attached is not its line: its density, and a
 * shift of its origin along it. The ray that goes on from its end does not depend on these. They change the
 * MIS weight of the light that it meets, and nothing else. */
typedef struct ray_weight {
    ir_ref by_pdf, by_shift;
} ray_weight;

/* Meets what the ray to `next` meets. b: the throughput there. Elsewhere than `when`: 0. */
static ray_weight weigh_ahead(walk *w, walk_position next, const throughput *b, color dL, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), numbers[RAY_MOST], unit[RAY_MOST], mis, by[2];
    if (!w->wants.hit_mis)
        return (ray_weight){zero, zero};
    ir_ref branch = ir_if(f, when);
    const uint32_t width = ray_pack(w, next.attached.now, numbers);
    walk_vertex x = {.hit_mis = zero};
    x.si = walk_meet(w, next, &x.met);
    w->motion->met(w, &x, &next);
    light_find_emission(w, &x, next);
    mis = x.hit_mis;
    w->motion->hit_mis(w, &x, &mis);
    color light = color_mul(t, color_mul(t, throughput_whole(w, b), dL), walk_radiance(w, x.hit, false));
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < width; i++)
            unit[i] = zero;
        if (k == 0)
            unit[PDF] = t_f32(t, 1);
        else
            vec3_put(next.d, unit);
        ad_forward(f, numbers, unit, width, &mis, &by[k], 1);
        by[k] = ir_mul(f, color_sum(t, light), by[k]);
        ir_ref sane = ir_and(f, x.hit.there, ir_lt(f, ir_abs(f, by[k]), t_f32(t, 1e30f)));
        by[k] = ir_select(f, sane, by[k], zero);
    }
    ir_else(f);
    ir_endif(f);
    return (ray_weight){ir_phi(f, branch, by[0], zero), ir_phi(f, branch, by[1], zero)};
}

/* ---- the vertex's Jacobians ---- */

typedef struct jacobians {
    ir_ref own[N];      /* a_i */
    ir_ref next[N * N]; /* J_i; rows: coordinates of the line that goes on */
} jacobians;

/* Random, of mean 0, on the diagonal. The same numbers in both walks. */
static void regularize(walk *w, ir_ref depth, ir_ref sample, jacobians *j)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    float size = w->plan->scene->regularization;
    if (size == 0)
        return;
    ir_ref block = ir_sub(f, t_u32(t, noise_block), depth);
    random4 r = random_block(t, w->pixel, sample, w->seed, w->stream, block);
    ir_ref noise = ir_select(f, ir_lt(f, r.u[0], t_f32(t, 0.5f)), t_f32(t, -size), t_f32(t, size));
    for (uint32_t k = 0; k < N; k++)
        j->next[k * (N + 1)] = ir_add(f, j->next[k * (N + 1)], noise);
}

/* In forward mode, a column for each coordinate of the line that leads here. ahead: of the ray that goes
 * on. */
static jacobians differentiate(walk *w, replay_state *p, const vertex_adjoint *of, const ray_weight *ahead)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref outputs[VERTEX_OUTPUTS_MOST + RAY_MOST], seeds[VERTEX_OUTPUTS_MOST],
        tangents[VERTEX_OUTPUTS_MOST + RAY_MOST];
    uint32_t count = adjoint_outputs(w, p, of, outputs, seeds);
    uint32_t width = w->motion->onward(w, of->v, outputs + count);
    ir_ref line[RAY_MOST], unit[RAY_MOST];
    BL_ASSERT(width == ray_width(w) && count <= VERTEX_OUTPUTS_MOST, "a ray of %u numbers", width);
    w->motion->inputs(w, &p->at, of->v, line);
    line_frame here = frame_of(t, p->at.d), behind = frame_of(t, of->v->next_d);
    jacobians j;
    for (uint32_t k = 0; k < N; k++) {
        ray_of_unit(t, here, k, unit);
        ad_forward(f, line, unit, width, outputs, tangents, count + width);
        j.own[k] = t_f32(t, 0);
        if (w->attaches) {
            ir_ref shift = v3_dot(t, of->v->next_d, vec3_at(tangents + count));
            j.own[k] = t_mad(t, ahead->by_pdf, tangents[count + PDF], ir_mul(f, ahead->by_shift, shift));
        }
        for (uint32_t i = 0; i < count; i++)
            j.own[k] = ir_add(
                f, j.own[k],
                ir_select(f, ir_eq(f, seeds[i], t_f32(t, 0)), t_f32(t, 0), ir_mul(f, seeds[i], tangents[i])));
        for (uint32_t r = 0; r < N; r++)
            j.next[r * N + k] = coordinate(t, behind, r, tangents + count);
    }
    regularize(w, p->at.depth, p->at.sample, &j);
    return j;
}

/* The same in a branch; elsewhere zeros. */
static jacobians differentiate_where(walk *w, replay_state *p, const vertex_adjoint *of,
                                     const ray_weight *ahead, ir_ref when)
{
    ir_func *f = w->t.f;
    ir_ref branch = ir_if(f, when), zero = t_f32(&w->t, 0);
    jacobians j = differentiate(w, p, of, ahead);
    ir_else(f);
    ir_endif(f);
    for (uint32_t k = 0; k < N; k++)
        j.own[k] = ir_phi(f, branch, j.own[k], zero);
    for (uint32_t k = 0; k < N * N; k++)
        j.next[k] = ir_phi(f, branch, j.next[k], zero);
    return j;
}

/* ---- linear algebra ---- */

/* The first `rows` rows of b, times c. */
static void multiply(tracer *t, const ir_ref *b, const ir_ref *c, uint32_t rows, ir_ref *out)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t k = 0; k < N; k++) {
            ir_ref sum = ir_mul(t->f, b[r * N], c[k]);
            for (uint32_t i = 1; i < N; i++)
                sum = t_mad(t, b[r * N + i], c[i * N + k], sum);
            out[r * N + k] = sum;
        }
}

/* Rows x and y trade places where `when`. */
static void swap_where(ir_func *f, ir_ref when, ir_ref *x, ir_ref *y, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        ir_ref old = x[k];
        x[k] = ir_select(f, when, y[k], x[k]), y[k] = ir_select(f, when, old, y[k]);
    }
}

/* x times the matrix is b: elimination with pivots. Where the matrix is singular, x is not finite. */
static void solve(tracer *t, const ir_ref *matrix, const ir_ref *b, ir_ref x[N])
{
    ir_func *f = t->f;
    ir_ref row[N][N + 1];
    for (uint32_t r = 0; r < N; r++) {
        for (uint32_t k = 0; k < N; k++)
            row[r][k] = matrix[k * N + r];
        row[r][N] = b[r];
    }
    for (uint32_t k = 0; k < N; k++) {
        for (uint32_t r = k + 1; r < N; r++)
            swap_where(f, ir_gt(f, ir_abs(f, row[r][k]), ir_abs(f, row[k][k])), row[k] + k, row[r] + k,
                       N + 1 - k);
        for (uint32_t r = k + 1; r < N; r++) {
            ir_ref share = ir_neg(f, ir_div(f, row[r][k], row[k][k]));
            for (uint32_t i = k + 1; i <= N; i++)
                row[r][i] = t_mad(t, share, row[k][i], row[r][i]);
        }
    }
    for (uint32_t k = N; k-- > 0;) {
        ir_ref left = row[k][N];
        for (uint32_t i = k + 1; i < N; i++)
            left = ir_sub(f, left, ir_mul(f, row[k][i], x[i]));
        x[k] = ir_div(f, left, row[k][k]);
    }
}

/* ---- one vertex ---- */

/* What this visit does. All bool. */
typedef struct inversion_step {
    ir_ref forth, again; /* phase 1: the first and the second walk of the chain */
    ir_ref first, last;  /* phase 1: it is at the chain's first, at its last vertex */
    ir_ref moves;        /* the line that leads here moves */
} inversion_step;

static inversion_step step_of(walk *w, const replay_state *p, const walk_vertex *v)
{
    ir_func *f = w->t.f;
    ir_ref again = is(w, p, AGAIN);
    return (inversion_step){
        .forth = ir_and(f, p->phase, ir_not(f, again)),
        .again = ir_and(f, p->phase, again),
        .first = ir_eq(f, p->at.depth, p->inversion.from.depth),
        .last = ir_and(f, p->phase, link_is(w, v->attached.onward, LINK_FIXED)),
        .moves = ir_not(f, link_is(w, v->attached.arrival.link, LINK_FIXED)),
    };
}

/* FORTH: adds the vertex to the derivative by the chain's first line. */
static void sum_up(walk *w, replay_inversion *c, const jacobians *j, ir_ref when)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref own[N], product[N * N];
    multiply(t, j->own, c->product, 1, own), multiply(t, j->next, c->product, N, product);
    for (uint32_t k = 0; k < N; k++)
        c->line[k] = ir_select(f, when, ir_add(f, c->line[k], own[k]), c->line[k]);
    for (uint32_t k = 0; k < N * N; k++)
        c->product[k] = ir_select(f, when, product[k], c->product[k]);
}

/* AGAIN: from the derivative by the line that leads here to that by the line that goes on. */
static void pass_on(walk *w, replay_inversion *c, const jacobians *j, ir_ref when, ir_ref depth)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    ir_ref behind[N], next[N], sane = ir_bool(f, true);
    for (uint32_t k = 0; k < N; k++)
        behind[k] = ir_sub(f, c->line[k], j->own[k]);
    solve(t, j->next, behind, next);
    for (uint32_t k = 0; k < N; k++)
        sane = ir_and(f, sane, ir_lt(f, ir_abs(f, next[k]), t_f32(t, 1e30f)));
    ir_ref fails = ir_and(f, ir_and(f, when, ir_not(f, c->lost)), ir_not(f, sane));
    kernel_count_at(w, fails,
                    ir_add(f, t_u32(t, STATUS_SINGULAR), ir_min(f, depth, t_u32(t, SINGULAR_DEPTHS - 1))));
    c->lost = ir_or(f, c->lost, fails);
    for (uint32_t k = 0; k < N; k++)
        c->line[k] = ir_select(f, when, ir_select(f, c->lost, t_f32(t, 0), next[k]), c->line[k]);
}

/* Backpropagates the vertex, with the derivative by the line that goes on as that of the ray. */
static void backpropagate(walk *w, replay_state *p, const vertex_adjoint *of, const ray_weight *ahead,
                          ir_ref last)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    line_frame behind = frame_of(t, of->v->next_d);
    const ir_ref *line = p->inversion.line;
    ir_ref none = t_f32(t, 0), g[N];
    for (uint32_t k = 0; k < N; k++)
        g[k] = ir_select(f, last, none, line[k]);
    vec3_put(v3_add(t, v3_scale(t, behind.s, g[0]), v3_scale(t, behind.t, g[1])), p->chain.ray);
    vec3_put(v3_add(t, v3_scale(t, behind.s, g[2]), v3_scale(t, behind.t, g[3])), p->chain.ray + 3);
    p->chain.ray[PDF] = ahead->by_pdf;
    vec3 shift = v3_scale(t, v3_detach(t, of->v->next_d), ahead->by_shift);
    if (w->attaches)
        vec3_put(v3_add(t, vec3_at(p->chain.ray), shift), p->chain.ray);
    arrivals arrived = arrivals_start(w, p, of->v);
    adjoint(w, p, of, &arrived);
}

/* After the vertex. Returns whether the sample goes on. */
static ir_ref schedule(walk *w, replay_state *p, const inversion_step *step, ir_ref alive)
{
    tracer *t = &w->t;
    ir_func *f = t->f;
    replay_inversion *c = &p->inversion;
    ir_ref turns = ir_and(f, step->last, ir_and(f, step->forth, ir_not(f, step->first)));
    ir_ref done = ir_and(f, step->last, ir_not(f, turns));
    ir_ref over = ir_and(f, ir_not(f, alive), ir_or(f, ir_not(f, p->phase), done));
    c->mode = ir_select(f, turns, t_u32(t, AGAIN), ir_select(f, done, t_u32(t, FORTH), c->mode));
    p->at = position_select(w, turns, c->from, p->at);
    p->b = throughput_select(w, turns, &c->b, &p->b);
    sums_set(t, &p->sums, turns, &c->sums);
    begin_here(w, p, done);
    return ir_not(f, over);
}

static ir_ref inversion_vertex(const walk *kernel, replay_state *p, film_value film_dL)
{
    BL_ASSERT(kernel->motion->chains && !kernel->volumetric && !kernel->polarized && !field_any(kernel),
              "lines in a walk with motion %s", kernel->motion->name);
    walk own = replay_walk(kernel, p), *w = &own;
    tracer *t = &w->t;
    ir_func *f = t->f;
    replay_inversion *c = &p->inversion;
    ir_ref depth = p->at.depth, hash = p->hash, seen = p->seen;
    walk_vertex v = walk_visit(w, p->at);
    contribution k = contribute(w, &v, &p->at, &p->b);
    throughput after = p->b;
    passage onward = throughput_pass(w, depth, &v, k.for_sample, &after);
    v.attached.onward = ir_select(f, onward.alive, v.attached.onward, t_u32(t, LINK_FIXED));
    inversion_step step = step_of(w, p, &v);
    sums_set(t, &c->sums, ir_and(f, step.forth, step.first), &p->sums);
    account(w, p, color_add(t, k.hit, k.light), p->phase);
    ir_ref alone = ir_and(f, step.first, step.last), on = ir_and(f, step.moves, ir_not(f, alone));
    vertex_adjoint of = {&v, &k, film_adjoint(w, &p->at, film_dL), ir_or(f, step.again, alone)};
    const walk_position next = walk_next(w, p->at, &v, onward.alive);
    const ray_weight ahead = weigh_ahead(
        w, next, &after, of.dL, ir_and(f, p->phase, ir_eq(f, v.attached.onward, t_u32(t, LINK_ATTACHED))));
    jacobians j = differentiate_where(
        w, p, &of, &ahead, ir_and(f, on, ir_or(f, step.forth, ir_and(f, step.again, ir_not(f, step.last)))));
    sum_up(w, c, &j, ir_and(f, on, step.forth));
    pass_on(w, c, &j, ir_and(f, ir_and(f, on, step.again), ir_not(f, step.last)), depth);
    backpropagate(w, p, &of, &ahead, step.last);
    c->left = ir_select(f, step.last, sums_residual(t, &p->sums), c->left);
    p->b = after;
    replay_note(w, p, &v, onward.alive);
    p->hash = ir_select(f, step.again, hash, p->hash), p->seen = ir_select(f, step.again, seen, p->seen);
    p->at = next;
    return schedule(w, p, &step, onward.alive);
}

static ir_ref inversion_left(walk *w, const replay_state *p)
{
    (void)w;
    return p->inversion.left;
}

const gradient_estimator attached_inversion = {
    .state = state_inversion,
    .start = start_inversion,
    .begins = inversion_begins,
    .begin = begin_here,
    .vertex = inversion_vertex,
    .left = inversion_left,
};
