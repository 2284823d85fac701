/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The grammar of scene files, as a table: XML inside <scene>, and either nothing (it loads) or a part of the
 * error, which begins with the place. Line 1 of every case is the <scene> tag. Then: what ends up in objects,
 * files and folders, and untrusted scenes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene_internal.h"
#include "support/test_registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct grammar_case {
    const char *body; /* inside <scene version="3.0.0">, from line 2 on; one that begins with "<?" or "<scene"
                         is the whole file */
    const char *error; /* "<string>:LINE: text", or NULL */
} grammar_case;

#define DIFFUSE(content) "<bsdf type='diffuse'>" content "</bsdf>"

// clang-format off
static const grammar_case cases[] = {
    /* the file */
    {"", NULL},
    {"<scene/>", "<string>:1: missing attribute \"version\" in <scene>"},
    {"<scene version='3'/>", "<string>:1: \"3\" is not a version"},
    {"<scene version='a.b.c'/>", "is not a version"},
    {"<scene version='4.0.0'/>", "newer than"},
    {"<scene version='2.1.0'/>", NULL},
    {"<scene version='3.0.0' type='scene' id='s' name='n'/>", NULL},
    {"<scene version='3.0.0' type='scne'/>", "there is no scene plugin \"scne\"; did you mean \"scene\"?"},
    {"<scene version='3.0.0' foo='1'/>", "<string>:1: unexpected attribute \"foo\" in <scene>"},
    {"<scene version='3.0.0'>\n\n<bsdf></scene>", "<string>:3: missing attribute \"type\" in <bsdf>"},
    {"<scene version='3.0.0'>\n<bsdf type='diffuse'></scene>", "<string>:2: malformed XML: mismatched tag"},
    {"<scene version='3.0.0'>", "<string>:1: malformed XML: no element found"},
    {"<scene version='3.0.0'/><scene version='3.0.0'/>", "malformed XML: junk after document element"},
    {"<?xml version='1.0'?>\n<bsdf version='3.0.0' type='diffuse'/>",
     "<string>:2: the outermost element must be <scene>, not <bsdf>"},
    {"<?xml version='1.0'?>\n<float name='a' value='1'/>",
     "<string>:2: the outermost element must be an object, not <float>"},
    {"<?xml version='1.0'?><!DOCTYPE scene [<!ENTITY a 'b'>]><scene version='3.0.0'/>",
     "entity declarations are not allowed"},
    {"<!-- comment --><?pi x?>", NULL},
    /* made the body of a scene by the test below */
    {"<scene version='3.0.0'/>", "<scene> can only be the outermost"},
    /* tags and attributes */
    {"<bsfd type='diffuse'/>", "<string>:2: unknown element <bsfd>; did you mean <bsdf>?"},
    {"<zzzzzzzzz/>", "<string>:2: unknown element <zzzzzzzzz>"},
    {"\n\n<shape type='cube' foo='1'/>", "<string>:4: unexpected attribute \"foo\" in <shape>"},
    {"<shape type='cube' version='3.0.0'/>", "unexpected attribute \"version\" in <shape>"},
    {"<shape/>", "missing attribute \"type\" in <shape>"},
    {"<integrator type='path'><integer name='max_depth'/></integrator>",
     "missing attribute \"value\" in <integer>"},
    {"<integrator type='path'><integer value='1'/></integrator>", "missing attribute \"name\" in <integer>"},
    {"<integrator type='path'><integer name='max_depth' value='1' x='2'/></integrator>",
     "unexpected attribute \"x\" in <integer>"},
     {"<integrator type='path'><integer name='max_depth' value='1'><float name='a' value='1'/></integer>"
      "</integrator>",
     "<string>:2: <float> cannot stand inside <integer>, which is a property"},
    {"<translate x='1'/>", "<translate> can only stand inside a <transform>"},
    {"<shape type='cube'><transform name='to_world'><float name='a' value='1'/></transform></shape>",
     "<float> cannot stand inside a <transform>"},
     {"<shape type='cube'><transform name='to_world'><scale value='2'><scale value='2'/></scale>"
      "</transform></shape>",
     "<scale> cannot stand inside <scale>"},
    {"<shape type='cube'><path value='.'/></shape>", "<path> can only be a child of the outermost"},
    /* plugins */
    {"<bsdf type='diffus'/>", "<string>:2: there is no bsdf plugin \"diffus\"; did you mean \"diffuse\"?"},
    {"<bsdf type='roughconductor'/>", "<string>:2: bsdf plugin \"roughconductor\" is not implemented yet"},
    {"<emitter type='sunsky'/>",
     "<string>:2: emitter plugin \"sunsky\" is not supported: it needs the tables of a sky model"},
    {"<bsdf type='roughconducter'/>", "did you mean \"roughconductor\"?"},
    {"<bsdf type='area'/>", "there is no bsdf plugin \"area\"; \"area\" is a plugin for <emitter>"},
    {"<bsdf type='thing from outer space'/>", "there is no bsdf plugin \"thing from outer space\""},
    {"<shape type=''/>", "there is no shape plugin \"\""},
    {"<emitter type='constant'/>", NULL},
    /* parameters */
    {"<integrator type='path'><integer name='max_dept' value='1'/></integrator>",
     "<string>:2: unknown parameter \"max_dept\" of integrator \"path\"; did you mean \"max_depth\"?"},
    {"<integrator type='path'><integer name='zzz' value='1'/></integrator>",
     "unknown parameter \"zzz\" of integrator \"path\"; it has max_depth, rr_depth"},
    {"<film type='hdrfilm'/>", "scene \"scene\" cannot hold a film"},
    {"<float name='a' value='1'/>", "unknown parameter \"a\" of scene \"scene\"; it has none"},
     {"<integrator type='path'>\n<integer name='max_depth' value='1'/>"
      "\n<integer name='max_depth' value='2'/></integrator>",
     "<string>:4: parameter \"max_depth\" is given twice (before at line 3"},
    {"<integrator type='path'><float name='max_depth' value='1'/></integrator>",
     "parameter \"max_depth\" of integrator \"path\" is an integer, not <float>"},
    {"<sensor type='perspective'><integer name='fov' value='30'/></sensor>", NULL},
    {"<sensor type='perspective'><float name='fov' value='180'/></sensor>",
     "\"fov\" of sensor \"perspective\": 180 is outside [0.001, 179.999]"},
    {"<sensor type='perspective'><float name='fov' value='3o'/></sensor>", "\"3o\" (fov) is not a number"},
    {"<sensor type='perspective'><float name='fov' value=''/></sensor>", "\"\" (fov) is not a number"},
    {"<sensor type='perspective'><float name='fov' value='nan'/></sensor>", "is not a number"},
    {"<sensor type='perspective'><float name='focus_distance' value='1e999'/></sensor>", "is not a number"},
    {"<sensor type='perspective'><float name='focus_distance' value='inf'/></sensor>", "is not a number"},
    {"<sensor type='perspective'><float name='focus_distance' value='1,5'/></sensor>", "is not a number"},
    {"<sensor type='perspective'><float name='focus_distance' value=' +1.5e+3 '/></sensor>", NULL},
    {"<sensor type='perspective'><float name='focus_distance' value='0x10'/></sensor>", "is not a number"},
    {"<integrator type='path'><integer name='max_depth' value='1.5'/></integrator>",
     "\"1.5\" (max_depth) is not an integer"},
    {"<integrator type='path'><integer name='max_depth' value=' 12 '/></integrator>", NULL},
    {"<integrator type='path'><integer name='max_depth' value='-2'/></integrator>",
     "-2 is outside [-1, 1000000]"},
    {"<integrator type='path'><integer name='max_depth' value='99999999999999999999'/></integrator>",
     "is not an integer"},
     {"<sensor type='perspective'><sampler type='independent'><integer name='seed' value='2147483648'/>"
      "</sampler></sensor>",
     "2147483648 is outside [-2147483648, 2147483647]"},
    {"<integrator type='path'><boolean name='hide_emitters' value='TRUE'/></integrator>", NULL},
    {"<integrator type='path'><boolean name='hide_emitters' value='yes'/></integrator>",
     "\"yes\" (hide_emitters) is neither"},
    {"<integrator type='path'><string name='hide_emitters' value='true'/></integrator>",
     "is a boolean, not <string>"},
    {"<emitter type='point'><point name='position' x='1' y='2' z='3'/></emitter>", NULL},
    {"<emitter type='point'><vector name='position' value='1, 2 3'/></emitter>", NULL},
    {"<emitter type='point'><point name='position' x='1' y='2'/></emitter>",
     "missing attribute \"value\" or \"z\" in <point>"},
    {"<emitter type='point'><point name='position' x='1' value='2'/></emitter>",
     "<point> has both \"value\" and \"x\""},
    {"<emitter type='point'><point name='position' value='1 2'/></emitter>",
     "<point> needs one or three numbers, not 2"},
    {"<emitter type='point'><point name='position' value='1 2 z'/></emitter>",
     "\"z\" in <point> is not a number"},
    {"<emitter type='point'><rgb name='position' value='1 2 3'/></emitter>",
     "is a point or vector, not <rgb>"},
    {"<shape type='obj'/>", "<string>:2: shape \"obj\" needs the parameter \"filename\", a file name"},
    {"<shape type='obj'><string name='filename' value='none.obj'/></shape>",
     "<string>:2: cannot find the file \"none.obj\" (filename)"},
    {"<shape type='obj'><string name='filename' value=''/></shape>", "cannot find the file \"\""},
    {"<shape type='obj'><string name='filename' value='/'/></shape>", "cannot find the file \"/\""},
    /* colours */
    {DIFFUSE("<rgb name='reflectance' value='.1,.2,.3'/>"), NULL},
    {DIFFUSE("<rgb name='reflectance' value='.1'/>"), NULL},
    {DIFFUSE("<rgb name='reflectance' value='.1,.2'/>"), "<rgb> needs one number or three, not 2"},
    {DIFFUSE("<rgb name='reflectance' value='#ff0000'/>"), "\"#ff0000\" in <rgb> is not a number"},
    {DIFFUSE("<rgb name='reflectance' value='.1,.2,1.1'/>"),
     "\"reflectance\" of bsdf \"diffuse\" is a reflectance: 1.1 is outside [0, 1]"},
    {DIFFUSE("<rgb name='reflectance' value='-.1'/>"), "-0.1 is outside [0, 1]"},
    {DIFFUSE("<rgb name='reflectance' intent='x' value='.1'/>"), "unexpected attribute \"intent\""},
    {DIFFUSE("<float name='reflectance' value='.5'/>"), NULL},
    {DIFFUSE("<vector name='reflectance' value='.5 .5 .5'/>"), NULL},
    {DIFFUSE("<spectrum name='reflectance' value='.5'/>"), NULL},
    {DIFFUSE("<spectrum name='reflectance'/>"), "<spectrum> needs either"},
    {DIFFUSE("<spectrum name='reflectance' value='1' filename='x'/>"), "<spectrum> needs either"},
    {DIFFUSE("<spectrum name='reflectance' value='400:1, 500:2'/>"), NULL},
    {DIFFUSE("<spectrum name='reflectance' value='400:1, 500'/>"),
     "<spectrum> \"reflectance\": expected pairs of an ascending wavelength and a value at \"500\""},
    {DIFFUSE("<spectrum name='reflectance' value='400:1, 400:2'/>"), "at \"400:2\""},
    {DIFFUSE("<spectrum name='reflectance' value='400: 1, 500:2'/>"), "at \"400: 1, 500:2\""},
    {"<emitter type='point'><spectrum name='intensity' value='400:1e200, 700:1e300'/></emitter>",
     "the numbers of a spectrum are too large"},
    {DIFFUSE("<spectrum name='reflectance' value='400:.1, 500:-.2'/>"),
     "the value -0.2 at 500 nm is negative"},
    {DIFFUSE("<spectrum name='reflectance' value='.4:.1, .7:.2'/>"),
     "no samples between 360 and 830 nm, only from 0.4 to 0.7"},
    {DIFFUSE("<spectrum name='reflectance' value='300:.1, 361:.2'/>"), NULL},
    {DIFFUSE("<spectrum name='reflectance' value='400:1'/>"), "a spectrum needs at least two samples"},
    {DIFFUSE("<spectrum name='reflectance' filename='x.spd'/>"),
     "cannot find the file \"x.spd\" (reflectance)"},
    {DIFFUSE("<string name='reflectance' value='red'/>"), "is a colour or texture, not <string>"},
    {"<emitter type='point'><rgb name='intensity' value='100'/></emitter>", NULL},
    /* textures */
    {DIFFUSE("<texture type='checkerboard' name='reflectance'/>"), NULL},
    {DIFFUSE("<texture type='checkerboard'/>"),
     "a texture inside bsdf \"diffuse\" needs the name of the parameter"},
    {DIFFUSE("<texture type='checkerboard' name='reflectence'/>"),
     "unknown parameter \"reflectence\" of bsdf \"diffuse\"; did you mean \"reflectance\"?"},
    {DIFFUSE("<texture type='checkerboard' name='reflectance'/>\n<float name='reflectance' value='.5'/>"),
     "<string>:3: parameter \"reflectance\" is given twice"},
    {DIFFUSE("<float name='reflectance' value='.5'/>\n<texture type='checkerboard' name='reflectance'/>"),
     "<string>:3: parameter \"reflectance\" is given twice"},
    {DIFFUSE("<bsdf type='diffuse' name='reflectance'/>"), "is a colour or texture, not a bsdf"},
    {DIFFUSE("<texture type='srgb' name='reflectance'><rgb name='color' value='.1 .2 .3'/></texture>"), NULL},
    {DIFFUSE("<texture type='srgb' name='reflectance'><rgb name='color' value='2'/></texture>"),
     "2 is outside [0, 1]"},
    {DIFFUSE("<texture type='uniform' name='reflectance'><float name='value' value='.1'/></texture>"), NULL},
    {DIFFUSE("<spectrum type='rawconstant' name='reflectance'><vector name='value' value='.1'/></spectrum>"),
     NULL},
    {DIFFUSE("<spectrum type='rawconstant' name='reflectance'><vector name='valu' value='.1'/></spectrum>"),
     "unknown parameter \"valu\" of texture \"rawconstant\"; did you mean \"value\"?"},
    {DIFFUSE("<spectrum type='d65' name='reflectance'/>"), NULL},
    {DIFFUSE("<spectrum type='d65' name='reflectance'><rgb name='color' value='2'/></spectrum>"),
     "\"reflectance\" of bsdf \"diffuse\" is a reflectance: 2 is outside"},
     {DIFFUSE("<spectrum type='d65' name='reflectance'><rgb name='color' value='.2'/>"
              "<texture type='checkerboard'/></spectrum>"),
     "d65: give either \"color\" or a texture, not both"},
    {DIFFUSE("<spectrum type='curve' name='reflectance' id='c'/>")
     "<emitter type='area'><ref name='radiance' id='c'/></emitter>",
     "\"radiance\" of emitter \"area\" and \"reflectance\" share a curve, which is a different colour as "
     "light"},
    {DIFFUSE("<spectrum type='curve' name='reflectance' id='c'/>")
     DIFFUSE("<ref name='reflectance' id='c'/>"), NULL},
    /* of this registry */
    {DIFFUSE("<spectrum type='volume' name='reflectance'/>"),
     "texture plugin \"volume\" is not implemented yet"},
     {DIFFUSE("<texture type='checkerboard' name='reflectance'>"
              "<texture type='checkerboard' name='color0'/></texture>"),
     NULL},
    {"<integrator type='path'><texture type='checkerboard' name='max_depth'/></integrator>",
     "is an integer, not a texture"},
    /* references */
    {"<bsdf type='diffuse' id='a'/><shape type='cube'><ref id='a'/></shape>", NULL},
    {"<shape type='cube'><ref id='a'/></shape><bsdf type='diffuse' id='a'/>", NULL},
    {"<shape type='cube'>\n<ref id='b'/></shape><bsdf type='diffuse' id='a'/>",
     "<string>:3: there is no object with id \"b\"; did you mean \"a\"?"},
    {"<bsdf type='diffuse' id='a'/>\n<bsdf type='diffuse' id='a'/>",
     "<string>:3: duplicate id \"a\": it is already that of <bsdf> at <string>:2"},
    {"<bsdf type='diffuse' id=''/>", "an id must not be empty"},
    {"<shape type='cube'><ref/></shape>", "missing attribute \"id\" in <ref>"},
    {"<shape type='cube'><ref id='a'/></shape><film type='hdrfilm' id='a'/>",
     "shape \"cube\" cannot hold a film"},
    {"<bsdf type='twosided' id='a'>\n<ref id='a'/></bsdf>",
     "<string>:3: circular reference: \"a\" contains itself"},
    {"<bsdf type='twosided' id='a'><ref id='b'/></bsdf>\n<bsdf type='twosided' id='b'><ref id='a'/></bsdf>",
     "<string>:3: circular reference"},
    {"<texture type='checkerboard' id='t'/>" DIFFUSE("<ref name='reflectance' id='t'/>"), NULL},
    {"<texture type='checkerboard' id='t'/>" DIFFUSE("<ref id='t'/>"), "needs the name of the parameter"},
    {"<bsdf type='diffuse' id='a'/><alias id='a' as='b'/><shape type='cube'><ref id='b'/></shape>", NULL},
    {"<alias id='a' as='b'/><bsdf type='diffuse' id='a'/>",
     "<string>:2: <alias>: there is no object with id \"a\" before it"},
    {"<bsdf type='diffuse' id='a'/><alias id='a' as='a'/>", "duplicate id \"a\""},
    {"<alias id='a'/>", "missing attribute \"as\" in <alias>"},
    /* slots */
    {"<bsdf type='twosided'/>", "<string>:2: bsdf \"twosided\" needs 1 bsdf, and has 0"},
    {"<bsdf type='twosided'>" DIFFUSE("") DIFFUSE("") "</bsdf>", NULL},
    {"<bsdf type='twosided'>" DIFFUSE("") DIFFUSE("") "\n" DIFFUSE("") "</bsdf>",
     "<string>:3: bsdf \"twosided\" can hold 2 bsdfs, not more"},
    {"<bsdf type='twosided'><bsdf type='diffuse' name='a'/>\n<bsdf type='diffuse' name='a'/></bsdf>",
     "<string>:3: \"a\" is given twice (before at line 2"},
    {"<shape type='cube'><medium type='homogeneous'/></shape>",
     "a medium inside shape \"cube\" needs a name, such as \"interior\""},
     {"<shape type='cube'><medium type='homogeneous' name='exterior'/>"
      "<medium type='homogeneous' name='interior'/></shape>",
     NULL},
    {"<shape type='cube'><emitter type='area'/><emitter type='area'/></shape>",
     "shape \"cube\" can hold 1 emitter, not more"},
    {"<emitter type='area'><shape type='cube'/></emitter>", "emitter \"area\" cannot hold a shape"},
    {"<integrator type='path'/><integrator type='path'/>", "scene \"scene\" can hold 1 integrator, not more"},
    /* defaults and parameters */
     {"<default name='d' value='3'/><integrator type='path'><integer name='max_depth' value='$d'/>"
      "</integrator>",
     NULL},
    {"<default name='d' value='3'/>", NULL},
    {"<default name='' value='3'/>", "must not be empty"},
    {"<default name='d'/>", "missing attribute \"value\" in <default>"},
     {"<integrator type='path'>\n<integer name='max_depth' value='$d'/></integrator>"
      "<default name='d' value='3'/>",
     "<string>:3: undefined parameter \"$d\""},
    {"<default name='d' value='$e'/>", "undefined parameter \"$e\""},
     {"<default name='d' value='3'/><default name='d' value='x'/><integrator type='path'>"
      "<integer name='max_depth' value='$d'/></integrator>",
     NULL},
    {"<default name='t' value='path'/><integrator type='$t'/>", NULL},
    {"<default name='a' value='1'/><default name='ab' value='2'/><default name='abc' value='$a$ab'/>"
     "<integrator type='path'><integer name='max_depth' value='${ab}'/></integrator>",
     "undefined parameter \"$\""},
    /* transforms */
    {"<shape type='cube'><transform name='to_world'/></shape>", NULL},
    {"<shape type='cube'><transform/></shape>", "missing attribute \"name\" in <transform>"},
    {"<shape type='cube'><transform name='to_wrld'/></shape>", "did you mean \"to_world\"?"},
    {"<shape type='cube'><transform name='to_world'>\n<rotate angle='9'/></transform></shape>",
     "<string>:3: the axis of a <rotate> must not be zero"},
    {"<shape type='cube'><transform name='to_world'><rotate x='1'/></transform></shape>",
     "missing attribute \"angle\""},
    {"<shape type='cube'><transform name='to_world'><rotate x='1' angle='x'/></transform></shape>",
     "\"x\" in <rotate> is not a number"},
    {"<shape type='cube'><transform name='to_world'><matrix value='1 2 3'/></transform></shape>",
     "<matrix> needs 9 or 16 numbers, not 3"},
    {"<shape type='cube'><transform name='to_world'><matrix value='1 0 0 0 1 0 0 0 a'/></transform></shape>",
     "\"a\" in <matrix> is not a number"},
     {"<shape type='cube'><transform name='to_world'><lookat origin='0 0 0' target='0 0 0' up='0 1 0'/>"
      "</transform></shape>",
     "origin and target are the same"},
     {"<shape type='cube'><transform name='to_world'><lookat origin='0 0 0' target='0 2 0' up='0 1 0'/>"
      "</transform></shape>",
     "up is parallel"},
     {"<shape type='cube'><transform name='to_world'>"
      "<lookat origin='1 2 3' target='2 4 6' up='-3 -6 -9'/></transform></shape>",
     "up is parallel"},
     {"<shape type='cube'><transform name='to_world'><lookat origin='0 0' target='0 2 0'/></transform>"
      "</shape>",
     "\"origin\" of <lookat> needs three numbers, not 2"},
    {"<shape type='cube'><transform name='to_world'><lookat origin='0 0 0'/></transform></shape>",
     "missing attribute \"target\""},
     {"<shape type='cube'><transform name='to_world'><scale value='1e20'/><scale value='1e20'/>"
      "</transform></shape>",
     "too large"},
    {"<shape type='cube'><transform name='to_world'/><transform name='to_world'/></shape>", "given twice"},
    /* includes and paths */
    {"<include filename='none.xml'/>", "<string>:2: cannot find the file \"none.xml\" to include"},
    {"<include/>", "missing attribute \"filename\""},
    {"<path value='no folder'/>", "<string>:2: <path>: cannot find the folder \"no folder\""},
};
// clang-format on

static bl_result load(const char *xml, const scene_load_options *options, scene_description **scene,
                      bl_error *err)
{
    scene_load_options plain = {.registry = &test_registry};
    return scene_load_string(xml, ".", options ? options : &plain, scene, err);
}

static char *whole_file(const char *body)
{
    text xml = {0};
    if (body[0] == '<' && (body[1] == '?' || strncmp(body, "<scene", 6) == 0))
        text_add(&xml, "%s", body);
    else
        text_add(&xml, "<scene version='3.0.0'>\n%s</scene>", body);
    return xml.data;
}

static void cases_load_or_fail_as_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const grammar_case *c = &cases[i];
        bool nested = c->error && strncmp(c->error, "<scene> can only", 16) == 0;
        char *xml = nested ? strdup("<scene version='3.0.0'>\n<scene/></scene>") : whole_file(c->body);
        scene_description *scene = NULL;
        bl_error err = {0};
        bl_result result = load(xml, NULL, &scene, &err);
        if (!c->error && result != BL_OK)
            fail_msg("%s\n%s", xml, err.text);
        if (c->error && result == BL_OK)
            fail_msg("%s\nloads, instead of failing with %s", xml, c->error);
        if (c->error && !strstr(err.text, c->error))
            fail_msg("%s\nexpected %s\ngot      %s", xml, c->error, err.text);
        if (c->error) {
            unsigned line = 0;
            assert_int_equal(result, err.code);
            assert_int_equal(sscanf(err.text, "<string>:%u: ", &line), 1);
            assert_true(line >= 1);
            bool unsupported = strstr(c->error, "not implemented") || strstr(c->error, "not supported") ||
                               strstr(c->error, "newer");
            bool io = strstr(c->error, "cannot find");
            assert_int_equal(result, unsupported ? BL_ERROR_UNSUPPORTED : io ? BL_ERROR_IO : BL_ERROR_SCENE);
        }
        scene_free(scene);
        free(xml);
    }
}

static scene_description *load_ok(const char *body, const scene_load_options *options)
{
    char *xml = whole_file(body);
    scene_description *scene = NULL;
    bl_error err = {0};
    if (load(xml, options, &scene, &err) != BL_OK)
        fail_msg("%s\n%s", xml, err.text);
    free(xml);
    return scene;
}

static void check_colour(const scene_value *value, double r, double g, double b)
{
    const double *v = value->object ? value->object->values[0].vector : value->vector;
    if (v[0] != r || v[1] != g || v[2] != b)
        fail_msg("colour %g %g %g instead of %g %g %g", v[0], v[1], v[2], r, g, b);
}

/* Names that parameters are called by: equal ones are numbered, ids and names of the file are left alone. */
static void children_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"shape", "shape_1", "shape", "shape_2", "emitter"}, *const sides[] = {
                                                                                                "brdf_0",
                                                                                                "brdf_1"};
    scene_description *s = load_ok("<shape type='cube'/><shape type='cube'/><shape type='cube' id='third'/>"
                                   "<shape type='cube'><bsdf type='twosided'>" DIFFUSE(
                                       "") "<bsdf type='diffuse' name='behind'/></bsdf></shape>"
                                           "<emitter type='point'/>",
                                   NULL);
    assert_int_equal(s->root->child_count, 5);
    for (int k = 0; k < 5; k++)
        assert_string_equal(s->root->child_names[k], names[k]);
    for (int k = 0; k < 2; k++)
        assert_string_equal(scene_child(s->root->children[3], PLUGIN_BSDF)->child_names[k], sides[k]);
    scene_free(s);
}

static void objects_are_bound(void **state)
{
    (void)state;
    scene_description *s =
        load_ok("<bsdf type='diffuse' id='b'><rgb name='reflectance' value='.1,.2,.3'/></bsdf>\n"
                "<shape type='cube' id='first'><ref id='b'/></shape>\n"
                "<shape type='cube' id='second'><ref id='b' name='skin'/>\n<emitter type='area'/></shape>\n"
                "<sensor type='perspective'><film type='hdrfilm'/></sensor>",
                NULL);
    scene_object *root = s->root, *b = root->children[0], *first = root->children[1],
                 *second = root->children[2];
    assert_int_equal(root->child_count, 4);
    assert_string_equal(root->cls->name, "scene");
    assert_string_equal(b->id, "b");
    assert_ptr_equal(first->children[0], b); /* shared */
    assert_ptr_equal(second->children[0], b);
    assert_string_equal(first->child_names[0], "bsdf");
    assert_string_equal(second->child_names[0], "skin");
    assert_ptr_equal(scene_child(second, PLUGIN_EMITTER), second->children[1]);
    assert_null(scene_child(first, PLUGIN_EMITTER));
    assert_int_equal(second->where.line, 4);
    assert_int_equal(second->children[1]->where.line, 5);
    assert_string_equal(second->where.file, "<string>");
    /* numbers: root, b, its constant, first, second, area, its constant, sensor, film */
    assert_int_equal(root->index, 0);
    assert_int_equal(b->index, 1);
    assert_int_equal(scene_get(b, "reflectance")->object->index, 2);
    assert_int_equal(first->index, 3);
    assert_int_equal(second->index, 4);
    assert_int_equal(s->object_count, 9);
    check_colour(scene_get(b, "reflectance"), .1, .2, .3);
    assert_true(scene_get(b, "reflectance")->given);
    check_colour(scene_get(second->children[1], "radiance"), 1, 1, 1); /* a default */
    assert_false(scene_get(second->children[1], "radiance")->given);
    scene_object *sensor = root->children[3];
    assert_false(scene_get(sensor, "fov")->given);
    assert_true(scene_number(sensor, "far_clip") == 1e4);
    assert_string_equal(scene_get(sensor, "fov_axis")->text, "x");
    assert_true(scene_number(scene_child(sensor, PLUGIN_FILM), "width") == 768);
    assert_true(scene_get(sensor, "to_world")->matrix[15] == 1);
    scene_free(s);
}

static void colours_follow_the_rules(void **state)
{
    (void)state;
    scene_description *s =
        load_ok("<emitter type='area'><spectrum name='radiance' value='2'/></emitter>"
                "<emitter type='area'><rgb name='radiance' value='2'/></emitter>"
                "<emitter type='area'><float name='radiance' value='2'/></emitter>"
                "<bsdf type='diffuse'><spectrum name='reflectance' value='.25'/></bsdf>"
                "<emitter type='point'><spectrum name='intensity' value='1'/></emitter>"
                "<bsdf type='diffuse'><texture type='srgb' name='reflectance'><rgb "
                "name='color' value='.1 .2 .3'/></texture></bsdf>"
                "<emitter type='area'><texture type='d65' name='radiance' id='white'><float name='scale' "
                "value='3'/></texture></emitter>"
                "<emitter type='area'><texture type='d65' name='radiance'><rgb name='color' value='1 2 "
                "3'/><float name='scale' value='.5'/></texture></emitter>"
                "<emitter type='area'><texture type='d65' name='radiance'><texture "
                "type='checkerboard'/></texture></emitter>"
                "<emitter type='area'><spectrum type='uniform' name='radiance'><float name='value' "
                "value='2'/></spectrum></emitter>",
                NULL);
    scene_object **c = s->root->children;
    check_colour(scene_get(c[0], "radiance"), 2 * 1.204794, 2 * .948290, 2 * .908915);
    check_colour(scene_get(c[1], "radiance"), 2, 2, 2);
    check_colour(scene_get(c[2], "radiance"), 2, 2, 2);
    check_colour(scene_get(c[3], "reflectance"), .25, .25, .25);
    check_colour(scene_get(c[4], "intensity"), 1.204794, .948290, .908915);
    check_colour(scene_get(c[5], "reflectance"), .1, .2, .3);
    assert_string_equal(scene_get(c[5], "reflectance")->object->cls->name, "constant");
    check_colour(scene_get(c[6], "radiance"), 3, 3, 3);
    assert_string_equal(scene_get(c[6], "radiance")->object->id, "white");
    check_colour(scene_get(c[7], "radiance"), .5, 1, 1.5);
    assert_string_equal(scene_get(c[8], "radiance")->object->cls->name, "checkerboard");
    check_colour(scene_get(c[9], "radiance"), 2, 2, 2);
    scene_free(s);
}

static void near_colour(const char *list, char separator, spectrum_rule rule, const double expected[3],
                        double tolerance)
{
    double got[3];
    bl_error err = {0};
    if (spectrum_decode(list, strlen(list), separator, rule, got, &err) != BL_OK)
        fail_msg("%s: %s", list, err.text);
    for (int c = 0; c < 3; c++)
        if (!(fabs(got[c] - expected[c]) <= tolerance))
            fail_msg("%s, channel %d: %.6g, expected %.6g", list, c, got[c], expected[c]);
}

/* Truths from outside: a constant reflectance is grey under D65; constant power has the colour of
 * equal-energy white; sodium's line is the curves' values at 589 nm. */
static void sampled_spectra(void **state)
{
    (void)state;
    near_colour("360:.5, 830:.5", ':', SPECTRUM_REFLECTANCE, (double[3]){.5, .5, .5}, 2e-3);
    near_colour("300:1.2 900:1.2", ':', SPECTRUM_REFLECTANCE, (double[3]){1, 1, 1}, 0);
    near_colour("360:2, 500:2, 830:2", ':', SPECTRUM_POWER, (double[3]){2 * 1.2048, 2 * .9483, 2 * .9089},
                4e-3);
    near_colour("# power\n360 2\n\n500, 2 # here, too\n830 2", 0, SPECTRUM_POWER,
                (double[3]){2 * 1.2048, 2 * .9483, 2 * .9089}, 4e-3);
    const double y = 10 * .769 / 106.75,
                 x = y * .5691 / .4302; /* a triangle of area 10; V = .769, chromaticity (.5691, .4302) */
    near_colour("579:0 589:1 599:0", ':', SPECTRUM_POWER,
                (double[3]){3.240479 * x - 1.537150 * y, 1.875991 * y - .969256 * x, 0},
                4e-3); /* the curves bend */
    near_colour("360:1.5, 830:1.5", ':', SPECTRUM_COLOUR, (double[3]){1.5, 1.5, 1.5},
                5e-3); /* an index of refraction */
    near_colour("400:.2,500:.5,700:.8", ':', SPECTRUM_REFLECTANCE, (double[3]){.7059713, .5701009, .3321387},
                2e-6); /* these three: Mitsuba 3.9.1 */
    near_colour("400:.2,500:.5,700:.8", ':', SPECTRUM_POWER, (double[3]){.8384036, .5428060, .2941343}, 2e-6);
    near_colour("400:1.5,700:1.8", ':', SPECTRUM_COLOUR, (double[3]){1.7342575, 1.6425713, 1.5331763}, 4e-6);
}

static void substitution(void **state)
{
    (void)state;
    const scene_define defines[] = {{"ab", "7"}, {"name", "x$y"}};
    scene_load_options options = {.registry = &test_registry, .defines = defines, .define_count = 2};
    scene_description *s =
        load_ok("<default name='a' value='1'/><default name='ab' value='2'/>"
                "<integrator type='path'><integer name='max_depth' value='$ab$a'/></integrator>"
                "<sensor type='perspective'><string name='fov_axis' value='\\$a $name $abc \\n'/></sensor>",
                &options);
    assert_true(scene_number(s->root->children[0], "max_depth") == 71);
    assert_string_equal(scene_get(s->root->children[1], "fov_axis")->text, "$a x$y 7c \\n");
    scene_free(s);
    /* not used: an error; twice: an error */
    bl_error err = {0};
    assert_int_equal(load("<scene version='3.0.0'/>", &options, &s, &err), BL_ERROR_SCENE);
    assert_non_null(strstr(err.text, "<string>:1: the scene does not use the parameter \"ab\" (-D ab=7)"));
    const scene_define twice[] = {{"a", "7"}, {"a", "8"}};
    options.defines = twice;
    assert_int_equal(load("<scene version='3.0.0'/>", &options, &s, &err), BL_ERROR_ARGUMENT);
}

static void old_versions_are_renamed(void **state)
{
    (void)state;
    scene_description *s = load_ok(
        "<scene version='0.5.0'><integrator type='path'><integer name='maxDepth' value='9'/></integrator>"
        "<bsdf type='diffuse'><texture type='checkerboard' name='diffuseReflectance'>"
        "<float name='uscale' value='2'/><float name='voffset' value='.5'/><float name='vscale' "
        "value='3'/></texture></bsdf>"
        "<shape type='cube'><transform name='toWorld'><scale value='2'/></transform></shape></scene>",
        NULL);
    assert_true(scene_number(s->root->children[0], "max_depth") == 9);
    scene_object *texture = scene_get(s->root->children[1], "reflectance")->object;
    const double *m = scene_get(texture, "to_uv")->matrix;
    assert_true(m[0] == 2 && m[5] == 3 && m[3] == 0 && m[7] == 1.5);
    assert_true(scene_get(s->root->children[2], "to_world")->matrix[0] == 2);
    scene_free(s);
    bl_error err = {0};
    assert_int_equal(load("<scene version='2.0.0'><integrator type='path'><integer name='maxDepth' "
                          "value='9'/></integrator></scene>",
                          NULL, &s, &err),
                     BL_ERROR_SCENE);
}

static void limits_hold(void **state)
{
    (void)state;
    text xml = {0};
    bl_error err = {0};
    scene_description *s;
    text_add(&xml, "<scene version='3.0.0'>");
    for (int i = 0; i < 100000; i++)
        text_add(&xml, "<bsdf type='twosided'>");
    assert_int_equal(load(xml.data, NULL, &s, &err), BL_ERROR_SCENE);
    assert_non_null(strstr(err.text, "nested more than 64 deep"));
    xml.length = 0;
    text_add(&xml, "<scene version='3.0.0'><default name='a0' value='xxxxxxxxxxxxxxxx'/>");
    for (int i = 1; i < 60; i++) /* doubles each time */
        text_add(&xml, "<default name='a%d' value='$a%d,$a%d'/>", i, i - 1, i - 1);
    assert_int_equal(load(xml.data, NULL, &s, &err), BL_ERROR_SCENE);
    assert_non_null(strstr(err.text, "longer than"));
    xml.length = 0;
    text_add(&xml, "<scene version='3.0.0'><bsdf type='diffuse' id='b0'/>");
    for (int i = 1; i < 5000; i++) /* a chain of references to what is bound already: no recursion */
        text_add(&xml, "<bsdf type='twosided' id='b%d'><ref id='b%d'/></bsdf>", i, i - 1);
    text_add(&xml, "</scene>");
    assert_int_equal(load(xml.data, NULL, &s, &err), BL_OK);
    scene_free(s);
    xml.length = 0;
    text_add(&xml, "<scene version='3.0.0'>");
    for (int i = 0; i < 5000; i++)
        text_add(&xml, "<bsdf type='twosided' id='b%d'><ref id='b%d'/></bsdf>", i, i + 1);
    text_add(&xml, "<bsdf type='diffuse' id='b5000'/></scene>");
    assert_int_equal(load(xml.data, NULL, &s, &err), BL_ERROR_SCENE);
    assert_non_null(strstr(err.text, "nested more than 200 deep"));
    text_free(&xml);
}

static void text_between_elements_warns(void **state)
{
    (void)state;
    scene_description *s = load_ok("stray\n", NULL);
    assert_string_equal(s->warnings.data, "<string>:2: text between elements is ignored\n");
    scene_free(s);
}

/* ---- files ---- */

static void put(const char *path, const char *content)
{
    assert_int_equal(file_write(path, content, strlen(content), NULL), BL_OK);
}

static void check_file_error(const char *path, const scene_load_options *options, const char *expected)
{
    scene_description *s = NULL;
    bl_error err = {0};
    scene_load_options plain = {.registry = &test_registry};
    bl_result result = scene_load(path, options ? options : &plain, &s, &err);
    if (expected && (result == BL_OK || !strstr(err.text, expected)))
        fail_msg("%s: expected %s, got %s", path, expected, result ? err.text : "success");
    if (!expected && result != BL_OK)
        fail_msg("%s: %s", path, err.text);
    scene_free(s);
}

#define SCENE(content) "<scene version='3.0.0'>" content "</scene>"
#define OBJ(name) "<shape type='obj'><string name='filename' value='" name "'/></shape>"

static void files_and_includes(void **state)
{
    (void)state;
    assert_int_equal(folder_create("gr/fragments/deep", 0777, NULL), BL_OK);
    assert_int_equal(folder_create("gr/res/fragments", 0777, NULL), BL_OK);
    put("gr/a.obj", "");
    put("gr/fragments/b.obj", "");
    put("gr/res/c.obj", "");
    put("outside.obj", "");
    /* an include in a fragment is found from the scene's folder, then from the fragment's; so are files */
    put("gr/main.xml", SCENE("<include filename='fragments/one.xml'/>"));
    put("gr/fragments/one.xml",
        SCENE("<include filename='fragments/two.xml'/><include filename='three.xml'/>"));
    put("gr/fragments/two.xml", SCENE(OBJ("a.obj") OBJ("b.obj")));
    put("gr/fragments/three.xml", "<bsdf type='diffuse' version='3.0.0' id='x'/>");
    scene_description *s = NULL;
    bl_error err = {0};
    scene_load_options options = {.registry = &test_registry};
    if (scene_load("gr/main.xml", &options, &s, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(s->root->child_count, 3);
    assert_string_equal(scene_get(s->root->children[0], "filename")->path, "gr/a.obj");
    assert_string_equal(scene_get(s->root->children[1], "filename")->path, "gr/fragments/b.obj");
    assert_string_equal(s->root->children[0]->where.file, "gr/fragments/two.xml");
    scene_free(s);
    /* places of errors are those of the fragment */
    put("gr/fragments/three.xml", "<scene version='3.0.0'>\n\n<bsdf type='diffus'/></scene>");
    check_file_error("gr/main.xml", NULL, "gr/fragments/three.xml:3: there is no bsdf plugin");
    put("gr/fragments/three.xml", "<scene version='3.0.0'>\n<bsdf></scene>");
    check_file_error("gr/main.xml", NULL, "gr/fragments/three.xml:2: ");
    put("gr/fragments/three.xml", "<scene/>");
    check_file_error("gr/main.xml", NULL, "gr/fragments/three.xml:1: missing attribute \"version\"");
    /* a single object with a name given by the include; inside another object */
    put("gr/obj.xml", SCENE("<shape type='cube'><include filename='fragments/d.xml' name='front'/></shape>"));
    put("gr/fragments/d.xml", "<bsdf type='diffuse' version='3.0.0'/>");
    assert_int_equal(scene_load("gr/obj.xml", &options, &s, &err), BL_OK);
    assert_string_equal(s->root->children[0]->child_names[0], "front");
    scene_free(s);
    /* ids are one namespace; defaults are shared */
    put("gr/ids.xml", SCENE("<bsdf type='diffuse' id='x'/><include filename='dup.xml'/>"));
    put("gr/dup.xml", SCENE("<bsdf type='diffuse' id='x'/>"));
    check_file_error("gr/ids.xml", NULL,
                     "gr/dup.xml:1: duplicate id \"x\": it is already that of <bsdf> at gr/ids.xml:1");
    put("gr/def.xml", SCENE("<include filename='d1.xml'/><integrator type='path'><integer name='max_depth' "
                            "value='$q'/></integrator>"));
    put("gr/d1.xml", SCENE("<default name='q' value='4'/>"));
    check_file_error("gr/def.xml", NULL, NULL);
    /* endless includes */
    put("gr/loop.xml", SCENE("<include filename='loop.xml'/>"));
    check_file_error("gr/loop.xml", NULL, "gr/loop.xml:1: includes are nested more than 15 deep");
    for (int i = 0; i <= 16; i++) { /* c0 includes c1, and so on */
        char path[40], xml[200];
        snprintf(path, sizeof path, "gr/c%d.xml", i);
        snprintf(xml, sizeof xml, i < 16 ? SCENE("<include filename='c%d.xml'/>") : SCENE(""), i + 1);
        put(path, xml);
    }
    check_file_error("gr/c1.xml", NULL, NULL);
    check_file_error("gr/c0.xml", NULL, "gr/c15.xml:1: includes are nested more than 15 deep");
    put("gr/tree.xml", SCENE("<include filename='t.xml'/><include filename='t.xml'/>"));
    put("gr/t.xml", SCENE("<default name='n' value='x'/>"));
    check_file_error("gr/tree.xml", NULL, NULL);
    /* resource folders: relative to the scene, the last one first */
    put("gr/path.xml", SCENE("<path value='res'/>" OBJ("c.obj")));
    check_file_error("gr/path.xml", NULL, NULL);
    put("gr/path.xml", SCENE(OBJ("c.obj")));
    check_file_error("gr/path.xml", NULL, "gr/path.xml:1: cannot find the file \"c.obj\"");
    check_file_error("gr/none.xml", NULL, "gr/none.xml");
    check_file_error("gr", NULL, "folder");
}

static void untrusted_scenes_stay_inside(void **state)
{
    (void)state;
    const char *const roots[] = {"gr/res"};
    scene_load_options inside = {.registry = &test_registry, .untrusted = true};
    put("outside.xml", SCENE(""));
    put("gr/fragments/in.xml", SCENE(OBJ("b.obj")));
    check_file_error("gr/fragments/in.xml", &inside, NULL);
    put("gr/fragments/grid.vdb", "");
    put("gr/fragments/in.xml", SCENE(OBJ("grid.vdb")));
    check_file_error("gr/fragments/in.xml", NULL, NULL);
    check_file_error("gr/fragments/in.xml", &inside,
                     "gr/fragments/in.xml:1: \"grid.vdb\" (filename): an untrusted scene");
    put("gr/fragments/in.xml", SCENE(OBJ("../a.obj")));
    check_file_error("gr/fragments/in.xml", NULL, NULL);
    check_file_error("gr/fragments/in.xml", &inside, "cannot find the file \"../a.obj\" (filename) below");
    put("gr/fragments/in.xml", SCENE("<include filename='../../outside.xml'/>"));
    check_file_error("gr/fragments/in.xml", NULL, NULL);
    check_file_error("gr/fragments/in.xml", &inside,
                     "cannot find the file \"../../outside.xml\" to include below");
    put("gr/fragments/in.xml", SCENE("<path value='..'/>" OBJ("a.obj")));
    check_file_error("gr/fragments/in.xml", &inside, "cannot find the folder \"..\" below");
    put("gr/fragments/in.xml", SCENE("<include filename='/etc/passwd'/>"));
    check_file_error("gr/fragments/in.xml", &inside, "cannot find the file \"/etc/passwd\"");
    unlink("gr/fragments/link.obj");
    assert_int_equal(symlink("../../outside.obj", "gr/fragments/link.obj"), 0);
    put("gr/fragments/in.xml", SCENE(OBJ("link.obj")));
    check_file_error("gr/fragments/in.xml", NULL, NULL);
    check_file_error("gr/fragments/in.xml", &inside, "cannot find the file \"link.obj\"");
    put("gr/fragments/in.xml", SCENE(OBJ("../res/c.obj")));
    check_file_error("gr/fragments/in.xml", &inside, "cannot find");
    inside.roots = roots;
    inside.root_count = 1;
    check_file_error("gr/fragments/in.xml", &inside, NULL);
    /* a folder whose name begins like an allowed one is not inside it */
    assert_int_equal(folder_create("gr/resist", 0777, NULL), BL_OK);
    put("gr/resist/d.obj", "");
    put("gr/fragments/in.xml", SCENE(OBJ("../resist/d.obj")));
    check_file_error("gr/fragments/in.xml", &inside, "cannot find");
}

static void special_files_are_not_opened(void **state)
{
    (void)state;
    unlink("gr/pipe.obj");
    assert_int_equal(mkfifo("gr/pipe.obj", 0600), 0); /* opening it would wait for ever */
    put("gr/pipe.xml", SCENE(OBJ("pipe.obj")));
    check_file_error("gr/pipe.xml", NULL, "cannot find the file \"pipe.obj\"");
}

int main(void)
{
    char folder[] = "scene-grammar-XXXXXX", command[100];
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_load_or_fail_as_said),
        cmocka_unit_test(children_have_names),
        cmocka_unit_test(objects_are_bound),
        cmocka_unit_test(colours_follow_the_rules),
        cmocka_unit_test(sampled_spectra),
        cmocka_unit_test(substitution),
        cmocka_unit_test(old_versions_are_renamed),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(text_between_elements_warns),
        cmocka_unit_test(files_and_includes),
        cmocka_unit_test(untrusted_scenes_stay_inside),
        cmocka_unit_test(special_files_are_not_opened),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof command, "cd .. && rm -rf '%s'", folder);
    return system(command) != 0 || failed ? 1 : 0;
}
