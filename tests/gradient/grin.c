/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients right where rays bend (integrator/eikonal, motion/attached_path.c)? By the index on a grid,
 * by absorption and emission on the way, by what stands before the medium, in it and behind it, and by the
 * camera. Sample by sample in the interpreter:
 *
 *   agree    path replay equals the unrolled path, and differences of the path that moves but meets the same
 *            primitives after the same numbers of steps;
 *   plain    gradients equal plain differences of the primal kernel. The number of steps changes there, so
 *            they agree up to the error of a step;
 *
 * Forward mode and other passes: the scene with a lens in scene_cases.c. The slope of the index that rays go
 * by is that of the index. And a Luneburg lens shows what it has to show, by `path` and by `volpath`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/path_agreement.h"
#include "support/plain_differences.h"
#include "support/scene_eval.h"

#include "scene/scene.h"

#include <math.h>
#include <string.h>

enum { DEPTH = 6, SAMPLES = 8, SIDE = 16, PLAIN_SAMPLES = 60 };
static char *folder;

#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define BITMAP(name, file)                                                                                   \
    "<texture type='bitmap' name='" name "'><string name='filename' value='" file                            \
    "'/><boolean name='raw' value='true'/></texture>"
#define PAPER "<bsdf type='diffuse' id='paper'>" BITMAP("reflectance", "texture.pfm") "</bsdf>"
#define WALL                                                                                                 \
    "<shape type='rectangle'>" TO_WORLD(                                                                     \
        "<scale value='1.5'/><rotate x='1' angle='90'/><translate value='0,1.1,1'/>") "<ref id='paper'/>"    \
                                                                                      "</shape>"
#define SKY "<emitter type='envmap' id='sky'><string name='filename' value='sky.pfm'/></emitter>"
#define BALL(x, y, z, r, inside)                                                                             \
    "<shape type='sphere'><point name='center' value='" x "," y "," z "'/><float name='radius' value='" r    \
    "'/>" inside "</shape>"
#define GRID(filter)                                                                                         \
    "<volume type='gridvolume' name='ior'><string name='resolution' value='3,2,3'/><float name='value' "     \
    "value='1.2'/><string name='filter_type' value='" filter                                                 \
    "'/>" TO_WORLD("<scale value='1.4'/><translate value='-.7,-1.2,.1'/>") "</volume>"
#define LENS(more)                                                                                           \
    "<medium type='grin' name='interior' id='lens'><string name='profile' value='luneburg'/><point "         \
    "name='center' value='0,-.5,.8'/><float name='radius' value='.8'/>" more "</medium>"
#define NULL_BALL(more) BALL("0", "-.5", ".8", ".7", "<bsdf type='null'/>" LENS(more))
#define LIT                                                                                                  \
    "<rgb name='sigma_a' value='.5,.3,.1'/><volume type='gridvolume' name='emission'><string "               \
    "name='filename' value='tint.vol'/>" TO_WORLD(                                                           \
        "<translate value='-.5,-1,0'/><scale value='1.5'/>") "</volume>"
#define STEPS "<float name='step_size' value='.06'/>"

static const scene_case cases[] = {
    {.name = "a grid before paper",
     .body = PAPER WALL NULL_BALL(GRID("cubic") STEPS) SKY,
     .parameters = {"lens.ior.data", "paper.reflectance.data", "sky.data"}},
    {.name = "a trilinear grid that absorbs and shines",
     .body = PAPER WALL NULL_BALL(GRID("trilinear") LIT STEPS) SKY,
     .parameters = {"lens.ior.data", "lens.sigma_a.value.value", "lens.emission.data"}},
    {.name = "paper in it and a mirror before it",
     .body = PAPER WALL
         BALL(".1", "-.5", ".8", ".25", "<ref id='paper'/>") "<bsdf type='conductor' id='mirror'/>" BALL(
             "-.7", "-1", ".8", ".4", "<ref id='mirror'/>") NULL_BALL(GRID("cubic") LIT STEPS) SKY,
     .parameters = {"lens.ior.data", "lens.sigma_a.value.value", "paper.reflectance.data"}},
    {.name = "in a cube, whose faces the moved ray meets beyond their triangles",
     .body = PAPER WALL "<shape type='cube'>" TO_WORLD(
         "<scale value='.5'/><translate value='0,-.5,.8'/>") "<bsdf type='null'/>" LENS(GRID("cubic")
                                                                                            STEPS) "</"
                                                                                                   "shape"
                                                                                                   ">" SKY,
     .parameters = {"lens.ior.data"}},
    /* The film is a millionth wide, and looks at the middle of a face, where its triangles meet. */
    {.name = "along a border that moved rays cross",
     .sensor = "<sensor type='orthographic'>" TO_WORLD("<scale value='1e-6'/><lookat origin='0,-2.9,.8' "
                                                       "target='0,0,.8' up='0,0,1'/>") "<film "
                                                                                       "type='hdrfilm'><"
                                                                                       "integer name='width' "
                                                                                       "value='%u'/><integer "
                                                                                       "name='height' "
                                                                                       "value='%u'/><rfilter "
                                                                                       "type='box'/></film></"
                                                                                       "sensor>",
     .body = PAPER WALL "<shape type='cube'>" TO_WORLD(
         "<scale value='.5'/><translate value='0,-.5,.8'/>") "<bsdf type='null'/>" LENS(GRID("cubic")
                                                                                            STEPS) "</"
                                                                                                   "shape"
                                                                                                   ">" SKY,
     .parameters = {"lens.ior.data"}},
    {.name = "smooth glass before it, and a camera that moves",
     .sensor = "<sensor type='perspective' id='eye'><float name='fov' value='55'/>" TO_WORLD(
         "<lookat origin='.3,-2.9,1.1' target='0,0,.7' up='0,0,1'/>") "<film type='hdrfilm'><integer "
                                                                      "name='width' value='%u'/><integer "
                                                                      "name='height' value='%u'/><rfilter "
                                                                      "type='box'/></film></sensor>",
     .body = PAPER WALL "<bsdf type='dielectric' id='glass'/>" BALL(
         ".2", "-1.7", ".8", ".35", "<ref id='glass'/>") NULL_BALL(GRID("cubic") STEPS) SKY,
     .parameters = {"lens.ior.data", "glass.eta", "eye.translation"}},
};
enum { CASES = sizeof cases / sizeof *cases };

static void agree(void **state)
{
    for (int walks_again = 0; walks_again < 2; walks_again++)
        path_agreement_expect(&(path_agreement){.scene = *state,
                                                .folder = folder,
                                                .depth = DEPTH,
                                                .samples = SAMPLES,
                                                .slack = 1e-7,
                                                .dark = true,
                                                .walks_again = walks_again});
}

/* Steps are short, so that the error of the last one, which plain differences see, is small. */
static void plain(void **state)
{
    (void)state;
    const scene_case c = {.name = "plain differences",
                          .body =
                              PAPER WALL NULL_BALL(GRID("cubic") "<float name='step_size' value='.01'/>") SKY,
                          .parameters = {"lens.ior.data"}};
    plain_differences_of_case(&c, folder, 4, SIDE, PLAIN_SAMPLES);
}

/* ---- the index ---- */

/* p 3 -> the index, its slope 3 */
static ir_func *trace_index(ir_module *m, const plan *p)
{
    ir_buffer_add(m, "scene", true, -1), ir_buffer_add(m, "values", true, -1);
    tracer t = plan_tracer(p, ir_func_create(m, "index"));
    ir_ref at[3];
    for (int k = 0; k < 3; k++)
        at[k] = ir_param(t.f, IR_F32);
    const uint32_t *medium = p->words.data + p->words.data[HEADER_MEDIA];
    const class_node *n = p->media.data[medium[MEDIUM_CLASS]];
    medium_index i = medium_of(n)->index(&t, n, t_u32(&t, medium[MEDIUM_RECORD]), vec3_at(at));
    ir_return(t.f, (ir_ref[]){i.n, i.slope.x, i.slope.y, i.slope.z}, 4);
    return t.f;
}

static void index_at(const scene_eval *e, const ir_func *f, const double p[3], double out[4])
{
    ir_eval_buffer buffers[2] = {{.words = e->plan->words.data, .count = e->plan->words.count},
                                 {.reals = e->values, .count = e->plan->value_count}};
    ir_value in[3] = {{.f = p[0]}, {.f = p[1]}, {.f = p[2]}}, found[4];
    bl_error err = {0};
    if (ir_eval(f, in, found, &(ir_eval_env){.buffers = buffers, .buffer_count = 2, .f64 = true}, &err) !=
        BL_OK)
        fail_msg("%s", err.text);
    for (int k = 0; k < 4; k++)
        out[k] = found[k].f;
}

/* The largest mistake of slopes at random points, relative to their largest component. */
static double slope_mistake(const char *body)
{
    enum { POINTS = 40 };
    arena a = {0};
    bl_error err = {0};
    const scene_case c = {.name = "slopes", .body = body};
    scene_eval *e = scene_eval_create(scene_case_xml(&a, &c, 2, 4, 4), folder, NULL, 0);
    ir_module *m = ir_module_create();
    ir_func *f = trace_index(m, e->plan);
    if (ir_finish(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    double worst = 0, most = 0;
    uint32_t random = 9;
    for (int i = 0; i < POINTS; i++) {
        const double h = 1e-6;
        double p[3], here[4], before[4], behind[4];
        for (int k = 0; k < 3; k++)
            p[k] = scene_random(&random) - .5;
        index_at(e, f, p, here);
        for (int k = 0; k < 3; k++) {
            double kept = p[k];
            p[k] = kept - h, index_at(e, f, p, before);
            p[k] = kept + h, index_at(e, f, p, behind);
            p[k] = kept;
            worst = fmax(worst, fabs((behind[0] - before[0]) / (2 * h) - here[1 + k]));
            most = fmax(most, fabs(here[1 + k]));
        }
    }
    ir_module_destroy(m);
    scene_eval_destroy(e);
    arena_free(&a);
    return worst / most;
}

static void rays_go_by_the_slope_of_the_index(void **state)
{
    static const char *const filters[] = {"cubic", "trilinear"}, *const profiles[] = {"none", "luneburg",
                                                                                      "maxwell"};
    (void)state;
    for (int k = 0; k < 6; k++) {
        arena a = {0};
        const char *filter = filters[k / 3], *profile = profiles[k % 3];
        double off = slope_mistake(arena_printf(
            &a,
            SKY "<shape type='sphere'><bsdf type='null'/><medium type='grin' name='interior'><string "
                "name='profile' value='%s'/><point name='center' value='.1,-.2,.3'/><float "
                "name='radius' value='.9'/><volume type='gridvolume' name='ior'><string "
                "name='filename' value='mist.vol'/><string name='filter_type' value='%s'/>" TO_WORLD(
                    "<translate value='-.5,-.5,-.5'/><scale value='1.6,1.2,1.4'/><rotate x='1' y='.3' "
                    "angle='35'/>") "</volume></medium></shape>",
            profile, filter));
        print_message("%s, %s: off by %.1e\n", filter, profile, off);
        assert_true(off < 1e-6);
        arena_free(&a);
    }
}

/* ---- a known lens ---- */

#define RAMP "ramp.pfm"
/* A film that is narrow looks along y from the height %g; behind y = 1 + distance shines a ramp. */
static const char ramp_scene[] =
    "<scene version='3.0.0'><integrator type='%s'><integer name='max_depth' value='6'/></integrator>"
    "<sensor type='orthographic'><transform name='to_world'><scale value='.00002'/><lookat "
    "origin='0,-3,%g' "
    "target='0,0,%g' up='0,0,1'/></transform><film type='hdrfilm'><integer name='width' "
    "value='1'/><integer "
    "name='height' value='1'/><rfilter type='box'/></film></sensor><shape "
    "type='rectangle'>" TO_WORLD(
        "<scale value='2'/><rotate x='1' angle='90'/><translate "
        "value='0,1.7,0'/>") "<emitter type='area'>" BITMAP("radiance", RAMP) "</emitter></shape>%s</scene>";
static const char luneburg_ball[] =
    "<shape type='sphere'><bsdf type='null'/><medium type='grin' name='interior'><string name='profile' "
    "value='luneburg'/></medium></shape>";

static double seen(const char *integrator, double height, const char *body)
{
    arena a = {0};
    bl_error err = {0};
    char *xml = arena_printf(&a, ramp_scene, integrator, height, height, body);
    scene_eval *e = scene_eval_create(xml, folder, NULL, 0);
    for (int c = 0; c < 3; c++)
        e->adjoint[c] = c == 1;
    if (scene_eval_run(e, RENDER_PRIMAL, (scene_eval_at){.sample = 0, .f64 = true}, &err) != BL_OK)
        fail_msg("%s", err.text);
    double value = scene_eval_weighted(e, 0);
    scene_eval_destroy(e);
    arena_free(&a);
    return value;
}

/* A ray at the height h leaves at the focus, the end of the diameter along it, downwards with the slope
 * h / sqrt(1 - h^2). Rays begin 2e-4 beside surfaces (ray_offset), which is most of the error. */
static void luneburg_shows_its_focus(void **state)
{
    (void)state;
    for (int volumetric = 0; volumetric < 2; volumetric++)
        for (int k = -2; k <= 2; k++) {
            double h = .28 * k, z = -h * .7 / sqrt(1 - h * h);
            const char *by = volumetric ? "volpath" : "path";
            double bent = seen(by, h, luneburg_ball), straight = seen(by, z, "");
            print_message("%s at %.2f: %.5f, and %.5f is there\n", by, h, bent, straight);
            assert_true(fabs(bent - straight) < 3e-4);
        }
}

#define GLASS_BALL(inside)                                                                                   \
    "<shape type='sphere'><bsdf type='dielectric'><float name='int_ior' value='1.5'/><float name='ext_ior' " \
    "value='1'/></bsdf>" inside "</shape>"

/* The border may refract: glass that is filled with its own index is glass. So it is by short steps, of which
 * the last one is nearly whole where the ray through the middle leaves. */
static void glass_with_its_own_index_is_glass(void **state)
{
    const double steps[2] = {1, 2 / (1.5 * 6.95)};
    (void)state;
    for (int k = 0; k < 10; k++) {
        arena a = {0};
        double height = .15 * (k % 5), whole = seen("path", height, GLASS_BALL("")),
               filled = seen("path", height,
                             arena_printf(&a,
                                          GLASS_BALL("<medium type='grin' name='interior'><float name='ior' "
                                                     "value='1.5'/><float name='step_size' value='%.9g'/>"
                                                     "</medium>"),
                                          steps[k / 5]));
        assert_true(whole > 0 && fabs(whole - filled) < 1e-9);
        arena_free(&a);
    }
}

/* A border refracts by its material alone, so another index of the medium there is told. */
static void a_border_of_another_index_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *medium, *told;
    } borders[] = {
        {"<float name='ior' value='1.5'/>", NULL},
        {"<float name='ior' value='1.6'/>",
         "its index is 1.6 to 1.6, and the border's dielectric refracts by 1.5"},
        {"<string name='profile' value='maxwell'/><float name='ior' value='1.5'/>", NULL},
        {"<string name='profile' value='maxwell'/><float name='radius' value='2'/><float name='ior' "
         "value='1.5'/>",
         "its index is 2.4 to 2.4"},
        {"<volume name='ior' type='gridvolume'><string name='resolution' value='2,2,2'/><float name='value' "
         "value='1.7'/><transform name='to_world'><translate x='-.5' y='-.5' z='-.5'/><scale "
         "value='2'/></transform></volume>",
         "its index is 1.7 to 1.7"},
    };
    for (size_t k = 0; k < sizeof borders / sizeof *borders; k++) {
        arena a = {0};
        scene_eval *e = scene_eval_create(
            arena_printf(&a, ramp_scene, "path", 0., 0.,
                         arena_printf(&a, GLASS_BALL("<medium type='grin' name='interior'>%s</medium>"),
                                      borders[k].medium)),
            folder, NULL, 0);
        const char *warnings = e->scene->description->warnings.data, *found = NULL;
        if (warnings)
            found = strstr(warnings, borders[k].told ? borders[k].told : "along the border");
        if (!found != !borders[k].told)
            fail_msg("border %zu: %s", k, warnings ? warnings : "nothing is said");
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

static bool write_ramp(void)
{
    arena a = {0};
    bl_error err = {0};
    const float rows[2] = {1, 0};
    bl_result r = image_save(arena_printf(&a, "%s/" RAMP, folder), 1, 2, 1, rows, false, &err);
    arena_free(&a);
    return r == BL_OK;
}

int main(void)
{
    folder = scene_files_create();
    if (!folder || !write_ramp())
        return 1;
    struct CMUnitTest tests[CASES + 5];
    for (uint32_t k = 0; k < CASES; k++)
        tests[k] = (struct CMUnitTest){cases[k].name, agree, NULL, NULL, (void *)(uintptr_t)&cases[k]};
    tests[CASES] = (struct CMUnitTest)cmocka_unit_test(plain);
    tests[CASES + 1] = (struct CMUnitTest)cmocka_unit_test(luneburg_shows_its_focus);
    tests[CASES + 2] = (struct CMUnitTest)cmocka_unit_test(glass_with_its_own_index_is_glass);
    tests[CASES + 3] = (struct CMUnitTest)cmocka_unit_test(rays_go_by_the_slope_of_the_index);
    tests[CASES + 4] = (struct CMUnitTest)cmocka_unit_test(a_border_of_another_index_is_told);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
