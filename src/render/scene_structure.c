/* SPDX-License-Identifier: BSD-3-Clause
 * What kernels are specialised to, of the scene's integrator, sensor and film, and what a call says
 * instead. */
#include "render/own_integrator.h"
#include "render/scene_internal.h"

static const scene_object *default_child(const scene_object *o, plugin_category c)
{
    return o ? scene_child(o, c) : NULL;
}

/* What an integrator is, and the depths of its paths where the scene's integrator, another one, says nothing
 * of them. */
typedef struct integrator_kind {
    const char *name;
    int32_t max_depth, rr_depth;
    bool own_depths; /* these stand, whatever the scene says */
    bool no_next_event;
    bool sees_through; /* alpha and hide_emitters look behind null lobes; else they ask what the camera ray
                          meets first (Mitsuba) */
    bool volumetric;   /* knows media, and surfaces that are not there */
    bool light_tracing, depth_image, ellipsoid_field;
    bool both_ways;     /* light tracing, and as many paths from the sensor */
    bool silhouette;    /* shows shapes as bright or black */
    uint32_t particles; /* as render_metropolis.particles, and */
    double light_paths; /* light_paths, by default */
    enum gradient_method method;
    bool detached, pipelined;
    bool in_media; /* walks volumetrically where the scene has media */
    bool marches;  /* sees the scene's field */
    bool attached; /* every rough lobe that can be sampled attached is, not only the smoothest */
} integrator_kind;

enum { NO_ROULETTE = 1 << 20 };

static const integrator_kind integrator_kinds[] = {
    {.name = "path", .max_depth = -1, .rr_depth = 5, .sees_through = true},
    {.name = "prb", .max_depth = 6, .rr_depth = 5},
    {.name = "prb_attached", .max_depth = 6, .rr_depth = 5, .attached = true},
    {.name = "prb_basic", .max_depth = 6, .rr_depth = NO_ROULETTE, .no_next_event = true},
    {.name = "prb_detached", .max_depth = 6, .rr_depth = 5, .detached = true},
    {.name = "prb_projective", .max_depth = 6, .rr_depth = 5},
    {.name = "direct_projective", .max_depth = 2, .rr_depth = NO_ROULETTE, .own_depths = true},
    {.name = "rb",
     .max_depth = 6,
     .rr_depth = 5,
     .method = METHOD_RECURSIVE,
     .detached = true,
     .in_media = true},
    {.name = "rb_biased1",
     .max_depth = 6,
     .rr_depth = 5,
     .method = METHOD_UNIT,
     .detached = true,
     .in_media = true},
    {.name = "rb_biased1_2",
     .max_depth = 6,
     .rr_depth = 5,
     .method = METHOD_UNIT,
     .detached = true,
     .pipelined = true,
     .in_media = true},
    {.name = "rb_biased2",
     .max_depth = 6,
     .rr_depth = 5,
     .method = METHOD_RECURSIVE,
     .detached = true,
     .pipelined = true,
     .in_media = true},
    {.name = "tape",
     .max_depth = 6,
     .rr_depth = 5,
     .method = METHOD_TAPE,
     .detached = true,
     .in_media = true},
    {.name = "direct", .max_depth = 2, .rr_depth = NO_ROULETTE, .own_depths = true},
    {.name = "silhouette",
     .max_depth = 1,
     .rr_depth = NO_ROULETTE,
     .own_depths = true,
     .no_next_event = true,
     .silhouette = true},
    {.name = "depth", .max_depth = -1, .rr_depth = 5, .depth_image = true},
    {.name = "ptracer", .max_depth = -1, .rr_depth = 5, .light_tracing = true, .in_media = true},
    {.name = "bidirectional",
     .max_depth = -1,
     .rr_depth = 5,
     .sees_through = true,
     .detached = true,
     .light_tracing = true,
     .both_ways = true},
    {.name = "pssmlt",
     .max_depth = -1,
     .rr_depth = 5,
     .sees_through = true,
     .detached = true,
     .in_media = true,
     .particles = 1},
    {.name = "cpmmlt",
     .max_depth = -1,
     .rr_depth = 5,
     .sees_through = true,
     .detached = true,
     .in_media = true,
     .particles = 16},
    {.name = "mmlt",
     .max_depth = -1,
     .rr_depth = 5,
     .sees_through = true,
     .detached = true,
     .particles = 1,
     .light_paths = 0.5},
    {.name = "volpath", .max_depth = -1, .rr_depth = 5, .volumetric = true, .sees_through = true},
    {.name = "volpathmis", .max_depth = -1, .rr_depth = 5, .volumetric = true, .sees_through = true},
    {.name = "prbvolpath", .max_depth = 6, .rr_depth = 5, .volumetric = true, .sees_through = true},
    {.name = "volprim_rf_basic", .max_depth = 64, .rr_depth = 5, .detached = true, .ellipsoid_field = true},
    {.name = "radiance_field", .max_depth = 6, .rr_depth = 5, .sees_through = true, .marches = true},
};
enum { INTEGRATOR_KINDS = sizeof integrator_kinds / sizeof integrator_kinds[0] };

/* Of an application's integrators. */
static const integrator_kind own_kind = {
    .name = "own",
    .max_depth = -1,
    .rr_depth = NO_ROULETTE,
    .own_depths = true,
    .method = METHOD_OWN,
    .detached = true,
};

static const integrator_kind *kind_named(const char *name)
{
    for (size_t k = 0; k < INTEGRATOR_KINDS; k++)
        if (strcmp(integrator_kinds[k].name, name) == 0)
            return &integrator_kinds[k];
    return NULL;
}

/* Whether the class is an application's integrator. Those of the renderer that hold no other integrator are
 * in the table above. */
static bool is_own(const plugin_class *cls)
{
    return cls && cls->category == PLUGIN_INTEGRATOR && cls->slot_count == 0 && !kind_named(cls->name);
}

uint32_t integrator_abilities(const plugin_class *cls)
{
    if (is_own(cls))
        return ABILITY_REVERSE | ABILITY_FORWARD;
    const integrator_kind *kind = kind_named(cls->name);
    BL_ASSERT(kind, "no integrator is called %s", cls->name);
    if (kind->both_ways || kind->light_paths > 0)
        return 0; /* paths from lights do not know media */
    if (kind->particles)
        return ABILITY_IN_MEDIA;
    bool paths = !kind->depth_image;
    return ABILITY_REVERSE | ABILITY_FORWARD |
           (kind->volumetric || kind->marches || kind->in_media ? ABILITY_IN_MEDIA : 0) |
           (paths && kind->method == METHOD_REPLAY && !kind->marches && !kind->ellipsoid_field
                ? ABILITY_MOVING
                : 0);
}

static bl_result find_integrator(const char *name, const integrator_kind **out, bl_error *err)
{
    *out = kind_named(name);
    if (*out)
        return BL_OK;
    text known = {0};
    const char *nearest = NULL;
    uint32_t distance = UINT32_MAX;
    for (size_t k = 0; k < INTEGRATOR_KINDS; k++) {
        const char *found = name_nearest(name, &integrator_kinds[k].name, 1, &distance);
        nearest = found ? found : nearest;
    }
    for (size_t k = 0; k < INTEGRATOR_KINDS; k++)
        text_add(&known, "%s%s",
                 k == 0                     ? ""
                 : k + 1 < INTEGRATOR_KINDS ? ", "
                                            : " and ",
                 integrator_kinds[k].name);
    bl_result r = error_set(err, BL_ERROR_UNSUPPORTED, "integrator \"%s\" is not implemented%s%s%s; %s are",
                            name, nearest ? ", did you mean \"" : "", nearest ? nearest : "",
                            nearest ? "\"?" : "", known.data);
    text_free(&known);
    return r;
}

const char *render_method_name(const render_scene *s)
{
    static const char *const names[] = {
        [METHOD_REPLAY] = "path replay",
        [METHOD_RECURSIVE] = "radiative backpropagation",
        [METHOD_UNIT] = "radiative backpropagation",
        [METHOD_TAPE] = "the tape",
        [METHOD_OWN] = "an application's integrator",
    };
    return s->light_tracing ? "light tracing" : names[s->method];
}

/* A parameter of the object, or NULL if its plugin has none of this name. What an application's integrator
 * calls so means something to that integrator alone. */
static const scene_value *value_named(const scene_object *o, const char *name)
{
    return o && !is_own(o->cls) ? scene_find(o, name) : NULL;
}

/* Whether an object holds media, directly or, as groups of shapes do, one object deeper. straight: only those
 * count in which rays are straight. */
static bool holds(const scene_object *o, int deep, bool straight)
{
    bool any = false;
    for (uint32_t i = 0; i < o->child_count && !any; i++)
        any = (o->children[i]->cls->category == PLUGIN_MEDIUM &&
               !(straight && o->children[i]->cls == &medium_grin.base.plugin)) ||
              (deep > 0 && holds(o->children[i], deep - 1, straight));
    return any;
}

static bool holds_media(const scene_object *o, int deep) { return holds(o, deep, false); }

/* The roughness below which detached gradients are by far the noisier ones, by measurement
 * (docs/decisions/attached-rough-lobes.md). */
static const float attach_below = 0.05f;
enum { LOOK_AHEAD = 4 };

static bl_result read_attached(render_scene *s, const integrator_kind *kind, bl_error *err)
{
    bool theirs = scene_is(s->integrator, &integrator_prb_attached.plugin);
    s->attach_below = !kind->attached ? attach_below
                      : theirs        ? (float)scene_number(s->integrator, "attach_below")
                                      : INFINITY;
    s->look_ahead = theirs ? (uint32_t)scene_number(s->integrator, "look_ahead") : LOOK_AHEAD;
    const scene_value *chains = theirs ? scene_get(s->integrator, "chains") : NULL;
    s->inverts = chains && !s->mode->polarized && strcmp(chains->text, "jacobians") == 0;
    s->regularization = s->inverts ? (float)scene_number(s->integrator, "regularization") : 0;
    if (chains && strcmp(chains->text, "jacobians") != 0 && strcmp(chains->text, "visits") != 0)
        return scene_error(err, BL_ERROR_SCENE, chains->where,
                           "prb_attached: chains are \"visits\" or \"jacobians\", not \"%.40s\"",
                           chains->text);
    return BL_OK;
}

/* A ray of volprim_rf_basic visits its first ellipsoid whatever the depth (Mitsuba). */
static void read_ellipsoid_field(render_scene *s, const integrator_kind *kind)
{
    s->ellipsoid_field = kind->ellipsoid_field;
    s->srgb_primitives = !scene_is(s->integrator, &integrator_volprim_rf_basic.plugin) ||
                         scene_number(s->integrator, "srgb_primitives") != 0;
    if (kind->ellipsoid_field && s->max_depth == 0)
        s->max_depth = 1;
}

/* Only radiance_field sees the scene's field. It walks volumetrically where the scene has media. */
static bl_result read_march(render_scene *s, const integrator_kind *kind, bl_error *err)
{
    const scene_object *i = s->integrator, *field = scene_child(s->description->root, PLUGIN_FIELD);
    bool theirs = scene_is(i, &integrator_radiance_field.plugin);
    if (!kind->marches)
        return field
                   ? scene_error(err, BL_ERROR_SCENE, field->where,
                                 "the integrator \"%s\" does not see fields; radiance_field does", kind->name)
                   : BL_OK;
    s->field = field;
    s->march = (render_march){
        .step = theirs ? scene_number(i, "step_size") : 0,
        .least_transmittance = theirs ? (float)scene_number(i, "min_transmittance") : 1e-4f,
        .empty_below = theirs ? (float)scene_number(i, "empty_below") : 0,
        .thin = theirs ? (uint32_t)scene_number(i, "thin_gradient") : 0,
        .jitter = !theirs || scene_number(i, "jitter") != 0,
    };
    s->volumetric = holds_media(s->description->root, 2);
    if (s->march.thin & (s->march.thin - 1))
        return scene_error(err, BL_ERROR_SCENE, i->where, "thin_gradient: %u is not 0, 1, 2, 4, 8 or 16",
                           s->march.thin);
    return BL_OK;
}

static double setting(const scene_object *o, const char *name, double otherwise)
{
    const scene_value *v = value_named(o, name);
    return v ? v->number : otherwise;
}

/* The defaults stand also in integrators.c, where the scene's integrator is one of these. */
static bl_result read_metropolis(render_scene *s, const integrator_kind *kind, bl_error *err)
{
    const scene_object *i = s->integrator;
    s->metropolis = (render_metropolis){0};
    if (!kind->particles)
        return BL_OK;
    s->metropolis = (render_metropolis){
        .particles = kind->particles > 1 ? (uint32_t)setting(i, "particles", kind->particles) : 1,
        .chains = (uint32_t)setting(i, "chains", 0),
        .large_step = (float)setting(i, "large_step", 0.3),
        .step_least = (float)setting(i, "step_least", 1.0 / 1024),
        .step_most = (float)setting(i, "step_most", kind->particles > 1 ? 1.0 / 32 : 1.0 / 64),
        .spread = (float)setting(i, "spread", 0.01),
        .separates_direct = setting(i, "separate_direct", 1) != 0,
        .light_paths = (float)setting(i, "light_paths", kind->light_paths),
    };
    const render_metropolis *m = &s->metropolis;
    if (m->particles & (m->particles - 1))
        return scene_error(err, BL_ERROR_SCENE, i->where, "%s: %u particles are no power of two",
                           i->cls->name, m->particles);
    if (m->light_paths > 0)
        s->volumetric = false;
    if (m->step_least > m->step_most)
        return scene_error(err, BL_ERROR_SCENE, i->where, "%s: step_least is larger than step_most",
                           i->cls->name);
    return BL_OK;
}

/* Whether gradients have what moves with edges, and how many samples these have. A call's wish goes before
 * the integrator's. */
static bl_result read_edges(render_scene *s, enum edges_wish wish, bl_error *err)
{
    const scene_object *i = s->integrator;
    const scene_value *edges = value_named(i, "edges");
    if (edges && strcmp(edges->text, "auto") != 0 && strcmp(edges->text, "projective") != 0 &&
        strcmp(edges->text, "none") != 0)
        return scene_error(err, BL_ERROR_SCENE, edges->where,
                           "%s: edges are \"auto\", \"projective\" or \"none\", not \"%.40s\"", i->cls->name,
                           edges->text);
    if (wish == EDGES_BY_SCENE && edges && strcmp(edges->text, "none") == 0)
        wish = EDGES_NONE;
    s->edges = wish != EDGES_NONE;
    s->edge_samples = (render_edge_samples){PLAN_NONE, PLAN_NONE, PLAN_NONE};
    uint32_t *to[3] = {&s->edge_samples.interior, &s->edge_samples.seen, &s->edge_samples.indirect};
    static const char *const names[3] = {"sppc", "sppp", "sppi"};
    for (int k = 0; k < 3; k++) {
        const scene_value *count = value_named(i, names[k]);
        if (count && count->given)
            *to[k] = (uint32_t)count->number;
    }
    return BL_OK;
}

/* Which shapes the integrator `silhouette` shows: those of a call, or its own. */
static void read_silhouette(render_scene *s, const integrator_kind *kind, const char *wish)
{
    bool theirs = scene_is(s->integrator, &integrator_silhouette.plugin);
    s->silhouette = !kind->silhouette ? NULL
                    : wish            ? arena_strdup(&s->memory, wish)
                    : theirs          ? scene_get(s->integrator, "shapes")->text
                                      : "";
    if (s->silhouette)
        s->hide_emitters = false, s->max_depth = 1;
}

/* The application's integrator of a call or of the scene, with its numbers; those that nobody gives are the
 * table's. Returns false if the integrator is the renderer's. */
static bool read_own(render_scene *s, const render_overrides *o, const char *wish)
{
    const scene_object *i = s->integrator;
    const plugin_class *cls = wish && o->registry ? registry_find(o->registry, PLUGIN_INTEGRATOR, wish)
                              : !wish && i        ? i->cls
                                                  : NULL;
    if (!is_own(cls))
        return false;
    s->own = (const integrator_class *)(const void *)cls;
    s->own_settings = arena_alloc(&s->memory, (cls->param_count + 1) * sizeof *s->own_settings);
    for (uint32_t k = 0; k < cls->param_count; k++) {
        const plugin_param *p = &cls->params[k];
        double *to = &s->own_settings[k];
        if (i && i->cls == cls)
            *to = i->values[k].number;
        else if (p->preset)
            number_parse(p->preset, to);
        if (o && o->max_depth != 0 && strcmp(p->name, "max_depth") == 0)
            *to = o->max_depth;
    }
    return true;
}

static bool nests(const plugin_class *cls) { return cls && cls->slot_count > 0; }

static bl_result read_integrator(render_scene *s, const render_overrides *o, bl_error *err)
{
    const scene_object *i = s->integrator;
    integrator_kind own = own_kind;
    const integrator_kind *kind = &own;
    const char *wish = o && o->silhouette ? "silhouette" : o ? o->integrator : NULL;
    if (read_own(s, o, wish))
        own.name = s->own->base.plugin.name;
    else if (wish && o->registry && nests(registry_find(o->registry, PLUGIN_INTEGRATOR, wish)))
        return error_set(
            err, BL_ERROR_ARGUMENT,
            "the integrator \"%s\" has another one inside, so it cannot take the place of the scene's: "
            "write it in the scene",
            wish);
    else
        TRY(find_integrator(wish ? wish : i ? i->cls->name : "path", &kind, err));
    bool theirs = value_named(i, "max_depth") && !kind->own_depths;
    s->volumetric =
        kind->volumetric || (kind->in_media && holds(s->description->root, 2, kind->light_tracing));
    s->depth_image = kind->depth_image, s->light_tracing = kind->light_tracing,
    s->both_ways = kind->both_ways;
    s->sees_through = kind->sees_through || s->volumetric;
    s->method = kind->method, s->detached = kind->detached || s->mode->polarized;
    if (s->method == METHOD_TAPE && theirs && setting(i, "attached", 0) != 0)
        s->detached = s->volumetric || s->mode->polarized;
    s->pipelined = kind->pipelined;
    s->max_depth = theirs ? (int32_t)scene_number(i, "max_depth") : kind->max_depth;
    s->rr_depth = theirs && !kind->no_next_event && value_named(i, "rr_depth")
                      ? (int32_t)scene_number(i, "rr_depth")
                      : kind->rr_depth;
    s->hide_emitters = !s->own && value_named(i, "hide_emitters") && scene_number(i, "hide_emitters") != 0;
    s->use_next_event = !kind->no_next_event, s->use_bsdf_sampling = true, s->paths_per_sample = 1;
    if (scene_is(i, &integrator_direct.plugin) && kind->own_depths) {
        const scene_value *e = scene_get(i, "emitter_samples"), *b = scene_get(i, "bsdf_samples");
        double both = scene_number(i, "shading_samples"), lights = e->given ? e->number : both,
               materials = b->given ? b->number : both;
        s->use_next_event = lights > 0, s->use_bsdf_sampling = materials > 0;
        s->paths_per_sample = (uint32_t)fmax(lights, materials);
    }
    TRY(read_attached(s, kind, err));
    read_ellipsoid_field(s, kind);
    TRY(read_metropolis(s, kind, err));
    TRY(read_march(s, kind, err));
    TRY(read_edges(s, o ? o->edges : EDGES_BY_SCENE, err));
    s->light_choice = o ? o->light_choice : LIGHTS_BY_WEIGHT;
    if (o && o->max_depth != 0)
        s->max_depth = o->max_depth;
    read_silhouette(s, kind, o ? o->silhouette : NULL);
    return BL_OK;
}

static bl_result read_film(render_scene *s, bl_error *err)
{
    s->full_width = s->width = 768, s->full_height = s->height = 576;
    s->film_channels = s->mode->film_channels, s->film_entries = 1;
    if (!s->film)
        return BL_OK;
    const scene_value *width = scene_get(s->film, "crop_width"), *height = scene_get(s->film, "crop_height");
    s->full_width = (uint32_t)scene_number(s->film, "width"),
    s->full_height = (uint32_t)scene_number(s->film, "height");
    s->crop_x = (uint32_t)scene_number(s->film, "crop_offset_x"),
    s->crop_y = (uint32_t)scene_number(s->film, "crop_offset_y");
    s->width = width->given ? (uint32_t)width->number : s->full_width,
    s->height = height->given ? (uint32_t)height->number : s->full_height;
    if (s->crop_x + s->width > s->full_width || s->crop_y + s->height > s->full_height)
        return scene_error(
            err, BL_ERROR_SCENE, s->film->where,
            "%s: the crop window of %u x %u pixels at (%u, %u) does not lie within the film of %u x %u",
            s->film->cls->name, s->width, s->height, s->crop_x, s->crop_y, s->full_width, s->full_height);
    return BL_OK;
}

/* Mitsuba's default: a gaussian of stddev 0.5. */
static const scene_object *default_filter(render_scene *s)
{
    scene_object *filter = render_new_object(s, &filter_gaussian.base.plugin, s->description->root->where);
    for (uint32_t k = 0; k < filter->cls->param_count; k++) {
        bool number = number_parse(filter->cls->params[k].preset, &filter->values[k].number);
        BL_ASSERT(number, "default of \"%s\"", filter->cls->params[k].name);
    }
    return filter;
}

bl_result render_read_structure(render_scene *s, const render_overrides *o, bl_error *err)
{
    const scene_object *root = s->description->root;
    s->integrator = scene_child(root, PLUGIN_INTEGRATOR);
    while (scene_is(s->integrator, &integrator_moment.plugin) ||
           scene_is(s->integrator, &integrator_aov.plugin) ||
           scene_is(s->integrator, &integrator_stokes.plugin)) {
        s->no_image |= !scene_child(s->integrator, PLUGIN_INTEGRATOR);
        s->integrator = scene_child(s->integrator, PLUGIN_INTEGRATOR);
    }
    for (uint32_t i = 0; i < root->child_count; i++) {
        const scene_object *child = root->children[i], *on = child->cls->category == PLUGIN_SHAPE
                                                                 ? scene_child(child, PLUGIN_SENSOR)
                                                                 : NULL;
        if (child->cls->category == PLUGIN_SENSOR || on)
            array_push(&s->sensors, on ? on : child);
    }
    s->own_objects = s->description->object_count;
    s->is_sensor = arena_alloc(&s->memory, (s->own_objects + 1) * sizeof *s->is_sensor);
    for (uint32_t i = 0; i < s->sensors.count; i++)
        s->is_sensor[s->sensors.data[i]->index] = true;
    if (s->sensors.count == 0)
        return scene_error(err, BL_ERROR_SCENE, root->where, "the scene has no sensor");
    uint32_t sensor = o ? o->sensor : 0;
    if (sensor >= s->sensors.count)
        return error_set(err, BL_ERROR_ARGUMENT, "there is no sensor %u: the scene has %u, counted from 0",
                         sensor, s->sensors.count);
    s->sensor = s->sensors.data[sensor], s->sensor_index = sensor;
    s->film = default_child(s->sensor, PLUGIN_FILM);
    s->sampler = default_child(s->sensor, PLUGIN_SAMPLER);
    s->filter = default_child(s->film, PLUGIN_RFILTER);
    if (!s->filter)
        s->filter = default_filter(s);
    TRY(read_film(s, err));
    if (film_has_alpha(s))
        render_add_channels(s, "", CHANNEL_ALPHA);
    TRY(film_read_srf(s, err));
    if (sensor_of(s->sensor)->one_pixel && s->full_width * s->full_height != 1)
        return scene_error(err, BL_ERROR_SCENE, s->film ? s->film->where : s->sensor->where,
                           "%s: its film must be 1 x 1 pixels", s->sensor->cls->name);
    TRY(sampler_choose(s, o ? o->sampler : NULL, err));
    s->spp = sampler_count(s, s->sampler ? (uint32_t)scene_number(s->sampler, "sample_count") : 4, 1);
    if ((uint64_t)s->width * s->height > 1u << 26)
        return scene_error(err, BL_ERROR_SCENE, s->film->where,
                           "a film of %u x %u pixels is larger than the limit of 2^26 pixels", s->width,
                           s->height);
    TRY(budget_take(BUDGET_PIXELS, (uint64_t)s->width * s->height, err));
    return read_integrator(s, o, err);
}

/* Hits are visited in their order in scenes of one level only (ir_ray_next). */
bl_result render_check_ellipsoids(const render_scene *s, bl_error *err)
{
    if (s->ellipsoid_field && !mode_is_rgb(s->mode))
        return error_set(
            err, BL_ERROR_UNSUPPORTED,
            "mode %s: volprim_rf_basic composes red, green and blue as they are displayed, so it "
            "is there in mode rgb alone",
            s->mode->name);
    for (uint32_t i = 0; i < s->instances.count && s->ellipsoid_field; i++)
        if (s->instances.data[i].object)
            return scene_error(err, BL_ERROR_UNSUPPORTED, s->instances.data[i].object->where,
                               "volprim_rf_basic does not see instances");
    return BL_OK;
}

static const bsdf_class *class_of_material(const scene_object *o)
{
    return (const bsdf_class *)(const void *)o->cls;
}

static bool polarizes(const scene_object *o)
{
    bool any = false, holds = false;
    for (uint32_t k = 0; k < o->child_count; k++)
        if (o->children[k]->cls->category == PLUGIN_BSDF)
            holds = true, any |= polarizes(o->children[k]);
    return holds ? any : class_of_material(o)->polarized != NULL;
}

/* Materials that polarise in Mitsuba must do so here, or say that they do not. */
static bl_result check_polarized_material(const render_scene *s, const scene_object *o, bl_error *err)
{
    const bsdf_class *cls = class_of_material(o);
    if (s->volumetric && cls->null && cls->polarized && !scene_child(o, PLUGIN_BSDF))
        return scene_error(
            err, BL_ERROR_UNSUPPORTED, o->where,
            "mode %s: light toward lights does not pass %s in volumetric integrators; path has it",
            s->mode->name, o->cls->name);
    for (uint32_t k = 0; k < o->child_count; k++) {
        const scene_object *nested = o->children[k];
        if (nested->cls->category != PLUGIN_BSDF)
            continue;
        if (polarizes(nested) && !class_of_material(o)->polarized)
            return scene_error(err, BL_ERROR_UNSUPPORTED, nested->where,
                               "mode %s: %s inside of %s does not polarise yet", s->mode->name,
                               nested->cls->name, o->cls->name);
        TRY(check_polarized_material(s, nested, err));
    }
    return BL_OK;
}

bl_result render_check_polarized(const render_scene *s, bl_error *err)
{
    if (!s->mode->polarized)
        return BL_OK;
    if (s->light_tracing || s->metropolis.particles || s->field || s->ellipsoid_field ||
        s->method == METHOD_OWN)
        return scene_error(
            err, BL_ERROR_UNSUPPORTED, s->integrator ? s->integrator->where : s->description->root->where,
            "mode %s: the integrator \"%s\" knows no polarised light; path, direct, prb and volpath do",
            s->mode->name, s->integrator ? s->integrator->cls->name : "path");
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].bsdf)
            TRY(check_polarized_material(s, s->shapes.data[i].bsdf, err));
    return BL_OK;
}

/* What is not known of paths from lights beside paths from the sensor. */
static bl_result check_both_ways(const render_scene *s, const char *name, bl_error *err)
{
    const scene_object *root = s->description->root;
    const char *lacks = holds_media(root, 2) ? "media; cpmmlt without light_paths, and volpath, have them"
                        : s->hide_emitters   ? "hide_emitters"
                        : !sensor_of(s->sensor)->link
                            ? "this sensor, to which no path from a light is connected"
                        : s->disperses ? "an index that is a curve"
                                       : NULL;
    if (lacks)
        return scene_error(err, BL_ERROR_UNSUPPORTED, s->integrator ? s->integrator->where : root->where,
                           "%s: paths from lights do not know %s", name, lacks);
    for (uint32_t i = 0; i < s->emitters.count; i++)
        if (((const emitter_class *)(const void *)s->emitters.data[i]->cls)->emission)
            return scene_error(err, BL_ERROR_UNSUPPORTED, s->emitters.data[i]->where,
                               "%s: the light \"%s\" is not the same to both kinds of paths; ptracer has it",
                               name, s->emitters.data[i]->cls->name);
    return BL_OK;
}

/* What is not known of paths from lights in media. */
static bl_result check_light_in_media(const render_scene *s, bl_error *err)
{
    for (uint32_t i = 0; i < s->media.count; i++) {
        const scene_object *m = s->media.data[i];
        const scene_value *emission = scene_find(m, "emission");
        const char *lacks = m->cls == &medium_grin.base.plugin
                                ? "rays that bend, beside media in which they are straight"
                            : emission && emission->given ? "light that a medium emits"
                            : s->hide_emitters            ? "hide_emitters, in media"
                                                          : NULL;
        if (lacks)
            return scene_error(err, BL_ERROR_UNSUPPORTED, m->where,
                               "ptracer: paths from lights do not know %s; volpath does", lacks);
    }
    return BL_OK;
}

bl_result render_check_light_tracing(const render_scene *s, bl_error *err)
{
    const bool both = s->both_ways || s->metropolis.light_paths > 0;
    if (!s->light_tracing && !both)
        return BL_OK;
    const char *name = s->both_ways                  ? "bidirectional"
                       : s->light_tracing            ? "ptracer"
                       : s->metropolis.particles > 1 ? "cpmmlt"
                                                     : "mmlt";
    if (both)
        TRY(check_both_ways(s, name, err));
    else if (s->volumetric)
        TRY(check_light_in_media(s, err));
    if (s->emitters.count == 0)
        return error_set(err, BL_ERROR_SCENE, "%s: the scene has no light that paths could begin at", name);
    if (!sensor_of(s->sensor)->link && !sensor_of(s->sensor)->receive)
        return scene_error(err, BL_ERROR_UNSUPPORTED, s->sensor->where,
                           "%s: paths cannot be connected to the sensor \"%s\"", name, s->sensor->cls->name);
    for (uint32_t i = 0; i < s->emitters.count; i++) {
        const scene_object *o = s->emitters.data[i];
        if (!((const emitter_class *)(const void *)o->cls)->ray)
            return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                               "%s: paths cannot begin at the light \"%s\"", name, o->cls->name);
    }
    return BL_OK;
}
