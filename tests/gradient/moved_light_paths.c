/* LABELS: swiftshader=long native timeout=2400 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients of light tracing right by what moves its paths? In each case reverse mode equals forward mode
 * up to rounding, differences along frozen paths up to these differences' error, and plain differences of
 * images with the same random numbers up to the few paths that choose otherwise. The scenes have no edges
 * that move where the weights of the image are not 0. What cannot be differentiated is refused by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 6, SIDE = 9, PIXELS = 16, VALUES = 3 * PIXELS * PIXELS, BORDER = 4, SEED = 5 };

static scene_device device;
static char *folder;
static float weights[VALUES], image[VALUES];

#define LOOK "<transform name='to_world'><lookat origin='.3,-4,1.6' target='0,0,0' up='0,0,1'/></transform>"
#define FLOOR                                                                                                \
    "<shape type='rectangle'><transform name='to_world'><scale value='4'/></transform>"                      \
    "<bsdf type='diffuse' id='floor'><rgb name='reflectance' value='.8,.6,.4'/></bsdf></shape>"
#define SUN                                                                                                  \
    "<emitter type='directional' id='sun'><vector name='direction' x='-.1' y='.15' z='-1'/><rgb "            \
    "name='irradiance' value='2,3,1.5'/></emitter>"
#define WAVES(inside)                                                                                        \
    "<shape type='obj' id='waves'><string name='filename' value='waves.obj'/>" inside "</shape>"
#define GLASS                                                                                                \
    "<bsdf type='dielectric' id='glass'><float name='int_ior' value='1.4'/><float name='ext_ior' "           \
    "value='1'/></bsdf>"

typedef struct moved_case {
    const char *name, *body, *parameter, *depth, *filter;
    double step; /* along a direction with entries up to 1 */
    uint32_t spp;
    double
        plain; /* at most so much noise of plain differences, of the size of the parts; 0: none are taken */
    bool receives; /* the sensor is a map of irradiance in the place of the floor */
} moved_case;

#define LAMP                                                                                                 \
    "<emitter type='point' id='lamp'><point name='position' x='.1' y='.2' z='.4'/><rgb name='intensity' "    \
    "value='2,3,1.5'/></emitter>"
#define SPOT                                                                                                 \
    "<emitter type='spot' id='spot'><transform name='to_world'><lookat origin='.2,.1,3' target='0,0,1' "     \
    "up='0,1,0'/></transform><float name='cutoff_angle' value='6'/><rgb name='intensity' "                   \
    "value='200,300,150'/></emitter>"
#define PANEL                                                                                                \
    "<shape type='rectangle' id='panel'><boolean name='flip_normals' value='true'/><transform "              \
    "name='to_world'><translate z='3'/></transform><emitter type='area'><rgb name='radiance' "               \
    "value='6,9,4'/></emitter>"                                                                              \
    "</shape>"
#define PICTURE                                                                                              \
    "<texture type='bitmap' name='radiance'><string name='filename' value='tilts.pfm'/><boolean name='raw' " \
    "value='true'/></texture>"
#define PICTURED                                                                                             \
    "<shape type='disk' id='disk'><transform name='to_world'><scale value='.6'/><rotate x='1' "              \
    "angle='160'/><translate z='1'/></transform><bsdf type='diffuse'/><emitter type='area'>" PICTURE         \
    "</emitter></shape>"
#define BULB                                                                                                 \
    "<shape type='sphere' id='bulb'><float name='radius' value='.2'/><point name='center' x='.1' y='.2' "    \
    "z='.7'/><emitter type='area'/></shape>"
#define TUBE                                                                                                 \
    "<shape type='cylinder' id='tube'><float name='radius' value='.1'/><point name='p0' value='-.3,0,.7'/>"  \
    "<point name='p1' value='.4,.2,.9'/><emitter type='area'/></shape>"
#define SHINES                                                                                               \
    "<boolean name='flip_normals' value='true'/><boolean name='face_normals' value='true'/><emitter "        \
    "type='area'/>"
#define PICTURE_SHINES                                                                                       \
    "<boolean name='flip_normals' value='true'/><boolean name='face_normals' value='true'/><emitter "        \
    "type='area'>" PICTURE "</emitter>"
#define BEAMS "<boolean name='flip_normals' value='true'/><emitter type='directionalarea'/>"
#define BEAM                                                                                                 \
    "<shape type='rectangle' id='beam'><transform name='to_world'><scale value='.5'/><rotate x='1' "         \
    "angle='170'/><translate z='3'/></transform><emitter type='directionalarea'/></shape>"
#define BENT_LENS                                                                                            \
    "<shape type='sphere'><point name='center' value='0,0,1.2'/><float name='radius' value='.8'/><bsdf "     \
    "type='null'/><medium type='grin' name='interior' id='lens'><string name='profile' value='luneburg'/>"   \
    "<point name='center' value='0,0,1.2'/><float name='radius' value='1.2'/><volume type='gridvolume' "     \
    "name='ior'><string name='resolution' value='2,1,2'/><float name='value' value='1.1'/><string "          \
    "name='filter_type' value='cubic'/><transform name='to_world'><translate value='-.5,-.5,-.5'/><scale "   \
    "value='2'/><translate value='0,0,1.2'/></transform></volume><rgb name='sigma_a' value='.4,.2,.6'/>"     \
    "<float name='step_size' value='.05'/></medium></shape>"
#define IN_A_BALL(medium)                                                                                    \
    "<shape type='sphere'><point name='center' value='0,0,1'/><float name='radius' value='.9'/><bsdf "       \
    "type='null'/>" medium "</shape>"
#define MIST                                                                                                 \
    IN_A_BALL("<medium type='homogeneous' name='interior' id='mist'><rgb name='albedo' value='.9,.7,.5'/>"   \
              "<rgb name='sigma_t' value='.5,1,2'/></medium>")
#define SMOKE                                                                                                \
    IN_A_BALL(                                                                                               \
        "<medium type='heterogeneous' name='interior' id='smoke'><rgb name='albedo' "                        \
        "value='.9,.7,.5'/><volume type='gridvolume' name='sigma_t'><string name='resolution' "              \
        "value='2,1,2'/><float name='value' value='1'/><transform name='to_world'><translate "               \
        "value='-.5,-.5,-.5'/><scale value='2'/><translate value='0,0,1'/></transform></volume></medium>")
#define METAL "<bsdf type='twosided'><bsdf type='conductor' id='metal'/></bsdf>"
#define BALL                                                                                                 \
    "<shape type='sphere' id='ball'><float name='radius' value='.4'/><point name='center' x='0' y='0' "      \
    "z='1'/>" GLASS "</shape>"
#define SPECTRAL "<?backlight mode='spectral'?>"
#define GAUSSIAN "<rfilter type='gaussian'/>"
#define BOX "<rfilter type='box'/>"

#define MAPPED(inside)                                                                                       \
    "<bsdf type='normalmap' id='map'><texture type='bitmap' name='normalmap'><string name='filename' "       \
    "value='tilts.pfm'/><boolean name='raw' value='true'/></texture>" inside "</bsdf>"
#define FLINT                                                                                                \
    "<bsdf type='dielectric'><spectrum name='int_ior' value='360:1.5, 830:1.3'/><float name='ext_ior' "      \
    "value='1'/></bsdf>"
#define FROST                                                                                                \
    "<bsdf type='roughdielectric'><float name='alpha' value='.2'/><float name='int_ior' value='1.4'/>"       \
    "<float name='ext_ior' value='1'/></bsdf>"

#define LOW_AND_MATT "<transform name='to_world'><translate z='-1'/></transform><bsdf type='diffuse'/>"
#define HOLES "<bsdf type='mask'><float name='opacity' value='.7'/>" GLASS "</bsdf>"
#define MIXTURE                                                                                              \
    "<bsdf type='blendbsdf'><float name='weight' value='.6'/><bsdf type='conductor'/>" GLASS "</bsdf>"

static const moved_case cases[] = {
    {"waves of glass under the sun", FLOOR SUN WAVES(GLASS), "waves.vertex_positions", "3", GAUSSIAN, 5e-3,
     60, 0.02, false},
    {"their normals", FLOOR SUN WAVES(GLASS), "waves.vertex_normals", "3", "<rfilter type='mitchell'/>", 5e-3,
     60, 0.02, false},
    {"normals that are seen", SUN WAVES(LOW_AND_MATT), "waves.vertex_normals", "3", GAUSSIAN, 5e-3, 60, 0,
     false},
    {"their index", FLOOR SUN WAVES(GLASS), "glass.eta", "3", GAUSSIAN, 5e-3, 60, 0, false},
    {"a map of their normals", FLOOR SUN WAVES(MAPPED(GLASS)), "map.normalmap.data", "3", GAUSSIAN, 2e-3, 60,
     0.02, false},
    {"the index below such a map", FLOOR SUN WAVES(MAPPED(GLASS)), "glass.eta", "3", GAUSSIAN, 5e-3, 60, 0,
     false},
    {"the index of glass with holes", FLOOR SUN WAVES(HOLES), "glass.eta", "3", GAUSSIAN, 5e-3, 60, 0, false},
    {"the index of a mixture", FLOOR SUN WAVES(MIXTURE), "glass.eta", "3", GAUSSIAN, 5e-3, 60, 0, false},
    {"the index of a ball", FLOOR SPOT BALL, "glass.eta", "4", GAUSSIAN, 5e-3, 60, 0, false},
    {"rough waves", FLOOR SUN WAVES(FROST), "waves.vertex_positions", "3", GAUSSIAN, 2e-3, 60, 0, false},
    {"waves over a receiver", SUN WAVES(GLASS), "waves.vertex_positions", "3", GAUSSIAN, 5e-3, 60, 0.02,
     true},
    {"the sun over waves", FLOOR SUN WAVES(GLASS), "sun.direction", "3", GAUSSIAN, 2e-3, 60, 0, false},
    {"the camera below waves", FLOOR SUN WAVES(GLASS), "camera.translation", "3", GAUSSIAN, 2e-3, 60, 0.02,
     false},
    {"turned", FLOOR SUN WAVES(GLASS), "camera.rotation", "3", GAUSSIAN, 2e-2, 60, 0.02, false},
    {"waves before a panel", FLOOR PANEL WAVES(GLASS), "waves.vertex_positions", "3", GAUSSIAN, 5e-3, 60,
     0.05, false},
    {"a lamp under waves of metal", FLOOR LAMP WAVES(METAL), "lamp.position", "3", GAUSSIAN, 2e-3, 60, 0.05,
     false},
    {"waves of metal over a lamp", FLOOR LAMP WAVES(METAL), "waves.vertex_positions", "3", GAUSSIAN, 2e-3, 60,
     0.05, false},
    {"many bounces between them", FLOOR LAMP WAVES(METAL), "waves.vertex_positions", "14", GAUSSIAN, 2e-3, 60,
     0, false},
    {"a ball of glass that moves", FLOOR SPOT BALL, "ball.translation", "4", GAUSSIAN, 2e-3, 60, 0.02, false},
    {"light that a lens of varying index bends, on a receiver", SUN BENT_LENS, "lens.ior.data", "4", GAUSSIAN,
     2e-3, 60, 0.05, true},
    {"what that lens absorbs", FLOOR SUN BENT_LENS, "lens.sigma_a.value.value", "4", GAUSSIAN, 2e-3, 60, 0.05,
     false},
    {"a spot over a ball", FLOOR SPOT BALL, "spot.to_world", "4", GAUSSIAN, 2e-3, 60, 0.02, false},
    {"a panel that moves", FLOOR PANEL, "panel.to_world", "3", GAUSSIAN, 2e-3, 60, 0, false},
    {"a panel that turns", FLOOR PANEL, "panel.rotation", "3", GAUSSIAN, 2e-3, 60, 0, false},
    {"what receives, below a bulb", BULB, "receiver.translation", "3", GAUSSIAN, 2e-3, 60, 0.05, true},
    {"what receives, turned", BULB, "receiver.rotation", "3", GAUSSIAN, 2e-3, 60, 0.05, true},
    {"a panel before waves", FLOOR PANEL WAVES(GLASS), "panel.translation", "3", GAUSSIAN, 2e-3, 60, 0.05,
     false},
    {"a textured disk that is seen", FLOOR PICTURED, "disk.to_world", "3", GAUSSIAN, 2e-3, 60, 0.05, false},
    {"a bulb that grows", FLOOR BULB, "bulb.scale", "3", GAUSSIAN, 2e-3, 60, 0, false},
    {"a tube that moves", FLOOR TUBE, "tube.to_world", "3", GAUSSIAN, 2e-3, 60, 0, false},
    {"the vertices of waves that shine", FLOOR WAVES(SHINES), "waves.vertex_positions", "3", GAUSSIAN, 2e-3,
     60, 0, false},
    {"waves that shine and turn", FLOOR WAVES(SHINES), "waves.rotation", "3", GAUSSIAN, 2e-3, 60, 0, false},
    {"the beam of a panel", FLOOR BEAM WAVES(GLASS), "beam.to_world", "3", GAUSSIAN, 2e-3, 60, 0.05, false},
    {"the normals of a beam", FLOOR WAVES(BEAMS), "waves.vertex_normals", "3", GAUSSIAN, 2e-3, 60, 0.05,
     false},
    {"the vertices of a beam", FLOOR WAVES(BEAMS), "waves.vertex_positions", "3", GAUSSIAN, 2e-3, 60, 0.05,
     false},
    {"what a panel shows", FLOOR WAVES(PICTURE_SHINES), "waves.vertex_texcoords", "3", GAUSSIAN, 2e-3, 60, 0,
     false},
    {"the extinction of a medium", FLOOR LAMP MIST, "mist.sigma_t.value.value", "5", GAUSSIAN, 5e-3, 200, 0.5,
     false},
    {"the albedo of smoke", FLOOR LAMP SMOKE, "smoke.albedo.value.value", "5", BOX, 5e-3, 200, 0.05, false},
    {"the extinction of smoke, on a receiver", SUN SMOKE, "smoke.sigma_t.data", "5", GAUSSIAN, 5e-3, 200, 0.5,
     true},
    {"wavelengths through waves of glass", SPECTRAL FLOOR SUN WAVES(GLASS), "waves.vertex_positions", "3",
     GAUSSIAN, 5e-3, 60, 0.02, false},
    {"waves of glass that disperses", SPECTRAL FLOOR SUN WAVES(FLINT), "waves.vertex_positions", "3",
     GAUSSIAN, 5e-3, 60, 0.02, false},
    {"the colour of what they fall on", SPECTRAL FLOOR SUN WAVES(GLASS), "floor.reflectance.value", "3",
     GAUSSIAN, 5e-3, 60, 0.02, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static char *scene_of(arena *a, const moved_case *c, const char *integrator)
{
    char *film = arena_printf(a,
                              "<film type='hdrfilm'><integer name='width' value='%d'/><integer "
                              "name='height' value='%d'/>%s</film>",
                              PIXELS, PIXELS, c->filter);
    char *walks = arena_printf(a, "<integrator type='%s'><integer name='max_depth' value='%s'/></integrator>",
                               integrator, c->depth);
    char *receiver = arena_printf(a,
                                  "<shape type='rectangle' id='receiver'><bsdf type='diffuse'/><sensor "
                                  "type='irradiancemeter'>%s</sensor></shape>",
                                  film);
    char *camera = arena_printf(
        a, "<sensor type='perspective' id='camera'>" LOOK "<float name='fov' value='24'/>%s</sensor>", film);
    return c->receives ? scene_xml(a, walks, "", arena_printf(a, "%s%s", receiver, c->body))
                       : scene_xml(a, walks, camera, c->body);
}

/* Smooth, and 0 where splats may cross the border of the image. */
static void make_weights(void)
{
    for (int i = 0; i < VALUES; i++) {
        int x = i / 3 % PIXELS, y = i / 3 / PIXELS;
        bool inner = x >= BORDER && y >= BORDER && x < PIXELS - BORDER && y < PIXELS - BORDER;
        weights[i] = inner ? (float)(cos(0.7 * x + 0.4 * y + i % 3) / VALUES) : 0;
    }
}

static double weighted(void)
{
    double sum = 0;
    for (int i = 0; i < VALUES; i++)
        sum += (double)weights[i] * (double)image[i];
    return sum;
}

typedef struct moved_job {
    bl_scene *scene;
    bl_job *job;
    bl_parameter_info info;
    uint32_t parameter, first, total, spp; /* first: of its values among all */
    float *all, *direction, *gradient;
} moved_job;

/* Vertices of the border of the waves stay: what lies beside them would be an edge. */
static void make_direction(const moved_job *p)
{
    uint32_t state = 3;
    bool vertices = p->info.count == 3 * SIDE * SIDE;
    for (uint32_t i = 0; i < p->info.count; i++) {
        uint32_t x = i / 3 % SIDE, y = i / 3 / SIDE;
        bool inner = x > 0 && y > 0 && x < SIDE - 1 && y < SIDE - 1;
        float d = (float)(2 * scene_random(&state) - 1);
        p->direction[i] = p->info.count == 1 ? 1 : !vertices || inner ? d : 0;
    }
}

static moved_job open_job(arena *a, const moved_case *c)
{
    moved_job p = {.scene = scene_device_load(&device, scene_of(a, c, "ptracer"), folder), .spp = c->spp};
    const char *const wanted[] = {c->parameter};
    SCENE_MUST(&device,
               bl_job_create(device.device, p.scene,
                             &(bl_job_desc){.parameters = wanted, .parameter_count = 1, .frozen = true},
                             &p.job));
    p.parameter = scene_device_find(&device, p.scene, c->parameter);
    SCENE_MUST(&device, bl_scene_parameter_info(p.scene, p.parameter, &p.info));
    for (uint32_t k = 0; k < bl_scene_parameter_count(p.scene); k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(p.scene, k, &info));
        p.first = k == p.parameter ? p.total : p.first;
        p.total += info.count;
    }
    p.all = arena_alloc(a, p.total * sizeof *p.all);
    for (uint32_t k = 0, to = 0; k < bl_scene_parameter_count(p.scene); k++) {
        bl_parameter_info info;
        SCENE_MUST(&device, bl_scene_parameter_info(p.scene, k, &info));
        SCENE_MUST(&device, bl_scene_get_parameter(p.scene, k, p.all + to));
        to += info.count;
    }
    p.direction = arena_alloc(a, p.info.count * sizeof *p.direction);
    p.gradient = arena_alloc(a, p.info.count * sizeof *p.gradient);
    make_direction(&p);
    return p;
}

/* The weighted image where the parameter has moved: along frozen paths, or along its own. */
static double moved_image(arena *a, const moved_job *p, double step, uint32_t seed, bool frozen)
{
    float *values = arena_alloc(a, p->total * sizeof *values);
    memcpy(values, p->all, p->total * sizeof *values);
    for (uint32_t i = 0; i < p->info.count; i++)
        values[p->first + i] = (float)((double)values[p->first + i] + step * (double)p->direction[i]);
    if (!frozen)
        SCENE_MUST(&device, bl_job_set_parameter(p->job, p->parameter, values + p->first));
    const bl_render_desc d = {
        .spp = p->spp, .seed = seed, .gradient_stream = true, .frozen = frozen ? values : NULL};
    SCENE_MUST(&device, bl_job_render(p->job, &d, image, NULL));
    if (!frozen)
        SCENE_MUST(&device, bl_job_set_parameter(p->job, p->parameter, p->all + p->first));
    return weighted();
}

static double difference(arena *a, const moved_job *p, double step, uint32_t seed, bool frozen)
{
    return (moved_image(a, p, step, seed, frozen) - moved_image(a, p, -step, seed, frozen)) / (2 * step);
}

/* The gradient along the direction. *size: of its parts. */
static double gradient_of(const moved_job *p, uint32_t seed, double *size)
{
    bl_stats stats;
    const bl_gradient_desc d = {.spp = p->spp, .seed = seed, .adjoint = weights};
    SCENE_MUST(&device, bl_job_gradient(p->job, &d, &stats));
    SCENE_MUST(&device, bl_job_read_gradient(p->job, 0, p->gradient));
    assert_int_equal(stats.drifted, 0);
    assert_int_equal(stats.non_finite, 0);
    double along = 0;
    *size = 0;
    for (uint32_t i = 0; i < p->info.count; i++)
        along += (double)p->gradient[i] * (double)p->direction[i],
            *size += fabs((double)p->gradient[i] * (double)p->direction[i]);
    return along;
}

/* Plain differences equal the gradient in the mean: paths that choose another lobe are in the one as jumps,
 * and in the other as derivatives. */
static void expect_plain_agreement(arena *a, const moved_job *p, const moved_case *c, double size)
{
    double sum = 0, squares = 0, mean = 0, unused;
    for (uint32_t k = 0; k < SEEDS; k++) {
        double g = gradient_of(p, SEED + k, &unused), d = g - difference(a, p, c->step, SEED + k, false);
        sum += d / SEEDS, squares += d * d / SEEDS, mean += g / SEEDS;
    }
    double error = sqrt(fmax(0, squares - sum * sum) / (SEEDS - 1));
    print_message("    mean of the gradient %.5g, less plain differences %.2g +- %.2g\n", mean, sum, error);
    assert_true(fabs(sum) < 4.5 * error + 5e-4 * size);
    assert_true(error < c->plain * size);
}

static void expect_agreement(const moved_case *c)
{
    arena a = {0};
    moved_job p = open_job(&a, c);
    double size, along = gradient_of(&p, SEED, &size);
    const float *const tangents[] = {p.direction};
    SCENE_MUST(&device,
               bl_job_forward(p.job, &(bl_forward_desc){.spp = c->spp, .seed = SEED, .tangents = tangents},
                              image, NULL));
    double forward = weighted(), spread = 0;
    for (int i = 0; i < VALUES; i++)
        spread += fabs((double)weights[i] * (double)image[i]);
    size = fmax(size, spread);
    double whole = difference(&a, &p, c->step, SEED, true),
           half = difference(&a, &p, 0.5 * c->step, SEED, true), frozen = (4 * half - whole) / 3;
    print_message("%s: reverse %.6g, forward %.6g, frozen %.6g (half steps differ by %.2g); of parts of size "
                  "%.6g\n",
                  c->name, along, forward, frozen, fabs(half - whole), size);
    assert_true(fabs(along) > 5e-3 * size);
    assert_true(fabs(forward - along) < 1e-4 * size);
    assert_true(fabs(frozen - along) < 1e-3 * size + fabs(half - whole));
    if (c->plain > 0)
        expect_plain_agreement(&a, &p, c, size);
    bl_job_destroy(p.job);
    bl_scene_destroy(p.scene);
    arena_free(&a);
}

static void gradients_equal_differences(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++)
        expect_agreement(&cases[k]);
}

static void expect_refusal(const moved_case *c, const char *integrator, const char *word)
{
    arena a = {0};
    bl_scene *scene = scene_device_load(&device, scene_of(&a, c, integrator), folder);
    const char *const wanted[] = {c->parameter};
    bl_job *job = NULL;
    bl_parameter_info info;
    scene_device_refused(
        &device,
        bl_job_create(device.device, scene, &(bl_job_desc){.parameters = wanted, .parameter_count = 1}, &job),
        BL_ERROR_UNSUPPORTED, word);
    SCENE_MUST(&device,
               bl_scene_parameter_info(scene, scene_device_find(&device, scene, c->parameter), &info));
    assert_false(info.differentiable);
    assert_non_null(strstr(info.reason, word));
    bl_scene_destroy(scene);
    arena_free(&a);
}

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        moved_case wanted;
        const char *integrator, *word;
    } refused[] = {
        {{.body = FLOOR SUN WAVES(GLASS), .parameter = "waves.vertex_positions", .filter = BOX},
         "ptracer",
         "reconstruction filter has a derivative"},
        {{.body = FLOOR SUN WAVES(GLASS), .parameter = "glass.eta", .filter = BOX}, "ptracer", "gaussian"},
        {{.body = FLOOR PANEL, .parameter = "panel.translation", .filter = BOX}, "ptracer", "gaussian"},
        {{.body = SUN, .parameter = "receiver.scale", .filter = GAUSSIAN, .receives = true},
         "ptracer",
         "size and form of the shape that holds the sensor"},
        {{.body = SUN, .parameter = "receiver.to_world", .filter = GAUSSIAN, .receives = true},
         "ptracer",
         "size and form of the shape that holds the sensor"},
        {{.body = SUN BULB, .parameter = "receiver.translation", .filter = GAUSSIAN, .receives = true},
         "path",
         "ptracer has its translation and rotation"},
    };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        moved_case c = refused[k].wanted;
        c.depth = "3";
        expect_refusal(&c, refused[k].integrator, refused[k].word);
    }
}

static int write_files(void **state)
{
    (void)state;
    arena a = {0};
    FILE *f = fopen(arena_printf(&a, "%s/waves.obj", folder), "w");
    assert_non_null(f);
    for (int i = 0; i < SIDE * SIDE; i++) {
        double x = 2.0 * (i % SIDE) / (SIDE - 1) - 1, y = 2.0 * (i / SIDE) / (SIDE - 1) - 1;
        fprintf(f, "v %g %g %g\nvt %g %g\n", 1.2 * x, 1.2 * y, 1 + 0.06 * sin(3 * x + 1) * cos(2.5 * y),
                0.5 + 0.4 * x, 0.5 + 0.4 * y);
    }
    for (int y = 0; y < SIDE - 1; y++)
        for (int x = 0; x < SIDE - 1; x++) {
            int v = 1 + y * SIDE + x;
            const int corner[6] = {v, v + 1, v + SIDE + 1, v, v + SIDE + 1, v + SIDE};
            for (int k = 0; k < 6; k++)
                fprintf(f, "%s%d/%d%s", k % 3 == 0 ? "f " : " ", corner[k], corner[k],
                        k % 3 == 2 ? "\n" : "");
        }
    fclose(f);
    static const float tilts[12][3] = {{.55f, .5f, .95f},  {.45f, .55f, .9f}, {.5f, .4f, .9f},
                                       {.52f, .45f, .95f}, {.5f, .5f, 1},     {.6f, .5f, .9f},
                                       {.4f, .5f, .9f},    {.5f, .6f, .9f},   {.45f, .5f, 1},
                                       {.5f, .55f, .9f},   {.5f, .5f, .9f},   {.55f, .45f, .9f}};
    f = fopen(arena_printf(&a, "%s/tilts.pfm", folder), "wb");
    assert_non_null(f);
    fprintf(f, "PF\n4 3\n-1\n");
    fwrite(tilts, sizeof tilts, 1, f);
    fclose(f);
    arena_free(&a);
    return 0;
}

int main(void)
{
    make_weights();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_equal_differences),
        cmocka_unit_test(refuses_by_name),
    };
    return scene_device_run(&device, &folder, "moved light paths", tests, sizeof tests / sizeof *tests,
                            write_files);
}
