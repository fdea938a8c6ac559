"""Saver: saves variables into checkpoints, restores them, and removes old checkpoints."""

import logging
import os
import time

import numpy as np

from millrace._files import paths
from millrace._graph.collection_protos import register_proto_function
from millrace._graph.collections import GraphKeys
from millrace._run.session import BaseSession
from millrace._saving import checkpoint_state, meta_graph, object_names
from millrace._saving.background_save import BackgroundSave
from millrace._saving.kept_checkpoints import KeptCheckpoints
from millrace._saving.saveables import all_saveable_objects, saveables
from millrace._saving.saver_def import SaverDef
from millrace._saving.saver_graph import add_held_nodes, add_saver_nodes
from millrace._values import errors

_log = logging.getLogger("millrace")


class Saver:
    """Saves and restores variables.

    Args:
      var_list: a list of Variables, or a dictionary of them by their names in the checkpoint; all global
        variables if None.
      reshape: True to restore values of other shapes with as many elements.
      sharded: True to let each device write a part of its own.
      max_to_keep: how many of the last checkpoints stay; None or 0 for all.
      keep_checkpoint_every_n_hours: of those that go, one in so many hours stays.
      name: a name scope for the nodes.
      restore_sequentially: True to restore one variable after another.
      saver_def: a SaverDef whose nodes are in the graph already, instead of making them.
      builder: must be None.
      defer_build: True to make the nodes in `build`.
      allow_empty: True for a Saver that saves nothing where there are no variables.
      write_version: SaverDef.V2; SaverDef.V1 for programs that only read the format before 2017.
      pad_step_number: True for names like model-00000100.
      save_relative_paths: True for a folder of checkpoints that may be moved.
      filename: where nodes save when no path is fed.
      saving_device: the device, "/job:worker/task:0" for example, whose task has the checkpoints on its disk:
        other tasks need not see it, values are streamed from and to them, some 64 MB at a time. None where all
        tasks see the same files. Not with `sharded`.
      asynchronous: True for a `save` that returns when the values are taken, and writes them while steps go on.
        Each variable that is written meanwhile is copied first, so there may be two of each. Not with V1, nor with
        a `saver_def` of another Saver.

    Attributes:
      saver_def: the SaverDef; None before `build`, and for an empty one.

    Raises:
      ValueError: if there is nothing to save; TypeError: for what can't be saved.
    """

    def __init__(
        self,
        var_list=None,
        reshape=False,
        sharded=False,
        max_to_keep=5,
        keep_checkpoint_every_n_hours=10000.0,
        name=None,
        restore_sequentially=False,
        saver_def=None,
        builder=None,
        defer_build=False,
        allow_empty=False,
        write_version=SaverDef.V2,
        pad_step_number=False,
        save_relative_paths=False,
        filename=None,
        saving_device=None,
        asynchronous=False,
    ):
        if asynchronous and (saver_def is not None or write_version != SaverDef.V2):
            raise ValueError(
                "Saver: asynchronous=True needs nodes of its own: leave saver_def= and write_version= as they are"
            )
        if saving_device is not None and (sharded or write_version != SaverDef.V2):
            raise ValueError(
                f"Saver: saving_device={saving_device!r} is one place for all files: leave sharded= and "
                "write_version= as they are"
            )
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        if builder is not None:
            raise NotImplementedError("Saver: builder= must be None")
        if write_version not in (SaverDef.V1, SaverDef.V2):
            raise ValueError(f"Saver: write_version={write_version}: there are SaverDef.V1 and V2")
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._restore_sequentially = restore_sequentially
        self.saver_def = saver_def
        self._is_built = False
        self._is_empty = False
        self._allow_empty = allow_empty
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._filename = filename
        self._write_version = write_version
        self._saving_device = saving_device
        self._asynchronous = asynchronous
        self._held_nodes = None
        self._background = None
        self._kept = None
        if not defer_build:
            self.build()
        elif saver_def is not None:
            _check(saver_def)

    def build(self):
        """Makes the nodes, if that was deferred."""
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is None:
            items = all_saveable_objects() if self._var_list is None else self._var_list
            if not items:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            objects = saveables(items)
            self.saver_def = add_saver_nodes(
                objects,
                name=self._name,
                reshape=self._reshape,
                sharded=self._sharded,
                restore_sequentially=self._restore_sequentially,
                filename=self._filename,
                max_to_keep=self._max_to_keep or 0,
                keep_checkpoint_every_n_hours=self._every_n_hours,
                version=self._write_version,
                saving_device=self._saving_device,
            )
            if self._asynchronous:
                self._held_nodes = add_held_nodes(objects, self.saver_def, self._saving_device)
        elif self._name:
            self.saver_def = _in_scope(self.saver_def, self._name)
        _check(self.saver_def)
        self._kept = KeptCheckpoints(
            self.saver_def.max_to_keep, self.saver_def.keep_checkpoint_every_n_hours, time.time()
        )

    # ---- Saving ----------------------------------------------------------------------------------

    def save(
        self,
        sess,
        save_path,
        global_step=None,
        latest_filename=None,
        meta_graph_suffix="meta",
        write_meta_graph=True,
        write_state=True,
        strip_default_attrs=False,
        save_debug_info=False,
    ):
        """Saves the variables.

        An asynchronous Saver first waits for the save before this one, and raises its error. The session has to
        stay open until `wait`.

        Args:
          sess: the tf.Session that has them.
          save_path: what the checkpoint's files begin with.
          global_step: a number, or the Tensor or Variable that has it, to follow after a "-".
          latest_filename: the name of the file that names the newest one; "checkpoint" if None.
          meta_graph_suffix: how the name of the graph's file ends.
          write_meta_graph: False to write no graph; write_state: False not to name it the newest.
          strip_default_attrs: True to leave defaults out of the graph's attributes.
          save_debug_info: accepted.

        Returns:
          the path to restore it from; None if the Saver is empty.

        Raises:
          TypeError: if `sess` is no Session; ValueError: if the folder is not there, or a name of a file
            makes no sense; RuntimeError: before `build`.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest_filename = latest_filename or "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if not isinstance(sess, BaseSession):
            raise TypeError(f"'sess' must be a Session; {sess}")
        self.wait()
        save_path = os.fspath(save_path)
        path = self._numbered(sess, save_path, global_step, latest_filename)

        def write(saved_name):
            saved = self._save_values(sess, saved_name, save_path, path)
            if write_state:
                self._note(saved, os.path.dirname(save_path), latest_filename, meta_graph_suffix)
            return saved

        if self._held_nodes is not None:
            taking, saved_name = self._held_nodes
            if not paths.isdir(os.path.dirname(save_path) or "."):
                raise _no_folder(save_path)
            sess.run(sess.graph.get_operation_by_name(taking))
            self._background = BackgroundSave(lambda: write(saved_name), path)
        elif not self._is_empty:
            path = write(self.saver_def.save_tensor_name)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(
                    checkpoint_state.meta_graph_filename(path, meta_graph_suffix),
                    strip_default_attrs=strip_default_attrs,
                )
        return None if self._is_empty else path

    def _numbered(self, sess, save_path, global_step, latest_filename):
        if global_step is None:
            if os.path.basename(save_path) == latest_filename and not self._sharded:
                # Guards against replacing the checkpoint by the file that names it.
                raise ValueError(
                    f"'latest_filename' collides with 'save_path': '{latest_filename}' and "
                    f"'{save_path}'"
                )
            return save_path
        if not isinstance(global_step, (int, np.integer)):
            global_step = int(sess.run(global_step))
        return (
            f"{save_path}-{global_step:08d}"
            if self._pad_step_number
            else f"{save_path}-{global_step}"
        )

    @property
    def is_saving(self):
        """Whether an asynchronous `save` is not done yet."""
        return self._background is not None and not self._background.is_done

    def wait(self):
        """Returns when an asynchronous `save` is done, and raises its error. Does nothing without one."""
        background, self._background = self._background, None
        if background is not None:
            background.wait()

    def _save_values(self, sess, saved_name, save_path, path):
        try:
            return sess.run(saved_name, {self.saver_def.filename_tensor_name: path}).decode()
        except (errors.FailedPreconditionError, errors.NotFoundError):
            if not paths.isdir(os.path.dirname(save_path) or "."):
                raise _no_folder(save_path) from None
            raise

    def _note(self, path, folder, latest_filename, meta_graph_suffix):
        """Names the checkpoint the newest, and then removes one that is too old."""
        doomed = self._kept.add(path, time.time())
        checkpoint_state.update_checkpoint_state(
            folder,
            path,
            self.last_checkpoints,
            latest_filename,
            save_relative_paths=self._save_relative_paths,
        )
        if doomed is None:
            return
        try:
            version = self.saver_def.version
            checkpoint_state.remove_checkpoint(doomed, version, meta_graph_suffix)
        except OSError as error:
            _log.warning("an old checkpoint stays: %s", error)

    # ---- Restoring -------------------------------------------------------------------------------

    def restore(self, sess, save_path):
        """Sets the variables to the values of a checkpoint; they need not be initialized.

        Args:
          sess: the tf.Session.
          save_path: what `save` returned, or tf.train.latest_checkpoint.

        Raises:
          ValueError: if it is None, or there is no such checkpoint.
          tf.errors.NotFoundError: if a variable is not in it; InvalidArgumentError: if its shape or type
            is another one.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        save_path = os.fspath(save_path)
        if not checkpoint_state.checkpoint_exists(save_path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        _log.info("Restoring parameters from %s", save_path)
        saver_def = self.saver_def
        try:
            sess.run(saver_def.restore_op_name, {saver_def.filename_tensor_name: save_path})
        except errors.NotFoundError as error:
            if not self._loads_objects(sess, save_path):
                what = "a Variable name or other graph key that is missing"
                raise _explained(error, what) from None
        except errors.InvalidArgumentError as error:
            raise _explained(error, "a mismatch between the current graph and the graph") from None

    def _loads_objects(self, sess, save_path):
        """True if it was a checkpoint of objects, whose names are others."""
        with sess.graph.as_default():
            items = all_saveable_objects() if self._var_list is None else self._var_list
        try:
            found = object_names.load_objects(sess, save_path, items)
        except errors.DataLossError:
            return False
        if found:
            _log.warning(
                "'%s' was saved by objects and is restored by names of variables: these may have "
                "changed meanwhile. tf.train.Checkpoint restores it by objects",
                save_path,
            )
        return found

    # ---- Which checkpoints there are -------------------------------------------------------------

    @property
    def last_checkpoints(self):
        """The paths of the checkpoints that are kept, oldest first."""
        return self._kept.paths if self._kept is not None else []

    def set_last_checkpoints(self, last_checkpoints):
        """Takes these paths for the last checkpoints."""
        self._kept.set(last_checkpoints)

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
        """Takes these, pairs of path and time in seconds since the epoch, for the last checkpoints."""
        self._kept.last = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths):
        """After a restart: takes those of these checkpoints that are still there for the last ones."""
        if self._kept is None:
            return
        found = []
        for path in checkpoint_paths:
            found += [(path, time) for time in checkpoint_state.get_checkpoint_mtimes([path])]
        self._kept.last = found

    # ---- As a message ----------------------------------------------------------------------------

    def as_saver_def(self):
        return self.saver_def

    def to_proto(self, export_scope=None):
        """The SaverDef; None if its nodes are not in the name scope `export_scope`."""
        if not export_scope or self.saver_def is None:
            return self.saver_def
        prefix = export_scope.rstrip("/") + "/"
        made = SaverDef.FromString(self.saver_def.SerializeToString())
        for field in _NAMES:
            name = getattr(made, field)
            if not name.startswith(prefix):
                return None
            setattr(made, field, name.removeprefix(prefix))
        return made

    @staticmethod
    def from_proto(saver_def, import_scope=None):
        """The Saver of a SaverDef, whose nodes are in the default graph."""
        return Saver(saver_def=saver_def, name=import_scope)

    def export_meta_graph(
        self,
        filename=None,
        collection_list=None,
        as_text=False,
        export_scope=None,
        clear_devices=False,
        clear_extraneous_savers=False,
        strip_default_attrs=False,
        save_debug_info=False,
    ):
        """A MetaGraphDef of the default graph with this Saver; arguments as tf.train.export_meta_graph."""
        return meta_graph.export_meta_graph(
            filename=filename,
            saver_def=self.to_proto(export_scope),
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
        )


_NAMES = ("filename_tensor_name", "save_tensor_name", "restore_op_name")


def _in_scope(saver_def, scope):
    made = SaverDef.FromString(saver_def.SerializeToString())
    for field in _NAMES:
        setattr(made, field, f"{scope.rstrip('/')}/{getattr(made, field)}")
    return made


def _no_folder(save_path):
    return ValueError(f"Parent directory of {save_path} doesn't exist, can't save.")


def _check(saver_def):
    if not isinstance(saver_def, SaverDef):
        raise ValueError(f"saver_def must be a tf.train.SaverDef: {saver_def}")
    for field in ("save_tensor_name", "restore_op_name"):
        if not getattr(saver_def, field):
            raise ValueError(f"saver_def must specify the {field}: {saver_def}")


def _explained(error, cause):
    message = (
        f"Restoring from checkpoint failed. This is most likely due to {cause} from the checkpoint. "
        "Please ensure that you have not altered the graph expected based on the checkpoint. Original "
        f"error:\n\n{error.message}"
    )
    return errors.make_error(error.error_code, message, error.node_def, error.op)


register_proto_function(GraphKeys.SAVERS, SaverDef, Saver.from_proto)
