"""Sparse tensors as programs use them; values of the ops are tested beside the C++."""

import numpy as np
import pytest

import millrace as tf

DENSE = np.array([[0, 1, 0], [2, 0, 3]], np.float32)


@pytest.fixture
def sparse():
    return tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3])


def dense(session, made):
    return session.run(tf.sparse.to_dense(made)).tolist()


def test_order_and_shape_change_and_the_elements_stay(session, sparse):
    turned = tf.SparseTensor([[1, 2], [0, 1], [1, 0]], [3.0, 1.0, 2.0], [2, 3])
    assert dense(session, tf.sparse.reorder(turned)) == DENSE.tolist()
    assert dense(session, tf.sparse.transpose(sparse)) == DENSE.T.tolist()
    assert dense(session, tf.sparse.reshape(sparse, [3, -1])) == DENSE.reshape(3, 2).tolist()
    assert tf.sparse.reshape(sparse, [3, -1]).shape.as_list() == [3, 2]
    for axis in (0, 1, -1, None):
        expected = np.expand_dims(DENSE, -1 if axis is None else axis).tolist()
        assert dense(session, tf.sparse.expand_dims(sparse, axis)) == expected
    with pytest.raises(ValueError, match=r"At most one dimension can be inferred \(-1\)"):
        tf.sparse.reshape(sparse, [-1, -1])
    with pytest.raises(ValueError, match="Cannot reshape a tensor with 6 elements to shape"):
        tf.sparse.reshape(sparse, [5])


def test_the_order_of_axes_may_be_found_when_it_runs(session):
    fed = tf.sparse_placeholder(tf.float32)
    value = tf.SparseTensorValue([[0, 1, 1]], [5.0], [1, 2, 3])
    made = session.run(tf.sparse.transpose(fed), {fed: value})
    assert made.indices.tolist() == [[1, 1, 0]] and made.dense_shape.tolist() == [3, 2, 1]


def test_tensors_are_joined_and_cut(session, sparse):
    joined = tf.sparse_concat(1, [sparse, sparse])
    assert dense(session, joined) == np.concatenate([DENSE, DENSE], 1).tolist()
    assert joined.shape.as_list() == [2, 6]
    taller = tf.sparse.concat(0, [sparse, tf.sparse.eye(1, 4)], expand_nonconcat_dims=True)
    assert dense(session, taller) == [[0, 1, 0, 0], [2, 0, 3, 0], [1, 0, 0, 0]]
    first, second = tf.sparse_split(sp_input=sparse, num_split=2, axis=1)
    assert dense(session, first) == [[0, 1], [2, 0]] and dense(session, second) == [[0], [3]]
    assert dense(session, tf.sparse.slice(sparse, [1, 0], [1, 2])) == [[2, 0]]
    with pytest.raises(ValueError, match="Keyword arguments are required"):
        tf.sparse_split(1, sparse, 2)


def test_a_cast_leaves_elements_in_their_places(session, sparse):
    made = session.run(tf.cast(sparse, tf.int32))
    assert made.values.dtype == np.int32 and made.values.tolist() == [1, 2, 3]
    assert made.indices.tolist() == [[0, 1], [1, 0], [1, 2]] and made.dense_shape.tolist() == [2, 3]
    assert tf.cast(sparse, tf.float32) is sparse
    assert tf.to_double(session.run(sparse)).dtype == tf.float64


def test_elements_are_left_out_and_rows_are_filled(session, sparse):
    kept = tf.sparse_retain(sparse, [False, True, True])
    assert dense(session, kept) == [[0, 0, 0], [2, 0, 3]]
    filled, is_empty = tf.sparse_fill_empty_rows(kept, 7)
    assert session.run(filled).values.tolist() == [7, 2, 3]
    assert session.run(is_empty).tolist() == [True, False]


def test_a_shape_grows_or_becomes_as_small_as_it_can(session, sparse):
    assert session.run(tf.sparse_reset_shape(sparse, [3, 4])).dense_shape.tolist() == [3, 4]
    wide = tf.SparseTensor([[0, 1]], [1.0], [5, 5])
    assert session.run(tf.sparse_reset_shape(wide)).dense_shape.tolist() == [1, 2]
    with pytest.raises(ValueError, match="Requested new_shape should have dimension sizes"):
        tf.sparse_reset_shape(sparse, [2, 2])
    fed = tf.sparse_placeholder(tf.float32)
    grown = tf.sparse_reset_shape(fed, [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(grown, {fed: ([[0, 2]], [1.0], [1, 3])})


def test_sums_and_products_with_dense_and_sparse_ones(session, sparse):
    ones = np.ones((2, 3), np.float32)
    assert session.run(tf.sparse_add(ones, sparse)).tolist() == (DENSE + 1).tolist()
    assert dense(session, tf.sparse_add(sparse, sparse)) == (2 * DENSE).tolist()
    cancelled = tf.sparse_add(sparse, sparse * -1.0, threshold=0.5)
    assert session.run(cancelled).values.tolist() == []
    for product in (sparse * [1.0, 2.0, 3.0], [1.0, 2.0, 3.0] * sparse):
        assert dense(session, product) == (DENSE * [1, 2, 3]).tolist()
    assert dense(session, sparse / 2.0) == (DENSE / 2).tolist()
    whole = tf.SparseTensor([[0, 0]], [3], [1, 1]) / 2
    assert session.run(whole).values.tolist() == [1.5]
    with pytest.raises(TypeError, match="At least one input should be SparseTensor"):
        tf.sparse_add(ones, ones)


def test_the_larger_and_the_smaller(session, sparse):
    other = tf.SparseTensor([[0, 0], [1, 2]], [-1.0, 4.0], [2, 3])
    assert dense(session, tf.sparse_maximum(sparse, other)) == [[0, 1, 0], [2, 0, 4]]
    assert dense(session, tf.sparse_minimum(sparse, other)) == [[-1, 0, 0], [0, 0, 3]]


def test_reductions_see_only_what_is_there(session, sparse):
    assert session.run(tf.sparse_reduce_sum(sparse)) == 6
    assert session.run(tf.sparse_reduce_sum(sparse, 1, keepdims=True)).tolist() == [[1], [5]]
    assert session.run(tf.sparse_reduce_max(sparse * -1.0, 0)).tolist() == [-2, -1, -3]
    assert dense(session, tf.sparse_reduce_sum_sparse(sparse, [0])) == [2, 1, 3]
    rows = session.run(tf.sparse_softmax(sparse)).values
    assert rows == pytest.approx([1, 1 / (1 + np.e), np.e / (1 + np.e)])


def test_a_sparse_matrix_times_a_dense_one(session, sparse):
    b = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert session.run(tf.sparse_tensor_dense_matmul(sparse, b)).tolist() == (DENSE @ b).tolist()
    made = tf.sparse.matmul(sparse, b.T, adjoint_b=True)
    assert session.run(made).tolist() == (DENSE @ b).tolist()
    assert session.run(tf.sparse.matmul(b, sparse)).tolist() == (b @ DENSE).tolist()


def test_gradients_reach_both_sides_of_a_product(session):
    values, b = tf.constant([1.0, 2.0, 3.0]), tf.constant(np.ones((3, 2), np.float32))
    sparse = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], values, [2, 3])
    product = tf.sparse_tensor_dense_matmul(sparse, b)
    of_values, of_b = session.run(tf.gradients(product, [values, b]))
    assert of_values.tolist() == [2, 2, 2]
    assert of_b.tolist() == [[2, 2], [1, 1], [3, 3]]


def test_ids_become_marks_and_merge_with_their_values(session):
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 1]], np.int64([4, 1, 2, 2]), [2, 2])
    marks = session.run(tf.sparse_to_indicator(ids, 5))
    assert marks.tolist() == [[False, True, False, False, True], [False, False, True, False, False]]
    first = tf.sparse_retain(ids, [True, True, True, False])
    values = tf.SparseTensor(first.indices, [1.0, 2.0, 3.0], [2, 2])
    assert dense(session, tf.sparse_merge(first, values, 5)) == [[0, 2, 0, 0, 1], [0, 0, 3, 0, 0]]
    with pytest.raises(TypeError, match="vocab_size has to be a Tensor or Python int"):
        tf.sparse_merge(ids, values, "5")


def test_a_function_of_the_values(session, sparse):
    assert session.run(tf.sparse.map_values(tf.add, sparse, 1.0)).values.tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="No SparseTensor in argument list"):
        tf.sparse.map_values(tf.add, 1.0, 1.0)
    assert dense(session, tf.sparse.from_dense(DENSE)) == DENSE.tolist()


def test_bytes_become_sparse_tensors_again(session, sparse):
    one = tf.serialize_sparse(sparse)
    assert dense(session, tf.deserialize_sparse(one, tf.float32)) == DENSE.tolist()
    rows = tf.serialize_many_sparse(sparse)
    assert dense(session, tf.deserialize_many_sparse(rows, tf.float32, rank=1)) == DENSE.tolist()


# --- batches ---


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("make", [tf.train.batch, tf.train.shuffle_batch])
def test_sparse_tensors_come_out_of_queues_in_batches(session, sparse, many, make):
    kept = {"min_after_dequeue": 1} if make is tf.train.shuffle_batch else {}
    number = tf.constant([1, 2] if many else 1)
    batched = make({"s": sparse, "n": number}, batch_size=4, capacity=8, enqueue_many=many, **kept)
    assert batched["s"].shape.ndims == (2 if many else 3)
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    found = session.run(batched)
    coordinator.request_stop()
    session.run(tf.get_default_graph().get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].cancel_op)
    coordinator.join(threads)
    whole = np.zeros(found["s"].dense_shape)
    whole[tuple(found["s"].indices.T)] = found["s"].values
    for row, number in zip(whole, found["n"]):
        assert row.tolist() == (DENSE[number - 1] if many else DENSE).tolist()


def test_batches_leave_out_sparse_tensors_that_are_not_kept(session, sparse):
    for many, keep in ((False, False), (True, tf.constant([False, True])), (True, True)):
        made = tf.train.maybe_batch([sparse], keep, 2, enqueue_many=many)
        assert isinstance(made, tf.SparseTensor)


def test_a_column_is_sparse_in_all_lists_or_in_none(sparse):
    with pytest.raises(ValueError, match="Inconsistent SparseTensors list"):
        tf.train.batch_join([[sparse], [tf.constant(1.0)]], 2)
    joined = tf.train.batch_join([[sparse], [sparse]], 2)
    assert joined.dense_shape.shape.as_list() == [3]


# --- embeddings ---

TABLE = np.arange(12, dtype=np.float32).reshape(6, 2)
IDS = [[1, 3, 1], [], [5]]
WEIGHTS = [[0.5, 2.0, 1.0], [], [3.0]]


def ragged(rows, dtype):
    places = [[row, at] for row, of in enumerate(rows) for at in range(len(of))]
    return tf.SparseTensor(places, np.array([v for of in rows for v in of], dtype), [len(rows), 3])


def combined(combiner, weights):
    rows = []
    for ids, of in zip(IDS, weights):
        of = np.array(of)[:, None]
        total = (TABLE[np.array(ids, int)] * of).sum(0) if len(ids) else np.zeros(2)
        divisor = {"sum": 1, "mean": of.sum(), "sqrtn": np.sqrt((of**2).sum())}[combiner]
        rows.append(total / divisor if len(ids) else total)
    return np.array(rows)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_rows_of_a_table_are_combined(session, combiner, is_weighted, parts):
    ids = ragged(IDS, np.int64)
    weights = ragged(WEIGHTS, np.float32) if is_weighted else None
    expected = combined(combiner, WEIGHTS if is_weighted else [[1.0] * len(of) for of in IDS])
    for strategy in ("div", "mod"):
        if strategy == "div":
            tables = np.array_split(TABLE, parts)
        else:
            tables = [TABLE[part::parts] for part in range(parts)]
        tables = [tf.Variable(table) for table in tables]
        session.run(tf.global_variables_initializer())
        made = tf.nn.embedding_lookup_sparse(
            tables, ids, weights, combiner=combiner, partition_strategy=strategy
        )
        assert session.run(made) == pytest.approx(expected, rel=1e-6)
        safe = tf.nn.safe_embedding_lookup_sparse(
            tables, ids, weights, combiner=combiner, partition_strategy=strategy
        )
        assert session.run(safe) == pytest.approx(expected, rel=1e-6)


def test_the_gradient_of_combined_rows_stays_slices(session):
    table = tf.Variable(TABLE)
    session.run(tf.global_variables_initializer())
    made = tf.nn.embedding_lookup_sparse(table, ragged(IDS, np.int64), None, combiner="sum")
    gradient = tf.gradients(made, table)[0]
    assert isinstance(gradient, tf.IndexedSlices)
    expected = [[0, 0], [2, 2], [0, 0], [1, 1], [0, 0], [1, 1]]
    assert session.run(tf.convert_to_tensor(gradient)).tolist() == expected


def test_rows_are_scaled_down_before_they_are_combined(session):
    ids = ragged([[5]], np.int64)
    made = tf.nn.embedding_lookup_sparse(tf.constant(TABLE), ids, None, max_norm=1.0)
    assert np.linalg.norm(session.run(made)) == pytest.approx(1)


def test_a_safe_lookup_leaves_out_what_has_no_row(session):
    ids = tf.SparseTensor(
        [[0, 0, 0], [0, 0, 1], [1, 1, 0]], np.int64([-1, 2, 4]), np.int64([2, 2, 2])
    )
    weights = tf.SparseTensor(ids.indices, [1.0, 2.0, 0.0], ids.dense_shape)
    made = tf.contrib.layers.safe_embedding_lookup_sparse([tf.constant(TABLE)], ids)
    assert made.shape.as_list() == [None, None, 2]
    assert session.run(made).tolist() == [[[4, 5], [0, 0]], [[0, 0], [8, 9]]]
    weighted = tf.nn.safe_embedding_lookup_sparse(tf.constant(TABLE), ids, weights)
    assert session.run(weighted).tolist() == [[[4, 5], [0, 0]], [[0, 0], [0, 0]]]
    default = tf.nn.safe_embedding_lookup_sparse(tf.constant(TABLE), ids, default_id=1)
    assert session.run(default).tolist() == [[[4, 5], [2, 3]], [[2, 3], [8, 9]]]
    with pytest.raises(ValueError, match="Missing embedding_weights"):
        tf.nn.safe_embedding_lookup_sparse([], ids)


def test_a_combined_lookup_says_what_it_cannot_take(sparse):
    ids = ragged(IDS, np.int64)
    with pytest.raises(ValueError, match="combiner must be one of 'mean', 'sqrtn' or 'sum'"):
        tf.nn.embedding_lookup_sparse(tf.constant(TABLE), ids, None, combiner="max")
    with pytest.raises(TypeError, match="sp_ids must be SparseTensor"):
        tf.nn.embedding_lookup_sparse(tf.constant(TABLE), [1], None)
    with pytest.raises(TypeError, match="sp_weights must be either None or SparseTensor"):
        tf.nn.embedding_lookup_sparse(tf.constant(TABLE), ids, [1.0])
