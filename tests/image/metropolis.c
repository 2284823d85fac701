/* LABELS: swiftshader=long native timeout=2400 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do images by Metropolis chains, and by paths from both ends without chains, have the expectation of path
 * tracing? Steps of a chain are not independent, so errors are those of the mean of independent runs. The
 * same seed gives the same bytes however the work is sliced. What chains cannot do is refused by name.
 * BL_LONG=1 takes all cases, ordinary runs the quick ones.
 */
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

typedef struct chain_case {
    const char *name, *sensor, *film, *body, *depth;
    uint32_t spp, path_spp;
    double noise;          /* the error of the mean that the case must reach at least, to see what is wrong */
    const char *reference; /* the integrator to compare with; NULL: path */
    bool quick;            /* not only with BL_LONG */
    const char *chains;    /* the integrator's parameter, as XML; NULL: its default */
    bool only_sensor;      /* what paths from lights do not know: no integrator with these */
} chain_case;

#define WALL                                                                                                 \
    "<shape type='rectangle'><transform name='to_world'><scale value='5'/><rotate y='1' "                    \
    "angle='12'/><translate z='-2'/></transform>"                                                            \
    "<bsdf type='diffuse' id='wall'><rgb name='reflectance' value='.6,.5,.1'/></bsdf></shape>"
#define BALL(inside)                                                                                         \
    "<shape type='sphere'><float name='radius' value='1.2'/><point name='center' x='.4' y='-.3' "            \
    "z='1'/>" inside "</shape>"
#define PANEL                                                                                                \
    "<shape type='rectangle'><transform name='to_world'><scale value='.9'/><rotate x='1' angle='150'/>"      \
    "<translate x='1' y='2' z='4'/></transform><emitter type='area'><rgb name='radiance' value='9,7,5'/>"    \
    "</emitter></shape>"
#define LAMP(radius)                                                                                         \
    "<shape type='sphere'><float name='radius' value='" radius "'/><point name='center' x='2' y='3' z='4'/>" \
    "<emitter type='area'><rgb name='radiance' value='40,30,20'/></emitter></shape>"
#define SKY "<emitter type='constant'><rgb name='radiance' value='.4,.5,.6'/></emitter>"
#define METAL                                                                                                \
    "<bsdf type='roughconductor'><float name='alpha' value='.15'/><string name='material' "                  \
    "value='Cu'/></bsdf>"
#define MIRROR(x, angle)                                                                                     \
    "<shape type='rectangle'><transform name='to_world'><scale value='4'/><rotate y='1' angle='" angle       \
    "'/><translate x='" x "'/></transform><bsdf type='twosided'><bsdf type='conductor'/></bsdf></shape>"
#define POINT                                                                                                \
    "<emitter type='point'><point name='position' x='-1.5' y='2' z='3.5'/><rgb name='intensity' "            \
    "value='9,4,2'/></emitter>"
#define SPOT                                                                                                 \
    "<emitter type='spot'><transform name='to_world'><lookat origin='2,3,4' target='0,0,0' "                 \
    "up='0,1,0'/></transform>"                                                                               \
    "<rgb name='intensity' value='20,40,30'/></emitter>"
#define SUN                                                                                                  \
    "<emitter type='directional'><vector name='direction' x='.3' y='-.5' z='-1'/><rgb name='irradiance' "    \
    "value='.5,.4,.3'/></emitter>"
#define CHECKERED                                                                                            \
    "<shape type='rectangle'><transform name='to_world'><scale value='.9'/><rotate x='1' angle='150'/>"      \
    "<translate x='1' y='2' z='4'/></transform><emitter type='area'><texture type='checkerboard' "           \
    "name='radiance'><rgb name='color0' value='.1'/><rgb name='color1' value='9,7,5'/></texture>"            \
    "</emitter></shape>"
#define SCREEN(x)                                                                                            \
    "<shape type='rectangle'><transform name='to_world'><scale value='3'/><translate x='" x                  \
    "' z='2.6'/></transform><bsdf type='twosided'><bsdf type='diffuse'/></bsdf></shape>"
#define MIST                                                                                                 \
    "<bsdf type='null'/><medium type='homogeneous' name='interior'><rgb name='albedo' value='.9,.7,.5'/>"    \
    "<float name='sigma_t' value='1.5'/></medium>"

static const chain_case cases[] = {
    {"panel", "perspective", "<rfilter type='box'/>",
     WALL BALL("<bsdf type='diffuse'><rgb name='reflectance' value='.3,.7,.5'/></bsdf>") PANEL, "4", 3000,
     600, 1e-2, NULL, true, NULL, false},
    {"caustic", "perspective", "<rfilter type='gaussian'/>",
     WALL BALL("<bsdf type='dielectric'/>") LAMP(".7"), "6", 3000, 2000, 1.5e-2, NULL, true, NULL, false},
    {"metal", "thinlens", "<rfilter type='tent'/>", WALL BALL(METAL) SKY PANEL, "5", 3000, 1000, 1e-2, NULL,
     false, NULL, false},
    {"mirrors", "perspective", "<rfilter type='mitchell'/>",
     WALL MIRROR("-2.5", "70") MIRROR("3", "-80") PANEL, "20", 3000, 1000, 1e-2, NULL, false, NULL, false},
    {"mist", "perspective", "<rfilter type='box'/>", WALL BALL(MIST) SKY PANEL, "8", 3000, 1000, 1e-2,
     "volpath", false, NULL, true},
    {"lights", "thinlens", "<rfilter type='gaussian'/>",
     WALL BALL("<bsdf type='plastic'/>") CHECKERED POINT SPOT SUN, "5", 3000, 1000, 1e-2, NULL, true, NULL,
     false},
    {"rough glass", "perspective", "<rfilter type='mitchell'/><boolean name='sample_border' value='true'/>",
     WALL BALL("<bsdf type='roughdielectric'><float name='alpha' value='.3'/></bsdf>") SKY LAMP(".4"), "6",
     8000, 4000, 1e-2, NULL, false, NULL, false},
    {"slit", "perspective", "<rfilter type='tent'/>", WALL SCREEN("-3.4") SCREEN("3.4") LAMP(".3"), "4", 8000,
     4000, 2e-2, NULL, false, NULL, false},
    {"pane", "orthographic", "<rfilter type='gaussian'/>",
     WALL BALL("<bsdf type='roughplastic'><float name='alpha' value='.1'/></bsdf>") LAMP(".4"), "6", 8000,
     6000, 1e-2, NULL, false, NULL, false},
};
enum { CASES = sizeof cases / sizeof *cases };
enum { BLOCKS = WIDTH / 2 * (HEIGHT / 2) };

#define WITH_DIRECT "<boolean name='separate_direct' value='false'/>"

typedef struct walker {
    const char *integrator, *settings;
    bool from_lights; /* it has paths from lights, too */
} walker;
static const walker walkers[] = {
    {"pssmlt", "", false},
    {"cpmmlt", "", false},
    {"mmlt", "", true},
    {"cpmmlt", "<float name='light_paths' value='.3'/>", true},
};
enum { WALKERS = sizeof walkers / sizeof *walkers };
static const walker with_direct = {"pssmlt", WITH_DIRECT, false};
/* No chains, but the same weights between both kinds of paths. */
static const walker both_ways = {"bidirectional", "", true};

/* with: chains, or NULL: independent paths by the integrator `reference`. */
static char *scene_of(arena *a, const chain_case *c, const walker *with, const char *reference)
{
    return scene_window_xml(
        a,
        arena_printf(a, "<integrator type='%s'><integer name='max_depth' value='%s'/>%s%s</integrator>",
                     with ? with->integrator : reference, c->depth, with ? with->settings : "",
                     with && c->chains ? c->chains : ""),
        c->sensor, c->film, c->body);
}

/* ---- the same expectation ---- */

static run_means runs_of(const chain_case *c, const walker *with, uint32_t spp)
{
    arena a = {0};
    char *xml = scene_of(&a, c, with, c->reference ? c->reference : "path");
    scene_picture p = scene_picture_load(&device, xml, folder, NULL, 0);
    run_means e = {0};
    for (uint32_t run = 0; run < RUNS; run++) {
        double blocks[RUN_MEANS_MOST];
        bl_stats stats;
        const bl_render_desc d = {.spp = spp, .seed = 1 + run};
        SCENE_MUST(&device, bl_job_render(p.job, &d, p.image, &stats));
        assert_int_equal(stats.non_finite, 0);
        run_means_add(&e, blocks, run_means_grey_blocks(p.image, WIDTH, HEIGHT, blocks));
    }
    scene_picture_free(&p);
    arena_free(&a);
    return e;
}

static const char *name_of(const walker *with)
{
    return with->from_lights && *with->settings ? "cpmmlt, with light_paths" : with->integrator;
}

/* Student's t of about 22 degrees is above 6 with a probability of 5e-6, and above 4.5 with 2e-4. Where paths
 * have found nothing so far their runs show no error; less than 1e-5 of the mean may be there all the same.
 */
static void compare(const chain_case *c, const char *integrator, const run_means *a, const run_means *b)
{
    double squares = 0, largest = 0;
    for (uint32_t i = 0; i <= BLOCKS; i++) {
        uint32_t k = i < BLOCKS ? i : RUN_MEANS_ALL;
        double x = run_means_value(a, k), y = run_means_value(b, k), error = run_means_error(a, b, k),
               unseen = 1e-5 * run_means_value(b, RUN_MEANS_ALL), z = (x - y) / fmax(error, unseen);
        if (fabs(z) > (i < BLOCKS ? 6 : 4.5))
            fail_msg("%s, %s: value %u is %g, by path tracing %g, error %g", c->name, integrator, i, x, y,
                     error);
        if (i < BLOCKS)
            squares += z * z, largest = fmax(largest, fabs(z));
        else
            print_message(
                "%s, %s: z of the mean %.1f, error %.2g of the mean, root mean square z %.2f, largest %.1f\n",
                c->name, integrator, z, error / y, sqrt(squares / BLOCKS), largest);
        assert_true(i < BLOCKS || error < c->noise * y);
    }
    assert_true(sqrt(squares / BLOCKS) < 1.6);
}

static void images_equal_those_of_paths(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        const chain_case *c = &cases[k];
        if (!c->quick && !getenv("BL_LONG"))
            continue;
        run_means path = runs_of(c, NULL, c->path_spp);
        for (int i = 0; i < WALKERS; i++) {
            if (c->only_sensor && walkers[i].from_lights)
                continue;
            run_means chains = runs_of(c, &walkers[i], c->spp);
            compare(c, name_of(&walkers[i]), &chains, &path);
        }
        if (k == 0) {
            run_means chains = runs_of(c, &with_direct, c->spp);
            compare(c, "pssmlt, with direct light", &chains, &path);
        }
        if (c->only_sensor)
            continue;
        run_means both = runs_of(c, &both_ways, c->path_spp);
        compare(c, both_ways.integrator, &both, &path);
    }
}

/* Chains that hardly ever begin anew and whose steps go halfway round the circle: a step and the step back
 * must be as likely as each other there, and must change the same numbers. */
static void wide_steps_have_the_expectation(void **state)
{
    (void)state;
    chain_case c = cases[0];
    c.chains = "<float name='large_step' value='.01'/><float name='step_least' value='.05'/>"
               "<float name='step_most' value='.5'/>";
    c.depth = "8", c.noise = 2e-2;
    run_means path = runs_of(&c, NULL, c.path_spp);
    for (int i = 0; i < WALKERS; i++) {
        run_means chains = runs_of(&c, &walkers[i], c.spp);
        compare(&c, "wide steps", &chains, &path);
    }
}

/* Chains of one step: the image is what they start with, so a start that is not in equilibrium is seen, where
 * particles are far apart. They have direct light, too: what few starts find of a caustic alone has too long
 * a tail to be judged. */
static void the_first_step_has_the_expectation(void **state)
{
    (void)state;
    chain_case c = cases[1];
    c.chains = WITH_DIRECT "<integer name='chains' value='512'/><float name='spread' value='.1'/>",
    c.spp = 128, c.noise = 3e-2;
    run_means path = runs_of(&c, NULL, c.path_spp);
    for (int i = 1; i < WALKERS; i += 2) {
        run_means chains = runs_of(&c, &walkers[i], c.spp);
        compare(&c, "cpmmlt, one step", &chains, &path);
    }
}

/* Where paths end after two segments chains have nothing to find, and the samples beside them have all. */
static void direct_light_alone(void **state)
{
    (void)state;
    chain_case c = cases[0];
    c.depth = "2", c.spp = 1000, c.noise = 2e-2;
    run_means path = runs_of(&c, NULL, c.path_spp);
    run_means chains = runs_of(&c, &walkers[3], c.spp);
    compare(&c, "direct light", &chains, &path);
}

/* ---- the border of the film ---- */

enum { RING = 2 }; /* pixels from the border that a filter of this deviation darkens by a fifth, if it may */
#define WIDE_FILTER "<rfilter type='gaussian'><float name='stddev' value='1'/></rfilter>"

static double ring_of(const float *picture)
{
    double sum = 0;
    uint32_t count = 0;
    for (int i = 0; i < VALUES; i++) {
        int x = i / 3 % WIDTH, y = i / 3 / WIDTH;
        if (x < RING || y < RING || x >= WIDTH - RING || y >= HEIGHT - RING)
            sum += (double)picture[i], count++;
    }
    return sum / count;
}

static run_means ring_runs(const chain_case *c, const walker *with)
{
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, c, with, "path"), folder, NULL, 0);
    run_means e = {0};
    for (uint32_t run = 0; run < RUNS; run++) {
        SCENE_MUST(&device, bl_job_render(
                                p.job, &(bl_render_desc){.spp = with ? c->spp : c->path_spp, .seed = 1 + run},
                                p.image, NULL));
        const double ring = ring_of(p.image);
        run_means_add(&e, &ring, 1);
    }
    scene_picture_free(&p);
    arena_free(&a);
    return e;
}

/* A lamp in a ball of glass: the paths that come from it have nearly all the weight. A pixel's share of a
 * splat is divided by what of its filter lies within the window, and with sample_border it is not. */
static void borders_are_as_bright_as_those_of_paths(void **state)
{
    (void)state;
    static const char *const films[] = {WIDE_FILTER,
                                        WIDE_FILTER "<boolean name='sample_border' value='true'/>"};
    static const walker *const all[] = {&both_ways, &walkers[2]};
    for (int k = 0; k < 2; k++) {
        const chain_case c = {
            .sensor = "perspective",
            .film = films[k],
            .depth = "4",
            .spp = 1000,
            .path_spp = 4000,
            .body =
                WALL BALL("<bsdf type='dielectric'/>") "<shape type='sphere'><float name='radius' "
                                                       "value='.2'/><point name='center' x='.4' y='-.3' "
                                                       "z='1'/><emitter type='area'><rgb "
                                                       "name='radiance' value='40,30,20'/></emitter></shape>",
        };
        run_means path = ring_runs(&c, NULL);
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            run_means both = ring_runs(&c, all[i]);
            double x = run_means_value(&both, 0), y = run_means_value(&path, 0),
                   error = run_means_error(&both, &path, 0);
            print_message("the border, %s, film %d: %.4g, by path tracing %.4g, z %.1f, error %.2g of it\n",
                          all[i]->integrator, k, x, y, (x - y) / error, error / y);
            assert_true(fabs(x - y) < 4.5 * error && error < 0.02 * y);
        }
    }
}

/* ---- the same bytes ---- */

/* Steps of few chains are cut, and chains of so many that a dispatch does not have them all. */
static void slices_change_nothing(void **state)
{
    (void)state;
    static const char *const chains[] = {NULL, "<integer name='chains' value='1001'/>"};
    for (int i = 0; i < WALKERS; i++)
        for (int k = 0; k < 2; k++) {
            arena a = {0};
            chain_case c = cases[1];
            c.chains = chains[k];
            scene_picture p =
                scene_picture_load(&device, scene_of(&a, &c, &walkers[i], NULL), folder, NULL, 0);
            scene_picture_expect_reproducible(&p, k ? 400 : 40);
            scene_picture_free(&p);
            arena_free(&a);
        }
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, &cases[1], &both_ways, NULL), folder, NULL, 0);
    scene_picture_expect_reproducible(&p, 40);
    scene_picture_free(&p);
    arena_free(&a);
}

/* ---- what is said of chains ---- */

static double mean_of_chains(const char *settings)
{
    arena a = {0};
    chain_case with = cases[0];
    with.chains = settings;
    scene_picture p = scene_picture_load(&device, scene_of(&a, &with, &walkers[1], NULL), folder, NULL, 0);
    bl_stats stats;
    SCENE_MUST(&device, bl_job_render(p.job, &(bl_render_desc){.spp = 400}, p.image, &stats));
    const double mean = bl_job_chains(p.job).mean;
    scene_picture_free(&p);
    arena_free(&a);
    return mean;
}

static void chains_tell_how_they_have_done(void **state)
{
    (void)state;
    arena a = {0};
    chain_case whole = cases[0];
    whole.chains = WITH_DIRECT;
    scene_picture p = scene_picture_load(&device, scene_of(&a, &whole, &walkers[1], NULL), folder, NULL, 0);
    assert_int_equal(bl_job_chains(p.job).count, 0);
    bl_stats stats;
    SCENE_MUST(&device, bl_job_render(p.job, &(bl_render_desc){.spp = 400}, p.image, &stats));
    const bl_chains c = bl_job_chains(p.job);
    assert_int_equal(c.particles, 16);
    assert_int_equal(stats.paths, c.count * c.particles * (c.steps + c.probes));
    assert_true(stats.paths >= 400 * WIDTH * HEIGHT && stats.paths < 410 * WIDTH * HEIGHT);
    assert_true(c.taken > 0.3 && c.taken < 1 && c.large_taken > 0.05 && c.large_taken < c.taken);
    assert_true(c.vertices > c.count * c.particles * c.steps);
    assert_true(c.mean_error > 0 && c.mean_error < 0.05 * c.mean);
    assert_true(fabs(c.large_mean / c.mean - 1) < 0.2);
    const double indirect = mean_of_chains(NULL);
    assert_true(indirect > 0 && indirect < 0.5 * c.mean); /* most of the panel's light is direct */
    scene_picture_free(&p);
    arena_free(&a);
}

/* No probe finds light, and the image is black. */
static void darkness_is_black(void **state)
{
    (void)state;
    arena a = {0};
    chain_case dark = cases[0];
    dark.body = WALL "<emitter type='constant'><rgb name='radiance' value='0'/></emitter>";
    scene_picture p = scene_picture_load(&device, scene_of(&a, &dark, &walkers[0], NULL), folder, NULL, 0);
    bl_stats stats;
    SCENE_MUST(&device, bl_job_render(p.job, &(bl_render_desc){.spp = 16}, p.image, &stats));
    for (int i = 0; i < VALUES; i++)
        assert_true(p.image[i] == 0);
    const bl_chains c = bl_job_chains(p.job);
    assert_true(c.count > 0 && c.steps == 0 && c.mean == 0);
    assert_int_equal(stats.paths, c.count * c.probes);
    scene_picture_free(&p);
    arena_free(&a);
}

/* ---- an end before the end ---- */

typedef struct patience {
    double until, done;
} patience;

static bool watch(void *user, double done)
{
    patience *p = user;
    p->done = done;
    return done < p->until;
}

static double mean_of(const float *image)
{
    double sum = 0;
    for (int i = 0; i < VALUES; i++)
        sum += (double)image[i] / VALUES;
    return sum;
}

/* The part of an image is dark in proportion to the steps that it has; it is black while chains are looking
 * for their starts. */
static void a_part_is_dark_in_proportion(void **state)
{
    (void)state;
    arena a = {0};
    scene_picture p =
        scene_picture_load(&device, scene_of(&a, &cases[0], &walkers[0], NULL), folder, NULL, 0);
    patience early = {0}, later = {.until = 0.1};
    bl_render_desc d = {
        .spp = 200000, .slice_seconds = 0.02, .progress = watch, .user = &early, .partial = true};
    assert_int_equal(bl_job_render(p.job, &d, p.image, NULL), BL_ERROR_CANCELLED);
    for (int i = 0; i < VALUES; i++)
        if (p.image[i] != 0)
            fail_msg("value %d is %g before chains walk", i, (double)p.image[i]);
    d.user = &later;
    const bl_result r = bl_job_render(p.job, &d, p.image, NULL);
    if (r == BL_OK && !scene_device_on_processor(&device))
        skip(); /* it was done before it was asked */
    assert_int_equal(r, BL_ERROR_CANCELLED);
    const double part = mean_of(p.image);
    SCENE_MUST(&device, bl_job_render(p.job, &(bl_render_desc){.spp = 400}, p.image, NULL));
    const double share = part / mean_of(p.image);
    print_message("%.3f of the light after %.3f of the work\n", share, later.done);
    assert_true(later.done >= 0.1 && later.done < 1 && fabs(share / later.done - 1) < 0.25);
    scene_picture_free(&p);
    arena_free(&a);
}

/* ---- refusals ---- */

static void refuses(void **state)
{
    (void)state;
    arena a = {0};
    const char *wall[] = {"wall.reflectance.value"},
               *no_gradients = "not implemented: they make images; path, prb and volpath have gradients";
    scene_picture p =
        scene_picture_load(&device, scene_of(&a, &cases[0], &walkers[0], NULL), folder, NULL, 0);
    bl_job *job = NULL;
    scene_device_refused(
        &device,
        bl_job_create(device.device, p.scene, &(bl_job_desc){.parameters = wall, .parameter_count = 1}, &job),
        BL_ERROR_UNSUPPORTED, no_gradients);
    static const float grey[VALUES];
    const bl_fit_parameter parameter = {.name = wall[0]};
    const bl_fit_desc batches = {.parameters = &parameter, .parameter_count = 1, .target = grey, .batch = 10};
    bl_fit *fit = NULL;
    scene_device_refused(&device, bl_fit_create(device.device, p.scene, &batches, &fit), BL_ERROR_UNSUPPORTED,
                         no_gradients);
    float variance[VALUES];
    scene_device_refused(
        &device, bl_job_render(p.job, &(bl_render_desc){.spp = 4, .variance = variance}, p.image, NULL),
        BL_ERROR_UNSUPPORTED, "no variance of independent samples");
    scene_picture_free(&p);
    p = scene_picture_load(&device, scene_of(&a, &cases[0], &both_ways, NULL), folder, NULL, 0);
    scene_device_refused(
        &device,
        bl_job_create(device.device, p.scene, &(bl_job_desc){.parameters = wall, .parameter_count = 1}, &job),
        BL_ERROR_UNSUPPORTED, "those of bidirectional are not implemented");
    scene_device_refused(
        &device, bl_job_render(p.job, &(bl_render_desc){.spp = 4, .variance = variance}, p.image, NULL),
        BL_ERROR_UNSUPPORTED, "no variance");
    scene_picture_free(&p);
    bl_scene *scene = NULL;
    char *xml = scene_xml(&a, "<integrator type='cpmmlt'><integer name='particles' value='12'/></integrator>",
                          "<sensor type='perspective'/>", WALL SKY);
    scene_device_refused(&device, bl_scene_load_string(device.context, xml, folder, NULL, &scene),
                         BL_ERROR_SCENE, "12 particles are no power of two");
    static const struct {
        const char *sensor, *body, *why;
    } not_from_lights[] = {
        {"<sensor type='perspective'/>", WALL BALL(MIST) SKY, "paths from lights do not know media"},
        {"<sensor type='perspective'/>", WALL, "the scene has no light that paths could begin at"},
        {"<sensor type='radiancemeter'><film type='hdrfilm'><integer name='width' value='1'/><integer "
         "name='height' value='1'/></film></sensor>",
         WALL SKY, "paths from lights do not know this sensor"},
        {"<sensor type='perspective'/>",
         WALL "<shape type='rectangle'><emitter type='directionalarea'/></shape>",
         "the light \"directionalarea\" is not the same to both kinds of paths"},
    };
    for (size_t k = 0; k < sizeof not_from_lights / sizeof *not_from_lights; k++)
        scene_device_refused(
            &device,
            bl_scene_load_string(device.context,
                                 scene_xml(&a, "<integrator type='mmlt'/>", not_from_lights[k].sensor,
                                           not_from_lights[k].body),
                                 folder, NULL, &scene),
            k == 1 ? BL_ERROR_SCENE : BL_ERROR_UNSUPPORTED, not_from_lights[k].why);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_equal_those_of_paths),
        cmocka_unit_test(wide_steps_have_the_expectation),
        cmocka_unit_test(the_first_step_has_the_expectation),
        cmocka_unit_test(direct_light_alone),
        cmocka_unit_test(borders_are_as_bright_as_those_of_paths),
        cmocka_unit_test(slices_change_nothing),
        cmocka_unit_test(chains_tell_how_they_have_done),
        cmocka_unit_test(darkness_is_black),
        cmocka_unit_test(a_part_is_dark_in_proportion),
        cmocka_unit_test(refuses),
    };
    return scene_device_run(&device, &folder, "metropolis", tests, sizeof tests / sizeof *tests, NULL);
}
