"""Ragged tensors beside each other, the same text for TensorFlow and for Millrace.

`python3 ragged_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program what its calls give,
with what is known of shapes, or the name of the error. Run by test_ragged_beside_tensorflow.py.
"""

import numpy as np

from programs import print_results

ROWS = [[3, 1, 4], [], [1, 5, 9, 2], [6]]
DEEP = [[[1, 2], []], [], [[3], [4, 5, 6], [7]], [[]]]
WORDS = [["a", "bb"], [], ["ccc", "", "d"]]


def plain(value):
    """Lists, with texts as they are."""
    if hasattr(value, "row_splits"):
        return (
            ["ragged", _rounded(value.to_list())]
            if not _has_bytes(value)
            else _texts(value.to_list())
        )
    if hasattr(value, "dense_shape"):
        return ["sparse", *(plain(part) for part in value)]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    array = np.asarray(value)
    if array.dtype.kind in "SO":
        return _texts(array.tolist())
    return _rounded(array.tolist())


def _rounded(value):
    """Numbers with five digits, as the last of them differ."""
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _has_bytes(value):
    return value.flat_values.dtype.kind in "SO"


def _texts(value):
    if isinstance(value, list):
        return [_texts(each) for each in value]
    return value.decode() if isinstance(value, bytes) else value


def results_of(session, calls):
    """{name: [value as text, dtype, what is known of the shape]}, or the name of the error."""
    results = {}
    for name, call in calls.items():
        try:
            made = call()
            value = session.run(made)
        except Exception as error:  # noqa: BLE001: the error is the result
            # Whether it is seen while the graph is built depends on what is known of it.
            kind = type(error).__name__
            is_refusal = kind in ("ValueError", "TypeError", "InvalidArgumentError")
            results[name] = "refused" if is_refusal else kind
            continue
        dtype = made.dtype.name if hasattr(made, "dtype") else ""
        shape = getattr(made, "shape", None)
        shape = None if shape is None or shape.ndims is None else shape.ndims
        results[name] = [repr(plain(value)), dtype, shape]
    return results


def conversions(tf, session):
    R = tf.RaggedTensor
    rows, deep = tf.ragged.constant(ROWS), tf.ragged.constant(DEEP)
    dense = tf.constant([[1, 2, 0], [0, 0, 0], [3, 0, 5]])
    cube = tf.constant(np.arange(24).reshape(2, 3, 4))
    sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [4, 3])
    gaps = tf.SparseTensor([[0, 0], [0, 2]], [1, 2], [4, 3])
    five = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])
    calls = {
        "splits": lambda: R.from_row_splits(five, [0, 2, 2, 5]),
        "splits int32": lambda: R.from_row_splits(five, tf.constant([0, 2, 2, 5])),
        "splits begin": lambda: R.from_row_splits(five, [1, 2, 2, 5]),
        "splits end": lambda: R.from_row_splits(five, [0, 2, 2, 6]),
        "splits fall": lambda: R.from_row_splits(five, [0, 3, 2, 5]),
        "no splits": lambda: R.from_row_splits(five, tf.zeros([0], tf.int64)),
        "float splits": lambda: R.from_row_splits(five, [0.0, 5.0]),
        "matrix of splits": lambda: R.from_row_splits(five, [[0, 5]]),
        "scalar values": lambda: R.from_row_splits(five[0], [0, 1]),
        "lengths": lambda: R.from_row_lengths(five, [3, 0, 2]),
        "negative length": lambda: R.from_row_lengths(five, [3, -1, 3]),
        "starts": lambda: R.from_row_starts(five, [0, 3, 3]),
        "starts late": lambda: R.from_row_starts(five, [1, 3, 3]),
        "limits": lambda: R.from_row_limits(five, [3, 3, 5]),
        "limits early": lambda: R.from_row_limits(five, [3, 3, 4]),
        "rowids": lambda: R.from_value_rowids(five, [0, 0, 2, 2, 3]),
        "rowids nrows": lambda: R.from_value_rowids(five, [0, 0, 2, 2, 3], 6),
        "rowids few rows": lambda: R.from_value_rowids(five, [0, 0, 2, 2, 3], 3),
        "rowids fall": lambda: R.from_value_rowids(five, [0, 2, 1, 2, 3]),
        "rowids nothing": lambda: R.from_value_rowids(five[:0], tf.zeros([0], tf.int64)),
        "negative nrows": lambda: R.from_value_rowids(five, [0, 0, 2, 2, 3], -1),
        "nested": lambda: R.from_nested_row_splits(five, [[0, 1, 2], [0, 3, 5]]),
        "nested lengths": lambda: R.from_nested_row_lengths(five, [[1, 1], [3, 2]]),
        "nested rowids": lambda: R.from_nested_value_rowids(
            five, [[0, 1], [0, 0, 0, 1, 1]], [3, 2]
        ),
        "dense": lambda: rows.to_tensor(),
        "dense default": lambda: rows.to_tensor(-1),
        "dense deep": lambda: deep.to_tensor(9),
        "dense wrong": lambda: rows.to_tensor(0.5),
        "sparse": lambda: rows.to_sparse(),
        "sparse deep": lambda: deep.to_sparse(),
        "from dense": lambda: R.from_tensor(dense),
        "from dense lengths": lambda: R.from_tensor(dense, lengths=[1, 0, 3]),
        "from dense long": lambda: R.from_tensor(dense, lengths=[1, 0, 7]),
        "from dense padding": lambda: R.from_tensor(dense, padding=0),
        "from dense both": lambda: R.from_tensor(dense, lengths=[1, 0, 3], padding=0),
        "from cube": lambda: R.from_tensor(cube, ragged_rank=2),
        "from cube lengths": lambda: R.from_tensor(cube, lengths=[1, 3]),
        "from cube nested": lambda: R.from_tensor(
            cube, lengths=[tf.constant([1, 3]), tf.constant([3, 0, 4, 1])]
        ),
        "from cube padding": lambda: R.from_tensor(cube, padding=[20, 21, 22, 23]),
        "from vector": lambda: R.from_tensor([1, 2]),
        "from rank 0": lambda: R.from_tensor(dense, ragged_rank=0),
        "from sparse": lambda: R.from_sparse(sparse),
        "from gaps": lambda: R.from_sparse(gaps),
        "from no sparse": lambda: R.from_sparse(dense),
        "nrows": lambda: rows.nrows(),
        "nrows int32": lambda: rows.nrows(tf.int32),
        "row starts": lambda: rows.row_starts(),
        "row limits": lambda: rows.row_limits(),
        "row lengths": lambda: rows.row_lengths(),
        "row lengths 2": lambda: deep.row_lengths(2),
        "rowids of": lambda: rows.value_rowids(),
        "bounds": lambda: deep.bounding_shape(),
        "bounds axis": lambda: deep.bounding_shape(axis=1),
        "bounds axes": lambda: deep.bounding_shape(axis=[2, 0], out_type=tf.int32),
        "other values": lambda: rows.with_values(tf.range(8)),
        "other flat": lambda: deep.with_flat_values(tf.range(7)),
        "int32": lambda: deep.with_row_splits_dtype(tf.int32).row_splits,
    }
    return results_of(session, calls)


def making(tf, session):
    c = tf.ragged.constant
    calls = {
        "empty": lambda: c([]),
        "empty rows": lambda: c([[], []]),
        "floats": lambda: c([[1.5], []]),
        "texts": lambda: c(WORDS),
        "typed": lambda: c(ROWS, tf.float64),
        "int32 splits": lambda: c(ROWS, row_splits_dtype=tf.int32).row_splits,
        "rank": lambda: c([[[1, 2], [3, 4]], [], [[5, 6]]], ragged_rank=1),
        "inner": lambda: c([[[1, 2], [3, 4]], [], [[5, 6]]], inner_shape=(2,)),
        "inner empty": lambda: c([[], []], tf.int32, inner_shape=(2,), ragged_rank=1),
        "inner wrong": lambda: c([[[1, 2], [3, 4]], [], [[5, 6]]], inner_shape=(3,)),
        "depths": lambda: c([[1], 2]),
        "deep empty": lambda: c([[1], [[]]]),
        "scalar": lambda: c(5),
        "vector": lambda: c([1, 2]),
        "rank 0": lambda: c([[1, 2], [3, 4]], ragged_rank=0),
        "rank too much": lambda: c([[1, 2], [3, 4]], ragged_rank=3),
        "mixed": lambda: c([["a"], [1]]),
        "range": lambda: tf.ragged.range([3, 0, 2]),
        "range to": lambda: tf.ragged.range([0, 5, 8], [3, 3, 12]),
        "range back": lambda: tf.ragged.range([0, 5], [3, 0], [1, -2]),
        "range floats": lambda: tf.ragged.range([0.5, 2.0], 3.0, 0.5),
        "range scalars": lambda: tf.ragged.range(1, 4),
        "range nothing": lambda: tf.ragged.range(0, 4, 0),
        "segment ids": lambda: tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5, 6, 9]),
        "splits": lambda: tf.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2, 3, 4, 4, 4]),
        "splits more": lambda: tf.ragged.segment_ids_to_row_splits([0, 2], num_segments=5),
        "partitions": lambda: tf.ragged.stack_dynamic_partitions(["a", "b", "c"], [1, 0, 1], 3),
    }
    return results_of(session, calls)


def indices(tf, session):
    rows, deep = tf.ragged.constant(ROWS), tf.ragged.constant(DEEP)
    inner = tf.ragged.constant([[[1, 2], [3, 4]], [], [[5, 6]]], ragged_rank=1)
    keys = {
        "0": 0,
        "-1": -1,
        "4": 4,
        "1:": slice(1, None),
        ":-1": slice(None, -1),
        "::2": slice(None, None, 2),
        "::-1": slice(None, None, -1),
        "5:": slice(5, None),
        "2:1": slice(2, 1),
        "2,1": (2, 1),
        "2,-1": (2, -1),
        ":,0": (slice(None), 0),
        ":,1:": (slice(None), slice(1, None)),
        ":,:-1": (slice(None), slice(None, -1)),
        ":,:1": (slice(None), slice(None, 1)),
        ":,-2:": (slice(None), slice(-2, None)),
        ":,::2": (slice(None), slice(None, None, 2)),
        ":,::-1": (slice(None), slice(None, None, -1)),
        ":,2:0:-1": (slice(None), slice(2, 0, -1)),
        "1:,1:": (slice(1, None), slice(1, None)),
        "...": Ellipsis,
        "...,:1": (Ellipsis, slice(None, 1)),
        "new": None,
        ":,new": (slice(None), None),
        "0,new": (0, None),
        ":,:,new": (slice(None), slice(None), None),
        "2,1:,:1": (2, slice(1, None), slice(None, 1)),
        ":,:,0": (slice(None), slice(None), 0),
        ":,:,::-1": (slice(None), slice(None), slice(None, None, -1)),
        "2,0,0": (2, 0, 0),
        ":,1:,1": (slice(None), slice(1, None), 1),
        "a str": "x",
    }
    calls = {}
    for which, tensor in (("rows", rows), ("deep", deep), ("inner", inner)):
        for name, key in keys.items():
            calls[f"{which}[{name}]"] = lambda tensor=tensor, key=key: tensor[key]
    return results_of(session, calls)


def elements(tf, session):
    rows = tf.ragged.constant(ROWS)
    floats = tf.ragged.constant([[0.5, -1.0], [], [2.0]])
    deep = tf.ragged.constant(DEEP)
    inner = tf.ragged.constant([[[1, 2], [3, 4]], [], [[5, 6]]], ragged_rank=1)
    column = tf.constant([[10], [20], [30], [40]])
    words = tf.ragged.constant(WORDS)
    calls = {
        "+": lambda: rows + rows,
        "+ 1": lambda: rows + 1,
        "1 -": lambda: 1 - rows,
        "* column": lambda: rows * column,
        "column *": lambda: column * rows,
        "* list": lambda: rows * [[1], [2], [3], [4]],
        "* wrong": lambda: rows * [[1], [2]],
        "* row": lambda: inner * [10, 100],
        "* cell": lambda: inner * [[[10]], [[20]], [[30]]],
        "/": lambda: rows / 2,
        "//": lambda: rows // 2,
        "%": lambda: rows % 2,
        "**": lambda: rows**2,
        "-": lambda: -rows,
        "abs": lambda: abs(-rows),
        "<": lambda: rows < 4,
        ">=": lambda: rows >= column,
        "&": lambda: (rows > 1) & (rows < 5),
        "~": lambda: ~(rows > 1),
        "others": lambda: rows + tf.ragged.constant([[1], [], [1], [1]]),
        "other ranks": lambda: rows + deep,
        "other types": lambda: rows + floats,
        "add": lambda: tf.add(rows, rows),
        "add tensor": lambda: tf.add(column, rows),
        "add_n": lambda: tf.add_n([rows, rows, rows]),
        "cast": lambda: tf.cast(rows, tf.float64),
        "to_float": lambda: tf.to_float(rows),
        "exp": lambda: tf.exp(floats),
        "sigmoid": lambda: tf.sigmoid(floats),
        "round": lambda: tf.round(floats),
        "square": lambda: tf.square(deep),
        "maximum": lambda: tf.maximum(rows, 3),
        "divide": lambda: tf.divide(rows, 2),
        "truediv": lambda: tf.truediv(rows, 2),
        "clip": lambda: tf.clip_by_value(rows, 2, 5),
        "equal": lambda: tf.equal(rows, 1),
        "zeros": lambda: tf.zeros_like(rows),
        "ones": lambda: tf.ones_like(deep, tf.float32),
        "identity": lambda: tf.identity(rows),
        "as_string": lambda: tf.as_string(rows),
        "length": lambda: tf.strings.length(words),
        "upper": lambda: tf.strings.upper(words),
        "substr": lambda: tf.strings.substr(words, 0, 1),
        "join": lambda: tf.strings.join([words, words], "-"),
        "replace": lambda: tf.strings.regex_replace(words, "b", "x"),
        "map": lambda: tf.ragged.map_flat_values(tf.add, rows, 5),
        "map two": lambda: tf.ragged.map_flat_values(lambda a, b: a - b, rows, rows),
        "map others": lambda: tf.ragged.map_flat_values(tf.add, rows, deep),
        "one_hot": lambda: tf.one_hot(rows, 4),
        "matmul": lambda: tf.linalg.det(floats),
    }
    return results_of(session, calls)


def whole_tensors(tf, session):
    rows, deep = tf.ragged.constant(ROWS), tf.ragged.constant(DEEP)
    truth = tf.ragged.constant([[True, False, True], [], [False] * 4, [True]])
    inner = tf.ragged.constant([[[1, 2], [3, 4]], [], [[5, 6]]], ragged_rank=1)
    calls = {}
    for name in "sum prod min max mean".split():
        reduce = getattr(tf, f"reduce_{name}")
        for axis in (None, 0, 1, -1, [0, 1], 5):
            calls[f"{name} {axis}"] = lambda reduce=reduce, axis=axis: reduce(rows, axis)
        for axis in (0, 1, 2, [1, 2], [0, 2]):
            calls[f"{name} deep {axis}"] = lambda reduce=reduce, axis=axis: reduce(deep, axis)
        calls[f"{name} inner"] = lambda reduce=reduce: reduce(inner, [0, 2])
    more = {
        "any": lambda: tf.reduce_any(truth, 1),
        "all": lambda: tf.reduce_all(truth, 1),
        "any all": lambda: tf.reduce_any(truth),
        "concat": lambda: tf.concat([rows, rows], 0),
        "concat 1": lambda: tf.concat([rows, rows, [[7], [8], [9], [0]]], 1),
        "concat -1": lambda: tf.concat([deep, deep], -1),
        "concat dense": lambda: tf.concat([[[7, 7]], rows], 0),
        "concat ranks": lambda: tf.concat([rows, deep], 0),
        "concat rows": lambda: tf.concat([rows, rows[1:]], 1),
        "concat axis": lambda: tf.concat([rows, rows], 2),
        "concat inner": lambda: tf.concat([inner, inner], 2),
        "concat one": lambda: tf.concat([rows], 0),
        "stack": lambda: tf.stack([rows, rows]),
        "stack 1": lambda: tf.stack([rows, rows], 1),
        "stack -1": lambda: tf.stack([rows, rows], -1),
        "stack vectors": lambda: tf.ragged.stack([[1, 2], [3], [4, 5, 6]]),
        "stack one": lambda: tf.ragged.stack([rows]),
        "gather": lambda: tf.gather(rows, [2, 0, 2]),
        "gather one": lambda: tf.gather(rows, 2),
        "gather matrix": lambda: tf.gather(rows, [[2, 0], [1, 3]]),
        "gather ragged": lambda: tf.gather(rows, tf.ragged.constant([[2], [], [0, 1]])),
        "gather dense": lambda: tf.gather([10, 20, 30], tf.ragged.constant([[2], [], [0, 1]])),
        "gather outside": lambda: tf.gather(rows, [7]),
        "gather batch": lambda: tf.gather(
            rows, tf.ragged.constant([[2], [], [0, 1, 3], [0]]), axis=1, batch_dims=1
        ),
        "gather deep": lambda: tf.gather(deep, [2, 0]),
        "gather_nd": lambda: tf.gather_nd(rows, [[2, 1], [0, 2]]),
        "gather_nd rows": lambda: tf.gather_nd(deep, [[2, 1], [0, 1]]),
        "gather_nd row": lambda: tf.gather_nd(rows, [[2], [0]]),
        "tile": lambda: tf.tile(rows, [2, 1]),
        "tile 1": lambda: tf.tile(rows, [1, 2]),
        "tile deep": lambda: tf.tile(deep, [1, 2, 2]),
        "tile none": lambda: tf.tile(rows, [1, 0]),
        "expand 0": lambda: tf.expand_dims(rows, 0),
        "expand 1": lambda: tf.expand_dims(rows, 1),
        "expand 2": lambda: tf.expand_dims(rows, 2),
        "expand -1": lambda: tf.expand_dims(deep, -1),
        "expand 5": lambda: tf.expand_dims(rows, 5),
        "squeeze 0": lambda: tf.squeeze(rows[:1], 0),
        "squeeze 1": lambda: tf.squeeze(tf.expand_dims(rows, 1), 1),
        "squeeze 2": lambda: tf.squeeze(tf.expand_dims(deep, 2), [2]),
        "squeeze -1": lambda: tf.squeeze(tf.expand_dims(rows, 2), [-1]),
        "squeeze wide": lambda: tf.squeeze(rows, 0),
        "squeeze all": lambda: tf.squeeze(rows),
        "segments": lambda: tf.unsorted_segment_sum(rows, [1, 0, 1, 0], 2),
        "segments max": lambda: tf.unsorted_segment_max(deep, [1, 0, 1, 2], 3),
        "segments ragged": lambda: tf.unsorted_segment_sum(
            rows, tf.ragged.constant([[0, 1, 0], [], [1, 1, 1, 0], [2]]), 4
        ),
        "size": lambda: tf.size(deep),
        "rank": lambda: tf.rank(deep),
        "where": lambda: tf.where(rows > 2),
        "where deep": lambda: tf.where(deep > 2),
        "where xy": lambda: tf.where(rows > 2, rows, -rows),
        "where rows": lambda: tf.where([True, False, True, False], rows, rows * 10),
        "where x": lambda: tf.where(rows > 2, rows),
        "mask": lambda: tf.ragged.boolean_mask(rows, rows > 2),
        "mask rows": lambda: tf.ragged.boolean_mask(rows, [True, False, True, False]),
        "mask dense": lambda: tf.ragged.boolean_mask(
            [[1, 2], [3, 4]], [[True, False], [True, True]]
        ),
        "mask deep": lambda: tf.ragged.boolean_mask(deep, deep > 2),
        "mask deep rows": lambda: tf.ragged.boolean_mask(
            deep, tf.ragged.constant([[True, False], [], [False, True, True], [True]])
        ),
        "mask few": lambda: tf.ragged.boolean_mask(rows, [True, False]),
        "split": lambda: tf.strings.split(["a b", "", "c  d e"], result_type="RaggedTensor"),
        "split sep": lambda: tf.strings.split(["a,b,,c", ""], ",", result_type="RaggedTensor"),
        "split once": lambda: tf.strings.split(["a b c"], maxsplit=1, result_type="RaggedTensor"),
        "split matrix": lambda: tf.strings.split([["a b"], ["c"]], result_type="RaggedTensor"),
        "split sparse": lambda: tf.strings.split(["a b", "", "c  d e"]),
        "split words": lambda: tf.strings.split(
            tf.ragged.constant([["a b"], [], ["c", ""]]), result_type="RaggedTensor"
        ),
        "bytes": lambda: tf.strings.bytes_split(["ab", "", "c"]),
        "bytes one": lambda: tf.strings.bytes_split("abc"),
        "ngrams": lambda: tf.strings.ngrams(tf.ragged.constant(WORDS), 2),
        "ngrams vector": lambda: tf.strings.ngrams(["a", "b", "c"], [1, 2], "|"),
        "ngrams matrix": lambda: tf.strings.ngrams([["a", "b"], ["c", "d"]], 2),
        "ngrams padded": lambda: tf.strings.ngrams(
            tf.ragged.constant(WORDS), 3, pad_values=("<", ">")
        ),
        "ngrams narrow": lambda: tf.strings.ngrams(
            tf.ragged.constant(WORDS), 3, pad_values="_", padding_width=1
        ),
        "ngrams short": lambda: tf.strings.ngrams(
            tf.ragged.constant(WORDS), 3, preserve_short_sequences=True
        ),
        "ngrams wrong": lambda: tf.strings.ngrams(["a"], 0),
        **_texts_of_characters(tf),
    }
    calls.update(more)
    return results_of(session, calls)


def _texts_of_characters(tf):
    S = tf.strings
    words = tf.ragged.constant([["a\u20ac", ""], [], ["\U0001f60ab"]])
    pairs = tf.RaggedTensor.from_row_splits(tf.constant([["a", "bc"], ["", "d"]]), [0, 0, 2])
    points = tf.ragged.constant([[[97, 8364], []], [], [[128522]]], dtype=tf.int32)
    inner = tf.RaggedTensor.from_row_splits(tf.constant([[97, 98], [99, 100]]), [0, 1, 2])
    two = S.unicode_decode_with_offsets
    return {
        "decode": lambda: S.unicode_decode(["a\u20ac", "", "b"], "UTF-8"),
        "decode one": lambda: S.unicode_decode("a\u20ac", "UTF-8"),
        "decode matrix": lambda: S.unicode_decode([["a", "bc"], ["", "d"]], "UTF-8"),
        "decode cube": lambda: S.unicode_decode([[["a"], ["bc"]], [[""], ["d"]]], "UTF-8"),
        "decode ragged": lambda: S.unicode_decode(words, "UTF-8"),
        "decode pairs": lambda: S.unicode_decode(pairs, "UTF-8"),
        "decode nothing": lambda: S.unicode_decode(tf.constant([], tf.string), "UTF-8"),
        "decode numbers": lambda: S.unicode_decode([1, 2], "UTF-8"),
        "decode any": lambda: S.unicode_decode(tf.compat.v1.placeholder(tf.string), "UTF-8"),
        "offsets": lambda: two(words, "UTF-8")[1],
        "offsets one": lambda: two("\u20acb", "UTF-8")[1],
        "characters": lambda: S.unicode_split(words, "UTF-8"),
        "characters one": lambda: S.unicode_split("a\u20ac", "UTF-8"),
        "characters matrix": lambda: S.unicode_split([["a", "bc"], ["", "d"]], "UTF-8"),
        "characters offsets": lambda: S.unicode_split_with_offsets(words, "UTF-8")[1],
        "characters of latin": lambda: S.unicode_split("a", "ISO-8859-1"),
        "characters broken": lambda: S.unicode_split([b"a\xff"], "UTF-8", replacement_char=63),
        "encode": lambda: S.unicode_encode([97, 8364], "UTF-8"),
        "encode matrix": lambda: S.unicode_encode([[97, 8364], [98, 99]], "UTF-8"),
        "encode cube": lambda: S.unicode_encode([[[97], [98]], [[99], [100]]], "UTF-8"),
        "encode ragged": lambda: S.unicode_encode(points, "UTF-8"),
        "encode inner": lambda: S.unicode_encode(inner, "UTF-8"),
        "encode strict": lambda: S.unicode_encode([-1], "UTF-8", errors="strict"),
        "encode elsewhere": lambda: S.unicode_encode([97], "latin"),
        "encode scalar": lambda: S.unicode_encode(97, "UTF-8"),
        "transcode": lambda: S.unicode_transcode(words, "UTF-8", "UTF-8"),
        "scripts": lambda: S.unicode_script(points),
        "letters": lambda: S.upper(words, encoding="utf-8"),
    }


def gradients(tf, session):
    """Through rows, products, sums of rows, gathers and dense tensors."""
    flat = tf.constant([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    rows = tf.RaggedTensor.from_row_splits(flat, [0, 2, 2, 6])
    column = tf.constant([[1.0], [2.0], [3.0]])
    made = {
        "sums": tf.reduce_sum(tf.square(rows), 1),
        "columns": tf.reduce_max(rows * 2.0, 0),
        "means": tf.reduce_mean(rows * rows, 1)[::2],
        "dense": tf.square(rows.to_tensor(1.0)),
        "weighed": (rows * column).flat_values ** 2,
        "gathered": tf.gather(rows, [2, 0, 2]).flat_values ** 2,
        "joined": tf.concat([rows, rows * 3.0], 1).flat_values ** 2,
        "cut": rows[:, :1].flat_values ** 2,
        "repeated": tf.tile(rows, [1, 2]).flat_values ** 2,
        "tensor": tf.RaggedTensor.from_tensor(tf.reshape(flat, [2, 3]), lengths=[2, 1]).flat_values
        ** 2,
    }
    results = {}
    for name, value in made.items():
        found = tf.gradients(value, [flat, column])
        results[name] = [
            None if each is None else session.run(tf.convert_to_tensor(each)).tolist()
            for each in found
        ]
    return results


PROGRAMS = [conversions, making, indices, elements, whole_tensors, gradients]

if __name__ == "__main__":
    print_results(PROGRAMS)
