"""Checkpoints read without a session: their variables by name, and as initial values of a model."""

import os

from millrace import _gen as gen_ops
from millrace import _millrace
from millrace._files import paths
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import constant
from millrace._graph.default_graph import get_collection
from millrace._saving.checkpoint_state import latest_checkpoint
from millrace._saving.graph_messages import DataType
from millrace._state.variables import Variable
from millrace._values import dtypes


class CheckpointReader:
    """A checkpoint opened for reading.

    Args:
      filepattern: what its files begin with.

    Raises:
      tf.errors.NotFoundError: if there is none; DataLossError: if it is damaged.
    """

    def __init__(self, filepattern):
        self._file = _millrace.CheckpointFile(_millrace.files, os.fspath(filepattern))
        self._tensors = self._file.tensors()

    def get_variable_to_shape_map(self):
        """{name: shape as a list}."""
        return {name: list(shape) for name, (_, shape) in self._tensors.items()}

    def get_variable_to_dtype_map(self):
        """{name: DType}."""
        return {name: dtypes.as_dtype(number) for name, (number, _) in self._tensors.items()}

    def has_tensor(self, tensor_str):
        return self._file.has(tensor_str)

    def get_tensor(self, tensor_str):
        """The value as NumPy has it. NotFoundError if it is not there."""
        return self._file.read(tensor_str)

    def debug_string(self):
        """A line per tensor, as bytes: name (type) shape."""
        lines = (
            f"{name} ({DataType.names[number]}) {list(shape)}"
            for name, (number, shape) in sorted(self._tensors.items())
        )
        return "\n".join(lines).encode()


def NewCheckpointReader(filepattern):
    """A CheckpointReader of the checkpoint whose files begin so."""
    return CheckpointReader(filepattern)


def _path_of(ckpt_dir_or_file):
    path = os.fspath(ckpt_dir_or_file)
    if paths.isdir(path):
        path = latest_checkpoint(path)
    if path is None:
        raise ValueError(
            "Couldn't find 'checkpoint' file or checkpoints in given directory "
            f"{os.fspath(ckpt_dir_or_file)}"
        )
    return path


def load_checkpoint(ckpt_dir_or_file):
    """A CheckpointReader of a checkpoint, or of the newest one in a folder. ValueError if it has none."""
    return CheckpointReader(_path_of(ckpt_dir_or_file))


def list_variables(ckpt_dir_or_file):
    """[(name, shape as a list)] of a checkpoint, by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file, name):
    """The value of a variable in a checkpoint, as NumPy has it."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Makes initializers of variables set them to values of a checkpoint.

    Args:
      ckpt_dir_or_file: a checkpoint, or a folder of them.
      assignment_map: {name in the checkpoint: Variable, its name, or a list of its slices}; or
        {"scope/": "scope/"} for all variables of a scope, where "/" is all.

    Raises:
      ValueError: if a tensor is not in the checkpoint, or has another shape.
    """
    path = _path_of(ckpt_dir_or_file)
    shapes = CheckpointReader(path).get_variable_to_shape_map()
    pairs = assignment_map.items() if hasattr(assignment_map, "items") else assignment_map
    known = {variable.op.name: variable for variable in get_collection(GraphKeys.GLOBAL_VARIABLES)}
    for name, wanted in sorted(pairs, key=lambda pair: pair[0]):
        for tensor_name, variable in _assigned(name, wanted, known):
            if tensor_name not in shapes:
                raise ValueError(
                    f"Tensor {tensor_name} is not found in {path} checkpoint {sorted(shapes)}"
                )
            for part in variable if isinstance(variable, (list, tuple)) else [variable]:
                _set_initializer(part, path, tensor_name, shapes[tensor_name])


def _assigned(name, wanted, known):
    """(name in the checkpoint, variable) pairs of one entry of an assignment map."""
    if isinstance(wanted, (Variable, list, tuple)):
        return [(name, wanted)]
    if wanted in known:
        return [(name, known[wanted])]
    if not name.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {wanted} should map to scope only {name}. Should be "
            "'scope/': 'other_scope/'."
        )
    inside = wanted.strip("/") + "/" if wanted.strip("/") else ""
    outside = "" if name == "/" else name
    return [
        (outside + own.removeprefix(inside), variable)
        for own, variable in sorted(known.items())
        if own.startswith(inside)
    ]


def _set_initializer(variable, path, tensor_name, shape):
    info = variable.save_slice_info
    if info is None and not variable.shape.is_compatible_with(shape):
        raise ValueError(
            f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of tensor "
            f"{tensor_name} ({shape}) from checkpoint reader."
        )
    graph = variable.graph
    with graph.as_default(), graph.device(variable.device or None), graph.device("/device:CPU:0"):
        (value,) = _listed(
            gen_ops.restore_v2(
                constant(path, dtypes.string, name="checkpoint_initializer/prefix"),
                constant([tensor_name], dtypes.string, name="checkpoint_initializer/tensor_names"),
                constant(
                    ["" if info is None else info.spec],
                    dtypes.string,
                    name="checkpoint_initializer/shape_and_slices",
                ),
                dtypes=[variable.dtype.base_dtype],
                name="checkpoint_initializer",
            )
        )
    value.set_shape(variable.shape)
    variable.set_initial_value(value)


def _listed(tensors):
    return tensors if isinstance(tensors, (list, tuple)) else [tensors]
