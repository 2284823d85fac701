/* SPDX-License-Identifier: BSD-3-Clause
 * Cameras and lights of nodes, and those that stand in where the file has none.
 *
 * Both look along -z of their node, with +y up. Sensors and spots of a scene look along +z, with +x to the
 * left. Lights are those of KHR_lights_punctual: candela become intensity, lux irradiance, and nits of
 * emissive surfaces radiance, one to one. */
#include "base/vector.h"
#include "scene/gltf/gltf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESOLUTION_USUAL = 512, RESOLUTION_MOST = 65536, SAMPLES_USUAL = 64 };

static const double degrees = 57.295779513082320877;

static bool normalise(double v[3])
{
    const double length = sqrt(dot3(v, v));
    for (int k = 0; k < 3; k++)
        v[k] /= length;
    return length > 0 && isfinite(length);
}

/* The rigid map of what stands at `from`, looks along `along` and has `up` above it: +z along, +y up. false:
 * there is none. */
static bool looking(const double from[3], const double along[3], const double up[3], double m[16])
{
    double x[3], y[3], z[3];
    memcpy(z, along, sizeof z);
    if (!normalise(z))
        return false;
    for (int k = 0; k < 3; k++)
        x[k] = up[(k + 1) % 3] * z[(k + 2) % 3] - up[(k + 2) % 3] * z[(k + 1) % 3];
    if (!normalise(x))
        return false;
    for (int k = 0; k < 3; k++)
        y[k] = z[(k + 1) % 3] * x[(k + 2) % 3] - z[(k + 2) % 3] * x[(k + 1) % 3];
    for (int k = 0; k < 3; k++)
        m[4 * k] = x[k], m[4 * k + 1] = y[k], m[4 * k + 2] = z[k], m[4 * k + 3] = from[k];
    m[12] = m[13] = m[14] = 0, m[15] = 1;
    return true;
}

/* The same of a node, without its scale. */
static bl_result looking_node(gltf *g, const gltf_instance *at, double m[16])
{
    const double *w = at->to_world, from[3] = {w[3], w[7], w[11]}, along[3] = {-w[2], -w[6], -w[10]},
                 up[3] = {w[1], w[5], w[9]};
    return looking(from, along, up, m) ? BL_OK
                                       : gltf_error(g, BL_ERROR_SCENE, (gltf_place){GLTF_NODES, at->node},
                                                    "what has a camera or a light must not be scaled by 0");
}

/* ---- lights ---- */

static bl_result make_spot(gltf *g, gltf_place where, const cJSON *light, const gltf_instance *at,
                           struct raw_node **out)
{
    const cJSON *spot = gltf_get(light, "spot");
    double inner = 0, outer = 0.78539816339744830962, m[16];
    TRY(gltf_numbers(g, where, spot, "innerConeAngle", 1, 0, 1.5708, &inner));
    TRY(gltf_numbers(g, where, spot, "outerConeAngle", 1, 0, 1.5708, &outer));
    if (!(inner < outer))
        return gltf_error(g, BL_ERROR_SCENE, where, "\"innerConeAngle\" is not below \"outerConeAngle\"");
    TRY(looking_node(g, at, m));
    inner *= degrees, outer *= degrees;
    *out = assembly_object(g->assembly, PLUGIN_EMITTER, "spot",
                           gltf_id(g, gltf_name(g, where), "light", where.index));
    assembly_numbers(g->assembly, *out, PLUGIN_FLOAT, "cutoff_angle", &outer, 1);
    assembly_numbers(g->assembly, *out, PLUGIN_FLOAT, "beam_width", &inner, 1);
    assembly_numbers(g->assembly, *out, PLUGIN_TRANSFORM, "to_world", m, 16);
    gltf_note(g, "a spot falls off linearly with the angle between its cones");
    return BL_OK;
}

static bl_result make_light(gltf *g, const gltf_instance *at)
{
    const gltf_place where = {GLTF_LIGHTS, at->light};
    const cJSON *light = gltf_item(g, where);
    const char *type = gltf_text(light, "type"), *what = "intensity";
    double colour[3] = {1, 1, 1}, intensity = 1;
    struct raw_node *emitter = NULL;
    TRY(gltf_numbers(g, where, light, "color", 3, 0, 1e9, colour));
    TRY(gltf_numbers(g, where, light, "intensity", 1, 0, 1e15, &intensity));
    type = type ? type : "";
    const char *name = gltf_name_shown(g, at, where);
    const double *w = at->to_world, position[3] = {w[3], w[7], w[11]};
    double along[3] = {-w[2], -w[6], -w[10]};
    if (strcmp(type, "spot") == 0) {
        TRY(make_spot(g, where, light, at, &emitter));
    } else if (strcmp(type, "point") == 0) {
        emitter = assembly_object(g->assembly, PLUGIN_EMITTER, type, gltf_id(g, name, "light", at->node));
        assembly_numbers(g->assembly, emitter, PLUGIN_POINT, "position", position, 3);
    } else if (strcmp(type, "directional") == 0) {
        if (!normalise(along))
            return gltf_error(g, BL_ERROR_SCENE, (gltf_place){GLTF_NODES, at->node},
                              "a light must not be scaled by 0");
        emitter = assembly_object(g->assembly, PLUGIN_EMITTER, type, gltf_id(g, name, "light", at->node));
        assembly_numbers(g->assembly, emitter, PLUGIN_POINT, "direction", along, 3);
        what = "irradiance";
    } else
        return gltf_error(g, BL_ERROR_SCENE, where, "its type \"%.40s\" is not directional, point or spot",
                          type);
    for (int k = 0; k < 3; k++)
        colour[k] *= intensity;
    assembly_numbers(g->assembly, emitter, PLUGIN_COLOR, what, colour, 3);
    assembly_add(g->assembly, assembly_root(g->assembly), NULL, emitter);
    if (gltf_get(light, "range"))
        gltf_note(g, "the range of a light, beyond which it ends, is not used");
    g->lit = true;
    return BL_OK;
}

bl_result gltf_make_lights(gltf *g)
{
    for (uint32_t i = 0; i < g->instances.count; i++) {
        if (g->instances.data[i].light != GLTF_NONE)
            TRY(make_light(g, &g->instances.data[i]));
        TRY(budget_check(g->err));
    }
    if (g->lit)
        return BL_OK;
    struct raw_node *sky =
        assembly_object(g->assembly, PLUGIN_EMITTER, "constant", gltf_id(g, "sky", "sky", 0));
    assembly_numbers(g->assembly, sky, PLUGIN_COLOR, "radiance", (const double[]){1, 1, 1}, 3);
    assembly_add(g->assembly, assembly_root(g->assembly), NULL, sky);
    gltf_note(g, "it has no light: a white sky of radiance 1 stands in");
    return BL_OK;
}

/* ---- cameras ---- */

typedef struct view {
    const char *name; /* NULL: none */
    const char *type;
    double to_world[16], aspect; /* width over height */
    double fov;                  /* perspective: along y, degrees */
    double near, far;
} view;

static bl_result resolution_of(gltf *g, uint32_t *out)
{
    const char *wanted = gltf_define(g, "resolution");
    int64_t number = RESOLUTION_USUAL;
    if (wanted && (!integer_parse(wanted, &number) || number < 1 || number > RESOLUTION_MOST))
        return error_set(g->err, BL_ERROR_SCENE,
                         "-D resolution=%.40s: the longer side of the film in pixels, from 1 to %d", wanted,
                         RESOLUTION_MOST);
    *out = (uint32_t)number;
    return BL_OK;
}

static void add_whole(gltf *g, struct raw_node *object, const char *name, uint32_t number)
{
    assembly_text(g->assembly, object, PLUGIN_INTEGER, name, arena_printf(&g->memory, "%u", number));
}

static bl_result add_film(gltf *g, const view *v, struct raw_node *sensor)
{
    struct raw_node *film = assembly_object(g->assembly, PLUGIN_FILM, "hdrfilm", NULL),
                    *sampler = assembly_object(g->assembly, PLUGIN_SAMPLER, "independent", NULL);
    uint32_t longer = RESOLUTION_USUAL;
    TRY(resolution_of(g, &longer));
    const double shorter = fmax(1, floor(longer * fmin(v->aspect, 1 / v->aspect) + 0.5));
    add_whole(g, film, "width", v->aspect >= 1 ? longer : (uint32_t)shorter);
    add_whole(g, film, "height", v->aspect >= 1 ? (uint32_t)shorter : longer);
    add_whole(g, sampler, "sample_count", SAMPLES_USUAL);
    assembly_add(g->assembly, sensor, NULL, film);
    assembly_add(g->assembly, sensor, NULL, sampler);
    return BL_OK;
}

static bl_result add_view(gltf *g, const view *v, uint32_t index)
{
    struct raw_node *sensor =
        assembly_object(g->assembly, PLUGIN_SENSOR, v->type, gltf_id(g, v->name, "camera", index));
    if (strcmp(v->type, "perspective") == 0) {
        assembly_numbers(g->assembly, sensor, PLUGIN_FLOAT, "fov", &v->fov, 1);
        assembly_text(g->assembly, sensor, PLUGIN_STRING, "fov_axis", "y");
    }
    assembly_numbers(g->assembly, sensor, PLUGIN_FLOAT, "near_clip", &v->near, 1);
    assembly_numbers(g->assembly, sensor, PLUGIN_FLOAT, "far_clip", &v->far, 1);
    assembly_numbers(g->assembly, sensor, PLUGIN_TRANSFORM, "to_world", v->to_world, 16);
    TRY(add_film(g, v, sensor));
    assembly_add(g->assembly, assembly_root(g->assembly), NULL, sensor);
    return BL_OK;
}

static bl_result read_perspective(gltf *g, gltf_place where, const cJSON *p, view *v)
{
    double angle = 0;
    TRY(gltf_numbers(g, where, p, "yfov", 1, 1e-6, 3.14, &angle));
    TRY(gltf_numbers(g, where, p, "aspectRatio", 1, 1e-4, 1e4, &v->aspect));
    TRY(gltf_numbers(g, where, p, "znear", 1, 0, 1e30, &v->near));
    v->far = fmax(1e4, 1e6 * v->near);
    TRY(gltf_numbers(g, where, p, "zfar", 1, 0, 1e30, &v->far));
    if (angle == 0 || !(v->near > 0))
        return gltf_error(g, BL_ERROR_SCENE, where,
                          "a perspective camera needs \"yfov\" and \"znear\" above 0");
    v->fov = angle * degrees;
    return BL_OK;
}

/* A film of -1 to 1 along x, scaled to the size. */
static bl_result read_orthographic(gltf *g, gltf_place where, const cJSON *p, view *v)
{
    double x = 0, y = 0;
    TRY(gltf_numbers(g, where, p, "xmag", 1, -1e15, 1e15, &x));
    TRY(gltf_numbers(g, where, p, "ymag", 1, -1e15, 1e15, &y));
    TRY(gltf_numbers(g, where, p, "znear", 1, 0, 1e30, &v->near));
    TRY(gltf_numbers(g, where, p, "zfar", 1, 0, 1e30, &v->far));
    x = fabs(x), y = fabs(y);
    if (!(x > 0 && y > 0 && x / y >= 1e-4 && x / y <= 1e4))
        return gltf_error(g, BL_ERROR_SCENE, where, "\"xmag\" and \"ymag\" are no size of an image");
    v->aspect = x / y;
    for (int k = 0; k < 3; k++)
        v->to_world[4 * k] *= x, v->to_world[4 * k + 1] *= x;
    return BL_OK;
}

static bl_result read_view(gltf *g, const gltf_instance *at, view *v)
{
    const gltf_place where = {GLTF_CAMERAS, at->camera};
    const cJSON *item = gltf_item(g, where);
    const char *type = gltf_text(item, "type");
    *v = (view){.type = type ? type : "", .aspect = 1, .near = 0, .far = 1e4};
    v->name = gltf_name_shown(g, at, where);
    TRY(looking_node(g, at, v->to_world));
    if (strcmp(v->type, "perspective") == 0)
        TRY(read_perspective(g, where, gltf_get(item, "perspective"), v));
    else if (strcmp(v->type, "orthographic") == 0)
        TRY(read_orthographic(g, where, gltf_get(item, "orthographic"), v));
    else
        return gltf_error(g, BL_ERROR_SCENE, where, "its type \"%.40s\" is not perspective or orthographic",
                          v->type);
    return v->far > v->near ? BL_OK
                            : gltf_error(g, BL_ERROR_SCENE, where, "\"zfar\" is not beyond \"znear\"");
}

/* In front of all that there is, a little from above and from the right. */
static bl_result add_usual_view(gltf *g)
{
    view v = {.name = "camera", .type = "perspective", .aspect = 1, .fov = 40};
    const double from[3] = {0.5, 0.4, 1}, up[3] = {0, 1, 0};
    double along[3] = {-from[0], -from[1], -from[2]}, eye[3], radius = 0;
    const bool any = g->box[3] >= g->box[0];
    for (int k = 0; k < 3; k++)
        radius += any ? (g->box[3 + k] - g->box[k]) * (g->box[3 + k] - g->box[k]) / 4 : 0;
    radius = radius > 0 ? sqrt(radius) : 1;
    normalise(along);
    const double distance = radius / sin(v.fov / 2 / degrees);
    for (int k = 0; k < 3; k++)
        eye[k] = (any ? (g->box[k] + g->box[3 + k]) / 2 : 0) - distance * along[k];
    v.near = 1e-3 * distance, v.far = 1e4 * distance;
    if (!looking(eye, along, up, v.to_world) || !isfinite(distance))
        return gltf_error(g, BL_ERROR_SCENE, (gltf_place){GLTF_FILE, 0}, "it is too large for a camera");
    gltf_note(g, "it has no camera: one that sees all of it stands in");
    return add_view(g, &v, 0);
}

/* Whether -D camera=.. means the camera of this name and number; all are meant where it is not given. */
static bool is_wanted(const gltf *g, const view *v, uint32_t number)
{
    const char *wanted = gltf_define(g, "camera");
    char digits[12];
    snprintf(digits, sizeof digits, "%u", number);
    return !wanted || (v->name && strcmp(wanted, v->name) == 0) || strcmp(wanted, digits) == 0;
}

static bl_result no_such_camera(gltf *g)
{
    text names = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->instances.count; i++) {
        const gltf_instance *at = &g->instances.data[i];
        if (at->camera == GLTF_NONE)
            continue;
        const char *name = gltf_name_shown(g, at, (gltf_place){GLTF_CAMERAS, at->camera});
        text_add(&names, "%s%u \"%.60s\"", count ? ", " : "", count, name ? name : "");
        count++;
    }
    bl_result r =
        error_set(g->err, BL_ERROR_SCENE, "-D camera=%.100s: %s has %s%.400s", gltf_define(g, "camera"),
                  g->name, count ? "the cameras " : "no camera", names.data ? names.data : "");
    text_free(&names);
    return r;
}

bl_result gltf_make_cameras(gltf *g)
{
    uint32_t count = 0, made = 0;
    for (uint32_t i = 0; i < g->instances.count; i++) {
        view v;
        if (g->instances.data[i].camera == GLTF_NONE)
            continue;
        TRY(read_view(g, &g->instances.data[i], &v));
        if (is_wanted(g, &v, count)) {
            TRY(add_view(g, &v, count));
            made++;
        }
        count++;
        TRY(budget_check(g->err));
    }
    if (!made && gltf_define(g, "camera"))
        return no_such_camera(g);
    return made ? BL_OK : add_usual_view(g);
}
