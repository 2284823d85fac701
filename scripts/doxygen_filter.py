#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A public header as Doxygen reads it, on standard output: doxygen_filter.py HEADER. The headers have plain comments, which are
read where they stand; scripts/docs gives them to Doxygen through this filter.

    the head of a file                          @file, with its indented lines as code
    /* ---- a title ---- */                     a group, up to the next one
    a comment that begins a line, right before  of what follows
    a comment behind code                       of what it stands behind

Everything else stays a comment of C. No line is added, so Doxygen's line numbers are the header's."""
import os
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
TITLE = re.compile(r"/\* ---- (.*?) ---- \*/$", re.S)


def escaped(text):
    return re.sub(r"[\\@#%<>]", lambda m: {"<": "&lt;", ">": "&gt;"}.get(m[0], "\\" + m[0]), text)


def head(text):
    """Without the line of the licence; indented lines are code, which takes the lines around it."""
    lines, out, code = text.replace(" SPDX-License-Identifier: BSD-3-Clause", " @file", 1).split("\n"), [], False
    for k, line in enumerate(lines):
        indented = line.startswith(" *     ")
        if indented and not code:
            out[-1] = " * @code"
        elif code and not indented and line.strip() == "*":
            line = " * @endcode"
        code = indented
        out.append(line if k == 0 or indented or "@endcode" in line else escaped(line))
    return "/**" + "\n".join(out)[2:]


class Header:
    def __init__(self, path):
        self.name, self.groups = re.sub(r"\W", "_", os.path.basename(path)), 0
        with open(path, encoding="utf-8") as f:
            self.text = f.read()

    def comment(self, m):
        text, before = m[0], self.text[self.text.rfind("\n", 0, m.start()) + 1:m.start()]
        title = TITLE.match(text)
        if m.start() == 0:
            return head(text)
        if title:
            self.groups += 1
            end = "/** @} */ " if self.groups > 1 else ""
            words = " ".join(re.sub(r"\n \*", " ", title[1]).split())
            return "%s/** @defgroup %s_%d %s */%s /** @{ */" % (end, self.name, self.groups, escaped(words), "\n" * text.count("\n"))
        if before.strip():
            return "/**<" + escaped(text[2:-2]) + "*/"
        follows = re.match(r"\n[ \t]*[^\s/#]", self.text[m.end():])
        return "/**" + escaped(text[2:-2]) + "*/" if follows else text

    def filtered(self):
        out = COMMENT.sub(self.comment, self.text)
        return out + ("/** @} */\n" if self.groups else "")


if __name__ == "__main__":
    sys.stdout.write(Header(sys.argv[1]).filtered())
