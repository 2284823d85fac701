/* SPDX-License-Identifier: BSD-3-Clause
 * What the fixed kernels of src/fit cost on a device, and the bytes that they make: one line per kernel with
 * a hash of its results (a loss_dot has but a number: -), CPU milliseconds of the first call (its compilation
 * included), and CPU milliseconds of a call afterwards, the best of ROUNDS batches of ten. An image of 512 x
 * 512 in 4 strips, 1,000,000 parameters. It is a tool, not a test.
 *
 *     build/tests/fixed_kernels DEVICE [ROUNDS]
 *
 * tests/tools/compare-fixed-kernels compares those of two builds. It uses fit.h and gpu.h alone, so that it
 * also builds where kernels are made in another way. */
#include "fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIXELS = 512 * 512, VALUES = 3 * PIXELS, STRIPS = 4, ELEMENTS = 1000000, CALLS = 10 };

static gpu_device *device;
static gpu_batch *batch;
static fit_kernels *kernels;
static gpu_buffer *film, *image, *target, *adjoint, *partials, *results;
static gpu_buffer *parameters, *gradient, *fixed_gradient, *scale, *state[2], *status, *output;

#define CHECK(call) check((call), #call)
static bl_error err;

static void check(bl_result result, const char *what)
{
    if (result != BL_OK) {
        fprintf(stderr, "%s: %s\n", what, err.text);
        exit(1);
    }
}

/* ---- buffers ---- */

static uint32_t random_bits(void)
{
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 32);
}

static gpu_buffer *of_words(uint32_t count, const void *words)
{
    gpu_buffer *b = NULL;
    CHECK(gpu_buffer_create(device, GPU_DEVICE, 4ull * count, "fixed_kernels", &b, &err));
    if (words)
        CHECK(gpu_buffer_write(b, 0, words, 4ull * count, &err));
    return b;
}

static gpu_buffer *of_floats(uint32_t count, float least, float most)
{
    float *values = malloc(count * sizeof *values);
    for (uint32_t i = 0; i < count; i++)
        values[i] = least + (most - least) * (float)(random_bits() >> 8) / 16777216.0f;
    gpu_buffer *b = of_words(count, values);
    free(values);
    return b;
}

/* Integers of all lengths and both signs, and a power of two for each. */
static void make_fixed_point(void)
{
    uint32_t *words = malloc(2 * ELEMENTS * sizeof *words);
    float *scales = malloc(ELEMENTS * sizeof *scales);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        uint64_t value = random_bits();
        value = (value << 32 | random_bits()) >> i % 64;
        value = i % 2 ? 0 - value : value;
        words[2 * i] = (uint32_t)value, words[2 * i + 1] = (uint32_t)(value >> 32);
        scales[i] = ldexpf(1, 20 + (int)(i % 40));
    }
    fixed_gradient = of_words(2 * ELEMENTS, words), scale = of_words(ELEMENTS, scales);
    free(words), free(scales);
}

static void make_buffers(void)
{
    film = of_floats(STRIPS * VALUES, 0, 4), image = of_floats(VALUES, 0, 1);
    target = of_floats(VALUES, 0, 1), adjoint = of_words(2 * VALUES, NULL);
    partials = of_words(fit_loss_partials(VALUES), NULL), results = of_words(4, NULL);
    parameters = of_floats(ELEMENTS, -.5f, .5f), gradient = of_floats(ELEMENTS, -1, 1);
    state[0] = of_floats(ELEMENTS, 0, .1f), state[1] = of_floats(ELEMENTS, 0, .1f);
    status = of_words(4, NULL), output = of_words(ELEMENTS, NULL);
    make_fixed_point();
}

/* ---- one call of each kernel, or of the chain of kernels that belongs to it ---- */

static void resolve(void)
{
    fit_record_resolve(
        batch, kernels,
        &(fit_resolve){.film = film, .image = image, .pixels = PIXELS, .strips = STRIPS, .scale = .25f});
}

static void loss(bl_loss kind)
{
    fit_record_loss(batch, kernels,
                    &(fit_loss){.loss = kind,
                                .image = image,
                                .target = target,
                                .adjoint = adjoint,
                                .partials = partials,
                                .results = results,
                                .n = VALUES});
}

static void loss_l2(void) { loss(BL_LOSS_L2); }
static void loss_l1(void) { loss(BL_LOSS_L1); }
static void loss_relative_l2(void) { loss(BL_LOSS_RELATIVE_L2); }
static void loss_huber(void) { loss(BL_LOSS_HUBER); }

static void halves(bl_loss kind)
{
    fit_record_loss_halves(batch, kernels,
                           &(fit_loss_halves){.loss = kind,
                                              .film = film,
                                              .target = target,
                                              .image = image,
                                              .adjoint = adjoint,
                                              .partials = partials,
                                              .pixels = PIXELS,
                                              .strips = STRIPS,
                                              .spp = 8,
                                              .pixel_count = PIXELS});
    fit_record_loss_sum(batch, kernels, partials, results, VALUES, 0);
}

static void halves_l2(void) { halves(BL_LOSS_L2); }
static void halves_relative_l2(void) { halves(BL_LOSS_RELATIVE_L2); }

static void loss_dot(void)
{
    fit_record_loss_dot(
        batch, kernels,
        &(fit_loss_dot){
            .image = image, .weights = target, .partials = partials, .results = results, .n = VALUES});
}

static void gradient_read(void)
{
    fit_record_gradient_read(
        batch, kernels,
        &(fit_gradient_read){
            .gradient = fixed_gradient, .scale = scale, .output = output, .count = ELEMENTS});
}

static void total_variation(void)
{
    fit_record_variation(batch, kernels,
                         &(fit_variation){.parameters = parameters,
                                          .gradient = gradient,
                                          .rank = 4,
                                          .shape = {100, 100, 100, 1},
                                          .weight = .1,
                                          .smoothing = .01});
}

static void optimizer(bl_optimizer kind, bool fixed_point)
{
    fit_record_optimizer(batch, kernels,
                         &(fit_optimizer){.kind = kind,
                                          .parameters = parameters,
                                          .gradient = fixed_point ? fixed_gradient : gradient,
                                          .scale = fixed_point ? scale : NULL,
                                          .state = {state[0], state[1]},
                                          .status = status,
                                          .count = ELEMENTS,
                                          .fixed_point = fixed_point,
                                          .step = 3,
                                          .rate = .01,
                                          .factor = 1,
                                          .lower = -1,
                                          .upper = 1,
                                          .beta_1 = .9,
                                          .beta_2 = .999,
                                          .momentum = .9,
                                          .alpha = .99,
                                          .epsilon = 1e-8});
}

static void adam(void) { optimizer(BL_OPTIMIZER_ADAM, false); }
static void adam_fixed_point(void) { optimizer(BL_OPTIMIZER_ADAM, true); }
static void sgd(void) { optimizer(BL_OPTIMIZER_SGD, false); }
static void rmsprop_fixed_point(void) { optimizer(BL_OPTIMIZER_RMSPROP, true); }

typedef struct row {
    const char *name;
    void (*call)(void);
    gpu_buffer **made; /* what is hashed */
    uint32_t words;
} row;

static const row rows[] = {
    {"resolve", resolve, &image, VALUES},
    {"loss_l2", loss_l2, &adjoint, VALUES},
    {"loss_l1", loss_l1, &adjoint, VALUES},
    {"loss_relative_l2", loss_relative_l2, &adjoint, VALUES},
    {"loss_huber", loss_huber, &adjoint, VALUES},
    {"loss_dot", loss_dot, NULL, 0},
    {"halves_l2", halves_l2, &adjoint, 2 * VALUES},
    {"halves_relative_l2", halves_relative_l2, &adjoint, 2 * VALUES},
    {"gradient_read", gradient_read, &output, ELEMENTS},
    {"total_variation", total_variation, &gradient, ELEMENTS},
    {"adam", adam, &parameters, ELEMENTS},
    {"adam_fixed_point", adam_fixed_point, &parameters, ELEMENTS},
    {"sgd", sgd, &parameters, ELEMENTS},
    {"rmsprop_fixed_point", rmsprop_fixed_point, &parameters, ELEMENTS},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- measuring ---- */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of one call, recorded `calls` times. */
static double seconds_of(const row *r, uint32_t calls)
{
    double begin = cpu_seconds();
    CHECK(gpu_batch_begin(batch, &err));
    for (uint32_t i = 0; i < calls; i++)
        r->call();
    CHECK(gpu_batch_submit(batch, &err));
    CHECK(gpu_batch_wait(batch, NULL, &err));
    return (cpu_seconds() - begin) / calls;
}

static uint64_t hash_of(const row *r)
{
    uint64_t hash = 14695981039346656037ull; /* FNV-1a */
    uint32_t *words = malloc(r->words * sizeof *words);
    CHECK(gpu_buffer_read(*r->made, 0, words, 4ull * r->words, &err));
    for (uint32_t i = 0; i < r->words; i++)
        hash = (hash ^ words[i]) * 1099511628211ull;
    free(words);
    return hash;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return fprintf(stderr, "usage: fixed_kernels DEVICE [ROUNDS]\n"), 2;
    uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 5;
    uint64_t hashes[ROWS];
    double first[ROWS];
    gpu *instance = NULL;
    CHECK(gpu_open(NULL, &instance, &err));
    CHECK(gpu_device_create(instance, argv[1], &device, &err));
    CHECK(gpu_batch_create(device, &batch, &err));
    double begin = cpu_seconds();
    CHECK(fit_kernels_create(device, false, &kernels, &err));
    printf("fit_kernels_create: %.1f ms\n", 1e3 * (cpu_seconds() - begin));
    make_buffers();
    for (int k = 0; k < ROWS; k++) /* before repetitions change parameters and state */
        first[k] = seconds_of(&rows[k], 1), hashes[k] = rows[k].made ? hash_of(&rows[k]) : 0;
    for (int k = 0; k < ROWS; k++) {
        double best = HUGE_VAL;
        for (uint32_t i = 0; i < rounds; i++)
            best = fmin(best, seconds_of(&rows[k], CALLS));
        printf("%-20s ", rows[k].name);
        if (rows[k].made)
            printf("%016llx", (unsigned long long)hashes[k]);
        else
            printf("-");
        printf(" %8.3f %8.3f\n", 1e3 * first[k], 1e3 * best);
    }
    gpu_buffer *all[] = {film,     image,          target, adjoint,  partials, results, parameters,
                         gradient, fixed_gradient, scale,  state[0], state[1], status,  output};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        gpu_buffer_destroy(all[i]);
    fit_kernels_destroy(kernels);
    gpu_batch_destroy(batch);
    gpu_device_destroy(device);
    gpu_close(instance);
    return 0;
}
