"""Runs cases and stories (cases.py): the same text for TensorFlow and for Millrace.

`python3 op_programs.py tensorflow|millrace CASES RESULTS`: both are pickles, packed, of a list of cases and of a
list of results: {"values": [...], "gradients": [...]}, or {"error": the code's name}; of a story {"calls": [...]}
with one of these for each call.
"""

import contextlib
import pickle
import re
import sys
import tempfile

import numpy as np

from case_functions import as_function
from cases import Case, Story, is_made, packed
from programs import module_named

# What is said of a type that the signature allows but no kernel takes.
NO_KERNEL = "no kernel"

# Types whose values come as their bits.
BITS = ("float8", "float4")

# Of a call that may wait for ever, in milliseconds; it is told as "waits" if it does.
PATIENCE = 300

# What TensorFlow's Python calls otherwise than its graphs do.
GRAPH_NAMES = {
    **dict.fromkeys("Sum Prod Mean Max Min EuclideanNorm".split(), {"axis": "reduction_indices"}),
    **dict.fromkeys(["All", "Any"], {"axis": "reduction_indices"}),
    "ExpandDims": {"axis": "dim"},
    "Select": {"x": "t", "y": "e"},
    "Split": {"axis": "split_dim"},
    "SplitV": {"axis": "split_dim"},
    "Squeeze": {"axis": "squeeze_dims"},
    "Where": {"condition": "input"},
}


def fed(tf, name, given, feeds, made=(), values=None):
    """A placeholder for an input, or a list of them; what is fed goes to `feeds`."""
    if isinstance(given, list):
        return [fed(tf, f"{name}{i}", each, feeds, made, values) for i, each in enumerate(given)]
    if is_made(given):
        if len(made[given[1]]) <= given[2]:
            raise ValueError("the call that makes it was refused")
        tensor = made[given[1]][given[2]]
        return tensor if given[0] == "." else fed_again(tf, tensor, feeds, values)
    dtype, value = given
    kind = tf.as_dtype(dtype)
    if name in ("axis", "element_shape", "target"):  # gradients, shapes and plans ask what it is
        return tf.constant(value, kind)
    placeholder = tf.placeholder(kind, np.shape(value))
    feeds[placeholder] = value if dtype == "string" else stored(kind, value)
    return placeholder


def fed_again(tf, tensor, feeds, values):
    """A placeholder for what a call gave in its own step."""
    if tensor not in values:
        raise ValueError("the call that gives it failed")
    placeholder = tf.placeholder(tensor.dtype, tensor.shape)
    feeds[placeholder] = values[tensor]
    return placeholder


def stored(kind, value):
    """The value as the type's elements. Floats of few bits are given as those."""
    numpy_type = kind.as_numpy_dtype
    if kind.name.startswith(BITS):
        return np.asarray(value, np.uint8).view(numpy_type)
    return np.asarray(value).astype(numpy_type)


def typed(tf, attrs):
    """Attributes with types and functions in the place of their names."""
    names = "dtype Tout T output_dtype out_type internal_type Tkeys Tvalues".split()
    names += "key_dtype value_dtype element_dtype element_type elem_type".split()
    made = {
        key: tf.as_dtype(value) if key in names and isinstance(value, str) else value
        for key, value in attrs.items()
    }
    lists = [key for key in made if key.endswith("_types") and key != "row_partition_types"]
    lists += [
        key for key in ("dtypes", "Tin", "Tout", "Tcomponents") if isinstance(made.get(key), list)
    ]
    for key in lists:
        made[key] = [tf.as_dtype(value) for value in made[key]]
    return {key: as_attribute(tf, value) for key, value in made.items()}


def as_attribute(tf, value):
    """("tensor", type, array) as the message that tells it, functions as such, others as they are.

    Millrace's client takes the array itself.
    """
    if not isinstance(value, tuple) or value[0] != "tensor":
        return as_function(tf, value)
    kind = tf.as_dtype(value[1])
    array = value[2] if value[1] == "string" else stored(kind, value[2])
    return array if tf.__name__ == "millrace" else tf.make_tensor_proto(array, kind)


def is_differentiable(tensor):
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def flat(made):
    """The Tensors that an op makes, those of lists one by one."""
    if isinstance(made, (list, tuple)):
        for part in made:
            yield from flat(part)
    else:
        yield made


def made_by(tf, call, feeds, made=(), values=None):
    """What the op makes of its inputs: an Operation, or Tensors."""
    inputs = {
        name: fed(tf, name, given, feeds, made, values) for name, given in call.inputs.items()
    }
    given = {**inputs, **typed(tf, call.attrs)}
    if tf.__name__ == "millrace":
        known_as = GRAPH_NAMES.get(call.op, {})
        given = {known_as.get(name, name): value for name, value in given.items()}
    op = getattr(tf.raw_ops, call.op, None) or caller(call.op)
    try:
        return op(**given)
    except NotImplementedError as error:
        removed = re.search(r"removed in version (\d+)", str(error))
        if not removed:
            raise
        make_older(tf, int(removed[1]) - 1)
        return op(**given)


def caller(name):
    """Makes an op that calls functions: Millrace's client has none, but takes graphs that have."""
    from millrace._graph.apply import apply_op
    from millrace._graph.op_specs import specs

    def add(**given):
        return apply_op(name, [given.pop(argument.name) for argument in specs[name].inputs], given)

    return add


def make_older(tf, version):
    """TensorFlow's graph takes ops that newer ones lack, once it imports what an older program made."""
    older = tf.GraphDef()
    older.versions.producer = version
    tf.import_graph_def(older)


def close(tf, merge, following):
    """A loop: the second input of its Merge is what the next iteration begins with."""
    if tf.__name__ == "millrace":
        tf.get_default_graph().set_input(merge, 1, following)
    else:
        merge._update_input(1, following)


def build(tf, case):
    """(feeds, outputs, gradients or why there are none) of a case."""
    feeds = {}
    outputs = [*flat(made_by(tf, case, feeds))]
    return feeds, outputs, gradients_of(tf, outputs, feeds) if case.wants_gradient else []


def gradients_of(tf, outputs, feeds):
    """By each that is fed, or why there are none."""
    xs = [x for x in feeds if is_differentiable(x)]
    ys = [y for y in outputs if is_differentiable(y)]
    try:
        gradients = tf.gradients(ys, xs, [tf.ones_like(y) for y in ys]) if ys else []
    except LookupError:
        gradients = [None] * len(xs)
    except (ValueError, TypeError, NotImplementedError, tf.errors.UnimplementedError) as error:
        return f"refused: {error}"
    return [None if g is None else tf.convert_to_tensor(g) for g in gradients]


def plain(value):
    if isinstance(value, bytes):
        return (), [value]
    value = np.asarray(value)
    if value.dtype == object:
        return value.shape, [bytes(each) for each in value.ravel()]
    name = value.dtype.name
    if name == "bfloat16":
        return value.astype(np.float32)
    if name.startswith(BITS):
        return value.view(np.uint8)
    if name in ("int2", "int4", "uint2", "uint4"):
        return value.astype(np.int8 if name.startswith("i") else np.uint8)
    # TensorFlow's quantized types have one field.
    return value.view(value.dtype[0]) if value.dtype.fields else value


def name_of(error):
    return NO_KERNEL if "No OpKernel" in error.message else type(error).__name__


def run_case(tf, session, built):
    feeds, outputs, gradients = built
    try:
        # Apart: an error of the one must not hide the other.
        values = session.run(outputs, feeds)
    except tf.errors.OpError as error:
        return {"error": name_of(error)}
    result = {"values": [plain(value) for value in values]}
    if isinstance(gradients, str):
        return {**result, "gradients": gradients}
    try:
        known = [g for g in gradients if g is not None]
        made = iter(session.run(known, feeds) if known else [])
        result["gradients"] = [None if g is None else plain(next(made)) for g in gradients]
    except tf.errors.OpError as error:
        result["gradients"] = name_of(error)
    return result


def built_result(build):
    """(what `build` makes, None), or (None, the error that it ends with)."""
    try:
        return build(), None
    except ValueError:
        return None, {"error": "InvalidArgumentError"}
    except (TypeError, NotImplementedError) as error:
        return None, {"error": f"{type(error).__name__}: {error}"}


def result_of(tf, case):
    # A graph for each: a node without a kernel spoils the whole graph that it is in.
    with tf.Graph().as_default():
        if isinstance(case, Story):
            # The files that it writes are in a folder of its own.
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                return story_result(tf, case)
        built, error = built_result(lambda: build(tf, case))
        if error:
            return error
        with tf.Session() as session:
            return run_case(tf, session, built)


def story_result(tf, story):
    """Each call is run in its turn, whatever became of those before; what it is made of runs again."""
    made, results, feeds, values = [], [], {}, {}
    with tf.Session() as session:
        for call in story.calls:
            before = [y for number in call.after for y in made[number]]
            with tf.control_dependencies(before):
                built, error = built_result(lambda: made_by(tf, call, feeds, made, values))
            made.append([] if error else [*flat(built)])
            if call.closes >= 0 and not error:
                close(tf, made[call.closes][0].op, made[-1][0])
            is_run = not error and not call.is_part
            ran = called(tf, session, call, made[-1], feeds, values) if is_run else {"values": []}
            results.append(error or ran)
    return {"calls": results}


def called(tf, session, call, outputs, feeds, given):
    """Its result; the values go to `given`, by their Tensors."""
    kept = [tf.resource, tf.variant]
    shown = [y for y in outputs if getattr(y, "dtype", tf.resource).base_dtype not in kept]
    if call.wants_gradient:
        return run_case(tf, session, (feeds, shown, gradients_of(tf, shown, feeds)))
    options = tf.RunOptions(timeout_in_ms=PATIENCE) if call.waits else None
    try:
        # TensorFlow's Python can't show a variant.
        asked = shown if shown else [getattr(y, "op", y) for y in outputs]
        values = session.run(asked, feeds, options=options)
    except tf.errors.DeadlineExceededError:
        return {"error": "waits"}
    except tf.errors.OpError as error:
        return {"error": name_of(error)}
    if shown:
        # A handle of a tensor that the session keeps is more than its text.
        given.update(zip(shown, (getattr(value, "handle", value) for value in values)))
    return {"values": [plain(value) for value in values] if shown and not call.hides else []}


def main():
    tf = module_named(sys.argv[1])
    with open(sys.argv[2], "rb") as file:
        cases = [
            (Story if "calls" in fields else Case).unpacked(fields) for fields in pickle.load(file)
        ]
    with open(sys.argv[3], "wb") as file:
        pickle.dump([packed(result_of(tf, case)) for case in cases], file)


if __name__ == "__main__":
    main()
