/* SPDX-License-Identifier: BSD-3-Clause
 * Scenes in which something moves by its to_world or by its vertices: the derivative of a weighted sum of
 * the image's values along a motion, by reverse mode, forward mode, frozen paths and images. Edges play no
 * part in these scenes, and their own estimator (tests/gradient/edges.c) is left out. The sensor has
 * MOVED_FILM. */
#ifndef TEST_MOVED_SCENE_H
#define TEST_MOVED_SCENE_H

#include "support/scene_device.h"

#include <stdint.h>

enum {
    MOVED_PIXELS = 12,
    MOVED_VALUES = 3 * MOVED_PIXELS * MOVED_PIXELS,
    MOVED_SEED = 5,
    MOVED_NUMBERS = 64
};

#define MOVED_FILM                                                                                           \
    "<film type='hdrfilm'><integer name='width' value='12'/><integer name='height' value='12'/><rfilter "    \
    "type='box'/></film>"
#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define BITMAP(name)                                                                                         \
    "<texture type='bitmap' name='" name "'><string name='filename' value='texture.pfm'/></texture>"
#define DIRECT(lights, materials)                                                                            \
    "<integrator type='direct'><integer name='emitter_samples' value='" lights                               \
    "'/><integer name='bsdf_samples' value='" materials "'/></integrator>"
#define PATH(depth) "<integrator type='path'><integer name='max_depth' value='" depth "'/></integrator>"
#define MOVED_DOWN                                                                                           \
    "<sensor type='perspective'><float name='fov' value='30'/>" TO_WORLD(                                    \
        "<lookat origin='0,0,3' target='.1,.1,0' up='0,1,0'/>") MOVED_FILM "</sensor>"

typedef struct moved_case {
    const char *name, *integrator, *sensor, *body, *parameter;
    struct { /* how to_world, or points, change: a velocity of the points x, turn x x + grow x + move */
        double turn[3], grow, move[3];
    } motion;
    uint32_t spp;
    double plain; /* differences of images agree to this share of the sum of the sizes of the gradient's
                     terms; 0: they are not compared */
} moved_case;

typedef struct moved_scene {
    scene_device *d;
    bl_scene *scene;
    bl_job *job;
    uint32_t parameter, count, spp;
    float start[MOVED_NUMBERS], along[MOVED_NUMBERS];
} moved_scene;

/* integrator: of the scene; NULL takes that of the case. */
moved_scene moved_load(scene_device *d, const moved_case *c, const char *integrator, const char *folder);
void moved_free(moved_scene *m);
typedef struct moved_means {
    moved_case c;
    double step;  /* of differences of images, in units of the motion */
    double least; /* of the derivative over its standard error: what the comparison can see */
} moved_means;

/* Fails the running test unless the mean of gradients over seeds is that of differences of images. */
void moved_means_expect(scene_device *d, const moved_means *what, const char *folder);
/* The same for each of `count`; the first `ordinary` of them unless BL_LONG is set. */
void moved_means_expect_all(scene_device *d, const moved_means *what, size_t count, size_t ordinary,
                            const char *folder);
/* The sum of an image's values (MOVED_VALUES) whose derivative this is about. */
double moved_weighted(const float *values);
/* The derivative along the motion. *size: the sum of the sizes of its terms. */
double moved_gradient(moved_scene *m, uint32_t seed, double *size);
/* Fails the running test unless reverse mode, forward mode and frozen paths agree, and, where the case asks
 * for it, differences of images of the scene that has really moved. Those and reverse mode then agree from
 * another place too, to which the scene has been moved. Returns the derivative. */
double moved_expect(scene_device *d, const moved_case *c, const char *folder);

#endif
