/* SPDX-License-Identifier: BSD-3-Clause
 * Translation t, rotation r and scale s of a shape or an instance, which act besides its to_world M:
 *
 *     x -> c + t + s R(r) (M x - c),    c = M p.
 *
 * t is in the space that to_world leads to, and r turns about the axes of that space. The pivot p is the
 * origin of the shape's own space; of a sphere it is the centre. Where the file gives no to_world, the shape
 * stands in the world as it was modelled, and its own origin says nothing: there p is the middle of its box.
 *
 * The matrix of all this is a derived value, and stands where kernels that move the shape would else find
 * to_world (to_world.c). So what moves by these parameters moves as by to_world. At 0, 0, 1, with which every
 * scene begins, it is exactly M. */
#include "render/classes.h"
#include "render/rotation.h"

/* The extra words: where the values of to_world stand, and the pivot. */
enum extra { EXTRA_TO_WORLD, EXTRA_PIVOT, EXTRA_WORDS = EXTRA_PIVOT + 3 };

/* ---- host ---- */

static void middle_of(const float box[6], double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = 0.5 * ((double)box[k] + (double)box[3 + k]);
}

/* The box of a shape as it was loaded. */
static void box_of(const render_scene *s, const render_shape *shape, float out[6])
{
    for (int k = 0; k < 3; k++)
        out[k] = INFINITY, out[3 + k] = -INFINITY;
    for (uint32_t i = 0; i < shape->primitive_count; i++) {
        const float *own = s->primitives.data[shape->first_entry_primitive + i].bounds;
        for (int k = 0; k < 3; k++)
            out[k] = fminf(out[k], own[k]), out[3 + k] = fmaxf(out[3 + k], own[3 + k]);
    }
}

/* The box of what stands at the place, in the space that to_world leads to. Empty if it has no primitives. */
static void box_at(const render_scene *s, const render_place *place, float out[6])
{
    for (uint32_t k = 0; k < s->instances.count; k++)
        if (s->instances.data[k].object == place->object)
            memcpy(out, s->groups.data[s->instances.data[k].group].bounds, 6 * sizeof *out);
    for (uint32_t i = 0; i < s->shapes.count; i++)
        if (s->shapes.data[i].object == place->object)
            box_of(s, &s->shapes.data[i], out);
}

void pose_pivot(const render_scene *s, const render_place *place, double out[3])
{
    float box[6] = {0};
    const scene_object *o = place->object;
    memset(out, 0, 3 * sizeof *out);
    if (o->cls == &shape_sphere.base.plugin) {
        memcpy(out, scene_get(o, "center")->vector, 3 * sizeof *out);
    } else if (!scene_get(o, "to_world")->given) {
        box_at(s, place, box);
        if (box[0] <= box[3])
            middle_of(box, out);
    }
}

/* out = by m, in the upper left 3x3; and the origin for which pivot goes `move` from where m takes it. */
static void map(const double by[3][3], const double pivot[3], const double move[3], const double m[16],
                double out[16])
{
    for (int i = 0; i < 16; i++)
        out[i] = i == 15;
    for (int i = 0; i < 3; i++) {
        out[4 * i + 3] = m[4 * i + 3] + move[i];
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 3; k++)
                out[4 * i + j] += by[i][k] * m[4 * k + j];
            out[4 * i + 3] += (m[4 * i + j] - out[4 * i + j]) * pivot[j];
        }
    }
}

void pose_apply(const pose_values *pose, const double pivot[3], const double m[16], double out[16])
{
    double by[3][3];
    rotation_matrix(pose->rotation, by);
    for (int i = 0; i < 9; i++)
        by[i / 3][i % 3] *= pose->scale;
    map(by, pivot, pose->translation, m, out);
}

void pose_undo(const pose_values *pose, const double pivot[3], const double m[16], double out[16])
{
    double by[3][3], back[3][3], move[3];
    rotation_matrix(pose->rotation, by);
    for (int i = 0; i < 9; i++)
        back[i / 3][i % 3] = by[i % 3][i / 3] / pose->scale;
    for (int k = 0; k < 3; k++)
        move[k] = -pose->translation[k];
    map(back, pivot, move, m, out);
}

static void pose_extra(const plan *p, const scene_object *o, uint32_t *words)
{
    const render_scene *s = p->scene;
    for (uint32_t i = 0; i < s->places.count; i++)
        if (s->places.data[i].pose == o) {
            double pivot[3];
            pose_pivot(s, &s->places.data[i], pivot);
            words[EXTRA_TO_WORLD] = p->value_offset[s->places.data[i].to_world];
            for (int k = 0; k < 3; k++)
                words[EXTRA_PIVOT + k] = float_word((float)pivot[k]);
        }
}

/* ---- traced ---- */

static vec3 three(tracer *t, const class_node *n, ir_ref record, uint32_t slot)
{
    ir_ref e[3];
    for (uint32_t k = 0; k < 3; k++)
        e[k] = plan_load(t, n, record, n->field[slot], slot, t_u32(t, k));
    return vec3_at(e);
}

/* The matrix in three rows of four. to_world is not differentiated: it and these parameters are not requested
 * together. */
static void pose_update(tracer *t, const class_node *n, ir_ref record, ir_ref *derived)
{
    ir_func *f = t->f;
    vec3 turned[3], to_world[4], linear[3], pivot = v3_load(t, record, n->extra_word + EXTRA_PIVOT);
    ir_ref scale = plan_load(t, n, record, n->field[POSE_SCALE], POSE_SCALE, t_u32(t, 0)),
           from = t_word(t, record, n->extra_word + EXTRA_TO_WORLD);
    rotation_columns(t, three(t, n, record, POSE_ROTATION), turned);
    for (uint32_t k = 0; k < 4; k++) {
        ir_ref e[3];
        for (uint32_t row = 0; row < 3; row++)
            e[row] = ir_load(f, IR_F32, BUFFER_VALUES, t_offset(t, from, 4 * row + k));
        to_world[k] = vec3_at(e);
    }
    const affine_map turn = {{turned[0], turned[1], turned[2]}};
    for (uint32_t k = 0; k < 3; k++)
        linear[k] = v3_scale(t, affine_vector(t, &turn, to_world[k]), scale);
    /* The pivot stays but for the translation. */
    const affine_map before = {{to_world[0], to_world[1], to_world[2]}},
                     after = {{linear[0], linear[1], linear[2]}};
    vec3 origin = v3_add(t, v3_add(t, to_world[3], three(t, n, record, POSE_TRANSLATION)),
                         v3_sub(t, affine_vector(t, &before, pivot), affine_vector(t, &after, pivot)));
    const vec3 columns[4] = {linear[0], linear[1], linear[2], origin};
    for (uint32_t k = 0; k < 4; k++)
        derived[k] = columns[k].x, derived[4 + k] = columns[k].y, derived[8 + k] = columns[k].z;
}

static const plugin_param pose_params[] = {
    [POSE_TRANSLATION] = {"translation", PLUGIN_POINT, PLUGIN_DIFFERENTIABLE, NULL, 0, 0,
                          "in the space that to_world leads to"},
    [POSE_ROTATION] = {"rotation", PLUGIN_POINT, PLUGIN_DIFFERENTIABLE, NULL, 0, 0,
                       "about the pivot, by the vector's length in radians"},
    [POSE_SCALE] = {"scale", PLUGIN_FLOAT, PLUGIN_DIFFERENTIABLE, NULL, 1e-6, 1e6, "about the pivot"},
};
/* No plugin that files name: render_add_places makes its objects. */
const render_class shape_pose = {
    .plugin = {PLUGIN_SHAPE, "pose", PLUGIN_TABLE(pose_params), NULL, 0, "where a shape is"},
    .extra_words = EXTRA_WORDS,
    .extra = pose_extra,
    .derived_count = 12,
    .update = pose_update,
};
