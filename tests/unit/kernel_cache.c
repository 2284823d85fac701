/* LABELS: nodevice threads */
/* SPDX-License-Identifier: BSD-3-Clause
 * The kernel cache without kernels: what comes back is what was stored or nothing, whatever happens to the
 * files; the size stays below the limit and what was used stays; processes may share the folder. And the key
 * of a trace: equal for equal traces, another for any change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/kernel_cache.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ENTRY_HEAD = 48 };

static const char folder[] = "kernel_cache.folder";
static const kernel_key key = {0x0123456789ABCDEFu, 0xFEDCBA9876543210u};
static const char entry_name[] = "kernel_cache.folder/fedcba98765432100123456789abcdef.kernel";

static void remove_folder(void)
{
    arena a = {0};
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));)
        unlink(arena_printf(&a, "%s/%s", folder, e->d_name));
    if (d)
        closedir(d);
    rmdir(folder);
    arena_free(&a);
}

static int fresh(void **state)
{
    (void)state;
    remove_folder();
    return 0;
}

static uint32_t file_count(void)
{
    uint32_t n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

static bool holds(kernel_cache *c, kernel_key k, const void *data, size_t size)
{
    size_t found_size = 0;
    void *found = kernel_cache_find(c, k, &found_size);
    bool same = found && found_size == size && memcmp(found, data, size) == 0;
    assert_true(!found || same); /* never something else */
    free(found);
    return same;
}

static void an_entry_comes_back_in_another_run(void **state)
{
    (void)state;
    kernel_cache *c = kernel_cache_open(folder, 0);
    assert_false(holds(c, key, "words", 5));
    assert_int_equal(file_count(), 0); /* looking creates nothing */
    kernel_cache_store(c, key, "words", 5);
    kernel_cache_store(c, (kernel_key){1, 2}, "other", 5);
    kernel_cache_close(c);
    c = kernel_cache_open(folder, 0);
    assert_true(holds(c, key, "words", 5));
    assert_false(holds(c, (kernel_key){2, 1}, "other", 5));
    kernel_cache_usage u = kernel_cache_measure(c);
    assert_true(u.entries == 2 && u.bytes == 2 * (ENTRY_HEAD + 5) && u.limit == 256u << 20 && !u.unusable);
    kernel_cache_store(c, key, "newer words", 11); /* replaces */
    assert_true(holds(c, key, "newer words", 11));
    kernel_cache_close(c);
}

static void no_cache_finds_nothing(void **state)
{
    (void)state;
    size_t size;
    assert_null(kernel_cache_find(NULL, key, &size));
    kernel_cache_store(NULL, key, "words", 5);
    assert_null(kernel_cache_measure(NULL).folder);
    kernel_cache_close(NULL);
}

/* ---- damage ---- */

static void write_entry(const void *bytes, size_t size)
{
    bl_error err = {0};
    if (file_write(entry_name, bytes, size, &err) != BL_OK)
        fail_msg("%s", err.text);
}

static void damage_is_never_believed(void **state)
{
    (void)state;
    static const char words[] = "some words that a kernel may be made of";
    char *whole, *changed;
    size_t size;
    kernel_cache *c = kernel_cache_open(folder, 0);
    kernel_cache_store(c, key, words, sizeof words);
    assert_int_equal(file_read(entry_name, 1 << 20, (void **)&whole, &size, NULL), BL_OK);
    assert_int_equal(size, ENTRY_HEAD + sizeof words);
    for (size_t cut = 0; cut < size; cut++) {
        write_entry(whole, cut);
        assert_false(holds(c, key, words, sizeof words));
    }
    changed = malloc(size + 1);
    memcpy(changed, whole, size);
    changed[size] = 0;
    write_entry(changed, size + 1); /* longer */
    assert_false(holds(c, key, words, sizeof words));
    for (size_t bit = 0; bit < 8 * size; bit++) {
        changed[bit / 8] ^= (char)(1 << bit % 8);
        write_entry(changed, size);
        assert_false(holds(c, key, words, sizeof words));
        changed[bit / 8] ^= (char)(1 << bit % 8);
    }
    kernel_cache_store(c, key, words, sizeof words); /* what is damaged is replaced */
    assert_true(holds(c, key, words, sizeof words));
    free(changed);
    free(whole);
    kernel_cache_close(c);
}

/* A whole entry under the name of another. */
static void a_foreign_entry_is_not_believed(void **state)
{
    (void)state;
    arena a = {0};
    kernel_cache *c = kernel_cache_open(folder, 0);
    kernel_cache_store(c, (kernel_key){5, 6}, "words", 5);
    assert_int_equal(rename(arena_printf(&a, "%s/%016x%016x.kernel", folder, 6, 5), entry_name), 0);
    assert_false(holds(c, key, "words", 5));
    kernel_cache_close(c);
    arena_free(&a);
}

static void an_unusable_folder_is_done_without(void **state)
{
    (void)state;
    kernel_cache *c = kernel_cache_open("kernel_cache.folder/below", 0);
    assert_int_equal(file_write(folder, "a file", 6, NULL), BL_OK); /* in the way */
    kernel_cache_store(c, key, "words", 5);
    assert_false(holds(c, key, "words", 5));
    kernel_cache_close(c);
    c = kernel_cache_open(folder, 0);
    kernel_cache_store(c, key, "words", 5);
    assert_false(holds(c, key, "words", 5));
    assert_non_null(kernel_cache_measure(c).unusable);
    unlink(folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0777), 0); /* anybody could have put the entry there */
    kernel_cache_store(c, key, "words", 5);
    assert_int_equal(file_count(), 0);
    assert_non_null(kernel_cache_measure(c).unusable);
    kernel_cache_close(c);
}

/* ---- whose files they are ---- */

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode & 07777;
}

static void nobody_else_may_write(void **state)
{
    (void)state;
    mode_t before = umask(0);
    kernel_cache *c = kernel_cache_open(folder, 0);
    kernel_cache_store(c, key, "words", 5);
    umask(before);
    assert_int_equal(mode_of(folder), 0700);
    assert_int_equal(mode_of(entry_name), 0600);
    assert_true(holds(c, key, "words", 5));
    static const mode_t shared[] = {0720, 0702, 0777};
    for (size_t k = 0; k < sizeof shared / sizeof *shared; k++) {
        assert_int_equal(chmod(folder, shared[k]), 0);
        assert_false(holds(c, key, "words", 5));
        assert_non_null(kernel_cache_measure(c).unusable);
    }
    kernel_cache_close(c);
}

static void writable_by_others(void) { assert_int_equal(chmod(entry_name, 0606), 0); }
static void writable_by_the_group(void) { assert_int_equal(chmod(entry_name, 0660), 0); }
static void behind_a_link(void)
{
    assert_int_equal(rename(entry_name, "kernel_cache.folder/elsewhere"), 0);
    assert_int_equal(symlink("elsewhere", entry_name), 0);
}
static void a_pipe(void)
{
    unlink(entry_name);
    assert_int_equal(mkfifo(entry_name, 0600), 0);
}
static void of_another_user(void)
{
    if (geteuid() == 0)
        assert_int_equal(chown(entry_name, 12345, (gid_t)-1), 0);
    else
        unlink(entry_name); /* only root can give files away */
}

/* What somebody else may have put there is not believed, and the store that follows replaces it. */
static void only_own_files_are_believed(void **state)
{
    (void)state;
    void (*const changes[])(void) = {writable_by_others, writable_by_the_group, behind_a_link, a_pipe,
                                     of_another_user};
    kernel_cache *c = kernel_cache_open(folder, 0);
    alarm(60); /* a pipe without a writer */
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        kernel_cache_store(c, key, "words", 5);
        assert_true(holds(c, key, "words", 5));
        changes[k]();
        if (holds(c, key, "words", 5))
            fail_msg("case %zu was believed", k);
    }
    kernel_cache_store(c, key, "words", 5);
    assert_true(holds(c, key, "words", 5));
    alarm(0);
    kernel_cache_close(c);
}

/* ---- size ---- */

static void what_was_not_used_goes_first(void **state)
{
    (void)state;
    enum { SIZE = 1000 - ENTRY_HEAD, LIMIT = 10 * 1000, STORED = 40 };
    char words[SIZE];
    kernel_cache *c = kernel_cache_open(folder, LIMIT);
    for (uint32_t i = 0; i < STORED; i++) {
        memset(words, (int)i, sizeof words);
        kernel_cache_store(c, (kernel_key){i, 0}, words, sizeof words);
        assert_true(kernel_cache_measure(c).bytes <= LIMIT);
        memset(words, 0, sizeof words);
        assert_true(holds(c, (kernel_key){0, 0}, words, sizeof words)); /* used again and again: stays */
        usleep(5000); /* file times have the granularity of the kernel's clock */
    }
    memset(words, STORED - 1, sizeof words);
    assert_true(holds(c, (kernel_key){STORED - 1, 0}, words, sizeof words));
    memset(words, 1, sizeof words);
    assert_false(holds(c, (kernel_key){1, 0}, words, sizeof words));
    assert_true(kernel_cache_measure(c).entries >= LIMIT / 1000 / 2);
    kernel_cache_close(c);
}

static void others_files_are_left_alone(void **state)
{
    (void)state;
    char words[1000] = {0};
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(file_write("kernel_cache.folder/notes", words, sizeof words, NULL), BL_OK);
    assert_int_equal(file_write("kernel_cache.folder/0123.kernel", words, sizeof words, NULL), BL_OK);
    kernel_cache *c = kernel_cache_open(folder, 3000);
    for (uint32_t i = 0; i < 20; i++)
        kernel_cache_store(c, (kernel_key){i, 0}, words, sizeof words);
    assert_true(file_exists("kernel_cache.folder/notes") && file_exists("kernel_cache.folder/0123.kernel"));
    assert_true(kernel_cache_measure(c).bytes <= 3000);
    kernel_cache_store(c, key, words, 3000); /* more than fits: not stored at all */
    assert_false(file_exists(entry_name));
    kernel_cache_close(c);
}

/* ---- processes ---- */

/* Stores and looks up the same few keys as its siblings do, with the limit always exceeded. Exits 1 if
 * anything else comes back. */
static void child(uint32_t seed)
{
    enum { KEYS = 8, SIZE = 4096 };
    static char words[SIZE], other[SIZE];
    kernel_cache *c = kernel_cache_open(folder, 6 * SIZE);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t k = (seed + 7 * i) % KEYS;
        memset(words, (int)k, sizeof words);
        size_t size;
        char *found = kernel_cache_find(c, (kernel_key){k, k}, &size);
        if (found && (size != SIZE || memcmp(found, words, SIZE) != 0))
            _exit(1);
        free(found);
        if (!found || i % 3 == 0)
            kernel_cache_store(c, (kernel_key){k, k}, words, sizeof words);
        memset(other, (int)i, sizeof other);
    }
    kernel_cache_close(c);
    _exit(0);
}

static void processes_share_the_folder(void **state)
{
    (void)state;
    enum { CHILDREN = 4 };
    pid_t children[CHILDREN];
    for (uint32_t i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            child(i);
    }
    for (uint32_t i = 0; i < CHILDREN; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* A process killed in the middle of storing leaves nothing that is believed and wrong, and nothing in the
 * way. */
static void killed_writers_do_no_harm(void **state)
{
    (void)state;
    enum { KILLED = 12, ENTRY = 1 << 16, KEYS = 3 };
    static char content[KEYS][ENTRY];
    for (uint32_t k = 0; k < KEYS; k++)
        memset(content[k], (int)(k + 1), ENTRY);
    for (uint32_t i = 0; i < KILLED; i++) {
        pid_t writer = fork();
        assert_true(writer >= 0);
        if (writer == 0) {
            kernel_cache *c = kernel_cache_open(folder, 0);
            for (uint32_t k = 0;; k = (k + 1) % KEYS)
                kernel_cache_store(c, (kernel_key){k, k}, content[k], ENTRY);
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000 + 1700000 * (long)i}, NULL);
        assert_int_equal(kill(writer, SIGKILL), 0);
        assert_int_equal(waitpid(writer, NULL, 0), writer);
        kernel_cache *c = kernel_cache_open(folder, 0);
        for (uint32_t k = 0; k < KEYS; k++)
            holds(c, (kernel_key){k, k}, content[k], ENTRY); /* fails where it holds something else */
        kernel_cache_store(c, (kernel_key){i % KEYS, i % KEYS}, content[i % KEYS], ENTRY);
        assert_true(holds(c, (kernel_key){i % KEYS, i % KEYS}, content[i % KEYS], ENTRY));
        kernel_cache_close(c);
    }
}

/* ---- keys ---- */

/* What a variant of the trace below changes. */
enum change {
    SAME,
    CONSTANT,
    OPERATION,
    OPERANDS,
    TYPE_OF_LOAD,
    BUFFER_NAME,
    BUFFER_CONSTANT,
    BUFFER_GRADIENT,
    BUFFER_TANGENT,
    KNOWN_WORD,
    KNOWN_COUNT,
    FUNCTION_NAME,
    CALLEE,
    UNIFORM,
    PASS_OPTION,
    CODE_OPTION,
    DEVICE,
    CHANGES
};

static ir_func *square(ir_module *m, enum change change)
{
    ir_func *f = ir_func_create(m, change == FUNCTION_NAME ? "Square" : "square");
    ir_ref x = ir_param(f, IR_F32), r = change == CALLEE ? ir_add(f, x, x) : ir_mul(f, x, x);
    ir_return(f, &r, 1);
    return f;
}

static kernel_key key_of(enum change change)
{
    static const uint32_t known[] = {3, 4, 5}, other[] = {3, 4, 6};
    ir_module *m = ir_module_create();
    ir_buffer_add(m, change == BUFFER_NAME ? "Scene" : "scene", change != BUFFER_CONSTANT, -1);
    ir_buffer_add(m, "values", true, change == BUFFER_GRADIENT ? 2 : -1);
    ir_buffer_add(m, "out", false, -1);
    ir_func *callee = square(m, change), *f = ir_func_create(m, "kernel");
    m->entry = f;
    m->buffers.data[1].tangent = change == BUFFER_TANGENT ? 2 : -1;
    m->buffers.data[1].known = change == KNOWN_WORD ? other : known;
    m->buffers.data[1].known_count = change == KNOWN_COUNT ? 2 : 3;
    ir_ref id = ir_global_id(f), at = ir_add(f, id, ir_uniform(f, IR_U32, change == UNIFORM ? 1 : 0));
    ir_ref x = change == TYPE_OF_LOAD ? ir_to_f32(f, ir_load(f, IR_U32, 1, at)) : ir_load(f, IR_F32, 1, at),
           y;
    ir_call(f, ir_u32(f, 0), &callee, 1, &x, 1, &y);
    y = ir_add(f, y, ir_f32(f, change == CONSTANT ? 2.5f : 2));
    ir_ref z = change == OPERATION ? ir_add(f, x, y) : change == OPERANDS ? ir_sub(f, y, x) : ir_sub(f, x, y);
    ir_store(f, 2, id, z);
    ir_return(f, NULL, 0);
    bl_error err = {0};
    if (ir_finish(m, &err) != BL_OK)
        fail_msg("%s", err.text);
    opt_options passes = {.stack_size = change == PASS_OPTION ? 9 : 8};
    code_options code = {.spirv.signed_zero_inf_nan_preserve = change == CODE_OPTION};
    kernel_key k = kernel_key_words(m, &passes, &code, (kernel_key){change == DEVICE, 0});
    ir_module_destroy(m);
    return k;
}

static bool same(kernel_key a, kernel_key b) { return a.low == b.low && a.high == b.high; }

static void any_change_of_a_trace_changes_the_key(void **state)
{
    (void)state;
    kernel_key keys[CHANGES];
    for (int k = 0; k < CHANGES; k++) {
        keys[k] = key_of((enum change)k);
        assert_true(same(keys[k], key_of((enum change)k)));
        for (int i = 0; i < k; i++)
            if (same(keys[i], keys[k]))
                fail_msg("changes %d and %d have one key", i, k);
    }
}

/* Whatever a kernel's options are changed to, it is another kernel: all that change words, the compiler's
 * switches among them. */
static void every_option_is_in_the_key(void **state)
{
    opt_sites sites = {0};
    const opt_options passes[] = {{0},
                                  {.off = OPT_DEAD},
                                  {.off = OPT_CALL_RESULTS},
                                  {.off = OPT_CALL_ARGUMENTS},
                                  {.off = OPT_CALL_UNUSED},
                                  {.off = OPT_MERGE},
                                  {.off = OPT_INLINE_SINGLE},
                                  {.off = OPT_LOOP_STATES},
                                  {.off = OPT_LOADS},
                                  {.off = OPT_CALL_COMMON},
                                  {.off = OPT_LOOP_INVARIANTS},
                                  {.off = OPT_CALL_ACCUMS},
                                  {.off = OPT_VECTOR_LOADS},
                                  {.ray_queries = true},
                                  {.scene_buffer = 1},
                                  {.node_base_word = 1},
                                  {.entry_base_word = 1},
                                  {.level_word = 1},
                                  {.stack_size = 1},
                                  {.accumulate = OPT_ACCUMULATE_FLOAT},
                                  {.gradient_elements = 1},
                                  {.scale_buffer = 1},
                                  {.scale_base = 1},
                                  {.status_buffer = 1},
                                  {.overflow_word = 1},
                                  {.underflow_word = 1},
                                  {.parking = {{1, 2, 3}}, .parking_count = 1},
                                  {.parking = {{1, 2, 4}}, .parking_count = 1},
                                  {.sites = &sites}};
    const code_options codes[] = {{.native = {.target = X86_NONE}},
                                  {.spirv.local_size = 1},
                                  {.spirv.names = true},
                                  {.spirv.signed_zero_inf_nan_preserve = true},
                                  {.spirv.scalar_loads = true},
                                  {.spirv.branching_calls = true},
                                  {.spirv.rays = {.query = true}},
                                  {.spirv.rays = {.scene_buffer = 1}},
                                  {.spirv.rays = {.accel_word = 1}},
                                  {.spirv.rays = {.entry_base_word = 1}},
                                  {.spirv.rays = {.level_word = 1}},
                                  {.spirv.rays = {.triangle_kind = 1}},
                                  {.spirv.addressed = 1},
                                  {.native.target = X86_AVX2},
                                  {.native.target = X86_AVX512},
                                  {.native.rays_buffer = 1},
                                  {.native.rays_word = 1},
                                  {.native.triangle_kind = 1}};
    enum { PASSES = sizeof passes / sizeof *passes, ALL = PASSES + sizeof codes / sizeof *codes - 1 };
    kernel_key keys[ALL];
    ir_module *m = ir_module_create();
    (void)state;
    assert_int_equal(PASSES, 1 + OPT_SWITCH_COUNT + 16);
    for (uint32_t k = 0; k < ALL; k++) {
        keys[k] = kernel_key_words(m, &passes[k < PASSES ? k : 0], &codes[k < PASSES ? 0 : k - PASSES + 1],
                                   (kernel_key){0, 0});
        for (uint32_t i = 0; i < k; i++)
            if (same(keys[i], keys[k]))
                fail_msg("options %u and %u have one key", i, k);
    }
    ir_module_destroy(m);
}

static void devices_and_drivers_have_keys(void **state)
{
    (void)state;
    gpu_info base = {
        .name = "device",
        .driver = "driver (1.0)",
        .subgroup_size = 4,
        .kind = GPU_SWIFTSHADER,
        .found = "kernel_cache.library",
    };
    gpu_info variants[5] = {base, base, base, base, base};
    kernel_key keys[5];
    strcpy(variants[1].name, "devicf");
    strcpy(variants[2].driver, "driver (1.1)");
    variants[3].subgroup_size = 8;
    for (int k = 0; k < 5; k++) { /* the last: another library, that tells no other version */
        assert_int_equal(file_write("kernel_cache.library", k < 4 ? "library" : "librarz", 7, NULL), BL_OK);
        keys[k] = kernel_key_device(&variants[k]);
        assert_true(same(keys[k], kernel_key_device(&variants[k])));
        for (int i = 0; i < k; i++)
            assert_false(same(keys[i], keys[k]));
    }
    unlink("kernel_cache.library");
    gpu_info native[3] = {
        {.name = "native (A, 2 threads)", .kind = GPU_NATIVE, .native_target = X86_AVX2},
        {.name = "native (B, 9 threads)", .kind = GPU_NATIVE, .native_target = X86_AVX2},
        {.name = "native (A, 2 threads)", .kind = GPU_NATIVE, .native_target = X86_AVX512},
    };
    assert_true(same(kernel_key_device(&native[0]), kernel_key_device(&native[1])));
    assert_false(same(kernel_key_device(&native[0]), kernel_key_device(&native[2])));
    const uint32_t words[] = {1, 2, 3};
    assert_true(same(kernel_key_driver(words, 3, keys[0]), kernel_key_driver(words, 3, keys[0])));
    assert_false(same(kernel_key_driver(words, 3, keys[0]), kernel_key_driver(words, 2, keys[0])));
    assert_false(same(kernel_key_driver(words, 3, keys[0]), kernel_key_driver(words, 3, keys[1])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_entry_comes_back_in_another_run, fresh),
        cmocka_unit_test(no_cache_finds_nothing),
        cmocka_unit_test_setup(damage_is_never_believed, fresh),
        cmocka_unit_test_setup(a_foreign_entry_is_not_believed, fresh),
        cmocka_unit_test_setup(an_unusable_folder_is_done_without, fresh),
        cmocka_unit_test_setup(nobody_else_may_write, fresh),
        cmocka_unit_test_setup(only_own_files_are_believed, fresh),
        cmocka_unit_test_setup(what_was_not_used_goes_first, fresh),
        cmocka_unit_test_setup(others_files_are_left_alone, fresh),
        cmocka_unit_test_setup(processes_share_the_folder, fresh),
        cmocka_unit_test_setup(killed_writers_do_no_harm, fresh),
        cmocka_unit_test(any_change_of_a_trace_changes_the_key),
        cmocka_unit_test(every_option_is_in_the_key),
        cmocka_unit_test(devices_and_drivers_have_keys),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_folder();
    return failed;
}
