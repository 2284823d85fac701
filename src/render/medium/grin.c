/* SPDX-License-Identifier: BSD-3-Clause
 * `grin`: a medium whose index of refraction varies, so that rays bend in it (docs/theory/gradient_index.md).
 * It may absorb and emit, and it scatters nothing. The index is a volume, times the profile of a known lens:
 *
 *     luneburg   sqrt(2 - r^2 / R^2)      maxwell   2 / (1 + r^2 / R^2)      (R: `radius`)
 *
 * Both are 1 at r = R. Nothing happens at the medium's border unless its material refracts: a `null` border
 * is that of a medium in matched surroundings.
 *
 * Grids: the force on a ray is n grad n, so the trilinear filter has forces that are constant in pieces and
 * jump between voxels. The filter `cubic` (uniform cubic B-splines) has forces with continuous derivatives,
 * so leapfrog keeps its order and designs do not show the voxels.
 *
 * Radiance is counted as basic radiance, L / n^2, which stays the same along a ray that bends. */
#include "render/classes.h"

#include <float.h>

enum { PARAM_IOR };
enum grin_profile { PROFILE_NONE, PROFILE_LUNEBURG, PROFILE_MAXWELL };
static const char *const profiles[] = {"none", "luneburg", "maxwell", NULL};
enum extra { EXTRA_STEP, EXTRA_STEPS, EXTRA_CENTER, EXTRA_CURVATURE = EXTRA_CENTER + 3, EXTRA_WORDS };

/* A step of leapfrog, if none is given: the lesser of these parts of a voxel and of the radius, over the
 * index. */
static const double step_of_voxel = .3, step_of_radius = .01;

static const class_node *ior_volume(const class_node *n) { return n->param_child[PARAM_IOR]; }

/* ---- loading ---- */

static uint32_t grin_variant(const render_scene *s, const scene_object *o)
{
    (void)s;
    uint32_t k = 0;
    while (profiles[k] && strcmp(profiles[k], scene_get(o, "profile")->text) != 0)
        k++;
    return k;
}

/* Whether the medium, or a volume that it holds, is the object with this index. */
static bool is_of(const scene_object *medium, uint32_t object)
{
    bool any = medium->index == object;
    for (uint32_t k = 0; k < medium->cls->param_count; k++)
        any |= medium->values[k].object && is_of(medium->values[k].object, object);
    return any;
}

static bl_result grin_load(render_scene *s, const scene_object *o, bl_error *err)
{
    const scene_value *ior = scene_get(o, "ior");
    TRY(texture_check_choice(o, "profile", profiles, err));
    if (!((const volume_class *)(const void *)ior->object->cls)->with_slope)
        return scene_error(err, BL_ERROR_SCENE, ior->where,
                           "grin: the volume %s has no gradient; \"ior\" is a number or a gridvolume",
                           ior->object->cls->name);
    if (ior->object->cls == &volume_gridvolume.base.plugin &&
        strcmp(scene_get(ior->object, "filter_type")->text, "nearest") == 0)
        return scene_error(
            err, BL_ERROR_SCENE, ior->where,
            "grin: the gradient of nearest voxels is 0; \"filter_type\" of \"ior\" is cubic or "
            "trilinear");
    const char *lacks =
        s->mode->light == LIGHT_SPECTRAL || s->mode->polarized ? "the modes rgb and mono alone"
        : s->own || s->field || s->ellipsoid_field || s->silhouette || s->method != METHOD_REPLAY
            ? "path, direct, depth, prb, volpath and their kin, and ptracer"
        : s->inverts       ? "the order of vertices without inversion alone"
        : s->hide_emitters ? "scenes that show their lights (hide_emitters) alone"
                           : NULL;
    if (lacks)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where, "grin: rays that bend are known to %s",
                           lacks);
    if (s->light_tracing && scene_get(o, "emission")->given)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                           "grin: paths from lights do not begin in a medium; leave out its \"emission\"");
    if (scene_child(s->sensor, PLUGIN_MEDIUM) == o)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where, "grin: a sensor cannot be in such a medium");
    return BL_OK;
}

/* All of its parameters are found along attached paths. */
static void grin_mark(render_scene *s, const scene_object *o)
{
    const scene_object *ior = scene_get(o, "ior")->object;
    bool jumps = render_find_parameter(s, ior, PLAN_DATA_SLOT) != PLAN_NONE &&
                 strcmp(scene_get(ior, "filter_type")->text, "trilinear") == 0;
    const char *of_index =
        jumps ? "edges that it moves behind the medium are left out, and jumps of the force between voxels, "
                "which the filter \"cubic\" has not"
              : "edges that it moves behind the medium are left out";
    for (uint32_t i = 0; i < s->parameters.count; i++) {
        render_parameter *p = &s->parameters.data[i];
        if (!is_of(o, p->object))
            continue;
        render_turns(s, i);
        p->curves = true, p->reason = is_of(ior, p->object) ? of_index : NULL;
    }
}

/* The shortest side of a voxel of the index; DBL_MAX where it is a number. */
static double voxel_side(const render_scene *s, const scene_object *volume)
{
    const double *m = scene_get(volume, "to_world")->matrix;
    uint32_t data = render_find_parameter(s, volume, PLAN_DATA_SLOT);
    double least = DBL_MAX;
    for (uint32_t k = 0; k < 3 && data != PLAN_NONE; k++) {
        double size = s->parameters.data[data].shape[2 - k],
               side = sqrt(m[k] * m[k] + m[4 + k] * m[4 + k] + m[8 + k] * m[8 + k]);
        least = fmin(least, side / size);
    }
    return least;
}

static void grin_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    double radius = scene_number(o, "radius"), step = scene_number(o, "step_size"),
           voxel = step_of_voxel * voxel_side(p->scene, scene_get(o, "ior")->object);
    if (step <= 0)
        step = grin_variant(p->scene, o) ? fmin(voxel, step_of_radius * radius) : fmin(voxel, 1);
    const double *center = scene_get(o, "center")->vector;
    words[EXTRA_STEP] = float_word((float)step);
    words[EXTRA_STEPS] = (uint32_t)scene_number(o, "max_steps");
    for (int k = 0; k < 3; k++)
        words[EXTRA_CENTER + k] = float_word((float)center[k]);
    words[EXTRA_CURVATURE] = float_word((float)(1 / (radius * radius)));
}

/* ---- the index ---- */

static medium_index profile_at(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    ir_func *f = t->f;
    vec3 r = v3_sub(t, p, v3_load(t, record, n->extra_word + EXTRA_CENTER));
    ir_ref curvature = t_real(t, record, n->extra_word + EXTRA_CURVATURE),
           square = ir_mul(f, v3_dot(t, r, r), curvature), one = t_f32(t, 1);
    if (n->variant == PROFILE_LUNEBURG) { /* smooth a little beyond the border, on which rays end */
        ir_ref index = ir_sqrt(f, ir_max(f, ir_sub(f, t_f32(t, 2), square), t_f32(t, 0.25f)));
        return (medium_index){index, v3_scale(t, r, ir_neg(f, ir_div(f, curvature, index)))};
    }
    ir_ref over = ir_div(f, one, ir_add(f, one, square));
    ir_ref slope = ir_mul(f, ir_mul(f, t_f32(t, -4), curvature), t_sqr(t, over));
    return (medium_index){ir_mul(f, t_f32(t, 2), over), v3_scale(t, r, slope)};
}

static medium_index grin_index(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    const class_node *volume = ior_volume(n);
    medium_index by;
    by.n = volume_of(volume)->with_slope(t, volume, t_offset(t, record, n->field[PARAM_IOR]), p, &by.slope);
    if (n->variant == PROFILE_NONE)
        return by;
    medium_index lens = profile_at(t, n, record, p);
    return (medium_index){ir_mul(t->f, by.n, lens.n),
                          v3_add(t, v3_scale(t, by.slope, lens.n), v3_scale(t, lens.slope, by.n))};
}

static ir_ref grin_step(tracer *t, const class_node *n, ir_ref record)
{
    return t_real(t, record, n->extra_word + EXTRA_STEP);
}

static ir_ref grin_steps(tracer *t, const class_node *n, ir_ref record)
{
    return t_word(t, record, n->extra_word + EXTRA_STEPS);
}

bool medium_bends(const class_node *n) { return medium_of(n)->index != NULL; }

bool render_bends_rays(const render_scene *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->media.count; i++)
        any |= medium_bends_rays(s->media.data[i]);
    return any;
}

bool medium_absorbs(const class_node *n) { return medium_bends(n) && plan_given(n, "sigma_a"); }
bool medium_glows(const class_node *n) { return medium_bends(n) && plan_given(n, "emission"); }

color medium_absorption(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    return plan_volume(t, n, record, "sigma_a", p);
}

color medium_glow(tracer *t, const class_node *n, ir_ref record, vec3 p)
{
    return plan_volume(t, n, record, "emission", p);
}

static const plugin_param grin_params[] = {
    [PARAM_IOR] = {"ior", PLUGIN_VOLUMETRIC, PLUGIN_SCALAR, "1", 1e-3, 1e3,
                   "index of refraction: a number, or a gridvolume with filter_type cubic (forces that are "
                   "continuous) or trilinear (forces that jump between voxels)"},
    {"profile", PLUGIN_STRING, 0, "none", 0, 0,
     "multiplies ior: none, luneburg (sqrt(2 - r^2 / radius^2)) or maxwell (2 / (1 + r^2 / radius^2))"},
    {"center", PLUGIN_POINT, 0, "0,0,0", 0, 0, "of the profile"},
    {"radius", PLUGIN_FLOAT, 0, "1", 1e-9, 1e9, "of the profile"},
    {"sigma_a", PLUGIN_VOLUMETRIC, PLUGIN_ABSENT | PLUGIN_SCALAR | PLUGIN_HELD, NULL, 0, 1e30,
     "absorption per unit length"},
    {"emission", PLUGIN_VOLUMETRIC, PLUGIN_ABSENT | PLUGIN_SCALAR, NULL, 0, 1e30,
     "basic radiance (over the square of the index) that a unit length emits"},
    {"step_size", PLUGIN_FLOAT, 0, "0", 0, 1e9,
     "length of a step, over the index; 0: 0.3 voxels of ior, but at most 0.01 radius or, without a profile, "
     "1"},
    {"sample_emitters", PLUGIN_BOOLEAN, 0, "true", 0, 0, "accepted; nothing scatters"},
    {"max_steps", PLUGIN_INTEGER, 0, "10000", 1, 1e9, "rays that are still inside after so many end there"},
};
const medium_class medium_grin = {
    .base = {.plugin = {PLUGIN_MEDIUM, "grin", PLUGIN_TABLE(grin_params), PLUGIN_NONE,
                        "bends rays by an index of refraction that varies; absorbs, emits, scatters nothing. "
                        "Not in Mitsuba"},
             .extra_words = EXTRA_WORDS,
             .load = grin_load,
             .mark = grin_mark,
             .extra = grin_extra,
             .variant = grin_variant},
    .homogeneous = true,
    .index = grin_index,
    .step = grin_step,
    .steps = grin_steps,
};
