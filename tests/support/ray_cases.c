/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/ray_cases.h"

#include "render/classes.h"
#include "support/scene_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t random_state;
double ray_uniform(double low, double high) { return low + (high - low) * scene_random(&random_state); }

/* ---- kernels ---- */

static ir_func *trace_intersect(ir_module *m, const plan *p, const shape_kind_class *kind)
{
    ir_func *f = ir_func_create(m, kind->name);
    tracer t = plan_tracer(p, f);
    ir_ref entry = ir_param(f, IR_U32), r[8], out[3];
    for (int k = 0; k < 8; k++)
        r[k] = ir_param(f, IR_F32);
    kind->intersect(&t, entry, &(shape_ray){vec3_at(r), vec3_at(r + 3), r[6], r[7]}, out);
    ir_return(f, out, 3);
    return f;
}

uint32_t ray_trace_kinds(ir_module *m, const plan *p, ir_func **intersect)
{
    uint32_t kinds = 0;
    for (int k = 0; k < SHAPE_KIND_COUNT; k++)
        if (p->scene->kind_used[k])
            intersect[kinds++] = trace_intersect(m, p, shape_kinds[k]);
    return kinds;
}

/* ---- worlds ---- */

static void add_primitives(ray_world *w)
{
    const render_scene *s = w->scene;
    w->count = s->primitives.count;
    w->primitives = calloc(w->count + 1u, sizeof *w->primitives);
    assert_non_null(w->primitives);
    for (uint32_t i = 0; i < w->count; i++) {
        const uint32_t *entry = s->primitives.data[i].entry;
        ray_primitive *q = &w->primitives[i];
        float real[9];
        memcpy(real, entry, sizeof real);
        *q = (ray_primitive){
            .kind = entry[9],
            .shape = entry[10],
            .index = entry[11],
            .radius = (double)real[entry[9] == SHAPE_CYLINDER ? 6 : 3],
        };
        for (int k = 0; k < 3; k++)
            q->p[k] = (double)real[k], q->a[k] = q->kind == SHAPE_SPHERE ? 0 : (double)real[3 + k],
            q->b[k] = q->kind == SHAPE_SPHERE ? 0 : (double)real[6 + k];
    }
}

ray_world ray_world_load(const char *shapes, const char *folder)
{
    ray_world w = {0};
    bl_error err = {0};
    scene_load_options o = {.registry = &render_registry};
    scene_description *d;
    text xml = {0};
    text_add(&xml, "<scene version='3.0.0'><sensor type='perspective'/>%s</scene>", shapes);
    if (scene_load_string(xml.data, folder, &o, &d, &err) != BL_OK ||
        render_scene_create(d, NULL, &w.scene, &err) != BL_OK)
        fail_msg("%s", err.text);
    text_free(&xml);
    add_primitives(&w);
    return w;
}

void ray_world_free(ray_world *w)
{
    render_scene_destroy(w->scene);
    free(w->primitives);
}

const char *const ray_soup_file = "ray_cases_soup.ply", *const ray_ball_file = "ray_cases_ball.ply";

static FILE *open_ply(const char *name, uint32_t vertices, uint32_t faces)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fprintf(f,
            "ply\nformat ascii 1.0\nelement vertex %u\nproperty float x\nproperty float y\nproperty float "
            "z\nelement face %u\n"
            "property list uchar int vertex_indices\nend_header\n",
            vertices, faces);
    return f;
}

/* Separate triangles of all sizes, and a patch that is flat. */
void ray_write_soup(uint32_t faces)
{
    FILE *f = open_ply(ray_soup_file, 3 * faces, faces);
    for (uint32_t i = 0; i < faces; i++) {
        double centre[3], size = i % 7 ? 0.2 : 0.8;
        for (int k = 0; k < 3; k++)
            centre[k] = ray_uniform(-1, 1);
        for (int c = 0; c < 3; c++)
            fprintf(f, "%.9g %.9g %.9g\n", centre[0] + ray_uniform(-size, size),
                    centre[1] + ray_uniform(-size, size),
                    i % 5 ? centre[2] + ray_uniform(-size, size) : 0.25);
    }
    for (uint32_t i = 0; i < faces; i++)
        fprintf(f, "3 %u %u %u\n", 3 * i, 3 * i + 1, 3 * i + 2);
    fclose(f);
}

/* A closed bumpy ball of 2 n^2 triangles. */
void ray_write_ball(uint32_t n)
{
    FILE *f = open_ply(ray_ball_file, n * n, 2 * n * (n - 1));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            double theta = 3.14159265358979 * (i + 0.001) / (n - 0.998), phi = 6.28318530717959 * j / n,
                   r = 1 + 0.05 * sin(9 * theta) * cos(7 * phi);
            fprintf(f, "%.9g %.9g %.9g\n", r * sin(theta) * cos(phi), r * sin(theta) * sin(phi),
                    r * cos(theta));
        }
    for (uint32_t i = 0; i + 1 < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            uint32_t a = i * n + j, b = i * n + (j + 1) % n;
            fprintf(f, "3 %u %u %u\n3 %u %u %u\n", a, a + n, b, b, a + n, b + n);
        }
    fclose(f);
}

void ray_add_spheres(text *xml, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_add(xml,
                 "<shape type='sphere'><point name='center' value='%.6f,%.6f,%.6f'/><float name='radius' "
                 "value='%.6f'/></shape>",
                 ray_uniform(-1, 1), ray_uniform(-1, 1), ray_uniform(-1, 1), ray_uniform(0.01, 0.15));
}

/* Of unit length, because <rotate> takes it as it stands. */
static const char *axis(uint32_t i) { return i % 3 ? "value='.48,.6,.64'" : "y='1'"; }

/* Ellipses too; every third in the plane of two axes, so that its box has no thickness. */
void ray_add_disks(text *xml, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_add(xml,
                 "<shape type='disk'><transform name='to_world'><scale value='%.6f,%.6f,1'/><rotate %s "
                 "angle='%.6f'/>"
                 "<translate value='%.6f,%.6f,%.6f'/></transform></shape>",
                 ray_uniform(0.02, 0.2), ray_uniform(0.02, 0.2), axis(i),
                 i % 3 ? ray_uniform(0, 360) : 90.0 * (i % 4), ray_uniform(-1, 1), ray_uniform(-1, 1),
                 ray_uniform(-1, 1));
}

void ray_add_cylinders(text *xml, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        text_add(xml,
                 "<shape type='cylinder'><float name='radius' value='%.6f'/><transform "
                 "name='to_world'><scale z='%.6f'/><rotate %s "
                 "angle='%.6f'/><translate value='%.6f,%.6f,%.6f'/></transform></shape>",
                 ray_uniform(0.01, 0.15), ray_uniform(0.05, 0.5), axis(i),
                 i % 3 ? ray_uniform(0, 360) : 90.0 * (i % 4), ray_uniform(-1, 1), ray_uniform(-1, 1),
                 ray_uniform(-1, 1));
}

void ray_add_ply(text *xml, const char *file)
{
    text_add(xml,
             "<shape type='ply'><string name='filename' value='%s'/><boolean name='face_normals' "
             "value='true'/></shape>",
             file);
}

/* ---- rays ---- */

/* A point of the primitive where its edge is, or of the silhouette that `from` sees; now and then off by a
 * few roundings. */
static void edge_point(const ray_primitive *q, const double *from, double *out)
{
    double s = ray_uniform(0, 1), angle = ray_uniform(0, 6.28318), away[3], side[3],
           scale = 1 + ray_uniform(-1, 1) * (scene_random(&random_state) < 0.5 ? 3e-7 : 0);
    for (int k = 0; k < 3; k++)
        away[k] = from[k] - q->p[k];
    if (q->kind == SHAPE_SPHERE) {
        double other[3] = {ray_uniform(-1, 1), ray_uniform(-1, 1), ray_uniform(-1, 1)},
               distance = ray_length(away), sine = q->radius / distance;
        ray_cross(away, other, side);
        double cosine = sqrt(fmax(0, 1 - sine * sine)), size = ray_length(side) + 1e-30;
        for (int k = 0; k < 3;
             k++) /* the tangent point: radius at the angle from `away` whose cosine is radius / distance */
            out[k] = q->p[k] + scale * q->radius * (away[k] / distance * sine + side[k] / size * cosine);
        return;
    }
    double u = cos(angle), v = sin(angle);
    if (q->kind == SHAPE_CYLINDER) { /* near a rim, at the side */
        double other[3] = {ray_uniform(-1, 1), ray_uniform(-1, 1), ray_uniform(-1, 1)};
        ray_cross(q->a, other, side);
        for (int k = 0; k < 3; k++)
            out[k] = q->p[k] + (s < 0.5 ? 0 : 1) * q->a[k] +
                     scale * q->radius * side[k] / (ray_length(side) + 1e-30);
        return;
    }
    if (q->kind == SHAPE_TRIANGLES) {
        int edge = (int)ray_uniform(0, 2.999);
        if (scene_random(&random_state) < 0.1)
            s = 0; /* a corner */
        u = edge == 0 ? s : edge == 1 ? 0 : s, v = edge == 0 ? 0 : edge == 1 ? s : 1 - s;
    }
    for (int k = 0; k < 3; k++)
        out[k] = q->p[k] + scale * (u * q->a[k] + v * q->b[k]);
}

void ray_make(const ray_world *w, uint32_t i, float *line)
{
    double o[3], to[3], d[3];
    for (int k = 0; k < 3; k++)
        o[k] = (double)(float)ray_uniform(-2, 2), to[k] = ray_uniform(-1, 1);
    if (i % 4 == 1)
        edge_point(&w->primitives[(uint32_t)ray_uniform(0, w->count - 1e-6)], o, to);
    for (int k = 0; k < 3; k++)
        d[k] = i % 16 == 2 && (i / 16 % 7 + 1) >> k & 1 ? 0 : to[k] - o[k]; /* parallel to planes and axes */
    double size = ray_length(d);
    for (int k = 0; k < 3; k++)
        line[k] = (float)o[k], line[3 + k] = size > 0 ? (float)(d[k] / size) : (float)(k == (int)(i % 3));
    line[6] = 0, line[7] = i % 8 == 3 ? (float)(size * ray_uniform(0.5, 1)) : 1e30f;
    if (i % 64 == 7)
        line[7] = i % 128 == 7 ? -1 : line[6];
    if (i % 256 == 9)
        line[i / 256 % 6] = i % 512 == 9 ? NAN : INFINITY;
}

void ray_add_group_shape(text *xml, uint32_t k, const char *then)
{
    uint32_t kept = random_state;
    random_state = 17 * k + 3; /* the same shape whenever it is asked for */
    const char *type = k % 2 ? "sphere" : "cylinder";
    double size = ray_uniform(0.02, 0.2), x = ray_uniform(-1, 1), y = ray_uniform(-1, 1),
           z = ray_uniform(-1, 1);
    if (k % 4 == 3)
        type = "disk";
    if (k % 8 == 0)
        type = "cube";
    text_add(xml,
             "<shape type='%s'><transform name='to_world'><scale value='%.6f'/><rotate y='1' "
             "angle='%u'/><translate value='%.6f,%.6f,%.6f'/>%s</transform></shape>",
             type, size, 25 * k, x, y, z, then);
    random_state = kept;
}

/* ---- odd rays ---- */

static void farther(float *line, float by)
{
    for (int k = 0; k < 3; k++)
        line[k] -= by * line[3 + k];
}

/* Gives one axis of a direction this component, and the others the rest of the length, which spheres take
 * for 1. */
static void turn(float *d, uint32_t axis, float component)
{
    double to[3] = {(double)d[0], (double)d[1], (double)d[2]};
    to[axis] = 0;
    double length = ray_length(to);
    for (int k = 0; k < 3 && length > 0; k++)
        d[k] = (float)(to[k] / length);
    d[axis] = component;
}

void ray_make_odd(const ray_world *w, uint32_t i, float *line)
{
    float *d = line + 3;
    switch (i % 16) {
    case 0:
        line[6] = (float)ray_uniform(0, 2);
        break;
    case 1:
        line[6] = (float)ray_uniform(0, 2), line[7] = line[6] + (float)ray_uniform(0, .3);
        break;
    case 2:
        farther(line, 1e3f);
        break;
    case 3:
        farther(line, 1e4f);
        break;
    case 4:
        turn(d, i / 16 % 3, i / 48 % 2 ? -1e-40f : 1e-40f);
        break;
    case 5:
        turn(d, i / 16 % 3, i / 48 % 2 ? -1e-10f : -0.0f);
        break;
    case 6:
        line[7] = i / 16 % 2 ? 1e-40f : FLT_TRUE_MIN;
        break;
    case 7:
        turn(d, i / 16 % 3, i / 48 % 2 ? 1e-9f : -2e-9f);
        break;
    case 8:
        line[7] = i / 16 % 2 ? FLT_MAX : INFINITY;
        break;
    case 9:
        line[i / 16 % 2 ? 6 : 7] = NAN;
        break;
    case 10:
        line[6] = INFINITY;
        break;
    case 11:
        line[6] = line[7];
        break;
    case 12:
        d[0] = d[1] = d[2] = 0;
        break;
    case 13:
        d[i / 16 % 3] = i / 48 % 2 ? INFINITY : NAN;
        break;
    case 14:
        line[i / 16 % 3] = i / 48 % 2 ? -INFINITY : -1e-40f;
        break;
    default: /* from the corner of a primitive */
        for (int k = 0; k < 3 && w->count; k++)
            line[k] = (float)w->primitives[i / 16 % w->count].p[k];
    }
}
