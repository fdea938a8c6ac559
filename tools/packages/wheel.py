"""The file format of Python wheels: files, what they are, and a list of their hashes, in a zip file.

    millrace/...                              the package
    millrace-0.1.0.data/scripts/millrace      a program, which goes beside the interpreter
    millrace-0.1.0.dist-info/METADATA         name, version, what it needs, the page about it
                            /WHEEL            which interpreters and systems it is for
                            /licenses/...
                            /RECORD           every file with its SHA-256 and size

The same files make the same bytes. Knows nothing of builds: wheel_build.py says what goes in.
"""

import base64
import csv
import hashlib
import io
import time
import zipfile
from dataclasses import dataclass, field

# Before this day zip files know no time.
_FIRST_DAY = 315532800


@dataclass(frozen=True)
class Metadata:
    name: str
    version: str
    summary: str
    licence: str
    python: str  # "==3.11.*"
    page: str  # Markdown
    needs: tuple = ()  # ("numpy<2,>=1.24",)
    extras: dict = field(default_factory=dict)  # {"onednn": "millrace-onednn==0.1.0"}


@dataclass(frozen=True)
class Tag:
    python: str  # "cp311"
    abi: str
    system: str  # "manylinux_2_36_x86_64"

    def __str__(self):
        return f"{self.python}-{self.abi}-{self.system}"


def manylinux(glibc, machine):
    """The name of all systems with at least this glibc, a tuple of numbers."""
    return "manylinux_" + "_".join(map(str, glibc[:2])) + f"_{machine}"


def file_name(metadata, tag):
    return f"{metadata.name}-{metadata.version}-{tag}.whl"


def programs_folder(metadata):
    """Where in a wheel those files are that go beside the interpreter."""
    return f"{metadata.name}-{metadata.version}.data/scripts"


def write(path, files, metadata, tag, licences, epoch):
    """Writes a wheel: `files` and `licences` are {place: file on disk}; those that may be executed
    stay so. All get the time `epoch`, in seconds since 1970."""
    own = f"{metadata.name}-{metadata.version}.dist-info"
    contents = {place: (_read(file), _mode(file)) for place, file in files.items()}
    for place, file in licences.items():
        contents[f"{own}/licenses/{place}"] = (_read(file), 0o644)
    contents[f"{own}/METADATA"] = (_metadata(metadata).encode(), 0o644)
    contents[f"{own}/WHEEL"] = (_wheel(tag).encode(), 0o644)
    record = f"{own}/RECORD"
    # Metadata last, as the format's description recommends.
    order = sorted(contents, key=lambda place: (place.startswith(own), place))
    contents[record] = (_record(order, contents, record).encode(), 0o644)
    when = time.gmtime(max(epoch, _FIRST_DAY))[:6]
    with zipfile.ZipFile(path, "w") as archive:
        for place in [*order, record]:
            content, mode = contents[place]
            entry = zipfile.ZipInfo(place, when)
            entry.create_system = 3  # Unix: the mode below counts
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def _read(file):
    return file.read_bytes()


def _mode(file):
    return 0o755 if file.stat().st_mode & 0o100 else 0o644


def _metadata(metadata):
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {metadata.name}",
        f"Version: {metadata.version}",
        f"Summary: {metadata.summary}",
        f"License: {metadata.licence}",
        f"Requires-Python: {metadata.python}",
        *(f"Requires-Dist: {need}" for need in metadata.needs),
    ]
    for extra, need in metadata.extras.items():
        lines += [f"Provides-Extra: {extra}", f'Requires-Dist: {need}; extra == "{extra}"']
    lines.append("Description-Content-Type: text/markdown")
    return "\n".join(lines) + "\n\n" + metadata.page


def _wheel(tag):
    return f"Wheel-Version: 1.0\nGenerator: tools/dist\nRoot-Is-Purelib: false\nTag: {tag}\n"


def _record(order, contents, record):
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    for place in order:
        content = contents[place][0]
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.writerow([place, f"sha256={digest}", len(content)])
    rows.writerow([record, "", ""])
    return table.getvalue()
