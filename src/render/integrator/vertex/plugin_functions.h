/* SPDX-License-Identifier: BSD-3-Clause
 * What the traced functions of plugins take and return (walk_functions): one struct for the arguments of a
 * kind of function, one for its results, and for each struct one function that visits its fields in order.
 * The same visit declares the parameters of a traced function, writes the list that a call takes, and reads
 * the list that a call has returned. So each order is written down once, and caller and callee agree.
 *
 * Most lists begin with the record of the instance that is called; visits begin behind it. A visit leaves out
 * the fields that the kernel has no use for; these fields are then no references. */
#ifndef BL_RENDER_PLUGIN_FUNCTIONS_H
#define BL_RENDER_PLUGIN_FUNCTIONS_H

#include "render/integrator/walk/walk.h"

enum { REFS_MOST = 96 };

/* What a visit does with each field of its struct. */
typedef enum refs_way {
    REFS_WRITTEN, /* the field is appended to the list */
    REFS_READ,    /* the field is set from the list */
    REFS_DECLARED /* the field becomes a new parameter of the traced function, and is appended */
} refs_way;

/* References in the order in which a traced function takes or returns them. */
typedef struct ref_list {
    refs_way way;
    ir_func *f;      /* REFS_DECLARED: the traced function */
    uint32_t before; /* references before the first field: 1 where there is a record, else 0 */
    uint32_t count;
    ir_ref at[REFS_MOST];
} ref_list;

/* A list for the arguments of a call. The first argument is this record (for `interact`, the entry). */
ref_list refs_for(ir_ref record);
/* A list of fields alone, without a record, to be written. */
ref_list refs_fields(void);
/* A list of results, to be read. A call leaves them in `at`. */
ref_list refs_results(void);
/* A list of the parameters of f. This declares the first parameter, the record. */
ref_list refs_parameters(ir_func *f, ir_ref *record);
/* Goes back to the first field, to visit the fields again in another way. */
void refs_rewind(ref_list *l, refs_way way);
/* refs_detach detaches the numbers of a list. refs_shift moves them by now - before (walk_shifted). Words and
 * the record stay. */
void refs_detach(walk *w, ref_list *l);
void refs_shift(walk *w, ir_ref condition, ref_list *at, const ref_list *now, const ref_list *before);

/* A function of a class while it is traced. Its parameters begin with the instance's record (for `interact`,
 * the entry). */
typedef struct plugin_function {
    ir_func *f;
    tracer t;
    ir_ref record;
    ref_list in, out; /* in: parameters to be declared; out: results to be written */
} plugin_function;
plugin_function plugin_function_begin(walk *w, const char *name, bool differentiated);
ir_func *plugin_function_end(plugin_function *p); /* which returns `out` */
/* Room for n functions, in the arena of the walk's module. */
ir_func **plugin_function_array(walk *w, uint32_t n);

/* Calls that the vertex of a walk leaves out where nobody needs their results. Devices then skip a call that
 * no lane needs, and lanes that do not need it read nothing. `walk_spares` is false where derivatives may run
 * in all lanes, and want all results: where parameters move what the path meets, and in passes that check;
 * and where walks are cut at calls, which cannot be inside of branches. Both kernels of path replay find the
 * same, so that a path's hash is the same in both. */
bool walk_spares(const walk *w);
/* Ends a branch of ir_if that has no other side. Outside of it these values are 0. */
void walk_end_branch(walk *w, ir_ref branch, ir_ref *values, uint32_t count);
/* ir_call, whose results are 0 where `when` is false; when: none, or a walk that does not spare: everywhere.
 */
void walk_call(walk *w, ir_ref when, ir_ref selector, ir_func *const *targets, uint32_t target_count,
               const ref_list *in, ir_ref *results);

/* A field of a list. Visits are made of these. */
void refs_field(ref_list *l, ir_type type, ir_ref *field);
void refs_number(ref_list *l, ir_ref *field); /* f32 */
void refs_vec2(ref_list *l, vec2 *v);
void refs_vec3(ref_list *l, vec3 *v);
void refs_color(const walk *w, ref_list *l, color *c);
/* Where light is spectral: the wavelengths of the path, those of the walk's tracer where they are written. */
void refs_wavelengths(const walk *w, ref_list *l, wavelength_set *set);

/* ---- materials, and phase functions in their place ---- */

/* Visits what some material of the plan reads (enum surface_need). */
void surface_visit(const walk *w, ref_list *l, surface *s);

/* Directions are local to the surface. For a phase function they are in the world, and the phase function is
 * evaluated at the point whose x and y are uv and whose z is collision_z. */
typedef struct bsdf_sample_arguments {
    vec3 wi;
    vec2 uv;
    vec3 to_light;
    ir_ref u[3];
    surface on;
    ir_ref collision_z; /* where walk.volumetric */
    wavelength_set wavelengths;
    ir_ref hero;       /* where walk.disperses: u32, the wavelength by which it is sampled, */
    color share;       /* and with which probabilities it was chosen */
    print_place print; /* where walk_prints */
} bsdf_sample_arguments;
typedef struct bsdf_sample_results {
    ir_ref light_pdf; /* density of the material's sampling for the direction to the light */
    bsdf_sample sample;
    ir_ref roughness; /* where walk.wants.attached_lobes */
    color share;      /* where walk.disperses: the probabilities behind the sample */
} bsdf_sample_results;
void bsdf_sample_visit(const walk *w, ref_list *l, bsdf_sample_arguments *a);
void bsdf_sample_results_visit(const walk *w, ref_list *l, bsdf_sample_results *r);
/* The last argument of bsdf_sample and bsdf_value. It has a visit of its own because materials, which do not
 * read it, declare it behind their code. */
void collision_z_visit(const walk *w, ref_list *l, ir_ref *z);

typedef struct bsdf_value_arguments {
    vec3 wi;
    vec2 uv;
    vec3 to_light, wo;
    ir_ref delta, lobe; /* bsdf_sample.delta and lobe of the sample wo */
    surface on;
    ir_ref collision_z; /* where walk.volumetric */
    wavelength_set wavelengths;
    ir_ref hero;       /* where walk.disperses: as of the sample */
    print_place print; /* where walk_prints */
} bsdf_value_arguments;
typedef struct bsdf_value_results {
    color for_light, for_sample;
} bsdf_value_results;
void bsdf_value_visit(const walk *w, ref_list *l, bsdf_value_arguments *a);
/* Visits only directions and uv. */
void bsdf_value_directions_visit(ref_list *l, bsdf_value_arguments *a);
void bsdf_value_results_visit(const walk *w, ref_list *l, bsdf_value_results *r);

/* What bsdf_polarized returns; its arguments are those of bsdf_value. All entries are numbers. `light` has
 * the first column only, since lights are unpolarised. */
typedef struct bsdf_polarized_results {
    stokes light[COLOR_MOST];
    bsdf_polarized sample;
    vec3 light_axis;
} bsdf_polarized_results;
void bsdf_polarized_results_visit(const walk *w, ref_list *l, bsdf_polarized_results *r);

/* Arguments of bsdf_through and bsdf_albedo, which depend on one direction. The result is a color. */
typedef struct bsdf_color_arguments {
    vec3 wi;
    vec2 uv;
    surface on;
    wavelength_set wavelengths;
} bsdf_color_arguments;
void bsdf_color_visit(const walk *w, ref_list *l, bsdf_color_arguments *a);

/* Where a discrete lobe leads. The result is a direction. */
typedef struct bsdf_lobe_direction_arguments {
    vec3 wi;
    vec2 uv;
    ir_ref lobe;
    surface on;
    wavelength_set wavelengths; /* where walk.disperses, `bends` alone: the hero's */
} bsdf_lobe_direction_arguments;
void bsdf_lobe_direction_visit(const walk *w, ref_list *l, bsdf_lobe_direction_arguments *a);
typedef struct bsdf_lobe_direction_results {
    vec3 d;
    ir_ref eta; /* for light tracing: the relative index of refraction along it */
} bsdf_lobe_direction_results;
void bsdf_lobe_direction_results_visit(const walk *w, ref_list *l, bsdf_lobe_direction_results *r);

/* Where an attached sample leads (motion/attached_lobe.c). */
typedef struct bsdf_attach_arguments {
    vec3 wi;
    vec2 uv;
    ir_ref delta;
    bsdf_draw draw; /* the sample's choices and random numbers, as they were decided */
    vec3 to_light;
    surface on;
    wavelength_set wavelengths;
} bsdf_attach_arguments;
typedef struct bsdf_attach_results {
    bsdf_attached to;      /* the direction; its density is the one given the choices that were made */
    ir_ref pdf, light_pdf; /* densities, over all choices, of that direction and of the one to the light */
} bsdf_attach_results;
void bsdf_attach_visit(const walk *w, ref_list *l, bsdf_attach_arguments *a);
void bsdf_attach_results_visit(ref_list *l, bsdf_attach_results *r);

/* ---- dispersion.c: materials whose index depends on the wavelength ---- */

/* The wavelength (u32) that a uniform number chooses with the probabilities `share`. */
ir_ref dispersion_hero(walk *w, color share, ir_ref u);
ir_ref dispersion_hero_nm(tracer *t, ir_ref hero); /* its wavelength */
void dispersion_sample(const bsdf_context *ctx, const bsdf_sample_arguments *a, bsdf_sample_results *r);
color dispersion_value(const bsdf_context *ctx, ir_ref hero, vec3 wo, ir_ref delta, ir_ref lobe);
bsdf_polarized dispersion_polarized(const bsdf_context *ctx, ir_ref hero, vec3 wo, ir_ref delta, ir_ref lobe);
/* A color that a material has for one direction: bsdf_through or bsdf_albedo. */
typedef color bsdf_colour(const bsdf_context *ctx);
color dispersion_colour(const bsdf_context *ctx, bsdf_colour *of);

/* ---- lights ---- */

typedef struct emitter_sample_arguments {
    vec3 ref;
    ir_ref u[2];
} emitter_sample_arguments;
void emitter_sample_visit(ref_list *l, emitter_sample_arguments *a);
void emitter_sample_results_visit(const walk *w, ref_list *l, emitter_sample *s);

typedef struct emitter_ray_arguments {
    ir_ref u[4];
} emitter_ray_arguments;
void emitter_ray_visit(ref_list *l, emitter_ray_arguments *a);
void emitter_ray_results_visit(const walk *w, ref_list *l, emitter_ray *r);

typedef struct emitter_radiance_arguments {
    vec2 uv;
    ir_ref distance, facing;
    surface on; /* face, b and p, as far as plan.light_needs */
    wavelength_set wavelengths;
} emitter_radiance_arguments;
void emitter_radiance_visit(const walk *w, ref_list *l, emitter_radiance_arguments *a);

/* Arguments of emitter_moved, which says how a sampled light is seen from a point that may move. */
typedef struct emitter_moved_arguments {
    vec3 ref, d;
    ir_ref distance;
    vec2 uv;
    vec3 ref_before, n; /* where hits move (MOVE_HITS): ref, detached; normal on the light */
    ir_ref face;        /* where plan.lights_slide: the face that the light's point lies on */
    vec2 b;             /* and the point's coordinates on it */
} emitter_moved_arguments;
typedef struct emitter_moved_results {
    vec3 d;
    ir_ref distance;
    vec2 uv;
    ir_ref growth; /* where hits move: growth, as a factor, of the solid angle of a piece of the light's
                      surface */
    vec2 b;        /* where plan.lights_slide: coordinates on the face */
} emitter_moved_results;
void emitter_moved_visit(const walk *w, ref_list *l, emitter_moved_arguments *a);
void emitter_moved_results_visit(const walk *w, ref_list *l, emitter_moved_results *r);

/* Arguments of emitter_pdf and emitter_smooth. The result is a density. */
void emitter_pdf_visit(ref_list *l, emitter_hit *hit);

/* ---- shapes ---- */

/* Arguments of interact: a ray, and where it has met an entry. The entry stands in the place of the
 * record. */
typedef struct interact_arguments {
    ir_ref data; /* u32: SHAPE_DATA of the shape */
    vec3 o, d;
    ir_ref t;
    vec2 b;
    ir_ref slides, valid; /* where shapes move with their to_world: as in walk_hit */
} interact_arguments;
/* to_world: the function is differentiated, and shapes move with their to_world (MOVE_TO_WORLD). */
void interact_visit(ref_list *l, interact_arguments *a, bool to_world);
/* si has to be complete (interaction_complete) when it is written. */
void interact_results_visit(tracer *t, ref_list *l, interaction *si);

#endif
