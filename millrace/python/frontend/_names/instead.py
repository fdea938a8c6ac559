"""What a program may do where TensorFlow has a name that is not here: by the paths that begin so."""

_MODEL = "tf.estimator.Estimator trains and evaluates what a function of yours makes of tf.layers"
_CANNED = "tf.estimator has DNNClassifier and kin, and Estimator for functions of one's own"
_COLUMNS = (
    "tf.feature_column has columns of numbers, words and embeddings, and input_layer for them"
)
_NUMPY = "compute it in NumPy beside the graph and feed the result"
_GRAPHS = "graphs alone run here: build one, and run it in a tf.Session"
_LAYERS = (
    "tf.keras, tf.layers and tf.nn have layers, and tf.train optimizers, to build the model from"
)
_SAVE = "tf.saved_model.simple_save writes a model, and tf.saved_model.loader.load loads it"
_TABLES = "tf.contrib.lookup.index_table_from_tensor numbers words, and there is tf.lookup.StaticHashTable"
_MNIST = "tf.keras.datasets loads MNIST and its kin; load other arrays with NumPy and feed them"
_CPU = "there are CPU devices alone here, and no driver of others"

# The longest beginning counts.
ADVICE = {
    "enable_eager_execution": _GRAPHS,
    "enable_v2_behavior": _GRAPHS,
    "estimator": _MODEL,
    "function": _GRAPHS,
    "image": _NUMPY,
    "keras": _LAYERS,
    "lite": "models are not converted here",
    "lookup": _TABLES,
    "saved_model": _SAVE,
    "tpu": "tf.estimator.tpu.TPUEstimator with use_tpu=False trains on CPUs, the only devices here",
    "contrib.cudnn_rnn": _CPU,
    "contrib.tpu": "TPUEstimator with use_tpu=False trains on CPUs, which are the only devices here",
    "contrib.distribute": "a strategy of tf.distribute runs a function per replica, and a session the steps",
    "contrib.eager": _GRAPHS,
    "contrib.estimator": _CANNED,
    "contrib.layers.joint_weighted_sum_from_feature_columns": _COLUMNS,
    "contrib.layers.scattered_embedding_column": _COLUMNS,
    "contrib.layers.sequence_input_from_feature_columns": _COLUMNS,
    "contrib.learn": _CANNED,
    "contrib.learn.datasets": _MNIST,
    "contrib.learn.preprocessing": "number the words in a Python dictionary, and feed the numbers",
    "contrib.learn.python.learn.datasets": _MNIST,
    "contrib.legacy_seq2seq": "build the network from the cells of tf.nn.rnn_cell and tf.nn.dynamic_rnn",
    "contrib.lookup": _TABLES,
    "contrib.summary": "tf.summary makes summaries, and its FileWriter writes them",
    "contrib.tensorrt": _CPU,
    "python.debug": "tf.Print shows values while a graph runs",
    "python.keras": _LAYERS,
    "python.saved_model": _SAVE,
    "python.tools": "models are not converted here",
}


def instead(path):
    """What to do without the name at a path such as "train.Saver"; "" if nothing general is known."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        advice = ADVICE.get(".".join(parts[:end]))
        if advice is not None:
            return advice
    return ""
