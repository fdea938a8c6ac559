"""What TensorFlow and Millrace give for the same cases, and where the two differ."""

import pickle

import numpy as np

from op_cases import unpacked
from op_programs import NO_KERNEL
from programs import printed
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


# Where it is TensorFlow's that is off, by op and how the difference begins.
REASONS = {
    ("SoftmaxCrossEntropyWithLogits", "gradient 1:"): (
        "its gradient of the labels leaves out what comes by the second output, which is "
        "softmax - labels"
    ),
    **{
        ("BlockLSTMV2", f"gradient {slot}:"): (
            "its gradient takes the gates in the order of BlockLSTM, which is another one"
        )
        for slot in range(8)
    },
    ("Where", "UnimplementedError in TensorFlow"): (
        "it lacks kernels for types that its signature allows"
    ),
}


def reason(case, difference):
    for (op, beginning), why in REASONS.items():
        if case.op == op and difference.startswith(beginning):
            return why
    return None


def is_near(one, other, case):
    if isinstance(one, tuple) or isinstance(other, tuple):
        return one == other
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    is_narrow = (
        any(
            dtype == "bfloat16"
            for given in case.inputs.values()
            for dtype, _ in (given if isinstance(given, list) else [given])
        )
        or case.attrs.get("dtype") == "bfloat16"
    )
    tolerance = BFLOAT16 if is_narrow else TOLERANCES.get(one.dtype.name, 0)
    if tolerance == 0:
        return np.array_equal(one, other)
    tolerance *= case.tolerance
    return np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


def differences(case, theirs, ours):
    if theirs.get("error") == NO_KERNEL:
        return  # nothing to compare with
    if theirs.get("error") != ours.get("error"):
        yield f"{theirs.get('error', 'values')} in TensorFlow, {ours.get('error', 'values')} here"
        return
    for i, (one, other) in enumerate(zip(theirs.get("values", ()), ours.get("values", ()))):
        if not is_near(one, other, case):
            yield f"output {i}: {one!r} in TensorFlow, {other!r} here"
    one, other = theirs.get("gradients", []), ours.get("gradients", [])
    if isinstance(one, str):
        return  # it has none either, or breaks on it
    if isinstance(other, str) or len(one) != len(other):
        yield f"gradients: {one!r} in TensorFlow, {other!r} here"
        return
    for i, (a, b) in enumerate(zip(one, other)):
        # Where TensorFlow has none, one of ours is no fault.
        if a is not None and (b is None or not is_near(a, b, case)):
            yield f"gradient {i}: {a!r} in TensorFlow, {b!r} here"
