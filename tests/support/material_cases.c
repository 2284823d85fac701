/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/material_cases.h"

#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define FLOAT(name, value) "<float name='" name "' value='" value "'/>"
#define STRING(name, value) "<string name='" name "' value='" value "'/>"
#define BOOLEAN(name, value) "<boolean name='" name "' value='" value "'/>"
#define BITMAP(name, file)                                                                                   \
    "<texture type='bitmap' name='" name "'>" STRING("filename", file) BOOLEAN("raw", "true") "</texture>"
#define BSDF(type, id, inside) "<bsdf type='" type "' id='" id "'>" inside "</bsdf>"
#define IT(type, inside) BSDF(type, "it", inside)
#define REF(id) "<ref id='" id "'/>"

#define INDICES(inside) FLOAT("int_ior", inside) FLOAT("ext_ior", "1")
#define GLASS RGB("specular_reflectance", ".9,.8,.7") RGB("specular_transmittance", ".8,.95,.9")
#define METAL RGB("eta", ".3,.6,1.1") RGB("k", "3,2.4,1.9") RGB("specular_reflectance", ".9,.7,.5")
#define ROUGH(kind, alpha) STRING("distribution", kind) FLOAT("alpha", alpha)
#define BRUSHED(kind, u, v) STRING("distribution", kind) FLOAT("alpha_u", u) FLOAT("alpha_v", v)
#define ALL_NORMALS BOOLEAN("sample_visible", "false")
#define SURFACE RGB("base_color", ".5,.3,.2") FLOAT("roughness", ".4") FLOAT("anisotropic", ".6")
#define LAYERS FLOAT("spec_tint", ".4") FLOAT("sheen", ".3") FLOAT("sheen_tint", ".5") FLOAT("flatness", ".3")
#define LEAF(id, value) BSDF("diffuse", id, RGB("reflectance", value))

#define OF_GLASS "it.specular_reflectance.value", "it.specular_transmittance.value", "it.eta"
#define OF_METAL "it.eta.value", "it.k.value", "it.specular_reflectance.value"
#define OF_SURFACE "it.base_color.value", "it.roughness.value", "it.anisotropic.value"
#define OF_LAYERS "it.spec_tint.value", "it.sheen.value", "it.sheen_tint.value", "it.flatness.value"
#define OF_HAIR "it.longitudinal_roughness", "it.azimuthal_roughness", "it.scale_tilt", "it.eta"
#define OF_PLASTIC "it.diffuse_reflectance.value", "it.specular_reflectance.value", "it.eta"

// clang-format off
const material_case material_cases[] = {
    {.name = "diffuse", .xml = IT("diffuse", RGB("reflectance", ".9,.5,.1")), .parameters =
     {"it.reflectance.value"}, .cosines = {0.7}},
    {.name = "diffuse by bitmap", .xml = IT("diffuse", BITMAP("reflectance", "texture.pfm")), .parameters =
     {"it.reflectance.data"}},
    {.name = "diffuse, black, requested", .xml = IT("diffuse", RGB("reflectance", "0")), .requested = true,
     .parameters = {"it.reflectance.value"},
     .inwards = 1, .cosines = {0.5}, .black = true},

    {.name = "rough diffuse", .xml = IT("roughdiffuse", RGB("reflectance", ".9,.5,.1") FLOAT("alpha", ".4")),
     .parameters = {"it.reflectance.value", "it.alpha.value"}, .cosines = {0.7, 0.2}},
    {.name = "rough diffuse, very, by bitmap", .xml =
     IT("roughdiffuse", RGB("reflectance", ".9") BITMAP("alpha", "grey.pfm")),
     .parameters = {"it.reflectance.value", "it.alpha.data"}},
    {.name = "rough diffuse, black, requested", .xml = IT("roughdiffuse", RGB("reflectance", "0")),
     .requested = true,
     .parameters = {"it.reflectance.value"}, .inwards = 1, .cosines = {0.5}, .black = true},

    {.name = "dielectric", .xml = IT("dielectric", GLASS INDICES("1.5")), .parameters = {OF_GLASS}, .eta =
     1.5, .cosines = {0.8, -0.8, -0.3},
     .black = true},
    {.name = "thindielectric", .xml = IT("thindielectric", GLASS INDICES("1.5")), .parameters = {OF_GLASS},
     .eta = 1, .cosines = {0.8, -0.2}, .black = true},
    {.name = "dielectric, black, requested", .xml =
     IT("dielectric", RGB("specular_reflectance", "0") RGB("specular_transmittance", "0")), .requested = true,
     .parameters = {"it.specular_reflectance.value", "it.specular_transmittance.value"}, .inwards = 1,
         .cosines = {0.8, -0.3}, .black = true},
    {.name = "thindielectric, black, requested", .xml =
     IT("thindielectric", RGB("specular_reflectance", "0") RGB("specular_transmittance", "0")), .requested =
     true,
     .parameters = {"it.specular_reflectance.value", "it.specular_transmittance.value"}, .inwards = 1,
         .cosines = {0.8}, .black = true},
    {.name = "conductor", .xml = IT("conductor", METAL), .parameters = {OF_METAL}, .cosines = {0.8}, .black =
     true},
    {.name = "conductor by name", .xml = IT("conductor", STRING("material", "Au")), .parameters = {OF_METAL},
     .cosines = {0.3}, .black = true},
    {.name = "conductor, black, requested", .xml = IT("conductor", RGB("specular_reflectance", "0")),
     .requested = true,
     .parameters = {"it.specular_reflectance.value"}, .inwards = 1, .cosines = {0.8}, .black = true},
    {.name = "polarizer", .xml = IT("polarizer", FLOAT("theta", "30") RGB("transmittance", ".9,.7,.5")),
     .parameters = {"it.transmittance.value"}, .eta = 1, .cosines = {0.3, -0.9}, .black = true},
    {.name = "retarder", .xml = IT("retarder", FLOAT("delta", "45") RGB("transmittance", ".9,.7,.5")),
     .parameters = {"it.transmittance.value"}, .eta = 1, .cosines = {0.3, -0.9}, .black = true},
    {.name = "circular, black, requested", .xml = IT("circular", RGB("transmittance", "0")), .requested =
     true, .parameters = {"it.transmittance.value"}, .eta = 1, .inwards = 1, .cosines = {0.3, -0.9},
     .black = true},
    {.name = "null", .xml = IT("null", ""), .eta = 1, .cosines = {0.3, -0.9}, .black = true},

    {.name = "measured", .xml = IT("measured", STRING("filename", "satin.bsdf")), .cosines = {0.9, 0.2},
     .one_way = true},
    {.name = "measured, anisotropic", .xml = IT("measured", STRING("filename", "brushed.bsdf")), .cosines =
     {0.8, 0.2}, .one_way = true},

    {.name = "plastic", .xml = IT("plastic", RGB("diffuse_reflectance", ".9,.5,.1") INDICES("1.6")),
     .parameters = {OF_PLASTIC}, .cosines = {0.95, 0.2}},
    {.name = "plastic, nonlinear", .xml =
     IT("plastic", RGB("diffuse_reflectance", ".9,.5,.1") BOOLEAN("nonlinear", "true")), .parameters =
     {OF_PLASTIC}},
    {.name = "plastic, black", .xml =
     IT("plastic", RGB("diffuse_reflectance", "0") BOOLEAN("nonlinear", "true")), .cosines = {0.5}, .black =
     true},
    {.name = "plastic, black, requested", .xml = IT("plastic", RGB("diffuse_reflectance", "0")), .requested =
     true,
     .parameters = {"it.diffuse_reflectance.value"}, .inwards = 1, .cosines = {0.5}, .black = true},
    {.name = "plastic, no coat, requested", .xml = IT("plastic", RGB("specular_reflectance", "0")), .requested
     = true,
     .parameters = {"it.specular_reflectance.value"}, .inwards = 1, .cosines = {0.5}},

    {.name = "rough plastic, ggx", .xml =
     IT("roughplastic", RGB("diffuse_reflectance", ".9,.5,.1") ROUGH("ggx", ".3") INDICES("1.6")),
     .parameters = {OF_PLASTIC, "it.alpha"}, .slack = 1e-2, .cosines = {0.95, 0.2}},
    {.name = "rough plastic, beckmann, nonlinear",
     .xml = IT("roughplastic", RGB("diffuse_reflectance", ".9,.5,.1") RGB("specular_reflectance", ".9,.8,.7")
         ROUGH("beckmann", ".25") BOOLEAN("nonlinear", "true")),
     .parameters = {OF_PLASTIC, "it.alpha"}, .slack = 1e-2, .cosines = {0.6}},
    {.name = "rough plastic, black, requested", .xml =
     IT("roughplastic", RGB("diffuse_reflectance", "0") ROUGH("ggx", ".3")), .requested = true,
     .parameters = {"it.diffuse_reflectance.value"}, .inwards = 1, .cosines = {0.5}},
    {.name = "rough plastic, no coat, requested", .xml =
     IT("roughplastic", RGB("specular_reflectance", "0") ROUGH("ggx", ".3")), .requested = true,
     .parameters = {"it.specular_reflectance.value"}, .inwards = 1, .cosines = {0.5}},

    {.name = "rough metal, ggx", .xml = IT("roughconductor", METAL ROUGH("ggx", ".3")), .parameters =
     {OF_METAL, "it.alpha.value"}, .cosines = {0.9, 0.3}},
    {.name = "rough metal, ggx, all normals", .xml =
     IT("roughconductor", METAL ROUGH("ggx", ".4") ALL_NORMALS), .cosines = {0.6}},
    {.name = "rough metal, beckmann", .xml = IT("roughconductor", METAL ROUGH("beckmann", ".25")), .parameters
     = {OF_METAL, "it.alpha.value"},
     .cosines = {0.9, 0.3}},
    {.name = "rough metal, beckmann, all normals", .xml =
     IT("roughconductor", METAL ROUGH("beckmann", ".4") ALL_NORMALS), .cosines = {0.6}},
    {.name = "rough metal, black, requested", .xml =
     IT("roughconductor", RGB("specular_reflectance", "0") ROUGH("ggx", ".3")), .requested = true,
     .parameters = {"it.specular_reflectance.value"}, .inwards = 1, .cosines = {0.6}, .black = true},
    {.name = "rough metal, alpha by bitmap", .xml = IT("roughconductor", METAL BITMAP("alpha", "grey.pfm")),
     .parameters = {"it.alpha.data"},
     .cosines = {0.6}},

    {.name = "polarising plastic", .xml =
     IT("pplastic", RGB("diffuse_reflectance", ".9,.5,.1") ROUGH("ggx", ".3") INDICES("1.6")),
     .parameters =
         {"it.diffuse_reflectance.value", "it.specular_reflectance.value", "it.eta.value", "it.alpha.value"},
         .cosines = {0.95, 0.2}},
    {.name = "polarising plastic, brushed, by eta",
     .xml = IT("pplastic", RGB("diffuse_reflectance", ".9,.5,.1") BRUSHED("beckmann", ".4", ".2")
         FLOAT("eta", "1.3")),
     .parameters = {"it.diffuse_reflectance.value", "it.eta.value", "it.alpha_u.value", "it.alpha_v.value"},
         .cosines = {0.6}},
    {.name = "polarising plastic, black, requested", .xml =
     IT("pplastic", RGB("diffuse_reflectance", "0") ROUGH("ggx", ".3")), .requested = true,
     .parameters = {"it.diffuse_reflectance.value"}, .inwards = 1, .cosines = {0.5}},
    {.name = "polarising plastic, no coat, requested", .xml =
     IT("pplastic", RGB("specular_reflectance", "0") ROUGH("ggx", ".3")), .requested = true,
     .parameters = {"it.specular_reflectance.value"}, .inwards = 1, .cosines = {0.5}},

    {.name = "brushed metal, ggx", .xml = IT("roughconductor", METAL BRUSHED("ggx", ".15", ".5")), .parameters
     = {OF_METAL, "it.alpha_u.value", "it.alpha_v.value"},
     .cosines = {0.9, 0.3}},
    {.name = "brushed metal, beckmann", .xml = IT("roughconductor", METAL BRUSHED("beckmann", ".4", ".2")),
     .parameters = {OF_METAL, "it.alpha_u.value", "it.alpha_v.value"}, .cosines = {0.9, 0.3, 0.15}},
    {.name = "brushed metal, ggx, all normals", .xml =
     IT("roughconductor", METAL BRUSHED("ggx", ".2", ".4") ALL_NORMALS), .cosines = {0.6}},
    {.name = "brushed metal by bitmap",
     .xml = IT("roughconductor", METAL STRING("distribution", "ggx") BITMAP("alpha_u", "grey.pfm")
         FLOAT("alpha_v", ".3")),
     .parameters = {"it.alpha_u.data", "it.alpha_v.value"}, .cosines = {0.6}},

    {.name = "brushed glass, ggx", .xml =
     IT("roughdielectric", GLASS BRUSHED("ggx", ".25", ".6") INDICES("1.5")),
     .parameters = {OF_GLASS, "it.alpha_u.value", "it.alpha_v.value"}, .eta = 1.5, .cosines = {0.7, -0.8}},
    {.name = "rough glass, ggx", .xml = IT("roughdielectric", GLASS ROUGH("ggx", ".4") INDICES("1.5")),
     .parameters = {OF_GLASS, "it.alpha.value"}, .eta = 1.5,
     .cosines = {0.9, 0.3, -0.8}},
    {.name = "rough glass, beckmann", .xml =
     IT("roughdielectric", GLASS ROUGH("beckmann", ".3") INDICES("1.5")), .parameters =
     {OF_GLASS, "it.alpha.value"},
     .eta = 1.5, .cosines = {0.8, -0.5}},
    {.name = "rough glass, ggx, requested", .xml = IT("roughdielectric", ROUGH("ggx", ".4") INDICES("1.5")),
     .parameters = {"it.eta"}, .requested = true,
     .eta = 1.5, .cosines = {0.9, -0.5}},
    {.name = "rough bubble, ggx", .xml = IT("roughdielectric", ROUGH("ggx", ".5") INDICES(".7")), .parameters
     = {"it.eta"}, .eta = 0.7, .cosines = {0.6, -0.6}},
    {.name = "rough glass, black, requested", .xml = IT("roughdielectric", RGB("specular_reflectance", "0")
     RGB("specular_transmittance", "0") ROUGH("ggx", ".4")), .requested = true,
     .parameters = {"it.specular_reflectance.value", "it.specular_transmittance.value"}, .inwards = 1,
         .cosines = {0.8, -0.5}, .black = true},
    {.name = "rough glass, all normals", .xml = IT("roughdielectric", ROUGH("GGX", ".35") ALL_NORMALS), .eta =
     1.5046 / 1.000277, .cosines = {0.7}},

    {.name = "principled", .xml = IT("principled", RGB("base_color", ".7,.4,.1")), .parameters =
     {"it.base_color.value", "it.roughness.value", "it.specular"},
     .cosines = {0.8, 0.2, -0.5}},
    {.name = "principled, all but glass",
     .xml = IT("principled", SURFACE LAYERS FLOAT("metallic", ".3") FLOAT("clearcoat", ".5")
         FLOAT("clearcoat_gloss", ".1") FLOAT("specular", ".8")),
     .parameters = {OF_SURFACE, OF_LAYERS, "it.metallic.value", "it.clearcoat.value",
         "it.clearcoat_gloss.value", "it.specular"}, .cosines = {0.9, 0.4}},
    {.name = "principled, glass", .xml =
     IT("principled", SURFACE LAYERS FLOAT("spec_trans", ".7") FLOAT("metallic", ".2") FLOAT("eta", "1.5")),
     .parameters = {OF_SURFACE, OF_LAYERS, "it.spec_trans.value", "it.metallic.value", "it.eta"}, .eta = 1.5,
         .cosines = {0.8, 0.3, -0.6}},
    {.name = "principled, glass, requested", .xml =
     IT("principled", SURFACE FLOAT("spec_trans", ".8") FLOAT("clearcoat", ".5") FLOAT("specular", ".9")),
     .parameters = {"it.specular"}, .requested = true, .eta = 1.7334659, .cosines = {0.8, -0.5}},
    {.name = "principled, bubble",
     .xml = IT("principled", SURFACE FLOAT("spec_trans", ".9") FLOAT("spec_tint", ".5")
         FLOAT("clearcoat", ".5") FLOAT("eta", ".7")),
     .parameters = {OF_SURFACE, "it.spec_trans.value", "it.spec_tint.value", "it.clearcoat.value", "it.eta"},
         .eta = 0.7, .cosines = {0.6, -0.7}},
    {.name = "principled, rates", .xml = IT("principled", RGB("base_color", ".5,.3,.2") FLOAT("clearcoat",
     "1") FLOAT("main_specular_sampling_rate", ".3")
     FLOAT("clearcoat_sampling_rate", "3") FLOAT("diffuse_reflectance_sampling_rate", ".5")), .parameters =
         {"it.clearcoat.value"}, .cosines = {0.7}},
    {.name = "principled, no glass, requested", .xml = IT("principled", SURFACE), .parameters =
     {"it.spec_trans.value"}, .requested = true, .inwards = 1,
     .cosines = {0.7, -0.7}},
    {.name = "principled, no coat, requested", .xml = IT("principled", SURFACE), .parameters =
     {"it.clearcoat.value"}, .requested = true, .inwards = 1,
     .cosines = {0.7}},
    {.name = "principled, metal, requested", .xml = IT("principled", SURFACE FLOAT("metallic", "1")),
     .parameters = {"it.metallic.value"}, .requested = true,
     .inwards = -1, .cosines = {0.7}},
    {.name = "principled, pane, requested", .xml = IT("principled", SURFACE FLOAT("spec_trans", "1")),
     .parameters = {"it.spec_trans.value"}, .requested = true,
     .inwards = -1, .eta = 1.5, .cosines = {0.7, -0.7}},
    {.name = "principled, no layers, requested", .xml = IT("principled", RGB("base_color", ".5,.3,0")),
     .parameters = {"it.base_color.value", OF_LAYERS},
     .requested = true, .inwards = 1, .zero = "it.sheen_tint.value" /* of no sheen */, .cosines = {0.7}},
    {.name = "principled, no reflection, requested", .xml = IT("principled", FLOAT("specular", "0")),
     .parameters = {"it.specular"}, .requested = true,
     .inwards = 1, .slack = 0.01 /* the next term has the power 3/2 */},
    {.name = "principled by bitmaps", .xml = IT("principled", BITMAP("base_color", "texture.pfm")
     BITMAP("roughness", "grey.pfm") BITMAP("metallic", "grey.pfm")
     BITMAP("anisotropic", "grey.pfm") BITMAP("clearcoat", "grey.pfm") BITMAP("spec_trans", "grey.pfm")),
     .parameters = {"it.base_color.data", "it.roughness.data"}, .eta = 1.5, .cosines = {0.7}},
    {.name = "thin principled", .xml = IT("principledthin", RGB("base_color", ".9,.5,.1")), .parameters =
     {"it.base_color.value", "it.roughness.value"},
     .cosines = {0.7, -0.7}},
    {.name = "thin principled, black, requested", .xml =
     IT("principledthin", RGB("base_color", "0") FLOAT("spec_trans", ".5")), .requested = true,
     .parameters = {"it.base_color.value"}, .inwards = 1, .cosines = {0.7}},
    {.name = "thin principled, all", .xml = IT("principledthin", SURFACE LAYERS FLOAT("spec_trans", ".6")
     FLOAT("diff_trans", ".8") FLOAT("eta", "1.9")),
     .parameters = {OF_SURFACE, OF_LAYERS, "it.spec_trans.value", "it.diff_trans.value", "it.eta.value"}, .eta
         = 1, .cosines = {0.8, -0.3},
     .one_way = true /* facets transmit where wo sees them from behind, whatever wi sees */},
    {.name = "thin principled, rates", .xml =
     IT("principledthin", SURFACE FLOAT("spec_trans", ".6") FLOAT("diff_trans", "1.4")
     FLOAT("specular_reflectance_sampling_rate", ".3") FLOAT("specular_transmittance_sampling_rate", "2")
         FLOAT("diffuse_reflectance_sampling_rate", ".5")
     FLOAT("diffuse_transmittance_sampling_rate", ".7")), .parameters = {"it.spec_trans.value"}, .eta = 1,
         .cosines = {0.7}, .one_way = true},
    {.name = "thin principled, opaque, requested", .xml = IT("principledthin", SURFACE), .parameters =
     {"it.diff_trans.value"}, .requested = true, .inwards = 1,
     .eta = 1, .cosines = {0.7}},
    {.name = "thin principled, no pane, requested", .xml = IT("principledthin", SURFACE), .parameters =
     {"it.spec_trans.value"}, .requested = true,
     .inwards = 1, .eta = 1, .cosines = {0.7, -0.7}},
    {.name = "thin principled, all through, requested", .xml =
     IT("principledthin", SURFACE FLOAT("diff_trans", "2")), .parameters = {"it.diff_trans.value"},
     .requested = true, .inwards = -1, .eta = 1, .cosines = {0.7}},

    {.name = "hair", .xml = IT("hair", ""), .parameters = {OF_HAIR, "it.eumelanin", "it.pheomelanin"},
     .cosines = {0.8, -0.5}, .one_way = true},
    {.name = "hair, white", .xml =
     IT("hair", RGB("sigma_a", "0") FLOAT("longitudinal_roughness", ".6") FLOAT("azimuthal_roughness", ".8")),
     .parameters = {OF_HAIR, "it.sigma_a.value"}, .cosines = {0.3}, .one_way = true},
    {.name = "hair, absorbing", .xml =
     IT("hair", RGB("sigma_a", ".2,.25,.7") FLOAT("scale", "3") FLOAT("scale_tilt", "-8") INDICES("1.3")),
     .parameters = {OF_HAIR, "it.sigma_a.value", "it.scale"}, .one_way = true},
    {.name = "hair by bitmap", .xml = IT("hair", BITMAP("sigma_a", "texture.pfm")), .parameters =
     {OF_HAIR, "it.sigma_a.data", "it.scale"},
     .one_way = true},

    {.name = "mask", .xml = IT("mask", FLOAT("opacity", ".6") LEAF("leaf", ".9,.5,.1")), .parameters =
     {"it.opacity.value", "leaf.reflectance.value"},
     .cosines = {0.7, -0.7}},
    {.name = "mask of opacity 0, requested", .xml =
     IT("mask", FLOAT("opacity", "0") LEAF("leaf", ".9,.5,.1")), .parameters = {"it.opacity.value"},
     .requested = true, .inwards = 1, .cosines = {0.7}, .black = true},
    {.name = "mask of opacity 1, requested", .xml =
     IT("mask", FLOAT("opacity", "1") LEAF("leaf", ".9,.5,.1")), .parameters = {"it.opacity.value"},
     .requested = true, .inwards = -1, .cosines = {0.7}},
    {.name = "twosided, two materials", .xml =
     IT("twosided", LEAF("front", ".9,.5,.1") BSDF("roughconductor", "back", METAL ROUGH("ggx", ".3"))),
     .parameters = {"front.reflectance.value", "back.alpha.value", "back.k.value"}, .cosines = {0.7, -0.7}},
    {.name = "twosided, glass", .xml = IT("twosided", BOOLEAN("allow_transmission", "true")
     BSDF("roughdielectric", "glass", ROUGH("ggx", ".4") INDICES("1.5"))),
     .parameters = {"glass.alpha.value"}, .cosines = {0.7}, .one_way = true /* light that crosses meets the
         front again */, .eta = 1.5},
    {.name = "blend", .xml = IT("blendbsdf", FLOAT("weight", ".35") LEAF("leaf", ".9,.5,.1")
     BSDF("roughconductor", "metal", METAL ROUGH("ggx", ".3"))),
     .parameters = {"it.weight.value", "leaf.reflectance.value", "metal.alpha.value"}, .cosines = {0.7}},
    {.name = "blend of weight 1, requested", .xml =
     IT("blendbsdf", FLOAT("weight", "1") LEAF("leaf", ".9,.5,.1") BSDF("plastic", "coat", "")),
     .parameters = {"it.weight.value"}, .requested = true, .inwards = -1, .cosines = {0.7}},
    {.name = "blend of weight 0, requested", .xml =
     IT("blendbsdf", FLOAT("weight", "0") LEAF("leaf", ".9,.5,.1") BSDF("plastic", "coat", "")),
     .parameters = {"it.weight.value"}, .requested = true, .inwards = 1, .cosines = {0.7}},
    {.name = "blend by bitmap", .xml =
     IT("blendbsdf", BITMAP("weight", "grey.pfm") LEAF("leaf", ".9,.5,.1") BSDF("conductor", "metal", METAL)),
     .parameters = {"it.weight.data", "leaf.reflectance.value", "metal.k.value"}, .cosines = {0.7}},
    {.name = "blend of mask and glass",
     .xml = IT("blendbsdf", FLOAT("weight", ".4")
         BSDF("mask", "holes", FLOAT("opacity", ".7") LEAF("leaf", ".9,.5,.1"))
         BSDF("dielectric", "glass", GLASS)),
     .parameters = {"it.weight.value", "holes.opacity.value", "glass.specular_transmittance.value"}, .cosines
         = {0.7}},

    {.name = "normal map", .xml =
     IT("normalmap", RGB("normalmap", ".65,.4,.9") BSDF("roughconductor", "metal", METAL ROUGH("ggx", ".3"))),
     .parameters = {"it.normalmap.value", "metal.alpha.value"}, .cosines = {0.8, 0.3}, .one_way = true},
    {.name = "normal map, no rules", .xml =
     IT("normalmap", RGB("normalmap", ".65,.4,.9") BOOLEAN("flip_invalid_normals", "false")
     BOOLEAN("use_shadowing_function", "false") LEAF("leaf", ".9,.5,.1")), .parameters =
         {"it.normalmap.value"}, .cosines = {0.8}, .one_way = true},
    {.name = "normal map on glass", .xml = IT("normalmap", BITMAP("normalmap", "normals.pfm")
     BSDF("roughdielectric", "glass", ROUGH("ggx", ".4") INDICES("1.5"))),
     .parameters = {"it.normalmap.data", "glass.alpha.value"}, .cosines = {0.8, -0.7}, .one_way = true},
    {.name = "normal map on a mirror with holes", .xml =
     IT("normalmap", RGB("normalmap", ".65,.4,.9") BSDF("mask", "holes", FLOAT("opacity", ".7")
     BSDF("conductor", "metal", METAL))), .parameters = {"holes.opacity.value", "metal.k.value"}, .cosines =
         {0.7}, .one_way = true, .black = true},
    {.name = "bumps", .xml =
     IT("bumpmap", FLOAT("scale", ".3") BITMAP("heights", "grey.pfm") LEAF("leaf", ".9,.5,.1")),
     .parameters = {"it.nested_texture.data", "it.scale", "leaf.reflectance.value"}, .cosines = {0.8, 0.2},
         .one_way = true},
};
// clang-format on
const uint32_t material_case_count = sizeof material_cases / sizeof material_cases[0];

uint32_t material_case_parameter_count(const material_case *c)
{
    uint32_t n = 0;
    while (n < MATERIAL_PARAMETERS && c->parameters[n])
        n++;
    return n;
}
