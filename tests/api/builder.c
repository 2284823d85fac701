/* LABELS: swiftshader native */
/* SPDX-License-Identifier: BSD-3-Clause
 * A scene made by calls is the scene of a file that says the same: the same parameters, the same bytes of the
 * image. And what calls that make no scene are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 24, HEIGHT = 18, PIXELS = WIDTH * HEIGHT };

static scene_device device;

static const float positions[] = {-1, -1, 0, 1, -1, 0.1f, 1, 1, 0, -1, 1, 0.3f, 0.1f, 0, 0.5f};
static const float uvs[] = {0, 0, 1, 0, 1, 1, 0, 1, 0.5f, 0.6f};
static const uint32_t faces[] = {0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4};
static const char ply[] = "ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float "
                          "y\nproperty float z\nproperty float u\nproperty float v\n"
                          "element face 4\nproperty list uchar int vertex_indices\nend_header\n-1 -1 0 0 "
                          "0\n1 -1 0.1 1 0\n1 1 0 1 1\n-1 1 0.3 0 1\n"
                          "0.1 0 0.5 0.5 0.6\n3 0 1 4\n3 1 2 4\n3 2 3 4\n3 3 0 4\n";
static const char xml[] =
    "<scene version='3.0.0'><integrator type='path'><integer name='max_depth' value='3'/></integrator>"
    "<sensor type='perspective'><float name='fov' value='35.1'/><transform name='to_world'><matrix "
    "value='-1,0,0,0.1, 0,1,0,0.3, 0,0,-1,5, 0,0,0,1'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='24'/><integer name='height' value='18'/><rfilter "
    "type='box'/></film>"
    "<sampler type='independent'><integer name='sample_count' value='8'/></sampler></sensor>"
    "<shape type='ply' id='tent'><string name='filename' value='tent.ply'/><transform "
    "name='to_world'><matrix value='.9,0,0,0, 0,.9,.1,0, 0,0,1.1,0, 0,0,0,1'/></transform>"
    "<bsdf type='twosided' id='paint'><bsdf type='diffuse'><texture type='checkerboard' "
    "name='reflectance'><rgb name='color0' value='.1,.2,.7'/>"
    "<transform name='to_uv'><matrix value='5,0,0,0, 0,7,0,0, 0,0,1,0, "
    "0,0,0,1'/></transform></texture></bsdf></bsdf></shape>"
    "<shape type='sphere'><point name='center' value='.6,-.5,.9'/><float name='radius' value='.31'/><ref "
    "id='paint'/></shape>"
    "<emitter type='point'><point name='position' value='1,2,6'/><rgb name='intensity' "
    "value='30,29,28'/></emitter></scene>";

static void transform(bl_object *o, const char *name, double sx, double shear, double sy, double sz)
{
    bl_object_transform(o, name, (const double[16]){sx, 0, 0, 0, 0, sy, shear, 0, 0, 0, sz, 0, 0, 0, 0, 1});
}

static void add_camera(bl_builder *b)
{
    bl_object *sensor = bl_builder_object(b, "sensor", "perspective", NULL),
              *film = bl_builder_object(b, "film", "hdrfilm", NULL),
              *filter = bl_builder_object(b, "rfilter", "box", NULL),
              *sampler = bl_builder_object(b, "sampler", "independent", NULL);
    bl_object_number(sensor, "fov", 35.1);
    bl_object_transform(sensor, "to_world",
                        (const double[16]){-1, 0, 0, 0.1, 0, 1, 0, 0.3, 0, 0, -1, 5, 0, 0, 0, 1});
    bl_object_integer(film, "width", WIDTH), bl_object_integer(film, "height", HEIGHT),
        bl_object_integer(sampler, "sample_count", 8);
    bl_object_add(film, NULL, filter), bl_object_add(sensor, NULL, film),
        bl_object_add(sensor, NULL, sampler);
    bl_object_add(bl_builder_root(b), NULL, sensor);
}

static bl_builder *builder(void)
{
    bl_builder *b;
    SCENE_MUST(&device, bl_builder_create(device.context, &b));
    return b;
}

static bl_scene *made(void)
{
    bl_builder *b = builder();
    bl_object *root = bl_builder_root(b), *path = bl_builder_object(b, "integrator", "path", NULL);
    bl_object_integer(path, "max_depth", 3);
    bl_object_add(root, NULL, path);
    add_camera(b);
    bl_object *tent = bl_builder_mesh(
        b, "tent",
        &(bl_mesh){.vertex_count = 5, .face_count = 4, .positions = positions, .uvs = uvs, .faces = faces});
    transform(tent, "to_world", 0.9, 0.1, 0.9, 1.1);
    bl_object *paint = bl_builder_object(b, "bsdf", "twosided", "paint"),
              *matte = bl_builder_object(b, "bsdf", "diffuse", NULL),
              *checks = bl_builder_object(b, "texture", "checkerboard", NULL);
    bl_object_color(checks, "color0", 0.1, 0.2, 0.7);
    transform(checks, "to_uv", 5, 0, 7, 1);
    bl_object_add(matte, "reflectance", checks), bl_object_add(paint, NULL, matte),
        bl_object_add(tent, NULL, paint);
    bl_object_add(root, NULL, tent);
    bl_object *ball = bl_builder_object(b, "shape", "sphere", NULL),
              *light = bl_builder_object(b, "emitter", "point", NULL);
    bl_object_point(ball, "center", 0.6, -0.5, 0.9), bl_object_number(ball, "radius", 0.31);
    bl_object_add(ball, NULL, paint), bl_object_add(root, NULL, ball);
    bl_object_point(light, "position", 1, 2, 6), bl_object_color(light, "intensity", 30, 29, 28);
    bl_object_add(root, NULL, light);
    bl_scene *scene;
    SCENE_MUST(&device, bl_builder_finish(b, NULL, NULL, &scene));
    return scene;
}

static void render(bl_scene *scene, float *image)
{
    bl_job *job = scene_device_job(&device, scene, NULL, 0);
    SCENE_MUST(&device, bl_job_render(job, NULL, image, NULL));
    bl_job_destroy(job);
}

static void equals_a_file(void **state)
{
    (void)state;
    static float from_calls[3 * PIXELS], from_file[3 * PIXELS];
    arena memory = {0};
    char *folder = scene_files_create();
    assert_non_null(folder);
    FILE *f = fopen(arena_printf(&memory, "%s/tent.ply", folder), "w");
    assert_non_null(f);
    assert_true(fputs(ply, f) >= 0);
    assert_int_equal(fclose(f), 0);
    bl_scene *file = scene_device_load(&device, xml, folder), *calls = made();
    scene_files_remove(folder);
    arena_free(&memory);
    assert_int_equal(bl_scene_parameter_count(calls), bl_scene_parameter_count(file));
    for (uint32_t k = 0; k < bl_scene_parameter_count(file); k++) {
        bl_parameter_info a, b;
        SCENE_MUST(&device, bl_scene_parameter_info(calls, k, &a));
        SCENE_MUST(&device, bl_scene_parameter_info(file, k, &b));
        assert_string_equal(a.name, b.name);
        assert_int_equal(a.count, b.count);
    }
    render(calls, from_calls), render(file, from_file);
    double sum = 0;
    for (int i = 0; i < 3 * PIXELS; i++)
        sum += (double)from_file[i];
    assert_true(sum > 1);
    assert_memory_equal(from_calls, from_file, sizeof from_file);
    bl_scene_destroy(calls), bl_scene_destroy(file);
}

/* ---- grids and spectra ---- */

enum { SIDE = 5, GRID_Z = 3 };
static float texels[SIDE * SIDE * 3], densities[GRID_Z * SIDE * SIDE], sky[4 * 6 * 3];
static const double wavelengths[] = {420, 500, 560, 700}, samples[] = {3, 25, 40, 12};
static const char grids_xml[] =
    "<scene version='3.0.0'><integrator type='volpath'><integer name='max_depth' value='4'/></integrator>"
    "<sensor type='perspective'><float name='fov' value='35.1'/><transform name='to_world'>"
    "<matrix value='-1 0 0 .1  0 1 0 .3  0 0 -1 5  0 0 0 1'/></transform>"
    "<film type='hdrfilm'><integer name='width' value='24'/><integer name='height' value='18'/><rfilter "
    "type='box'/></film>"
    "<sampler type='independent'><integer name='sample_count' value='8'/></sampler></sensor>"
    "<bsdf type='twosided' id='paint'><bsdf type='diffuse'><texture type='bitmap' name='reflectance'>"
    "<string name='filename' value='texels.exr'/><boolean name='raw' value='true'/></texture></bsdf></bsdf>"
    "<shape type='rectangle'><ref id='paint'/></shape>"
    "<shape type='cube'><transform name='to_world'><scale value='.5'/><translate z='1'/></transform>"
    "<bsdf type='null'/><medium name='interior' type='heterogeneous'><volume name='sigma_t' "
    "type='gridvolume'>"
    "<string name='filename' value='smoke.vol'/></volume><spectrum name='albedo' "
    "value='0.4'/></medium></shape>"
    "<emitter type='envmap'><string name='filename' value='sky.exr'/></emitter>"
    "<emitter type='point'><point name='position' value='1,2,6'/>"
    "<spectrum name='intensity' value='420:3, 500:25, 560:40, 700:12'/></emitter></scene>";

static void write_file(const char *folder, const char *name, uint32_t width, uint32_t height,
                       const float *pixels)
{
    arena memory = {0};
    SCENE_MUST(&device, bl_image_write(device.context, arena_printf(&memory, "%s/%s", folder, name), width,
                                       height, 3, pixels));
    arena_free(&memory);
}

static void write_volume(const char *folder)
{
    arena memory = {0};
    FILE *f = fopen(arena_printf(&memory, "%s/smoke.vol", folder), "wb");
    const uint32_t header[] = {1, SIDE, SIDE, GRID_Z, 1};
    const float box[] = {0, 0, 0, 1, 1, 1};
    assert_non_null(f);
    assert_int_equal(fwrite("VOL\3", 4, 1, f), 1);
    assert_int_equal(fwrite(header, sizeof header, 1, f), 1);
    assert_int_equal(fwrite(box, sizeof box, 1, f), 1);
    assert_int_equal(fwrite(densities, sizeof densities, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    arena_free(&memory);
}

static void add_smoke(bl_builder *b)
{
    bl_object *cube = bl_builder_object(b, "shape", "cube", NULL),
              *medium = bl_builder_object(b, "medium", "heterogeneous", NULL),
              *volume = bl_builder_object(b, "volume", "gridvolume", NULL);
    bl_object_transform(cube, "to_world",
                        (const double[16]){0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 1, 0, 0, 0, 1});
    bl_object_grid(volume, "filename",
                   &(bl_grid){.size = {SIDE, SIDE, GRID_Z}, .channels = 1, .values = densities});
    bl_object_add(medium, "sigma_t", volume);
    bl_object_spectrum(medium, "albedo", NULL, (const double[]){0.4}, 1);
    bl_object_add(cube, NULL, bl_builder_object(b, "bsdf", "null", NULL)),
        bl_object_add(cube, "interior", medium);
    bl_object_add(bl_builder_root(b), NULL, cube);
}

static bl_scene *made_of_grids(void)
{
    bl_builder *b = builder();
    bl_object *root = bl_builder_root(b), *path = bl_builder_object(b, "integrator", "volpath", NULL);
    bl_object_integer(path, "max_depth", 4), bl_object_add(root, NULL, path);
    add_camera(b);
    bl_object *sheet = bl_builder_object(b, "shape", "rectangle", NULL),
              *paint = bl_builder_object(b, "bsdf", "twosided", "paint"),
              *matte = bl_builder_object(b, "bsdf", "diffuse", NULL),
              *bitmap = bl_builder_object(b, "texture", "bitmap", NULL),
              *around = bl_builder_object(b, "emitter", "envmap", NULL),
              *light = bl_builder_object(b, "emitter", "point", NULL);
    bl_object_grid(bitmap, "filename", &(bl_grid){.size = {SIDE, SIDE, 1}, .channels = 3, .values = texels});
    bl_object_add(matte, "reflectance", bitmap), bl_object_add(paint, NULL, matte);
    bl_object_add(sheet, NULL, paint), bl_object_add(root, NULL, sheet);
    add_smoke(b);
    bl_object_grid(around, "filename", &(bl_grid){.size = {6, 4, 1}, .channels = 3, .values = sky});
    bl_object_add(root, NULL, around);
    bl_object_point(light, "position", 1, 2, 6);
    bl_object_spectrum(light, "intensity", wavelengths, samples, 4), bl_object_add(root, NULL, light);
    bl_scene *scene;
    SCENE_MUST(&device, bl_builder_finish(b, NULL, NULL, &scene));
    return scene;
}

/* Pixels, voxels and spectra that are handed over give the bytes that files give. */
static void grids_equal_files(void **state)
{
    (void)state;
    static float from_calls[3 * PIXELS], from_file[3 * PIXELS];
    for (int i = 0; i < SIDE * SIDE * 3; i++)
        texels[i] = 0.1f + 0.1f * (float)(i * 7 % 9);
    for (int i = 0; i < GRID_Z * SIDE * SIDE; i++)
        densities[i] = 0.25f * (float)(i * 5 % 11);
    for (int i = 0; i < 4 * 6 * 3; i++)
        sky[i] = 0.1f * (float)(i * 3 % 7);
    char *folder = scene_files_create();
    assert_non_null(folder);
    write_file(folder, "texels.exr", SIDE, SIDE, texels), write_file(folder, "sky.exr", 6, 4, sky);
    write_volume(folder);
    bl_scene *file = scene_device_load(&device, grids_xml, folder), *calls = made_of_grids();
    scene_files_remove(folder);
    render(calls, from_calls), render(file, from_file);
    double sum = 0;
    for (int i = 0; i < 3 * PIXELS; i++)
        sum += (double)from_file[i];
    assert_true(sum > 1);
    assert_memory_equal(from_calls, from_file, sizeof from_file);
    bl_scene_destroy(calls), bl_scene_destroy(file);
}

/* ---- mistakes ---- */

static void unknown_category(bl_builder *b) { bl_builder_object(b, "colour", "red", NULL); }
static void unknown_plugin(bl_builder *b)
{
    bl_object_add(bl_builder_root(b), NULL, bl_builder_object(b, "shape", "spher", NULL));
}
static void unknown_property(bl_builder *b)
{
    bl_object *o = bl_builder_object(b, "shape", "sphere", NULL);
    bl_object_number(o, "radios", 1);
    bl_object_add(bl_builder_root(b), NULL, o);
}
static void wrong_kind(bl_builder *b)
{
    bl_object *o = bl_builder_object(b, "shape", "sphere", NULL);
    bl_object_text(o, "radius", "1");
    bl_object_add(bl_builder_root(b), NULL, o);
}
static void not_a_number(bl_builder *b)
{
    bl_object_number(bl_builder_object(b, "shape", "sphere", NULL), "radius", (double)NAN);
}
static void a_circle(bl_builder *b)
{
    bl_object *o = bl_builder_object(b, "bsdf", "twosided", NULL);
    bl_object_add(o, NULL, o);
    bl_object_add(bl_builder_root(b), NULL, o);
}
static void an_id_twice(bl_builder *b)
{
    bl_builder_object(b, "bsdf", "diffuse", "a"), bl_builder_object(b, "bsdf", "diffuse", "a");
}
static void a_vertex_that_is_not_there(bl_builder *b)
{
    bl_builder_mesh(b, "m",
                    &(bl_mesh){.vertex_count = 4, .face_count = 4, .positions = positions, .faces = faces});
}
static void an_infinite_vertex(bl_builder *b)
{
    static const float far[] = {0, 0, 0, 1, 0, 0, 0, INFINITY, 0};
    bl_builder_mesh(
        b, "m",
        &(bl_mesh){
            .vertex_count = 3, .face_count = 1, .positions = far, .faces = (const uint32_t[]){0, 1, 2}});
}
static void add_bitmap(bl_builder *b, const char *name, bl_grid grid)
{
    bl_object *bitmap = bl_builder_object(b, "texture", "bitmap", NULL),
              *paint = bl_builder_object(b, "bsdf", "diffuse", NULL),
              *ball = bl_builder_object(b, "shape", "sphere", NULL);
    bl_object_grid(bitmap, name, &grid);
    bl_object_add(paint, "reflectance", bitmap), bl_object_add(ball, NULL, paint);
    add_camera(b), bl_object_add(bl_builder_root(b), NULL, ball);
}
static void an_infinite_texel(bl_builder *b)
{
    add_bitmap(b, "filename",
               (bl_grid){.size = {1, 1, 1}, .channels = 1, .values = (const float[]){INFINITY}});
}
static void an_empty_grid(bl_builder *b)
{
    add_bitmap(b, "filename", (bl_grid){.size = {1, 0, 1}, .channels = 1, .values = texels});
}
static void a_huge_grid(bl_builder *b)
{
    add_bitmap(
        b, "filename",
        (bl_grid){.size = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, .channels = UINT32_MAX, .values = texels});
}
static void a_deep_image(bl_builder *b)
{
    add_bitmap(b, "filename", (bl_grid){.size = {1, 1, 2}, .channels = 1, .values = texels});
}
static void a_grid_for_a_flag(bl_builder *b)
{
    add_bitmap(b, "raw", (bl_grid){.size = {1, 1, 1}, .channels = 1, .values = texels});
}
static void a_grid_for_a_mesh(bl_builder *b)
{
    bl_object *o = bl_builder_object(b, "shape", "ply", NULL);
    bl_object_grid(o, "filename", &(bl_grid){.size = {1, 1, 1}, .channels = 1, .values = texels});
    bl_object_add(bl_builder_root(b), NULL, o);
}
static void five_channels(bl_builder *b)
{
    bl_object *volume = bl_builder_object(b, "volume", "gridvolume", NULL),
              *medium = bl_builder_object(b, "medium", "heterogeneous", NULL),
              *cube = bl_builder_object(b, "shape", "cube", NULL);
    bl_object_grid(volume, "filename", &(bl_grid){.size = {1, 1, 1}, .channels = 5, .values = texels});
    bl_object_add(medium, "sigma_t", volume), bl_object_add(cube, "interior", medium);
    add_camera(b), bl_object_add(bl_builder_root(b), NULL, cube);
}
static void a_spectrum_without_order(bl_builder *b)
{
    bl_object *paint = bl_builder_object(b, "bsdf", "diffuse", NULL);
    bl_object_spectrum(paint, "reflectance", (const double[]){500, 400}, (const double[]){1, 1}, 2);
    bl_object_add(bl_builder_root(b), NULL, paint);
}
static void an_infinite_spectrum(bl_builder *b)
{
    bl_object *paint = bl_builder_object(b, "bsdf", "diffuse", NULL);
    bl_object_spectrum(paint, "reflectance", NULL, (const double[]){(double)INFINITY}, 1);
}
static void no_sensor(bl_builder *b) { (void)b; }

static void mistakes_are_told(void **state)
{
    (void)state;
    static const struct {
        void (*make)(bl_builder *b);
        const char *text;
    } cases[] = {{unknown_category, "no category \"colour\""},
                 {unknown_plugin, "spher"},
                 {unknown_property, "did you mean \"radius\""},
                 {wrong_kind, "is a float, not <string>"},
                 {not_a_number, "is not finite"},
                 {a_circle, "circular reference"},
                 {an_id_twice, "duplicate id \"a\""},
                 {a_vertex_that_is_not_there, "face 0 has vertex 4, and the mesh has 4"},
                 {an_infinite_vertex, "positions: vertex 2"},
                 {an_infinite_texel, "number 0 of the grid is not finite"},
                 {an_empty_grid, "at least one number"},
                 {a_huge_grid, "not more than 2^32"},
                 {a_deep_image, "depth 2"},
                 {a_grid_for_a_flag, "is a boolean, not <grid>"},
                 {a_grid_for_a_mesh, "is a file name, not <grid>"},
                 {five_channels, "5 channels"},
                 {a_spectrum_without_order, "reflectance"},
                 {an_infinite_spectrum, "finite numbers"},
                 {no_sensor, "no sensor"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bl_builder *b = builder();
        bl_scene *scene;
        cases[k].make(b);
        assert_int_not_equal(bl_builder_finish(b, NULL, NULL, &scene), BL_OK);
        assert_null(scene);
        if (!strstr(bl_context_error(device.context), cases[k].text))
            fail_msg("\"%s\" does not say \"%s\"", bl_context_error(device.context), cases[k].text);
    }
    bl_builder_destroy(builder());
    bl_builder_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_a_file), cmocka_unit_test(grids_equal_files),
                                       cmocka_unit_test(mistakes_are_told)};
    return SCENE_DEVICE_RUN(&device, NULL, "builder", tests);
}
