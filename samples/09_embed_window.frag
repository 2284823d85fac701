// SPDX-License-Identifier: BSD-3-Clause
// What 09_embed_window.c shows. Panel 0 is the rasteriser: a point light with shadows, and a constant for what
// comes by way of walls. Its colour and its light are read where Backlight keeps them. Panel 1 is the path-traced
// image of the same, panel 2 the picture that both are fitted to. With the overlay, panel 1 shows dL/dI: red where
// the image is too bright, blue where it is too dark.
#version 460
struct Vertex { vec4 position, normal; };
layout(set = 0, binding = 0, std430) readonly buffer Vertices { Vertex vertices[]; };
layout(set = 0, binding = 1, std430) readonly buffer Colour { float colours[]; };
layout(set = 0, binding = 2, std430) readonly buffer Light { float lights[]; };
layout(set = 0, binding = 3, std430) readonly buffer Traced { float traced[]; };
layout(set = 0, binding = 4, std430) readonly buffer Picture { float picture[]; };
layout(push_constant) uniform Push { uint panel, side, colour, light; uint overlay; };
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 place;
layout(location = 3) flat in uint material;
layout(location = 0) out vec4 shown;

const vec3 lamp = vec3(1.3, 2.9, 2.2), floor_colour = vec3(0.7), wall_colour = vec3(0.35, 0.45, 0.6);
const float by_way_of_walls = 0.012;

bool blocked(vec3 from, vec3 to)
{
    vec3 way = to - from;
    for (uint i = 0; i < vertices.length(); i += 3) {
        vec3 a = vertices[i].position.xyz, ab = vertices[i + 1].position.xyz - a,
             ac = vertices[i + 2].position.xyz - a, p = cross(way, ac), q = cross(from - a, ab);
        float d = dot(ab, p), u = dot(from - a, p) / d, v = dot(way, q) / d, t = dot(ac, q) / d;
        if (d != 0 && u >= 0 && v >= 0 && u + v <= 1 && t > 1e-3 && t < 1)
            return true;
    }
    return false;
}

vec3 shade()
{
    vec3 albedo = material == 0 ? vec3(colours[colour], colours[colour + 1], colours[colour + 2])
                                : material == 1 ? floor_colour : wall_colour;
    vec3 intensity = vec3(lights[light], lights[light + 1], lights[light + 2]), way = lamp - position;
    float direct = max(dot(normal, normalize(way)), 0) / dot(way, way) / 3.14159265;
    if (direct > 0 && blocked(position, lamp))
        direct = 0;
    return albedo * intensity * (direct + by_way_of_walls / 3.14159265);
}

vec3 encode(vec3 c) // sRGB
{
    c = clamp(c, 0, 1);
    return mix(12.92 * c, 1.055 * pow(c, vec3(1 / 2.4)) - 0.055, greaterThan(c, vec3(0.0031308)));
}

void main()
{
    if (panel == 0) {
        shown = vec4(encode(shade()), 1);
        return;
    }
    uvec2 at = min(uvec2(place * side), uvec2(side - 1));
    uint i = 3 * (at.y * side + at.x);
    vec3 image = vec3(traced[i], traced[i + 1], traced[i + 2]),
         wanted = vec3(picture[i], picture[i + 1], picture[i + 2]);
    shown = vec4(encode(panel == 1 ? image : wanted), 1);
    if (panel == 1 && overlay != 0) {
        float slope = dot(image - wanted, vec3(1)); // of L2, up to a factor
        shown.rgb = mix(vec3(dot(shown.rgb, vec3(0.3))), slope > 0 ? vec3(1, 0.1, 0.1) : vec3(0.1, 0.3, 1),
                        min(4 * abs(slope), 1));
    }
}
