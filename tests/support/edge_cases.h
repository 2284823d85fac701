/* SPDX-License-Identifier: BSD-3-Clause
 * Is the derivative right where edges move? The derivative of an image of 24 x 24 pixels, in forward mode, is
 * compared with differences of images of the scene that has really moved (same random numbers on both sides),
 * as means over 7 x 7 windows, over several seeds. Windows are smooth, overlap, and end before the image
 * does: a difference has a step, and an edge within a step of the border of a sharp window would be counted
 * on one side only. A window's z is its difference over its standard error, from the variances over seeds of
 * both. With 10 seeds z has a t distribution of 9 to 18 degrees of freedom, so its root mean square over 49
 * windows is 1.06 to 1.13 where nothing is wrong. Neighbours share half of their pixels, so it varies as that
 * of some 25 independent ones, by 0.15; the limit is three deviations above.
 *
 * A case also fails without the edges' part, by far. And reverse mode must give, for random weights of
 * pixels, the sum of weights times the forward image of the same samples. */
#ifndef BL_TEST_EDGE_CASES_H
#define BL_TEST_EDGE_CASES_H

#include "support/scene_device.h"

typedef struct edge_case {
    const char *name, *depth, *camera, *body, *parameter; /* depth: NULL, the integrator has none */
    double along[3];                                      /* velocity of points */
    uint32_t spp;
    double step;
} edge_case;

/* More parameters of the sensor of the cases that follow; "" at the beginning. */
void edge_case_sensor(const char *xml);
/* Whether the sensor of the cases that follow has parallel rays, 3 x 3 in all; false at the beginning. */
void edge_case_parallel(bool rays);
/* More parameters of the integrator. */
void edge_case_integrator(const char *xml);
/* How far, in the cases that follow, parameters have moved since the scene was loaded; 0 at the beginning. */
void edge_case_before(double by);
/* Whether the cases that follow have a kink where they are, so that differences are one-sided, along `along`:
 * (4 f(h) - f(2h) - 3 f(0)) / 2h. false at the beginning. */
void edge_case_one_sided(bool kink);
/* Runs one case. folder: with the files that scenes name; integrator: a plugin's name. */
void edge_case_expect(scene_device *device, const char *folder, const char *integrator, const edge_case *c);

/* A case, and the integrator that it is for. */
typedef struct edge_case_in {
    edge_case c;
    const char *integrator;
} edge_case_in;
/* All of them as the tests of a program; what its main returns. name: of the group; count: at most 64. */
int edge_cases_run(const char *name, const edge_case_in *cases, uint32_t count);

#define AT(ops) "<transform name='to_world'>" ops "</transform>"
/* A sensor with the operations of its pose, and the begin of a film of side x side pixels: "</film></sensor>"
 * follows. */
#define EYE(pose, side)                                                                                      \
    "<sensor type='perspective' id='sensor'><float name='fov' value='41'/>" AT(pose) SQUARE_FILM(side)
/* The same with parallel rays, 3 x 3 in all. */
#define PARALLEL_EYE(pose, side)                                                                             \
    "<sensor type='orthographic' id='sensor'>" AT("<scale x='1.5' y='1.5'/>" pose) SQUARE_FILM(side)
#define SQUARE_FILM(side)                                                                                    \
    "<film type='hdrfilm'><integer name='width' value='" side "'/><integer name='height' value='" side "'/>"
#define WALL                                                                                                 \
    "<shape type='rectangle'>" AT(                                                                           \
        "<scale value='5'/><translate z='-1'/>") "<bsdf type='diffuse'><rgb "                                \
                                                 "name='reflectance' "                                       \
                                                 "value='.7,.6,.3'/></bsdf></shape>"
#define BALL(ops)                                                                                            \
    "<shape type='sphere' id='it'><float name='radius' value='.4'/>" AT(                                     \
        ops) "<bsdf type='diffuse'><rgb name='reflectance' value='.2,.5,.8'/></bsdf></shape>"
#define FOG(albedo)                                                                                          \
    "<medium type='homogeneous' name='interior'><rgb name='sigma_t' value='.5,.3,.2'/><float name='albedo' " \
    "value='" albedo "'/></medium>"
#define HULL(medium)                                                                                         \
    "<shape type='cube'>" AT(                                                                                \
        "<scale value='4,4,.9'/><rotate y='1' angle='10'/><translate z='.3'/>") "<bsdf type='null'/>" medium \
                                                                                "</shape>"
#define LAMP(id, size, at)                                                                                   \
    "<shape type='rectangle' id='" id                                                                        \
    "'>" AT("<scale value='" size "'/><rotate x='1' angle='180'/>"                                           \
            "<translate value='" at                                                                          \
            "'/>") "<bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf>"                         \
                   "<emitter type='area'><rgb name='radiance' value='10'/></emitter></shape>"
/* From what it lights, its own edges are seen. */
#define MESH_LAMP                                                                                            \
    "<shape type='cube' id='it'>" AT(                                                                        \
        "<scale value='.4,.3,.1'/><rotate x='1' angle='20'/><rotate y='1' angle='-25'/>"                     \
        "<translate value='.3,.1,2.8'/>") "<bsdf type='diffuse'><rgb name='reflectance' value='0'/></bsdf>"  \
                                          "<emitter type='area'><rgb name='radiance' value='10'/></emitter>" \
                                          "</shape>"
#define SKY "<emitter type='constant'><rgb name='radiance' value='.5'/></emitter>"
#define BULB                                                                                                 \
    "<emitter type='point' id='bulb'><point name='position' value='.9,1.8,3.1'/>"                            \
    "<rgb name='intensity' value='10'/></emitter>"
#define FRONT "origin='0,0,4' target='0.03,0.02,0' up='0,1,0'"
#define BELOW "origin='0,0,1' target='0.02,0.01,-1' up='0,1,0'" /* what casts the shadow is behind it */

#endif
