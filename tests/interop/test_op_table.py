"""What our ops take and make is what TensorFlow's do, and docs/interop.md says which there are."""

import importlib.machinery
import importlib.util
import pathlib

import op_signatures
import pytest
import tensorflow as tf

HERE = pathlib.Path(__file__).parent


def load_program(name):
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def registries():
    return op_signatures.of_millrace(), op_signatures.of_tensorflow()


def takes_references(op):
    return any(argument.type.startswith("Ref(") for argument in op.inputs)


def test_every_op_of_ours_is_one_of_tensorflows(registries):
    ours, theirs = registries
    assert ours and sorted(ours.keys() - theirs.keys()) == []
    assert sorted(op_signatures.OWN & theirs.keys()) == []


# Differences that clients can't come upon, or that are ours by intent.
KNOWN = {
    # TensorFlow's signatures allow any type, its kernels those that ours name.
    "attribute T differs in the types it allows": ["InplaceAdd", "InplaceSub"]
    + ["LowerBound", "UpperBound"],
    # Their handles are strings, by which no pass sees that they are about one array: here they are marked.
    "is stateful here only": [
        f"TensorArray{verb}V2"
        for verb in "Close Concat Gather Read Scatter Size Split Write".split()
    ]
    # What they wait for, or take, is beside the graph: merged or folded they would not.
    + ["Batch", "BatchFunction", "GetElementAtIndex", "Unbatch", "UnbatchGrad"],
}


def is_known(name, told):
    return any(told.startswith(what) and name in names for what, names in KNOWN.items())


def test_signatures_attributes_and_defaults_are_tensorflows(registries):
    ours, theirs = registries
    found = {name: op_signatures.differences(op, theirs[name]) for name, op in ours.items()}
    # An op on references is never merged or folded there, so it needs no mark; here it has one.
    for name, op in ours.items():
        if takes_references(op) and "is stateful here only" in found[name]:
            found[name].remove("is stateful here only")
        found[name] = [told for told in found[name] if not is_known(name, told)]
    assert {name: told for name, told in found.items() if told} == {}


def test_differences_are_seen():
    def op(**changes):
        attr = op_signatures.Attr("type", "float", frozenset(["float", "double"]))
        made = op_signatures.Op([op_signatures.Arg("x", "T")], [], {"T": attr}, False)
        for field, value in changes.items():
            setattr(made, field, value)
        return made

    assert op_signatures.differences(op(), op()) == []
    assert "inputs are" in op_signatures.differences(op(inputs=[]), op())[0]
    assert op_signatures.differences(op(is_stateful=True), op()) == ["is stateful here only"]
    assert "ours, not TensorFlow's" in op_signatures.differences(op(), op(attrs={}))[0]
    for kind, default, allowed, told in [
        ("int", "float", ["float", "double"], "is a type, TensorFlow's a int"),
        ("type", "double", ["float", "double"], "defaults to 'float', TensorFlow's to 'double'"),
        ("type", "float", ["float"], "types it allows (double)"),
    ]:
        other = op(attrs={"T": op_signatures.Attr(kind, default, frozenset(allowed))})
        assert told in op_signatures.differences(op(), other)[0]
    wider = op(
        attrs={"T": op_signatures.Attr("type", "float", frozenset(["float", "double", "half"]))}
    )
    assert op_signatures.differences(op(), wider) == []
    assert op_signatures.lacking_types(op(), wider) == {"T": ["half"]}


def test_the_table_in_the_docs_is_the_one_that_the_registries_make():
    program = load_program("op_table")
    _, table, _ = program.split(program.PAGE.read_text())
    if f"Against TensorFlow {tf.__version__}:" not in table:
        pytest.skip(f"the table was made with another TensorFlow than {tf.__version__}")
    assert table == program.current(), "run: tests/interop/op_table --write"
