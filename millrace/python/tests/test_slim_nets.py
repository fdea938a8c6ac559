"""slim's nets: names of variables and shapes as TensorFlow's, small ones run."""

import numpy as np
import pytest

import millrace as tf

slim = tf.contrib.slim
nets = slim.nets


def _names():
    return [each.op.name for each in slim.get_model_variables()]


def test_vgg_has_its_layers():
    images = tf.placeholder(tf.float32, [2, 224, 224, 3])
    with slim.arg_scope(nets.vgg.vgg_arg_scope()):
        logits, ends = nets.vgg.vgg_16(images, num_classes=7, is_training=False)
    assert logits.shape.as_list() == [2, 7]
    names = _names()
    assert names[:4] == [
        *("vgg_16/conv1/conv1_1/weights", "vgg_16/conv1/conv1_1/biases"),
        *("vgg_16/conv1/conv1_2/weights", "vgg_16/conv1/conv1_2/biases"),
    ]
    assert names[-6::2] == ["vgg_16/fc6/weights", "vgg_16/fc7/weights", "vgg_16/fc8/weights"]
    assert len(names) == 32 and len(tf.losses.get_regularization_losses()) == 16
    assert ends["vgg_16/pool5"].shape.as_list() == [2, 7, 7, 512] and ends["vgg_16/fc8"] is logits
    assert nets.vgg.vgg_d is nets.vgg.vgg_16 and nets.vgg.vgg_19.default_image_size == 224


def test_alexnet_has_its_layers():
    images = tf.placeholder(tf.float32, [2, 224, 224, 3])
    with slim.arg_scope(nets.alexnet.alexnet_v2_arg_scope()):
        logits, ends = nets.alexnet.alexnet_v2(images, 7)
    assert logits.shape.as_list() == [2, 7] and len(_names()) == 16
    assert ends["alexnet_v2/pool5"].shape.as_list() == [2, 5, 5, 256]


@pytest.mark.parametrize("kind", ["v1", "v2"])
def test_residual_nets_have_the_variables_of_their_checkpoints(kind):
    net = getattr(nets, f"resnet_{kind}")
    images = tf.placeholder(tf.float32, [2, 65, 65, 3])
    name = f"resnet_{kind}_50"
    with slim.arg_scope(net.resnet_arg_scope()):
        logits, ends = getattr(net, name)(images, 10, is_training=False, output_stride=16)
        getattr(net, name)(images, 10, is_training=False, reuse=True, global_pool=False)
    assert logits.shape.as_list() == [2, 1, 1, 10]
    assert ends[f"{name}/block4"].shape.as_list() == [2, 5, 5, 2048]
    names, unit = _names(), f"{name}/block1/unit_1/bottleneck_{kind}"
    assert {f"{name}/conv1/weights", f"{name}/logits/biases", f"{unit}/shortcut/weights"} < set(
        names
    )
    assert f"{unit}/conv2/BatchNorm/moving_variance" in names
    # 53 convolutions and logits; of the first kind all but the logits are normalized.
    weights = [each for each in names if each.endswith("weights")]
    assert (
        len(weights) == 54 and len(names) == {"v1": 54 + 53 * 4 + 1, "v2": 54 + 49 * 4 + 22}[kind]
    )
    assert (f"{name}/postnorm/gamma" in names) == (kind == "v2") == (f"{unit}/preact/beta" in names)
    assert ends["predictions"].shape.as_list() == [2, 1, 1, 10]


def test_a_small_residual_net_trains(session):
    net = nets.resnet_v2
    images = np.random.RandomState(0).randn(4, 33, 33, 3).astype(np.float32)
    blocks = [net.resnet_v2_block("block1", base_depth=2, num_units=2, stride=2)]
    with slim.arg_scope(net.resnet_arg_scope()):
        logits, _ = net.resnet_v2(tf.constant(images), blocks, 3, scope="small")
    logits = tf.squeeze(logits, [1, 2])
    slim.losses.sparse_softmax_cross_entropy(logits, tf.constant([0, 1, 2, 0]))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    op = slim.learning.create_train_op(slim.losses.get_total_loss(), optimizer)
    session.run(tf.global_variables_initializer())
    losses = [session.run(op) for _ in range(8)]
    assert losses[-1] < losses[0]


def test_a_stride_that_cannot_be_is_refused():
    net, images = nets.resnet_v1, tf.zeros([1, 33, 33, 3])
    for stride, said in ((6, "multiple of 4"), (256, "cannot be reached")):
        with pytest.raises(ValueError, match=said):
            net.resnet_v1_50(images, output_stride=stride, scope=f"net{stride}")


def test_a_convolution_of_the_same_size_is_one_of_stride_1_looked_at_each_other_place(session):
    x = np.random.RandomState(0).randn(1, 6, 6, 2).astype(np.float32)
    utils = nets.resnet_utils
    strided = utils.conv2d_same(x, 3, 3, stride=2, scope="c")
    with tf.variable_scope("", reuse=True):
        whole = utils.conv2d_same(x, 3, 3, stride=1, scope="c")
    session.run(tf.global_variables_initializer())
    a, b = session.run([strided, utils.subsample(whole, 2)])
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_nets_are_found_inside_tensorflow_too():
    from millrace.contrib.slim.python.slim import learning
    from millrace.contrib.slim.python.slim.nets import resnet_v1

    assert resnet_v1.resnet_v1_50 is nets.resnet_v1.resnet_v1_50
    assert learning.create_train_op is slim.learning.create_train_op
