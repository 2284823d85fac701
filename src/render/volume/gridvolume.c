/* SPDX-License-Identifier: BSD-3-Clause
 * A grid of values over the unit cube, or over the box that its file names. The values come from the file, or
 * are one number everywhere, from which a fit may start. They are parameters (NAME.data, [z, y, x, channels])
 * in one flat buffer. Traced code looks them up and filters them, so the
 * gradient of a lookup is a scatter to the values that it read. Centres of voxels lie at (i + .5) / size,
 * as those of texels do. Bounds of the values, of the whole grid and of cells, are for sampling tables,
 * which are detached (medium/media.c). */
#include "render/classes.h"

enum filter { FILTER_TRILINEAR, FILTER_NEAREST, FILTER_CUBIC };
enum extra {
    EXTRA_VALUE,
    EXTRA_GRADIENT,
    EXTRA_SIZE,
    EXTRA_TO_LOCAL = EXTRA_SIZE + 3,
    EXTRA_WORDS = EXTRA_TO_LOCAL + 12
};

static const render_parameter *grid_data(const render_scene *s, const scene_object *o)
{
    return &s->parameters.data[render_find_parameter(s, o, PLAN_DATA_SLOT)];
}

static uint32_t grid_channels(const render_scene *s, const scene_object *o)
{
    return grid_data(s, o)->shape[3];
}

/* The variant is filter | wrap << 2 | channels << 4 | QUADS. QUADS: each voxel is a number of whole quads,
 * which begin at multiples of four words. */
enum { QUADS = 1 << 16 };
static uint32_t grid_variant(const render_scene *s, const scene_object *o)
{
    const char *filter = scene_get(o, "filter_type")->text;
    return (strcmp(filter, "nearest") == 0 ? FILTER_NEAREST
            : strcmp(filter, "cubic") == 0 ? FILTER_CUBIC
                                           : FILTER_TRILINEAR) |
           (uint32_t)texture_wrap_named(scene_get(o, "wrap_mode")->text) << 2 |
           grid_data(s, o)->shape[3] << 4 |
           (grid_data(s, o)->shape[3] % 4 == 0 && grid_data(s, o)->offset % 4 == 0 ? QUADS : 0);
}

static uint32_t channels_of(const class_node *n) { return n->variant >> 4 & 0xFFF; }
static bool grid_grey(const class_node *n) { return channels_of(n) == 1; }

/* Makes to_world the map from the unit cube to the world, by way of the file's box. */
static void place_in_box(const scene_object *o, const scene_volume *v)
{
    double *matrix = o->values[scene_param_index(o, "to_world")].matrix;
    for (int r = 0; r < 3; r++) {
        double row[4] = {0, 0, 0, matrix[4 * r + 3]};
        for (int k = 0; k < 12; k++)
            row[k % 4] += matrix[4 * r + k / 4] * (double)v->box[k];
        memcpy(matrix + 4 * r, row, sizeof row);
    }
}

/* Whether the grid can have cells. With a border that wraps, voxels beyond it would count for cells on the
 * other side. A cubic lookup reads one more voxel than cells allow for. */
static bool can_have_cells(const scene_object *o)
{
    return texture_wrap_named(scene_get(o, "wrap_mode")->text) == WRAP_CLAMP &&
           strcmp(scene_get(o, "filter_type")->text, "cubic") != 0;
}

enum { SIDE_MOST = 4096, VALUES_MOST = 1 << 30 };

/* Sides along x, y and z: one number for all, or three. */
static bool read_sides(const char *list, uint32_t sides[3])
{
    char *end = NULL;
    uint32_t count = 0;
    for (const char *at = list; count < 3; at = end, count++) {
        double side = strtod(at, &end);
        if (end == at || !(side >= 1 && side <= SIDE_MOST) || side != floor(side))
            break;
        sides[count] = (uint32_t)side;
        end += strspn(end, ", ");
    }
    if (count == 1)
        sides[1] = sides[2] = sides[0];
    return end && *end == 0 && (count == 1 || count == 3);
}

/* A grid without a file: the same number everywhere. */
static bl_result grid_fill(const scene_object *o, scene_volume *v, bl_error *err)
{
    const scene_value *sides = scene_get(o, "resolution");
    if (!sides->given)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "gridvolume: it needs \"filename\", or \"resolution\" for a grid of one value");
    if (scene_number(o, "use_grid_bbox") != 0)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "gridvolume: \"use_grid_bbox\" needs a file, which names a box");
    if (!read_sides(sides->text, v->size))
        return scene_error(
            err, BL_ERROR_SCENE, sides->where,
            "gridvolume: \"resolution\" must be one integer or three, from 1 to %d, not \"%.60s\"", SIDE_MOST,
            sides->text);
    v->channels = (uint32_t)scene_number(o, "channels");
    uint64_t count = (uint64_t)v->size[0] * v->size[1] * v->size[2] * v->channels;
    if (count > VALUES_MOST)
        return scene_error(err, BL_ERROR_MEMORY, sides->where,
                           "gridvolume: %ju values are more than the limit of 2^30", (uintmax_t)count);
    TRY(budget_take(BUDGET_VOXELS, count, err));
    v->values = memory_alloc((size_t)count * sizeof *v->values);
    if (!v->values)
        return scene_error(err, BL_ERROR_MEMORY, o->where, "gridvolume: out of memory for %ju values",
                           (uintmax_t)count);
    for (size_t i = 0; i < count; i++)
        v->values[i] = (float)scene_number(o, "value");
    return BL_OK;
}

static bl_result grid_read(const scene_object *o, scene_volume *v, bl_error *err)
{
    const scene_value *file = scene_get(o, "filename");
    bl_error reason = {0};
    bl_result r = volume_load_value(file, v, &reason);
    return r == BL_OK ? BL_OK : scene_error(err, r, file->where, "gridvolume: %s", reason.text);
}

static bl_result grid_load(render_scene *s, const scene_object *o, bl_error *err)
{
    static const char *const filters[] = {"trilinear", "nearest", "cubic", NULL}, *const wraps[] = {
                                                                                      "repeat", "mirror",
                                                                                      "clamp", NULL};
    TRY(texture_check_choice(o, "filter_type", filters, err));
    TRY(texture_check_choice(o, "wrap_mode", wraps, err));
    if (scene_number(o, "majorant_cells") > 1 && !can_have_cells(o))
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "gridvolume: \"majorant_cells\" needs the wrap mode \"clamp\" and another filter "
                           "than \"cubic\"; else there is one bound for all");
    const scene_value *file = scene_get(o, "filename"), *to_world = scene_get(o, "to_world");
    scene_volume v = {0};
    TRY((file->given ? grid_read : grid_fill)(o, &v, err));
    if (scene_number(o, "use_grid_bbox") != 0)
        place_in_box(o, &v);
    bl_result r = render_room(s, 4 + (uint64_t)v.size[0] * v.size[1] * v.size[2] * v.channels, 0, err);
    if (r != BL_OK) {
        volume_free(&v);
        return r;
    }
    double inverse[16];
    if (!matrix_invert(to_world->matrix, inverse)) {
        volume_free(&v);
        return scene_error(err, BL_ERROR_SCENE, to_world->where,
                           "gridvolume: the grid has no extent: \"to_world\" or the file's box is flat");
    }
    uint32_t shape[4] = {v.size[2], v.size[1], v.size[0], v.channels};
    while (v.channels % 4 == 0 && s->values.count % 4)
        array_push(&s->values, 0.0f);
    render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){4, shape, -INFINITY, INFINITY, v.values});
    volume_free(&v);
    return BL_OK;
}

static void grid_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    const render_parameter *data = grid_data(p->scene, o);
    double inverse[16];
    bool invertible = matrix_invert(scene_get(o, "to_world")->matrix, inverse);
    BL_ASSERT(invertible, "grid %s", data->name);
    words[EXTRA_VALUE] = plan_value_offset(p, o, PLAN_DATA_SLOT);
    words[EXTRA_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
    for (int k = 0; k < 3; k++)
        words[EXTRA_SIZE + k] = data->shape[2 - k];
    for (int k = 0; k < 12; k++)
        words[EXTRA_TO_LOCAL + k] = float_word((float)inverse[k]);
}

/* ---- lookups ---- */

static ir_ref voxel_index(tracer *t, const ir_ref size[3], const ir_ref at[3])
{
    ir_ref row = t_mad(t, at[2], size[1], at[1]);
    return t_mad(t, row, size[0], at[0]);
}

/* Word of the first channel of a voxel, relative to the first voxel's. */
static ir_ref voxel_word(tracer *t, const class_node *n, const ir_ref size[3], const ir_ref at[3])
{
    ir_ref index = voxel_index(t, size, at);
    return channels_of(n) == 1 ? index : ir_mul(t->f, index, t_u32(t, channels_of(n)));
}

static uint32_t grid_colours(const render_scene *s, const scene_object *o)
{
    const uint32_t *shape = grid_data(s, o)->shape;
    return shape[3] == 3 ? shape[0] * shape[1] * shape[2] : 0;
}

static void grid_colour(tracer *t, const class_node *n, ir_ref record, ir_ref k, ir_ref rgb[3])
{
    plan_load_rgb(t, n, record, n->extra_word + EXTRA_VALUE, k, rgb);
}

/* Whether voxels are read as light at the wavelengths of a path, whose channels stand for those of the grid.
 * Who wants the numbers of such a grid has a tracer of light_raw. */
static bool shines(const tracer *t, const class_node *n)
{
    return t->light == LIGHT_SPECTRAL && n->upsampled;
}

/* Reads the channels [0, count) of one voxel. A grid of one channel gives it for all of them. */
static void voxel(tracer *t, const class_node *n, ir_ref record, const ir_ref size[3], const ir_ref at[3],
                  uint32_t count, ir_ref *out)
{
    if (shines(t, n)) {
        color light = plan_spectral(t, n, record, voxel_index(t, size, at));
        BL_ASSERT(count <= t->channels, "%u channels of light", count);
        memcpy(out, light.c, count * sizeof *out);
        return;
    }
    BL_ASSERT(count <= channels_of(n) || channels_of(n) == 1, "%u channels of a grid of %u", count,
              channels_of(n));
    uint32_t word = n->extra_word + EXTRA_VALUE;
    ir_ref first = voxel_word(t, n, size, at);
    if (n->variant & QUADS) {
        plan_load_quads(t, n, record, word, first, count, out);
        return;
    }
    for (uint32_t c = 0; c < count; c++)
        out[c] = plan_load(t, n, record, word, PLAN_DATA_SLOT,
                           channels_of(n) == 1 ? first : t_offset(t, first, c));
}

static enum texture_wrap wrap_of(const class_node *n) { return (enum texture_wrap)(n->variant >> 2 & 3); }

/* Of the voxels around a place, along each side: indices and weights of both. */
typedef struct neighbours {
    ir_ref index[3][2], weight[3][2];
} neighbours;

/* at: in voxels. */
static neighbours neighbours_of(tracer *t, const class_node *n, const ir_ref size[3], const ir_ref at[3])
{
    ir_func *f = t->f;
    const enum texture_wrap mode = wrap_of(n);
    ir_ref one = t_f32(t, 1);
    neighbours r;
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref x = ir_sub(f, at[k], t_f32(t, 0.5f)), low = ir_floor(f, x);
        r.weight[k][1] = ir_sub(f, x, low), r.weight[k][0] = ir_sub(f, one, r.weight[k][1]);
        r.index[k][0] = texture_wrapped(t, mode, low, size[k]),
        r.index[k][1] = texture_wrapped(t, mode, ir_add(f, low, one), size[k]);
    }
    return r;
}

static void trilinear(tracer *t, const class_node *n, ir_ref record, const ir_ref size[3], ir_ref at[3],
                      uint32_t count, ir_ref *out)
{
    ir_func *f = t->f;
    ir_ref v[FIELD_CHANNELS_MOST], index[8], weight[8];
    neighbours by = neighbours_of(t, n, size, at);
    for (uint32_t k = 0; k < 8; k++) {
        uint32_t x = k & 1, y = k >> 1 & 1, z = k >> 2;
        const ir_ref place[3] = {by.index[0][x], by.index[1][y], by.index[2][z]};
        if (shines(t, n))
            index[k] = voxel_index(t, size, place);
        else
            voxel(t, n, record, size, place, count, v);
        ir_ref w = weight[k] = ir_mul(f, by.weight[0][x], ir_mul(f, by.weight[1][y], by.weight[2][z]));
        for (uint32_t c = 0; c < count && !shines(t, n); c++)
            out[c] = k ? t_mad(t, v[c], w, out[c]) : ir_mul(f, v[c], w);
    }
    if (shines(t, n))
        memcpy(out, plan_spectral_mix(t, n, record, index, weight, 8).c, count * sizeof *out);
}

/* One of the eight voxels, chosen by three uniform numbers with the probability of its weight. */
static void one_voxel(tracer *t, const class_node *n, ir_ref record, const volume_place *place,
                      const ir_ref at[3], uint32_t count, ir_ref *out)
{
    ir_func *f = t->f;
    ir_ref chosen[3];
    neighbours by = neighbours_of(t, n, place->size, at);
    for (uint32_t k = 0; k < 3; k++)
        chosen[k] =
            ir_select(f, ir_lt(f, place->chooses[k], by.weight[k][1]), by.index[k][1], by.index[k][0]);
    voxel(t, n, record, place->size, chosen, count, out);
}

static void nearest(tracer *t, const class_node *n, ir_ref record, const ir_ref size[3], ir_ref at[3],
                    uint32_t count, ir_ref *out)
{
    for (uint32_t k = 0; k < 3; k++)
        at[k] = texture_wrapped(t, wrap_of(n), ir_floor(t->f, at[k]), size[k]);
    voxel(t, n, record, size, at, count, out);
}

/* ---- tensor products, with slopes ---- */

enum { TAPS_MOST = 4 };
/* The voxels around a place that a filter reads: along each side `count` indices, their weights, and the
 * derivatives of the weights by the place, in voxels. */
typedef struct taps {
    uint32_t count;
    ir_ref index[3][TAPS_MOST], weight[3][TAPS_MOST], slope[3][TAPS_MOST];
} taps;

/* Uniform cubic B-splines at the part u of the way from one voxel's centre to the next. */
static void cubic_weights(tracer *t, ir_ref u, ir_ref weight[TAPS_MOST], ir_ref slope[TAPS_MOST])
{
    ir_func *f = t->f;
    ir_ref v = ir_sub(f, t_f32(t, 1), u), sixth = t_f32(t, 1.0f / 6), half = t_f32(t, 0.5f);
    const ir_ref to[2] = {v, u};
    for (int side = 0; side < 2; side++) {
        ir_ref x = to[side], x2 = t_sqr(t, x), sign = t_f32(t, side ? 1 : -1);
        int far = side ? 3 : 0, near = side ? 1 : 2;
        weight[far] = ir_mul(f, sixth, ir_mul(f, x2, x));
        slope[far] = ir_mul(f, sign, ir_mul(f, half, x2));
        ir_ref inner = t_mad(t, x2, ir_sub(f, ir_mul(f, half, x), t_f32(t, 1)), t_f32(t, 2.0f / 3));
        weight[near] = inner;
        slope[near] = ir_mul(f, sign, ir_mul(f, x, ir_sub(f, ir_mul(f, t_f32(t, 1.5f), x), t_f32(t, 2))));
    }
}

static taps taps_at(tracer *t, const class_node *n, const ir_ref size[3], const ir_ref at[3])
{
    ir_func *f = t->f;
    bool cubic = (n->variant & 3) == FILTER_CUBIC;
    taps r = {.count = cubic ? 4 : 2};
    ir_ref one = t_f32(t, 1);
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref x = ir_sub(f, at[k], t_f32(t, 0.5f)), low = ir_floor(f, x), u = ir_sub(f, x, low);
        if (cubic) {
            cubic_weights(t, u, r.weight[k], r.slope[k]);
        } else {
            r.weight[k][0] = ir_sub(f, one, u), r.weight[k][1] = u;
            r.slope[k][0] = t_f32(t, -1), r.slope[k][1] = one;
        }
        for (uint32_t i = 0; i < r.count; i++)
            r.index[k][i] =
                texture_wrapped(t, wrap_of(n), ir_add(f, low, t_f32(t, (float)i - (cubic ? 1 : 0))), size[k]);
    }
    return r;
}

/* The sum of v[k] by weight[k]. */
static ir_ref weighed(tracer *t, const ir_ref *v, const ir_ref *weight, uint32_t count)
{
    ir_ref sum = ir_mul(t->f, v[0], weight[0]);
    for (uint32_t k = 1; k < count; k++)
        sum = t_mad(t, v[k], weight[k], sum);
    return sum;
}

/* Channel `c` at a place. slope: NULL, or receives the derivatives by the place, in voxels. */
static ir_ref product(tracer *t, const class_node *n, ir_ref record, const ir_ref size[3], const taps *by,
                      uint32_t c, ir_ref slope[3])
{
    ir_ref plane[TAPS_MOST], plane_x[TAPS_MOST], plane_y[TAPS_MOST];
    const uint32_t count = by->count;
    for (uint32_t z = 0; z < count; z++) {
        ir_ref row[TAPS_MOST], row_x[TAPS_MOST];
        for (uint32_t y = 0; y < count; y++) {
            ir_ref v[TAPS_MOST], all[FIELD_CHANNELS_MOST];
            for (uint32_t x = 0; x < count; x++) {
                ir_ref at[3] = {by->index[0][x], by->index[1][y], by->index[2][z]};
                voxel(t, n, record, size, at, c + 1, all);
                v[x] = all[c];
            }
            row[y] = weighed(t, v, by->weight[0], count);
            row_x[y] = slope ? weighed(t, v, by->slope[0], count) : row[y];
        }
        plane[z] = weighed(t, row, by->weight[1], count);
        plane_x[z] = slope ? weighed(t, row_x, by->weight[1], count) : plane[z];
        plane_y[z] = slope ? weighed(t, row, by->slope[1], count) : plane[z];
    }
    if (slope) {
        slope[0] = weighed(t, plane_x, by->weight[2], count);
        slope[1] = weighed(t, plane_y, by->weight[2], count);
        slope[2] = weighed(t, plane, by->slope[2], count);
    }
    return weighed(t, plane, by->weight[2], count);
}

static void cubic(tracer *t, const class_node *n, ir_ref record, const ir_ref size[3], ir_ref at[3],
                  uint32_t count, ir_ref *out)
{
    taps by = taps_at(t, n, size, at);
    for (uint32_t c = 0; c < count; c++)
        out[c] = c && channels_of(n) == 1 ? out[0] : product(t, n, record, size, &by, c, NULL);
}

static bool is_trilinear(const class_node *n) { return (n->variant & 3) == FILTER_TRILINEAR; }

typedef void lookup_by(tracer *t, const class_node *n, ir_ref record, const ir_ref size[3], ir_ref at[3],
                       uint32_t count, ir_ref *out);
static lookup_by *filtered(const class_node *n)
{
    static lookup_by *const by[] = {trilinear, nearest, cubic};
    return by[n->variant & 3];
}

static void lookup(tracer *t, const class_node *n, ir_ref record, vec3 p, uint32_t count, ir_ref *out)
{
    ir_func *f = t->f;
    ir_ref at[3], size[3];
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref local = v3_point_by_row(t, record, n->extra_word + EXTRA_TO_LOCAL + 4 * k, p);
        size[k] = t_word(t, record, n->extra_word + EXTRA_SIZE + k);
        at[k] = ir_mul(f, local, ir_to_f32(f, size[k]));
    }
    filtered(n)(t, n, record, size, at, count, out);
}

static ir_ref grid_with_slope(tracer *t, const class_node *n, ir_ref record, vec3 p, vec3 *slope)
{
    ir_func *f = t->f;
    ir_ref at[3], size[3], by_place[3];
    *slope = v3_zero(t);
    for (uint32_t k = 0; k < 3; k++) {
        ir_ref local = v3_point_by_row(t, record, n->extra_word + EXTRA_TO_LOCAL + 4 * k, p);
        size[k] = t_word(t, record, n->extra_word + EXTRA_SIZE + k);
        at[k] = ir_mul(f, local, ir_to_f32(f, size[k]));
    }
    taps by = taps_at(t, n, size, at);
    ir_ref value = product(t, n, record, size, &by, 0, by_place);
    for (uint32_t k = 0; k < 3; k++) {
        vec3 row = v3_load(t, record, n->extra_word + EXTRA_TO_LOCAL + 4 * k);
        *slope = v3_add(t, *slope, v3_scale(t, row, ir_mul(f, by_place[k], ir_to_f32(f, size[k]))));
    }
    return value;
}

static void grid_size(tracer *t, const class_node *n, ir_ref record, ir_ref out[3])
{
    for (uint32_t k = 0; k < 3; k++)
        out[k] = t_word(t, record, n->extra_word + EXTRA_SIZE + k);
}

static void grid_in_cube(tracer *t, const class_node *n, ir_ref record, const volume_place *place,
                         uint32_t count, ir_ref *out)
{
    ir_ref at[3] = {place->p.x, place->p.y, place->p.z};
    for (int k = 0; k < 3; k++)
        at[k] = ir_mul(t->f, at[k], ir_to_f32(t->f, place->size[k]));
    if (is_trilinear(n) && place->chooses)
        one_voxel(t, n, record, place, at, count, out);
    else
        filtered(n)(t, n, record, place->size, at, count, out);
}

static color grid_eval(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    color light = {0};
    ir_ref v[3];
    if (shines(t, n)) {
        lookup(t, n, record, p, t->channels, light.c);
        return light;
    }
    lookup(t, n, record, p, grid_grey(n) ? 1 : 3, v);
    return grid_grey(n) ? color_all(v[0]) : light_of_rgb(t, v);
}

static void grid_six(tracer *t, const class_node *n, ir_ref record, vec3 p, ir_ref out[6])
{
    lookup(t, n, record, p, 6, out);
}

/* The largest of every lanes-th value from `lane` on, or of what the colours of voxels have. */
static ir_ref grid_most(tracer *t, const class_node *n, ir_ref record, ir_ref lane, uint32_t lanes)
{
    ir_func *f = t->f;
    ir_ref count = t_u32(t, n->upsampled ? 1 : channels_of(n));
    for (uint32_t k = 0; k < 3; k++)
        count = ir_mul(f, count, t_word(t, record, n->extra_word + EXTRA_SIZE + k));
    ir_ref state[2] = {lane, t_f32(t, 0)}, loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], count));
    ir_ref range[2];
    if (n->upsampled) /* a lane has whole voxels */
        plan_spectral_range(t, n, record, state[0], range);
    else
        range[1] = plan_load(t, n, record, n->extra_word + EXTRA_VALUE, PLAN_DATA_SLOT, state[0]);
    ir_ref next[2] = {ir_add(f, state[0], t_u32(t, lanes)), ir_max(f, state[1], range[1])};
    ir_endloop(f, loop, next, 2);
    return state[1];
}

/* ---- cells ---- */

enum {
    CELLED_LEAST = 16 /* least number of voxels along the longest side */,
    CELL_VOXELS = 4,
    CELLS_MOST = 16,
    CELLS_ASKED_MOST = 64
};

static uint32_t grid_cells(const render_scene *s, const scene_object *o)
{
    const uint32_t *shape = grid_data(s, o)->shape, asked = (uint32_t)scene_number(o, "majorant_cells");
    if (asked > 0)
        return asked > 1 ? asked : 0;
    uint32_t most = shape[0] > shape[1] ? shape[0] : shape[1], cells;
    most = shape[2] > most ? shape[2] : most, cells = most / CELL_VOXELS;
    if (most < CELLED_LEAST || !can_have_cells(o))
        return 0;
    return cells < CELLS_MOST ? cells : CELLS_MOST;
}

static volume_ray grid_into(tracer *t, const class_node *n, ir_ref record, vec3 o, vec3 d)
{
    return volume_ray_into(t, record, n->extra_word + EXTRA_TO_LOCAL, o, d);
}

/* Along one side: the first and the last voxel that a lookup within the cell can read, and one more on
 * either side. */
static void cell_voxels(tracer *t, ir_ref cell, uint32_t cells, ir_ref size, ir_ref *first, ir_ref *last)
{
    ir_func *f = t->f;
    ir_ref width = ir_div(f, ir_to_f32(f, size), t_f32(t, (float)cells)),
           low = ir_mul(f, ir_to_f32(f, cell), width);
    ir_ref most = ir_sub(f, size, t_u32(t, 1)), high = ir_add(f, low, width);
    *first = ir_to_u32(f, ir_max(f, t_f32(t, 0), ir_floor(f, ir_sub(f, low, t_f32(t, 1.5f)))));
    *last = ir_min(f, most, ir_to_u32(f, ir_floor(f, ir_add(f, high, t_f32(t, 1.5f)))));
}

/* `pick` keeps one of two values. `start` is the value that loses against all others. `end`: the end of a
 * range that matters. */
typedef struct extreme {
    float start;
    ir_ref (*pick)(ir_func *f, ir_ref a, ir_ref b);
    int end;
} extreme;

/* The extreme of all values that a lookup within the cell can read, over all channels, or of colours that
 * become spectra over all wavelengths. */
static ir_ref extreme_in(tracer *t, const class_node *n, ir_ref record, const ir_ref cell[3], uint32_t cells,
                         extreme of)
{
    ir_func *f = t->f;
    tracer raw = light_raw(t);
    ir_ref size[3], first[3], last[3], one = t_u32(t, 1);
    for (uint32_t k = 0; k < 3; k++) {
        size[k] = t_word(t, record, n->extra_word + EXTRA_SIZE + k);
        cell_voxels(t, cell[k], cells, size[k], &first[k], &last[k]);
    }
    ir_ref outer[2] = {first[2], t_f32(t, of.start)}, z = ir_loop(f, outer, 2);
    ir_while(f, ir_le(f, outer[0], last[2]));
    ir_ref middle[2] = {first[1], outer[1]}, y = ir_loop(f, middle, 2);
    ir_while(f, ir_le(f, middle[0], last[1]));
    ir_ref inner[2] = {first[0], middle[1]}, x = ir_loop(f, inner, 2);
    ir_while(f, ir_le(f, inner[0], last[0]));
    ir_ref v[3], so_far = inner[1];
    const ir_ref at[3] = {inner[0], middle[0], outer[0]};
    if (n->upsampled) {
        plan_spectral_range(t, n, record, voxel_index(t, size, at), v);
        so_far = of.pick(f, so_far, v[of.end]);
    } else {
        voxel(&raw, n, record, size, at, grid_grey(n) ? 1 : 3, v);
        for (uint32_t c = 0; c < (grid_grey(n) ? 1u : 3u); c++)
            so_far = of.pick(f, so_far, v[c]);
    }
    ir_endloop(f, x, (ir_ref[2]){ir_add(f, inner[0], one), so_far}, 2);
    ir_endloop(f, y, (ir_ref[2]){ir_add(f, middle[0], one), inner[1]}, 2);
    ir_endloop(f, z, (ir_ref[2]){ir_add(f, outer[0], one), middle[1]}, 2);
    return outer[1];
}

static ir_ref grid_most_in(tracer *t, const class_node *n, ir_ref record, const ir_ref cell[3],
                           uint32_t cells, float least)
{
    return extreme_in(t, n, record, cell, cells, (extreme){least, ir_max, 1});
}

static ir_ref grid_least_in(tracer *t, const class_node *n, ir_ref record, const ir_ref cell[3],
                            uint32_t cells)
{
    return extreme_in(t, n, record, cell, cells, (extreme){1e30f, ir_min, 0});
}

static const plugin_param grid_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_ABSENT | PLUGIN_GRID, NULL, 0, 0,
     "Mitsuba's .vol, version 3, NanoVDB's .nvdb, or, where the build has it, OpenVDB's .vdb (floats)"},
    {"resolution", PLUGIN_STRING, PLUGIN_ABSENT, NULL, 0, 0,
     "without a file: voxels along each side, one integer or three (x y z). Not in Mitsuba"},
    {"channels", PLUGIN_INTEGER, 0, "1", 1, FIELD_CHANNELS_MOST, "without a file: numbers in each voxel"},
    {"value", PLUGIN_FLOAT, 0, "0", 0, 0, "without a file: all of these numbers"},
    {"filter_type", PLUGIN_STRING, 0, "trilinear", 0, 0,
     "trilinear, nearest or cubic (B-splines of the values, not in Mitsuba)"},
    {"wrap_mode", PLUGIN_STRING, 0, "clamp", 0, 0, "repeat, mirror or clamp"},
    {"raw", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted; values are taken as they are"},
    {"to_world", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "places the unit cube, or the file's box"},
    {"use_grid_bbox", PLUGIN_BOOLEAN, 0, "false", 0, 0,
     "the grid fills the box in the file, not the unit cube"},
    {"max_value", PLUGIN_FLOAT, PLUGIN_ABSENT, NULL, 0, 0,
     "accepted; bounds of densities are found, and follow the values"},
    {"accel", PLUGIN_BOOLEAN, 0, "true", 0, 0, "accepted; lookups are traced code here"},
    {"majorant_cells", PLUGIN_INTEGER, 0, "0", 0, CELLS_ASKED_MOST,
     "cells along each side with bounds of their own; 1: one bound for all; 0: as many as pay, for grids of "
     "16 voxels or more along a side. Not in Mitsuba"},
};
const volume_class volume_gridvolume = {
    .base = {.plugin = {PLUGIN_VOLUME, "gridvolume", PLUGIN_TABLE(grid_params), PLUGIN_NONE,
                        "a grid of values from a file, or of one value"},
             .data_name = "data",
             .least_side = 1,
             .extra_words = EXTRA_WORDS,
             .load = grid_load,
             .extra = grid_extra,
             .variant = grid_variant,
             .colours = grid_colours,
             .colour = grid_colour},
    .eval = grid_eval,
    .channels = grid_channels,
    .six = grid_six,
    .size = grid_size,
    .in_cube = grid_in_cube,
    .grey = grid_grey,
    .most = grid_most,
    .cells = grid_cells,
    .into = grid_into,
    .most_in = grid_most_in,
    .least_in = grid_least_in,
    .with_slope = grid_with_slope,
};
