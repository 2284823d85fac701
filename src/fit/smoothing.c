/* SPDX-License-Identifier: BSD-3-Clause
 * Large steps for the vertices of a mesh (Nicolet, Jacobson and Jakob 2021, "Large Steps in Inverse Rendering
 * of Geometry").
 *
 * In place of the positions x the method optimises u = A x, A = I + lambda L, with L the uniform
 * (combinatorial) Laplacian of the mesh's edges: number of neighbours on the diagonal, -1 for each of them. A
 * gradient g by x is inv(A) g by u (A is symmetric), and a step of u by d is one of x by inv(A) d: so u never
 * has to be kept, and a step of x is inv(A) way(inv(A) g). The way is that of AdamUniform (their section
 * 3.3): Adam whose second moment is the largest of all elements', because dividing element by element would
 * undo the smoothing.
 *
 * A is sparse and positive definite; its Cholesky factor (CHOLMOD, simplicial, in double precision) is made
 * once. */
#include "fit/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef BL_WITH_CHOLMOD
#include "fit/cholmod_library.h"

struct fit_smoothing {
    cholmod_library cholmod;
    cholmod_common common;
    cholmod_factor *factor;
    uint32_t vertices;
};

static bl_result failed(const fit_smoothing *s, const char *what, bl_error *err)
{
    bl_result code = s->common.status == CHOLMOD_OUT_OF_MEMORY ? BL_ERROR_MEMORY : BL_ERROR_ARGUMENT;
    return error_set(err, code, "%s of a mesh with %u vertices failed (CHOLMOD says %d)", what, s->vertices,
                     s->common.status);
}

static int by_pair(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] != y[1] ? (x[1] < y[1] ? -1 : 1) : 0;
}

/* Edges (lower vertex, higher vertex), each once, ascending; malloc'ed. */
static uint32_t *find_edges(const uint32_t *faces, uint32_t face_count, size_t *count)
{
    uint32_t *edges = memory_need(((size_t)face_count * 6 + 1) * sizeof *edges);
    size_t n = 0;
    for (size_t c = 0; c < 3 * (size_t)face_count; c++) {
        uint32_t a = faces[c], b = faces[c % 3 == 2 ? c - 2 : c + 1];
        if (a != b)
            edges[2 * n] = a < b ? a : b, edges[2 * n + 1] = a < b ? b : a, n++;
    }
    qsort(edges, n, 2 * sizeof *edges, by_pair);
    *count = 0;
    for (size_t k = 0; k < n; k++)
        if (k == 0 || by_pair(edges + 2 * k, edges + 2 * k - 2) != 0)
            memmove(edges + 2 * (*count)++, edges + 2 * k, 2 * sizeof *edges);
    return edges;
}

/* The lower triangle of A. */
static cholmod_sparse *make_matrix(fit_smoothing *s, const uint32_t *faces, uint32_t face_count,
                                   double lambda)
{
    size_t n = s->vertices, edge_count;
    uint32_t *edges = find_edges(faces, face_count, &edge_count);
    cholmod_triplet *t = s->cholmod.allocate_triplet(n, n, n + edge_count, -1, CHOLMOD_REAL, &s->common);
    cholmod_sparse *a = NULL;
    if (t) {
        int *row = t->i, *column = t->j;
        double *value = t->x;
        for (size_t v = 0; v < n; v++)
            row[v] = column[v] = (int)v, value[v] = 1;
        for (size_t k = 0; k < edge_count; k++) {
            uint32_t low = edges[2 * k], high = edges[2 * k + 1];
            row[n + k] = (int)high, column[n + k] = (int)low, value[n + k] = -lambda;
            value[low] += lambda, value[high] += lambda;
        }
        t->nnz = n + edge_count;
        a = s->cholmod.triplet_to_sparse(t, 0, &s->common);
        s->cholmod.free_triplet(&t, &s->common);
    }
    memory_free(edges);
    return a;
}

bl_result fit_smoothing_create(const uint32_t *faces, uint32_t face_count, uint32_t vertex_count,
                               double lambda, fit_smoothing **out, bl_error *err)
{
    *out = NULL;
    if (!(lambda > 0) || !isfinite(lambda))
        return error_set(err, BL_ERROR_ARGUMENT,
                         "the smoothing of large steps must be a number above 0, not %g", lambda);
    cholmod_library cholmod;
    TRY(cholmod_library_open(&cholmod, err));
    fit_smoothing *s = memory_need_zeroed(1, sizeof *s);
    s->cholmod = cholmod;
    s->vertices = vertex_count;
    s->cholmod.start(&s->common);
    s->common.supernodal = CHOLMOD_SIMPLICIAL;
    s->common.print = 0;
    cholmod_sparse *a = make_matrix(s, faces, face_count, lambda);
    bl_result r = a ? BL_OK : failed(s, "the Laplacian", err);
    if (r == BL_OK) {
        s->factor = s->cholmod.analyze(a, &s->common);
        if (!s->factor || !s->cholmod.factorize(a, s->factor, &s->common) || s->common.status != CHOLMOD_OK)
            r = failed(s, "the factorisation", err);
        s->cholmod.free_sparse(&a, &s->common);
    }
    if (r == BL_OK)
        *out = s;
    else
        fit_smoothing_destroy(s);
    return r;
}

void fit_smoothing_destroy(fit_smoothing *s)
{
    if (!s)
        return;
    s->cholmod.free_factor(&s->factor, &s->common);
    s->cholmod.finish(&s->common);
    memory_free(s);
}

bl_result fit_smoothing_solve(fit_smoothing *s, double *values, uint32_t count, bl_error *err)
{
    size_t n = s->vertices, each = count / n;
    BL_ASSERT(each * n == count, "%u numbers for %zu vertices", count, n);
    cholmod_dense *right = s->cholmod.allocate_dense(n, each, n, CHOLMOD_REAL, &s->common), *solved = NULL;
    if (right) { /* columns are coordinates */
        double *columns = right->x;
        for (size_t i = 0; i < count; i++)
            columns[i % each * n + i / each] = values[i];
        solved = s->cholmod.solve(CHOLMOD_A, s->factor, right, &s->common);
    }
    if (solved) {
        const double *columns = solved->x;
        for (size_t i = 0; i < count; i++)
            values[i] = columns[i % each * n + i / each];
    }
    s->cholmod.free_dense(&right, &s->common);
    bool done = solved != NULL;
    s->cholmod.free_dense(&solved, &s->common);
    return done ? BL_OK : failed(s, "a solution", err);
}

#else

bl_result fit_smoothing_create(const uint32_t *faces, uint32_t face_count, uint32_t vertex_count,
                               double lambda, fit_smoothing **out, bl_error *err)
{
    (void)faces, (void)face_count, (void)vertex_count, (void)lambda;
    *out = NULL;
    return error_set(err, BL_ERROR_UNSUPPORTED,
                     "large steps need CHOLMOD, whose headers were not there when this library was built "
                     "(docs/dependencies.md)");
}

void fit_smoothing_destroy(fit_smoothing *s) { BL_ASSERT(!s, "%d", 0); }

bl_result fit_smoothing_solve(fit_smoothing *s, double *values, uint32_t count, bl_error *err)
{
    (void)s, (void)values, (void)count;
    return error_set(err, BL_ERROR_UNSUPPORTED, "large steps need CHOLMOD");
}

#endif

bl_result fit_smoothing_step(fit_smoothing *s, const fit_smoothing_move *m, bl_error *err)
{
    double *way = memory_alloc((m->count + 1) * sizeof *way), most = 0;
    if (!way)
        return error_set(err, BL_ERROR_MEMORY, "out of memory");
    for (uint32_t i = 0; i < m->count; i++)
        way[i] = m->fixed_axes >> i % 3 & 1 ? 0 : (double)m->gradient[i];
    bl_result r = fit_smoothing_solve(s, way, m->count, err);
    for (uint32_t i = 0; r == BL_OK && i < m->count; i++) {
        m->first[i] = (float)(m->beta_1 * (double)m->first[i] + (1 - m->beta_1) * way[i]);
        m->second[i] = (float)(m->beta_2 * (double)m->second[i] + (1 - m->beta_2) * way[i] * way[i]);
        most = fmax(most, (double)m->second[i]);
    }
    double correction_1 = 1 - pow(m->beta_1, m->step), correction_2 = 1 - pow(m->beta_2, m->step);
    for (uint32_t i = 0; r == BL_OK && i < m->count; i++)
        way[i] = m->rate * ((double)m->first[i] / correction_1) / (m->epsilon + sqrt(most / correction_2));
    if (r == BL_OK)
        r = fit_smoothing_solve(s, way, m->count, err);
    for (uint32_t i = 0; r == BL_OK && i < m->count; i++)
        m->values[i] = (float)((double)m->values[i] - way[i]);
    memory_free(way);
    return r;
}
