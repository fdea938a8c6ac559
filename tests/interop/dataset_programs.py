"""Programs that read datasets, the same text for TensorFlow and for Millrace.

`python3 dataset_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program the elements
that it saw. Run by test_datasets_beside_tensorflow.py.
"""

import collections
import gzip
import os
import tempfile

import numpy as np

from programs import print_results

Pair = collections.namedtuple("Pair", "left right")


def plain(value):
    """A fetched element as JSON has it."""
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return ["tuple", *(plain(part) for part in value)]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def run_to_end(tf, session, following):
    seen = []
    try:
        while len(seen) < 200:
            seen.append(plain(session.run(following)))
    except tf.errors.OutOfRangeError as error:
        seen.append("End of sequence" in error.message)
    return seen


def walk(tf, session, dataset):
    """The shapes and types of a dataset, and all its elements by an iterator."""
    iterator = tf.data.make_initializable_iterator(dataset)
    following = iterator.get_next()
    session.run(iterator.initializer)
    types = tf.data.get_output_types(dataset)
    shapes = tf.data.get_output_shapes(dataset)
    return [str(types), str(shapes), run_to_end(tf, session, following)]


def sources(tf, session):
    D = tf.data.Dataset
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    made = {
        "tensors": D.from_tensors((rows, [1, 2])),
        "slices": D.from_tensor_slices({"b": rows, "a": ["x", "yy", "z"]}),
        "named": D.from_tensor_slices(Pair(rows, (np.arange(3), rows > 2))),
        "range": D.range(4),
        "down": D.range(7, 0, -3),
        "zip": D.zip((D.range(3), D.from_tensor_slices(rows))),
        "zip of zips": D.zip({"a": D.range(3), "b": (D.range(2), D.range(9))}),
    }
    return {name: walk(tf, session, dataset) for name, dataset in made.items()}


def selections(tf, session):
    D = tf.data.Dataset
    seven = D.range(7)
    made = {
        "take": seven.take(3),
        "take all": seven.take(-1),
        "skip": seven.skip(5),
        "repeat": seven.take(2).repeat(3),
        "no repeat": seven.repeat(0),
        "shard": seven.shard(3, 2),
        "concatenate": seven.take(2).concatenate(D.range(5, 8)),
        "enumerate": D.from_tensor_slices(["a", "b"]).enumerate(5),
        "cache": seven.cache().repeat(2),
        "unbatch": seven.batch(3).unbatch() if hasattr(seven, "unbatch") else seven,
    }
    return {name: walk(tf, session, dataset) for name, dataset in made.items()}


def batches(tf, session):
    D = tf.data.Dataset
    ragged = D.range(5).map(lambda n: (tf.fill([n], n), tf.fill([2, n], "s")))
    made = {
        "batch": D.range(7).batch(3),
        "whole batches": D.range(7).batch(3, drop_remainder=True),
        "of structures": D.from_tensor_slices({"a": np.ones((5, 2)), "b": np.arange(5)}).batch(2),
        "batch of batches": D.range(8).batch(2).batch(2),
        "padded": ragged.padded_batch(2, ([None], [2, -1])),
        "padded to": ragged.padded_batch(
            3, ([6], [None, 7]), (np.int64(-1), "?"), drop_remainder=True
        ),
        "windows": D.range(7).window(3, 2, 2).flat_map(lambda window: window.batch(3)),
        "whole windows": D.range(7)
        .window(2, drop_remainder=True)
        .flat_map(lambda window: window.batch(2)),
    }
    return {name: walk(tf, session, dataset) for name, dataset in made.items()}


def functions(tf, session):
    D = tf.data.Dataset
    ten = D.range(10)
    table = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    made = {
        "map": ten.map(lambda n: n * n),
        "map of parts": D.zip((ten, ten)).map(lambda a, b: {"sum": a + b, "pair": (a, b)}),
        "map of dictionaries": D.from_tensor_slices({"x": [1, 2]}).map(lambda each: each["x"] + 1),
        "parallel": ten.map(lambda n: n + 1, num_parallel_calls=3),
        "captured": D.range(3).map(lambda n: tf.gather(table, n)),
        "cond": ten.map(lambda n: tf.cond(n % 2 < 1, lambda: n, lambda: -n)),
        "loop": D.range(4).map(
            lambda n: tf.while_loop(
                lambda i, x: i < n, lambda i, x: (i + 1, x * 2), (tf.constant(0, tf.int64), n + 0)
            )[1]
        ),
        "filter": ten.filter(lambda n: tf.equal(n % 3, 0)),
        "flat map": D.range(4).flat_map(lambda n: D.from_tensors(n).repeat(n)),
        "nested maps": D.range(3).flat_map(lambda n: D.range(2).map(lambda m: n * 10 + m)),
        "interleave": D.range(4).interleave(
            lambda n: D.from_tensors(n).repeat(n + 1), cycle_length=2, block_length=2
        ),
        "parallel interleave": D.range(5).interleave(
            lambda n: D.range(n * 10, n * 10 + 3), cycle_length=3, num_parallel_calls=2
        ),
        "py_func": D.range(3).map(lambda n: tf.py_func(lambda x: x * 3, [n], tf.int64)),
        "prefetch": ten.map(lambda n: n * 2).prefetch(4),
        "strings": D.from_tensor_slices(["a b", "c"]).map(lambda line: tf.string_join([line, "!"])),
    }
    results = {name: walk(tf, session, dataset) for name, dataset in made.items()}
    total = ten.reduce((np.int64(0), np.float32(1)), lambda s, n: (s[0] + n, s[1] * 0.5))
    results["reduce"] = plain(session.run(total))
    return results


def shuffles(tf, session):
    """Seeds give the same order."""
    D = tf.data.Dataset
    results = {}
    for graph_seed, seed in ((None, 7), (3, None), (3, 7), (0, 0)):
        with tf.Graph().as_default(), tf.Session() as own:
            if graph_seed is not None:
                tf.set_random_seed(graph_seed)
            made = {
                "all": D.range(12).shuffle(12, seed=seed),
                "few": D.range(12).shuffle(4, seed=seed),
                "repeated": D.range(5).shuffle(5, seed=seed).repeat(3),
                "kept": D.range(5).shuffle(3, seed=seed, reshuffle_each_iteration=False).repeat(2),
                "both": D.range(5).apply(tf.data.experimental.shuffle_and_repeat(7, 3, seed=seed)),
                "batches": D.range(9).shuffle(9, seed=seed).batch(2).repeat(2),
            }
            for name, dataset in made.items():
                # What is drawn from the number of nodes differs with how many each makes.
                if seed is not None:
                    results[f"{name} {graph_seed} {seed}"] = walk(tf, own, dataset)[2]
    return results


def iterators(tf, session):
    D = tf.data.Dataset
    results = {}
    one_shot = tf.data.make_one_shot_iterator(D.range(3).map(lambda n: n + 1))
    results["one shot"] = run_to_end(tf, session, one_shot.get_next())

    limit = tf.placeholder(tf.int64, [])
    fed = tf.data.make_initializable_iterator(D.range(limit).map(lambda n: n * limit))
    following = fed.get_next()
    for value in (3, 2):
        session.run(fed.initializer, {limit: value})
        results[f"fed {value}"] = run_to_end(tf, session, following)

    training, checking = D.range(3), D.range(100, 102)
    either = tf.data.Iterator.from_structure(
        tf.data.get_output_types(training), tf.data.get_output_shapes(training)
    )
    following = either.get_next()
    begin = {"a": either.make_initializer(training), "b": either.make_initializer(checking)}
    for name in "aba":
        session.run(begin[name])
        results.setdefault("structure", []).append(run_to_end(tf, session, following))

    handle = tf.placeholder(tf.string, [])
    chosen = tf.data.Iterator.from_string_handle(handle, tf.int64, [])
    following = chosen.get_next()
    first = tf.data.make_one_shot_iterator(D.range(4))
    second = tf.data.make_initializable_iterator(D.range(50, 53))
    session.run(second.initializer)
    handles = session.run([first.string_handle(), second.string_handle()])
    results["handles"] = [
        int(session.run(following, {handle: handles[i]})) for i in (0, 1, 0, 1, 1)
    ]

    variable = tf.get_variable("scale", dtype=tf.int64, initializer=np.int64(5), use_resource=True)
    session.run(variable.initializer)
    scaled = tf.data.make_initializable_iterator(D.range(3).map(lambda n: n * variable))
    session.run(scaled.initializer)
    results["variable"] = run_to_end(tf, session, scaled.get_next())
    return results


def failures(tf, session):
    D = tf.data.Dataset
    cold = tf.data.make_initializable_iterator(D.range(3)).get_next()
    results = {}
    unequal = D.range(1, 4).map(lambda n: tf.fill([n], n)).batch(2)
    checked = D.range(3).map(lambda n: tf.check_numerics(1.0 / tf.cast(n, tf.float32), "none"))
    for name, dataset in {"unequal": unequal, "checked": checked}.items():
        iterator = tf.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
        session.run(iterator.initializer)
        seen = []
        for _ in range(4):
            try:
                seen.append(plain(session.run(following)))
            except tf.errors.OpError as error:
                seen.append(type(error).__name__)
        results[name] = seen
    try:
        session.run(cold)
    except tf.errors.FailedPreconditionError as error:
        results["cold"] = "the iterator has not been initialized" in error.message
    for name, make in {
        "placeholder": lambda: tf.data.make_one_shot_iterator(
            D.from_tensors(tf.placeholder(tf.int32, []))
        ),
        "sizes": lambda: D.from_tensor_slices((np.ones(2), np.ones(3))),
        "predicate": lambda: D.range(3).filter(lambda n: n),
        "types": lambda: tf.data.Iterator.from_structure(tf.int64, []).make_initializer(
            D.from_tensors(1.5)
        ),
    }.items():
        try:
            make()
            results[name] = "nothing"
        except (TypeError, ValueError) as error:
            results[name] = type(error).__name__
    return results


def files(tf, session):
    D = tf.data.Dataset
    folder = tempfile.mkdtemp()
    paths = [os.path.join(folder, name) for name in ("a.txt", "b.txt")]
    with open(paths[0], "wb") as file:
        file.write(b"one\ntwo\r\n\nthree")
    with open(paths[1], "wb") as file:
        file.write(b"four\n")
    packed = os.path.join(folder, "c.gz")
    with gzip.open(packed, "wb") as file:
        file.write(b"packed\nlines\n")
    records = os.path.join(folder, "d.tfrecord")
    with tf.python_io.TFRecordWriter(records) as writer:
        for value in (b"first", b"", b"third"):
            writer.write(value)
    fixed = os.path.join(folder, "e.bin")
    with open(fixed, "wb") as file:
        file.write(b"HHaabbccF")
    made = {
        "lines": tf.data.TextLineDataset(paths),
        "lines of a dataset": D.from_tensor_slices(paths).flat_map(
            lambda name: tf.data.TextLineDataset(name).skip(1)
        ),
        "packed": tf.data.TextLineDataset(packed, compression_type="GZIP"),
        "records": tf.data.TFRecordDataset([records, records]),
        "fixed": tf.data.FixedLengthRecordDataset(fixed, 2, header_bytes=2, footer_bytes=1),
        "parallel": tf.data.TFRecordDataset(
            D.from_tensor_slices([records, records]), num_parallel_reads=2
        ),
        "listed": D.list_files(os.path.join(folder, "*.txt"), shuffle=False).map(
            lambda name: tf.strings.substr(name, -5, 5)
        ),
    }
    return {name: walk(tf, session, dataset)[2] for name, dataset in made.items()}


def generators(tf, session):
    D = tf.data.Dataset

    def numbers(limit=3):
        for i in range(limit):
            yield i, [i] * i

    made = {
        "plain": D.from_generator(lambda: iter("ab"), tf.string),
        "structure": D.from_generator(
            numbers, (tf.int64, tf.float32), (tf.TensorShape([]), tf.TensorShape([None]))
        ),
        "arguments": D.from_generator(numbers, (tf.int32, tf.int32), args=(2,)),
        "twice": D.from_generator(lambda: [7, 8], tf.int32).repeat(2),
        "padded": D.from_generator(numbers, (tf.int64, tf.int64), ([], [None])).padded_batch(
            2, ([], [None])
        ),
    }
    return {name: walk(tf, session, dataset) for name, dataset in made.items()}


def transformations(tf, session):
    D = tf.data.Dataset
    E = tf.data.experimental
    ten = D.range(10)
    made = {
        "map and batch": ten.apply(E.map_and_batch(lambda n: n * 2, 4)),
        "groups": ten.apply(
            E.group_by_window(lambda n: n % 3, lambda key, group: group.batch(2), window_size=2)
        ),
        "scan": ten.apply(E.scan(np.int64(0), lambda state, n: (state + n, state * 10 + n))),
        "take while": ten.apply(E.take_while(lambda n: n < 4)),
        "unique": D.from_tensor_slices([3, 1, 3, 2, 1]).apply(E.unique()),
        "errors": D.range(4)
        .map(lambda n: tf.check_numerics(1.0 / tf.cast(n - 2, tf.float32), "none"))
        .apply(E.ignore_errors()),
        "buckets": ten.map(lambda n: tf.fill([n], n)).apply(
            E.bucket_by_sequence_length(lambda x: tf.size(x), [3, 6], [2, 2, 2])
        ),
        "options": ten.with_options(tf.data.Options()).take(2),
    }
    results = {name: walk(tf, session, dataset)[2] for name, dataset in made.items()}
    counts = [ten, ten.repeat(), ten.filter(lambda n: n > 3), ten.batch(3), ten.take(4).repeat(2)]
    results["cardinality"] = [int(session.run(E.cardinality(each))) for each in counts]
    results["single"] = plain(session.run(E.get_single_element(ten.skip(9))))
    return results


def examples(tf, session):
    """Files of Examples as groups of features."""
    E = tf.data.experimental
    features = {
        "x": tf.io.FixedLenFeature([], tf.int64),
        "y": tf.io.FixedLenFeature([2], tf.float32, [0.5, 1.5]),
    }
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(2):
            with tf.python_io.TFRecordWriter(os.path.join(folder, f"part{number}")) as writer:
                for x in range(3):
                    example = tf.train.Example()
                    example.features.feature["x"].int64_list.value.append(10 * number + x)
                    writer.write(example.SerializeToString())
        for name, settings in {
            "once": {"num_epochs": 1},
            "label": {"num_epochs": 1, "label_key": "x"},
            "whole": {"num_epochs": 2, "drop_final_batch": True},
            "two at a time": {"num_epochs": 1, "reader_num_threads": 2},
        }.items():
            pattern = os.path.join(folder, "part*")
            made = E.make_batched_features_dataset(pattern, 4, features, shuffle=False, **settings)
            results[name] = walk(tf, session, made)[2]
        parsed = (
            tf.data.TFRecordDataset(os.path.join(folder, "part1"))
            .batch(2)
            .apply(E.parse_example_dataset(features))
        )
        results["parsed"] = walk(tf, session, parsed)[2]
    return results


PROGRAMS = [
    examples,
    sources,
    selections,
    batches,
    functions,
    shuffles,
    iterators,
    failures,
    files,
    generators,
    transformations,
]

if __name__ == "__main__":
    print_results(PROGRAMS)
