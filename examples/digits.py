"""Handwritten digits, as far as a formula can write: 8 x 8 pixels, like the set that scikit-learn ships.

Each digit is a drawing of strokes, moved, slanted, thickened and made noisy at random; the same seed gives
the same pictures.
"""

import numpy as np

_DRAWINGS = """
.###. ..#.. .###. .###. ...#. ##### .###. ##### .###. .###.
#...# .##.. #...# #...# ..##. #.... #.... ....# #...# #...#
#...# ..#.. ....# ..##. .#.#. ####. ####. ...#. .###. .####
#...# ..#.. ..##. ....# ##### ....# #...# ..#.. #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# ..#.. #...# #...#
.###. .###. ##### .###. ...#. .###. .###. ..#.. .###. .###.
"""
_GLYPHS = np.array(
    [[[c == "#" for c in glyph] for glyph in row.split()] for row in _DRAWINGS.split("\n")[1:-1]]
).transpose(1, 0, 2)


def load(count, seed=0):
    """(pictures [count, 64] of float32 from 0 to 1, labels [count] of int64)."""
    random = np.random.RandomState(seed)
    labels = random.randint(0, 10, count)
    pictures = np.zeros([count, 8, 8], np.float32)
    for picture, label in zip(pictures, labels):
        glyph = _GLYPHS[label] * random.uniform(0.6, 1.0)
        row, column = random.randint(0, 3), random.randint(0, 3)
        for y, line in enumerate(glyph):
            shift = column + (random.rand() < 0.15)
            picture[row + y, shift : shift + 5] += line[: 8 - shift]
    pictures += random.normal(0, 0.15, pictures.shape)
    return pictures.reshape(count, 64).clip(0, 1).astype(np.float32), labels.astype(np.int64)


def batches(pictures, labels, size, seed=None):
    """Endless random batches: others each time, unless a seed is given."""
    random = np.random.RandomState(seed)
    while True:
        chosen = random.randint(0, len(labels), size)
        yield pictures[chosen], labels[chosen]
