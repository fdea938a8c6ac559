"""SavedModels loaded into a session: their graph, the values of its variables, its files."""

import logging
import os

from millrace._files import paths
from millrace._flow.control_flow import group
from millrace._graph.default_graph import control_dependencies, get_collection
from millrace._saved_models import constants
from millrace._saved_models.messages import ReadableSavedModel, SavedModelMessage
from millrace._saved_models.signatures import load_op_from_signature_def
from millrace._saved_models.tensor_infos import scoped
from millrace._saving.graph_savers import import_meta_graph
from millrace._saving.model_messages import AssetFileDef
from millrace._saving.saveables import all_saveable_objects
from millrace._saving.saver import Saver
from millrace._state.tables import tables_initializer
from millrace._state.variable_groups import (
    global_variables_initializer,
    local_variables_initializer,
)
from millrace._values.text_messages import from_text

_log = logging.getLogger("millrace")


def parse_saved_model(export_dir):
    """The message of a SavedModel's file.

    Raises:
      OSError: if there is none, or it can't be read.
    """
    folder = os.fsdecode(export_dir)
    path = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PB)
    text_path = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PBTXT)
    try:
        if paths.exists(path):
            with paths.open_file(path, "rb") as file:
                return SavedModelMessage.FromString(file.read())
        path = text_path
        if paths.exists(path):
            with paths.open_file(path, encoding="utf-8") as file:
                readable = from_text(ReadableSavedModel, file.read())
            return SavedModelMessage.FromString(readable.SerializeToString())
    except ValueError as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None
    raise OSError(
        f"SavedModel file does not exist at: {folder}{os.path.sep}"
        f"{{{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}}}"
    )


def maybe_saved_model_directory(export_dir):
    """Whether a folder has the file of a SavedModel."""
    names = (constants.SAVED_MODEL_FILENAME_PBTXT, constants.SAVED_MODEL_FILENAME_PB)
    return any(paths.exists(os.path.join(os.fsdecode(export_dir), name)) for name in names)


contains_saved_model = maybe_saved_model_directory


def asset_tensors(export_dir, meta_graph, import_scope=None):
    """{name of a Tensor: path of the file that it is to name} of a graph's files."""
    assets = list(meta_graph.asset_file_def)
    if not assets and constants.ASSETS_KEY in meta_graph.collection_def:
        packed = meta_graph.collection_def[constants.ASSETS_KEY].any_list.value
        assets = [AssetFileDef.FromString(item.value) for item in packed]
    folder = os.path.join(os.fsdecode(export_dir), constants.ASSETS_DIRECTORY)
    return {
        scoped(asset.tensor_info.name, import_scope): os.path.join(folder, asset.filename)
        for asset in assets
    }


def _init_op(meta_graph, import_scope):
    """What is to run once the variables are restored; None if there is nothing."""
    key = constants.INIT_OP_SIGNATURE_KEY
    if key in meta_graph.signature_def:
        return load_op_from_signature_def(meta_graph.signature_def[key], key, import_scope)
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if key in meta_graph.collection_def:
            names = meta_graph.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(
                    f"Expected exactly one SavedModel init op. Found {len(names)}: {names}."
                )
            return get_collection(key)[0]
    return None


class SavedModelLoader:
    """A SavedModel that is loaded step by step.

    Args:
      export_dir: its folder.

    Attributes:
      export_dir, variables_path: the folder, and the prefix of the checkpoint in it.
      saved_model: its message.
    """

    def __init__(self, export_dir):
        self.export_dir = os.fsdecode(export_dir)
        self.variables_path = os.path.join(
            self.export_dir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME
        )
        self.saved_model = parse_saved_model(export_dir)

    def get_meta_graph_def_from_tags(self, tags):
        """The MetaGraphDef with just these tags.

        Raises:
          RuntimeError: if there is none; it names those that there are.
        """
        for meta_graph in self.saved_model.meta_graphs:
            if set(meta_graph.meta_info_def.tags) == set(tags):
                return meta_graph
        available = [set(each.meta_info_def.tags) for each in self.saved_model.meta_graphs]
        raise RuntimeError(
            f"MetaGraphDef associated with tags {str(tags).strip('[]')} could not be found in "
            f"SavedModel, with available tags '{available}'. To inspect available tag-sets in the "
            f"SavedModel, please use: millrace inspect {self.export_dir}"
        )

    def load_graph(self, graph, tags, import_scope=None, **saver_kwargs):
        """Adds the nodes to a graph; returns (its Saver or None, None)."""
        meta_graph = self.get_meta_graph_def_from_tags(tags)
        with graph.as_default():
            saver = import_meta_graph(meta_graph, import_scope=import_scope, **saver_kwargs)
        return saver, None

    def restore_variables(self, sess, saver, import_scope=None):
        """Gives the variables their values."""
        with sess.graph.as_default():
            if saver is None and not all_saveable_objects(scope=import_scope):
                _log.info(
                    "The specified SavedModel has no variables; no checkpoints were restored."
                )
            elif isinstance(saver, Saver):
                saver.restore(sess, self.variables_path)
            else:
                raise ValueError(
                    "No tf.train.Saver object was passed to the function "
                    "`SavedModelLoader.restore_variables`. Since there are variables in the graph, a "
                    "saver is required."
                )

    def run_init_ops(self, sess, tags, import_scope=None):
        """Runs what the graph wants to run first, with its files where they are now."""
        meta_graph = self.get_meta_graph_def_from_tags(tags)
        with sess.graph.as_default():
            init_op = _init_op(meta_graph, import_scope)
            if init_op is not None:
                assets = asset_tensors(self.export_dir, meta_graph, import_scope)
                sess.run([init_op], feed_dict=assets)

    def load(self, sess, tags, import_scope=None, **saver_kwargs):
        """All of this; returns the MetaGraphDef."""
        with sess.graph.as_default():
            saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
            self.restore_variables(sess, saver, import_scope)
            self.run_init_ops(sess, tags, import_scope)
        return self.get_meta_graph_def_from_tags(tags)


def load(sess, tags, export_dir, import_scope=None, **saver_kwargs):
    """Loads a SavedModel: adds its graph, restores the variables, runs what it wants to run first.

    Args:
      sess: the tf.Session, whose graph the nodes are added to.
      tags: just the tags of the graph.
      export_dir: the folder.
      import_scope: a name scope to put the graph under.
      saver_kwargs: for tf.train.import_meta_graph.

    Returns:
      the MetaGraphDef.

    Raises:
      OSError: if there is no SavedModel; RuntimeError: if it has no graph with these tags.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


def main_op():
    """An Operation that initializes variables of both kinds and tables."""
    init = global_variables_initializer()
    init_local = local_variables_initializer()
    return group(init, init_local, tables_initializer())


def main_op_with_restore(restore_op_name):
    """The same, and then the Operation of this name, which restores."""
    with control_dependencies([main_op()]):
        return group(restore_op_name)
