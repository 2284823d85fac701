# LABELS: nodevice
# SPDX-License-Identifier: BSD-3-Clause
"""Pages that are written by scripts are what these write: docs/jobs.md, with an example for each field, which follows the
schema. The site of all pages (scripts/docs) has no link that leads nowhere; where MkDocs is installed (scripts/docs
installs it into build/site), it is built, and warns of nothing. Public headers keep their code on the way to Doxygen, and have
a group for each section."""
import glob
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.environ.get("BL_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def schema_test():
    """The validator of tests/fit_schema.py."""
    spec = importlib.util.spec_from_file_location("fit_schema", os.path.join(ROOT, "tests/fit_schema.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def examples(node, schema, valid, problems):
    """Every example of every field follows the field's own schema. Returns their number."""
    found = 0
    if isinstance(node, dict):
        for example in node.get("examples", []):
            found += 1
            if not valid(example, {k: v for k, v in node.items() if k != "examples"}, schema):
                problems.append("the example %s does not follow %s" % (json.dumps(example), json.dumps(node)[:100]))
        for value in node.values():
            found += examples(value, schema, valid, problems)
    elif isinstance(node, list):
        for value in node:
            found += examples(value, schema, valid, problems)
    return found


def check_header(path, problems):
    """What Doxygen gets (scripts/doxygen_filter.py) is the header with other comments: the same code on the same lines, a
    group for each section, and a comment of documentation at least for every third declaration."""
    with open(path, encoding="utf-8") as f:
        header = f.read()
    filtered = run(os.path.join(ROOT, "scripts/doxygen_filter.py"), path).stdout

    def code(text):
        return re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    name, same = os.path.basename(path), [a.rstrip() == b.rstrip() for a, b in zip(code(header).split("\n"), code(filtered).split("\n"))]
    if not all(same) or abs(header.count("\n") - filtered.count("\n")) > 1:
        problems.append("%s: line %d is another one for Doxygen" % (name, 1 + (same + [False]).index(False)))
    sections, groups = header.count("/* ---- "), filtered.count("@defgroup ")
    if sections != groups or filtered.count("@{") != groups or filtered.count("@}") != groups:
        problems.append("%s: %d sections and %d groups" % (name, sections, groups))
    if filtered.count("/**") < header.count("BL_API ") // 3:
        problems.append("%s: %d comments of documentation" % (name, filtered.count("/**")))


def run(*command):
    return subprocess.run([sys.executable, *command], check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "jobs.md")
        done = run(os.path.join(ROOT, "scripts/jobs-page"), "-o", page)
        if done.returncode:
            problems.append(done.stdout)
        else:
            with open(page, encoding="utf-8") as new, open(os.path.join(ROOT, "docs/jobs.md"), encoding="utf-8") as old:
                if new.read() != old.read():
                    problems.append("docs/jobs.md is not what scripts/jobs-page writes")
        done = run(os.path.join(ROOT, "scripts/docs"), "--check", "-o", os.path.join(folder, "site"))
        print(done.stdout.strip())
        if done.returncode:
            problems.append("scripts/docs --check ended with %d" % done.returncode)
    for header in sorted(glob.glob(os.path.join(ROOT, "include/backlight/*.h"))):
        check_header(header, problems)
    with open(os.path.join(ROOT, "docs/fit-job.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    if examples(schema, schema, schema_test().valid, problems) < 40:
        problems.append("the schema has hardly any examples")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
