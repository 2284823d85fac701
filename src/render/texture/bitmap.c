/* SPDX-License-Identifier: BSD-3-Clause
 * Image textures. Texels are parameters (NAME.data, [height, width, channels]) in one flat buffer. Traced
 * code looks them up and filters them. So every device filters alike, and the gradient of a lookup is a
 * scatter to the texels that it read.
 *
 * Convention (Mitsuba): uv (0, 0) is the outer corner of the first texel of the first row of the file, and
 * texel centres lie at (i + .5) / resolution. Loaders of formats with the other orientation flip v (obj:
 * flip_tex_coords).
 *
 * The choice of the texels is detached. The weights of a bilinear lookup follow uv where it is
 * differentiated; nearest texels have steps and no such derivative. */
#include "render/classes.h"

enum filter { FILTER_BILINEAR, FILTER_NEAREST };
enum extra {
    EXTRA_VALUE,
    EXTRA_GRADIENT,
    EXTRA_WIDTH,
    EXTRA_HEIGHT,
    EXTRA_TRANSFORM,
    EXTRA_WORDS = EXTRA_TRANSFORM + 6
};

/* The variant holds three choices: filter | wrap << 2 | grey << 4. */
static uint32_t bitmap_variant(const render_scene *s, const scene_object *o)
{
    const char *filter = scene_get(o, "filter_type")->text, *wrap = scene_get(o, "wrap_mode")->text;
    uint32_t p = render_find_parameter(s, o, PLAN_DATA_SLOT);
    uint32_t grey = s->parameters.data[p].shape[2] == 1;
    return (strcmp(filter, "nearest") == 0 ? FILTER_NEAREST : FILTER_BILINEAR) |
           (uint32_t)texture_wrap_named(wrap) << 2 | grey << 4;
}

bl_result texture_check_choice(const scene_object *o, const char *param, const char *const *choices,
                               bl_error *err)
{
    const scene_value *v = scene_get(o, param);
    for (int i = 0; choices[i]; i++)
        if (strcmp(v->text, choices[i]) == 0)
            return BL_OK;
    return scene_error(err, BL_ERROR_SCENE, v->where, "%s: parameter \"%s\" cannot be \"%s\"", o->cls->name,
                       param, v->text);
}

/* Images of one texel in a direction are repeated to two texels, as in Mitsuba. */
static void widen(scene_image *image)
{
    uint32_t w = image->width < 2 ? 2 : image->width, h = image->height < 2 ? 2 : image->height,
             n = image->channels;
    if (w == image->width && h == image->height)
        return;
    float *wide = memory_need((size_t)w * h * n * sizeof *wide);
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++)
            for (uint32_t c = 0; c < n; c++)
                wide[(y * w + x) * n + c] =
                    image->pixels[((y < image->height ? y : 0) * image->width + (x < image->width ? x : 0)) *
                                      n +
                                  c];
    memory_free(image->pixels);
    *image =
        (scene_image){.width = w, .height = h, .channels = n, .pixels = wide, .eight_bit = image->eight_bit};
}

static bl_result bitmap_load(render_scene *s, const scene_object *o, bl_error *err)
{
    static const char *const filters[] = {"bilinear", "nearest", NULL}, *const wraps[] = {"repeat", "mirror",
                                                                                          "clamp", NULL};
    static const char *const formats[] = {"auto", "variant", "float16", "fp16", "uint8", NULL};
    TRY(texture_check_choice(o, "filter_type", filters, err));
    TRY(texture_check_choice(o, "wrap_mode", wraps, err));
    TRY(texture_check_choice(o, "format", formats, err));
    scene_image image;
    const scene_value *file = scene_get(o, "filename");
    bl_error reason = {0};
    bl_result r = image_load_value(file, scene_number(o, "raw") != 0, &image, &reason);
    if (r != BL_OK)
        return scene_error(err, r, file->where, "bitmap: %s", reason.text);
    r = render_room(s, (uint64_t)image.width * image.height * image.channels + 64, 0, err);
    if (r != BL_OK) {
        image_free(&image);
        return r;
    }
    widen(&image);
    uint32_t shape[4] = {image.height, image.width, image.channels};
    render_add_parameter(s, o, PLAN_DATA_SLOT, &(initial_values){3, shape, 0, INFINITY, image.pixels});
    image_free(&image);
    return BL_OK;
}

static uint32_t bitmap_colours(const render_scene *s, const scene_object *o)
{
    const uint32_t *shape = s->parameters.data[render_find_parameter(s, o, PLAN_DATA_SLOT)].shape;
    return shape[2] == 3 ? shape[0] * shape[1] : 0;
}

static void bitmap_colour(tracer *t, const class_node *n, ir_ref record, ir_ref k, ir_ref rgb[3])
{
    plan_load_rgb(t, n, record, n->extra_word + EXTRA_VALUE, k, rgb);
}

static void bitmap_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    const render_parameter *data =
        &p->scene->parameters.data[render_find_parameter(p->scene, o, PLAN_DATA_SLOT)];
    words[EXTRA_VALUE] = plan_value_offset(p, o, PLAN_DATA_SLOT);
    words[EXTRA_GRADIENT] = plan_gradient_offset(p, o, PLAN_DATA_SLOT);
    words[EXTRA_WIDTH] = data->shape[1];
    words[EXTRA_HEIGHT] = data->shape[0];
    texture_transform_words(o, words + EXTRA_TRANSFORM);
}

enum texture_wrap texture_wrap_named(const char *name)
{
    return strcmp(name, "mirror") == 0 ? WRAP_MIRROR : strcmp(name, "clamp") == 0 ? WRAP_CLAMP : WRAP_REPEAT;
}

ir_ref texture_wrapped(tracer *t, enum texture_wrap mode, ir_ref at, ir_ref size_u)
{
    ir_func *f = t->f;
    ir_ref size = ir_to_f32(f, size_u), one = t_f32(t, 1), last = ir_sub(f, size, one);
    if (mode == WRAP_CLAMP)
        return ir_to_u32(f, ir_min(f, ir_max(f, t_f32(t, 0), at), last));
    ir_ref tile = ir_floor(f, ir_div(f, ir_add(f, at, t_f32(t, 0.5f)), size));
    ir_ref inside = ir_sub(f, at, ir_mul(f, tile, size));
    if (mode == WRAP_MIRROR) {
        ir_ref half = ir_mul(f, tile, t_f32(t, 0.5f));
        ir_ref odd = ir_ne(f, half, ir_floor(f, half));
        inside = ir_select(f, odd, ir_sub(f, last, inside), inside);
    }
    /* The bounds hold for huge coordinates, too, and NaN becomes 0. */
    return ir_to_u32(f, ir_min(f, ir_max(f, t_f32(t, 0), inside), last));
}

static bool is_grey(const class_node *n) { return n->variant >> 4 & 1; }

static ir_ref texel_index(tracer *t, const class_node *n, ir_ref record, ir_ref x, ir_ref y)
{
    return ir_add(t->f, ir_mul(t->f, y, t_word(t, record, n->extra_word + EXTRA_WIDTH)), x);
}

/* The numbers of a texel. t: as light_raw makes it, as in all functions down to filtered; or, where light is
 * spectral and the image has colours, the tracer itself: then it is the texel's light. */
static color texel(tracer *t, const class_node *n, ir_ref record, ir_ref x, ir_ref y)
{
    ir_func *f = t->f;
    ir_ref index = texel_index(t, n, record, x, y);
    if (t->light == LIGHT_SPECTRAL && !is_grey(n))
        return plan_spectral(t, n, record, index);
    if (is_grey(n))
        return color_all(plan_load(t, n, record, n->extra_word + EXTRA_VALUE, PLAN_DATA_SLOT, index));
    ir_ref first = ir_mul(f, index, t_u32(t, 3));
    COLOR_EACH(r,
               plan_load(t, n, record, n->extra_word + EXTRA_VALUE, PLAN_DATA_SLOT, t_offset(t, first, c)));
    return r;
}

/* The texels around a place, and the position of the place between them. */
typedef struct footprint {
    ir_ref xs[2], ys[2], fx, fy; /* xs: columns, ys: rows; fx, fy: in [0, 1] from the first to the second */
} footprint;

typedef struct image_size {
    ir_ref w, h; /* u32 */
} image_size;

static image_size size_of(tracer *t, const class_node *n, ir_ref record)
{
    return (image_size){t_word(t, record, n->extra_word + EXTRA_WIDTH),
                        t_word(t, record, n->extra_word + EXTRA_HEIGHT)};
}

static enum texture_wrap wrap_of(const class_node *n) { return (enum texture_wrap)(n->variant >> 2 & 3); }
static bool is_bilinear(const class_node *n) { return (n->variant & 3) == FILTER_BILINEAR; }

/* The place of uv in units of texels, before wrapping. */
static vec2 texel_place(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_func *f = t->f;
    image_size size = size_of(t, n, record);
    uv = texture_transform(t, record, n->extra_word + EXTRA_TRANSFORM, uv);
    return (vec2){ir_mul(f, uv.x, ir_to_f32(f, size.w)), ir_mul(f, uv.y, ir_to_f32(f, size.h))};
}

static footprint footprint_at(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_func *f = t->f;
    vec2 at = texel_place(t, n, record, uv);
    image_size size = size_of(t, n, record);
    enum texture_wrap mode = wrap_of(n);
    ir_ref half = t_f32(t, 0.5f), one = t_f32(t, 1), x = ir_sub(f, at.x, half), y = ir_sub(f, at.y, half);
    ir_ref x0 = ir_floor(f, x), y0 = ir_floor(f, y);
    return (footprint){
        .xs = {texture_wrapped(t, mode, x0, size.w), texture_wrapped(t, mode, ir_add(f, x0, one), size.w)},
        .ys = {texture_wrapped(t, mode, y0, size.h), texture_wrapped(t, mode, ir_add(f, y0, one), size.h)},
        .fx = ir_sub(f, x, x0),
        .fy = ir_sub(f, y, y0)};
}

static color weighted(tracer *t, const class_node *n, ir_ref record, const footprint *p, const ir_ref wx[2],
                      const ir_ref wy[2])
{
    ir_func *f = t->f;
    color sum = {0};
    if (t->light == LIGHT_SPECTRAL && !is_grey(n)) {
        ir_ref index[4], weight[4];
        for (unsigned k = 0; k < 4; k++) {
            index[k] = texel_index(t, n, record, p->xs[k & 1], p->ys[k >> 1]);
            weight[k] = ir_mul(f, wx[k & 1], wy[k >> 1]);
        }
        return plan_spectral_mix(t, n, record, index, weight, 4);
    }
    for (unsigned k = 0; k < 4; k++) {
        color v = texel(t, n, record, p->xs[k & 1], p->ys[k >> 1]);
        ir_ref weight = ir_mul(f, wx[k & 1], wy[k >> 1]);
        for (uint32_t c = 0; c < t->channels; c++)
            sum.c[c] = k ? t_mad(t, v.c[c], weight, sum.c[c]) : ir_mul(f, v.c[c], weight);
    }
    return sum;
}

static color filtered(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    ir_func *f = t->f;
    if (is_bilinear(n)) {
        footprint p = footprint_at(t, n, record, uv);
        ir_ref one = t_f32(t, 1);
        return weighted(t, n, record, &p, (const ir_ref[]){ir_sub(f, one, p.fx), p.fx},
                        (const ir_ref[]){ir_sub(f, one, p.fy), p.fy});
    }
    image_size size = size_of(t, n, record);
    vec2 at = texel_place(t, n, record, uv);
    return texel(t, n, record, texture_wrapped(t, wrap_of(n), ir_floor(f, at.x), size.w),
                 texture_wrapped(t, wrap_of(n), ir_floor(f, at.y), size.h));
}

static color bitmap_eval(tracer *t, const class_node *n, ir_ref record, vec2 uv)
{
    if (t->light == LIGHT_SPECTRAL && !is_grey(n))
        return filtered(t, n, record, uv);
    tracer raw = light_raw(t);
    color c = filtered(&raw, n, record, uv);
    return is_grey(n) ? plan_grey(t, n, c.c[0]) : light_of_rgb(t, c.c);
}

/* The slope of the bilinear surface between four texels, by the chain rule through to_uv. Nearest texels
 * have steps and no slope. */
static vec2 bitmap_slope(tracer *of, const class_node *n, ir_ref record, vec2 uv)
{
    tracer raw = light_raw(of), *t = &raw;
    ir_func *f = t->f;
    ir_ref zero = t_f32(t, 0), one = t_f32(t, 1);
    if (!is_bilinear(n))
        return (vec2){zero, zero};
    footprint p = footprint_at(t, n, record, uv);
    image_size size = size_of(t, n, record);
    const ir_ref difference[2] = {t_f32(t, -1), one};
    color x = weighted(t, n, record, &p, difference, (const ir_ref[]){ir_sub(f, one, p.fy), p.fy});
    color y = weighted(t, n, record, &p, (const ir_ref[]){ir_sub(f, one, p.fx), p.fx}, difference);
    ir_ref dx = ir_mul(f, color_luminance(t, x), ir_to_f32(f, size.w)),
           dy = ir_mul(f, color_luminance(t, y), ir_to_f32(f, size.h));
    ir_ref m[6];
    for (uint32_t k = 0; k < 6; k++)
        m[k] = t_real(t, record, n->extra_word + EXTRA_TRANSFORM + k);
    return (vec2){t_mad(t, m[0], dx, ir_mul(f, m[3], dy)), t_mad(t, m[1], dx, ir_mul(f, m[4], dy))};
}

static const plugin_param bitmap_params[] = {
    {"filename", PLUGIN_FILE, PLUGIN_REQUIRED | PLUGIN_GRID, NULL, 0, 0,
     "EXR, PNG, JPEG, Radiance HDR, BMP or PFM"},
    {"filter_type", PLUGIN_STRING, 0, "bilinear", 0, 0, "bilinear or nearest"},
    {"wrap_mode", PLUGIN_STRING, 0, "repeat", 0, 0, "repeat, mirror or clamp"},
    {"format", PLUGIN_STRING, 0, "auto", 0, 0, "accepted; texels are always float32 here"},
    {"raw", PLUGIN_BOOLEAN, 0, "false", 0, 0, "take the values of PNG, JPEG and BMP as linear"},
    {"to_uv", PLUGIN_TRANSFORM, 0, "identity", 0, 0, "applied to texture coordinates"},
    {"accel", PLUGIN_BOOLEAN, 0, "true", 0, 0, "accepted; lookups are traced code here"},
};
const texture_class texture_bitmap = {
    .base = {.plugin = {PLUGIN_TEXTURE, "bitmap", PLUGIN_TABLE(bitmap_params), PLUGIN_NONE, "an image"},
             .extra_words = EXTRA_WORDS,
             .data_name = "data",
             .least_side = 2,
             .load = bitmap_load,
             .extra = bitmap_extra,
             .variant = bitmap_variant,
             .colours = bitmap_colours,
             .colour = bitmap_colour},
    .eval = bitmap_eval,
    .slope = bitmap_slope,
};
