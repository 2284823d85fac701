/* LABELS: swiftshader native rayquery */
/* SPDX-License-Identifier: BSD-3-Clause
 * The caller's rays: closest and any hits against a search through all primitives in double precision, in
 * baked geometry, in a hierarchy and with instances, before and after vertices move; the same bytes however
 * rays are cut into calls, and from SwiftShader and the native device; what is no ray; the camera's rays
 * against the image of distances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_cases.h"
#include "support/scene_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MOST = 24, VERTICES_MOST = SIDE_MOST * SIDE_MOST, RAYS = 4000, WIDTH = 24, HEIGHT = 20 };

static scene_device device;
static char *folder;

/* ---- the scene: a grid of triangles, a ball, and a copy of both that is turned ---- */

static const double ball[4] = {-.3, .2, .7, .35};
static const double turned[12] = {0, -.5, 0, 1.2, .5, 0, 0, .1, 0, 0, .5, .3}; /* of the instance */

typedef struct model {
    uint32_t side; /* vertices */
    bool instance;
    float positions[3 * VERTICES_MOST];
} model;

static uint32_t faces_of(const model *m) { return 2 * (m->side - 1) * (m->side - 1); }
static uint32_t numbers_of(const model *m) { return 3 * m->side * m->side; }

static void face(const model *m, uint32_t index, uint32_t out[3])
{
    uint32_t cell = index / 2, p = cell / (m->side - 1) * m->side + cell % (m->side - 1), r = p + m->side;
    out[0] = p, out[1] = index % 2 ? r + 1 : p + 1, out[2] = index % 2 ? r : r + 1;
}

static void shake(model *m, double by, uint32_t seed)
{
    for (uint32_t i = 0; i < m->side * m->side; i++) {
        double p[3] = {2.0 * (i % m->side) / (m->side - 1) - 1, 2.0 * (i / m->side) / (m->side - 1) - 1, 0};
        for (int k = 0; k < 3; k++)
            m->positions[3 * i + k] = (float)(p[k] + by * (2 * scene_random(&seed) - 1));
    }
}

static void write_grid(const model *m)
{
    arena a = {0};
    FILE *f = fopen(arena_printf(&a, "%s/grid.ply", folder), "w");
    assert_non_null(f);
    fprintf(f,
            "ply\nformat ascii 1.0\nelement vertex %u\nproperty float x\nproperty float y\nproperty float "
            "z\nelement face %u\nproperty list uchar int vertex_indices\nend_header\n",
            m->side * m->side, faces_of(m));
    for (uint32_t i = 0; i < m->side * m->side; i++)
        fprintf(f, "%.9g %.9g %.9g\n", (double)m->positions[3 * i], (double)m->positions[3 * i + 1],
                (double)m->positions[3 * i + 2]);
    for (uint32_t i = 0; i < faces_of(m); i++) {
        uint32_t v[3];
        face(m, i, v);
        fprintf(f, "3 %u %u %u\n", v[0], v[1], v[2]);
    }
    assert_int_equal(fclose(f), 0);
    arena_free(&a);
}

static const char shapes[] =
    "<shape type='ply' id='grid'><string name='filename' value='grid.ply'/><boolean name='face_normals' "
    "value='true'/></shape><shape type='sphere' id='ball'><point name='center' x='-.3' y='.2' z='.7'/>"
    "<float name='radius' value='.35'/></shape>";

static bl_scene *load(const model *m)
{
    arena a = {0};
    write_grid(m);
    const char *body = shapes;
    if (m->instance)
        body = arena_printf(&a,
                            "<shape type='shapegroup' id='group'>%s</shape><shape type='instance' id='first'>"
                            "<ref id='group'/></shape><shape type='instance' id='second'><transform "
                            "name='to_world'><matrix value='0 -.5 0 1.2 .5 0 0 .1 0 0 .5 .3 0 0 0 1'/>"
                            "</transform><ref id='group'/></shape>",
                            shapes);
    bl_scene *scene = scene_device_load(
        &device,
        scene_xml(&a, "<integrator type='depth'/>",
                  "<sensor type='perspective'><float name='fov' value='50'/><transform name='to_world'>"
                  "<lookat origin='.4,-2.6,2.4' target='0,0,.2' up='0,0,1'/></transform><film type='hdrfilm'>"
                  "<integer name='width' value='24'/><integer name='height' value='20'/><rfilter type='box'/>"
                  "</film></sensor>",
                  body),
        folder);
    arena_free(&a);
    return scene;
}

static bl_job *make_job(bl_device *on, const bl_scene *scene, bool changes, bool no_baking)
{
    bl_job *job = NULL;
    SCENE_MUST(&device, bl_job_create(on, scene,
                                      &(bl_job_desc){.geometry_changes = changes,
                                                     .no_baking = no_baking,
                                                     .rays = scene_device_rays()},
                                      &job));
    return job;
}

/* ---- the search ---- */

typedef struct found {
    double t, u, v, margin; /* margin: how far the decision is from another one */
    uint32_t primitive, instance;
    bool is_ball;
} found;

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross(const double *a, const double *b, double *out)
{
    for (int k = 0; k < 3; k++)
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

/* A candidate at t; inside: how far it is from the primitive's edge, negative outside. */
static void offer(found *best, const bl_ray *r, const found *c, double inside)
{
    const double near = 1e-4;
    double to_ends = fmin(c->t - (double)r->tmin, (double)r->tmax - c->t);
    double clear = fmin(inside, to_ends);
    if (clear < -near)
        return;
    if (clear < near) { /* may count or not */
        best->margin = fmin(best->margin, c->t < best->t + near ? 0 : best->margin);
        return;
    }
    double apart = fabs(c->t - best->t);
    if (c->t < best->t)
        *best = *c, best->margin = apart;
    else
        best->margin = fmin(best->margin, apart);
}

static void meet_face(const model *m, uint32_t index, const double o[3], const double d[3], const bl_ray *r,
                      found *best, bool *unclear)
{
    uint32_t v[3];
    double e1[3], e2[3], p[3], s[3], q[3];
    face(m, index, v);
    for (int k = 0; k < 3; k++) {
        double at = (double)m->positions[3 * v[0] + k];
        e1[k] = (double)m->positions[3 * v[1] + k] - at, e2[k] = (double)m->positions[3 * v[2] + k] - at;
        s[k] = o[k] - at;
    }
    cross(d, e2, p);
    double det = dot(e1, p);
    if (fabs(det) < 1e-9)
        return;
    cross(s, e1, q);
    found c = *best;
    c.is_ball = false, c.primitive = index, c.t = dot(e2, q) / det;
    c.u = dot(s, p) / det, c.v = dot(d, q) / det;
    double inside = fmin(fmin(c.u, c.v), 1 - c.u - c.v);
    found before = *best;
    offer(best, r, &c, inside);
    *unclear |= fabs(inside) < 1e-4 && c.t < before.t + 1e-4;
}

static void meet_ball(const double o[3], const double d[3], const bl_ray *r, found *best, bool *unclear)
{
    double f[3] = {o[0] - ball[0], o[1] - ball[1], o[2] - ball[2]};
    double a = dot(d, d), b = dot(f, d), c = dot(f, f) - ball[3] * ball[3], under = b * b - a * c;
    *unclear |= fabs(under) < 1e-3 * a;
    if (under <= 0)
        return;
    for (int side = -1; side <= 1; side += 2) {
        found hit = *best;
        hit.is_ball = true, hit.primitive = 0, hit.t = (-b + side * sqrt(under)) / a;
        offer(best, r, &hit, 1);
    }
}

/* Returns false where rounding may decide. */
static bool search(const model *m, const bl_ray *r, found *best)
{
    bool unclear = false;
    *best = (found){.t = INFINITY, .margin = INFINITY, .instance = BL_NO_HIT};
    for (uint32_t copy = 0; copy < (m->instance ? 2u : 1u); copy++) {
        double o[3], d[3];
        for (int k = 0; k < 3; k++)
            o[k] = (double)r->origin[k], d[k] = (double)r->direction[k];
        if (copy) { /* the matrix is half a rotation, so its inverse is four times its transpose */
            double from[3] = {o[0] - turned[3], o[1] - turned[7], o[2] - turned[11]}, to[3] = {0},
                   turn[3] = {0};
            for (int k = 0; k < 9; k++)
                to[k % 3] += 4 * turned[k / 3 * 4 + k % 3] * from[k / 3],
                    turn[k % 3] += 4 * turned[k / 3 * 4 + k % 3] * d[k / 3];
            memcpy(o, to, sizeof o), memcpy(d, turn, sizeof d);
        }
        found before = *best;
        for (uint32_t i = 0; i < faces_of(m); i++)
            meet_face(m, i, o, d, r, best, &unclear);
        meet_ball(o, d, r, best, &unclear);
        if (m->instance && best->t < before.t)
            best->instance = copy;
    }
    return !unclear && best->margin > 1e-4;
}

/* Rays from a box around the scene in all directions; every third one has an interval. */
static void random_rays(bl_ray *rays, uint32_t count)
{
    uint32_t seed = 5;
    for (uint32_t i = 0; i < count; i++) {
        rays[i] = (bl_ray){.tmax = INFINITY};
        double d[3];
        for (int k = 0; k < 3; k++)
            rays[i].origin[k] = (float)(3 * scene_random(&seed) - 1.5),
            d[k] = 2 * scene_random(&seed) - 1 - 0.3 * (double)rays[i].origin[k];
        for (int k = 0; k < 3; k++)
            rays[i].direction[k] = (float)(d[k] / sqrt(dot(d, d)));
        if (i % 3 == 0)
            rays[i].tmin = (float)scene_random(&seed), rays[i].tmax = rays[i].tmin + 1.5f;
    }
}

static void expect_hit(const bl_scene *scene, const found *wanted, const bl_hit *got, const char *what)
{
    if (isinf(wanted->t)) {
        assert_true(isinf(got->t));
        assert_int_equal(got->shape, BL_NO_HIT);
        assert_int_equal(got->primitive, BL_NO_HIT);
        assert_int_equal(got->instance, BL_NO_HIT);
        return;
    }
    if (fabs((double)got->t - wanted->t) > 1e-4 * (1 + wanted->t))
        fail_msg("%s: met %u of %s at %g, not %u of the %s at %g", what, got->primitive,
                 bl_scene_shape_name(scene, got->shape), (double)got->t, wanted->primitive,
                 wanted->is_ball ? "ball" : "grid", wanted->t);
    assert_non_null(bl_scene_shape_name(scene, got->shape));
    assert_string_equal(bl_scene_shape_name(scene, got->shape), wanted->is_ball ? "ball" : "grid");
    assert_int_equal(got->primitive, wanted->primitive);
    if (!wanted->is_ball) {
        assert_true(fabs((double)got->u - wanted->u) < 1e-3);
        assert_true(fabs((double)got->v - wanted->v) < 1e-3);
    }
    if (wanted->instance != BL_NO_HIT) {
        assert_non_null(bl_scene_instance_name(scene, got->instance));
        assert_string_equal(bl_scene_instance_name(scene, got->instance),
                            wanted->instance ? "second" : "first");
    } else {
        assert_int_equal(got->instance, BL_NO_HIT);
    }
}

static void expect_search(const bl_scene *scene, bl_job *job, const model *m, const char *what)
{
    static bl_ray rays[RAYS];
    static bl_hit hits[RAYS];
    static bool blocked[RAYS];
    uint32_t clear = 0, met = 0;
    random_rays(rays, RAYS);
    memset(hits, 0xAB, sizeof hits);
    SCENE_MUST(&device, bl_job_closest_hits(job, RAYS, rays, hits, NULL));
    SCENE_MUST(&device, bl_job_any_hits(job, RAYS, rays, blocked, NULL));
    for (uint32_t i = 0; i < RAYS; i++) {
        found wanted;
        if (!search(m, &rays[i], &wanted))
            continue;
        expect_hit(scene, &wanted, &hits[i], what);
        assert_int_equal(blocked[i], !isinf(wanted.t));
        clear++, met += !isinf(wanted.t);
    }
    print_message("%s (%s): %u of %u rays are clear, %u of them meet something\n", what, bl_job_rays(job),
                  clear, RAYS, met);
    assert_true(clear > RAYS * 9 / 10 && met > RAYS / 8 && met < clear);
}

static void hits_are_those_of_a_search(void **state)
{
    static model models[] = {{.side = 3}, {.side = SIDE_MOST}, {.side = 6, .instance = true}};
    (void)state;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        shake(&models[k], 0.04, 1);
        bl_scene *scene = load(&models[k]);
        bl_job *job = make_job(device.device, scene, false, false);
        bool query = scene_device_rays() == BL_RAYS_QUERY;
        assert_string_equal(bl_job_rays(job), query ? "query" : k == 0 ? "baked" : "bvh");
        expect_search(scene, job, &models[k], models[k].instance ? "instances" : "one level");
        bl_rays_info info = bl_job_rays_info(job);
        assert_true(info.host_bytes > 0 && info.host_seconds > 0);
        assert_int_equal(info.device_bytes > 0, query || (k > 0 && !strcmp(device.info.kind, "native")));
        bl_job_destroy(job);
        bl_scene_destroy(scene);
    }
}

/* Small moves, which refit, and large ones, which build anew; a ray call comes first after each. */
static void hits_follow_vertices(void **state)
{
    static model m = {.side = 12};
    static const double moves[] = {0.1, 0.5, 0.02};
    (void)state;
    shake(&m, 0, 1);
    bl_scene *scene = load(&m);
    bl_job *job = make_job(device.device, scene, true, false);
    uint32_t index = scene_device_find(&device, scene, "grid.vertex_positions");
    for (uint32_t k = 0; k < sizeof moves / sizeof *moves; k++) {
        shake(&m, moves[k], k + 7);
        assert_int_equal(numbers_of(&m), 3 * 12 * 12);
        SCENE_MUST(&device, bl_job_set_parameter(job, index, m.positions));
        expect_search(scene, job, &m, "moved");
    }
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

static void cut_does_not_matter(void **state)
{
    static model m = {.side = 12};
    static const uint32_t pieces[] = {1, 63, 64, 65, 1000};
    enum { MANY = (1 << 20) + 37 }; /* more than a chunk */
    bl_ray *rays = malloc(MANY * sizeof *rays);
    bl_hit *whole = malloc(MANY * sizeof *whole), *parts = malloc(RAYS * sizeof *parts);
    (void)state;
    assert_non_null(rays);
    assert_non_null(whole);
    assert_non_null(parts);
    shake(&m, 0.04, 1);
    bl_scene *scene = load(&m);
    bl_job *job = make_job(device.device, scene, false, true);
    random_rays(rays, MANY);
    bl_stats stats;
    SCENE_MUST(&device, bl_job_closest_hits(job, MANY, rays, whole, &stats));
    assert_true(stats.slices >= 2 && stats.device_seconds > 0);
    for (uint32_t first = 0, k = 0, n; first < RAYS; first += n, k++) {
        n = pieces[k % 5] < RAYS - first ? pieces[k % 5] : RAYS - first;
        SCENE_MUST(&device, bl_job_closest_hits(job, n, rays + first, parts + first, NULL));
    }
    assert_memory_equal(parts, whole, RAYS * sizeof *parts);
    SCENE_MUST(&device, bl_job_closest_hits(job, RAYS, rays + MANY - RAYS, parts, NULL));
    assert_memory_equal(parts, whole + MANY - RAYS, RAYS * sizeof *parts);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    free(rays), free(whole), free(parts);
}

/* SwiftShader and the native device traverse different trees, but meet the same. */
static void devices_agree(void **state)
{
    static model models[] = {{.side = SIDE_MOST}, {.side = 6, .instance = true}};
    static bl_ray rays[RAYS];
    static bl_hit hits[2][RAYS];
    bl_device *native = NULL;
    (void)state;
    if (strcmp(device.info.kind, "swiftshader") != 0)
        return; /* one of the two devices compares */
    if (bl_device_create(device.context, "native", &native) != BL_OK) {
        print_message("no native device: %s\n", bl_context_error(device.context));
        return;
    }
    random_rays(rays, RAYS);
    for (size_t k = 0; k < 2; k++) {
        shake(&models[k], 0.04, 1);
        bl_scene *scene = load(&models[k]);
        for (int d = 0; d < 2; d++) {
            bl_job *job = make_job(d ? native : device.device, scene, false, true);
            SCENE_MUST(&device, bl_job_closest_hits(job, RAYS, rays, hits[d], NULL));
            bl_job_destroy(job);
        }
        uint32_t differ = 0;
        for (uint32_t i = 0; i < RAYS; i++)
            differ += memcmp(&hits[0][i], &hits[1][i], sizeof **hits) != 0;
        print_message("%u of %u hits differ\n", differ, RAYS);
        assert_int_equal(differ, 0);
        bl_scene_destroy(scene);
    }
    bl_device_destroy(native);
}

static void what_is_no_ray_misses(void **state)
{
    static model models[] = {{.side = 3}, {.side = 12}, {.side = 6, .instance = true}};
    const bl_ray good = {{.1f, .2f, 2}, 0, {.01f, .02f, -1}, INFINITY};
    bl_ray rays[64] = {good};
    uint32_t count = 1;
    (void)state;
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (int field = 0; field < 8; field++)
        for (int b = 0; b < 4; b++) {
            float words[8];
            if (field == 7 && b == 2)
                continue; /* tmax may be infinite */
            memcpy(words, &good, sizeof words);
            words[field] = bad[b];
            memcpy(&rays[count++], words, sizeof words);
        }
    const bl_ray more[] = {
        {{.1f, .2f, 2}, 0, {0, 0, 0}, INFINITY}, {{.1f, .2f, 2}, 0, {-0.0f, 0, 0}, INFINITY},
        {{.1f, .2f, 2}, 3, {0, 0, -1}, 2},       {{.1f, .2f, 2}, 3, {0, 0, -1}, 3},
        {{.1f, .2f, 2}, 0, {0, 0, -1}, 0},       {{.1f, .2f, 2}, -1, {0, 0, -1}, INFINITY},
        {{.1f, .2f, 2}, 0, {0, 0, -1}, -5},      {{.1f, .2f, 2}, 0, {0, 0, 1}, INFINITY},
        {{.1f, .2f, 2}, 4, {0, 0, -1}, 1e30f},   {{3e38f, .2f, 2}, 0, {-1, 0, 0}, 1},
    };
    memcpy(rays + count, more, sizeof more);
    count += sizeof more / sizeof *more;
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        bl_hit hits[64];
        bool blocked[64];
        shake(&models[k], 0.04, 1);
        bl_scene *scene = load(&models[k]);
        bl_job *job = make_job(device.device, scene, false, false);
        SCENE_MUST(&device, bl_job_closest_hits(job, count, rays, hits, NULL));
        SCENE_MUST(&device, bl_job_any_hits(job, count, rays, blocked, NULL));
        for (uint32_t i = 0; i < count; i++) {
            if ((hits[i].shape == BL_NO_HIT) != (i > 0) || blocked[i] != (i == 0))
                fail_msg("scene %zu, ray %u: shape %u at %g, blocked %d", k, i, hits[i].shape,
                         (double)hits[i].t, (int)blocked[i]);
            assert_int_equal(isinf(hits[i].t), i > 0);
        }
        SCENE_MUST(&device, bl_job_closest_hits(job, 0, NULL, NULL, NULL));
        SCENE_MUST(&device, bl_job_any_hits(job, 0, NULL, NULL, NULL));
        assert_null(bl_scene_shape_name(scene, BL_NO_HIT));
        assert_null(bl_scene_instance_name(scene, BL_NO_HIT));
        bl_job_destroy(job);
        bl_scene_destroy(scene);
    }
}

static void nothing_to_meet(void **state)
{
    arena a = {0};
    const bl_ray ray = {{0, 0, 0}, 0, {0, 0, 1}, INFINITY};
    bl_hit hit;
    bool blocked = true;
    (void)state;
    bl_scene *scene = scene_device_load(
        &device,
        scene_xml(&a, "<integrator type='path'/>",
                  "<sensor type='perspective'><film type='hdrfilm'><integer name='width' value='4'/><integer "
                  "name='height' value='4'/></film></sensor>",
                  "<emitter type='constant'/>"),
        folder);
    bl_job *job = make_job(device.device, scene, false, false);
    SCENE_MUST(&device, bl_job_closest_hits(job, 1, &ray, &hit, NULL));
    SCENE_MUST(&device, bl_job_any_hits(job, 1, &ray, &blocked, NULL));
    assert_true(hit.shape == BL_NO_HIT && isinf(hit.t) && !blocked);
    bl_job_destroy(job);
    bl_scene_destroy(scene);
    arena_free(&a);
}

/* A sample of the image of distances is where that sample's ray meets something. */
static void camera_rays_are_those_of_the_image(void **state)
{
    static model m = {.side = 12};
    static bl_ray rays[WIDTH * HEIGHT];
    static bl_hit hits[WIDTH * HEIGHT];
    static float image[3 * WIDTH * HEIGHT];
    uint32_t met = 0;
    (void)state;
    shake(&m, 0.04, 1);
    bl_scene *scene = load(&m);
    bl_job *job = make_job(device.device, scene, false, false);
    SCENE_MUST(&device, bl_job_render(job, &(bl_render_desc){.spp = 1, .seed = 9}, image, NULL));
    SCENE_MUST(&device, bl_job_camera_rays(job, 1, 9, 0, rays));
    SCENE_MUST(&device, bl_job_closest_hits(job, WIDTH * HEIGHT, rays, hits, NULL));
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        bool hit = hits[i].shape != BL_NO_HIT;
        assert_true(image[3 * i] == (hit ? hits[i].t : 0));
        met += hit;
    }
    assert_true(met > WIDTH * HEIGHT / 4 && met < WIDTH * HEIGHT);
    assert_int_equal(bl_job_camera_rays(job, 4, 9, 4, rays), BL_ERROR_ARGUMENT);
    SCENE_MUST(&device, bl_job_camera_rays(job, 4, 9, 3, rays));
    bl_job_destroy(job);
    bl_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_are_those_of_a_search),
        cmocka_unit_test(hits_follow_vertices),
        cmocka_unit_test(cut_does_not_matter),
        cmocka_unit_test(devices_agree),
        cmocka_unit_test(what_is_no_ray_misses),
        cmocka_unit_test(nothing_to_meet),
        cmocka_unit_test(camera_rays_are_those_of_the_image),
    };
    return SCENE_DEVICE_RUN(&device, &folder, "rays", tests);
}
