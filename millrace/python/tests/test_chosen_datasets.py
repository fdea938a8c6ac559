"""Datasets drawn from several, grouped by keys and resampled; optionals."""

import collections

import numpy as np
import pytest

import millrace as tf

Dataset, experimental = tf.data.Dataset, tf.data.experimental


@pytest.fixture
def drained(session):
    def drain(dataset, most=10000):
        element = dataset.make_one_shot_iterator().get_next()
        found = []
        with pytest.raises(tf.errors.OutOfRangeError):
            while len(found) < most:
                found.append(session.run(element))
            raise tf.errors.OutOfRangeError(None, None, "enough")
        return found

    return drain


def numbers(*values):
    return Dataset.from_tensor_slices(tf.constant(values, tf.int64))


def test_elements_come_from_the_dataset_that_is_named(drained):
    datasets = [numbers(1, 2, 3), numbers(10, 20), numbers(100)]
    chosen = experimental.choose_from_datasets(datasets, numbers(0, 1, 2, 1, 0))
    assert drained(chosen) == [1, 10, 100, 20, 2]


def test_what_names_a_dataset_that_is_over_is_passed_over(drained):
    datasets = [numbers(1), numbers(10, 20)]
    chosen = experimental.choose_from_datasets(datasets, numbers(0, 0, 0, 1, 0, 1, 1))
    assert drained(chosen) == [1, 10, 20]
    endless = experimental.choose_from_datasets(datasets, numbers(0, 1).repeat())
    assert drained(endless) == [1, 10, 20]


def test_structures_are_chosen_and_shapes_that_differ_are_unknown(drained):
    first = Dataset.from_tensors({"a": [1.0, 2.0], "b": "x"})
    second = Dataset.from_tensors({"a": [3.0], "b": "y"})
    chosen = experimental.choose_from_datasets([first, second], numbers(1, 0))
    assert chosen.output_shapes["a"].as_list() == [None]
    found = drained(chosen)
    assert [each["b"] for each in found] == [b"y", b"x"] and found[1]["a"].tolist() == [1.0, 2.0]


def test_a_place_that_is_none_fails_the_step(session):
    chosen = experimental.choose_from_datasets([numbers(1)], numbers(3))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Selector index out of range.* of 1 datasets"
    ):
        session.run(chosen.make_one_shot_iterator().get_next())
    with pytest.raises(TypeError, match="scalar `tf.int64`"):
        experimental.choose_from_datasets([numbers(1)], Dataset.from_tensors(1))
    with pytest.raises(TypeError, match="to choose from have different types"):
        experimental.choose_from_datasets([numbers(1), Dataset.from_tensors(1.0)], numbers(0))


def test_a_walk_begins_anew_with_its_iterator(session):
    chosen = experimental.choose_from_datasets([numbers(1, 2), numbers(5)], numbers(1, 0, 0))
    iterator = chosen.make_initializable_iterator()
    element = iterator.get_next()
    for _ in range(2):
        session.run(iterator.initializer)
        assert [session.run(element) for _ in range(2)] == [5, 1]


def test_chance_draws_by_weights_and_gives_all_in_the_end(drained):
    datasets = [numbers(0).repeat(300), numbers(1).repeat(300)]
    drawn = drained(experimental.sample_from_datasets(datasets, [0.8, 0.2], seed=7))
    assert collections.Counter(drawn) == {0: 300, 1: 300}
    assert 20 < sum(drawn[:200]) < 60
    again = drained(experimental.sample_from_datasets(datasets, [0.8, 0.2], seed=7))
    assert drawn == again
    alike = drained(experimental.sample_from_datasets(datasets), most=200)
    assert 60 < sum(alike) < 140


def test_weights_may_change_from_draw_to_draw(drained):
    weights = Dataset.from_tensor_slices([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    datasets = [numbers(1).repeat(), numbers(2).repeat()]
    assert drained(experimental.sample_from_datasets(datasets, weights)) == [1, 2, 1]
    with pytest.raises(ValueError, match="length"):
        experimental.sample_from_datasets(datasets, [1.0])
    with pytest.raises(TypeError, match="float32"):
        experimental.sample_from_datasets(datasets, [1, 2])


def test_all_elements_of_a_key_become_one(drained):
    reducer = experimental.Reducer(
        lambda key: (key * 0, tf.constant(0, tf.int64)),
        lambda state, x: (state[0] + x, state[1] + 1),
        lambda total, count: (total, count),
    )
    grouped = Dataset.range(10).apply(experimental.group_by_reducer(lambda x: x % 3, reducer))
    assert drained(grouped) == [(18, 4), (12, 3), (15, 3)]
    other = experimental.Reducer(lambda key: key, lambda state, x: (state, x), lambda state: state)
    with pytest.raises((TypeError, ValueError)):
        Dataset.range(10).apply(experimental.group_by_reducer(lambda x: x % 3, other))


def test_elements_of_several_lengths_are_rows_of_sparse_tensors(session, drained):
    lengths = Dataset.range(3).map(lambda n: tf.fill([n], n))
    for row, width in (([4], 4), ([-1], 2), (tf.TensorShape([None]), 2)):
        batches = lengths.apply(experimental.dense_to_sparse_batch(3, row))
        (made,) = drained(batches)
        assert made.indices.tolist() == [[1, 0], [2, 0], [2, 1]]
        assert made.values.tolist() == [1, 2, 2] and made.dense_shape.tolist() == [3, width]
    element = lengths.apply(experimental.dense_to_sparse_batch(3, [1]))
    with pytest.raises(tf.errors.DataLossError, match="larger than the row shape"):
        session.run(element.make_one_shot_iterator().get_next())
    with pytest.raises(TypeError, match="single component"):
        Dataset.zip((lengths, lengths)).apply(experimental.dense_to_sparse_batch(3, [4]))


def test_a_sparse_tensor_may_be_cut_into_elements(drained):
    sparse = tf.SparseTensor([[0, 1], [2, 0], [2, 3]], ["a", "b", "c"], [3, 4])
    made = drained(Dataset.from_sparse_tensor_slices(sparse))
    assert [(i.tolist(), v.tolist(), s.tolist()) for i, v, s in made] == [
        ([[1]], [b"a"], [4]),
        ([], [], [4]),
        ([[0], [3]], [b"b", b"c"], [4]),
    ]
    with pytest.raises(TypeError, match="SparseTensor"):
        Dataset.from_sparse_tensor_slices(tf.constant([1]))


@pytest.mark.parametrize("initial", [None, [0.8, 0.15, 0.05]])
def test_classes_become_as_frequent_as_is_wanted(drained, initial):
    random = np.random.RandomState(0)
    classes = random.choice(3, size=6000, p=[0.8, 0.15, 0.05]).astype(np.int32)
    rows = Dataset.from_tensor_slices((classes, np.arange(6000)))
    resample = experimental.rejection_resample(
        lambda kind, row: kind, [0.4, 0.4, 0.2], initial_dist=initial, seed=5
    )
    # Without end: of a dataset that ends, those come last that would have been left out.
    found = drained(rows.repeat().apply(resample).take(1600))
    kinds = np.array([kind for kind, _ in found])
    assert all(kind == own for kind, (own, _) in found)
    shares = np.bincount(kinds[400:], minlength=3) / 1200
    np.testing.assert_allclose(shares, [0.4, 0.4, 0.2], atol=0.08)


def test_the_end_may_be_an_optional_without_a_value(session):
    iterator = numbers(4, 5).make_one_shot_iterator()
    following = experimental.get_next_as_optional(iterator)
    has_value, value = following.has_value(), following.get_value()
    assert session.run([has_value, value]) == [True, 4]
    session.run(value)
    assert session.run(has_value) == False  # noqa: E712
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(value)
    made = experimental.Optional.from_value((tf.constant(1.0), tf.constant("a")))
    assert session.run(made.get_value()) == (1.0, b"a")
    none = experimental.Optional.none_from_structure(made.value_structure)
    assert not session.run(none.has_value())


def test_the_structure_of_elements_is_of_tensor_specs():
    dataset = Dataset.from_tensors({"a": [1, 2]})
    wanted = {"a": tf.TensorSpec([2], tf.int32)}
    assert experimental.get_structure(dataset) == wanted
    assert experimental.get_structure(dataset.make_one_shot_iterator()) == wanted
    with pytest.raises(TypeError, match="Dataset or Iterator"):
        experimental.get_structure(1)
