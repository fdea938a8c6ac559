"""Models of feature columns, the same text for TensorFlow and Millrace.

`python3 column_programs.py tensorflow FOLDER` (or `millrace`) prints a JSON object: of each program what it
gives. Checkpoints are left in the folder. Run by test_columns_beside_tensorflow.py.
"""

import os
import sys

import numpy as np

from programs import print_results

FOLDER = sys.argv[2] if len(sys.argv) > 2 else "."
RNG = np.random.RandomState(0)
NUMBERS = RNG.normal(size=[6, 2]).round(2).astype(np.float32)
IDS = RNG.randint(-1, 6, [6, 3])
WORDS = RNG.choice(["", "red", "green", "blue", "a b", "käse"], [6, 3])
WEIGHTS = RNG.rand(6, 3).round(2).astype(np.float32) * (WORDS != "")


def features(tf):
    return {
        "numbers": tf.constant(NUMBERS),
        "number": tf.constant(NUMBERS[:, 0]),
        "ids": tf.constant(IDS),
        "words": tf.constant(WORDS),
        "other_words": tf.constant(WORDS[::-1].copy()),
        "weights": tf.constant(WEIGHTS),
    }


def filled(tf, rows, columns):
    """An initializer without chance."""
    return tf.constant_initializer(
        np.sin(np.arange(rows * columns)).reshape(rows, columns).astype(np.float32)
    )


def outcome(tf, session, *tensors):
    """The variables' names and shapes, and what the Tensors are."""
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    return {
        "variables": sorted([v.name, v.shape.as_list()] for v in tf.global_variables()),
        "trained": sorted(v.name for v in tf.trainable_variables()),
        "model": len(tf.get_collection(tf.GraphKeys.MODEL_VARIABLES)),
        "values": [np.asarray(session.run(tensor)).tolist() for tensor in tensors],
    }


def numbers(tf, session):
    column = tf.feature_column
    one = column.numeric_column("number", normalizer_fn=lambda x: (x - 1.0) / 3.0)
    two = column.numeric_column("numbers", shape=[2])
    buckets = column.bucketized_column(two, [-0.5, 0.0, 1.25])
    return outcome(
        tf,
        session,
        column.input_layer(features(tf), [two, one, buckets]),
        column.linear_model(features(tf), [two, buckets], units=3),
    )


def listed(tf, **more):
    return tf.feature_column.categorical_column_with_vocabulary_list(
        "words", ["red", "green", "käse"], **more
    )


def of_file(tf, **more):
    path = os.path.join(FOLDER, "words.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("blue\na b\ngreen\n")
    return tf.feature_column.categorical_column_with_vocabulary_file("words", path, **more)


def categories(tf):
    column = tf.feature_column
    return {
        "listed": listed(tf),
        "with_buckets": listed(tf, num_oov_buckets=3),
        "with_default": listed(tf, default_value=1),
        "of_file": of_file(tf),
        "of_half_a_file": of_file(tf, vocabulary_size=2, num_oov_buckets=2),
        "hashed": column.categorical_column_with_hash_bucket("words", 7),
        "hashed_numbers": column.categorical_column_with_hash_bucket("ids", 5, tf.int64),
        "numbers": column.categorical_column_with_vocabulary_list("ids", [5, 0, 3]),
        "identity": column.categorical_column_with_identity("ids", 4, default_value=1),
        "weighted": column.weighted_categorical_column(listed(tf), "weights"),
    }


def indicators(tf, session):
    column, found = tf.feature_column, {}
    for name, categorical in categories(tf).items():
        made = column.input_layer(features(tf), [column.indicator_column(categorical)])
        session.run(tf.tables_initializer())
        found[name] = session.run(made).tolist()
    return found


def embeddings(tf, session):
    column, made = tf.feature_column, []
    for combiner in ("sum", "mean", "sqrtn"):
        for categorical in categories(tf).values():
            size = categorical.num_buckets
            made.append(
                column.input_layer(
                    features(tf),
                    [
                        column.embedding_column(
                            categorical, 2, combiner, filled(tf, size, 2), max_norm=0.9
                        )
                    ],
                )
            )
    return outcome(tf, session, *made)


def shared(tf, session):
    column = tf.feature_column
    first = column.categorical_column_with_identity("ids", 6, default_value=0)
    second = column.weighted_categorical_column(
        column.categorical_column_with_identity("more", 6), "weights"
    )
    columns = column.shared_embedding_columns([first, second], 3, initializer=filled(tf, 6, 3))
    given = {**features(tf), "more": tf.abs(features(tf)["ids"])}
    given["weights"] = tf.ones_like(given["weights"]) * 0.5
    found = {}
    with tf.variable_scope("tower", reuse=tf.AUTO_REUSE):
        made = column.input_layer(given, columns, cols_to_vars=found)
    gradient = tf.gradients(tf.reduce_sum(tf.square(made)), tf.trainable_variables())[0]
    names = sorted([key.name, [v.name for v in kept]] for key, kept in found.items())
    return {**outcome(tf, session, made, tf.convert_to_tensor(gradient)), "names": names}


def crosses(tf, session):
    column = tf.feature_column
    joined = session.run(tf.sparse.cross([tf.constant(WORDS), tf.constant(WORDS[:, :1])]))
    buckets = column.bucketized_column(column.numeric_column("number"), [-0.5, 0.5])
    identity = column.categorical_column_with_identity("ids", 6, default_value=2)
    first = column.crossed_column(["words", "other_words"], 50)
    second = column.crossed_column([buckets, identity, "words"], 1000, hash_key=17)
    third = column.crossed_column([second, listed(tf)], 100)
    made = [
        column.input_layer(features(tf), [column.indicator_column(each)])
        for each in (first, second, third)
    ]
    texts = [text.decode("utf-8") for text in joined.values]
    return {**outcome(tf, session, *made), "texts": texts}


def linear(tf, session):
    column, made, names = tf.feature_column, [], []
    for combiner in ("sum", "mean", "sqrtn"):
        found = {}
        with tf.variable_scope(combiner):
            made.append(
                column.linear_model(
                    features(tf),
                    [
                        column.numeric_column("numbers", 2),
                        listed(tf),
                        column.weighted_categorical_column(of_file(tf), "weights"),
                        column.categorical_column_with_identity("ids", 6, default_value=0),
                        column.bucketized_column(column.numeric_column("number"), [0.0]),
                    ],
                    units=2,
                    sparse_combiner=combiner,
                    cols_to_vars=found,
                )
            )
        names.append(
            sorted(
                [getattr(key, "name", key), [v.name for v in kept]] for key, kept in found.items()
            )
        )
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for variable in tf.global_variables():
        rows = variable.shape.num_elements()
        value = np.cos(np.arange(rows)).reshape(variable.shape.as_list())
        session.run(tf.assign(variable, value.astype(np.float32)))
    return {"names": names, "values": [session.run(each).tolist() for each in made]}


def parsing(tf, session):
    column = tf.feature_column
    columns = [
        column.bucketized_column(column.numeric_column("numbers", 2, [3.0, 4.0]), [0.0, 3.5]),
        column.numeric_column("number", dtype=tf.int64, default_value=3),
        column.indicator_column(column.weighted_categorical_column(listed(tf), "weights")),
        column.indicator_column(column.crossed_column(["words", "more"], 10)),
    ]
    spec = column.make_parse_example_spec(columns)
    example = tf.train.Example()
    example.features.feature["words"].bytes_list.value.extend([b"red", b"green"])
    example.features.feature["weights"].float_list.value.extend([1.0, 0.5])
    example.features.feature["more"].bytes_list.value.append(b"x")
    parsed = tf.parse_example([example.SerializeToString()], spec)
    made = column.input_layer(parsed, columns)
    session.run(tf.tables_initializer())
    return {"keys": sorted(spec), "value": session.run(made).tolist()}


def trained(tf, session):
    """Steps of a linear model and of a table, as estimators make them: in scopes that divide variables."""
    column = tf.feature_column
    parts = tf.min_max_variable_partitioner(max_partitions=2, min_slice_size=8)
    with tf.variable_scope("linear", partitioner=parts):
        first = column.linear_model(features(tf), [column.numeric_column("numbers", 2), listed(tf)])
        loss = tf.reduce_mean(tf.square(first[:, 0] - NUMBERS[:, 0] * 2))
        one = tf.train.FtrlOptimizer(0.2).minimize(loss)
    with tf.variable_scope("dnn", partitioner=parts):
        table = column.embedding_column(listed(tf), 2, initializer=tf.ones_initializer())
        second = column.input_layer(features(tf), [table])
        of_table = [v for v in tf.trainable_variables() if v.name.startswith("dnn")]
        two = tf.train.AdagradOptimizer(0.05).minimize(
            tf.reduce_sum(tf.square(second)), var_list=of_table
        )
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for _ in range(3):
        session.run([one, two])
    path = tf.train.Saver(sharded=True).save(session, os.path.join(FOLDER, sys.argv[1]))
    found = {name: shape for name, shape in tf.train.list_variables(path)}
    # What optimizers keep of a part has a name of its own there, of which the checkpoint is no whole.
    whole = [name for name in found if name.endswith("weights")]
    values = {name: tf.train.load_variable(path, name).tolist() for name in whole}
    return {"shapes": found, "values": values, "given": session.run([first, second])[0].tolist()}


def loaded(tf, session):
    """What the same model gives with the other one's checkpoint, in parts of other sizes."""
    column = tf.feature_column
    other = {"tensorflow": "millrace", "millrace": "tensorflow"}[sys.argv[1]]
    path = os.path.join(FOLDER, other)
    if not os.path.exists(path + ".index"):
        return None
    with tf.variable_scope("linear", partitioner=tf.fixed_size_partitioner(1)):
        made = column.linear_model(features(tf), [column.numeric_column("numbers", 2), listed(tf)])
    session.run(tf.tables_initializer())
    tf.train.Saver().restore(session, path)
    return session.run(made).tolist()


PROGRAMS = [
    numbers,
    indicators,
    embeddings,
    shared,
    crosses,
    linear,
    parsing,
    trained,
    loaded,
]


if __name__ == "__main__":
    print_results(PROGRAMS)
