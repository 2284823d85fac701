/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * How the passes of moving edges share samples. What they have learnt of their variance stands in the values
 * of the job. Where only borders of shadows move, the pass that lights cast has the variance, and the others
 * are spared; where a shining ball moves before a black sky, the pass that the sensor sees has it. That sums
 * stay right where samples are spared is what edges.c and edges_in_media.c see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/job.h"
#include "render/shape/silhouette_words.h"
#include "support/edge_cases.h"
#include "support/scene_cases.h"

static scene_device device;
static char *folder;

/* Variances of the passes, after a gradient by it.to_world. */
static void learn(const char *camera, const char *body, float variance[EDGE_TABLES])
{
    static const char *const parameters[] = {"it.to_world"};
    static float adjoint[3 * 16 * 16];
    arena a = {0};
    char *sensor = arena_printf(
        &a,
        "<sensor type='perspective' id='sensor'><float name='fov' value='41'/>" AT(
            "<lookat %s/>") "<film type='hdrfilm'><integer name='width' value='16'/><integer name='height' "
                            "value='16'/></film></sensor>",
        camera);
    char *xml = scene_xml(&a, "<integrator type='path'><integer name='max_depth' value='2'/></integrator>",
                          sensor, body);
    scene_picture p = scene_picture_load(&device, xml, folder, parameters, 1);
    for (int i = 0; i < 3 * 16 * 16; i++)
        adjoint[i] = (float)(i % 7) - 3;
    SCENE_MUST(&device,
               bl_job_gradient(p.job, &(bl_gradient_desc){.spp = 16, .seed = 3, .adjoint = adjoint}, NULL));
    const plan *of = p.job->plan;
    uint64_t tables = of->words.data[of->words.data[HEADER_SILHOUETTES] + SILHOUETTE_GUIDE];
    bl_error err = {0};
    uint64_t behind = tables + EDGE_TABLES * CELL_TABLE_WORDS * of->edge_cells;
    if (gpu_buffer_read(p.job->values, 4 * behind, variance, EDGE_TABLES * sizeof *variance, &err) != BL_OK)
        fail_msg("%s", err.text);
    print_message("seen %.3g, path %.3g, lit %.3g\n", (double)variance[EDGE_TABLE_SEEN],
                  (double)variance[EDGE_TABLE_PATH], (double)variance[EDGE_TABLE_LIT]);
    scene_picture_free(&p);
    arena_free(&a);
}

static void borders_of_shadows_belong_to_lights(void **state)
{
    (void)state;
    float v[EDGE_TABLES];
    learn(BELOW, WALL BALL("<translate value='.5,1,1.5'/>") BULB, v);
    assert_true(v[EDGE_TABLE_LIT] > 0);
    assert_true(v[EDGE_TABLE_SEEN] == 0 && v[EDGE_TABLE_PATH] < 1e-3f * v[EDGE_TABLE_LIT]);
}

static void silhouettes_belong_to_the_sensor(void **state)
{
    (void)state;
    float v[EDGE_TABLES];
    learn(FRONT, "<shape type='sphere' id='it'><emitter type='area'/></shape>", v);
    assert_true(v[EDGE_TABLE_SEEN] > 0);
    assert_true(v[EDGE_TABLE_PATH] == 0 && v[EDGE_TABLE_LIT] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borders_of_shadows_belong_to_lights),
        cmocka_unit_test(silhouettes_belong_to_the_sensor),
    };
    return SCENE_DEVICE_RUN(&device, &folder, "edge-shares", tests);
}
