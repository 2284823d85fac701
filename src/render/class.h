/* SPDX-License-Identifier: BSD-3-Clause
 * What all classes of the renderer have in common, and the tree of them that a kernel is specialised to.
 *
 * A class is the tree of plugin kinds of an object, twosided(diffuse(bitmap)), with the parameter slots that
 * any instance of it has requested. Instances of one class differ only in their record. A record holds the
 * fields of its object in the order of the plugin's parameter table: a differentiable number or colour as
 * (value offset, gradient offset), a textured parameter as the nested object's record in place, then the
 * records of nested objects, then (value offset, gradient offset) of its derived values, then the class's own
 * extra words. */
#ifndef BL_RENDER_CLASS_H
#define BL_RENDER_CLASS_H

#include "render/render_scene.h"
#include "render/trace.h"

struct plan;
typedef struct class_node class_node;
typedef ARRAY(uint32_t) uint32_list;

/* Every class of the renderer begins with this. */
typedef struct render_class {
    plugin_class plugin;
    uint32_t extra_words;
    const char *data_name; /* of the parameter with PLAN_DATA_SLOT, values that `load` makes from others or a
                              file; NULL: it has none */
    uint32_t least_side; /* that parameter is an image or a grid, of any size from this on along each axis but
                            the last; 0: its size is fixed */
    /* Once per object when the scene is loaded: reads files, registers data parameters. */
    bl_result (*load)(render_scene *s, const scene_object *o, bl_error *err);
    /* After the object and all that it holds have been loaded: whether they fit together. */
    bl_result (*check)(render_scene *s, const scene_object *o, bl_error *err);
    /* After `check`: marks the parameters that turn discrete lobes (render_turns). */
    void (*mark)(render_scene *s, const scene_object *o);
    /* Fills the extra words of an instance. */
    void (*extra)(const struct plan *p, const scene_object *o, uint32_t *words);
    /* Derived values of an instance, f32, from its parameters and those of its textured ones, read with
     * plan_load and its kin. Runs differentiated and detached; no effects, no loops between parameters and
     * results. What kernels read back is plan_derived. */
    uint32_t derived_count;
    void (*update)(tracer *t, const class_node *n, ir_ref record, ir_ref *derived);
    /* Instead of `update`, for classes with many derived values: computes derived value `element` (u32), and
     * every one has a lane of its own. A loop may stand between parameters and result if it only adds. */
    ir_ref (*update_element)(tracer *t, const class_node *n, ir_ref record, ir_ref element);
    /* For classes that hold colours, where light is spectral: how many an object has (u32 triples of
     * parameter values), and colour k (u32) of them, read with plan_load. Of each the coefficients of a
     * smooth spectrum are derived (plan_spectral), besides no other derived values. NULL: no colours; a scene
     * with colours in other classes cannot be spectral. */
    uint32_t (*colours)(const render_scene *s, const scene_object *o);
    void (*colour)(tracer *t, const class_node *n, ir_ref record, ir_ref k, ir_ref rgb[3]);
    /* The slot of those parameters, of whatever objects, that hold its colours. NULL: they are its own. */
    uint32_t (*colour_slot)(const render_scene *s, const scene_object *o);
    /* Whether an object refracts each wavelength by an index of its own, where light is spectral. NULL: no.
     */
    bool (*disperses)(const render_scene *s, const scene_object *o);
    bool only_rgb; /* it makes light of colours in another way, so light cannot be spectral */
    /* Sampling table of an instance: table_words(..) f32 in BUFFER_VALUES from plan_table_at on. Step k of
     * building it has table_lanes(.., k) lanes, reads parameters with plan_load and its kin and what earlier
     * steps have left, and writes. table_steps 0, or no words: no table. shape: that carries an emitter, else
     * NULL. */
    uint32_t table_steps;
    uint32_t (*table_words)(const render_scene *s, const scene_object *o, const render_shape *shape);
    uint32_t (*table_lanes)(const render_scene *s, const scene_object *o, uint32_t step);
    void (*table_step)(tracer *t, const class_node *n, ir_ref record, uint32_t step, ir_ref lane);
    /* Structure that the parameter tree does not show (filter mode ..), part of the class. */
    uint32_t (*variant)(const render_scene *s, const scene_object *o);
    /* What the traced functions of a material or texture read of the surface besides uv: enum surface_need,
     * of this class alone. NULL: nothing. Where no class of a plan needs a thing, it costs nothing. */
    uint32_t (*needs)(const class_node *n);
} render_class;

/* What a colour is, by the parameter that it is for: within [0, 1]; a coefficient that may leave [0, 1], such
 * as an extinction or an index of a metal; not within, as voxels; or emitted light, which D65 multiplies
 * (plan_spectral.c). */
enum colour_role { COLOUR_REFLECTANCE, COLOUR_COEFFICIENT, COLOUR_UNBOUNDED, COLOUR_EMISSION };

struct class_node {
    const render_class *cls;
    char *key;
    uint32_t words;           /* size of the record. In it stand, at .. */
    uint32_t derived_word;    /* .. the (value, gradient) pair of the derived values, */
    uint32_t table_word;      /* .. the offset of the sampling table, */
    uint32_t extra_word;      /* .. the class's extra words */
    uint32_t *field;          /* per parameter of the class: word of its field, PLAN_NONE if it has none */
    class_node **param_child; /* per parameter: class of a textured one */
    class_node *child[PLAN_MAX_CHILDREN];
    uint32_t child_word[PLAN_MAX_CHILDREN], child_count;
    uint32_t requested; /* bit per parameter (or PLAN_DATA_SLOT): some instance wants its gradient;
                           PLAN_DERIVED_SLOT: or that of a parameter its derived values may depend on */
    uint32_t variant;
    uint32_t absent;       /* bit per parameter with PLUGIN_PART: the part is not there */
    bool tabled;           /* it has a sampling table */
    bool disperses;        /* its index depends on the wavelength (render_class.disperses) */
    bool upsampled;        /* its derived values are coefficients of spectra */
    enum colour_role role; /* what light its colours become, where light is spectral */
};

typedef ARRAY(class_node *) class_list;

/* What a class reads of the surface besides uv.
 * tangents: the first axis of the local frame is dp/du without its part along the normal (as in Mitsuba);
 *   otherwise it is any vector across the normal.
 * slopes: surface.du, surface.dv and surface.ng.
 * face: surface.mesh, surface.face and surface.b, which only triangles have.
 * position: surface.p. */
enum surface_need { NEED_TANGENTS = 1, NEED_SLOPES = 2, NEED_FACE = 4, NEED_POSITION = 8 };

#endif
