/* SPDX-License-Identifier: BSD-3-Clause
 * Reads cameras in the formats of NeRF's synthetic scenes (transforms_train.json and transforms_test.json:
 * camera_angle_x in radians, file_path without its ending) and of Instant-NGP (one transforms.json: fl_x,
 * fl_y, cx, cy, w, h in pixels). Keys that say nothing about cameras are not looked at. What these formats
 * can say and a pinhole camera that took all photographs cannot do is refused.
 *
 * Their matrices are camera to world as in OpenGL: the camera looks along -z, with +y up and +x to the right.
 * Ours looks along +z with +x to the left, so the first and the third column change their signs. */
#include "import.h"
#include "json_keys.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVERY = 8 /* without a file of test views, each so many-th frame is held out */ };

/* ---- intrinsics ---- */

/* NaN: not given. */
typedef struct intrinsics {
    double angle_x, angle_y, fl_x, fl_y, cx, cy, w, h;
} intrinsics;

static const struct {
    const char *name;
    size_t offset;
} intrinsic_keys[] = {
    {"camera_angle_x", offsetof(intrinsics, angle_x)},
    {"camera_angle_y", offsetof(intrinsics, angle_y)},
    {"fl_x", offsetof(intrinsics, fl_x)},
    {"fl_y", offsetof(intrinsics, fl_y)},
    {"cx", offsetof(intrinsics, cx)},
    {"cy", offsetof(intrinsics, cy)},
    {"w", offsetof(intrinsics, w)},
    {"h", offsetof(intrinsics, h)},
};
enum { INTRINSIC_KEYS = sizeof intrinsic_keys / sizeof *intrinsic_keys };

/* Overwrites what the object says. */
static int read_intrinsics(const json_place *at, const cJSON *json, intrinsics *out)
{
    for (int k = 0; k < INTRINSIC_KEYS; k++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, intrinsic_keys[k].name);
        double number = value ? value->valuedouble : 1;
        bool centre = intrinsic_keys[k].name[0] == 'c' && intrinsic_keys[k].name[2] == 0;
        if (value && (!cJSON_IsNumber(value) || !isfinite(number) || (number <= 0 && !centre)))
            return json_wrong(at, intrinsic_keys[k].name, "must be a number%s", centre ? "" : " above 0");
        if (value)
            memcpy((char *)out + intrinsic_keys[k].offset, &number, sizeof number);
    }
    const double half_turn = 3.14159265358979323846;
    if (out->angle_x >= half_turn || out->angle_y >= half_turn)
        return json_wrong(at, out->angle_x >= half_turn ? "camera_angle_x" : "camera_angle_y",
                          "must be an angle in radians, below half a turn");
    return CLI_OK;
}

static bool zero(const cJSON *value)
{
    for (const cJSON *one = cJSON_IsArray(value) ? value->child : NULL; one; one = one->next)
        if (!zero(one))
            return false;
    return cJSON_IsArray(value) || (cJSON_IsNumber(value) && value->valuedouble == 0);
}

/* Refuses lenses and shutters that are no pinhole's. */
static int check_lens(const json_place *at, const cJSON *json)
{
    static const char *const distortions[] = {"k1", "k2", "k3", "k4", "k5", "k6", "p1", "p2"};
    for (size_t k = 0; k < sizeof distortions / sizeof *distortions; k++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, distortions[k]);
        if (value && !zero(value))
            return json_wrong(at, distortions[k],
                              "lens distortion is not implemented: undistort the photographs (for example "
                              "with COLMAP's image_undistorter), and import those");
    }
    const cJSON *shutter = cJSON_GetObjectItemCaseSensitive(json, "rolling_shutter"),
                *fisheye = cJSON_GetObjectItemCaseSensitive(json, "is_fisheye"),
                *model = cJSON_GetObjectItemCaseSensitive(json, "camera_model");
    if (shutter && !zero(shutter))
        return json_wrong(at, "rolling_shutter",
                          "is not implemented: use photographs whose pixels were taken at one time");
    if (cJSON_IsTrue(fisheye) || (cJSON_IsString(model) && strstr(model->valuestring, "FISHEYE")))
        return json_wrong(at, cJSON_IsTrue(fisheye) ? "is_fisheye" : "camera_model",
                          "fisheye lenses are not implemented: undistort the photographs to pinhole ones");
    return CLI_OK;
}

/* Whether two lengths are equal but for rounding in the file. */
static bool same(double a, double b) { return fabs(a - b) <= 1e-4 * fmax(fabs(a), fabs(b)); }

static int check_squares(const json_place *at, const intrinsics *i, const import_camera *c)
{
    bool angles = isnan(i->fl_x) && !isnan(i->angle_y);
    if ((!isnan(i->fl_x) && !isnan(i->fl_y) && !same(i->fl_x, i->fl_y)) ||
        (angles && !same(tan(i->angle_y / 2), import_tangent_y(c))))
        return json_wrong(at, angles ? "camera_angle_y" : "fl_y",
                          "its pixels are not square, which is not implemented: scale the photographs to "
                          "square pixels (so that fl_x = fl_y), and import those");
    return CLI_OK;
}

/* The camera that these numbers describe, for images of this size. */
static int make_camera(const json_place *at, const intrinsics *i, const char *image, uint32_t width,
                       uint32_t height, import_camera *out)
{
    const double w = width, h = height;
    if ((!isnan(i->w) && i->w != w) || (!isnan(i->h) && i->h != h))
        return json_wrong(at, !isnan(i->w) && i->w != w ? "w" : "h",
                          "%s has %u x %u pixels, not %.10g x %.10g", image, width, height,
                          isnan(i->w) ? w : i->w, isnan(i->h) ? h : i->h);
    if (isnan(i->fl_x) && isnan(i->angle_x))
        return json_wrong(at, "camera_angle_x", "missing key (or fl_x): how much the camera sees");
    *out = (import_camera){
        .width = width,
        .height = height,
        .tangent = isnan(i->fl_x) ? tan(i->angle_x / 2) : w / (2 * i->fl_x),
        .shift_x = isnan(i->cx) ? 0 : 0.5 - i->cx / w,
        .shift_y = isnan(i->cy) ? 0 : 0.5 - i->cy / h,
    };
    if (!(out->tangent < 1000 && out->tangent > 1e-5 && fabs(out->shift_x) < 100 && fabs(out->shift_y) < 100))
        return json_wrong(at, isnan(i->fl_x) ? "camera_angle_x" : "fl_x",
                          "with a principal point of %g, %g this is no camera", i->cx, i->cy);
    return check_squares(at, i, out);
}

static bool same_camera(const import_camera *a, const import_camera *b)
{
    return same(a->tangent, b->tangent) && fabs(a->shift_x - b->shift_x) <= 1e-4 &&
           fabs(a->shift_y - b->shift_y) <= 1e-4;
}

/* ---- poses ---- */

/* 3 or 4 rows of 4 numbers. */
static bool read_matrix(const cJSON *json, double m[16])
{
    int rows = cJSON_IsArray(json) ? cJSON_GetArraySize(json) : 0, r = 0;
    memset(m, 0, 16 * sizeof *m);
    m[15] = 1;
    if (rows != 3 && rows != 4)
        return false;
    for (const cJSON *row = json->child; row; row = row->next, r++) {
        int c = 0;
        if (!cJSON_IsArray(row) || cJSON_GetArraySize(row) != 4)
            return false;
        for (const cJSON *one = row->child; one; one = one->next, c++) {
            if (!cJSON_IsNumber(one) || !isfinite((float)one->valuedouble))
                return false;
            m[4 * r + c] = one->valuedouble;
        }
    }
    return m[12] == 0 && m[13] == 0 && m[14] == 0 && m[15] == 1;
}

/* Whether the axes are of unit length and at right angles, and not mirrored. */
static bool rigid(const double m[16])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double dot = m[i] * m[j] + m[4 + i] * m[4 + j] + m[8 + i] * m[8 + j];
            if (!(fabs(dot - (i == j)) <= 1e-3))
                return false;
        }
    double determinant = m[0] * (m[5] * m[10] - m[6] * m[9]) - m[1] * (m[4] * m[10] - m[6] * m[8]) +
                         m[2] * (m[4] * m[9] - m[5] * m[8]);
    return determinant > 0;
}

static int read_pose(const json_place *at, const cJSON *json, double m[16])
{
    const cJSON *matrix = cJSON_GetObjectItemCaseSensitive(json, "transform_matrix");
    if (!matrix)
        return json_wrong(at, "transform_matrix", "missing key");
    if (!read_matrix(matrix, m))
        return json_wrong(at, "transform_matrix",
                          "must be 4 rows of 4 finite numbers, the last of them 0, 0, 0, 1");
    if (!rigid(m))
        return json_wrong(
            at, "transform_matrix",
            "is not a rotation and a translation (its axes must have the length 1 and be at right "
            "angles), so it is no pose of a camera");
    for (int r = 0; r < 3; r++)
        m[4 * r] = -m[4 * r], m[4 * r + 2] = -m[4 * r + 2];
    return CLI_OK;
}

/* ---- images ---- */

/* file_path may lack its ending, as in NeRF's synthetic scenes. */
static int find_image(const json_place *at, const cJSON *json, char **image)
{
    static const char *const endings[] = {"", ".png", ".jpg", ".jpeg", ".exr"};
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(json, "file_path");
    if (!cJSON_IsString(path) || !*path->valuestring)
        return json_wrong(at, "file_path", path ? "must be a text" : "missing key");
    const char *name = path->valuestring;
    while (!strncmp(name, "./", 2))
        name += 2;
    char *base = json_beside(at->file, name);
    for (size_t k = 0; k < sizeof endings / sizeof *endings && !*image; k++) {
        char *candidate = text_format("%s%s", base, endings[k]);
        if (access(candidate, R_OK) == 0 && is_file(candidate))
            *image = candidate;
        else
            free(candidate);
    }
    int status = *image ? CLI_OK : json_wrong(at, "file_path", "there is no image %s", base);
    free(base);
    return status;
}

static int look_into(const cli_session *session, const json_place *at, const char *image, uint32_t size[2])
{
    uint32_t channels;
    float *pixels;
    if (bl_image_read(session->ctx, image, &size[0], &size[1], &channels, &pixels) != BL_OK)
        return json_wrong(at, "file_path", "%s", bl_context_error(session->ctx));
    free(pixels);
    return CLI_OK;
}

/* ---- frames ---- */

typedef struct reader {
    const cli_session *session;
    import_set *set;
} reader;

static int read_frame(const reader *r, const json_place *at, const cJSON *json, intrinsics common)
{
    import_set *set = r->set;
    import_frame *frame = &set->frames[set->frame_count++];
    import_camera camera;
    uint32_t size[2];
    CLI_TRY(check_lens(at, json));
    CLI_TRY(read_pose(at, json, frame->to_world));
    CLI_TRY(find_image(at, json, &frame->image));
    CLI_TRY(look_into(r->session, at, frame->image, size));
    CLI_TRY(read_intrinsics(at, json, &common));
    bool first = set->frame_count == 1;
    if (!first && (size[0] != set->camera.width || size[1] != set->camera.height))
        return json_wrong(at, "file_path", "%s has %u x %u pixels; the first image has %u x %u", frame->image,
                          size[0], size[1], set->camera.width, set->camera.height);
    CLI_TRY(make_camera(at, &common, frame->image, size[0], size[1], &camera));
    if (!first && !same_camera(&camera, &set->camera))
        return json_wrong(
            at, "fl_x",
            "its camera is not that of the first frame: cameras that differ are not implemented; "
            "import the frames of each camera by themselves");
    if (first)
        set->camera = camera;
    return CLI_OK;
}

static int read_frames(const reader *r, const char *file, const cJSON *json, bool held_out)
{
    json_place at = {.file = file};
    intrinsics common = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(json, "frames");
    if (!cJSON_IsObject(json))
        return fail("%s: cameras are a JSON object with frames", file);
    CLI_TRY(check_lens(&at, json));
    CLI_TRY(read_intrinsics(&at, json, &common));
    if (!cJSON_IsArray(frames) || !frames->child)
        return json_wrong(&at, "frames", frames ? "must be a list of at least one frame" : "missing key");
    import_set *set = r->set;
    uint32_t k = 0, count = set->frame_count + (uint32_t)cJSON_GetArraySize(frames);
    import_frame *grown = memory_or_exit(count * sizeof *grown);
    if (set->frame_count)
        memcpy(grown, set->frames, set->frame_count * sizeof *grown);
    free(set->frames);
    set->frames = grown;
    for (const cJSON *one = frames->child; one; one = one->next, k++) {
        snprintf(at.path, sizeof at.path, "frames[%u].", k);
        if (!cJSON_IsObject(one))
            return json_wrong(&at, "", "must be an object");
        CLI_TRY(read_frame(r, &at, one, common));
        set->frames[set->frame_count - 1].held_out = held_out;
    }
    return CLI_OK;
}

static int read_file(const reader *r, const char *path, bool held_out)
{
    cJSON *json;
    char *text;
    CLI_TRY(json_read_file(path, &json, &text));
    int status = read_frames(r, path, json, held_out);
    cJSON_Delete(json);
    free(text);
    return status;
}

/* Drops held-out frames beyond `most`, evenly. */
static void thin_out(import_set *set, uint32_t most)
{
    uint32_t count = set->held_out_count, seen = 0, kept = 0;
    for (uint32_t k = 0; k < set->frame_count; k++) {
        import_frame frame = set->frames[k];
        uint64_t before = seen;
        seen += frame.held_out;
        if (frame.held_out && count > most && before * most / count == seen * (uint64_t)most / count) {
            free(frame.image);
            continue;
        }
        set->frames[kept++] = frame;
    }
    set->frame_count = kept, set->held_out_count = count < most ? count : most;
}

int import_read(const cli_session *session, const char *folder, uint32_t held_out_most, import_set *out)
{
    const reader r = {session, out};
    char *train = text_format("%s/transforms_train.json", folder),
         *test = text_format("%s/transforms_test.json", folder),
         *one = text_format("%s/transforms.json", folder);
    bool split = is_file(train), tested = split && is_file(test);
    int status = !split && !is_file(one)
                     ? fail("%s has neither transforms_train.json nor transforms.json", folder)
                     : read_file(&r, split ? train : one, false);
    if (status == CLI_OK && tested)
        status = read_file(&r, test, true);
    for (uint32_t k = 0; k < out->frame_count && status == CLI_OK; k++) {
        out->frames[k].held_out |= !tested && out->frame_count > 1 && k % EVERY == 0;
        out->held_out_count += out->frames[k].held_out;
    }
    if (status == CLI_OK)
        thin_out(out, held_out_most);
    free(train);
    free(test);
    free(one);
    return status;
}

void import_free(import_set *set)
{
    for (uint32_t k = 0; k < set->frame_count; k++)
        free(set->frames[k].image);
    free(set->frames);
    *set = (import_set){0};
}
