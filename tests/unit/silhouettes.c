/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * What silhouettes are sampled from. Edges of meshes: how many there are, which are borders, that seams are
 * none, and that bad triangles neither add edges nor spoil probabilities. Cells: they leave nothing out.
 * Curves of other shapes, in the interpreter: points lie on the surface where it turns away from the
 * viewpoint, and their derivative is that of the points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "render/integrator/kernels/kernels.h"
#include "render/shape/silhouette.h"
#include "render/shape/silhouette_words.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdio.h>

static char *folder;

#define SCENE(shape)                                                                                         \
    "<scene version='3.0.0'><integrator type='path'/><sensor type='perspective'><film type='hdrfilm'>"       \
    "<integer name='width' value='4'/><integer name='height' value='4'/></film></sensor>" shape "</scene>"
#define OBJ                                                                                                  \
    SCENE("<shape type='obj' id='it'><string name='filename' value='edges.obj'/><boolean "                   \
          "name='face_normals' value='true'/></shape>")
#define TURNED_OBJ                                                                                           \
    SCENE("<shape type='obj' id='it'><string name='filename' value='edges.obj'/><boolean "                   \
          "name='face_normals' value='true'/><transform name='to_world'><rotate x='1' y='.3' z='.5' "        \
          "angle='40'/><translate value='.07,.1,.2'/></transform></shape>")

#define GRID                                                                                                 \
    SCENE("<shape type='sdfgrid' id='it'><string name='filename' value='ball.vol'/><transform "              \
          "name='to_world'><scale value='1.3,1,1.1'/><rotate x='1' angle='30'/><rotate y='1' angle='40'/>"   \
          "<translate value='-.8,-.3,.1'/></transform></shape><shape type='rectangle'><transform "           \
          "name='to_world'><scale value='9'/></transform></shape>")

typedef struct edge_case {
    const char *name, *scene, *parameter, *obj;
    uint32_t edges, borders;
} edge_case;
static const edge_case cases[] = {
    {"a cube, whose corners are three vertices each", SCENE("<shape type='cube' id='it'/>"), "it.to_world",
     NULL, 12, 0},
    {"a rectangle, without its diagonal", SCENE("<shape type='rectangle' id='it'/>"), "it.to_world", NULL, 4,
     4},
    {"a seam between two bent faces", OBJ, "it.to_world",
     "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 0 0\nv 0 1 0\nv 1 1 1\nf 1 2 3\nf 4 6 5\n", 5, 4},
    {"flat faces that vertices may bend", OBJ, "it.vertex_positions",
     "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n", 5, 4},
    {"three faces at one edge", OBJ, "it.to_world",
     "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 1\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 2 5\n", 7, 7},
    {"a face with two equal vertices, and one without area", OBJ, "it.to_world",
     "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 2 0 0\nf 1 2 3\nf 1 1 3\nf 1 2 4\n", 3, 3},
    {"faces that were lines before they were turned", TURNED_OBJ, "it.vertex_positions",
     "v 0 0 0\nv 1 0 0\nv 0 1 0\nv .3 0 0\nv 0 .7 0\nf 1 2 3\nf 1 4 2\nf 1 3 5\n", 3, 3},
};

static scene_eval *load(const edge_case *c)
{
    char path[512];
    snprintf(path, sizeof path, "%s/edges.obj", folder);
    FILE *f = c->obj ? fopen(path, "w") : NULL;
    if (c->obj) {
        assert_non_null(f);
        fputs(c->obj, f), fclose(f);
    }
    return scene_eval_create(c->scene, folder, &c->parameter, 1);
}

static double real_at(const plan *p, uint32_t word)
{
    float v;
    memcpy(&v, p->words.data + word, sizeof v);
    return (double)v;
}

static void edges_of_meshes(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const edge_case *c = &cases[k];
        scene_eval *e = load(c);
        const uint32_t *w = e->plan->words.data, table = w[HEADER_SILHOUETTES];
        assert_int_not_equal(table, 0);
        assert_int_equal(w[table + SILHOUETTE_COUNT], 1);
        const uint32_t *carrier = w + w[table + SILHOUETTE_CARRIERS];
        uint32_t count = carrier[CARRIER_EDGE_COUNT], borders = 0;
        double sum = 0;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t edge = carrier[CARRIER_EDGES] + i * EDGE_WORDS;
            double probability = real_at(e->plan, edge + EDGE_PROBABILITY);
            assert_true(probability > 0 && probability <= 1);
            borders += w[edge + EDGE_OTHER] == PLAN_NONE, sum += probability;
        }
        if (count != c->edges || borders != c->borders)
            fail_msg("%s: %u edges, %u borders; expected %u and %u", c->name, count, borders, c->edges,
                     c->borders);
        assert_true(fabs(sum - 1) < 1e-6);
        assert_true(real_at(e->plan, carrier[CARRIER_CDF] + count - 1) == 1);
        scene_eval_destroy(e);
    }
}

/* ---- cells ---- */

/* Cells follow each other without a gap: whole carriers, or edges of one, or stretches of one edge. */
static void check_cells(const plan *p, const char *name)
{
    const uint32_t *w = p->words.data, head = w[HEADER_SILHOUETTES], carriers = w[head + SILHOUETTE_COUNT],
                   count = w[head + SILHOUETTE_CELL_COUNT];
    uint32_t carrier = 0, edge = 0;
    double along = 0, sum = 0;
    assert_int_equal(count, p->edge_cells);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = w[head + SILHOUETTE_CELLS] + k * CELL_WORDS,
                 edges = w[w[head + SILHOUETTE_CARRIERS] + carrier * CARRIER_WORDS + CARRIER_EDGE_COUNT];
        double size = real_at(p, at + CELL_SIZE), probability = real_at(p, at + CELL_PROBABILITY);
        bool whole = w[at + CELL_EDGE_LAST] == PLAN_NONE;
        if (w[at + CELL_CARRIER_FIRST] != carrier || w[at + CELL_EDGE_FIRST] != edge ||
            fabs(real_at(p, at + CELL_FROM) - along) > 1e-6)
            fail_msg("%s: cell %u of %u leaves something out", name, k, count);
        assert_true(probability > 0 && probability < 1.01 / 256);
        sum += probability, along += size;
        if (along < 1 - 1e-4)
            continue;
        edge = whole ? edges : w[at + CELL_EDGE_LAST] + 1, along = 0;
        if (whole || edge == edges)
            carrier = w[at + CELL_CARRIER_LAST] + 1, edge = 0;
    }
    assert_int_equal(carrier, carriers);
    assert_true(fabs(sum - 1) < 1e-4);
}

static void check_cells_of(const char *scene, const char *parameter, const char *name)
{
    scene_eval *e = scene_eval_create(scene, folder, &parameter, 1);
    check_cells(e->plan, name);
    scene_eval_destroy(e);
}

static void cells_are_all_of_the_curves(void **state)
{
    (void)state;
    enum { BALLS = 1500, SIDE = 40 };
    check_cells_of(cases[0].scene, cases[0].parameter, cases[0].name);
    text many = {0};
    for (int k = 0; k < BALLS; k++)
        text_add(&many, "<shape type='sphere' id='it%d'><float name='radius' value='%g'/></shape>", k,
                 k % 7 == 0 ? 3 : .1);
    text scene = {0};
    text_add(&scene, SCENE("%s"), many.data);
    check_cells_of(scene.data, "it7.to_world", "many shapes, one of which moves");
    text_free(&many), text_free(&scene);
    char path[512];
    snprintf(path, sizeof path, "%s/edges.obj", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int k = 0; k < SIDE * SIDE; k++)
        fprintf(f, "v %d %d %d\n", k / SIDE, k % SIDE, k * k % 5);
    for (int k = 0; k < SIDE * (SIDE - 1); k++)
        if (k % SIDE + 1 < SIDE)
            fprintf(f, "f %d %d %d\nf %d %d %d\n", k + 1, k + 2, k + SIDE + 1, k + 2, k + SIDE + 2,
                    k + SIDE + 1);
    fclose(f);
    check_cells_of(OBJ, "it.to_world", "a mesh with more edges than cells");
    check_cells_of(GRID, "it.to_world", "a grid, some of whose pieces are longer than a cell");
}

/* ---- curves ---- */

/* viewpoint 3, along, piece -> there, closed, p 3, along 3, out 3 */
enum { INPUTS = 5, OUTPUTS = 11 };
static ir_func *trace_point(ir_module *m, const plan *p)
{
    tracer t = plan_tracer(p, ir_func_create(m, "point"));
    ir_ref in[INPUTS];
    for (int k = 0; k < INPUTS; k++)
        in[k] = ir_param(t.f, k < 4 ? IR_F32 : IR_U32);
    ir_ref table = t_word(&t, t_u32(&t, 0), HEADER_SILHOUETTES);
    silhouette_place at = {t_word(&t, table, SILHOUETTE_CARRIERS), in[4], in[3]};
    silhouette_point s = silhouette_at(&t, &at, vec3_at(in), false);
    ir_ref one = t_f32(&t, 1), zero = t_f32(&t, 0);
    ir_return(t.f,
              (ir_ref[]){ir_select(t.f, s.there, one, zero), ir_select(t.f, s.closed, one, zero), s.p.x,
                         s.p.y, s.p.z, s.along.x, s.along.y, s.along.z, s.out.x, s.out.y, s.out.z},
              OUTPUTS);
    return t.f;
}

static void evaluate_piece(const plan *p, const ir_func *f, uint32_t piece, const double in[4],
                           double out[OUTPUTS])
{
    ir_value args[INPUTS] = {[4].u = piece}, got[OUTPUTS];
    ir_eval_buffer buffers[BUFFER_COUNT];
    uint32_t nothing = 0;
    bl_error err = {0};
    for (int k = 0; k < BUFFER_COUNT; k++)
        buffers[k] = (ir_eval_buffer){.words = &nothing, .count = 1};
    buffers[BUFFER_SCENE] = (ir_eval_buffer){.words = p->words.data, .count = p->words.count};
    for (int k = 0; k < 4; k++)
        args[k].f = in[k];
    if (ir_eval(f, args, got, &(ir_eval_env){.buffers = buffers, .buffer_count = BUFFER_COUNT, .f64 = true},
                &err) != BL_OK)
        fail_msg("%s", err.text);
    for (int k = 0; k < OUTPUTS; k++)
        out[k] = got[k].f;
}

static void evaluate(const plan *p, const ir_func *f, const double in[4], double out[OUTPUTS])
{
    evaluate_piece(p, f, 0, in, out);
}

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

typedef struct curve_case {
    const char *scene;
    bool end_is_border; /* from along = .5 on the points lie on a border, where nothing is tangent */
    bool open;          /* the point that is tried as one inside is not inside */
} curve_case;
static const curve_case curves[] = {
    {SCENE("<shape type='sphere' id='it'><float name='radius' value='.7'/><transform name='to_world'>"
           "<translate value='.2,.1,-.3'/></transform></shape>"),
     false, false},
    {SCENE("<shape type='cylinder' id='it'><float name='radius' value='.4'/><transform name='to_world'>"
           "<rotate x='1' angle='40'/><translate value='.2,.1,-.3'/></transform></shape>"),
     true, false},
    {SCENE("<shape type='bsplinecurve' id='it'><string name='filename' value='bow.curves'/></shape>"), false,
     true},
};

static void curves_touch_the_surface(void **state)
{
    (void)state;
    const char *parameter = "it.to_world";
    for (size_t k = 0; k < sizeof curves / sizeof *curves; k++) {
        scene_eval *e = scene_eval_create(curves[k].scene, folder, &parameter, 1);
        ir_module *m = kernel_module(e->plan);
        ir_func *f = trace_point(m, e->plan);
        for (int i = 0; i < 20; i++) {
            const double in[4] = {2 + 0.1 * i, -1.5, 1 - 0.2 * i, (i + 0.37) / 20}, h = 1e-6;
            double at[OUTPUTS], less[OUTPUTS], more[OUTPUTS], moved[4] = {in[0], in[1], in[2], in[3] - h},
                                                              to[3];
            evaluate(e->plan, f, in, at), evaluate(e->plan, f, moved, less);
            moved[3] = in[3] + h, evaluate(e->plan, f, moved, more);
            assert_true(at[0] == 1 && at[1] == 1);
            for (int j = 0; j < 3; j++) {
                assert_true(fabs((more[2 + j] - less[2 + j]) / (2 * h) - at[5 + j]) < 1e-4);
                to[j] = at[2 + j] - in[j];
            }
            if (!(curves[k].end_is_border && in[3] >= 0.5))
                assert_true(fabs(dot(at + 8, to)) < 1e-5 * sqrt(dot(at + 8, at + 8) * dot(to, to)));
        }
        const double inside[4] = {.2, .1, -.3, .1};
        double at[OUTPUTS];
        evaluate(e->plan, f, inside, at);
        assert_true(at[0] == 0 || curves[k].open); /* nothing turns away from a viewpoint inside */
        ir_module_destroy(m);
        scene_eval_destroy(e);
    }
}

/* Silhouettes of a grid inside of voxels lie where the surface turns away. */
static void grids_turn_away(void **state)
{
    (void)state;
    enum { STEPS = 30, PIECES_LEAST = 200, POINTS_LEAST = 60 };
    const char *parameter = "it.to_world";
    scene_eval *e = scene_eval_create(GRID, folder, &parameter, 1);
    ir_module *m = kernel_module(e->plan);
    ir_func *f = trace_point(m, e->plan);
    const uint32_t *words = e->plan->words.data,
                   *carrier = words + words[words[HEADER_SILHOUETTES] + SILHOUETTE_CARRIERS];
    double at[OUTPUTS], to[3];
    uint32_t inside = 0;
    assert_true(carrier[CARRIER_EDGE_COUNT] > PIECES_LEAST);
    for (uint32_t piece = 0; piece < carrier[CARRIER_EDGE_COUNT]; piece++)
        for (int i = 0; i < STEPS; i++) {
            const double in[4] = {0, 0, 4, (i + 0.5) / STEPS};
            evaluate_piece(e->plan, f, piece, in, at);
            if (at[0] != 1 || words[carrier[CARRIER_EDGES] + piece * EDGE_WORDS + 3] != 0)
                continue;
            for (int j = 0; j < 3; j++)
                to[j] = at[2 + j] - in[j];
            assert_true(fabs(dot(at + 8, to)) < 1e-5 * sqrt(dot(at + 8, at + 8) * dot(to, to)));
            inside++;
        }
    assert_true(inside > POINTS_LEAST);
    ir_module_destroy(m);
    scene_eval_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_turn_away),
        cmocka_unit_test(edges_of_meshes),
        cmocka_unit_test(cells_are_all_of_the_curves),
        cmocka_unit_test(curves_touch_the_surface),
    };
    folder = scene_files_create();
    if (!folder)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
