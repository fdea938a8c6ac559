"""Variables by the names of their nodes, as MetaGraphs hold them; and slices of larger variables."""

from millrace._graph.graph import get_default_graph
from millrace._values.messages import Message, many
from millrace._values.tensor_shape import TensorShape


class SaveSliceInfoDef(Message):
    _fields = {
        "full_name": (1, str),
        "full_shape": (2, many(int)),
        "var_offset": (3, many(int)),
        "var_shape": (4, many(int)),
    }


class VariableDef(Message):
    """A variable: its nodes, whether it is trained, and of what it is a slice."""

    _fields = {
        "variable_name": (1, str),
        "initializer_name": (2, str),
        "snapshot_name": (3, str),
        "save_slice_info_def": (4, SaveSliceInfoDef),
        "is_resource": (5, bool),
        "initial_value_name": (6, str),
        "trainable": (7, bool),
        "synchronization": (8, int),
        "aggregation": (9, int),
    }


class SaveSliceInfo:
    """Which part of a larger tensor a variable holds, so that checkpoints have the whole.

    Args:
      full_name: the name of the whole.
      full_shape: its shape, a list of ints.
      var_offset: where the part begins in each dimension.
      var_shape: the shape of the part.
      save_slice_info_def: a SaveSliceInfoDef instead of these.
      import_scope: the name scope under which `save_slice_info_def` was imported.
    """

    def __init__(
        self,
        full_name=None,
        full_shape=None,
        var_offset=None,
        var_shape=None,
        save_slice_info_def=None,
        import_scope=None,
    ):
        if save_slice_info_def is not None:
            given = save_slice_info_def
            prefix = f"{import_scope.rstrip('/')}/" if import_scope else ""
            full_name = prefix + given.full_name
            full_shape, var_offset, var_shape = given.full_shape, given.var_offset, given.var_shape
        self.full_name = full_name
        self.full_shape = list(full_shape or [])
        self.var_offset = list(var_offset or [])
        self.var_shape = list(var_shape or [])

    @property
    def spec(self):
        """As SaveV2 and RestoreV2 take it: "20 30 0,10:0,30"."""
        shape = "".join(f"{size} " for size in self.full_shape)
        parts = (f"{begin},{size}" for begin, size in zip(self.var_offset, self.var_shape))
        return shape + ":".join(parts)

    def to_proto(self, export_scope=None):
        """A SaveSliceInfoDef; None if the whole is not in the name scope `export_scope`."""
        if export_scope and not self.full_name.startswith(export_scope):
            return None
        prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
        return SaveSliceInfoDef(
            full_name=self.full_name.removeprefix(prefix),
            full_shape=self.full_shape,
            var_offset=self.var_offset,
            var_shape=self.var_shape,
        )


class VariableMessages:
    """What a Variable knows of its message."""

    SaveSliceInfo = SaveSliceInfo
    save_slice_info = None
    _is_resource = False

    def _set_save_slice_info(self, save_slice_info):
        """Makes checkpoints take it for a part of a larger variable."""
        self.save_slice_info = save_slice_info

    def to_proto(self, export_scope=None):
        """A VariableDef; None if it is not in the name scope `export_scope`."""
        if export_scope and not self.op.name.startswith(export_scope):
            return None
        prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
        made = VariableDef(
            variable_name=self.name.removeprefix(prefix),
            initializer_name=self.initializer.name.removeprefix(prefix),
            snapshot_name=self._snapshot.name.removeprefix(prefix),
            is_resource=self._is_resource,
            trainable=self.trainable,
        )
        if self._initial_value is not None:
            made.initial_value_name = self._initial_value.name.removeprefix(prefix)
        if self.save_slice_info is not None:
            made.save_slice_info_def = self.save_slice_info.to_proto(export_scope)
        return made

    def take(self, variable_def, import_scope):
        """Makes it the variable of a VariableDef."""
        prefix = f"{import_scope.rstrip('/')}/" if import_scope else ""
        self.graph = graph = get_default_graph()
        self._handle = graph.as_graph_element(prefix + variable_def.variable_name)
        self._initializer = graph.as_graph_element(prefix + variable_def.initializer_name)
        self._snapshot = graph.as_graph_element(prefix + variable_def.snapshot_name)
        self._initial_value = None
        if variable_def.initial_value_name:
            self._initial_value = graph.as_graph_element(prefix + variable_def.initial_value_name)
        self._trainable = bool(variable_def.trainable)
        self._caching_device = self.constraint = None
        self._dtype = self._snapshot.dtype.base_dtype
        self._shape = TensorShape(self._handle.op.get_attr("shape"))
        if variable_def.HasField("save_slice_info_def"):
            self.save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )
