"""The pages that people wrote: every .md file of the repository, in the folders where it lies, so that links hold."""

import os
import re
import shutil
from pathlib import Path

_NOT_OURS = {"build", ".git", ".venv", "testdata"}
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")

# The site's contents: heading, then patterns of pages; a page goes where it is matched first.
_CONTENTS = [
    ("Begin", ["README.md", "docs/packages.md", "examples/README.md"]),
    ("By task", ["docs/*.md"]),
    (
        "Reference",
        ["reference/commands.md", "reference/python.md", "reference/cpp.md", "reference/ops.md"],
    ),
    ("How it is built", ["ARCHITECTURE.md", "docs/design/*.md"]),
    ("To change it", ["CONTRIBUTING.md", "STYLE.md", "CHANGELOG.md"]),
    ("Rooms", ["millrace/**/README.md"]),
    ("Yards", ["tests/**/README.md", "bench/**/README.md"]),
]


def pages_of(root):
    """The .md files below root, by paths relative to it."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - _NOT_OURS)
        found += [Path(folder, name).relative_to(root) for name in sorted(names)]
    return sorted(path for path in found if path.suffix == ".md")


def stage(root, place):
    """Copies all pages to the folder `place`, and what else of the repository they link; returns their paths."""
    pages = pages_of(root)
    for page in pages:
        target = place / page
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (root / page).read_text(encoding="utf-8")
        target.write_text(_with_links(text, root, page, place), encoding="utf-8")
    return pages


def _with_links(text, root, page, place):
    """The page, with links to folders leading to the README there; files that are linked come along."""

    def link(match):
        words, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target:
            return match[0]
        path = Path(os.path.normpath(root / page.parent / target))
        if path.is_dir():
            readme = path / "README.md"
            return (
                f"[{words}]({target.rstrip('/')}/README.md{anchor})" if readme.exists() else words
            )
        if path.is_file() and path.suffix != ".md":
            beside = place / path.relative_to(root)
            beside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, beside)
        return match[0]

    return _LINK.sub(link, text)


def contents(pages, version):
    """The site's first page: lists of all pages."""
    left = [str(page) for page in pages]
    lines = [f"# Millrace {version}", ""]
    for heading, patterns in _CONTENTS:
        chosen = []
        for pattern in patterns:
            shape = re.escape(pattern).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
            chosen += [page for page in left if re.fullmatch(shape, page)]
            left = [page for page in left if page not in chosen]
        if chosen:
            depth = ":maxdepth: 1"
            lines += ["```{toctree}", f":caption: {heading}", depth, "", *chosen, "```", ""]
    lines += ["```{toctree}", ":hidden:", "", *left, "```", ""] if left else []
    return "\n".join(lines)
