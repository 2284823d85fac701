# LABELS: native
# SPDX-License-Identifier: BSD-3-Clause
"""`ir --native`: the code that is listed is the code that runs, byte for byte; every instruction of the trace
appears above its code; jumps, calls and tables lead to the labels that they name; constants have
the values that the trace gives them. Of both targets, of checked kernels too. Where there is no such device
the program says so."""
import os
import re
import struct
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = os.environ["BL_PROGRAM"], os.environ["BL_SOURCE_DIR"]
CORNELL, CLOSED = (os.path.join(SOURCE, path) for path in ("assets/cornell/scene.xml",
                                                           "assets/papers/closed.xml"))
SMALL = ["-D", "resolution=8"]
CODE = re.compile(r"^ *([0-9a-f]+)  ([0-9a-f]+) +([a-z.].*)$")
HEADER_WORDS, CONSTANT_COUNT, CODE_BYTES = 32, 5, 6 # x86_header
MNEMONICS = {"add f32": "vaddps", "mul f32": "vmulps", "sub f32": "vsubps", "sqrt f32": "vsqrtps",
             "endloop": "jmp L", "call ": "call ", "ray_closest": "begin"} # in the code of such instructions


def backlight(*arguments, status=0, **environment):
    r = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                       env={**os.environ, **environment})
    assert r.returncode == status, "%s: status %d\n%s" % (" ".join(arguments), r.returncode, r.stderr)
    return r.stderr if status else r.stdout


def targets():
    return ["avx2"] + (["avx512"] if "AVX-512" in backlight("devices", BL_NATIVE="") else [])


class Listing:
    """lines of code as (offset, bytes, text, line of the trace above it), offsets of labels, the trace."""

    def __init__(self, text):
        self.code, self.labels, self.trace, waiting, above, section = [], {}, [], [], "", ""
        self.constants = {m[2]: m[1]
                          for m in re.finditer(r"const f32 (0x\w{8}) .*-> (\[rbx[^]]+\])$", text, re.M)}
        for line in text.splitlines():
            code = CODE.match(line)
            if code:
                offset = int(code[1], 16)
                self.labels.update((label, offset) for label in waiting)
                waiting = []
                self.code.append((offset, bytes.fromhex(code[2]), code[3], above))
            elif line.endswith(":") and not line.startswith(";"):
                assert line[:-1] not in self.labels, line
                waiting.append(line[:-1])
                section = section if line.startswith("L") else line[:-1]
            elif line.startswith("; "):
                above = re.sub(r" -> \S+$", "", line[2:])
                if section.startswith("$"):
                    self.trace.append(above)
            else:
                assert not line or line.startswith(";; "), line
        assert not waiting and self.code, waiting

    def bytes(self):
        at = 0
        for offset, code, text, _ in self.code:
            assert offset == at, "%x follows %x: %s" % (offset, at, text)
            at += len(code)
        return b"".join(code for _, code, _, _ in self.code)

    def check_labels(self):
        tables = 0
        for offset, code, text, _ in self.code:
            names = re.findall(r"(?<![\w\"])(?:L\d+|\$\d+)\b(?!\")", text.split(" ; ")[0])
            if not names:
                assert not re.match(r"j|call [-0-9]", text), text
                continue
            origin = self.labels[names[1]] if text.startswith(".long") else offset + len(code)
            assert origin + struct.unpack("<i", code[-4:])[0] == self.labels[names[0]], (hex(offset), text)
            tables += text.startswith(".long")
        return tables

    def check_names(self):
        named = [(text, place) for _, _, text, _ in self.code for place in self.constants if place in text]
        assert len(named) > 30, named
        for text, place in named:
            bits = self.constants[place]
            assert text.split(" ; ")[1].startswith((bits, "%d" % int(bits, 16))), (text, place)

    def check_mnemonics(self):
        made, seen = {}, {}
        for _, _, text, above in self.code:
            made[above] = made.get(above, "") + text + "\n"
        for line, text in made.items():
            for op, mnemonic in MNEMONICS.items():
                if re.match(r"\s+(%%\d+ = )?%s" % op, line):
                    assert mnemonic in text, "%s is made of\n%s" % (line, text)
                    seen[op] = seen.get(op, 0) + 1
        return seen


def words_of_code(path):
    with open(path, "rb") as f:
        words = f.read()
    header = struct.unpack("<%dI" % HEADER_WORDS, words[:4 * HEADER_WORDS])
    begin = 4 * (HEADER_WORDS + (header[CONSTANT_COUNT] + 15) // 16 * 16)
    return words[begin:begin + header[CODE_BYTES]]


def functions(trace):
    return [line for line in trace.splitlines() if not re.match(r"(buffer|uniforms) ", line)]


def check(ir, made, **environment):
    """made: what makes the same kernel and its name, or None."""
    text = backlight(*ir, "--native", **environment)
    assert text == backlight(*ir, "--native", **environment)
    listing = Listing(text)
    code = listing.bytes()
    assert (";; %s" % ("AVX2" if environment["BL_NATIVE"] == "avx2" else "AVX-512")) in text
    assert ": %d bytes of code" % len(code) in text.splitlines()[0]
    assert listing.trace == functions(backlight(*ir, "--optimised", **environment))
    if made:
        with tempfile.TemporaryDirectory() as folder:
            backlight(*made[0], "-o", os.path.join(folder, "image.pfm"), "--no-cache", "--quiet", BL_DUMP=folder,
                      **environment)
            assert code == words_of_code(os.path.join(folder, made[1] + ".x86")), "another kernel runs"
    listing.check_names()
    return listing.check_labels(), listing.check_mnemonics()


def check_absence(ir, folder):
    why = backlight(*ir, "--native", status=1, BL_NATIVE="off")
    assert why == backlight(*ir, "--device", "native", status=1, BL_NATIVE="off") and "native" in why, why
    path = os.path.join(folder, "code.txt")
    backlight(*ir, "--native", "-o", path)
    with open(path, encoding="utf-8") as f:
        assert f.read() == backlight(*ir, "--native")


def main():
    if not re.search(r"^ +kind +native$", backlight("devices"), re.M):
        return 77
    red = ["--param", "red.reflectance.value"]
    for target in targets():
        for checked in ("", "bounds"):
            device = {"BL_NATIVE": target, "BL_DEVICE": "native", "BL_DEBUG": checked}
            primal = check(["ir", CORNELL, "--pass", "primal", *SMALL],
                           (["render", CORNELL, "--spp", "1", *SMALL, "--device", "native"], "primal"),
                           **device)
            check(["ir", CORNELL, "--pass", "gradient", "--no-baking", *SMALL, *red], None, **device)
            tables, seen = check(["ir", CLOSED, "--pass", "primal", "--no-baking", *SMALL], None, **device)
            assert tables > 3, tables
            assert all(seen.get(op, 0) + primal[1].get(op, 0) > 0 for op in MNEMONICS), (primal, seen)
            print(target, checked, tables, seen)
    with tempfile.TemporaryDirectory() as folder:
        check_absence(["ir", CORNELL, "--pass", "primal", *SMALL], folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
