/* SPDX-License-Identifier: BSD-3-Clause
 * Writes what `backlight import` has read: a scene with a field in the box, and a fit job beside it. The job
 * fits from coarse to fine: 1/4, 1/2 and all of the resolution, for a fifth, a fifth and three fifths of the
 * steps. */
#include "import.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the scene ---- */

static double longest_side(const import_set *set)
{
    double longest = 0;
    for (int k = 0; k < 3; k++)
        longest = fmax(longest, set->box[3 + k] - set->box[k]);
    return longest;
}

static uint32_t coarsest(const import_options *o) { return o->resolution > 4 ? o->resolution / 4 : 1; }

/* The value whose softplus is the extinction of a thin fog, of optical thickness 0.1 through the box. */
static double fog(const import_set *set) { return log(expm1(0.1 / longest_side(set))); }

static void write_field(FILE *out, const import_set *set, const import_options *o)
{
    const double *box = set->box;
    uint32_t side = coarsest(o), channels = 3 * (o->sh_degree + 1) * (o->sh_degree + 1);
    fprintf(out,
            "    <field type=\"sh_field\" id=\"field\">\n"
            "        <string name=\"density_activation\" value=\"softplus\"/>\n"
            "        <string name=\"color_activation\" value=\"sigmoid\"/>\n        <transform "
            "name=\"to_world\">\n"
            "            <scale x=\"%.9g\" y=\"%.9g\" z=\"%.9g\"/>\n"
            "            <translate x=\"%.9g\" y=\"%.9g\" z=\"%.9g\"/>\n        </transform>\n",
            box[3] - box[0], box[4] - box[1], box[5] - box[2], box[0], box[1], box[2]);
    fprintf(out,
            "        <volume name=\"density\" type=\"gridvolume\">\n"
            "            <string name=\"resolution\" value=\"%u\"/>\n"
            "            <integer name=\"channels\" value=\"1\"/>\n"
            "            <float name=\"value\" value=\"%.9g\"/>\n        </volume>\n",
            side, fog(set));
    fprintf(out,
            "        <volume name=\"sh_coeffs\" type=\"gridvolume\">\n"
            "            <string name=\"resolution\" value=\"%u\"/>\n"
            "            <integer name=\"channels\" value=\"%u\"/>\n"
            "            <float name=\"value\" value=\"0\"/>\n        </volume>\n    </field>\n",
            side, channels);
}

static void write_sensor(FILE *out, const import_set *set)
{
    const import_camera *c = &set->camera;
    double scale = longest_side(set);
    fprintf(out,
            "    <sensor type=\"perspective\">\n"
            "        <float name=\"fov\" value=\"%.9g\"/>\n        <string name=\"fov_axis\" value=\"x\"/>\n"
            "        <float name=\"principal_point_offset_x\" value=\"%.9g\"/>\n"
            "        <float name=\"principal_point_offset_y\" value=\"%.9g\"/>\n"
            "        <float name=\"near_clip\" value=\"%.9g\"/>\n"
            "        <float name=\"far_clip\" value=\"%.9g\"/>\n",
            2 * atan(c->tangent) * 180 / 3.14159265358979323846, c->shift_x, c->shift_y, 1e-3 * scale,
            1e4 * scale);
    fprintf(out,
            "        <film type=\"hdrfilm\">\n            <integer name=\"width\" value=\"%u\"/>\n"
            "            <integer name=\"height\" value=\"%u\"/>\n            <rfilter type=\"box\"/>\n"
            "        </film>\n        <sampler type=\"independent\">\n"
            "            <integer name=\"sample_count\" value=\"4\"/>\n        </sampler>\n    </sensor>\n",
            c->width, c->height);
}

static int write_scene(const char *path, const import_set *set, const import_options *o)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return fail("no memory for the scene");
    fprintf(out, "<scene version=\"3.0.0\">\n    <integrator type=\"radiance_field\">\n"
                 "        <integer name=\"thin_gradient\" value=\"2\"/>\n    </integrator>\n");
    write_sensor(out, set);
    fprintf(out,
            "    <emitter type=\"constant\">\n        <rgb name=\"radiance\" value=\"%.9g, %.9g, %.9g\"/>\n"
            "    </emitter>\n",
            o->background[0], o->background[1], o->background[2]);
    write_field(out, set, o);
    fprintf(out, "</scene>\n");
    int status = fclose(out) == 0 ? save_file(path, text, size) : fail("no memory for the scene");
    free(text);
    return status;
}

/* ---- the job ---- */

/* The path from folder `from` to the file `to`; both exist. free() it. */
static char *relative_path(const char *from, const char *to)
{
    char *a = realpath(from, NULL), *b = realpath(to, NULL);
    if (!a || !b) {
        free(a);
        free(b);
        return NULL;
    }
    size_t shared = 0, k = 0;
    for (; a[k] && a[k] == b[k]; k++)
        shared = a[k] == '/' ? k + 1 : shared;
    if (!a[k] && b[k] == '/') /* the file is below the folder */
        shared = k + 1;
    char *path = text_format("%s", b + shared);
    for (size_t i = shared; shared <= strlen(a) && a[i]; i += strcspn(a + i, "/"), i += a[i] == '/') {
        char *longer = text_format("../%s", path);
        free(path);
        path = longer;
    }
    free(a);
    free(b);
    return path;
}

static cJSON *view_json(const char *folder, const import_frame *frame)
{
    char *target = relative_path(folder, frame->image);
    cJSON *view = cJSON_CreateObject();
    cJSON_AddStringToObject(view, "target", target ? target : frame->image);
    cJSON_AddItemToObject(view, "to_world", cJSON_CreateDoubleArray(frame->to_world, 16));
    free(target);
    return view;
}

static void add_views(cJSON *job, const char *folder, const import_set *set)
{
    cJSON *views = cJSON_AddArrayToObject(job, "views"), *held_out = cJSON_CreateArray();
    for (uint32_t k = 0; k < set->frame_count; k++) {
        cJSON_AddItemToArray(views, view_json(folder, &set->frames[k]));
        if (set->frames[k].held_out)
            cJSON_AddItemToArray(held_out, cJSON_CreateNumber(k));
    }
    cJSON_AddItemToObject(job, "held_out", held_out);
}

static const char density[] = "field.density.data", colours[] = "field.sh_coeffs.data";

/* A density is a number per length, so its rate counts in the box's size: opaque within a voxel means about
 * five times the resolution in that unit. */
static void add_parameters(cJSON *job, const import_set *set)
{
    cJSON *list = cJSON_AddArrayToObject(job, "parameters"), *d = cJSON_CreateObject(),
          *c = cJSON_CreateObject();
    cJSON_AddStringToObject(d, "name", density);
    cJSON_AddNumberToObject(d, "rate", 3 / longest_side(set));
    cJSON_AddNumberToObject(d, "total_variation", 1e-4 * longest_side(set));
    cJSON_AddStringToObject(c, "name", colours);
    cJSON_AddNumberToObject(c, "rate", 0.1);
    cJSON_AddNumberToObject(c, "total_variation", 1e-4);
    cJSON_AddItemToArray(list, d);
    cJSON_AddItemToArray(list, c);
}

static cJSON *stage_json(uint32_t steps, uint32_t side)
{
    cJSON *stage = cJSON_CreateObject(), *resolution;
    cJSON_AddNumberToObject(stage, "steps", steps ? steps : 1);
    resolution = cJSON_AddObjectToObject(stage, "resolution");
    for (int k = 0; k < 2; k++) {
        const double sides[3] = {side, side, side};
        cJSON_AddItemToObject(resolution, k ? colours : density, cJSON_CreateDoubleArray(sides, 3));
    }
    return stage;
}

static void add_stages(cJSON *job, const import_options *o)
{
    uint32_t fifth = o->steps / 5;
    cJSON *stages = cJSON_AddArrayToObject(job, "stages");
    cJSON_AddItemToArray(stages, stage_json(fifth, coarsest(o)));
    cJSON_AddItemToArray(stages, stage_json(fifth, o->resolution > 2 ? o->resolution / 2 : 1));
    cJSON_AddItemToArray(stages, stage_json(o->steps - 2 * fifth, o->resolution));
}

/* Rates fall while the fit goes on, so that the noise of batches averages out. */
static void add_schedule(cJSON *job, const import_options *o)
{
    static const struct {
        double share, factor;
    } changes[] = {{0.4, 0.5}, {0.7, 0.2}, {0.9, 0.1}};
    cJSON *list = cJSON_AddArrayToObject(job, "schedule");
    uint32_t last = 0;
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        uint32_t step = 1 + (uint32_t)(changes[k].share * o->steps);
        if (step <= last) /* so few steps that two changes fall together */
            continue;
        cJSON *change = cJSON_CreateObject();
        cJSON_AddNumberToObject(change, "step", last = step);
        cJSON_AddNumberToObject(change, "factor", changes[k].factor);
        cJSON_AddItemToArray(list, change);
    }
}

static cJSON *job_json(const char *folder, const char *scene, const import_set *set, const import_options *o)
{
    cJSON *job = cJSON_CreateObject(), *optimizer;
    cJSON_AddStringToObject(job, "scene", scene);
    cJSON_AddItemToObject(job, "background", cJSON_CreateDoubleArray(o->background, 3));
    add_views(job, folder, set);
    cJSON_AddNumberToObject(job, "batch", o->batch);
    cJSON_AddStringToObject(job, "loss", "l2");
    cJSON_AddStringToObject(job, "form", "one-image");
    add_parameters(job, set);
    optimizer = cJSON_AddObjectToObject(job, "optimizer");
    cJSON_AddStringToObject(optimizer, "type", "adam");
    add_schedule(job, o);
    add_stages(job, o);
    cJSON_AddNumberToObject(job, "spp", 1);
    return job;
}

int import_write(const import_set *set, const import_options *o)
{
    const char *slash = strrchr(o->output, '/'), *name = slash ? slash + 1 : o->output,
               *dot = strrchr(name, '.');
    char *folder = slash ? text_format("%.*s", slash == o->output ? 1 : (int)(slash - o->output), o->output)
                         : text_format("."),
         *scene = text_format("%.*s.xml", dot ? (int)(dot - name) : (int)strlen(name), name),
         *path = slash ? text_format("%s/%s", folder, scene) : text_format("%s", scene);
    int status = write_scene(path, set, o);
    if (status == CLI_OK) {
        cJSON *job = job_json(folder, scene, set, o);
        status = save_json(o->output, job);
        cJSON_Delete(job);
    }
    free(path);
    free(scene);
    free(folder);
    return status;
}
