/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Channels of the first hit, in the interpreter, against geometry; and the film's formats, read back from
 * files: luminance and XYZ by their formulas, half and integer components, Radiance's shared exponents, names
 * of channels. What is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_eval.h"
#include "support/scene_probe.h"
#include "support/scene_traced.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static void expect(const char *what, double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%s: %.9g, expected %.9g", what, got, wanted);
}

/* ---- channels ---- */

#define LOOK_DOWN "<transform name='to_world'><lookat origin='0,0,4' target='0,0,0' up='0,1,0'/></transform>"
#define PIXEL(inside)                                                                                        \
    "<film type='hdrfilm'><integer name='width' value='1'/><integer name='height' value='1'/><rfilter "      \
    "type='box'/>" inside "</film>"

static scene_eval *one_pixel(const char *integrator, const char *film, const char *body)
{
    arena a = {0};
    scene_eval *e = scene_eval_create(
        scene_xml(&a, integrator,
                  arena_printf(
                      &a, "<sensor type='perspective'><float name='fov' value='90'/>" LOOK_DOWN "%s</sensor>",
                      film),
                  body),
        ".", NULL, 0);
    arena_free(&a);
    return e;
}

static void run(scene_eval *e, render_pass pass, uint32_t sample)
{
    bl_error err = {0};
    if (scene_eval_run(e, pass, (scene_eval_at){.sample = sample, .seed = 5, .f64 = true}, &err) != BL_OK)
        fail_msg("%s", err.text);
}

/* A tilted floor, half as wide as the view. */
#define FLOOR                                                                                                \
    "<shape type='rectangle'><transform name='to_world'><scale x='2' y='8'/></transform><bsdf "              \
    "type='diffuse'>"                                                                                        \
    "<rgb name='reflectance' value='.1,.3,.5'/></bsdf></shape>"

static void geometry(void **state)
{
    (void)state;
    static const char *const lists[] = {"d:depth,p:position,t:uv", "g:geo_normal,s:sh_normal",
                                        "c:albedo,i:shape_index,f:prim_index", "u:dp_du,v:dp_dv"};
    for (int list = 0; list < 4; list++) {
        arena a = {0};
        uint32_t hits = 0, count = 40;
        scene_eval *e =
            one_pixel(arena_printf(&a, "<integrator type='aov'><string name='aovs' value='%s'/></integrator>",
                                   lists[list]),
                      PIXEL(""), "<shape type='sphere'><point name='center' value='0,0,90'/></shape>" FLOOR);
        for (uint32_t n = 0; n < count; n++) {
            double film[2];
            run(e, RENDER_CHANNELS, n);
            scene_probe_box(e, 0, n, 5, film);
            double x = 4 * (2 * film[0] - 1), y = 4 * (1 - 2 * film[1]), length = sqrt(x * x + y * y + 16);
            bool hit = fabs(x) < 2;
            const double wanted[4][6] = {{length * (1 - 0.01 / 4), x, y, 0, (x / 2 + 1) / 2, (y / 8 + 1) / 2},
                                         {0, 0, 1, 0, 0, 1},
                                         {0.1, 0.3, 0.5, 2, x / 2 + y / 8 > 0,
                                          0}, /* shapes from 1 on; the triangles meet where x + y = 0 */
                                         {4, 0, 0, 0, 16, 0}};
            for (int k = 0; k < (list == 2 ? 5 : 6); k++)
                expect(e->scene->channels.data[k].name, e->film[k], hit ? wanted[list][k] : 0, 1e-5);
            hits += hit;
        }
        assert_true(hits > 5 && hits < count - 5);
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

/* Mitsuba's diffuse reflectance: of coats, masks and turned normals that of what lies below; on both sides,
 * but where it is the value toward the normal. */
static void albedos(void **state)
{
    (void)state;
#define BASE(type, name) "<bsdf type='" type "'><rgb name='" name "' value='.1,.3,.5'/></bsdf>"
#define METAL "<bsdf type='roughconductor'><rgb name='specular_reflectance' value='0'/></bsdf>"
    static const struct {
        const char *material;
        double front, back; /* times (.1, .3, .5) */
    } cases[] = {
        {BASE("diffuse", "reflectance"), 1, 1},
        {BASE("plastic", "diffuse_reflectance"), 1, 1},
        {BASE("roughplastic", "diffuse_reflectance"), 1, 1},
        {BASE("principled", "base_color"), 1, 1},
        {BASE("principledthin", "base_color"), 1, 1},
        {"<bsdf type='mask'><float name='opacity' value='.3'/>" BASE("diffuse", "reflectance") "</bsdf>", 1,
         1},
        {"<bsdf type='normalmap'><rgb name='normalmap' value='.7,.6,.8'/>" BASE(
             "plastic", "diffuse_reflectance") "</bsdf>",
         1, 1},
        {"<bsdf type='blendbsdf'><float name='weight' value='.25'/>" BASE("diffuse", "reflectance") METAL
         "</bsdf>",
         0.75, 0.75},
        {"<bsdf type='twosided'>" BASE("diffuse", "reflectance") METAL "</bsdf>", 1, 0},
        {"<bsdf type='twosided'>" METAL BASE("roughplastic", "diffuse_reflectance") "</bsdf>", 0, 1},
        {"<bsdf type='twosided'>" BASE("principled", "base_color") "</bsdf>", 1, 1},
        {"<bsdf type='conductor'/>", 0, 0},
        {"<bsdf type='dielectric'/>", 0, 0},
    };
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        arena a = {0};
        bool back = k % 2;
        scene_eval *e =
            one_pixel("<integrator type='aov'><string name='aovs' value='c:albedo'/></integrator>", PIXEL(""),
                      arena_printf(&a,
                                   "<shape type='rectangle'><transform name='to_world'><scale "
                                   "value='9'/><rotate x='1' angle='%d'/></transform>%s</shape>",
                                   back ? 170 : 10, cases[k / 2].material));
        run(e, RENDER_CHANNELS, 0);
        for (int c = 0; c < 3; c++)
            expect(cases[k / 2].material, e->film[c],
                   (0.1 + 0.2 * c) * (back ? cases[k / 2].back : cases[k / 2].front), 1e-6);
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

#define LAMP_BEFORE                                                                                          \
    "<shape type='rectangle'><transform name='to_world'><scale value='8'/><translate z='1'/></transform>"    \
    "<emitter type='area'/></shape>"
#define HIDING(type) "<integrator type='" type "'><boolean name='hide_emitters' value='true'/></integrator>"

/* Alpha: what is seen through a mask counts, and so do an environment and a lamp unless they are hidden. */
static void alpha(void **state)
{
    (void)state;
    static const struct {
        const char *more, *integrator;
        double seen_on, seen_off;
    } cases[] = {
        {"", "<integrator type='path'/>", 1, 0},
        {"<emitter type='constant'/>", "<integrator type='path'/>", 1, 1},
        {"<emitter type='constant'/>", HIDING("path"), 1, 0},
        {LAMP_BEFORE, "<integrator type='path'/>", 1, 1},
        {LAMP_BEFORE, HIDING("path"), 1, 0},
        {LAMP_BEFORE LAMP_BEFORE, HIDING("direct"), 1, 0},
        {LAMP_BEFORE, HIDING("prb"), 1, 0},
        {LAMP_BEFORE, HIDING("volpath"), 1, 0},
        {"<shape type='rectangle'><transform name='to_world'><scale value='8'/><translate "
         "z='1'/></transform><bsdf type='mask'><float name='opacity' value='0'/>"
         "<bsdf type='diffuse'/></bsdf></shape>",
         "<integrator type='path'/>", 1, 0},
        {"<emitter type='constant'/>", "<integrator type='direct'/>", 1,
         0}, /* these ask for the first hit alone */
        {"<emitter type='constant'/>", "<integrator type='prb'/>", 1, 0},
        {"<emitter type='constant'/>", "<integrator type='depth'/>", 1, 0},
        {"<shape type='rectangle'><transform name='to_world'><scale value='8'/><translate "
         "z='1'/></transform><bsdf type='null'/></shape>",
         "<integrator type='direct'/>", 1, 1},
        {"<shape type='rectangle'><transform name='to_world'><scale value='8'/><translate "
         "z='1'/></transform><bsdf type='null'/></shape>",
         "<integrator type='volpath'/>", 1, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        arena a = {0};
        scene_eval *e = one_pixel(cases[k].integrator, PIXEL("<string name='pixel_format' value='rgba'/>"),
                                  arena_printf(&a, FLOOR "%s", cases[k].more));
        assert_int_equal(e->scene->channels.count, 1);
        for (uint32_t n = 0; n < 20; n++) {
            double film[2];
            run(e, RENDER_CHANNELS, n);
            scene_probe_box(e, 0, n, 5, film);
            expect("alpha", e->film[0],
                   fabs(4 * (2 * film[0] - 1)) < 2 ? cases[k].seen_on : cases[k].seen_off, 0);
        }
        scene_eval_destroy(e);
        arena_free(&a);
    }
}

static void depth(void **state)
{
    (void)state;
    scene_eval *e = one_pixel("<integrator type='depth'/>", PIXEL(""), FLOOR);
    for (uint32_t n = 0; n < 20; n++) {
        double film[2];
        run(e, RENDER_PRIMAL, n);
        scene_probe_box(e, 0, n, 5, film);
        double x = 4 * (2 * film[0] - 1), y = 4 * (1 - 2 * film[1]);
        for (int c = 0; c < 3; c++)
            expect("depth", e->film[c], fabs(x) < 2 ? sqrt(x * x + y * y + 16) * (1 - 0.01 / 4) : 0, 1e-5);
    }
    scene_eval_destroy(e);
}

/* ---- formats ---- */

enum { WIDTH = 9, HEIGHT = 2 }; /* wide enough for runs in Radiance files */

static loaded with_film(const char *film)
{
    arena a = {0};
    loaded l = traced_load(arena_printf(&a,
                                        "<scene version='3.0.0'><integrator type='aov'><string name='aovs' "
                                        "value='nn:sh_normal'/><integrator type='path'/></integrator>"
                                        "<sensor type='perspective'><film type='hdrfilm'><integer "
                                        "name='width' value='9'/><integer name='height' value='2'/>%s"
                                        "</film></sensor></scene>",
                                        film),
                           ".");
    arena_free(&a);
    return l;
}

static void formats(void **state)
{
    (void)state;
    static const double y_row[3] = {0.212671, 0.715160, 0.072169};
    static const struct {
        const char *pixel, *component, *file;
        uint32_t channels;
        double scale, relative;
    } cases[] = {
        {"rgb", NULL, "film.exr", 3, 1, 0},
        {"rgba", "float16", "film.exr", 3, 1, 6e-4},
        {"luminance", "float32", "film.exr", 1, 1, 2e-7},
        {"luminance_alpha", "uint32", "film.exr", 1, 4294967295.0, 2e-7},
        {"rgb", "uint32", "film.exr", 3, 4294967295.0, 2e-7},
        {"rgb", NULL, "film.pfm", 3, 1, 0},
        {"rgba", NULL, "film.hdr", 3, 1, 8e-3},
        {"luminance", NULL, "film.hdr", 3, 1, 8e-3},
        {"luminance", NULL, "film.pfm", 1, 1, 2e-7},
    };
    float image[3 * WIDTH * HEIGHT], channels[4 * WIDTH * HEIGHT];
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        for (uint32_t c = 0; c < 4; c++) {
            channels[4 * i + c] = (float)(i + c) / 64;
            if (c < 3)
                image[3 * i + c] = (float)((i * 7 + c * 5) % 23) / 24;
        }
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        arena a = {0};
        bl_error err = {0};
        scene_image back;
        char *component =
            cases[k].component
                ? arena_printf(&a, "<string name='component_format' value='%s'/>", cases[k].component)
                : arena_strdup(&a, "");
        loaded l = with_film(
            arena_printf(&a, "<string name='pixel_format' value='%s'/>%s", cases[k].pixel, component));
        bool with_alpha = film_has_alpha(l.scene), luminance = cases[k].pixel[0] == 'l';
        assert_int_equal(l.scene->channels.count, 3 + with_alpha);
        if (film_write(l.scene, cases[k].file, image, channels, &err) != BL_OK ||
            image_load(cases[k].file, true, &back, &err) != BL_OK)
            fail_msg("%s %s: %s", cases[k].pixel, cases[k].file, err.text);
        assert_int_equal(back.width, WIDTH), assert_int_equal(back.height, HEIGHT),
            assert_int_equal(back.channels, cases[k].channels);
        for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
            const float *rgb = image + 3 * i;
            double y = y_row[0] * (double)rgb[0] + y_row[1] * (double)rgb[1] + y_row[2] * (double)rgb[2];
            double largest = luminance ? y : fmax((double)rgb[0], fmax((double)rgb[1], (double)rgb[2]));
            for (uint32_t c = 0; c < back.channels; c++)
                expect(cases[k].file, (double)back.pixels[back.channels * i + c],
                       cases[k].scale * (luminance ? y : (double)rgb[c]),
                       cases[k].scale * cases[k].relative * largest);
        }
        image_free(&back);
        traced_unload(&l);
        arena_free(&a);
    }
    unlink("film.exr"), unlink("film.hdr"), unlink("film.pfm");
}

/* The names of all channels stand in the header of the file, in alphabetical order. */
static void names(void **state)
{
    (void)state;
    static const float image[3 * WIDTH * HEIGHT], channels[4 * WIDTH * HEIGHT];
    static const char *const wanted[] = {"A", "X", "Y", "Z", "nn.X", "nn.Y", "nn.Z"};
    bl_error err = {0};
    loaded l = with_film("<string name='pixel_format' value='xyza'/>");
    void *data;
    size_t size, at = 0;
    if (film_write(l.scene, "names.exr", image, channels, &err) != BL_OK ||
        file_read("names.exr", 1 << 20, &data, &size, &err) != BL_OK)
        fail_msg("%s", err.text);
    const char *bytes = data;
    while (at + 8 < size && memcmp(bytes + at, "channels\0chlist", 16) != 0)
        at++;
    at += 16 + 4;
    for (size_t k = 0; k < 7; k++) {
        assert_true(at < size);
        assert_string_equal(bytes + at, wanted[k]);
        at += strlen(wanted[k]) + 1 + 16;
    }
    free(data);
    unlink("names.exr");
    traced_unload(&l);
}

#define LETTERS_50 "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
#define LETTERS_254 LETTERS_50 LETTERS_50 LETTERS_50 LETTERS_50 LETTERS_50 "nnnn"

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *integrator, *film, *says;
    } cases[] = {
        {"<integrator type='aov'><string name='aovs' value='x'/></integrator>", "", "not name:type"},
        {"<integrator type='aov'><string name='aovs' value=':depth'/></integrator>", "", "not name:type"},
        {"<integrator type='aov'><string name='aovs' value='x:deep'/></integrator>", "", "no type"},
        {"<integrator type='aov'><string name='aovs' value='x:duv_dx'/></integrator>", "",
         "not implemented yet"},
        {"<integrator type='aov'><string name='aovs' value='x:depth, x:uv'/></integrator>", "", "twice"},
        {"<integrator type='aov'><string name='aovs' value=''/></integrator>", "", "empty"},
        {"<integrator type='aov'/>", "", "aovs"},
        {"<integrator type='aov'><string name='aovs' value='" LETTERS_254 ":depth'/></integrator>", "",
         "longer than 253"},
        {"", "<string name='pixel_format' value='rgbx'/>", "pixel_format"},
        {"", "<string name='component_format' value='float64'/>", "component_format"},
        {"", "<string name='file_format' value='png'/>", "file_format"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        arena a = {0};
        bl_error err = {0};
        render_scene *s = NULL;
        bl_result r =
            traced_try_load(arena_printf(&a,
                                         "<scene version='3.0.0'>%s<sensor type='perspective'><film "
                                         "type='hdrfilm'>%s</film></sensor></scene>",
                                         cases[k].integrator, cases[k].film),
                            ".", NULL, 0, &s, &err);
        if (r == BL_OK || !strstr(err.text, cases[k].says))
            fail_msg("case %zu: \"%s\", expected something about \"%s\"", k, r == BL_OK ? "" : err.text,
                     cases[k].says);
        arena_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(geometry), cmocka_unit_test(albedos),
                                       cmocka_unit_test(alpha),    cmocka_unit_test(depth),
                                       cmocka_unit_test(formats),  cmocka_unit_test(names),
                                       cmocka_unit_test(refuses)};
    return cmocka_run_group_tests_name("film", tests, NULL, NULL);
}
