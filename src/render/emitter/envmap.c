/* SPDX-License-Identifier: BSD-3-Clause
 * An image as environment, latitude by longitude (Mitsuba's conventions). In the emitter's own space +y is
 * up and
 *
 *     u = atan2(x, -z) / 2 pi, around;   v = acos(y) / pi, from the upper pole to the lower one.
 *
 * Column i of W has its centre at u = (i + 1/2) / W, and the first column follows the last. Row j of H
 * stands at v = j / (H - 1), so the first and the last row are the poles. Radiance is scale times the
 * bilinear interpolant. The uv of a sample are these coordinates.
 *
 * Directions are sampled exactly from the bilinear interpolant of the weights c = luminance * sin(pi v) at
 * the texels. The cumulative sum of rows gives a row of cells, and the sum of that row gives a cell. What
 * is left of both numbers goes through the inverse of the linear densities within the cell. Both sums have
 * guides, so that a search takes a step or two. The density in solid angle is c(u, v) / sum * W (H - 1) /
 * (2 pi^2 sin(pi v)), where `sum` is that of the means of the cells.
 *
 * Where to_world is a parameter it is any regular matrix A. Then a direction d of the world shows what
 * stands at A^-1 d, and the derivatives of envmap_locate follow this. The direction of a sample stays,
 * whatever found it, so its density is detached. In solid angle of the world the density is |A l|^3 / |det
 * A| times that of the map at l. Where to_world is no parameter it is a rotation (or one with a reflection)
 * that stands in the record.
 *
 * The weights follow the texels through tables that are built on the device (plan.h). With mis_compensation
 * (Karlik et al. 2019) the mean luminance is taken off first, and what is darker is left to the samples of
 * materials. Where the gradient of the texels or of to_world is wanted, every texel keeps a share of the
 * samples, a black one too (docs/theory/support.md). */
#include "render/emitter/envmap.h"

#include "render/emitter/pose.h"

enum { PARAM_FILENAME, PARAM_SCALE, PARAM_COMPENSATION };

static const float pi = 3.14159265358979323846f;

/* ---- where things stand ---- */

/* The texels around a point. u may lie up to one texel outside of [0, 1]. */
static corners corners_around(tracer *t, const envmap *m, vec2 uv)
{
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), x = ir_sub(f, ir_mul(f, uv.x, m->width_f), t_f32(t, 0.5f)),
           y = ir_mul(f, uv.y, m->cell_rows_f);
    ir_ref column = ir_floor(f, x);
    ir_ref row = ir_max(f, zero, ir_min(f, ir_floor(f, y), ir_sub(f, m->cell_rows_f, t_f32(t, 1))));
    ir_ref fx = ir_sub(f, x, column), fy = ir_sub(f, y, row);
    column = ir_select(f, ir_lt(f, column, zero), ir_add(f, column, m->width_f), column);
    column = ir_select(f, ir_ge(f, column, m->width_f), ir_sub(f, column, m->width_f), column);
    corners k = envmap_corners(t, m, ir_to_u32(f, ir_max(f, zero, column)), ir_to_u32(f, row));
    k.fx = fx, k.fy = fy;
    return k;
}

static ir_ref mix(tracer *t, ir_ref a, ir_ref b, ir_ref by) { return t_mad(t, by, ir_sub(t->f, b, a), a); }

/* ---- directions ---- */

/* A row of the rotation in the record. */
static vec3 world_row(tracer *t, const class_node *n, ir_ref record, uint32_t row)
{
    return v3_load(t, record, n->extra_word + EXTRA_TO_WORLD + 3 * row);
}

/* The matrix to_world. Only where it is a parameter. */
static affine_map to_world(tracer *t, const class_node *n, ir_ref record)
{
    affine_map m;
    for (uint32_t k = 0; k < 4; k++)
        m.column[k] = pose_column(t, n, record, ENVMAP_TO_WORLD, k);
    return m;
}

/* A direction of the world in the space of the map. Its length is 1 only where to_world is no parameter. */
static vec3 to_map(tracer *t, const class_node *n, ir_ref record, vec3 d)
{
    if (envmap_turns(n)) {
        affine_map m = to_world(t, n, record), back = affine_inverse(t, &m);
        return affine_vector(t, &back, d);
    }
    return v3_add(t, v3_scale(t, world_row(t, n, record, 0), d.x),
                  v3_add(t, v3_scale(t, world_row(t, n, record, 1), d.y),
                         v3_scale(t, world_row(t, n, record, 2), d.z)));
}

/* It uses atan2 twice, because acos would lose precision near the poles. */
static vec2 envmap_locate(tracer *t, const class_node *n, ir_ref record, vec3 d)
{
    ir_func *f = t->f;
    vec3 local = to_map(t, n, record, d);
    ir_ref u = ir_mul(f, ir_atan2(f, local.x, ir_neg(f, local.z)), t_f32(t, 0.5f / pi));
    ir_ref sine = ir_sqrt(f, t_mad(t, local.x, local.x, t_sqr(t, local.z)));
    u = ir_select(f, ir_lt(f, u, t_f32(t, 0)), ir_add(f, u, t_f32(t, 1)), u);
    return (vec2){u, ir_mul(f, ir_atan2(f, sine, local.y), t_f32(t, 1 / pi))};
}

/* The direction in the world of the point uv of the map. *length, only where to_world is a parameter: the
 * length of to_world times the unit direction of the map. */
static vec3 direction(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref sine, ir_ref *length)
{
    ir_func *f = t->f;
    ir_ref phi = ir_mul(f, uv.x, t_f32(t, 2 * pi));
    vec3 local = v3(ir_mul(f, ir_sin(f, phi), sine), ir_cos(f, ir_mul(f, uv.y, t_f32(t, pi))),
                    ir_neg(f, ir_mul(f, ir_cos(f, phi), sine)));
    if (envmap_turns(n))
        return pose_to_world(t, n, record, ENVMAP_TO_WORLD, local, length);
    return v3(v3_dot(t, world_row(t, n, record, 0), local), v3_dot(t, world_row(t, n, record, 1), local),
              v3_dot(t, world_row(t, n, record, 2), local));
}

/* sin(pi v), kept above 0 because densities are divided by it. */
static ir_ref sine_of(tracer *t, ir_ref v)
{
    return ir_max(t->f, ir_sin(t->f, ir_mul(t->f, v, t_f32(t, pi))), t_f32(t, 1e-7f));
}

/* The density of a direction in the solid angle of the map. c is the weight at the direction. */
static ir_ref density(tracer *t, const envmap *m, ir_ref c, ir_ref sine)
{
    ir_func *f = t->f;
    ir_ref cells = ir_mul(f, ir_mul(f, m->width_f, m->cell_rows_f), t_f32(t, 1 / (2 * pi * pi)));
    return ir_mul(f, t_ratio(t, c, envmap_value(t, m->table)), ir_div(f, cells, sine));
}

/* The factor from densities in solid angle of the map to those in solid angle of the world. Only where
 * to_world is a parameter. length: as `direction` gives it. */
static ir_ref crowding(tracer *t, const class_node *n, ir_ref record, ir_ref length)
{
    affine_map m = to_world(t, n, record);
    ir_ref determinant = v3_dot(t, m.column[0], v3_cross(t, m.column[1], m.column[2]));
    return t_ratio(t, ir_mul(t->f, length, t_sqr(t, length)), ir_abs(t->f, determinant));
}

/* ---- the emitter ---- */

/* Maps u to [0, 1] with a density that is linear from a to b. The result is the root of a quadratic, in the
 * form without cancellation. */
static ir_ref warp_linear(tracer *t, ir_ref a, ir_ref b, ir_ref u)
{
    ir_func *f = t->f;
    ir_ref left = t_ratio(t, a, ir_add(f, a, b)), one = t_f32(t, 1);
    ir_ref square = t_mad(t, u, ir_sub(f, one, ir_add(f, left, left)), t_sqr(t, left));
    return ir_min(f, one, t_ratio(t, u, ir_add(f, left, t_safe_sqrt(t, square))));
}

static emitter_sample envmap_sample(tracer *t, const class_node *n, ir_ref record, vec3 ref, ir_ref u1,
                                    ir_ref u2)
{
    (void)ref;
    ir_func *f = t->f;
    envmap m = envmap_open(t, n, record);
    ir_ref row_rest, cell_rest, c[4];
    guided_table rows = {m.rows, m.row_guide, m.row_steps, envmap_value(t, m.table)};
    ir_ref y = warp_guided_rest(t, &rows, u1, &row_rest);
    guided_table cells = {.table = ir_add(f, m.cells, ir_mul(f, y, m.width)), .steps = m.cell_steps};
    cells.guide = envmap_guide(t, &m, y), cells.sum = envmap_row_sum(t, &m, y);
    ir_ref x = warp_guided_rest(t, &cells, u2, &cell_rest);
    corners k = envmap_corners(t, &m, x, y);
    envmap_load_weights(t, &m, &k, c);
    ir_ref fy = warp_linear(t, ir_add(f, c[0], c[1]), ir_add(f, c[2], c[3]), row_rest);
    ir_ref left = mix(t, c[0], c[2], fy), right = mix(t, c[1], c[3], fy);
    ir_ref fx = warp_linear(t, left, right, cell_rest);
    vec2 uv = {ir_div(f, ir_add(f, ir_add(f, ir_to_f32(f, x), fx), t_f32(t, 0.5f)), m.width_f),
               ir_div(f, ir_add(f, ir_to_f32(f, y), fy), m.cell_rows_f)};
    ir_ref sine = sine_of(t, uv.y), pdf = density(t, &m, mix(t, left, right, fx), sine), length = {0};
    vec3 d = direction(t, n, record, uv, sine, &length);
    if (envmap_turns(n))
        pdf = ir_mul(f, pdf, crowding(t, n, record, length));
    return (emitter_sample){
        d, t_real(t, record, n->extra_word + EXTRA_FAR), pdf, uv, ir_bool(f, true), .n = v3_none()};
}

static ir_ref envmap_pdf(tracer *t, const class_node *n, ir_ref record, const emitter_hit *hit)
{
    envmap m = envmap_open(t, n, record);
    corners k = corners_around(t, &m, hit->uv);
    ir_ref c[4];
    envmap_load_weights(t, &m, &k, c);
    ir_ref pdf = density(t, &m, mix(t, mix(t, c[0], c[2], k.fy), mix(t, c[1], c[3], k.fy), k.fx),
                         sine_of(t, hit->uv.y));
    if (!envmap_turns(n))
        return pdf;
    ir_ref length = t_ratio(t, t_f32(t, 1), v3_length(t, to_map(t, n, record, hit->d)));
    return ir_mul(t->f, pdf, crowding(t, n, record, length));
}

static uint32_t envmap_colours(const render_scene *s, const scene_object *o)
{
    const uint32_t *shape = s->parameters.data[render_find_parameter(s, o, PLAN_DATA_SLOT)].shape;
    return shape[0] * shape[1];
}

static void envmap_colour(tracer *t, const class_node *n, ir_ref record, ir_ref k, ir_ref rgb[3])
{
    for (uint32_t c = 0; c < 3; c++)
        rgb[c] = envmap_texel(t, n, record, k, c);
}

/* The light of the texels around a point, interpolated. */
static color spectral_at(tracer *t, const class_node *n, ir_ref record, const corners *k)
{
    ir_func *f = t->f;
    ir_ref one = t_f32(t, 1), x[2] = {ir_sub(f, one, k->fx), k->fx}, y[2] = {ir_sub(f, one, k->fy), k->fy},
           weight[4];
    for (int i = 0; i < 4; i++)
        weight[i] = ir_mul(f, x[i & 1], y[i >> 1]);
    return plan_spectral_mix(t, n, record, k->index, weight, 4);
}

static color envmap_radiance(tracer *t, const class_node *n, ir_ref record, vec2 uv, ir_ref distance,
                             ir_ref facing)
{
    (void)distance, (void)facing;
    envmap m = envmap_open(t, n, record);
    corners k = corners_around(t, &m, uv);
    if (t->light == LIGHT_SPECTRAL)
        return color_scale(t, spectral_at(t, n, record, &k), plan_number(t, n, record, "scale"));
    ir_ref rgb[3];
    for (uint32_t c = 0; c < 3; c++) {
        ir_ref v[4];
        for (int i = 0; i < 4; i++)
            v[i] = envmap_texel(t, n, record, k.index[i], c);
        rgb[c] = mix(t, mix(t, v[0], v[2], k.fy), mix(t, v[1], v[3], k.fy), k.fx);
    }
    return color_scale(t, light_of_rgb(t, rgb), plan_number(t, n, record, "scale"));
}

/* The mean weight is the mean luminance times 2 / pi, the mean of sin(pi v). */
static ir_ref envmap_power(tracer *t, const class_node *n, ir_ref record)
{
    ir_func *f = t->f;
    envmap m = envmap_open(t, n, record);
    ir_ref mean = ir_mul(f, t_ratio(t, envmap_value(t, m.table), ir_mul(f, m.width_f, m.cell_rows_f)),
                         t_f32(t, pi / 2));
    return emitter_far_power(t, ir_mul(f, mean, plan_number(t, n, record, "scale")),
                             t_real(t, record, n->extra_word + EXTRA_FAR));
}

/* ---- loading ---- */

/* The rotation of to_world, without its translation and size. Returns false if its axes are not
 * perpendicular, or not all of one length. */
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
                           "envmap: \"to_world\" must be made of rotations, reflections and the same scale "
                           "in all directions");
    bl_result r = image_load_value(file, false, &image, &reason);
    if (r != BL_OK)
        return scene_error(err, r, file->where, "envmap: %s", reason.text);
    if (image.width < 2 || image.height < 3) {
        r = scene_error(err, BL_ERROR_SCENE, file->where,
                        "envmap: an image of %u x %u pixels; at least 2 x 3 are needed", image.width,
                        image.height);
        image_free(&image);
        return r;
    }
    size_t pixels = (size_t)image.width * image.height;
    float *rgb = memory_alloc(3 * pixels * sizeof *rgb);
    r = rgb ? render_room(s, 3 * pixels, 0, err)
            : scene_error(err, BL_ERROR_MEMORY, file->where, "envmap: out of memory for %zu pixels", pixels);
    if (r != BL_OK) {
        image_free(&image);
        memory_free(rgb);
        return r;
    }
    for (size_t i = 0; i < 3 * pixels; i++)
        rgb[i] = image.pixels[image.channels == 3 ? i : i / 3];
    const initial_values v = {3, (uint32_t[3]){image.height, image.width, 3}, 0, INFINITY, rgb};
    uint32_t data = render_add_parameter(s, o, PLAN_DATA_SLOT, &v);
    s->parameters.data[data].emits = true;
    s->parameters.data[data].factor = render_find_parameter(s, o, PARAM_SCALE);
    memory_free(rgb);
    image_free(&image);
    return BL_OK;
}

static void envmap_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    double axes[9] = {0};
    rotation(o, axes);
    words[EXTRA_VALUE] = plan_value_offset(p, o, PLAN_DATA_SLOT);
    words[EXTRA_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
    words[EXTRA_WIDTH] = envmap_shape(p->scene, o)[1];
    words[EXTRA_HEIGHT] = envmap_shape(p->scene, o)[0];
    words[EXTRA_ROW_STEPS] = envmap_guide_steps(words[EXTRA_HEIGHT] - 1),
    words[EXTRA_CELL_STEPS] = envmap_guide_steps(words[EXTRA_WIDTH]);
    /* Shadow rays that travel as far as EXTRA_FAR have left the scene. */
    words[EXTRA_FAR] = float_word(4 * p->scene->radius + 1);
    for (int k = 0; k < 9; k++)
        words[EXTRA_TO_WORLD + k] = float_word((float)axes[k]);
}

/* The variant is 1 with mis_compensation, else 0. */
static uint32_t envmap_variant(const render_scene *s, const scene_object *o)
{
    (void)s;
    return scene_number(o, "mis_compensation") != 0;
}

static const plugin_param envmap_params[] = {
    [PARAM_FILENAME] = {"filename", PLUGIN_FILE, PLUGIN_REQUIRED | PLUGIN_GRID, NULL, 0, 0,
                        "latitude by longitude; EXR, PNG, JPEG, Radiance HDR, BMP or PFM"},
    [PARAM_SCALE] = {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, "1", 0, 0, "multiplies the image"},
    [PARAM_COMPENSATION] = {"mis_compensation", PLUGIN_BOOLEAN, 0, "false", 0, 0,
                            "sample only what is brighter than the mean"},
    [ENVMAP_TO_WORLD] = {"to_world", PLUGIN_TRANSFORM, PLUGIN_DIFFERENTIABLE, "identity", 0, 0,
                         "turns the map, whose +y is up"},
    {"sampling_weight", PLUGIN_FLOAT, 0, "1", 0, 1e9, "how often it is sampled, against other lights"},
};
const emitter_class emitter_envmap = {
    .base = {.plugin = {PLUGIN_EMITTER, "envmap", PLUGIN_TABLE(envmap_params), PLUGIN_TABLE(emitter_slots),
                        "an image as environment"},
             .extra_words = EXTRA_WORDS,
             .data_name = "data",
             .colours = envmap_colours,
             .colour = envmap_colour,
             .load = envmap_load,
             .extra = envmap_extra,
             .variant = envmap_variant,
             .table_steps = ENVMAP_STEPS,
             .table_words = envmap_table_words,
             .table_lanes = envmap_table_lanes,
             .table_step = envmap_table_step},
    .environment = true,
    .pose_params = 1u << ENVMAP_TO_WORLD,
    .sample = envmap_sample,
    .radiance = envmap_radiance,
    .pdf = envmap_pdf,
    .power = envmap_power,
    .ray = emitter_far_ray,
    .locate = envmap_locate,
};
