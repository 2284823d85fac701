/* SPDX-License-Identifier: BSD-3-Clause
 * A shape that emits on the side that its normals point to. Sampling is the task of the shape: most kinds
 * sample uniformly in area, and spheres in solid angle. The variant of the class is the kind of shape.
 *
 * A textured radiance is importance-sampled through the kind's map of the unit square to its area
 * (shape_kind_class.point, unit). The square is cut into SIDE x SIDE cells. A cell is chosen in proportion
 * to the luminance that it maps to, and a point in it goes through the map, which is uniform. So any mesh
 * will do, whatever its texture coordinates are. The density is that of uniform points times the density of
 * the cell, relative to 1.
 *
 * What a cell maps to is measured at POINTS x POINTS places. Every cell keeps a share of the samples
 * whatever was found there, because something bright may lie between the places, and because what is black
 * may be differentiated (docs/theory/support.md). The table follows the values of the parameters (plan.h).
 * It is detached: it decides which points are sampled. Attributes of the mesh and volumes are textures like
 * others, and they are read where the map leads to. */
#include "render/shape/area.h"

enum { SIDE = 64, POINTS = 2 };
/* Words of the table: the mean luminance, the cumulative sums over the rows of cells, those over the cells
 * of each row, and the densities of the cells. */
enum {
    TABLE_MEAN,
    TABLE_ROWS,
    TABLE_CELLS = TABLE_ROWS + SIDE,
    TABLE_DENSITY = TABLE_CELLS + SIDE * SIDE,
    TABLE_WORDS = TABLE_DENSITY + SIDE * SIDE
};
enum { STEP_LUMINANCE, STEP_ROW_SUMS, STEP_MEAN, STEP_CELLS, STEP_ROWS, STEP_COUNT };

/* The share of the samples that goes to all cells alike. */
static const float least_share = 0.1f;

static const shape_kind_class *kind_of(const class_node *n)
{
    BL_ASSERT(n->variant < SHAPE_KIND_COUNT && shape_kinds[n->variant]->sample,
              "an area light on shapes of kind %u, which cannot be lights", n->variant);
    return shape_kinds[n->variant];
}

static ir_ref value(tracer *t, ir_ref word) { return ir_load(t->f, IR_F32, BUFFER_VALUES, word); }
static void set_value(tracer *t, ir_ref word, ir_ref v) { ir_store(t->f, BUFFER_VALUES, word, v); }
static ir_ref cell_of(tracer *t, ir_ref row, ir_ref column)
{
    return ir_add(t->f, ir_mul(t->f, row, t_u32(t, SIDE)), column);
}

static ir_ref shape_data(tracer *t, const class_node *n, ir_ref record)
{
    return t_word(t, record, n->extra_word + AREA_SHAPE_DATA);
}
static ir_ref inverse_area(tracer *t, const class_node *n, ir_ref record)
{
    return t_real(t, record, n->extra_word + AREA_INVERSE_AREA);
}

/* The number (index + rest) / SIDE, kept below 1. */
static ir_ref within_cell(tracer *t, ir_ref index, ir_ref rest)
{
    ir_func *f = t->f;
    return ir_min(f, ir_mul(f, ir_add(f, ir_to_f32(f, index), rest), t_f32(t, 1.0f / SIDE)),
                  t_f32(t, 0x1.fffffep-1f));
}

/* Chooses a point of the shape. *density is its density relative to that of uniform points. */
static interaction area_point(tracer *t, const class_node *n, ir_ref record, ir_ref u1, ir_ref u2,
                              ir_ref *density)
{
    *density = t_f32(t, 1);
    if (!n->tabled)
        return kind_of(n)->point(t, shape_data(t, n, record), u1, u2);
    ir_ref table = plan_table_at(t, n, record), side = t_u32(t, SIDE), rest1, rest2;
    ir_ref rows = t_offset(t, table, TABLE_ROWS), total = value(t, t_offset(t, rows, SIDE - 1));
    ir_ref row = warp_discrete_rest(t, rows, side, total, u1, &rest1);
    ir_ref cells = ir_add(t->f, t_offset(t, table, TABLE_CELLS), ir_mul(t->f, row, side));
    ir_ref column = warp_discrete_rest(t, cells, side, value(t, t_offset(t, cells, SIDE - 1)), u2, &rest2);
    *density = value(t, ir_add(t->f, t_offset(t, table, TABLE_DENSITY), cell_of(t, row, column)));
    return kind_of(n)->point(t, shape_data(t, n, record), within_cell(t, row, rest1),
                             within_cell(t, column, rest2));
}

static emitter_sample area_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                  ir_ref u2)
{
    if (!n->tabled)
        return kind_of(n)->sample(t, shape_data(t, n, record), inverse_area(t, n, record), ref, u1, u2);
    ir_ref density;
    interaction at = area_point(t, n, record, u1, u2, &density);
    emitter_sample s = area_toward(t, inverse_area(t, n, record), ref, &at);
    s.smooth = s.pdf, s.pdf = ir_mul(t->f, s.pdf, density);
    return s;
}

static emitter_ray area_ray(tracer *t, const class_node *n, ir_ref record, const ir_ref u[4])
{
    ir_ref density;
    interaction at = area_point(t, n, record, u[0], u[1], &density);
    ir_ref area = ir_div(t->f, t_f32(t, 1), ir_mul(t->f, inverse_area(t, n, record), density));
    vec3 d = frame_to_world(t, frame_around(t, at.ng), warp_cosine_hemisphere(t, u[2], u[3]));
    /* Turned to the side that shines, the direction is still distributed by its cosine to ng. */
    d = v3_select(t, ir_lt(t->f, v3_dot(t, d, at.ns), t_f32(t, 0)), v3_neg(t, d), d);
    return (emitter_ray){
        .p = at.p,
        .d = d,
        .n = at.ng,
        .ns = at.ns,
        .uv = at.uv,
        .face = at.face,
        .b = at.b,
        .weight = ir_mul(t->f, area, t_f32(t, 3.14159265358979323846f)),
        .point_weight = area,
    };
}

static color area_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                           ir_ref facing)
{
    (void)distance;
    return color_select(t, facing, plan_texture(t, n, record, "radiance", uv), color_all(t_f32(t, 0)));
}

static ir_ref cell_index(tracer *t, ir_ref u)
{
    return ir_to_u32(t->f, t_clamp(t, ir_mul(t->f, u, t_f32(t, SIDE)), 0, SIDE - 1));
}

static ir_ref area_pdf(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit)
{
    ir_ref data = shape_data(t, n, record), inverse = inverse_area(t, n, record);
    ir_ref pdf = kind_of(n)->pdf(t, data, inverse, hit);
    if (!n->tabled || hit->smooth)
        return pdf;
    vec2 u = kind_of(n)->unit(t, data, hit);
    ir_ref cell = cell_of(t, cell_index(t, u.x), cell_index(t, u.y));
    return ir_mul(t->f, pdf,
                  value(t, ir_add(t->f, t_offset(t, plan_table_at(t, n, record), TABLE_DENSITY), cell)));
}

/* The radiance at the point that the map of the unit square leads to. */
static color radiance_at(tracer *t, const class_node *n, ir_ref record, const char *param, vec2 u)
{
    ir_ref data = shape_data(t, n, record);
    interaction at = kind_of(n)->point(t, data, u.x, u.y);
    const surface on = {.mesh = data, .face = at.face, .b = at.b, .p = at.p};
    tracer there = *t;
    there.surface = &on;
    return plan_texture(&there, n, record, param, at.uv);
}

/* The power: pi times the area times the mean luminance. */
static ir_ref area_power(tracer *t, const class_node *n, ir_ref record)
{
    ir_ref mean = n->tabled ? value(t, t_offset(t, plan_table_at(t, n, record), TABLE_MEAN))
                            : emitter_mean_over(t, n, record, "radiance", radiance_at);
    ir_ref area = ir_div(t->f, t_f32(t, 3.14159265358979323846f), inverse_area(t, n, record));
    return ir_mul(t->f, mean, area);
}

/* ---- its table ---- */

/* Stores the mean luminance of a cell, for now where its density will stand. */
static void step_luminance(tracer *t, const class_node *n, ir_ref record, ir_ref table, ir_ref cell)
{
    ir_func *f = t->f;
    ir_ref side = t_u32(t, SIDE), row = ir_div(f, cell, side), column = ir_sub(f, cell, ir_mul(f, row, side)),
           sum = t_f32(t, 0);
    for (int k = 0; k < POINTS * POINTS; k++) {
        ir_ref y = t_f32(t, ((float)(k / POINTS) + 0.5f) / POINTS),
               x = t_f32(t, ((float)(k % POINTS) + 0.5f) / POINTS);
        vec2 u = {within_cell(t, row, y), within_cell(t, column, x)};
        sum = ir_add(f, sum, ir_abs(f, color_luminance(t, radiance_at(t, n, record, "radiance", u))));
    }
    set_value(t, ir_add(f, t_offset(t, table, TABLE_DENSITY), cell),
              ir_mul(f, sum, t_f32(t, 1.0f / (POINTS * POINTS))));
}

/* Writes the cumulative sums of the SIDE numbers from word `from` on to the words from *to on. With `to`
 * NULL none are kept. Returns the sum of all. */
static ir_ref accumulate(tracer *t, ir_ref from, const ir_ref *to)
{
    ir_func *f = t->f;
    ir_ref state[2] = {t_u32(t, 0), t_f32(t, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], t_u32(t, SIDE)));
    ir_ref sum = ir_add(f, state[1], value(t, ir_add(f, from, state[0])));
    if (to)
        set_value(t, ir_add(f, *to, state[0]), sum);
    ir_endloop(f, loop, (ir_ref[]){ir_add(f, state[0], t_u32(t, 1)), sum}, 2);
    return state[1];
}

/* Turns the luminances of a row of cells into densities, relative to the mean and mixed with uniform ones. */
static void step_cells(tracer *t, ir_ref table, ir_ref row)
{
    ir_func *f = t->f;
    ir_ref first = ir_mul(f, row, t_u32(t, SIDE)),
           density = ir_add(f, t_offset(t, table, TABLE_DENSITY), first);
    ir_ref mean = value(t, t_offset(t, table, TABLE_MEAN)), lit = ir_gt(f, mean, t_f32(t, 0)),
           state = t_u32(t, 0), loop = ir_loop(f, &state, 1);
    ir_while(f, ir_lt(f, state, t_u32(t, SIDE)));
    ir_ref at = ir_add(f, density, state), relative = t_ratio(t, value(t, at), mean);
    set_value(
        t, at,
        ir_select(f, lit, t_mad(t, relative, t_f32(t, 1 - least_share), t_f32(t, least_share)), t_f32(t, 1)));
    ir_ref next = ir_add(f, state, t_u32(t, 1));
    ir_endloop(f, loop, &next, 1);
    ir_ref cells = ir_add(f, t_offset(t, table, TABLE_CELLS), first);
    ir_ref sum = accumulate(t, density, &cells);
    set_value(t, ir_add(f, t_offset(t, table, TABLE_ROWS), row), sum);
}

/* One step of the table, in one of its lanes (area_table_lanes): measure the cells, sum rows, find the
 * mean, make densities, and accumulate over the rows. */
static void area_table_step(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane)
{
    ir_func *f = t->f;
    ir_ref table = plan_table_at(t, n, record), rows = t_offset(t, table, TABLE_ROWS);
    switch (step) {
    case STEP_LUMINANCE:
        step_luminance(t, n, record, table, lane);
        break;
    case STEP_ROW_SUMS:
        set_value(t, ir_add(f, rows, lane),
                  accumulate(t, ir_add(f, t_offset(t, table, TABLE_DENSITY), ir_mul(f, lane, t_u32(t, SIDE))),
                             NULL));
        break;
    case STEP_MEAN:
        set_value(t, t_offset(t, table, TABLE_MEAN),
                  ir_mul(f, accumulate(t, rows, NULL), t_f32(t, 1.0f / (SIDE * SIDE))));
        break;
    case STEP_CELLS:
        step_cells(t, table, lane);
        break;
    case STEP_ROWS:
        accumulate(t, rows, &rows);
        break;
    }
}

static uint32_t area_table_words(const render_scene *s, const scene_object *o, const render_shape *shape)
{
    (void)s;
    bool textured = !texture_is_constant(scene_get(o, "radiance")->object);
    return textured && shape && shape_kinds[shape->kind]->unit ? TABLE_WORDS : 0;
}

static uint32_t area_table_lanes(const render_scene *s, const scene_object *o, uint32_t step)
{
    (void)s, (void)o;
    static const uint32_t lanes[STEP_COUNT] = {SIDE * SIDE, SIDE, 1, SIDE, 1};
    return lanes[step];
}

static const plugin_param area_params[] = {
    {"radiance", PLUGIN_TEXTURED, PLUGIN_EMISSION, "1", 0, 0, "emitted radiance"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"},
};
const emitter_class emitter_area = {
    .base = {.plugin = {PLUGIN_EMITTER, "area", PLUGIN_TABLE(area_params), PLUGIN_TABLE(emitter_slots),
                        "makes its shape a light"},
             .extra_words = AREA_WORDS,
             .table_steps = STEP_COUNT,
             .table_words = area_table_words,
             .table_lanes = area_table_lanes,
             .table_step = area_table_step},
    .on_shape = true,
    .sample = area_sample,
    .radiance = area_radiance,
    .pdf = area_pdf,
    .power = area_power,
    .bound = emitter_shape_bound,
    .ray = area_ray,
};
