/* SPDX-License-Identifier: BSD-3-Clause
 * One step of an optimiser (kernels/optimizer.c). What depends on the step alone is computed here, in
 * double precision: 1 - beta_2^t loses most of its digits in float for the first steps. */
#include "fit/fit_internal.h"

#include <math.h>

enum {
    SHARED = 7,
    NUMBERS = 6
}; /* push constants: of all optimisers (kernels/optimizer.c), the optimiser's own */

typedef struct optimizer_class {
    const char *name;
    fit_kernel kernel;
    uint32_t states; /* arrays of state */
    void (*numbers)(const fit_optimizer *o,
                    double numbers[NUMBERS]); /* as the head of its kernel lists them */
} optimizer_class;

static void adam_numbers(const fit_optimizer *o, double n[NUMBERS])
{
    n[0] = o->beta_1, n[1] = 1 - o->beta_1, n[2] = o->beta_2, n[3] = 1 - o->beta_2, n[4] = o->epsilon;
    n[5] = o->factor * sqrt(1 - pow(o->beta_2, o->step)) / (1 - pow(o->beta_1, o->step));
}

static void sgd_numbers(const fit_optimizer *o, double n[NUMBERS])
{
    n[0] = o->momentum, n[1] = o->nesterov ? 1 : 0, n[2] = o->factor;
}

static void rmsprop_numbers(const fit_optimizer *o, double n[NUMBERS])
{
    n[0] = o->alpha, n[1] = 1 - o->alpha, n[2] = o->epsilon, n[3] = o->factor;
}

static const optimizer_class optimizers[BL_OPTIMIZER_COUNT] = {
    [BL_OPTIMIZER_ADAM] = {"adam", FIT_OPTIMIZER_ADAM, 2, adam_numbers},
    [BL_OPTIMIZER_SGD] = {"sgd", FIT_OPTIMIZER_SGD, 1, sgd_numbers},
    [BL_OPTIMIZER_RMSPROP] = {"rmsprop", FIT_OPTIMIZER_RMSPROP, 1, rmsprop_numbers},
};

const char *fit_optimizer_name(bl_optimizer kind) { return optimizers[kind].name; }
uint32_t fit_optimizer_states(bl_optimizer kind) { return optimizers[kind].states; }

static void check_sizes(const fit_optimizer *args)
{
    uint64_t last = (uint64_t)args->gradient_first + args->count;
    gpu_buffer *const per_element[] = {args->state[0],
                                       optimizers[args->kind].states > 1 ? args->state[1] : args->state[0]};
    for (uint32_t i = 0; i < sizeof per_element / sizeof per_element[0]; i++)
        BL_ASSERT(last * 4 <= gpu_buffer_size(per_element[i]), "element %llu of array %u",
                  (unsigned long long)last, i);
    uint32_t gradient_bytes = args->fixed_point ? 8 : 4;
    BL_ASSERT(last * gradient_bytes <= gpu_buffer_size(args->gradient), "gradient %llu",
              (unsigned long long)last);
    BL_ASSERT(!args->fixed_point || (args->scale && last * 4 <= gpu_buffer_size(args->scale)), "scale %llu",
              (unsigned long long)last);
    BL_ASSERT((args->parameter_first + (uint64_t)args->count) * 4 <= gpu_buffer_size(args->parameters),
              "parameters %u + %u", args->parameter_first, args->count);
}

void fit_record_optimizer(gpu_batch *batch, fit_kernels *kernels, const fit_optimizer *args)
{
    BL_ASSERT(args->step > 0, "steps count from %u", 1u);
    check_sizes(args);
    if (args->count == 0)
        return;
    const optimizer_class *c = &optimizers[args->kind];
    gpu_buffer *scale = args->scale ? args->scale : args->gradient; /* a binding cannot be empty */
    gpu_buffer *second = c->states > 1 ? args->state[1] : args->state[0];
    gpu_buffer *buffers[] = {args->parameters, args->gradient, scale, args->state[0], second, args->status};
    uint32_t push[SHARED + NUMBERS] = {args->count,
                                       args->parameter_first,
                                       args->gradient_first,
                                       args->fixed_point ? 1u : 0u,
                                       float_word(args->rate),
                                       float_word(args->lower),
                                       float_word(args->upper)};
    double numbers[NUMBERS] = {0};
    c->numbers(args, numbers);
    for (int i = 0; i < NUMBERS; i++)
        push[SHARED + i] = float_word(numbers[i]);
    BL_ASSERT(!args->sparse || args->kind == BL_OPTIMIZER_ADAM, "sparse steps of %s", c->name);
    fit_dispatch(batch, kernels, args->sparse ? FIT_OPTIMIZER_ADAM_SPARSE : c->kernel, buffers, push,
                 args->count);
}
