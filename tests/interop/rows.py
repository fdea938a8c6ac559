"""All rows of the tables of this folder: every TABLE of a *_cases.py or *_stories.py.

A table has rows (cases.py), or the fields of one each. REASONS beside it says where it is TensorFlow's that is
off: by op and a part of the difference's text. UNCOMPARED says of ops without a row why they have none.
"""

import importlib
import pathlib

from cases import Row


def _modules():
    folder = pathlib.Path(__file__).parent
    for path in sorted([*folder.glob("*_cases.py"), *folder.glob("*_stories.py")]):
        yield importlib.import_module(path.stem)


MODULES = [*_modules()]
ROWS = [row if hasattr(row, "cases") else Row(*row) for made in MODULES for row in made.TABLE]
UNCOMPARED = {op: why for made in MODULES for op, why in getattr(made, "UNCOMPARED", {}).items()}
REASONS = {key: why for made in MODULES for key, why in getattr(made, "REASONS", {}).items()}


def all_cases(number, seed=1):
    """About so many cases, as many of each row."""
    each = max(1, -(-number // len(ROWS)))
    return [case for row in ROWS for case in row.cases(each, seed)]
