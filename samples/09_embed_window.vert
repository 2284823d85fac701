// SPDX-License-Identifier: BSD-3-Clause
// The vertices of 09_embed_window.c: of the room, read out of a buffer, or of a triangle that covers a panel.
#version 460
struct Vertex { vec4 position, normal; }; // normal.w: the material
layout(set = 0, binding = 0, std430) readonly buffer Vertices { Vertex vertices[]; };
layout(push_constant) uniform Push { uint panel, side, colour, light; uint overlay; };
layout(location = 0) out vec3 position;
layout(location = 1) out vec3 normal;
layout(location = 2) out vec2 place;
layout(location = 3) flat out uint material;

const vec3 eye = vec3(0, 1.7, 4.6), target = vec3(0, 0.75, 0); // as the sensor of the scene
const float half_angle = radians(20), near = 0.1;

void main()
{
    if (panel > 0) {
        place = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2; // (0, 0), (2, 0), (0, 2)
        gl_Position = vec4(2 * place - 1, 0, 1);
        position = normal = vec3(0), material = 0;
        return;
    }
    Vertex v = vertices[gl_VertexIndex];
    vec3 ahead = normalize(target - eye), right = normalize(cross(ahead, vec3(0, 1, 0))), up = cross(right, ahead);
    vec3 from_eye = v.position.xyz - eye;
    float depth = dot(from_eye, ahead);
    gl_Position = vec4(dot(from_eye, right), -dot(from_eye, up), (depth - near) * tan(half_angle), depth * tan(half_angle));
    position = v.position.xyz, normal = v.normal.xyz, material = uint(v.normal.w);
    place = vec2(0);
}
