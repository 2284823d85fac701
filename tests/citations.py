# LABELS: sources
# SPDX-License-Identifier: BSD-3-Clause
"""Finds every document, section and file that a comment or a page mentions, and fails where it is not in the
repository.

Read are comments of C, GLSL, Python, CMake and shell files, and code spans, links and plain text of Markdown
pages.

    NAME.ext, FOLDER/NAME.ext   a file of the repository has this path, or one that ends in it (or it lies
    beside the file that names it) FOLDER/NAME                 in code spans and links that begin with a
    folder of the repository's root: a file or folder docs/X.md, Section          the page has a heading that
    the words behind the comma begin with [text](X.md#anchor)         the page has a heading with that anchor
    a_name, name()              in code spans of pages: some file that is no page has this word rows of
    docs/glossary.md    a file of the last column has the words of the code in the first one `name` (`FILE`)
    this file has the word; so with `FILE` (`name`), and `FILE`: `name`, `name`

Pages that record what was tried may name what is no more (HISTORY): their words are not looked up.

docs/README.md lists all pages of docs, and the README of a folder of docs those of the folder. A page that
nobody lists is a problem, too, and so is a page of theory without a section Tests that names a file of tests.

Names of what a program writes or a user brings are no files of the repository: OUTSIDE, each with its
reason."""
import io
import os
import re
import subprocess
import sys
import tokenize

ROOT = os.path.abspath(os.environ.get("BL_SOURCE_DIR")
                       or os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
ENDINGS = "md|c|h|def|py|comp|glsl|json|sh|cmake"
MENTION = re.compile(
    r"(?<![\w/.$<{*%%-])((?:\.\./|\./)*(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*\.(?:%s))"
    r"(?![\w/(*]|\.\w|-\w)" % ENDINGS)
SECTION = re.compile(r"(docs/[\w/-]+\.md), \"?([A-Z][^\n]*)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")

# pattern of the whole mention: why it is no file of the repository
OUTSIDE = {
    r"(.*/)?summary\.json": "what grad writes",
    r"(.*/)?result\.json": "what fit and the experiments write",
    r"build/environment\.sh": "what scripts/setup writes",
    r"(.*/)?(job|fit|report)\.json": "examples of a user's job files, and what a fit writes",
    r"transforms(_train|_test)?\.json|(.*/)?field\.json": "photographs' cameras, and a user's job",
    r"(SCENE|JOB|DIR)\.\w+": "stands for any name",
    r"(.*/)?(\w+_)?(NAME|FILE|X)\.\w+|(.*/)?(opt_)?name\.c": "stands for any name",
    r"manifest\.json|images/manifest\.json": "of the reference folder, which is not part of the repository",
    r"(.*/)?judge_gradients\.py": "of the reference folder",
    r"(vulkan|vk_icd|volk|spirv|libspirv|expat|zlib|png|jpeglib|xxhash|cholmod|stb_image|PNanoVDB|"
    r"ImfHeader|openexr|cJSON)\.h|"
    r"(vulkan|spirv|spirv-tools|cjson|openvdb|nanovdb|suitesparse|stb|unified1)/.*": "headers of libraries",
    r"(math|stdio|stdlib|string|stdint|stdbool|stddef|unistd|time)\.h|sys/.*\.h": "headers of C",
    r"compiler_version\.h|glsl_kernels\.h|(.*/)?plugins\.generated\.h": "made while building",
    r"compile_commands\.json|CMakeUserPresets\.json": "made by cmake, or a user's own",
}
# folders of pages whose words need not be in the code: tables of figures, and what was tried before
HISTORY = ("docs/decisions/", "docs/experiments/", "docs/measurements.md", "docs/plugins.md")
# in code spans: stands for any name
ANY = re.compile(r"(?:.*_)?(?:NAME|X)(?:_.*)?|ir_name|opt_name|opt_x")
GLOSSARY = "docs/glossary.md"
FILE_SPAN = r"`([\w./-]+\.(?:c|h|py|def))`"
NAME_SPANS = r"((?:`\w+`(?:, )?)+)"
BESIDE = re.compile(r"%s(?: \(|: )%s|%s \(%s" % (FILE_SPAN, NAME_SPANS, NAME_SPANS, FILE_SPAN))
OUTSIDE_RULES = [re.compile(r"(?:%s)\Z" % p) for p in OUTSIDE]


def listed():
    try:
        out = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"],
                             capture_output=True, check=True, text=True).stdout
        names = [n for n in out.splitlines() if os.path.exists(os.path.join(ROOT, n))]
        if names:
            return names
    except (OSError, subprocess.CalledProcessError):
        pass
    names = []
    for base, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in (".git", "build") and not f.startswith("build-")
                      and f != "__pycache__"]
        names += [os.path.relpath(os.path.join(base, f), ROOT).replace(os.sep, "/") for f in files]
    return names


def text_of(name):
    """None: it is no text, or too large to be written by hand."""
    path = os.path.join(ROOT, name)
    if os.path.islink(path) or os.path.getsize(path) > 4 << 20:
        return None
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except (UnicodeDecodeError, OSError):
        return None


class Tree:
    """What the repository has."""

    def __init__(self, names):
        self.names, self.ends, self.folders = set(names), set(), set()
        for name in names:
            parts = name.split("/")
            for k in range(len(parts)):
                self.ends.add("/".join(parts[k:]))
                if k:
                    self.folders.add("/".join(parts[:k]))
        self.top = {n.split("/")[0] for n in self.folders}
        self.headings, self.words_in, self.all_words = {}, {}, set()

    def has(self, mention, beside):
        if mention in self.ends or mention in self.folders:
            return True
        here = os.path.normpath(os.path.join(beside, mention)).replace(os.sep, "/")
        return here in self.names or here in self.folders or here == "."

    def files(self, mention):
        return [n for n in self.names if n == mention or n.endswith("/" + mention)]

    def words_of(self, name):
        if name not in self.words_in:
            self.words_in[name] = set(re.findall(r"[A-Za-z_]\w*", text_of(name) or ""))
        return self.words_in[name]

    def words(self):
        """All words of all files that are no pages, this one aside."""
        if not self.all_words:
            for name in self.names - {"tests/citations.py"}:
                if not name.endswith(".md"):
                    self.all_words |= self.words_of(name)
                if name.startswith("tests/"):  # cmake/Tests.cmake names a test by its folder and file
                    self.all_words.add(re.sub(r"\..*", "", name[len("tests/"):]).replace("/", "_"))
        return self.all_words

    def sections(self, page):
        if page not in self.headings:
            with open(os.path.join(ROOT, page), encoding="utf-8") as f:
                self.headings[page] = [line.lstrip("#").strip() for line in f if re.match(r"#+ ", line)]
        return self.headings[page]


def plain(text):
    return re.sub(r"\s+", " ", re.sub(r"[`*\"]", "", text)).strip().lower()


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def c_comments(text):
    """(line, text) of each comment; strings are passed over."""
    for m in re.finditer(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', text, re.S):
        if m.group().startswith("/"):
            lines = m.group().split("\n")
            yield (text.count("\n", 0, m.start()) + 1,
                   "\n".join(re.sub(r"^\s*\*(?!/)", "  ", line) for line in lines))


def hash_comments(text):
    run, first = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        m = re.match(r"\s*#(?!!)(.*)", line) or re.search(r"\s#\s(.*)", line)
        if m:
            first = first if run else number
            run.append(m.group(1))
        elif run:
            yield first, "\n".join(run)
            run = []


def python_comments(text):
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
    before = None
    for t in tokens:
        opens = before is None or before.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.NL,
                                                  tokenize.COMMENT, tokenize.DEDENT)
        if t.type == tokenize.COMMENT or (t.type == tokenize.STRING and opens
                                          and t.string.lstrip("rRbBuU").startswith(('"""', "'''"))):
            yield t.start[0], t.string
        before = t


def passages(name, text):
    if name.endswith((".c", ".h", ".def", ".comp", ".glsl")):
        return c_comments(text)
    if name.endswith(".py") or text.startswith("#!/usr/bin/env python"):
        return python_comments(text)
    if (name.endswith((".cmake", "CMakeLists.txt", ".sh"))
            or text.startswith(("#!/usr/bin/env bash", "#!/bin/"))):
        return hash_comments(text)
    if name.endswith(".md"):
        return [(1, text)]
    return []


def check(tree, name, text, problems):
    """Number of mentions."""
    count, beside = 0, os.path.dirname(name)
    for first, passage in passages(name, text):
        def say(at, what):
            problems.append("%s:%d: %s" % (name, first + passage.count("\n", 0, at), what))

        joined = passage
        if name.endswith(".md"):  # samples of code and output are no mentions
            joined = re.sub(r"^```.*?^```", lambda m: re.sub(r"[^\n]", " ", m.group()), passage,
                            flags=re.S | re.M)
        wanted = [(m.start(1), m.group(1)) for m in MENTION.finditer(joined)]
        if name.endswith(".md"):
            for m in list(SPAN.finditer(joined)) + list(LINK.finditer(joined)):
                target = m.group(1)
                if "://" in target or target.startswith(("#", "mailto:")):
                    continue
                link = m.re is LINK
                page, _, part = target.partition("#") if link else (target, "", "")
                rooted = page.split("/")[0] in tree.top and re.match(r"[\w./-]+\Z", page) and "/" in page
                if link or rooted:
                    wanted.append((m.start(1), page.rstrip("/")))
                at = os.path.normpath(os.path.join(beside, page)).replace(os.sep, "/")
                if part and at in tree.names and part not in [anchor(h) for h in tree.sections(at)]:
                    say(m.start(1), "%s has no heading #%s" % (page, part))
        for at, mention in sorted(set(wanted)):
            mention = mention.rstrip(".")
            if not mention or any(r.match(mention) for r in OUTSIDE_RULES):
                continue
            count += 1
            if not tree.has(mention, beside):
                say(at, "%s is not in the repository" % mention)
        flat = re.sub(r"\n[ \t]*", " ", joined)
        for m in SECTION.finditer(flat):
            if m.group(1) not in tree.names:
                continue  # said above
            count += 1
            words = plain(m.group(2))
            if not any(re.match(re.escape(plain(h)) + r"(?!\w)", words) for h in tree.sections(m.group(1))):
                say(max(joined.find(m.group(1)), 0), "%s has no section that \"%s\" begins with" %
                    (m.group(1), m.group(2)[:40]))
    return count


def check_words(tree, name, text, problems):
    """Number of identifiers of the code in a page's code spans."""
    count = 0
    prose = re.sub(r"^```.*?^```", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S | re.M)
    for m in SPAN.finditer(prose):
        for word in re.finditer(r"(?<![\w./-])([A-Za-z]\w*)(\(\)|(?![\w./*-]))",
                                re.sub(r"\{[^}]*\}", "*", m.group(1))):
            if word.group(2) or "_" in word.group(1).strip("_"):
                count += 1
                if word.group(1) not in tree.words() and not ANY.fullmatch(word.group(1)):
                    problems.append("%s:%d: no file has the word %s" %
                                    (name, prose.count("\n", 0, m.start()) + 1, word.group(1)))
    flat = re.sub(r"\s", " ", prose)
    for m in BESIDE.finditer(flat):
        file, words = (m.group(1), m.group(2)) if m.group(1) else (m.group(4), m.group(3))
        for word in re.findall(r"\w+", words):
            count += 1
            if not any(word in tree.words_of(n) for n in tree.files(file)) and not ANY.fullmatch(word):
                problems.append("%s:%d: %s does not have the word %s" %
                                (name, prose.count("\n", 0, m.start()) + 1, file, word))
    for row in re.finditer(r"^\|([^|\n]*)\|[^|\n]*\|([^|\n]*)\|$", text if name == GLOSSARY else "", re.M):
        files = [n for span in re.findall(FILE_SPAN, row.group(2)) for n in tree.files(span)]
        for word in re.findall(r"`(\w+)`", row.group(1)):
            count += 1
            if files and not any(re.search(r"(?:^|_)%s(?:_|$)" % word, w) for n in files
                                 for w in tree.words_of(n)):
                problems.append("%s:%d: no file of its row has the word %s" %
                                (name, text.count("\n", 0, row.start()) + 1, word))
    return count


def check_lists(tree, problems):
    """Pages that the README of their folder, or of the one above, does not link to. Returns how many are
    linked to."""
    count = 0
    for name in sorted(n for n in tree.names if n.startswith("docs/") and n.endswith(".md")
                       and n != "docs/README.md"):
        folder, base = os.path.split(name)
        index = (os.path.dirname(folder) if base == "README.md" else folder) + "/README.md"
        links = [os.path.normpath(os.path.join(os.path.dirname(index), link))
                 for link in LINK.findall(text_of(index) or "")]
        count += name in links
        if name not in links:
            problems.append("%s: is not listed in %s" % (name, index))
        if (folder == "docs/theory" and base != "README.md"
                and not re.search(r"^## Tests\n(?:(?!^## ).)*`tests/", text_of(name), re.M | re.S)):
            problems.append("%s: names no test in a section Tests" % name)
    return count


def main():
    names = listed()
    tree, problems, files, mentions, words = Tree(names), [], 0, 0, 0
    for name in sorted(names):
        text = text_of(name)
        if text is None:
            continue
        found = check(tree, name, text, problems)
        files, mentions = files + (found > 0), mentions + found
        if name.endswith(".md") and not name.startswith(HISTORY):
            words += check_words(tree, name, text, problems)
    pages = check_lists(tree, problems)
    for p in problems:
        print(p)
    print("%d mentions in %d files, %d words of code, %d pages listed; %d broken" %
          (mentions, files, words, pages, len(problems)))
    return 1 if problems or files < 100 or mentions < 500 or words < 300 or pages < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
