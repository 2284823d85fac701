/* LABELS: swiftshader lavapipe native threads */
/* SPDX-License-Identifier: BSD-3-Clause
 * Four threads at once, each with a context of its own, which share a folder of kernels that is empty at
 * first: on Vulkan two on one device of the caller's, whose queue they share under the caller's lock, and two
 * on devices of Backlight's own; on the native device four of these, each with three threads of its own. All
 * leave the bytes that one thread leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/scene_device.h"
#include "support/vulkan_app.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDER_MOST = 64 };
enum { WIDTH = 12, HEIGHT = 8, VALUES = 3 * WIDTH * HEIGHT, THREADS = 4, ROUNDS = 4 };

static scene_device device;
static vulkan_app app;
static bool native;
static char folder[FOLDER_MOST];
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
    const char *cache;
    pthread_t thread;
    bl_result result;
    char error[512];
    float image[VALUES], gradient[3], found[3];
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

static bl_result steps(worker *w, bl_device *d, const bl_scene *scene)
{
    const bl_fit_parameter moved = {.name = parameter, .rate = 0.1};
    static const float target[VALUES];
    bl_fit *fit;
    bl_result r = bl_fit_create(
        d, scene, &(bl_fit_desc){.parameters = &moved, .parameter_count = 1, .target = target, .spp = 4},
        &fit);
    if (r != BL_OK)
        return r;
    for (int i = 0; i < ROUNDS && r == BL_OK; i++)
        r = bl_fit_step(fit, NULL);
    if (r == BL_OK)
        r = bl_fit_get(fit, 0, w->found);
    bl_fit_destroy(fit);
    return r;
}

static void *work(void *user)
{
    worker *w = user;
    bl_context *context = NULL;
    bl_device *d = NULL;
    bl_scene *scene = NULL;
    bl_result r = bl_context_create(&(bl_context_desc){.cache = w->cache}, &context);
    if (r == BL_OK)
        r = make_scene(context, &scene);
    if (r == BL_OK)
        r = open_worker_device(w, context, &d);
    if (r == BL_OK)
        r = passes(w, d, scene);
    if (r == BL_OK)
        r = steps(w, d, scene);
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
        workers[i].embedded = !native && i % 2 == 0, workers[i].cache = folder;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].result != BL_OK)
            fail_msg("thread %d: %s", i, workers[i].error);
        assert_memory_equal(workers[i].image, alone.image, sizeof alone.image);
        assert_memory_equal(workers[i].gradient, alone.gradient, sizeof alone.gradient);
        assert_memory_equal(workers[i].found, alone.found, sizeof alone.found);
    }
    assert_memory_not_equal(alone.found, alone.gradient, sizeof alone.found);
}

static void remove_folder(void)
{
    struct dirent *entry;
    DIR *all = opendir(folder);
    while (all && (entry = readdir(all))) {
        char path[FOLDER_MOST + 256];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (all)
        closedir(all);
    rmdir(folder);
}

int main(void)
{
    const char *name = getenv("BL_DEVICE");
    setenv("BL_THREADS", "3", 1);
    native = name && strcmp(name, "native") == 0;
    snprintf(folder, sizeof folder, "/tmp/backlight_threads_XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_disturb_each_other)};
    int failed = native ? SCENE_DEVICE_RUN(&device, NULL, "threads", tests)
                        : VULKAN_APP_TEST(&app, &device, "threads", tests, NULL, NULL);
    remove_folder();
    return failed;
}
