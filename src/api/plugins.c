/* SPDX-License-Identifier: BSD-3-Clause
 * The plugins that scenes of a context can use, as their tables describe them; behind those, the plugins of
 * Mitsuba 3 that are not there. */
#include "api/context.h"
#include "render/classes.h"

_Static_assert((int)BL_PLUGIN_IMAGE == ABILITY_IMAGE && (int)BL_PLUGIN_REVERSE == ABILITY_REVERSE &&
                   (int)BL_PLUGIN_FORWARD == ABILITY_FORWARD && (int)BL_PLUGIN_IN_MEDIA == ABILITY_IN_MEDIA &&
                   (int)BL_PLUGIN_MOVING == ABILITY_MOVING && (int)BL_PLUGIN_NESTED == ABILITY_NESTED,
               "the library's bits are the renderer's");

/* The entry at an index: a class, or the name of a class that is missing. */
typedef struct entry {
    const plugin_class *cls;
    plugin_category category; /* category of the missing class, if cls is NULL */
    const char *name;
} entry;

/* Finds the entry at an index. Returns false behind the last one. */
static bool entry_at(const bl_context *ctx, uint32_t index, entry *out)
{
    *out = (entry){0};
    if (index < ctx->registry.count) {
        out->cls = ctx->registry.classes[index];
        return true;
    }
    uint32_t at = ctx->registry.count;
    for (plugin_category c = 0; c < PLUGIN_CATEGORY_COUNT; c++)
        for (const char *const *name = plugin_known_names(c); *name; name++)
            if (!registry_find(&ctx->registry, c, *name) && at++ == index) {
                out->category = c, out->name = *name;
                return true;
            }
    return false;
}

uint32_t bl_plugin_count(const bl_context *ctx)
{
    uint32_t n = 0;
    for (entry e; entry_at(ctx, n, &e);)
        n++;
    return n;
}

bl_result bl_plugin_info_at(const bl_context *ctx, uint32_t plugin, bl_plugin_info *out)
{
    entry e;
    if (!entry_at(ctx, plugin, &e))
        return context_fail_range(ctx, "plugin", plugin, bl_plugin_count(ctx));
    const plugin_class *c = e.cls;
    if (c) {
        *out = (bl_plugin_info){
            .category = plugin_category_names[c->category],
            .name = c->name,
            .help = c->help,
            .available = true,
            .parameters = c->param_count,
            .slots = c->slot_count,
            .data = ((const render_class *)c)->data_name,
            .abilities = render_abilities(c),
        };
    } else {
        const char *reason = plugin_unsupported_reason(e.category, e.name);
        *out = (bl_plugin_info){
            .category = plugin_category_names[e.category],
            .name = e.name,
            .help = reason ? reason : "not implemented yet",
        };
    }
    return BL_OK;
}

bl_result bl_plugin_parameter_at(const bl_context *ctx, uint32_t plugin, uint32_t parameter,
                                 bl_plugin_parameter *out)
{
    entry e;
    if (!entry_at(ctx, plugin, &e))
        return context_fail_range(ctx, "plugin", plugin, bl_plugin_count(ctx));
    if (!e.cls || parameter >= e.cls->param_count)
        return context_fail_range(ctx, "parameter of the plugin", parameter, e.cls ? e.cls->param_count : 0);
    const plugin_param *p = &e.cls->params[parameter];
    const char *type = kind_name(p->kind);
    *out =
        (bl_plugin_parameter){.name = p->name,
                              .help = p->help,
                              .type = type + (type[1] == ' ' ? 2 : 3),
                              .preset = p->preset,
                              .required = p->flags & PLUGIN_REQUIRED,
                              .least = p->least,
                              .most = p->most,
                              .differentiable = p->kind == PLUGIN_TEXTURED || p->kind == PLUGIN_VOLUMETRIC ||
                                                p->flags & PLUGIN_DIFFERENTIABLE};
    return BL_OK;
}

bl_result bl_plugin_slot_at(const bl_context *ctx, uint32_t plugin, uint32_t slot, bl_plugin_slot *out)
{
    entry e;
    if (!entry_at(ctx, plugin, &e))
        return context_fail_range(ctx, "plugin", plugin, bl_plugin_count(ctx));
    if (!e.cls || slot >= e.cls->slot_count)
        return context_fail_range(ctx, "slot of the plugin", slot, e.cls ? e.cls->slot_count : 0);
    const plugin_slot *s = &e.cls->slots[slot];
    *out =
        (bl_plugin_slot){.category = plugin_category_names[s->category], .least = s->least, .most = s->most};
    return BL_OK;
}
