/* LABELS: swiftshader lavapipe native sanitized=swiftshader */
/* SPDX-License-Identifier: BSD-3-Clause
 * src/gpu on a real driver: the device that BL_DEVICE names (default SwiftShader), as it is and again under
 * the validation layer, which must stay silent. SwiftShader is opened directly the first time and through the
 * loader the second. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/gpu.h"
#include "spirv_gen/x86/x86.h"
#include "unit/gpu_add_kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    const char *title, *selector;
    bool validation;
    gpu *instance;
    gpu_device *device;
    x86_code native; /* the kernel for a native device */
    bl_error err;
} fixture;

static void print_line(void *user, const char *message)
{
    (void)user;
    print_message("%s\n", message);
}

static void require(fixture *f, bl_result result)
{
    if (result != BL_OK)
        fail_msg("%s: %s", result_text(result), f->err.text);
}

/* Lets the loader list SwiftShader too, whose manifest lies beside the library. */
static void add_swiftshader_to_loader(void)
{
    const char *library = getenv("BL_SWIFTSHADER"), *others = getenv("VK_DRIVER_FILES");
    const char *slash = library ? strrchr(library, '/') : NULL;
    arena a = {0};
    const char *manifest =
        slash ? arena_printf(&a, "%.*s/vk_swiftshader_icd.json", (int)(slash - library), library) : NULL;
    if (manifest && file_exists(manifest)) {
        const char *list = others ? arena_printf(&a, "%s:%s", others, manifest) : manifest;
        setenv("VK_DRIVER_FILES", list, 1);
        setenv("VK_ICD_FILENAMES", list, 1);
    }
    arena_free(&a);
}

/* False, with the reason in f->err, where there is no such device. */
static bool open_fixture(fixture *f)
{
    gpu_options options = {.validation = f->validation, .log = print_line};
    if (gpu_open(&options, &f->instance, &f->err) == BL_OK)
        gpu_device_create(f->instance, f->selector, &f->device, &f->err);
    if (f->device && f->validation && !gpu_device_info(f->device)->validated) {
        gpu_device_destroy(f->device);
        f->device = NULL;
        error_set(&f->err, BL_ERROR_UNSUPPORTED, "the device is not reached through the validation layer");
    }
#ifdef BL_WITH_NATIVE
    uint32_t target = f->device ? gpu_device_info(f->device)->native_target : 0;
    if (target) {
        ir_module *m = add_trace();
        require(f, x86_generate(m, &(x86_options){.target = (x86_target)target}, &f->native, &f->err));
        ir_module_destroy(m);
    }
#endif
    print_message("---- %s: %s\n", f->title, f->device ? gpu_device_info(f->device)->name : f->err.text);
    return f->device != NULL;
}

/* Messages of the whole life of the device, its destruction included. */
static uint32_t close_fixture(fixture *f)
{
    gpu_device_destroy(f->device);
    free(f->native.words);
    f->native = (x86_code){0};
    uint32_t messages = f->instance ? gpu_validation_messages(f->instance) : 0;
    gpu_close(f->instance);
    f->instance = NULL;
    f->device = NULL;
    return messages;
}

static gpu_buffer *new_buffer(fixture *f, gpu_memory where, uint64_t size)
{
    gpu_buffer *b;
    require(f, gpu_buffer_create(f->device, where, size, "test", &b, &f->err));
    return b;
}

static gpu_kernel_desc adder(const fixture *f, const char *label)
{
    return (gpu_kernel_desc){
        .words = f->native.words ? f->native.words : add_words,
        .word_count = f->native.words ? f->native.word_count : sizeof add_words / sizeof *add_words,
        .buffer_count = 2,
        .push_words = 3,
        .local_size = 64,
        .label = label,
    };
}

static gpu_kernel *new_adder(fixture *f)
{
    gpu_kernel_desc desc = adder(f, "add");
    gpu_kernel *k;
    require(f, gpu_kernel_create(f->device, &desc, &k, &f->err));
    return k;
}

static gpu_batch *new_batch(fixture *f)
{
    gpu_batch *b;
    require(f, gpu_batch_create(f->device, &b, &f->err));
    return b;
}

static void run_batch(fixture *f, gpu_batch *b)
{
    double seconds = -1;
    require(f, gpu_batch_submit(b, &f->err));
    require(f, gpu_batch_wait(b, &seconds, &f->err));
    assert_true(seconds >= 0 && seconds < 100);
}

/* ---- devices ---- */

static void devices_are_listed_in_order(void **state)
{
    fixture *f = *state;
    uint32_t swiftshaders = 0;
    for (uint32_t i = 0; i < gpu_count(f->instance); i++) {
        const gpu_info *info = gpu_info_at(f->instance, i);
        print_message("%u: %s | %s | %s | kind %d, subgroup %u, range %llu, allocation %llu, buffers %u, f32 "
                      "atomics %d, "
                      "ray query %d, i64 %d, f64 %d, time %d, szinp %d, address %d\n",
                      i, info->name, info->driver, info->found, (int)info->kind, info->subgroup_size,
                      (unsigned long long)info->max_buffer_range, (unsigned long long)info->max_allocation,
                      info->max_storage_buffers, info->float_atomics, info->ray_query, info->int64,
                      info->float64, info->timestamps, info->signed_zero_inf_nan_preserve,
                      info->buffer_address);
        assert_true(info->name[0] && info->found[0] && info->driver[0]);
        assert_true(info->subgroup_size >= 1 && info->max_storage_buffers >= 4);
        assert_true(info->max_allocation >= 1 << 26 && info->max_buffer_range >= 1 << 26);
        if (i > 0 && info->kind != GPU_NATIVE) /* it is last until "auto" may choose it */
            assert_true(info->kind >= gpu_info_at(f->instance, i - 1)->kind);
        swiftshaders += info->kind == GPU_SWIFTSHADER;
    }
    assert_true(swiftshaders <= 1); /* also where loader and library both offer it */
}

static void selectors_choose(void **state)
{
    fixture *f = *state;
    const gpu_info *first = gpu_info_at(f->instance, 0);
    const char *const names[] = {first->name, NULL, "", "auto", "AUTO"};
    bool alone = first->kind == GPU_NATIVE; /* which "auto" passes by as yet */
    for (size_t i = 0; i < (alone ? 1 : sizeof names / sizeof *names); i++) {
        gpu_device *d;
        require(f, gpu_device_create(f->instance, names[i], &d, &f->err));
        assert_ptr_equal(gpu_device_info(d), first);
        gpu_device_destroy(d);
    }
    gpu_device *d;
    bl_error err = {0};
    assert_int_equal(gpu_device_create(f->instance, "no such device", &d, &err), BL_ERROR_NO_DEVICE);
    assert_null(d);
    assert_non_null(strstr(err.text, "no such device"));
    assert_non_null(strstr(err.text, first->name)); /* the list of what there is */
}

/* ---- buffers ---- */

static void buffers_start_zeroed_and_rounded(void **state)
{
    fixture *f = *state;
    for (int where = GPU_DEVICE; where <= GPU_HOST; where++) {
        gpu_buffer *b = new_buffer(f, (gpu_memory)where, 0);
        assert_int_equal(gpu_buffer_size(b), 16);
        gpu_buffer_destroy(b);
        b = new_buffer(f, (gpu_memory)where, 1000001);
        assert_int_equal(gpu_buffer_size(b), 1000016);
        unsigned char *bytes = malloc(1000016);
        require(f, gpu_buffer_read(b, 0, bytes, 1000016, &f->err));
        for (size_t i = 0; i < 1000016; i++)
            assert_int_equal(bytes[i], 0);
        free(bytes);
        gpu_buffer_destroy(b);
    }
    gpu_buffer_destroy(NULL);
}

static void buffers_carry_bytes(void **state)
{
    fixture *f = *state;
    enum { SIZE = 20000000 }; /* more than the staging buffer */
    unsigned char *sent = malloc(SIZE), *received = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        sent[i] = (unsigned char)((i * 2654435761u) >> 13);
    for (int where = GPU_DEVICE; where <= GPU_HOST; where++) {
        gpu_buffer *b = new_buffer(f, (gpu_memory)where, SIZE);
        require(f, gpu_buffer_write(b, 0, sent, SIZE, &f->err));
        require(f, gpu_buffer_read(b, 0, received, SIZE, &f->err));
        assert_memory_equal(sent, received, SIZE);
        require(f, gpu_buffer_write(b, 12345, "light", 5, &f->err));
        require(f, gpu_buffer_read(b, 12344, received, 7, &f->err));
        assert_memory_equal(received + 1, "light", 5);
        assert_int_equal(received[0], sent[12344]);
        assert_int_equal(received[6], sent[12350]);
        require(f, gpu_buffer_write(b, SIZE, NULL, 0, &f->err));
        require(f, gpu_buffer_read(b, SIZE, NULL, 0, &f->err));
        gpu_buffer_destroy(b);
    }
    free(sent);
    free(received);
}

static void mapped_buffers_are_the_memory(void **state)
{
    fixture *f = *state;
    gpu_kind kind = gpu_device_info(f->device)->kind;
    gpu_buffer *host = new_buffer(f, GPU_HOST, 64), *device = new_buffer(f, GPU_DEVICE, 64);
    assert_non_null(gpu_buffer_mapped(host));
    if (gpu_is_processor(kind))
        assert_non_null(gpu_buffer_mapped(device));
    uint32_t value = 0;
    ((uint32_t *)gpu_buffer_mapped(host))[3] = 77;
    require(f, gpu_buffer_read(host, 12, &value, 4, &f->err));
    assert_int_equal(value, 77);
    if (gpu_device_info(f->device)->buffer_address)
        assert_true(gpu_buffer_address(device) != 0 &&
                    gpu_buffer_address(device) != gpu_buffer_address(host));
    gpu_buffer_destroy(host);
    gpu_buffer_destroy(device);
}

static void wrong_buffer_calls_are_refused(void **state)
{
    fixture *f = *state;
    gpu_buffer *b, *small = new_buffer(f, GPU_DEVICE, 64);
    bl_error err = {0};
    const uint64_t absurd[] = {UINT64_MAX, UINT64_MAX - 15, (uint64_t)1 << 50,
                               gpu_device_info(f->device)->max_allocation + 1};
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        assert_int_equal(gpu_buffer_create(f->device, GPU_DEVICE, absurd[i], "moon", &b, &err),
                         BL_ERROR_DEVICE_MEMORY);
        assert_null(b);
        assert_non_null(strstr(err.text, "moon"));
    }
    char bytes[65] = {0};
    assert_int_equal(gpu_buffer_write(small, 0, bytes, 65, &err), BL_ERROR_ARGUMENT);
    assert_int_equal(gpu_buffer_write(small, 65, bytes, 0, &err), BL_ERROR_ARGUMENT);
    assert_int_equal(gpu_buffer_write(small, UINT64_MAX, bytes, 2, &err), BL_ERROR_ARGUMENT);
    assert_int_equal(gpu_buffer_read(small, 1, bytes, 64, &err), BL_ERROR_ARGUMENT);
    gpu_buffer_destroy(small);
}

/* ---- kernels ---- */

static void wrong_kernels_are_refused(void **state)
{
    fixture *f = *state;
    const gpu_kernel_desc right = adder(f, "wrong");
    static const uint32_t garbage[8] = {1, 2, 3};
    gpu_kernel_desc desc[6] = {right, right, right, right, right, right};
    desc[0].words = garbage;
    desc[1].word_count = 4;
    desc[2].push_words = 33;
    desc[3].local_size = 0;
    desc[4].local_size = 1u << 20;
    desc[5].words = NULL;
    for (size_t i = 0; i < 6; i++) {
        gpu_kernel *k;
        bl_error err = {0};
        bl_result result = gpu_kernel_create(f->device, &desc[i], &k, &err);
        assert_int_equal(result, i == 2 ? BL_ERROR_ARGUMENT : BL_ERROR_COMPILE);
        assert_null(k);
        assert_non_null(strstr(err.text, "wrong"));
    }
    gpu_kernel_desc many = right;
    gpu_kernel *k;
    many.buffer_count = UINT32_MAX;
    assert_int_equal(gpu_kernel_create(f->device, &many, &k, &f->err), BL_ERROR_COMPILE);
    gpu_kernel_destroy(NULL);
}

/* Dispatches in one batch must see each other's results, and a batch can be recorded again. */
static void batches_run_in_order_and_again(void **state)
{
    fixture *f = *state;
    enum { COUNT = 5000 };
    gpu_buffer *in = new_buffer(f, GPU_DEVICE, 4096), *out = new_buffer(f, GPU_DEVICE, 4 * COUNT);
    gpu_buffer *copy = new_buffer(f, GPU_HOST, 4 * COUNT);
    gpu_kernel *k = new_adder(f);
    gpu_batch *b = new_batch(f);
    uint32_t ramp[1024];
    for (uint32_t i = 0; i < 1024; i++)
        ramp[i] = i;
    require(f, gpu_buffer_write(in, 0, ramp, sizeof ramp, &f->err));
    gpu_stats before = gpu_device_stats(f->device);
    for (uint32_t round = 0; round < 3; round++) {
        require(f, gpu_batch_begin(b, &f->err));
        gpu_batch_fill(b, out, 0, 4 * COUNT, 100);
        gpu_batch_fill(b, out, 16, 4, 7);
        for (uint32_t step = 0; step < 200; step++) { /* more sets than the first pool has */
            gpu_buffer *const forth[] = {in, out}, *const back[] = {in, step % 50 ? out : copy};
            gpu_batch_dispatch(b, k, step % 2 ? forth : back, (const uint32_t[]){COUNT, 2, round}, COUNT);
        }
        gpu_batch_dispatch(b, k, NULL, NULL, 0); /* nothing to do */
        gpu_batch_copy(b, out, 0, copy, 0, 4 * COUNT - 8);
        run_batch(f, b);
        const uint32_t *result = gpu_buffer_mapped(copy);
        for (uint32_t i = 0; i < COUNT - 2; i++)
            assert_int_equal(result[i], (i == 4 ? 7 : 100) + 196 * ((i & 1023) * 2 + round));
    }
    gpu_stats after = gpu_device_stats(f->device);
    assert_int_equal(after.dispatches - before.dispatches, 600);
    assert_int_equal(after.submits - before.submits, 3);
    assert_int_equal(after.pipelines_created, before.pipelines_created);
    gpu_batch_destroy(b);
    gpu_kernel_destroy(k);
    gpu_buffer_destroy(copy);
    gpu_buffer_destroy(out);
    gpu_buffer_destroy(in);
}

static void many_groups_are_split_over_y(void **state)
{
    fixture *f = *state;
    const uint32_t counts[] = {65535 * 64, 65535 * 64 + 1, 2 * 65535 * 64 + 12345};
    gpu_buffer *in = new_buffer(f, GPU_DEVICE, 4096), *out = new_buffer(f, GPU_HOST, 4ull * counts[2]);
    gpu_kernel *k = new_adder(f);
    gpu_batch *b = new_batch(f);
    uint32_t ones[1024];
    for (uint32_t i = 0; i < 1024; i++)
        ones[i] = i % 7;
    require(f, gpu_buffer_write(in, 0, ones, sizeof ones, &f->err));
    const uint32_t *result = gpu_buffer_mapped(out);
    for (size_t n = 0; n < 3; n++) {
        require(f, gpu_batch_begin(b, &f->err));
        gpu_batch_fill(b, out, 0, gpu_buffer_size(out), 0);
        gpu_batch_dispatch(b, k, (gpu_buffer *[]){in, out}, (const uint32_t[]){counts[n], 3, 1}, counts[n]);
        run_batch(f, b);
        uint64_t wrong = 0;
        for (uint32_t i = 0; i < counts[2]; i++)
            wrong += result[i] != (i < counts[n] ? i % 1024 % 7 * 3 + 1 : 0);
        assert_int_equal(wrong, 0);
    }
    gpu_batch_destroy(b);
    gpu_kernel_destroy(k);
    gpu_buffer_destroy(out);
    gpu_buffer_destroy(in);
}

/* Recording returns nothing: its first error comes out of submit, and the batch can be begun again. */
static void recording_errors_come_out_of_submit(void **state)
{
    fixture *f = *state;
    gpu_buffer *x = new_buffer(f, GPU_DEVICE, 4096), *y = new_buffer(f, GPU_HOST, 4096);
    gpu_kernel *k = new_adder(f);
    gpu_batch *b = new_batch(f);
    const uint32_t push[3] = {16, 1, 1};
    for (int mistake = 0; mistake < 8; mistake++) {
        require(f, gpu_batch_begin(b, &f->err));
        if (mistake == 0)
            gpu_batch_fill(b, x, 4090, 8, 0);
        if (mistake == 1)
            gpu_batch_fill(b, x, 2, 8, 0);
        if (mistake == 2)
            gpu_batch_copy(b, x, UINT64_MAX, y, 0, 8);
        if (mistake == 3)
            gpu_batch_copy(b, x, 0, y, 4089, 8);
        if (mistake == 4)
            gpu_batch_copy(b, x, 0, x, 4, 8);
        if (mistake == 5)
            gpu_batch_dispatch(b, k, (gpu_buffer *[]){x, NULL}, push, 16);
        if (mistake == 6)
            gpu_batch_dispatch(b, k, (gpu_buffer *[]){x, y}, push, (uint64_t)1 << 33);
        if (mistake == 7)
            gpu_batch_fail(b, &(bl_error){.code = BL_ERROR_ARGUMENT, .text = "the caller's"});
        gpu_batch_dispatch(b, k, (gpu_buffer *[]){x, y}, push, 16);
        bl_error err = {0};
        assert_int_equal(gpu_batch_submit(b, &err), BL_ERROR_ARGUMENT);
        assert_true(err.text[0]);
    }
    require(f, gpu_batch_begin(b, &f->err));
    require(f, gpu_batch_begin(b, &f->err)); /* starts over */
    gpu_batch_dispatch(b, k, (gpu_buffer *[]){x, y}, push, 16);
    require(f, gpu_batch_submit(b, &f->err));
    assert_int_equal(gpu_batch_begin(b, &f->err), BL_ERROR_ARGUMENT); /* in flight */
    require(f, gpu_batch_wait(b, NULL, &f->err));
    assert_int_equal(((uint32_t *)gpu_buffer_mapped(y))[15], 1);
    require(f, gpu_batch_begin(b, &f->err)); /* destroyed while in flight: waits */
    gpu_batch_fill(b, x, 0, 4096, 1);
    require(f, gpu_batch_submit(b, &f->err));
    gpu_batch_destroy(b);
    gpu_batch_destroy(NULL);
    gpu_kernel_destroy(k);
    gpu_buffer_destroy(y);
    gpu_buffer_destroy(x);
}

static void statistics_count(void **state)
{
    fixture *f = *state;
    gpu_stats before = gpu_device_stats(f->device);
    gpu_kernel *first = new_adder(f), *second = new_adder(f);
    gpu_buffer *b = new_buffer(f, GPU_HOST, 1 << 20);
    gpu_stats during = gpu_device_stats(f->device);
    assert_int_equal(during.pipelines_created - before.pipelines_created, 2);
    assert_true(during.driver_compile_seconds > before.driver_compile_seconds);
    assert_true(during.bytes_allocated >= before.bytes_allocated + (1 << 20));
    assert_true(during.bytes_peak >= during.bytes_allocated);
    gpu_buffer_destroy(b);
    gpu_kernel_destroy(first);
    gpu_kernel_destroy(second);
    gpu_stats after = gpu_device_stats(f->device);
    assert_int_equal(after.bytes_allocated, before.bytes_allocated);
    assert_int_equal(after.pipelines_created, during.pipelines_created);
    assert_int_equal(after.bytes_peak, during.bytes_peak);
}

/* Silence means something only if the layer would have spoken: a module that reads more push constants than
 * declared. */
static void validation_speaks(void **state)
{
    fixture *f = *state;
    if (!f->validation)
        return;
    fixture other = {.title = "message expected", .selector = f->selector, .validation = true};
    assert_true(open_fixture(&other));
    gpu_kernel_desc desc = {
        .words = add_words,
        .word_count = sizeof add_words / sizeof *add_words,
        .buffer_count = 2,
        .push_words = 1,
        .local_size = 64,
    };
    gpu_kernel *k;
    if (gpu_kernel_create(other.device, &desc, &k, &other.err) == BL_OK)
        gpu_kernel_destroy(k);
    assert_true(close_fixture(&other) > 0);
    assert_int_equal(gpu_validation_messages(f->instance), 0); /* counted per instance */
}

/* ---- opening ---- */

static void wrong_swiftshader_paths_are_errors(void **state)
{
    (void)state;
    const char *const paths[] = {"/nowhere/libvk_swiftshader.so", "libvk_swiftshader.so", "/dev/null",
                                 "libm.so.6"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        gpu *g;
        bl_error err = {0};
        assert_int_equal(gpu_open(&(gpu_options){.swiftshader = paths[i]}, &g, &err), BL_ERROR_NO_DEVICE);
        assert_null(g);
        assert_non_null(strstr(err.text, "SwiftShader"));
    }
    gpu_close(NULL);
    gpu_device_destroy(NULL);
}

/* BL_SWIFTSHADER ends the search even where it is wrong, and whoever then asks for SwiftShader is told
 * why. */
static void wrong_swiftshader_environment_is_explained(void **state)
{
    (void)state;
    const char *before = getenv("BL_SWIFTSHADER");
    char *kept = before ? strdup(before) : NULL;
    setenv("BL_SWIFTSHADER", "/nowhere/libvk_swiftshader.so", 1);
    gpu *g;
    gpu_device *d;
    bl_error err = {0};
    assert_int_equal(gpu_open(NULL, &g, &err), BL_OK);
    bl_result result = gpu_device_create(g, "swiftshader", &d, &err);
    if (result == BL_ERROR_NO_DEVICE) /* unless the loader has it */
        assert_non_null(strstr(err.text, "/nowhere/"));
    gpu_device_destroy(d);
    gpu_close(g);
    if (kept)
        setenv("BL_SWIFTSHADER", kept, 1);
    else
        unsetenv("BL_SWIFTSHADER");
    free(kept);
}

enum { SKIPPED = 77 }; /* what CTest takes for a skipped test */

/* Number of failures, or SKIPPED. */
static int run_group(fixture *f)
{
#define ON_DEVICE(test) cmocka_unit_test_prestate_setup_teardown(test, NULL, NULL, f)
    const struct CMUnitTest tests[] = {
        ON_DEVICE(devices_are_listed_in_order),
        ON_DEVICE(selectors_choose),
        ON_DEVICE(buffers_start_zeroed_and_rounded),
        ON_DEVICE(buffers_carry_bytes),
        ON_DEVICE(mapped_buffers_are_the_memory),
        ON_DEVICE(wrong_buffer_calls_are_refused),
        ON_DEVICE(wrong_kernels_are_refused),
        ON_DEVICE(batches_run_in_order_and_again),
        ON_DEVICE(many_groups_are_split_over_y),
        ON_DEVICE(recording_errors_come_out_of_submit),
        ON_DEVICE(statistics_count),
        ON_DEVICE(validation_speaks),
    };
    if (!open_fixture(f)) {
        close_fixture(f);
        const char *all = getenv("BL_REQUIRE_ALL");
        return all && strcmp(all, "1") == 0 ? 1 : SKIPPED;
    }
    int failed = cmocka_run_group_tests_name(f->title, tests, NULL, NULL);
    uint32_t messages = close_fixture(f);
    if (messages)
        print_error("%s: %u validation messages\n", f->title, messages);
    return failed + (messages ? 1 : 0);
}

int main(void)
{
    const struct CMUnitTest opening[] = {
        cmocka_unit_test(wrong_swiftshader_paths_are_errors),
        cmocka_unit_test(wrong_swiftshader_environment_is_explained),
    };
    if (cmocka_run_group_tests_name("opening", opening, NULL, NULL))
        return 1;
    const char *named = getenv("BL_DEVICE");
    const char *selector = named && *named ? named : "swiftshader";
    int plain = run_group(&(fixture){.title = "plain", .selector = selector});
    if (strcmp(selector, "native") == 0) /* no layer watches it */
        return plain;
    add_swiftshader_to_loader();
    setenv("VK_LAYER_SYNCVAL_SHADER_ACCESSES_HEURISTIC", "1",
           1); /* else what shaders access is not checked */
    int validated = run_group(&(fixture){.title = "validated", .selector = selector, .validation = true});
    if ((plain && plain != SKIPPED) || (validated && validated != SKIPPED))
        return 1;
    return plain || validated ? SKIPPED : 0;
}
