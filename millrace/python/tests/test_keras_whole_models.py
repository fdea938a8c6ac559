"""Keras's models written down, made again, copied, and saved whole."""

import json

import numpy as np
import pytest

import millrace as tf

keras, layers, models = tf.keras, tf.keras.layers, tf.keras.models


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


def branching():
    """A model with two inputs, a shared layer, a model inside and two outputs."""
    a, b = keras.Input([4], name="a"), keras.Input([4], name="b")
    inner_input = keras.Input([3])
    inner = keras.Model(inner_input, layers.Dense(2, activation="tanh")(inner_input), name="inner")
    shared = layers.Dense(3, kernel_regularizer="l2", name="shared")
    left, right = shared(a), shared(b)
    joined = layers.concatenate([inner(left), inner(right), left])
    outs = [layers.Dense(1, name="one")(joined), layers.Dropout(0.5, name="two")(joined)]
    return keras.Model([a, b], outs, name="branching")


def in_a_row():
    return keras.Sequential(
        [
            layers.Embedding(9, 4, mask_zero=True, input_length=5),
            layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
            layers.TimeDistributed(layers.Dense(4, activation="relu")),
            layers.RNN([layers.GRUCell(3), layers.SimpleRNNCell(2)]),
            layers.BatchNormalization(),
            layers.Dense(2, activation="softmax", kernel_initializer=keras.initializers.Ones()),
        ],
        name="row",
    )


def each_of(values):
    return values if isinstance(values, list) else [values]


@pytest.mark.parametrize("make", [branching, in_a_row])
def test_a_model_is_written_down_and_made_again(make):
    model = make()
    text = model.to_json()
    values = [numbers(2, 4), numbers(2, 4, seed=1)] if make is branching else np.eye(5)[:2]
    kept, made = model.get_weights(), model.predict(values)
    for back in (
        models.model_from_json(text),
        models.model_from_yaml(model.to_yaml()),
        models.clone_model(model),
        type(model).from_config(model.get_config()),
    ):
        back.set_weights(kept)
        for one, other in zip(each_of(made), each_of(back.predict(values))):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        assert json.loads(back.to_json()) == json.loads(text)
        assert back.name == model.name
        assert not set(back.weights) & set(model.weights)
    # In another program, whose graph is empty.
    with tf.Graph().as_default():
        back = models.model_from_json(text)
        back.set_weights(kept)
        named = [each["config"]["name"] for each in json.loads(text)["config"]["layers"]]
        assert [layer.name for layer in back.layers] == named[-len(back.layers) :]
        for one, other in zip(each_of(made), each_of(back.predict(values))):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_form_of_what_is_written_is_keras_s():
    config = branching().get_config()
    assert config["input_layers"] == [["a", 0, 0], ["b", 0, 0]]
    assert config["output_layers"] == [["one", 0, 0], ["two", 0, 0]]
    by_name = {each["name"]: each for each in config["layers"]}
    assert by_name["shared"]["inbound_nodes"] == [[["a", 0, 0, {}]], [["b", 0, 0, {}]]]
    assert by_name["concatenate"]["inbound_nodes"] == [
        [["inner", 1, 0, {}], ["inner", 2, 0, {}], ["shared", 0, 0, {}]]
    ]
    assert by_name["a"]["config"] == {
        "batch_input_shape": [None, 4],
        "dtype": "float32",
        "name": "a",
        "sparse": False,
    }
    dense = layers.Dense(3, activation="relu", kernel_constraint="non_neg", name="d")
    assert dense.get_config() == {
        "name": "d",
        "trainable": True,
        "dtype": None,
        "units": 3,
        "activation": "relu",
        "use_bias": True,
        "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": None}},
        "bias_initializer": {"class_name": "Zeros", "config": {}},
        "kernel_regularizer": None,
        "bias_regularizer": None,
        "kernel_constraint": {"class_name": "NonNeg", "config": {}},
        "bias_constraint": None,
    }


def all_layers():
    cell = layers.LSTMCell(2, dropout=0.1)
    return [
        layers.Conv1D(2, 3, padding="causal"),
        layers.Conv2D(2, (2, 3), activation="elu"),
        layers.Conv2DTranspose(2, 3, strides=2),
        layers.DepthwiseConv2D(3, depth_multiplier=2),
        layers.SeparableConv2D(2, 3),
        layers.MaxPooling2D(3, 1),
        layers.ZeroPadding2D(((1, 0), (2, 1))),
        layers.Cropping1D(2),
        layers.UpSampling2D(interpolation="bilinear"),
        layers.SpatialDropout1D(0.3),
        layers.GaussianNoise(0.2),
        layers.PReLU(shared_axes=[1]),
        layers.ReLU(6.0, negative_slope=0.1),
        layers.LayerNormalization(axis=[1, 2]),
        layers.BatchNormalization(momentum=0.5, scale=False),
        layers.Dot(1, normalize=True),
        layers.Reshape((3, -1)),
        layers.Attention(use_scale=True, causal=True),
        layers.LocallyConnected1D(2, 3),
        layers.ConvLSTM2D(2, 3, padding="same", return_sequences=True),
        layers.GRU(3, reset_after=True, recurrent_dropout=0.2, go_backwards=True),
        layers.RNN([cell, layers.GRUCell(2)], unroll=True),
        layers.Bidirectional(layers.SimpleRNN(2), merge_mode="ave"),
        layers.TimeDistributed(layers.Dense(2, bias_regularizer=keras.regularizers.l1(0.1))),
    ]


def test_every_layer_is_made_again_of_its_config():
    for layer in all_layers():
        config = json.loads(json.dumps(layers.serialize(layer)))
        again = layers.deserialize(config)
        assert type(again) is type(layer)
        assert json.loads(json.dumps(layers.serialize(again))) == config, config
        assert json.loads(json.dumps(layers.serialize(layer.copy()))) == config, config


def test_a_programs_own_classes_and_functions_are_given_by_name():
    class Scaled(layers.Layer):
        def __init__(self, by, **kwargs):
            super().__init__(**kwargs)
            self.by = by

        def call(self, inputs):
            return inputs * self.by

        def get_config(self):
            return {**super().get_config(), "by": self.by}

    def doubled(x):
        return 2.0 * x

    model = keras.Sequential(
        [Scaled(3.0, input_shape=[2]), layers.Activation(doubled), layers.Lambda(doubled)]
    )
    text = model.to_json()
    with pytest.raises(ValueError, match="Unknown layer: Scaled"):
        models.model_from_json(text)
    own = {"Scaled": Scaled, "doubled": doubled}
    x = numbers(3, 2)
    for back in (models.model_from_json(text, own), models.clone_model(model)):
        np.testing.assert_allclose(back.predict(x), 12 * x, rtol=1e-6)
    with keras.utils.custom_object_scope(own):
        assert models.model_from_json(text).layers[0].by == 3.0
    nameless = keras.Sequential([layers.Lambda(lambda x: x + 1, input_shape=[2])])
    with pytest.raises(TypeError, match="function without a name"):
        nameless.to_json()
    np.testing.assert_allclose(models.clone_model(nameless).predict(x), x + 1)

    class Silent(layers.Layer):
        def __init__(self, by):
            super().__init__()

    with pytest.raises(NotImplementedError, match=r"override `get_config`: Silent takes \['by'\]"):
        Silent(2).get_config()


def test_a_clone_has_other_layers_where_a_function_gives_them():
    model = branching()

    def wider(layer):
        return layer.copy(rate=0.9) if isinstance(layer, layers.Dropout) else layer.copy()

    clone = models.clone_model(model, clone_function=wider)
    assert clone.get_layer("two").rate == 0.9 and model.get_layer("two").rate == 0.5
    x = [tf.constant(numbers(2, 4)), tf.constant(numbers(2, 4, seed=1))]
    onto = models.clone_model(model, input_tensors=x)
    onto.set_weights(model.get_weights())
    one = keras.backend.get_session().run(onto.outputs)
    np.testing.assert_allclose(one[0], model.predict([numbers(2, 4), numbers(2, 4, seed=1)])[0])
    with pytest.raises(ValueError, match="2 inputs and was given 1"):
        models.clone_model(model, input_tensors=x[:1])


def trained():
    model = keras.Sequential(
        [layers.Dense(5, activation="relu", input_shape=(3,)), layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(0.05, beta_1=0.8), "mse", metrics=["mae"])
    model.fit(numbers(16, 3), numbers(16, 1, seed=2), epochs=2, verbose=0)
    return model


def go_on(model):
    history = model.fit(numbers(16, 3), numbers(16, 1, seed=2), epochs=3, verbose=0, shuffle=False)
    return history.history["loss"]


def test_a_saved_model_goes_on_as_if_it_had_not_been_saved(tmp_path):
    model = trained()
    model.save(tmp_path / "model")
    made = model.predict(numbers(4, 3))
    beside = models.load_model(tmp_path / "model")
    np.testing.assert_allclose(beside.predict(numbers(4, 3)), made, rtol=1e-6)
    losses = go_on(model)
    with tf.Graph().as_default():
        back = models.load_model(tmp_path / "model")
        np.testing.assert_allclose(back.predict(numbers(4, 3)), made, rtol=1e-6)
        assert back.optimizer.get_config()["beta_1"] == 0.8
        assert back.metrics_names == ["loss", "mean_absolute_error"]
        np.testing.assert_allclose(go_on(back), losses, rtol=1e-5)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        model.save(tmp_path / "model", overwrite=False)
    nodes = tf.get_default_graph().version
    for _ in range(2):
        model.save(tmp_path / "model")
    assert tf.get_default_graph().version == nodes
    assert [each.name for each in tmp_path.iterdir()] == ["model"]
    model.save(tmp_path / "model", include_optimizer=False)
    with pytest.raises(RuntimeError, match="must compile"):
        go_on(models.load_model(tmp_path / "model"))


def test_the_number_of_steps_is_kept_where_it_is_all_that_an_optimizer_has(tmp_path):
    model = keras.Sequential([layers.Dense(1, input_shape=(3,))])
    model.compile(keras.optimizers.SGD(0.1, decay=0.5), "mse")
    model.fit(numbers(16, 3), numbers(16, 1), epochs=3, verbose=0)
    model.save(tmp_path / "model")
    with tf.Graph().as_default():
        back = models.load_model(tmp_path / "model")
        assert keras.backend.get_value(back.optimizer.iterations) == 3


def test_losses_and_metrics_that_are_objects_are_kept(tmp_path):
    model = keras.Sequential([layers.Dense(1, activation="sigmoid", input_shape=(3,))])
    loss = keras.losses.BinaryCrossentropy(label_smoothing=0.2)
    model.compile("sgd", loss, metrics=[keras.metrics.AUC(name="area"), "accuracy"])
    x, y = numbers(16, 3), (numbers(16, 1, seed=1) > 0).astype(int)
    model.save(tmp_path / "model")
    with tf.Graph().as_default():
        back = models.load_model(tmp_path / "model")
        assert back.metrics_names == ["loss", "area", "acc"]
        found = back.evaluate(x, y, verbose=0)
    np.testing.assert_allclose(found, model.evaluate(x, y, verbose=0), rtol=1e-5)


def test_a_saved_model_is_one_for_serving(tmp_path):
    x = numbers(4, 3)
    model = trained()
    keras.experimental.export_saved_model(model, str(tmp_path / "served"))
    wanted = model.predict(x)
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], str(tmp_path / "served"))
        signature = loaded.signature_def["serving_default"]
        (given,), (made,) = signature.inputs.values(), signature.outputs.values()
        np.testing.assert_allclose(session.run(made.name, {given.name: x}), wanted, rtol=1e-6)
    with tf.Graph().as_default():
        back = keras.experimental.load_from_saved_model(str(tmp_path / "served"))
        np.testing.assert_allclose(back.predict(x), wanted, rtol=1e-6)


def test_a_model_that_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    model = trained()
    model.save(tmp_path / "model")
    made = model.predict(numbers(4, 3))
    go_on(model)

    def full(*unused):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("millrace._keras.saving.paths.write_whole", full)
        with pytest.raises(OSError, match="No space"):
            model.save(tmp_path / "model")
    assert [each.name for each in tmp_path.iterdir()] == ["model"]
    back = models.load_model(tmp_path / "model")
    np.testing.assert_allclose(back.predict(numbers(4, 3)), made, rtol=1e-6)


def test_what_cannot_be_saved_or_loaded_is_said(tmp_path):
    class Own(keras.Model):
        def call(self, x):
            return x

    with pytest.raises(NotImplementedError, match="cannot be written down"):
        Own().save(tmp_path / "own")
    assert not (tmp_path / "own").exists()
    with pytest.raises(OSError, match="does not exist"):
        models.load_model(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match="not saved by Keras"):
        models.load_model(tmp_path / "folder")
    (tmp_path / "folder" / "mine").write_text("")
    with pytest.raises(FileExistsError, match="no SavedModel that could be replaced"):
        trained().save(tmp_path / "folder")
    with pytest.raises(ValueError, match="Unknown format"):
        trained().save(tmp_path / "model", save_format="onnx")
    config = branching().get_config()
    config["layers"][-1]["inbound_nodes"] = [[["concatenate", 7, 0, {}]]]
    with pytest.raises(ValueError, match="are given outputs of calls that are not there"):
        keras.Model.from_config(config)
