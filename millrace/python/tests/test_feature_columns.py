"""tf.feature_column: what columns make of features, the models built of them, what is refused."""

import numpy as np
import pytest

import millrace as tf

fc = tf.feature_column

NUMBERS = {"price": [[1.0], [5.0], [9.0]], "size": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}
WORDS = ["red", "green", "blue"]


def words():
    """Two words, none, and one that no list has beside one that it has."""
    return tf.SparseTensor(
        [[0, 0], [0, 1], [2, 0], [2, 1]], ["blue", "red", "black", "green"], [3, 2]
    )


def listed(**arguments):
    return fc.categorical_column_with_vocabulary_list("colour", WORDS, **arguments)


@pytest.fixture
def run(session):
    """The value of a Tensor, once variables and tables have theirs."""

    def fetch(tensor, feeds=None):
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(tensor, feeds)

    return fetch


def table_of(rows):
    return tf.constant_initializer(np.array(rows, np.float32))


# ---- Numbers -------------------------------------------------------------------------------------


def test_numbers_stand_side_by_side_in_the_order_of_their_names(run):
    columns = [
        fc.numeric_column("size", 2),
        fc.numeric_column("price", normalizer_fn=lambda x: x / 2),
    ]
    made = fc.input_layer(NUMBERS, columns)
    assert made.shape.as_list() == [3, 3] and made.dtype == tf.float32
    assert run(made).tolist() == [[0.5, 1, 2], [2.5, 3, 4], [4.5, 5, 6]]


def test_a_feature_with_one_axis_gets_a_second(run):
    features = {
        "price": [1, 2],  # integers become float32
        "weight": tf.placeholder(tf.float32, [None]),
        "height": tf.placeholder(tf.float32),
    }
    made = fc.input_layer(features, [fc.numeric_column(key) for key in features])
    found = run(made, {features["weight"]: [3, 4], features["height"]: [5, 6]})
    assert found.tolist() == [[5, 1, 3], [6, 2, 4]]


def test_a_bucket_begins_with_its_boundary(run):
    column = fc.bucketized_column(fc.numeric_column("size", 2), [1, 4])
    assert (column.name, column.num_buckets) == ("size_bucketized", 6)
    made = fc.input_layer({"size": [[0.0, 1.0], [4.0, 3.9]]}, [column])
    assert run(made).tolist() == [[1, 0, 0, 0, 1, 0], [0, 0, 1, 0, 1, 0]]


def test_buckets_of_each_number_have_weights_of_their_own(session):
    column = fc.bucketized_column(fc.numeric_column("size", 2), [1.0, 4.0])
    made = fc.linear_model({"size": [[0.0, 1.0], [4.0, 3.9]]}, [column])
    session.run(tf.global_variables_initializer())
    session.run(tf.assign(tf.global_variables()[0], [[1.0], [2], [4], [8], [16], [32]]))
    assert session.run(made).tolist() == [[1 + 16], [4 + 16]]


# ---- Categories ----------------------------------------------------------------------------------


def test_words_are_counted_by_their_places_in_a_list_and_others_are_left_out(run):
    made = fc.input_layer({"colour": words()}, [fc.indicator_column(listed())])
    assert run(made).tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]


def test_other_words_have_a_default_or_buckets_behind_the_list(run):
    features = {"colour": words()}
    with_default = fc.indicator_column(listed(default_value=0))
    assert run(fc.input_layer(features, [with_default])).tolist()[2] == [1, 1, 0]
    with_buckets = fc.indicator_column(listed(num_oov_buckets=1))
    assert run(fc.input_layer(features, [with_buckets])).tolist()[2] == [0, 1, 0, 1]


def test_words_are_counted_by_their_lines_in_a_file(run, tmp_path):
    file = tmp_path / "colours"
    file.write_text("\n".join([*WORDS, "white"]) + "\n")
    whole = fc.categorical_column_with_vocabulary_file("colour", str(file))
    assert whole.num_buckets == 4
    first = fc.categorical_column_with_vocabulary_file("colour", file, 2, num_oov_buckets=1)
    made = fc.input_layer({"colour": words()}, [fc.indicator_column(whole)])
    assert run(made).tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    made = fc.input_layer({"colour": words()}, [fc.indicator_column(first)])
    assert run(made).tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 1]]


def test_integers_can_be_listed_too(run):
    column = fc.categorical_column_with_vocabulary_list("year", [1989, 1961])
    assert column.dtype == tf.int64
    features = {"year": tf.constant([[1961, 1961], [1989, -1]], tf.int32)}
    made = fc.input_layer(features, [fc.indicator_column(column)])
    assert run(made).tolist() == [[0, 2], [1, 0]]


def test_empty_words_and_minus_one_stand_for_nothing(run):
    column = fc.categorical_column_with_hash_bucket("colour", 10)
    found = run(fc.input_layer({"colour": [["red", ""], ["", ""]]}, [fc.indicator_column(column)]))
    assert found.sum(1).tolist() == [1, 0]
    numbers = fc.categorical_column_with_hash_bucket("year", 10, tf.int64)
    found = run(fc.input_layer({"year": [[1989, -1], [-1, -1]]}, [fc.indicator_column(numbers)]))
    assert found.sum(1).tolist() == [1, 0]


def test_hashes_are_those_of_the_op(run):
    column = fc.categorical_column_with_hash_bucket("colour", 7)
    found = run(fc.input_layer({"colour": [["red"]]}, [fc.indicator_column(column)]))
    assert found.argmax() == run(tf.string_to_hash_bucket_fast("red", 7))


def test_ids_are_taken_as_they_are_or_for_the_default(run):
    column = fc.indicator_column(fc.categorical_column_with_identity("id", 3, default_value=2))
    assert run(fc.input_layer({"id": [[0, 7], [1, 1]]}, [column])).tolist() == [
        [1, 0, 1],
        [0, 2, 0],
    ]
    strict = fc.indicator_column(fc.categorical_column_with_identity("id", 3))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"column id is not in \[0, 3\)"):
        run(fc.input_layer({"id": [[0, 7]]}, [strict]))


def test_categories_have_weights(run):
    column = fc.weighted_categorical_column(listed(), "strength")
    assert column.name == "colour_weighted_by_strength"
    strengths = tf.SparseTensor(words().indices, [0.5, 2.0, 3.0, 4.0], [3, 2])
    features = {"colour": words(), "strength": strengths}
    made = fc.input_layer(features, [fc.indicator_column(column)])
    assert run(made).tolist() == [[2, 0, 0.5], [0, 0, 0], [0, 4, 0]]
    dense = {"colour": [["red", "blue"]], "strength": [[1.5, 2.5]]}
    assert run(fc.input_layer(dense, [fc.indicator_column(column)])).tolist() == [[1.5, 0, 2.5]]
    with pytest.raises(ValueError, match="Bad dtype, expected"):
        fc.input_layer({**dense, "strength": [[1, 2]]}, [fc.indicator_column(column)])


# ---- Embeddings ----------------------------------------------------------------------------------

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    "combiner, first", [("mean", [3, 4]), ("sum", [6, 8]), ("sqrtn", [6 / 2**0.5, 8 / 2**0.5])]
)
def test_rows_of_a_table_are_combined_where_there_are_several(run, combiner, first):
    column = fc.embedding_column(listed(), 2, combiner, table_of(ROWS))
    made = fc.input_layer({"colour": words()}, [column])
    np.testing.assert_allclose(run(made), [first, [0, 0], [3, 4]], rtol=1e-6)
    (variable,) = tf.trainable_variables()
    assert variable.op.name == "input_layer/colour_embedding/embedding_weights"
    assert tf.get_collection(tf.GraphKeys.MODEL_VARIABLES) == [variable]


def test_a_table_may_be_bounded_and_kept_from_training(run):
    column = fc.embedding_column(
        listed(), 2, initializer=table_of(ROWS), max_norm=1.0, trainable=False
    )
    found = run(fc.input_layer({"colour": [["green"]]}, [column]))
    np.testing.assert_allclose(found, [[0.6, 0.8]], rtol=1e-6)
    assert not tf.trainable_variables()


def test_a_table_begins_with_what_a_checkpoint_has(run, tmp_path):
    with tf.Graph().as_default(), tf.Session() as other:
        old = tf.get_variable("old", initializer=tf.constant(ROWS))
        other.run(old.initializer)
        path = tf.train.Saver().save(other, str(tmp_path / "model"))
    column = fc.embedding_column(listed(), 2, ckpt_to_load_from=path, tensor_name_in_ckpt="old")
    assert run(fc.input_layer({"colour": [["blue"]]}, [column])).tolist() == [[5, 6]]


def test_columns_share_a_table_and_its_gradient_comes_from_both(run):
    seen = fc.categorical_column_with_identity("seen", 3)
    bought = fc.categorical_column_with_identity("bought", 3)
    columns = fc.shared_embedding_columns([seen, bought], 2, initializer=table_of(ROWS))
    assert [column.name for column in columns] == [
        "seen_shared_embedding",
        "bought_shared_embedding",
    ]
    made = fc.input_layer({"seen": [[0], [1]], "bought": [[2], [1]]}, columns)
    (variable,) = tf.global_variables()
    assert variable.op.name == "input_layer/bought_seen_shared_embedding/embedding_weights"
    assert tf.get_collection("bought_seen_shared_embedding") == [variable]
    assert run(made).tolist() == [[5, 6, 1, 2], [3, 4, 3, 4]]
    gradient = tf.gradients(tf.reduce_sum(made), variable)[0]
    assert run(tf.convert_to_tensor(gradient)).tolist() == [[1, 1], [2, 2], [1, 1]]


def test_tables_may_be_in_parts(run):
    column = fc.embedding_column(listed(), 2, initializer=tf.ones_initializer())
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(2)):
        found = {}
        made = fc.input_layer({"colour": words()}, [column], cols_to_vars=found)
    assert [part.op.name for part in found[column]] == [
        "model/input_layer/colour_embedding/embedding_weights/part_0",
        "model/input_layer/colour_embedding/embedding_weights/part_1",
    ]
    assert run(made).tolist() == [[1, 1], [0, 0], [1, 1]]


# ---- Models --------------------------------------------------------------------------------------


def test_an_input_layer_tells_what_columns_made(run):
    price, colour = fc.numeric_column("price"), fc.embedding_column(listed(), 4)
    features = {"price": NUMBERS["price"], "colour": words()}
    variables, tensors = {}, {}
    made = fc.input_layer(
        features,
        {price, colour},
        weight_collections=["mine"],
        cols_to_vars=variables,
        cols_to_output_tensors=tensors,
    )
    assert made.shape.as_list() == [3, 5]
    assert variables[price] == [] and variables[colour] == tf.get_collection("mine")
    assert tensors[price].shape.as_list() == [3, 1] and tensors[colour].shape[1] == 4
    again = fc.input_layer(features, [price, colour])  # variables of its own
    assert [variable.op.name for variable in tf.global_variables()] == [
        "input_layer/colour_embedding/embedding_weights",
        "input_layer_1/colour_embedding/embedding_weights",
    ]
    assert again.shape.as_list() == [3, 5]


def test_an_input_layer_can_be_used_again_in_its_scope():
    column = fc.embedding_column(listed(), 2)
    for _ in range(2):
        with tf.variable_scope("tower", reuse=tf.AUTO_REUSE):
            fc.input_layer({"colour": words()}, [column])
    assert len(tf.global_variables()) == 1


def test_a_linear_model_adds_up_weights(session):
    price, colour = fc.numeric_column("price"), listed()
    found = {}
    made = fc.linear_model(
        {"price": NUMBERS["price"], "colour": words()}, [price, colour], 2, cols_to_vars=found
    )
    assert made.shape.as_list() == [3, 2]
    names = {key: [v.op.name for v in variables] for key, variables in found.items()}
    assert names == {
        price: ["linear_model/price/weights"],
        colour: ["linear_model/colour/weights"],
        "bias": ["linear_model/bias_weights"],
    }
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    assert not session.run(made).any()
    session.run(
        [
            tf.assign(found[price][0], [[1.0, 10.0]]),
            tf.assign(found[colour][0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
            tf.assign(found["bias"][0], [100.0, 200.0]),
        ]
    )
    expected = [
        [1 + 1 + 5 + 100, 10 + 2 + 6 + 200],
        [5 + 100, 50 + 200],
        [9 + 3 + 100, 90 + 4 + 200],
    ]
    assert session.run(made).tolist() == expected


@pytest.mark.parametrize("combiner, expected", [("mean", 3), ("sqrtn", 6 / 2**0.5)])
def test_a_linear_model_combines_categories_of_one_column(session, combiner, expected):
    made = fc.linear_model({"colour": words()}, [listed()], sparse_combiner=combiner)
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    session.run(tf.assign(tf.global_variables()[0], [[1.0], [3.0], [5.0]]))
    np.testing.assert_allclose(session.run(made), [[expected], [0], [3]], rtol=1e-6)


def test_a_linear_model_is_trained(session):
    features = {"price": NUMBERS["price"], "colour": words()}
    made = fc.linear_model(features, [fc.numeric_column("price"), listed()])
    loss = tf.losses.mean_squared_error([[3.0], [1.0], [-2.0]], made)
    train = tf.train.AdamOptimizer(0.3).minimize(loss)
    session.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for _ in range(300):
        session.run(train)
    assert session.run(loss) < 1e-3


def test_a_second_model_beside_the_first_has_names_as_tensorflow_gives_them():
    for _ in range(2):
        fc.linear_model(NUMBERS, [fc.numeric_column("price")])
    assert [variable.op.name for variable in tf.global_variables()] == [
        "linear_model/price/weights",
        "linear_model/bias_weights",
        "linear_model_1/price_1/weights",
        "linear_model_1/bias_weights",
    ]


def test_a_name_that_no_scope_can_have_is_spelt_otherwise():
    fc.linear_model({"net price": [[1.0]]}, [fc.numeric_column("net price")])
    assert tf.global_variables()[0].op.name == "linear_model/net_price/weights"


# ---- Parsing -------------------------------------------------------------------------------------


def test_columns_say_how_their_features_are_parsed(run, tmp_path):
    price = fc.numeric_column("price", default_value=7)
    columns = [
        fc.bucketized_column(price, [3.0]),
        fc.indicator_column(fc.weighted_categorical_column(listed(), "strength")),
        fc.embedding_column(fc.categorical_column_with_identity("id", 9), 2),
        price,
    ]
    spec = fc.make_parse_example_spec(columns)
    assert spec == {
        "price": tf.FixedLenFeature((1,), tf.float32, (7.0,)),
        "colour": tf.VarLenFeature(tf.string),
        "strength": tf.VarLenFeature(tf.float32),
        "id": tf.VarLenFeature(tf.int64),
    }
    example = tf.train.Example()
    example.features.feature["colour"].bytes_list.value.extend([b"green", b"green"])
    example.features.feature["strength"].float_list.value.extend([1.0, 0.5])
    parsed = tf.parse_example([example.SerializeToString()], spec)
    found = run(fc.input_layer(parsed, columns))
    assert found.tolist() == [[0, 1.5, 0, 0, 0, 7, 0, 1]]
    with pytest.raises(ValueError, match="different parse_spec for key price"):
        fc.make_parse_example_spec([price, fc.numeric_column("price", 2)])
    with pytest.raises(ValueError, match="must be feature columns"):
        fc.make_parse_example_spec(["price"])


# ---- Values --------------------------------------------------------------------------------------


def test_columns_are_values():
    keys = dict.fromkeys(WORDS).keys()
    assert fc.categorical_column_with_vocabulary_list("colour", keys) == listed()
    assert fc.categorical_column_with_vocabulary_list("colour", np.array(WORDS)) == listed()
    assert fc.numeric_column("a", [2], 1) == fc.numeric_column("a", (2,), [1.0, 1.0])
    assert fc.numeric_column("a") != fc.numeric_column("a", 2)
    assert fc.categorical_column_with_hash_bucket("a", 1e3).num_buckets == 1000  # as a float
    assert len({listed(), listed(), fc.indicator_column(listed())}) == 2
