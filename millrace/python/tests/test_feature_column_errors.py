"""tf.feature_column: what is refused, and how it says so."""

import pytest

import millrace as tf

fc = tf.feature_column


def listed(**arguments):
    return fc.categorical_column_with_vocabulary_list(
        "colour", ["red", "green", "blue"], **arguments
    )


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: fc.numeric_column(3), ValueError, "key must be a string"),
        (lambda: fc.numeric_column("a", 0), ValueError, "greater than 0"),
        (lambda: fc.numeric_column("a", 1.5), TypeError, "must be integer"),
        (lambda: fc.numeric_column("a", dtype=tf.string), ValueError, "convertible to float"),
        (lambda: fc.numeric_column("a", default_value="b"), TypeError, "compatible with dtype"),
        (
            lambda: fc.numeric_column("a", dtype=tf.int32, default_value=1.5),
            TypeError,
            "compatible with dtype",
        ),
        (lambda: fc.numeric_column("a", 2, [1.0]), ValueError, "equal to given shape"),
        (lambda: fc.numeric_column("a", normalizer_fn=3), TypeError, "must be a callable"),
        (lambda: fc.bucketized_column("a", [1]), ValueError, "generated with numeric_column"),
        (
            lambda: fc.bucketized_column(fc.numeric_column("a", [2, 2]), [1]),
            ValueError,
            "one-dimensional",
        ),
        (lambda: fc.bucketized_column(fc.numeric_column("a"), []), ValueError, "not empty"),
        (lambda: fc.bucketized_column(fc.numeric_column("a"), [2, 1]), ValueError, "sorted list"),
        (lambda: fc.categorical_column_with_identity("a", 0), ValueError, "num_buckets 0 < 1"),
        (lambda: fc.categorical_column_with_identity("a", 2, 2), ValueError, "not in range"),
        (lambda: fc.categorical_column_with_hash_bucket("a", 0), ValueError, "at least 1"),
        (
            lambda: fc.categorical_column_with_hash_bucket("a", 2, tf.float32),
            ValueError,
            "must be string or integer",
        ),
        (lambda: fc.categorical_column_with_vocabulary_list("a", []), ValueError, "non-empty"),
        (
            lambda: fc.categorical_column_with_vocabulary_list("a", ["b", "b"]),
            ValueError,
            "Duplicate keys",
        ),
        (
            lambda: fc.categorical_column_with_vocabulary_list("a", ["b"], tf.int64),
            ValueError,
            "do not match",
        ),
        (lambda: listed(default_value=1, num_oov_buckets=1), ValueError, "Can't specify both"),
        (lambda: listed(num_oov_buckets=-1), ValueError, "Invalid num_oov_buckets"),
        (
            lambda: fc.categorical_column_with_vocabulary_file("a", "/no/such/file"),
            ValueError,
            "can't be read to count its lines: /no/such/file",
        ),
        (
            lambda: fc.categorical_column_with_vocabulary_file("a", ""),
            ValueError,
            "Missing vocabulary_file",
        ),
        (
            lambda: fc.categorical_column_with_vocabulary_file("a", "f", 0),
            ValueError,
            "Invalid vocabulary_size 0",
        ),
        (
            lambda: fc.weighted_categorical_column(listed(), "w", tf.string),
            ValueError,
            "not convertible to float",
        ),
        (lambda: fc.embedding_column(listed(), 0), ValueError, "Invalid dimension 0"),
        (lambda: fc.embedding_column(listed(), 2, "max"), ValueError, "combiner must be one of"),
        (lambda: fc.embedding_column(listed(), 2, initializer=3), ValueError, "callable"),
        (
            lambda: fc.embedding_column(listed(), 2, ckpt_to_load_from="x"),
            ValueError,
            "Must specify both",
        ),
        (
            lambda: fc.shared_embedding_columns(
                [listed(), fc.categorical_column_with_identity("a", 3)], 2
            ),
            ValueError,
            "same type",
        ),
        (
            lambda: fc.shared_embedding_columns(
                [
                    fc.categorical_column_with_identity("a", 2),
                    fc.categorical_column_with_identity("b", 3),
                ],
                2,
            ),
            ValueError,
            "same number of buckets",
        ),
        (lambda: fc.crossed_column(["a", "b"], 1.5), ValueError, "a whole number is needed"),
        (lambda: fc.crossed_column(["a"], 10), ValueError, "length > 1"),
        (lambda: fc.crossed_column(["a", "b"], 0), ValueError, "hash_bucket_size must be"),
        (
            lambda: fc.crossed_column(["a", fc.numeric_column("b")], 10),
            ValueError,
            "Unsupported key type",
        ),
        (
            lambda: fc.crossed_column(["a", fc.categorical_column_with_hash_bucket("b", 9)], 10),
            ValueError,
            "use the feature name as a string",
        ),
    ],
)
def test_what_makes_no_column_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "features, columns, message",
    [
        ({}, [fc.numeric_column("a")], "Feature a is not in features dictionary"),
        ({"a": 1.0}, [fc.numeric_column("a")], "cannot have rank 0"),
        ({"a": [[1.0]]}, [], "must not be empty"),
        ({"a": [[1.0]]}, {"a": fc.numeric_column("a")}, "found dict"),
        ({"a": [[1.0]]}, ["a"], "must be feature columns"),
        ({"a": [[1.0]]}, [fc.numeric_column("a")] * 2, "Duplicate feature column name"),
        (
            {"a": [[1]]},
            [fc.categorical_column_with_identity("a", 2)],
            "embedding_column or indicator",
        ),
        (
            {"a": [[1.0]], "b": [[1.0], [2.0]]},
            [fc.numeric_column("a"), fc.numeric_column("b")],
            r"Batch size of columns \(a, b\): \(1, 2\)",
        ),
        ({"colour": [[1.0]]}, [fc.indicator_column(listed())], "strings or integers, not float32"),
        ({"colour": [[1]]}, [fc.indicator_column(listed())], "must be compatible"),
        (
            {"a": [["b"]]},
            [fc.indicator_column(fc.categorical_column_with_identity("a", 2))],
            "not integer",
        ),
        (
            {"a": [["b"]]},
            [fc.indicator_column(fc.sequence_categorical_column_with_hash_bucket("a", 2))],
            "must not be of type SequenceCategoricalColumn",
        ),
    ],
)
def test_what_is_no_input_is_refused(features, columns, message):
    with pytest.raises(ValueError, match=message):
        fc.input_layer(features, columns)


def test_numbers_must_not_be_sparse():
    with pytest.raises(ValueError, match="SparseTensor is not supported. key: a"):
        fc.input_layer({"a": tf.SparseTensor([[0, 0]], [1.0], [1, 1])}, [fc.numeric_column("a")])
