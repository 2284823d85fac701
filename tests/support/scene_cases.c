/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/scene_cases.h"

#include <string.h>

#define TO_WORLD(ops) "<transform name='to_world'>" ops "</transform>"
#define RGB(name, value) "<rgb name='" name "' value='" value "'/>"
#define NUMBER(name, value) "<float name='" name "' value='" value "'/>"
#define DIFFUSE(id, value) "<bsdf type='diffuse' id='" id "'>" RGB("reflectance", value) "</bsdf>"
#define SHAPE(type, ops, inside) "<shape type='" type "'>" TO_WORLD(ops) inside "</shape>"

#define FLOOR(inside) SHAPE("rectangle", "<scale value='1.5'/>", inside)
#define WALL(inside)                                                                                         \
    SHAPE("rectangle", "<scale value='1.5'/><rotate x='1' angle='90'/><translate value='0,1.1,1'/>", inside)
#define SIDE(inside)                                                                                         \
    SHAPE("rectangle", "<scale value='1.5'/><rotate y='1' angle='90'/><translate value='-1.2,0,1'/>", inside)
#define BLOCK(inside)                                                                                        \
    SHAPE("cube", "<scale value='.3,.25,.4'/><rotate z='1' angle='25'/><translate value='.3,.2,.4'/>", inside)
#define LAMP(inside)                                                                                         \
    SHAPE("rectangle",                                                                                       \
          "<scale value='.6,.5,1'/><rotate x='1' angle='165'/><translate value='-.1,-.2,2.2'/>", inside)
/* in front of the camera, its front toward the light */
#define SHEET(inside)                                                                                        \
    SHAPE("rectangle", "<scale value='.5'/><rotate x='1' angle='-55'/><translate value='-.3,-.6,.7'/>",      \
          inside)
#define REF(id) "<ref id='" id "'/>"
#define AREA(value) "<emitter type='area' id='light'>" RGB("radiance", value) "</emitter>"
#define BLACK "<bsdf type='diffuse' id='lamp'>" RGB("reflectance", ".3,.2,.1") "</bsdf>"
#define TWO_COLOURS DIFFUSE("red", ".6,.2,.15") DIFFUSE("white", ".7,.75,.8")

#define PATCH(id, ops, inside)                                                                               \
    "<shape type='ply' id='" id "'><string name='filename' value='patch.ply'/>" TO_WORLD(ops) inside         \
        "</shape>"
#define OVERHEAD "<scale value='.6,.5,1'/><rotate x='1' angle='165'/><translate value='-.1,-.2,2.2'/>"
#define ATTRIBUTE(id, attribute, scale)                                                                      \
    "<texture type='mesh_attribute' name='radiance' id='" id "'><string name='name' value='" attribute       \
    "'/>" NUMBER("scale", scale) "</texture>"
#define TINT(name)                                                                                           \
    "<texture type='volume' name='" name "'><volume type='gridvolume' name='volume'><string "                \
    "name='filename' value='tint.vol'/>" TO_WORLD(                                                           \
        "<translate value='-.5,-.5,-.5'/><scale value='2.5'/><rotate "                                       \
        "x='1' y='.5' angle='70'/>") "</volume></texture>"
#define BITMAP(name, file, more)                                                                             \
    "<texture type='bitmap' name='" name "'><string name='filename' value='" file "'/>" more "</texture>"

#define LENS                                                                                                 \
    "<float name='fov' value='55'/><float name='aperture_radius' value='.1'/><float name='focus_distance' "  \
    "value='2.5'/>"
#define FILM(filter)                                                                                         \
    "<film type='hdrfilm'><integer name='width' value='%u'/><integer name='height' value='%u'/><rfilter "    \
    "type='" filter "'/></film>"

#define SKY_MAP(more)                                                                                        \
    "<emitter type='envmap' id='sky'><string name='filename' value='sky.pfm'/>" more "</emitter>"

// clang-format off
const scene_case scene_cases[] = {
    {.name = "area light",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) BLOCK(REF("white")) LAMP(BLACK AREA("5,4,3")),
     .parameters = {"white.reflectance.value", "red.reflectance.value", "lamp.reflectance.value",
         "light.radiance.value"}},
    {.name = "area light in view, hidden",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red"))
         SHAPE("rectangle", "<scale value='.5'/><rotate x='1' angle='60'/><translate value='.2,.7,.8'/>",
             BLACK AREA("3,2,4")),
     .hide_emitters = true,
     .parameters = {"white.reflectance.value", "light.radiance.value"}},
    {.name = "sphere light",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red"))
         "<shape type='sphere'><point name='center' value='.2,-.1,.9'/><float name='radius' value='.3'/>"
         AREA("4,3,2") "</shape>",
     .parameters = {"white.reflectance.value", "red.reflectance.value", "light.radiance.value"}},
    {.name = "disk light",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) SHAPE("disk",
         "<scale value='.3,.4,1'/><rotate x='1' angle='-70'/><translate value='.3,-.3,.6'/>", REF("red"))
         SHAPE("disk", "<scale value='.5,.3,-1'/><rotate x='1' angle='-15'/><translate value='-.1,-.2,1.9'/>",
             BLACK AREA("9,8,7")),
     .parameters = {"white.reflectance.value", "red.reflectance.value", "lamp.reflectance.value",
         "light.radiance.value"}},
    {.name = "cylinder light",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) SHAPE("cylinder",
         "<scale value='.3,-.3,.8'/><rotate x='1' angle='20'/><translate value='.5,.2,0'/>", REF("red"))
         "<shape type='merge'>" SHAPE("cylinder",
         "<scale value='.1,.1,1.2'/><rotate y='1' angle='80'/><translate value='-.6,-.3,1.4'/>", BLACK
         AREA("9,8,7")) "</shape>",
     .parameters = {"white.reflectance.value", "red.reflectance.value", "lamp.reflectance.value",
         "light.radiance.value"}},
    {.name = "instances",
     .body = TWO_COLOURS FLOOR(REF("white"))
         "<bsdf type='dielectric' id='glass'/><shape type='shapegroup' id='group'>"
         SHAPE("cylinder", "<scale value='.2,.2,.8'/>", REF("red"))
             SHAPE("sphere", "<scale value='.25'/><translate z='.9'/>", REF("glass"))
         SHAPE("rectangle", "<scale value='.4'/><rotate x='1' angle='20'/><translate z='.4'/>", REF("white"))
         SHAPE("sdfgrid", "<translate value='-.9,-.5,.3'/>", REF("red")
             "<string name='filename' value='ball.vol'/>") "</shape>"
         SHAPE("instance", "<scale value='1,-.6,.8'/><rotate y='1' angle='20'/><translate value='.4,.2,.1'/>",
             REF("group"))
         SHAPE("instance", "<rotate y='1' angle='-70'/><translate value='.2,-.3,.5'/>", REF("group"))
             LAMP(BLACK AREA("5,4,3")),
     .parameters = {"white.reflectance.value", "red.reflectance.value", "glass.specular_transmittance.value",
         "light.radiance.value"}},
    {.name = "point light",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) BLOCK(REF("white"))
         "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.5'/>"
         RGB("intensity", "2,3,4") "</emitter>",
     .needs_next_event = true,
     .parameters = {"white.reflectance.value", "red.reflectance.value", "bulb.intensity.value"}},
    {.name = "spot and directional light",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) BLOCK(REF("white"))
         "<emitter type='spot' id='spot'>"
         TO_WORLD("<lookat origin='-.8,-.9,1.9' target='.1,.2,.2' up='0,0,1'/>") RGB("intensity", "5,6,7")
         "<float name='cutoff_angle' value='28'/></emitter>"
         "<emitter type='directional' id='sun'><vector name='direction' value='.5,.4,-1'/>"
         RGB("irradiance", "1,.8,.6") "</emitter>",
     .needs_next_event = true,
     .parameters = {"white.reflectance.value", "red.reflectance.value", "spot.intensity.value",
         "sun.irradiance.value"}},
    {.name = "projector and textured spot",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) BLOCK(REF("white"))
         "<emitter type='projector' id='slide'>"
         TO_WORLD("<scale value='1.2'/><lookat origin='-.8,-.9,1.9' target='.1,.2,.2' up='0,0,1'/>")
         BITMAP("irradiance", "texture.pfm", "")
             "<float name='scale' value='1.5'/><float name='fov' value='55'/>"
             "<float name='sampling_weight' value='3'/></emitter>"
         "<emitter type='spot' id='spot'>"
         TO_WORLD("<lookat origin='.7,-.9,1.6' target='0,.2,.1' up='0,0,1'/>") RGB("intensity", "2,3,2")
         "<float name='cutoff_angle' value='35'/>" BITMAP("texture", "grey.pfm", "") "</emitter>"
         LAMP(BLACK "<emitter type='directionalarea'/>"),
     .needs_next_event = true,
     .parameters = {"slide.irradiance.data", "slide.scale", "spot.texture.data"}},
    {.name = "constant environment",
     .body = TWO_COLOURS FLOOR(REF("white")) BLOCK(REF("red"))
         "<shape type='sphere'><point name='center' value='-.5,0,.4'/><float name='radius' value='.4'/>"
         REF("red") "</shape>"
         "<emitter type='constant' id='sky'>" RGB("radiance", ".8,1,1.2") "</emitter>",
     .parameters = {"white.reflectance.value", "red.reflectance.value", "sky.radiance.value"}},
    {.name = "environment map",
     .body = TWO_COLOURS FLOOR(REF("white")) BLOCK(REF("red"))
         "<shape type='sphere'><point name='center' value='-.5,0,.4'/><float name='radius' value='.4'/>"
         REF("red") "</shape>" SKY_MAP(""),
     .parameters = {"white.reflectance.value", "red.reflectance.value", "sky.data"}},
    {.name = "environment map, turned and compensated",
     .body = TWO_COLOURS FLOOR(REF("white")) BLOCK(REF("red"))
         "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.5'/>"
         RGB("intensity", ".4,.5,.6") "</emitter>"
         SKY_MAP(TO_WORLD("<rotate x='1' angle='70'/><scale x='-1'/>")
             "<float name='scale' value='.7'/><boolean name='mis_compensation' value='true'/>"),
     .step = 1e-6,
     .parameters = {"sky.scale", "sky.data", "bulb.intensity.value", "sky.to_world"}},
    {.name = "bitmap reflectance and radiance",
     .body = DIFFUSE("red", ".6,.2,.15") "<bsdf type='diffuse' id='cloth'>"
         BITMAP("reflectance", "texture.pfm",
         "<transform name='to_uv'><scale value='1.7,1.3,1'/></transform>") "</bsdf>"
         FLOOR(REF("cloth")) WALL(REF("red"))
             LAMP(BLACK "<emitter type='area' id='light'>" BITMAP("radiance", "grey.pfm", "") "</emitter>"),
     .parameters = {"cloth.reflectance.data", "red.reflectance.value", "light.radiance.data"}},
    {.name = "nearest bitmap, mirrored",
     .body = DIFFUSE("red", ".6,.2,.15") "<bsdf type='diffuse' id='cloth'>" BITMAP("reflectance", "grey.pfm",
         "<string name='filter_type' value='nearest'/><string name='wrap_mode' value='mirror'/>"
         "<transform name='to_uv'><scale value='1.7,-1.3,1'/></transform>") "</bsdf>"
         FLOOR(REF("cloth")) WALL(REF("red")) LAMP(BLACK AREA("5,4,3")),
     .parameters = {"cloth.reflectance.data", "red.reflectance.value"}},
    {.name = "checkerboard, one of its colours from a volume",
     .body = "<bsdf type='diffuse' id='tiles'><texture type='checkerboard' name='reflectance'>"
         "<texture type='volume' name='color0'><volume type='gridvolume' name='volume'>"
         "<string name='filename' value='tint.vol'/>"
         TO_WORLD("<translate value='-.5,-.5,-.5'/><scale value='2.5'/><rotate x='1' y='.5' angle='70'/>")
         "</volume></texture>"
         RGB("color1", ".1,.2,.3")
         "<transform name='to_uv'><scale value='3,2,1'/></transform></texture></bsdf>"
         DIFFUSE("red", ".6,.2,.15") FLOOR(REF("tiles")) WALL(REF("red")) LAMP(BLACK AREA("5,4,3")),
     .parameters =
         {"tiles.reflectance.color0.volume.data", "tiles.reflectance.color1.value", "red.reflectance.value"}},
    {.name = "twosided, two materials",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red"))
         SHEET("<bsdf type='twosided' id='sheet'>" DIFFUSE("front", ".3,.5,.7") DIFFUSE("behind", ".9,.4,.2")
             "</bsdf>") LAMP(BLACK AREA("5,4,3")),
     .parameters = {"white.reflectance.value", "front.reflectance.value", "behind.reflectance.value",
         "light.radiance.value"}},
    {.name = "twosided, one material",
     .body = TWO_COLOURS FLOOR(REF("white"))
         SHEET("<bsdf type='twosided' id='sheet'>" DIFFUSE("cloth", ".3,.5,.7") "</bsdf>")
             LAMP(BLACK AREA("5,4,3")),
     .parameters = {"white.reflectance.value", "cloth.reflectance.value"}},
    {.name = "plastic, rough glass and a pane",
     .body = TWO_COLOURS "<bsdf type='plastic' id='plastic'>" RGB("diffuse_reflectance", ".3,.5,.7") "</bsdf>"
         "<bsdf type='roughdielectric' id='ground'><float name='alpha' value='.3'/>"
         RGB("specular_transmittance", ".9,.8,.7") "</bsdf>"
         "<bsdf type='thindielectric' id='pane'>" RGB("specular_transmittance", ".9,.95,.8") "</bsdf>"
         FLOOR(REF("plastic")) WALL(REF("red")) LAMP(BLACK AREA("5,4,3")) SHEET(REF("pane"))
         "<shape type='sphere'><point name='center' value='.5,-.2,.5'/><float name='radius' value='.45'/>"
         REF("ground") "</shape>",
     .parameters = {"plastic.diffuse_reflectance.value", "plastic.specular_reflectance.value",
         "ground.specular_reflectance.value",
                    "ground.specular_transmittance.value", "pane.specular_transmittance.value",
                    "light.radiance.value"}},
    {.name = "rough diffuse",
     .body = DIFFUSE("red", ".6,.2,.15") "<bsdf type='roughdiffuse' id='plaster'>"
         RGB("reflectance", ".3,.5,.7") NUMBER("alpha", ".6") "</bsdf>"
         FLOOR(REF("plaster")) WALL(REF("red")) BLOCK(REF("plaster")) LAMP(BLACK AREA("5,4,3")),
     .parameters = {"plaster.reflectance.value", "plaster.alpha.value", "light.radiance.value"},
     .step = 1e-3},
    {.name = "principled, opaque, glass and a sheet",
     .body = TWO_COLOURS
         "<bsdf type='principled' id='paint'>" RGB("base_color", ".6,.4,.2") NUMBER("roughness", ".4")
         NUMBER("metallic", ".3") NUMBER("spec_tint", ".4")
         NUMBER("anisotropic", ".5") NUMBER("clearcoat", ".6") NUMBER("clearcoat_gloss", ".2")
             NUMBER("sheen", ".5") NUMBER("sheen_tint", ".5")
         NUMBER("flatness", ".4") "</bsdf>"
         "<bsdf type='principled' id='glass'>" RGB("base_color", ".8,.9,.7") NUMBER("roughness", ".5")
         NUMBER("spec_trans", ".8") NUMBER("eta", "1.4") "</bsdf>"
         "<bsdf type='principledthin' id='paper'>" RGB("base_color", ".7,.6,.4") NUMBER("spec_trans", ".3")
         NUMBER("diff_trans", ".9") NUMBER("spec_tint", ".3")
         "</bsdf>"
         FLOOR(REF("paint")) WALL(REF("red")) LAMP(BLACK AREA("5,4,3")) SHEET(REF("paper"))
         "<shape type='sphere'><point name='center' value='.5,-.2,.5'/><float name='radius' value='.45'/>"
         REF("glass") "</shape>",
     .parameters = {"paint.base_color.value", "paint.anisotropic.value", "paint.clearcoat.value",
         "paint.specular", "glass.spec_trans.value",
                    "glass.base_color.value", "paper.diff_trans.value", "light.radiance.value"},
     .step = 1e-3},
    /* alphas, eta, and roughplastic: tests/gradient/materials.c */
    {.name = "rough plastic and brushed metal",
     .body = TWO_COLOURS "<bsdf type='pplastic' id='coat'><float name='alpha' value='.3'/>"
         RGB("diffuse_reflectance", ".3,.5,.7") "</bsdf>"
         "<bsdf type='roughconductor' id='brushed'><string name='material' value='Cu'/>"
         "<string name='distribution' value='ggx'/>"
         "<float name='alpha_u' value='.15'/><float name='alpha_v' value='.5'/></bsdf>"
         FLOOR(REF("coat")) WALL(REF("brushed")) BLOCK(REF("red")) LAMP(BLACK AREA("5,4,3"))
         "<shape type='sphere'><point name='center' value='-.5,-.2,.5'/><float name='radius' value='.4'/>"
         REF("brushed") "</shape>",
     .parameters = {"coat.diffuse_reflectance.value", "coat.specular_reflectance.value",
         "brushed.specular_reflectance.value", "light.radiance.value"}},
    {.name = "roulette",
     .body = DIFFUSE("red", ".6,.2,.15") DIFFUSE("white", ".95,.9,.92") FLOOR(REF("white")) WALL(REF("red"))
         SIDE(REF("white")) BLOCK(REF("white"))
         LAMP(BLACK AREA("5,4,3")),
     .rr_depth = 1,
     .parameters = {"white.reflectance.value", "red.reflectance.value", "light.radiance.value"}},
    {.name = "all lights at once",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) LAMP(BLACK AREA("5,4,3"))
         "<shape type='sphere'><point name='center' value='.6,-.3,.3'/><float name='radius' value='.2'/>"
         "<emitter type='area' id='ball'>" RGB("radiance", "2,1,.5") "</emitter></shape>"
         "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.5'/>"
         RGB("intensity", ".4,.5,.6") "</emitter>"
         "<emitter type='constant' id='sky'>" RGB("radiance", ".2,.3,.4") "</emitter>",
     .parameters = {"white.reflectance.value", "light.radiance.value", "ball.radiance.value",
         "bulb.intensity.value", "sky.radiance.value"}},
    {.name = "lights of a tree",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) LAMP(BLACK AREA("5,4,3"))
         "<shape type='sphere'><point name='center' value='.6,-.3,.3'/><float name='radius' value='.2'/>"
         "<emitter type='area' id='ball'>" RGB("radiance", "2,1,.5") "</emitter></shape>"
         "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.5'/>"
         RGB("intensity", ".4,.5,.6") "</emitter>"
         "<emitter type='point' id='dark'><point name='position' value='.5,.2,1.2'/>"
         RGB("intensity", "0,0,0") "</emitter>"
         "<emitter type='spot' id='spot'><transform name='to_world'><lookat origin='0,-.5,1.6' "
         "target='0,.3,0' up='0,1,0'/></transform><float name='cutoff_angle' value='70'/>"
         RGB("intensity", "2,1,1") "</emitter>"
         "<emitter type='constant' id='sky'>" RGB("radiance", ".2,.3,.4") "</emitter>",
     .light_tree = true,
     .parameters = {"white.reflectance.value", "light.radiance.value", "ball.radiance.value",
         "bulb.intensity.value", "dark.intensity.value", "spot.intensity.value", "sky.radiance.value"}},
    {.name = "lights of different weights, textured area lights",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red"))
         LAMP(BLACK "<emitter type='area' id='light'>" BITMAP("radiance", "texture.pfm", "")
         "<float name='sampling_weight' value='2'/></emitter>")
         SHAPE("disk", "<scale value='.5,.3,-1'/><rotate x='1' angle='-15'/><translate value='-.6,-.2,1.9'/>",
               "<emitter type='area' id='plate'><texture type='checkerboard' name='radiance'>"
               RGB("color0", ".9,.8,.7") RGB("color1", "0,.1,0") "</texture></emitter>")
         "<shape type='cylinder'><point name='p0' value='-1,.9,.2'/><point name='p1' value='1,.9,.2'/>"
         "<float name='radius' value='.1'/>"
         "<emitter type='area' id='tube'>" BITMAP("radiance", "grey.pfm", "") "</emitter></shape>"
         "<emitter type='constant' id='sky'>" RGB("radiance", ".2,.3,.4")
         "<float name='sampling_weight' value='.5'/></emitter>",
     .parameters = {"light.radiance.data", "plate.radiance.color0.value", "plate.radiance.color1.value",
         "tube.radiance.data", "sky.radiance.value"}},
    {.name = "direct, lights sampled only",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) BLOCK(REF("white")) LAMP(BLACK AREA("5,4,3")),
     .integrator = "<integrator type='direct'><integer name='emitter_samples' value='1'/>"
         "<integer name='bsdf_samples' value='0'/></integrator>",
     .needs_next_event = true,
     .parameters = {"white.reflectance.value", "red.reflectance.value", "light.radiance.value"}},
    {.name = "direct, materials sampled only",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) BLOCK(REF("white"))
         "<emitter type='constant' id='sky'>" RGB("radiance", ".2,.3,.4") "</emitter>",
     .integrator = "<integrator type='direct'><integer name='emitter_samples' value='0'/>"
         "<integer name='bsdf_samples' value='1'/></integrator>",
     .parameters = {"white.reflectance.value", "red.reflectance.value", "sky.radiance.value"}},
    {.name = "normal map and bump map",
     .body = "<bsdf type='normalmap' id='tiles'>"
         BITMAP("normalmap", "normals.pfm", "<boolean name='raw' value='true'/>") DIFFUSE("clay", ".7,.75,.8")
         "</bsdf>"
         "<bsdf type='bumpmap' id='hammered'>"
         BITMAP("heights", "grey.pfm", "<transform name='to_uv'><rotate z='1' angle='20'/></transform>")
         "<float name='scale' value='.3'/><bsdf type='roughconductor'><float name='alpha' value='.5'/>"
         "</bsdf></bsdf>"
         FLOOR(REF("tiles")) WALL("<bsdf type='twosided'><ref id='hammered'/></bsdf>")
             LAMP(BLACK AREA("5,4,3"))
         "<shape type='sphere'><point name='center' value='.5,-.2,.5'/><float name='radius' value='.4'/>"
         REF("tiles") "</shape>",
     .step = 1e-5,
     .parameters = {"tiles.normalmap.data", "clay.reflectance.value", "hammered.nested_texture.data",
         "hammered.scale", "light.radiance.value"}},
    {.name = "mesh attributes",
     .body = DIFFUSE("red", ".6,.2,.15")
         "<bsdf type='blendbsdf' id='mixed'><texture type='mesh_attribute' name='weight'>"
         "<string name='name' value='face_weight'/>"
         "</texture><bsdf type='diffuse'><texture type='mesh_attribute' name='reflectance' id='paint'>"
         "<string name='name' value='vertex_color'/>"
         "<float name='scale' value='.8'/></texture></bsdf>" REF("red") "</bsdf>"
         "<shape type='ply' id='patch'><string name='filename' value='patch.ply'/>"
         TO_WORLD("<scale value='1.5'/>") REF("mixed") "</shape>"
         WALL(REF("red")) LAMP(BLACK AREA("5,4,3")),
     .step = 1e-4,
     .parameters = {"patch.vertex_color", "patch.face_weight", "paint.scale", "red.reflectance.value"}},
    {.name = "lights that show attributes and a volume",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) PATCH("panel", OVERHEAD, BLACK
         "<emitter type='area'>" ATTRIBUTE("glow", "vertex_color", "4") "</emitter>")
         PATCH("tile", "<scale value='.3'/><rotate x='1' angle='80'/><translate value='.6,.9,.5'/>",
               REF("red") "<emitter type='area'>" ATTRIBUTE("shine", "face_weight", "1") "</emitter>")
         "<shape type='sphere'><point name='center' value='-.6,.2,.5'/><float name='radius' value='.25'/>"
         "<emitter type='area' id='bulb'>" TINT("radiance") "</emitter></shape>",
     .parameters = {"panel.vertex_color", "tile.face_weight", "glow.scale", "bulb.radiance.volume.data",
         "red.reflectance.value"}},
    {.name = "thin lens and a filter with negative lobes",
     .body = TWO_COLOURS FLOOR(REF("white")) WALL(REF("red")) BLOCK(REF("white")) LAMP(BLACK AREA("5,4,3")),
     .sensor = "<sensor type='thinlens'>" LENS
         TO_WORLD("<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>") FILM("catmullrom") "</sensor>",
     .parameters = {"white.reflectance.value", "red.reflectance.value", "light.radiance.value"}},
    {.name = "camera in front of textured walls",
     .body = "<bsdf type='diffuse' id='cloth'>" BITMAP("reflectance", "texture.pfm", "") "</bsdf>"
         DIFFUSE("red", ".6,.2,.15") FLOOR(REF("cloth")) WALL(REF("red"))
         "<shape type='sphere'><point name='center' value='-.5,0,.4'/><float name='radius' value='.4'/>"
         REF("cloth") "</shape>" LAMP(BLACK AREA("5,4,3"))
         "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.5'/>"
         RGB("intensity", ".4,.5,.6") "</emitter>" SKY_MAP(""),
     .sensor = "<sensor type='perspective' id='eye'><float name='fov' value='55'/>"
         "<vector name='rotation' value='1,-2,.5'/><float name='principal_point_offset_x' value='.02'/>"
         TO_WORLD("<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>") FILM("tent") "</sensor>",
     .step = 1e-6,
     .parameters = {"eye.to_world", "eye.rotation", "eye.translation", "eye.x_fov",
         "eye.principal_point_offset_x", "eye.principal_point_offset_y", "bulb.intensity.value",
         "sky.to_world"}},
    {.name = "lens in front of textured walls",
     .body = "<bsdf type='roughconductor' id='steel'><float name='alpha' value='.4'/>"
         "</bsdf><bsdf type='diffuse' id='cloth'>" BITMAP("reflectance", "texture.pfm", "") "</bsdf>"
         FLOOR(REF("cloth")) WALL(REF("steel")) LAMP(BLACK AREA("5,4,3")),
     .sensor = "<sensor type='thinlens' id='eye'>" LENS
         TO_WORLD("<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>") FILM("box") "</sensor>",
     .step = 1e-6,
     .parameters = {"eye.aperture_radius", "eye.focus_distance", "eye.x_fov", "eye.translation"}},
    {.name = "irradiance on the wall",
     .body = TWO_COLOURS FLOOR(REF("white")) LAMP(BLACK AREA("5,4,3")),
     .sensor =
         SHAPE("rectangle", "<scale value='1.5'/><rotate x='1' angle='90'/><translate value='0,1.1,1'/>",
                     REF("red") "<sensor type='irradiancemeter'>" FILM("box") "</sensor>"),
     .parameters = {"white.reflectance.value", "red.reflectance.value", "light.radiance.value"}},
    /* Its map is exact: positions are the same in single and in double precision. */
    {.name = "a hill of heights",
     .body = DIFFUSE("red", ".6,.2,.15")
         "<shape type='heightfield' id='hill'><string name='filename' value='grey.pfm'/>"
         TO_WORLD("<scale z='.5'/>") REF("red") "</shape>"
         LAMP(BLACK AREA("5,4,3")),
     .step = 1e-5,
     .parameters = {"hill.heights", "red.reflectance.value", "light.radiance.value"}},
    {.name = "meshes that move",
     .body = DIFFUSE("red", ".6,.2,.15") "<bsdf type='bumpmap' id='hammered'>"
         BITMAP("heights", "grey.pfm", "") "<float name='scale' value='.2'/>"
         "<bsdf type='roughconductor'><float name='alpha' value='.6'/>"
         BITMAP("specular_reflectance", "texture.pfm", "") "</bsdf></bsdf>"
         "<shape type='ply' id='patch'><string name='filename' value='patch.ply'/>"
         TO_WORLD("<scale value='1.5'/>") REF("hammered") "</shape>"
         "<shape type='ply' id='screen'><string name='filename' value='patch.ply'/>"
         TO_WORLD("<scale value='1.5'/><rotate x='1' angle='90'/><translate value='0,1.1,1'/>") REF("red")
             "</shape>"
         "<shape type='sphere'><point name='center' value='-.4,.1,.3'/><float name='radius' value='.3'/>"
         REF("red") "</shape>"
         LAMP(BLACK AREA("5,4,3")) "<emitter type='point'><point name='position' value='-.4,-.6,1.5'/>"
             RGB("intensity", "2,3,4") "</emitter>"
         "<emitter type='constant'>" RGB("radiance", ".2,.3,.4") "</emitter>",
     .step = 1e-5,
     .parameters = {"patch.vertex_positions", "screen.vertex_positions", "patch.vertex_normals",
         "patch.vertex_texcoords", "red.reflectance.value"}},
    {.name = "lights that move and show what is where they are",
     .body = DIFFUSE("red", ".6,.2,.15") FLOOR(REF("red"))
         PATCH("panel", OVERHEAD, "<emitter type='area'>" ATTRIBUTE("glow", "vertex_color", "4") "</emitter>")
         "<shape type='rectangle' id='tile'>"
         TO_WORLD("<scale value='.3'/><rotate x='1' angle='80'/><translate value='.3,.9,.5'/>")
         "<emitter type='area'>" TINT("radiance") "</emitter></shape>",
     .step = 1e-5,
     .parameters = {"panel.to_world", "tile.to_world"}},
    {.name = "camera in front of lights that show attributes and a volume",
     .body = DIFFUSE("red", ".6,.2,.15") FLOOR(REF("red"))
         PATCH("panel", "<scale value='.8'/><rotate x='1' angle='90'/><translate value='0,.9,1'/>",
                                                            "<emitter type='area'>"
                                                            ATTRIBUTE("glow", "vertex_color", "4")
                                                            "</emitter>")
         "<shape type='disk'>"
         TO_WORLD("<scale value='.4'/><rotate x='1' angle='70'/><translate value='-.5,-.3,.6'/>")
         "<emitter type='area'>" TINT("radiance") "</emitter></shape>",
     .sensor = "<sensor type='perspective' id='eye'><float name='fov' value='55'/>"
         TO_WORLD("<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>") FILM("box") "</sensor>",
     .step = 1e-6,
     .parameters = {"eye.to_world", "eye.x_fov"}},
    /* They stand apart: where shapes touch walks are volumetric, and derivatives are right in the mean. */
    {.name = "shapes that move",
     .body = "<bsdf type='diffuse' id='cloth'>" BITMAP("reflectance", "texture.pfm", "") "</bsdf>"
         "<shape type='rectangle' id='ground'>" TO_WORLD("<scale value='1.5'/><translate z='-.8'/>")
             REF("cloth") "</shape>"
         "<shape type='ply' id='screen'><string name='filename' value='patch.ply'/>"
         TO_WORLD("<scale value='1.5'/><rotate x='1' angle='90'/><translate value='0,1.1,1'/>")
             "<bsdf type='roughconductor'><float name='alpha' value='.5'/></bsdf></shape>"
         "<shape type='rectangle' id='panel'>"
         TO_WORLD("<scale value='.6,.5,1'/><rotate x='1' angle='165'/><translate value='-.1,-.2,2.2'/>")
         "<emitter type='area'>" BITMAP("radiance", "texture.pfm", "") "</emitter></shape>"
         "<shape type='sphere' id='ball'><float name='radius' value='.4'/>"
         TO_WORLD("<rotate x='1' angle='40'/><translate value='-.4,.1,.5'/>") REF("cloth") "</shape>"
         "<emitter type='point'><point name='position' value='-.4,-.6,1.5'/>" RGB("intensity", "2,3,4")
         "</emitter>",
     .step = 1e-5,
     .parameters = {"ground.to_world", "screen.to_world", "panel.to_world", "ball.to_world"}},
    /* values have kinks between the numbers of a file: the step is small, so that none is crossed */
    {.name = "measured materials, one under a normal map",
     .body = DIFFUSE("white", ".7,.75,.8") "<bsdf type='measured' id='satin'><string name='filename' "
         "value='satin.bsdf'/></bsdf><bsdf type='normalmap' id='tilted'>" RGB("normalmap", ".65,.4,.9")
         "<bsdf type='measured'><string name='filename' value='brushed.bsdf'/></bsdf></bsdf>"
         FLOOR(REF("tilted")) WALL(REF("white")) BLOCK(REF("satin")) LAMP(BLACK AREA("5,4,3")),
     .step = 1e-6,
     .parameters = {"white.reflectance.value", "tilted.normalmap.value", "light.radiance.value"}},
    {.name = "plates that polarise",
     .body = DIFFUSE("white", ".7,.75,.8")
         "<bsdf type='polarizer' id='filter'>" RGB("transmittance", ".9,.8,.6") NUMBER("theta", "30")
         "</bsdf><bsdf type='retarder' id='plate'>" RGB("transmittance", ".8,.9,1")
         "</bsdf><bsdf type='circular' id='spiral'>" RGB("transmittance", "1,.9,.7") "</bsdf>"
         FLOOR(REF("white")) WALL(REF("spiral")) SHEET(REF("filter"))
         SHAPE("rectangle", "<scale value='.5'/><rotate x='1' angle='-55'/><translate value='.1,-.8,.8'/>",
             REF("plate")) LAMP(BLACK AREA("5,4,3"))
         "<emitter type='constant' id='sky'>" RGB("radiance", ".8,1,1.2") "</emitter>",
     .parameters = {"white.reflectance.value", "filter.transmittance.value", "plate.transmittance.value",
         "spiral.transmittance.value", "light.radiance.value"}},
    {.name = "a lens of varying index that absorbs and shines",
     .body = DIFFUSE("white", ".7,.75,.8") "<bsdf type='diffuse' id='paper'>"
         BITMAP("reflectance", "texture.pfm", "") "</bsdf>" FLOOR(REF("white")) WALL(REF("paper"))
         "<shape type='sphere'><point name='center' value='0,-.5,.8'/><float name='radius' value='.7'/><bsdf "
         "type='null'/><medium type='grin' name='interior' id='lens'><volume type='gridvolume' name='ior'>"
         "<string name='resolution' value='1'/><float name='value' value='1.1'/></volume><string "
         "name='profile' value='luneburg'/><point name='center' value='0,-.5,.8'/>" NUMBER("radius", ".8")
         RGB("sigma_a", ".5,.3,.1") NUMBER("emission", ".2") NUMBER("step_size", ".15") "</medium></shape>"
         "<emitter type='constant' id='sky'>" RGB("radiance", "1,.9,1.2") "</emitter>",
     .step = 1e-4,
     .parameters = {"lens.ior.data", "lens.sigma_a.value.value", "lens.emission.value.value",
         "white.reflectance.value", "paper.reflectance.data", "sky.radiance.value"}},
};
// clang-format on
const uint32_t scene_case_count = sizeof scene_cases / sizeof scene_cases[0];

/* ---- media ---- */

#define FOG(type, inside) "<medium type='" type "' id='fog'>" inside "</medium>"
#define HG(g) "<phase type='hg'><float name='g' value='" g "'/></phase>"
#define HOLLOW "<bsdf type='null'/><ref id='fog' name='interior'/>"
#define FOG_BOX                                                                                              \
    SHAPE("cube", "<scale value='.7,.6,.55'/><rotate z='1' angle='25'/><translate value='0,-.1,.7'/>", HOLLOW)
#define GRID(name, file, more)                                                                               \
    "<volume type='gridvolume' name='" name "'><string name='filename' value='" file                         \
    "'/>" more TO_WORLD("<translate value='-.5,-.5,-.5'/><scale value='1.6,1.4,1.2'/><rotate z='1' "         \
                        "angle='40'/><translate value='0,-.1,.7'/>") "</volume>"
#define SUN                                                                                                  \
    "<emitter type='directional' id='sun'><vector name='direction' value='.5,.4,-1'/>" RGB(                  \
        "irradiance", "1,.8,.6") "</emitter>"
#define SKY "<emitter type='constant' id='sky'>" RGB("radiance", ".8,1,1.2") "</emitter>"

const float scene_flakes[6] = {.3f, .9f, .5f, .1f, -.2f, .15f};
// clang-format off
const scene_case scene_media_cases[] = {
    {.name = "homogeneous",
     .body = FOG("homogeneous", "<float name='sigma_t' value='1.4'/><float name='scale' value='1.2'/>"
         RGB("albedo", ".9,.7,.5") HG(".4"))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX SUN SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.value.value", "fog.scale", "fog.albedo.value.value", "fog.phase_function.g",
         "white.reflectance.value",
                    "sky.radiance.value", "sun.irradiance.value"}},
    {.name = "homogeneous, extinction by channel",
     .body =
         FOG("homogeneous", RGB("sigma_t", ".4,1.5,3") RGB("albedo", ".9,.7,.95") "<phase type='rayleigh'/>")
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX LAMP(BLACK AREA("5,4,3")) SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.value.value", "fog.albedo.value.value", "white.reflectance.value",
         "light.radiance.value"}},
    {.name = "grid with empty voxels",
     .body = FOG("heterogeneous", "<float name='scale' value='3'/>" GRID("sigma_t", "smoke.vol", "")
         GRID("albedo", "tint.vol", "") HG("-.3"))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX SUN SKY,
     .volumetric = true,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.data", "fog.albedo.data", "fog.scale", "fog.phase_function.g",
         "white.reflectance.value", "sky.radiance.value"}},
    {.name = "grid with colours, tracked by channel",
     .body = FOG("heterogeneous", "<float name='scale' value='2'/>" GRID("sigma_t", "tint.vol", "")
         RGB("albedo", ".9,.7,.95")
             "<phase type='blendphase'>" GRID("weight", "tint.vol", "")
             "<phase type='tabphase'><string name='values' value='3, 0, 2, 1'/></phase>" HG(".3") "</phase>")
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX LAMP(BLACK AREA("5,4,3")) SKY,
     .volumetric = true,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.data", "fog.albedo.value.value", "fog.scale", "light.radiance.value",
         "fog.phase_function.weight.data",
                    "fog.phase_function.phase_0.values"}},
    {.name = "grid with bounds in cells",
     .body = FOG("heterogeneous", "<float name='scale' value='5'/>" GRID("sigma_t", "cloud.vol", "")
         RGB("albedo", ".9,.7,.95") HG(".5"))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX LAMP(BLACK AREA("5,4,3")) SKY,
     .volumetric = true,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.data", "fog.albedo.value.value", "fog.scale", "fog.phase_function.g",
         "light.radiance.value"}},
    {.name = "nothing that scatters, nothing there",
     .body = FOG("homogeneous", "<float name='sigma_t' value='0'/>" RGB("albedo", "0,.6,0"))
         "<medium type='heterogeneous' id='mist'><float name='sigma_t' value='0'/>" RGB("albedo", ".5,0,1")
         "</medium>"
         "<bsdf type='thindielectric' id='veil'>" RGB("specular_transmittance", "0,.8,0") "</bsdf>"
         "<bsdf type='mask' id='net'><float name='opacity' value='.6'/>" DIFFUSE("cloth", "0,.5,.7") "</bsdf>"
         FLOOR(REF("cloth")) SHEET(REF("veil")) SHAPE("rectangle",
             "<scale value='.8'/><rotate x='1' angle='-55'/><translate value='.3,-.5,1.2'/>", REF("net"))
         "<shape type='sphere'><point name='center' value='-.3,0,.5'/><float name='radius' value='.45'/>"
         HOLLOW "</shape>"
         SHAPE("cube", "<scale value='.4'/><translate value='.5,.1,.5'/>",
             "<bsdf type='null'/><ref id='mist' name='interior'/>") SUN SKY,
     .volumetric = true,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.value.value", "fog.albedo.value.value", "mist.sigma_t.value.value",
         "mist.albedo.value.value", "veil.specular_transmittance.value",
                    "net.opacity.value", "cloth.reflectance.value", "sky.radiance.value"}},
    {.name = "a polariser before a light, in a medium",
     .body = FOG("homogeneous", RGB("sigma_t", ".4,.5,.2")) DIFFUSE("white", ".7,.75,.8")
         "<bsdf type='polarizer' id='filter'>" RGB("transmittance", ".9,.8,.6") "</bsdf>" FLOOR(REF("white"))
         FOG_BOX SHEET(REF("filter")) SUN,
     .volumetric = true,
     .crossings = 3,
     .step = 1e-3,
     .parameters = {"white.reflectance.value", "filter.transmittance.value", "fog.sigma_t.value.value"}},
    {.name = "a glowing fog, and a filter with negative lobes",
     .body = FOG("homogeneous", RGB("sigma_t", ".4,1.5,.002") RGB("albedo", ".9,.7,.5")
         RGB("emission", ".5,.3,.7"))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-3,
     .sensor = "<sensor type='perspective'><float name='fov' value='55'/>"
         TO_WORLD("<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>")
               FILM("mitchell") "</sensor>",
     .parameters = {"fog.sigma_t.value.value", "fog.albedo.value.value", "fog.emission.value.value",
         "white.reflectance.value"}},
    {.name = "a glow where there may be no smoke",
     .body = FOG("heterogeneous", "<float name='scale' value='3'/>" GRID("sigma_t", "smoke.vol", "")
         RGB("albedo", ".9,.7,.5") GRID("emission", "tint.vol", ""))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX SKY,
     .volumetric = true,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.data", "fog.scale", "fog.emission.data", "fog.albedo.value.value",
         "white.reflectance.value"}},
    {.name = "flakes",
     .body = FOG("homogeneous", "<float name='sigma_t' value='1.4'/>" RGB("albedo", ".9,.7,.5")
             "<phase type='sggx'><volume type='gridvolume' name='S'>"
             "<string name='filename' value='flakes.vol'/></volume></phase>")
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX SUN SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-4,
     .parameters = {"fog.sigma_t.value.value", "fog.phase_function.S.data", "white.reflectance.value"}},
    {.name = "glass and smoke in fog",
     .body = FOG("homogeneous", RGB("sigma_t", ".3,.5,.4") HG(".2"))
         "<medium type='heterogeneous' id='smoke'><boolean name='sample_emitters' value='false'/>"
         "<float name='scale' value='4'/>" GRID("sigma_t", "smoke.vol", "") "</medium>"
         "<bsdf type='roughdielectric' id='ground'><float name='alpha' value='.3'/>"
         RGB("specular_transmittance", ".9,.8,.7") "</bsdf>"
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white"))
             SHAPE("cube", "<scale value='1.4,1.3,.9'/><translate value='0,.1,.85'/>", HOLLOW)
         "<shape type='sphere'><point name='center' value='.3,-.1,.7'/><float name='radius' value='.45'/>"
         REF("ground")
         "<ref id='smoke' name='interior'/><ref id='fog' name='exterior'/></shape>" SKY,
     .volumetric = true,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.value.value", "fog.albedo.value.value", "smoke.sigma_t.data",
         "smoke.albedo.value.value",
                    "ground.specular_transmittance.value", "white.reflectance.value", "sky.radiance.value"}},
    {.name = "a camera that moves before fog, with a ball in it and a lamp",
     .body = FOG("homogeneous", RGB("sigma_t", ".4,1.5,3") RGB("albedo", ".9,.7,.95") HG(".4"))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX
             "<shape type='sphere'><point name='center' value='.1,0,.7'/><float name='radius' value='.3'/>"
             REF("white") "</shape>"
         LAMP(BLACK AREA("5,4,3"))
             "<emitter type='envmap'><string name='filename' value='sky.pfm'/></emitter>",
     .sensor = "<sensor type='thinlens' id='eye'>" LENS
         TO_WORLD("<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>") FILM("box") "</sensor>",
     .volumetric = true,
     .crossings = 2,
     .step = 1e-5,
     .parameters = {"eye.to_world", "eye.x_fov", "eye.aperture_radius", "fog.sigma_t.value.value",
         "white.reflectance.value"}},
    {.name = "a camera that moves in a grid",
     .body = FOG("heterogeneous", "<float name='scale' value='1.5'/>" GRID("sigma_t", "smoke.vol", "")
         GRID("albedo", "tint.vol", "") HG("-.3"))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX "<emitter type='spot' id='spot'>"
             TO_WORLD("<lookat origin='-.4,-.6,2' target='0,0,.5' up='0,1,0'/>") RGB("intensity", "9,8,7")
             "</emitter>" SKY,
     .sensor =
         "<sensor type='perspective' id='eye'><float name='fov' value='30'/><ref id='fog' name='medium'/>"
         TO_WORLD("<lookat origin='.1,-.5,.8' target='0,0,.5' up='0,0,1'/>") FILM("box") "</sensor>",
     .volumetric = true,
     .crossings = 2,
     .step = 1e-5,
     .parameters = {"eye.to_world", "eye.x_fov", "spot.to_world", "white.reflectance.value"}},
    {.name = "bounds in cells, and lights that move",
     .body = FOG("heterogeneous", "<float name='scale' value='5'/>" GRID("sigma_t", "cloud.vol", "")
         RGB("albedo", ".9,.7,.95") HG(".5"))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX
             "<emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.5'/>"
             RGB("intensity", "2,3,4") "</emitter>" SUN
         "<medium type='homogeneous' id='haze'><float name='sigma_t' value='1.5'/></medium>"
         SHAPE("cube", "<scale value='.4,.2,.3'/><translate value='.05,-1.5,.9'/>",
             "<bsdf type='null'/><ref id='haze' name='interior'/>"),
     .volumetric = true,
     .step = 1e-5,
     .parameters = {"bulb.position", "sun.direction", "fog.scale"}},
    {.name = "surfaces that move behind others that let through",
     .body = DIFFUSE("white", ".7,.75,.8")
         "<bsdf type='thindielectric' id='veil'/><bsdf type='mask' id='net'>"
         BITMAP("opacity", "grey.pfm", "") DIFFUSE("cloth", "0,.5,.7") "</bsdf>"
         "<shape type='rectangle' id='ground'>" TO_WORLD("<scale value='1.5'/>") REF("white") "</shape>"
         PATCH("patch", "<scale value='.9'/><rotate x='1' angle='55'/><translate value='-.2,-.3,.6'/>",
         REF("net"))
         "<shape type='sphere' id='ball'><point name='center' value='-.3,0,.5'/>"
         "<float name='radius' value='.45'/>" REF("veil") "</shape>" SUN SKY,
     .sensor = "<sensor type='perspective' id='eye'><float name='fov' value='55'/>"
         TO_WORLD("<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>") FILM("box") "</sensor>",
     .volumetric = true,
     .crossings = 3,
     .step = 1e-6,
     .parameters = {"ground.to_world", "ball.to_world", "patch.vertex_texcoords", "eye.to_world",
         "cloth.reflectance.value"}},
    {.name = "surfaces that move in fog and around it",
     .body = FOG("homogeneous", RGB("sigma_t", ".4,1.5,3") RGB("albedo", ".9,.7,.95")
         RGB("emission", ".5,.3,.2") HG(".4")) DIFFUSE("white", ".7,.75,.8")
         PATCH("patch", "<scale value='1.5'/>", REF("white"))
             "<shape type='sphere' id='ball'><point name='center' value='.1,-.2,.8'/>"
             "<float name='radius' value='.7'/>" REF("white") "</shape>"
         "<shape type='cube' id='box'>" TO_WORLD("<scale value='1.6,1.1,.6'/><translate value='0,.1,.7'/>")
         HOLLOW "</shape>" SUN SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-6,
     .parameters = {"patch.vertex_positions", "ball.to_world", "box.to_world", "fog.scale"}},
    {.name = "normals in fog",
     .body = FOG("homogeneous", RGB("sigma_t", ".4,1.5,3") RGB("albedo", ".9,.7,.95"))
         DIFFUSE("white", ".7,.75,.8")
         PATCH("patch", "<scale value='1.5'/>", REF("white")) FOG_BOX SUN SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-5,
     .parameters = {"patch.vertex_normals", "fog.scale"}},
};
// clang-format on
const uint32_t scene_media_case_count = sizeof scene_media_cases / sizeof scene_media_cases[0];

#define CELLS "<integer name='majorant_cells' value='2'/>"
// clang-format off
const scene_case scene_thin_cases[] = {
    {.name = "thin grid with empty voxels",
     .body = FOG("heterogeneous", "<float name='scale' value='2'/>" GRID("sigma_t", "smoke.vol", "")
         GRID("albedo", "tint.vol", "") HG("-.3"))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX SUN SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.data", "fog.albedo.data", "fog.scale", "fog.phase_function.g",
         "white.reflectance.value", "sky.radiance.value"}},
    {.name = "thin grid with colours, bounds in cells from above and below",
     .body = FOG("heterogeneous", "<float name='scale' value='1.5'/>" GRID("sigma_t", "tint.vol", CELLS)
         RGB("albedo", ".9,.7,.95"))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX LAMP(BLACK AREA("5,4,3")) SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.data", "fog.albedo.value.value", "fog.scale", "light.radiance.value"}},
    {.name = "thin grid with empty voxels, bounds in cells, beside homogeneous fog",
     .body = FOG("heterogeneous", "<float name='scale' value='1.5'/>" GRID("sigma_t", "smoke.vol", CELLS)
         RGB("albedo", ".9,0,.95"))
         "<medium type='homogeneous' id='haze'><float name='sigma_t' value='1.5'/>" RGB("albedo", ".5,.9,.7")
         "</medium>"
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX
         SHAPE("cube", "<scale value='.4,.2,.3'/><translate value='.05,-1.5,.9'/>",
             "<bsdf type='null'/><ref id='haze' name='interior'/>") SUN SKY,
     .volumetric = true,
     .crossings = 4,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.data", "fog.albedo.value.value", "fog.scale", "haze.sigma_t.value.value",
         "haze.albedo.value.value", "white.reflectance.value"}},
    {.name = "thin grid, a glow where there may be no smoke",
     .body = FOG("heterogeneous", "<float name='scale' value='1.5'/>" GRID("sigma_t", "smoke.vol", "")
         RGB("albedo", ".9,.7,.5") GRID("emission", "tint.vol", ""))
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-3,
     .parameters = {"fog.sigma_t.data", "fog.scale", "fog.emission.data", "fog.albedo.value.value",
         "white.reflectance.value"}},
    {.name = "thin grid of flakes",
     .body = FOG("heterogeneous", "<float name='scale' value='1.5'/>" GRID("sigma_t", "smoke.vol", "")
         RGB("albedo", ".9,.7,.5")
             "<phase type='sggx'><volume type='gridvolume' name='S'>"
             "<string name='filename' value='flakes.vol'/></volume></phase>")
         DIFFUSE("white", ".7,.75,.8") FLOOR(REF("white")) FOG_BOX SUN SKY,
     .volumetric = true,
     .crossings = 2,
     .step = 1e-4,
     .parameters = {"fog.sigma_t.data", "fog.albedo.value.value", "fog.scale", "fog.phase_function.S.data",
         "white.reflectance.value"}},
    {.name = "surfaces that move in a thin grid and around it",
     .body = FOG("heterogeneous", "<float name='scale' value='2'/>" GRID("sigma_t", "smoke.vol", "")
         GRID("albedo", "tint.vol", "") GRID("emission", "tint.vol", "") HG("-.3"))
         DIFFUSE("white", ".7,.75,.8")
         PATCH("patch", "<scale value='1.5'/>", REF("white"))
             "<shape type='sphere' id='ball'><point name='center' value='.1,-.2,.8'/>"
             "<float name='radius' value='.7'/>" HOLLOW "</shape>"
         "<shape type='rectangle' id='board'>"
         TO_WORLD("<scale value='.8'/><rotate x='1' angle='40'/><translate value='-.3,.1,.9'/>") REF("white")
         "</shape>"
         FOG_BOX "<shape type='sphere' id='lamp'><point name='center' value='.3,-.3,2.3'/>"
             "<float name='radius' value='.4'/>" REF("white") AREA("5,4,3")
             "</shape><emitter type='point' id='bulb'><point name='position' value='-.4,-.6,1.9'/>"
             RGB("intensity", "2,3,4") "</emitter>" SKY,
     .volumetric = true,
     .crossings = 4,
     .step = 1e-6,
     .parameters =
         {"patch.vertex_positions", "ball.to_world", "board.to_world", "bulb.position", "lamp.to_world"}},
};
// clang-format on
const uint32_t scene_thin_case_count = sizeof scene_thin_cases / sizeof scene_thin_cases[0];

const char scene_sensor_format[] = "<sensor type='perspective'><float name='fov' value='55'/>" TO_WORLD(
    "<lookat origin='.1,-2.9,1.3' target='0,0,.5' up='0,0,1'/>") "<film type='hdrfilm'><integer name='width' "
                                                                 "value='%u'/><integer name='height' "
                                                                 "value='%u'/><rfilter "
                                                                 "type='box'/></film></sensor>";

uint32_t scene_case_parameter_count(const scene_case *c)
{
    uint32_t n = 0;
    while (n < SCENE_CASE_PARAMETERS && c->parameters[n])
        n++;
    return n;
}

char *scene_xml(arena *a, const char *integrator, const char *sensor, const char *body)
{
    return arena_printf(a, "<scene version='3.0.0'>%s%s%s</scene>", integrator, sensor, body);
}

char *scene_window_xml(arena *a, const char *integrator, const char *sensor, const char *filter,
                       const char *body)
{
    const char *lens = strcmp(sensor, "thinlens") == 0 ? "<float name='aperture_radius' value='.4'/>"
                                                         "<float name='focus_distance' value='7'/>"
                                                       : "",
               *scale = "<scale x='4' y='4'/>", *field = "";
    if (strcmp(sensor, "orthographic") != 0)
        scale = "", field = "<float name='fov' value='45'/>";
    return scene_xml(a, integrator,
                     arena_printf(a,
                                  "<sensor type='%s'><transform name='to_world'>%s<lookat origin='1,2,8' "
                                  "target='.3,.1,0' up='.2,1,0'/></transform>%s%s<film type='hdrfilm'>"
                                  "<integer name='width' value='%d'/><integer name='height' value='%d'/>"
                                  "<integer name='crop_width' value='%d'/><integer name='crop_offset_x' "
                                  "value='2'/>%s</film></sensor>",
                                  sensor, scale, field, lens, SCENE_WINDOW_WIDTH + 4, SCENE_WINDOW_HEIGHT,
                                  SCENE_WINDOW_WIDTH, filter),
                     body);
}

static const char *sensor_of_case(const scene_case *c) { return c->sensor ? c->sensor : scene_sensor_format; }

char *scene_case_xml(arena *a, const scene_case *c, int32_t max_depth, uint32_t width, uint32_t height)
{
    const char *integrator = c->integrator;
    if (!integrator)
        integrator = arena_printf(a,
                                  "<integrator type='%s'><integer name='max_depth' value='%d'/><integer "
                                  "name='rr_depth' value='%u'/>"
                                  "<boolean name='hide_emitters' value='%s'/></integrator>",
                                  c->volumetric ? "volpath" : "path", max_depth,
                                  c->rr_depth ? c->rr_depth : 1000u, c->hide_emitters ? "true" : "false");
    const char *at = strstr(sensor_of_case(c), "%u"), *next = strstr(at + 2, "%u");
    char *sensor = arena_printf(a, "%.*s%u%.*s%u%s", (int)(at - sensor_of_case(c)), sensor_of_case(c), width,
                                (int)(next - at - 2), at + 2, height, next + 2);
    return scene_xml(a, integrator, sensor, c->body);
}

double scene_random(uint32_t *state)
{
    *state = *state * 747796405u + 2891336453u;
    uint32_t word = ((*state >> ((*state >> 28) + 4)) ^ *state) * 277803737u;
    return ((word >> 22) ^ word) / 4294967296.0;
}
