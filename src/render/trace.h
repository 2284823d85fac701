/* SPDX-License-Identifier: BSD-3-Clause
 * The renderer's types while tracing: vectors, colours and frames as C structs of trace references, and the
 * tracer that carries the function being recorded. A `record` is a word offset (u32 reference) into the scene
 * buffer where an instance keeps its data. */
#ifndef BL_RENDER_TRACE_H
#define BL_RENDER_TRACE_H

#include "spirv_gen/ir/ir.h"

/* Storage buffers of every kernel of the renderer, by binding. */
enum render_buffer {
    BUFFER_SCENE,    /* words: header, records, geometry, hierarchy */
    BUFFER_VALUES,   /* f32: parameter values, then derived values and sampling tables */
    BUFFER_GRADIENT, /* gradients of requested parameters (opt/accumulate.c) */
    BUFFER_FILM,     /* f32: per lane, a sum (and a sum of squares) of each channel of the film */
    BUFFER_STATUS,   /* u32 counters: enum status_word */
    BUFFER_ADJOINT,  /* f32: dL/dI per pixel and channel; or a list of lanes: enum lane_word */
    BUFFER_FROZEN,   /* f32: parameter and derived values that weights are taken from in a frozen-path
                        evaluation */
    BUFFER_SCALE,    /* f32: fixed-point scale per gradient element */
    BUFFER_SAMPLES,  /* what a replay pass leaves for the adjoint pass: planes of `slots` words (enum
                        sample_plane) */
    BUFFER_TANGENT,  /* f32: of parameter and derived values, in forward mode */
    BUFFER_COUNT
};

enum { SINGULAR_DEPTHS = 8 }; /* the last counts all that are deeper */
enum status_word {
    STATUS_DRIFT,
    STATUS_OVERFLOW,
    STATUS_UNDERFLOW,
    STATUS_NON_FINITE,
    STATUS_CUT, /* stretches with too many collisions (media/tracking.c) */
    STATUS_SINGULAR /* by depth: derivatives of rays that were dropped (attached_path.c) */,
    STATUS_COUNT = STATUS_SINGULAR + SINGULAR_DEPTHS
};

/* Words at the start of the scene buffer. */
enum scene_header {
    HEADER_NODES,
    HEADER_ENTRIES,
    HEADER_SHAPES,
    HEADER_EMITTERS,
    HEADER_SENSOR,
    HEADER_FILTER,
    HEADER_UPDATES,
    HEADER_ACCEL /* two words: device address of the acceleration structure, where rays are queries */,
    HEADER_LEVEL = HEADER_ACCEL + 2 /* record of the outer level, where there are two */,
    HEADER_INSTANCES /* their table, where rays are queries, too */,
    HEADER_MEDIA,
    HEADER_SENSOR_MEDIUM,
    HEADER_VIEW /* the record of the scene's sensor where parameters of sensors are wanted */,
    HEADER_LIGHT_TABLE /* lights_tabled: in BUFFER_VALUES */,
    HEADER_LIGHT_WEIGHTS,
    HEADER_LIGHT_TREE /* lights_tree: enum light_tree_word */,
    HEADER_FIELD,
    HEADER_SILHOUETTES /* shape/silhouette_words.h; 0: there are none */,
    HEADER_SPECTRUM /* spectrum_table; 0: light is not spectral */,
    HEADER_COUNT = 20
};

/* The most channels of light, and so the most entries of a color. How many a trace has is tracer.channels. */
enum { COLOR_MOST = 4 };

/* Words of a sample in BUFFER_SAMPLES, where light has n channels: word of slot s in plane k is
 * k * slots + s. */
typedef struct sample_planes {
    uint32_t radiance;   /* f32, n */
    uint32_t but_one;    /* f32, n: contributions that miss exactly one factor */
    uint32_t seen;       /* u32: bit k, the light that vertex k sampled is visible */
    uint32_t hash;       /* u32: of the path's decisions */
    uint32_t again;      /* u32: replay_state.again */
    uint32_t words;      /* how many these are; behind them so many words .. */
    uint32_t remembered; /* .. for each of plan_remembers_transmittance sampled lights:
                            integrator/media/remembered_transmittance.c */
} sample_planes;
static inline sample_planes sample_planes_of(uint32_t n)
{
    return (sample_planes){0, n, 2 * n, 2 * n + 1, 2 * n + 2, 2 * n + 3, n + 3};
}
enum {
    REMEMBERED_MOST = 16,
    HITS_REMEMBERED = 8,
    SAMPLE_WORDS_MOST = 2 * COLOR_MOST + 3 + (COLOR_MOST + 3) * REMEMBERED_MOST + 5 * HITS_REMEMBERED
};
/* Of METHOD_TAPE instead: u32, how many vertices; and for each of them so many words, of which five colours
 * have the channels of light; in volumetric walks six more, or counts by channel; where paths are attached
 * one more. */
static inline uint32_t tape_vertex_words(uint32_t channels, bool volumetric, bool attached)
{
    return volumetric ? 82 + 11 * channels : attached ? 106 + 6 * channels : 63 + 5 * channels;
}

/* BUFFER_ADJOINT where lanes are listed: of each, a row with dL/dI of one sample, times the sample's weight
 * (a f32 for each channel of the film); behind all of these, of each, a row as long with: */
enum lane_word { LANE_PIXEL, LANE_FIRST /* of the pixel's samples */, LANE_SAMPLES, LANE_WORDS };
/* The length of these rows. */
static inline uint32_t lane_row_words(uint32_t film_channels)
{
    return film_channels > LANE_WORDS ? film_channels : LANE_WORDS;
}

/* BUFFER_SAMPLES of passes of Metropolis chains (kernels/metropolis.c): the header, then planes of
 * UNIFORM_CHAIN_LANES words, then CHAIN_BLOCKS blocks of four numbers for each chain. Lanes are particles;
 * those of a chain follow each other. The same words of all particles of a chain are marked (C). */
enum chain_header {
    CHAIN_UNIT,   /* f32: pixels / (chains * steps) */
    CHAIN_MEAN,   /* f32: roughly the mean value of a path, for MIS weights */
    CHAIN_RATIO,  /* f32: the mean value of a path over CHAIN_MEAN */
    CHAIN_FIRST,  /* u32: the step with which samples of direct light begin, */
    CHAIN_DIRECT, /* u32: and how many of them a pixel has */
    CHAIN_HEADER = 16
};
enum chain_plane {
    CHAIN_START_NAME,
    CHAIN_START_STEP,                      /* u32: the step of the chain that CHAIN_START repeats (C) */
    CHAIN_NEW_VALUE,                       /* f32: of the particle's path: the luminance of */
    CHAIN_NEW_COLOR,                       /* f32: what it adds to */
    CHAIN_NEW_PIXEL = CHAIN_NEW_COLOR + 4, /* u32: its pixel, */
    CHAIN_NEW_BLOCKS,                      /* u32: and how many blocks of numbers it has read */
    CHAIN_NOW_VALUE,                       /* of the state: the mean over particles, (C) */
    CHAIN_NOW_COLOR,
    CHAIN_NOW_PIXEL = CHAIN_NOW_COLOR + 4,
    CHAIN_NOW_BLOCKS, /* the largest of all particles, (C) */
    CHAIN_NOW_WEIGHT, /* f32: and what its splats are to be multiplied by, which grows as it stays (C) */
    CHAIN_TAKEN,      /* u32: small steps that were taken, (C) */
    CHAIN_LARGE,      /* large steps, */
    CHAIN_LARGE_TAKEN,
    CHAIN_LARGE_SUM,                             /* f32: and the sum of their values */
    CHAIN_VERTICES,                              /* u32: vertices of the lane's paths */
    CHAIN_DIRECT_COLOR,                          /* f32: what its sample of direct light adds to */
    CHAIN_DIRECT_PIXEL = CHAIN_DIRECT_COLOR + 4, /* u32: its pixel; PLAN_NONE: there is none */
    CHAIN_PLANES
};
enum { CHAIN_BLOCKS = 64, CHAIN_BLOCK = 4 };
enum chain_phase { CHAIN_PROBE /* large steps alone, not taken */, CHAIN_START, CHAIN_STEP };

/* Push-constant words: one range of work (docs/architecture.md, A pass is a range). */
enum render_uniform {
    UNIFORM_FIRST_LANE, /* lane = pixel * strips + strip; of RENDER_UPDATE*: object with derived values */
    UNIFORM_LANE_COUNT,
    UNIFORM_FIRST_SAMPLE, /* of each strip: samples [first, last) of the strip's own */
    UNIFORM_LAST_SAMPLE,
    UNIFORM_STRIPS, /* of a pixel; where lanes are listed: how many of these there are */
    UNIFORM_SPP,
    UNIFORM_SEED,
    UNIFORM_STREAM, /* 0: image, 1: gradient */
    UNIFORM_WIDTH,
    UNIFORM_HEIGHT,
    UNIFORM_HALVES,    /* 2: samples of even strips take dL/dI from the second image of BUFFER_ADJOINT, of odd
                          strips from the first */
    UNIFORM_TILE_LANE, /* what BUFFER_SAMPLES holds: from this lane */
    UNIFORM_TILE_LANES,   /* on so many, */
    UNIFORM_TILE_SAMPLE,  /* from this sample of each strip's own on, */
    UNIFORM_TILE_SLOTS,   /* lanes times samples in all */
    UNIFORM_BATCH,        /* of a batch of pixels (plan.batch_pixels): the word of BUFFER_SCENE where its list
                             begins, */
    UNIFORM_BATCH_PIXELS, /* and how many pixels it has */
    UNIFORM_UNKNOWN,      /* of RENDER_REPLAY: 1: dL/dI follows from the image of this pass */
    UNIFORM_COUNT,
    UNIFORM_TAPE_ROOM = UNIFORM_UNKNOWN,  /* of RENDER_TAPE: BUFFER_SAMPLES has room for so many vertices of
                                             each  sample */
    UNIFORM_CHAIN_PHASE = UNIFORM_HALVES, /* of passes of Metropolis chains: enum chain_phase, */
    UNIFORM_CHAIN_STEP = UNIFORM_FIRST_SAMPLE, /* the number that names the step's random numbers, */
    UNIFORM_CHAIN_LAST = UNIFORM_LAST_SAMPLE,  /* 1: it is the last step, */
    UNIFORM_CHAIN_LANES = UNIFORM_TILE_SLOTS,  /* and how many lanes there are in all */
    UNIFORM_FILM_SPP = UNIFORM_TILE_SLOTS,     /* of RENDER_EDGES_PATH_FORWARD: the film is divided by it */
    UNIFORM_EDGES_LEARN = UNIFORM_TILE_SAMPLE, /* of passes of edges: samples of each cell of silhouettes, of
                                                  which only how much they matter is found; 0: a usual run */
    UNIFORM_TABLE_STEP = UNIFORM_FIRST_SAMPLE, /* of RENDER_TABLES: which traced function, */
    UNIFORM_TABLE_RECORD = UNIFORM_LAST_SAMPLE /* and of which record */
};

struct plan;
struct surface;

/* What the channels of light are. */
enum light_kind {
    LIGHT_RGB,     /* red, green, blue */
    LIGHT_MONO,    /* luminance */
    LIGHT_SPECTRAL /* wavelengths of the path */
};

/* Whose messages those of a material's function are (print.h): arguments of that function. */
typedef struct print_place {
    ir_ref when;          /* bool: a path is there, which calls the function */
    ir_ref pixel, sample; /* u32 */
} print_place;

typedef struct tracer {
    ir_func *f;
    const struct plan *plan;
    const struct surface *surface;   /* in functions of materials */
    const print_place *print;        /* there, where they may print (print.h); else NULL */
    const struct affine_map *motion; /* how the points move that describe the current shape
                                        (shape/to_world.c); NULL: they stay */
    bool differentiated;             /* parameter reads carry derivatives (or come from the frozen values) */
    bool frozen;                     /* differentiated reads come from BUFFER_FROZEN instead */
    enum light_kind light;           /* what its channels are, */
    uint32_t channels;               /* and how many: as many entries of each color are used */
    const struct wavelength_set *wavelengths; /* of the path, where light is LIGHT_SPECTRAL; entry k of a
                                                 color is at wavelength k (spectrum/spectrum.h) */
} tracer;

/* Reads what has decided the path: without derivatives, and never the frozen values. */
static inline tracer t_deciding(const tracer *t)
{
    tracer r = *t;
    r.differentiated = false;
    return r;
}

typedef struct vec2 {
    ir_ref x, y;
} vec2;
typedef struct vec3 {
    ir_ref x, y, z;
} vec3;
typedef struct color {
    ir_ref c[COLOR_MOST]; /* tracer.channels of them */
} color;
typedef struct frame {
    vec3 s, t, n; /* orthonormal, right-handed */
} frame;

/* ---- scalars ---- */

static inline ir_ref t_f32(tracer *t, float v) { return ir_f32(t->f, v); }
static inline ir_ref t_u32(tracer *t, uint32_t v) { return ir_u32(t->f, v); }
static inline ir_ref t_clamp(tracer *t, ir_ref v, float least, float most)
{
    return ir_min(t->f, ir_max(t->f, v, t_f32(t, least)), t_f32(t, most));
}
/* a*b + c, as two rounded operations */
static inline ir_ref t_mad(tracer *t, ir_ref a, ir_ref b, ir_ref c)
{
    return ir_add(t->f, ir_mul(t->f, a, b), c);
}
/* sqrt(max(v, 0)) */
static inline ir_ref t_safe_sqrt(tracer *t, ir_ref v) { return ir_sqrt(t->f, ir_max(t->f, v, t_f32(t, 0))); }
static inline ir_ref t_sqr(tracer *t, ir_ref v) { return ir_mul(t->f, v, v); }
/* a / b where b > 0, else 0 */
static inline ir_ref t_ratio(tracer *t, ir_ref a, ir_ref b)
{
    ir_ref positive = ir_gt(t->f, b, t_f32(t, 0));
    return ir_select(t->f, positive, ir_div(t->f, a, ir_select(t->f, positive, b, t_f32(t, 1))), t_f32(t, 0));
}
/* bool: some of these bits are set. */
static inline ir_ref t_has_bit(tracer *t, ir_ref word, uint32_t bits)
{
    return ir_ne(t->f, ir_and(t->f, word, t_u32(t, bits)), t_u32(t, 0));
}
static inline ir_ref t_offset(tracer *t, ir_ref word, uint32_t by)
{
    return by ? ir_add(t->f, word, t_u32(t, by)) : word;
}
/* The same place, marked as a multiple of four words, which it must be: words next to it are then read as
 * vectors (spirv_gen/spv/vector_loads.c). */
static inline ir_ref t_aligned(tracer *t, ir_ref word) { return ir_and(t->f, word, t_u32(t, ~3u)); }
static inline ir_ref t_word(tracer *t, ir_ref record, uint32_t word)
{
    return ir_load(t->f, IR_U32, BUFFER_SCENE, t_offset(t, record, word));
}
static inline ir_ref t_real(tracer *t, ir_ref record, uint32_t word)
{
    return ir_load(t->f, IR_F32, BUFFER_SCENE, t_offset(t, record, word));
}

/* ---- vectors ---- */

static inline vec3 v3(ir_ref x, ir_ref y, ir_ref z) { return (vec3){x, y, z}; }
static inline vec3 vec3_at(const ir_ref *r) { return v3(r[0], r[1], r[2]); }
static inline void vec3_put(vec3 v, ir_ref *out) { out[0] = v.x, out[1] = v.y, out[2] = v.z; }
static inline vec3 v3_detach(tracer *t, vec3 v)
{
    return v3(ir_detach(t->f, v.x), ir_detach(t->f, v.y), ir_detach(t->f, v.z));
}
static inline vec3 v3_zero(tracer *t) { return v3(t_f32(t, 0), t_f32(t, 0), t_f32(t, 0)); }
static inline vec3 v3_none(void) { return (vec3){{0}, {0}, {0}}; } /* no references */
static inline vec3 v3_add(tracer *t, vec3 a, vec3 b)
{
    return v3(ir_add(t->f, a.x, b.x), ir_add(t->f, a.y, b.y), ir_add(t->f, a.z, b.z));
}
static inline vec3 v3_sub(tracer *t, vec3 a, vec3 b)
{
    return v3(ir_sub(t->f, a.x, b.x), ir_sub(t->f, a.y, b.y), ir_sub(t->f, a.z, b.z));
}
static inline vec3 v3_scale(tracer *t, vec3 a, ir_ref s)
{
    return v3(ir_mul(t->f, a.x, s), ir_mul(t->f, a.y, s), ir_mul(t->f, a.z, s));
}
static inline vec3 v3_neg(tracer *t, vec3 a)
{
    return v3(ir_neg(t->f, a.x), ir_neg(t->f, a.y), ir_neg(t->f, a.z));
}
static inline ir_ref v3_dot(tracer *t, vec3 a, vec3 b)
{
    return t_mad(t, a.x, b.x, t_mad(t, a.y, b.y, ir_mul(t->f, a.z, b.z)));
}
static inline vec3 v3_cross(tracer *t, vec3 a, vec3 b)
{
    ir_func *f = t->f;
    return v3(ir_sub(f, ir_mul(f, a.y, b.z), ir_mul(f, a.z, b.y)),
              ir_sub(f, ir_mul(f, a.z, b.x), ir_mul(f, a.x, b.z)),
              ir_sub(f, ir_mul(f, a.x, b.y), ir_mul(f, a.y, b.x)));
}
static inline ir_ref v3_length(tracer *t, vec3 a) { return ir_sqrt(t->f, v3_dot(t, a, a)); }
static inline vec3 v3_normalize(tracer *t, vec3 a)
{
    return v3_scale(t, a, ir_div(t->f, t_f32(t, 1), v3_length(t, a)));
}
static inline vec3 v3_select(tracer *t, ir_ref c, vec3 a, vec3 b)
{
    return v3(ir_select(t->f, c, a.x, b.x), ir_select(t->f, c, a.y, b.y), ir_select(t->f, c, a.z, b.z));
}
/* The vector from whichever side of an `if` was taken. */
static inline vec3 v3_phi(tracer *t, ir_ref if_op, vec3 a, vec3 b)
{
    return v3(ir_phi(t->f, if_op, a.x, b.x), ir_phi(t->f, if_op, a.y, b.y), ir_phi(t->f, if_op, a.z, b.z));
}
static inline vec3 v3_load(tracer *t, ir_ref record, uint32_t word)
{
    return v3(t_real(t, record, word), t_real(t, record, word + 1), t_real(t, record, word + 2));
}

/* ---- affine maps in records: three rows of four words, the fourth a translation ---- */

/* One coordinate of a point or a vector that is mapped by the row at `row`. */
static inline ir_ref v3_point_by_row(tracer *t, ir_ref record, uint32_t row, vec3 p)
{
    ir_ref translation = t_real(t, record, row + 3);
    return ir_add(t->f, v3_dot(t, v3_load(t, record, row), p), translation);
}
static inline ir_ref v3_vector_by_row(tracer *t, ir_ref record, uint32_t row, vec3 d)
{
    return v3_dot(t, v3_load(t, record, row), d);
}

/* A point or a vector mapped by the three rows that begin at `map`. */
static inline vec3 v3_point_by_map(tracer *t, ir_ref record, uint32_t map, vec3 p)
{
    ir_ref row[3];
    for (uint32_t k = 0; k < 3; k++)
        row[k] = v3_point_by_row(t, record, map + 4 * k, p);
    return vec3_at(row);
}
static inline vec3 v3_vector_by_map(tracer *t, ir_ref record, uint32_t map, vec3 d)
{
    ir_ref row[3];
    for (uint32_t k = 0; k < 3; k++)
        row[k] = v3_vector_by_row(t, record, map + 4 * k, d);
    return vec3_at(row);
}

/* A normal, by the map whose inverse this is: multiplied by the transpose. n . v stays as it is for vectors v
 * that are mapped, too. */
static inline vec3 v3_covector_by_map(tracer *t, ir_ref record, uint32_t map, vec3 n)
{
    vec3 x = v3_load(t, record, map), y = v3_load(t, record, map + 4), z = v3_load(t, record, map + 8);
    return v3_add(t, v3_scale(t, x, n.x), v3_add(t, v3_scale(t, y, n.y), v3_scale(t, z, n.z)));
}
/* The same, of unit length. */
static inline vec3 v3_normal_by_map(tracer *t, ir_ref record, uint32_t map, vec3 n)
{
    return v3_normalize(t, v3_covector_by_map(t, record, map, n));
}

/* ---- colours ---- */

static inline color color_all(ir_ref v) { return (color){{v, v, v, v}}; }
/* A color of which each channel c is the expression. The tracer is called t. */
#define COLOR_EACH(result, expression)                                                                       \
    color result = {0};                                                                                      \
    for (uint32_t c = 0; c < t->channels; c++)                                                               \
    result.c[c] = (expression)
static inline color color_mul(tracer *t, color a, color b)
{
    COLOR_EACH(r, ir_mul(t->f, a.c[c], b.c[c]));
    return r;
}
static inline color color_add(tracer *t, color a, color b)
{
    COLOR_EACH(r, ir_add(t->f, a.c[c], b.c[c]));
    return r;
}
static inline color color_scale(tracer *t, color a, ir_ref s)
{
    COLOR_EACH(r, ir_mul(t->f, a.c[c], s));
    return r;
}
static inline color color_detach(tracer *t, color a)
{
    COLOR_EACH(r, ir_detach(t->f, a.c[c]));
    return r;
}
static inline color color_select(tracer *t, ir_ref condition, color a, color b)
{
    COLOR_EACH(r, ir_select(t->f, condition, a.c[c], b.c[c]));
    return r;
}
static inline ir_ref color_max(tracer *t, color a)
{
    ir_ref most = a.c[t->channels - 1];
    for (uint32_t c = t->channels - 1; c-- > 0;)
        most = ir_max(t->f, a.c[c], most);
    return most;
}
static inline ir_ref color_sum(tracer *t, color a)
{
    ir_ref sum = a.c[t->channels - 1];
    for (uint32_t c = t->channels - 1; c-- > 0;)
        sum = ir_add(t->f, a.c[c], sum);
    return sum;
}
/* The sum of the products of the channels. */
static inline ir_ref color_dot(tracer *t, color a, color b)
{
    uint32_t last = t->channels - 1;
    ir_ref sum = ir_mul(t->f, a.c[last], b.c[last]);
    for (uint32_t c = last; c-- > 0;)
        sum = t_mad(t, a.c[c], b.c[c], sum);
    return sum;
}

/* What a material may ask of the surface beyond uv: enum surface_need. Vectors but p are in the frame of the
 * shading normal. */
typedef struct surface {
    vec2 du, dv; /* dp/du and dp/dv without their parts along the normal; du lies along the first axis */
    vec3 ng;     /* geometric normal */
    ir_ref mesh, face; /* u32: data words of the mesh; index */
    vec2 b;            /* barycentrics of the face's second and third vertex */
    vec3 p;            /* in the world */
} surface;

/* ---- frames ---- */

frame frame_around(tracer *t, vec3 n); /* frame.c */
static inline vec3 frame_to_local(tracer *t, frame fr, vec3 v)
{
    return v3(v3_dot(t, v, fr.s), v3_dot(t, v, fr.t), v3_dot(t, v, fr.n));
}
static inline vec3 frame_to_world(tracer *t, frame fr, vec3 v)
{
    return v3_add(t, v3_scale(t, fr.s, v.x), v3_add(t, v3_scale(t, fr.t, v.y), v3_scale(t, fr.n, v.z)));
}

/* Self-intersection: 1500 ulp of (1 + max |p|), ten times that at the light's end (Mitsuba). */
#define RAY_EPSILON (1500 * 0x1p-24f)
ir_ref ray_epsilon(tracer *t, vec3 p); /* frame.c: that of a point */
/* frame.c: p moved along the normal n to the side that d points to, where a ray in direction d can start. */
vec3 ray_offset(tracer *t, vec3 p, vec3 n, vec3 d);
/* frame.c: how far a ray in direction d goes on behind a surface at p with normal n, if it stays on its line.
 * Off the surface along the normal it would lie as far beside the line as rays pass edges that move, and miss
 * those or meet them twice. So where edges are looked for, rays through surfaces go on by this. */
ir_ref ray_onward(tracer *t, vec3 p, vec3 n, vec3 d);

/* ---- random.c: counter-based; the same numbers whatever the schedule ---- */

typedef struct random4 {
    ir_ref u[4]; /* f32 in [0, 1), 24 bits */
} random4;
/* pcg4d (Jarzynski and Olano 2020) of (pixel, sample, seed, stream and block). Block 0 is the camera, vertex
 * k owns 1 + 2k and 2 + 2k. */
random4 random_block(tracer *t, ir_ref pixel, ir_ref sample, ir_ref seed, ir_ref stream, ir_ref block);
/* The four words of 32 bits that the block's numbers are made of. */
typedef struct random_counter {
    ir_ref pixel, sample, seed, stream, block; /* u32 */
} random_counter;
void random_words(tracer *t, const random_counter *c, ir_ref words[4]);

/* ---- warp.c: u in [0,1)^2 to directions and points; densities where not obvious ---- */

vec2 warp_disk_concentric(tracer *t, ir_ref u1, ir_ref u2);
vec3 warp_cosine_hemisphere(tracer *t, ir_ref u1, ir_ref u2); /* pdf cos/pi */
vec3 warp_uniform_sphere(tracer *t, ir_ref u1, ir_ref u2);    /* pdf 1/(4 pi) */
vec3 warp_about(tracer *t, vec3 axis, ir_ref cosine,
                ir_ref u); /* this cosine to the unit axis, azimuth 2 pi u; any density over cosines */
vec3 warp_uniform_cone(tracer *t, ir_ref u1, ir_ref u2,
                       ir_ref one_minus_cos);        /* around +z; pdf 1/(2 pi one_minus_cos) */
vec2 warp_triangle(tracer *t, ir_ref u1, ir_ref u2); /* uniform barycentrics of the second and third vertex */
/* Index of the interval of a cumulative table (count f32 words at `table` of a buffer, ascending) that holds
 * u, which is below the last. */
ir_ref warp_discrete(tracer *t, enum render_buffer buffer, ir_ref table, ir_ref count, ir_ref u);
/* The same, where the interval is known to be between two others, or one of these. */
ir_ref warp_discrete_between(tracer *t, enum render_buffer buffer, ir_ref table, ir_ref first, ir_ref last,
                             ir_ref u);
/* Where interval k of such a table begins. */
ir_ref warp_interval_begin(tracer *t, enum render_buffer buffer, ir_ref table, ir_ref k);
/* warp_discrete for u * sum, in a table of BUFFER_VALUES. *inside: where in the interval the number lies,
 * which is uniform in [0, 1] again. */
ir_ref warp_discrete_rest(tracer *t, ir_ref table, ir_ref count, ir_ref sum, ir_ref u, ir_ref *inside);
/* A cumulative table of BUFFER_VALUES with a guide (Chen and Asau 1974), which leaves few intervals to
 * search. The guide has steps + 1 words; entry g is the interval (as f32) that u = g / steps lies in. steps
 * (u32) is a power of two, about the number of intervals. sum: the table's last entry. */
typedef struct guided_table {
    ir_ref table, guide, steps, sum;
} guided_table;
/* warp_discrete_rest with such a table. */
ir_ref warp_guided_rest(tracer *t, const guided_table *g, ir_ref u, ir_ref *inside);
ir_ref warp_guide_entry(tracer *t, ir_ref table, ir_ref count, ir_ref steps, ir_ref sum, ir_ref g);

#endif
