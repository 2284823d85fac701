/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * How polarised light is replayed (docs/theory/polarized_replay.md), on paths that are made of matrices
 * alone: diffuse surfaces, metals, polarisers, retarders, with light at every vertex and at the end. What is
 * under test is the method: in constant memory and without inverting a matrix, it gives the derivatives of
 * the path written out, by every parameter, also behind filters that let nothing through. Interpreter, f64.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/polarization/polarization.h"
#include "spirv_gen/ad/ad.h"
#include "support/scene_cases.h"
#include "support/traced_gradient.h"

#include <math.h>
#include <string.h>

enum { VERTICES_MOST = 12, PARAMETERS = 4 /* of a vertex; the last is the light that it emits */ };
enum { VALUES_MOST = VERTICES_MOST * PARAMETERS };

typedef enum kind {
    DIFFUSE = 'd',
    METAL = 'm',
    POLARIZER = 'p',
    RETARDER = 'r',
    LEFT = 'l',
    RIGHT = 'R'
} kind;

/* A path: a letter a vertex, the numbers of all vertices, the derivative of the loss by its Stokes vector. */
typedef struct path {
    const char *vertices;
    double values[VALUES_MOST], loss[4];
} path;

/* ---- what a vertex does ---- */

/* Number k of vertex i; with derivatives or without. */
static ir_ref number(tracer *t, int i, int k)
{
    ir_ref at = t_u32(t, (uint32_t)(PARAMETERS * i + k));
    return t->differentiated ? ir_dload(t->f, TRACED_VALUES, at, at)
                             : ir_load(t->f, IR_F32, TRACED_VALUES, at);
}

/* The matrix of a vertex. Frames differ from vertex to vertex by an angle, which is its third number. */
static mueller vertex_matrix(tracer *t, const path *p, int i)
{
    ir_func *f = t->f;
    ir_ref x = number(t, i, 0), y = number(t, i, 1), angle = number(t, i, 2);
    mueller m;
    switch ((kind)p->vertices[i]) {
    case DIFFUSE:
        return mueller_depolarizer(x);
    case METAL:
        m = specular_reflection_conductor(t, ir_f32(f, 0.4f), x, y);
        break;
    case POLARIZER:
        m = mueller_linear_polarizer(t);
        m = mueller_scale(t, &m, x);
        break;
    case RETARDER:
        m = mueller_linear_retarder(t, x);
        break;
    default:
        m = mueller_circular_polarizer(t, ir_bool(f, p->vertices[i] == LEFT));
        m = mueller_scale(t, &m, x);
    }
    return mueller_turned(t, &m, angle);
}

static stokes emission(tracer *t, int i) { return (stokes){.s = {number(t, i, 3)}}; }

static ir_ref row_dot(tracer *t, const stokes *row, const stokes *s)
{
    ir_ref sum = t_f32(t, 0);
    for (int k = 0; k < 4; k++)
        if (!ir_is_none(row->s[k]) && !ir_is_none(s->s[k]))
            sum = t_mad(t, row->s[k], s->s[k], sum);
    return sum;
}

static stokes loss_row(tracer *t, const path *p)
{
    stokes row;
    for (int k = 0; k < 4; k++)
        row.s[k] = t_f32(t, (float)p->loss[k]);
    return row;
}

/* ---- the path written out ---- */

static void written_out(tracer *t, const path *p)
{
    int count = (int)strlen(p->vertices);
    stokes s = {0};
    t->differentiated = true;
    for (int i = count - 1; i >= 0; i--) {
        mueller m = vertex_matrix(t, p, i);
        stokes e = emission(t, i);
        s = mueller_apply(t, &m, &s);
        s.s[0] = ir_is_none(s.s[0]) ? e.s[0] : ir_add(t->f, s.s[0], e.s[0]);
    }
    stokes row = loss_row(t, p);
    ir_ref whole = row_dot(t, &row, &s), one = t_f32(t, 1);
    ad_backward(t->f, &whole, &one, 1, NULL, NULL, 0);
}

/* ---- replay ---- */

/* What is carried along a path, whatever its length. */
typedef struct carried {
    stokes row;   /* the loss's derivative by the light that arrives here */
    ir_ref zeros; /* f32: how many segments let nothing through */
    ir_ref L, M;  /* sums of what is still to come, weighed by the row: all, and what misses one zero */
} carried;

static carried start(tracer *t, const path *p)
{
    ir_ref zero = t_f32(t, 0);
    return (carried){loss_row(t, p), zero, zero, zero};
}

/* Adds the light of a vertex to the sums, or takes it from them. */
static void account(tracer *t, carried *c, int i, bool takes)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), light = ir_mul(f, c->row.s[0], number(t, i, 3));
    light = takes ? ir_neg(f, light) : light;
    c->L = ir_add(f, c->L, ir_select(f, ir_eq(f, c->zeros, zero), light, zero));
    c->M = ir_add(f, c->M, ir_select(f, ir_eq(f, c->zeros, t_f32(t, 1)), light, zero));
}

static bool ends_segment(const path *p, int i) { return p->vertices[i] == DIFFUSE; }

/* Past a vertex. Behind one that depolarises the row is one number, and where that is 0 it counts as 1. */
static void pass(tracer *t, const path *p, carried *c, int i)
{
    ir_func *f = t->f;
    mueller m = vertex_matrix(t, p, i);
    c->row = mueller_apply_row(t, &c->row, &m);
    if (!ends_segment(p, i))
        return;
    ir_ref one = t_f32(t, 1), dark = ir_eq(f, c->row.s[0], t_f32(t, 0));
    c->zeros = ir_add(f, c->zeros, ir_select(f, dark, one, t_f32(t, 0)));
    c->row = (stokes){.s = {ir_select(f, dark, one, c->row.s[0])}};
}

/* The light that comes to the end of a segment, of which only the intensity matters there. before: at its
 * beginning; after: behind it. */
static stokes light_behind(tracer *t, const carried *before, const carried *after)
{
    ir_func *f = t->f;
    ir_ref dark = ir_lt(f, before->zeros, after->zeros), clean = ir_eq(f, before->zeros, t_f32(t, 0));
    ir_ref light = ir_select(f, dark, after->M, ir_div(f, after->L, after->row.s[0]));
    return (stokes){.s = {ir_select(f, clean, light, t_f32(t, 0))}};
}

/* Backpropagates row * M' * s and the emission. */
static void backpropagate(tracer *t, const path *p, const carried *at, int i, const stokes *s)
{
    ir_func *f = t->f;
    tracer tracked = *t;
    tracked.differentiated = true;
    mueller m = vertex_matrix(&tracked, p, i);
    stokes out = mueller_apply(t, &m, s);
    ir_ref clean = ir_select(f, ir_eq(f, at->zeros, t_f32(t, 0)), t_f32(t, 1), t_f32(t, 0));
    ir_ref outputs[5], seeds[5];
    uint32_t count = 0;
    for (int k = 0; k < 4; k++)
        if (!ir_is_none(out.s[k]) && !ir_is_none(at->row.s[k]))
            outputs[count] = out.s[k], seeds[count++] = ir_mul(f, clean, at->row.s[k]);
    outputs[count] = number(&tracked, i, 3), seeds[count++] = ir_mul(f, clean, at->row.s[0]);
    ad_backward(f, outputs, seeds, count, NULL, NULL, 0);
}

/* One segment, from vertex `first` on: forth to its end, then back, with the light that arrives. The row at a
 * vertex is found by going forth once more. Returns the vertex behind the segment. */
static int replay_segment(tracer *t, const path *p, carried *c, int first)
{
    int count = (int)strlen(p->vertices), end = first;
    const carried before = *c;
    for (bool open = true; open && end < count; end++) {
        account(t, c, end, true);
        pass(t, p, c, end);
        open = !ends_segment(p, end);
    }
    bool closed = ends_segment(p, end - 1);
    stokes s = closed ? light_behind(t, &before, c) : (stokes){0};
    for (int i = end - 1; i >= first; i--) {
        carried at = before;
        for (int k = first; k < i; k++)
            pass(t, p, &at, k);
        backpropagate(t, p, &at, i, &s);
        mueller m = vertex_matrix(t, p, i);
        stokes e = emission(t, i);
        s = mueller_apply(t, &m, &s);
        s.s[0] = ir_is_none(s.s[0]) ? e.s[0] : ir_add(t->f, s.s[0], e.s[0]);
    }
    return end;
}

static void replayed(tracer *t, const path *p)
{
    int count = (int)strlen(p->vertices);
    carried c = start(t, p);
    for (int i = 0; i < count; i++)
        account(t, &c, i, false), pass(t, p, &c, i);
    carried again = start(t, p);
    again.L = c.L, again.M = c.M;
    for (int i = 0; i < count;)
        i = replay_segment(t, p, &again, i);
}

/* ---- running ---- */

static void gradient(const path *p, void (*body)(tracer *t, const path *p), double *result)
{
    tracer t = {.f = traced_gradient_create("path")};
    body(&t, p);
    traced_gradient_run(t.f, p->values, result, VALUES_MOST);
}

/* How many derivatives are not 0. */
static uint32_t compare(const path *p)
{
    double expected[VALUES_MOST], got[VALUES_MOST];
    uint32_t nonzero = 0;
    gradient(p, written_out, expected);
    gradient(p, replayed, got);
    for (int k = 0; k < VALUES_MOST; k++) {
        if (!(fabs(got[k] - expected[k]) <= 1e-12 * (1 + fabs(expected[k]))))
            fail_msg("%s, vertex %d, number %d: replayed %.15g, written out %.15g", p->vertices,
                     k / PARAMETERS, k % PARAMETERS, got[k], expected[k]);
        nonzero += expected[k] != 0;
    }
    return nonzero;
}

static path random_path(const char *vertices, uint32_t seed)
{
    path p = {.vertices = vertices};
    for (int k = 0; k < VALUES_MOST; k++)
        p.values[k] = (double)(float)(0.2 + 0.7 * scene_random(&seed));
    for (int k = 0; k < 4; k++)
        p.loss[k] = (double)(float)(2 * scene_random(&seed) - 1);
    return p;
}

/* ---- tests ---- */

static void replay_is_the_path_written_out(void **state)
{
    (void)state;
    static const struct {
        const char *vertices;
        uint32_t nonzero; /* so many derivatives are not 0 */
    } cases[] = {{"ddd", 5},           {"mdm", 7},           {"pmr", 8},          {"prpdmrd", 16},
                 {"mmmmd", 17},        {"dprmpd", 16},       {"rdrdrdr", 10},     {"pdpdpdp", 14},
                 {"mprmprmprmpr", 38}, {"dddddddddddd", 23}, {"lmRdprlmdmrp", 27}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (uint32_t seed = 1; seed < 4; seed++) {
            path p = random_path(cases[k].vertices, seed);
            uint32_t nonzero = compare(&p);
            if (nonzero != cases[k].nonzero)
                fail_msg("%s: %u derivatives are not 0", p.vertices, nonzero);
        }
}

/* Nothing passes: by a black surface, or by two filters that are crossed exactly. The derivatives by what
 * lies in that segment, or by the surface's albedo, are there all the same. */
static void what_lets_nothing_through(void **state)
{
    (void)state;
    static const struct {
        const char *vertices;
        int black; /* a diffuse vertex whose albedo is 0; -1: none */
    } cases[] = {{"ddd", 5},     {"pdmd", 1},    {"pdmdrd", 3},  {"lRd", -1},    {"mlRdm", -1}, {"lRdmd", -1},
                 {"dlRdpd", -1}, {"lRdlRd", -1}, {"lRdmdrd", 4}, {"lRmdpd", -1}, {"dlmdRd", -1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        path p = random_path(cases[k].vertices, 7 + (uint32_t)k);
        if (cases[k].black >= 0)
            p.values[PARAMETERS * cases[k].black] = 0;
        for (size_t i = 0; p.vertices[i]; i++) /* exactly: frames are not turned */
            if (p.vertices[i] == LEFT || p.vertices[i] == RIGHT)
                p.values[PARAMETERS * i + 2] = 0;
        assert_true(compare(&p) > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_is_the_path_written_out),
        cmocka_unit_test(what_lets_nothing_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
