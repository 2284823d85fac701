/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Images: every EXR and PNG of tests/data against the formula it was made from, round trips of the writers,
 * and what must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene/scene_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *data_path(const char *name)
{
    static char path[1000];
    const char *source = getenv("BL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/data/images/%s", source ? source : ".", name);
    return path;
}

typedef struct exr_case {
    const char *name;
    uint32_t channels;
    double scale, tolerance;
    int first; /* factor of the first channel */
} exr_case;

static void exr_files_have_their_values(void **state)
{
    static const exr_case cases[] = {
        {"half_none.exr", 3, 16, 0, 1},       {"half_rle.exr", 3, 16, 0, 1},
        {"half_zips.exr", 3, 16, 0, 1},       {"half_piz.exr", 3, 16, 0, 1},
        {"half_pxr24.exr", 3, 16, 0, 1},      {"half_b44.exr", 3, 16, 4, 1},
        {"float_none.exr", 3, 16, 0, 1},      {"float_zip.exr", 3, 16, 0, 1},
        {"float_piz.exr", 3, 16, 0, 1},       {"tiled_none.exr", 3, 16, 0, 1},
        {"offset_piz_rgba.exr", 3, 16, 0, 1}, {"tiled_zip_offset_rgba.exr", 3, 16, 0, 1},
        {"uint_zip.exr", 3, 1, 0, 1},         {"y_half.exr", 1, 16, 0, 4},
        {"single.exr", 1, 16, 0, 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        scene_image image;
        bl_error err = {0};
        if (image_load(data_path(cases[i].name), false, &image, &err) != BL_OK)
            fail_msg("%s", err.text);
        assert_int_equal(image.width, 20);
        assert_int_equal(image.height, 19);
        assert_int_equal(image.channels, cases[i].channels);
        assert_false(image.eight_bit);
        for (uint32_t at = 0; at < 20 * 19 * image.channels; at++) {
            uint32_t c = at % image.channels, x = at / image.channels % 20, y = at / image.channels / 20;
            double expected = (cases[i].first + (int)c) * (int)(x + 10 * y) / cases[i].scale;
            if (!(fabs(image.pixels[at] - expected) <= cases[i].tolerance))
                fail_msg("%s: channel %u of (%u, %u) is %g instead of %g", cases[i].name, c, x, y,
                         image.pixels[at], expected);
        }
        image_free(&image);
    }
}

static double srgb(double v) { return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4); }

static void png_files_have_their_values(void **state)
{
    static const struct {
        const char *name;
        uint32_t channels;
        bool eight_bit;
    } cases[] = {{"grey8.png", 1, true},   {"grey_alpha8.png", 1, true}, {"rgb8.png", 3, true},
                 {"rgba8.png", 3, true},   {"rgb16.png", 3, false},      {"grey16.png", 1, false},
                 {"palette.png", 3, true}, {"interlaced.png", 3, true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int raw = 0; raw < 2; raw++) {
            scene_image image;
            bl_error err = {0};
            if (image_load(data_path(cases[i].name), raw, &image, &err) != BL_OK)
                fail_msg("%s", err.text);
            assert_int_equal(image.width * image.height, 20);
            assert_int_equal(image.channels, cases[i].channels);
            assert_int_equal(image.eight_bit, cases[i].eight_bit);
            for (uint32_t at = 0; at < 20 * image.channels; at++) {
                uint32_t c = at % image.channels, x = at / image.channels % 5, y = at / image.channels / 5;
                double value = (x * 50 + y * 7 + c * 3) % 256 / 255.0;
                if (!raw) /* Mitsuba 3.9.1 tags PNG of 16 bits as sRGB, too */
                    value = srgb(value);
                if (!(fabs(image.pixels[at] - value) < 1e-6))
                    fail_msg("%s: channel %u of (%u, %u) is %g instead of %g", cases[i].name, c, x, y,
                             image.pixels[at], value);
            }
            image_free(&image);
        }
}

static void one_bit_png(void **state)
{
    static const float expected[20] = {1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
    scene_image image;
    (void)state;
    assert_int_equal(image_load(data_path("grey1.png"), false, &image, NULL), BL_OK);
    assert_int_equal(image.channels, 1);
    assert_memory_equal(image.pixels, expected, sizeof expected);
    image_free(&image);
}

/* Channel k of the files of README.md, PNG or EXR. */
static double stored_value(bool png, int x, int y, int k)
{
    return png ? (50 * x + 7 * y + 3 * k) % 256 / 255.0 : k * (x + 10 * y) / 16.0;
}

/* Straight colours of PNG, which alpha multiplies, and multiplied ones of EXR, whose first channel has k = 1.
 */
static void alpha_shows_the_background(void **state)
{
    static const struct {
        const char *name;
        bool png;
        int colours;
        double alpha, by_x, by_y; /* alpha = alpha + by_x x + by_y y */
    } cases[] = {{"rgba8.png", true, 3, 9 / 255.0, 0, 0},
                 {"grey_alpha8.png", true, 1, 0, 1 / 255.0, 0},
                 {"rgb8.png", true, 3, 1, 0, 0},
                 {"offset_piz_rgba.exr", false, 3, 0, 5 / 16.0, 50 / 16.0},
                 {"tiled_zip_offset_rgba.exr", false, 3, 0, 5 / 16.0, 50 / 16.0},
                 {"float_zip.exr", false, 3, 1, 0, 0}};
    static const float background[3] = {0.25f, 2, -1};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene_image image;
        bl_error err = {0};
        if (image_load_over(data_path(cases[i].name), background, &image, &err) != BL_OK)
            fail_msg("%s", err.text);
        assert_int_equal(image.channels, 3);
        for (uint32_t at = 0; at < 3 * image.width * image.height; at++) {
            int c = (int)at % 3, x = (int)(at / 3 % image.width), y = (int)(at / 3 / image.width);
            bool png = cases[i].png;
            double colour = stored_value(png, x, y, cases[i].colours == 3 ? c + !png : 0),
                   alpha = cases[i].alpha + cases[i].by_x * x + cases[i].by_y * y;
            double expected =
                (png ? alpha * image_srgb_to_linear(colour) : colour) + (1 - alpha) * (double)background[c];
            if (!(fabs(image.pixels[at] - expected) <= 1e-6 * (1 + fabs(expected))))
                fail_msg("%s: channel %d of (%d, %d) is %g instead of %g", cases[i].name, c, x, y,
                         image.pixels[at], expected);
        }
        image_free(&image);
    }
}

static void writers_round_trip(void **state)
{
    static const char *const names[] = {"round.exr", "round.pfm", "half.exr", "round.png"};
    float pixels[7 * 37 * 3];
    (void)state;
    for (uint32_t channels = 1; channels <= 3; channels += 2)
        for (int kind = 0; kind < 4; kind++) {
            uint32_t count = 7 * 37 * channels;
            for (uint32_t i = 0; i < count; i++)
                pixels[i] =
                    kind < 2 ? (float)i * 0.37f - 20 : (float)(i % 256) / (kind == 2 ? 64.0f : 255.0f);
            bl_error err = {0};
            if (image_save(names[kind], 7, 37, channels, pixels, kind == 2, &err) != BL_OK)
                fail_msg("%s", err.text);
            scene_image image;
            if (image_load(names[kind], true, &image, &err) != BL_OK)
                fail_msg("%s", err.text);
            assert_int_equal(image.width, 7);
            assert_int_equal(image.height, 37);
            assert_int_equal(image.channels, channels);
            for (uint32_t i = 0; i < count; i++) {
                double expected = pixels[i];
                if (kind == 3) /* the writer encodes to sRGB; read back raw */
                    expected = round(255 * (expected <= 0.0031308 ? 12.92 * expected
                                                                  : 1.055 * pow(expected, 1 / 2.4) - 0.055)) /
                               255;
                if (!(fabs(image.pixels[i] - expected) <= (kind == 3 ? 1e-6 : 0)))
                    fail_msg("%s: value %u is %g instead of %g", names[kind], i, image.pixels[i], expected);
            }
            image_free(&image);
            unlink(names[kind]);
        }
}

/* Noise with more and more of it constant, so that compression makes a block of 16 lines larger, smaller or
 * neither: of some the size is what it was, which must not be taken for compressed data. */
static void noise_round_trips(void **state)
{
    (void)state;
    enum { WIDTH = 64, HEIGHT = 16, COUNT = 3 * WIDTH * HEIGHT, IMAGES = 1000 };
    static float pixels[COUNT];
    uint32_t random = 1;
    for (uint32_t n = 0; n < IMAGES; n++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            random = random * 747796405u + 2891336453u;
            uint32_t word = (random ^ random >> 13) * 277803737u;
            word = i < n % 100 ? 0x3F800000u : word & ~0x40000000u; /* finite */
            memcpy(&pixels[i], &word, sizeof word);
        }
        bl_error err = {0};
        scene_image back;
        assert_int_equal(image_save("noise.exr", WIDTH, HEIGHT, 3, pixels, false, &err), BL_OK);
        assert_int_equal(image_load("noise.exr", false, &back, &err), BL_OK);
        assert_memory_equal(back.pixels, pixels, sizeof pixels);
        image_free(&back);
    }
    unlink("noise.exr");
}

static void srgb_round_trip_is_exact(void **state)
{
    float pixels[256];
    scene_image image;
    (void)state;
    for (int i = 0; i < 256; i++)
        pixels[i] = (float)srgb(i / 255.0);
    assert_int_equal(image_save("srgb.png", 256, 1, 1, pixels, false, NULL), BL_OK);
    assert_int_equal(image_load("srgb.png", false, &image, NULL), BL_OK);
    assert_memory_equal(image.pixels, pixels, sizeof pixels);
    image_free(&image);
    unlink("srgb.png");
}

static void check_refused(const void *data, size_t size, bl_result code, const char *what)
{
    scene_image image;
    bl_error err = {0};
    if (image_decode(data, size, false, &image, &err) != code)
        fail_msg("expected result %d (%s), got %d: %s", code, what, err.code, err.text);
    if (!strstr(err.text, what))
        fail_msg("expected \"%s\" in \"%s\"", what, err.text);
    assert_null(image.pixels);
}

static void bad_images_are_refused(void **state)
{
    (void)state;
    check_refused("", 0, BL_ERROR_FORMAT, "neither");
    check_refused("hello", 5, BL_ERROR_FORMAT, "neither");
    check_refused("II*\0", 4, BL_ERROR_UNSUPPORTED, "TIFF images are not implemented yet");
    check_refused("\xFF\xD8\xFF\xE0", 4, BL_ERROR_FORMAT, "bad JPEG image: the file is truncated");
    check_refused("\xFF\xD8\xFF\xD9", 4, BL_ERROR_FORMAT, "bad JPEG image: ");
    check_refused("#?RADIANCE\n", 11, BL_ERROR_FORMAT, "bad Radiance HDR image: ");
    check_refused("#?RADIANCE\nFORMAT=32-bit_rle_xyze\n\n-Y 1 +X 1\n\1\1\1\200", 49, BL_ERROR_FORMAT,
                  "bad Radiance HDR image: ");
    check_refused("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 9000 +X 9000\n\1\1\1\200", 55, BL_ERROR_FORMAT,
                  "cannot be in a file of 55 bytes");
    check_refused("BM", 2, BL_ERROR_FORMAT, "bad BMP image: ");
    check_refused("PF\n1 1\n-1\n\0\0\0\0\0\0\0\0\0\0\xC0\x7F", 22, BL_ERROR_FORMAT,
                  "pixel (0, 0) is not a finite");
    check_refused("Pf\n2 1\n-1\n\0\0\0\0\0\0\x80\x7F", 18, BL_ERROR_FORMAT, "pixel (1, 0) is not a finite");
    check_refused("PF\n1000000 1000000\n-1\n", 22, BL_ERROR_FORMAT, "truncated");
    check_refused("PF\n1e9 1\n-1\n", 12, BL_ERROR_FORMAT, "says");
    check_refused("PF\n1.5 1\n-1\nxxxxxxxxxxxx", 24, BL_ERROR_FORMAT, "says");
    check_refused("PF\n0 1\n-1\n", 10, BL_ERROR_FORMAT, "empty");
    check_refused("PF\n-1 1\n-1\n", 11, BL_ERROR_FORMAT, "says");
    check_refused("PF\n1 1\n0\n............", 21, BL_ERROR_FORMAT, "says");
    check_refused("PFx1 1\n1\n............", 21, BL_ERROR_FORMAT, "header");
    /* a PNG header of 2^20 x 2^8 pixels: allowed as such, but not in 45 bytes */
    static const uint8_t large[] = "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\x10\0\0\0\0\x01\0\x08\x02\0\0\0\xCB\x15"
                                   "\x50\x09\0\0\0\0IDAT\x35\xAF\x06\x1E";
    check_refused(large, sizeof large - 1, BL_ERROR_FORMAT, "");
    bl_error err = {0};
    scene_image image;
    assert_int_equal(image_create(&image, 1 << 20, 1 << 8, 3, 45, &err), BL_ERROR_FORMAT);
    assert_non_null(strstr(err.text, "cannot be in a file of 45 bytes"));
    assert_int_equal(image_create(&image, 1 << 20, 1 << 20, 3, SIZE_MAX, &err), BL_ERROR_FORMAT);
}

/* 8 x 6 pixels; channel c is 40 + 12 x + 6 y + 25 c. */
static void check_bytes(const char *name, uint32_t channels, uint32_t stored, double tolerance)
{
    for (int raw = 0; raw < 2; raw++) {
        scene_image image;
        bl_error err = {0};
        if (image_load(data_path(name), raw, &image, &err) != BL_OK)
            fail_msg("%s", err.text);
        assert_true(image.width == 8 && image.height == 6 && image.channels == channels && image.eight_bit);
        for (uint32_t at = 0; at < 48 * channels; at++) {
            uint32_t c = stored == 1 ? 0 : at % channels, x = at / channels % 8, y = at / channels / 8;
            double low = (40 + 12 * x + 6 * y + 25 * c - tolerance) / 255.0, high = low + 2 * tolerance / 255,
                   slack = 1e-6;
            double least = raw ? low : srgb(low), most = raw ? high : srgb(high),
                   value = (double)image.pixels[at];
            if (!(value >= least - slack && value <= most + slack))
                fail_msg("%s: channel %u of (%u, %u) is %g, expected %g to %g", name, c, x, y, value, least,
                         most);
        }
        image_free(&image);
    }
}

static void jpeg_and_bmp_files_have_their_values(void **state)
{
    (void)state;
    check_bytes("rgb.jpg", 3, 3, 1);
    check_bytes("progressive.jpg", 3, 3, 1);
    check_bytes("grey.jpg", 1, 1, 1);
    check_bytes("rgb24.bmp", 3, 3, 0);
    check_bytes("top_down32.bmp", 3, 3, 0);
    check_bytes("grey8.bmp", 3, 1, 0);
    scene_image image;
    bl_error err = {0};
    assert_int_equal(image_load(data_path("cmyk.jpg"), false, &image, &err), BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "JPEG images with 4 channels"));
}

/* Channel c is (c + 1) (x + 10 y + 1) / 16, rounded down to 8 bits below the largest of a pixel. */
static void hdr_files_have_their_values(void **state)
{
    static const struct {
        const char *name;
        uint32_t width, height;
    } files[] = {{"flat.hdr", 5, 3}, {"rle.hdr", 12, 4}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        scene_image image;
        bl_error err = {0};
        if (image_load(data_path(files[i].name), false, &image, &err) != BL_OK)
            fail_msg("%s", err.text);
        assert_true(image.width == files[i].width && image.height == files[i].height && image.channels == 3 &&
                    !image.eight_bit);
        for (uint32_t at = 0; at < 3 * image.width * image.height; at++) {
            uint32_t c = at % 3, x = at / 3 % image.width, y = at / 3 / image.width;
            int exponent;
            double value = (c + 1) * (x + 10 * y + 1) / 16.0;
            frexp(3 * (x + 10 * y + 1) / 16.0, &exponent);
            double step = ldexp(1, exponent - 8);
            if ((double)image.pixels[at] != floor(value / step) * step)
                fail_msg("%s: channel %u of (%u, %u) is %g instead of %g", files[i].name, c, x, y,
                         (double)image.pixels[at], floor(value / step) * step);
        }
        image_free(&image);
    }
}

static bool contains(const text *bytes, const char *what)
{
    return memmem(bytes->data, bytes->length, what, strlen(what)) != NULL;
}

/* OpenEXR reports an error while it holds its lock: a handler that calls back waits for ever. */
static void writing_exr_ends_with_an_error(void **state)
{
    (void)state;
    static float pixels[4];
    scene_image image = {.pixels = pixels, .width = 2, .height = 2, .channels = 1};
    char name[300];
    memset(name, 'n', sizeof name);
    const char *names[] = {name};
    static const struct {
        size_t letters;
        bool good;
    } cases[] = {{31, true}, {32, true}, {255, true}, {256, false}, {0, false}};
    alarm(60);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        text out = {0};
        bl_error err = {0};
        name[cases[k].letters] = 0;
        bl_result r = image_encode_exr(&image, names, IMAGE_FLOAT32, &out, &err);
        assert_int_equal(r == BL_OK, cases[k].good);
        assert_true(cases[k].good ? contains(&out, name) : strstr(err.text, "EXR") != NULL);
        if (cases[k].good) {
            scene_image back;
            assert_int_equal(image_decode((const uint8_t *)out.data, out.length, true, &back, &err), BL_OK);
            image_free(&back);
        }
        text_free(&out);
        name[cases[k].letters] = 'n';
    }
    alarm(0);
}

static void unsupported_exr_is_named(void **state)
{
    scene_image image;
    bl_error err = {0};
    (void)state;
    assert_int_equal(image_load(data_path("xy.exr"), false, &image, &err), BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "neither the channels R, G, B nor Y"));
    assert_int_equal(image_load(data_path("half_dwaa.exr"), false, &image, &err), BL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "half_dwaa.exr: "));
    assert_int_equal(image_load(data_path("float_b44.exr"), false, &image, &err), BL_ERROR_UNSUPPORTED);
    assert_int_equal(image_load("no such file.exr", false, &image, &err), BL_ERROR_IO);
    assert_non_null(strstr(err.text, "no such file.exr"));
}

static void bad_output_is_an_error(void **state)
{
    const float pixel[3] = {1, 2, 3};
    bl_error err = {0};
    (void)state;
    assert_int_equal(image_save("x.tiff", 1, 1, 3, pixel, false, &err), BL_ERROR_ARGUMENT);
    assert_int_equal(image_save("x.exr", 1, 1, 2, pixel, false, &err), BL_ERROR_ARGUMENT);
    assert_int_equal(image_save("x.exr", 0, 1, 3, pixel, false, &err), BL_ERROR_ARGUMENT);
    assert_int_equal(image_save("no such folder/x.exr", 1, 1, 3, pixel, false, &err), BL_ERROR_IO);
    assert_false(file_exists("x.exr"));
    assert_false(file_exists("x.tiff"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exr_files_have_their_values),
        cmocka_unit_test(png_files_have_their_values),
        cmocka_unit_test(one_bit_png),
        cmocka_unit_test(jpeg_and_bmp_files_have_their_values),
        cmocka_unit_test(hdr_files_have_their_values),
        cmocka_unit_test(alpha_shows_the_background),
        cmocka_unit_test(writers_round_trip),
        cmocka_unit_test(srgb_round_trip_is_exact),
        cmocka_unit_test(bad_images_are_refused),
        cmocka_unit_test(noise_round_trips),
        cmocka_unit_test(writing_exr_ends_with_an_error),
        cmocka_unit_test(unsupported_exr_is_named),
        cmocka_unit_test(bad_output_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
