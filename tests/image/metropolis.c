/* LABELS: swiftshader=long native timeout=2400 */
/* SPDX-License-Identifier: BSD-3-Clause
 * Do images by Metropolis chains have the expectation of path tracing? Steps of a chain are not independent,
 * so errors are those of the mean of independent runs. The same seed gives the same bytes however the work is
 * sliced. What chains cannot do is refused by name. BL_LONG=1 takes all cases, ordinary runs the quick ones.
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
#define MIST                                                                                                 \
    "<bsdf type='null'/><medium type='homogeneous' name='interior'><rgb name='albedo' value='.9,.7,.5'/>"    \
    "<float name='sigma_t' value='1.5'/></medium>"

static const chain_case cases[] = {
    {"panel", "perspective", "<rfilter type='box'/>",
     WALL BALL("<bsdf type='diffuse'><rgb name='reflectance' value='.3,.7,.5'/></bsdf>") PANEL, "4", 3000,
     600, 1e-2, NULL, true, NULL},
    {"caustic", "perspective", "<rfilter type='gaussian'/>",
     WALL BALL("<bsdf type='dielectric'/>") LAMP(".7"), "6", 3000, 2000, 1.5e-2, NULL, true, NULL},
    {"metal", "thinlens", "<rfilter type='tent'/>", WALL BALL(METAL) SKY PANEL, "5", 3000, 1000, 1e-2, NULL,
     false, NULL},
    {"mirrors", "perspective", "<rfilter type='mitchell'/>",
     WALL MIRROR("-2.5", "70") MIRROR("3", "-80") PANEL, "20", 3000, 1000, 1e-2, NULL, false, NULL},
    {"mist", "perspective", "<rfilter type='box'/>", WALL BALL(MIST) SKY PANEL, "8", 3000, 1000, 1e-2,
     "volpath", false, NULL},
    {"pane", "orthographic", "<rfilter type='gaussian'/>",
     WALL BALL("<bsdf type='roughplastic'><float name='alpha' value='.1'/></bsdf>") LAMP(".4"), "6", 8000,
     6000, 1e-2, NULL, false, NULL},
};
enum { CASES = sizeof cases / sizeof *cases };
enum { BLOCKS = VALUES / (RUN_MEANS_BLOCK * RUN_MEANS_BLOCK) };

static const char *const integrators[] = {"pssmlt", "cpmmlt"};
enum { INTEGRATORS = sizeof integrators / sizeof *integrators };

static char *scene_of(arena *a, const chain_case *c, const char *integrator)
{
    return scene_window_xml(
        a,
        arena_printf(a, "<integrator type='%s'><integer name='max_depth' value='%s'/>%s</integrator>",
                     integrator, c->depth, strstr(integrator, "mlt") && c->chains ? c->chains : ""),
        c->sensor, c->film, c->body);
}

/* ---- the same expectation ---- */

static run_means runs_of(const chain_case *c, const char *integrator, uint32_t spp)
{
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, c, integrator), folder, NULL, 0);
    run_means e = {0};
    for (uint32_t run = 0; run < RUNS; run++) {
        double blocks[RUN_MEANS_MOST];
        bl_stats stats;
        const bl_render_desc d = {.spp = spp, .seed = 1 + run};
        SCENE_MUST(&device, bl_job_render(p.job, &d, p.image, &stats));
        assert_int_equal(stats.non_finite, 0);
        run_means_add(&e, blocks, run_means_blocks(p.image, WIDTH, HEIGHT, 0, blocks));
    }
    scene_picture_free(&p);
    arena_free(&a);
    return e;
}

/* Student's t of about 22 degrees is above 6 with a probability of 5e-6, and above 4.5 with 2e-4. */
static void compare(const chain_case *c, const char *integrator, const run_means *a, const run_means *b)
{
    double squares = 0, largest = 0;
    for (uint32_t i = 0; i <= BLOCKS; i++) {
        uint32_t k = i < BLOCKS ? i : RUN_MEANS_ALL;
        double x = run_means_value(a, k), y = run_means_value(b, k), error = run_means_error(a, b, k),
               z = error > 0 ? (x - y) / error : 0;
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
        run_means path = runs_of(c, c->reference ? c->reference : "path", c->path_spp);
        for (int i = 0; i < INTEGRATORS; i++) {
            run_means chains = runs_of(c, integrators[i], c->spp);
            compare(c, integrators[i], &chains, &path);
        }
    }
}

/* Chains of one step: the image is what they start with, so a start that is not in equilibrium is seen, where
 * particles are far apart. */
static void the_first_step_has_the_expectation(void **state)
{
    (void)state;
    chain_case c = cases[1];
    c.chains = "<integer name='chains' value='512'/><float name='spread' value='.1'/>", c.spp = 128,
    c.noise = 3e-2;
    run_means path = runs_of(&c, "path", c.path_spp), chains = runs_of(&c, "cpmmlt", c.spp);
    compare(&c, "cpmmlt, one step", &chains, &path);
}

/* ---- the same bytes ---- */

static void slices_change_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < INTEGRATORS; i++) {
        arena a = {0};
        scene_picture p =
            scene_picture_load(&device, scene_of(&a, &cases[1], integrators[i]), folder, NULL, 0);
        scene_picture_expect_reproducible(&p, 40);
        scene_picture_free(&p);
        arena_free(&a);
    }
}

/* ---- what is said of chains ---- */

static void chains_tell_how_they_have_done(void **state)
{
    (void)state;
    arena a = {0};
    scene_picture p = scene_picture_load(&device, scene_of(&a, &cases[0], "cpmmlt"), folder, NULL, 0);
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
    scene_picture p = scene_picture_load(&device, scene_of(&a, &dark, "pssmlt"), folder, NULL, 0);
    SCENE_MUST(&device, bl_job_render(p.job, &(bl_render_desc){.spp = 16}, p.image, NULL));
    for (int i = 0; i < VALUES; i++)
        assert_true(p.image[i] == 0);
    scene_picture_free(&p);
    arena_free(&a);
}

/* ---- refusals ---- */

static void expect_refused(const char *xml, const bl_job_desc *desc, const char *words)
{
    bl_scene *scene = scene_device_load(&device, xml, folder);
    bl_job *job = NULL;
    assert_true(bl_job_create(device.device, scene, desc, &job) != BL_OK);
    if (!strstr(bl_context_error(device.context), words))
        fail_msg("\"%s\" does not say \"%s\"", bl_context_error(device.context), words);
    bl_scene_destroy(scene);
}

static void refuses(void **state)
{
    (void)state;
    arena a = {0};
    const char *wall[] = {"wall.reflectance.value"};
    expect_refused(scene_of(&a, &cases[0], "pssmlt"),
                   &(bl_job_desc){.parameters = wall, .parameter_count = 1},
                   "not implemented: they make images; path, prb and volpath have gradients");
    scene_picture p = scene_picture_load(&device, scene_of(&a, &cases[0], "pssmlt"), folder, NULL, 0);
    float variance[VALUES];
    assert_true(bl_job_render(p.job, &(bl_render_desc){.spp = 4, .variance = variance}, p.image, NULL) !=
                BL_OK);
    assert_non_null(strstr(bl_context_error(device.context), "no variance of independent samples"));
    scene_picture_free(&p);
    bl_scene *scene = NULL;
    char *xml = scene_xml(&a, "<integrator type='cpmmlt'><integer name='particles' value='12'/></integrator>",
                          "<sensor type='perspective'/>", WALL SKY);
    assert_true(bl_scene_load_string(device.context, xml, folder, NULL, &scene) != BL_OK);
    assert_non_null(strstr(bl_context_error(device.context), "12 particles are no power of two"));
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_equal_those_of_paths), cmocka_unit_test(the_first_step_has_the_expectation),
        cmocka_unit_test(slices_change_nothing),       cmocka_unit_test(chains_tell_how_they_have_done),
        cmocka_unit_test(darkness_is_black),           cmocka_unit_test(refuses),
    };
    return scene_device_run(&device, &folder, "metropolis", tests, sizeof tests / sizeof *tests, NULL);
}
