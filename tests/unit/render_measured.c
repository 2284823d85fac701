/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Measured materials: what the reader makes of a file and refuses, and values and densities of the files of
 * assets/measured for pairs of directions, as Mitsuba 3.9.1 has them of the same files (variant scalar_rgb,
 * `eval` and `pdf` of the BSDF for unit vectors along wi and wo). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/material_probe.h"
#include "support/scene_cases.h"

#include <math.h>
#include <stdlib.h>

static char *folder;

static const struct {
    const char *file;
    double wi[3], wo[3], rgb[3], pdf;
} mitsuba[] = {
    {"satin", {0, 0, 1}, {0.3, 0.2, 0.9}, {0.367837, 0.245225, 0.143048}, 0.473742},
    {"satin", {0.6, 0.05, 0.8}, {-0.6, 0.1, 0.8}, {0.622124, 0.414942, 0.242291}, 0.859031},
    {"satin", {0.5, 0.5, 0.707}, {0.1, -0.8, 0.5}, {0.101412, 0.0679037, 0.0399802}, 0.132847},
    {"satin", {-0.3, -0.8, 0.52}, {0.4, 0.7, 0.3}, {0.567679, 0.390338, 0.242554}, 0.767862},
    {"satin", {-0.7, 0.6, 0.4}, {0.2, 0.1, 0.9}, {0.14367, 0.0958237, 0.0559517}, 0.197771},
    {"brushed", {0, 0, 1}, {0.3, 0.2, 0.9}, {0.252958, 0.168639, 0.0983727}, 0.304784},
    {"brushed", {0.6, 0.05, 0.8}, {-0.6, 0.1, 0.8}, {1.1657, 0.777745, 0.454449}, 1.68966},
    {"brushed", {0.5, 0.5, 0.707}, {0.1, -0.8, 0.5}, {0.0118777, 0.00792024, 0.00462238}, 0.0146606},
    {"brushed", {-0.3, -0.8, 0.52}, {0.4, 0.7, 0.3}, {0.258859, 0.174925, 0.104981}, 0.303029},
    {"brushed", {-0.7, 0.6, 0.4}, {0.2, 0.1, 0.9}, {0.138106, 0.0923465, 0.0542136}, 0.141977},
};
enum { ROWS = sizeof mitsuba / sizeof *mitsuba };

static void unit(const double v[3], double out[3])
{
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++)
        out[k] = v[k] / length;
}

static void expect(double got, double wanted, const char *what, int row)
{
    if (!(fabs(got - wanted) <= 2e-4 * wanted))
        fail_msg("row %d, %s: %.7g, Mitsuba has %.7g", row, what, got, wanted);
}

static void values_are_mitsubas(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        char xml[256];
        snprintf(xml, sizeof xml,
                 "<bsdf type='measured' id='it'><string name='filename' value='%s.bsdf'/></bsdf>",
                 mitsuba[i].file);
        material_case what = {.name = mitsuba[i].file, .xml = xml};
        material_probe p = material_probe_create(&what, folder);
        double wi[3], wo[3], below[3];
        unit(mitsuba[i].wi, wi), unit(mitsuba[i].wo, wo);
        material_value v = material_probe_value(&p, wi, wo, false, 0);
        for (int c = 0; c < 3; c++)
            expect(v.rgb[c], mitsuba[i].rgb[c], "value", i);
        expect(v.pdf, mitsuba[i].pdf, "density", i);
        for (int side = 0; side < 2; side++) { /* nothing below the surface */
            memcpy(below, side ? wi : wo, sizeof below), below[2] = -below[2];
            v = material_probe_value(&p, side ? below : wi, side ? wo : below, false, 0);
            assert_true(v.pdf == 0 && v.rgb[0] == 0 && v.rgb[1] == 0 && v.rgb[2] == 0);
        }
        material_probe_destroy(&p);
    }
}

/* ---- the reader ---- */

typedef struct file {
    uint8_t *data;
    size_t size;
} file;

static file read_tiny(void)
{
    char path[1300];
    void *data;
    file f;
    snprintf(path, sizeof path, "%s/tests/data/tiny.bsdf", getenv("BL_SOURCE_DIR"));
    assert_int_equal(file_read(path, 1 << 20, &data, &f.size, NULL), BL_OK);
    f.data = data;
    return f;
}

static void a_file_is_what_it_says(void **state)
{
    (void)state;
    file f = read_tiny();
    scene_measured m;
    bl_error err = {0};
    if (measured_parse(f.data, f.size, &m, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(m.phi_count, 1);
    assert_int_equal(m.theta_count, 2);
    assert_true(m.theta[0] == 0 && m.theta[1] > 1.57f && m.jacobian);
    assert_int_equal(m.ndf.width, 3);
    assert_int_equal(m.visible.slices, 2);
    assert_int_equal(m.rgb.slices, 6);
    assert_int_equal(m.rgb.width, 2);
    assert_true(fabs((double)m.ndf.values[0] - 1 / (3.14159265358979 * 0.25)) < 1e-6); /* GGX at its normal */
    measured_free(&m);
    free(f.data);
}

/* The place of a name in the list of fields. */
static uint8_t *place(file f, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i + length <= f.size; i++)
        if (f.data[i] == length && f.data[i + 1] == 0 && memcmp(f.data + i + 2, name, length) == 0)
            return f.data + i + 2;
    fail_msg("no field %s", name);
    return NULL;
}

static void refused(file f, const char *why)
{
    scene_measured m;
    bl_error err = {0};
    assert_int_not_equal(measured_parse(f.data, f.size, &m, &err), BL_OK);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" is not in: %s", why, err.text);
}

static void bad_files_say_why(void **state)
{
    (void)state;
    /* what is changed: a byte at some distance from the end of a field's name, which rank, type, offset and
     * shape follow */
    static const struct {
        const char *field;
        int at;
        uint8_t value;
        const char *why;
    } cases[] = {
        {"theta_i", 2, 9, "\"theta_i\" has the type 9"},
        {"theta_i", 2, 1, "\"theta_i\" should have 1 dimensions of float32"},
        {"theta_i", 0, 2, "lies outside of the file"}, /* its second side is the next field's name */
        {"theta_i", 11, 0, "is empty or lies outside"},
        {"theta_i", 11, 1, "\"theta_i\" has 1 angles, 2 to 4096"},
        {"theta_i", 17, 1, "lies outside of the file"},
        {"phi_i", 11, 2, "\"phi_i\": angle"},
        {"vndf", 19, 1, "dimension 1 of \"vndf\" is 1, expected 2"},
        {"ndf", 11, 1, "a side of \"ndf\" is 1"},
        {"jacobian", 11, 2, "\"jacobian\" should be one byte"},
        {"luminance", -1, 'x', "no field \"luminance\""},
        {"rgb", 8, 0xFF, "lies outside of the file"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        file f = read_tiny();
        uint8_t *at = place(f, cases[k].field) + strlen(cases[k].field) + cases[k].at;
        *at = cases[k].value;
        refused(f, cases[k].why);
        free(f.data);
    }
    file f = read_tiny();
    uint8_t *rgb = place(f, "rgb");
    uint64_t offset;
    memcpy(&offset, rgb + 3 + 3, sizeof offset);
    const float negative = -1;
    memcpy(f.data + offset, &negative, sizeof negative);
    refused(f, "number 0 of \"rgb\" is negative or not finite");
    f.data[0] = 'T';
    refused(f, "not a file of tensors");
    free(f.data);
}

/* A file of spectra has another field in the place of the colours. */
static void spectra_are_refused_with_advice(void **state)
{
    (void)state;
    file f = read_tiny();
    uint8_t *description = place(f, "description"), *rgb = place(f, "rgb");
    memcpy(rgb, "RGB", 3);
    refused(f, "no field \"rgb\"");
    memcpy(description, "spectra", 7), description[-2] = 7;
    memmove(description + 7, description + 11, f.size - (size_t)(description + 11 - f.data));
    refused(f, "whose name ends in _rgb.bsdf");
    free(f.data);
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_mitsubas),
        cmocka_unit_test(a_file_is_what_it_says),
        cmocka_unit_test(bad_files_say_why),
        cmocka_unit_test(spectra_are_refused_with_advice),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
