/* LABELS: swiftshader lavapipe native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are environment maps right on a device? A map of one colour is a constant environment. One bright texel
 * lights a floor by a known irradiance, whichever way it is sampled. What a camera sees of the map is its
 * interpolant, seam and pole included. Its sampling follows texels that are set or fitted, and to_world. A
 * fit finds how a smooth sky was turned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene.h"
#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 16, SPP = 256, VALUES = 3 * SIDE * SIDE, WIDTH = 8, HEIGHT = 6, TEXELS = WIDTH * HEIGHT };
enum { BRIGHT = WIDTH + 2 }; /* 36 degrees from the pole that the scenes here turn up, to +z */
static const double pi = 3.14159265358979323846;
static const char *const env_data[] = {"env.data"};

static scene_device device;

#define PATH(depth) "<integrator type='path'><integer name='max_depth' value='" depth "'/></integrator>"
#define DIRECT(emitter, bsdf)                                                                                \
    "<integrator type='direct'><integer name='emitter_samples' value='" emitter "'/>"                        \
    "<integer name='bsdf_samples' value='" bsdf "'/></integrator>"
#define FLOOR                                                                                                \
    "<shape type='rectangle'><transform name='to_world'><scale value='2'/></transform>"                      \
    "<bsdf type='diffuse'><rgb name='reflectance' value='.3,.5,.7'/></bsdf></shape>"
#define UP "<transform name='to_world'><rotate x='1' angle='90'/></transform>"
#define MAP(file, more)                                                                                      \
    "<emitter type='envmap' id='env'><string name='filename' value='" file "'/>" more "</emitter>"

/* From (0, 0, 4) down, or to where `target` says. */
static char *scene_text(arena *a, const char *integrator, const char *target, double fov, const char *body)
{
    return scene_xml(a, integrator,
                     arena_printf(a,
                                  "<sensor type='perspective'><float name='fov' value='%g'/><transform "
                                  "name='to_world'><lookat origin='0,0,4' target='%s' "
                                  "up='0,1,0'/></transform><film type='hdrfilm'><integer name='width' "
                                  "value='%d'/><integer name='height' value='%d'/>"
                                  "<rfilter type='box'/></film></sensor>",
                                  fov, target, SIDE, SIDE),
                     body);
}

static void judge(const char *integrator, const char *body, uint32_t spp, const double *expected,
                  double slack, double loudest)
{
    arena a = {0};
    scene_picture p =
        scene_picture_load(&device, scene_text(&a, integrator, "0,0,0", 20, body), ".", NULL, 0);
    scene_picture_render(&p, spp, 1);
    scene_picture_expect(&p, spp, expected, slack, loudest);
    scene_picture_free(&p);
    arena_free(&a);
}

static void judge_colour(const char *integrator, const char *body, uint32_t spp, const double colour[3],
                         double slack, double loudest)
{
    double expected[VALUES];
    for (int i = 0; i < VALUES; i++)
        expected[i] = colour[i % 3];
    judge(integrator, body, spp, expected, slack, loudest);
}

/* ---- one colour ---- */

static void a_map_of_one_colour_is_constant(void **state)
{
    (void)state;
    const double floor_colour[3] = {0.6, 0.5, 0.35}, sky[3] = {2, 1, 0.5};
    judge_colour(PATH("3"), MAP("one.pfm", ""), 4, sky, 1e-4, 1e-5);
    judge_colour(PATH("2"), FLOOR MAP("one.pfm", ""), SPP, floor_colour, 1e-4, 5e-3);
    judge_colour(PATH("-1"),
                 FLOOR MAP("half.pfm", UP
                           "<float name='scale' value='2'/><boolean name='mis_compensation' value='true'/>"),
                 SPP, floor_colour, 1e-4, 5e-3);
}

/* ---- one bright texel ---- */

/* The interpolant of a map that is 1 at one texel. */
static double tent(double u, double v)
{
    double x = fabs(remainder(u * WIDTH - 0.5 - BRIGHT % WIDTH, WIDTH)),
           y = fabs(v * (HEIGHT - 1) - BRIGHT / WIDTH);
    return fmax(1 - x, 0) * fmax(1 - y, 0);
}

static double tent_irradiance(void)
{
    enum { STEPS = 1000 };
    double sum = 0;
    for (int k = 0; k < STEPS * STEPS; k++) {
        double u = (k % STEPS + 0.5) / STEPS, v = (k / STEPS + 0.5) / STEPS;
        sum += tent(u, v) * fmax(cos(pi * v), 0) * sin(pi * v);
    }
    return sum * 2 * pi * pi / ((double)STEPS * STEPS);
}

static void a_bright_texel(void **state)
{
    (void)state;
    double e = tent_irradiance() / pi;
    const double expected[3] = {40 * 0.3 * e, 20 * 0.5 * e, 10 * 0.7 * e};
    judge_colour(PATH("2"), FLOOR MAP("texel.pfm", UP), SPP, expected, 1e-4, 1e-2);
    judge_colour(PATH("2"), FLOOR MAP("texel.pfm", UP "<boolean name='mis_compensation' value='true'/>"), SPP,
                 expected, 1e-4, 2e-2);
    judge_colour(DIRECT("1", "0"), FLOOR MAP("texel.pfm", UP), SPP, expected, 1e-4, 1e-2);
    judge_colour(DIRECT("0", "1"), FLOOR MAP("texel.pfm", UP), 4 * SPP, expected, 1e-4, 2e-2);
}

/* ---- seen ---- */

static void random_map(float *pixels)
{
    uint32_t random = 8;
    for (int i = 0; i < 3 * TEXELS; i++)
        pixels[i] = (float)scene_random(&random);
}

/* Red grows toward the map's +x, green toward +y, blue toward +z. */
static void smooth_map(float *pixels)
{
    for (int i = 0; i < TEXELS; i++) {
        double phi = 2 * pi * (i % WIDTH + 0.5) / WIDTH, theta = pi * (i / WIDTH) / (HEIGHT - 1);
        const double d[3] = {sin(phi) * sin(theta), cos(theta), -cos(phi) * sin(theta)};
        for (int c = 0; c < 3; c++)
            pixels[3 * i + c] = (float)(1 + 0.7 * d[c]);
    }
}

static double interpolant(const float *map, double u, double v, int c)
{
    double x = u * WIDTH - 0.5, y = v * (HEIGHT - 1), sum = 0;
    int column = (int)floor(x), row = (int)fmin(floor(y), HEIGHT - 2);
    for (int k = 0; k < 4; k++)
        sum += (k & 1 ? x - column : 1 - x + column) * (k >> 1 ? y - row : 1 - y + row) *
               (double)map[3 * ((row + (k >> 1)) * WIDTH + (column + (k & 1) + WIDTH) % WIDTH) + c];
    return sum;
}

/* Mean over a pixel of a camera that looks along the negative z axis, +y up; the lower pole lies at -y. */
static double seen(const float *map, double fov, int pixel, int c)
{
    enum { STEPS = 24 };
    double sum = 0, half = tan(fov * pi / 360);
    for (int k = 0; k < STEPS * STEPS; k++) {
        double x = half * (2 * (pixel % SIDE + (k % STEPS + 0.5) / STEPS) / SIDE - 1),
               y = half * (1 - 2 * (pixel / SIDE + (k / STEPS + 0.5) / STEPS) / SIDE);
        double u = atan2(x, 1) / (2 * pi);
        sum += interpolant(map, u < 0 ? u + 1 : u, acos(y / sqrt(x * x + y * y + 1)) / pi, c);
    }
    return sum / (STEPS * STEPS);
}

/* Wide enough to hold both poles' surroundings: the seam is the middle column of the image. */
static void a_camera_sees_the_map(void **state)
{
    (void)state;
    arena a = {0};
    float map[3 * TEXELS];
    random_map(map);
    double expected[VALUES], fov = 150;
    for (int i = 0; i < VALUES; i++)
        expected[i] = seen(map, fov, i / 3, i % 3);
    scene_picture p = scene_picture_load(
        &device, scene_text(&a, PATH("2"), "0,0,0", fov, MAP("random.pfm", "")), ".", NULL, 0);
    scene_picture_render(&p, SPP, 1);
    scene_picture_expect(&p, SPP, expected, 1e-3, 1e-2);
    scene_picture_free(&p);
    arena_free(&a);
}

/* ---- texels that change ---- */

static void render(bl_job *job, float image[VALUES])
{
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 32, .seed = 3}, image, NULL));
}

static bl_scene *load_floor(const char *file)
{
    arena a = {0};
    bl_scene *scene = scene_device_load(
        &device, scene_text(&a, PATH("2"), "0,0,0", 20, arena_printf(&a, FLOOR MAP("%s", UP), file)), ".");
    arena_free(&a);
    return scene;
}

static void sampling_follows_texels_that_are_set(void **state)
{
    (void)state;
    bl_scene *scene = load_floor("texel.pfm"), *other = load_floor("random.pfm");
    bl_job *job = scene_device_job(&device, scene, NULL, 0),
           *expected = scene_device_job(&device, other, NULL, 0);
    float first[VALUES], image[VALUES], reference[VALUES], map[3 * TEXELS];
    random_map(map);
    render(job, first), render(expected, reference);
    SCENE_MUST(&device, bl_job_set_parameter(job, scene_device_find(&device, scene, "env.data"), map));
    render(job, image);
    assert_memory_equal(image, reference, sizeof image);
    assert_memory_not_equal(image, first, sizeof image);
    bl_job_destroy(job), bl_job_destroy(expected);
    bl_scene_destroy(scene), bl_scene_destroy(other);
}

/* From a black map, which has nothing to sample but what differentiation asks for, to the floor that one
 * texel lights. */
static void a_fit_lights_a_black_map(void **state)
{
    (void)state;
    bl_scene *scene = load_floor("black.pfm"), *lit = load_floor("texel.pfm");
    bl_job *job = scene_device_job(&device, scene, env_data, 1),
           *target_job = scene_device_job(&device, lit, NULL, 0);
    float target[VALUES], image[VALUES], expected[VALUES], map[3 * TEXELS];
    SCENE_MUST(&device, bl_job_render(target_job, &(bl_render_desc){.spp = SPP, .seed = 77}, target, NULL));
    const bl_fit_parameter p = {.name = env_data[0]};
    bl_fit *fit;
    SCENE_MUST(
        &device,
        bl_fit_create(
            device.device, scene,
            &(bl_fit_desc){.parameters = &p, .parameter_count = 1, .target = target, .spp = 16, .rate = 0.3},
            &fit));
    bl_fit_status status;
    double first = 0;
    for (int step = 0; step < 40; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        first = step ? first : status.loss;
        assert_int_equal(status.drifted + status.overflowed, 0);
    }
    print_message("loss %g, then %g\n", first, status.loss);
    assert_true(status.loss < 0.02 * first);
    SCENE_MUST(&device, bl_fit_get(fit, 0, map));
    SCENE_MUST(&device, bl_fit_render(fit, 0, &(bl_render_desc){.spp = 32, .seed = 3}, image));
    SCENE_MUST(&device, bl_job_set_parameter(job, scene_device_find(&device, scene, env_data[0]), map));
    render(job, expected); /* its tables are new */
    assert_memory_equal(image, expected, sizeof image);
    bl_fit_destroy(fit);
    bl_job_destroy(job), bl_job_destroy(target_job);
    bl_scene_destroy(scene), bl_scene_destroy(lit);
}

/* ---- a sky that turns ---- */

#define TURNED "<transform name='to_world'><rotate x='1' angle='70'/><rotate z='1' angle='30'/></transform>"
static const char *const env_place[] = {"env.to_world"};

/* Over the floor's edge, so that floor and sky are in view. */
static bl_scene *load_view(const char *more)
{
    arena a = {0};
    bl_scene *scene = scene_device_load(
        &device,
        scene_text(&a, PATH("2"), "3,.5,3", 90, arena_printf(&a, FLOOR MAP("smooth.pfm", "%s"), more)), ".");
    arena_free(&a);
    return scene;
}

static void get_place(bl_scene *scene, float m[16])
{
    SCENE_MUST(&device, bl_scene_get_parameter(scene, scene_device_find(&device, scene, env_place[0]), m));
}

static void a_fit_turns_a_sky(void **state)
{
    (void)state;
    bl_scene *scene = load_view(UP), *turned = load_view(TURNED);
    bl_job *target_job = scene_device_job(&device, turned, NULL, 0);
    float target[VALUES], found[16], expected[16];
    SCENE_MUST(&device, bl_job_render(target_job, &(bl_render_desc){.spp = SPP, .seed = 77}, target, NULL));
    const bl_fit_parameter p = {.name = env_place[0]};
    bl_fit *fit;
    SCENE_MUST(
        &device,
        bl_fit_create(
            device.device, scene,
            &(bl_fit_desc){.parameters = &p, .parameter_count = 1, .target = target, .spp = 16, .rate = 0.04},
            &fit));
    bl_fit_status status;
    for (int step = 0; step < 60; step++) {
        SCENE_MUST(&device, bl_fit_step(fit, &status));
        assert_int_equal(status.drifted + status.overflowed, 0);
    }
    SCENE_MUST(&device, bl_fit_get(fit, 0, found));
    get_place(turned, expected);
    double m[16], most = 0;
    for (int k = 0; k < 16; k++)
        m[k] = (double)found[k];
    double size = cbrt(matrix_determinant3(m)); /* which changes nothing */
    for (int k = 0; k < 12; k++)
        most = fmax(most, k % 4 < 3 ? fabs(m[k] / size - (double)expected[k]) : 0);
    print_message("loss %g, to_world off by %g\n", status.loss, most);
    assert_true(most < 0.03);
    bl_fit_destroy(fit);
    bl_job_destroy(target_job);
    bl_scene_destroy(scene), bl_scene_destroy(turned);
}

/* Set in a job that can turn it: the image of a scene that was loaded so, by the same kernel and but for
 * rounding by one that cannot. */
static void to_world_that_is_set(void **state)
{
    (void)state;
    bl_scene *scene = load_view(UP), *other = load_view(TURNED);
    uint32_t place = scene_device_find(&device, scene, env_place[0]);
    bl_job *job = scene_device_job(&device, scene, env_place, 1),
           *expected = scene_device_job(&device, other, env_place, 1),
           *still = scene_device_job(&device, other, NULL, 0);
    float m[16], image[VALUES], reference[VALUES], plain[VALUES];
    get_place(other, m);
    SCENE_MUST(&device, bl_job_set_parameter(job, place, m));
    render(job, image), render(expected, reference), render(still, plain);
    assert_memory_equal(image, reference, sizeof image);
    double off = 0;
    for (int i = 0; i < VALUES; i++)
        off += fabs((double)image[i] - (double)plain[i]) / VALUES;
    assert_true(off < 1e-4);
    assert_int_equal(bl_job_set_parameter(still, place, m), BL_ERROR_ARGUMENT);
    assert_non_null(
        strstr(bl_context_error(device.context), "env.to_world: the sky of this job stays as it is"));
    m[0] = m[1] = m[2] = 0;
    assert_int_equal(bl_job_set_parameter(job, place, m), BL_ERROR_ARGUMENT);
    assert_non_null(strstr(bl_context_error(device.context), "env.to_world is singular"));
    bl_job_destroy(job), bl_job_destroy(expected), bl_job_destroy(still);
    bl_scene_destroy(scene), bl_scene_destroy(other);
}

static bool write_map(const char *name, const float *pixels)
{
    bl_error err = {0};
    bool good = image_save(name, WIDTH, HEIGHT, 3, pixels, false, &err) == BL_OK;
    if (!good)
        fprintf(stderr, "%s\n", err.text);
    return good;
}

static const char *const maps[] = {"one.pfm",    "half.pfm",  "texel.pfm",
                                   "random.pfm", "black.pfm", "smooth.pfm"};

static bool write_maps(void)
{
    static const float texel[3] = {40, 20, 10}, colour[3] = {2, 1, 0.5f};
    float all[6][3 * TEXELS] = {0};
    for (int i = 0; i < 3 * TEXELS; i++) {
        all[0][i] = colour[i % 3], all[1][i] = colour[i % 3] / 2;
        all[2][i] = i / 3 == BRIGHT ? texel[i % 3] : 0;
    }
    random_map(all[3]), smooth_map(all[5]);
    bool good = true;
    for (int k = 0; k < 6; k++)
        good = good && write_map(maps[k], all[k]);
    return good;
}

int main(void)
{
    char folder[] = "environment_XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0 || !write_maps())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_of_one_colour_is_constant),
        cmocka_unit_test(a_bright_texel),
        cmocka_unit_test(a_camera_sees_the_map),
        cmocka_unit_test(sampling_follows_texels_that_are_set),
        cmocka_unit_test(a_fit_lights_a_black_map),
        cmocka_unit_test(a_fit_turns_a_sky),
        cmocka_unit_test(to_world_that_is_set),
    };
    int status = SCENE_DEVICE_RUN(&device, NULL, "environment", tests);
    for (int k = 0; k < 6; k++)
        remove(maps[k]);
    if (chdir("..") == 0)
        remove(folder);
    return status;
}
