/* LABELS: swiftshader=long native timeout=2400 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Does light tracing agree with path tracing? Images and gradients have the same expectation, for every
 * light, through lenses, filters, glass and smoothed normals. The same seed gives the same bytes however
 * the work is sliced. What light tracing cannot do is refused. BL_LONG=1 takes all cases, ordinary runs the
 * quick ones.
 *
 * Where shading normals lean, no light may come from between the geometric plane and the shading one: path
 * tracing lets it through, light tracing does not (docs/theory/light_tracing.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/run_means.h"
#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = SCENE_WINDOW_WIDTH, HEIGHT = SCENE_WINDOW_HEIGHT, VALUES = 3 * WIDTH * HEIGHT, RUNS = 12 };

static scene_device device;
static char *folder;

typedef struct light_case {
    const char *name, *sensor, *film, *body, *depth; /* sensor: its type, or all of it */
    uint32_t spp;
    const char *const *parameters;
    bool quick; /* not only with BL_LONG */
} light_case;

#define WALL                                                                                                 \
    "<shape type='rectangle'><transform name='to_world'><scale value='5'/><rotate y='1' "                    \
    "angle='12'/><translate z='-2'/></transform>"                                                            \
    "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.6,.5,0'/></bsdf></shape>"
#define BALL                                                                                                 \
    "<shape type='sphere'><float name='radius' value='1.2'/><point name='center' x='.4' y='-.3' z='1'/>"     \
    "<bsdf type='diffuse' id='ball'><rgb name='reflectance' value='.3,.7,.5'/></bsdf></shape>"
#define SMOOTH                                                                                               \
    "<shape type='obj'><string name='filename' value='smooth.obj'/><bsdf type='twosided'><bsdf "             \
    "type='diffuse'/></bsdf></shape>"
#define GLASS                                                                                                \
    "<shape type='sphere'><float name='radius' value='1'/><point name='center' x='.8' y='-.5' z='2.2'/>"     \
    "<bsdf type='roughdielectric'><float name='alpha' value='.4'/></bsdf></shape>"
/* Its normals lean so far over that it shines back past its own plane. */
#define TILTED                                                                                               \
    "<shape type='obj'><string name='filename' value='tilted.obj'/><emitter type='area'><rgb "               \
    "name='radiance' value='60,40,20'/></emitter></shape>"
#define POSE "<transform name='to_world'><lookat origin='2,3,4' target='0,0,0' up='0,1,0'/></transform>"
#define DOWN                                                                                                 \
    "<transform name='to_world'><scale value='.9'/><rotate x='1' angle='150'/><translate x='1' y='2' "       \
    "z='4'/></transform>"
#define DOWN_RIGHT                                                                                           \
    "<transform name='to_world'><scale value='.9'/><rotate y='1' angle='200'/><translate x='5' y='1' "       \
    "z='3'/></transform>"
#define DOWN_LEFT                                                                                            \
    "<transform name='to_world'><scale value='.7'/><rotate x='1' angle='210'/><translate x='-1' y='-3.5' "   \
    "z='4'/></transform>"
#define PANEL(radiance)                                                                                      \
    "<shape type='rectangle'>" DOWN "<emitter type='area' id='panel'>" radiance "</emitter></shape>"
#define PICTURE(name)                                                                                        \
    "<texture type='bitmap' name='" name                                                                     \
    "' id='picture'><string name='filename' value='picture.pfm'/></texture>"

/* Glass over all of the wall, through whose boundary light comes in and out. */
#define PANE(inside)                                                                                         \
    "<shape type='rectangle'><transform name='to_world'><scale value='7'/><translate "                       \
    "z='1'/></transform>" inside "</shape>"
#define ROUGH_PANE                                                                                           \
    "<bsdf type='roughdielectric' id='pane'><string name='distribution' value='ggx'/><float name='alpha' "   \
    "value='.4'/><float name='int_ior' value='1.4'/><float name='ext_ior' value='1'/></bsdf>"
#define MAPPED(inside)                                                                                       \
    "<bsdf type='normalmap'><texture type='bitmap' name='normalmap'><string name='filename' "                \
    "value='tilts.pfm'/>"                                                                                    \
    "<boolean name='raw' value='true'/></texture>" inside "</bsdf>"

/* Lights that move, out of view, and nothing that they cast shadows with. */
#define FOUR_LIGHTS                                                                                          \
    "<shape type='rectangle' id='sheet'>" DOWN_RIGHT "<emitter type='area'>" PICTURE(                        \
        "radiance") "</emitter></shape>"                                                                     \
                    "<shape type='sphere' id='bulb'><float name='radius' value='.5'/><point name='center' "  \
                    "x='-4' y='-4' "                                                                         \
                    "z='1'/><emitter type='area'><rgb name='radiance' value='3,4,5'/></emitter></shape>"     \
                    "<shape type='disk' id='disk'>" DOWN_LEFT "<emitter type='area'><rgb name='radiance' "   \
                    "value='5,4,5'/></emitter></shape>"                                                      \
                    "<shape type='obj' id='leaning'><string name='filename' value='roof.obj'/><boolean "     \
                    "name='face_normals' "                                                                   \
                    "value='true'/><emitter type='area'><rgb name='radiance' "                               \
                    "value='2,1,3'/></emitter></shape>"
#define SPECTRAL "<?backlight mode='spectral'?>"
#define DISPERSES(type, inside)                                                                              \
    "<bsdf type='" type "' id='pane'>" inside "<spectrum name='int_ior' value='360:1.7, 830:1.3'/><float "   \
    "name='ext_ior' value='1'/></bsdf>"
/* Its caustic is in view, and it is not. */
#define DISPERSING_BALL                                                                                      \
    "<shape type='sphere'><float name='radius' value='1'/><point name='center' x='-4.2' y='0' "              \
    "z='1.2'/>" DISPERSES("dielectric", "") "</shape>"
#define LAMP                                                                                                 \
    "<shape type='sphere'><float name='radius' value='.8'/><point name='center' x='-7' y='0' z='4'/>"        \
    "<emitter type='area' id='panel'><rgb name='radiance' value='40,30,20'/></emitter></shape>"
static const char *const dispersed[] = {"wall.reflectance.value", "panel.radiance.value", NULL};
static const char *const poses[] = {"sheet.translation",
                                    "sheet.rotation",
                                    "sheet.scale",
                                    "bulb.translation",
                                    "bulb.scale",
                                    "disk.rotation",
                                    "disk.scale",
                                    "leaning.vertex_positions",
                                    NULL};
static const char *const panes[] = {"pane.eta", "pane.alpha.value", "wall.reflectance.value", NULL};
static const char *const tilts[] = {"wall.reflectance.value", NULL};
static const char *const lamps[] = {"wall.reflectance.value",
                                    "ball.reflectance.value",
                                    "point.intensity.value",
                                    "spot.intensity.value",
                                    "sun.irradiance.value",
                                    "thrower.scale",
                                    NULL};
static const char *const panels[] = {"wall.reflectance.value", "picture.data", NULL};
static const light_case cases[] = {
    {"lamps", "perspective", "<rfilter type='box'/>",
     WALL BALL
     "<emitter type='point' id='point'><point name='position' x='3' y='4' z='6'/><rgb name='intensity' "
     "value='40,30,20'/></emitter>"
     "<emitter type='spot' id='spot'>" POSE
     "<rgb name='intensity' value='60,50,40'/><float name='cutoff_angle' value='30'/></emitter>"
     "<emitter type='directional' id='sun'><vector name='direction' x='-.3' y='-.5' z='-1'/><rgb "
     "name='irradiance' value='2,1,1.5'/></emitter>"
     "<emitter type='projector' id='thrower'>" POSE
     "<float name='fov' value='40'/><float name='scale' value='20'/>" PICTURE("irradiance") "</emitter>",
     "4", 48, lamps, true},
    {"panels", "thinlens", "<rfilter type='gaussian'/>",
     WALL SMOOTH PANEL(PICTURE("radiance")) "<shape type='sphere'><float name='radius' value='.5'/><point "
                                            "name='center' x='-1.5' y='-1' z='2'/><emitter type='area'>"
                                            "<rgb name='radiance' value='3,4,5'/></emitter></shape>",
     "3", 48, panels, true},
    {"a light whose normals lean", "perspective", "<rfilter type='box'/>", WALL BALL TILTED, "3", 96, NULL,
     true},
    {"pane", "perspective", "<rfilter type='box'/>",
     WALL PANE(ROUGH_PANE) PANEL("<rgb name='radiance' value='8,7,6'/>"), "4", 1200, panes, true},
    {"tilted", "perspective", "<rfilter type='box'/>",
     "<shape type='rectangle'><transform name='to_world'><scale value='5'/><translate "
     "z='-2'/></transform>" MAPPED(
         "<bsdf type='diffuse' id='wall'><rgb name='reflectance' "
         "value='.6,.5,.3'/></bsdf>") "</shape>" PANEL("<rgb name='radiance' value='8,7,6'/>"),
     "3", 64, tilts, true},
    {"tilted pane", "perspective", "<rfilter type='box'/>",
     WALL PANE(MAPPED(ROUGH_PANE)) PANEL("<rgb name='radiance' value='8,7,6'/>"), "4", 400, NULL, false},
    {"moving lights", "perspective", "<rfilter type='gaussian'/>", WALL FOUR_LIGHTS, "2", 600, poses, true},
    {"rough glass that disperses", "perspective", "<rfilter type='box'/>",
     SPECTRAL WALL PANE(DISPERSES(
         "roughdielectric", "<string name='distribution' value='ggx'/><float name='alpha' value='.3'/>"))
         PANEL("<rgb name='radiance' value='8,7,6'/>"),
     "4", 1200, dispersed, true},
    {"a ball of glass that disperses", "perspective", "<rfilter type='gaussian'/>",
     SPECTRAL WALL DISPERSING_BALL LAMP, "6", 1500, dispersed, true},
    {"sky", "perspective", "<rfilter type='mitchell'/>",
     WALL BALL GLASS "<emitter type='constant' id='sky'><rgb name='radiance' value='.4,.5,.6'/></emitter>",
     "4", 400, NULL, false},
    {"parallel", "orthographic", "<rfilter type='tent'/>",
     WALL BALL PANEL("<rgb name='radiance' value='8,7,6'/>"), "3", 48, NULL, false},
};
enum { CASES = sizeof cases / sizeof *cases };

#define BOUNDARY(inside)                                                                                     \
    "<shape type='sphere' id='boundary'><float name='radius' value='1.5'/><point name='center' x='.4' "      \
    "y='-.3' "                                                                                               \
    "z='1'/>" inside "</shape>"
#define COLOURED                                                                                             \
    "<medium type='homogeneous' name='interior' id='mist'><rgb name='albedo' value='.9,.7,.5'/><rgb "        \
    "name='sigma_t' "                                                                                        \
    "value='.5,1,2'/><phase type='hg'><float name='g' value='.5'/></phase></medium>"
#define SMOKE                                                                                                \
    "<medium type='heterogeneous' name='interior' id='smoke'><float name='scale' value='1.2'/><volume "      \
    "name='albedo' "                                                                                         \
    "type='constvolume'><rgb name='value' value='.8,.9,.6'/></volume><volume name='sigma_t' "                \
    "type='gridvolume'><string name='resolution' value='2,2,2'/><float name='value' value='1'/><transform "  \
    "name='to_world'><translate value='-.5,-.5,-.5'/><scale value='4'/><translate x='.4' y='-.3' "           \
    "z='1'/></transform></volume></medium>"
#define NULL_BSDF "<bsdf type='null'/>"
/* A box of fog around everything but the camera; the wall does not know that it stands in it. */
#define FOG                                                                                                  \
    "<shape type='cube'><transform name='to_world'><scale value='7'/><translate "                            \
    "z='-1.5'/></transform>" NULL_BSDF                                                                       \
    "<medium type='homogeneous' name='interior'><float name='sigma_t' value='.12'/><float name='albedo' "    \
    "value='.8'/></medium></shape>"
#define LAMPS                                                                                                \
    "<emitter type='point'><point name='position' x='3' y='4' z='3'/><rgb name='intensity' "                 \
    "value='40,30,20'/></emitter>"
/* The camera in a medium: in all of space, or in a ball with the light outside. Next to a camera what
 * scatters has no bound, so little does. */
#define SEEN_FROM(medium)                                                                                    \
    "<sensor type='perspective'><float name='fov' value='45'/><transform name='to_world'><lookat "           \
    "origin='1,2,8' target='.3,.1,0' up='.2,1,0'/></transform><film type='hdrfilm'><integer name='width' "   \
    "value='16'/><integer name='height' value='12'/><rfilter type='box'/></film>" medium "</sensor>"
#define HAZE(name)                                                                                           \
    "<medium type='homogeneous'" name                                                                        \
    "><float name='sigma_t' value='.06'/><float name='albedo' value='.1'/></medium>"
#define AROUND_CAMERA                                                                                        \
    "<shape type='sphere'><float name='radius' value='5'/><point name='center' x='1' y='2' "                 \
    "z='8'/>" NULL_BSDF "<ref id='haze' name='interior'/></shape>"
static const char *const mists[] = {"mist.albedo.value.value", "mist.sigma_t.value.value",
                                    "mist.phase_function.g",   "wall.reflectance.value",
                                    "panel.radiance.value",    NULL};
static const char *const smokes[] = {"smoke.albedo.value.value", "smoke.sigma_t.data", "smoke.scale",
                                     "wall.reflectance.value", NULL};
static const light_case in_media[] = {
    {"coloured medium", "perspective", "<rfilter type='box'/>",
     WALL BOUNDARY(NULL_BSDF COLOURED) PANEL("<rgb name='radiance' value='8,7,6'/>"), "6", 200, mists, true},
    {"smoke under a sky", "thinlens", "<rfilter type='gaussian'/>",
     WALL BOUNDARY(
         NULL_BSDF SMOKE) "<emitter type='constant'><rgb name='radiance' value='.4,.5,.6'/></emitter>",
     "8", 400, smokes, true},
    {"rough glass around a medium", "perspective", "<rfilter type='tent'/>",
     WALL BOUNDARY(ROUGH_PANE COLOURED) PANEL("<rgb name='radiance' value='8,7,6'/>") BALL, "7", 600, NULL,
     true},
    {"fog around lights", "perspective", "<rfilter type='box'/>",
     WALL FOG LAMPS PANEL("<rgb name='radiance' value='8,7,6'/>") BALL, "5", 400, NULL, true},
    {"smoke in front of a beam", "orthographic", "<rfilter type='box'/>",
     WALL BOUNDARY(
         NULL_BSDF
             SMOKE) "<emitter type='directional'><vector name='direction' x='-.3' y='-.5' z='-1'/></emitter>",
     "4", 100, NULL, true},
    {"a medium without end", SEEN_FROM(HAZE("")), "", WALL LAMPS BALL, "4", 800, NULL, true},
    {"a camera in a ball of haze", SEEN_FROM("<ref id='haze'/>"), "",
     HAZE(" id='haze'") AROUND_CAMERA WALL LAMPS BALL, "4", 800, NULL, true},
};
enum { IN_MEDIA = sizeof in_media / sizeof *in_media };

static char *scene_of(arena *a, const light_case *c, const char *integrator)
{
    const char *walks = arena_printf(
        a, "<integrator type='%s'><integer name='max_depth' value='%s'/></integrator>", integrator, c->depth);
    return *c->sensor == '<' ? scene_xml(a, walks, c->sensor, c->body)
                             : scene_window_xml(a, walks, c->sensor, c->film, c->body);
}

/* ---- two means alike ---- */

/* Student's t of about 22 degrees is above 7 with a probability of 5e-7. Filters' tables differ in their
 * tails by about 1e-5 of the largest value. */
static void compare(const char *name, const run_means *a, const run_means *b, uint32_t count, double noise)
{
    double largest = 0;
    for (uint32_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(run_means_value(b, i)));
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t k = i < count ? i : RUN_MEANS_ALL;
        double x = run_means_value(a, k), y = run_means_value(b, k), error = run_means_error(a, b, k);
        if (fabs(x - y) > 7 * error + 1e-4 * largest)
            fail_msg("%s: value %u is %g by light tracing and %g by path tracing, error %g", name, i, x, y,
                     error);
    }
    double error = run_means_error(a, b, RUN_MEANS_ALL), mean = run_means_value(b, RUN_MEANS_ALL),
           difference = run_means_value(a, RUN_MEANS_ALL) - mean;
    print_message("%s: z of the mean %.1f, noise %.3g of the mean\n", name, difference / error,
                  error / fabs(mean));
    assert_true(fabs(difference) < 4.5 * error && error < noise * fabs(mean));
}

/* ---- images ---- */

/* Near the border pixels share out what falls on the film alone, splats also what would fall beyond
 * (Mitsuba): the outermost pixels are left out. */
enum { BORDER = 2 };

static run_means image_runs(const light_case *c, const char *integrator, uint32_t *count)
{
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, c, integrator), folder, NULL, 0);
    run_means e = {0};
    for (uint32_t run = 0; run < RUNS; run++) {
        double blocks[RUN_MEANS_MOST];
        bl_stats stats;
        const bl_render_desc d = {.spp = c->spp, .seed = 1 + run};
        SCENE_MUST(&device, bl_job_render(p.job, &d, p.image, &stats));
        assert_int_equal(stats.non_finite, 0);
        *count = run_means_blocks(p.image, WIDTH, HEIGHT, BORDER, blocks);
        run_means_add(&e, blocks, *count);
    }
    scene_picture_free(&p);
    arena_free(&a);
    return e;
}

static void images_equal_those_of_paths(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        if (!cases[k].quick && !getenv("BL_LONG"))
            continue;
        uint32_t count;
        run_means light = image_runs(&cases[k], "ptracer", &count),
                  path = image_runs(&cases[k], "path", &count);
        compare(cases[k].name, &light, &path, count, 4e-2);
    }
}

static void images_in_media_equal_those_of_paths(void **state)
{
    (void)state;
    for (int k = 0; k < IN_MEDIA; k++) {
        uint32_t count;
        run_means light = image_runs(&in_media[k], "ptracer", &count),
                  path = image_runs(&in_media[k], "volpath", &count);
        compare(in_media[k].name, &light, &path, count, 4e-2);
    }
}

/* ---- gradients ---- */

static run_means gradient_runs(const light_case *c, const char *integrator, uint32_t *count)
{
    arena a = {0};
    uint32_t parameters = 0;
    while (c->parameters[parameters])
        parameters++;
    scene_picture p =
        scene_picture_load(&device, scene_of(&a, c, integrator), folder, c->parameters, parameters);
    float adjoint[VALUES];
    for (int i = 0; i < VALUES; i++) {
        int x = i / 3 % WIDTH, y = i / 3 / WIDTH;
        bool inside = x >= BORDER && y >= BORDER && x < WIDTH - BORDER && y < HEIGHT - BORDER;
        adjoint[i] = inside ? (float)(1 + 0.5 * sin(0.3 * i) + 0.02 * x) : 0;
    }
    run_means e = {0};
    for (uint32_t run = 0; run < RUNS; run++) {
        double values[RUN_MEANS_MOST];
        bl_stats stats;
        const bl_gradient_desc d = {.spp = c->spp / 2, .seed = 1 + run, .adjoint = adjoint};
        SCENE_MUST(&device, bl_job_gradient(p.job, &d, &stats));
        assert_int_equal(stats.drifted, 0);
        *count = 0;
        for (uint32_t k = 0; k < parameters; k++) {
            bl_parameter_info info;
            float g[64];
            SCENE_MUST(&device, bl_scene_parameter_info(
                                    p.scene, scene_device_find(&device, p.scene, c->parameters[k]), &info));
            assert_true(info.count <= 64 && *count + info.count <= RUN_MEANS_MOST);
            SCENE_MUST(&device, bl_job_read_gradient(p.job, k, g));
            for (uint32_t i = 0; i < info.count; i++)
                values[(*count)++] = (double)g[i];
        }
        run_means_add(&e, values, *count);
    }
    scene_picture_free(&p);
    arena_free(&a);
    return e;
}

static void gradients_in_media_equal_those_of_paths(void **state)
{
    (void)state;
    for (int k = 0; k < IN_MEDIA; k++) {
        uint32_t count = 0;
        if (!in_media[k].parameters)
            continue;
        run_means light = gradient_runs(&in_media[k], "ptracer", &count),
                  path = gradient_runs(&in_media[k], "volpath", &count);
        compare(in_media[k].name, &light, &path, count, 0.1);
    }
}

static void gradients_equal_those_of_paths(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        if (!cases[k].parameters || (!cases[k].quick && !getenv("BL_LONG")))
            continue;
        uint32_t count = 0;
        run_means light = gradient_runs(&cases[k], "ptracer", &count),
                  path = gradient_runs(&cases[k], "path", &count);
        compare(cases[k].name, &light, &path, count,
                0.15); /* of the pane: its index missed twice the whole sum before */
    }
}

/* ---- the same bytes; what is not there ---- */

static void slices_change_nothing(void **state)
{
    (void)state;
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, &cases[1], "ptracer"), folder, NULL, 0);
    scene_picture_expect_reproducible(&p, 40);
    scene_picture_free(&p);
    arena_free(&a);
}

static void expect_below(const char *light, double factor)
{
    arena a = {0};
    const char *body =
        arena_printf(&a,
                     "<shape type='rectangle'><transform name='to_world'><scale value='4'/></transform><bsdf "
                     "type='diffuse'><rgb name='reflectance' value='.5,.25,.75'/></bsdf>"
                     "</shape><shape %s<emitter type='directionalarea'><rgb name='radiance' "
                     "value='4,2,1'/></emitter></shape>",
                     light);
    const char *sensor = "<sensor type='perspective'><float name='fov' value='15'/><transform "
                         "name='to_world'><lookat origin='0,0,6' target='0,0,0' up='0,1,0'/></transform>"
                         "<film type='hdrfilm'><integer name='width' value='8'/><integer name='height' "
                         "value='8'/><rfilter type='box'/></film></sensor>";
    scene_picture p = scene_picture_load(
        &device,
        scene_xml(&a, "<integrator type='ptracer'><integer name='max_depth' value='2'/></integrator>", sensor,
                  body),
        folder, NULL, 0);
    const bl_render_desc d = {.spp = 2000, .seed = 5};
    SCENE_MUST(&device, bl_job_render(p.job, &d, p.image, NULL));
    const double expected[3] = {factor * 4 * .5 / 3.14159265358979, factor * 2 * .25 / 3.14159265358979,
                                factor * .75 / 3.14159265358979};
    double mean[3] = {0};
    for (int i = 0; i < 3 * 64; i++)
        mean[i % 3] += (double)p.image[i] / 64;
    for (int c = 0; c < 3; c++) /* about one path in six lands in view: 20,000 of them */
        assert_true(fabs(mean[c] / expected[c] - 1) < 0.035);
    scene_picture_free(&p);
    arena_free(&a);
}

/* Collimated light is found by light tracing alone. A panel that shines straight down on a floor below it:
 * its exitance is the floor's irradiance. One that is tilted by 60 degrees, but whose shading normals are
 * not, has twice the area. */
static void collimated_light_lands_below(void **state)
{
    (void)state;
    expect_below(
        "type='rectangle'><boolean name='flip_normals' value='true'/><transform name='to_world'><scale "
        "value='2'/><translate z='9'/></transform>",
        1);
    expect_below("type='obj'><string name='filename' value='leaning.obj'/>", 2);
}

static void refuses(void **state)
{
    (void)state;
    arena a = {0};
    bl_scene *scene = NULL;
    char *xml = scene_xml(&a, "<integrator type='ptracer'/>",
                          "<sensor type='distant'><film type='hdrfilm'><integer name='width' "
                          "value='1'/><integer name='height' value='1'/>"
                          "</film></sensor>",
                          WALL "<emitter type='constant'/>");
    assert_true(bl_scene_load_string(device.context, xml, folder, NULL, &scene) != BL_OK);
    assert_non_null(strstr(bl_context_error(device.context), "cannot be connected to the sensor"));
    static const struct {
        const char *body, *why;
    } media[] = {
        {WALL LAMPS BOUNDARY(NULL_BSDF
                             "<medium type='heterogeneous' name='interior'><float name='sigma_t' value='1'/>"
                             "<float name='emission' value='1'/></medium>"),
         "light that a medium emits"},
        {WALL LAMPS BOUNDARY(
             NULL_BSDF COLOURED) "<shape type='sphere'><point name='center' x='4' y='0' z='0'/>" NULL_BSDF
                                 "<medium type='grin' name='interior'><float name='ior' "
                                 "value='1.1'/></medium></shape>",
         "rays that bend, beside media"},
    };
    for (size_t k = 0; k < sizeof media / sizeof *media; k++) {
        light_case c = cases[0];
        c.body = media[k].body;
        scene_device_refused(
            &device, bl_scene_load_string(device.context, scene_of(&a, &c, "ptracer"), folder, NULL, &scene),
            BL_ERROR_UNSUPPORTED, media[k].why);
    }
    scene = scene_device_load(&device, scene_of(&a, &in_media[0], "ptracer"), folder);
    bl_parameter_info info;
    SCENE_MUST(&device, bl_scene_parameter_info(
                            scene, scene_device_find(&device, scene, "boundary.translation"), &info));
    assert_false(info.differentiable);
    assert_non_null(strstr(info.reason, "not implemented for ptracer where there are media"));
    bl_scene_destroy(scene);
    scene = scene_device_load(&device, scene_of(&a, &cases[0], "ptracer"), folder);
    bl_job *job = NULL;
    const char *moving[] = {"point.position"};
    bl_job_desc j = {.parameters = moving, .parameter_count = 1};
    assert_true(bl_job_create(device.device, scene, &j, &job) != BL_OK);
    assert_non_null(strstr(bl_context_error(device.context), "reconstruction filter has a derivative"));
    bl_scene_destroy(scene);
    arena_free(&a);
}

static int write_files(void **state)
{
    (void)state;
    static const float tilted[6][3] = {{.7f, .5f, .9f},  {.4f, .7f, .9f},  {.5f, .3f, .8f},
                                       {.3f, .45f, .9f}, {.6f, .6f, .95f}, {.5f, .75f, .8f}};
    arena a = {0};
    FILE *f = fopen(arena_printf(&a, "%s/smooth.obj", folder), "w");
    assert_non_null(f);
    fprintf(f, "v -2 -1 1\nv 0 -1 1.4\nv 0 1 .7\nv -2 1 1.4\nvn -.5 0 1\nvn .5 .2 1\nvn 0 .6 1\nvn -.3 .4 "
               ".8\nf 1//1 2//2 3//3\nf 1//1 3//3 4//4\n");
    fclose(f);
    f = fopen(arena_printf(&a, "%s/tilted.obj", folder), "w");
    assert_non_null(f);
    fprintf(f, "v 1 1 .5\nv 2 1 .5\nv 2 2 .5\nv 1 2 .5\nvn -1 .2 .4\nf 1//1 2//1 3//1 4//1\n");
    fclose(f);
    f = fopen(arena_printf(&a, "%s/leaning.obj", folder), "w");
    assert_non_null(f);
    fprintf(f, "v -2 -2 7\nv -2 2 7\nv 2 2 13.9282\nv 2 -2 13.9282\nvn 0 0 -1\nf 1//1 2//1 3//1 4//1\n");
    fclose(f);
    f = fopen(arena_printf(&a, "%s/roof.obj", folder), "w");
    assert_non_null(f);
    fprintf(f, "v 3 3.5 2\nv 3 4.5 2.5\nv 4 4 2.6\nv 4 3 2.2\nf 3 2 1\nf 4 3 1\n");
    fclose(f);
    f = fopen(arena_printf(&a, "%s/picture.pfm", folder), "wb");
    assert_non_null(f);
    fprintf(f, "PF\n3 2\n-1\n");
    for (int i = 0; i < 18; i++) {
        float v = 0.5f + (float)(i * 7 % 11);
        fwrite(&v, sizeof v, 1, f);
    }
    fclose(f);
    f = fopen(arena_printf(&a, "%s/tilts.pfm", folder), "wb");
    assert_non_null(f);
    fprintf(f, "PF\n3 2\n-1\n");
    fwrite(tilted, sizeof tilted, 1, f);
    fclose(f);
    arena_free(&a);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_equal_those_of_paths),
        cmocka_unit_test(images_in_media_equal_those_of_paths),
        cmocka_unit_test(gradients_equal_those_of_paths),
        cmocka_unit_test(gradients_in_media_equal_those_of_paths),
        cmocka_unit_test(slices_change_nothing),
        cmocka_unit_test(collimated_light_lands_below),
        cmocka_unit_test(refuses),
    };
    return scene_device_run(&device, &folder, "light tracing", tests, sizeof tests / sizeof *tests,
                            write_files);
}
