/* LABELS: nodevice threads */
/* SPDX-License-Identifier: BSD-3-Clause
 * The native device by itself (src/gpu/native; unit_gpu_basic@native has what all devices share): threads,
 * kernels that must be refused, a process that may not run memory which it has written, no memory left, no
 * Vulkan. Under the sanitizers, too, which see the host's code, not the kernels'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/gpu.h"
#include "spirv_gen/x86/x86.h"
#include "unit/gpu_add_kernel.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifdef BL_WITH_NATIVE

typedef struct native {
    gpu *instance;
    gpu_device *device;
    bl_error err;
} native;

static void require(native *n, bl_result result)
{
    if (result != BL_OK)
        fail_msg("%s: %s", result_text(result), n->err.text);
}

/* threads, target: as BL_THREADS and BL_NATIVE; NULL: not set. */
static native open_with(const char *threads, const char *target)
{
    native n = {0};
    setenv("BL_THREADS", threads ? threads : "", 1);
    setenv("BL_NATIVE", target ? target : "", 1);
    require(&n, gpu_open(NULL, &n.instance, &n.err));
    gpu_device_create(n.instance, "native", &n.device, &n.err);
    return n;
}

static native open_native(const char *threads)
{
    native n = open_with(threads, NULL);
    if (!n.device)
        fail_msg("%s", n.err.text);
    return n;
}

static void close_native(native *n)
{
    gpu_device_destroy(n->device);
    gpu_close(n->instance);
}

static x86_code code_for(native *n, ir_module *m)
{
    x86_code code;
    x86_target target = (x86_target)gpu_device_info(n->device)->native_target;
    require(n, x86_generate(m, &(x86_options){.target = target}, &code, &n->err));
    ir_module_destroy(m);
    return code;
}

static gpu_kernel_desc desc_of(const uint32_t *words, size_t count, const ir_module *like)
{
    return (gpu_kernel_desc){.words = words,
                             .word_count = count,
                             .buffer_count = like ? like->buffers.count : 2,
                             .push_words = like ? like->uniform_count : 3,
                             .local_size = 64,
                             .label = "test kernel"};
}

static gpu_kernel *new_kernel(native *n, ir_module *m)
{
    gpu_kernel_desc desc = desc_of(NULL, 0, m);
    x86_code code = code_for(n, m);
    desc.words = code.words, desc.word_count = code.word_count;
    gpu_kernel *k;
    require(n, gpu_kernel_create(n->device, &desc, &k, &n->err));
    x86_code_free(&code);
    return k;
}

static gpu_buffer *new_buffer(native *n, uint64_t size)
{
    gpu_buffer *b;
    require(n, gpu_buffer_create(n->device, GPU_DEVICE, size, "test", &b, &n->err));
    assert_int_equal((uintptr_t)gpu_buffer_mapped(b) % 64, 0);
    return b;
}

static gpu_batch *new_batch(native *n)
{
    gpu_batch *b;
    require(n, gpu_batch_create(n->device, &b, &n->err));
    return b;
}

static void run(native *n, gpu_batch *b)
{
    double seconds = -1;
    require(n, gpu_batch_submit(b, &n->err));
    require(n, gpu_batch_wait(b, &seconds, &n->err));
    assert_true(seconds >= 0 && seconds < 1000);
}

/* An invocation i < uniform 0 adds 1 to word i of buffer 1 and stores into word i of buffer 0 what comes out
 * of up to 255 rounds, whose number jumps from invocation to invocation. Every 512th has 200 times as many.
 */
static ir_module *uneven_trace(void)
{
    ir_module *m = ir_module_create();
    uint32_t out = ir_buffer_add(m, "out", false, -1), ran = ir_buffer_add(m, "ran", false, -1);
    ir_func *f = ir_func_create(m, "uneven");
    ir_ref i = ir_global_id(f);
    m->entry = f;
    ir_if(f, ir_lt(f, i, ir_uniform(f, IR_U32, 0)));
    ir_ref rounds = ir_and(f, ir_shr(f, ir_mul(f, i, ir_u32(f, 2654435761u)), ir_u32(f, 20)), ir_u32(f, 255));
    ir_ref more = ir_eq(f, ir_and(f, i, ir_u32(f, 511)), ir_u32(f, 77));
    rounds = ir_select(f, more, ir_mul(f, rounds, ir_u32(f, 200)), rounds);
    ir_ref state[2] = {ir_u32(f, 0), i};
    ir_ref loop = ir_loop(f, state, 2);
    ir_while(f, ir_lt(f, state[0], rounds));
    const ir_ref next[2] = {
        ir_add(f, state[0], ir_u32(f, 1)),
        ir_add(f, ir_mul(f, state[1], ir_u32(f, 1664525)), ir_u32(f, 1013904223)),
    };
    ir_endloop(f, loop, next, 2);
    ir_store(f, out, i, state[1]);
    ir_atomic_add(f, ran, i, ir_u32(f, 1));
    ir_else(f);
    ir_endif(f);
    ir_return(f, NULL, 0);
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    return m;
}

/* What the kernel stores. */
static uint32_t uneven_value(uint32_t i)
{
    uint32_t rounds = i * 2654435761u >> 20 & 255, x = i;
    rounds *= (i & 511) == 77 ? 200 : 1;
    for (uint32_t k = 0; k < rounds; k++)
        x = x * 1664525 + 1013904223;
    return x;
}

/* ---- what there is ---- */

static bool process_has(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    text all = {0};
    char line[512];
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        text_add(&all, "%s", line);
    fclose(maps);
    assert_non_null(strstr(all.data, "libc.so"));
    bool found = strstr(all.data, name) != NULL;
    text_free(&all);
    return found;
}

static bool has_vulkan(void) { return process_has("libvulkan") || process_has("libvk_swiftshader"); }

/* The first test: nothing before it has opened Vulkan. */
static void no_vulkan_is_opened(void **state)
{
    (void)state;
    native n = open_native(NULL);
    gpu_kernel *k = new_kernel(&n, add_trace());
    gpu_kernel_destroy(k);
    assert_false(has_vulkan());
    uint32_t count = gpu_count(n.instance); /* now it may */
    bool listed = false;
    for (uint32_t i = 0; i < count; i++)
        listed = listed || gpu_info_at(n.instance, i) == gpu_device_info(n.device);
    assert_true(listed);
    assert_int_equal(has_vulkan(), count > 1);
    close_native(&n);
}

static void it_describes_itself(void **state)
{
    (void)state;
    native n = open_with("3", "avx2");
    assert_non_null(n.device);
    const gpu_info *info = gpu_device_info(n.device);
    assert_int_equal(info->kind, GPU_NATIVE);
    assert_non_null(strstr(info->name, "AVX2, 3 threads)"));
    assert_int_equal(info->subgroup_size, 8);
    assert_int_equal(info->native_target, X86_AVX2);
    assert_true(info->max_buffer_range > UINT32_MAX && info->max_buffer_range <= (uint64_t)8 << 30);
    close_native(&n);
    n = open_with("1", NULL);
    assert_non_null(strstr(gpu_device_info(n.device)->name, "1 thread)"));
    assert_int_equal(gpu_device_info(n.device)->native_target, x86_processor());
    close_native(&n);
}

static void where_it_is_absent_it_says_why(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {NULL, "off", "BL_NATIVE is 'off'"},
        {NULL, "sse", "BL_NATIVE is 'sse'"},
        {"0", NULL, "BL_THREADS is '0'"},
        {"-3", NULL, "BL_THREADS is '-3'"},
        {"1025", NULL, "BL_THREADS is '1025'"},
        {"two", NULL, "BL_THREADS is 'two'"},
        {"99999999999999999999", NULL, "BL_THREADS"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        native n = open_with(cases[k][0], cases[k][1]);
        assert_null(n.device);
        assert_int_equal(n.err.code, BL_ERROR_NO_DEVICE);
        if (!strstr(n.err.text, cases[k][2]) || !strstr(n.err.text, "'native'"))
            fail_msg("%s", n.err.text);
        close_native(&n);
    }
}

/* ---- running ---- */

static const uint32_t counts[] = {1, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 127, 1000, 4097, 65536, 100003};
enum { COUNTS = sizeof counts / sizeof *counts, MOST = 100003 };

static void every_invocation_runs_once(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2", "5", "64"};
    static const char *const targets[] = {NULL, "avx2"};
    uint32_t *expected = malloc(4 * MOST);
    for (uint32_t i = 0; i < MOST; i++)
        expected[i] = uneven_value(i);
    for (size_t t = 0; t < 8; t++) {
        native n = open_with(threads[t / 2], targets[t % 2]);
        gpu_kernel *k = new_kernel(&n, uneven_trace());
        gpu_buffer *out = new_buffer(&n, 4 * (MOST + 64)), *ran = new_buffer(&n, 4 * (MOST + 64));
        gpu_batch *b = new_batch(&n);
        for (size_t c = 0; c < COUNTS; c++) {
            require(&n, gpu_batch_begin(b, &n.err));
            gpu_batch_fill(b, out, 0, gpu_buffer_size(out), 0xA5A5A5A5);
            gpu_batch_fill(b, ran, 0, gpu_buffer_size(ran), 3);
            gpu_batch_dispatch(b, k, (gpu_buffer *[]){out, ran}, (const uint32_t[]){UINT32_MAX}, counts[c]);
            run(&n, b);
            const uint32_t *values = gpu_buffer_mapped(out), *times = gpu_buffer_mapped(ran);
            assert_memory_equal(values, expected, 4 * (size_t)counts[c]);
            for (uint32_t i = 0; i < MOST + 64; i++)
                if (times[i] != (i < counts[c] ? 4 : 3))
                    fail_msg("%s threads: invocation %u of %u ran %u times", threads[t / 2], i, counts[c],
                             times[i] - 3);
            assert_int_equal(values[counts[c]], 0xA5A5A5A5);
        }
        gpu_batch_destroy(b);
        gpu_buffer_destroy(out);
        gpu_buffer_destroy(ran);
        gpu_kernel_destroy(k);
        close_native(&n);
    }
    free(expected);
}

/* Each command sees what the one before it did, whichever threads that were, also with several kernels, whose
 * workspaces have other sizes and constants. */
static void commands_follow_each_other(void **state)
{
    (void)state;
    static const char *const threads[] = {"1", "2", "5"};
    enum { WORDS = 200000 };
    uint32_t ramp[1024], *first = NULL;
    for (uint32_t i = 0; i < 1024; i++)
        ramp[i] = i;
    for (size_t t = 0; t < 3; t++) {
        native n = open_native(threads[t]);
        gpu_kernel *adder = new_kernel(&n, add_trace()), *uneven = new_kernel(&n, uneven_trace());
        gpu_buffer *in = new_buffer(&n, sizeof ramp), *x = new_buffer(&n, 4 * WORDS);
        gpu_buffer *y = new_buffer(&n, 4 * WORDS), *z = new_buffer(&n, 4 * WORDS);
        gpu_batch *b = new_batch(&n);
        require(&n, gpu_buffer_write(in, 0, ramp, sizeof ramp, &n.err));
        require(&n, gpu_batch_begin(b, &n.err));
        gpu_batch_fill(b, x, 0, 4 * WORDS, 7);
        for (uint32_t k = 0; k < 20; k++) {
            gpu_batch_dispatch(b, adder, (gpu_buffer *[]){in, x}, (const uint32_t[]){WORDS, k, 1}, WORDS);
            gpu_batch_copy(b, x, 0, y, 0, 4 * WORDS);
            gpu_batch_dispatch(b, adder, (gpu_buffer *[]){in, y}, (const uint32_t[]){100, k, 1}, 100);
            gpu_batch_copy(b, y, 0, x, 0, 4 * WORDS);
            gpu_batch_dispatch(b, uneven, (gpu_buffer *[]){z, y}, (const uint32_t[]){5000}, 5000);
        }
        run(&n, b);
        const uint32_t *words = gpu_buffer_mapped(x);
        for (uint32_t i = 0; i < WORDS; i++)
            assert_int_equal(words[i], 7 + (i < 100 ? 2 : 1) * (190 * (i & 1023) + 20));
        first = first ? first : malloc(8 * WORDS);
        if (t == 0) {
            memcpy(first, gpu_buffer_mapped(y), 4 * WORDS);
            memcpy(first + WORDS, gpu_buffer_mapped(z), 4 * WORDS);
        }
        assert_memory_equal(first, gpu_buffer_mapped(y), 4 * WORDS);
        assert_memory_equal(first + WORDS, gpu_buffer_mapped(z), 4 * WORDS);
        gpu_batch_destroy(b);
        gpu_buffer *const all[] = {in, x, y, z};
        for (size_t k = 0; k < 4; k++)
            gpu_buffer_destroy(all[k]);
        gpu_kernel_destroy(adder);
        gpu_kernel_destroy(uneven);
        close_native(&n);
    }
    free(first);
}

/* Batches run in the order of their submission, whatever the order of the waits; one is never waited for. */
static void several_batches_are_in_flight(void **state)
{
    (void)state;
    enum { WORDS = 50000, BATCHES = 6 };
    static const char *const threads[] = {"1", "3"};
    for (size_t t = 0; t < 2; t++) {
        native n = open_native(threads[t]);
        gpu_kernel *k = new_kernel(&n, add_trace());
        gpu_buffer *in = new_buffer(&n, 4096), *x = new_buffer(&n, 4 * WORDS);
        gpu_batch *b[BATCHES];
        for (uint32_t i = 0; i < BATCHES; i++) {
            b[i] = new_batch(&n);
            require(&n, gpu_batch_begin(b[i], &n.err));
            gpu_batch_dispatch(b[i], k, (gpu_buffer *[]){in, x}, (const uint32_t[]){WORDS, 0, i}, WORDS);
            if (i == 3) /* none of the sums before is left */
                gpu_batch_fill(b[i], x, 0, 4 * WORDS, 1000);
            require(&n, gpu_batch_submit(b[i], &n.err));
        }
        gpu_kernel *larger = new_kernel(&n, uneven_trace()); /* its workspace may be larger: waits */
        require(&n, gpu_batch_wait(b[4], NULL, &n.err));
        require(&n, gpu_batch_wait(b[0], NULL, &n.err));
        for (uint32_t i = 0; i < BATCHES; i++)
            gpu_batch_destroy(b[i]);
        const uint32_t *words = gpu_buffer_mapped(x);
        for (uint32_t i = 0; i < WORDS; i++)
            assert_int_equal(words[i], 1000 + 4 + 5);
        gpu_batch *nothing = new_batch(&n);
        require(&n, gpu_batch_begin(nothing, &n.err));
        run(&n, nothing);
        gpu_batch_destroy(nothing);
        gpu_kernel_destroy(larger);
        gpu_kernel_destroy(k);
        gpu_buffer_destroy(in);
        gpu_buffer_destroy(x);
        close_native(&n);
    }
}

/* Thousands of small batches: threads fall asleep and are woken between them. */
static void small_batches_by_the_thousand(void **state)
{
    (void)state;
    native n = open_native("4");
    gpu_kernel *k = new_kernel(&n, add_trace());
    gpu_buffer *in = new_buffer(&n, 4096), *x = new_buffer(&n, 4096);
    gpu_batch *b = new_batch(&n);
    for (uint32_t i = 0; i < 3000; i++) {
        require(&n, gpu_batch_begin(b, &n.err));
        gpu_batch_dispatch(b, k, (gpu_buffer *[]){in, x}, (const uint32_t[]){1024, 0, 1}, 1 + i % 1024);
        gpu_batch_dispatch(b, k, (gpu_buffer *[]){in, x}, (const uint32_t[]){1024, 0, 1}, 1);
        if (i % 500 == 0)
            usleep(2000);
        run(&n, b);
    }
    assert_int_equal(*(uint32_t *)gpu_buffer_mapped(x), 6000);
    gpu_batch_destroy(b);
    gpu_buffer_destroy(in);
    gpu_buffer_destroy(x);
    gpu_kernel_destroy(k);
    close_native(&n);
}

/* Half of the smallest normal number is denormal, and 1 + 2^-24 rounds to 1, whatever the calling thread has
 * chosen for itself, which it finds as it was. */
static void arithmetic_is_the_device_s_own(void **state)
{
    (void)state;
#if defined(__x86_64__)
    ir_module *m = ir_module_create();
    uint32_t in = ir_buffer_add(m, "in", false, -1), out = ir_buffer_add(m, "out", false, -1);
    ir_func *f = ir_func_create(m, "halve");
    ir_ref i = ir_global_id(f);
    m->entry = f;
    ir_ref x = ir_load(f, IR_F32, in, i);
    ir_store(f, out, ir_mul(f, i, ir_u32(f, 2)), ir_mul(f, x, ir_f32(f, 0.5f)));
    ir_ref sum = ir_add(f, ir_load(f, IR_F32, in, ir_add(f, i, ir_u32(f, 16))), ir_f32(f, 1));
    ir_store(f, out, ir_add(f, ir_mul(f, i, ir_u32(f, 2)), ir_u32(f, 1)), sum);
    ir_return(f, NULL, 0);
    bl_error err = {0};
    assert_int_equal(ir_finish(m, &err), BL_OK);
    native n = open_native("1");
    gpu_kernel *k = new_kernel(&n, m);
    gpu_buffer *from = new_buffer(&n, 4 * 64), *to = new_buffer(&n, 4 * 64);
    float *numbers = gpu_buffer_mapped(from);
    for (int j = 0; j < 16; j++)
        numbers[j] = 1.17549435e-38f, numbers[16 + j] = 5.9604645e-8f;
    gpu_batch *b = new_batch(&n);
    uint32_t before = _mm_getcsr(), chosen = before | 0x8040 | _MM_ROUND_UP;
    _mm_setcsr(chosen); /* flush to zero, denormals are zero, round up */
    require(&n, gpu_batch_begin(b, &n.err));
    gpu_batch_dispatch(b, k, (gpu_buffer *[]){from, to}, NULL, 16);
    run(&n, b);
    uint32_t after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(after & ~0x3Fu, chosen & ~0x3Fu);
    const uint32_t *words = gpu_buffer_mapped(to);
    for (int j = 0; j < 16; j++) {
        assert_int_equal(words[2 * j], 0x00400000);
        assert_int_equal(words[2 * j + 1], 0x3F800000);
    }
    gpu_batch_destroy(b);
    gpu_buffer_destroy(from);
    gpu_buffer_destroy(to);
    gpu_kernel_destroy(k);
    close_native(&n);
#endif
}

/* ---- what must be refused ---- */

static void refused(native *n, const gpu_kernel_desc *desc, const char *why)
{
    gpu_kernel *k;
    bl_error err = {0};
    bl_result result = gpu_kernel_create(n->device, desc, &k, &err);
    if (result != BL_ERROR_COMPILE || k || !strstr(err.text, "test kernel") || !strstr(err.text, why))
        fail_msg("'%s' is wanted; %s: %s", why, result_text(result), err.text);
}

static void wrong_headers_are_refused(void **state)
{
    (void)state;
    native n = open_native("2");
    x86_code code = code_for(&n, add_trace());
    x86_header *h = malloc(4 * code.word_count + 64);
    uint32_t *words = (uint32_t *)h;
    gpu_kernel_desc desc = desc_of(words, code.word_count, NULL);
#define WRONG(change, why)                                                                                   \
    memcpy(words, code.words, 4 * code.word_count);                                                          \
    change;                                                                                                  \
    refused(&n, &desc, why);
    WRONG(h->magic ^= 1, "does not begin")
    WRONG(words[0] = 0x07230203, "does not begin") /* SPIR-V */
    WRONG(h->version++, "another version")
    WRONG(h->target ^= 3, "another kind of processor")
    WRONG(h->target = X86_NONE, "another kind of processor")
    WRONG(h->lanes *= 2, "another kind of processor")
    WRONG(h->constant_count = UINT32_MAX, "its length")
    WRONG(h->constant_count += 16, "its length")
    WRONG(h->code_bytes = 0, "its length")
    WRONG(h->code_bytes = UINT32_MAX, "its length")
    WRONG(h->code_bytes += 4, "its length")
    WRONG(h->run = h->code_bytes, "begin outside")
    WRONG(h->prologue = UINT32_MAX, "begin outside")
    WRONG(h->workspace_bytes = 0, "workspace")
    WRONG(h->workspace_bytes = X86_WORKSPACE_CONSTANTS - 64, "workspace")
    WRONG(h->workspace_bytes += 4, "workspace")
    WRONG(h->workspace_bytes = UINT32_MAX - 63, "workspace")
    WRONG(h->buffer_count = 3, "buffers or uniforms")
    WRONG(h->buffer_count = UINT32_MAX, "buffers or uniforms")
    WRONG(h->uniform_count = 4, "buffers or uniforms")
    WRONG(h->has_rays = 2, "flag")
    WRONG(h->refills = 2, "flag")
    WRONG(h->sums = 3, "sums")
    WRONG((h->sums = 1, h->status_buffer = 2), "sums")
    WRONG(h->reserved[13] = 1, "reserved")
    WRONG(h->function_count++, "its length")
    WRONG(h->function_count = UINT32_MAX, "its length")
    WRONG(h->name_bytes = UINT32_MAX, "its length")
    WRONG(h->run = h->prologue, "out of order")
    uint32_t *begins = words + sizeof *h / 4 + h->constant_count + (h->code_bytes + 3) / 4;
    char *name = (char *)(begins + 1);
    assert_true(h->function_count == 1 && h->name_bytes == sizeof "add" && !strcmp(name, "add"));
    WRONG(begins[0] = h->run, "out of order")
    WRONG(begins[0] = h->code_bytes, "out of order")
    WRONG(name[0] = 0, "a name for each")
    WRONG(name[3] = 'x', "a name for each")
    WRONG(h->name_bytes--, "a name for each")
#undef WRONG
    memcpy(words, code.words, 4 * code.word_count);
    for (size_t count = 0; count < code.word_count; count++) {
        desc.word_count = count;
        refused(&n, &desc, count < sizeof *h / 4 ? "shorter than a header" : "its length");
    }
    desc.word_count = code.word_count;
    desc.buffer_count = X86_BUFFERS_MOST + 1;
    refused(&n, &desc, "storage buffers");
    desc.buffer_count = 1;
    refused(&n, &desc, "buffers or uniforms");
    desc.buffer_count = 2, desc.words = NULL;
    refused(&n, &desc, "shorter than a header");
    free(h);
    x86_code_free(&code);
    close_native(&n);
}

/* ---- processes that may do less: each check runs in a child of its own, which answers with its status ----
 */

static void in_child(int (*check)(void))
{
    pid_t child = fork();
    int status = -1;
    assert_true(child >= 0);
    if (child == 0)
        _exit(check());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %d at step %d", status, WEXITSTATUS(status));
}

/* From here on mprotect with PROT_EXEC fails, as under SELinux or systemd's MemoryDenyWriteExecute. */
static bool forbid_code(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static bool explains_code(const bl_error *err)
{
    return strstr(err->text, "may not make memory that runs") && strstr(err->text, strerror(EACCES));
}

static int without_code(void)
{
    native n = {0};
    if (!forbid_code() || gpu_open(NULL, &n.instance, &n.err) != BL_OK)
        return 1;
    if (gpu_device_create(n.instance, "native", &n.device, &n.err) != BL_ERROR_NO_DEVICE)
        return 2;
    if (!explains_code(&n.err))
        return 3;
    gpu_close(n.instance);
    return 0;
}

static int without_code_later(void)
{
    native n = open_native("2");
    x86_code code = code_for(&n, add_trace());
    gpu_kernel_desc desc = desc_of(code.words, code.word_count, NULL);
    gpu_kernel *k;
    if (!forbid_code())
        return 1;
    if (gpu_kernel_create(n.device, &desc, &k, &n.err) != BL_ERROR_UNSUPPORTED || k)
        return 2;
    if (!explains_code(&n.err))
        return 3;
    x86_code_free(&code);
    close_native(&n);
    return 0;
}

static int without_memory(void)
{
    native n = open_native("2");
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        return 1;
    fclose(file);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (256u << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    gpu_buffer *b;
    if (gpu_buffer_create(n.device, GPU_DEVICE, 512u << 20, "too large", &b, &n.err) !=
            BL_ERROR_DEVICE_MEMORY ||
        b || !strstr(n.err.text, "too large"))
        return 3;
    if (gpu_device_stats(n.device).bytes_allocated != 0)
        return 4;
    if (gpu_buffer_create(n.device, GPU_DEVICE, 1 << 20, "small", &b, &n.err) != BL_OK)
        return 5;
    gpu_buffer_destroy(b);
    close_native(&n);
    return 0;
}

static int with_perf_map(void)
{
    char path[64];
    void *data;
    size_t size;
    bl_error err;
    setenv("BL_PERF_MAP", "1", 1);
    native n = open_native("1");
    x86_code code = code_for(&n, add_trace());
    gpu_kernel_destroy(new_kernel(&n, add_trace()));
    close_native(&n);
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    if (file_read(path, 1 << 20, &data, &size, &err) != BL_OK)
        return 1;
    unlink(path);
    unsigned long long at[3];
    unsigned bytes[3];
    int end = 0;
    bool named = sscanf(data,
                        "%llx %x test kernel: the prologue\n%llx %x test kernel: the entry\n"
                        "%llx %x test kernel: add\n%n",
                        &at[0], &bytes[0], &at[1], &bytes[1], &at[2], &bytes[2], &end) == 6 &&
                 end == (int)size;
    free(data);
    const x86_header *h = (const x86_header *)code.words;
    bool whole = named && at[1] == at[0] + bytes[0] && at[2] == at[1] + bytes[1] &&
                 bytes[0] + bytes[1] + bytes[2] == h->code_bytes && bytes[0] == h->run;
    x86_code_free(&code);
    return !named ? 2 : !whole ? 3 : 0;
}

static void limits_of_the_process_are_explained(void **state)
{
    (void)state;
    unsetenv("BL_NATIVE");
    unsetenv("BL_THREADS");
    in_child(without_code);
    in_child(without_code_later);
    in_child(without_memory);
    in_child(with_perf_map);
}

int main(void)
{
    if (x86_processor() == X86_NONE) {
        print_message("skipped: the processor lacks AVX2\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_vulkan_is_opened),
        cmocka_unit_test(it_describes_itself),
        cmocka_unit_test(where_it_is_absent_it_says_why),
        cmocka_unit_test(every_invocation_runs_once),
        cmocka_unit_test(commands_follow_each_other),
        cmocka_unit_test(several_batches_are_in_flight),
        cmocka_unit_test(small_batches_by_the_thousand),
        cmocka_unit_test(arithmetic_is_the_device_s_own),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(limits_of_the_process_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    printf("skipped: this build is without the native device\n");
    return 77;
}

#endif
