#version 450
// SPDX-License-Identifier: BSD-3-Clause
// A path tracer written by hand: yardstick of the generated kernels' speed and oracle of their images. It
// shares no code with them, only the semantics of the integrator `path` (src/render/integrator/path/visit.c)
// and the layout of the hierarchy (spirv_gen/opt/ray_bvh.c). Triangles with constant, one-sided diffuse
// materials and flat normals; lights are meshes that emit on the side of their normals; box filter.
// src/api/reference_tracer.c fills the buffers.
//
// Semantics: depth counts segments from 0; at every surface while depth + 1 < max_depth one light is chosen
// uniformly and a point on it uniformly in area; emission found by a ray counts with the power heuristic
// against that; roulette from rr_depth on with the largest channel of the throughput, at most 0.95. Random
// numbers are pcg4d (Jarzynski and Olano 2020) of (pixel, sample, seed, block): block 0 the camera (x, y);
// vertex k has block 1 + 2k (light, point 2, roulette) and 2 + 2k (unused, direction 2). So with equal seeds
// the same paths are walked as by the generated kernels, up to rounding.
//
// Form: what was measured as fastest on CPU devices (spirv_gen/opt/ray_bvh.c): a lane has a pixel and a range
// of its samples and starts the next path in the trip after one ends (regeneration); each lane has its own
// traversal stack; descending is a loop within the loop over leaf entries, because these devices skip loops
// but not branches; planes are chosen by the direction's sign.
//
// Lane l of the film is strip * pixels + pixel with l' = pixel * strips + strip the order of invocations.
//
// binding 0  nodes, uint: node k at 16 k: left box min 3, max 3, right box min 3, max 3 (float), left and
//            right reference; 0 is the root. Reference: a node, or bit 31 set: a leaf with first entry in
//            bits 0..27 and number of entries - 1 in bits 28..30
// binding 1  triangles in the order of leaves, float, 12 each: v0, v1 - v0, v2 - v0, material (uint), 0, 0
// binding 2  materials, float, 8 each: reflectance 3, emitted radiance 3, 1 / (lights * area of the light),
//            or 0 for no light, 0
// binding 3  lights, uint: light k at 4 k: first word of its table, triangles, material, 0; a table has 10
//            words a triangle: cumulative area (float, last 1), v0, v1 - v0, v2 - v0
// binding 4  film, float: 3 sums per lane, read and written
// binding 5  counters, uint: rays (low, high word), samples dropped as not finite
// push       first_lane, lane_count, first_sample, last_sample (of each strip), strips, spp, seed, width,
//            height, max_depth (0xffffffff: unbounded), rr_depth, lights; floats: origin 3; direction through
//            the film's corner (0, 0) 3, its change from one pixel to the next in x 3 and in y 3, for unit
//            depth; near and far distance by depth

// Groups of 64. A dispatch of more than 65535 of them is split over y (gpu.h) and has whole rows, so the
// index is compared with the number of lanes.
layout(local_size_x = 64) in;
uint linear_index()
{
    return (gl_WorkGroupID.x + gl_WorkGroupID.y * 65535u) * 64u + gl_LocalInvocationID.x;
}

layout(std430, set = 0, binding = 0) readonly buffer Nodes { uint nodes[]; };
layout(std430, set = 0, binding = 1) readonly buffer Triangles { float triangles[]; };
layout(std430, set = 0, binding = 2) readonly buffer Materials { float materials[]; };
layout(std430, set = 0, binding = 3) readonly buffer Lights { uint lights[]; };
layout(std430, set = 0, binding = 4) buffer Film { float film[]; };
layout(std430, set = 0, binding = 5) buffer Counters { uint rays_low, rays_high, dropped; };
layout(push_constant) uniform Push {
    uint first_lane, lane_count, first_sample, last_sample, strips, spp, seed, width, height, max_depth,
        rr_depth, light_count;
    float origin_x, origin_y, origin_z, corner_x, corner_y, corner_z, right_x, right_y, right_z, down_x,
        down_y, down_z, near, far;
};

const uint LEAF = 0x80000000u, LEAF_FIRST = 0x0fffffffu, LEAF_COUNT = 0x70000000u, END = 0xffffffffu;
const float PI = 3.14159265358979, EXIT_SLACK = 1.0 + 1.0 / 1048576.0, RAY_EPSILON = 1500.0 / 16777216.0;

uint stack[64];

// ---- random numbers ----

vec4 random_block(uint pixel, uint sample_index, uint block)
{
    uvec4 v = uvec4(pixel, sample_index, seed, block) * 1664525u + 1013904223u;
    v.x += v.y * v.w;
    v.y += v.z * v.x;
    v.z += v.x * v.y;
    v.w += v.y * v.z;
    v ^= v >> 16u;
    v.x += v.y * v.w;
    v.y += v.z * v.x;
    v.z += v.x * v.y;
    v.w += v.y * v.z;
    return vec4(v >> 8u) * (1.0 / 16777216.0);
}

// ---- rays ----

vec3 read_vec3(uint at) { return vec3(triangles[at], triangles[at + 1u], triangles[at + 2u]); }

vec3 planes(uint node, uvec3 which)
{
    return vec3(uintBitsToFloat(nodes[node + which.x]), uintBitsToFloat(nodes[node + which.y]),
                uintBitsToFloat(nodes[node + which.z]));
}

// Direction without components near 0, which would make NaN of a plane that the ray lies in.
vec3 reciprocal(vec3 d)
{
    return 1.0 / mix(d, mix(vec3(1e-9), vec3(-1e-9), lessThan(d, vec3(0.0))), lessThan(abs(d), vec3(1e-9)));
}

// Goes down from `reference` to a leaf or the end of the stack.
void descend(vec3 o, vec3 inverse, uvec3 entry_plane, uvec3 exit_plane, float tmax, inout uint reference,
             inout uint top)
{
    while (reference < LEAF) {
        uint node = reference << 4u;
        vec3 a = (planes(node, entry_plane) - o) * inverse, b = (planes(node, exit_plane) - o) * inverse;
        vec3 c = (planes(node + 6u, entry_plane) - o) * inverse,
             d = (planes(node + 6u, exit_plane) - o) * inverse;
        uint left = nodes[node + 12u], right = nodes[node + 13u];
        float enter_left = max(max(a.x, a.y), max(a.z, 0.0)), leave_left = min(min(b.x, b.y), min(b.z, tmax));
        float enter_right = max(max(c.x, c.y), max(c.z, 0.0)),
              leave_right = min(min(d.x, d.y), min(d.z, tmax));
        bool hit_left = enter_left <= leave_left * EXIT_SLACK,
             hit_right = enter_right <= leave_right * EXIT_SLACK;
        bool both = hit_left && hit_right, none = !(hit_left || hit_right),
             left_nearer = enter_left <= enter_right;
        bool left_first = mix(hit_left, left_nearer, both);
        stack[top] = mix(left, right, left_first); // counts only if both are hit
        uint popped = stack[top - 1u];
        reference = mix(mix(right, left, left_first), popped, none);
        top += mix(0u, 1u, both);
        top -= mix(0u, 1u, none);
    }
}

// Distance, or tmax if the triangle at word `at` is missed (Moeller and Trumbore 1997).
float intersect(uint at, vec3 o, vec3 d, float tmax)
{
    vec3 v0 = read_vec3(at), e1 = read_vec3(at + 3u), e2 = read_vec3(at + 6u);
    vec3 p = cross(d, e2), s = o - v0, q = cross(s, e1);
    float inverse = 1.0 / dot(e1, p), u = dot(s, p) * inverse, v = dot(d, q) * inverse,
          t = dot(e2, q) * inverse;
    bool inside = min(min(u, v), 1.0 - u - v) >= 0.0, before = t < tmax, ahead = t > 0.0;
    bool hit = inside && before;
    hit = hit && ahead;
    return mix(tmax, t, hit);
}

// What comes after one entry of a leaf: its others, or the top of the stack.
void advance(inout uint reference, inout uint top)
{
    bool more = (reference & LEAF_COUNT) != 0u;
    uint popped = stack[top - 1u];
    top -= mix(1u, 0u, more);
    reference = mix(popped, reference - LEAF_FIRST, more);
}

uint closest(vec3 o, vec3 d, float tmax, out float t)
{
    vec3 inverse = reciprocal(d);
    bvec3 negative = lessThan(d, vec3(0.0));
    uvec3 entry_plane = mix(uvec3(0u, 1u, 2u), uvec3(3u, 4u, 5u), negative),
          exit_plane = mix(uvec3(3u, 4u, 5u), uvec3(0u, 1u, 2u), negative);
    uint found = END, reference = 0u, top = 1u;
    t = tmax;
    stack[0] = END;
    for (;;) {
        descend(o, inverse, entry_plane, exit_plane, t, reference, top);
        if (reference == END)
            break;
        uint entry = reference & LEAF_FIRST;
        float hit = intersect(entry * 12u, o, d, t);
        bool closer = hit < t;
        found = mix(found, entry, closer);
        t = mix(t, hit, closer);
        advance(reference, top);
    }
    return found;
}

bool blocked(vec3 o, vec3 d, float tmax)
{
    vec3 inverse = reciprocal(d);
    bvec3 negative = lessThan(d, vec3(0.0));
    uvec3 entry_plane = mix(uvec3(0u, 1u, 2u), uvec3(3u, 4u, 5u), negative),
          exit_plane = mix(uvec3(3u, 4u, 5u), uvec3(0u, 1u, 2u), negative);
    uint reference = 0u, top = 1u;
    bool hit = false;
    stack[0] = END;
    for (;;) {
        descend(o, inverse, entry_plane, exit_plane, tmax, reference, top);
        if (reference == END)
            break;
        hit = intersect((reference & LEAF_FIRST) * 12u, o, d, tmax) < tmax;
        advance(reference, top);
        reference = mix(reference, END, hit);
    }
    return hit;
}

vec3 offset_point(vec3 p, vec3 n, vec3 d)
{
    float by = (1.0 + max(abs(p.x), max(abs(p.y), abs(p.z)))) * RAY_EPSILON;
    return p + n * (dot(n, d) < 0.0 ? -by : by);
}

// ---- directions and lights ----

// Duff et al. 2017: a right-handed frame around n.
void frame(vec3 n, out vec3 s, out vec3 t)
{
    float sign_z = n.z >= 0.0 ? 1.0 : -1.0, a = -1.0 / (sign_z + n.z), b = n.x * n.y * a;
    s = vec3(1.0 + sign_z * n.x * n.x * a, sign_z * b, -sign_z * n.x);
    t = vec3(b, sign_z + n.y * n.y * a, -n.y);
}

// Shirley and Chiu 1997, lifted to the hemisphere; density cos / pi.
vec3 cosine_hemisphere(float u1, float u2)
{
    float x = 2.0 * u1 - 1.0, y = 2.0 * u2 - 1.0;
    bool wide = abs(x) > abs(y);
    float r = mix(y, x, wide), other = mix(x, y, wide), angle = 0.25 * PI * other / mix(r, 1.0, r == 0.0);
    float s = r * sin(angle), c = r * cos(angle);
    vec2 p = vec2(mix(s, c, wide), mix(c, s, wide));
    return vec3(p, sqrt(max(0.0, 1.0 - dot(p, p))));
}

float light_real(uint at) { return uintBitsToFloat(lights[at]); }
vec3 light_vec3(uint at) { return vec3(light_real(at), light_real(at + 1u), light_real(at + 2u)); }

// A point on a light, uniform in its area, and the normal there.
void light_point(uint light, float u1, float u2, out vec3 p, out vec3 n)
{
    uint table = lights[4u * light], first = 0u, last = lights[4u * light + 1u] - 1u;
    while (first < last) {
        uint middle = (first + last) >> 1u;
        bool below = u1 < light_real(table + 10u * middle);
        first = mix(middle + 1u, first, below);
        last = mix(last, middle, below);
    }
    uint at = table + 10u * first;
    float low = mix(light_real(at - 10u * mix(1u, 0u, first == 0u)), 0.0, first == 0u), high = light_real(at);
    float root = sqrt(1.0 - clamp((u1 - low) / (high - low), 0.0, 0.99999994));
    vec3 e1 = light_vec3(at + 4u), e2 = light_vec3(at + 7u);
    p = light_vec3(at + 1u) + e1 * (1.0 - root) + e2 * (root * u2);
    n = normalize(cross(e1, e2));
}

float power_heuristic(float a, float b) { return a * a / (a * a + b * b); }

// ---- the walk ----

void main()
{
    uint id = linear_index();
    if (id >= lane_count)
        return;
    uint index = first_lane + id, pixel = index / strips, strip = index % strips;
    uint share = spp / strips, rest = spp % strips;
    uint start = strip * share + min(strip, rest), own = share + (strip < rest ? 1u : 0u);
    uint sample_index = start + min(own, first_sample), end = start + min(own, last_sample);
    uint word = 3u * (strip * width * height + pixel);
    vec3 sum = vec3(film[word], film[word + 1u], film[word + 2u]),
         origin = vec3(origin_x, origin_y, origin_z);
    vec3 o = vec3(0.0), d = vec3(0.0, 0.0, 1.0), beta = vec3(1.0), radiance = vec3(0.0);
    float tmax = 0.0, pdf = 1.0;
    uint depth = 0u, rays = 0u, bad = 0u;
    while (sample_index < end) {
        if (depth == 0u) {
            vec4 u = random_block(pixel, sample_index, 0u);
            float x = float(pixel % width) + u.x, y = float(pixel / width) + u.y;
            d = vec3(corner_x, corner_y, corner_z) + x * vec3(right_x, right_y, right_z) +
                y * vec3(down_x, down_y, down_z);
            float by_depth = length(d);
            d /= by_depth;
            o = origin + d * (near * by_depth);
            tmax = (far - near) * by_depth;
        }
        // the surface
        float t;
        uint entry = closest(o, d, tmax, t);
        bool valid = entry != END;
        uint at = mix(entry, 0u, !valid) * 12u, material = floatBitsToUint(triangles[at + 9u]) * 8u;
        vec3 p = o + t * d, n = normalize(cross(read_vec3(at + 3u), read_vec3(at + 6u))), s, b;
        vec3 reflectance = vec3(materials[material], materials[material + 1u], materials[material + 2u]);
        float toward = -dot(d, n), inverse_area = materials[material + 6u];
        // emission found
        vec3 emitted = vec3(materials[material + 3u], materials[material + 4u], materials[material + 5u]);
        bool lit = valid && toward > 0.0;
        lit = lit && inverse_area > 0.0;
        float found = mix(power_heuristic(pdf, t * t * inverse_area / toward), 1.0, depth == 0u);
        radiance += mix(vec3(0.0), beta * emitted * found, bvec3(lit));
        bool goes_on = valid && depth + 1u < max_depth;
        // a light
        vec4 u = random_block(pixel, sample_index, 1u + 2u * depth),
             w = random_block(pixel, sample_index, 2u + 2u * depth);
        uint light = min(uint(u.x * float(light_count)), light_count - 1u);
        vec3 q, m, l;
        light_point(light, u.y, u.z, q, m);
        l = q - p;
        float distance2 = dot(l, l), distance = sqrt(distance2);
        l /= distance;
        uint source = lights[4u * light + 2u] * 8u;
        float cosine = dot(n, l), away = -dot(m, l);
        bool wanted = goes_on && min(min(cosine, away), toward) > 0.0;
        vec3 from = offset_point(p, n, l), to = q - from;
        float length_to = length(to);
        rays += 1u + uint(wanted);
        bool seen = !blocked(from, to / length_to, mix(-1.0, length_to * (1.0 - 10.0 * RAY_EPSILON), wanted));
        float light_pdf = distance2 * materials[source + 6u] / away, bsdf_pdf = cosine / PI;
        vec3 sent = vec3(materials[source + 3u], materials[source + 4u], materials[source + 5u]);
        vec3 direct =
            beta * reflectance * sent * (bsdf_pdf * power_heuristic(light_pdf, bsdf_pdf) / light_pdf);
        radiance += mix(vec3(0.0), direct, bvec3(wanted && seen));
        // the next direction; value / pdf is the reflectance
        vec3 local = cosine_hemisphere(w.y, w.z);
        frame(n, s, b);
        d = normalize(s * local.x + b * local.y + n * local.z);
        o = offset_point(p, n, d);
        pdf = local.z / PI;
        beta *= reflectance;
        depth++;
        float most = max(beta.x, max(beta.y, beta.z)),
              survival = mix(1.0, min(most, 0.95), depth >= rr_depth);
        beta /= survival;
        tmax = 1e30;
        bool alive = goes_on && min(min(toward, pdf), most) > 0.0;
        alive = alive && u.w < survival;
        // the next path
        bool finite = all(lessThan(abs(radiance), vec3(1e30)));
        bool add = !alive && finite;
        sum += mix(vec3(0.0), radiance, bvec3(add));
        bad += uint(!alive && !finite);
        radiance = mix(vec3(0.0), radiance, bvec3(alive));
        beta = mix(vec3(1.0), beta, bvec3(alive));
        depth = mix(0u, depth, alive);
        sample_index += mix(1u, 0u, alive);
    }
    film[word] = sum.x;
    film[word + 1u] = sum.y;
    film[word + 2u] = sum.z;
    if (atomicAdd(rays_low, rays) > ~rays)
        atomicAdd(rays_high, 1u);
    if (bad > 0u)
        atomicAdd(dropped, bad);
}
