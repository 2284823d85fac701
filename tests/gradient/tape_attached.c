/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Is reverse mode over a tape the derivative where rays move with parameters? On the same random numbers its
 * gradient is that of attached path replay, to the rounding of sums of f32: by the index of glass, normals of
 * a mirror, roughness of metal whose lobe is attached, and the camera, behind several of them. Detached, the
 * tape refuses the camera and leaves out how rays turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <string.h>

enum { SIDE = 8, SPP = 32, PARAMETERS = 5, VALUES = 3 * SIDE * SIDE, MOST = 16 };
static const double rounding = 2e-4; /* of the largest number of a parameter's gradient */

static scene_device device;
static char *folder; /* of scene_files_create */

static const char *const names[PARAMETERS] = {"glass.eta", "bent.normalmap.value", "eye.to_world",
                                              "floor.reflectance.value", "metal.alpha.value"};

static const char body[] =
    "<sensor type='perspective' id='eye'><float name='fov' value='50'/><transform name='to_world'>"
    "<lookat origin='0,-4,2' target='0,0,.5' up='0,0,1'/></transform><film type='hdrfilm'>"
    "<integer name='width' value='8'/><integer name='height' value='8'/><rfilter type='box'/></film></sensor>"
    "<bsdf type='diffuse' id='floor'><rgb name='reflectance' value='.7,.5,.3'/></bsdf>"
    "<shape type='rectangle'><transform name='to_world'><scale value='6'/></transform><ref "
    "id='floor'/></shape>"
    "<shape type='sphere'><point name='center' value='-.7,0,.6'/><float name='radius' value='.6'/>"
    "<bsdf type='dielectric' id='glass'><float name='int_ior' value='1.5'/></bsdf></shape>"
    "<shape type='rectangle'><transform name='to_world'><scale value='3'/><rotate x='1' angle='90'/>"
    "<translate value='0,2,1.5'/></transform><bsdf type='normalmap' id='bent'>"
    "<rgb name='normalmap' value='.55,.52,1'/><bsdf type='conductor'><string name='material' "
    "value='none'/></bsdf></bsdf></shape>"
    "<emitter type='envmap'><string name='filename' value='sky.pfm'/></emitter>"
    "<shape type='sphere'><point name='center' value='0,-1,3'/><float name='radius' value='.4'/>"
    "<emitter type='area'><rgb name='radiance' value='9,8,7'/></emitter></shape>";

/* Without it no lobe is rough, and densities do not move. */
static const char metal[] =
    "<shape type='sphere'><point name='center' value='.8,.3,.6'/><float name='radius' value='.6'/>"
    "<bsdf type='roughconductor' id='metal'><string name='distribution' value='ggx'/>"
    "<float name='alpha' value='.03'/></bsdf></shape>";

typedef struct subject {
    scene_picture p;
    float gradient[PARAMETERS][MOST];
    bl_stats stats;
} subject;

static uint32_t count_of(bool rough) { return rough ? PARAMETERS : PARAMETERS - 1; }

static bl_scene *load(const char *integrator, int depth, const char *more, bool rough)
{
    arena a = {0};
    const char *head = arena_printf(&a,
                                    "<integrator type='%s'><integer name='max_depth' value='%d'/><integer "
                                    "name='rr_depth' value='3'/>%s</integrator>",
                                    integrator, depth, more);
    bl_scene *scene = scene_device_load(&device, scene_xml(&a, head, rough ? metal : "", body), folder);
    arena_free(&a);
    return scene;
}

static void measure(subject *s, const char *integrator, int depth, const char *more, bool rough,
                    uint32_t seed)
{
    float target[VALUES];
    uint32_t random = 5;
    for (uint32_t i = 0; i < VALUES; i++)
        target[i] = (float)scene_random(&random);
    bl_scene *scene = load(integrator, depth, more, rough);
    bl_job *job = scene_device_job(&device, scene, names, count_of(rough));
    bl_gradient_desc desc = {
        .spp = SPP, .seed = seed, .form = BL_FORM_FUSED, .target = target, .edges = BL_EDGES_NONE};
    SCENE_MUST(&device, bl_job_gradient(job, &desc, &s->stats));
    assert_int_equal(s->stats.drifted + s->stats.overflowed + s->stats.non_finite, 0);
    for (uint32_t k = 0; k < count_of(rough); k++)
        SCENE_MUST(&device, bl_job_read_gradient(job, k, s->gradient[k]));
    bl_job_destroy(job), bl_scene_destroy(scene);
}

/* Numbers of each parameter: an index, a normal, a matrix, a colour, a roughness. */
static const uint32_t sizes[PARAMETERS] = {1, 3, 16, 3, 1};

static void tape_is_attached_replay(void **state)
{
    const bool rough = *state;
    static const char attached[] = "<boolean name='attached' value='true'/>";
    for (uint32_t seed = 0; seed < 3; seed++) {
        static subject replay, tape, deeper;
        measure(&replay, "prb", 5, "", rough, seed), measure(&tape, "tape", 5, attached, rough, seed);
        measure(&deeper, "tape", 7, attached, rough, seed);
        assert_true(fabs(replay.stats.loss - tape.stats.loss) <= rounding * fabs(replay.stats.loss));
        for (uint32_t k = 0; k < count_of(rough); k++) {
            double largest = 0;
            for (uint32_t i = 0; i < sizes[k]; i++)
                largest = fmax(largest, fabs((double)replay.gradient[k][i]));
            assert_true(largest > 0);
            for (uint32_t i = 0; i < sizes[k]; i++)
                if (!(fabs((double)replay.gradient[k][i] - (double)tape.gradient[k][i]) <=
                      rounding * largest))
                    fail_msg("%s, number %u: replay %.9g, tape %.9g", names[k], i,
                             (double)replay.gradient[k][i], (double)tape.gradient[k][i]);
        }
        /* two vertices more for each of the samples */
        assert_true(deeper.stats.device_bytes - tape.stats.device_bytes > 2ull * SPP * SIDE * SIDE * 4 * 80);
        assert_true(replay.stats.device_bytes < tape.stats.device_bytes);
    }
}

static void a_detached_tape_has_no_camera(void **state)
{
    (void)state;
    bl_scene *scene = load("tape", 5, "", true);
    bl_job *job = NULL;
    scene_device_refused(&device,
                         bl_job_create(device.device, scene,
                                       &(bl_job_desc){.parameters = &names[2], .parameter_count = 1}, &job),
                         BL_ERROR_UNSUPPORTED, "camera");
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tape_is_attached_replay),
        {"and among rough lobes", tape_is_attached_replay, NULL, NULL, &device},

        cmocka_unit_test(a_detached_tape_has_no_camera),
    };
    return SCENE_DEVICE_RUN(&device, &folder, "tape, attached", tests);
}
