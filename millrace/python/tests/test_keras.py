"""Models of tf.keras: built, trained and asked, beside formulas in NumPy."""

import numpy as np
import pytest

import millrace as tf

RNG = np.random.default_rng(9)
keras, layers = tf.keras, tf.keras.layers

pytestmark = pytest.mark.usefixtures("same_draws")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_gradient_descent_on_softmax_regression_is_numpys():
    x = RNG.normal(size=(20, 5)).astype(np.float32)
    y = RNG.integers(0, 3, 20)
    model = keras.Sequential([layers.Dense(3, activation="softmax", input_shape=(5,))])
    model.compile(
        keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    w, b = (each.astype(np.float64) for each in model.get_weights())
    history = model.fit(x, y, batch_size=10, epochs=4, shuffle=False, verbose=0)
    losses, right = [], []
    for _ in range(4):
        for begin in (0, 10):
            xs, ys = x[begin : begin + 10], y[begin : begin + 10]
            p = softmax(xs @ w + b)
            losses.append(-np.log(p[np.arange(10), ys]).mean())
            right.append((p.argmax(-1) == ys).mean())
            error = (p - np.eye(3)[ys]) / 10
            w, b = w - 0.5 * xs.T @ error, b - 0.5 * error.sum(0)
    assert np.allclose(history.history["loss"], np.reshape(losses, (4, 2)).mean(1), atol=1e-5)
    assert np.allclose(history.history["acc"], np.reshape(right, (4, 2)).mean(1))
    for made, wanted in zip(model.get_weights(), (w, b)):
        assert np.allclose(made, wanted, atol=1e-5)
    assert np.allclose(model.predict(x), softmax(x @ w + b), atol=1e-5)
    assert (model.predict_classes(x) == (x @ w + b).argmax(-1)).all()


def test_a_net_learns_what_is_in_its_data_and_stops_early():
    x = RNG.normal(size=(400, 6)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.float32)
    model = keras.Sequential()
    model.add(layers.Dense(32, activation="relu", input_dim=6))
    model.add(layers.Dropout(0.1, seed=1))
    model.add(layers.Dense(1, activation="sigmoid"))
    model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["acc"])
    stop = keras.callbacks.EarlyStopping(monitor="acc", patience=15, restore_best_weights=True)
    seen = []
    watch = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    history = model.fit(x, y, epochs=200, verbose=0, callbacks=[stop, watch])
    assert len(seen) == len(history.epoch) < 200
    loss, accuracy = model.evaluate(x, y, verbose=0)
    assert accuracy > 0.9 and loss < history.history["loss"][0]


def test_models_of_several_inputs_share_their_layers_and_can_be_called_again():
    a, b = keras.Input([4], name="a"), keras.Input([4], name="b")
    shared = layers.Dense(3, use_bias=False, name="shared")
    joined = layers.concatenate([shared(a), shared(b)])
    model = keras.Model([a, b], layers.Dense(1, name="out")(joined))
    names = [layer.name for layer in model.layers]
    assert names == ["a", "b", "shared", "concatenate", "out"]
    assert [weight.name for weight in model.weights] == [
        "shared/kernel:0",
        "out/kernel:0",
        "out/bias:0",
    ]
    x = [RNG.normal(size=(7, 4)).astype(np.float32) for _ in range(2)]
    swapped = keras.Model([b, a], model([a, b]))
    again = model([b, a])
    session = keras.backend.get_session()
    assert np.allclose(swapped.predict([x[1], x[0]]), model.predict(x))
    assert np.allclose(session.run(again, {a: x[0], b: x[1]}), model.predict([x[1], x[0]]))
    assert np.allclose(model.predict({"b": x[1], "a": x[0]}), model.predict(x))
    with pytest.raises(AttributeError, match="inbound nodes"):
        shared.output
    assert layers.Dense(1, name="out_2")(joined).shape.as_list() == [None, 1]


def test_what_is_no_layer_between_is_said():
    a = keras.Input([4])
    with pytest.raises(ValueError, match="Graph disconnected.*Lambda"):
        keras.Model(a, layers.Dense(1)(a * 2.0))
    doubled = layers.Lambda(lambda x: x * 2.0)(a)
    model = keras.Model(a, doubled)
    assert model.predict(np.ones((1, 4))).tolist() == [[2.0] * 4]
    with pytest.raises(RuntimeError, match="must compile"):
        model.fit(np.ones((1, 4)), np.ones((1, 4)))
    model = keras.Sequential([layers.Dense(2, input_shape=(4,))])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(np.ones((3, 4)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="Unknown loss function: msee"):
        model.compile("sgd", "msee")
    with pytest.raises(ValueError, match="optimizer identifier: sdg"):
        model.compile("sdg", "mse")


def test_a_class_of_ones_own_is_built_by_its_first_data():
    class Mean(keras.Model):
        def __init__(self):
            super().__init__()
            self.table = layers.Embedding(10, 4)
            self.middle = layers.GlobalAveragePooling1D()
            self.out = layers.Dense(1)

        def call(self, ids):
            return self.out(self.middle(self.table(ids)))

    model = Mean()
    model.compile(keras.optimizers.Adam(0.05), "mse")
    ids = RNG.integers(0, 10, (128, 5))
    history = model.fit(ids, ids.mean(1), epochs=40, verbose=0).history["loss"]
    assert history[0] > 5 and history[-1] < 0.1
    assert [layer.name for layer in model.layers] == [
        "embedding",
        "global_average_pooling1d",
        "dense",
    ]
    assert len(model.trainable_weights) == 3


def test_training_moves_the_averages_of_a_normalization_and_prediction_uses_them():
    x = RNG.normal(3.0, 2.0, (64, 2)).astype(np.float32)
    model = keras.Sequential([layers.BatchNormalization(momentum=0.5, input_shape=(2,))])
    model.compile("sgd", "mse")
    assert np.allclose(model.predict(x), x / np.sqrt(1.001), atol=1e-5)
    model.train_on_batch(x, np.zeros_like(x))
    gamma, beta, mean, variance = model.get_weights()
    assert np.allclose(mean, x.mean(0) * 0.5, atol=1e-5)
    assert np.allclose(variance, 0.5 + 0.5 * x.var(0), rtol=1e-4)
    wanted = (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    assert np.allclose(model.predict(x), wanted, atol=1e-4)
    # With tf.layers they would be in the collection of updates.
    assert not tf.get_collection(tf.GraphKeys.UPDATE_OPS) and len(model.updates) == 2


def test_images():
    x = RNG.normal(size=(64, 8, 8, 1)).astype(np.float32)
    y = keras.utils.to_categorical(x[:, :4].mean((1, 2, 3)) > x[:, 4:].mean((1, 2, 3)), 2)
    model = keras.Sequential(
        [
            layers.Conv2D(4, 3, activation="relu", input_shape=(8, 8, 1)),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(2),
            layers.Activation("softmax"),
        ]
    )
    assert [layer.output_shape for layer in model.layers] == [
        (None, 6, 6, 4),
        (None, 3, 3, 4),
        (None, 36),
        (None, 2),
        (None, 2),
    ]
    model.compile(keras.optimizers.Adam(0.01), "categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, epochs=60, verbose=0)
    assert model.evaluate(x, y, verbose=0)[1] > 0.95
    lines = []
    model.summary(print_fn=lines.append)
    assert "Total params: 114" in lines


def rule_of(name, g, steps):
    """Where a variable of 0 is after steps of a constant gradient."""
    rate, value, squares, moment, velocity = 0.1, 0.0, 0.0, 0.0, 0.0
    accumulator = 0.1
    for step in range(1, steps + 1):
        if name == "rmsprop":
            squares = 0.9 * squares + 0.1 * g * g
            value -= rate * g / (np.sqrt(squares) + 1e-7)
        elif name == "adagrad":
            accumulator += g * g
            value -= rate * g / (np.sqrt(accumulator) + 1e-7)
        elif name == "adam":
            moment, squares = 0.9 * moment + 0.1 * g, 0.999 * squares + 0.001 * g * g
            at = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            value -= at * moment / (np.sqrt(squares) + 1e-7)
        elif name == "nesterov":
            velocity = 0.9 * velocity - rate * g
            value += 0.9 * velocity - rate * g
        elif name == "decayed":
            value -= rate / (1 + 0.5 * (step - 1)) * g
        elif name == "clipped":
            value -= rate * np.clip(g, -0.2, 0.2)
    return value


OPTIMIZERS = {
    "rmsprop": lambda: keras.optimizers.RMSprop(0.1),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1),
    "adam": lambda: keras.optimizers.Adam(lr=0.1),
    "nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "decayed": lambda: keras.optimizers.SGD(0.1, decay=0.5),
    "clipped": lambda: keras.optimizers.SGD(0.1, clipvalue=0.2),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("is_sliced", [False, True])
def test_rules_of_optimizers(session, name, is_sliced):
    variable = tf.get_variable("v", [2], initializer=tf.zeros_initializer(), use_resource=True)
    optimizer = OPTIMIZERS[name]()
    gradient = tf.constant([0.3, 0.3])
    if is_sliced:
        gradient = tf.IndexedSlices(tf.constant([0.1, 0.2, 0.3]), tf.constant([1, 1, 0]), [2])
    step = optimizer.apply_gradients([(gradient, variable)])
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(step)
    assert np.allclose(session.run(variable), rule_of(name, 0.3, 3), rtol=1e-5)
    assert session.run(optimizer.iterations) == 3


def test_losses_beside_formulas(session):
    t = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], np.float32)
    p = softmax(RNG.normal(size=(2, 3))).astype(np.float32)
    wanted = {
        "mse": ((t - p) ** 2).mean(-1),
        "mae": np.abs(t - p).mean(-1),
        "mape": 100 * (np.abs(t - p) / np.maximum(t, 1e-7)).mean(-1),
        "msle": ((np.log1p(p) - np.log1p(t)) ** 2).mean(-1),
        "hinge": np.maximum(1 - (2 * t - 1) * p, 0).mean(-1),
        "squared_hinge": (np.maximum(1 - (2 * t - 1) * p, 0) ** 2).mean(-1),
        "categorical_hinge": np.maximum(0, 1 + ((1 - t) * p).max(-1) - (t * p).sum(-1)),
        "logcosh": np.log(np.cosh(p - t)).mean(-1),
        "kld": (np.maximum(t, 1e-7) * np.log(np.maximum(t, 1e-7) / p)).sum(-1),
        "poisson": (p - t * np.log(p)).mean(-1),
        "categorical_crossentropy": -(t * np.log(p)).sum(-1),
        "binary_crossentropy": -(t * np.log(p) + (1 - t) * np.log(1 - p)).mean(-1),
        "cosine_similarity": -(t * p).sum(-1) / np.linalg.norm(p, axis=-1),
    }
    for name, values in wanted.items():
        made = session.run(keras.losses.get(name)(t, p))
        assert np.allclose(made, values, rtol=1e-4, atol=1e-5), name
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    assert np.allclose(session.run(sparse([1, 0], np.log(p))), -(t * np.log(p)).sum(-1).mean())
    total = keras.losses.CategoricalCrossentropy(label_smoothing=0.3, reduction="sum")
    smooth = t * 0.7 + 0.1
    assert np.allclose(session.run(total(t, p)), -(smooth * np.log(p)).sum(), rtol=1e-5)


def test_weights_of_samples_and_of_classes():
    x, y = np.eye(2, dtype=np.float32), np.array([0, 1])
    model = keras.Sequential([layers.Dense(2, input_shape=(2,), kernel_initializer="zeros")])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    half = np.log(2.0)
    assert np.isclose(model.test_on_batch(x, y), half)
    assert np.isclose(model.test_on_batch(x, y, sample_weight=[1.0, 3.0]), 2 * half)
    with pytest.raises(
        ValueError, match=r"must contain all classes in the data. The classes \[0\]"
    ):
        model.train_on_batch(x, y, class_weight={1: 5.0})
    with pytest.raises(ValueError, match=r"with shape \(1,\) for labels with shape \(2, 1\)"):
        model.train_on_batch(x, y, sample_weight=[5.0])
    assert np.isclose(model.train_on_batch(x, y, class_weight={0: 1.0, 1: 5.0}), 3 * half)


def test_weights_are_saved_and_come_back(tmp_path):
    model = keras.Sequential([layers.Dense(2, input_shape=(3,)), layers.Dense(1)])
    kept = model.get_weights()
    model.save_weights(tmp_path / "weights")
    model.set_weights([np.zeros_like(each) for each in kept])
    assert not model.predict(np.ones((1, 3))).any()
    model.load_weights(tmp_path / "weights")
    assert all((a == b).all() for a, b in zip(kept, model.get_weights()))
    nodes = tf.get_default_graph().version
    for epoch in range(7):
        model.save_weights(tmp_path / f"weights-{epoch}")
    assert tf.get_default_graph().version == nodes
    assert all(tf.train.checkpoint_exists(tmp_path / f"weights-{epoch}") for epoch in range(7))
    with pytest.raises(
        NotImplementedError, match="only be loaded by the names of layers from HDF5"
    ):
        model.load_weights(tmp_path / "weights", by_name=True)
    with pytest.raises(ValueError, match="weight shape"):
        model.set_weights([kept[0], kept[0], kept[2], kept[3]])


def test_a_model_that_does_not_train_has_each_variable_once():
    class Scaled(keras.Model):
        def __init__(self):
            super().__init__()
            self.scale = self.add_weight("scale", [1], initializer="ones")
            self.dense = layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs) * self.scale

    model = Scaled()
    model(tf.zeros([1, 2]))
    names = sorted(v.name for v in model.weights)
    model.trainable = False
    assert len(names) == 3 and sorted(v.name for v in model.weights) == names
    assert not model.trainable_weights


def test_layers_in_a_graph_that_a_program_trains_itself(session):
    x = tf.placeholder(tf.float32, [None, 4])
    net = layers.Dense(8, activation="tanh", kernel_regularizer="l2")
    hidden = layers.Dropout(0.5)(net(x))
    out = layers.Dense(1)(hidden)
    loss = tf.reduce_mean(tf.square(out - 1.0)) + tf.add_n(net.losses)
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    session.run(tf.global_variables_initializer())
    data = RNG.normal(size=(16, 4))
    phase = keras.backend.learning_phase()
    first = session.run(loss, {x: data})
    for _ in range(60):
        session.run(train, {x: data, phase: True})
    assert session.run(loss, {x: data}) < first / 3
    dropped, whole = (session.run(hidden, {x: data, phase: is_on}) for is_on in (True, False))
    assert (dropped == 0).mean() > 0.3 and (whole == 0).mean() < 0.05
    assert len(tf.trainable_variables()) == 4


def test_labels_in_rows_as_a_sparse_tensor(session):
    labels = np.array([[1, 2, 3], [4, 5, 0]])
    sparse = session.run(keras.backend.ctc_label_dense_to_sparse(labels, [3, 1]))
    assert sparse.indices.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
    assert sparse.values.tolist() == [1, 2, 3, 4] and sparse.dense_shape.tolist() == [2, 3]


def test_an_iterator_gives_its_own_steps():
    def pairs():
        while True:
            x = RNG.normal(size=(8, 2))
            yield x, x.sum(1)

    model = keras.Sequential([layers.Dense(1, input_shape=(2,))])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    history = model.fit_generator(pairs(), steps_per_epoch=20, epochs=3, verbose=0)
    assert history.history["loss"][-1] < 1e-2 and len(history.epoch) == 3
    with pytest.raises(ValueError, match="steps_per_epoch"):
        model.fit(pairs())
