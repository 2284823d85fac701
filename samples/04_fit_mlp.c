/* LABELS: swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * Fits a small neural network to an image: sample_04_fit_mlp [FOLDER [STEPS]]
 *
 * Nothing of the renderer: three kernels traced by backlight_ir.h. The network takes a pixel's place to its
 * colour, 14 -> 16 -> 16 -> 3, the 14 being x, y and their sines and cosines at three frequencies. A step
 * takes random pixels, differentiates their mean squared error in reverse mode, and moves the weights by
 * Adam. Every pixel leaves its gradient in a column of its own, which the next kernel sums: no atomics, so
 * the same bits every time. Writes before.png, after.png, target.png to FOLDER, where one is given. */
#include <backlight/backlight_ir.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE = 64,
    PIXELS = SIZE * SIZE,
    BATCH = 256,
    STEPS = 300,
    OCTAVES = 3,
    INPUTS = 2 + 4 * OCTAVES,
    HIDDEN = 16
};
enum { WEIGHTS = (INPUTS + 1) * HIDDEN + (HIDDEN + 1) * HIDDEN + (HIDDEN + 1) * 3 };
enum { WEIGHT, GRADIENT, TARGET, IMAGE, MOMENTS, BUFFERS };
enum { DIFFERENTIATE, MOVE, DRAW, KERNELS };
static const uint32_t words[BUFFERS] = {WEIGHTS, BATCH *WEIGHTS, 3 * PIXELS, 3 * PIXELS, 2 * WEIGHTS};

/* Every kernel binds all buffers; the ones it does not write are constant, so equal reads merge. */
static bl_ir *begin(const char *name, uint32_t written, bl_ir_func **f)
{
    static const char *const names[BUFFERS] = {"weights", "gradient", "target", "image", "moments"};
    bl_ir *ir = bl_ir_create();
    for (uint32_t b = 0; b < BUFFERS; b++)
        bl_ir_buffer(ir, names[b], !(written >> b & 1));
    *f = bl_ir_func_create(ir, name);
    return ir;
}

static bl_ir *end(bl_ir *ir, bl_ir_func *f)
{
    bl_ir_return(f, NULL, 0);
    bl_ir_entry(f);
    return ir;
}

/* out = relu(W in + b), or W in + b for the last layer; returns the weights behind its own. C's loops are
 * unrolled into the trace. */
static const bl_ir_value *layer(bl_ir_func *f, const bl_ir_value *weight, const bl_ir_value *in, int in_count,
                                bl_ir_value *out, int out_count)
{
    for (int row = 0; row < out_count; row++) {
        bl_ir_value sum = *weight++; /* the bias */
        for (int column = 0; column < in_count; column++)
            sum = bl_ir_add(f, sum, bl_ir_mul(f, *weight++, in[column]));
        out[row] = out_count == 3 ? sum : bl_ir_max(f, sum, bl_ir_f32(f, 0));
    }
    return weight;
}

static void network(bl_ir_func *f, bl_ir_value pixel, bl_ir_value weights[WEIGHTS], bl_ir_value colour[3])
{
    bl_ir_value in[INPUTS], first[HIDDEN], second[HIDDEN], size = bl_ir_u32(f, SIZE);
    bl_ir_value at[2] = {bl_ir_mod(f, pixel, size), bl_ir_div(f, pixel, size)};
    for (int axis = 0, n = 0; axis < 2; axis++) {
        bl_ir_value x = bl_ir_mul(f, bl_ir_add(f, bl_ir_to_f32(f, at[axis]), bl_ir_f32(f, 0.5f)),
                                  bl_ir_f32(f, 2.0f / SIZE));
        in[n++] = x = bl_ir_sub(f, x, bl_ir_f32(f, 1));
        for (int octave = 0; octave < OCTAVES; octave++) {
            bl_ir_value angle = bl_ir_mul(f, x, bl_ir_f32(f, 3.14159265f * (float)(1 << octave)));
            in[n++] = bl_ir_sin(f, angle), in[n++] = bl_ir_cos(f, angle);
        }
    }
    for (uint32_t w = 0; w < WEIGHTS; w++)
        weights[w] = bl_ir_load(f, BL_IR_F32, WEIGHT, bl_ir_u32(f, w));
    const bl_ir_value *left = layer(f, weights, in, INPUTS, first, HIDDEN);
    left = layer(f, left, first, HIDDEN, second, HIDDEN);
    layer(f, left, second, HIDDEN, colour, 3);
}

/* d/dweights of (network - target)^2 / BATCH at a random pixel per invocation; uniform 0 is the step. */
static bl_ir *trace_differentiate(void)
{
    bl_ir_func *f;
    bl_ir *ir = begin("differentiate", 1u << GRADIENT, &f);
    bl_ir_value lane = bl_ir_global_id(f), weights[WEIGHTS], by_weight[WEIGHTS];
    bl_ir_value h = bl_ir_add(f, bl_ir_mul(f, bl_ir_uniform(f, BL_IR_U32, 0), bl_ir_u32(f, BATCH)),
                              lane); /* hash by Wellons */
    for (int round = 0; round < 2; round++)
        h = bl_ir_mul(f, bl_ir_xor(f, h, bl_ir_shr(f, h, bl_ir_u32(f, 16))),
                      bl_ir_u32(f, round ? 0x297a2d39u : 0x21f0aaadu));
    bl_ir_value pixel = bl_ir_shr(f, h, bl_ir_u32(f, 20)), colour[3], seed[3]; /* 4096 pixels are 12 bits */
    network(f, pixel, weights, colour);
    for (uint32_t c = 0; c < 3; c++) {
        bl_ir_value wanted = bl_ir_load(f, BL_IR_F32, TARGET,
                                        bl_ir_add(f, bl_ir_mul(f, pixel, bl_ir_u32(f, 3)), bl_ir_u32(f, c)));
        seed[c] = bl_ir_mul(f, bl_ir_sub(f, colour[c], wanted), bl_ir_f32(f, 2.0f / BATCH));
    }
    bl_ir_backward(f, colour, seed, 3, weights, by_weight, WEIGHTS);
    for (uint32_t w = 0; w < WEIGHTS; w++)
        bl_ir_store(f, GRADIENT, bl_ir_add(f, lane, bl_ir_u32(f, w * BATCH)), by_weight[w]);
    return end(ir, f);
}

/* Adam (Kingma and Ba 2015), beta .9 and .99; uniform 1 is the rate with both bias corrections. */
static bl_ir *trace_move(void)
{
    bl_ir_func *f;
    bl_ir *ir = begin("move", 1u << WEIGHT | 1u << MOMENTS, &f);
    bl_ir_value i = bl_ir_global_id(f), j = bl_ir_add(f, i, bl_ir_u32(f, WEIGHTS)), one = bl_ir_u32(f, 1);
    bl_ir_value state[2] = {bl_ir_u32(f, 0), bl_ir_f32(f, 0)}, first = bl_ir_mul(f, i, bl_ir_u32(f, BATCH));
    bl_ir_value loop = bl_ir_loop(f, state, 2); /* a loop of the kernel: the batch's gradients, summed */
    bl_ir_while(f, bl_ir_lt(f, state[0], bl_ir_u32(f, BATCH)));
    bl_ir_value column = bl_ir_load(f, BL_IR_F32, GRADIENT, bl_ir_add(f, first, state[0]));
    bl_ir_endloop(f, loop, (bl_ir_value[]){bl_ir_add(f, state[0], one), bl_ir_add(f, state[1], column)}, 2);
    bl_ir_value g = state[1];
    bl_ir_value m = bl_ir_add(f, bl_ir_mul(f, bl_ir_load(f, BL_IR_F32, MOMENTS, i), bl_ir_f32(f, 0.9f)),
                              bl_ir_mul(f, g, bl_ir_f32(f, 0.1f)));
    bl_ir_value v = bl_ir_mul(f, bl_ir_load(f, BL_IR_F32, MOMENTS, j), bl_ir_f32(f, 0.99f));
    v = bl_ir_add(f, v, bl_ir_mul(f, bl_ir_mul(f, g, g), bl_ir_f32(f, 0.01f)));
    bl_ir_value step = bl_ir_div(f, bl_ir_mul(f, m, bl_ir_uniform(f, BL_IR_F32, 1)),
                                 bl_ir_add(f, bl_ir_sqrt(f, v), bl_ir_f32(f, 1e-8f)));
    bl_ir_store(f, WEIGHT, i, bl_ir_sub(f, bl_ir_load(f, BL_IR_F32, WEIGHT, i), step));
    bl_ir_store(f, MOMENTS, i, m);
    bl_ir_store(f, MOMENTS, j, v);
    return end(ir, f);
}

static bl_ir *trace_draw(void)
{
    bl_ir_func *f;
    bl_ir *ir = begin("draw", 1u << IMAGE, &f);
    bl_ir_value pixel = bl_ir_global_id(f), weights[WEIGHTS], colour[3];
    network(f, pixel, weights, colour);
    for (uint32_t c = 0; c < 3; c++)
        bl_ir_store(f, IMAGE, bl_ir_add(f, bl_ir_mul(f, pixel, bl_ir_u32(f, 3)), bl_ir_u32(f, c)), colour[c]);
    return end(ir, f);
}

/* ---- running it: the program ends at the first failure ---- */

static bl_context *ctx;

static void check(bl_result result)
{
    if (result == BL_OK)
        return;
    fprintf(stderr, "%s\n", bl_context_error(ctx));
    exit(1);
}

/* Rings of two colours. */
static void draw_target(float *image)
{
    for (int p = 0; p < PIXELS; p++) {
        double x = (p % SIZE - 20) / 16.0, y = (p / SIZE - 26) / 16.0,
               ring = 0.5 + 0.5 * sin(4 * sqrt(x * x + y * y));
        image[3 * p] = (float)(0.1 + 0.8 * ring), image[3 * p + 1] = (float)(0.3 + 0.1 * y),
                  image[3 * p + 2] = (float)(0.8 - 0.6 * ring);
    }
}

static void start_weights(float *weights)
{
    static const int layers[3][2] = {{INPUTS, HIDDEN}, {HIDDEN, HIDDEN}, {HIDDEN, 3}};
    uint32_t state = 1;
    for (int l = 0; l < 3; l++)
        for (int row = 0; row < layers[l][1]; row++)
            for (int column = 0; column <= layers[l][0];
                 column++) { /* uniform with the variance of He et al. 2015; biases 0 */
                state = state * 1664525u + 1013904223u;
                *weights++ = column ? (float)((state / 2147483648.0 - 1) * sqrt(6.0 / layers[l][0])) : 0;
            }
}

static double draw(bl_ir_kernel *kernel, bl_ir_array *const *arrays, const float *target, const char *folder,
                   const char *name)
{
    static float image[3 * PIXELS];
    double loss = 0;
    check(bl_ir_kernel_run(kernel, arrays, BUFFERS, NULL, 0, PIXELS));
    check(bl_ir_array_read(arrays[IMAGE], 0, image, 3 * PIXELS));
    for (int i = 0; i < 3 * PIXELS; i++)
        loss +=
            ((double)image[i] - (double)target[i]) * ((double)image[i] - (double)target[i]) / (3 * PIXELS);
    if (folder) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.png", folder, name);
        check(bl_image_write(ctx, path, SIZE, SIZE, 3, image));
    }
    return loss;
}

static void take_step(bl_ir_kernel *const *kernels, bl_ir_array *const *arrays, uint32_t step)
{
    float rate = (float)(0.01 * sqrt(1 - pow(0.99, step + 1)) / (1 - pow(0.9, step + 1)));
    uint32_t uniforms[2] = {step};
    memcpy(&uniforms[1], &rate, sizeof rate);
    check(bl_ir_kernel_run(kernels[DIFFERENTIATE], arrays, BUFFERS, uniforms, 2, BATCH));
    check(bl_ir_kernel_run(kernels[MOVE], arrays, BUFFERS, uniforms, 2, WEIGHTS));
}

int main(int argc, char **argv)
{
    static float target[3 * PIXELS], weights[WEIGHTS];
    const char *folder = argc > 1 ? argv[1] : NULL;
    uint32_t steps = argc > 2 ? (uint32_t)atoi(argv[2]) : STEPS;
    bl_device *device;
    if (bl_context_create(NULL, &ctx) != BL_OK ||
        bl_device_create(ctx, getenv("BL_DEVICE"), &device) != BL_OK) {
        fprintf(stderr, "%s\n", bl_context_error(ctx));
        return 77; /* no device: CTest reports the sample as skipped */
    }

    bl_ir *traces[KERNELS] = {trace_differentiate(), trace_move(), trace_draw()};
    bl_ir_kernel *kernels[KERNELS];
    bl_ir_array *arrays[BUFFERS];
    for (int k = 0; k < KERNELS; k++) { /* a mistake in a trace is found here */
        check(bl_ir_kernel_create(device, traces[k], &kernels[k]));
        bl_ir_destroy(traces[k]);
    }
    for (int b = 0; b < BUFFERS; b++)
        check(bl_ir_array_create(device, words[b], &arrays[b]));
    draw_target(target);
    start_weights(weights);
    check(bl_ir_array_write(arrays[TARGET], 0, target, 3 * PIXELS));
    check(bl_ir_array_write(arrays[WEIGHT], 0, weights, WEIGHTS));
    if (folder) {
        char path[4096];
        snprintf(path, sizeof path, "%s/target.png", folder);
        check(bl_image_write(ctx, path, SIZE, SIZE, 3, target));
    }

    double before = draw(kernels[DRAW], arrays, target, folder, "before"), loss = before;
    printf("%d weights, step 0: loss %.5f\n", WEIGHTS, before);
    for (uint32_t step = 0; step < steps; step++) {
        take_step(kernels, arrays, step);
        if (step % 100 == 99 || step + 1 == steps)
            printf("step %u: loss %.5f\n", step + 1,
                   loss = draw(kernels[DRAW], arrays, target, folder, "after"));
    }

    for (int k = 0; k < KERNELS; k++)
        bl_ir_kernel_destroy(kernels[k]);
    for (int b = 0; b < BUFFERS; b++)
        bl_ir_array_destroy(arrays[b]);
    bl_device_destroy(device);
    bl_context_destroy(ctx);
    return loss < 0.05 * before ? 0 : 1;
}
