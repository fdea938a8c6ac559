"""Each test has a default graph of its own, and no session left from another."""

import numpy as np
import pytest

import millrace as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as fresh:
        yield fresh


@pytest.fixture
def same_draws(graph):
    """First weights and orders of examples are the same in each run: what training reaches is no luck."""
    tf.set_random_seed(7)
    np.random.seed(7)


@pytest.fixture
def session(graph):
    with tf.Session() as opened:
        yield opened


@pytest.fixture
def check(session):
    """check(tensor, expected, feeds): the value is `expected`, type and shape included."""

    def compare(tensor, expected, feeds=None, rtol=1e-6):
        value = session.run(tensor, feeds)
        expected = np.asarray(expected)
        assert np.shape(value) == expected.shape
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(value, expected, rtol=rtol, atol=1e-6)
        else:
            assert np.array_equal(value, expected), (value, expected)
        if isinstance(tensor, tf.Tensor):
            assert tensor.shape.is_compatible_with(np.shape(value))

    return compare
