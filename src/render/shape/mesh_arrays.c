/* SPDX-License-Identifier: BSD-3-Clause
 * Arrays of meshes that are parameters, in world space (of a shapegroup's in the group's): vertex_positions,
 * vertex_normals, vertex_texcoords, and attributes of vertices and faces, named as in the file
 * (SHAPE.vertex_color, [vertices, 3]). A material may be on several meshes, so what it reads is found by way
 * of the surface: the mesh's words say where its arrays are (MESH_ARRAYS). */
#include "render/classes.h"

/* ---- loading ---- */

uint32_t mesh_find_attribute(const render_scene *s, const char *name)
{
    for (uint32_t i = 0; i < s->attributes.count; i++)
        if (strcmp(s->attributes.data[i], name) == 0)
            return i;
    return PLAN_NONE;
}

/* Shapes that only lend a sensor their points have no name, nor parameters. */
static bool has_parameters(const render_scene *s, const scene_object *o) { return s->names[o->index].name; }

/* Bounds are those of a texture's data, unless the file goes below them. */
static float least_of(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] < 0)
            return -INFINITY;
    return 0;
}

void mesh_add_attributes(render_scene *s, const scene_object *o, const scene_mesh *m)
{
    for (uint32_t k = 0; k < m->attribute_count && has_parameters(s, o); k++) {
        const scene_attribute *a = &m->attributes[k];
        uint32_t index = mesh_find_attribute(s, a->name);
        if (index == PLAN_NONE) {
            index = s->attributes.count;
            array_push(&s->attributes, arena_strdup(&s->memory, a->name));
        }
        const uint32_t shape[2] = {attribute_of_faces(a->name) ? m->face_count : m->vertex_count,
                                   a->channels};
        const initial_values v = {2, shape, least_of(a->values, (size_t)shape[0] * shape[1]), INFINITY,
                                  a->values};
        render_add_array(s, o, a->name, PLAN_ARRAY_SLOT + MESH_ATTRIBUTE + index, &v);
    }
}

/* Rectangles have no vertices in Mitsuba. */
static bool is_mesh(const render_shape *shape)
{
    return shape->kind == SHAPE_TRIANGLES && shape->object->cls != &shape_rectangle.base.plugin;
}

/* Textures whose value jumps: where uv moves, steps move with it. */
static bool has_steps(const scene_object *o)
{
    bool filtered = o->cls == &texture_bitmap.base.plugin || o->cls == &volume_gridvolume.base.plugin;
    bool any = o->cls == &texture_checkerboard.base.plugin ||
               (filtered && strcmp(scene_get(o, "filter_type")->text, "nearest") == 0);
    for (uint32_t k = 0; k < o->cls->param_count; k++)
        any |= o->values[k].object && has_steps(o->values[k].object);
    for (uint32_t k = 0; k < o->child_count; k++)
        any |= has_steps(o->children[k]);
    return any;
}

/* Whether lobes of the material turn with texture coordinates. */
static bool directions_move_by_uv(const render_scene *s, const scene_object *bsdf)
{
    const bsdf_class *cls = (const bsdf_class *)(const void *)bsdf->cls;
    bool any =
        cls->directions_move_by_uv && cls->directions_move_by_uv(bsdf) && bsdf_directions_move(s, bsdf);
    for (uint32_t k = 0; k < bsdf->child_count; k++)
        any |= directions_move_by_uv(s, bsdf->children[k]);
    return any;
}

/* What an array's gradient lacks; NULL: nothing. */
static const char *reason_of(render_scene *s, const render_shape *shape, enum mesh_array array)
{
    if (array == MESH_ARRAY_NORMALS)
        return NULL;
    if (array == MESH_ARRAY_UVS)
        return has_steps(shape->bsdf)
                   ? "the steps of checkerboards and nearest texels, which move with it, are left out"
                   : NULL;
    return arena_printf(
        &s->memory,
        "edges and shadows that move, and what lies next to mirrors, smooth glass and masks, are left out%s",
        shape->emitter ? "; so is the place of the light" : "");
}

void mesh_add_parameters(render_scene *s)
{
    static const struct {
        const char *name;
        uint32_t channels;
        enum mesh_word word;
    } arrays[] = {[MESH_ARRAY_POSITIONS] = {"vertex_positions", 3, MESH_POSITIONS},
                  [MESH_ARRAY_NORMALS] = {"vertex_normals", 3, MESH_NORMALS},
                  [MESH_ARRAY_UVS] = {"vertex_texcoords", 2, MESH_UVS}};
    for (uint32_t i = 0; i < s->shapes.count; i++) {
        const render_shape *shape = &s->shapes.data[i];
        for (uint32_t k = 0; k < MESH_ATTRIBUTE && is_mesh(shape) && has_parameters(s, shape->object); k++) {
            const uint32_t at = s->geometry.data[shape->data + arrays[k].word],
                           shape_of[2] = {shape->vertex_count, arrays[k].channels};
            if (at == PLAN_NONE)
                continue;
            uint32_t p =
                render_add_geometry(s, shape->object, arrays[k].name, PLAN_ARRAY_SLOT + k, shape_of, at);
            s->parameters.data[p].reason = reason_of(s, shape, (enum mesh_array)k);
            if (shape->bsdf && ((k == MESH_ARRAY_NORMALS && bsdf_directions_move(s, shape->bsdf)) ||
                                (k == MESH_ARRAY_UVS && directions_move_by_uv(s, shape->bsdf))))
                render_turns(s, p);
        }
    }
}

/* ---- words ---- */

uint32_t mesh_array_count(const render_scene *s) { return MESH_ATTRIBUTE + s->attributes.count; }

void mesh_array_words(const plan *p, const render_shape *shape, uint32_t *words)
{
    for (uint32_t k = 0; k < mesh_array_count(p->scene); k++) {
        uint32_t i = render_find_parameter(p->scene, shape->object, PLAN_ARRAY_SLOT + k);
        words[3 * k] = words[3 * k + 1] = PLAN_NONE, words[3 * k + 2] = 0;
        if (i != PLAN_NONE)
            words[3 * k] = p->value_offset[i], words[3 * k + 1] = p->gradient_offset[i],
                      words[3 * k + 2] = p->scene->parameters.data[i].shape[1];
    }
}

/* ---- traced ---- */

typedef struct mesh_values {
    ir_ref value, gradient, stride; /* u32 */
} mesh_values;

static mesh_values values_of(tracer *t, ir_ref mesh, uint32_t array)
{
    BL_ASSERT(array < mesh_array_count(t->plan->scene), "array %u of %u", array,
              mesh_array_count(t->plan->scene));
    ir_ref at = t_word(t, mesh, MESH_ARRAYS);
    return (mesh_values){t_word(t, at, 3 * array), t_word(t, at, 3 * array + 1),
                         t_word(t, at, 3 * array + 2)};
}

void mesh_vertex(tracer *t, const mesh_vertices *array, ir_ref index, ir_ref *out)
{
    BL_ASSERT(array->array < MESH_ATTRIBUTE, "array %d has no vertices of the mesh's own", (int)array->array);
    ir_func *f = t->f;
    ir_ref first = ir_mul(f, index, t_u32(t, array->components));
    for (uint32_t k = 0; k < array->components; k++)
        out[k] = t_real(t, ir_add(f, array->from, first), k);
    if (!(t->plan->moves >> array->array & 1))
        return;
    mesh_values v = values_of(t, array->mesh, array->array);
    ir_ref there = ir_ne(f, v.value, t_u32(t, PLAN_NONE)), zero = t_u32(t, 0);
    ir_ref value = ir_select(f, there, v.value, zero),
           at = ir_select(f, there, first, zero); /* a rectangle has no such parameters */
    for (uint32_t k = 0; k < array->components; k++)
        out[k] = ir_select(f, there, plan_value(t, value, v.gradient, true, t_offset(t, at, k)), out[k]);
}

ir_ref mesh_positions_requested(tracer *t, ir_ref mesh)
{
    mesh_values v = values_of(t, mesh, MESH_ARRAY_POSITIONS);
    ir_ref none = t_u32(t, PLAN_NONE);
    return ir_and(t->f, ir_ne(t->f, v.value, none), ir_ne(t->f, v.gradient, none));
}

/* The colour of vertex or face `index`; one channel is grey. */
static color color_of(tracer *t, const mesh_values *v, ir_ref index)
{
    ir_func *f = t->f;
    ir_ref first = ir_mul(f, index, v->stride),
           step = ir_shr(f, v->stride, t_u32(t, 1)); /* of 3 channels 1, of 1 channel 0 */
    COLOR_EACH(r, plan_value(t, v->value, v->gradient, t->plan->moves & MOVE_ATTRIBUTES,
                             ir_add(f, first, ir_mul(f, step, t_u32(t, c)))));
    return r;
}

color mesh_attribute_at(tracer *t, uint32_t attribute, bool of_faces)
{
    ir_func *f = t->f;
    const surface *at = t->surface;
    BL_ASSERT(at, "an attribute is read where there is no surface");
    mesh_values v = values_of(t, at->mesh, MESH_ATTRIBUTE + attribute);
    if (of_faces)
        return color_of(t, &v, at->face);
    ir_ref corners = ir_add(f, t_word(t, at->mesh, MESH_FACES), ir_mul(f, at->face, t_u32(t, 3)));
    ir_ref weight[3] = {ir_sub(f, t_f32(t, 1), ir_add(f, at->b.x, at->b.y)), at->b.x, at->b.y};
    color sum = color_all(t_f32(t, 0));
    for (uint32_t k = 0; k < 3; k++) {
        color corner = color_of(t, &v, t_word(t, corners, k));
        for (uint32_t c = 0; c < 3; c++)
            sum.c[c] = t_mad(t, corner.c[c], weight[k], sum.c[c]);
    }
    return sum;
}
