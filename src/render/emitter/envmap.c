/* SPDX-License-Identifier: BSD-3-Clause
 * An image as environment, latitude by longitude (Mitsuba's conventions): in the emitter's own space +y is up and
 *
 *     u = atan2(x, -z) / 2 pi, around;   v = acos(y) / pi, from the upper pole to the lower one.
 *
 * Column i of W has its centre at u = (i + 1/2) / W, the first follows the last; row j of H stands at v = j / (H - 1), so that the first and
 * the last row are the poles. Radiance is scale times the bilinear interpolant. A sample's uv are these coordinates.
 *
 * Directions are sampled from the bilinear interpolant of weights c = luminance * sin(pi v) at the texels, exactly: a row of cells by the
 * cumulative sum of rows, a cell by that of its row, and what is left of both numbers by inverting the linear densities within the cell.
 * Density in solid angle: c(u, v) / sum * W (H - 1) / (2 pi^2 sin(pi v)), with `sum` that of the cells' means.
 *
 * The weights follow the texels through tables that are built on the device (plan.h). With mis_compensation (Karlik et al. 2019) the mean
 * luminance is taken off first: what is darker is left to materials' samples. Where the texels' gradient is wanted, every texel keeps a
 * share of the samples, also a black one (estimators.md 4). */
#include "render/classes.h"

enum { PARAM_FILENAME, PARAM_SCALE, PARAM_COMPENSATION, PARAM_TO_WORLD };
enum { EXTRA_VALUE, EXTRA_GRADIENT, EXTRA_WIDTH, EXTRA_HEIGHT, EXTRA_FAR, EXTRA_TO_WORLD, EXTRA_WORDS = EXTRA_TO_WORLD + 9 };
/* In the table: sum of the cells, luminance to take off, luminance to add; then the cumulative sum over the H - 1 rows of cells, those
 * over the W cells of each row, and the weights of the texels. */
enum { TABLE_SUM, TABLE_OFFSET, TABLE_FLOOR, TABLE_ROWS };
enum { STEP_LUMINANCE, STEP_MEAN, STEP_WEIGHTS, STEP_CELLS, STEP_ROWS, STEP_COUNT };
enum { STRIP = 64 }; /* texels of one lane */

static const float pi = 3.14159265358979323846f;
static const float least_share = 0.1f; /* of the mean luminance, added to every texel whose gradient is wanted */

/* ---- where things stand ---- */

typedef struct map {
    ir_ref width, height, cell_rows;           /* u32 */
    ir_ref width_f, cell_rows_f;               /* the same as f32 */
    ir_ref table, rows, cells, weights;        /* words of BUFFER_VALUES */
} map;

static map open_map(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    map m = {.width = t_word(t, record, n->extra_word + EXTRA_WIDTH), .height = t_word(t, record, n->extra_word + EXTRA_HEIGHT)};
    m.cell_rows = ir_sub(f, m.height, t_u32(t, 1));
    m.width_f = ir_to_f32(f, m.width), m.cell_rows_f = ir_to_f32(f, m.cell_rows);
    m.table = plan_table_at(t, n, record);
    m.rows = t_offset(t, m.table, TABLE_ROWS);
    m.cells = ir_add(f, m.rows, m.cell_rows);
    m.weights = ir_add(f, m.cells, ir_mul(f, m.cell_rows, m.width));
    return m;
}

static ir_ref value(tracer *t, ir_ref word) { return ir_load(t->f, IR_F32, BUFFER_VALUES, word); }
static void set_value(tracer *t, ir_ref word, ir_ref v) { ir_store(t->f, BUFFER_VALUES, word, v); }

/* The four texels around a point, as indices, and where between them it lies. */
typedef struct corners {
    ir_ref index[4]; /* u32; (x0, y0), (x1, y0), (x0, y1), (x1, y1) */
    ir_ref fx, fy;
} corners;

static corners corners_at(tracer *t, const map *m, ir_ref x0, ir_ref y0)
{
    ir_func *f = t->f;
    ir_ref one = t_u32(t, 1), next = ir_add(f, x0, one), first = ir_mul(f, y0, m->width), second = ir_add(f, first, m->width);
    ir_ref x1 = ir_select(f, ir_lt(f, next, m->width), next, t_u32(t, 0));
    return (corners){.index = {ir_add(f, first, x0), ir_add(f, first, x1), ir_add(f, second, x0), ir_add(f, second, x1)}};
}

/* u may lie up to one texel outside of [0, 1]. */
static corners corners_around(tracer *t, const map *m, vec2 uv)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), x = ir_sub(f, ir_mul(f, uv.x, m->width_f), t_f32(t, 0.5f)), y = ir_mul(f, uv.y, m->cell_rows_f);
    ir_ref column = ir_floor(f, x);
    ir_ref row = ir_max(f, zero, ir_min(f, ir_floor(f, y), ir_sub(f, m->cell_rows_f, t_f32(t, 1))));
    ir_ref fx = ir_sub(f, x, column), fy = ir_sub(f, y, row);
    column = ir_select(f, ir_lt(f, column, zero), ir_add(f, column, m->width_f), column);
    column = ir_select(f, ir_ge(f, column, m->width_f), ir_sub(f, column, m->width_f), column);
    corners k = corners_at(t, m, ir_to_u32(f, ir_max(f, zero, column)), ir_to_u32(f, row));
    k.fx = fx, k.fy = fy;
    return k;
}

static ir_ref mix(tracer *t, ir_ref a, ir_ref b, ir_ref by) { return t_mad(t, by, ir_sub(t->f, b, a), a); }

static void load_weights(tracer *t, const map *m, const corners *k, ir_ref c[4])
{
    for (int i = 0; i < 4; i++)
        c[i] = value(t, ir_add(t->f, m->weights, k->index[i]));
}

/* ---- directions ---- */

static vec3 world_row(tracer *t, const class_node *n, ir_ref record, uint32_t row) { return v3_load(t, record, n->extra_word + EXTRA_TO_WORLD + 3 * row); }

/* atan2 twice: acos would lose the neighbourhood of the poles. */
static vec2 envmap_locate(tracer *t, const class_node *n, ir_ref record, vec3 d)
{
    ir_func *f = t->f;
    vec3 local = v3_add(t, v3_scale(t, world_row(t, n, record, 0), d.x),
                        v3_add(t, v3_scale(t, world_row(t, n, record, 1), d.y), v3_scale(t, world_row(t, n, record, 2), d.z)));
    ir_ref u = ir_mul(f, ir_atan2(f, local.x, ir_neg(f, local.z)), t_f32(t, 0.5f / pi));
    ir_ref sine = ir_sqrt(f, t_mad(t, local.x, local.x, t_sqr(t, local.z)));
    u = ir_select(f, ir_lt(f, u, t_f32(t, 0)), ir_add(f, u, t_f32(t, 1)), u);
    return (vec2){u, ir_mul(f, ir_atan2(f, sine, local.y), t_f32(t, 1 / pi))};
}

static vec3 direction(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref sine)
{
    ir_func *f = t->f;
    ir_ref phi = ir_mul(f, uv.x, t_f32(t, 2 * pi));
    vec3 local = v3(ir_mul(f, ir_sin(f, phi), sine), ir_cos(f, ir_mul(f, uv.y, t_f32(t, pi))), ir_neg(f, ir_mul(f, ir_cos(f, phi), sine)));
    return v3(v3_dot(t, world_row(t, n, record, 0), local), v3_dot(t, world_row(t, n, record, 1), local),
              v3_dot(t, world_row(t, n, record, 2), local));
}

static ir_ref sine_of(tracer *t, ir_ref v) { return ir_max(t->f, ir_sin(t->f, ir_mul(t->f, v, t_f32(t, pi))), t_f32(t, 1e-7f)); }

/* Solid-angle density of a direction whose weight is c. */
static ir_ref density(tracer *t, const map *m, ir_ref c, ir_ref sine)
{
    ir_func *f = t->f;
    ir_ref cells = ir_mul(f, ir_mul(f, m->width_f, m->cell_rows_f), t_f32(t, 1 / (2 * pi * pi)));
    return ir_mul(f, t_ratio(t, c, value(t, m->table)), ir_div(f, cells, sine));
}

/* ---- the emitter ---- */

/* u to [0, 1] with a density that is linear from a to b: the root of a quadratic, in the form without cancellation. */
static ir_ref warp_linear(tracer *t, ir_ref a, ir_ref b, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref left = t_ratio(t, a, ir_add(f, a, b)), one = t_f32(t, 1);
    ir_ref square = t_mad(t, u, ir_sub(f, one, ir_add(f, left, left)), t_sqr(t, left));
    return ir_min(f, one, t_ratio(t, u, ir_add(f, left, t_safe_sqrt(t, square))));
}

static emitter_sample envmap_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1, ir_ref u2)
{
    (void)ref;
    ir_func *f = t->f;
    map m = open_map(t, n, record);
    ir_ref row_rest, cell_rest, c[4];
    ir_ref y = warp_discrete_rest(t, m.rows, m.cell_rows, value(t, m.table), u1, &row_rest);
    ir_ref cells = ir_add(f, m.cells, ir_mul(f, y, m.width));
    ir_ref row_sum = value(t, ir_add(f, cells, ir_sub(f, m.width, t_u32(t, 1))));
    ir_ref x = warp_discrete_rest(t, cells, m.width, row_sum, u2, &cell_rest);
    corners k = corners_at(t, &m, x, y);
    load_weights(t, &m, &k, c);
    ir_ref fy = warp_linear(t, ir_add(f, c[0], c[1]), ir_add(f, c[2], c[3]), row_rest);
    ir_ref left = mix(t, c[0], c[2], fy), right = mix(t, c[1], c[3], fy);
    ir_ref fx = warp_linear(t, left, right, cell_rest);
    vec2 uv = {ir_div(f, ir_add(f, ir_add(f, ir_to_f32(f, x), fx), t_f32(t, 0.5f)), m.width_f),
               ir_div(f, ir_add(f, ir_to_f32(f, y), fy), m.cell_rows_f)};
    ir_ref sine = sine_of(t, uv.y);
    return (emitter_sample){direction(t, n, record, uv, sine), t_real(t, record, n->extra_word + EXTRA_FAR),
                            density(t, &m, mix(t, left, right, fx), sine), uv, ir_bool(f, true), .n = v3_none()};
}

static ir_ref envmap_pdf(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit)
{
    map m = open_map(t, n, record);
    corners k = corners_around(t, &m, hit->uv);
    ir_ref c[4];
    load_weights(t, &m, &k, c);
    return density(t, &m, mix(t, mix(t, c[0], c[2], k.fy), mix(t, c[1], c[3], k.fy), k.fx), sine_of(t, hit->uv.y));
}

static ir_ref texel(tracer *t, const class_node *n, ir_ref record, ir_ref index, uint32_t channel)
{
    ir_ref first = ir_mul(t->f, index, t_u32(t, 3));
    return plan_load(t, n, record, n->extra_word + EXTRA_VALUE, PLAN_DATA_SLOT, t_offset(t, first, channel));
}

static color envmap_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance, ir_ref facing)
{
    (void)distance, (void)facing;
    map m = open_map(t, n, record);
    corners k = corners_around(t, &m, uv);
    color r;
    for (uint32_t c = 0; c < 3; c++) {
        ir_ref v[4];
        for (int i = 0; i < 4; i++)
            v[i] = texel(t, n, record, k.index[i], c);
        r.c[c] = mix(t, mix(t, v[0], v[2], k.fy), mix(t, v[1], v[3], k.fy), k.fx);
    }
    return color_scale(t, r, plan_number(t, n, record, "scale"));
}

/* The mean weight is the mean luminance times the mean of sin(pi v), 2 / pi. */
static ir_ref envmap_power(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    map m = open_map(t, n, record);
    ir_ref mean = ir_mul(f, t_ratio(t, value(t, m.table), ir_mul(f, m.width_f, m.cell_rows_f)), t_f32(t, pi / 2));
    return emitter_far_power(t, ir_mul(f, mean, plan_number(t, n, record, "scale")), t_real(t, record, n->extra_word + EXTRA_FAR));
}

/* ---- its tables ---- */

/* Of the magnitudes, so that nothing that shines is left out. */
static ir_ref luminance(tracer *t, const class_node *n, ir_ref record, ir_ref index)
{
    static const float weight[3] = {0.212671f, 0.715160f, 0.072169f};
    ir_ref sum = t_f32(t, 0);
    for (uint32_t c = 0; c < 3; c++)
        sum = t_mad(t, ir_abs(t->f, texel(t, n, record, index, c)), t_f32(t, weight[c]), sum);
    return sum;
}

/* Loops k from 0 to count with two f32 that start from given values; the body stands between the calls. */
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

/* Sum and least luminance of a row of texels, to the row's first two weights for now. */
static void step_luminance(tracer *t, const class_node *n, ir_ref record, const map *m, ir_ref row)
{
    ir_func *f = t->f;
    ir_ref first = ir_mul(f, row, m->width), at = ir_add(f, m->weights, first);
    running r = running_begin(t, m->width, t_f32(t, 0), t_f32(t, INFINITY));
    ir_ref l = luminance(t, n, record, ir_add(f, first, r.k));
    running_end(t, &r, ir_add(f, r.sum, l), ir_min(f, r.other, l));
    set_value(t, at, r.sum), set_value(t, t_offset(t, at, 1), r.other);
}

static void step_mean(tracer *t, const class_node *n, const map *m)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0);
    running r = running_begin(t, m->height, zero, t_f32(t, INFINITY));
    ir_ref at = ir_add(f, m->weights, ir_mul(f, r.k, m->width));
    running_end(t, &r, ir_add(f, r.sum, value(t, at)), ir_min(f, r.other, value(t, t_offset(t, at, 1))));
    ir_ref mean = ir_div(f, r.sum, ir_mul(f, m->width_f, ir_to_f32(f, m->height)));
    /* a map that is nearly constant is not compensated (Mitsuba) */
    ir_ref uneven = ir_gt(f, ir_sub(f, mean, r.other), ir_mul(f, mean, t_f32(t, 0.01f)));
    set_value(t, t_offset(t, m->table, TABLE_OFFSET), n->variant ? ir_select(f, uneven, mean, zero) : zero);
    ir_ref share = ir_select(f, ir_gt(f, mean, zero), ir_mul(f, mean, t_f32(t, least_share)), t_f32(t, 1));
    set_value(t, t_offset(t, m->table, TABLE_FLOOR), n->requested >> PLAN_DATA_SLOT & 1 ? share : zero);
}

/* A strip of texels: CPU devices skip loops of other steps, but not straight code. */
static void step_weights(tracer *t, const class_node *n, ir_ref record, const map *m, ir_ref lane)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), first = ir_mul(f, lane, t_u32(t, STRIP)), texels = ir_mul(f, m->width, m->height);
    ir_ref offset = value(t, t_offset(t, m->table, TABLE_OFFSET)), floor = value(t, t_offset(t, m->table, TABLE_FLOOR));
    running r = running_begin(t, ir_min(f, t_u32(t, STRIP), ir_sub(f, texels, first)), zero, zero);
    ir_ref index = ir_add(f, first, r.k), row = ir_div(f, index, m->width), last = ir_eq(f, row, m->cell_rows);
    ir_ref bright = ir_add(f, ir_max(f, ir_sub(f, luminance(t, n, record, index), offset), zero), floor);
    ir_ref sine = ir_max(f, ir_sin(f, ir_div(f, ir_mul(f, ir_to_f32(f, row), t_f32(t, pi)), m->cell_rows_f)), zero);
    set_value(t, ir_add(f, m->weights, index), ir_select(f, last, zero, ir_mul(f, bright, sine)));
    running_end(t, &r, r.sum, r.other);
}

static void step_cells(tracer *t, const map *m, ir_ref row)
{
    ir_func *f = t->f;
    ir_ref cells = ir_add(f, m->cells, ir_mul(f, row, m->width)), c[4];
    running r = running_begin(t, m->width, t_f32(t, 0), t_f32(t, 0));
    corners k = corners_at(t, m, r.k, row);
    load_weights(t, m, &k, c);
    ir_ref cell = ir_mul(f, ir_add(f, ir_add(f, c[0], c[1]), ir_add(f, c[2], c[3])), t_f32(t, 0.25f)), sum = ir_add(f, r.sum, cell);
    set_value(t, ir_add(f, cells, r.k), sum);
    running_end(t, &r, sum, r.other);
}

static void step_rows(tracer *t, const map *m)
{
    ir_func *f = t->f;
    running r = running_begin(t, m->cell_rows, t_f32(t, 0), t_f32(t, 0));
    ir_ref row_end = ir_sub(f, ir_mul(f, ir_add(f, r.k, t_u32(t, 1)), m->width), t_u32(t, 1));
    ir_ref sum = ir_add(f, r.sum, value(t, ir_add(f, m->cells, row_end)));
    set_value(t, ir_add(f, m->rows, r.k), sum);
    running_end(t, &r, sum, r.other);
    set_value(t, m->table, r.sum);
}

static void envmap_table_step(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane)
{
    map m = open_map(t, n, record);
    switch (step) {
    case STEP_LUMINANCE: step_luminance(t, n, record, &m, lane); break;
    case STEP_MEAN: step_mean(t, n, &m); break;
    case STEP_WEIGHTS: step_weights(t, n, record, &m, lane); break;
    case STEP_CELLS: step_cells(t, &m, lane); break;
    case STEP_ROWS: step_rows(t, &m); break;
    }
}

static const uint32_t *shape_of(const render_scene *s, const scene_object *o)
{
    return s->parameters.data[render_find_parameter(s, o, PLAN_DATA_SLOT)].shape;
}

static uint32_t envmap_table_words(const render_scene *s, const scene_object *o, const render_shape *shape_carries)
{
    (void)shape_carries;
    const uint32_t *shape = shape_of(s, o);
    return TABLE_ROWS + (shape[0] - 1) * (1 + shape[1]) + shape[0] * shape[1];
}

static uint32_t envmap_table_lanes(const render_scene *s, const scene_object *o, uint32_t step)
{
    const uint32_t *shape = shape_of(s, o);
    const uint32_t lanes[STEP_COUNT] = {[STEP_LUMINANCE] = shape[0], [STEP_MEAN] = 1, [STEP_WEIGHTS] = (shape[0] * shape[1] + STRIP - 1) / STRIP,
                                        [STEP_CELLS] = shape[0] - 1, [STEP_ROWS] = 1};
    return lanes[step];
}

/* ---- loading ---- */

/* to_world without translation and size. False: its axes are not perpendicular or not of one length. */
static bool rotation(const scene_object *o, double out[9])
{
    const double *m = scene_get(o, "to_world")->matrix;
    double square = 0;
    for (int k = 0; k < 3; k++)
        square += m[4 * k] * m[4 * k];
    for (int a = 0; a < 3; a++)
        for (int b = a; b < 3; b++) {
            double dot = m[a] * m[b] + m[4 + a] * m[4 + b] + m[8 + a] * m[8 + b];
            if (!(fabs(dot - (a == b ? square : 0)) <= 1e-4 * square && square > 0))
                return false;
        }
    for (int k = 0; k < 9; k++)
        out[k] = m[4 * (k / 3) + k % 3] / sqrt(square);
    return true;
}

static bl_result envmap_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *file = scene_get(o, "filename");
    scene_image image;
    bl_error reason = {0};
    double axes[9];
    if (!rotation(o, axes))
        return scene_error(err, BL_ERROR_SCENE, scene_get(o, "to_world")->where,
                           "envmap: \"to_world\" must be made of rotations, reflections and the same scale in all directions");
    bl_result r = image_load(file->path, false, &image, &reason);
    if (r != BL_OK)
        return scene_error(err, r, file->where, "envmap: %s", reason.text);
    if (image.width < 2 || image.height < 3) {
        r = scene_error(err, BL_ERROR_SCENE, file->where, "envmap: an image of %u x %u pixels; at least 2 x 3 are needed", image.width, image.height);
        image_free(&image);
        return r;
    }
    size_t pixels = (size_t)image.width * image.height;
    float *rgb = malloc(3 * pixels * sizeof *rgb);
    BL_ASSERT(rgb, "out of memory");
    for (size_t i = 0; i < 3 * pixels; i++)
        rgb[i] = image.pixels[image.channels == 3 ? i : i / 3];
    uint32_t data = render_add_parameter(s, o, PLAN_DATA_SLOT, 3, (uint32_t[4]){image.height, image.width, 3}, 0, INFINITY, rgb);
    s->parameters.data[data].emits = true;
    s->parameters.data[data].factor = render_find_parameter(s, o, PARAM_SCALE);
    free(rgb);
    image_free(&image);
    return BL_OK;
}

static void envmap_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    double axes[9] = {0};
    rotation(o, axes);
    words[EXTRA_VALUE] = plan_value_offset(p, o, PLAN_DATA_SLOT);
    words[EXTRA_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
    words[EXTRA_WIDTH] = shape_of(p->scene, o)[1];
    words[EXTRA_HEIGHT] = shape_of(p->scene, o)[0];
    words[EXTRA_FAR] = float_word(4 * p->scene->radius + 1); /* shadow rays that travel this far have left the scene */
    for (int k = 0; k < 9; k++)
        words[EXTRA_TO_WORLD + k] = float_word((float)axes[k]);
}

/* 1: mis_compensation */
static uint32_t envmap_variant(const render_scene *s, const scene_object *o)
{
    (void)s;
    return scene_number(o, "mis_compensation") != 0;
}

static const plugin_param envmap_params[] = {
    [PARAM_FILENAME] = {"filename", PLUGIN_FILE, PLUGIN_REQUIRED, NULL, 0, 0, "latitude by longitude; EXR, PNG, JPEG, Radiance HDR, BMP or PFM"},
    [PARAM_SCALE] = {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1", 0, 0, "multiplies the image"},
    [PARAM_COMPENSATION] = {"mis_compensation", PLUGIN_BOOLEAN, 0, "false", 0, 0, "sample only what is brighter than the mean"},
    [PARAM_TO_WORLD] = {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "turns the map, whose +y is up"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"},
};
const emitter_class emitter_envmap = {
    .base = {.plugin = {PLUGIN_EMITTER, "envmap", envmap_params, 5, emitter_slots, EMITTER_SLOT_COUNT, "an image as environment"},
             .extra_words = EXTRA_WORDS,
             .data_name = "data",
             .load = envmap_load,
             .extra = envmap_extra,
             .variant = envmap_variant,
             .table_steps = STEP_COUNT,
             .table_words = envmap_table_words,
             .table_lanes = envmap_table_lanes,
             .table_step = envmap_table_step},
    .environment = true,
    .sample = envmap_sample,
    .radiance = envmap_radiance,
    .pdf = envmap_pdf,
    .power = envmap_power,
    .locate = envmap_locate,
};
