"""Keras's nets for pictures: their layers, weights, inputs and classes."""

import json

import numpy as np
import pytest

import millrace as tf

applications = tf.keras.applications


def test_a_small_net_makes_classes_and_is_saved_and_loaded(tmp_path):
    settings = {"input_shape": (32, 32, 3), "alpha": 0.25, "classes": 7}
    net = applications.MobileNet(weights=None, **settings)
    x = np.random.RandomState(0).uniform(-1, 1, (2, 32, 32, 3)).astype(np.float32)
    made = net.predict(x)
    assert made.shape == (2, 7) and np.allclose(made.sum(1), 1, atol=1e-4)
    assert [layer.name for layer in net.layers[:5]] == [
        "input_1",
        "conv1_pad",
        "conv1",
        "conv1_bn",
        "conv1_relu",
    ]
    assert net.layers[-1].name == "act_softmax"
    net.save_weights(tmp_path / "weights")
    with tf.Graph().as_default():
        again = applications.MobileNet(weights=str(tmp_path / "weights"), **settings)
        np.testing.assert_allclose(again.predict(x), made, rtol=1e-5, atol=1e-6)
        back = tf.keras.models.model_from_json(net.to_json())
        assert [w.shape.as_list() for w in back.weights] == [w.shape.as_list() for w in net.weights]


def test_a_net_without_its_top_takes_pictures_of_any_size_and_other_tensors():
    x = tf.keras.Input([40, 40, 3])
    net = applications.MobileNetV2(
        weights=None, include_top=False, input_tensor=x, alpha=0.35, pooling="max"
    )
    assert net.inputs == [x] and net.output_shape == (None, 1280)
    whole = applications.VGG16(weights=None, include_top=False)
    assert whole.input_shape == (None, None, None, 3)
    assert whole.output_shape == (None, None, None, 512)
    assert len(whole.trainable_weights) == 26


@pytest.mark.parametrize(
    "net, count",
    [
        ("VGG16", 138357544),
        ("ResNet50", 25636712),
        ("DenseNet121", 8062504),
        ("MobileNet", 4253864),
        ("MobileNetV2", 3538984),
        ("Xception", 22910480),
        ("InceptionV3", 23851784),
    ],
)
def test_nets_have_as_many_parameters_as_are_known_of_them(net, count):
    made = getattr(applications, net)(weights=None)
    assert made.count_params() == count
    assert made.output_shape == (None, 1000)


def test_pictures_become_what_nets_take():
    x = np.array([[[0.0, 127.5, 255.0]]], np.float32)
    preprocess = applications.imagenet_utils.preprocess_input
    np.testing.assert_allclose(applications.xception.preprocess_input(x.copy())[0, 0], [-1, 0, 1])
    means = [255 - 103.939, 127.5 - 116.779, -123.68]
    np.testing.assert_allclose(preprocess(x.copy())[0, 0], means, rtol=1e-5)
    session = tf.keras.backend.get_session()
    for mode in ("caffe", "tf", "torch"):
        of_tensor = session.run(preprocess(tf.constant(x), mode=mode))
        np.testing.assert_allclose(of_tensor, preprocess(x.copy(), mode=mode), rtol=1e-5)
    assert preprocess(x.astype(np.uint8), mode="tf").dtype == np.float32


def test_classes_are_named_by_a_file(tmp_path):
    names = {str(i): [f"n{i:05}", f"thing {i}"] for i in range(1000)}
    (tmp_path / "names.json").write_text(json.dumps(names))
    preds = np.zeros((2, 1000))
    preds[0, [7, 3]], preds[1, 999] = [0.6, 0.4], 1.0
    found = applications.vgg16.decode_predictions(preds, top=2, class_index=tmp_path / "names.json")
    assert found[0] == [("n00007", "thing 7", 0.6), ("n00003", "thing 3", 0.4)]
    assert found[1][0] == ("n00999", "thing 999", 1.0)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda n: n.VGG16(weights="nothing"), "path to the weights file"),
        (lambda n: n.ResNet50(classes=5), "`classes` should be 1000"),
        (lambda n: n.Xception(weights=None, input_shape=(64, 64, 3)), "at least 71x71"),
        (lambda n: n.Xception(weights=None, input_shape=(None, None, 3)), "static"),
        (lambda n: n.VGG19(weights=None, pooling="min"), "pooling"),
        (lambda n: n.MobileNet(alpha=0.3), "alpha can be one of"),
        (lambda n: n.imagenet_utils.decode_predictions(np.zeros([1, 10])), r"\(1, 10\)"),
        (lambda n: n.imagenet_utils.preprocess_input(np.zeros([2, 2, 3]), mode="x"), "mode"),
    ],
)
def test_what_does_not_fit_is_said(make, words):
    with pytest.raises(ValueError, match=words):
        make(applications)
