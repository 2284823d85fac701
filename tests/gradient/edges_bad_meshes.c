/* LABELS: swiftshader=long native */
/* SPDX-License-Identifier: BSD-3-Clause
 * Are gradients by meshes right that are not as a mesh should be? Faces without area add no edges, faces that
 * do not share their vertices meet at seams all the same, a mesh may be open, at one edge three faces may
 * meet, and a mesh may go through itself: each is compared with differences (edge_cases.h), by the mesh as a
 * whole and by its vertices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/edge_cases.h"

#include <stdio.h>

static scene_device device;
static char *folder;

#define CORNERS "v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1\n"
#define ENDS "f 1 4 3\nf 1 3 2\nf 5 6 7\nf 5 7 8\n"
#define SIDES "f 1 2 6\nf 1 6 5\nf 2 3 7\nf 2 7 6\nf 3 4 8\nf 3 8 7\nf 4 1 5\nf 4 5 8\n"
/* A vertex on an edge, one at the place of another, and faces that are lines or points. */
#define BAD_FACES "v 0 -1 -1\nv 1 1 1\nf 1 2 9\nf 1 1 3\nf 7 7 7\nf 7 10 3\nf 7 10 7\n"
/* Two plates. */
#define CROSS                                                                                                \
    "v -1 -1 -.5\nv 1 -1 .5\nv 1 1 .5\nv -1 1 -.5\nv -1 -.8 .5\nv 1 -.8 -.5\nv 1 .8 -.5\nv -1 .8 .5\n"       \
    "f 1 2 3\nf 1 3 4\nf 5 6 7\nf 5 7 8\n"
#define FINS                                                                                                 \
    "v 0 0 -1\nv 0 0 1\nv 1 0 -1\nv 1 0 1\nv -.5 .87 -1\nv -.5 .87 1\nv -.5 -.87 -1\nv -.5 -.87 1\n"         \
    "f 1 2 4\nf 1 4 3\nf 1 2 6\nf 1 6 5\nf 1 2 8\nf 1 8 7\n"

#define MESH(file, matter)                                                                                   \
    WALL "<shape type='obj' id='it'><string name='filename' value='" file                                    \
         "'/><boolean name='face_normals' value='true'/>" AT(                                                \
             "<scale value='.4'/><rotate x='1' y='.3' z='.5' angle='40'/><translate value='.07,.1,.2'/>")    \
             matter "</shape>" SKY
#define BLUE "<bsdf type='diffuse'><rgb name='reflectance' value='.2,.5,.8'/></bsdf>"
#define TWO_SIDES "<bsdf type='twosided'>" BLUE "</bsdf>"
#define CASE(what, file, matter, parameter)                                                                  \
    {                                                                                                        \
        what, "3", FRONT, MESH(file, matter), parameter, {1, .3, .2}, 64, .03                                \
    }

/* Each face has another brightness under a bulb, and nothing else has noise. */
#define ITSELF(what, parameter)                                                                              \
    {                                                                                                        \
        what, "2", FRONT,                                                                                    \
            "<shape type='obj' id='it'><string name='filename' value='itself.obj'/><boolean "                \
            "name='face_normals' value='true'/>" AT(                                                         \
                "<scale value='.4'/><rotate x='1' y='.3' z='.5' angle='40'/>") BLUE "</shape>" BULB,         \
            parameter, {1, .3, .2}, 256, .005                                                                \
    }

static const edge_case cases[] = {
    CASE("a cube with faces without area", "degenerate.obj", BLUE, "it.to_world"),
    CASE("the same, by its vertices", "degenerate.obj", BLUE, "it.vertex_positions"),
    CASE("a cube whose faces share no vertex", "apart.obj", BLUE, "it.to_world"),
    CASE("a cube without ends", "open.obj", TWO_SIDES, "it.to_world"),
    CASE("the same, by its vertices", "open.obj", TWO_SIDES, "it.vertex_positions"),
    CASE("three faces at one edge", "fins.obj", TWO_SIDES, "it.to_world"),
    CASE("the same, by its vertices", "fins.obj", TWO_SIDES, "it.vertex_positions"),
    ITSELF("a mesh that goes through itself", "it.to_world"),
    ITSELF("the same, by its vertices", "it.vertex_positions"),
};

static FILE *create(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    return f;
}

static void write_text(const char *name, const char *text)
{
    FILE *f = create(name);
    fputs(text, f), fclose(f);
}

/* Each face of the cube with three vertices of its own. */
static void write_apart(void)
{
    static const char faces[] = "143132567578126165237276348387415458"; /* ENDS and SIDES */
    FILE *f = create("apart.obj");
    for (const char *c = faces; *c; c++) {
        const int k = *c - '1', x = (k + 1) / 2 % 2, y = k / 2 % 2, z = k / 4;
        fprintf(f, "v %d %d %d\n", 2 * x - 1, 2 * y - 1, 2 * z - 1);
    }
    for (int k = 1; k < 36; k += 3)
        fprintf(f, "f %d %d %d\n", k, k + 1, k + 2);
    fclose(f);
}

static void expect_case(void **state)
{
    write_text("degenerate.obj", CORNERS ENDS SIDES BAD_FACES);
    write_text("open.obj", CORNERS SIDES);
    write_text("fins.obj", FINS);
    write_text("itself.obj", CROSS);
    write_apart();
    edge_case_expect(&device, folder, "path", *state);
}

int main(void)
{
    struct CMUnitTest tests[sizeof cases / sizeof *cases];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        tests[k] = (struct CMUnitTest){cases[k].name, expect_case, NULL, NULL, (void *)(uintptr_t)&cases[k]};
    return SCENE_DEVICE_RUN(&device, &folder, "edges of bad meshes", tests);
}
