/* SPDX-License-Identifier: BSD-3-Clause
 * A trace as a graph in the DOT language (Graphviz). A node per instruction, with its line of text; a cluster
 * per function, branch and loop. Edges run from operand to user; dotted ones between what keeps its order
 * (writes, control), dashed ones from calls to the functions they can reach. Constants, parameters and
 * uniforms have nodes but draw no edges: their numbers are in the text of their users. */
#include "spirv_gen/ir/internal.h"

typedef struct graph {
    const ir_func *f;
    uint32_t user; /* the instruction whose operands are visited */
    text *out;
} graph;

/* "text", quotes and backslashes escaped, control characters left out. */
static void put_label(const char *s, text *out)
{
    text_add(out, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            text_add(out, "\\");
        if ((unsigned char)*s >= ' ')
            text_add_bytes(out, s, 1);
    }
    text_add(out, "\"");
}

static void put_node(const ir_func *f, uint32_t id, text *out)
{
    text line = {0};
    ir_print_inst(f, id, &line);
    text_add(out, "f%u_%u [label=", f->index, id);
    put_label(line.data, out);
    text_add(out, ir_op_table[f->inst.data[id].op].effect == IR_EFFECT_PURE ? "];\n" : ", shape=box];\n");
    text_free(&line);
}

static void put_nodes(const ir_func *f, text *out)
{
    for (uint32_t id = 1; id < f->inst.count; id++) {
        uint8_t op = f->inst.data[id].op;
        if (op == IR_ELSE || op == IR_ENDIF || op == IR_ENDLOOP)
            text_add(out, "}\n");
        if (op != IR_NOP)
            put_node(f, id, out);
        if (op == IR_IF || op == IR_ELSE || op == IR_LOOP)
            text_add(out, "subgraph cluster_%u_%u {\nlabel=\"%s\";\n", f->index, id, ir_op_table[op].name);
    }
}

static void put_edge(void *user, uint32_t ref)
{
    graph *g = user;
    if (ir_op_table[g->f->inst.data[ref].op].effect != IR_EFFECT_FLOAT)
        text_add(g->out, "f%u_%u -> f%u_%u;\n", g->f->index, ref, g->f->index, g->user);
}

static void put_edges(const ir_func *f, text *out)
{
    graph g = {.f = f, .out = out};
    uint32_t last = 0;
    for (g.user = 1; g.user < f->inst.count; g.user++) {
        ir_inst inst = f->inst.data[g.user];
        uint8_t effect = ir_op_table[inst.op].effect;
        ir_each_operand(f, inst, put_edge, &g);
        if (ir_is_call(inst.op)) {
            ir_operands o = ir_call_operands(f, inst);
            for (uint32_t k = 0; k < o.target_count; k++)
                text_add(out, "f%u_%u -> f%u [style=dashed];\n", f->index, g.user, o.targets[k]);
        }
        if (effect != IR_EFFECT_WRITE && effect != IR_EFFECT_CONTROL)
            continue;
        if (last)
            text_add(out, "f%u_%u -> f%u_%u [style=dotted];\n", f->index, last, f->index, g.user);
        last = g.user;
    }
}

void ir_dot(const ir_module *m, text *out)
{
    text_add(out, "digraph trace {\nnode [fontname=monospace];\n");
    for (uint32_t k = 0; k < m->functions.count; k++) {
        const ir_func *f = m->functions.data[k];
        text_add(out, "subgraph cluster_%u {\nlabel=", k);
        put_label(f->name, out);
        text_add(out, ";\nf%u [label=\"$%u\", shape=plaintext];\n", k, k);
        put_nodes(f, out);
        text_add(out, "}\n");
    }
    for (uint32_t k = 0; k < m->functions.count; k++)
        put_edges(m->functions.data[k], out);
    text_add(out, "}\n");
}
