/* SPDX-License-Identifier: BSD-3-Clause
 * What makes a plan, between its files. */
#ifndef BL_RENDER_PLAN_INTERNAL_H
#define BL_RENDER_PLAN_INTERNAL_H

#include "render/classes.h"

/* ---- plan_classes.c ---- */

/* The class of one object. shape: that carries an emitter, whose kind is part of the class; else NULL. */
class_node *plan_classify(plan *p, const scene_object *o, const render_shape *shape);
/* Puts a class into the list, unless the list has an equal one that it can share. Returns the index. */
uint32_t plan_class_add(const plan *p, class_list *list, class_node *n);
/* enum surface_need: of the class and of all it holds. */
uint32_t plan_needs(const class_node *n);

/* ---- plan_records.c ---- */

/* Derived values and sampling table of an object, the same in all its records. */
typedef struct derived_place {
    bool placed, table_placed;
    uint32_t value, gradient; /* of the first; PLAN_NONE */
    uint32_t table;
} derived_place;

typedef struct plan_instance {
    uint32_t cls, record;
} plan_instance;

/* The class and record of an object. An object has one record per list, however many shapes refer to it:
 * `seen` remembers it by object index. seen NULL: every call makes another record. */
plan_instance plan_instantiate(plan *p, class_list *list, const scene_object *o, plan_instance *seen);
/* The class and record of a light on a shape. geometry_base: where the scene's geometry begins in the words.
 */
plan_instance plan_instantiate_area(plan *p, uint32_t emitter, uint32_t geometry_base);
/* Weights of the lights, room for the table, and the dispatches that build it, behind those of the lights'
 * own tables. */
void plan_place_light_table(plan *p);

/* ---- plan_lights.c: the tree of lights, on the host ---- */

/* Whether there are lights enough for a tree. */
bool plan_has_light_tree(const plan *p);
/* Which light is at which leaf, room for the nodes, and the dispatches that make them. */
void plan_place_light_tree(plan *p);

/* ---- plan_words.c; plan.h has more of it ---- */

void plan_append(plan *p, const uint32_t *words, uint32_t count); /* at the end of the scene buffer */

#endif
