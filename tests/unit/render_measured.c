/* LABELS: nodevice */
/* SPDX-License-Identifier: BSD-3-Clause
 * Measured materials: what the reader makes of a file and refuses, and values and densities of the files of
 * assets/measured for pairs of directions, as Mitsuba 3.9.1 has them of the same files (variant scalar_rgb,
 * `eval` and `pdf` of the BSDF for unit vectors along wi and wo). Files of the other shapes that the format
 * has are written here of the same numbers, and compared so, too. Files with spectra are written of the
 * colours of these, so that what they give at any wavelength is known from the colours. */
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

/* ---- files that are written here ---- */

typedef struct tensor {
    const char *name;
    uint32_t rank;
    uint64_t shape[5];
    const float *values; /* NULL: one byte */
    char byte;
} tensor;

static size_t tensor_bytes(const tensor *f)
{
    size_t count = 1;
    for (uint32_t k = 0; k < f->rank; k++)
        count *= f->shape[k];
    return f->values ? 4 * count : 1;
}

static void write_tensors(const char *path, const tensor *fields, uint32_t count)
{
    FILE *f = fopen(path, "wb");
    uint64_t offset = 18;
    assert_non_null(f);
    for (uint32_t i = 0; i < count; i++)
        offset += 13 + strlen(fields[i].name) + 8 * (uint64_t)fields[i].rank;
    fwrite("tensor_file\0\1", 1, 14, f), fwrite(&count, 4, 1, f);
    for (uint32_t i = 0; i < count; i++) {
        uint16_t length = (uint16_t)strlen(fields[i].name), rank = (uint16_t)fields[i].rank;
        uint8_t type = fields[i].values ? 10 : 1;
        fwrite(&length, 2, 1, f), fwrite(fields[i].name, 1, length, f), fwrite(&rank, 2, 1, f);
        fwrite(&type, 1, 1, f), fwrite(&offset, 8, 1, f), fwrite(fields[i].shape, 8, rank, f);
        offset += tensor_bytes(&fields[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        fwrite(fields[i].values ? (const void *)fields[i].values : &fields[i].byte, 1,
               tensor_bytes(&fields[i]), f);
    assert_int_equal(fclose(f), 0);
}

static void load(const char *of, scene_measured *m)
{
    char from[1300];
    bl_error err = {0};
    snprintf(from, sizeof from, "%s/%s.bsdf", folder, of);
    assert_int_equal(measured_load(from, false, m, &err), BL_OK);
}

/* ---- shapes ---- */

#define PI 3.14159265f
/* What a file may have: azimuths from first to last, of the views of brushed.bsdf. */
typedef struct shape {
    const char *name;
    float phi[4];
    uint32_t views, first_view;
    char jacobian;
} shape;

/* Azimuths that an anisotropic file with a symmetry has (the half is brushed.bsdf) or that one without has,
 * and colours that hold the whole value. */
static const shape shapes[] = {
    {"quarter", {-PI, -PI * 5 / 6, -PI * 4 / 6, -PI / 2}, 4, 0, 1},
    {"turn", {-PI, -PI / 3, PI / 3, PI}, 4, 0, 1},
    {"colours", {-PI, -PI * 2 / 3, -PI / 3, 0}, 4, 0, 0},
};

static const struct {
    uint32_t shape;
    double wi[3], wo[3], rgb[3], pdf;
} shaped[] = {
    {0, {0.6, 0.05, 0.8}, {-0.6, 0.1, 0.8}, {1.1647, 0.77706, 0.454028}, 1.69137},
    {0, {-0.3, -0.8, 0.52}, {0.4, 0.7, 0.3}, {0.340074, 0.227931, 0.134479}, 0.551322},
    {0, {0.5, 0.5, 0.707}, {0.1, -0.8, 0.5}, {0.0066966, 0.00448372, 0.00263967}, 0.00552551},
    {0, {-0.7, 0.6, 0.4}, {0.2, 0.1, 0.9}, {0.118296, 0.0796429, 0.0474319}, 0.127822},
    {0, {0.3, -0.5, 0.6}, {-0.2, 0.6, 0.7}, {0.687009, 0.45918, 0.269323}, 0.783326},
    {1, {0.6, 0.05, 0.8}, {-0.6, 0.1, 0.8}, {1.12919, 0.753933, 0.441216}, 1.44265},
    {1, {-0.3, -0.8, 0.52}, {0.4, 0.7, 0.3}, {0.282206, 0.191079, 0.115139}, 0.305696},
    {1, {0.5, 0.5, 0.707}, {0.1, -0.8, 0.5}, {0.0222437, 0.014874, 0.00873257}, 0.0345037},
    {1, {-0.7, 0.6, 0.4}, {0.2, 0.1, 0.9}, {0.00529314, 0.00390089, 0.00274068}, 0.000797575},
    {1, {0.3, -0.5, 0.6}, {-0.2, 0.6, 0.7}, {0.655985, 0.438837, 0.257879}, 0.752887},
    {2, {0.6, 0.05, 0.8}, {-0.6, 0.1, 0.8}, {0.893952, 0.596437, 0.348508}, 1.68966},
    {2, {-0.3, -0.8, 0.52}, {0.4, 0.7, 0.3}, {0.665128, 0.449464, 0.269744}, 0.303029},
    {2, {0.5, 0.5, 0.707}, {0.1, -0.8, 0.5}, {0.51826, 0.345585, 0.201689}, 0.0146606},
    {2, {-0.7, 0.6, 0.4}, {0.2, 0.1, 0.9}, {0.889081, 0.594497, 0.34901}, 0.141977},
    {2, {0.3, -0.5, 0.6}, {-0.2, 0.6, 0.7}, {0.864046, 0.576717, 0.337275}, 0.844385},
};
enum { SHAPED = sizeof shaped / sizeof *shaped };

static void write_shape(const shape *of, const char *path)
{
    scene_measured m;
    load("brushed", &m);
    const uint64_t phi = of->views, theta = m.theta_count, first = of->first_view * theta,
                   visible = first * m.visible.height * m.visible.width,
                   luminance = first * m.luminance.height * m.luminance.width,
                   light = 3 * first * m.light.height * m.light.width;
    const tensor fields[] = {
        {"phi_i", 1, {phi}, of->phi, 0},
        {"theta_i", 1, {theta}, m.theta, 0},
        {"ndf", 2, {m.ndf.height, m.ndf.width}, m.ndf.values, 0},
        {"sigma", 2, {m.sigma.height, m.sigma.width}, m.sigma.values, 0},
        {"vndf", 4, {phi, theta, m.visible.height, m.visible.width}, m.visible.values + visible, 0},
        {"luminance",
         4,
         {phi, theta, m.luminance.height, m.luminance.width},
         m.luminance.values + luminance,
         0},
        {"rgb", 5, {phi, theta, 3, m.light.height, m.light.width}, m.light.values + light, 0},
        {"jacobian", 1, {1}, NULL, of->jacobian},
    };
    write_tensors(path, fields, sizeof fields / sizeof *fields);
    measured_free(&m);
}

static material_value value_of(const shape *of, const double wi[3], const double wo[3])
{
    char path[1300], xml[1500];
    snprintf(path, sizeof path, "%s/shape.bsdf", folder);
    write_shape(of, path);
    snprintf(xml, sizeof xml, "<bsdf type='measured' id='it'><string name='filename' value='%s'/></bsdf>",
             path);
    const material_case what = {.name = of->name, .xml = xml};
    material_probe p = material_probe_create(&what, folder);
    material_value v = material_probe_value(&p, wi, wo, false, 0);
    material_probe_destroy(&p);
    return v;
}

static void other_shapes_are_mitsubas(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPED; i++) {
        const shape *of = &shapes[shaped[i].shape];
        double wi[3], wo[3];
        unit(shaped[i].wi, wi), unit(shaped[i].wo, wo);
        material_value v = value_of(of, wi, wo);
        for (int c = 0; c < 3; c++)
            expect(v.rgb[c], shaped[i].rgb[c], of->name, i);
        expect(v.pdf, shaped[i].pdf, of->name, i);
    }
}

/* Files of isotropic materials may have two azimuths, between which they are interpolated. (Mitsuba 3.9.1 has
 * other values in each run there.) At either azimuth the material is that of its view alone. */
static void two_azimuths_are_interpolated(void **state)
{
    (void)state;
    const shape pair = {"pair", {0, 2}, 2, 0, 1}, one = {"one", {0}, 1, 0, 1},
                other = {"other", {0}, 1, 1, 1};
    material_value at[3], alone[2];
    for (int k = 0; k < 3; k++) { /* both directions turn */
        const double a = k, wi[3] = {0.6 * cos(a), 0.6 * sin(a), 0.8};
        const double b[3] = {-0.6 * cos(a + .3), -0.6 * sin(a + .3), 0.7};
        double wo[3];
        unit(b, wo);
        at[k] = value_of(&pair, wi, wo);
        if (k != 1)
            alone[k / 2] = value_of(k ? &other : &one, wi, wo);
    }
    assert_true(fabs(alone[0].pdf - alone[1].pdf) > 0.01 * alone[0].pdf);
    for (int k = 0; k < 2; k++) {
        for (int c = 0; c < 3; c++)
            assert_true(fabs(at[2 * k].rgb[c] - alone[k].rgb[c]) <= 1e-5 * alone[k].rgb[c]);
        assert_true(fabs(at[2 * k].pdf - alone[k].pdf) <= 1e-5 * alone[k].pdf);
    }
    const double low = fmin(alone[0].pdf, alone[1].pdf), high = fmax(alone[0].pdf, alone[1].pdf);
    assert_true(at[1].pdf > low && at[1].pdf < high);
}

/* ---- spectra ---- */

/* The spectra are the file's red by `red` plus its blue by `blue`, of straight lines between these
 * wavelengths. */
enum { PLACES = 5 };
static const float places[PLACES] = {380, 450, 460.5f, 700, 720};
static const double red[PLACES] = {.2, 1, .4, .9, .3}, blue[PLACES] = {.5, 0, 1.2, .1, .6};

static double line(const double *values, double nm)
{
    int k = 0;
    while (k + 2 < PLACES && (double)places[k + 1] < nm)
        k++;
    double share = (nm - (double)places[k]) / ((double)places[k + 1] - (double)places[k]);
    return values[k] + fmin(fmax(share, 0), 1) * (values[k + 1] - values[k]);
}

/* Writes the file with spectra at the first `count` wavelengths that belongs to one with colours. */
static void write_spectra(const char *of, const char *path, const float *nm, uint32_t count)
{
    scene_measured m;
    load(of, &m);
    const uint64_t phi = m.phi_count, theta = m.theta_count, size = (uint64_t)m.light.height * m.light.width;
    float *spectra = calloc(phi * theta * count * size, sizeof *spectra);
    assert_non_null(spectra);
    for (uint64_t view = 0; view < phi * theta; view++)
        for (uint64_t k = 0; k < count; k++)
            for (uint64_t i = 0; i < size; i++) {
                const float *colour = m.light.values + 3 * view * size + i;
                spectra[(view * count + k) * size + i] =
                    (float)(red[k] * (double)colour[0] + blue[k] * (double)colour[2 * size]);
            }
    const tensor fields[] = {
        {"phi_i", 1, {phi}, m.phi, 0},
        {"theta_i", 1, {theta}, m.theta, 0},
        {"ndf", 2, {m.ndf.height, m.ndf.width}, m.ndf.values, 0},
        {"sigma", 2, {m.sigma.height, m.sigma.width}, m.sigma.values, 0},
        {"vndf", 4, {phi, theta, m.visible.height, m.visible.width}, m.visible.values, 0},
        {"luminance", 4, {phi, theta, m.luminance.height, m.luminance.width}, m.luminance.values, 0},
        {"wavelengths", 1, {count}, nm, 0},
        {"spectra", 5, {phi, theta, count, m.light.height, m.light.width}, spectra, 0},
        {"jacobian", 1, {1}, NULL, 1},
    };
    write_tensors(path, fields, sizeof fields / sizeof *fields);
    free(spectra);
    measured_free(&m);
}

static material_probe probe_of(const char *xml, const char *mode)
{
    const material_case what = {.name = xml, .xml = xml, .mode = mode};
    return material_probe_create(&what, folder);
}

static void spectra_are_between_their_wavelengths(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        char path[1300], xml[256];
        double wi[3], wo[3];
        snprintf(path, sizeof path, "%s/spectra.bsdf", folder);
        write_spectra(mitsuba[i].file, path, places, PLACES);
        snprintf(xml, sizeof xml, "<bsdf type='measured' id='it'><string name='filename' value='%s'/></bsdf>",
                 path);
        material_probe p = probe_of(xml, "spectral");
        snprintf(xml, sizeof xml,
                 "<bsdf type='measured' id='it'><string name='filename' value='%s.bsdf'/></bsdf>",
                 mitsuba[i].file);
        material_probe colours = probe_of(xml, NULL);
        unit(mitsuba[i].wi, wi), unit(mitsuba[i].wo, wo);
        material_value v = material_probe_value(&p, wi, wo, false, 0),
                       c = material_probe_value(&colours, wi, wo, false, 0);
        assert_true(v.pdf == c.pdf && c.pdf > 0);
        for (int k = 0; k < 4; k++) {
            double nm = (double)material_nm[k],
                   expected = line(red, nm) * c.rgb[0] + line(blue, nm) * c.rgb[2];
            if (!(fabs(v.rgb[k] - expected) <= 1e-6 * expected))
                fail_msg("row %d at %g nm: %.9g, expected %.9g", i, nm, v.rgb[k], expected);
        }
        material_probe_destroy(&p), material_probe_destroy(&colours);
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
    if (measured_parse(f.data, f.size, false, &m, &err) != BL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(m.phi_count, 1);
    assert_int_equal(m.theta_count, 2);
    assert_true(m.theta[0] == 0 && m.theta[1] > 1.57f && m.jacobian);
    assert_int_equal(m.ndf.width, 3);
    assert_int_equal(m.visible.slices, 2);
    assert_int_equal(m.light.slices, 6);
    assert_int_equal(m.light.width, 2);
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

static void refused_as(file f, bool spectra, const char *why)
{
    scene_measured m;
    bl_error err = {0};
    assert_int_not_equal(measured_parse(f.data, f.size, spectra, &m, &err), BL_OK);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" is not in: %s", why, err.text);
}

static void refused(file f, const char *why) { refused_as(f, false, why); }

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
static void the_other_kind_is_refused_with_advice(void **state)
{
    (void)state;
    file f = read_tiny();
    refused_as(f, true, "whose name ends in _spec.bsdf");
    uint8_t *description = place(f, "description"), *rgb = place(f, "rgb");
    memcpy(rgb, "RGB", 3);
    refused(f, "no field \"rgb\"");
    memcpy(description, "spectra", 7), description[-2] = 7;
    memmove(description + 7, description + 11, f.size - (size_t)(description + 11 - f.data));
    refused(f, "whose name ends in _rgb.bsdf");
    free(f.data);
}

static void bad_wavelengths_say_why(void **state)
{
    (void)state;
    static const struct {
        float nm[PLACES];
        uint32_t count;
        const char *why;
    } cases[] = {{{400}, 1, "\"wavelengths\" has 1 wavelengths, 2 to 4096"},
                 {{400, 400, 500}, 3, "\"wavelengths\": wavelength 1 is out of range"},
                 {{-1, 400}, 2, "wavelength 0 is out of range"},
                 {{400, NAN}, 2, "wavelength 1 is out of range"}};
    char path[1300];
    snprintf(path, sizeof path, "%s/bad.bsdf", folder);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        scene_measured m;
        bl_error err = {0};
        write_spectra("satin", path, cases[k].nm, cases[k].count);
        assert_int_not_equal(measured_load(path, true, &m, &err), BL_OK);
        if (!strstr(err.text, cases[k].why))
            fail_msg("\"%s\" is not in: %s", cases[k].why, err.text);
    }
}

int main(void)
{
    folder = scene_files_create();
    if (!folder)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_mitsubas),
        cmocka_unit_test(other_shapes_are_mitsubas),
        cmocka_unit_test(two_azimuths_are_interpolated),
        cmocka_unit_test(a_file_is_what_it_says),
        cmocka_unit_test(bad_files_say_why),
        cmocka_unit_test(spectra_are_between_their_wavelengths),
        cmocka_unit_test(the_other_kind_is_refused_with_advice),
        cmocka_unit_test(bad_wavelengths_say_why),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scene_files_remove(folder);
    return failed;
}
