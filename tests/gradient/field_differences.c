/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * The gradient of a radiance field against central differences of the image, in the interpreter (f64). The
 * image is rendered anew, with its own samples, bounds of empty space and ends of rays: nothing is frozen.
 * Steps shrink. So the differences have to come nearer, as the square of the step, as long as rounding
 * allows, and end at the gradient.
 *
 * Along random directions over all values of a grid at once, and for the element with the largest derivative.
 * Where rays end early, a step may move the end of one. Such a sample is left out, and few may be. */
#include "support/case_tests.h"
#include "support/scene_cases.h"
#include "support/scene_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 5, SAMPLES = 40, STEPS = 3, GRIDS = 2 };
static const double steps[STEPS] = {1e-2, 1e-3, 1e-4};
static const double rounding = 1e-11; /* of the image, which a step divides */

typedef struct difference_case {
    const char *name, *density_file, *density, *color_file, *color;
    const char *least_transmittance;
    const char *more; /* of the scene */
} difference_case;

#define SKY "<emitter type='constant'><rgb name='radiance' value='.7,.9,1.2'/></emitter>"
#define BALL                                                                                                 \
    "<shape type='sphere'><point name='center' value='.1,0,.4'/><float name='radius' value='.35'/><bsdf "    \
    "type='diffuse'><rgb name='reflectance' value='.2,.6,.1'/></bsdf></shape>"

static const difference_case cases[] = {
    {"degree 0", "smoke.vol", "none", "tint.vol", "none", "0", SKY},
    {"degree 0, ends early", "smoke.vol", "softplus", "tint.vol", "sigmoid", ".5", SKY},
    {"degree 1", "mist.vol", "softplus", "waves.vol", "sigmoid", "0", SKY},
    {"degree 1, ends early", "mist.vol", "relu", "waves.vol", "softplus", ".6", SKY},
    {"degree 2", "mist.vol", "relu", "ripples.vol", "sigmoid", "0", SKY},
    {"degree 2, ends early", "cloud.vol", "softplus", "ripples.vol", "none", ".5", SKY},
    {"degree 1, around a ball", "smoke.vol", "softplus", "waves.vol", "sigmoid", "0", BALL SKY},
};

static const char *const grids[GRIDS] = {"field.density.data", "field.sh_coeffs.data"};
static char *folder;

static scene_eval *create(const difference_case *c)
{
    arena a = {0};
    char *integrator = arena_printf(
        &a,
        "<integrator type='radiance_field'><integer name='max_depth' value='3'/><float name='step_size' "
        "value='.06'/><boolean name='jitter' value='false'/><float name='min_transmittance' value='%s'/>"
        "</integrator>",
        c->least_transmittance);
    char *field = arena_printf(
        &a,
        "<field type='sh_field' id='field'><transform name='to_world'><translate "
        "value='-.5,-.5,-.3'/><rotate "
        "x='1' y='.4' z='.2' angle='25'/><scale value='1.9,1.6,1.4'/></transform><string "
        "name='density_activation' value='%s'/><string name='color_activation' value='%s'/><volume "
        "type='gridvolume' name='density'><string name='filename' value='%s'/></volume><volume "
        "type='gridvolume' name='sh_coeffs'><string name='filename' value='%s'/></volume></field>%s",
        c->density, c->color, c->density_file, c->color_file, c->more);
    char *xml = scene_xml(&a, integrator, arena_printf(&a, scene_sensor_format, SIDE, SIDE), field);
    scene_eval *e = scene_eval_create(xml, folder, grids, GRIDS);
    for (uint32_t i = 0; i < 3 * SIDE * SIDE; i++)
        e->adjoint[i] = 1 + (float)(i % 3);
    arena_free(&a);
    return e;
}

static void run(scene_eval *e, render_pass pass, uint32_t n)
{
    bl_error err = {0};
    scene_eval_at at = {.pixel = n * 7 % (SIDE * SIDE), .sample = n, .seed = 3, .stream = 1, .f64 = true};
    if (scene_eval_run(e, pass, at, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(e->status[STATUS_NON_FINITE] + e->status[STATUS_DRIFT], 0);
}

/* The central difference along `v`, over the values of a grid from `first` on; *size: of the image. */
static double difference(scene_eval *e, uint32_t first, const double *v, uint32_t count, double step,
                         uint32_t n, double *size)
{
    double image[2];
    for (int side = 0; side < 2; side++) {
        double by = side ? step : -step;
        for (uint32_t i = 0; i < count; i++)
            e->values[first + i] += by * v[i];
        run(e, RENDER_PRIMAL, n);
        image[side] = scene_eval_weighted(e, n * 7 % (SIDE * SIDE));
        for (uint32_t i = 0; i < count; i++)
            e->values[first + i] -= by * v[i];
    }
    *size = fabs(image[1]) + 1;
    return (image[1] - image[0]) / (2 * step);
}

typedef struct tally {
    uint32_t compared, off;
    double sizes; /* of derivatives */
} tally;

/* Whether the differences come as near to `gradient` as their steps allow. */
static bool near(scene_eval *e, uint32_t first, const double *v, uint32_t count, double gradient, uint32_t n,
                 double off[STEPS])
{
    double size;
    bool good = true;
    for (int k = 0; k < STEPS; k++) {
        off[k] = fabs(difference(e, first, v, count, steps[k], n, &size) - gradient);
        double most = k ? off[k - 1] / 50 : 0.02 * size;
        good &= off[k] <= most + rounding * size / steps[k];
    }
    return good;
}

static void compare(scene_eval *e, const difference_case *c, uint32_t grid, const double *v,
                    const double *gradient, uint32_t n, tally *t)
{
    uint32_t first = scene_eval_value_first(e, grids[grid]),
             count = e->scene->parameters.data[scene_eval_find(e, grids[grid])].count;
    double along = 0, off[STEPS];
    for (uint32_t i = 0; i < count; i++)
        along += gradient[i] * v[i];
    t->compared++, t->sizes += fabs(along);
    if (!near(e, first, v, count, along, n, off) &&
        ++t->off > (strcmp(c->least_transmittance, "0") == 0 ? 0 : SAMPLES / 10))
        fail_msg("%s, %s, sample %u: gradient %.9g, differences are off by %.3g, %.3g, %.3g", c->name,
                 grids[grid], n, along, off[0], off[1], off[2]);
}

static void differences_come_nearer(void **state)
{
    const difference_case *c = *state;
    uint32_t random = 7;
    tally t[GRIDS] = {{0}};
    scene_eval *e = create(c);
    uint32_t elements = e->plan->gradient_count;
    double *gradient = calloc(2 * elements, sizeof *gradient), *v = gradient + elements;
    assert_non_null(gradient);
    for (uint32_t n = 0; n < SAMPLES; n++) {
        run(e, RENDER_GRADIENT, n);
        memcpy(gradient, e->gradient, elements * sizeof *gradient);
        for (uint32_t k = 0; k < GRIDS; k++) {
            const double *g = gradient + scene_eval_gradient_first(e, grids[k]);
            uint32_t count = e->scene->parameters.data[scene_eval_find(e, grids[k])].count, largest = 0;
            for (uint32_t i = 0; i < count; i++)
                v[i] = 2 * scene_random(&random) - 1, largest = fabs(g[i]) > fabs(g[largest]) ? i : largest;
            compare(e, c, k, v, g, n, &t[k]);
            memset(v, 0, count * sizeof *v), v[largest] = 1;
            compare(e, c, k, v, g, n, &t[k]);
        }
    }
    free(gradient);
    for (uint32_t k = 0; k < GRIDS; k++) {
        print_message("%s, %s: %u derivatives, %u where a ray's end has moved, mean size %.3g\n", c->name,
                      grids[k], t[k].compared, t[k].off, t[k].sizes / t[k].compared);
        assert_true(t[k].sizes / t[k].compared > 1e-2);
    }
    scene_eval_destroy(e);
}

int main(void)
{
    return case_tests_run(differences_come_nearer, cases, sizeof *cases, sizeof cases / sizeof *cases,
                          &folder);
}
