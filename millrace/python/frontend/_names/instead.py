"""What a program may do where TensorFlow has a name that is not here: by the paths that begin so."""

_LOOP = "write the loop yourself: tf.Session(server.target), and session.run of the training op"
_FEED = "read the files in Python and feed what they hold: through a placeholder, or into a tf.FIFOQueue"
_NUMPY = "compute it in NumPy beside the graph and feed the result"
_GRAPHS = "graphs alone run here: build one, and run it in a tf.Session"
_LAYERS = "tf.layers and tf.nn have layers, and tf.train optimizers, to build the model from"
_CPU = "there are CPU devices alone here, and no driver of others"

# The longest beginning counts.
_ADVICE = {
    "GradientTape": "tf.gradients differentiates graphs",
    "data": _FEED,
    "distribute": "place variables with tf.train.replica_device_setter, one process per task",
    "enable_eager_execution": _GRAPHS,
    "enable_v2_behavior": _GRAPHS,
    "estimator": _LOOP,
    "function": _GRAPHS,
    "image": _NUMPY,
    "keras": _LAYERS,
    "lite": "models are not converted here",
    "lookup": "look words up in a Python dictionary, and feed the numbers",
    "metrics": "fetch predictions and labels, and measure them in NumPy",
    "py_func": "fetch the inputs, call the function, and feed its results to the rest",
    "decode_csv": "csv or NumPy read such lines; feed the numbers",
    "parse_single_example": _FEED,
    "parse_example": _FEED,
    "FixedLenFeature": _FEED,
    "VarLenFeature": _FEED,
    "profiler": "RunOptions(trace_level=RunOptions.FULL_TRACE) and RunMetadata tell when nodes ran",
    "saved_model": "fetch the variables and keep them with numpy.savez; Variable.load sets them again",
    "sparse": "feed indices and values as arrays of their own",
    "SparseTensor": "feed indices and values as arrays of their own",
    "SparseTensorValue": "feed indices and values as arrays of their own",
    "sparse_placeholder": "feed indices and values through placeholders of their own",
    "spectral": _NUMPY,
    "signal": _NUMPY,
    "fft": _NUMPY,
    "svd": _NUMPY,
    "self_adjoint_eig": _NUMPY,
    "tpu": _CPU,
    "train.MonitoredTrainingSession": (
        "tf.Session(server.target): the chief runs tf.global_variables_initializer(), others wait until "
        "tf.report_uninitialized_variables() gives nothing"
    ),
    "train.MonitoredSession": "tf.Session, and tf.global_variables_initializer()",
    "train.SingularMonitoredSession": "tf.Session, and tf.global_variables_initializer()",
    "train.Scaffold": "run tf.global_variables_initializer() in the chief's session",
    "train.ChiefSessionCreator": "tf.Session(server.target)",
    "train.SessionManager": "tf.Session(server.target)",
    "train.Supervisor": (
        "tf.Session(server.target): the chief runs tf.global_variables_initializer(), others wait until "
        "tf.report_uninitialized_variables() gives nothing; tf.train.Coordinator ends threads"
    ),
    "train.SyncReplicasOptimizer": (
        "a tf.FIFOQueue of gradients that the chief averages, or an optimizer that does not wait"
    ),
    "train.Saver": "fetch the variables and keep them with numpy.savez; Variable.load sets them again",
    "train.latest_checkpoint": "keep values with numpy.savez; Variable.load sets them again",
    "train.get_checkpoint_state": "keep values with numpy.savez; Variable.load sets them again",
    "train.checkpoint_exists": "keep values with numpy.savez; Variable.load sets them again",
    "train.SessionRunHook": "do it in the loop, before and after session.run",
    "train.SessionRunArgs": "give session.run what the hook asks for",
    "train.StopAtStepHook": "end the loop when session.run(global_step) says so",
    "train.LoggingTensorHook": "fetch and print in the loop",
    "train.CheckpointSaverHook": "keep values in the loop with numpy.savez",
    "train.QueueRunner": "a threading.Thread that runs the queue's enqueue op until the queue is closed",
    "train.add_queue_runner": "a threading.Thread that runs the queue's enqueue op",
    "train.start_queue_runners": "threads that run the queues' enqueue ops; tf.train.Coordinator ends them",
    "train.string_input_producer": _FEED,
    "train.slice_input_producer": _FEED,
    "train.range_input_producer": _FEED,
    "train.input_producer": _FEED,
    "train.batch": "slice arrays into batches in Python, or dequeue_many from a tf.FIFOQueue",
    "train.shuffle_batch": "dequeue_many from a tf.RandomShuffleQueue",
    "train.match_filenames_once": "tf.gfile.Glob",
    "train.write_graph": "open(path, 'wb').write(graph.as_graph_def().SerializeToString())",
    "train.export_meta_graph": "Graph.as_graph_def has the nodes",
    "train.import_meta_graph": "tf.import_graph_def takes a GraphDef",
    "contrib.cudnn_rnn": _CPU,
    "contrib.tpu": _CPU,
    "contrib.data": _FEED,
    "contrib.distribute": "tf.train.replica_device_setter places variables, one process per task",
    "contrib.eager": _GRAPHS,
    "contrib.estimator": _LOOP,
    "contrib.keras": _LAYERS,
    "contrib.learn": _LOOP,
    "contrib.learn.datasets": "load the arrays with NumPy and feed them",
    "contrib.learn.preprocessing": "number the words in a Python dictionary, and feed the numbers",
    "contrib.learn.python.learn.datasets": "load the arrays with NumPy and feed them",
    "contrib.legacy_seq2seq": "build the network step by step from tf.layers and tf.while_loop",
    "contrib.lookup": "look words up in a Python dictionary, and feed the numbers",
    "contrib.slim.learning": _LOOP,
    "contrib.slim.nets": _LAYERS,
    "contrib.summary": "fetch the values, and write or print them in Python",
    "contrib.tensorrt": _CPU,
    "python.debug": "tf.Print shows values while a graph runs",
    "python.keras": _LAYERS,
    "python.saved_model": "fetch the variables and keep them with numpy.savez",
    "python.tools": "models are not converted here",
}


def instead(path):
    """What to do without the name at a path such as "train.Saver"; "" if nothing general is known."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        advice = _ADVICE.get(".".join(parts[:end]))
        if advice is not None:
            return advice
    return ""
