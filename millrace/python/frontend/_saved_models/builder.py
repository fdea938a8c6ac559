"""SavedModelBuilder: writes graphs, one set of variables and files into a folder."""

import filecmp
import logging
import os

import numpy as np

from millrace._files import paths
from millrace._graph.conversion import constant_value
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import add_to_collection, get_collection
from millrace._graph.operation import Operation, Tensor
from millrace._saved_models import constants, signature_names, tags as known_tags
from millrace._saved_models.messages import ReadableSavedModel, SavedModelMessage
from millrace._saved_models.signatures import predict_signature_def
from millrace._saving.model_messages import AnyMessage, AssetFileDef, TensorInfo
from millrace._saving.saveables import all_saveable_objects
from millrace._saving.saver import Saver
from millrace._values import dtypes, message_text

_log = logging.getLogger("millrace")


class SavedModelBuilder:
    """Writes a SavedModel: first a graph with the variables, then perhaps other graphs, then `save`.

    Args:
      export_dir: the folder, as text or bytes; it must not be there, or be empty.

    Raises:
      AssertionError: if it is not empty.
    """

    def __init__(self, export_dir):
        self._folder = os.fsdecode(export_dir)
        if paths.exists(self._folder) and paths.listdir(self._folder):
            raise AssertionError(
                f"Export directory {self._folder} already exists, and isn't empty. Please choose a "
                "different export directory, or delete all the contents of the specified directory."
            )
        paths.makedirs(self._folder)
        self._model = SavedModelMessage(
            saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION
        )
        self._has_variables = False

    def add_meta_graph_and_variables(
        self,
        sess,
        tags,
        signature_def_map=None,
        assets_collection=None,
        legacy_init_op=None,
        clear_devices=False,
        main_op=None,
        strip_default_attrs=False,
        saver=None,
    ):
        """Adds the default graph, and the values that its variables have in `sess`: once, and first.

        Args:
          sess: the tf.Session.
          tags: what the graph is found by: a list of strings.
          signature_def_map: {name: SignatureDef}.
          assets_collection: constants with the paths of files, which are copied into the folder.
          legacy_init_op: the older name of main_op.
          clear_devices: True to forget which devices nodes ask for.
          main_op: an Operation to run when the graph was loaded.
          strip_default_attrs: True to leave attributes out that have their defaults.
          saver: a tf.train.Saver; one of all variables if None.

        Raises:
          AssertionError: if it was called before, or a TensorInfo lacks its name or type.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        self._prepare(signature_def_map, assets_collection, legacy_init_op, main_op)
        saver = saver or _default_saver()
        folder = os.path.join(self._folder, constants.VARIABLES_DIRECTORY)
        paths.makedirs(folder)
        path = os.path.join(folder, constants.VARIABLES_FILENAME)
        saver.save(sess, path, write_meta_graph=False, write_state=False)
        self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)
        self._has_variables = True

    def add_meta_graph(
        self,
        tags,
        signature_def_map=None,
        assets_collection=None,
        legacy_init_op=None,
        clear_devices=False,
        main_op=None,
        strip_default_attrs=False,
        saver=None,
    ):
        """Adds the default graph alone; arguments as add_meta_graph_and_variables, which comes first."""
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        self._prepare(signature_def_map, assets_collection, legacy_init_op, main_op)
        saver = saver or _default_saver()
        self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)

    def _prepare(self, signature_def_map, assets, legacy_init_op, main_op):
        _check_signatures(signature_def_map or {})
        self._write_assets(assets)
        main_op = main_op if main_op is not None else legacy_init_op
        if main_op is None:
            return
        if not isinstance(main_op, Operation):
            raise TypeError(
                f"Expected {main_op} to be an Operation but got type {type(main_op)} instead."
            )
        for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
            if get_collection(key):
                raise ValueError(
                    f"Graph already contains one or more main ops under the collection {key}."
                )
        add_to_collection(constants.MAIN_OP_KEY, main_op)

    def _add(self, saver, tags, signature_def_map, clear_devices, strip_default_attrs):
        meta_graph = saver.export_meta_graph(
            clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
        )
        meta_graph.meta_info_def.tags.extend(tags)
        meta_graph.signature_def.update(signature_def_map or {})
        self._model.meta_graphs.append(meta_graph)

    def _write_assets(self, tensors):
        """Copies the files that Tensors name, and tells of them in a collection."""
        sources = {}  # name in the folder -> path
        for tensor in tensors or []:
            source = _asset_path(tensor)
            name = _asset_name(source, sources)
            sources[name] = source
            asset = AssetFileDef(tensor_info=TensorInfo(name=tensor.name), filename=name)
            add_to_collection(constants.ASSETS_KEY, AnyMessage.of(asset))
        folder = os.path.join(self._folder, constants.ASSETS_DIRECTORY)
        for name, source in sources.items():
            paths.makedirs(folder)
            target = os.path.join(folder, name)
            # The first graph's files stay, whatever others call by their names.
            if paths.exists(source) and not paths.exists(target):
                paths.copy(source, target)

    def save(self, as_text=False):
        """Writes what was added; returns the path of the file, as bytes.

        Args:
          as_text: True for protocol text.
        """
        paths.makedirs(self._folder)
        data = self._model.SerializeToString()
        name = constants.SAVED_MODEL_FILENAME_PB
        if as_text:
            name = constants.SAVED_MODEL_FILENAME_PBTXT
            data = message_text.to_text(ReadableSavedModel.FromString(data)).encode()
        path = os.path.join(self._folder, name)
        paths.write_whole(path, data)
        _log.info("SavedModel written to: %s", path)
        return path.encode()


def _default_saver():
    return Saver(all_saveable_objects(), sharded=True, allow_empty=True)


def _check_signatures(signature_def_map):
    for signature in signature_def_map.values():
        for info in [*signature.inputs.values(), *signature.outputs.values()]:
            _check_info(info)
    for key, purpose in (
        (constants.INIT_OP_SIGNATURE_KEY, "initialization"),
        (constants.TRAIN_OP_SIGNATURE_KEY, "the train op"),
    ):
        if key in signature_def_map:
            raise KeyError(
                f'SignatureDef map key "{key}" is reserved for {purpose}. Please use a different key.'
            )


def _check_info(info):
    if info is None:
        raise AssertionError(
            "All TensorInfo protos used in the SignatureDefs must have the name and dtype fields set."
        )
    if info.HasField("composite_tensor"):
        return
    if not info.HasField("name") and not info.HasField("coo_sparse"):
        raise AssertionError(
            f"Invalid `tensor_info`: {info}. All TensorInfo protos used in the SignatureDefs must have "
            "one of the 'encoding' fields (e.g., name or coo_sparse) set."
        )
    if not info.dtype:
        raise AssertionError(
            f"Invalid `tensor_info`: {info}. All TensorInfo protos used in the SignatureDefs must have "
            "the dtype field set."
        )


def _asset_path(tensor):
    """The path that a constant holds."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Asset path tensor {tensor} must be a Tensor.")
    if tensor.op.type != "Const":
        raise TypeError(
            f"Asset path tensor {tensor} must be of type constant. Has type {tensor.op.type} instead."
        )
    if tensor.dtype != dtypes.string:
        raise TypeError(
            f"Asset path tensor {tensor} must be of dtype string. Has type {tensor.dtype} instead."
        )
    value = np.asarray(constant_value(tensor), object)
    if value.size != 1:
        raise TypeError(f"Asset path tensor {tensor} must be a scalar.")
    path = value.item().decode()
    if not path:
        raise ValueError(f"Asset filepath tensor {tensor} is invalid.")
    return path


def _asset_name(source, sources):
    """The name of a file in the folder: its own, with a number if another file has that."""
    base = name = os.path.basename(source)
    number = 0
    while name in sources and not _is_same_file(source, sources[name]):
        number += 1
        name = f"{base}_{number}"
    return name


def _is_same_file(one, other):
    return one == other or (
        os.path.exists(one) and os.path.exists(other) and filecmp.cmp(one, other, shallow=False)
    )


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
    """Writes a SavedModel for serving: the default graph with one signature, "serving_default".

    Args:
      session: the tf.Session that has the variables.
      export_dir: the folder, as text or bytes; it must not be there, or be empty.
      inputs, outputs: dictionaries of Tensors.
      legacy_init_op: an Operation to run when it was loaded.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        tags=[known_tags.SERVING],
        signature_def_map={signature_names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
