"""What TensorFlow and Millrace give for the same random graphs, and where the two differ."""

import pickle

import numpy as np

from programs import printed
from tasks import DEADLINE

# Relative to the largest element: up to 16 ops, one after another, and the way back.
TOLERANCES = {"float32": 2e-4, "float64": 1e-9}


def results_of(module, first, count, folder):
    """Of the graphs with seeds from `first` on."""
    made = folder / f"graphs_{module}"
    printed("random_graphs.py", module, first, count, made, deadline=30 * DEADLINE)
    return pickle.loads(made.read_bytes())


def differences(theirs, ours):
    errors = [each.get("error", "values") for each in (theirs, ours)]
    if errors != ["values", "values"]:
        # Their kind: the words are each one's own.
        if errors[0].split(":")[0] != errors[1].split(":")[0]:
            yield f"{errors[0]} in TensorFlow, {errors[1]} here"
        return
    for kind in ("values", "gradients"):
        for i, (one, other) in enumerate(zip(theirs[kind], ours[kind], strict=True)):
            if not is_near(one, other):
                yield f"{kind} {i}: {one!r} in TensorFlow, {other!r} here"


def is_near(one, other):
    if one is None:
        return other is None or not np.any(other)  # no gradient, or that of nothing
    if other is None or one.shape != other.shape or one.dtype != other.dtype:
        return False
    allowed = TOLERANCES[one.dtype.name] * max(1.0, np.abs(one).max(initial=0))
    return np.allclose(one, other, rtol=0, atol=allowed, equal_nan=True)
