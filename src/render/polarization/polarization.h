/* SPDX-License-Identifier: BSD-3-Clause
 * Polarised light while tracing: Stokes vectors, Mueller matrices, the frames that they refer to, and
 * Fresnel's equations as matrices. It knows no material and no walk.
 *
 * A Stokes vector (s0, s1, s2, s3) belongs to one direction of travel w and one unit vector x across it, its
 * basis. Angles are counted from x about w, by the right hand. s0 is the intensity. s1 is how much more of it
 * swings along x than across. s2 is the same of 45 and -45 degrees, s3 of right and left circular light. A
 * matrix maps what comes in to what goes out, each in a basis of its own. These are the conventions of
 * Mitsuba 3. */
#ifndef BL_RENDER_POLARIZATION_H
#define BL_RENDER_POLARIZATION_H

#include "render/trace.h"

/* In both, an entry that is no reference (ir_is_none) is known to be 0. Nothing is computed for it: products
 * with a depolariser have one entry, and products with the identity cost nothing. */
typedef struct stokes {
    ir_ref s[4];
} stokes;
typedef struct mueller {
    ir_ref m[4][4]; /* [row][column] */
} mueller;

/* ---- mueller.c: algebra ---- */

mueller mueller_mul(tracer *t, const mueller *a, const mueller *b); /* b comes first along the light */
mueller mueller_add(tracer *t, const mueller *a, const mueller *b);
mueller mueller_scale(tracer *t, const mueller *a, ir_ref factor);
mueller mueller_transpose(const mueller *a);
mueller mueller_select(tracer *t, ir_ref condition, const mueller *a, const mueller *b);
stokes mueller_apply(tracer *t, const mueller *a, const stokes *s);
stokes mueller_apply_row(tracer *t, const stokes *row, const mueller *a); /* row times a: a row again */

/* ---- elements.c: what stands in the way of light ---- */

mueller mueller_absorber(ir_ref transmittance);    /* whatever the polarisation */
mueller mueller_depolarizer(ir_ref transmittance); /* what goes out has no polarisation */
mueller mueller_linear_polarizer(tracer *t);       /* lets through what swings along x */
/* Its fast axis is x. phase: radians by which it delays what swings across. A quarter wave makes left
 * circular light of light at 45 degrees. */
mueller mueller_linear_retarder(tracer *t, ir_ref phase);
mueller mueller_circular_polarizer(tracer *t, ir_ref left); /* left: bool, which light it lets through */
/* The element turned by an angle in radians from x. */
mueller mueller_turned(tracer *t, const mueller *element, ir_ref angle);

/* ---- bases.c: reference frames ---- */

/* The basis that a direction has where nothing else says which. w: unit. */
vec3 stokes_basis(tracer *t, vec3 w);
/* Takes Stokes vectors from a basis to the one that is turned by an angle. Given are cosine and sine of twice
 * the angle. */
mueller stokes_rotator(tracer *t, ir_ref cosine, ir_ref sine);
/* Takes Stokes vectors of the direction w from one basis to another. Both are unit vectors across w. It may
 * run differentiated, and has a derivative everywhere. */
mueller stokes_rotation(tracer *t, vec3 w, vec3 from, vec3 to);

/* One side of a matrix: the direction of travel, the basis that the matrix has there, and the one that it is
 * to have. */
typedef struct stokes_side {
    vec3 w, from, to;
} stokes_side;
mueller mueller_between(tracer *t, const mueller *a, const stokes_side *in, const stokes_side *out);

/* ---- specular.c: Fresnel's equations ----
 *
 * Light meets a smooth interface with the normal n. On both sides the basis is the unit vector across the
 * plane of incidence, n x w for the light's direction of travel w. cos_i is the cosine between n and the
 * direction that light comes from, and negative below the surface. They may run differentiated. */

/* eta: the index below the surface over that above it. Under total reflection all comes back, with the
 * phases. */
mueller specular_reflection(tracer *t, ir_ref cos_i, ir_ref eta);
/* The power that crosses, over the power that comes in. Where radiance is wanted it is still to be divided by
 * the square of the relative index, as that of light that is not polarised. */
mueller specular_transmission(tracer *t, ir_ref cos_i, ir_ref eta);
/* A conductor with the index eta - i k, seen from vacuum at cos_i > 0. */
mueller specular_reflection_conductor(tracer *t, ir_ref cos_i, ir_ref eta, ir_ref k);

#endif
