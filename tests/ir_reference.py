# LABELS: sources
# SPDX-License-Identifier: BSD-3-Clause
"""The op reference docs/ir.md is what spirv_gen/ir/ops.def says. Without arguments: fails with a diff where
it is not; --update: writes it."""
import difflib
import os
import re
import sys

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
TABLE, REFERENCE = os.path.join(ROOT, "spirv_gen/ir/ops.def"), os.path.join(ROOT, "docs/ir.md")

# type rules (ir.h): what a signature looks like
SIGNATURES = {
    "NUM": "number .. -> same", "INT": "integer, same -> same", "REAL": "f32 .. -> f32",
    "COMPARE": "any, same -> bool",
    "ORDER": "number, same -> bool", "LOGIC": "bool or integer .. -> same", "SHIFT": "integer, u32 -> first",
    "SELECT": "bool, any, same -> second", "TO_I32": "any -> i32", "TO_U32": "any -> u32",
    "TO_F32": "any -> f32",
    "BITS_U": "number -> u32", "BITS_F": "integer -> f32", "SAME": "any -> same",
}
COMMUTES = {"COMMUTES": "yes", "ORDERED": "-"}
FOLDS = {"ALWAYS": "yes", "NEVER": "-", "DIVISOR": "not by integer 0", "I32": "in range", "U32": "in range"}
DERIVATIVES = {"DIFF": "yes", "FLAT": "zero", "NONE": "-"}

HEAD = """# Operations of the trace

Generated from `spirv_gen/ir/ops.def` by `tests/ir_reference.py --update`; do not edit. Types: bool, i32, u32, f32; integer is i32 or u32,
number is integer or f32. The text of a trace writes `%n = op type operand ..` ([format](../spirv_gen/ir/print.c)).

## Values

Pure: equal ones merge, unused ones disappear, constants fold to the bits that the interpreter gives. Meaning is C on operands `a b c`, by the type
of `a` (of `b` for select); `-`: not defined for that type. Derivative: yes, zero (a constant of every derivative), or - (not real). Commutes: operands
may change places. Folds: whether an op of constants is computed by the compiler; steering functions round otherwise than the C library.

| op | operands -> result | f32 | i32 | u32 | bool | SPIR-V (f32, i32, u32, bool) | derivative | commutes | folds |
|---|---|---|---|---|---|---|---|---|---|
"""
STRUCTURE = """
## Structure, memory, calls

Operands: ref a value, imm a number, pool a list. Effect: pure merges; read and write keep their order; control opens and closes regions;
float is valid everywhere in a function.

| op | effect | a | b | c | derivative | operands |
|---|---|---|---|---|---|---|
"""


def fields(row):
    """Splits at commas outside of parentheses."""
    out, depth = [""], 0
    for c in row:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [f.strip() for f in out]


def code(expression):
    return "-" if expression == "NA" else "`%s`" % expression.replace("|", "\\|")


def opcode(name):
    if name == "LOWER":
        return "lowered"
    return "-" if name == "NA" else name[2:] + " (GLSL)" if name.startswith("X_") else name


def value_row(f):
    _, name, _, rule, commutes, fold, real, i32, u32, boolean, sf, si, su, sb, adjoint = f
    spirv = [opcode(o) for o in (sf, si, su, sb)]
    cells = ([code(name), SIGNATURES[rule]] + [code(e) for e in (real, i32, u32, boolean)]
             + [", ".join(spirv), DERIVATIVES[adjoint]])
    cells += [COMMUTES[commutes], FOLDS[fold]]
    return "| " + " | ".join(cells) + " |\n"


def struct_row(f, comment):
    _, name, effect, a, b, c, adjoint = f
    kinds = ["-" if k == "NONE" else k.lower() for k in (a, b, c)]
    cells = [code(name), effect.lower()] + kinds + [DERIVATIVES[adjoint], comment.replace("|", "\\|")]
    return "| " + " | ".join(cells) + " |\n"


def generate():
    values, structures = [], []
    with open(TABLE, encoding="utf-8") as f:
        for line in f:
            m = re.match(r"IR_(VALUE|STRUCT)\((.*)\)\s*(?:/\*\s*(.*?)\s*\*/)?$", line.rstrip())
            if m and m.group(1) == "VALUE":
                values.append(value_row(fields(m.group(2))))
            elif m:
                structures.append(struct_row(fields(m.group(2)), m.group(3) or ""))
            elif line.startswith("IR_"):
                sys.exit("%s: not understood: %s" % (TABLE, line))
    if len(values) < 30 or len(structures) < 20:
        sys.exit("%s: only %d values and %d structures found" % (TABLE, len(values), len(structures)))
    return HEAD + "".join(values) + STRUCTURE + "".join(structures)


def main():
    wanted = generate()
    if sys.argv[1:] == ["--update"]:
        with open(REFERENCE, "w", encoding="utf-8") as f:
            f.write(wanted)
        return 0
    with open(REFERENCE, encoding="utf-8") as f:
        found = f.read()
    sys.stdout.writelines(difflib.unified_diff(found.splitlines(True), wanted.splitlines(True), "docs/ir.md",
                                               "ops.def"))
    print("docs/ir.md %s" %
          ("is up to date" if found == wanted else "differs: tests/ir_reference.py --update"))
    return found != wanted


if __name__ == "__main__":
    sys.exit(main())
