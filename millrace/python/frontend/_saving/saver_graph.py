"""The nodes of a Saver, under the names that TensorFlow gives them: save/Const, save/SaveV2 and so on.

A sharded Saver has one SaveV2 per device, into a folder beside the checkpoint, and merges what they wrote. One with
a saving_device does so there alone, piece by piece: for tasks that don't share their disks. A Saver that lets steps
go on meanwhile has a second set of nodes, which save what a staging area on each device holds.
"""

import types
import uuid

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group, with_dependencies
from millrace._graph.conversion import constant
from millrace._graph.default_graph import control_dependencies, device, name_scope
from millrace._graph.graph import get_default_graph
from millrace._ops.arrays import shape
from millrace._saving.saveables import SaveSpec
from millrace._saving.saver_def import SaverDef
from millrace._state.staging import StagingArea
from millrace._values import dtypes
from millrace._values.device_spec import DeviceSpec, canonical_name


def add_saver_nodes(
    saveables,
    name=None,
    reshape=False,
    sharded=False,
    restore_sequentially=False,
    filename=None,
    max_to_keep=5,
    keep_checkpoint_every_n_hours=10000.0,
    version=SaverDef.V2,
    saving_device=None,
):
    """Adds the nodes that save and restore, and returns the SaverDef that names them.

    Args:
      saveables: SaveableObjects, in the order of their names.
      name: the name scope; "save" if None.
      reshape: True to give restored values the variables' shapes.
      sharded: True for a part of its own on each device.
      restore_sequentially: True to restore one after another.
      filename: where to save when nothing is fed; "model" if None.
      max_to_keep, keep_checkpoint_every_n_hours: go into the SaverDef.
      saving_device: the device whose task has the files; None if all tasks see them.
      version: SaverDef.V2, or SaverDef.V1 for the format before 2017, of a file per shard.
    """
    values = [saveable.op for saveable in saveables if saveable.op is not None]
    with name_scope(name, "save", values):
        default = constant(filename or "model", dtypes.string, name="filename/input")
        path = gen_ops.placeholder_with_default(default, shape=[], name="filename")
        path = gen_ops.placeholder_with_default(path, shape=[], name="Const")
        if saving_device is not None:
            nodes = _StreamedNodes(path, reshape, saving_device)
        elif version == SaverDef.V2:
            nodes = _Nodes(path, reshape, restore_sequentially)
        else:
            nodes = _FirstFormatNodes(path, reshape, restore_sequentially)
        saved = nodes.save_all(saveables, sharded)
        restored = nodes.restore_all(saveables, sharded)
    return SaverDef(
        filename_tensor_name=path.name,
        save_tensor_name=saved.name,
        restore_op_name=restored.name,
        max_to_keep=max_to_keep,
        sharded=sharded,
        keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
        version=version,
    )


def add_held_nodes(saveables, saver_def, saving_device=None):
    """Adds nodes that save in two steps, the first of which only takes the values; beside those of `saver_def`.

    A staging area on each device holds the values: a variable that is written later is copied then.

    Args:
      saveables: what `add_saver_nodes` was given.
      saver_def: what it returned, of V2.
      saving_device: as there.

    Returns:
      (the name of the Operation that takes the values, the name of the Tensor that saves them).
    """
    path = get_default_graph().get_tensor_by_name(saver_def.filename_tensor_name)
    with name_scope("held" if "/" not in path.name else f"{path.name.rpartition('/')[0]}/held"):
        if saving_device is not None:
            nodes = _StreamedNodes(path, False, saving_device)
        else:
            nodes = _Nodes(path, False, False)
        takings, held = [], []
        for place, mine in _by_device(saveables):
            with device(place or None):
                taking, others = _held(mine)
            takings.append(taking)
            held += others
        taken = group(*takings, name="take")
        return taken.name, nodes.save_all(held, saver_def.sharded).name


def _held(saveables):
    """(what takes the values of SaveableObjects of one device, what to save in place of them)."""
    specs = [spec for saveable in saveables for spec in saveable.specs]
    tensors = [spec.tensor for spec in specs]
    # By the graph's names: who starts again finds the area, and drops what it holds.
    scope = get_default_graph().unique_name("values")
    area = StagingArea([spec.dtype for spec in specs], shared_name=scope)
    with control_dependencies([area.clear()]):
        taking = area.put(tensors)
    values = area.get()
    held = [
        SaveSpec(value, spec.slice_spec, spec.name, spec.dtype, spec.device, spec.shape)
        for spec, value in zip(specs, values)
    ]
    for spec, tensor in zip(held, tensors):
        spec.tensor.set_shape(tensor.shape)
    return taking, [types.SimpleNamespace(name=spec.name, specs=[spec]) for spec in held]


class _Nodes:
    def __init__(self, path, reshape, restore_sequentially):
        self._path = path
        self._reshape = reshape
        self._sequentially = restore_sequentially

    def save_all(self, saveables, sharded):
        """Saves them; the path, once that is done."""
        return (
            self.save_sharded(_by_device(saveables))
            if sharded
            else self.save(self._path, saveables)
        )

    def restore_all(self, saveables, sharded):
        """An Operation that restores them."""
        if sharded:
            return self.restore_sharded(_by_device(saveables))
        return self.restore(saveables, "restore_all")

    def save(self, path, saveables):
        """Saves under `path`; the path, once that is done."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        saved = gen_ops.save_v2(
            path, *_names_and_slices(specs, "SaveV2"), [spec.tensor for spec in specs]
        )
        return with_dependencies([saved], path)

    def save_sharded(self, per_device):
        with device("/device:CPU:0"):
            # A folder of its own: two saves of one checkpoint don't meet in it.
            part = constant(f"_temp_{uuid.uuid4().hex}/part", name="StringJoin/inputs_1")
            parts = gen_ops.string_join([self._path, part], name="StringJoin")
        count = constant(len(per_device), dtypes.int32, name="num_shards")
        paths, saved = [], []
        for number, (place, saveables) in enumerate(per_device):
            with device(_processor_of(place)):
                index = constant(number, dtypes.int32, name="ShardedFilename/shard")
                path = gen_ops.sharded_filename(parts, index, count, name="ShardedFilename")
                paths.append(path)
                saved.append(self.save(path, saveables))
        with control_dependencies([tensor.op for tensor in saved]):
            with device(_processor_of(per_device[-1][0])):
                merged = gen_ops.merge_v2_checkpoints(
                    gen_ops.pack(paths, axis=0, name="MergeV2Checkpoints/checkpoint_prefixes"),
                    self._path,
                    delete_old_dirs=True,
                    name="MergeV2Checkpoints",
                )
                with control_dependencies([merged]):
                    return gen_ops.identity(self._path, name="Identity")

    def restore(self, saveables, name):
        """An Operation that restores all of them."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        with device(self.restore_device()):
            tensors = gen_ops.restore_v2(
                self._path,
                *_names_and_slices(specs, "RestoreV2"),
                dtypes=[spec.dtype for spec in specs],
            )
        tensors = iter(tensors if isinstance(tensors, (list, tuple)) else [tensors])
        done = []
        for saveable in saveables:
            mine = [next(tensors) for _ in saveable.specs]
            shapes = [_shape_of(spec) for spec in saveable.specs] if self._reshape else None
            with control_dependencies(done[-1:] if self._sequentially else []):
                made = saveable.restore(mine, shapes)
            done.append(getattr(made, "op", made))
        return group(*done, name=name)

    def restore_device(self):
        """Where the files are read."""
        return "/device:CPU:0"

    def restore_sharded(self, per_device):
        shards = []
        for place, saveables in per_device:
            with device(place or None):
                shards.append(self.restore(saveables, "restore_shard"))
        return group(*shards, name="restore_all")


class _FirstFormatNodes(_Nodes):
    """Saves in the format before 2017. It is restored by the same nodes, which know both."""

    def save(self, path, saveables):
        """Saves into the file `path`; the path, once that is done."""
        specs = [spec for saveable in saveables for spec in saveable.specs]
        saved = gen_ops.save_slices(
            path, *_names_and_slices(specs, "save"), [spec.tensor for spec in specs], name="save"
        )
        return with_dependencies([saved], path)

    def save_sharded(self, per_device):
        """A file per device; the pattern that all of them match, once that is done."""
        count = constant(len(per_device), dtypes.int32, name="num_shards")
        saved = []
        for number, (place, saveables) in enumerate(per_device):
            with device(_processor_of(place)):
                index = constant(number, dtypes.int32, name="ShardedFilename/shard")
                path = gen_ops.sharded_filename(self._path, index, count, name="ShardedFilename")
                saved.append(self.save(path, saveables))
        with control_dependencies([tensor.op for tensor in saved]):
            return gen_ops.sharded_filespec(self._path, count, name="ShardedFilespec")


class _StreamedNodes(_Nodes):
    """All files are one task's: values come to it, and go from it, one piece after another.

    So that a piece is on its way when the one before it is done, each value waits where it is.
    """

    def __init__(self, path, reshape, saving_device):
        super().__init__(path, reshape, False)
        self._place = saving_device

    def save_all(self, saveables, sharded):
        """Saves each piece as a checkpoint of its own, and merges them; the path, once that is done."""
        with device(self._place):
            folder = constant(f"_temp_{uuid.uuid4().hex}/part", name="StringJoin/inputs_1")
            parts = gen_ops.string_join([self._path, folder], name="StringJoin")
        pieces = _pieces_of(saveables)
        count = constant(len(pieces), dtypes.int32, name="num_shards")
        paths, before = [], []
        for number, piece in enumerate(pieces):
            specs = [spec for saveable in piece for spec in saveable.specs]
            values = [_waiting(spec, before) for spec in specs]
            with device(self._place):
                index = constant(number, dtypes.int32, name="ShardedFilename/shard")
                path = gen_ops.sharded_filename(parts, index, count, name="ShardedFilename")
                names = _names_and_slices(specs, "SaveV2")
                before = [gen_ops.save_v2(path, *names, values)]
                paths.append(path)
        with device(self._place), control_dependencies(before):
            merged = gen_ops.merge_v2_checkpoints(
                gen_ops.pack(paths, axis=0, name="MergeV2Checkpoints/checkpoint_prefixes"),
                self._path,
                delete_old_dirs=True,
                name="MergeV2Checkpoints",
            )
            with control_dependencies([merged]):
                return gen_ops.identity(self._path, name="Identity")

    def restore_all(self, saveables, sharded):
        """An Operation that restores one piece after another."""
        done = []
        for piece in _pieces_of(saveables):
            with control_dependencies(done):
                done = [self.restore(piece, "restore_piece")]
        return group(*done, name="restore_all")

    def restore_device(self):
        return self._place


_PIECE_BYTES = 64 << 20


def _pieces_of(saveables):
    """The SaveableObjects in groups, each of so many bytes, or of one object."""
    pieces, left = [], 0
    for saveable in saveables:
        size = sum(map(_bytes_of, saveable.specs))
        if size > left or not pieces:
            pieces.append([])
            left = _PIECE_BYTES
        pieces[-1].append(saveable)
        left -= size
    return pieces


def _bytes_of(spec):
    """What a value takes, as far as it is known before; what is not known fills a piece."""
    shape = spec.tensor.shape if spec.shape is None else spec.shape
    count = shape.num_elements()
    return _PIECE_BYTES if count is None else count * max(spec.dtype.size or 0, 1)


def _waiting(spec, before):
    """The value of a spec, read where it is, once `before` is done."""
    with control_dependencies(before), device(spec.device or None):
        return gen_ops.identity(spec.tensor, name="piece")


def _names_and_slices(specs, name):
    return (
        constant([spec.name for spec in specs], dtypes.string, name=f"{name}/tensor_names"),
        constant(
            [spec.slice_spec for spec in specs], dtypes.string, name=f"{name}/shape_and_slices"
        ),
    )


def _shape_of(spec):
    """The shape to give a restored value: known, or found out when it is restored."""
    if spec.shape is not None and spec.shape.is_fully_defined():
        return spec.shape.as_list()
    tensor = spec.tensor
    return tensor.shape.as_list() if tensor.shape.is_fully_defined() else shape(tensor)


def _processor_of(place):
    """The first processor of a device's task: files are written there."""
    spec = DeviceSpec.from_string(place)
    spec.device_type, spec.device_index = "CPU", 0
    return spec.to_string()


def _by_device(saveables):
    """[(device, its SaveableObjects)], by device."""
    per_device = {}
    for saveable in saveables:
        places = {canonical_name(spec.device) for spec in saveable.specs}
        if len(places) != 1:
            raise ValueError(
                f"All tensors of a saveable object must be on the same device: {saveable.name}"
            )
        per_device.setdefault(places.pop(), []).append(saveable)
    return sorted(per_device.items(), key=lambda item: item[0])
