"""Models in files: whole, as a SavedModel with what Keras adds, or as HDF5; or their weights alone.

A whole model is a SavedModel, whose signature "serving_default" predicts, with assets/saved_model.json: the
model's class and config, the names of its variables in variables/variables in their order, and how it is
trained.
"""

import json
import os

from millrace._files import paths
from millrace._graph.default_session import get_default_session
from millrace._keras import architectures, hdf5, sessions
from millrace._saved_models import signature_names, tags
from millrace._saved_models.builder import SavedModelBuilder
from millrace._saved_models.signatures import predict_signature_def
from millrace._saving.checkpoint_reader import CheckpointReader

_MODEL, _DESCRIPTION = "saved_model.pb", ("assets", "saved_model.json")
_VARIABLES = ("variables", "variables")


def _is_hdf5(path, save_format):
    if save_format not in (None, "tf", "tensorflow", "h5", "hdf5", "keras"):
        raise ValueError(f"Unknown format {save_format!r}. Was expecting one of {{'tf', 'h5'}}.")
    if save_format in ("h5", "hdf5", "keras"):
        return True
    return save_format is None and str(path).endswith(hdf5.ENDINGS)


def _inside(folder, parts):
    for part in parts:
        folder = paths.join(folder, part)
    return folder


def _check_overwriting(path, overwrite):
    if not overwrite and paths.exists(path):
        raise FileExistsError(f"{path} is there already: give overwrite=True to replace it")


# ---- Weights -----------------------------------------------------------------------------------------


def save_weights(model, filepath, overwrite=True, save_format=None):
    """Saves a model's variables: in a checkpoint by their names, or in HDF5 layer by layer.

    Args:
      filepath: the checkpoint's name, or that of a file which ends with .h5, .hdf5 or .keras.
      overwrite: False to leave an HDF5 file as it is that is there.
      save_format: "tf" or "h5", whatever the name.

    Raises:
      ImportError: for HDF5 without h5py; FileExistsError: if it is there, and is not to be replaced.
    """
    if _is_hdf5(filepath, save_format):
        _check_overwriting(str(filepath), overwrite)
        hdf5.save_weights(model, str(filepath))
    else:
        saver = model.saver_of(model.weights)
        saver.save(sessions.get_session(), str(filepath), write_meta_graph=False)


def load_weights(model, filepath, by_name=False):
    """Gives a model's variables the values that save_weights saved.

    Args:
      filepath: the checkpoint, or an HDF5 file of whatever name, which also may be of a whole model.
      by_name: for HDF5: layers have what is there under their names, and others stay as they are.

    Raises:
      ValueError: if layers, numbers of weights or shapes differ; NotImplementedError: for a checkpoint
        `by_name`: its variables always go by their names.
    """
    if _is_hdf5(filepath, None) or hdf5.is_one(str(filepath)):
        hdf5.load_weights(model, str(filepath), by_name)
        return
    if by_name:
        raise NotImplementedError(
            f"Weights may only be loaded by the names of layers from HDF5 files, not from {filepath}"
        )
    model.saver_of(model.weights).restore(sessions.get_session(), str(filepath))


# ---- Whole models ------------------------------------------------------------------------------------


def save_model(model, filepath, overwrite=True, include_optimizer=True, save_format=None):
    """Saves a model whole: architecture, weights, and how it is trained with the optimizer's state.

    Args:
      filepath: a folder, or a file which ends with .h5, .hdf5 or .keras.
      overwrite: False to raise instead of replacing what is there.
      include_optimizer: False to leave out how it is trained.
      save_format: "tf" for a folder or "h5" for a file, whatever the name.

    Raises:
      ImportError: for HDF5 without h5py; NotImplementedError: for a model with a `call` of its own;
      FileExistsError: if something is there that is not to be replaced, or is no SavedModel; TypeError: for
        settings of layers that have no plain form.
    """
    path = str(filepath)
    _check_overwriting(path, overwrite)
    if _is_hdf5(path, save_format):
        hdf5.save_model(model, path, include_optimizer)
        return
    _check_replaceable(path)
    description = _described(model, include_optimizer)
    if paths.is_remote(path):  # where folders cannot be renamed
        if paths.exists(path):
            paths.remove_tree(path)
        _write(model, path, description)
    else:
        _write_aside(model, path, description)


def _write_aside(model, path, description):
    """Writes a model beside its place and puts it there, so that what was there is lost for nothing less."""
    path = path.rstrip("/")
    mark = os.urandom(8).hex()
    unfinished, older = f"{path}.tmp{mark}", f"{path}.old{mark}"
    try:
        _write(model, unfinished, description)
    except BaseException:
        if paths.exists(unfinished):
            paths.remove_tree(unfinished)
        raise
    if paths.exists(path):
        paths.replace(path, older)
    paths.replace(unfinished, path)
    if paths.exists(older):
        paths.remove_tree(older)


def _check_replaceable(path):
    if not paths.exists(path):
        return
    if not paths.isdir(path) or paths.listdir(path) and not paths.exists(_inside(path, [_MODEL])):
        raise FileExistsError(
            f"{path} is there already, and is no SavedModel that could be replaced"
        )


def _kept(model, description):
    """The variables that are written, the model's first."""
    optimizer = model.optimizer.weights if "training_config" in description else []
    return [*model.weights, *optimizer]


def _described(model, include_optimizer):
    """What assets/saved_model.json has."""
    description = architectures.config_of(model)
    training = model.training_config() if include_optimizer else None
    if training is not None:
        description["training_config"] = training
    kept = _kept(model, description)
    count = len(model.weights)
    description["weight_names"] = [each.op.name for each in kept[:count]]
    description["optimizer_weight_names"] = [each.op.name for each in kept[count:]]
    architectures.dumped(description)  # what cannot be written is said before anything is
    return description


def _write(model, path, description, as_text=False):
    inputs = dict(zip(model.input_names, model.inputs))
    outputs = dict(zip(model.output_names, model.outputs))
    signature = predict_signature_def(inputs, outputs)
    session = get_default_session() or sessions.get_session()
    sessions.get_session()  # gives values to what has none yet
    builder = SavedModelBuilder(path)
    builder.add_meta_graph_and_variables(
        session,
        [tags.SERVING],
        {signature_names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        saver=model.saver_of(_kept(model, description), sharded=True),
    )
    builder.save(as_text)
    paths.makedirs(_inside(path, _DESCRIPTION[:1]))
    paths.write_whole(_inside(path, _DESCRIPTION), architectures.dumped(description).encode())


def load_model(filepath, custom_objects=None, compile=True):
    """The model that save_model wrote, with variables of its own.

    Args:
      filepath: the folder, or HDF5 file.
      custom_objects: {name: class or function} of the program's own.
      compile: whether it is compiled as it was, and its optimizer goes on from its state.

    Raises:
      OSError: if there is nothing; ValueError: if it is no such model, or for unknown names; ImportError:
        for HDF5 without h5py.
    """
    path = str(filepath)
    if not paths.exists(path):
        raise OSError(f"SavedModel file does not exist at: {path}")
    if not paths.isdir(path):
        return hdf5.load_model(path, custom_objects, compile)
    whole = _inside(path, _DESCRIPTION)
    if not paths.exists(whole):
        raise ValueError(
            f"{path} has no {'/'.join(_DESCRIPTION)}: it was not saved by Keras; load it by "
            "tf.saved_model.load"
        )
    with paths.open_file(whole, "r") as file:
        description = json.load(file)
    if "weight_names" not in description:
        raise ValueError(
            f"{whole} does not say which variables are the model's: it was written by another version, whose "
            "weights go by objects. Save the weights there as HDF5, and load them by load_weights."
        )
    model = architectures.model_from_config(description, custom_objects)
    reader = CheckpointReader(_inside(path, _VARIABLES))
    model.set_weights([reader.get_tensor(name) for name in description["weight_names"]])
    training = description.get("training_config")
    if compile and training is not None:
        model.compile_from(training, custom_objects)
        names = description["optimizer_weight_names"]
        model.give_optimizer_state([reader.get_tensor(name) for name in names])
    return model


def export_saved_model(
    model,
    saved_model_path,
    custom_objects=None,
    as_text=False,
    input_signature=None,
    serving_only=False,
):
    """Writes a model's architecture and weights as a SavedModel, for serving and load_from_saved_model.

    Args:
      saved_model_path: the folder; it must not be there, or be empty.
      custom_objects: accepted: names are looked up when the model is loaded.
      as_text: whether the graph is written as text.
      input_signature: must be None: the signature is that of the model's inputs.
      serving_only: accepted: the graph is the same.

    Raises:
      AssertionError: if the folder is not empty; NotImplementedError: for an input_signature.
    """
    if input_signature is not None:
        raise NotImplementedError("an input_signature: models are exported with their own inputs")
    _write(model, str(saved_model_path), _described(model, False), as_text)


def load_from_saved_model(saved_model_path, custom_objects=None):
    """The model that export_saved_model wrote, not compiled. See load_model for what it raises."""
    return load_model(saved_model_path, custom_objects, compile=False)
