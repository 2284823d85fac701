/* SPDX-License-Identifier: BSD-3-Clause
 * Scenes on a device through the public API, inside cmocka tests. Whatever fails, fails the running test
 * with the library's text. */
#ifndef TEST_SCENE_DEVICE_H
#define TEST_SCENE_DEVICE_H

#include <backlight/backlight.h>

typedef struct scene_device {
    bl_context *context;
    bl_device *device;
    bl_device_info info;
} scene_device;

/* Runs tests on d, and opens d first unless main has done so. Returns what main should: how many tests have
 * failed; 1 where the folder cannot be made; scene_device_missing() where there is no device. While the tests
 * run, *folder is a folder of scene_files_create; they need none where folder is NULL. After a failure d
 * stays open, because the test has left its objects behind. */
struct CMUnitTest;
int scene_device_run(scene_device *d, char **folder, const char *name, const struct CMUnitTest *tests,
                     size_t count, int (*setup)(void **state));
#define SCENE_DEVICE_RUN(d, folder, name, tests)                                                             \
    scene_device_run((d), (folder), (name), (tests), sizeof(tests) / sizeof *(tests), NULL)

/* Opens the device that BL_DEVICE names, by default SwiftShader. Where there is no such device it prints a
 * message and returns false; main then returns scene_device_missing(), which is 77, or 1 under
 * BL_REQUIRE_ALL=1. */
bool scene_device_open(scene_device *d);
void scene_device_close(scene_device *d);
int scene_device_missing(void);

/* Whether its memory is that of the host: no staging, and no driver that keeps data of kernels. */
bool scene_device_on_processor(const scene_device *d);
/* Samples of the largest tile of a gradient pass that goes tile by tile (src/api/gradient_forms.c). */
uint32_t scene_device_tile_samples(const scene_device *d);

void scene_device_must(scene_device *d, bl_result r, const char *what);
#define SCENE_MUST(d, call) scene_device_must((d), (call), #call)
/* A call has returned r: it must be this error, and the context's text must name the word. */
void scene_device_refused(scene_device *d, bl_result r, bl_result expected, const char *word);

bl_scene *scene_device_load(scene_device *d, const char *xml, const char *folder);
/* The ray backend that BL_RAY_BACKEND names; jobs made here use it. */
bl_rays scene_device_rays(void);
/* A job whose gradients in media are those of replay, as in scene_eval. */
bl_job *scene_device_job(scene_device *d, const bl_scene *scene, const char *const *parameters,
                         uint32_t count);
uint32_t scene_device_find(scene_device *d, const bl_scene *scene, const char *name);

/* A loaded scene with its job and an image of its size. */
typedef struct scene_picture {
    scene_device *d;
    bl_scene *scene;
    bl_job *job;
    uint32_t width, height, values; /* values: width * height * 3 */
    float *image, *variance;
} scene_picture;
scene_picture scene_picture_load(scene_device *d, const char *xml, const char *folder,
                                 const char *const *parameters, uint32_t count);
void scene_picture_free(scene_picture *p);
/* Image and variance of one sample. */
void scene_picture_render(scene_picture *p, uint32_t spp, uint32_t seed);
/* Fails unless |image - expected| is noise: z below 5.5 for every pixel's and 4.5 for the mean's, and the
 * noise below `loudest` of the expected mean. expected: width*height*3; pixels where it is negative are left
 * out. slack: relative error of the expected value. */
void scene_picture_expect(const scene_picture *p, uint32_t spp, const double *expected, double slack,
                          double loudest);
/* Fails unless an image is the same bytes in however many dispatches, and others with another seed. */
void scene_picture_expect_reproducible(scene_picture *p, uint32_t spp);

#endif
