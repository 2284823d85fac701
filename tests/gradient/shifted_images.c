/* LABELS: native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Edges that move, without differences of images. A parallel view of a shape under a light that is infinitely
 * far shifts as a whole when the shape does: its derivative is minus the slope of the image. So with a smooth
 * weight W that ends before the image does,
 *
 *     sum of W dI/dt  =  sum of dW/dx I
 *
 * and both sides have little noise. W is the window of a part of the image, and by all windows together the
 * derivative is known to 1 %. That is what it takes to see whether the light on a silhouette is that of the
 * silhouette: a ray inside of it by the share e of the radius meets the surface turned by sqrt(2 e).
 *
 * From below a ball over a wide floor only its shadow is seen, so the derivative is that of boundary_path.c
 * and boundary_lit.c, which share the light. The sky is nearly all the first one's; of a lamp that goes along
 * with the ball each has about half. If a weight is a tenth off, the derivative as a whole is off by 4 to 11
 * %. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64, VALUES = 3 * SIDE * SIDE, BLOCK = 8, WINDOWS = SIDE / BLOCK - 1, SEEDS = 3, SPP = 64 };
static const double pi = 3.14159265358979323846;
static const double slope_off_most = 0.02; /* with 12 seeds it is .006 off; noise of 3 is .005 */

static scene_device device;
static char *folder;

typedef struct shifted {
    const char *name, *scale, *body; /* scale: half of the view's width */
    const char *height;              /* of the eye */
    uint32_t times;                  /* SPP is multiplied by it */
    double off_most;                 /* noise alone is .6 of it at most */
} shifted;

#define SUN                                                                                                  \
    "<emitter type='directional'><vector name='direction' x='-.6' y='-.4' z='-1'/><rgb name='irradiance' "   \
    "value='3'/></emitter>"
#define BLUE "<bsdf type='diffuse'><rgb name='reflectance' value='.2,.5,.8'/></bsdf>"
#define TUBE(material)                                                                                       \
    "<shape type='bsplinecurve' id='it'><string name='filename' value='bow.curves'/>" AT(                    \
        "<translate value='.03,.02,.3'/>") material "</shape>"

#define FLOOR "<shape type='rectangle'>" AT("<scale value='300'/>") "<bsdf type='diffuse'/></shape>"
#define BLACK_BALL                                                                                           \
    "<shape type='sphere' id='it'><float name='radius' value='.5'/>" AT(                                     \
        "<translate value='.02,.03,.8'/>") "<bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf>" \
                                           "</shape>"

static const shifted cases[] = {
    {"a tube under the sun", "1.1", TUBE(BLUE) SUN, "9", 1, .02},
    {"a black tube before the sky", "1.1",
     TUBE("<bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf>") SKY, "9", 1, .02},
    {"a grid of distances under the sun", ".9",
     "<shape type='sdfgrid' id='it'><string name='filename' value='ball.vol'/><string name='normals' "
     "value='analytic'/>" AT("<scale value='1.3,1,1.1'/><rotate x='1' angle='30'/><rotate y='1' "
                             "angle='40'/><translate value='-.8,-.3,.1'/>") BLUE "</shape>" SUN,
     "9", 1, .02},
    {"the shadow of a ball under the sky, from below the ball", "1.4", FLOOR BLACK_BALL SKY, ".2", 2, .05},
    {"the shadow of a ball under a lamp that goes along, from below the ball", "1.4",
     FLOOR BLACK_BALL LAMP("lamp", ".9", "0,0,2"), ".2", 1, .05},
};
enum { CASES = sizeof cases / sizeof *cases };

static scene_picture load(const shifted *c, arena *a)
{
    static const char *const parameters[] = {"it.to_world", "lamp.to_world"};
    char *sensor = arena_printf(
        a,
        "<sensor type='orthographic'>" AT("<scale x='%s' y='%s'/><lookat origin='0,0,%s' target='0,0,0' "
                                          "up='0,1,0'/>") "<film type='hdrfilm'>"
                                                          "<integer "
                                                          "name='width' "
                                                          "value='%d'/><integer "
                                                          "name='height' "
                                                          "value='%d'/><rfilter "
                                                          "type='gaussian'/></film>"
                                                          "</sensor>",
        c->scale, c->scale, c->height, SIDE, SIDE);
    char *xml = scene_xml(a, "<integrator type='path'><integer name='max_depth' value='2'/></integrator>",
                          sensor, c->body);
    return scene_picture_load(&device, xml, folder, parameters, strstr(c->body, "'lamp'") ? 2 : 1);
}

/* Of a window, and its derivative by pixels. */
static double taper(int pixel, int window, double *slope)
{
    double x = (pixel + 0.5 - (window + 1) * BLOCK) / BLOCK;
    *slope = fabs(x) < 1 ? -0.5 * pi / BLOCK * sin(pi * x) : 0;
    return fabs(x) < 1 ? 0.5 + 0.5 * cos(pi * x) : 0;
}

/* Adds to sums[k] the sum of the image times window k, or times the window's derivative by x. */
static void add_windows(const float *image, bool slopes, double *sums)
{
    for (int i = 0; i < VALUES; i++)
        for (int k = 0; k < WINDOWS * WINDOWS; k++) {
            double unused, by_x, x = taper(i / 3 % SIDE, k % WINDOWS, &by_x),
                                 y = taper(i / 3 / SIDE, k / WINDOWS, &unused);
            sums[k] += (double)image[i] * (slopes ? by_x : x) * y;
        }
}

static void expect_shift(void **state)
{
    const shifted *c = *state;
    static const float along[16] = {[3] = 1}, *const tangents[] = {along, along};
    static float image[VALUES];
    double found[WINDOWS * WINDOWS] = {0}, right[WINDOWS * WINDOWS] = {0}, off = 0, size = 0, both = 0;
    uint32_t spp = SPP * c->times;
    double pixels = SIDE / (2 * strtod(c->scale, NULL)); /* in one unit of length */
    arena a = {0};
    scene_picture p = load(c, &a);
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        SCENE_MUST(&device,
                   bl_job_forward(p.job, &(bl_forward_desc){.spp = spp, .seed = seed, .tangents = tangents},
                                  image, NULL));
        add_windows(image, false, found);
        SCENE_MUST(&device,
                   bl_job_render(p.job, &(bl_render_desc){.spp = 4 * spp, .seed = 100 + seed}, image, NULL));
        add_windows(image, true, right);
    }
    for (int k = 0; k < WINDOWS * WINDOWS; k++) {
        double one = right[k] * pixels;
        off += (found[k] - one) * (found[k] - one), size += one * one, both += found[k] * one;
    }
    off = sqrt(off / size);
    double slope = both / size;
    print_message("%s: off by %.4f, slope %.4f\n", c->name, off, slope);
    if (!(off <= c->off_most && fabs(slope - 1) <= slope_off_most))
        fail_msg("%s: the derivative is off by %.3f of its size, and %.3f of it on the whole", c->name, off,
                 slope);
    scene_picture_free(&p);
    arena_free(&a);
}

int main(void)
{
    struct CMUnitTest tests[CASES];
    for (int i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, expect_shift, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    return scene_device_run(&device, &folder, "shifted-images", tests, CASES, NULL);
}
