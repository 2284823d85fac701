/* SPDX-License-Identifier: BSD-3-Clause
 * The scenes of a design, as Mitsuba XML. Both have the receiver, a black frame around the slab's flat face,
 * through whose opening all light comes, and glass. The one for light tracing has lights that paths can begin
 * at, near the slab; the one for path tracing has lights of some extent, which paths from the receiver meet.
 *
 * The light of a sun is the same from every point of the slab, so the design's beam has no extent, and the
 * film's filter blurs the picture as the sun would: a disk of diameter d has the variance (d / 4)^2 along
 * each axis. */
#include "design.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846, degree = 3.14159265358979323846 / 180;
static const double gap = 0.1;        /* between flat face and frame */
static const double far_away = 20000; /* where the sun is */

design_sides design_sides_of(const design_job *job, const design_picture *picture)
{
    const double longer = fmax(picture->width, picture->height);
    return (design_sides){job->size * picture->width / longer, job->size * picture->height / longer};
}

/* Cauchy's formula for the index by the wavelength, with these at the lines d, F and C. */
static double index_at(const design_job *job, double nm)
{
    static const double d = 587.6, f = 486.1, c = 656.3;
    const double b = (job->index - 1) / job->abbe / (1 / (f * f) - 1 / (c * c));
    return job->index + b * (1 / (nm * nm) - 1 / (d * d));
}

enum { SHORTEST = 360, LONGEST = 830, SPACING = 10 }; /* of wavelengths, in nm */

/* The property int_ior. */
static char *index_text(const design_job *job)
{
    if (!(job->abbe > 0))
        return text_format("<float name=\"int_ior\" value=\"%.9g\"/>", job->index);
    char *samples = text_format("%s", "");
    for (int nm = SHORTEST; nm <= LONGEST; nm += SPACING) {
        char *longer = text_format("%s%s%d:%.9g", samples, *samples ? ", " : "", nm, index_at(job, nm));
        free(samples), samples = longer;
    }
    char *text = text_format("<spectrum name=\"int_ior\" value=\"%s\"/>", samples);
    free(samples);
    return text;
}

/* The largest index. */
static double densest(const design_job *job) { return job->abbe > 0 ? index_at(job, SHORTEST) : job->index; }

/* A picture on a film that bends nothing, just above the flat face. Its first row lies above the first row of
 * the caustic. */
static char *slide_text(const design_job *job, design_sides s, double top)
{
    if (!job->slide)
        return text_format("%s", "");
    char *path = realpath(job->slide, NULL);
    char *text = text_format(
        "<shape type=\"rectangle\" id=\"slide\"><transform name=\"to_world\"><scale x=\"%.9g\" "
        "y=\"%.9g\"/><translate z=\"%.9g\"/></transform><bsdf type=\"thindielectric\"><float "
        "name=\"int_ior\" value=\"1\"/><float name=\"ext_ior\" value=\"1\"/><texture type=\"bitmap\" "
        "name=\"specular_transmittance\"><string name=\"filename\" value=\"%s\"/><string "
        "name=\"wrap_mode\" value=\"clamp\"/></texture></bsdf></shape>\n",
        s.width / 2, s.height / 2, top + gap / 2, path ? path : job->slide);
    free(path);
    return text;
}

/* What both scenes have; sensor: what the receiver's sensor has before its film. top: z of the flat face. */
static char *common_part(const design_job *job, const design_picture *p, const char *sensor,
                         const char *filter, double top)
{
    const design_sides s = design_sides_of(job, p);
    const double wide = 10 * job->size, x = s.width / 2, y = s.height / 2, z = top + gap;
    char *frame[2];
    for (int k = 0; k < 2; k++) {
        const double sign = k ? 1 : -1;
        frame[k] = text_format(
            "<shape type=\"rectangle\"><transform name=\"to_world\"><scale x=\"%.9g\" y=\"%.9g\"/><translate "
            "x=\"%.9g\" z=\"%.9g\"/></transform><ref id=\"black\"/></shape>\n"
            "<shape type=\"rectangle\"><transform name=\"to_world\"><scale x=\"%.9g\" y=\"%.9g\"/><translate "
            "y=\"%.9g\" z=\"%.9g\"/></transform><ref id=\"black\"/></shape>\n",
            wide / 2, wide, sign * (x + wide / 2), z, wide, wide / 2, sign * (y + wide / 2), z);
    }
    char *index = index_text(job), *slide = slide_text(job, s, top);
    char *text = text_format(
        "<bsdf type=\"twosided\" id=\"black\"><bsdf type=\"diffuse\"><rgb name=\"reflectance\" value=\"0\"/>"
        "</bsdf></bsdf>\n"
        "<bsdf type=\"dielectric\" id=\"glass\">%s<float name=\"ext_ior\" value=\"1\"/></bsdf>\n"
        "<shape type=\"rectangle\" id=\"receiver\"><transform name=\"to_world\"><scale x=\"%.9g\" "
        "y=\"%.9g\"/></transform><ref id=\"black\"/>\n"
        "<sensor type=\"irradiancemeter\">%s<film type=\"hdrfilm\"><integer name=\"width\" "
        "value=\"%u\"/><integer name=\"height\" value=\"%u\"/>%s</film></sensor></shape>\n%s%s%s",
        index, x, y, sensor, p->width, p->height, filter, frame[0], frame[1], slide);
    free(frame[0]), free(frame[1]), free(index), free(slide);
    return text;
}

static bool is_near(const design_job *job) { return job->light == DESIGN_POINT || job->light == DESIGN_AREA; }

/* A light for light tracing. In the middle of the slab it gives about the irradiance 1. */
static char *near_light(const design_job *job, design_sides s, double top)
{
    const double away = job->light_distance, z = top + away, half = job->light_size / 2,
                 angle = atan(hypot(s.width, s.height) / 2 / away) / degree;
    if (job->light == DESIGN_POINT)
        return text_format(
            "<emitter type=\"spot\"><transform name=\"to_world\"><lookat origin=\"0,0,%.9g\" "
            "target=\"0,0,0\" up=\"0,1,0\"/></transform><float name=\"intensity\" value=\"%.9g\"/>"
            "<float name=\"cutoff_angle\" value=\"%.9g\"/><float name=\"beam_width\" "
            "value=\"%.9g\"/></emitter>\n",
            z, away * away, fmin(1.1 * angle, 89), fmin(1.05 * angle, 88));
    const bool area = job->light == DESIGN_AREA;
    return text_format("<shape type=\"rectangle\"><transform name=\"to_world\"><scale x=\"%.9g\" "
                       "y=\"%.9g\"/><rotate x=\"1\" angle=\"180\"/><translate z=\"%.9g\"/></transform><ref "
                       "id=\"black\"/><emitter type=\"%s\"><rgb name=\"radiance\" value=\"%.9g\"/></emitter>"
                       "</shape>\n",
                       area ? half : 0.4995 * s.width, area ? half : 0.4995 * s.height,
                       area ? z : top + 2 * gap, area ? "area" : "directionalarea",
                       area ? away * away / (4 * half * half) : 1);
}

/* A light that paths can meet. */
static char *wide_light(const design_job *job, double top)
{
    const bool near = is_near(job), area = job->light == DESIGN_AREA;
    const double away = near ? job->light_distance : far_away;
    const double radius = near ? job->light_size / 2 : away * tan(job->light_angle / 2 * degree);
    const double surface = area ? 4 * radius * radius : pi * radius * radius;
    return text_format(
        "<shape type=\"%s\"><transform name=\"to_world\"><scale x=\"%.9g\" y=\"%.9g\"/><rotate "
        "x=\"1\" angle=\"180\"/><translate z=\"%.9g\"/></transform><ref id=\"black\"/><emitter "
        "type=\"area\"><rgb name=\"radiance\" value=\"%.9g\"/></emitter></shape>\n",
        area ? "rectangle" : "disk", radius, radius, top + away, away * away / surface);
}

char *design_scene(const design_job *job, const design_picture *p, double deepest)
{
    const design_sides s = design_sides_of(job, p);
    const double top = job->distance + job->thickness - deepest, pixel = s.width / p->width;
    const bool sun = job->light == DESIGN_SUN;
    const double blur = sun ? job->distance * 2 * tan(job->light_angle / 2 * degree) / pixel : 0;
    char *filter = text_format("<rfilter type=\"gaussian\"><float name=\"stddev\" value=\"%.9g\"/></rfilter>",
                               sqrt(0.25 + blur * blur / 16));
    char *common = common_part(job, p, "", filter, top), *light = near_light(job, s, top);
    char *text = text_format(
        "<scene version=\"3.0.0\">\n<integrator type=\"ptracer\"><integer name=\"max_depth\" "
        "value=\"%d\"/></integrator>\n%s%s"
        "<shape type=\"heightfield\" id=\"relief\"><integer name=\"columns\" value=\"%u\"/><integer "
        "name=\"rows\" value=\"%u\"/><boolean name=\"flip_normals\" value=\"true\"/><transform "
        "name=\"to_world\"><scale x=\"%.9g\" y=\"%.9g\" z=\"-1\"/><translate z=\"%.9g\"/></transform><ref "
        "id=\"glass\"/></shape>\n"
        "<shape type=\"rectangle\" id=\"back\"><transform name=\"to_world\"><scale x=\"%.9g\" "
        "y=\"%.9g\"/><translate z=\"%.9g\"/></transform><ref id=\"glass\"/></shape>\n</scene>\n",
        job->slide ? 4 : 3, common, light, p->width + 1, p->height + 1, s.width / 2, s.height / 2,
        job->distance, s.width / 2, s.height / 2, top);
    free(filter), free(common), free(light);
    return text;
}

/* The angle to the receiver's normal within which light can arrive that was refracted twice. */
static double acceptance(const design_job *job, design_sides s, double slope)
{
    const double widest = atan(hypot(s.width, s.height) / job->distance), tilt = atan(slope),
                 sine = densest(job) * sin(tilt);
    const double turned = sine < 1 ? asin(sine) - tilt : pi / 2;
    const double angle = is_near(job) ? widest : fmin(widest, turned + job->light_angle * degree);
    return fmin(1.05 * angle / degree + 0.1, 90);
}

char *design_verification(const design_job *job, const design_picture *p, const char *obj, double least,
                          double slope, uint32_t *spp)
{
    const design_sides s = design_sides_of(job, p);
    const double top = job->distance + job->thickness - least, angle = acceptance(job, s, slope);
    const double light = is_near(job) ? job->light_size / 2 / (job->light_distance + job->distance)
                                      : tan(job->light_angle / 2 * degree);
    const double reached = light * light / pow(sin(angle * degree), 2);
    /* Pixels of small pictures get more: noise then is small beside their contrast, too. */
    const double wanted = fmin(16 * fmax(1, 16384. / p->width / p->height), 256);
    *spp = (uint32_t)fmin(fmax(wanted / reached, 64), 1 << 20);
    char *sensor = text_format("<float name=\"acceptance_angle\" value=\"%.9g\"/>", angle);
    char *common = common_part(job, p, sensor, "<rfilter type=\"box\"/>", top), *wide = wide_light(job, top);
    char *text =
        text_format("<scene version=\"3.0.0\">\n<integrator type=\"path\"><integer name=\"max_depth\" "
                    "value=\"%d\"/></integrator>\n%s%s<shape type=\"obj\"><string name=\"filename\" "
                    "value=\"%s\"/><transform name=\"to_world\"><rotate x=\"1\" "
                    "angle=\"180\"/><translate z=\"%.9g\"/></transform><ref id=\"glass\"/></shape>\n"
                    "</scene>\n",
                    job->slide ? 7 : 6, common, wide, obj, top);
    free(sensor), free(common), free(wide);
    return text;
}
