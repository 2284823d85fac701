/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of backlight_plugin.h share: references and public values are the same thing under two names
 * (ir.c); tables are copied, after they were found to be right. */
#ifndef BL_PLUGIN_ADD_H
#define BL_PLUGIN_ADD_H

#include "api/context.h"
#include "api/ir.h"
#include "render/light.h"
#include "render/own_integrator.h"
#include "render/plugin_kinds.h"

#include <backlight/backlight_plugin.h>

struct bl_plugin_trace {
    tracer *t;
    const class_node *node; /* of an integrator NULL */
    ir_ref record;
    own_trace *own; /* of an integrator's functions, else NULL */
    void *user;     /* of the plugin's descriptor */
    bl_ir ir;       /* as bl_plugin_ir gives it */
};

static inline bl_ir_value outer(ir_ref r) { return (bl_ir_value){r.id}; }
static inline ir_ref inner(bl_ir_value v) { return (ir_ref){v.id}; }
static inline bl_plugin_vec2 outer2(vec2 v) { return (bl_plugin_vec2){outer(v.x), outer(v.y)}; }
static inline bl_plugin_vec3 outer3(vec3 v) { return (bl_plugin_vec3){outer(v.x), outer(v.y), outer(v.z)}; }
static inline vec2 inner2(bl_plugin_vec2 v) { return (vec2){inner(v.x), inner(v.y)}; }
static inline vec3 inner3(bl_plugin_vec3 v) { return v3(inner(v.x), inner(v.y), inner(v.z)); }

/* What a function of a plugin has returned, in place of the public value. If it is not of this type, sets the
 * trace's error, which names plugin and function; so it cannot harm what the renderer makes of it. */
ir_ref plugin_returned(bl_plugin_trace *t, const char *function, bl_ir_value v, ir_type type);
vec2 plugin_returned_2(bl_plugin_trace *t, const char *function, bl_plugin_vec2 v);
vec3 plugin_returned_3(bl_plugin_trace *t, const char *function, bl_plugin_vec3 v);
color plugin_returned_color(bl_plugin_trace *t, const char *function, bl_plugin_color c);
/* Light as functions of an application see it: red, green and blue, whatever the scene's mode is. */
bl_plugin_color plugin_color(tracer *t, color c);

/* What an added plugin, of any category, says of itself. */
typedef struct plugin_sheet {
    plugin_category category;
    const char *name, *help;
    const bl_plugin_param *params;
    uint32_t count; /* number of params */
    uint32_t own;   /* number of parameters that the renderer adds at the end of the table */
    bool complete;  /* no function is missing */
} plugin_sheet;

/* Fails if the name or the table is wrong. */
bl_result plugin_check(const bl_context *ctx, const plugin_sheet *sheet, bl_error *err);
/* Makes a class with copies of name, help and table. *table: where the class's table starts. The caller fills
 * in its last `own` entries. */
plugin_class plugin_describe(arena *memory, const plugin_sheet *sheet, plugin_param **table);
void plugin_add_class(bl_context *ctx, const plugin_class *cls);

#endif
