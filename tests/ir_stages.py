# LABELS: swiftshader native
# SPDX-License-Identifier: BSD-3-Clause
"""What shows the compiler at work agrees with itself: `ir --stages` begins with the recorded trace and ends
with the optimised one; the graph has a node per instruction and edges between nodes only; BL_DUMP leaves the
stages and the words of every kernel, or says why not."""
import glob
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = os.environ["BL_PROGRAM"]
SCENE = os.path.join(os.environ["BL_SOURCE_DIR"], "assets/cornell/scene.xml")
IR = ["ir", SCENE, "--pass", "gradient", "--param", "red.reflectance.value"]


def backlight(*arguments, status=0, **environment):
    r = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                       env={**os.environ, **environment})
    if r.returncode and "no device" in r.stderr:
        sys.exit(77)
    assert r.returncode == status, "%s: status %d\n%s" % (" ".join(arguments), r.returncode, r.stderr)
    return r.stderr if status else r.stdout


def stages(listing):
    parts = re.split(r"^; ==== (?:after )?(\S+)\n", listing, flags=re.M)
    assert parts[0] == "" and len(parts) > 8, "no stages in\n%s" % listing[:300]
    return list(zip(parts[1::2], parts[2::2]))


def check_graph(graph, trace):
    assert graph.startswith("digraph trace {\n") and graph.endswith("}\n")
    depth = 0
    for line in graph.splitlines():
        plain = re.sub(r'"(\\.|[^"\\])*"', "", line)
        depth += plain.count("{") - plain.count("}")
        assert depth > 0 or line == "}", line
    assert depth == 0, "braces do not match"
    nodes = set(re.findall(r"^(f\d+(?:_\d+)?) \[label=", graph, re.M))
    instructions = len(re.findall(r"^ +(?!return)\S", trace, re.M))
    functions = len(re.findall(r"^func ", trace, re.M))
    assert len(nodes) == instructions + functions, "%d nodes, %d instructions, %d functions" % (
        len(nodes), instructions, functions)
    edges = re.findall(r"^(\S+) -> ([^ ;]+)", graph, re.M)
    assert len(edges) > instructions / 2, "%d edges" % len(edges)
    for a, b in edges:
        assert a in nodes and b in nodes, "edge %s -> %s without its nodes" % (a, b)


def check_dump(folder):
    target = os.path.join(folder, "dump", "deeper")
    backlight("render", SCENE, "-o", os.path.join(folder, "image.pfm"), "--spp", "1", "-D", "resolution=8",
              BL_DUMP=target)
    files = sorted(os.path.basename(f) for f in glob.glob(os.path.join(target, "primal.*.ir")))
    wanted = [name
              for name, _ in stages(backlight("ir", SCENE, "--pass", "primal", "--stages", "-D",
                                              "resolution=8"))]
    assert files == ["primal.%02d-%s.ir" % (k, name) for k, name in enumerate(wanted)], files
    suffix, magic = (("x86", b"BL86") if os.environ["BL_DEVICE"] == "native"
                     else ("spv", b"\x03\x02\x23\x07"))
    with open(os.path.join(target, "primal." + suffix), "rb") as f:
        assert f.read(4) == magic, "not the words of such a kernel"
    with open(os.path.join(target, files[-1]), encoding="utf-8") as f:
        assert f.read() == backlight("ir", SCENE, "--pass", "primal", "--optimised", "-D", "resolution=8")
    os.mkdir(os.path.join(folder, "other"))
    with open(os.path.join(folder, "file"), "w", encoding="utf-8"):
        pass
    why = backlight("render", SCENE, "-o", os.path.join(folder, "other", "image.pfm"), "--spp", "1", "-D",
                    "resolution=8", status=1,
                    BL_DUMP=os.path.join(folder, "file"))
    assert os.path.join(folder, "file") in why and not os.listdir(os.path.join(folder, "other")), why


# A sensor on a wall: points of the scene cannot be linked to it, so it sees no silhouettes.
METER = """<scene version="3.0.0"><integrator type="path"/>
<shape type="rectangle" id="wall"><sensor type="irradiancemeter"><film type="hdrfilm">
  <integer name="width" value="2"/><integer name="height" value="2"/></film></sensor></shape>
<shape type="sphere" id="ball"><point name="center" value="0, 0, 2"/></shape>
<emitter type="constant"/></scene>"""


def check_edges(folder):
    """Passes of moving edges have traces, too, and are refused where they would be empty."""
    moved = ["--param", "light.to_world"]
    for kernel in ("edges-seen", "edges-path", "edges-lit", "edges-seen-forward", "edges-learn"):
        assert "func " in backlight("ir", SCENE, "--pass", kernel, *moved), kernel
    path = os.path.join(folder, "meter.xml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(METER)
    assert "func " in backlight("ir", path, "--pass", "edges-path", "--param", "ball.to_world")
    for kernel in ("edges-seen", "edges-seen-forward"):
        why = backlight("ir", path, "--pass", kernel, "--param", "ball.to_world", status=1)
        assert "linked to the sensor" in why, why


def main():
    recorded, optimised = backlight(*IR), backlight(*IR, "--optimised")
    listed = stages(backlight(*IR, "--stages"))
    names = [name for name, _ in listed]
    assert names[0] == "recorded" and "accumulate" in names and [n for n in names if n != "order"][-1] == "dead", names  # order: on GPUs
    assert listed[0][1] == recorded and listed[-1][1] == optimised and recorded != optimised
    assert "accum " in dict(listed)["recorded"] and "accum " not in optimised
    with tempfile.TemporaryDirectory() as folder:
        for extra, trace in (([], recorded), (["--optimised"], optimised)):
            path = os.path.join(folder, "trace.dot")
            backlight(*IR, *extra, "--dot", path)
            with open(path, encoding="utf-8") as f:
                check_graph(f.read(), trace)
        backlight(*IR, "--dot", os.path.join(folder, "missing", "trace.dot"), status=1)
        check_dump(folder)
        check_edges(folder)
    print("stages: " + " ".join(names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
