"""The reference of C++: the headers that millrace.h brings, whole, since their comments are the documentation."""

import re
from pathlib import Path

_TOP = "millrace/millrace.h"


def headers_of(text):
    return re.findall(r'^#include "(millrace/[^"]+)"', text, re.MULTILINE)


def write(root, generated, place):
    """Writes a page that lists the headers, and one per header, below the folder `place`; returns their
    paths. `generated` is where the build has headers that it wrote."""
    headers = [_TOP, *headers_of((root / _TOP).read_text(encoding="utf-8"))]
    pages = [Path("reference/cpp.md")]
    for header in headers:
        path = root / header if (root / header).exists() else generated / header
        page = Path("reference", "cpp", header.replace("/", "_")).with_suffix(".md")
        text = path.read_text(encoding="utf-8").rstrip()
        _write(place / page, f"# {header}\n\n````cpp\n{text}\n````\n")
        pages.append(page)
    listed = "\n".join(str(page.relative_to("reference")) for page in pages[1:])
    _write(
        place / pages[0],
        "# C++\n\nA program includes `<millrace/millrace.h>`, which brings the others, and links "
        f"`Millrace::millrace`.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n",
    )
    return pages


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
