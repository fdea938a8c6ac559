"""Calls of Python with values, and values of several Tensors, the same text for TensorFlow and for Millrace.

`python3 composite_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program what its calls
give. Run by test_composites_beside_tensorflow.py.
"""

import numpy as np

from programs import print_results


def plain(value):
    """A fetched value as JSON has it."""
    if hasattr(value, "to_list"):
        return ["ragged", plain(value.to_list())]
    if hasattr(value, "dense_shape"):
        return ["parts", *(plain(getattr(value, name)) for name in sorted(value._fields))]
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return value.tolist() if hasattr(value, "tolist") else value


def results_of(session, calls):
    """{name: what the call gives as text}, or the name of the error."""
    results = {}
    for name, call in calls.items():
        try:
            made = call()
            results[name] = made if isinstance(made, str) else plain(session.run(made))
        except Exception as error:  # noqa: BLE001: the error is the result
            results[name] = type(error).__name__
    return results


def eager_calls(tf, session):
    x, n = tf.constant([1.0, -2.0, 3.0]), tf.constant(3)
    words = tf.constant([["a", "bc"]])

    def slopes(function, *inputs):
        return tf.gradients(tf.py_function(function, list(inputs), tf.float32), list(inputs))

    def summed(x, n):
        total = tf.zeros([3])
        for number in range(int(n)):
            if number % 2 == 0:
                total += x * float(number)
        return total

    def taped(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * x * x)
        return tape.gradient(y, x)

    return results_of(
        session,
        {
            "values": lambda: tf.py_function(lambda a: a.numpy() + 1, [x], tf.float32),
            "ops": lambda: tf.py_function(summed, [x, n], tf.float32),
            "gradient of ops": lambda: slopes(lambda a: summed(a, n=np.int32(3)), x),
            "several": lambda: tf.py_function(lambda a: (a[0], [len(a)]), [x], [tf.float32] * 2),
            "words": lambda: tf.py_function(lambda w: w[0, 1] + "!", [words], tf.string),
            "numbers": lambda: tf.py_function(lambda: 2, [], tf.float32),
            "lists": lambda: tf.py_function(lambda: [[1, 2], [3, 4]], [], [tf.int64, tf.int32]),
            "a list for one": lambda: tf.py_function(lambda: [[1, 2]], [], [tf.int64]),
            "nothing": lambda: tf.py_function(lambda: None, [], []),
            "shapes": lambda: tf.py_function(lambda a: a[a > 0].shape[0], [x], tf.int64),
            "tape": lambda: tf.py_function(taped, [x], tf.float32),
            "gradient of a tape": lambda: slopes(taped, x),
            "eager": lambda: tf.py_function(lambda: tf.executing_eagerly(), [], tf.bool),
            "wrong type": lambda: tf.py_function(lambda a: a, [x], tf.int32),
            "parts": lambda: tf.py_function(lambda a: [[a[1], 1.0]], [x], [tf.float32]),
            "raises": lambda: tf.py_function(lambda: [].pop(), [], tf.int32),
        },
    )


def walk(tf, session, dataset):
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    seen = []
    try:
        while True:
            seen.append(plain(session.run(following)))
    except tf.errors.OutOfRangeError:
        return seen


def datasets(tf, session):
    Dataset = tf.data.Dataset
    rows = tf.ragged.constant([[1, 2], [], [3], [4, 5, 6]])
    deep = tf.ragged.constant([[[1], []], [], [[2, 3]]])
    sparse = tf.SparseTensor([[0, 1], [2, 0], [3, 1]], [5.0, 6.0, 7.0], [4, 3])
    text = tf.ragged.constant([["a b"], ["c", "d e"]])

    numbers = Dataset.range(4)
    makers = {
        "tensors": lambda: Dataset.from_tensors((rows, {"s": sparse, "d": deep})),
        "rows": lambda: Dataset.from_tensor_slices(rows),
        "rows of rows": lambda: Dataset.from_tensor_slices((deep, tf.range(3))),
        "rows of sparse": lambda: Dataset.from_tensor_slices(sparse),
        "ragged batches": lambda: Dataset.from_tensor_slices(rows).batch(3),
        "even batches of batches": lambda: Dataset.from_tensor_slices(rows).batch(2).batch(2),
        "batches of batches": lambda: Dataset.from_tensor_slices(rows).batch(3).batch(2),
        "sparse batches": lambda: Dataset.from_tensor_slices(sparse).batch(2, drop_remainder=True),
        "batches of tensors": lambda: Dataset.from_tensors(sparse).repeat(2).batch(3),
        "unbatched": lambda: Dataset.from_tensors((rows, sparse)).unbatch(),
        "unbatched groups": lambda: Dataset.from_tensor_slices((rows, sparse)).batch(3).unbatch(),
        "map": lambda: Dataset.from_tensor_slices(rows).map(lambda row: (tf.size(row), row + 1)),
        "map to ragged": lambda: numbers.map(
            lambda n: tf.RaggedTensor.from_row_splits([n], [0, 0, 1])
        ),
        "map to sparse": lambda: numbers.map(lambda n: tf.SparseTensor([[n]], [n], [5])).batch(4),
        "map of ragged": lambda: Dataset.from_tensors(text).map(lambda r: r.row_lengths()),
        "filter": lambda: Dataset.from_tensor_slices(deep).filter(lambda r: r.nrows() > 0),
        "flat_map": lambda: Dataset.from_tensors(rows).flat_map(Dataset.from_tensor_slices),
        "zip": lambda: Dataset.zip((Dataset.from_tensor_slices(rows), Dataset.range(9))).take(2),
        "shuffled": lambda: Dataset.from_tensor_slices(rows).shuffle(9, seed=3).cache().prefetch(1),
        "concatenated": lambda: Dataset.from_tensors(rows).concatenate(
            Dataset.from_tensors(rows[1:])
        ),
        "of other kinds": lambda: Dataset.from_tensors(rows).concatenate(
            Dataset.from_tensors(sparse)
        ),
        "padded": lambda: Dataset.from_tensors(sparse).padded_batch(2, [None, None]),
        "unbatch of rows": lambda: Dataset.from_tensor_slices(rows).unbatch(),
        "features": lambda: Dataset.from_tensors(tf.io.serialize_sparse(sparse)),
    }
    results = {}
    for name, make in makers.items():
        try:
            made = make()
            told = [str(part) for part in tf.nest.flatten(tf.data.get_output_types(made))]
            shapes = str(tf.data.get_output_shapes(made))
            results[name] = [told, shapes, walk(tf, session, made)]
            # A part of a row is no ragged tensor; TensorFlow says one of rank -1.
            if name != "unbatch of rows":
                specs = [type(part).__name__ for part in tf.nest.flatten(made.element_spec)]
                results[name].append(specs)
        except Exception as error:  # noqa: BLE001: the error is the result
            results[name] = type(error).__name__
    return results


PROGRAMS = [eager_calls, datasets]

if __name__ == "__main__":
    print_results(PROGRAMS)
