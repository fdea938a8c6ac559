"""tf.random.Generator and stateless samples; the numbers are TensorFlow 2.21's."""

import numpy as np
import pytest

import millrace as tf


def made(generator):
    session = tf.get_default_session()
    session.run(generator.state.initializer)
    return generator


def test_a_seed_decides_what_a_generator_gives_and_its_state_moves_on(session):
    generator = made(tf.random.Generator.from_state([5, 7, 9], alg="philox"))
    uniform = generator.uniform([3])
    np.testing.assert_allclose(
        session.run(uniform), [0.16008341, 0.44395685, 0.57843053], rtol=1e-6
    )
    np.testing.assert_array_equal(session.run(generator.state), [773, 7, 9])
    assert not np.array_equal(session.run(uniform), session.run(uniform))
    again = made(tf.random.Generator.from_state([5, 7, 9], alg=1))
    np.testing.assert_allclose(
        session.run(again.normal([3])), [0.6601987, -1.7967354, -0.9751532], rtol=1e-6
    )


def test_values_of_all_kinds_have_their_range_and_type(session):
    generator = made(tf.random.Generator.from_seed(1234))
    small = session.run(generator.uniform([100], 5, 8, dtype=tf.int32))
    assert set(small) == {5, 6, 7} and small.dtype == np.int32
    assert session.run(generator.uniform_full_int([2], tf.uint32)).dtype == np.uint32
    assert np.abs(session.run(generator.truncated_normal([1000], stddev=0.5))).max() < 1
    counts = session.run(generator.binomial([50], counts=10.0, probs=0.5))
    assert counts.dtype == np.int32 and 0 <= counts.min() and counts.max() <= 10
    assert session.run(generator.make_seeds(3)).shape == (2, 3)
    with pytest.raises(ValueError):
        generator.uniform([1], 0, None, dtype=tf.int32)


def test_seeds_become_states_as_in_tensorflow(session):
    states = [
        tf.random.create_rng_state(3, 1),
        tf.random.create_rng_state([1, 2], 1),
        tf.random.create_rng_state(2**64 + 2**63, "philox"),
    ]
    got = session.run(states)
    np.testing.assert_array_equal(got[0], [3, 0, 0])
    np.testing.assert_array_equal(got[1], [0, 1, 2])
    np.testing.assert_array_equal(got[2], [-(2**63), 1, 0])
    with pytest.raises(ValueError, match="unsupported value"):
        tf.random.create_rng_state(3, "threefry")


def test_a_generator_can_be_reset_and_copied(session):
    generator = made(tf.random.Generator.from_seed(7))
    values = generator.uniform([2])
    first = session.run(values)
    assert not np.array_equal(session.run(values), first)
    session.run(generator.reset_from_seed(7))
    np.testing.assert_array_equal(session.run(values), first)
    session.run(generator.reset_from_key_counter(9, [5, 7]))
    np.testing.assert_array_equal(session.run(generator.state), [5, 7, 9])
    assert session.run(generator.key) == 9
    copy = made(tf.random.Generator(copy_from=generator))
    np.testing.assert_array_equal(session.run(copy.state), [5, 7, 9])


def test_states_that_chance_decides_differ(session):
    one, two = (made(tf.random.Generator.from_non_deterministic_state()) for _ in range(2))
    assert not np.array_equal(session.run(one.state), session.run(two.state))


def test_stateless_samples_are_decided_by_their_seeds(session):
    seed = [1, 2]
    gamma = tf.random.stateless_gamma([2, 2], seed, [3.0, 0.5], beta=[1.0, 2.0])
    np.testing.assert_allclose(
        session.run(gamma), [[4.0681195, 0.09068366], [2.9890633, 0.02379496]], rtol=1e-6
    )
    poisson = tf.random.stateless_poisson([2, 2], seed, [3.0, 50.0])
    np.testing.assert_array_equal(session.run(poisson), [[5, 60], [5, 58]])
    binomial = tf.random.stateless_binomial([2, 2], seed, [3.0, 500.0], [0.3, 0.4])
    np.testing.assert_array_equal(session.run(binomial), [[3, 216], [1, 213]])
