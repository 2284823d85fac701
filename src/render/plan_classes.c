/* SPDX-License-Identifier: BSD-3-Clause
 * Classes of a plan: what objects have in common that share traced functions. See class.h. */
#include "render/plan_internal.h"

static class_node *new_node(plan *p, const render_class *cls)
{
    class_node *n = arena_alloc(&p->memory, sizeof *n);
    uint32_t count = cls->plugin.param_count;
    BL_ASSERT(count <= PLAN_DERIVED_SLOT, "%s has %u parameters", cls->plugin.name, count);
    n->cls = cls;
    n->field = arena_alloc(&p->memory, (count + 1) * sizeof *n->field);
    n->param_child = arena_alloc(&p->memory, (count + 1) * sizeof *n->param_child);
    for (uint32_t k = 0; k < count; k++)
        n->field[k] = PLAN_NONE;
    return n;
}

static bool wanted(const plan *p, const scene_object *o, uint32_t slot)
{
    uint32_t i = render_find_parameter(p->scene, o, slot);
    return i != PLAN_NONE && p->gradient_offset[i] != PLAN_NONE;
}

/* Only materials, phase functions, textures and volumes nest records; a scene_object's other children (a
 * film's filter) are no concern of kernels. */
static bool nests(const scene_object *o)
{
    return o->cls->category == PLUGIN_BSDF || o->cls->category == PLUGIN_PHASE;
}

/* bool: the gradient of a parameter of this class, or of a texture in it, is wanted by some instance */
bool plan_requests(const class_node *n)
{
    bool any = n->requested != 0;
    for (uint32_t k = 0; k < n->cls->plugin.param_count; k++)
        any |= n->param_child[k] && plan_requests(n->param_child[k]);
    return any;
}

/* Of an object whose colours are parameters of others: whether the gradient of some is wanted, or some are
 * above 1 as they stand. */
static bool others_wanted(const plan *p, const scene_object *o)
{
    const render_class *cls = (const render_class *)o->cls;
    const uint32_t slot = cls->colour_slot ? cls->colour_slot(p->scene, o) : PLAN_NONE;
    bool any = false;
    for (uint32_t i = 0; i < p->scene->parameters.count && slot != PLAN_NONE; i++)
        any |= p->scene->parameters.data[i].slot == slot && p->gradient_offset[i] != PLAN_NONE;
    return any;
}

static bool others_bright(const render_scene *s, uint32_t slot)
{
    bool bright = false;
    for (uint32_t i = 0; i < s->parameters.count && slot != PLAN_NONE; i++) {
        const render_parameter *q = &s->parameters.data[i];
        for (uint32_t k = 0; k < q->count && q->slot == slot; k++)
            bright |= !(render_initial(s, q)[k] <= 1);
    }
    return bright;
}

/* What light the colours of an object become where light is spectral, by the parameter that it is for
 * (plan_spectral.c). */
static enum colour_role colour_role_of(const render_scene *s, const scene_object *o)
{
    uint32_t flags = o->use ? o->use->flags : PLUGIN_REFLECTANCE;
    bool plain = o->cls == &texture_constant.base.plugin && !o->values[0].as_is;
    if (o->cls->category == PLUGIN_EMITTER || flags & PLUGIN_STANDS || (flags & PLUGIN_EMISSION && plain))
        return COLOUR_EMISSION;
    if (o->cls->category == PLUGIN_VOLUME) /* a grid, whatever it is for (Mitsuba) */
        return COLOUR_UNBOUNDED;
    if (flags & PLUGIN_HELD || !(flags & PLUGIN_REFLECTANCE))
        return COLOUR_COEFFICIENT;
    const render_class *cls = (const render_class *)o->cls;
    if (cls->colour_slot)
        return others_bright(s, cls->colour_slot(s, o)) ? COLOUR_UNBOUNDED : COLOUR_REFLECTANCE;
    bool bright = false; /* patterns may be */
    for (uint32_t k = render_last_parameter(s, o); k; k = s->parameters.data[k - 1].next)
        bright |= !(s->parameters.data[k - 1].most <= 1);
    return bright ? COLOUR_UNBOUNDED : COLOUR_REFLECTANCE;
}

class_node *plan_classify(plan *p, const scene_object *o, const render_shape *shape)
{
    const render_class *cls = (const render_class *)o->cls;
    class_node *n = new_node(p, cls);
    text key = {0};
    text_add(&key, "%s(", cls->plugin.name);
    for (uint32_t k = 0; k < cls->plugin.param_count; k++) {
        const plugin_param *param = &cls->plugin.params[k];
        if ((param->kind == PLUGIN_TEXTURED || param->kind == PLUGIN_VOLUMETRIC) && o->values[k].object) {
            n->param_child[k] = plan_classify(p, o->values[k].object, NULL);
            n->field[k] = n->words;
            n->words += n->param_child[k]->words;
            n->absent |= (param->flags & PLUGIN_PART) && render_part_is_zero(o, param->name) ? 1u << k : 0u;
            text_add(&key, "%s=%s%s,", param->name, n->param_child[k]->key, n->absent >> k & 1 ? "*0" : "");
        } else if ((param->flags & PLUGIN_DIFFERENTIABLE) && plugin_value_count(param->kind)) {
            n->field[k] = n->words;
            n->words += 2;
            n->requested |= wanted(p, o, k) ? 1u << k : 0u;
        }
    }
    for (uint32_t k = 0; nests(o) && k < o->child_count && n->child_count < PLAN_MAX_CHILDREN; k++) {
        class_node *child = plan_classify(p, o->children[k], NULL);
        n->child[n->child_count] = child;
        n->child_word[n->child_count++] = n->words;
        n->words += child->words;
        text_add(&key, "%s,", child->key);
    }
    n->requested |= wanted(p, o, PLAN_DATA_SLOT) ? 1u << PLAN_DATA_SLOT : 0u;
    n->upsampled = p->scene->mode->light == LIGHT_SPECTRAL && cls->colours && cls->colours(p->scene, o) > 0;
    if (p->scene->mode->light == LIGHT_SPECTRAL) {
        n->role = colour_role_of(p->scene, o);
        n->disperses = cls->disperses && cls->disperses(p->scene, o);
        text_add(&key, "%d%s%s", (int)n->role, n->upsampled ? "rgb" : "", n->disperses ? "nm" : "");
    }
    n->derived_word = n->words;
    if (cls->derived_count || n->upsampled) {
        n->words += 2;
        n->requested |= plan_requests(n) || others_wanted(p, o) ? 1u << PLAN_DERIVED_SLOT : 0u;
    }
    n->table_word = n->words;
    n->tabled = cls->table_steps && cls->table_words(p->scene, o, shape);
    n->words += n->tabled;
    n->extra_word = n->words;
    n->words += cls->extra_words;
    n->variant = shape ? shape->kind : cls->variant ? cls->variant(p->scene, o) : 0;
    text_add(&key, "#%u)%s%s", n->variant, shape ? " on " : "", shape ? shape_kinds[shape->kind]->name : "");
    n->key = arena_strdup(&p->memory, key.data);
    text_free(&key);
    return n;
}

/* An instance adds its wishes to its class. */
static void unite_requests(class_node *into, const class_node *from)
{
    into->requested |= from->requested;
    for (uint32_t k = 0; k < into->cls->plugin.param_count; k++)
        if (into->param_child[k])
            unite_requests(into->param_child[k], from->param_child[k]);
    for (uint32_t k = 0; k < into->child_count; k++)
        unite_requests(into->child[k], from->child[k]);
}

uint32_t plan_needs(const class_node *n)
{
    uint32_t all = n->cls->needs ? n->cls->needs(n) : 0;
    for (uint32_t k = 0; k < n->cls->plugin.param_count; k++)
        all |= n->param_child[k] ? plan_needs(n->param_child[k]) : 0;
    for (uint32_t k = 0; k < n->child_count; k++)
        all |= plan_needs(n->child[k]);
    return all;
}

bool plan_disperses(const class_node *n)
{
    bool any = n->disperses;
    for (uint32_t k = 0; k < n->child_count; k++)
        any |= plan_disperses(n->child[k]);
    return any;
}

uint32_t plan_class_add(const plan *p, class_list *list, class_node *n)
{
    for (uint32_t i = 0; i < list->count && !(p->off & PLAN_SHARE); i++)
        if (strcmp(list->data[i]->key, n->key) == 0) {
            unite_requests(list->data[i], n);
            return i;
        }
    array_push(list, n);
    return list->count - 1;
}
