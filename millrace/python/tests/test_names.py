"""The names below millrace: real modules, whatever a program touched before."""

import importlib
import json
import subprocess
import sys

import pytest

import millrace as tf

# A name that each public module has.
MODULES = {
    "app": "run",
    "bitwise": "invert",
    "compat": "as_bytes",
    "compat.v1": "Session",
    "config": "get_soft_device_placement",
    "config.experimental": "list_physical_devices",
    "config.optimizer": "get_jit",
    "config.threading": "get_inter_op_parallelism_threads",
    "contrib": "learn",
    "contrib.crf": "crf_decode",
    "contrib.deprecated": "scalar_summary",
    "contrib.distribute": "MirroredStrategy",
    "contrib.distributions": "MultivariateNormalDiag",
    "contrib.distributions.bijectors": "AffineScalar",
    "contrib.estimator": "multi_label_head",
    "contrib.factorization": "KMeans",
    "contrib.feature_column": "sequence_input_layer",
    "contrib.data": "group_by_window",
    "contrib.framework": "arg_scope",
    "contrib.framework.nest": "map_structure",
    "contrib.graph_editor": "graph_replace",
    "contrib.image": "random_hsv_in_yiq",
    "contrib.layers": "xavier_initializer",
    "contrib.learn": "RunConfig",
    "contrib.learn.learn_runner": "run",
    "contrib.learn.monitors": "ValidationMonitor",
    "contrib.learn.preprocessing": "VocabularyProcessor",
    "contrib.legacy_seq2seq": "rnn_decoder",
    "contrib.losses": "log_loss",
    "contrib.losses.metric_learning": "triplet_semihard_loss",
    "contrib.metrics": "streaming_auc",
    "contrib.nn": "alpha_dropout",
    "contrib.opt": "AdamWOptimizer",
    "contrib.predictor": "from_saved_model",
    "contrib.rnn": "BasicLSTMCell",
    "contrib.seq2seq": "sequence_loss",
    "contrib.signal": "stft",
    "contrib.training": "HParams",
    "contrib.util": "make_tensor_proto",
    "data": "Dataset",
    "data.experimental": "map_and_batch",
    "contrib.stateless": "stateless_random_normal",
    "contrib.slim": "fully_connected",
    "contrib.slim.data_decoder": "DataDecoder",
    "contrib.slim.data_provider": "DataProvider",
    "contrib.slim.dataset": "Dataset",
    "contrib.slim.dataset_data_provider": "DatasetDataProvider",
    "contrib.slim.evaluation": "evaluate_once",
    "contrib.slim.learning": "train",
    "contrib.slim.nets": "vgg",
    "contrib.slim.nets.alexnet": "alexnet_v2",
    "contrib.slim.nets.inception": "inception_v3",
    "contrib.slim.nets.inception_v1": "inception_v1",
    "contrib.slim.nets.inception_v2": "inception_v2",
    "contrib.slim.nets.inception_v3": "inception_v3",
    "contrib.slim.nets.overfeat": "overfeat",
    "contrib.slim.nets.resnet_utils": "Block",
    "contrib.slim.nets.resnet_v1": "resnet_v1_50",
    "contrib.slim.nets.resnet_v2": "resnet_v2_50",
    "contrib.slim.nets.vgg": "vgg_16",
    "contrib.slim.parallel_reader": "parallel_read",
    "contrib.slim.prefetch_queue": "prefetch_queue",
    "contrib.slim.queues": "QueueRunners",
    "contrib.slim.tfexample_decoder": "TFExampleDecoder",
    "contrib.slim.model_analyzer": "analyze_vars",
    "contrib.slim.utils": "convert_collection_to_dict",
    "contrib.copy_graph": "copy_op_to_graph",
    "contrib.grid_rnn": "Grid2LSTMCell",
    "contrib.hooks": "ProfilerHook",
    "contrib.integrate": "odeint",
    "contrib.resampler": "resampler",
    "contrib.sparsemax": "sparsemax",
    "contrib.tensorboard": "plugins",
    "contrib.tensorboard.plugins": "projector",
    "contrib.tensorboard.plugins.projector": "ProjectorConfig",
    "contrib.tfprof": "model_analyzer",
    "contrib.tfprof.model_analyzer": "print_model_analysis",
    "contrib.text": "skip_gram_sample",
    "debugging": "Assert",
    "distributions": "Normal",
    "dtypes": "float32",
    "distribute": "MirroredStrategy",
    "distribute.cluster_resolver": "SlurmClusterResolver",
    "distribute.experimental": "ParameterServerStrategy",
    "errors": "NotFoundError",
    "estimator": "Estimator",
    "estimator.experimental": "stop_if_lower_hook",
    "estimator.export": "PredictOutput",
    "estimator.inputs": "numpy_input_fn",
    "feature_column": "numeric_column",
    "flags": "DEFINE_string",
    "gfile": "Open",
    "graph_util": "convert_variables_to_constants",
    "image": "resize_images",
    "initializers": "zeros",
    "io": "parse_example",
    "io.gfile": "exists",
    "keras": "initializers",
    "keras.activations": "relu",
    "keras.backend": "floatx",
    "keras.callbacks": "EarlyStopping",
    "keras.constraints": "max_norm",
    "keras.datasets": "mnist",
    "keras.datasets.mnist": "load_data",
    "keras.experimental": "CosineDecay",
    "keras.initializers": "he_normal",
    "keras.layers": "Dense",
    "keras.losses": "mean_squared_error",
    "keras.metrics": "categorical_accuracy",
    "keras.models": "Sequential",
    "keras.optimizers": "Adam",
    "keras.optimizers.schedules": "ExponentialDecay",
    "keras.preprocessing.sequence": "pad_sequences",
    "keras.preprocessing.text": "Tokenizer",
    "keras.utils": "to_categorical",
    "keras.regularizers": "l2",
    "layers": "dense",
    "linalg": "tensordot",
    "logging": "info",
    "lookup": "StaticHashTable",
    "losses": "log_loss",
    "manip": "reshape",
    "lookup": "StaticHashTable",
    "mapreduce": "run",
    "math": "floordiv",
    "metrics": "accuracy",
    "nest": "flatten",
    "nn": "relu",
    "quantization": "fake_quant_with_min_max_args",
    "profiler": "ProfileOptionBuilder",
    "python_io": "TFRecordWriter",
    "queue": "FIFOQueue",
    "ragged": "constant",
    "random": "shuffle",
    "random.experimental": "Generator",
    "raw_ops": "MatMul",
    "regularizers": "l2",
    "resource_loader": "load_resource",
    "saved_model": "simple_save",
    "saved_model.loader": "load",
    "saved_model.signature_constants": "PREDICT_METHOD_NAME",
    "sets": "union",
    "sparse": "reorder",
    "signal": "rfft",
    "spectral": "dct",
    "strings": "join",
    "summary": "scalar",
    "sysconfig": "get_include",
    "tasks": "App",
    "test": "TestCase",
    "tpu": "CrossShardOptimizer",
    "train": "Server",
    "version": "VERSION",
    "xla": "experimental",
    "xla.experimental": "compile",
}
FORMS = [
    "import millrace.{module}; millrace.{module}.{name}",
    "import millrace.{module} as below; below.{name}",
    "from millrace.{module} import {name}",
    "import millrace; millrace.{module}.{name}",
]


# Runs lines, each in a process of its own that has touched nothing of ours before; all at once. What
# takes long to begin with and is not ours, Python and NumPy, is there already. Answers with what
# went wrong.
RUN_AFRESH = """
import json, os, sys, tempfile, traceback
import numpy
for lines in map(json.loads, sys.stdin):
    begun = []
    for line in lines:
        errors = tempfile.TemporaryFile("w+")
        process = os.fork()
        if process == 0:
            try:
                exec(line, {})
            except BaseException:
                traceback.print_exc(file=errors)
                errors.flush()
                os._exit(1)
            os._exit(0)
        begun.append((line, process, errors))
    wrong = []
    for line, process, errors in begun:
        status = os.waitpid(process, 0)[1]
        errors.seek(0)
        if status != 0:
            wrong.append(f"{line}: {errors.read() or status}")
    print(json.dumps(wrong), flush=True)
"""


@pytest.fixture(scope="module")
def run_afresh():
    process = subprocess.Popen(
        [sys.executable, "-c", RUN_AFRESH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run(lines):
        print(json.dumps(lines), file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())

    with process:
        yield run
        process.stdin.close()


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_there_however_it_is_asked_for(run_afresh, module):
    assert run_afresh([form.format(module=module, name=MODULES[module]) for form in FORMS]) == []


def test_a_module_that_is_not_there_is_not_found_either(run_afresh):
    (wrong,) = run_afresh(["import millrace.no_such_module", "import millrace.train"])
    assert "no module or name 'millrace.no_such_module'" in wrong


# What TensorFlow has in tf.math and not above, and what is ours alone.
BELOW_ALONE = {
    "math": set(
        """divide_no_nan l2_normalize multiply_no_nan nextafter
        polyval reciprocal_no_nan reduce_std reduce_variance
        zero_fraction""".split()
    ),
    "queue": {"Lease", "LeasedDequeue"},
}


@pytest.mark.parametrize("module", ["math", "queue"])
def test_a_name_below_is_the_function_of_that_name_above(module):
    below = vars(importlib.import_module(f"millrace.{module}"))
    names = [name for name in below if not name.startswith("_")]
    assert names
    others = [name for name in names if below[name] is not getattr(tf, name, below[name])]
    # Above, these are the ops as they are.
    assert sorted(others) == (
        ["in_top_k", "log_softmax", "softmax", "top_k"] if module == "math" else []
    )
    alone = {name for name in names if not hasattr(tf, name)}
    assert alone == BELOW_ALONE[module]


def test_functions_of_layers_are_below_alone_but_those_that_tensorflow_has_in_both_places():
    assert tf.nn.sigmoid is tf.sigmoid and tf.nn.tanh is tf.tanh
    assert not hasattr(tf, "dropout") and not hasattr(tf, "moments")


def test_ops_have_the_names_that_tensorflow_gives_them_beside_their_own():
    assert tf.floordiv is tf.floor_div and tf.math.floordiv is tf.floordiv
    assert tf.realdiv is tf.real_div
    # The op Mod truncates; the function tf.mod does not.
    assert tf.mod is tf.floor_mod
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run([tf.mod(-7, 3), tf.raw_ops.Mod(x=-7, y=3)]) == [2, -1]


def test_machinery_is_no_name_of_the_package():
    public = [name for name in dir(tf) if not name.startswith("_")]
    modules = [name for name in public if type(getattr(tf, name)) is type(tf)]
    assert sorted(modules) == sorted(name for name in MODULES if "." not in name)
    with pytest.raises(AttributeError, match="module 'millrace' has no attribute 'graph'"):
        tf.graph


def test_a_program_does_not_wait_for_modules_that_it_does_not_use():
    loaded = "import numpy, sys; before = set(sys.modules); import millrace; print(*{*sys.modules} - before)"
    result = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    )
    ours = [name for name in result.stdout.split() if name.startswith("millrace.")]
    others = [name for name in result.stdout.split() if not name.startswith("millrace")]
    assert set(others) <= {"atexit"}
    assert not {f"millrace.{module}" for module in MODULES} & set(ours)
