/* LABELS: swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Room for fields of later versions (docs/versions.md): a struct whose `reserved` is not 0, because nobody
 * has zeroed it or because the program is of a later version, is refused by name wherever the library takes
 * one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <backlight/backlight_testing.h>

#include "support/scene_device.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 8 };

static scene_device device;
static const char xml[] =
    "<scene version='3.0.0'><integrator type='path'/><sensor type='perspective'><film "
    "type='hdrfilm'><integer "
    "name='width' value='8'/><integer name='height' value='8'/></film></sensor><shape type='sphere'><bsdf "
    "type='diffuse' id='b'/></shape><emitter type='constant'/></scene>";
static const char *const wanted[] = {"b.reflectance.value"};
static float image[3 * SIDE * SIDE];

static bl_scene *scene;
static bl_job *job;

/* One call that takes a struct: its name, its room, the call. */
typedef struct taker {
    const char *name;
    uint64_t *reserved;
    size_t words;
    bl_result (*call)(void);
} taker;

static bl_scene_desc scene_desc;
static bl_result load(void)
{
    bl_scene *loaded = NULL;
    bl_result r = bl_scene_load_string(device.context, xml, NULL, &scene_desc, &loaded);
    bl_scene_destroy(loaded);
    return r;
}

static bl_result finish(void)
{
    bl_builder *builder;
    bl_scene *built = NULL;
    SCENE_MUST(&device, bl_builder_create(device.context, &builder));
    bl_object_add(bl_builder_root(builder), NULL, bl_builder_object(builder, "sensor", "perspective", NULL));
    bl_result r = bl_builder_finish(builder, NULL, &scene_desc, &built);
    bl_scene_destroy(built);
    return r;
}

static const float corners[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
static const uint32_t face[] = {0, 1, 2};
static bl_mesh mesh = {.vertex_count = 3, .face_count = 1, .positions = corners, .faces = face};
static bl_result build_mesh(void)
{
    bl_builder *builder;
    bl_scene *built = NULL;
    SCENE_MUST(&device, bl_builder_create(device.context, &builder));
    bl_object *root = bl_builder_root(builder);
    bl_object_add(root, NULL, bl_builder_object(builder, "sensor", "perspective", NULL));
    bl_object_add(root, NULL, bl_builder_mesh(builder, "m", &mesh));
    bl_result r = bl_builder_finish(builder, NULL, NULL, &built);
    bl_scene_destroy(built);
    return r == BL_OK ? BL_OK : BL_ERROR_ARGUMENT; /* a mistake of a builder is one of its scene */
}

static bl_grid grid = {.size = {1, 1, 1}, .channels = 1, .values = corners};
static bl_result build_bitmap(void)
{
    bl_builder *builder;
    bl_scene *built = NULL;
    SCENE_MUST(&device, bl_builder_create(device.context, &builder));
    bl_object *root = bl_builder_root(builder),
              *bitmap = bl_builder_object(builder, "texture", "bitmap", NULL);
    bl_object_grid(bitmap, "filename", &grid);
    bl_object_add(root, NULL, bl_builder_object(builder, "sensor", "perspective", NULL));
    bl_object_add(root, NULL, bitmap);
    bl_result r = bl_builder_finish(builder, NULL, NULL, &built);
    bl_scene_destroy(built);
    return r == BL_OK ? BL_OK : BL_ERROR_ARGUMENT;
}

static bl_limits limits;
static bl_result load_limited(void)
{
    bl_scene *loaded = NULL;
    bl_result r =
        bl_scene_load_string(device.context, xml, NULL, &(bl_scene_desc){.limits = &limits}, &loaded);
    bl_scene_destroy(loaded);
    return r;
}

static bl_job_desc job_desc;
static bl_result create_job(void)
{
    bl_job *made = NULL;
    bl_result r = bl_job_create(device.device, scene, &job_desc, &made);
    bl_job_destroy(made);
    return r;
}

static bl_render_desc render_desc = {.spp = 1};
static bl_result render(void) { return bl_job_render(job, &render_desc, image, NULL); }

static bl_gradient_desc gradient_desc = {.spp = 1, .adjoint = image};
static bl_result gradient(void) { return bl_job_gradient(job, &gradient_desc, NULL); }

static bl_forward_desc forward_desc = {.spp = 1};
static bl_result forward(void) { return bl_job_forward(job, &forward_desc, image, NULL); }

static bl_fit_parameter parameter = {.name = "b.reflectance.value"};
static bl_fit_view view = {.target = image};
static bl_loss_term term;
static bl_composite_loss composite = {.terms = &term, .term_count = 1};
static bl_fit_desc fit_desc = {.parameters = &parameter,
                               .parameter_count = 1,
                               .views = &view,
                               .view_count = 1,
                               .composite = &composite,
                               .spp = 2};
static bl_result create_fit(void)
{
    bl_fit *fit = NULL;
    bl_result r = bl_fit_create(device.device, scene, &fit_desc, &fit);
    bl_fit_destroy(fit);
    return r;
}

static bl_render_desc fit_render_desc = {.spp = 1};
static bl_result render_fit(void)
{
    bl_fit *fit;
    SCENE_MUST(&device, bl_fit_create(device.device, scene, &fit_desc, &fit));
    bl_result r = bl_fit_render(fit, 0, &fit_render_desc, image);
    bl_fit_destroy(fit);
    return r;
}

static void what_is_not_zero_is_refused(void **state)
{
    (void)state;
#define TAKER(type, given, call)                                                                             \
    {                                                                                                        \
#type, (given).reserved, sizeof(given).reserved / sizeof *(given).reserved, call                     \
    }
    const taker takers[] = {
        TAKER(bl_scene_desc, scene_desc, load),
        TAKER(bl_scene_desc, scene_desc, finish),
        TAKER(bl_limits, limits, load_limited),
        TAKER(bl_mesh, mesh, build_mesh),
        TAKER(bl_grid, grid, build_bitmap),
        TAKER(bl_job_desc, job_desc, create_job),
        TAKER(bl_render_desc, render_desc, render),
        TAKER(bl_gradient_desc, gradient_desc, gradient),
        TAKER(bl_forward_desc, forward_desc, forward),
        TAKER(bl_fit_desc, fit_desc, create_fit),
        TAKER(bl_fit_parameter, parameter, create_fit),
        TAKER(bl_fit_view, view, create_fit),
        TAKER(bl_loss_term, term, create_fit),
        TAKER(bl_composite_loss, composite, create_fit),
        TAKER(bl_render_desc, fit_render_desc, render_fit),
    };
    for (size_t k = 0; k < sizeof takers / sizeof *takers; k++) {
        scene_device_must(&device, takers[k].call(), takers[k].name);
        const size_t stride = takers[k].words > 1 ? takers[k].words - 1 : 1; /* the first word and the last */
        for (size_t word = 0; word < takers[k].words; word += stride) {
            takers[k].reserved[word] = 1ull << 40;
            assert_int_equal(takers[k].call(), BL_ERROR_ARGUMENT);
            assert_non_null(strstr(bl_context_error(device.context), takers[k].name));
            assert_non_null(strstr(bl_context_error(device.context), "reserved"));
            takers[k].reserved[word] = 0;
        }
    }
}

static void remember(void *user, const char *message) { snprintf(user, 256, "%s", message); }

static void contexts_say_it_to_the_log(void **state)
{
    (void)state;
    char text[256] = "";
    bl_context *ctx;
    bl_context_desc desc = {.no_devices = true, .log = remember, .user = text, .reserved = {[6] = 1}};
    assert_int_equal(bl_context_create(&desc, &ctx), BL_ERROR_ARGUMENT);
    assert_null(ctx);
    assert_non_null(strstr(text, "bl_context_desc.reserved"));
}

static void reports_are_zero_there(void **state)
{
    (void)state;
    bl_device_info info;
    bl_stats stats;
    memset(&info, 0xff, sizeof info), memset(&stats, 0xff, sizeof stats);
    SCENE_MUST(&device, bl_device_info_get(device.device, &info));
    SCENE_MUST(&device, bl_job_render(job, &render_desc, image, &stats));
    for (size_t word = 0; word < sizeof info.reserved / sizeof *info.reserved; word++)
        assert_true(info.reserved[word] == 0);
    for (size_t word = 0; word < sizeof stats.reserved / sizeof *stats.reserved; word++)
        assert_true(stats.reserved[word] == 0);
}

static int make_job(void **state)
{
    (void)state;
    scene = scene_device_load(&device, xml, NULL);
    job = scene_device_job(&device, scene, wanted, 1);
    return 0;
}

static int drop_job(void **state)
{
    (void)state;
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_zero_is_refused, make_job, drop_job),
        cmocka_unit_test(contexts_say_it_to_the_log),
        cmocka_unit_test_setup_teardown(reports_are_zero_there, make_job, drop_job),
    };
    return SCENE_DEVICE_RUN(&device, NULL, "reserved", tests);
}
