"""What programs take from inside TensorFlow: tensorflow.python.framework.ops.reset_default_graph and so on.

TensorFlow exports most of it under public names, and there it is found; wrappers of ops go by their names.
"""

import sys
from importlib import import_module
from types import ModuleType

from millrace._names import missing, tensorflow1
from millrace._names.finder import real_module

_PACKAGE = __name__.partition(".")[0]

_REDUCTIONS = (
    "build_nccl_all_reduce build_nccl_then_recursive_hd build_nccl_then_ring build_nccl_then_shuffle "
    "build_recursive_hd_all_reduce build_ring_all_reduce build_shuffle_all_reduce "
    "build_shuffle_then_ring build_shuffle_then_shuffle"
)
_LINEAR = {
    "_Linear": "_recurrent.projections.Linear",
    "_linear": "_recurrent.projections.linear_of",
}
# Inner names that are public here alone, or nowhere: where they are in this package.
_OWN = {
    "contrib.copy_graph.python.util.copy_elements": {"_": "contrib.copy_graph"},
    "contrib.framework.python.ops": {"_": "contrib.framework"},
    "contrib.image.python.ops.distort_image_ops": {"_": "contrib.image"},
    "contrib.layers.python.layers": {"_": "contrib.layers"},
    "contrib.layers.python.layers.utils": {
        "_": "contrib.slim.utils",
        "constant_value": "_flow.smart_cond.known_truth",
    },
    "contrib.layers.python.layers.feature_column": {"_": "contrib.layers"},
    "contrib.layers.python.layers.feature_column_ops": {"_": "contrib.layers"},
    "contrib.layers.python.layers.initializers": {"_": "contrib.layers"},
    "contrib.layers.python.layers.summaries": {"_": "contrib.layers"},
    "contrib.learn.python.learn": {"_": "contrib.learn"},
    "contrib.learn.python.learn.learn_runner": {"_": "contrib.learn.learn_runner"},
    "contrib.learn.python.learn.monitors": {"_": "contrib.learn.monitors"},
    "contrib.learn.python.learn.datasets.mnist": {
        name: f"_samples.mnist.{name}"
        for name in "DataSet dense_to_one_hot extract_images extract_labels read_data_sets".split()
    },
    "contrib.learn.python.learn.datasets": {"_": "contrib.learn.datasets"},
    "contrib.learn.python.learn.datasets.base": {"_": "contrib.learn.datasets.base"},
    "contrib.learn.python.learn.estimators.run_config": {"_": "contrib.learn"},
    "contrib.learn.python.learn.preprocessing": {"_": "contrib.learn.preprocessing"},
    "contrib.learn.python.learn.preprocessing.categorical_vocabulary": {
        "_": "contrib.learn.preprocessing"
    },
    "contrib.learn.python.learn.preprocessing.text": {"_": "contrib.learn.preprocessing"},
    "contrib.losses.python.metric_learning.metric_loss_ops": {
        "_": "contrib.losses.metric_learning"
    },
    "contrib.rnn.python.ops.core_rnn_cell": {"_": "contrib.rnn", **_LINEAR},
    "contrib.slim.python.slim.data.data_decoder": {"_": "contrib.slim.data_decoder"},
    "contrib.slim.python.slim.data.data_provider": {"_": "contrib.slim.data_provider"},
    "contrib.slim.python.slim.data.dataset": {"_": "contrib.slim.dataset"},
    "contrib.slim.python.slim.data.dataset_data_provider": {
        "_": "contrib.slim.dataset_data_provider"
    },
    "contrib.slim.python.slim.data.parallel_reader": {"_": "contrib.slim.parallel_reader"},
    "contrib.slim.python.slim.data.prefetch_queue": {"_": "contrib.slim.prefetch_queue"},
    "contrib.slim.python.slim.data.tfexample_decoder": {"_": "contrib.slim.tfexample_decoder"},
    "contrib.slim.python.slim.evaluation": {"_": "contrib.slim.evaluation"},
    "contrib.slim.python.slim.learning": {"_": "contrib.slim.learning"},
    "contrib.slim.python.slim.model_analyzer": {"_": "contrib.slim.model_analyzer"},
    "contrib.slim.python.slim.nets.alexnet": {"_": "contrib.slim.nets.alexnet"},
    "contrib.slim.python.slim.nets.inception_v1": {"_": "contrib.slim.nets.inception_v1"},
    "contrib.slim.python.slim.nets.inception_v2": {"_": "contrib.slim.nets.inception_v2"},
    "contrib.slim.python.slim.nets.inception_v3": {"_": "contrib.slim.nets.inception_v3"},
    "contrib.slim.python.slim.nets.overfeat": {"_": "contrib.slim.nets.overfeat"},
    "contrib.slim.python.slim.nets.resnet_utils": {"_": "contrib.slim.nets.resnet_utils"},
    "contrib.slim.python.slim.nets.resnet_v1": {"_": "contrib.slim.nets.resnet_v1"},
    "contrib.slim.python.slim.nets.resnet_v2": {"_": "contrib.slim.nets.resnet_v2"},
    "contrib.slim.python.slim.nets.vgg": {"_": "contrib.slim.nets.vgg"},
    "contrib.slim.python.slim.queues": {"_": "contrib.slim.queues"},
    "contrib.slim.python.slim.summaries": {"_": "contrib.slim.summaries"},
    "contrib.tpu.python.tpu.bfloat16": {"_": "contrib.tpu"},
    "contrib.tpu.python.tpu.tpu_config": {"_": "contrib.tpu"},
    "contrib.tpu.python.tpu.tpu_context": {"_": "contrib.tpu"},
    "contrib.tpu.python.tpu.tpu_estimator": {"_": "contrib.tpu"},
    "contrib.tpu.python.tpu.tpu_optimizer": {"_": "contrib.tpu"},
    "contrib.tensorboard.plugins.projector.projector_config_pb2": {
        "_": "contrib.tensorboard.plugins.projector"
    },
    "python.client.device_lib": {"list_local_devices": "_run.listed_devices.list_local_devices"},
    "python.client.timeline": {"Timeline": "_run.timeline.Timeline"},
    "python.distribute.all_reduce": {
        name: f"_ops.reduction_graphs.{name}" for name in _REDUCTIONS.split()
    },
    "python.estimator.canned.baseline": {"_": "estimator"},
    "python.estimator.canned.dnn": {"_": "estimator"},
    "python.estimator.canned.dnn_linear_combined": {"_": "estimator"},
    "python.estimator.canned.head": {
        "_binary_logistic_head_with_sigmoid_cross_entropy_loss": "_canned.classification.BinaryHead",
        "_multi_class_head_with_softmax_cross_entropy_loss": "_canned.classification.MultiClassHead",
        "_regression_head": "_canned.regression.RegressionHead",
        "_regression_head_with_mean_squared_error_loss": "_canned.regression.RegressionHead",
    },
    "python.estimator.canned.linear": {"_": "estimator"},
    "python.estimator.canned.optimizers": {
        "get_optimizer_instance": "_canned.optimizers.chosen_optimizer"
    },
    "python.estimator.canned.prediction_keys": {"PredictionKeys": "_canned.heads.PredictionKeys"},
    "python.estimator.estimator": {"_": "estimator"},
    "python.estimator.estimator_lib": {"_": "estimator"},
    "python.estimator.export.export": {"_": "estimator.export"},
    "python.estimator.export.export_output": {"_": "estimator.export"},
    "python.estimator.inputs.numpy_io": {"_": "estimator.inputs"},
    "python.estimator.inputs.pandas_io": {"_": "estimator.inputs"},
    "python.estimator.model_fn": {"_": "estimator"},
    "python.estimator.run_config": {"_": "estimator"},
    "python.estimator.training": {"_": "estimator"},
    "python.feature_column.feature_column": {"_": "feature_column"},
    "python.feature_column.feature_column_lib": {"_": "feature_column"},
    "python.framework.device": {"DeviceSpec": "DeviceSpec"},
    "python.framework.constant_op": {"constant": "constant"},
    "python.framework.dtypes": {"_": "dtypes"},
    "python.framework.errors_impl": {"_": "errors"},
    "python.framework.function": {"Defun": "_state.defun.Defun"},
    "python.framework.graph_util_impl": {
        "_bfs_for_reachable_nodes": "_graph.graph_summary.reachable_nodes",
        "_extract_graph_summary": "_graph.graph_summary.extract_graph_summary",
        "_node_name": "_graph.graph_summary.node_name",
    },
    "python.framework.op_def_registry": {},
    "python.framework.smart_cond": {"smart_cond": "_flow.smart_cond.smart_cond"},
    "python.framework.ops": {
        "_": "",
        "colocate_with": "colocate_with",
        "get_default_session": "get_default_session",
        "OpStats": "_profiling.float_ops.OpStats",
        "RegisterStatistics": "_profiling.float_ops.RegisterStatistics",
        "get_stats_for_node_def": "_profiling.float_ops.get_stats_for_node_def",
    },
    "python.framework.tensor_shape": {
        name: f"_values.tensor_shape.{name}" for name in "as_shape matrix scalar vector".split()
    },
    "python.framework.tensor_util": {"constant_value": "constant_value"},
    "python.framework.tensor_spec": {"TensorSpec": "TensorSpec"},
    "python.keras": {"_": "keras"},
    "python.keras.activations": {"_": "keras.activations"},
    "python.keras.backend": {"_": "keras.backend"},
    "python.keras.callbacks": {"_": "keras.callbacks"},
    "python.keras.layers": {"_": "keras.layers"},
    "python.keras.losses": {"_": "keras.losses"},
    "python.keras.models": {"_": "keras.models"},
    "python.keras.optimizers": {"_": "keras.optimizers"},
    "python.layers.base": {"InputSpec": "layers.InputSpec", "Layer": "layers.Layer"},
    "python.layers.convolutional": {"_": "layers"},
    "python.layers.core": {"_": "layers"},
    "python.layers.normalization": {"_": "layers"},
    "python.layers.pooling": {"_": "layers"},
    "python.layers.layers": {"_": "layers"},
    "python.layers.utils": {"smart_cond": "_flow.smart_cond.smart_cond"},
    "python.lib.io.file_io": {
        "FileIO": "gfile.GFile",
        "read_file_to_string": "_files.whole_files.read_file_to_string",
        "write_string_to_file": "_files.whole_files.write_string_to_file",
    },
    "python.ops.collective_ops": {
        name: f"_ops.collectives.{name}"
        for name in "all_gather all_reduce broadcast_recv broadcast_send".split()
    },
    "python.ops.data_flow_ops": {
        "_": "",
        "Barrier": "_state.barriers.Barrier",
        "MapStagingArea": "_state.staging.MapStagingArea",
        "RecordInput": "_input.record_input.RecordInput",
        "StagingArea": "_state.staging.StagingArea",
    },
    "python.ops.control_flow_ops": {"_": "", "with_dependencies": "with_dependencies"},
    "python.ops.lookup_ops": {"_": "contrib.lookup"},
    "python.ops.math_ops": {"_as_indexed_slices_list": "_ops.gradients.as_indexed_slices_list"},
    "python.ops.rnn_cell_impl": _LINEAR,
    "python.ops.session_ops": {"_": "", "TensorHandle": "_run.session_handles.TensorHandle"},
    "python.ops.variables": {
        "_": "",
        "PartitionedVariable": "_state.partitioned_variables.PartitionedVariable",
    },
    "python.platform.app": {"_": "app"},
    "python.platform.flags": {"_": "flags"},
    "python.platform.gfile": {"_": "gfile"},
    "python.platform.tf_logging": {"_": "logging"},
    "python.pywrap_tensorflow": {"NewCheckpointReader": "train.NewCheckpointReader"},
    "python.tools.freeze_graph": {"freeze_graph": "_saving.frozen_files.freeze_graph"},
    "python.training.saver": {"_": "train"},
    "python.training.slot_creator": {
        "create_slot": "_train.slots.create_slot",
        "create_zeros_slot": "_train.slots.create_zeros_slot",
    },
    "python.training.summary_io": {
        "SummaryWriter": "summary.FileWriter",
        "SummaryWriterCache": "summary.FileWriterCache",
    },
    "python.training.training": {"_": "train"},
    "python.training.moving_averages": {
        "assign_moving_average": "_train.moving_averages.assign_moving_average"
    },
    "python.util.compat": {"_": "compat"},
    "python.util.function_utils": {"fn_args": "_values.signatures.fn_args"},
    "python.util.nest": {"_": "contrib.framework.nest"},
}


def find(module, name):
    """What an inner module has of this name.

    Args:
      module: its path without "tensorflow" ("python.framework.ops").
      name: what is asked for: a function, a class, or a module below.

    Raises:
      AttributeError: if it is not here, with what to do about it.
    """
    if name.startswith("__"):
        raise AttributeError(f"module '{_PACKAGE}.{module}' has no attribute '{name}'")
    below = f"{module}.{name}"
    if tensorflow1.is_inner_module(below):
        return import_module(f"{_PACKAGE}.{below}")
    for path in _paths(module, name):
        found = _held(path)
        if found is not _NOTHING:
            return found
    raise missing.missing_name(f"{_PACKAGE}.{module}", name)


def _paths(module, name):
    """Where the name may be, the best place first."""
    own = _OWN.get(module, {})
    if name in own:
        yield own[name]
    home = tensorflow1.names(module).get(name)
    if home is not None:
        yield home
    if "_" in own:
        yield f"{own['_']}.{name}" if own["_"] else name
    if module.startswith("python.ops.") or module == "python.training.training_ops":
        yield name
        yield f"_gen.{name}"


_NOTHING = object()


def _attribute(path):
    """A module that stands under another name in a public one: nn.rnn_cell; None if there is none."""
    module, _, name = path.rpartition(".")
    holder = real_module(module)
    found = vars(holder).get(name) if holder is not None else None
    return found if isinstance(found, ModuleType) else None


def _held(path):
    """What this package has at a path, or _NOTHING."""
    module, _, name = path.rpartition(".")
    if module.startswith("_"):
        try:
            holder = import_module(f"{_PACKAGE}.{module}")
        except ImportError:
            return _NOTHING
    else:
        holder = real_module(module) or _attribute(module)
    # Not what its __getattr__ has to say of a name that is not there.
    held = getattr(holder, name) if holder is not None and name in dir(holder) else _NOTHING
    if held is _NOTHING and holder is not None and real_module(path) is not None:
        return sys.modules[f"{_PACKAGE}.{path}"]
    return held
