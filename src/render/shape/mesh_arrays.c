/* SPDX-License-Identifier: BSD-3-Clause
 * Arrays of meshes that are parameters: vertex_positions (of a heightfield: heights), vertex_normals,
 * vertex_texcoords, and the attributes of vertices and faces. They are in world space, and those of a mesh in
 * a shapegroup are in the space of the group. Attributes are named as in the file (SHAPE.vertex_color,
 * [vertices, 3]).
 *
 * Several meshes may have the same material. So a material finds the arrays that it reads by way of the
 * surface: the words of the mesh say where they are (MESH_ARRAYS). The indices of vertices and faces are
 * detached; the values that they lead to are differentiated where the plan requests it. */
#include "render/classes.h"

/* ---- loading ---- */

uint32_t mesh_find_attribute(const render_scene *s, const char *name)
{
    for (uint32_t i = 0; i < s->attributes.count; i++)
        if (strcmp(s->attributes.data[i], name) == 0)
            return i;
    return PLAN_NONE;
}

/* Shapes that only lend a sensor their points have no name, and so they have no parameters. */
static bool has_parameters(const render_scene *s, const scene_object *o) { return s->names[o->index].name; }

/* The lower bound of an attribute's parameter. It is 0, as for the data of a texture, unless a value in the
 * file is below 0. */
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

/* In Mitsuba a rectangle has no vertices, so here it has no such parameters. */
static bool is_mesh(const render_shape *shape)
{
    return shape->kind == SHAPE_TRIANGLES && shape->object->cls != &shape_rectangle.base.plugin;
}

static bool has_steps(const scene_object *o)
{
    bool filtered = o->cls == &texture_bitmap.base.plugin || o->cls == &volume_gridvolume.base.plugin;
    return o->cls == &texture_checkerboard.base.plugin ||
           (filtered && strcmp(scene_get(o, "filter_type")->text, "nearest") == 0);
}

/* Whether the value of a texture jumps somewhere. Where uv moves, such steps move with it. */
bool texture_has_steps(const scene_object *o) { return scene_any(o, has_steps); }

/* Whether lobes of the material turn when texture coordinates change. */
static bool directions_move_by_uv(const render_scene *s, const scene_object *bsdf)
{
    const bsdf_class *cls = (const bsdf_class *)(const void *)bsdf->cls;
    bool any =
        cls->directions_move_by_uv && cls->directions_move_by_uv(bsdf) && bsdf_directions_move(s, bsdf);
    for (uint32_t k = 0; k < bsdf->child_count; k++)
        any |= directions_move_by_uv(s, bsdf->children[k]);
    return any;
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
            mesh_positions array = {.name = arrays[k].name,
                                    .rank = 2,
                                    .shape = {shape->vertex_count, arrays[k].channels},
                                    .source = s->geometry.data[shape->data + arrays[k].word]};
            if (array.source == PLAN_NONE)
                continue;
            if (k == MESH_ARRAY_POSITIONS)
                heights_array(s, shape, &array);
            uint32_t p = render_add_geometry(s, shape->object, array.name, PLAN_ARRAY_SLOT + k, array.rank,
                                             array.shape, array.source);
            if (shape->bsdf && ((k == MESH_ARRAY_NORMALS && bsdf_directions_move(s, shape->bsdf)) ||
                                (k == MESH_ARRAY_UVS && directions_move_by_uv(s, shape->bsdf))))
                render_turns(s, p);
        }
    }
}

/* ---- words ---- */

uint32_t mesh_array_count(const render_scene *s) { return MESH_ATTRIBUTE + s->attributes.count; }

uint32_t mesh_first_count(const render_scene *s)
{
    return s->mode->light == LIGHT_SPECTRAL ? s->attributes.count : 0;
}

static bool is_attribute(const render_parameter *p, uint32_t attribute)
{
    return p->slot == PLAN_ARRAY_SLOT + MESH_ATTRIBUTE + attribute;
}

uint32_t mesh_attribute_colours(const render_scene *s, uint32_t attribute)
{
    uint32_t all = 0;
    bool colours = false;
    for (uint32_t i = 0; i < s->parameters.count; i++)
        if (is_attribute(&s->parameters.data[i], attribute))
            all += s->parameters.data[i].shape[0], colours |= s->parameters.data[i].shape[1] == 3;
    return colours ? all : 0;
}

/* A list has a row for each mesh, in the order of parameters: the number of its first colour, where its
 * values and gradients stand, and how many values a colour has; and one more, which begins with PLAN_NONE. In
 * front of all lists a word for each attribute says where its own begins. */
enum { ROW_FIRST, ROW_VALUE, ROW_GRADIENT, ROW_STRIDE, ROW_WORDS };

uint32_t mesh_list_words(const render_scene *s)
{
    uint32_t words = 2 * s->attributes.count;
    for (uint32_t i = 0; i < s->parameters.count; i++)
        for (uint32_t a = 0; a < s->attributes.count; a++)
            words += is_attribute(&s->parameters.data[i], a) ? ROW_WORDS : 0;
    return words;
}

void mesh_write_lists(const plan *p, uint32_t at, uint32_t *words)
{
    const render_scene *s = p->scene;
    uint32_t *row = words + s->attributes.count;
    for (uint32_t a = 0; a < s->attributes.count; a++, row++) {
        uint32_t first = 0;
        words[a] = at + (uint32_t)(row - words);
        for (uint32_t i = 0; i < s->parameters.count; i++) {
            const render_parameter *of = &s->parameters.data[i];
            if (!is_attribute(of, a))
                continue;
            row[ROW_FIRST] = first, row[ROW_STRIDE] = of->shape[1];
            row[ROW_VALUE] = p->value_offset[i], row[ROW_GRADIENT] = p->gradient_offset[i];
            row += ROW_WORDS, first += of->shape[0];
        }
        *row = PLAN_NONE;
    }
}

/* The number of the mesh's first colour in an attribute. */
static uint32_t first_colour(const plan *p, const render_shape *shape, uint32_t attribute)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < p->scene->parameters.count; i++) {
        const render_parameter *of = &p->scene->parameters.data[i];
        if (is_attribute(of, attribute) && of->object == shape->object->index)
            break;
        first += is_attribute(of, attribute) ? of->shape[0] : 0;
    }
    return first;
}

void mesh_array_words(const plan *p, const render_shape *shape, uint32_t *words)
{
    uint32_t *first = words + 3 * mesh_array_count(p->scene);
    for (uint32_t a = 0; a < mesh_first_count(p->scene); a++)
        first[a] = first_colour(p, shape, a);
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

/* The words of an array of the mesh: where its values and gradients stand, and how many values a vertex or
 * face has. */
static mesh_values values_of(tracer *t, ir_ref mesh, uint32_t array)
{
    BL_ASSERT(array < mesh_array_count(t->plan->scene), "array %u of %u", array,
              mesh_array_count(t->plan->scene));
    ir_ref at = t_word(t, mesh, MESH_ARRAYS);
    return (mesh_values){t_word(t, at, 3 * array), t_word(t, at, 3 * array + 1),
                         t_word(t, at, 3 * array + 2)};
}

/* Whether positions of some mesh are among the values: of heightfields, or of other meshes. */
static bool positions_stored(const plan *p, bool heights)
{
    const render_scene *s = p->scene;
    bool any = false;
    for (uint32_t i = 0; i < s->parameters.count; i++)
        any |= s->parameters.data[i].slot == PLAN_ARRAY_SLOT + MESH_ARRAY_POSITIONS &&
               p->value_offset[i] != PLAN_NONE && (s->parameters.data[i].rank == 3) == heights;
    return any;
}

/* Replaces the position of a vertex of a heightfield by what the values say of its height. */
static void raise_vertex(tracer *t, const mesh_vertices *array, ir_ref index, ir_ref out[3])
{
    ir_func *f = t->f;
    ir_ref grid = t_word(t, array->mesh, MESH_HEIGHTS), zero = t_u32(t, 0);
    mesh_values v = values_of(t, array->mesh, array->array);
    ir_ref is = ir_and(f, ir_ne(f, grid, zero), ir_ne(f, v.value, t_u32(t, PLAN_NONE)));
    ir_ref height =
        plan_value(t, ir_select(f, is, v.value, zero), v.gradient, true, ir_select(f, is, index, zero));
    vec3 p = v3_select(t, is, heights_vertex(t, ir_select(f, is, grid, zero), index, height), vec3_at(out));
    vec3_put(p, out);
}

/* bool: where requested normals and those derived from positions are differentiated by different kernels,
 * whether these are for the kernels of the plan. */
static ir_ref for_this_part(tracer *t, const mesh_vertices *array, ir_ref gradient, ir_ref there)
{
    const plan *p = t->plan;
    if (p->split == PLAN_TOGETHER || array->array != MESH_ARRAY_NORMALS || !p->normals_derived)
        return there;
    ir_ref own = ir_lt(t->f, gradient, t_u32(t, p->first_derived));
    return ir_and(t->f, there, p->split == PLAN_OTHERS ? own : ir_not(t->f, own));
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
    bool heights = array->array == MESH_ARRAY_POSITIONS && positions_stored(t->plan, true);
    if (heights)
        raise_vertex(t, array, index, out);
    if (heights && !positions_stored(t->plan, false))
        return;
    mesh_values v = values_of(t, array->mesh, array->array);
    ir_ref there = ir_ne(f, v.value, t_u32(t, PLAN_NONE)), zero = t_u32(t, 0);
    there = for_this_part(t, array, v.gradient, there);
    if (heights)
        there = ir_and(f, there, ir_eq(f, t_word(t, array->mesh, MESH_HEIGHTS), zero));
    /* A rectangle has no such parameters. */
    ir_ref value = ir_select(f, there, v.value, zero), at = ir_select(f, there, first, zero);
    for (uint32_t k = 0; k < array->components; k++)
        out[k] = ir_select(f, there, plan_value(t, value, v.gradient, true, t_offset(t, at, k)), out[k]);
}

ir_ref mesh_positions_requested(tracer *t, ir_ref mesh)
{
    mesh_values v = values_of(t, mesh, MESH_ARRAY_POSITIONS);
    ir_ref none = t_u32(t, PLAN_NONE);
    return ir_and(t->f, ir_ne(t->f, v.value, none), ir_ne(t->f, v.gradient, none));
}

/* The colour of vertex or face `index`. An attribute of one channel is grey. */
static color color_of(tracer *t, const mesh_values *v, ir_ref index)
{
    ir_func *f = t->f;
    /* The step from channel to channel is 1 for 3 channels, and 0 for 1 channel. */
    ir_ref first = ir_mul(f, index, v->stride), step = ir_shr(f, v->stride, t_u32(t, 1));
    COLOR_EACH(r, plan_value(t, v->value, v->gradient, t->plan->moves & MOVE_ATTRIBUTES,
                             ir_add(f, first, ir_mul(f, step, t_u32(t, c)))));
    return r;
}

color mesh_attribute_at(tracer *light, uint32_t attribute, bool of_faces)
{
    tracer raw = light_raw(light), *t = &raw;
    ir_func *f = t->f;
    const surface *at = t->surface;
    BL_ASSERT(at, "an attribute is read where there is no surface");
    mesh_values v = values_of(t, at->mesh, MESH_ATTRIBUTE + attribute);
    if (of_faces)
        return light_of_rgb(light, color_of(t, &v, at->face).c);
    ir_ref corners = ir_add(f, t_word(t, at->mesh, MESH_FACES), ir_mul(f, at->face, t_u32(t, 3)));
    ir_ref weight[3] = {ir_sub(f, t_f32(t, 1), ir_add(f, at->b.x, at->b.y)), at->b.x, at->b.y};
    color sum = color_all(t_f32(t, 0));
    for (uint32_t k = 0; k < 3; k++) {
        color corner = color_of(t, &v, t_word(t, corners, k));
        for (uint32_t c = 0; c < 3; c++)
            sum.c[c] = t_mad(t, corner.c[c], weight[k], sum.c[c]);
    }
    return light_of_rgb(light, sum.c);
}

color mesh_attribute_light(tracer *t, const class_node *n, ir_ref record, uint32_t attribute, bool of_faces)
{
    ir_func *f = t->f;
    const surface *at = t->surface;
    BL_ASSERT(at, "an attribute is read where there is no surface");
    ir_ref first =
        t_word(t, t_word(t, at->mesh, MESH_ARRAYS), 3 * mesh_array_count(t->plan->scene) + attribute);
    if (of_faces)
        return plan_spectral(t, n, record, ir_add(f, first, at->face));
    ir_ref corners = ir_add(f, t_word(t, at->mesh, MESH_FACES), ir_mul(f, at->face, t_u32(t, 3)));
    ir_ref weight[3] = {ir_sub(f, t_f32(t, 1), ir_add(f, at->b.x, at->b.y)), at->b.x, at->b.y}, index[3];
    for (uint32_t k = 0; k < 3; k++)
        index[k] = ir_add(f, first, t_word(t, corners, k));
    return plan_spectral_mix(t, n, record, index, weight, 3);
}

void mesh_attribute_colour(tracer *light, uint32_t attribute, ir_ref k, ir_ref rgb[3])
{
    tracer raw = light_raw(light), *t = &raw;
    ir_func *f = t->f;
    ir_ref row = t_word(t, plan_attributes(light), attribute), step = t_u32(t, ROW_WORDS),
           loop = ir_loop(f, &row, 1);
    ir_while(f, ir_le(f, t_word(t, ir_add(f, row, step), ROW_FIRST), k));
    ir_ref next = ir_add(f, row, step);
    ir_endloop(f, loop, &next, 1);
    const mesh_values v = {t_word(t, row, ROW_VALUE), t_word(t, row, ROW_GRADIENT),
                           t_word(t, row, ROW_STRIDE)};
    color c = color_of(t, &v, ir_sub(f, k, t_word(t, row, ROW_FIRST)));
    for (uint32_t i = 0; i < 3; i++)
        rgb[i] = c.c[i];
}
