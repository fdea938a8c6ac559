"""Strings as programs use them; values of the ops are tested beside the C++."""

import millrace as tf


def test_pieces_are_a_sparse_tensor(session):
    cut = session.run(tf.string_split(["a b", "c"]))
    assert isinstance(cut, tf.SparseTensorValue)
    assert cut.values.tolist() == [b"a", b"b", b"c"]
    assert cut.dense_shape.tolist() == [2, 2]


def test_all_axes_are_joined_in_order(session):
    words = tf.constant([["a", "b"], ["c", "d"]])
    assert session.run(tf.reduce_join(words, separator=".")) == b"a.b.c.d"
    assert session.run(tf.reduce_join(words, 0)).tolist() == [b"ac", b"bd"]


def test_patterns_are_strings_or_tensors(session):
    words = tf.constant(["aab", "xyz"])
    for pattern in ("a(.)", tf.constant("a(.)")):
        replaced = tf.regex_replace(words, pattern, r"<\1>")
        assert session.run(replaced).tolist() == [b"<a>b", b"xyz"]
        matched = tf.strings.regex_full_match(words, pattern)
        assert session.run(matched).tolist() == [False, False]


def test_values_are_put_into_texts(session):
    text = tf.strings.format("x is {}, y is {}", [tf.constant([1, 2]), tf.constant("b")])
    assert session.run(text) == b'x is [1 2], y is "b"'


def test_strings_fall_into_buckets(session):
    words = tf.constant(["a", "Hello, TensorFlow"])
    many = 2**40
    fast = tf.strings.to_hash_bucket_fast(words, many)
    assert session.run(fast).tolist() == [436859794915, 813287722898]
    strong = tf.strings.to_hash_bucket_strong(words, many, [123, 456])
    assert session.run(strong).tolist() == [1017933744300, 39316341877]
    assert session.run(tf.strings.to_hash_bucket(words, many)).tolist()[0] == 825286642172


def test_words_that_a_table_lacks_get_a_bucket(session):
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=3)
    session.run(tf.tables_initializer())
    found = session.run(table.lookup(tf.constant(["b", "x", "x"])))
    assert found[0] == 1 and found[1] == found[2] and 2 <= found[1] < 5
    assert session.run(table.size()) == 5


def test_parts_and_forms(session):
    assert session.run(tf.substr("hello", -3, 2)) == b"ll"
    assert session.run(tf.strings.lower("AbC")) == b"abc"
    assert session.run(tf.decode_base64(tf.encode_base64("ab?>"))) == b"ab?>"
