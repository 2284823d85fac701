/* SPDX-License-Identifier: BSD-3-Clause
 * Integrators as plugins: their parameters, and what they make of a scene. path, prb, prb_attached,
 * prb_basic, direct, volpath and its kin walk paths (primal.c, replay.c); depth shows channels of the first
 * hit (channels.c); aov adds such channels to the image of a nested integrator; of moment the nested image is
 * made. */
#include "render/classes.h"

#define EDGES_PARAM                                                                                          \
    {                                                                                                        \
        "edges", PLUGIN_STRING, 0, "auto", 0, 0,                                                             \
            "of gradients: whether they have what moves with edges; auto, projective or none. Not in "       \
            "Mitsuba"                                                                                        \
    }
#define INTEGRATOR_PARAMS(depth)                                                                             \
    {"max_depth", PLUGIN_INTEGER, 0, depth, -1, 65536, "longest path in segments; -1: unbounded"},           \
        {"rr_depth", PLUGIN_INTEGER, 0, "5", 1, 65536, "segments before Russian roulette may end a path"},   \
        {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, "lights are invisible to the camera"},           \
        EDGES_PARAM, {"timeout", PLUGIN_FLOAT, 0, "-1", 0, 0, "accepted; use progress and cancellation"},    \
        {"block_size", PLUGIN_INTEGER, 0, "0", 0, 0, "accepted; work is sliced by measured time"},           \
    {                                                                                                        \
        "samples_per_pass", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 0,                                       \
            "accepted; work is sliced by measured time"                                                      \
    }
static const plugin_param path_params[] = {INTEGRATOR_PARAMS("-1")};
static const plugin_param prb_params[] = {INTEGRATOR_PARAMS("6")};
const render_class integrator_path = {.plugin = {PLUGIN_INTEGRATOR, "path", PLUGIN_TABLE(path_params),
                                                 PLUGIN_NONE, "path tracing with next-event estimation"}};
const render_class integrator_prb = {.plugin = {PLUGIN_INTEGRATOR, "prb", PLUGIN_TABLE(prb_params),
                                                PLUGIN_NONE, "path, differentiated by path replay"}};
static const plugin_param prb_attached_params[] = {
    INTEGRATOR_PARAMS("6"),
    {"attach_below", PLUGIN_FLOAT, 0, "1e6", 0, 1e6, "roughness up to which lobes are sampled attached"},
    {"look_ahead", PLUGIN_INTEGER, 0, "4", 0, 1024, "rough lobes in a chain that are; 0: none"},
    {"chains", PLUGIN_STRING, 0, "visits", 0, 0,
     "order of a chain's vertices: visits (the last first) or jacobians (inverted; of any length)"},
    {"regularization", PLUGIN_FLOAT, 0, "0.01", 0, 1, "of jacobians: size of the noise on their diagonals"},
};
const render_class integrator_prb_attached = {
    .plugin = {PLUGIN_INTEGRATOR, "prb_attached", PLUGIN_TABLE(prb_attached_params), PLUGIN_NONE,
               "prb, but gradients follow the samples of rough lobes"}};
#define PROJECTIVE_PARAMS                                                                                    \
    {"sppc",                                                                                                 \
     PLUGIN_INTEGER,                                                                                         \
     PLUGIN_ABSENT,                                                                                          \
     NULL,                                                                                                   \
     1,                                                                                                      \
     1 << 20,                                                                                                \
     "samples per pixel of gradients where a call gives none; absent: the sampler's"},                       \
        {"sppp",                                                                                             \
         PLUGIN_INTEGER,                                                                                     \
         PLUGIN_ABSENT,                                                                                      \
         NULL,                                                                                               \
         0,                                                                                                  \
         1 << 20,                                                                                            \
         "the same, of edges that the sensor sees; 0: none, whatever a call gives"},                         \
        {"sppi",                                                                                             \
         PLUGIN_INTEGER,                                                                                     \
         PLUGIN_ABSENT,                                                                                      \
         NULL,                                                                                               \
         0,                                                                                                  \
         1 << 20,                                                                                            \
         "the same, of edges that surfaces see and of borders of shadows"},                                  \
        {"guiding", PLUGIN_STRING, 0, "octree", 0, 0, "accepted; points of edges are resampled"},            \
        {"guiding_proj", PLUGIN_BOOLEAN, 0, "true", 0, 0, "accepted"},                                       \
        {"guiding_rounds", PLUGIN_INTEGER, 0, "1", 0, 0, "accepted"},                                        \
    {                                                                                                        \
        "project_seed", PLUGIN_STRING, 0, "both", 0, 0, "accepted"                                           \
    }
static const plugin_param prb_projective_params[] = {INTEGRATOR_PARAMS("6"), PROJECTIVE_PARAMS};
const render_class integrator_prb_projective = {
    .plugin = {PLUGIN_INTEGRATOR, "prb_projective", PLUGIN_TABLE(prb_projective_params), PLUGIN_NONE,
               "prb; edges that move have sample counts of their own"}};
static const plugin_param direct_projective_params[] = {
    {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, "lights are invisible to the camera"},
    EDGES_PARAM,
    {"timeout", PLUGIN_FLOAT, 0, "-1", 0, 0, "accepted"},
    {"block_size", PLUGIN_INTEGER, 0, "0", 0, 0, "accepted"},
    {"samples_per_pass", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 0, "accepted"},
    PROJECTIVE_PARAMS,
};
const render_class integrator_direct_projective = {
    .plugin = {PLUGIN_INTEGRATOR, "direct_projective", PLUGIN_TABLE(direct_projective_params), PLUGIN_NONE,
               "prb_projective, direct illumination only"}};
const render_class integrator_ptracer = {
    .plugin = {PLUGIN_INTEGRATOR, "ptracer", PLUGIN_TABLE(path_params), PLUGIN_NONE,
               "light tracing: paths from lights, connected to the sensor"}};
const render_class integrator_bidirectional = {
    .plugin = {
        PLUGIN_INTEGRATOR, "bidirectional", PLUGIN_TABLE(path_params), PLUGIN_NONE,
        "path and ptracer at once, with weights of multiple importance sampling: bidirectional without "
        "connections of inner vertices. Without media. Not in Mitsuba 3"}};
#define METROPOLIS_PARAMS(most)                                                                              \
    {"chains",                                                                                               \
     PLUGIN_INTEGER,                                                                                         \
     0,                                                                                                      \
     "0",                                                                                                    \
     0,                                                                                                      \
     1 << 20,                                                                                                \
     "Markov chains; 0: as the number of samples asks for, so that 512 to 16384 paths walk at once"},        \
        {"large_step",                                                                                       \
         PLUGIN_FLOAT,                                                                                       \
         0,                                                                                                  \
         "0.3",                                                                                              \
         0.001,                                                                                              \
         1,                                                                                                  \
         "probability of a step that draws all random numbers anew"},                                        \
        {"step_least",                                                                                       \
         PLUGIN_FLOAT,                                                                                       \
         0,                                                                                                  \
         "0.0009765625",                                                                                     \
         1e-9,                                                                                               \
         0.5,                                                                                                \
         "other steps move each random number by at least this much"},                                       \
        {"step_most", PLUGIN_FLOAT, 0, most, 1e-9, 0.5, "and by at most this much"},                         \
    {                                                                                                        \
        "separate_direct", PLUGIN_BOOLEAN, 0, "true", 0, 0,                                                  \
            "paths of one or two segments are sampled beside the chains, one in each step"                   \
    }
static const plugin_param pssmlt_params[] = {INTEGRATOR_PARAMS("-1"), METROPOLIS_PARAMS("0.015625")};
const render_class integrator_pssmlt = {
    .plugin = {PLUGIN_INTEGRATOR, "pssmlt", PLUGIN_TABLE(pssmlt_params), PLUGIN_NONE,
               "Metropolis light transport: path or, where there are media, volpath, with Markov chains that "
               "walk through their random numbers (Kelemen et al. 2002). Not in Mitsuba 3"}};
static const plugin_param cpmmlt_params[] = {
    INTEGRATOR_PARAMS("-1"),
    METROPOLIS_PARAMS("0.03125"),
    {"particles", PLUGIN_INTEGER, 0, "16", 2, 64, "paths of a step, which walk alike; a power of two"},
    {"spread", PLUGIN_FLOAT, 0, "0.01", 0, 0.5, "standard deviation of a random number among them"},
    {"light_paths", PLUGIN_FLOAT, 0, "0", 0, 0.999,
     "share of paths that begin at lights, as in mmlt; 0: none"},
};
const render_class integrator_cpmmlt = {
    .plugin = {PLUGIN_INTEGRATOR, "cpmmlt", PLUGIN_TABLE(cpmmlt_params), PLUGIN_NONE,
               "pssmlt whose steps are groups of coherent paths: pseudo-marginal (Nimier-David et al. 2019, "
               "section 4.2). Not in Mitsuba 3"}};
static const plugin_param mmlt_params[] = {
    INTEGRATOR_PARAMS("-1"),
    METROPOLIS_PARAMS("0.015625"),
    {"light_paths", PLUGIN_FLOAT, 0, "0.5", 0.001, 0.999,
     "share of paths that begin at lights, of those whose random numbers are all new"},
};
const render_class integrator_mmlt = {
    .plugin = {PLUGIN_INTEGRATOR, "mmlt", PLUGIN_TABLE(mmlt_params), PLUGIN_NONE,
               "pssmlt over paths from the camera and paths from lights, with weights of multiple importance "
               "sampling (multiplexed; Hachisuka et al. 2014). Without media. Not in Mitsuba 3"}};
const render_class integrator_prb_basic = {
    .plugin = {PLUGIN_INTEGRATOR, "prb_basic", PLUGIN_TABLE(prb_params), PLUGIN_NONE,
               "paths without next-event estimation and roulette, differentiated by path replay"}};
const render_class integrator_prb_detached = {
    .plugin = {PLUGIN_INTEGRATOR, "prb_detached", PLUGIN_TABLE(prb_params), PLUGIN_NONE,
               "prb; directions that mirrors and smooth glass make stay"}};
static const plugin_param tape_params[] = {
    INTEGRATOR_PARAMS("6"),
    {"attached", PLUGIN_BOOLEAN, 0, "false", 0, 0,
     "rays follow mirrors, glass, smooth lobes and the camera, as with prb; not in media"},
};
const render_class integrator_tape = {
    .plugin = {PLUGIN_INTEGRATOR, "tape", PLUGIN_TABLE(tape_params), PLUGIN_NONE,
               "path, in media volpath, in reverse mode over stored vertices: memory grows with depth"}};
const render_class integrator_rb = {
    .plugin = {PLUGIN_INTEGRATOR, "rb", PLUGIN_TABLE(prb_params), PLUGIN_NONE,
               "path, differentiated by radiative backpropagation: quadratic in depth"}};
const render_class integrator_rb_biased1 = {
    .plugin = {PLUGIN_INTEGRATOR, "rb_biased1", PLUGIN_TABLE(prb_params), PLUGIN_NONE,
               "the same, with incident radiance taken to be 1: biased"}};
const render_class integrator_rb_biased1_2 = {
    .plugin = {PLUGIN_INTEGRATOR, "rb_biased1_2", PLUGIN_TABLE(prb_params), PLUGIN_NONE,
               "rb_biased1 with the image of the step before in the loss: biased twice"}};
const render_class integrator_rb_biased2 = {
    .plugin = {PLUGIN_INTEGRATOR, "rb_biased2", PLUGIN_TABLE(prb_params), PLUGIN_NONE,
               "rb with the image of the step before in the loss: biased"}};

static const plugin_param volpathmis_params[] = {
    INTEGRATOR_PARAMS("-1"),
    {"use_spectral_mis", PLUGIN_BOOLEAN, 0, "true", 0, 0,
     "accepted; weights always combine what the channels would have sampled"},
};
const render_class integrator_volpath = {.plugin = {PLUGIN_INTEGRATOR, "volpath", PLUGIN_TABLE(path_params),
                                                    PLUGIN_NONE, "path tracing through participating media"}};
const render_class integrator_volpathmis = {.plugin = {PLUGIN_INTEGRATOR, "volpathmis",
                                                       PLUGIN_TABLE(volpathmis_params), PLUGIN_NONE,
                                                       "the same as volpath"}};
const render_class integrator_prbvolpath = {.plugin = {PLUGIN_INTEGRATOR, "prbvolpath",
                                                       PLUGIN_TABLE(prb_params), PLUGIN_NONE,
                                                       "volpath, differentiated by path replay"}};

static const plugin_param volprim_rf_basic_params[] = {
    {"max_depth", PLUGIN_INTEGER, 0, "64", -1, 1 << 24, "most ellipsoids that a ray visits; -1: unbounded"},
    {"srgb_primitives", PLUGIN_BOOLEAN, 0, "true", 0, 0,
     "sh_coeffs give sRGB, which becomes linear at the end"},
    {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted; no light is visible"},
    {"timeout", PLUGIN_FLOAT, 0, "-1", 0, 0, "accepted"},
    {"block_size", PLUGIN_INTEGER, 0, "0", 0, 0, "accepted"},
    {"samples_per_pass", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 0, "accepted"},
};
const render_class integrator_volprim_rf_basic = {
    .plugin = {PLUGIN_INTEGRATOR, "volprim_rf_basic", PLUGIN_TABLE(volprim_rf_basic_params), PLUGIN_NONE,
               "ellipsoids as Gaussian kernels that emit, composited along the ray; nothing else is seen"}};

static const plugin_param radiance_field_params[] = {
    INTEGRATOR_PARAMS("6"),
    {"step_size", PLUGIN_FLOAT, 0, "0", 0, 1e30,
     "distance between samples along a ray; 0: half a voxel of the field's density"},
    {"jitter", PLUGIN_BOOLEAN, 0, "true", 0, 0,
     "a random offset of a ray's samples; else they are in the middle of their steps"},
    {"min_transmittance", PLUGIN_FLOAT, 0, "1e-4", 0, 1,
     "rays end where less than this is left of the light"},
    {"empty_below", PLUGIN_FLOAT, 0, "0", 0, 1,
     "cells of the field are skipped in which no sample is more opaque; 0: only those that are truly empty"},
    {"thin_gradient", PLUGIN_INTEGER, 0, "0", 0, 16,
     "n = 1, 2, 4, 8 or 16: gradients of the field count one sample of n, and of its lookups one voxel of "
     "eight, "
     "chosen at random: unbiased, noisier, in a third to three fifths of the time; 0: all of them"},
};
const render_class integrator_radiance_field = {
    .plugin = {PLUGIN_INTEGRATOR, "radiance_field", PLUGIN_TABLE(radiance_field_params), PLUGIN_NONE,
               "path, or volpath where there are media, through the scene's radiance field. Not in Mitsuba"}};

static const plugin_param direct_params[] = {
    {"shading_samples", PLUGIN_INTEGER, 0, "1", 1, 1024, "of both kinds"},
    {"emitter_samples", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 1024, "of lights"},
    {"bsdf_samples", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 1024, "of materials"},
    {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, "lights are invisible to the camera"},
    EDGES_PARAM,
    {"timeout", PLUGIN_FLOAT, 0, "-1", 0, 0, "accepted"},
    {"block_size", PLUGIN_INTEGER, 0, "0", 0, 0, "accepted"},
};

/* More than one sample of a kind: as many paths, each with one sample of both
 * (render_scene.paths_per_sample). */
static bl_result direct_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)s;
    bool lights = scene_get(o, "emitter_samples")->given && scene_number(o, "emitter_samples") == 0;
    bool materials = scene_get(o, "bsdf_samples")->given && scene_number(o, "bsdf_samples") == 0;
    if (lights && materials)
        return scene_error(err, BL_ERROR_SCENE, o->where,
                           "direct: emitter_samples and bsdf_samples cannot both be 0");
    return BL_OK;
}
const render_class integrator_direct = {.plugin = {PLUGIN_INTEGRATOR, "direct", PLUGIN_TABLE(direct_params),
                                                   PLUGIN_NONE, "direct illumination only"},
                                        .load = direct_load};

/* The image is the first nested integrator's (scene_build.c looks through); Mitsuba's further channels, the
 * moments, are not made. */
static bl_result moment_load(render_scene *s, const scene_object *o, bl_error *err)
{
    (void)err;
    text_add(&s->description->warnings,
             "%s:%u: moment: the image is that of the nested integrator%s; the channels of the moments are "
             "left out\n",
             o->where.file, o->where.line, o->child_count > 1 ? ", the first one," : "");
    return BL_OK;
}
static const plugin_param moment_params[] = {
    {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted; the nested integrator's counts"},
    {"timeout", PLUGIN_FLOAT, 0, "-1", 0, 0, "accepted"},
    {"block_size", PLUGIN_INTEGER, 0, "0", 0, 0, "accepted"},
    {"samples_per_pass", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 0, "accepted"},
};
static const plugin_slot moment_slots[] = {{PLUGIN_INTEGRATOR, "integrator", 1, 0}};
const render_class integrator_moment = {
    .plugin = {PLUGIN_INTEGRATOR, "moment", PLUGIN_TABLE(moment_params), PLUGIN_TABLE(moment_slots),
               "the nested integrator's image"},
    .load = moment_load,
};

/* ---- channels ---- */

static const struct {
    const char *name, *components;
} channel_kinds[CHANNEL_KIND_COUNT] = {
    [CHANNEL_ALPHA] = {"", "A"},
    [CHANNEL_DEPTH] = {"depth", "T"},
    [CHANNEL_POSITION] = {"position", "XYZ"},
    [CHANNEL_UV] = {"uv", "UV"},
    [CHANNEL_GEO_NORMAL] = {"geo_normal", "XYZ"},
    [CHANNEL_SH_NORMAL] = {"sh_normal", "XYZ"},
    [CHANNEL_DP_DU] = {"dp_du", "XYZ"},
    [CHANNEL_DP_DV] = {"dp_dv", "XYZ"},
    [CHANNEL_PRIM_INDEX] = {"prim_index", "I"},
    [CHANNEL_SHAPE_INDEX] = {"shape_index", "I"},
    [CHANNEL_ALBEDO] = {"albedo", "RGB"},
};
enum { CHANNEL_AOV_COUNT = CHANNEL_ALBEDO + 1 };
static const char *const later[] = {"duv_dx", "duv_dy"};

/* name: of the channels of the kind, before the letter of the component. */
void render_add_channels(render_scene *s, const char *name, enum channel_kind kind)
{
    const char *components = channel_kinds[kind].components;
    for (uint32_t k = 0; components[k]; k++) {
        render_channel c = {
            .name = arena_printf(&s->memory, "%s%s%c", name, *name ? "." : "", components[k]),
            .kind = kind,
            .component = k,
        };
        array_push(&s->channels, c);
    }
}

static bool is_taken(const render_scene *s, const char *name)
{
    for (uint32_t k = 0; k < s->channels.count; k++)
        if (strncmp(s->channels.data[k].name, name, strlen(name)) == 0 &&
            s->channels.data[k].name[strlen(name)] == '.')
            return true;
    return false;
}

static bl_result add_named(render_scene *s, scene_place where, const char *name, const char *type,
                           bl_error *err)
{
    if (is_taken(s, name))
        return scene_error(err, BL_ERROR_SCENE, where, "aov: the name \"%s\" is given twice", name);
    if (strlen(name) + strlen(".X") > CHANNEL_NAME_MOST)
        return scene_error(err, BL_ERROR_SCENE, where,
                           "aov: the name \"%.40s...\" is longer than %d letters: EXR files cannot have it",
                           name, CHANNEL_NAME_MOST - (int)strlen(".X"));
    for (int k = CHANNEL_ALPHA + 1; k < CHANNEL_AOV_COUNT; k++)
        if (strcmp(type, channel_kinds[k].name) == 0) {
            render_add_channels(s, name, (enum channel_kind)k);
            return s->channels.count <= CHANNELS_MOST
                       ? BL_OK
                       : scene_error(err, BL_ERROR_UNSUPPORTED, where, "aov: more than %d channels",
                                     CHANNELS_MOST);
        }
    for (size_t k = 0; k < sizeof later / sizeof *later; k++)
        if (strcmp(type, later[k]) == 0)
            return scene_error(err, BL_ERROR_UNSUPPORTED, where,
                               "aov: the type \"%s\" is not implemented yet", type);
    return scene_error(err, BL_ERROR_SCENE, where, "aov: there is no type \"%.100s\"", type);
}

/* "name:type,name:type", blanks allowed around each. */
static bl_result aov_load(render_scene *s, const scene_object *o, bl_error *err)
{
    static const char blanks[] = " \t\r\n";
    const scene_value *v = scene_get(o, "aovs");
    char *list = arena_strdup(&s->memory, v->text), *rest = list;
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char *colon = strchr(item, ':');
        item += strspn(item, blanks);
        if (!colon || colon <= item)
            return scene_error(err, BL_ERROR_SCENE, v->where, "aov: \"%.100s\" is not name:type", item);
        *colon = 0;
        char *type = colon + 1 + strspn(colon + 1, blanks);
        type[strcspn(type, blanks)] = 0, item[strcspn(item, blanks)] = 0;
        TRY(add_named(s, v->where, item, type, err));
    }
    return s->channels.count
               ? BL_OK
               : scene_error(err, BL_ERROR_SCENE, v->where, "aov: the list of channels is empty");
}

uint32_t render_first_channel(const render_scene *s, enum channel_kind kind)
{
    uint32_t k = 0;
    while (k < s->channels.count && s->channels.data[k].kind != kind)
        k++;
    return k;
}

static bool has_channel(const render_scene *s, enum channel_kind kind)
{
    return render_first_channel(s, kind) < s->channels.count;
}

/* Under another name where the scene has given this one to something else. */
static bl_result add_guide(render_scene *s, const char *name, enum channel_kind kind, bl_error *err)
{
    if (has_channel(s, kind))
        return BL_OK;
    while (is_taken(s, name))
        name = arena_printf(&s->memory, "guide_%s", name);
    return add_named(s, s->description->root->where, name, channel_kinds[kind].name, err);
}

bl_result render_add_guides(render_scene *s, bl_error *err)
{
    TRY(add_guide(s, "albedo", CHANNEL_ALBEDO, err));
    return add_guide(s, "normal", CHANNEL_SH_NORMAL, err);
}

#define ACCEPTED                                                                                             \
    {"hide_emitters", PLUGIN_BOOLEAN, 0, "false", 0, 0, "accepted; the nested integrator's counts"},         \
        {"timeout", PLUGIN_FLOAT, 0, "-1", 0, 0, "accepted"},                                                \
        {"block_size", PLUGIN_INTEGER, 0, "0", 0, 0, "accepted"},                                            \
    {                                                                                                        \
        "samples_per_pass", PLUGIN_INTEGER, PLUGIN_ABSENT, NULL, 0, 0, "accepted"                            \
    }
static const plugin_param aov_params[] = {
    {"aovs", PLUGIN_STRING, PLUGIN_REQUIRED, NULL, 0, 0,
     "name:type,.. of depth, position, uv, geo_normal, sh_normal, dp_du, dp_dv, prim_index, shape_index, "
     "albedo"},
    ACCEPTED,
};
static const plugin_slot nested_slots[] = {{PLUGIN_INTEGRATOR, "integrator", 0, 1}};
const render_class integrator_aov = {
    .plugin = {PLUGIN_INTEGRATOR, "aov", PLUGIN_TABLE(aov_params), PLUGIN_TABLE(nested_slots),
               "channels of the first hit beside the nested integrator's image"},
    .load = aov_load};
/* Entry k of the Stokes vectors is S<k>.R, S<k>.G, S<k>.B in all modes, as in Mitsuba. */
static bl_result stokes_load(render_scene *s, const scene_object *o, bl_error *err)
{
    if (!s->mode->polarized)
        return scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                           "stokes: light has no polarisation in mode %s; --mode %s_polarized has it",
                           s->mode->name, s->mode->name);
    for (uint32_t k = 0; k < s->channels.count; k++)
        if (s->channels.data[k].kind == CHANNEL_STOKES)
            return scene_error(err, BL_ERROR_SCENE, o->where, "stokes: there is another one");
    for (uint32_t k = 0; k < 12; k++) {
        render_channel c = {.name = arena_printf(&s->memory, "S%u.%c", k / 3, "RGB"[k % 3]),
                            .kind = CHANNEL_STOKES,
                            .component = k};
        array_push(&s->channels, c);
    }
    return s->channels.count <= CHANNELS_MOST ? BL_OK
                                              : scene_error(err, BL_ERROR_UNSUPPORTED, o->where,
                                                            "stokes: more than %d channels", CHANNELS_MOST);
}

static const plugin_param stokes_params[] = {ACCEPTED};
static const plugin_slot stokes_slots[] = {{PLUGIN_INTEGRATOR, "integrator", 1, 0}};
const render_class integrator_stokes = {
    .plugin =
        {PLUGIN_INTEGRATOR, "stokes", PLUGIN_TABLE(stokes_params), PLUGIN_TABLE(stokes_slots),
         "the Stokes vectors of the nested integrator's light beside its image, as channels S0.R to S3.B; "
         "in modes with polarisation"},
    .load = stokes_load};

static const plugin_param depth_params[] = {ACCEPTED};
const render_class integrator_depth = {.plugin = {PLUGIN_INTEGRATOR, "depth", PLUGIN_TABLE(depth_params),
                                                  PLUGIN_NONE, "distance to the first hit, grey"}};

/* The shapes get their brightness when they are bound (scene_bind.c); then it is path with one segment. */
static const plugin_param silhouette_params[] = {
    {"shapes", PLUGIN_STRING, 0, "", 0, 0, "ids of those that are shown, separated by commas; empty: all"},
    EDGES_PARAM,
    ACCEPTED,
};
const render_class integrator_silhouette = {
    .plugin = {
        PLUGIN_INTEGRATOR, "silhouette", PLUGIN_TABLE(silhouette_params), PLUGIN_NONE,
        "how much of a pixel shapes cover: 1 where one of them is seen first, else 0; other shapes hide "
        "them, and lights and materials do not matter. Not in Mitsuba"}};
