/* SPDX-License-Identifier: BSD-3-Clause
 * What the loader has to know of a plugin: its category, name, parameters and the objects it may hold.
 * Classes are defined beside the code that implements them (src/render/<category>/<name>.c) and handed to the
 * loader as a registry; the parameter table drives loading, validation, parameter names, help and docs. Names
 * and defaults are Mitsuba 3's. */
#ifndef BL_SCENE_PLUGIN_H
#define BL_SCENE_PLUGIN_H

#include "base/base.h"

typedef enum plugin_category {
    PLUGIN_SCENE,
    PLUGIN_BSDF,
    PLUGIN_EMITTER,
    PLUGIN_FILM,
    PLUGIN_INTEGRATOR,
    PLUGIN_MEDIUM,
    PLUGIN_PHASE,
    PLUGIN_RFILTER,
    PLUGIN_SAMPLER,
    PLUGIN_SENSOR,
    PLUGIN_SHAPE,
    PLUGIN_TEXTURE,
    PLUGIN_VOLUME,
    PLUGIN_FIELD,
    PLUGIN_CATEGORY_COUNT
} plugin_category;
extern const char *const plugin_category_names[PLUGIN_CATEGORY_COUNT]; /* the XML tags */

typedef enum plugin_kind {
    PLUGIN_FLOAT,
    PLUGIN_INTEGER,
    PLUGIN_BOOLEAN,
    PLUGIN_STRING,
    PLUGIN_FLOAT_OR_NAME, /* a number, or a string whose meaning the class knows ("bk7") */
    PLUGIN_FILE,          /* a string; resolved against the scene's resource folders when loaded */
    PLUGIN_POINT,         /* <point> or <vector>: three numbers */
    PLUGIN_TRANSFORM,     /* 4x4, or 3x3 stored in the upper left (to_uv) */
    PLUGIN_COLOR,         /* three numbers, by the colour rules; not textured */
    PLUGIN_TEXTURED, /* always an object of category texture: float, rgb, spectrum become the class "constant"
                        (value: colour); the default too */
    PLUGIN_VOLUMETRIC /* always an object of category volume: float, rgb, spectrum become the class
                         "constvolume" around such a texture; the default too */
} plugin_kind;

enum plugin_flags {
    PLUGIN_REQUIRED = 1, /* no default */
    PLUGIN_ABSENT = 2,   /* optional without a default: value.given is false where it is missing */
    PLUGIN_DIFFERENTIABLE = 4,
    PLUGIN_REFLECTANCE = 8, /* colour in [0,1]; outside is an error */
    PLUGIN_EMISSION = 16,   /* colour by the rules for emitters */
    PLUGIN_SCALAR =
        32, /* TEXTURED, but used as one number: written as a float it is a parameter of one entry */
    PLUGIN_INTENSITY = 64, /* of light that falls with the square of the distance */
    PLUGIN_ANY_NAME = 128, /* TEXTURED: a nested texture whose name is no parameter's, or that has none, is
                              this one (bumpmap) */
    PLUGIN_PART = 256, /* TEXTURED: the weight of a part. Kernels leave the part out if the weight is a plain
                          0 and not differentiated */
    PLUGIN_OR_NEXT = 512, /* has no default if the next parameter of the table is given, which replaces it */
    PLUGIN_STANDS = 1024, /* of a texture: its objects stand for the texture that is given here, or a
                             constant: the product of all such numbers and colours */
    PLUGIN_BY_USE =
        2048, /* of a texture: what it means depends on what the texture is given to (scene_object.use) */
    PLUGIN_HELD = 4096, /* a spectrum of samples that is given here is held in [0,1], whatever numbers may be
                           (Mitsuba) */
    PLUGIN_PATTERN = 8192, /* of a REFLECTANCE that may be a part of a light's radiance, too: numbers above 1
                             are no error */
    PLUGIN_GRID = 16384,   /* of a FILE of pixels or voxels: a program may give them in its place */
    PLUGIN_CURVE = 32768   /* of a FLOAT_OR_NAME: a <spectrum> of samples is taken, too */
};

typedef struct plugin_param {
    const char *name;
    plugin_kind kind;
    unsigned flags;
    const char
        *preset; /* default, spelled as in XML ("0.5", "true", "identity"); NULL with REQUIRED or ABSENT */
    double least, most; /* range of numbers; both 0: any finite number */
    const char *help;
} plugin_param;

/* How many values a differentiable parameter of this kind has in the renderer's flat array; 0: the kind holds
 * none of its own. */
static inline uint32_t plugin_value_count(plugin_kind kind)
{
    return kind == PLUGIN_FLOAT                           ? 1
           : kind == PLUGIN_COLOR || kind == PLUGIN_POINT ? 3
           : kind == PLUGIN_TRANSFORM                     ? 16
                                                          : 0;
}

/* Nested objects that are not parameters. name: how the parent calls it in parameter names ("bsdf"), further
 * ones of the same name "bsdf_1", "bsdf_2"; "bsdf_#": always numbered, from 0 on, whatever their names in the
 * file (Mitsuba). most 0: any number. */
typedef struct plugin_slot {
    plugin_category category;
    const char *name;
    uint32_t least, most;
} plugin_slot;

/* A table with the number of its rows, for two fields that follow each other; and none. */
#define PLUGIN_TABLE(array) (array), sizeof(array) / sizeof *(array)
#define PLUGIN_NONE NULL, 0

typedef struct plugin_class {
    plugin_category category;
    const char *name;
    const plugin_param *params;
    uint32_t param_count;
    const plugin_slot *slots;
    uint32_t slot_count;
    const char *help;
} plugin_class;

typedef struct plugin_registry {
    const plugin_class *const
        *classes; /* must hold {TEXTURE, "constant"} with params[0] = value: COLOR; where there are VOLUMETRIC
                     parameters, {VOLUME, "constvolume"} with params[0] = value: TEXTURED */
    uint32_t count;
} plugin_registry;

#endif
