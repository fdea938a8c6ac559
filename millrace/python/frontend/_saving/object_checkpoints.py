"""tf.train.Checkpoint: objects and all that they have, saved and restored by the names of attributes."""

import os

from millrace._files import paths
from millrace._graph.conversion import constant
from millrace._graph.default_graph import device
from millrace._graph.default_session import get_default_session
from millrace._flow.control_flow import no_op
from millrace._saving import checkpoint_state
from millrace._saving.checkpoint_reader import CheckpointReader
from millrace._saving.object_graph import Matches, ObjectGraph, Trackable, is_tracked
from millrace._saving.object_messages import OBJECT_GRAPH, TrackableObjectGraph
from millrace._saving.saveables import SaveableObject, SaveSpec
from millrace._saving.saver import Saver
from millrace._state.variable_groups import variables_initializer
from millrace._state.variables import Variable
from millrace._values import dtypes


class _SavedMessage(SaveableObject):
    """The message, as one more tensor of the checkpoint."""

    def __init__(self, data):
        with device("/device:CPU:0"):
            tensor = constant(data, dtypes.string, name="object_graph")
        super().__init__(tensor, [SaveSpec(tensor, "", OBJECT_GRAPH)], OBJECT_GRAPH)

    def restore(self, restored_tensors, restored_shapes):
        return no_op()


def session_or_default(session):
    """The session that was given, else the default one. ValueError if there is none."""
    session = session or get_default_session()
    if session is None:
        raise ValueError(
            "there is no default session: pass session=, or do it inside `with session.as_default():`"
        )
    return session


class Checkpoint(Trackable):
    """Objects to save and restore together, each as an attribute.

        checkpoint = tf.train.Checkpoint(model=layer, optimizer=optimizer, step=step)
        path = checkpoint.save("/tmp/model/ckpt", session)
        checkpoint.restore(path).assert_consumed().run_restore_ops(session)

    Objects are Variables, layers, optimizers (with what they keep for variables), other Checkpoints, and
    lists and dictionaries of them. Those that are set later are saved from then on.

    Args:
      kwargs: the attributes.

    Attributes:
      save_counter: a Variable: how often it was saved; made when it is first asked for.

    Raises:
      ValueError: for an argument that can't be saved.
    """

    def __init__(self, **kwargs):
        for name, value in sorted(kwargs.items()):
            if not is_tracked(value):
                raise ValueError(
                    f"`Checkpoint` was expecting {name} to be a trackable object (a variable, a layer, an "
                    f"optimizer, a Checkpoint, or a list or dictionary of them), got {value}."
                )
            setattr(self, name, value)
        self._savers = {}  # what is saved, graph -> Saver
        self._counter = None

    def tracked(self):
        own = super().tracked()
        return own if self._counter is None else [*own, ("save_counter", self._counter)]

    @property
    def save_counter(self):
        if self._counter is None:
            self._counter = Variable(0, dtype=dtypes.int64, trainable=False, name="save_counter")
        return self._counter

    def _saver(self, graph):
        """The Saver of what there is to save now, made once for the same."""
        objects = ObjectGraph(self, graph)
        data = objects.message().SerializeToString()
        key = (graph, data)
        if key not in self._savers:
            with graph.as_default():
                named = {**objects.keys, OBJECT_GRAPH: _SavedMessage(data)}
                self._savers[key] = Saver(named, max_to_keep=None, name="save_objects")
        return self._savers[key]

    def write(self, file_prefix, session=None):
        """Saves as `file_prefix`, without a number, and without naming it the newest.

        Args:
          file_prefix: what the files begin with.
          session: the tf.Session; the default one if None.

        Returns:
          the path to restore it from.
        """
        session = session_or_default(session)
        return self._saver(session.graph).save(
            session, os.fspath(file_prefix), write_meta_graph=False, write_state=False
        )

    def save(self, file_prefix, session=None):
        """Saves as `file_prefix` and the number of the save, and names that the newest of its folder.

        Args: and Returns: as `write`.
        """
        session = session_or_default(session)
        file_prefix = os.fspath(file_prefix)
        paths.makedirs(os.path.dirname(file_prefix) or ".")
        path = self.write(f"{file_prefix}-{self.count(session)}", session)
        checkpoint_state.update_checkpoint_state(
            os.path.dirname(file_prefix), path, [path], save_relative_paths=True
        )
        return path

    def count(self, session):
        """Adds one to save_counter, and returns it."""
        with session.graph.as_default():
            if self._counter is None:
                session.run(self.save_counter.initializer)
            if getattr(self, "_count", None) is None:
                self._count = self.save_counter.assign_add(1)
        session.run(self._count)
        return int(session.run(self.save_counter))

    def read(self, save_path):
        """What can be restored of a checkpoint; as `restore`, which is for those that `save` saved."""
        return self.restore(save_path)

    def restore(self, save_path):
        """What can be restored of a checkpoint: nothing is, until one of its methods is called.

        Args:
          save_path: what `save` or `write` returned, or tf.train.latest_checkpoint; None for nothing.

        Returns:
          a status, with assert_consumed(), run_restore_ops(session) and initialize_or_restore(session).

        Raises:
          tf.errors.NotFoundError: if there is no such checkpoint.
        """
        if save_path is None:
            return NothingToRestore(self)
        reader = CheckpointReader(save_path)
        if not reader.has_tensor(OBJECT_GRAPH):
            return ByNames(self, save_path)
        if self._counter is None and reader.has_tensor("save_counter/.ATTRIBUTES/VARIABLE_VALUE"):
            self.save_counter  # goes on counting
        message = TrackableObjectGraph.FromString(reader.get_tensor(OBJECT_GRAPH))
        return ToRestore(self, save_path, message)

    def restore_variables(self, session, path, keys):
        """Gives variables, {name in the checkpoint: Variable}, their values."""
        if not keys:
            return
        key = (session.graph, tuple(sorted((k, v.op.name) for k, v in keys.items())))
        if key not in self._savers:
            with session.graph.as_default():
                self._savers[key] = Saver(keys, max_to_keep=None, name="restore_objects")
        self._savers[key].restore(session, path)


class _Status:
    def __init__(self, checkpoint):
        self._checkpoint = checkpoint

    def expect_partial(self):
        """Itself: that not all is used is no fault."""
        return self


class ToRestore(_Status):
    """What can be restored of a checkpoint of objects: whatever fits when it is restored."""

    def __init__(self, checkpoint, path, message):
        super().__init__(checkpoint)
        self._path = path
        self._message = message

    def _matches(self, session=None):
        graph = session_or_default(session).graph if session else _graph_of(self._checkpoint)
        return Matches(self._checkpoint, graph, self._message)

    def assert_consumed(self):
        """Itself. AssertionError unless every tensor has its variable, and every variable its tensor."""
        found = self._matches()
        if found.unused:
            number, key = found.unused[0]
            raise AssertionError(
                f"Unresolved object in checkpoint {found.way(number)}: nothing in the program is restored from '{key}' "
                f"({len(found.unused)} such tensors)"
            )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self):
        """Itself. AssertionError unless every variable has its tensor."""
        found = self._matches()
        if found.unmatched:
            names = ", ".join(variable.name for variable in found.unmatched)
            raise AssertionError(f"Object not assigned a value from checkpoint: {names}")
        return self

    def assert_nontrivial_match(self):
        """Itself. AssertionError if nothing at all fits."""
        found = self._matches()
        if not found.keys:
            raise AssertionError(
                f"Nothing except the root object matched a checkpointed value: {self._path} has "
                f"{', '.join(found.way(number) for number, _ in found.unused[:5])}"
            )
        return self

    def run_restore_ops(self, session=None):
        """Restores what fits."""
        session = session_or_default(session)
        self._checkpoint.restore_variables(session, self._path, self._matches(session).keys)

    def initialize_or_restore(self, session=None):
        """Restores what fits, and initializes all other variables of the objects."""
        session = session_or_default(session)
        found = self._matches(session)
        self._checkpoint.restore_variables(session, self._path, found.keys)
        _initialize(session, found.unmatched)


class ByNames(_Status):
    """What can be restored of a checkpoint of a tf.train.Saver: all variables of the objects, by names."""

    def __init__(self, checkpoint, path):
        super().__init__(checkpoint)
        self._path = path

    def assert_consumed(self):
        """Raises AssertionError: such a checkpoint may have more."""
        raise AssertionError(
            "Restoring a name-based checkpoint. No load status is available: it was saved by "
            "tf.train.Saver"
        )

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session=None):
        """Restores all variables but save_counter."""
        session = session_or_default(session)
        found = ObjectGraph(self._checkpoint, session.graph).keys.values()
        wanted = {v.op.name: v for v in found if v.op.name != "save_counter"}
        self._checkpoint.restore_variables(session, self._path, wanted)

    def initialize_or_restore(self, session=None):
        """The same."""
        self.run_restore_ops(session)


class NothingToRestore(_Status):
    """No checkpoint."""

    def assert_consumed(self):
        """Raises AssertionError."""
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session=None):
        """Raises AssertionError."""
        self.assert_consumed()

    def initialize_or_restore(self, session=None):
        """Initializes the variables of the objects."""
        session = session_or_default(session)
        _initialize(session, ObjectGraph(self._checkpoint, session.graph).keys.values())


def _initialize(session, variables):
    if variables:
        with session.graph.as_default():
            session.run(variables_initializer(list(variables)))


def _graph_of(checkpoint):
    """The graph of the first variable of the objects; that of the default session if there is none."""
    found = ObjectGraph(checkpoint, None).objects
    for item in found:
        if isinstance(item, Variable):
            return item.graph
    return session_or_default(None).graph
