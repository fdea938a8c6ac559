"""What TensorFlow and Millrace give for the same cases, and where the two differ."""

import pickle

import numpy as np

from cases import Story, unpacked
from op_programs import NO_KERNEL
from programs import printed
from rows import REASONS
from tasks import DEADLINE

# Relative, as far as two ways to round may differ.
TOLERANCES = {
    "float16": 4e-3,
    "float32": 2e-5,
    "float64": 1e-9,
    "complex64": 2e-5,
    "complex128": 1e-9,
}
BFLOAT16 = 3e-2


def results_of(module, cases, folder):
    given, made = folder / "cases", folder / module
    given.write_bytes(pickle.dumps([case.packed() for case in cases]))
    printed("op_programs.py", module, given, made, deadline=20 * DEADLINE)
    return unpacked(pickle.loads(made.read_bytes()))


def reason(case, difference):
    """Why TensorFlow is off there, if a table says so; else None."""
    for (op, part), why in REASONS.items():
        if case.op == op and part in difference:
            return why
    return None


def is_near(one, other, call, tolerance=1.0):
    if isinstance(one, tuple) or isinstance(other, tuple):
        return one == other
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    is_narrow = "bfloat16" in (call.attrs.get("dtype"), *(dtype for dtype, _ in call.given()))
    allowed = BFLOAT16 if is_narrow else TOLERANCES.get(one.dtype.name, 0)
    if allowed == 0:
        return np.array_equal(one, other)
    allowed *= tolerance
    return np.allclose(one, other, rtol=allowed, atol=allowed, equal_nan=True)


def differences(case, theirs, ours):
    if isinstance(case, Story):
        for i, call in enumerate(case.calls):
            for found in call_differences(
                call, theirs["calls"][i], ours["calls"][i], case.tolerance
            ):
                yield f"call {i}, {call.op}: {found}"
    else:
        yield from call_differences(case, theirs, ours, case.tolerance)


def call_differences(call, theirs, ours, tolerance):
    if theirs.get("error") == NO_KERNEL:
        return  # nothing to compare with
    if theirs.get("error") != ours.get("error"):
        yield f"{theirs.get('error', 'values')} in TensorFlow, {ours.get('error', 'values')} here"
        return
    for i, (one, other) in enumerate(zip(theirs.get("values", ()), ours.get("values", ()))):
        if not is_near(one, other, call, tolerance):
            yield f"output {i}: {one!r} in TensorFlow, {other!r} here"
    one, other = theirs.get("gradients", []), ours.get("gradients", [])
    if isinstance(one, str):
        return  # it has none either, or breaks on it
    if isinstance(other, str) or len(one) != len(other):
        yield f"gradients: {one!r} in TensorFlow, {other!r} here"
        return
    for i, (a, b) in enumerate(zip(one, other)):
        # Where TensorFlow has none, one of ours is no fault.
        if a is not None and (b is None or not is_near(a, b, call, tolerance)):
            yield f"gradient {i}: {a!r} in TensorFlow, {b!r} here"
