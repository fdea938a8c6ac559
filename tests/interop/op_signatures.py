"""The ops that TensorFlow and Millrace know, in one form, and how their signatures differ."""

import dataclasses
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Run by Millrace's interpreter: the registry as JSON. Functions are no defaults there.
_DUMP = """
import json
from millrace import _millrace

print(json.dumps({name: _millrace.ops.describe(name) for name in _millrace.ops.names()},
                 default=lambda value: value.decode("latin-1") if isinstance(value, bytes)
                 else value.numpy().tolist()))
"""


@dataclasses.dataclass
class Arg:
    name: str
    type: str  # a type, or the attribute that tells it; "N * T" for several; "Ref(…)"


@dataclasses.dataclass
class Attr:
    kind: str
    default: object  # None: there is none
    allowed: frozenset  # types; empty: any


@dataclasses.dataclass
class Op:
    inputs: list
    outputs: list
    attrs: dict
    is_stateful: bool


# What TensorFlow 1.15 loads for tf.contrib, and TensorFlow 2 no longer has.
CONTRIB = {
    "GatherTree": Op(
        [
            Arg("step_ids", "T"),
            Arg("parent_ids", "T"),
            Arg("max_sequence_lengths", "int32"),
            Arg("end_token", "T"),
        ],
        [Arg("beams", "T")],
        {"T": Attr("type", None, frozenset(["int32"]))},
        is_stateful=False,
    )
}


# Ours alone. What makes work count once (docs/design/once.md).
OWN = {
    *("QueueLend", "QueueEndLease", "QueueExtendLease", "QueueLeases", "QueueDeadLetter"),
    *("StepLease", "LeaseForStep", "_HoldLease"),
    # What becomes of a RemoteCall whose device a step computes (docs/design/functions.md).
    *("_RemoteDevice", "_RemoteCall"),
    # Two gradients that the planner makes one (millrace/plan/fuse.h).
    "_MaxPoolReluGrad",
}


def of_millrace():
    """{name: Op} of our registry, but for those of OWN."""
    python = ROOT / "build" / "bin" / "python3"
    environment = {"PYTHONPATH": str(ROOT / "build" / "python"), "PATH": "/usr/bin:/bin"}
    dumped = subprocess.run(
        [python, "-c", _DUMP], env=environment, check=True, capture_output=True, text=True
    )
    ops = json.loads(dumped.stdout)
    return {name: _millrace_op(*op) for name, op in ops.items() if name not in OWN}


def _millrace_op(inputs, outputs, attrs, is_stateful):
    def argument(name, dtype, type_attr, list_attr, number_attr, is_ref):
        told = list_attr or type_attr or _type_name(dtype)
        return _argument(name, told, number_attr, is_ref)

    known = {
        name: Attr(kind, _millrace_default(default), frozenset(map(_type_name, allowed)))
        for name, kind, default, allowed in attrs
    }
    return Op([argument(*a) for a in inputs], [argument(*a) for a in outputs], known, is_stateful)


def _millrace_default(default):
    if default is None:
        return None
    kind, value = default
    return _type_name(value) if kind == "type" else value


def of_tensorflow():
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    buffer = pywrap_tf_session.TF_GetAllOpList()
    ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer)).op
    return {**CONTRIB, **{op.name: _tensorflow_op(op) for op in ops}}


def _tensorflow_op(op):
    def argument(arg):
        told = arg.type_list_attr or arg.type_attr or _type_name(arg.type)
        return _argument(arg.name, told, arg.number_attr, arg.is_ref)

    known = {
        attr.name: Attr(
            attr.type,
            _tensorflow_default(attr.default_value) if attr.HasField("default_value") else None,
            frozenset(map(_type_name, attr.allowed_values.list.type)),
        )
        for attr in op.attr
    }
    inputs = [argument(arg) for arg in op.input_arg]
    return Op(inputs, [argument(arg) for arg in op.output_arg], known, op.is_stateful)


def _tensorflow_default(value):
    from tensorflow.python.framework import tensor_util

    kind = value.WhichOneof("value")
    if kind == "list":
        return [x for _, items in value.list.ListFields() for x in items]
    if kind == "type":
        return _type_name(value.type)
    if kind == "shape":
        dims = [None if dim.size < 0 else dim.size for dim in value.shape.dim]
        return None if value.shape.unknown_rank else dims
    if kind == "s":
        return value.s.decode("latin-1")
    if kind == "tensor":
        return tensor_util.MakeNdarray(value.tensor).tolist()
    if kind == "func":
        return str(value)
    return getattr(value, kind) if kind else None


def _type_name(number):
    from tensorflow.core.framework import types_pb2

    return types_pb2.DataType.Name(number).removeprefix("DT_").lower()


def _argument(name, told, number_attr, is_ref):
    told = f"{number_attr} * {told}" if number_attr else told
    return Arg(name, f"Ref({told})" if is_ref else told)


def differences(ours, theirs):
    """Sentences: where a graph that is right by their signature is wrong by ours, or the reverse."""
    found = []
    for side in ("inputs", "outputs"):
        a, b = getattr(ours, side), getattr(theirs, side)
        if a != b:
            told = [", ".join(f"{arg.name}: {arg.type}" for arg in args) for args in (a, b)]
            found.append(f"{side} are ({told[0]}), TensorFlow's ({told[1]})")
    for name in sorted(ours.attrs.keys() ^ theirs.attrs.keys()):
        has, lacks = ("ours", "TensorFlow's") if name in ours.attrs else ("TensorFlow's", "ours")
        found.append(f"attribute {name} is {has}, not {lacks}")
    for name in sorted(ours.attrs.keys() & theirs.attrs.keys()):
        a, b = ours.attrs[name], theirs.attrs[name]
        if a.kind != b.kind:
            found.append(f"attribute {name} is a {a.kind}, TensorFlow's a {b.kind}")
        if a.default != b.default:
            found.append(
                f"attribute {name} defaults to {a.default!r}, TensorFlow's to {b.default!r}"
            )
        if a.allowed and (not b.allowed or a.allowed - b.allowed) and a.allowed != b.allowed:
            extra = ", ".join(sorted(a.allowed - b.allowed)) or "anything"
            found.append(f"attribute {name} differs in the types it allows ({extra})")
    if ours.is_stateful != theirs.is_stateful:
        found.append("is stateful here only" if ours.is_stateful else "is stateful there only")
    return found


def lacking_types(ours, theirs):
    """{attribute: types that TensorFlow's op allows and ours does not}."""
    found = {}
    for name in ours.attrs.keys() & theirs.attrs.keys():
        if ours.attrs[name].allowed:
            lacking = theirs.attrs[name].allowed - ours.attrs[name].allowed
            if lacking:
                found[name] = sorted(lacking)
    return found


def families():
    """{op: family}, after the Python module of TensorFlow that wraps it: "array", "math" …"""
    from tensorflow.python import ops

    found = {}
    for path in sorted(pathlib.Path(ops.__path__[0]).glob("gen_*_ops*.py")):
        family = re.sub(r"^gen_|_ops", "", path.stem).replace("_", " ")
        for name in re.findall(r'_apply_op_helper\(\s*"(\w+)"', path.read_text()):
            found.setdefault(name, family)
    return found
