/* SPDX-License-Identifier: BSD-3-Clause
 * Mitsuba's ways to say how much a perspective projection sees: `fov` in degrees along `fov_axis`, or
 * `focal_length`. The functions serve every plugin that has parameters of these three names. */
#include "render/classes.h"

static const double pi = 3.14159265358979323846;

/* A length in millimetres: "50mm" or "50". A result not above 0 says that the text is no such length. If it
 * is missing, the length is 50. */
static double length_of(const scene_value *focal)
{
    double length = 0;
    if (!focal->given)
        return 50;
    const char *unit = number_scan(focal->text, focal->text + strlen(focal->text), &length);
    return unit && (*unit == 0 || strcmp(unit, "mm") == 0) ? length : 0;
}

fov_view fov_read(const scene_object *o, double aspect)
{
    const scene_value *fov = scene_get(o, "fov");
    const char *axis = scene_get(o, "fov_axis")->text;
    fov_view view = {.degrees = fov->number, .factor = 1};
    if (!fov->given) { /* the focal length is the 35 mm equivalent, for the diagonal of 36 x 24 */
        axis = "diagonal";
        view.degrees =
            360 / pi * atan(sqrt(36.0 * 36 + 24 * 24) / (2 * length_of(scene_get(o, "focal_length"))));
    }
    bool smaller = strcmp(axis, "smaller") == 0, larger = strcmp(axis, "larger") == 0;
    if (strcmp(axis, "y") == 0 || (smaller && aspect > 1) || (larger && aspect <= 1))
        view.factor = aspect;
    else if (strcmp(axis, "diagonal") == 0)
        view.factor = 1 / sqrt(1 + 1 / (aspect * aspect));
    return view;
}

double fov_tangent_x(fov_view view) { return view.factor * tan(view.degrees * pi / 360); }

bl_result fov_check(const scene_object *o, bl_error *err)
{
    static const char *const axes[] = {"x", "y", "diagonal", "smaller", "larger"};
    const scene_value *focal = scene_get(o, "focal_length"), *axis = scene_get(o, "fov_axis");
    const char *plugin = o->cls->name;
    if (scene_get(o, "fov")->given && focal->given)
        return scene_error(err, BL_ERROR_SCENE, focal->where,
                           "%s: give either \"fov\" or \"focal_length\", not both", plugin);
    if (!(length_of(focal) > 0))
        return scene_error(err, BL_ERROR_SCENE, focal->where,
                           "%s: \"focal_length\" must be a positive length in millimetres, such as 50mm",
                           plugin);
    bool known = false;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        known |= strcmp(axis->text, axes[i]) == 0;
    if (!known)
        return scene_error(err, BL_ERROR_SCENE, axis->where,
                           "%s: \"fov_axis\" must be x, y, diagonal, smaller or larger", plugin);
    return BL_OK;
}
