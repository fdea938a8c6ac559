"""KMeans of tf.contrib.factorization, beside the same steps in NumPy."""

import numpy as np
import pytest

import millrace as tf

RNG = np.random.default_rng(2)
POINTS = np.concatenate([RNG.normal(at, 0.3, (20, 2)) for at in (-3.0, 0.0, 3.0)])
POINTS = POINTS.astype(np.float32)
BEGIN = np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], np.float32)
KMeans = tf.contrib.factorization.KMeans


def distances(points, centers):
    return ((points[:, None] - centers[None]) ** 2).sum(-1)


def begun(session, points, **settings):
    graph = KMeans(points, 3, **settings).training_graph()
    session.run(tf.global_variables_initializer())
    session.run(graph[4])
    return graph


def centers_of(session):
    (variable,) = [each for each in tf.global_variables() if each.op.name == "clusters"]
    return session.run(variable)


def test_steps_over_all_points_are_lloyds(session):
    all_scores, ids, scores, is_begun, init, train = begun(session, POINTS, initial_clusters=BEGIN)
    centers = BEGIN.astype(np.float64)
    for _ in range(4):
        wanted = distances(POINTS, centers)
        made = session.run([all_scores, ids, scores])
        assert np.allclose(made[0][0], wanted, atol=1e-3)
        assert (made[1][0] == wanted.argmin(1)).all()
        assert np.allclose(made[2][0], wanted.min(1), atol=1e-3)
        session.run(train)
        centers = np.array([POINTS[wanted.argmin(1) == k].mean(0) for k in range(3)])
        assert np.allclose(centers_of(session), centers, atol=1e-4)
    assert session.run(is_begun)
    # Beginning again changes nothing.
    session.run(init)
    assert np.allclose(centers_of(session), centers, atol=1e-4)


def test_steps_over_parts_of_the_points_end_in_means_of_all(session):
    batch = tf.placeholder(tf.float32, [None, 2])
    train = begun(session, batch, initial_clusters=BEGIN, use_mini_batch=True)[5]
    for begin in range(0, 60, 5):
        rows = RNG.permutation(60)[:15]
        session.run(train, {batch: POINTS[rows]})
    found = centers_of(session)
    assert np.allclose(np.sort(found[:, 0]), [-3, 0, 3], atol=0.7)
    session.run(train, {batch: np.zeros([0, 2])})
    assert np.allclose(centers_of(session), found)


def test_centers_may_begin_as_points_of_the_inputs(session):
    begun(session, [POINTS[:30], POINTS[30:]], random_seed=4)
    found = centers_of(session)
    assert all((POINTS == center).all(1).any() for center in found)
    assert len(np.unique(found, axis=0)) == 3


def test_angles_as_distances(session):
    graph = begun(
        session,
        POINTS,
        initial_clusters=lambda inputs, count: inputs[0][:count],
        distance_metric="cosine",
    )
    unit = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    assert np.allclose(session.run(graph[0][0]), 1 - unit @ unit[:3].T, atol=1e-5)
    session.run(graph[5])
    assert np.allclose(np.linalg.norm(centers_of(session), axis=1), 1.0, atol=1e-5)


def test_what_it_can_not_do_is_said():
    with pytest.raises(NotImplementedError, match="kmeans_plus_plus"):
        KMeans(POINTS, 3, initial_clusters="kmeans_plus_plus")
    with pytest.raises(ValueError, match="distance metric"):
        KMeans(POINTS, 3, distance_metric="manhattan")
    with pytest.raises(ValueError, match="known width"):
        KMeans(tf.placeholder(tf.float32, [None, None]), 3)
