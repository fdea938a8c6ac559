"""durable=True: how a program asks for variables and queues that outlive their task's process."""

import pytest

import millrace as tf

KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])


def asks(made):
    op = made.op if isinstance(made, tf.Variable) else made.queue_ref.op
    return "_durable" in op.node_def.attr and op.get_attr("_durable") is True


@KINDS
def test_where_nothing_is_kept_a_durable_variable_says_so_and_what_to_do(session, use_resource):
    total = tf.Variable(0, name="total", use_resource=use_resource, durable=True)
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        session.run(total.initializer)
    words = str(caught.value)
    for word in ("'total' is to be kept (durable=True)", "device:CPU:0", "--state DIR"):
        assert word in words


def test_where_nothing_is_kept_a_durable_queue_says_so_and_what_to_do(session):
    queue = tf.FIFOQueue(9, tf.int32, shared_name="names", durable=True)
    with pytest.raises(tf.errors.FailedPreconditionError, match="'names' is to be kept") as caught:
        session.run(queue.enqueue(1))
    assert "--state DIR" in str(caught.value)


def test_named_variables_parts_and_what_optimizers_keep_beside_them_ask_too():
    with tf.Graph().as_default():
        single = tf.get_variable("single", [2], durable=True)
        parts = tf.get_variable(
            "parts", [4, 2], durable=True, partitioner=tf.fixed_size_partitioner(2)
        )
        plain = tf.get_variable("plain", [2])
        loss = tf.reduce_sum(single) + tf.reduce_sum(tf.convert_to_tensor(parts))
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(loss + tf.reduce_sum(plain))
        asking = {v.op.name for v in tf.global_variables() if asks(v)}
        assert asking == {
            name + slot
            for name in ("single", "parts/part_0", "parts/part_1")
            for slot in ("", "/Momentum")
        }
        # The wish is the node's: it goes with the graph.
        found = tf.Variable.from_proto(single.to_proto())
        assert found.durable


def test_queues_of_all_kinds_ask_and_those_that_do_not_are_as_ever():
    with tf.Graph().as_default():
        for kind in (
            lambda **more: tf.FIFOQueue(9, tf.int32, **more),
            lambda **more: tf.RandomShuffleQueue(9, 0, tf.int32, **more),
            lambda **more: tf.PaddingFIFOQueue(9, tf.int32, [()], **more),
            lambda **more: tf.PriorityQueue(9, tf.int32, **more),
        ):
            assert asks(kind(durable=True))
            assert "_durable" not in kind().queue_ref.op.node_def.attr


def test_a_getter_of_the_program_hears_of_the_wish_only_if_there_is_one():
    heard = []

    def getter(make, name, **arguments):
        heard.append("durable" in arguments)
        return make(name, **arguments)

    with tf.Graph().as_default(), tf.variable_scope("model", custom_getter=getter):
        assert not tf.get_variable("a", [1]).durable
        assert tf.get_variable("b", [1], durable=True).durable
    assert heard == [False, True]
