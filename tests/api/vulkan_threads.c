/* LABELS: swiftshader lavapipe */
/* SPDX-License-Identifier: BSD-3-Clause
 * Four threads at once, each with a context of its own: two on one device of the caller's, whose queue they
 * share under the caller's lock, and two on devices of Backlight's own. All leave the bytes that one thread
 * leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/vulkan_app.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 12, HEIGHT = 8, VALUES = 3 * WIDTH * HEIGHT, THREADS = 4, ROUNDS = 4 };

static scene_device device;
static vulkan_app app;
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void *user) { pthread_mutex_lock(user); }
static void unlock(void *user) { pthread_mutex_unlock(user); }

static const char *const parameter = "paint.reflectance.value";

/* A scene without a file. */
static bl_result make_scene(bl_context *context, bl_scene **out)
{
    bl_builder *b;
    bl_result r = bl_builder_create(context, &b);
    if (r != BL_OK)
        return r;
    bl_object *root = bl_builder_root(b), *sensor = bl_builder_object(b, "sensor", "perspective", NULL),
              *film = bl_builder_object(b, "film", "hdrfilm", NULL),
              *ball = bl_builder_object(b, "shape", "sphere", NULL),
              *paint = bl_builder_object(b, "bsdf", "diffuse", "paint"),
              *light = bl_builder_object(b, "emitter", "point", NULL);
    bl_object_integer(film, "width", WIDTH), bl_object_integer(film, "height", HEIGHT);
    bl_object_add(sensor, NULL, film), bl_object_add(root, NULL, sensor);
    bl_object_point(ball, "center", 0, 0, 4);
    bl_object_add(ball, NULL, paint), bl_object_add(root, NULL, ball);
    bl_object_point(light, "position", 2, 3, 0);
    bl_object_add(root, NULL, light);
    return bl_builder_finish(b, NULL, NULL, out);
}

typedef struct worker {
    bool embedded;
    pthread_t thread;
    bl_result result;
    char error[512];
    float image[VALUES], gradient[3];
} worker;

static bl_result open_worker_device(const worker *w, bl_context *context, bl_device **out)
{
    bl_vulkan_device_desc desc = vulkan_app_desc(&app);
    desc.lock_queue = lock, desc.unlock_queue = unlock, desc.user = &queue_mutex;
    desc.instance.get_instance_proc_addr = app.real_get; /* counters are for one thread */
    return w->embedded ? bl_device_from_vulkan(context, &desc, out)
                       : bl_device_create(context, getenv("BL_DEVICE"), out);
}

static bl_result passes(worker *w, bl_device *d, const bl_scene *scene)
{
    bl_job *job;
    bl_result r =
        bl_job_create(d, scene, &(bl_job_desc){.parameters = &parameter, .parameter_count = 1}, &job);
    if (r != BL_OK)
        return r;
    for (int i = 0; i < ROUNDS && r == BL_OK; i++) {
        r = bl_job_render(job, &(bl_render_desc){.spp = 8, .seed = 4}, w->image, NULL);
        if (r == BL_OK)
            r = bl_job_gradient(job, &(bl_gradient_desc){.spp = 8, .seed = 4, .adjoint = w->image}, NULL);
    }
    if (r == BL_OK)
        r = bl_job_read_gradient(job, 0, w->gradient);
    bl_job_destroy(job);
    return r;
}

static void *work(void *user)
{
    worker *w = user;
    bl_context *context = NULL;
    bl_device *d = NULL;
    bl_scene *scene = NULL;
    bl_result r = bl_context_create(NULL, &context);
    if (r == BL_OK)
        r = make_scene(context, &scene);
    if (r == BL_OK)
        r = open_worker_device(w, context, &d);
    if (r == BL_OK)
        r = passes(w, d, scene);
    strncpy(w->error, bl_context_error(context), sizeof w->error - 1);
    bl_scene_destroy(scene);
    bl_device_destroy(d);
    bl_context_destroy(context);
    w->result = r;
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    static worker alone, workers[THREADS];
    work(&alone);
    assert_int_equal(alone.result, BL_OK);
    assert_true(alone.gradient[0] > 0);
    for (int i = 0; i < THREADS; i++) {
        workers[i].embedded = i % 2 == 0;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].result != BL_OK)
            fail_msg("thread %d: %s", i, workers[i].error);
        assert_memory_equal(workers[i].image, alone.image, sizeof alone.image);
        assert_memory_equal(workers[i].gradient, alone.gradient, sizeof alone.gradient);
    }
}

int main(void)
{
    if (!scene_device_open(&device))
        return scene_device_missing();
    if (!vulkan_app_open(&app, device.context)) {
        scene_device_close(&device);
        return scene_device_missing();
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_disturb_each_other)};
    int failed = cmocka_run_group_tests_name("vulkan_threads", tests, NULL, NULL);
    vulkan_app_close(&app);
    scene_device_close(&device);
    return failed + (app.messages != 0);
}
