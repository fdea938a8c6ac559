"""slim's Inception nets and OverFeat: names of variables, sizes and counts as published; a small one runs."""

import numpy as np
import pytest

import millrace as tf

slim = tf.contrib.slim
nets = slim.nets


def _parameters():
    """The numbers in all variables but those of logits."""
    return sum(
        int(np.prod(each.shape.as_list()))
        for each in slim.get_model_variables()
        if "ogits" not in each.op.name
    )


# Numbers of convolutions and of parameters as slim's own tests have them; sizes of layers as published.
NETS = [
    (
        *(1, 224, 58, 5607184),
        {"Mixed_3c": [28, 28, 480], "Mixed_4f": [14, 14, 832], "Mixed_5c": [7, 7, 1024]},
        {"Mixed_5b/Branch_2/Conv2d_0a_3x3"},
    ),
    (
        *(2, 224, 69, 10173112),
        {"Conv2d_1a_7x7": [112, 112, 64], "Mixed_4a": [14, 14, 576], "Mixed_5c": [7, 7, 1024]},
        {"Mixed_3b/Branch_2/Conv2d_0c_3x3"},
    ),
    (
        *(3, 299, 95, 21802784),
        {"Conv2d_2b_3x3": [147, 147, 64], "Mixed_6e": [17, 17, 768], "Mixed_7c": [8, 8, 2048]},
        {
            "Mixed_5c/Branch_1/Conv_1_0c_5x5",
            "Mixed_6a/Branch_1/Conv2d_1a_1x1",
            "Mixed_7b/Branch_1/Conv2d_0b_3x1",
            "Mixed_7c/Branch_1/Conv2d_0c_3x1",
        },
    ),
]


@pytest.mark.parametrize("version, size, convolutions, parameters, sizes, odd_names", NETS)
def test_inception_nets_have_their_layers(
    version, size, convolutions, parameters, sizes, odd_names
):
    name, scope = f"inception_v{version}", f"InceptionV{version}"
    net = getattr(nets.inception, name)
    images = tf.placeholder(tf.float32, [2, size, size, 3])
    with slim.arg_scope(getattr(nets.inception, f"{name}_arg_scope")()):
        logits, ends = net(images, num_classes=9, is_training=False)
    assert logits.shape.as_list() == ends["Predictions"].shape.as_list() == [2, 9]
    assert ends["Logits"] is logits and net.default_image_size == size
    assert getattr(getattr(nets, name), name) is net and ("AuxLogits" in ends) == (version == 3)
    assert {each: ends[each].shape.as_list()[1:] for each in sizes} == sizes
    names = {each.op.name for each in slim.get_model_variables()}
    assert {f"{scope}/{each}/weights" for each in odd_names} < names
    of_net = [each for each in names if each.endswith("/weights") and "AuxLogits" not in each]
    assert len(of_net) == convolutions and _parameters() == parameters
    averages = [each for each in names if "moving_" in each]
    assert len(tf.get_collection("moving_vars")) == len(averages) >= 2 * (convolutions - 1)


def test_a_base_ends_where_it_is_told():
    image = tf.placeholder(tf.float32, [1, 80, 80, 3])
    net, ends = nets.inception.inception_v3_base(
        image, "Mixed_5b", min_depth=4, depth_multiplier=0.25
    )
    assert list(ends)[-1] == "Mixed_5b" and net.shape.as_list()[-1] == 256 // 4
    first, ends = nets.inception.inception_v2_base(image, "Conv2d_1a_7x7", scope="other")
    assert ends == {"Conv2d_1a_7x7": first}
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9a"):
        nets.inception.inception_v1_base(image, "Mixed_9a")
    with pytest.raises(ValueError, match="greater than zero"):
        nets.inception.inception_v3(image, depth_multiplier=0)


def test_a_narrow_inception_net_trains(session):
    images = np.random.RandomState(0).randn(4, 80, 80, 3).astype(np.float32)
    with slim.arg_scope(nets.inception.inception_v2_arg_scope(batch_norm_decay=0.9)):
        logits, _ = nets.inception.inception_v2(
            tf.constant(images), 3, min_depth=4, depth_multiplier=0.05, dropout_keep_prob=1.0
        )
    slim.losses.sparse_softmax_cross_entropy(logits, tf.constant([0, 1, 2, 0]))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    op = slim.learning.create_train_op(slim.losses.get_total_loss(), optimizer)
    session.run(tf.global_variables_initializer())
    losses = [session.run(op) for _ in range(12)]
    assert losses[-1] < losses[0]


def test_overfeat_has_its_layers():
    images = tf.placeholder(tf.float32, [2, 231, 231, 3])
    with slim.arg_scope(nets.overfeat.overfeat_arg_scope()):
        logits, ends = nets.overfeat.overfeat(images, 7)
    assert logits.shape.as_list() == [2, 7] and len(slim.get_model_variables()) == 16
    assert ends["overfeat/fc6"].shape.as_list() == [2, 1, 1, 3072]
