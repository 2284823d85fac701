/* SPDX-License-Identifier: BSD-3-Clause
 * The sampling table of an environment map. It is built in steps on the device (plan.h): the luminance of
 * each row of texels, the mean of all, the weights of texels, the sums over the cells of each row, the sums
 * over rows, and the guides of both kinds of sums. The table is detached: it decides which directions are
 * sampled. */
#include "render/emitter/envmap.h"

enum { STEP_LUMINANCE, STEP_MEAN, STEP_WEIGHTS, STEP_CELLS, STEP_ROWS, STEP_GUIDE, STEP_COUNT };
_Static_assert((int)STEP_COUNT == (int)ENVMAP_STEPS, "the class says how many");
enum { STRIP = 64 }; /* how many texels one lane weighs */

static const float pi = 3.14159265358979323846f;
/* As a share of the mean luminance: what is added to every texel if the gradient of the texels, or of
 * to_world, is wanted. */
static const float least_share = 0.1f;

static void set_value(tracer *t, ir_ref word, ir_ref v) { ir_store(t->f, BUFFER_VALUES, word, v); }

/* The luminance of a texel, of the magnitudes of its values, so that nothing that shines is left out. */
static ir_ref luminance(tracer *t, const class_node *n, ir_ref record, ir_ref index)
{
    static const float weight[3] = {0.212671f, 0.715160f, 0.072169f};
    ir_ref sum = t_f32(t, 0);
    for (uint32_t c = 0; c < 3; c++)
        sum = t_mad(t, ir_abs(t->f, envmap_texel(t, n, record, index, c)), t_f32(t, weight[c]), sum);
    return sum;
}

/* A loop of k from 0 to count that carries two f32 from given values on. The body stands between
 * running_begin and running_end. */
typedef struct running {
    ir_ref k, sum, other, loop;
} running;

static running running_begin(tracer *t, ir_ref count, ir_ref sum, ir_ref other)
{
    ir_ref state[3] = {t_u32(t, 0), sum, other};
    ir_ref loop = ir_loop(t->f, state, 3);
    ir_while(t->f, ir_lt(t->f, state[0], count));
    return (running){state[0], state[1], state[2], loop};
}

static void running_end(tracer *t, const running *r, ir_ref sum, ir_ref other)
{
    ir_ref next[3] = {ir_add(t->f, r->k, t_u32(t, 1)), sum, other};
    ir_endloop(t->f, r->loop, next, 3);
}

/* Stores the sum and the least luminance of a row of texels, for now in the place of the first two weights
 * of the row. */
static void step_luminance(tracer *t, const class_node *n, ir_ref record, const envmap *m, ir_ref row)
{
    ir_func *f = t->f;
    ir_ref first = ir_mul(f, row, m->width), at = ir_add(f, m->weights, first);
    running r = running_begin(t, m->width, t_f32(t, 0), t_f32(t, INFINITY));
    ir_ref l = luminance(t, n, record, ir_add(f, first, r.k));
    running_end(t, &r, ir_add(f, r.sum, l), ir_min(f, r.other, l));
    set_value(t, at, r.sum), set_value(t, t_offset(t, at, 1), r.other);
}

/* Finds the mean luminance of all texels. From it follow the luminance to take off and the luminance to
 * add. */
static void step_mean(tracer *t, const class_node *n, const envmap *m)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    running r = running_begin(t, m->height, zero, t_f32(t, INFINITY));
    ir_ref at = ir_add(f, m->weights, ir_mul(f, r.k, m->width));
    running_end(t, &r, ir_add(f, r.sum, envmap_value(t, at)),
                ir_min(f, r.other, envmap_value(t, t_offset(t, at, 1))));
    ir_ref mean = ir_div(f, r.sum, ir_mul(f, m->width_f, ir_to_f32(f, m->height)));
    /* a map that is nearly constant is not compensated (Mitsuba) */
    ir_ref uneven = ir_gt(f, ir_sub(f, mean, r.other), ir_mul(f, mean, t_f32(t, 0.01f)));
    set_value(t, t_offset(t, m->table, TABLE_OFFSET), n->variant ? ir_select(f, uneven, mean, zero) : zero);
    ir_ref share = ir_select(f, ir_gt(f, mean, zero), ir_mul(f, mean, t_f32(t, least_share)), t_f32(t, 1));
    set_value(t, t_offset(t, m->table, TABLE_FLOOR),
              n->requested >> PLAN_DATA_SLOT & 1 || envmap_turns(n) ? share : zero);
}

/* Stores the weights of a strip of texels. */
static void step_weights(tracer *t, const class_node *n, ir_ref record, const envmap *m, ir_ref lane)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), first = ir_mul(f, lane, t_u32(t, STRIP)),
           texels = ir_mul(f, m->width, m->height);
    ir_ref offset = envmap_value(t, t_offset(t, m->table, TABLE_OFFSET)),
           floor = envmap_value(t, t_offset(t, m->table, TABLE_FLOOR));
    running r = running_begin(t, ir_min(f, t_u32(t, STRIP), ir_sub(f, texels, first)), zero, zero);
    ir_ref index = ir_add(f, first, r.k), row = ir_div(f, index, m->width),
           last = ir_eq(f, row, m->cell_rows);
    ir_ref bright = ir_add(f, ir_max(f, ir_sub(f, luminance(t, n, record, index), offset), zero), floor);
    ir_ref sine =
        ir_max(f, ir_sin(f, ir_div(f, ir_mul(f, ir_to_f32(f, row), t_f32(t, pi)), m->cell_rows_f)), zero);
    set_value(t, ir_add(f, m->weights, index), ir_select(f, last, zero, ir_mul(f, bright, sine)));
    running_end(t, &r, r.sum, r.other);
}

/* Writes the cumulative sums over the cells of a row. A cell counts as the mean weight of its four texels. */
static void step_cells(tracer *t, const envmap *m, ir_ref row)
{
    ir_func *f = t->f;
    ir_ref cells = ir_add(f, m->cells, ir_mul(f, row, m->width)), c[4];
    running r = running_begin(t, m->width, t_f32(t, 0), t_f32(t, 0));
    corners k = envmap_corners(t, m, r.k, row);
    envmap_load_weights(t, m, &k, c);
    ir_ref cell = ir_mul(f, ir_add(f, ir_add(f, c[0], c[1]), ir_add(f, c[2], c[3])), t_f32(t, 0.25f)),
           sum = ir_add(f, r.sum, cell);
    set_value(t, ir_add(f, cells, r.k), sum);
    running_end(t, &r, sum, r.other);
}

/* Writes the cumulative sums over the rows of cells, and the sum of all. */
static void step_rows(tracer *t, const envmap *m)
{
    ir_func *f = t->f;
    running r = running_begin(t, m->cell_rows, t_f32(t, 0), t_f32(t, 0));
    ir_ref sum = ir_add(f, r.sum, envmap_row_sum(t, m, r.k));
    set_value(t, ir_add(f, m->rows, r.k), sum);
    running_end(t, &r, sum, r.other);
    set_value(t, m->table, r.sum);
}

/* The last lane makes the guide of the rows. Each other lane makes the guide of the cells of one row. */
static void step_guide(tracer *t, const envmap *m, ir_ref lane)
{
    ir_func *f = t->f;
    ir_ref of_rows = ir_eq(f, lane, m->cell_rows), row = ir_select(f, of_rows, t_u32(t, 0), lane);
    ir_ref table = ir_select(f, of_rows, m->rows, ir_add(f, m->cells, ir_mul(f, row, m->width)));
    ir_ref count = ir_select(f, of_rows, m->cell_rows, m->width),
           steps = ir_select(f, of_rows, m->row_steps, m->cell_steps);
    ir_ref guide = ir_select(f, of_rows, m->row_guide, envmap_guide(t, m, row));
    ir_ref sum = ir_select(f, of_rows, envmap_value(t, m->table), envmap_row_sum(t, m, row));
    running r = running_begin(t, t_offset(t, steps, 1), sum, sum);
    set_value(t, ir_add(f, guide, r.k), warp_guide_entry(t, table, count, steps, sum, r.k));
    running_end(t, &r, r.sum, r.other);
}

void envmap_table_step(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane)
{
    envmap m = envmap_open(t, n, record);
    switch (step) {
    case STEP_LUMINANCE:
        step_luminance(t, n, record, &m, lane);
        break;
    case STEP_MEAN:
        step_mean(t, n, &m);
        break;
    case STEP_WEIGHTS:
        step_weights(t, n, record, &m, lane);
        break;
    case STEP_CELLS:
        step_cells(t, &m, lane);
        break;
    case STEP_ROWS:
        step_rows(t, &m);
        break;
    case STEP_GUIDE:
        step_guide(t, &m, lane);
        break;
    }
}

const uint32_t *envmap_shape(const render_scene *s, const scene_object *o)
{
    return s->parameters.data[render_find_parameter(s, o, PLAN_DATA_SLOT)].shape;
}

uint32_t envmap_guide_steps(uint32_t count)
{
    uint32_t steps = 1;
    while (2 * steps <= count)
        steps *= 2;
    return steps;
}

uint32_t envmap_table_words(const render_scene *s, const scene_object *o, const render_shape *shape_carries)
{
    (void)shape_carries;
    const uint32_t *shape = envmap_shape(s, o);
    uint32_t rows = shape[0] - 1,
             guides = envmap_guide_steps(rows) + 1 + rows * (envmap_guide_steps(shape[1]) + 1);
    return TABLE_ROWS + rows * (1 + shape[1]) + shape[0] * shape[1] + guides;
}

uint32_t envmap_table_lanes(const render_scene *s, const scene_object *o, uint32_t step)
{
    const uint32_t *shape = envmap_shape(s, o);
    const uint32_t lanes[STEP_COUNT] = {
        [STEP_LUMINANCE] = shape[0],
        [STEP_MEAN] = 1,
        [STEP_WEIGHTS] = (shape[0] * shape[1] + STRIP - 1) / STRIP,
        [STEP_CELLS] = shape[0] - 1,
        [STEP_ROWS] = 1,
        [STEP_GUIDE] = shape[0],
    };
    return lanes[step];
}
