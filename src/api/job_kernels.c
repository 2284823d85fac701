/* SPDX-License-Identifier: BSD-3-Clause
 * A job's kernels: from the trace of a pass to what runs on the device, made when they are first needed. */
#include "api/job_kernels.h"
#include "api/job_buffers.h"
#include "api/job_split.h"
#include "api/kernel_code.h"
#include "api/ray_backend.h"
#include "api/register_goals.h"
#include "api/trace_dump.h"

#include <stdlib.h>

/* Values of a GPU's lane, above which some are computed again. Drivers add some for addresses and the like:
 * 192 registers let 5 waves of 32 lanes run on a SIMD of RDNA2 and 8 on RDNA3 (docs/decisions/registers.md).
 */
enum { LIVE_MOST = 130 };

/* Paths of at most so many segments have chains that are walked to again instead of kept. A visit that keeps
 * its position takes 4 to 11 % longer, by RADV's estimate, but there are fewer visits: on the CPU the
 * gradient of glass to depth 5 takes 1.2 times as long where chains are walked to again
 * (docs/decisions/registers.md). */
enum { WALKED_AGAIN_MOST = 6 };

/* What lavapipe's kernels reach by address. Of each read of a binding it makes a variable and branches for
 * each lane, and LLVM 15 builds a tree of all its blocks for each variable; of a read by address it makes one
 * masked gather. Its compiler takes a tenth of the time so (docs/decisions/compile-time.md). Not in double
 * precision, where halves of a buffer are found by its length. */
enum { READ_MOST = 1u << BUFFER_SCENE | 1u << BUFFER_VALUES | 1u << BUFFER_GRADIENT | 1u << BUFFER_SCALE };

static bool on_gpu(const bl_job *job)
{
    return job->testing.as_gpu || !gpu_is_processor(gpu_device_info(job->device->gpu)->kind);
}

static bool walks_again(const bl_job *job)
{
    const int32_t depth = job->scene->max_depth;
    return on_gpu(job) && depth >= 0 && depth <= WALKED_AGAIN_MOST;
}

const char *bl_optimisation_name(uint32_t k)
{
    if (k < OPT_SWITCH_COUNT)
        return opt_switch_names[k];
    return k - OPT_SWITCH_COUNT < PLAN_SWITCH_COUNT ? plan_switch_names[k - OPT_SWITCH_COUNT] : NULL;
}

opt_options job_lowering(const bl_job *job, render_pass pass, x86_target native)
{
    const bool teaches = pass == RENDER_GUIDE_LEARN;
    opt_options o = {
        .off = job->testing.passes_off & ((1u << OPT_SWITCH_COUNT) - 1),
        .gradient_elements =
            teaches ? plan_guide_cells(&job->plan->guide) * GUIDE_BINS : job->plan->gradient_count,
        .accumulate = job->fixed_point || teaches || job_splats(job, pass) ? OPT_ACCUMULATE_FIXED
                                                                           : OPT_ACCUMULATE_FLOAT,
        .scale_buffer = BUFFER_SCALE,
        .status_buffer = BUFFER_STATUS,
        .overflow_word = STATUS_OVERFLOW,
        .underflow_word = STATUS_UNDERFLOW,
        .non_finite_word = render_passes[pass].kind == PASS_EDGES ? STATUS_NON_FINITE : 0,
        .sites = job->bounds ? &job->bounds->sites : NULL,
    };
    plan_ray_options(job->plan, &o);
    if (on_gpu(job)) {
        o.live_most = LIVE_MOST, o.small_uniforms = UNIFORM_WIDTH;
        o.parking_count = register_goals(gpu_device_info(job->device->gpu), o.ray_queries, o.parking);
    }
    o.ray_queries |= native != X86_NONE && !job->plan->doubles; /* who answers rays there has floats */
    return o;
}

bl_result job_trace(const bl_job *job, render_pass pass, ir_module **out, bl_error *err)
{
    const char *refused = render_pass_refused(job->scene, pass);
    BL_ASSERT(job_split_parts(job, pass) == 1 || job->plan != job->whole, "%s of both parts of a split job",
              render_passes[pass].name);
    if (refused)
        return error_set(err, BL_ERROR_UNSUPPORTED, "%s", refused);
    render_trace_options o = {
        .no_next_event = job->testing.no_next_event,
        .fixed_point = job->fixed_point,
        .walks_again = walks_again(job),
        .packs_rows = on_gpu(job),
    };
    return render_trace(job->plan, pass, &o, out, err);
}

uint32_t job_addressed(const bl_job *job, render_pass pass)
{
    gpu_buffer *buffers[BUFFER_COUNT + 1];
    const gpu_info *device = gpu_device_info(job->device->gpu);
    job_buffers(job, pass, buffers);
    uint32_t addressed = codegen_addressed(device, buffers, BUFFER_COUNT);
    bool by_address = device->kind == GPU_LAVAPIPE && device->buffer_address && !job->plan->doubles;
    return by_address ? addressed | READ_MOST : addressed;
}

static code_options generation(const bl_job *job, render_pass pass, const opt_options *passes,
                               x86_target native)
{
    code_options o = codegen_options(job->device->gpu);
    o.native = ray_backend_native(job->plan, native);
    if (passes->accumulate == OPT_ACCUMULATE_FIXED)
        o.native.sums = BUFFER_GRADIENT + 1, o.native.status_buffer = passes->status_buffer,
        o.native.overflow_word = passes->overflow_word;
    o.spirv.branching_calls |= job->testing.as_gpu;
    o.spirv.addressed = job_addressed(job, pass);
    o.spirv.rays = ray_backend_lowering(job->plan);
    o.spirv.scalar_loads = job->testing.passes_off & OPT_VECTOR_LOADS;
    return o;
}

/* How a kernel is made. */
typedef struct making {
    x86_target native; /* as in code_options */
    bool renew;        /* as in kernel_source */
} making;

/* The code of a trace of the pass, which may be a part of it. Of *took it sets what comes after tracing. */
static bl_result generate(const bl_job *job, render_pass pass, const ir_module *trace, const char *name,
                          making how, kernel_code *code, bl_kernel_info *took, bl_error *err)
{
    opt_options passes = job_lowering(job, pass, how.native);
    code_options options = generation(job, pass, &passes, how.native);
    kernel_source source = {
        .device = job->device,
        .trace = trace,
        .passes = &passes,
        .generate = &options,
        .most = job->scene->kernel_most,
        .renew = how.renew,
    };
    bl_result r = kernel_code_make(&source, code, took, err);
    if (r == BL_OK && (r = trace_dump(trace, &passes, code, name, err)) != BL_OK)
        memory_free(code->words);
    return r;
}

/* Makes the kernel of some code, and frees the code. */
static bl_result create(const bl_job *job, const kernel_code *code, gpu_kernel_desc d, gpu_kernel **out,
                        bl_kernel_info *took, bl_error *err)
{
    double start = clock_seconds();
    d.words = code->words, d.word_count = code->word_count, d.push_words = code->push_words;
    d.local_size = LOCAL_SIZE;
    bl_result r = kernel_create(job->device, &d, out, err);
    took->driver_seconds = clock_seconds() - start;
    memory_free(code->words);
    return r;
}

bl_result job_trace_timed(const bl_job *job, render_pass pass, ir_module **out, bl_kernel_info *took,
                          bl_error *err)
{
    double start = clock_seconds();
    TRY(memory_check(0, err));
    TRY(job_trace(job, pass, out, err));
    *took = (bl_kernel_info){.trace_seconds = clock_seconds() - start, .baked = job->plan->baked};
    return BL_OK;
}

bl_result job_kernel_of(bl_job *job, render_pass pass, const ir_module *trace, const char *label,
                        gpu_kernel **out, bl_kernel_info *took, bl_error *err)
{
    const x86_target native = (x86_target)gpu_device_info(job->device->gpu)->native_target;
    const gpu_kernel_desc d = {
        .buffer_count = trace->buffers.count + (job->bounds != NULL),
        .addressed = job_addressed(job, pass),
        .label = label,
    };
    bl_result r = BL_OK;
    bool again = false;
    do { /* Words of the cache that the device refuses are made anew, once. */
        kernel_code code;
        TRY(generate(job, pass, trace, label, (making){native, again}, &code, took, err));
        r = create(job, &code, d, out, took, err);
        again = r != BL_OK && !again && took->cached && !job->context->cache_verify;
    } while (again);
    return r;
}

static bl_result make_kernel(bl_job *job, render_pass pass, gpu_kernel **out, bl_error *err)
{
    ir_module *trace;
    bl_kernel_info *took = &job->made->compiled[pass];
    const char *part = job_split_name(job);
    TRY(job_trace_timed(job, pass, &trace, took, err));
    text label = {0};
    text_add(&label, part ? "%s-%s" : "%s", render_passes[pass].name, part);
    bl_result r = job_kernel_of(job, pass, trace, label.data, out, took, err);
    text_free(&label);
    ir_module_destroy(trace);
    return r;
}

bl_result job_kernel(bl_job *job, render_pass pass, gpu_kernel **out, bl_error *err)
{
    BL_ASSERT((unsigned)pass < RENDER_PASS_COUNT, "there is no pass %d", (int)pass);
    uint32_t addressed = job_addressed(job, pass);
    if (job->made->kernels[pass] &&
        addressed & ~job->made->addressed[pass]) { /* A buffer has outgrown a binding. */
        gpu_kernel_destroy(job->made->kernels[pass]);
        job->made->kernels[pass] = NULL;
    }
    if (!job->made->kernels[pass]) {
        job->made->addressed[pass] = addressed;
        TRY(make_kernel(job, pass, &job->made->kernels[pass], err));
    }
    *out = job->made->kernels[pass];
    return BL_OK;
}

/* ---- public passes ---- */

static const render_pass public_passes[BL_PASS_COUNT + 1] = {
#define WALK(id, name, kind, kernel, needs, light, public, help) [public] = RENDER_##id,
#define STEP(id, name, kind, kernel, needs, public, help) [public] = RENDER_##id,
#include "render/integrator/passes.def"
};

bl_pass_info bl_pass_info_get(bl_pass pass)
{
    if ((unsigned)pass >= BL_PASS_COUNT)
        return (bl_pass_info){0};
    const render_pass_info *p = &render_passes[public_passes[pass]];
    return (bl_pass_info){.name = p->name, .help = p->help, .gradient = p->needs & NEEDS_REQUEST};
}

bl_result job_pass_enter(bl_job *job, bl_pass pass, render_pass *out)
{
    bl_error err;
    if ((unsigned)pass >= BL_PASS_COUNT)
        return context_fail_range(job->context, "pass", (uint32_t)pass, BL_PASS_COUNT);
    *out = public_passes[pass];
    job_split_enter(job, *out, job->shown_part);
    const char *lack = render_pass_lacks(job->plan, render_passes[*out].needs);
    if (lack) {
        job_split_leave(job);
        error_set(&err, BL_ERROR_ARGUMENT, "%s, so the pass %s would be empty", lack,
                  render_passes[*out].name);
        return context_fail(job->context, &err);
    }
    return BL_OK;
}

const char *bl_job_part_name(const bl_job *job, bl_pass pass, uint32_t part)
{
    const bool known = (unsigned)pass < BL_PASS_COUNT;
    if (known && job_split_parts(job, public_passes[pass]) > 1)
        return job_split_part_name(part);
    return known && part == 0 ? "" : NULL;
}

bl_result bl_job_show_part(bl_job *job, uint32_t part)
{
    const uint32_t parts = job->split ? PLAN_SPLITS : 1;
    if (part >= parts)
        return context_fail_range(job->context, "part of the job", part, parts);
    job->shown_part = part;
    return BL_OK;
}

bool bl_job_has_pass(const bl_job *job, bl_pass pass)
{
    if ((unsigned)pass >= BL_PASS_COUNT)
        return false;
    render_pass which = public_passes[pass];
    const bool split = job_split_parts(job, which) > 1;
    const plan p = split ? plan_part(job->whole, (plan_split)(PLAN_SHAPES + job->shown_part)) : *job->whole;
    return !render_pass_lacks(&p, render_passes[which].needs) && !render_pass_refused(job->scene, which);
}

bool bl_job_kernel_statistic(const bl_job *job, bl_pass pass, uint32_t index, const char **name,
                             double *value)
{
    const gpu_statistic *list;
    if ((unsigned)pass >= BL_PASS_COUNT)
        return false;
    const render_pass which = public_passes[pass];
    const bool split = job_split_parts(job, which) > 1;
    const gpu_kernel *kernel = job->sets[split ? 1 + job->shown_part : 0].kernels[which];
    if (!kernel || index >= gpu_kernel_statistics(kernel, &list))
        return false;
    *name = list[index].name, *value = list[index].value;
    return true;
}

static bl_result spirv(const bl_job *job, render_pass pass, kernel_code *code, bl_error *err)
{
    ir_module *trace;
    bl_kernel_info took;
    TRY(job_trace_timed(job, pass, &trace, &took, err));
    const making how = {.native = X86_NONE};
    bl_result r = generate(job, pass, trace, render_passes[pass].name, how, code, &took, err);
    ir_module_destroy(trace);
    return r == BL_OK ? memory_for_user(code->words, err) : r;
}

bl_result bl_job_spirv(bl_job *job, bl_pass pass, uint32_t **words, size_t *word_count)
{
    *words = NULL;
    render_pass which = RENDER_PRIMAL;
    TRY(job_pass_enter(job, pass, &which));
    kernel_code code;
    bl_error err = {0};
    const bl_result r = spirv(job, which, &code, &err);
    job_split_leave(job);
    if (r != BL_OK)
        return context_fail(job->context, &err);
    *words = code.words, *word_count = code.word_count;
    return BL_OK;
}

static bl_result list(const bl_job *job, render_pass pass, text *out, bl_error *err)
{
    const gpu_info *device = gpu_device_info(job->device->gpu);
    x86_target target = (x86_target)device->native_target;
    ir_module *trace, *lowered;
    if (target == X86_NONE)
        return error_set(err, BL_ERROR_UNSUPPORTED,
                         "%s is not the native device: it has no machine code of kernels, but SPIR-V",
                         device->name);
    TRY(job_trace(job, pass, &trace, err));
    opt_options passes = job_lowering(job, pass, target);
    code_options options = generation(job, pass, &passes, target);
    bl_result r = opt_run(trace, &passes, &lowered, err);
    ir_module_destroy(trace);
    TRY(r);
    r = codegen_listing(lowered, &options, out, err);
    ir_module_destroy(lowered);
    return r;
}

bl_result bl_job_machine_code(bl_job *job, bl_pass pass, char **out)
{
    *out = NULL;
    render_pass which = RENDER_PRIMAL;
    TRY(job_pass_enter(job, pass, &which));
    text listing = {0};
    bl_error err = {0};
    bl_result r = list(job, which, &listing, &err);
    job_split_leave(job);
    if (r != BL_OK || memory_for_user(listing.data, &err) != BL_OK)
        return context_fail(job->context, &err);
    *out = listing.data;
    return BL_OK;
}
