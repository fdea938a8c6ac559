"""Strings as programs use them; values of the ops are tested beside the C++."""

import pytest

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


TEXTS = ["a\u20ac", "", "\U0001f60ab"]


def test_texts_are_rows_of_code_points_and_of_characters(session):
    points, offsets = session.run(tf.strings.unicode_decode_with_offsets(TEXTS, "UTF-8"))
    assert points.to_list() == [[97, 0x20AC], [], [0x1F60A, 98]]
    assert offsets.to_list() == [[0, 1], [], [0, 4]]
    characters, offsets = session.run(tf.strings.unicode_split_with_offsets([TEXTS], "UTF-8"))
    assert characters.to_list() == [[[b"a", b"\xe2\x82\xac"], [], [b"\xf0\x9f\x98\x8a", b"b"]]]
    assert offsets.to_list() == [[[0, 1], [], [0, 4]]]
    narrow = tf.ragged.constant([TEXTS]).with_row_splits_dtype(tf.int32)
    points = tf.strings.unicode_decode(narrow, "UTF-8")
    assert points.row_splits.dtype == points.values.row_splits.dtype == tf.int32
    assert session.run(points).to_list() == [[[97, 0x20AC], [], [0x1F60A, 98]]]
    one = tf.strings.unicode_split("\u00e4b", "UTF-8")
    assert one.shape.ndims == 1 and session.run(one).tolist() == [b"\xc3\xa4", b"b"]


def test_code_points_of_any_rank_are_texts_again(session):
    encode = tf.strings.unicode_encode
    deep = tf.ragged.constant([[[97, 0x20AC], []], [[0x1F60A]]], dtype=tf.int32)
    assert session.run(encode(deep, "UTF-8")).to_list() == [
        [b"a\xe2\x82\xac", b""],
        [b"\xf0\x9f\x98\x8a"],
    ]
    cube = tf.placeholder(tf.int32, [None, 2, None])
    fed = {cube: [[[97, 98], [99, 100]]]}
    assert session.run(encode(cube, "UTF-16-BE"), fed).tolist() == [[b"\0a\0b", b"\0c\0d"]]
    assert session.run(encode([97, -1], "UTF-8", errors="ignore")) == b"a"
    assert session.run(encode(tf.zeros([2, 0], tf.int32), "UTF-8")).tolist() == [b"", b""]
    for broken in (tf.placeholder(tf.int32), 97):
        with pytest.raises(ValueError, match="[Rr]ank"):
            encode(broken, "UTF-8")


def test_what_is_broken_is_an_error_or_replaced_or_left_out(session):
    decode = tf.strings.unicode_decode
    broken = [b"a\xff\x01"]
    assert session.run(decode(broken, "UTF-8", replacement_char=63)).to_list() == [[97, 63, 1]]
    ignored = decode(broken, "UTF-8", errors="ignore", replace_control_characters=True)
    assert session.run(ignored).to_list() == [[97]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid formatting on input string"):
        session.run(decode(broken, "UTF-8", errors="strict").values)
    with pytest.raises(tf.errors.InvalidArgumentError, match="input encoding: none; UTF-8, UTF-16"):
        session.run(decode(broken, "none").values)


def test_texts_change_charset_and_case_and_have_scripts(session):
    transcode = tf.strings.unicode_transcode
    assert session.run(transcode(b"\xe4", "ISO-8859-1", "UTF-8")).decode() == "\u00e4"
    assert session.run(transcode("\u20ac", "UTF-8", "UTF-16-BE")) == b"\x20\xac"
    words = tf.ragged.constant([["stra\u00dfe"], []])
    upper = session.run(tf.strings.upper(words, encoding="utf-8"))
    assert upper.to_list() == [["STRASSE".encode()], []]
    assert session.run(tf.strings.unicode_script([97, 0x0411, 44, -1])).tolist() == [25, 8, 0, -1]
