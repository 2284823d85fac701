/* SPDX-License-Identifier: BSD-3-Clause
 * Materials: metallic-roughness and its extensions as `principled`, whose parameters follow the same model
 * (Burley 2012). The material has the file's name; what is around it (`normalmap`, `twosided`, `mask`) that
 * name with an ending.
 *
 *   roughness   the same: both square it
 *   eta         1.5, or KHR_materials_ior; KHR_materials_specular scales the reflectance at normal incidence,
 *               so an opaque material's index is the one that has the scaled one
 *   clearcoat   4 times the file's, as `principled` has a quarter of a coat at 1
 *   gloss       such that the coat's roughness 0.1 - 0.099 gloss is the file's, squared
 *   transmission without KHR_materials_volume is that of a thin sheet: `principledthin` */
#include "scene/gltf/gltf.h"

#include <math.h>
#include <string.h>

enum { COLOURS_INDEX_NONE, COLOURS_INDEX_RGB, COLOURS_INDEX_RGBA };

static const double coat_roughest = 0.1,
                    coat_span = 0.099; /* principled's: at gloss 0, and less at gloss 1 */
static const double index_usual = 1.5;

static gltf_place place_of(uint32_t material)
{
    return material == GLTF_NONE ? (gltf_place){GLTF_FILE, 0} : (gltf_place){GLTF_MATERIALS, material};
}

static const cJSON *item_of(const gltf *g, uint32_t material)
{
    return material == GLTF_NONE ? NULL : gltf_item(g, place_of(material));
}

static const cJSON *pbr_of(const cJSON *item) { return gltf_get(item, "pbrMetallicRoughness"); }

/* ---- questions of meshes ---- */

bl_result gltf_material_set(gltf *g, uint32_t material, uint32_t *set)
{
    const cJSON *item = item_of(g, material), *pbr = pbr_of(item);
    const cJSON *infos[] = {gltf_get(pbr, "baseColorTexture"), gltf_get(pbr, "metallicRoughnessTexture"),
                            gltf_get(item, "normalTexture"), gltf_get(item, "emissiveTexture")};
    uint32_t other;
    bool found = false;
    *set = 0;
    for (uint32_t k = 0; k < sizeof infos / sizeof *infos; k++) {
        if (!infos[k])
            continue;
        TRY(gltf_texture_set(g, place_of(material), infos[k], &other));
        if (found && other != *set)
            gltf_note(g, "a texture by TEXCOORD_%u of a material is looked up by TEXCOORD_%u", other, *set);
        *set = found ? *set : other;
        found = true;
    }
    return BL_OK;
}

bool gltf_material_takes_colours(const gltf *g, uint32_t material)
{
    return !gltf_get(pbr_of(item_of(g, material)), "baseColorTexture");
}

static bl_result emitted(gltf *g, uint32_t material, double out[3])
{
    const cJSON *item = item_of(g, material);
    double strength = 1;
    out[0] = out[1] = out[2] = 0;
    TRY(gltf_numbers(g, place_of(material), item, "emissiveFactor", 3, 0, 1e9, out));
    TRY(gltf_numbers(g, place_of(material), gltf_extension(item, "KHR_materials_emissive_strength"),
                     "emissiveStrength", 1, 0, 1e9, &strength));
    for (int c = 0; c < 3; c++)
        out[c] *= strength;
    return BL_OK;
}

bool gltf_material_emits(const gltf *g, uint32_t material)
{
    const cJSON *factor = gltf_get(item_of(g, material), "emissiveFactor"), *number;
    bool any = false;
    cJSON_ArrayForEach(number, factor) any |= cJSON_IsNumber(number) && number->valuedouble > 0;
    return any;
}

bl_result gltf_make_emitter(gltf *g, uint32_t material, struct raw_node **out)
{
    const cJSON *item = item_of(g, material), *info = gltf_get(item, "emissiveTexture");
    double radiance[3];
    *out = NULL;
    TRY(emitted(g, material, radiance));
    if (!(radiance[0] > 0 || radiance[1] > 0 || radiance[2] > 0))
        return BL_OK;
    struct raw_node *area = assembly_object(g->assembly, PLUGIN_EMITTER, "area", NULL), *texture;
    if (info) {
        const gltf_texture_use use = {GLTF_COLOUR, {radiance[0], radiance[1], radiance[2]}};
        TRY(gltf_texture(g, place_of(material), info, &use, &texture));
        assembly_add(g->assembly, area, "radiance", texture);
    } else
        assembly_numbers(g->assembly, area, PLUGIN_COLOR, "radiance", radiance, 3);
    if (gltf_flag(item, "doubleSided"))
        gltf_note(g, "a double-sided surface emits from its front alone");
    g->lit = true;
    *out = area;
    return BL_OK;
}

/* ---- the material ---- */

/* What the file says of a material. */
typedef struct surface {
    gltf_place where;
    const cJSON *item, *pbr;
    double colour[4], metallic, roughness, index, transmission;
    bool volume; /* what is below the surface is another medium */
    uint32_t colours;
} surface;

static bl_result read_surface(gltf *g, uint32_t material, surface *s)
{
    s->item = item_of(g, material), s->pbr = pbr_of(s->item), s->where = place_of(material);
    const cJSON *volume = gltf_extension(s->item, "KHR_materials_volume");
    double thickness = 0;
    TRY(gltf_numbers(g, s->where, s->pbr, "baseColorFactor", 4, 0, 1, s->colour));
    TRY(gltf_numbers(g, s->where, s->pbr, "metallicFactor", 1, 0, 1, &s->metallic));
    TRY(gltf_numbers(g, s->where, s->pbr, "roughnessFactor", 1, 0, 1, &s->roughness));
    TRY(gltf_numbers(g, s->where, gltf_extension(s->item, "KHR_materials_ior"), "ior", 1, 0, 1e3, &s->index));
    TRY(gltf_numbers(g, s->where, gltf_extension(s->item, "KHR_materials_transmission"), "transmissionFactor",
                     1, 0, 1, &s->transmission));
    TRY(gltf_numbers(g, s->where, volume, "thicknessFactor", 1, 0, 1e9, &thickness));
    s->volume = thickness > 0;
    if (s->index != 0 && s->index < 1)
        return gltf_error(g, BL_ERROR_SCENE, s->where, "\"ior\" is %g, and must be 0 or at least 1",
                          s->index);
    if (gltf_get(volume, "attenuationColor") || gltf_get(volume, "attenuationDistance"))
        gltf_note(g, "the attenuation of KHR_materials_volume is not used");
    return BL_OK;
}

/* Gives a parameter one channel of a texture times a factor, or the factor. */
static bl_result give(gltf *g, const surface *s, struct raw_node *bsdf, const char *name, const cJSON *info,
                      gltf_channel channel, double factor)
{
    struct raw_node *texture;
    if (!info || factor == 0) {
        assembly_numbers(g->assembly, bsdf, PLUGIN_FLOAT, name, &factor, 1);
        return BL_OK;
    }
    const gltf_texture_use use = {channel, {factor, factor, factor}};
    TRY(gltf_texture(g, s->where, info, &use, &texture));
    assembly_add(g->assembly, bsdf, name, texture);
    return BL_OK;
}

static struct raw_node *vertex_texture(gltf *g, const char *attribute)
{
    struct raw_node *t = assembly_object(g->assembly, PLUGIN_TEXTURE, "mesh_attribute", NULL);
    assembly_text(g->assembly, t, PLUGIN_STRING, "name", attribute);
    return t;
}

static bl_result give_colour(gltf *g, const surface *s, struct raw_node *bsdf)
{
    const cJSON *info = gltf_get(s->pbr, "baseColorTexture");
    struct raw_node *texture;
    if (info) {
        const gltf_texture_use use = {GLTF_COLOUR, {s->colour[0], s->colour[1], s->colour[2]}};
        TRY(gltf_texture(g, s->where, info, &use, &texture));
        assembly_add(g->assembly, bsdf, "base_color", texture);
    } else if (s->colours)
        assembly_add(g->assembly, bsdf, "base_color", vertex_texture(g, "vertex_color"));
    else
        assembly_numbers(g->assembly, bsdf, PLUGIN_COLOR, "base_color", s->colour, 3);
    return BL_OK;
}

/* The index of a surface that reflects `factor` times as much at normal incidence. */
static double scaled_index(double index, double factor)
{
    if (factor == 1)
        return index;
    const double q = (index - 1) / (index + 1), scaled = sqrt(factor) * q;
    return (1 + scaled) / (1 - scaled);
}

static bl_result index_of(gltf *g, const surface *s, double *index)
{
    const cJSON *specular = gltf_extension(s->item, "KHR_materials_specular");
    double factor = 1, colour[3] = {1, 1, 1};
    TRY(gltf_numbers(g, s->where, specular, "specularFactor", 1, 0, 1, &factor));
    TRY(gltf_numbers(g, s->where, specular, "specularColorFactor", 3, 0, 1e3, colour));
    if (gltf_get(specular, "specularTexture") || gltf_get(specular, "specularColorTexture"))
        gltf_note(g, "the textures of KHR_materials_specular are not used");
    if (colour[0] != 1 || colour[1] != 1 || colour[2] != 1)
        gltf_note(g, "the specularColorFactor of KHR_materials_specular is not used");
    if (s->index == 0)
        gltf_note(g, "the index 0 of KHR_materials_ior, which means total reflection, is taken as 1.5");
    *index = s->index == 0 ? index_usual : s->index;
    if (factor != 1 && s->transmission > 0)
        gltf_note(g, "the specularFactor of a material that transmits is not used");
    else
        *index = scaled_index(*index, factor);
    return BL_OK;
}

static bl_result give_sheen(gltf *g, const surface *s, struct raw_node *bsdf)
{
    const cJSON *sheen = gltf_extension(s->item, "KHR_materials_sheen");
    double colour[3] = {0};
    TRY(gltf_numbers(g, s->where, sheen, "sheenColorFactor", 3, 0, 1, colour));
    const double weight = fmax(colour[0], fmax(colour[1], colour[2]));
    if (!sheen || weight == 0)
        return BL_OK;
    gltf_note(g,
              "KHR_materials_sheen: its brightest channel is the sheen; colour, roughness and textures are "
              "not used");
    assembly_numbers(g->assembly, bsdf, PLUGIN_FLOAT, "sheen", &weight, 1);
    return BL_OK;
}

static bl_result give_coat(gltf *g, const surface *s, struct raw_node *bsdf)
{
    const cJSON *coat = gltf_extension(s->item, "KHR_materials_clearcoat");
    double factor = 0, roughness = 0;
    TRY(gltf_numbers(g, s->where, coat, "clearcoatFactor", 1, 0, 1, &factor));
    TRY(gltf_numbers(g, s->where, coat, "clearcoatRoughnessFactor", 1, 0, 1, &roughness));
    if (!coat || factor == 0)
        return BL_OK;
    if (gltf_get(coat, "clearcoatRoughnessTexture") || gltf_get(coat, "clearcoatNormalTexture"))
        gltf_note(g, "the textures of the roughness and the normals of KHR_materials_clearcoat are not used");
    const double wanted = (coat_roughest - roughness * roughness) / coat_span,
                 gloss = fmin(fmax(wanted, 0), 1);
    if (wanted < 0)
        gltf_note(g, "a coat of KHR_materials_clearcoat rougher than %.2g has that roughness",
                  sqrt(coat_roughest));
    TRY(give(g, s, bsdf, "clearcoat", gltf_get(coat, "clearcoatTexture"), GLTF_RED, 4 * factor));
    assembly_numbers(g->assembly, bsdf, PLUGIN_FLOAT, "clearcoat_gloss", &gloss, 1);
    return BL_OK;
}

static bool is_thin(const surface *s)
{
    return s->transmission > 0 && !s->volume && s->metallic == 0 &&
           !gltf_extension(s->item, "KHR_materials_clearcoat");
}

static bl_result make_principled(gltf *g, const surface *s, const char *id, struct raw_node **out)
{
    const bool thin = is_thin(s);
    struct raw_node *bsdf = *out =
        assembly_object(g->assembly, PLUGIN_BSDF, thin ? "principledthin" : "principled", id);
    const cJSON *both = gltf_get(s->pbr, "metallicRoughnessTexture");
    double index;
    TRY(give_colour(g, s, bsdf));
    TRY(give(g, s, bsdf, "roughness", both, GLTF_GREEN, s->roughness));
    if (!thin)
        TRY(give(g, s, bsdf, "metallic", both, GLTF_BLUE, s->metallic));
    TRY(index_of(g, s, &index));
    assembly_numbers(g->assembly, bsdf, PLUGIN_FLOAT, "eta", &index, 1);
    if (s->transmission > 0) {
        const cJSON *t = gltf_extension(s->item, "KHR_materials_transmission");
        TRY(give(g, s, bsdf, "spec_trans", gltf_get(t, "transmissionTexture"), GLTF_RED, s->transmission));
        if (thin)
            gltf_note(g, "transmission without a thickness (KHR_materials_volume) is that of a thin sheet");
    }
    TRY(give_sheen(g, s, bsdf));
    return thin ? BL_OK : give_coat(g, s, bsdf);
}

/* ---- what is around it ---- */

/* Puts the material into a new one, which is called by its name and an ending. */
static struct raw_node *around(gltf *g, const surface *s, const char *type, const char *id,
                               struct raw_node *nested)
{
    struct raw_node *outer =
        assembly_object(g->assembly, PLUGIN_BSDF, type,
                        gltf_id(g, arena_printf(&g->memory, "%.300s_%s", id, type), type, s->where.index));
    assembly_add(g->assembly, outer, NULL, nested);
    return outer;
}

static bl_result add_normals(gltf *g, const surface *s, const char *id, struct raw_node **bsdf)
{
    const cJSON *info = gltf_get(s->item, "normalTexture");
    struct raw_node *texture;
    double scale = 1;
    if (!info)
        return BL_OK;
    TRY(gltf_numbers(g, s->where, info, "scale", 1, -1e3, 1e3, &scale));
    const gltf_texture_use use = {GLTF_NORMAL, {scale, scale, 1}};
    TRY(gltf_texture(g, s->where, info, &use, &texture));
    *bsdf = around(g, s, "normalmap", id, *bsdf);
    assembly_add(g->assembly, *bsdf, "normalmap", texture);
    return BL_OK;
}

static bl_result add_mask(gltf *g, const surface *s, const char *id, struct raw_node **bsdf)
{
    const char *mode = gltf_text(s->item, "alphaMode");
    const cJSON *info = gltf_get(s->pbr, "baseColorTexture");
    const bool cut = mode && strcmp(mode, "MASK") == 0;
    struct raw_node *opacity = NULL;
    double cutoff = 0.5;
    if (!mode || strcmp(mode, "OPAQUE") == 0)
        return BL_OK;
    if (!cut && strcmp(mode, "BLEND") != 0)
        return gltf_error(g, BL_ERROR_SCENE, s->where, "\"alphaMode\" is \"%.40s\"", mode);
    TRY(gltf_numbers(g, s->where, s->item, "alphaCutoff", 1, 0, 1e3, &cutoff));
    if (info && s->colour[3] > 0) {
        const double factor = cut ? cutoff / s->colour[3] : s->colour[3];
        const gltf_texture_use use = {cut ? GLTF_ALPHA_CUT : GLTF_ALPHA, {factor, factor, factor}};
        TRY(gltf_texture(g, s->where, info, &use, &opacity));
    } else if (s->colours == 4) {
        opacity = vertex_texture(g, "vertex_opacity");
        if (cut)
            gltf_note(g, "alpha of vertices is blended, not cut off");
    }
    const double constant = cut ? s->colour[3] >= cutoff : s->colour[3];
    if (!opacity && constant == 1)
        return BL_OK;
    *bsdf = around(g, s, "mask", id, *bsdf);
    if (opacity)
        assembly_add(g->assembly, *bsdf, "opacity", opacity);
    else
        assembly_numbers(g->assembly, *bsdf, PLUGIN_FLOAT, "opacity", &constant, 1);
    return BL_OK;
}

static void note_unused(gltf *g, const cJSON *item)
{
    static const char *const known[] = {"KHR_materials_clearcoat", "KHR_materials_emissive_strength",
                                        "KHR_materials_ior",       "KHR_materials_sheen",
                                        "KHR_materials_specular",  "KHR_materials_transmission",
                                        "KHR_materials_volume",    NULL};
    gltf_note_extensions(g, item, "a material", known);
    if (gltf_get(item, "occlusionTexture"))
        gltf_note(g, "the occlusionTexture of a material is not used");
}

static bl_result make(gltf *g, uint32_t material, uint32_t colours, struct raw_node **out)
{
    surface s = {
        .colour = {1, 1, 1, 1}, .metallic = 1, .roughness = 1, .index = index_usual, .colours = colours};
    TRY(read_surface(g, material, &s));
    note_unused(g, s.item);
    const char *name = material == GLTF_NONE ? NULL : gltf_name(g, s.where),
               *id = gltf_id(g, name, "material", material == GLTF_NONE ? 0 : material);
    struct raw_node *bsdf;
    TRY(make_principled(g, &s, id, &bsdf));
    TRY(add_normals(g, &s, id, &bsdf));
    if (gltf_flag(s.item, "doubleSided") && s.transmission == 0)
        bsdf = around(g, &s, "twosided", id, bsdf);
    TRY(add_mask(g, &s, id, &bsdf));
    assembly_add(g->assembly, assembly_root(g->assembly), NULL, bsdf);
    *out = bsdf;
    return BL_OK;
}

bl_result gltf_make_material(gltf *g, uint32_t material, uint32_t colours, struct raw_node **out)
{
    const uint32_t index = material == GLTF_NONE ? g->lists[GLTF_MATERIALS].count : material;
    const uint32_t which = colours == 4   ? COLOURS_INDEX_RGBA
                           : colours == 3 ? COLOURS_INDEX_RGB
                                          : COLOURS_INDEX_NONE;
    struct raw_node **made = &g->materials[index][which].bsdf;
    if (!*made)
        TRY(make(g, material, colours, made));
    *out = *made;
    return BL_OK;
}
