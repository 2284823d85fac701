/* SPDX-License-Identifier: BSD-3-Clause
 * What a sensor is: its record, its rays, the film behind it, and what all sensors share. */
#ifndef BL_RENDER_SENSOR_H
#define BL_RENDER_SENSOR_H

#include "render/class.h"

typedef struct interaction interaction; /* render/shape/kinds.h */

typedef struct ray {
    vec3 o, d; /* d is of unit length */
    ir_ref tmax;
} ray;

/* ---- sensor/fov.c: of objects with the parameters fov, fov_axis and focal_length ---- */

typedef struct fov_view {
    double degrees, factor; /* tangent of half the horizontal field of view = factor * tan(degrees / 2) */
} fov_view;
fov_view fov_read(const scene_object *o, double aspect); /* aspect is width over height */
double fov_tangent_x(fov_view view);
bl_result fov_check(const scene_object *o, bl_error *err);

/* ---- sensor/ ---- */

/* What a sensor looks at: its film, and the window of it that is the image. */
typedef struct sensor_film {
    uint32_t full_width, full_height, x, y, width, height;
} sensor_film;

/* A sensor while tracing. Its record begins at a word of the scene buffer. */
typedef struct sensor_view {
    const scene_object *object;
    ir_ref record;
    /* Not NULL where the parameters of the sensor are requested. Then `record` is the record of its class,
     * and the numbers that the class's `record` makes are derived values. */
    const class_node *node;
} sensor_view;

enum {
    SENSOR_WORDS = 32, /* most words of a record; a batch has one more record for each of its sensors */
    SENSOR_OF_CLASS = SENSOR_WORDS - 1 /* this one: where parameters of sensors are wanted, the record of
                                          the sensor's class (sensor_view.node), which kernels then read */
};

/* A place seen by a sensor. */
typedef struct sensor_link {
    ir_ref seen;        /* bool: the place is in the window; the other numbers mean something in any case */
    ir_ref behind_near; /* bool: the place lies behind the near plane, */
    ir_ref within;      /* and before the far one */
    vec2 position;      /* on the image, in [0,1]^2 */
    vec3 point;         /* the point of the sensor from which the place is seen */
    /* The share of the way from `point` to the place that lies before the near plane, and before the far one:
     * the latter may be more than 1. */
    ir_ref near, far;
    /* The importance, for radiance times |cos| per area at the place, in units of the mean over the image. */
    ir_ref weight;
} sensor_link;

/* What a path from a light is to a sensor whose surface it meets. */
typedef struct sensor_reception {
    ir_ref received; /* bool: the light counts; the other numbers mean something in any case */
    vec2 position;   /* on the image, in [0,1]^2, as a function of where the surface was met */
    ir_ref weight;   /* of the power that arrives, in units of the mean over the image */
} sensor_reception;

typedef struct sensor_class {
    render_class base;
    bool one_pixel; /* the film must be a single pixel */
    /* The weight of every ray of such a sensor. NULL: 1. */
    float (*weight)(const scene_object *sensor);
    /* Checks the sensor once the shapes of the scene are there. NULL: there is nothing to check. */
    bl_result (*bind)(const render_scene *s, const scene_object *sensor, bl_error *err);
    /* Writes the record. to_world is row-major; it is that of the sensor, or what stands in for it. */
    void (*record)(const render_scene *s, const scene_object *sensor, const double to_world[16],
                   const sensor_film *film, uint32_t *words);
    /* Makes a ray. position is on the image, in [0,1]^2, y down, and filters reach beyond. lens: uniform
     * numbers for whatever else is sampled. */
    ray (*ray)(tracer *t, const sensor_view *v, vec2 position, vec2 lens);
    /* For light tracing: the place p as it is seen from the point that `lens` chooses. NULL: nothing can be
     * connected to the sensor. */
    sensor_link (*link)(tracer *t, const sensor_view *v, vec3 p, vec2 lens);
    bool parallel; /* all rays are parallel, so what is infinitely far away cannot be linked */
    /* For light tracing, of a sensor that is a surface of the scene: paths are not connected to it, but meet
     * it. si: a surface that a path has met on its way along d. NULL: the sensor is no surface. */
    sensor_reception (*receive)(tracer *t, const sensor_view *v, const interaction *si, vec3 d);
} sensor_class;

bool sensor_is(const render_scene *s, uint32_t object);          /* one of the scene's sensors */
bool sensor_exchangeable(const render_scene *s, uint32_t index); /* sensor_check has no error, as it stands */
uint32_t sensor_words(const scene_object *sensor); /* how many words its record has in the scene buffer */
/* to_world: 16 floats, row-major, in place of the pose of the sensor, or NULL. */
void sensor_record(const render_scene *s, const scene_object *sensor, const float *to_world, uint32_t *words);
/* Gives an error unless the kernels of the scene can look through its sensor number `index`. Plugin and
 * film must be those of the sensor that the scene was loaded for. to_world (16 floats, row-major) is its
 * pose; NULL: the sensor stays as it is. */
bl_result sensor_check(const render_scene *s, uint32_t index, const float *to_world, bl_error *err);
ray sensor_ray(tracer *t, const sensor_view *v, vec2 position, vec2 lens);
static inline const sensor_class *sensor_of(const scene_object *o)
{
    return (const sensor_class *)(const void *)o->cls;
}
float sensor_weight(const render_scene *s); /* the weight of every ray of the sensor of the scene */

/* ---- for the sensors ---- */

/* The first words of a record of a sensor with a pose: columns of camera to world. Camera space: +z forward,
 * +x to the image's left, +y up. */
enum pose_word { POSE_ORIGIN, POSE_X = 3, POSE_Y = 6, POSE_Z = 9, POSE_WORDS = 12 };
void sensor_record_on(const render_scene *s, const scene_object *sensor, const sensor_film *film,
                      const float *to_world, uint32_t *words);
/* Words that map the image, which is the crop window, to the whole film. */
enum window_word { WINDOW_OFFSET_X, WINDOW_OFFSET_Y, WINDOW_SCALE_X, WINDOW_SCALE_Y, WINDOW_WORDS };
void sensor_pose_words(const double to_world[16], uint32_t *words);
/* shift: relative to the size of the film. */
void sensor_window_words(const sensor_film *film, double shift_x, double shift_y, uint32_t *words);
/* 1 - 2x and 1 - 2y of the position (x, y) on the whole film. window: the word of the record where the
 * window stands. */
vec2 sensor_film_position(tracer *t, const sensor_view *v, uint32_t window, vec2 position);
ir_ref sensor_in_window(tracer *t, vec2 position); /* bool: the position on the image is in [0,1)^2 */
/* sensor_real: number `word` of what `record` makes. sensor_vector: three numbers from there on. */
ir_ref sensor_real(tracer *t, const sensor_view *v, uint32_t word);
vec3 sensor_vector(tracer *t, const sensor_view *v, uint32_t word);
/* Sets the values that derived values start from: the first `words` of the extra words of n. */
void sensor_extra_words(tracer *t, const class_node *n, ir_ref record, uint32_t words, ir_ref *derived);
/* The parameter `slot`, a matrix, as columns: the images of the axes x, y and z, and of the origin. */
void sensor_matrix(tracer *t, const class_node *n, ir_ref record, uint32_t slot, vec3 columns[4]);
/* Derives the pose words. columns: x, y, z and origin of to_world. The camera is also turned about its own
 * axes and moved along them. */
void sensor_pose_derive(tracer *t, const vec3 columns[4], vec3 degrees, vec3 translation, ir_ref *derived);
bool sensor_scales(const double m[16]);
bl_result sensor_check_clips(const scene_object *o, bl_error *err);
#define SENSOR_SHUTTER                                                                                       \
    {"shutter_open", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"},                                 \
    {                                                                                                        \
        "shutter_close", PLUGIN_FLOAT, 0, "0", 0, 0, "accepted; nothing moves"                               \
    }
#define SENSOR_SLOTS                                                                                         \
    {PLUGIN_FILM, "film", 0, 1}, {PLUGIN_SAMPLER, "sampler", 0, 1}, {PLUGIN_MEDIUM, "medium", 0, 1},         \
    {                                                                                                        \
        PLUGIN_TEXTURE, "srf", 0, 1                                                                          \
    }
/* The number of a shape in the scene; PLAN_NONE: it is none. */
/* Whether the scene's sensor is on this shape. */
bool sensor_stands_on(const render_scene *s, const scene_object *shape);
uint32_t sensor_surface_index(const render_scene *s, const scene_object *shape);
/* Gives an error unless points can be chosen on the shape. */
bl_result sensor_check_surface(const render_scene *s, const scene_object *o, const scene_object *shape,
                               bl_error *err);
/* The point of the shape to which u in [0,1)^2 is mapped, uniformly in area. */
interaction sensor_surface_point(tracer *t, const scene_object *shape, vec2 u);
/* The direction of a sensor that takes it from to_world or from a parameter "direction". */
void sensor_direction(const scene_object *o, const double to_world[16], double d[3]);

#endif
