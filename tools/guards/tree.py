"""The files of the repository, and what a fault in one of them looks like."""

import functools
import os
from dataclasses import dataclass
from pathlib import Path

# The folders on the top floor: they include what they like, and no room includes them.
YARDS = ["examples", "bench", "tests"]

_NOT_OURS = {"build", "__pycache__", ".git", ".venv", ".pytest_cache", ".cache"}


@dataclass(frozen=True)
class Fault:
    file: Path
    line: int
    message: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.message}"


class Tree:
    """All files below `root` that are the project's own, by paths relative to it."""

    def __init__(self, root):
        self.root = Path(root)
        self.files = sorted(self._walk())
        self._texts = {}

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in _NOT_OURS]
            for name in names:
                yield Path(folder, name).relative_to(self.root)

    @functools.cached_property
    def names(self):
        return {str(file) for file in self.files}

    @functools.cached_property
    def folders(self):
        return {str(parent) for file in self.files for parent in file.parents}

    def below(self, folder, *suffixes):
        """The files in a folder and its subfolders, those with one of the suffixes if any is given."""
        prefix = f"{folder}/"
        return [
            file
            for file in self.files
            if str(file).startswith(prefix) and (not suffixes or file.suffix in suffixes)
        ]

    def has(self, file):
        return str(file) in self.names

    def text(self, file):
        key = str(file)
        if key not in self._texts:
            path = self.root / file
            self._texts[key] = path.read_text(encoding="utf-8", errors="replace")
        return self._texts[key]

    @functools.cached_property
    def cpp(self):
        """All C++ files of the rooms and the yards."""
        return [file for top in ("millrace", *YARDS) for file in self.below(top, ".h", ".cc")]
