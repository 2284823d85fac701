# LABELS: swiftshader=long native
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/papers NAME --tiny: every experiment runs and leaves a page, a table and a plot with what it
promises. A sixth of them each day; BL_LONG=1: all."""
import csv
import glob
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from today import today

ROOT = os.environ["BL_SOURCE_DIR"]
PARTS = 6
CURVES = {"depth": 10, "glass_ior": 5, "mirror_normal": 4, "height_behind_glass": 4, "normal_variance": 2,
          "attached_means": 2, "radiance_field": 9, "chain_length": 5, "regularization": 2,
          "roughness_signs": 6, "depth_in_media": 8, "phases": 5, "samples": 8,
          "smoke_methods": 3, "crossed_polarizers": 2, "prism": 2, "caustic_design": 4, "grin_design": 2, "grin_lenses": 2,
          "metropolis": 12, "fit_samples": 120, "metamerism": 2, "mode_cost": 3,
          "ablation": 2, "wavefront": 2, "scene_times": 1, "texture_gradients": 3, "passes": 8, "smoke_views": 2, "ink": 2, "globe": 16,
          "density_gradient": 2, "garden": 4, "loops_and_calls": 4, "specular_gradients": 3, "coherence": 3}
CAUSTICS = ["target", "start", "level_16", "level_32", "level_64", "light_traced", "verified", "heights"]
PICTURES = {"caustic_design": ["caustic_design_%s.png" % name for name in CAUSTICS],
            "crossed_polarizers": ["crossed_polarizers.png"], "prism": ["prism.png"], "grin_design": ["grin_design.png"],
            "metamerism": ["metamerism.png"], "metropolis": ["metropolis.png"],
            "texture_gradients": ["texture_gradients.png"], "smoke_views": ["smoke_views.png"], "ink": ["ink.png"],
            "density_gradient": ["density_gradient.png"], "garden": ["garden.png"],
            "specular_gradients": ["specular_gradients.png"]}


def check(name, curves):
    with tempfile.TemporaryDirectory() as folder:
        r = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "papers"), name, "--tiny", "-o",
                            folder], stderr=subprocess.PIPE, text=True)
        if r.returncode == 77:
            sys.exit(77)
        assert r.returncode == 0, r.stderr
        assert sorted(os.listdir(folder)) == sorted([name + ".csv", name + ".md", name + ".svg"] + PICTURES.get(name, []))
        with open(os.path.join(folder, name + ".csv")) as f:
            rows = list(csv.reader(f))
        assert len(rows) > 2 and all(len(row) == len(rows[0]) for row in rows), rows
        with open(os.path.join(folder, name + ".md")) as f:
            page = f.read()
        assert "](%s.svg)" % name in page and page.count("\n| ") >= len(rows), page
        lines = xml.parse(os.path.join(folder, name + ".svg")).iter("{http://www.w3.org/2000/svg}polyline")
        assert len([l for l in lines if "nan" not in l.get("points")]) == curves, name


def experiments():
    """The modules that make a page."""
    for path in glob.glob(os.path.join(ROOT, "scripts", "experiments", "*.py")):
        with open(path) as f:
            if "\ndef run(page, tiny):" in f.read():
                yield os.path.basename(path)[:-3]


def main(names):
    assert sorted(experiments()) == sorted(CURVES)
    for name in names:
        check(name, CURVES[name])
    r = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "papers"), "nothing"],
                       stderr=subprocess.PIPE, text=True)
    assert r.returncode == 1 and "papers NAME" in r.stderr


if __name__ == "__main__":
    main(list(CURVES) if os.environ.get("BL_LONG") else list(CURVES)[today() % PARTS::PARTS])
